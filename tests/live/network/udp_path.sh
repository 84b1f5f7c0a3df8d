#!/usr/bin/env bash
# The path between two hosts narrows and widens while they send, and somebody forges ICMP messages
# about it. Nothing is lost, nobody is given up. Needs root.
# usage: udp_path.sh BUILD_FOLDER
#
#     a 10.77.1.2 ---- near ---- (the link that narrows) ---- far ---- b 10.77.2.2
#                                                              |
#                                                              +------ c 10.77.3.2, who forges
#
# All links carry 9,000 bytes at first. The narrow link lies between two routers, because only a
# router looks at what it passes on; it tells the sender by ICMP, or says nothing where the test
# drops that.
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"
# shellcheck source-path=SCRIPTDIR source=namespaces.bash
. "$(dirname "$0")/namespaces.bash"

readonly WIDE=9000 PUSHES=$live_programs/udp_push
# The least that the kernel believes.
readonly -A FORGED=([hosts]=552 [hosts6]=1280)
readonly -A VICTIM=([hosts]=10.77.1.2 [hosts6]=fd77:1::2) PEER=([hosts]=10.77.2.2 [hosts6]=fd77:2::2)

# join: the link between the two routers, and the ways over it.
join()
{
    ip link add middle netns "$PREFIX-near" type veth peer name middle netns "$PREFIX-far" &&
        ip_in near address add 10.77.9.1/24 dev middle &&
        ip_in near -6 address add fd77:9::1/64 dev middle nodad &&
        ip_in near link set middle up &&
        ip_in far address add 10.77.9.2/24 dev middle &&
        ip_in far -6 address add fd77:9::2/64 dev middle nodad &&
        ip_in far link set middle up &&
        ip_in near route add default via 10.77.9.2 &&
        ip_in near -6 route add default via fd77:9::2 &&
        ip_in far route add 10.77.1.0/24 via 10.77.9.1 &&
        ip_in far -6 route add fd77:1::/64 via fd77:9::1
}

# set_middle BYTES: what the link between the routers carries, both ways.
set_middle()
{
    ip_in near link set middle mtu "$1" && ip_in far link set middle mtu "$1"
}

widen_all()
{
    set_middle "$WIDE" && ip_in near link set to_a mtu "$WIDE" && ip_in a link set eth0 mtu "$WIDE" &&
        ip_in far link set to_b mtu "$WIDE" && ip_in b link set eth0 mtu "$WIDE"
}

# What the hosts have learnt is forgotten, so that each case begins with wide paths.
forget()
{
    local host
    widen_all
    for host in a b near far; do
        in_ "$host" ip route flush cache
        in_ "$host" ip -6 route flush cache
        in_ "$host" nft flush ruleset
    done
}

# Routers say nothing of what they drop.
be_silent()
{
    local router
    for router in near far; do
        in_ "$router" nft -f - <<'END' || return 1
table inet silence {
    chain leaving {
        type filter hook output priority 0;
        icmp type destination-unreachable drop
        icmpv6 type packet-too-big drop
    }
}
END
    done
}

make_network()
{
    make_router near && make_router far && make_host a 1 near && make_host b 2 far &&
        make_host c 3 far && join && widen_all
}

namespaces_or_skip
make_network || udp_skip "this machine cannot connect network namespaces"
printf '%s\n' 'a address=10.77.1.2' 'b address=10.77.2.2' >"$live_work/hosts"
printf '%s\n' 'a address=fd77:1::2' 'b address=fd77:2::2' >"$live_work/hosts6"

# The last group ended well. Prints how long its longest round took to descriptor 3.
pushes_are_right()
{
    if [ "$status" -ne 0 ] || ! grep '^pushes are right: [1-9]' "$live_work/out" >"$live_work/right"; then
        echo "status $status"
        return 1
    fi
    sed 's/^/    /' "$live_work/right" >&3
}

# ---- Paths that narrow ------------------------------------------------------------------------

