#!/usr/bin/env bash
# `dimmnet sim goal`: the examples on every machine, their figures, and schedules that are wrong.
# usage: sim_goal.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
examples=$(cd "$(dirname "$0")/../../../examples/goal" && pwd)
cd "$live_work" || exit

sim() { live_alone "$live_dimmnet" sim goal "$@"; }

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; cat err; return 1; }; }

# refused STATUS TEXT: nothing on standard output, and one line that has the text.
refused()
{
    ended_with "$1" && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$2" err ||
        { echo "not \"$2\" but: $(cat err)"; return 1; }
}

words_are_checked()
{
    sim
    refused 2 'no schedule given' || return 1
    sim no-such.goal
    refused 2 'cannot read no-such.goal: No such file or directory' || return 1
    sim "$examples/ping-pong.goal" --machine dimmnet9
    refused 2 'there is no machine "dimmnet9"' || return 1
    sim "$examples/ping-pong.goal" --topology torus
    refused 1 'nodes is 2, but a torus of routers' || return 1
    sim "$examples/ping-pong.goal" --from 5 --to 5
    refused 2 '--to is not behind --from' || return 1
    sim "$examples/ping-pong.goal" --limit 5000
    refused 1 'virtual time is up' || return 1
    sim "$examples/ping-pong.goal" --loss 1000
    refused 1 'packets are lost, and nobody detects it' || return 1
    sim "$examples/ping-pong.goal" --timeline no/such/folder/trace
    refused 1 'no/such/folder/trace' || return 1
    sim --help
    ended_with 0 && grep -q '^usage: dimmnet sim goal' out
}

mistakes_are_named()
{
    printf 'num_ranks 2\nrank 0 {\n  a: send 8 to 1\n}\n' >wrong.goal
    sim wrong.goal
    refused 2 'wrong.goal:3: "8" stands where a length in bytes' || return 1
    printf 'num_ranks 2\nrank 0 {\n  a: recv 8b from any\n}\n' >any.goal
    sim any.goal
    refused 2 'any.goal:3: "any" is not supported' || return 1
    printf 'num_ranks 2\nrank 1 {\n  a: recv 8b from 0\n}\n' >alone.goal
    sim alone.goal
    refused 1 'alone.goal: deadlock: rank 1, line 3, "a" (recv from 0, tag 0) waits for' || return 1
    printf 'num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 1\n a requires b\n b requires a\n}\n' >circle.goal
    sim circle.goal
    refused 1 '(calc) requires itself, by way of 1 others'
}

figures_are_plausible()
{
    local schedule machine topology
    : >lines
    for schedule in ring-allreduce-8 ping-pong tree-broadcast-16; do
        for machine in dimmnet1-A dimmnet1-D dimmnet1-design dimmnet1-bdais dimmnet2 rhinet2-ni; do
            for topology in tree fat-tree ring; do
                sim "$examples/$schedule.goal" --machine "$machine" --topology "$topology" --json
                ended_with 0 && cat out >>lines || return 1
            done
        done
    done
    python3 - <<'END'
import json
told = {}
for each in map(json.loads, open("lines")):
    name = each["file"].split("/")[-1]
    told[name, each["machine"], each["topology"]] = each
    assert each["test"] == "goal" and each["unreceived"] == 0, each
    assert len(each["end_ns"]) == each["nodes"] and max(each["end_ns"]) == each["virtual_ns"], each
    whole = each["compute_ns"] + each["communicate_ns"] + each["wait_ns"]
    assert whole >= sum(each["end_ns"]), each
    expected = {"ring-allreduce-8.goal": (112, 114688, 28000), "ping-pong.goal": (20, 1280, 0),
                "tree-broadcast-16.goal": (15, 15360, 80000)}[name]
    assert (each["messages"], each["bytes"], each["compute_ns"]) == expected, each
assert len(told) == 54, len(told)
for name in "ring-allreduce-8.goal", "ping-pong.goal":
    fast, slow = (told[name, machine, "tree"]["virtual_ns"]
                  for machine in ("dimmnet1-design", "dimmnet1-A"))
    assert 20000 < fast < slow < 200000, (name, fast, slow)
END
}

# The table has what the object has.
tables_and_objects_agree()
{
    sim "$examples/ring-allreduce-8.goal" --json
    ended_with 0 && cp out object || return 1
    sim "$examples/ring-allreduce-8.goal"
    ended_with 0 && python3 - <<'END'
import json
each = json.load(open("object"))
table = open("out").read()
for words in (f'{each["virtual_ns"]:.1f} ns', f'{each["messages"]}      {each["bytes"]} bytes',
              f'{each["wait_ns"]:.1f} ns', "8 ranks, 8 cpus, switch"):
    assert words in table, (words, table)
END
}

losses_are_repaired_and_repeatable()
{
    local i
    for i in 1 2 3; do
        sim "$examples/ring-allreduce-8.goal" --machine dimmnet2 --loss 20000 --seed $((i / 2)) --json
        ended_with 0 && cp out "run$i" || return 1
    done
    cmp run2 run3 && ! cmp -s run1 run2 && ! grep -q '"lost":0' run1
}

ways_of_sending_differ()
{
    sim "$examples/ring-allreduce-8.goal" --json
    ended_with 0 && cp out push || return 1
    sim "$examples/ring-allreduce-8.goal" --push 1024 --json
    ended_with 0 && python3 - <<'END'
import json
push, blocks = (json.load(open(name)) for name in ("push", "out"))
assert push["packets"] == 224 and blocks["packets"] == 448, (push["packets"], blocks["packets"])
END
}

timelines_are_whole()
{
    sim "$examples/tree-broadcast-16.goal" --timeline all.json
    ended_with 0 || return 1
    sim "$examples/tree-broadcast-16.goal" --timeline part.json --from 2000 --to 3000
    ended_with 0 && python3 - <<'END'
import json
whole, part = (json.load(open(name))["traceEvents"] for name in ("all.json", "part.json"))
spans = [each for each in whole if each["ph"] == "X"]
assert sum(each["name"] == "compute" and each["dur"] == 5 for each in spans) == 16
assert any(each["name"] == "poll" for each in spans) and 0 < len(part) < len(whole)
END
}

live_verdict "words are checked" words_are_checked
live_verdict "mistakes are named" mistakes_are_named
live_verdict "figures are plausible" figures_are_plausible
live_verdict "tables and objects agree" tables_and_objects_agree
live_verdict "losses are repaired and repeatable" losses_are_repaired_and_repeatable
live_verdict "ways of sending differ" ways_of_sending_differ
live_verdict "timelines are whole" timelines_are_whole
live_finish
