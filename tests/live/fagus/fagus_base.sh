#!/usr/bin/env bash
# Fagus's memory, flags, threads, conditions and port layer with 1 to 4 nodes that share memory
# or do not, on mem and udp; its mistakes, deaths, and both ends. usage: fagus_base.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# all_said WORD COUNT: that many nodes said exactly this, and the last group ended well.
all_said()
{
    if [ "$status" -ne 0 ] || [ "$(grep -cxF -- "$1" "$live_work/out")" -ne "$2" ]; then
        echo "not $2 times \"$1\", status $status"
        return 1
    fi
    live_nothing_remains
}

program=$live_programs/fagus_base

# Everything once, with the fabric and mode of the environment.
round()
{
    local nodes
    for nodes in alone 1 2 3 4; do
        live_checks fagus_base "$nodes"
        live_checks fagus_port "$nodes"
        live_checks fagus_condition "$nodes"
    done
    live_group -n 2 --timeout 60 "$program" --end
    live_verdict "$1: both ends" all_said well 2
    live_group -n 2 --heap 3T --timeout 60 "$program" --terabyte
    live_verdict "$1: a terabyte without memory" all_said well 2
    live_group -n 3 --timeout 60 --keep-going "$program" --death
    status=$((status == 137 ? 0 : 1))
    live_verdict "$1: others outlive a node" all_said survived 2
}

export FAGUS_FORCE_REMOTE=0
round "one memory"
FAGUS_FORCE_REMOTE=1
round "remote"
if [ -z "${DN_FABRIC-}" ]; then
    # The stages relax and udp choose for the rest.
    DN_FABRIC=udp round "udp"
fi

live_alone "$program" --end
live_verdict "a process by itself comes and goes" all_said well 1

# One report for all nodes together, which names what was used.
reported()
{
    all_said well 3 || return 1
    if [ "$(grep -c '^fagus: 3 nodes, 2 variables, of them 1 acquired$' "$live_work/err")" -ne 1 ] ||
        ! grep -qE '^hot +30 ' "$live_work/err" || grep -q '^cold' "$live_work/err"; then
        echo "the report is wrong"
        return 1
    fi
}
FAGUS_STATS=1 live_group -n 3 "$program" --stats
live_verdict "a report of the hottest variables" reported
FAGUS_STATS=0 live_group -n 3 "$program" --stats
live_verdict "no report that nobody asked for" test ! -s "$live_work/err"

FAGUS_FORCE_REMOTE=2 live_group -n 2 "$program" --start
live_verdict "an environment that makes no sense" all_said "FAGUS_EINVAL: a" 2

# shellcheck disable=SC2016 # the node's shell expands it
live_group -n 2 sh -c 'FAGUS_FORCE_REMOTE=$DIMMNET_RANK exec "$0" --start' "$program"
live_verdict "nodes that want different modes" all_said "FAGUS_EMISMATCH" 2

live_verdict "nothing remains" live_nothing_remains
live_finish
