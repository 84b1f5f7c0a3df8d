#!/usr/bin/env bash
# A subnet changes while OpenSM manages it: cables and switches die and come back, managers come
# and go. usage: sim_subnet_change.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source=subnet.bash
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/subnet.bash"
subnet_needs 'OpenSM on a subnet that changes' opensm ibtracert sminfo

# way_matches FROM TO PATTERN
way_matches() { subnet_order way "$1" "$2" | grep -qE -- "$3"; }

# Neighbours of a ring have one hop between them, and the whole way round when that is cut.
a_cut_cable_is_gone_round()
{
    way_matches board-0 board-1 ': board-0\[1\] switch-0\[1\] switch-1\[3\]$' ||
        { subnet_order way board-0 board-1; return 1; }
    [ "$(subnet_order cut switch-0 1)" = ok ] || return 1
    live_eventually way_matches board-0 board-1 'switch-0\[2\] switch-7\[2\] .* switch-1\[3\]$' ||
        { subnet_order way board-0 board-1; return 1; }
    trace_is_the_way board-0 board-1 && trace_is_the_way board-1 board-0
}

a_cable_that_is_back_is_used()
{
    [ "$(subnet_order join switch-0 1)" = ok ] || return 1
    live_eventually way_matches board-0 board-1 ': board-0\[1\] switch-0\[1\] switch-1\[3\]$' ||
        { subnet_order way board-0 board-1; return 1; }
}

a_dead_switch_is_gone_round()
{
    [ "$(subnet_order kill switch-1)" = ok ] || return 1
    live_eventually way_matches board-0 board-2 'switch-0\[2\] switch-7\[2\]' || return 1
    way_matches board-0 board-1 'no address' || { subnet_order way board-0 board-1; return 1; }
    [ "$(subnet_order revive switch-1)" = ok ] || return 1
    live_eventually way_matches board-0 board-1 ': board-0\[1\] switch-0\[1\] switch-1\[3\]$' &&
        live_eventually way_matches board-0 board-2 'switch-0\[1\] switch-1\[1\]'
}

# The second manager stands by, and takes over when the first is killed.
a_second_manager_stands_by()
{
    local second
    opensm_start board-4 log2 -p 1
    second=$opensm_pid
    live_eventually log_has log2 1 'Entering STANDBY' || { tail -n 5 log2; return 1; }
    attached board-2 sminfo >told 2>&1 && grep -q 'priority 5 state 3' told || { cat told; return 1; }
    attached board-2 sminfo "$(lid_of board-4)" >told 2>&1 && grep -q 'priority 1 state 2' told ||
        { cat told; return 1; }
    kill -KILL "$first"
    wait "$first" 2>/dev/null
    live_eventually log_has log2 1 'Entering MASTER' || { tail -n 5 log2; return 1; }
    live_eventually log_has log2 1 'SUBNET UP' || return 1
    attached board-2 sminfo >told 2>&1 && grep -q 'priority 1 state 3' told || { cat told; return 1; }
    # It is told of changes now.
    [ "$(subnet_order cut switch-0 1)" = ok ] || return 1
    live_eventually way_matches board-0 board-1 'switch-0\[2\] switch-7\[2\]' || return 1
    opensm_stop "$second"
}

# What changed while there was no manager is found by the next.
changes_without_a_manager_are_found()
{
    [ "$(subnet_order join switch-0 1)" = ok ] && [ "$(subnet_order cut switch-4 1)" = ok ] ||
        return 1
    opensm_start board-6 log3
    live_eventually log_has log3 1 'SUBNET UP' || return 1
    live_eventually way_matches board-0 board-1 ': board-0\[1\] switch-0\[1\] switch-1\[3\]$' &&
        live_eventually way_matches board-4 board-5 'switch-4\[2\] switch-3\[2\]' || return 1
    opensm_stop "$opensm_pid"
}

live_verdict 'a subnet is served' subnet_start ring:8
opensm_start board-0 log -p 5
first=$opensm_pid
live_verdict 'OpenSM brings it up' live_eventually log_has log 1 'SUBNET UP'
live_verdict 'a cut cable is gone round' a_cut_cable_is_gone_round
live_verdict 'a cable that is back is used' a_cable_that_is_back_is_used
live_verdict 'a dead switch is gone round' a_dead_switch_is_gone_round
live_verdict 'a second manager stands by and takes over' a_second_manager_stands_by
live_verdict 'changes without a manager are found' changes_without_a_manager_are_found
opensm_stop "$first"
live_verdict 'the server ends well' subnet_stop
live_verdict 'nothing remains' live_nothing_remains
live_finish
