#!/usr/bin/env bash
# Wrong calls on shared memory, and a space that is used up, with 1 to 3 nodes in each mode.
# usage: fagus_errors.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

program=$live_programs/fagus_errors

# The last group ended well, and that many nodes said so.
all_well()
{
    [ "$status" -eq 0 ] && [ "$(grep -cx well "$live_work/out")" -eq "$1" ] &&
        ! grep '^FAIL' "$live_work/out"
}

refused_to_begin()
{
    [ "$status" -eq 1 ] && grep -q 'fagus_init() gave "FAGUS_EINVAL' "$live_work/out" &&
        grep -q "cannot understand $1=\"some\"" "$live_work/err"
}

# A space that is soon used up: its pool is a quarter of it.
small_heap=4M

each_check()
{
    local mode=$1 nodes=$2 name
    fagus_group "$mode" "$nodes" --heap "$small_heap" --timeout 20 "$program"
    while read -r name; do
        grep -qxF "ok $name" "$live_work/out" || { echo "$name"; return 1; }
    done < <("$program" --list "$nodes")
    [ "$status" -eq 0 ]
}

for mode in "${fagus_modes[@]}"; do
    [ "$mode" != bad ] || continue
    for nodes in 1 2 3; do
        udp_verdict "$mode, $nodes nodes: errors have names" each_check "$mode" "$nodes"
    done
    fagus_group "$mode" 2 --timeout 60 "$program" --times
    udp_verdict "$mode: before the beginning and after the end" all_well 2
    fagus_group "$mode" 2 --timeout 60 "$program" --fork
    udp_verdict "$mode: a forked child" all_well 2
done
live_alone "$program" --times
live_verdict "alone: before the beginning and after the end" all_well 1
for name in FAGUS_CHECK FAGUS_FORCE_REMOTE FAGUS_STATS; do
    export "$name=some"
    live_group -n 2 --timeout 20 "$program"
    unset "$name"
    live_verdict "$name=some is refused" refused_to_begin "$name"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
