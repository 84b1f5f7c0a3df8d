#!/usr/bin/env bash
# Death at every step of locks, teams, barriers and exchanges: the others go on, two nodes never
# have the lock, the team shrinks. usage: killpoint_service.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# The names of the kill points that the library was built with.
points()
{
    strings "$live_build/libdimmnet.so" | grep -E '^(lock|team|host barrier|nic barrier|stream|scan): ' |
        sort -u
}

# killed POINT RANK PASSAGE: nodes that do not die there, or after some time, reach their end.
killed()
{
    local program=team
    [[ $1 != lock:* ]] || program=lock
    [[ $1 != stream:* && $1 != scan:* ]] || program=collectives
    [[ $1 != "team: giv"* && $1 != "team: arrival taken back" ]] || program=revoke
    DN_KILL="$2:$3:$1" live_group -n 4 --keep-going --timeout 30 \
        "$live_programs/$program" --storm
    live_all_have_ended 4 "$1"
}

# Points at which no node died: some need a race, a second death or many sources, so they are only
# listed.
say_what_was_missed()
{
    points | grep -vxFf "$live_work/reached" | sed 's/^/not reached this time: /'
}

count=0
while read -r point; do
    count=$((count + 1))
    for passage in 1 2 9; do
        live_verdict "node 1 dies at passage $passage of \"$point\"" killed "$point" 1 "$passage"
        live_verdict "node 3 dies at passage $passage of \"$point\"" killed "$point" 3 "$passage"
    done
done < <(points)
live_verdict "there are kill points" [ "$count" -gt 15 ]
say_what_was_missed
live_verdict "nothing remains" live_nothing_remains
live_finish
