#!/usr/bin/env bash
# Traces of live groups, on each fabric: JSON that has every node's calls, arrows from what was sent
# to the wait that it ended, what a killed node did, and sentences for what goes wrong.
# usage: run_trace.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
trace=$live_work/trace.json
node=$live_programs/trace_node

# look EXPRESSION: whether it is true of the trace. `trace` is all of it; `slices` and `arrows` are
# lists: of dicts, and of pairs of slices; `named` gives the slices of a node with a name.
look()
{
    python3 - "$trace" "$1" <<'PYTHON'
import bisect
import json
import sys

trace = json.load(open(sys.argv[1]))
events = trace["traceEvents"]
nodes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
slices = [e for e in events if e["ph"] == "X"]
rows = {}
for slice in slices:
    slice["node"] = int(nodes[slice["pid"]].split()[1])
    slice["ends"] = slice["ts"] + slice["dur"]
    rows.setdefault((slice["pid"], slice["tid"]), []).append(slice)
for row in rows.values():
    row.sort(key=lambda slice: slice["ts"])


def around(end):
    """The slice in which an arrow begins or ends, as a viewer finds it."""
    row = rows[end["pid"], end["tid"]]
    place = bisect.bisect_right([slice["ts"] for slice in row], end["ts"]) - 1
    assert place >= 0 and end["ts"] <= row[place]["ends"], end
    return row[place]


def named(node, name):
    return [slice for slice in slices if slice["node"] == node and slice["name"] == name]


begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert begins.keys() == ends.keys() and trace["otherData"]["arrows"] == len(begins)
assert all(begins[number]["ts"] <= ends[number]["ts"] for number in begins)
few = len(begins) <= 1000
arrows = [(around(begins[n]), around(ends[n])) for n in begins] if few else []
apart = all(first["ends"] <= second["ts"] + 1e-9
            for row in rows.values() for first, second in zip(row, row[1:]))
if not eval(f"({sys.argv[2]})"):
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(trace)[:2000]}")
PYTHON
}

# traced FABRIC WORD...: a group of two nodes that are recorded.
traced()
{
    local fabric=$1
    shift
    rm -f "$trace"
    live_group -n 2 --fabric "$fabric" --timeout 60 --trace "$trace" "$@"
}

said() { grep -qE -- "$1" "$live_work/err"; }
is() { [ "$1" = "$2" ]; }

each_store_ends_a_wait()
{
    traced "$1" "$node" rounds 100
    is "$status" 0 && said 'trace: 4[01][0-9] records of 2 nodes in .*; open it in ui.perfetto.dev' &&
        look 'sorted(nodes.values()) == ["node 0", "node 1"]' &&
        look 'trace["otherData"]["dropped"] == 0 and trace["otherData"]["records"] == len(slices)' &&
        look 'all(len(named(node, "dn_store_u64")) == 100 for node in (0, 1))' &&
        look 'all(len(named(node, "dn_wait_until_u64")) == 100 for node in (0, 1))' &&
        look 'all(s["args"]["peer"] == 1 - s["node"] and s["args"]["bytes"] == 8
                  for s in slices if s["name"] == "dn_store_u64")' &&
        look 'len(arrows) == 200 and apart' &&
        look 'all(a["name"] == "dn_store_u64" and b["name"] == "dn_wait_until_u64"
                  and a["node"] == 1 - b["node"] for a, b in arrows)' &&
        look 'sorted(named(0, "dn_store_u64").index(a) for a, b in arrows if a["node"] == 0)
                  == list(range(100))'
}

every_way_to_send_has_its_arrow()
{
    traced "$1" "$node" kinds
    is "$status" 0 &&
        look 'sorted(a["name"] for a, b in arrows) == ["dn_add_u64", "dn_botf", "dn_fetch_add_u64",
                  "dn_put", "dn_put_signal", "dn_send", "dn_send", "dn_store_u64"]' &&
        look '[(a["args"]["bytes"], b["args"]["bytes"]) for a, b in arrows if b["name"] == "dn_recv"]
                  == [(16, 16), (1, 1)]' &&
        look 'all(a["node"] == 0 and b["node"] == 1 for a, b in arrows)'
}

inner_calls_are_not_recorded()
{
    traced "$1" "$node" kinds
    is "$status" 0 && look 'len(named(0, "dn_push")) == 0 and len(named(0, "dn_op_wait")) == 0' &&
        look 'len(named(0, "dn_put")) == 1 and len(named(0, "dn_barrier")) == 1'
}

