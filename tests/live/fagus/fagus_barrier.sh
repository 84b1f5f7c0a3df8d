#!/usr/bin/env bash
# Barriers right after releases and bindings, with 2 to 4 nodes in each mode.
# usage: fagus_barrier.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

program=$live_programs/fagus_barrier

each_check()
{
    local mode=$1 nodes=$2 name
    fagus_group "$mode" "$nodes" --timeout 60 "$program" || return 1
    while read -r name; do
        grep -qxF "ok $name" "$live_work/out" || { echo "$name"; return 1; }
    done < <("$program" --list "$nodes")
    [ "$status" -eq 0 ]
}

for mode in "${fagus_modes[@]}"; do
    for nodes in 2 3 4; do
        udp_verdict "$mode, $nodes nodes: barriers know it all" each_check "$mode" "$nodes"
    done
done
live_verdict "nothing remains" live_nothing_remains
live_finish
