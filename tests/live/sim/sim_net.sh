#!/usr/bin/env bash
# Networks of routers through their command. usage: sim_net.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

examples=$(cd "$(dirname "$0")/../../../examples/sim" && pwd)

# net EXAMPLE OPTION...: runs it to its end; leaves out, err and $status.
net()
{
    local example=$1
    shift
    live_alone "$live_dimmnet" sim net "$examples/$example.ini" "$@"
}

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; return 1; }; }

# The value of a field of the last JSON object.
field() { tail -n 1 "$live_work/out" | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

# holds EXPRESSION: of awk's.
holds() { awk "BEGIN { exit !($1) }" || { echo "not so: $1"; return 1; }; }

every_example_runs()
{
    local example
    for example in "$examples"/*.ini; do
        example=$(basename "$example" .ini)
        net "$example" --json
        case $example in
        broken-ring) ended_with 1 && [ "$(field outcome)" = deadlocked ] || return 1 ;;
        trace-8) ended_with 0 && [ "$(field outcome)" = 'done' ] || return 1 ;;
        *) ended_with 0 && [ "$(field outcome)" = steady ] || { echo "$example"; return 1; } ;;
        esac
    done
}

a_deadlock_names_its_circle()
{
    net broken-ring
    ended_with 1 || return 1
    # Seen within a millisecond: 62,500 cycles.
    holds "$(sed -n 's/.*deadlock, seen in cycle \([0-9]*\):.*/\1/p' "$live_work/out") < 62500" &&
        grep -Eq 'router [0-9]+ right VC [0-9] \(packet [0-9]+, [0-9] -> [0-9]\) waits for' \
            "$live_work/out"
}

# The bar; doc/ring.md has the derivation. A unit test covers rings of 8, 16 and 32.
saturation_is_near_the_bound()
{
    net ring-64 --sweep --json
    ended_with 0 && holds "$(field of_bound) > 0.95 && $(field of_bound) < 1.02"
}

what_is_too_much_is_said()
{
    net ring-8 --rate 1
    ended_with 0 && grep -q 'saturated: [0-9]* flits wait at the NICs; the hottest link is' \
        "$live_work/out"
}

jobs_do_not_matter()
{
    net ring-8 --sweep --csv --jobs 1
    ended_with 0 && cp "$live_work/out" "$live_work/one" || return 1
    net ring-8 --sweep --csv --jobs 5
    ended_with 0 && cmp "$live_work/one" "$live_work/out" && [ "$(wc -l <"$live_work/out")" -gt 10 ]
}

settings_count()
{
    net ring-8 --set network.width=12 --set traffic.pattern=neighbour --json
    ended_with 0 && [ "$(field nodes)" -eq 12 ] && holds "$(field hops) == 2"
}

errors_are_repaired_and_counted()
{
    net noisy-ring --json
    ended_with 0 && holds "$(field frames_resent) > 0 && $(field frames_damaged) > 0" || return 1
    holds "$(field lines_corrected) > 0 && $(field packets_lost) == 0" || return 1
    # Two wrong bits of a line are more than its ECC can mend.
    net noisy-ring --json --set errors.port_bit_error_rate=1e-3
    ended_with 0 && holds "$(field lines_damaged) > 0 && $(field packets_lost) > 0" || return 1
    net noisy-ring --set errors.port_bit_error_rate=1e-3
    ended_with 0 && grep -Eq '^  links: [1-9][0-9]* frames damaged, [1-9][0-9]* sent again$' \
        "$live_work/out" && grep -Eq '^  ports: [1-9][0-9]* lines corrected, [1-9][0-9]* damaged, ' \
        "$live_work/out" && grep -Eq '; [1-9][0-9]* packets lost$' "$live_work/out" || return 1
    net ring-8
    ended_with 0 && ! grep -q 'lines corrected\|frames damaged' "$live_work/out"
}

# A trace that has lost packets is not done.
a_trace_that_loses_packets_fails()
{
    net trace-8 --json --set errors.port_bit_error_rate=1e-3
    ended_with 1 && [ "$(field outcome)" = lossy ] && holds "$(field packets_lost) > 0"
}

links_and_speed_are_shown_when_asked_for()
{
    net ring-8 --json
    ended_with 0 && ! grep -q 'flit_hops_per_s\|link_from' "$live_work/out" || return 1
    net ring-8 --json --speed --links
    ended_with 0 && grep -q '"flit_hops_per_s":[1-9]' "$live_work/out" &&
        [ "$(grep -c link_from "$live_work/out")" -eq 16 ]
}

traces_have_a_track_for_each_channel()
{
    net ring-8 --trace "$live_work/trace.json" --to 2000
    ended_with 0 || return 1
    python3 - "$live_work/trace.json" <<'EOF'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
routers = [e["args"]["name"] for e in events if e["name"] == "process_name"]
spans = [e for e in events if e["ph"] == "X"]
assert sorted(routers) == ["router %d" % i for i in range(8)], routers
assert {"right VC 0", "right VC 3", "left VC 1", "NIC VC 2"} <= set(names), set(names)
assert not any("(2)" in name for name in names), "a channel is held twice"
assert len(spans) > 100
EOF
}

# What the studies of the ring say is of the machine that they name: a node of 4 has what its port
# carries.
studies_take_the_machines_port()
{
    local machine
    for machine in dimmnet1-B:250 dimmnet1-D:500; do
        live_alone "$live_dimmnet" sim study ring --max-nodes 4 --machine "${machine%:*}" --json
        ended_with 0 && holds "$(field node_mb_per_s) > 0.95 * ${machine#*:} &&
            $(field node_mb_per_s) < 1.02 * ${machine#*:}" || return 1
    done
}

mistakes_are_refused()
{
    local mistake
    for mistake in "--rate 2" "--rate x" "--sweep --rate 0.1" "--sunshine" "--sunshine 1" \
        "--jobs 0" "--set network.colour=1" "--set network.width=1" "--from 9 --to 8" "extra"; do
        # shellcheck disable=SC2086
        net ring-8 $mistake
        if ! ended_with 2 || [ "$(wc -l <"$live_work/err")" -ne 1 ]; then
            echo "$mistake"
            return 1
        fi
    done
}

for name in every_example_runs a_deadlock_names_its_circle saturation_is_near_the_bound \
    what_is_too_much_is_said jobs_do_not_matter settings_count errors_are_repaired_and_counted \
    a_trace_that_loses_packets_fails \
    links_and_speed_are_shown_when_asked_for traces_have_a_track_for_each_channel \
    studies_take_the_machines_port mistakes_are_refused; do
    live_verdict "${name//_/ }" "$name"
done
live_finish
