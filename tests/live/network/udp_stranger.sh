#!/usr/bin/env bash
# A stranger floods a running job's ports with garbage, with the job's own packets again and with
# packets of another group, and forges addresses. The job's results are right, and it reports what it
# refused.
# usage: udp_stranger.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

readonly NODES=3

# Another group's job, whose packets the stranger has.
another_group_is_recorded()
{
    udp_relay_start "$NODES" --record "$live_work/foreign" || return 1
    live_group -n "$NODES" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout 30 "$udp_traffic" --rounds 2
    udp_relay_stop
    udp_traffic_is_right && [ -s "$live_work/foreign" ]
}

# Whether nodes of the job have counted something under a name that matches a pattern.
is_counted()
{
    "$live_dimmnet" info --json "$udp_job" 2>"$live_work/info" | grep -qE "\"($1)\":[1-9]"
}

is_counted_or_over() { is_counted "$1" || udp_job_ended; }

# Malformed packets, packets of another group, not authentic or repeated ones: the job has seen each
# kind.
counters_are_told()
{
    local name
    for name in malformed not_ours not_authentic 'stale|duplicates'; do
        if ! live_eventually is_counted_or_over "$name" || ! is_counted "$name"; then
            echo "dimmnet info tells of no packet that is $name: $(cat "$live_work/info")"
            return 1
        fi
    done
}

# flooded SECONDS OPTION...: the stranger starts before the job and stays after it.
flooded()
{
    local seconds=$1 stranger kind told=0
    shift
    rm -f "$live_work/counted"
    udp_relay_start "$NODES" --record "$live_work/own" || return 1
    "$udp_tools/stranger" --to "$udp_port" --nodes "$NODES" --rate 6000 --seconds 50 \
        --seed "$DN_TEST_SEED" --garbage --replay "$live_work/own" \
        --foreign "$live_work/foreign" >"$live_work/stranger" 2>&1 &
    stranger=$!
    udp_started+=("$stranger")
    udp_job_start -n "$NODES" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout 40 "$@" "$udp_traffic" --seconds "$seconds" --until "$live_work/counted"
    udp_job_says '^ok round 2$' || return 1
    # The job goes on meanwhile, however little CPU time it gets.
    counters_are_told || told=1
    touch "$live_work/counted"
    udp_job_wait
    kill -TERM "$stranger" && wait "$stranger"
    udp_relay_stop
    udp_traffic_is_right || { cat "$live_work/stranger"; return 1; }
    for kind in garbage plausible replayed misdirected harmed foreign grafted; do
        udp_has "$kind" "$live_work/stranger" || return 1
    done
    return "$told"
}

# The network is gone, and the stranger repeats what the nodes said before: that is no sign of life.
silent_but_replayed()
{
    local cut_us
    udp_relay_start "$NODES" --record "$live_work/own" || return 1
    udp_job_start -n "$NODES" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout 25 --keep-going --peer-timeout 1500 "$live_programs/udp_peer" 1500
    udp_all_wait "$NODES"
    # Probes of waiting nodes are among the recorded packets.
    sleep 1
    udp_relay_stop
    cut_us=$(udp_now_us)
    "$udp_tools/stranger" --to "$udp_port" --nodes "$NODES" --rate 600 --seconds 20 \
        --seed "$DN_TEST_SEED" --replay "$live_work/own" >"$live_work/stranger" 2>&1 &
    udp_started+=("$!")
    udp_job_wait
    [ "$status" -eq 0 ] && udp_say_lines "$NODES" '^epeer ' && udp_say_lines "$NODES" '^team .: 1$' &&
        udp_heard_within "$cut_us" 700 "$UDP_LATE_MS"
}

# Two nodes whose packets come from another address than the roster tells, and a stranger who forges
# that address: neither node listens to it alone.
address_is_forged()
{
    udp_relay_start 2 --forge 1000 || return 1
    live_group -n 2 --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" --timeout 30 \
        --peer-timeout 2000 "$udp_traffic" --rounds 4
    udp_relay_stop
    udp_traffic_is_right && udp_has forged "$live_work/relay"
}

udp_verdict "an address is forged" address_is_forged
udp_verdict "another group is recorded" another_group_is_recorded
udp_verdict "a flood" flooded 8
udp_verdict "a flood, and the content is hidden" flooded 8 --encrypt
udp_verdict "recorded packets of a node that is gone" silent_but_replayed
udp_verdict "nothing remains" live_nothing_remains
live_finish
