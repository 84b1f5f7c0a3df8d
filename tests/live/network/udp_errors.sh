#!/usr/bin/env bash
# What goes wrong though the network kills no node: another group's packets, paths that take only
# short packets, networks that go away and come back, nodes that stand still. Results stay right, or
# the error is clear; nothing hangs. usage: udp_errors.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

readonly UDP=(--fabric udp --timeout 30)

# Options that send a group's packets through the relay.
by_relay() { echo --port "$udp_port" --relay-port "$udp_relay_port"; }

# ---- Nodes that stand still ---------------------------------------------------------------

# Time stands still for one node, and then jumps. No node counts as dead.
stopped_for_a_while()
{
    local pid
    udp_job_start -n 3 "${UDP[@]}" "$udp_traffic" --seconds 5 --pids
    udp_job_says '^ok round 1$' || return 1
    pid=$(udp_pid_of 1)
    kill -STOP "$pid"
    sleep 2
    kill -CONT "$pid"
    udp_job_wait
    udp_traffic_is_right
}
udp_verdict "a node that stands still for 2 s" stopped_for_a_while

# Longer than the peer time-out: the others have gone on, and the node hears that, too.
stopped_for_too_long()
{
    local pid
    udp_job_start -n 3 "${UDP[@]}" --keep-going --peer-timeout 700 \
        "$live_programs/udp_peer" 500
    udp_all_wait 3
    pid=$(udp_pid_of 2)
    kill -STOP "$pid"
    udp_job_says '^survived [01]$'
    sleep 1
    kill -CONT "$pid"
    udp_job_wait
    [ "$status" -eq 0 ] && udp_say_lines 2 '^dead [01]: 2$' && udp_say_lines 2 '^team [01]: 2$' &&
        udp_say_lines 1 '^epeer 2 ' && udp_say_lines 1 '^team 2: 1$'
}
udp_verdict "a node that stands still for longer than the peer time-out" stopped_for_too_long

# ---- Networks that go away ------------------------------------------------------------------

# While the relay is away its ports are closed, and the kernel tells senders so.
away_and_back()
{
    udp_relay_start "$1" || return 1
    # shellcheck disable=SC2046 # options
    udp_job_start -n "$1" "${UDP[@]}" $(by_relay) "$udp_traffic" --seconds 4
    udp_job_says '^ok round 1$' || return 1
    udp_relay_stop
    sleep 2
    udp_relay_again "$1" || return 1
    udp_job_wait
    udp_relay_stop
    udp_traffic_is_right
}
udp_verdict "the network is away for 2 s, 2 nodes" away_and_back 2
udp_verdict "the network is away for 2 s, 3 nodes" away_and_back 3

# Nothing gets through any more: after the peer time-out, and not long before, all nodes know it.
away_for_good()
{
    local cut_us
    udp_relay_start 3 || return 1
    # shellcheck disable=SC2046 # options
    udp_job_start -n 3 "${UDP[@]}" $(by_relay) --keep-going --peer-timeout 1500 \
        "$live_programs/udp_peer" 1500
    udp_all_wait 3
    cut_us=$(udp_now_us)
    udp_relay_stop
    udp_job_wait
    [ "$status" -eq 0 ] && udp_say_lines 3 '^epeer ' && udp_say_lines 3 '^team [012]: 1$' &&
        udp_heard_within "$cut_us" 700 "$UDP_LATE_MS"
}
udp_verdict "the network is away for good" away_for_good

# No peer was ever there: the nodes attach, and the first call that needs another node fails.
never_there()
{
    udp_port=$(live_free_ports 2)
    udp_relay_port=$(live_free_ports 2)
    # shellcheck disable=SC2046 # options
    live_group -n 2 "${UDP[@]}" $(by_relay) --peer-timeout 1000 "$udp_traffic" stores
    [ "$status" -eq 1 ] && grep -q 'gave DN_EPEER' "$live_work/out"
}
udp_verdict "a network that is not there" never_there

# ---- Short packets only -----------------------------------------------------------------------

# The relay does not count the 28 bytes of IP and UDP.
short_packets()
{
    udp_relay_start 3 --mtu 1252 || return 1
    # shellcheck disable=SC2046 # options
    live_group -n 3 "${UDP[@]}" $(by_relay) --mtu 1280 "$udp_traffic" --rounds 3
    udp_relay_stop
    udp_traffic_is_right || return 1
    [ "$(udp_number too_large "$live_work/relay")" -eq 0 ] || { cat "$live_work/relay"; return 1; }
}
udp_verdict "an MTU that was told" short_packets

# Long packets vanish silently, short ones pass: right in the end, or a clear error.
short_packets_untold()
{
    udp_relay_start 2 --mtu 1252 || return 1
    # shellcheck disable=SC2046 # options
    live_group -n 2 "${UDP[@]}" $(by_relay) --peer-timeout 1500 "$udp_traffic" pushes
    udp_relay_stop
    if ! udp_traffic_is_right >/dev/null; then
        [ "$status" -eq 1 ] && grep -q 'gave DN_EPEER' "$live_work/out"
    fi
}
udp_verdict "an MTU that was not told" short_packets_untold

# ---- Another key --------------------------------------------------------------------------------

# One group's packets go to another group's nodes. They are refused: the first group hears nothing,
# the other is not disturbed.
wrong_key()
{
    local other_status=0 port
    udp_relay_start 2 || return 1
    port=$(live_free_ports 2)
    udp_job_start -n 2 "${UDP[@]}" --port "$udp_port" "$udp_traffic" --seconds 4
    udp_job_says '^ok round 1$' || return 1
    timeout -k 5 30 "$live_dimmnet" run -n 2 "${UDP[@]}" --port "$port" \
        --relay-port "$udp_relay_port" --peer-timeout 1500 "$udp_traffic" stores \
        >"$live_work/other" 2>&1 </dev/null || other_status=$?
    udp_job_wait
    udp_relay_stop
    udp_traffic_is_right && udp_has forwarded "$live_work/relay" || return 1
    if [ "$other_status" -ne 1 ] || ! grep -q 'gave DN_EPEER' "$live_work/other"; then
        cat "$live_work/other"
        return 1
    fi
}
udp_verdict "packets of another group" wrong_key

# ---- Deaths that the launcher tells ---------------------------------------------------------------

killed()
{
    local killed_us
    udp_job_start -n 3 "${UDP[@]}" --keep-going "$live_programs/udp_peer" 200
    udp_all_wait 3
    killed_us=$(udp_now_us)
    kill -KILL "$(udp_pid_of 1)"
    udp_job_wait
    [ "$status" -eq 137 ] && udp_say_lines 2 '^dead [02]: 1$' && udp_say_lines 2 '^team [02]: 2$' &&
        udp_say_lines 2 '^survived' && udp_heard_within "$killed_us" 0 "$UDP_SOON_MS"
}
udp_verdict "a node is killed" killed

udp_verdict "nothing remains" live_nothing_remains
live_finish
