#!/usr/bin/env bash
# Death at every step of sending and receiving: the peer ends with DN_EPEER, complete messages
# arrive, and nothing else does. usage: killpoint_message.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

status=0

# points PREFIX: the names of the kill points that the library was built with.
points()
{
    strings "$live_build/libdimmnet.so" | grep "^$1: " | sort -u
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
    { points message; points records; } | grep -vxFf "$live_work/reached" | sed 's/^/not reached this time: /'
}

# kill_at_points PREFIX COUNT: there are more points than that.
kill_at_points()
{
    local count=0 point who passage
    while read -r point; do
        count=$((count + 1))
        for who in sender receiver; do
            for passage in 1 2 7; do
                live_verdict "a $who dies at passage $passage of \"$point\"" \
                    killed "$who" "$point" "$passage"
            done
        done
    done < <(points "$1")
    live_verdict "there are kill points" [ "$count" -gt "$2" ]
}

: >"$live_work/reached"
kill_at_points message 5
# Modified ACK/NACK, which only packets have: by CD, by CD with stops, and by UD with all of it.
for flags in 8 2 7; do
    DN_FABRIC=udp DN_TEST_CONTEXT_FLAGS=$flags kill_at_points records 10
done
say_what_was_missed
live_verdict "nothing remains" live_nothing_remains
live_finish
