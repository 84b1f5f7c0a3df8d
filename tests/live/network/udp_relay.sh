#!/usr/bin/env bash
# All traffic over a bad network: the relay delays, reorders, doubles, spoils and loses packets.
# usage: udp_relay.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

# through NODES ROUNDS COUNTS RELAY_OPTION...: each of the relay's COUNTS must show that the network
# was as bad as it should have been.
through()
{
    local nodes=$1 rounds=$2 counts=$3 count
    shift 3
    udp_relay_start "$nodes" "$@" || return 1
    live_group -n "$nodes" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout 40 "$udp_traffic" --rounds "$rounds"
    udp_relay_stop || { echo "the relay failed"; return 1; }
    udp_traffic_is_right || { cat "$live_work/relay"; return 1; }
    for count in received forwarded $counts; do
        udp_has "$count" "$live_work/relay" || return 1
    done
}

# messages FLAGS COUNTS RELAY_OPTION...: paper 004's messages, with loss detection by UD. All checks
# of the program hold: nothing is lost, doubled or out of order.
messages()
{
    local counts=$2 count
    export DN_TEST_CONTEXT_FLAGS=$1
    shift 2
    udp_relay_start 3 "$@" || return 1
    live_group -n 3 --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout 100 "$live_programs/message"
    unset DN_TEST_CONTEXT_FLAGS
    udp_relay_stop || { echo "the relay failed"; return 1; }
    if [ "$status" -ne 0 ] ||
        [ "$(grep -c '^ok ' "$live_work/out")" -ne "$("$live_programs/message" --list 3 | wc -l)" ]; then
        echo "status $status"
        return 1
    fi
    for count in received forwarded $counts; do
        udp_has "$count" "$live_work/relay" || return 1
    done
}

# The launcher's word that a node has left comes before the acknowledgements that the node sent.
leave_slowly()
{
    local round
    for round in 1 2 3 4 5; do
        rm -f "$live_work/told"
        udp_relay_start 4 --delay-ms 1 || return 1
        live_group -n 4 --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
            --timeout 40 "$live_programs/leaving" leave "$live_work/told"
        if [ "$status" -ne 0 ] || [ "$(grep -cx stayed "$live_work/out")" -ne 3 ]; then
            echo "round $round"
            return 1
        fi
        udp_relay_stop || { echo "the relay failed"; return 1; }
    done
}

udp_verdict "as it comes" through 3 10 ''
udp_verdict "delay of 1 ms" through 3 4 '' --delay-ms 1
udp_verdict "delay of 10 ms" through 2 1 '' --delay-ms 10
udp_verdict "delay that varies" through 3 3 '' --delay-ms 1 --jitter-ms 3
udp_verdict "reordering" through 3 5 reordered --reorder 10
udp_verdict "duplication" through 3 5 duplicated --duplicate 20
udp_verdict "everything twice" through 2 5 duplicated --duplicate 100
udp_verdict "corruption" through 3 3 corrupted --corrupt 3
udp_verdict "loss of 2 in 100" through 3 3 lost --loss 2
udp_verdict "loss of 10 in 100" through 2 2 lost --loss 10
udp_verdict "a thin link" through 2 2 'queue_full' --rate 4000000 --queue 60000
udp_verdict "all together" through 3 1 'reordered duplicated corrupted lost' --delay-ms 1 \
    --jitter-ms 2 --reorder 5 --duplicate 5 --corrupt 2 --loss 3 --rate 10000000 --queue 100000
udp_verdict "messages that find loss, loss of 2 in 100" messages 4 lost --loss 2
udp_verdict "messages that do it all, all together" messages 7 'reordered duplicated corrupted lost' \
    --delay-ms 1 --reorder 1 --duplicate 5 --corrupt 1 --loss 1
udp_verdict "nodes leave, at a delay of 1 ms" leave_slowly
udp_verdict "nothing remains" live_nothing_remains
live_finish
