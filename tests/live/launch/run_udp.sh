#!/usr/bin/env bash
# The launcher's side of the udp fabric: what nodes are given and what not, options that make no
# sense, ports. The nodes here are shells. usage: run_udp.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
# shellcheck disable=SC2016 # most of the single quotes are for shells inside
. "$(dirname "$0")/../live.bash"

unset DN_FABRIC

expect_status()
{
    [ "$status" -eq "$1" ] || { echo "status $status, not $1"; return 1; }
}

expect_out()
{
    diff <(sort "$live_work/out") - >"$live_work/differences" && return 0
    cat "$live_work/differences"
    return 1
}

# refused STATUS PATTERN OPTION...: one matching line, no output, nothing started.
refused()
{
    local wanted=$1 pattern=$2
    shift 2
    live_group "$@"
    expect_status "$wanted" || { echo "case: $*"; return 1; }
    if [ "$(wc -l <"$live_work/err")" -ne 1 ] || [ -s "$live_work/out" ] ||
        ! grep -qE -- "^dimmnet run: .*$pattern" "$live_work/err"; then
        echo "case: $*; stderr is not one line like: $pattern"
        cat "$live_work/err"
        return 1
    fi
}

# ---- Options ---------------------------------------------------------------------------

options_need_the_fabric()
{
    local option
    for option in --encrypt --no-auth '--mtu 1500' '--peer-timeout 1000' '--port 7000' \
        '--relay-port 8000'; do
        # shellcheck disable=SC2086 # an option and its value
        refused 2 "${option%% *} is for --fabric udp only" -n 2 $option true || return 1
        # shellcheck disable=SC2086
        DN_FABRIC=udp refused 2 "${option%% *} is for --fabric udp only" -n 2 --fabric mem \
            $option true || return 1
    done
}
live_verdict "options of the udp fabric are refused on mem" options_need_the_fabric

bad_options_are_refused()
{
    local udp=(-n 2 --fabric udp)
    refused 2 '--fabric takes one of mem, udp, sim, not "tin"' -n 2 --fabric tin true &&
        DN_FABRIC=tin refused 2 'cannot understand DN_FABRIC="tin"' -n 2 true &&
        refused 2 'MTU of 500 bytes is too small, [0-9]+ is the least' "${udp[@]}" --mtu 500 true &&
        refused 2 'mtu takes a number of bytes' "${udp[@]}" --mtu small true &&
        refused 2 'mtu takes a number of bytes' "${udp[@]}" --mtu 0 true &&
        refused 2 'peer-timeout takes a number of milli' "${udp[@]}" --peer-timeout 0 true &&
        refused 2 'peer-timeout takes a number of milli' "${udp[@]}" --peer-timeout 1s true &&
        refused 2 'port takes a port' "${udp[@]}" --port 65536 true &&
        refused 2 'relay-port takes a port' "${udp[@]}" --relay-port 0 true &&
        refused 2 'no 2 ports from 65535 on' "${udp[@]}" --port 65535 true &&
        refused 2 'choose one' "${udp[@]}" --no-auth --encrypt true &&
        refused 2 'too much memory to map' "${udp[@]}" --heap 1000000T true
}
live_verdict "options that make no sense are refused" bad_options_are_refused

the_environment_chooses()
{
    DN_FABRIC=udp live_group -n 1 sh -c 'echo "${DIMMNET_ROSTER_FD:+roster}"'
    expect_status 0 && expect_out <<<'roster' || return 1
    DN_FABRIC=udp live_group -n 1 --fabric mem sh -c 'echo "${DIMMNET_ROSTER_FD-none}"'
    expect_status 0 && expect_out <<<'none'
}
live_verdict "DN_FABRIC is the default" the_environment_chooses

no_auth_is_said()
{
    live_group -n 2 --fabric udp --no-auth true
    expect_status 0 && grep -q 'packets are not authenticated' "$live_work/err" || return 1
    live_group -n 2 --fabric udp true
    expect_status 0 && [ ! -s "$live_work/err" ]
}
live_verdict "packets without authentication are warned of" no_auth_is_said

