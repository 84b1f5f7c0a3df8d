# shellcheck shell=bash disable=SC2034 # names for the tests
# What the tests of Fagus's consistency share, beside udp.bash, which it sources; $1 is the build
# folder. A mode says how nodes reach each other's memory:
#
#     shared   one memory, no protocol
#     remote   the full protocol between processes, on mem
#     udp      the full protocol over packets
#     bad      the same through the relay, which delays, reorders, doubles, spoils and loses them
#     sim      the full protocol on a simulated machine
fagus_fabric=${DN_FABRIC-}
fagus_relax=${DN_RELAX-}
# shellcheck source-path=SCRIPTDIR source=../network/udp.bash
. "$(dirname "${BASH_SOURCE[0]}")/../network/udp.bash"

# All modes, or those of this stage of `make test`.
fagus_modes=(shared remote udp bad)
if [ -n "$fagus_relax" ]; then
    export DN_RELAX=$fagus_relax
    fagus_modes=(shared remote)
elif [ "$fagus_fabric" = udp ]; then
    fagus_modes=(udp)
elif [[ $fagus_fabric == sim:* ]]; then
    fagus_modes=(sim)
fi

fagus_bad_network=(--delay-ms 0 --jitter-ms 1 --reorder 4 --duplicate 4 --corrupt 1 --loss 1)

# fagus_group MODE NODES OPTION... PROGRAM ARGUMENT...: as live_group.
fagus_group()
{
    local mode=$1 nodes=$2
    shift 2
    unset FAGUS_FORCE_REMOTE
    case $mode in
    shared) live_group -n "$nodes" --fabric mem "$@" ;;
    remote) FAGUS_FORCE_REMOTE=1 live_group -n "$nodes" --fabric mem "$@" ;;
    udp) live_group -n "$nodes" --fabric udp "$@" ;;
    sim) live_group -n "$nodes" --fabric "$fagus_fabric" "$@" ;;
    bad)
        udp_relay_start "$nodes" "${fagus_bad_network[@]}" || return 1
        live_group -n "$nodes" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" "$@"
        udp_relay_stop || { echo "the relay failed"; return 1; }
        ;;
    esac
}
