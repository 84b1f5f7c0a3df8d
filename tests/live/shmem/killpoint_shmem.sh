#!/usr/bin/env bash
# A PE dies at every step of everything that a program does which goes on after deaths.
# Only in a build with -Dkillpoints=true. usage: killpoint_shmem.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

mapfile -t points < <("$live_programs/killpoint_node" --list | sort -u)

# killed POINT RANK PASSAGE: nobody dies there, or the others come to the end. While the job begins,
# before all PEs have said that they go on, a death ends it.
killed()
{
    DN_KILL="$2:$3:$1" live_group -n 4 --timeout 60 "$live_programs/shmem_failure" rounds
    if [ "$status" -eq 124 ] || grep '^FAIL' "$live_work/out"; then
        echo "status $status"
        return 1
    fi
    if [ "$(grep -cx begun "$live_work/out")" -eq 4 ]; then
        live_all_have_ended 4 "$1"
    else
        grep -xF "killed at $1" "$live_work/out" && echo "$1" >>"$live_work/reached"
    fi
}

# story FABRIC: the passages are those of the beginning, of a round, and of later ones.
story()
{
    local i passage
    for ((i = 0; i < ${#points[@]}; i++)); do
        for passage in 1 4 12 50; do
            live_verdict "$1: PE $((i % 4)) dies at passage $passage of \"${points[i]}\"" \
                killed "${points[i]}" $((i % 4)) "$passage"
        done
    done
}

: >"$live_work/reached"
story mem
DN_RELAX=1 story relaxed # which goes through the library's calls
DN_FABRIC=udp story udp
live_verdict "many points were reached" [ "$(sort -u "$live_work/reached" | wc -l)" -gt 30 ]
printf '%s\n' "${points[@]}" | { grep -vxFf "$live_work/reached" || true; } | sed 's/^/not reached here: /'
live_verdict "nothing remains" live_nothing_remains
live_finish