# ---- What a node is given ----------------------------------------------------------------

# The kinds of the open descriptors of the shell that runs this, without files and pipes.
readonly LIST='for fd in /proc/$$/fd/*; do readlink "$fd"; done | sed "s/:\[[0-9]*\]$//" |
    grep -e memfd -e inode -e socket | sort | tr "\n" " "'

descriptors_are_right()
{
    local held='/memfd:dimmnet (deleted) /memfd:dimmnet-roster (deleted) anon_inode:[eventfd] socket '
    live_group -n 3 --fabric udp sh -c "$LIST; echo"
    expect_status 0 && expect_out <<<"$held"$'\n'"$held"$'\n'"$held"
}

# Each node has one socket, the one that it is told, bound to the right port.
sockets_are_their_own()
{
    local port
    port=$(live_free_ports 4)
    live_group -n 3 --fabric udp --port "$port" --label sh -c '
        count=0
        for fd in /proc/$$/fd/*; do
            case $(readlink "$fd") in socket:*) count=$((count + 1)) ;; esac
        done
        inode=$(readlink "/proc/$$/fd/$DIMMNET_SOCKET_FD" | tr -dc 0-9)
        hex=$(awk -v inode="$inode" "\$10 == inode { print \$2 }" /proc/net/udp)
        echo "$count ${hex%:*} $((0x${hex#*:}))"'
    expect_status 0 && expect_out <<END
[0] 1 0100007F $port
[1] 1 0100007F $((port + 1))
[2] 1 0100007F $((port + 2))
END
}

nothing_is_told_twice()
{
    live_group -n 1 --fabric udp "$live_dimmnet" run -n 1 sh -c \
        'echo "${DIMMNET_ROSTER_FD-none} ${DIMMNET_SOCKET_FD-none}"'
    expect_status 0 && expect_out <<<'none none'
}

live_verdict "a node holds lives, roster and one socket" descriptors_are_right
live_verdict "a node's socket is its own" sockets_are_their_own
live_verdict "a group on mem inside one on udp" nothing_is_told_twice

# ---- Ports -------------------------------------------------------------------------------

# Nodes end one after the other; the port of a node that ended is free though the group runs.
ports_are_free_after_a_node()
{
    local port
    port=$(live_free_ports 4)
    live_group -n 2 --fabric udp --port "$port" sh -c '
        [ "$DIMMNET_RANK" = 0 ] || exit 0
        for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            if "$0" run -n 1 --fabric udp --port "$1" true 2>/dev/null; then
                echo free; exit 0
            fi
            sleep 0.2
        done' "$live_dimmnet" "$((port + 1))"
    expect_status 0 && expect_out <<<free
}

a_taken_port_is_named()
{
    local port
    port=$(live_free_ports 4)
    live_group -n 1 --fabric udp --port "$((port + 2))" sh -c \
        '"$0" run -n 4 --fabric udp --port "$1" true 2>&1; echo "status $?"' "$live_dimmnet" "$port"
    expect_status 0 && expect_out <<END
dimmnet run: cannot bind node 2 to 127.0.0.1:$((port + 2)): Address already in use
status 1
END
}

live_verdict "the port of a node that ended is free" ports_are_free_after_a_node
live_verdict "a taken port is named" a_taken_port_is_named

# ---- Lives, as on mem ----------------------------------------------------------------------

failures_are_told()
{
    live_group -n 3 --fabric udp sh -c '[ "$DIMMNET_RANK" != 1 ] || exit 7; sleep 30'
    expect_status 7 && grep -qE 'node 1 \(pid [0-9]+\) exited with status 7$' "$live_work/err"
}
live_verdict "a failure ends the group" failures_are_told

secret_is_nowhere()
{
    live_group -n 2 --fabric udp --timeout 30 python3 -c "$(live_secret_search)"
    expect_status 0 && expect_out <<<$'looked\nlooked'
}
live_verdict "the secret is in no environment and no command line" secret_is_nowhere

live_verdict "nothing remains" live_nothing_remains
live_finish
