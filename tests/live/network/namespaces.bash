# shellcheck shell=bash
# Hosts of a test's own: network namespaces, and groups that run on them. Sourced beside udp.bash,
# which calls the clean-up; needs root.
# shellcheck disable=SC2154 # live.bash sets them
readonly PREFIX=dn$$
namespaces=()

# However the test ends. What still runs in a namespace is ours alone.
udp_clean_up_more()
{
    local name pids
    for name in "${namespaces[@]}"; do
        pids=$(ip netns pids "$PREFIX-$name" 2>/dev/null)
        # shellcheck disable=SC2086 # one word each
        [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
        ip netns del "$PREFIX-$name" 2>/dev/null
    done
}

in_() { ip netns exec "$PREFIX-$1" "${@:2}"; }
ip_in() { ip -n "$PREFIX-$1" "${@:2}"; }

make_namespace()
{
    ip netns add "$PREFIX-$1" && namespaces+=("$1") && ip_in "$1" link set lo up
}

# A namespace that passes on what it gets.
make_router()
{
    make_namespace "$1" && in_ "$1" sh -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward &&
        echo 1 >ipv6/conf/all/forwarding'
}

# make_host NAME NUMBER ROUTER: a host 10.77.NUMBER.2, fd77:NUMBER::2 behind the router's port
# to_NAME, which has the addresses that end with 1.
make_host()
{
    make_namespace "$1" &&
        ip link add eth0 netns "$PREFIX-$1" type veth peer name "to_$1" netns "$PREFIX-$3" &&
        ip_in "$3" address add "10.77.$2.1/24" dev "to_$1" &&
        ip_in "$3" -6 address add "fd77:$2::1/64" dev "to_$1" nodad &&
        ip_in "$3" link set "to_$1" up &&
        ip_in "$1" address add "10.77.$2.2/24" dev eth0 &&
        ip_in "$1" -6 address add "fd77:$2::2/64" dev eth0 nodad &&
        ip_in "$1" link set eth0 up &&
        ip_in "$1" route add default via "10.77.$2.1" &&
        ip_in "$1" -6 route add default via "fd77:$2::1"
}

# Ends the test where it cannot run, and makes the command by which the launcher starts agents.
namespaces_or_skip()
{
    [ "$(id -u)" -eq 0 ] || udp_skip "network namespaces need root"
    command -v ip >/dev/null || udp_skip "there is no ip command (iproute2)"
    ip netns add "$PREFIX-try" 2>/dev/null || udp_skip "this machine allows no network namespaces"
    ip netns del "$PREFIX-try"
    cat >"$live_work/rsh" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec "$PREFIX-\$host" sh -c "\$*"
END
    chmod +x "$live_work/rsh"
}

# over HOSTS OPTION... PROGRAM...: launched in a, in the background, as udp_job_start.
over()
{
    local hosts=$1
    shift
    : >"$live_work/out"
    # No function in between, so that the process that is told to end is the launcher itself.
    ip netns exec "$PREFIX-a" "$live_dimmnet" run --hosts "$live_work/$hosts" --rsh "$live_work/rsh" \
        --fabric udp --timeout 30 "$@" >"$live_work/out" 2>"$live_work/err" </dev/null &
    udp_job=$!
    udp_started+=("$udp_job")
}
