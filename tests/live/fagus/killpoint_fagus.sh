#!/usr/bin/env bash
# Death at every step of variables and of barriers with data: the others find whole versions, no
# older than what they had, or are told that it is lost. usage: killpoint_fagus.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# The names of the kill points that the library was built with.
points() { strings "$live_build/libfagus.so" | grep -E '^sync: ' | sort -u; }

# killed POINT RANK PASSAGE BYTES: nodes that do not die there, or after some time, reach their end.
killed()
{
    local story=storm
    [[ $1 != *differences* && $1 != *barrier* ]] || story=barriers_until_a_death
    DN_KILL="$2:$3:$1" live_group -n 4 --keep-going --timeout 30 \
        "$live_programs/fagus_sync_death" "$story" "$4"
    live_all_have_ended 4 "$1"
}

round()
{
    local point bytes nodes
    while read -r point; do
        count=$((count + 1))
        nodes=(2 1)
        [[ $point != *barrier* ]] || nodes=(0 0) # the manager, who tells the others' version
        for bytes in 200 20000; do
            live_verdict "$1, $bytes bytes: node ${nodes[0]} dies at passage 1 of \"$point\"" \
                killed "$point" "${nodes[0]}" 1 $bytes
            live_verdict "$1, $bytes bytes: node ${nodes[1]} dies at passage 7 of \"$point\"" \
                killed "$point" "${nodes[1]}" 7 $bytes
        done
    done < <(points)
}

count=0
export FAGUS_FORCE_REMOTE=0
round shared
FAGUS_FORCE_REMOTE=1 round mem
DN_FABRIC=udp round udp
live_verdict "there are kill points" [ "$count" -gt 15 ]
points | grep -vxFf "$live_work/reached" | sed 's/^/not reached this time: /'
live_verdict "nothing remains" live_nothing_remains
live_finish
