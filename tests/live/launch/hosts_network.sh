#!/usr/bin/env bash
# A group on hosts with networks of their own: namespaces that this test makes.
#
#     a --- 10.77.0.1   10.77.0.2 --- b        one cable, whose MTU is b's
#     c                                        no cable at all
#
# usage: hosts_network.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2016,SC2154 # single quotes for shells inside; names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

space_of=dn$$
made=()

remove_network()
{
    local space
    for space in "${made[@]}"; do
        ip netns del "$space"
    done
    rm -rf "$live_work"
}
trap remove_network EXIT

make_network()
{
    local space
    for space in a b c; do
        ip netns add "$space_of$space" && made+=("$space_of$space") &&
            ip -n "$space_of$space" link set lo up || return 1
    done
    ip link add "${space_of}x" netns "${space_of}a" type veth peer name "${space_of}y" netns "${space_of}b" &&
        ip -n "${space_of}a" addr add 10.77.0.1/24 dev "${space_of}x" &&
        ip -n "${space_of}b" addr add 10.77.0.2/24 dev "${space_of}y" &&
        ip -n "${space_of}a" addr add fd77::1/64 dev "${space_of}x" nodad &&
        ip -n "${space_of}b" addr add fd77::2/64 dev "${space_of}y" nodad &&
        ip -n "${space_of}a" link set "${space_of}x" up && ip -n "${space_of}b" link set "${space_of}y" up
}

if ! make_network 2>"$live_work/why"; then
    live_skip "hosts with networks of their own" "no namespaces here: $(cat "$live_work/why")"
    exit 0
fi

printf '%sa slots=2 address=10.77.0.1\n%sb slots=2 address=10.77.0.2\n' "$space_of" "$space_of" >four
printf '%sa slots=2 address=fd77::1\n%sb slots=2 address=fd77::2\n' "$space_of" "$space_of" >six
far=(--fabric udp --rsh 'ip netns exec')

# Where the nodes' sockets are, as their own host sees them.
readonly WHERE='inode=$(readlink "/proc/$$/fd/$DIMMNET_SOCKET_FD" | tr -dc 0-9)
    awk -v inode="$inode" "\$10 == inode { print \$2 }" /proc/net/udp | cut -d: -f1'

sockets_are_on_their_hosts()
{
    live_group "${far[@]}" --hosts four --label sh -c "$WHERE"
    expect_status 0 && expect_out <<<$'[0] 01004D0A\n[1] 01004D0A\n[2] 02004D0A\n[3] 02004D0A'
}

lives_are_told()
{
    live_group "${far[@]}" --hosts "$1" "$node" lives
    expect_status 0 && [ ! -s err ] && expect_out <<<$'saw it leave\nsaw it leave\nsaw it leave'
}

# The roster's packet_bytes_max, on all hosts.
readonly PACKETS='import os, struct
roster = open("/proc/self/fd/" + os.environ["DIMMNET_ROSTER_FD"], "rb").read(104)
print(struct.unpack_from("<I", roster, 84)[0])'

packets_are()
{
    local wanted=$1
    shift
    live_group "${far[@]}" "$@" python3 -c "$PACKETS"
    expect_status 0 || return 1
    [ "$(sort -u out)" = "$wanted" ] || { echo "$(sort -u out) bytes, not $wanted"; return 1; }
}

paths_decide_the_packets()
{
    packets_are 1472 --hosts four && packets_are 1452 --hosts six || return 1
    packets_are 1462 --hosts four --mtu 1490 && packets_are 1472 --hosts four --mtu 1501 || return 1
    # The smaller one counts, on whichever host.
    ip -n "${space_of}a" link set "${space_of}x" mtu 1300
    packets_are 1272 --hosts four || return 1
    ip -n "${space_of}a" link set "${space_of}x" mtu 1500
    ip -n "${space_of}b" link set "${space_of}y" mtu 1300
    packets_are 1272 --hosts four && packets_are 1222 --hosts four --mtu 1250 || return 1
    ip -n "${space_of}a" link set "${space_of}x" mtu 9000 && ip -n "${space_of}b" link set "${space_of}y" mtu 9000
    packets_are 8972 --hosts four || return 1
    ip -n "${space_of}b" link set "${space_of}y" mtu 570
    live_group "${far[@]}" --hosts four true
    expect_status 2 && expect_message 'an MTU of 570 bytes is too small, [0-9]+ is the least'
    local verdict=$?
    ip -n "${space_of}a" link set "${space_of}x" mtu 1500 && ip -n "${space_of}b" link set "${space_of}y" mtu 1500
    return "$verdict"
}

hosts_without_a_way()
{
    printf '%sa address=10.77.0.1\n%sc address=10.77.0.3\n' "$space_of" "$space_of" >bad
    ip -n "${space_of}c" link add dummy type dummy 2>/dev/null ||
        ip -n "${space_of}c" link add dummy type bridge || return 1
    ip -n "${space_of}c" addr add 10.77.0.3/32 dev dummy && ip -n "${space_of}c" link set dummy up
    live_group "${far[@]}" --hosts bad true
    expect_status 1 && expect_message \
        "host ${space_of}c cannot reach host ${space_of}a at 10.77.0.1:[0-9]+: Network is unreachable"
}

# The launcher is in another network: it needs none of its hosts' addresses.
a_killed_agent()
{
    start "${far[@]}" --hosts four --keep-going --label sh -c 'echo "pid $$"; exec "$0" witness' "$node"
    live_eventually lines_are out 8
    kill -KILL "$(agent_of 2)"
    finish
    expect_status 1 && expect_message "lost the agent on host ${space_of}b .*: nodes 2 to 3 are dead" &&
        [ "$(grep -c 'is dead' out)" -ge 2 ] && live_nothing_remains
}

live_verdict "sockets are on their hosts" sockets_are_on_their_hosts
live_verdict "nodes reach each other over IPv4" lives_are_told four
live_verdict "nodes reach each other over IPv6" lives_are_told six
live_verdict "the paths decide how large packets are" paths_decide_the_packets
live_verdict "hosts without a way to each other are named" hosts_without_a_way
live_verdict "an agent that is killed" a_killed_agent
live_verdict "nothing remains" live_nothing_remains
live_finish
