#!/usr/bin/env bash
# `dimmnet run --goal`: schedules of runs on every fabric have what the programs did, and are replayed
# to their end on both papers' machines.
# usage: sim_goal_run.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
unset DN_FABRIC
export DN_SIM_REPORT=0
goal=$live_work/run.goal
node=$live_programs/trace_node
readonly STORES=1 PUTS=2 ATOMICS=5 BARRIERS=8 MESSAGES=11 # tags

# recorded FABRIC NODES WORD...: a group whose calls become a schedule.
recorded()
{
    local fabric=$1 nodes=$2
    shift 2
    rm -f "$goal"
    live_group -n "$nodes" --fabric "$fabric" --timeout 100 --goal "$goal" "$@"
}

said() { grep -qE -- "$1" "$live_work/err"; }
is() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
sends() { grep -cE "send .* tag $1( |\$)" "$goal"; }
receives() { grep -cE "recv .* tag $1( |\$)" "$goal"; }

# Both machines replay it, and receive all that is sent.
is_replayed()
{
    local machine
    for machine in dimmnet1-D dimmnet2; do
        timeout -k 5 100 "$live_dimmnet" sim goal --machine "$machine" --json "$goal" \
            >"$live_work/replayed" 2>&1 && grep -q '"unreceived":0' "$live_work/replayed" ||
            { cat "$live_work/replayed"; return 1; }
    done
}

a_ping_pong_has_its_stores()
{
    recorded "$1" 2 "$node" rounds 100
    is "$status" 0 && said 'goal: [0-9,]+ operations of 2 ranks in .*; dimmnet sim goal replays it' &&
        is "$(sends "$STORES")" 200 && is "$(receives "$STORES")" 200 &&
        is "$(sends "$BARRIERS")" 4 && is_replayed
}

every_way_to_send_is_in_it()
{
    recorded "$1" 2 "$node" kinds
    # dn_botf, dn_put; dn_fetch_add_u64, whose answer has a tag of its own, and dn_add_u64.
    is "$status" 0 && is "$(sends "$STORES")" 1 && is "$(sends "$PUTS")" 2 &&
        is "$(sends "$ATOMICS")" 2 && is "$(sends $((16 + ATOMICS)))" 1 &&
        is "$(sends "$MESSAGES")" 2 && is_replayed
}

a_killed_node_is_in_it()
{
    recorded "$1" 2 --keep-going "$node" killed
    is "$status" 137 && is "$(sends "$ATOMICS")" 1 && is_replayed
}

several_threads_are_in_it()
{
    recorded "$1" 2 "$node" threads
    is "$status" 0 && is "$(sends "$ATOMICS")" 4000 && grep -q ' cpu 1$' "$goal" && is_replayed
}

a_cut_trace_is_replayed()
{
    recorded "$1" 2 --trace-records 50 "$node" rounds 100
    is "$status" 0 && said 'later calls found no room' && is_replayed
}

a_mix_of_everything_is_replayed()
{
    recorded "$1" 8 "$live_programs/sim_program_mix"
    is "$status" 0 && is_replayed
}

openshmem_and_fagus_are_replayed()
{
    recorded "$1" 4 "$live_build/examples/shmem/sort"
    is "$status" 0 && is_replayed || return 1
    recorded "$1" 2 "$live_build/examples/fagus/lu"
    is "$status" 0 && is_replayed
}

# In virtual time what is between calls is what the program declared, to the last nanosecond.
times_are_exact()
{
    recorded "$1" 4 --json "$live_work/report" "$live_programs/sim_program_check" same
    is "$status" 0 && is_replayed || return 1
    python3 - "$goal" "$live_work/report" "$live_work/replayed" <<'END'
import json, re, sys
computed = sum(int(ns) for ns in re.findall(r"calc (\d+)", open(sys.argv[1]).read()))
declared = sum(node["compute_ns"] for node in json.load(open(sys.argv[2]))["node_times"])
replayed = json.load(open(sys.argv[3]))["compute_ns"]
assert computed == declared == replayed == 20 * (100 + 101 + 102 + 103), (computed, declared, replayed)
END
}

other_hosts_are_refused()
{
    echo 'localhost slots=2' >"$live_work/hosts"
    live_group --fabric udp --hosts "$live_work/hosts" --goal "$goal" "$node" rounds 1
    is "$status" 2 && said 'goal records nodes of this host only: it does not go with --hosts'
}

what_cannot_be_written_is_said()
{
    live_group -n 2 --goal "$live_work/no/such/folder" touch "$live_work/started"
    is "$status" 2 && said 'cannot write the schedule .*/no/such/folder: No such file' &&
        [ ! -e "$live_work/started" ] || return 1
    live_group -n 2 --goal /dev/full "$node" rounds 100
    is "$status" 1 && said 'cannot write the schedule /dev/full: No space left on device'
}

for fabric in mem udp sim:dimmnet1-D sim:dimmnet2; do
    for behaviour in a_ping_pong_has_its_stores every_way_to_send_is_in_it \
        a_mix_of_everything_is_replayed; do
        live_verdict "$fabric: $behaviour" "$behaviour" "$fabric"
    done
done
for fabric in mem udp; do
    for behaviour in a_killed_node_is_in_it several_threads_are_in_it a_cut_trace_is_replayed \
        openshmem_and_fagus_are_replayed; do
        live_verdict "$fabric: $behaviour" "$behaviour" "$fabric"
    done
done
for fabric in sim:dimmnet1-D sim:dimmnet2; do
    live_verdict "$fabric: times_are_exact" times_are_exact "$fabric"
done
for behaviour in other_hosts_are_refused what_cannot_be_written_is_said; do
    live_verdict "$behaviour" "$behaviour"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