a_killed_node_is_in_it()
{
    traced "$1" --keep-going "$node" killed
    is "$status" 137 && look 'len(named(1, "dn_set_u64")) == 1 and len(named(1, "dn_attach")) == 1' &&
        look '[s["args"].get("unfinished") for s in named(1, "dn_allreduce_with")] == [True]' &&
        look 'slices[-1] == named(1, "dn_allreduce_with")[0]' &&
        look '[s["args"].get("error") for s in named(0, "dn_wait_until_u64")] == [None, "DN_EPEER"]'
}

threads_have_rows_of_their_own()
{
    traced "$1" "$node" threads
    is "$status" 0 && look 'len(rows) == 4 and apart' &&
        look 'all(sum(s["name"] == "dn_add_u64" for s in row) == 1000 for row in rows.values())'
}

a_child_is_not_recorded()
{
    traced "$1" "$node" fork
    is "$status" 0 && look 'sorted({s["name"] for s in slices})
                                == ["dn_attach", "dn_barrier", "dn_detach"]'
}

calls_without_room_are_counted()
{
    traced "$1" --trace-records 50 "$node" rounds 100
    is "$status" 0 && said 'trace: 100 records of 2 nodes' &&
        said 'trace: 30[0-9] later calls found no room; --trace-records makes more than 50' &&
        look 'len(slices) == 100 and trace["otherData"]["dropped"] > 300'
}

calls_are_the_same_each_time()
{
    local first
    traced "$1" "$node" kinds
    first=$(grep -oE '"call_hash":"[0-9a-f]{16}"' "$trace")
    traced "$1" "$node" kinds
    [ -n "$first" ] && grep -q -- "$first" "$trace" || { echo "$first is not in it"; return 1; }
}

openshmem_calls_have_their_names()
{
    status=0
    "$live_build/oshrun" -n 2 --fabric "$1" --trace "$trace" --trace-records 5000 \
        "$live_build/examples/shmem/ring" >"$live_work/out" 2>"$live_work/err" || status=$?
    is "$status" 0 && look 'any(s["name"].startswith("shmem_") for s in slices)' &&
        look 'len(arrows) > 0 or not few' && look 'len(named(0, "dn_botf")) == 0'
}

fagus_calls_have_their_names()
{
    traced "$1" "$live_build/examples/fagus/lu"
    is "$status" 0 && look 'len(named(0, "fagus_acquire")) == len(named(0, "fagus_release")) > 0' &&
        look 'len(named(0, "fagus_barrier")) > 0 and len(named(0, "dn_lock_take")) == 0'
}

for fabric in mem udp; do
    for behaviour in each_store_ends_a_wait every_way_to_send_has_its_arrow \
        inner_calls_are_not_recorded a_killed_node_is_in_it threads_have_rows_of_their_own \
        a_child_is_not_recorded calls_without_room_are_counted calls_are_the_same_each_time \
        openshmem_calls_have_their_names fagus_calls_have_their_names; do
        live_verdict "$fabric: $behaviour" "$behaviour" "$fabric"
    done
done

# ---- What goes wrong ---------------------------------------------------------------------------

a_file_that_cannot_be_made_is_said_at_once()
{
    live_group -n 2 --trace "$live_work/no/such/folder" touch "$live_work/started"
    is "$status" 2 && said 'cannot write the trace .*/no/such/folder: No such file' &&
        [ ! -e "$live_work/started" ]
}

a_full_disk_is_said()
{
    live_group -n 2 --trace /dev/full "$node" rounds 100
    is "$status" 1 && said 'cannot write the trace /dev/full: No space left on device'
}

other_hosts_are_refused()
{
    echo 'localhost slots=2' >"$live_work/hosts"
    live_group --fabric udp --hosts "$live_work/hosts" --trace "$trace" "$node" rounds 1
    is "$status" 2 && said 'trace records nodes of this host only: it does not go with --hosts'
}

room_without_a_trace_is_refused()
{
    live_group -n 1 --trace-records 5 true
    is "$status" 2 && said 'trace-records is for --trace and --goal only'
}

# A launcher that a node starts has a group of its own, which nobody records.
a_group_inside_is_not_recorded()
{
    rm -f "$trace"
    live_group -n 1 --trace "$trace" "$live_dimmnet" run -n 2 "$node" rounds 10
    is "$status" 0 && said 'trace: 0 records of 1 nodes'
}

programs_that_make_no_calls_are_fine()
{
    live_group -n 3 --trace "$trace" true
    is "$status" 0 && look 'len(nodes) == 3 and slices == []'
}

for behaviour in a_file_that_cannot_be_made_is_said_at_once a_full_disk_is_said \
    other_hosts_are_refused room_without_a_trace_is_refused a_group_inside_is_not_recorded \
    programs_that_make_no_calls_are_fine; do
    live_verdict "$behaviour" "$behaviour"
done
live_finish
