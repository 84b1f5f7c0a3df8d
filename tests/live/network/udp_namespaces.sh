#!/usr/bin/env bash
# Hosts of the test's own: network namespaces behind a router, which loses packets, has its
# cables pulled and its paths narrowed; nodes and whole hosts are killed. Needs root.
# usage: udp_namespaces.sh BUILD_FOLDER
#
#     a 10.77.1.2 ---+
#                    |
#     b 10.77.2.2 ---+--- router   10.77.N.1, fd77:N::1 on its port to each
#                    |
#     c 10.77.3.2 ---+
#
# The launcher runs in a. Its word to the agents on b and c goes through pipes, so network faults do
# not affect it.
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

# shellcheck source-path=SCRIPTDIR source=namespaces.bash
. "$(dirname "$0")/namespaces.bash"

make_network()
{
    make_router router && make_host a 1 router && make_host b 2 router && make_host c 3 router
}

namespaces_or_skip
make_network || udp_skip "this machine cannot connect network namespaces"

printf '%s\n' 'a address=10.77.1.2' 'b address=10.77.2.2' 'c address=10.77.3.2' >"$live_work/hosts"
printf '%s\n' 'a address=fd77:1::2' 'b address=fd77:2::2' >"$live_work/hosts6"
# Two nodes on one side of b's cable, one on the other.
printf '%s\n' 'a slots=2 address=10.77.1.2' 'b address=10.77.2.2' >"$live_work/hosts21"

# ---- As it should be, and loss -------------------------------------------------------------

# set_loss PERCENT: of the packets that the router passes on.
set_loss()
{
    in_ router nft -f - <<END
flush ruleset
table inet faults {
    chain passing {
        type filter hook forward priority 0;
        meta l4proto udp numgen random mod 100 < $1 counter drop
    }
}
END
}

losing()
{
    set_loss "$1" || { echo "nft does not take the rule"; return 1; }
    over hosts -n 3 "$udp_traffic" --rounds "$2"
    udp_job_wait
    in_ router nft list ruleset | grep -oE 'packets [0-9]+' >"$live_work/dropped"
    in_ router nft flush ruleset
    udp_traffic_is_right || return 1
    if [ "$1" -gt 0 ] && grep -qx 'packets 0' "$live_work/dropped"; then
        echo "nothing was lost"
        return 1
    fi
}

over_ipv6()
{
    over hosts6 -n 2 "$udp_traffic" --rounds 3
    udp_job_wait
    udp_traffic_is_right
}

udp_verdict "three hosts" losing 0 5
udp_verdict "two hosts by IPv6" over_ipv6
udp_verdict "loss of 1 in 100" losing 1 5
udp_verdict "loss of 5 in 100" losing 5 3
udp_verdict "loss of 20 in 100" losing 20 1

# ---- Cables --------------------------------------------------------------------------------

cable_pulled()
{
    over hosts -n 3 "$udp_traffic" --seconds 5
    udp_job_says '^ok round 1$' || return 1
    ip_in router link set to_b down
    sleep 3
    ip_in router link set to_b up
    udp_job_wait
    udp_traffic_is_right
}

# The launcher sees all of them alive, but each side has lost the other.
parted()
{
    local cut_us
    over hosts21 -n 3 --keep-going --peer-timeout 4000 "$live_programs/udp_peer" 4000
    udp_all_wait 3
    cut_us=$(udp_now_us)
    ip_in router link set to_b down
    udp_job_wait
    ip_in router link set to_b up
    [ "$status" -eq 0 ] && udp_say_lines 2 '^dead [01]: 2$' && udp_say_lines 1 '^dead 2: 0 1$' &&
        udp_say_lines 2 '^team [01]: 2$' && udp_say_lines 1 '^team 2: 1$' && udp_heard_within "$cut_us" 700 "$UDP_LATE_MS"
}

# A host that no longer knows the way: the kernel refuses to send.
route_lost()
{
    over hosts -n 3 "$udp_traffic" --seconds 4
    udp_job_says '^ok round 1$' || return 1
    ip_in b route del default
    sleep 2
    ip_in b route add default via 10.77.2.1
    udp_job_wait
    udp_traffic_is_right
}

