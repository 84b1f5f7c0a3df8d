#!/usr/bin/env bash
# Traffic that follows tables which OpenSM wrote: rerouted around a dead cable while it runs, locked
# up by engines that allow it and by no other, and barriers by OpenSM's multicast groups.
# usage: sim_subnet_load.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source=subnet.bash
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/subnet.bash"
subnet_needs 'traffic under OpenSM' opensm

# subnet STATUS ARGUMENT...: runs it, and compares its status.
subnet()
{
    local wanted=$1
    shift
    live_alone "$live_dimmnet" sim subnet "$@" --manager opensm
    [ "$status" -eq "$wanted" ] || { echo "status $status"; cat out err; return 1; }
}

says() { grep -qF -- "$1" out || { echo "no \"$1\""; cat out; return 1; }; }

# What was on the cable, or found no way, is sent again: all comes, once and in order.
a_dead_cable_is_gone_round_under_load()
{
    subnet 0 ring:8 --traffic uniform --rate 0.02 --flows 1 --window 300000 --drain 60000 \
        --cut switch-0:1@50000-200000 && says 'switch-0, port 1 is dead' &&
        says 'all ways lead to their boards again' && says 'switch-0, port 1 is back' &&
        says ' 0 lost, 0 doubled, 0 out of order'
}

a_dead_switch_is_gone_round_under_load()
{
    subnet 0 torus:3x3,boards=1 --traffic neighbour --rate 0.02 --flows 1 --window 200000 \
        --drain 60000 --kill switch-4@50000-120000 && says 'switch-4 is back' &&
        says ' 0 lost, 0 doubled, 0 out of order'
}

engines_lock_up_or_do_not()
{
    local load=(torus:5x5 --vls 8 --traffic uniform --carrier datagram --bytes 2048 --rate 0.7
        --json)
    subnet 1 "${load[@]}" --engine minhop && says '"outcome":"deadlocked"' &&
        says ' waits for the first' || return 1
    local engine
    for engine in updn lash dfsssp; do
        subnet 0 "${load[@]}" --engine "$engine" && says "\"engine\":\"$engine\"" &&
            says '"lost":0,' || return 1
    done
}

an_engine_that_cannot_is_named()
{
    subnet 0 torus:4x4 --engine ftree --traffic uniform &&
        grep -q 'could not use its engine ftree here, and took minhop' err
}

groups_carry_barriers()
{
    subnet 0 fat-tree:16 --barriers 5 && says 'released by one multicast packet: ' &&
        says '16 packets a round'
}

live_verdict 'a dead cable is gone round under load' a_dead_cable_is_gone_round_under_load
live_verdict 'a dead switch is gone round under load' a_dead_switch_is_gone_round_under_load
live_verdict 'engines lock up or do not' engines_lock_up_or_do_not
live_verdict 'an engine that cannot is named' an_engine_that_cannot_is_named
live_verdict 'groups carry barriers' groups_carry_barriers
live_verdict 'nothing remains' live_nothing_remains
live_finish