# narrowed HOSTS BYTES [SILENT]: the link narrows in the midst, and SILENT: nobody tells.
narrowed()
{
    local right
    [ $# -lt 3 ] || be_silent || return 1
    over "$1" -n 2 "$PUSHES" 4
    udp_job_says '^ok round 2$' || return 1
    set_middle "$2"
    udp_job_wait
    pushes_are_right
    right=$?
    forget
    return "$right"
}

# to_and_fro: narrow, wide, narrow.
to_and_fro()
{
    local bytes right
    be_silent || return 1
    over hosts -n 2 "$udp_traffic" --seconds 5
    udp_job_says '^ok round 1$' || return 1
    for bytes in 1280 4000 1500 9000 1280 9000 1400; do
        set_middle "$bytes"
        sleep 0.5
    done
    udp_job_wait
    udp_traffic_is_right
    right=$?
    forget
    return "$right"
}

# narrow_from_the_start HOSTS: the hosts' own links are wide.
narrow_from_the_start()
{
    local right
    set_middle 1280
    be_silent || return 1
    over "$1" -n 2 "$PUSHES" 1
    udp_job_wait
    pushes_are_right
    right=$?
    forget
    return "$right"
}

# A host's own link narrows: the kernel refuses what is too long.
own_link()
{
    local right
    over hosts -n 2 "$PUSHES" 3
    udp_job_says '^ok round 2$' || return 1
    ip_in a link set eth0 mtu 1400
    udp_job_wait
    pushes_are_right
    right=$?
    forget
    return "$right"
}

udp_verdict "a path of 9,000 bytes narrows to 1,280" narrowed hosts 1280
udp_verdict "the same by IPv6" narrowed hosts6 1280
udp_verdict "the same, and no router tells" narrowed hosts 1280 silent
udp_verdict "the same by IPv6, and no router tells" narrowed hosts6 1280 silent
udp_verdict "a path narrows to 1,500 bytes, and no router tells" narrowed hosts 1500 silent
udp_verdict "a path narrows and widens again and again" to_and_fro
udp_verdict "a path that is narrow from the start, and no router tells" narrow_from_the_start hosts
udp_verdict "a host's own link narrows" own_link

# ---- Forged ICMP ------------------------------------------------------------------------------

# forging HOSTS PORT SECONDS: c tells both hosts that nothing long passes.
forging()
{
    local mtu=${FORGED[$1]}
    in_ c "$udp_tools/icmp_forger" --port "$2" --peer-port $(($2 + 1)) --mtu "$mtu" --seconds "$3" \
        "${VICTIM[$1]}" "${PEER[$1]}" >"$live_work/forged" 2>&1 &
    forgers=("$!")
    in_ c "$udp_tools/icmp_forger" --port $(($2 + 1)) --peer-port "$2" --mtu "$mtu" --seconds "$3" \
        "${PEER[$1]}" "${VICTIM[$1]}" >"$live_work/forged_too" 2>&1 &
    forgers+=("$!")
    udp_started+=("${forgers[@]}")
}

# attacked HOSTS: while they send.
attacked()
{
    local port right
    port=$(live_free_ports 2)
    over "$1" -n 2 --port "$port" "$PUSHES" 4
    udp_job_says '^ok round 2$' || return 1
    forging "$1" "$port" 2
    wait "${forgers[@]}"
    udp_job_wait
    both_have_forged || return 1
    pushes_are_right
    right=$?
    forget
    return "$right"
}

both_have_forged()
{
    if [ "$(grep -c '^forged=[1-9]' "$live_work/forged" "$live_work/forged_too" | grep -c ':1$')" -ne 2 ]; then
        cat "$live_work/forged" "$live_work/forged_too"
        return 1
    fi
}

# attacked_before HOSTS: what the hosts were told of an earlier group does not shrink the next one's
# packets.
attacked_before()
{
    local port right=0
    port=$(live_free_ports 2)
    over "$1" -n 2 --port "$port" "$PUSHES" 3
    udp_job_says '^ok round 2$' || return 1
    forging "$1" "$port" 1
    wait "${forgers[@]}"
    udp_job_wait
    over "$1" -n 2 --port "$port" "$PUSHES" 3
    udp_job_says '^ok round 2$' || return 1
    packet_bytes=$("$live_dimmnet" info --json "$udp_job" | grep -oE '"packet_bytes":[0-9]+')
    udp_job_wait
    pushes_are_right || right=1
    [ "${packet_bytes#*:}" -gt 8000 ] || { echo "told: ${packet_bytes:-nothing}"; right=1; }
    forget
    return "$right"
}

udp_verdict "forged ICMP" attacked hosts
udp_verdict "forged ICMP by IPv6" attacked hosts6
udp_verdict "forged ICMP before the start" attacked_before hosts

udp_verdict "nothing remains" live_nothing_remains
live_finish
