#!/usr/bin/env bash
# Synchronisation variables with 1 to 4 nodes that share memory or do not, on mem and udp; nodes
# killed with them; accesses that FAGUS_CHECK=1 traps. usage: fagus_sync.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# All of the story's survivors said exactly these lines, in any order: "LINE; LINE".
told()
{
    local story=$1 bytes=$2 nodes=$3 dead=$4 wanted=$5 said
    live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/fagus_sync_death" \
        "$story" "$bytes"
    said=$(grep -v '^ok survivor$' "$live_work/out" | sort | paste -sd';')
    if [ "$(grep -c '^ok survivor$' "$live_work/out")" -ne $((nodes - dead)) ] ||
        [ "$said" != "$(tr ';' '\n' <<<"$wanted" | sort | paste -sd';')" ]; then
        echo "said \"$said\", not \"$wanted\""
        return 1
    fi
}

# deaths MODE: shared, mem or udp decide what can be known afterwards.
deaths()
{
    local mode=$1 bytes
    for bytes in 64 20000; do
        local large=''
        [ "$bytes" -le 448 ] || large=large
        local first="owner dead 6" rest="held 6" lone="held 6;held 6"
        local broken="owner dead 6;held 50" mended="owner dead 6;held 6;held 6;held 50"
        local binder="held;held"
        case $mode$large in
        shared*) first=lost rest=lost broken="lost;held 50" mended="lost;lost;lost;held 50" ;;
        mem*large) broken="lost;held 50" ;;
        udp*large) broken="lost;held 50" lone="lost;lost" ;;
        esac
        [ "$mode" != udp ] || binder="lost;lost"
        live_verdict "$mode, $bytes bytes: a holder dies" told holder $bytes 3 1 "$first;$rest"
        live_verdict "$mode, $bytes bytes: a holder dies, another mends it" \
            told mended $bytes 3 1 "$mended"
        [ -z "$large" ] || live_verdict "$mode, $bytes bytes: a binder dies whom nobody asked" \
            told lone_binder $bytes 3 1 "$binder"
        live_verdict "$mode, $bytes bytes: so does the last one who wrote" \
            told owner_who_writes $bytes 3 1 "$broken"
        live_verdict "$mode, $bytes bytes: the only one with the last version dies" \
            told lone_owner $bytes 3 1 "$lone"
        live_verdict "$mode, $bytes bytes: one of two with the last version dies" \
            told copied_owner $bytes 3 1 "held 6;held 6"
        live_verdict "$mode, $bytes bytes: who has the last version waits to leave" \
            told owner_waits_to_leave $bytes 3 0 "held 6;held 6"
        live_verdict "$mode, $bytes bytes: who has the last version leaves after a death" \
            told owner_leaves $bytes 3 1 "${lone%;*}"
        live_verdict "$mode, $bytes bytes: a waiter dies" told waiter $bytes 3 1 "found 7"
        live_verdict "$mode, $bytes bytes: a reader dies" told reader $bytes 4 1 ""
        live_verdict "$mode, $bytes bytes: a node dies at a barrier" \
            told barrier $bytes 3 1 "peer;peer"
        local released="released held"
        if [ "$mode" = udp ]; then
            released="released peer"
            live_verdict "$mode, $bytes bytes: the manager dies" \
                told manager $bytes 3 1 "peer;peer"
        else
            live_verdict "$mode, $bytes bytes: the manager dies" survivors manager $bytes 3 1
        fi
        live_verdict "$mode, $bytes bytes: the manager dies under a holder" \
            told holder_loses_the_manager $bytes 3 1 "$released"
        for ((round = 1; round <= ${DN_TEST_DEATHS:-3}; round++)); do
            DN_TEST_SEED=$((DN_TEST_SEED + round))
            live_verdict "$mode, $bytes bytes: nodes die anywhere, round $round" \
                survivors storm $bytes 5 2
        done
    done
}

survivors()
{
    local story=$1 bytes=$2 nodes=$3 dead=$4
    live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/fagus_sync_death" \
        "$story" "$bytes"
    if [ "$(grep -c '^ok survivor$' "$live_work/out")" -ne $((nodes - dead)) ] ||
        grep '^FAIL' "$live_work/out"; then
        echo "not $((nodes - dead)) survivors"
        return 1
    fi
}

# trapped STORY PATTERN...: the program ends with a failure, and its words match all patterns.
trapped()
{
    local story=$1 pattern
    shift
    FAGUS_CHECK=1 live_group -n 1 "$live_programs/fagus_check" "$story"
    [ "$status" -ne 0 ] || { echo "not trapped"; return 1; }
    ! grep -q 'came to its end' "$live_work/out" || { echo "went on"; return 1; }
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$live_work/err" || { echo "does not say \"$pattern\""; return 1; }
    done
}

well()
{
    live_group -n "$1" --timeout 60 "$live_programs/fagus_check" well
    [ "$status" -eq 0 ] && [ "$(grep -cx well "$live_work/out")" -eq "$1" ]
}

guards()
{
    local at='of 8192 at 0x[0-9a-f]+ that are bound to'
    [ "$(getconf PAGESIZE)" = 4096 ] || at='that are bound to'
    live_verdict "$1: what is right passes" well 2
    FAGUS_CHECK=1 live_verdict "$1, checked: what is right passes" well 2
    live_verdict "$1: a write without holding" trapped write_unheld \
        'node 0: write to 0x' "$at \"the first\", which this node does not hold" \
        'by the instruction at 0x[0-9a-f]+, in .*fagus_check' 'acquire it before'
    live_verdict "$1: a read without holding" trapped read_unheld \
        'node 0: read of 0x' "$at \"the second\", which this node does not hold"
    live_verdict "$1: a write while holding to read" trapped write_held_to_read \
        'write to 0x' 'holds for reading only' 'FAGUS_WRITE'
    live_verdict "$1: a write after the release" trapped write_released \
        'write to 0x' '"the first", which this node does not hold'
    live_verdict "$1: a write to a page of two variables" trapped write_small \
        '"the second"' 'ranges of 1 other binding'
    if command -v addr2line >"$live_work/where"; then
        live_verdict "$1: the source line" trapped write_unheld 'fagus_check.c:[0-9]+'
    fi
}

# Everything once, with the fabric and mode of the environment.
round()
{
    local nodes
    for nodes in alone 1 2 3 4; do
        live_checks fagus_sync "$nodes"
    done
    deaths "$1"
    guards "$1"
}

export FAGUS_FORCE_REMOTE=0
case ${DN_FABRIC-}${DN_RELAX-} in
udp* | sim:*) round udp ;;
*1) # Through that layer nothing of the dead can be read, as on udp; the lock goes on.
    for nodes in 2 3; do
        live_checks fagus_sync "$nodes"
        FAGUS_FORCE_REMOTE=1 live_checks fagus_sync "$nodes"
    done ;;
*)
    round shared
    FAGUS_FORCE_REMOTE=1 round mem
    DN_FABRIC=udp round udp ;;
esac
live_verdict "nothing remains" live_nothing_remains
live_finish
