#!/usr/bin/env bash
# Random work on shared memory by threads of 2 to 8 nodes, replayed serially and compared.
# usage: fagus_random.sh BUILD_FOLDER; DN_TEST_RANDOM is the number of rounds (1). A failure names
# its mode and seed; DN_TEST_SEED repeats what every thread does.
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

log=$live_work/log
first_seed=$DN_TEST_SEED

# run MODE NODES THREADS PHASES STEPS
run()
{
    local mode=$1 nodes=$2
    shift 2
    rm -rf "$log"
    mkdir "$log"
    fagus_group "$mode" "$nodes" --timeout 60 "$live_programs/fagus_random" "$log" "$@"
    [ "$status" -eq 0 ] || { echo "$mode, $nodes nodes, $*: status $status"; return 1; }
    if ! timeout -k 5 60 "$live_programs/fagus_replay" "$log" >"$live_work/replay"; then
        head -n 20 "$live_work/replay"
        return 1
    fi
    sed 's/^/    /' "$live_work/replay" >&3
}

# round NAME MODE NODES THREADS PHASES STEPS: with a seed of its own.
round()
{
    local mode=$1
    shift
    DN_TEST_SEED=$((DN_TEST_SEED + 1))
    udp_verdict "$mode, $1 nodes, $2 threads each, seed $DN_TEST_SEED" run "$mode" "$@"
}

# The last log with one grant left out. Perhaps nobody read what was written under it: most of six
# are noticed.
a_spoiled_log_is_noticed()
{
    local grant noticed=0
    for grant in 3 10 20 30 45 60; do
        if timeout -k 5 60 "$live_programs/fagus_replay" "$log" --spoil "$grant" \
            >"$live_work/replay"; then
            continue
        fi
        grep -q '^FAIL replay, seed [0-9]*: variable [0-9]*, node [0-9]* .* step [0-9]*' \
            "$live_work/replay" || { cat "$live_work/replay"; return 1; }
        noticed=$((noticed + 1))
    done
    [ "$noticed" -ge 4 ] || { echo "only $noticed of 6"; return 1; }
}

for ((rounds = 0; rounds < ${DN_TEST_RANDOM:-1}; rounds++)); do
    for mode in "${fagus_modes[@]}"; do
        case $mode in
        shared)
            round shared 2 4 3 400
            round shared 5 2 3 300
            ;;
        remote)
            round remote 2 2 6 400
            round remote 3 1 6 400
            round remote 4 3 4 200
            round remote 8 2 3 150
            ;;
        udp)
            round udp 2 2 4 200
            round udp 4 1 3 150
            round udp 8 1 2 60
            ;;
        bad)
            round bad 2 2 2 60
            round bad 3 1 2 40
            ;;
        sim)
            round sim 2 2 3 100
            round sim 3 1 3 100
            ;;
        esac
    done
done
live_verdict "a log that is not right is noticed" a_spoiled_log_is_noticed
live_verdict "nothing remains" live_nothing_remains
DN_TEST_SEED=$first_seed
live_finish