no_way_from_the_start()
{
    printf '%s\n' 'a address=10.77.1.2' 'b address=10.77.9.9' >"$live_work/hosts_wrong"
    ip_in router route add unreachable 10.77.9.0/24
    over hosts_wrong -n 2 --peer-timeout 2000 "$udp_traffic"
    udp_job_wait
    [ "$status" -ne 0 ] && [ -s "$live_work/err" ]
}

udp_verdict "a cable is pulled for 3 s" cable_pulled
udp_verdict "a cable is pulled for good" parted
udp_verdict "a route is lost for 2 s" route_lost
udp_verdict "an address that is no host's" no_way_from_the_start

# ---- Paths that narrow ------------------------------------------------------------------------

# narrowed NAMESPACE DEVICE: only shorter packets pass from now on; nobody is given up for that.
narrowed()
{
    over hosts -n 3 --peer-timeout 2000 "$udp_traffic" --seconds 3
    udp_job_says '^ok round 1$' || return 1
    ip_in "$1" link set "$2" mtu 1300
    udp_job_wait
    ip_in "$1" link set "$2" mtu 1500
    in_ a ip route flush cache
    in_ c ip route flush cache
    udp_traffic_is_right
}

# A path that is narrow from the start is noticed.
narrow()
{
    ip_in b link set eth0 mtu 1300
    over hosts -n 3 "$udp_traffic" --rounds 2
    udp_job_wait
    ip_in b link set eth0 mtu 1500
    udp_traffic_is_right
}

udp_verdict "a narrow path" narrow
udp_verdict "a host's MTU is lowered" narrowed b eth0
udp_verdict "the path's MTU is lowered" narrowed router to_b

# ---- Deaths ----------------------------------------------------------------------------------

one_killed()
{
    local from_us
    over hosts -n 3 --keep-going "$live_programs/udp_peer" 200
    udp_all_wait 3
    from_us=$(udp_now_us)
    kill -KILL "$(udp_pid_of 1)"
    udp_job_wait
    [ "$status" -eq 137 ] && udp_say_lines 2 '^dead [02]: 1$' && udp_say_lines 2 '^team [02]: 2$' &&
        udp_heard_within "$from_us" 0 "$UDP_SOON_MS"
}

# All that runs on b ends at once, including the launcher's agent.
host_killed()
{
    local from_us
    over hosts -n 3 --keep-going "$live_programs/udp_peer" 200
    udp_all_wait 3
    from_us=$(udp_now_us)
    # shellcheck disable=SC2046 # one word each
    kill -KILL $(ip netns pids "$PREFIX-b")
    udp_job_wait
    [ "$status" -ne 0 ] && udp_say_lines 2 '^dead [02]: 1$' && udp_say_lines 2 '^team [02]: 2$' &&
        udp_heard_within "$from_us" 0 "$UDP_SOON_MS"
}

# The agent stands still and cannot tell of the death: silence shows it.
killed_untold()
{
    local from_us pid others
    over hosts -n 3 --keep-going --peer-timeout 4000 "$live_programs/udp_peer" 4000
    udp_all_wait 3
    pid=$(udp_pid_of 1)
    others=$(ip netns pids "$PREFIX-b" | grep -vx "$pid")
    from_us=$(udp_now_us)
    # shellcheck disable=SC2086 # one word each
    kill -STOP $others
    kill -KILL "$pid"
    udp_job_says '^survived [02]$'
    live_eventually eval "[ \$(udp_lines '^survived') -eq 2 ] || udp_job_ended"
    # On a slow machine the launcher holds the agent for dead by now, and has ended it.
    # shellcheck disable=SC2086 # one word each
    kill -CONT $others 2>/dev/null
    udp_job_wait
    { [ "$status" -eq 137 ] || [ "$status" -eq 1 ]; } && udp_say_lines 2 '^dead [02]: 1$' && udp_say_lines 2 '^team [02]: 2$' &&
        udp_heard_within "$from_us" 700 "$UDP_LATE_MS"
}

udp_verdict "a node is killed" one_killed
udp_verdict "a host is killed" host_killed
udp_verdict "a node is killed and nobody tells" killed_untold

udp_verdict "nothing remains" live_nothing_remains
live_finish
