#!/usr/bin/env bash
# The infiniband-diags on a subnet that OpenSM manages: every one answers, and what they say is so.
# usage: sim_subnet_diags.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source=subnet.bash
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/subnet.bash"
subnet_needs 'diags on a simulated subnet' opensm ibtracert ibroute perfquery smpquery iblinkinfo \
    sminfo ibping saquery

# says TEXT PROGRAM...: it succeeds, and its output has the text.
says()
{
    local text=$1
    shift
    attached board-2 "$@" >told 2>told.err || { echo "$*: status $?"; cat told.err; return 1; }
    grep -qE -- "$text" told || { echo "$* did not say \"$text\""; head -n 5 told; return 1; }
}

managers_are_known()
{
    says 'sm lid [1-9][0-9]* .* SMINFO_MASTER' sminfo &&
        says 'base_lid' saquery -s && says 'NodeRecord' saquery NR && says 'PathRecord' saquery -p &&
        says 'Capability mask' saquery -c
}

tables_are_shown()
{
    local lid
    lid=$(lid_of switch-0)
    says "Unicast lids .* of switch Lid $lid .*\\(switch-0\\)" ibroute "$lid" || return 1
    # As many addresses as there are nodes.
    [ "$(grep -c '^0x' told)" -eq 32 ] || { echo 'lines are missing'; return 1; }
    says 'Multicast mlids' ibroute -M "$lid"
}

registers_are_shown()
{
    local lid
    lid=$(lid_of board-5)
    says 'NodeType:\.+Channel Adapter' smpquery nodeinfo "$lid" &&
        says 'Node Description:\.+board-5' smpquery nodedesc "$lid" &&
        says 'LinkState:\.+Active' smpquery portinfo "$lid" &&
        says 'NeighborMTU:\.+2048' smpquery portinfo "$lid" &&
        says 'VLCap:\.+VL0-3' smpquery portinfo "$lid" &&
        says 'LinkWidthActive:\.+4X' smpquery portinfo "$lid" &&
        says 'LinkSpeedActive:\.+2.5 Gbps' smpquery portinfo "$lid" &&
        says '0xffff' smpquery pkeys "$lid" &&
        says 'LinearFdbCap:\.+4096' smpquery switchinfo "$(lid_of switch-3)" &&
        says 'SL2VL' smpquery sl2vl "$(lid_of switch-3)" 1 &&
        says 'VLArbitration' smpquery vlarb "$(lid_of switch-3)" 1 &&
        says 'Node Description:\.+switch-2' smpquery -D nodedesc 0,1 &&
        says 'NumPorts:\.+5' smpquery -c nodeinfo "$(lid_of switch-3)" 0
}

counters_are_shown()
{
    says 'PortXmitData:\.+0' perfquery "$(lid_of board-1)" 1 &&
        says 'PortMulticastRcvPkts:\.+0' perfquery -x "$(lid_of board-1)" 1 &&
        says 'port 255' perfquery -a "$(lid_of switch-1)" &&
        attached board-2 perfquery -R "$(lid_of board-1)" 1
}

links_are_shown()
{
    says '"board-7"' iblinkinfo || return 1
    [ "$(grep -c 'Active/ *LinkUp' told)" -ge 32 ] || { echo 'not all are up'; return 1; }
    says '32 nodes checked, 0 bad nodes' ibqueryerrors
}

pings_are_answered()
{
    says 'Pong from board-9' ibping -c 3 "$(lid_of board-9)" && says '0% packet loss' ibping -c 3 \
        "$(lid_of switch-9)"
}

traces_are_the_ways()
{
    local i
    for ((i = 0; i < 40; i++)); do
        trace_is_the_way "board-$((i % 16))" "board-$(((i * 7 + 3) % 16))" || return 1
    done
}

# A port is taken out of use and back by ibportstate.
ports_are_disabled()
{
    local lid
    lid=$(lid_of switch-6)
    attached board-2 ibportstate "$lid" 1 disable
    live_eventually log_has log 2 'SUBNET UP' || return 1
    says 'Disabled' ibportstate "$(lid_of switch-6)" 1 query || return 1
    attached board-2 ibportstate "$(lid_of switch-6)" 1 enable
    live_eventually log_has log 3 'SUBNET UP' || return 1
    says 'LinkUp' ibportstate "$(lid_of switch-6)" 1 query
}

live_verdict 'a subnet is served' subnet_start torus:4x4
opensm_start board-0 log
live_verdict 'OpenSM brings it up' live_eventually log_has log 1 'SUBNET UP'
live_verdict 'managers are known' managers_are_known
live_verdict 'tables are shown' tables_are_shown
live_verdict 'registers are shown' registers_are_shown
live_verdict 'counters are shown' counters_are_shown
live_verdict 'links are shown' links_are_shown
live_verdict 'pings are answered' pings_are_answered
live_verdict 'ibtracert finds the ways of the tables' traces_are_the_ways
live_verdict 'ports are disabled and enabled' ports_are_disabled
opensm_stop "$opensm_pid"
live_verdict 'the server ends well' subnet_stop
live_verdict 'it had nothing to report' [ ! -s said ]
live_verdict 'nothing remains' live_nothing_remains
live_finish
