#!/usr/bin/env bash
# `dimmnet sim subnet --traffic` with the manager inside: what it prints and writes, deaths and
# returns, circles, and what it refuses. usage: sim_subnet_traffic.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit

subnet() { live_alone "$live_dimmnet" sim subnet "$@"; }

# says WORDS: they are in what the last command printed.
says()
{
    grep -qF -- "$1" "$live_work/out" || { echo "no \"$1\""; return 1; }
}

# refuses WORDS ARGUMENT...: status 2 and a sentence.
refuses()
{
    local words=$1
    shift
    subnet "$@"
    [ "$status" -eq 2 ] && grep -qF -- "$words" "$live_work/err" || {
        echo "$*: status $status"
        return 1
    }
}

all_comes()
{
    local carrier
    for carrier in bridge datagram; do
        subnet fat-tree:16 --manager builtin --traffic all-to-all --carrier "$carrier" --rate 0.05
        [ "$status" -eq 0 ] && says ' 0 lost, 0 doubled, 0 out of order' &&
            says 'outcome           done' || return 1
    done
}

two_runs_are_the_same()
{
    local errors=(--errors 1e-6 --seed 7 --json)
    subnet torus:3x3 --manager builtin --traffic uniform "${errors[@]}"
    cp "$live_work/out" first
    subnet torus:3x3 --manager builtin --traffic uniform "${errors[@]}"
    [ "$status" -eq 0 ] && cmp first "$live_work/out"
}

json_is_one_object()
{
    subnet switch:8 --manager builtin --traffic shift --json --speed
    [ "$status" -eq 0 ] && python3 - "$live_work/out" <<'END'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
result = json.loads(lines[0])
assert result["test"] == "subnet" and result["nodes"] == 8 and result["outcome"] == "done", result
assert result["lost"] == 0 and result["packets"] > 0 and result["flit_hops_per_s"] > 0, result
END
}

shortest_ways_in_a_ring_lock_up()
{
    local load=(--traffic shift --carrier datagram --bytes 2048 --rate 0.9 --flows 1)
    subnet ring:7 --manager builtin --routing min-hop "${load[@]}"
    [ "$status" -eq 1 ] && says deadlocked && says 'waits for the first' || return 1
    subnet ring:7 --manager builtin --routing up-down "${load[@]}"
    [ "$status" -eq 0 ] && says saturated
}

deaths_and_returns_lose_nothing()
{
    subnet torus:3x3 --manager builtin --traffic uniform --rate 0.1 --window 3000 \
        --cut switch-0:1@500-1500 --kill switch-4@1800-2400
    [ "$status" -eq 0 ] && says 'switch-0, port 1 is dead' && says 'switch-0, port 1 is back' &&
        says 'switch-4 is back' && says ' 0 lost, 0 doubled, 0 out of order'
}

bits_are_checked()
{
    subnet switch:4 --manager builtin --traffic uniform --errors 1e-4 --check
    [ "$status" -eq 0 ] && says ' 0 lost, 0 doubled, 0 out of order' &&
        says ' damaged and seen, 0 damaged and not seen'
}

files_are_written()
{
    subnet ring:4 --manager builtin --traffic uniform --window 20 --capture c.pcapng \
        --capture-packets 100 --timeline t.json --html p.html --links
    [ "$status" -eq 0 ] && [ -s c.pcapng ] && grep -q '<svg' p.html || return 1
    says 'board-3, port 1' && python3 - <<'END'
import json
names = [e["args"]["name"] for e in json.load(open("t.json"))["traceEvents"]
         if e["ph"] == "M" and e["name"] == "thread_name"]
assert any(name.startswith("port 1 VL ") for name in names), names
END
}

files_that_cannot_be_written_are_named()
{
    local option
    for option in capture timeline html; do
        subnet ring:4 --manager builtin --traffic uniform --window 20 "--$option" /dev/full/x
        [ "$status" -eq 1 ] && grep -q '/dev/full/x' "$live_work/err" || {
            echo "--$option: status $status"
            return 1
        }
    done
    subnet ring:4 --manager builtin --traffic uniform --window 20 --capture /dev/full
    [ "$status" -eq 1 ] && grep -q 'No space left' "$live_work/err"
}

captures_open_in_tshark()
{
    command -v tshark >/dev/null || return 0
    subnet ring:4 --manager builtin --traffic uniform --errors 1e-5 --window 50 --capture c.pcapng
    [ "$status" -eq 0 ] || return 1
    local all bad
    all=$(HOME=$live_work tshark -r c.pcapng -Y 'infiniband || infiniband_link' 2>/dev/null | wc -l)
    bad=$(HOME=$live_work tshark -r c.pcapng 2>/dev/null \
        -Y '_ws.malformed || _ws.expert.severity >= 0x600000' | wc -l)
    [ "$all" -gt 500 ] && [ "$bad" -eq 0 ] || { echo "$all packets, $bad bad"; return 1; }
}

barriers_use_the_switches_multicast()
{
    subnet fat-tree:16 --manager builtin --barriers 5
    [ "$status" -eq 0 ] && says 'released by one multicast packet: ' &&
        says '16 packets a round' && says '30 packets a round'
}

a_program_is_stopped_by_ctrl_c()
{
    timeout --signal=INT 2 "$live_dimmnet" sim subnet fat-tree:64 --manager builtin \
        --traffic uniform --window 100000000 >out2 2>&1
    [ $? -eq 124 ] && grep -q interrupted out2
}

what_makes_no_sense_is_refused()
{
    local load=(--manager builtin --traffic uniform)
    refuses 'takes uniform, shift' ring:4 --manager builtin --traffic often &&
        refuses '--rate is of --traffic' ring:4 --rate 0.5 &&
        refuses 'from 0 to 1' ring:4 "${load[@]}" --rate 2 &&
        refuses 'the rate is not above 0' ring:4 "${load[@]}" --rate 0 &&
        refuses 'it may have 1 to 254' ring:4 "${load[@]}" --frame-lines 300 &&
        refuses 'buffer_flits is 8' ring:4 "${load[@]}" --buffer 8 &&
        refuses 'no node "nobody"' ring:4 "${load[@]}" --cut nobody:1@5 &&
        refuses 'no cable at port 9' ring:4 "${load[@]}" --cut switch-0:9@5 &&
        refuses 'takes NODE:PORT@MICROSECONDS' ring:4 "${load[@]}" --cut switch-0@5 &&
        refuses 'takes NODE@MICROSECONDS' ring:4 "${load[@]}" --kill switch-0@5-4 &&
        refuses '--engine is of --manager opensm' ring:4 --engine lash &&
        refuses 'needs --manager builtin or opensm' ring:4 --barriers 3 &&
        refuses 'fewer than two boards' switch:1 "${load[@]}" &&
        refuses 'a datagram up to the MTU' ring:4 "${load[@]}" --carrier datagram --bytes 4000
}

for test in all_comes two_runs_are_the_same json_is_one_object shortest_ways_in_a_ring_lock_up \
    deaths_and_returns_lose_nothing bits_are_checked files_are_written \
    files_that_cannot_be_written_are_named captures_open_in_tshark \
    barriers_use_the_switches_multicast a_program_is_stopped_by_ctrl_c \
    what_makes_no_sense_is_refused; do
    live_verdict "$test" "$test"
done
live_finish
