#!/usr/bin/env bash
# Death at every step of sending and receiving: the peer ends with DN_EPEER, complete messages
# arrive, and nothing else does. usage: killpoint_message.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

status=0

# The names of the kill points that the library was built with.
points()
{
    strings "$live_build/libdimmnet.so" | grep '^message: ' | sort -u
}

# killed WHO POINT PASSAGE: the last node dies there or, if it does not pass the point that often, a
# little later. The summary is for many sources.
killed()
{
    local line nodes=3
    [[ $2 != *summary* ]] || nodes=12
    DN_KILL="$((nodes - 1)):$3:$2" live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/message_death" "$1"
    ! grep -qxF "killed at $2" "$live_work/out" || echo "$2" >>"$live_work/reached"
    for line in "a $1 died" "the living go on"; do
        grep -qxF "ok $line" "$live_work/out" || { echo "\"$line\" is missing"; return 1; }
    done
    ! grep '^FAIL' "$live_work/out"
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
    for who in sender receiver; do
        for passage in 1 2 7; do
            live_verdict "a $who dies at passage $passage of \"$point\"" \
                killed "$who" "$point" "$passage"
        done
    done
done < <(points)
live_verdict "there are kill points" [ "$count" -gt 5 ]
say_what_was_missed
live_verdict "nothing remains" live_nothing_remains
live_finish
