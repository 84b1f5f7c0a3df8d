#!/usr/bin/env bash
# Processes that are started in the same rank: one is the node, and no other one sends a packet,
# because two senders with one key and one counter would give the key to whoever listens.
# usage: udp_claim.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

readonly PROCESSES=6

# no_number_twice LIVES: over all packets of the record, and of so many lives.
no_number_twice()
{
    "$udp_tools/nonces" "$live_work/own" >"$live_work/nonces" || return 1
    cat "$live_work/nonces"
    udp_has packets "$live_work/nonces" && [ "$(udp_number twice "$live_work/nonces")" -eq 0 ] &&
        [ "$(udp_number lives "$live_work/nonces")" -eq "$1" ]
}

# contended OPTION...
contended()
{
    rm -f "$live_work/streaming"
    udp_relay_start 2 --record "$live_work/own" || return 1
    live_group -n 2 --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" --timeout 40 \
        "$@" "$live_programs/udp_claim" "$live_work/streaming"
    udp_relay_stop || { echo "the relay failed"; return 1; }
    [ "$status" -eq 0 ] && udp_say_lines 1 '^attached$' &&
        udp_say_lines $((PROCESSES - 1)) '^DN_EGROUP$' && no_number_twice 2
}

# A node that cannot start after it has claimed its rank keeps nobody waiting.
broken()
{
    rm -f "$live_work/noticed"
    live_group -n 2 --fabric udp --timeout 30 "$live_programs/udp_claim" "$live_work/noticed" broken
    [ "$status" -eq 0 ] && udp_say_lines 1 '^went on$'
}

udp_verdict "six processes in one rank" contended
udp_verdict "six processes in one rank, and the content is hidden" contended --encrypt
udp_verdict "a node that claimed its rank and has no socket" broken
udp_verdict "nothing remains" live_nothing_remains
live_finish
