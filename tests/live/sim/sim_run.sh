#!/usr/bin/env bash
# `dimmnet sim run`: every program, its figures, its trace. usage: sim_run.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit

sim() { live_alone "$live_dimmnet" sim run "$@"; }

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
    refused 2 'no program given' || return 1
    sim --bogus 1 ping
    refused 2 'there is no option "--bogus"' || return 1
    sim ping --nodes
    refused 2 '--nodes needs a value' || return 1
    sim ping --nodes 65535
    refused 2 '--nodes takes a number from 1 to 65534' || return 1
    sim ping --topology moebius
    refused 2 '--topology takes one of loop-inside, ' || return 1
    sim ping --machine dimmnet9
    refused 2 'there is no machine "dimmnet9"' || return 1
    printf '[machine]\ninherit = dimmnet1-B\n[port]\nframe_bits = 7 | odd\n' >seven.ini
    sim ping --machine ./seven.ini --topology ring --nodes 4
    refused 2 'seven.ini:4: [port] frame_bits: a line is 80 bits in whole frames' || return 1
    sim bogus
    refused 1 'there is no trial "bogus"' || return 1
    sim ping --nodes 1
    refused 1 'ping needs 2 nodes' || return 1
    sim ping --nodes 3 --topology back-to-back
    refused 1 'nodes is 3, but a cable between two boards' || return 1
    sim ping --nodes 9 --topology switch
    refused 1 '[switch] ports is 8, too few for 9 nodes' || return 1
    sim push --bytes 1000000
    refused 1 'do not fit behind the first page' || return 1
    sim barrier --limit 100
    refused 1 'virtual time is up' || return 1
    sim ping --trace trace --from 3000 --to 2000
    refused 2 '--to is not behind --from' || return 1
    sim ping --lock chain
    refused 2 '--lock is for lock only' || return 1
    sim ping --loss 1000
    refused 2 '--loss is for message only' || return 1
    sim message --resend never
    refused 2 '--resend takes one of nack, back-off, ' || return 1
    local words
    for words in '--entries 3' '--send-buffer 1001' '--receive-buffer 4095'; do
        # shellcheck disable=SC2086 # two words
        sim message $words
        refused 2 'entries are a power of two, buffers a multiple of 8 bytes' || return 1
    done
    sim message --loss 1000
    refused 1 'packets are lost, and nobody detects it' || return 1
    sim message --receive-buffer 2048
    refused 1 'a buffer has no room for one message' || return 1
    sim ping --trace no/such/folder/trace
    refused 1 'no/such/folder/trace' || return 1
    sim --help
    ended_with 0 && grep -q '^usage: dimmnet sim run' out
}

# The order of latencies and bandwidths is the one that the machines' own values give.
figures_are_plausible()
{
    local program machine
    : >lines
    for program in loop ping stream push pull barrier lock message; do
        for machine in dimmnet1-A dimmnet1-design dimmnet2 rhinet2-ni; do
            sim "$program" --machine "$machine" --rounds 5 --json
            ended_with 0 && cat out >>lines || return 1
        done
    done
    python3 - <<'END'
import json
told = {(each["test"], each["machine"]): each for each in map(json.loads, open("lines"))}
assert len(told) == 32, len(told)
for each in told.values():
    assert each["least_ns"] <= each["round_ns"] <= each["most_ns"], each
    assert 100 < each["round_ns"] < each["virtual_ns"] and each["packets"] > 0, each
links = {"dimmnet1-A": 250, "dimmnet1-design": 1064, "dimmnet2": 1000, "rhinet2-ni": 1000}
for program in "stream", "push", "pull":
    for machine, link in links.items():
        rate = told[program, machine]["mb_per_s"]
        assert 0.1 * link < rate < link, (program, machine, rate)
assert told["ping", "dimmnet1-design"]["round_ns"] < told["ping", "dimmnet1-A"]["round_ns"]
assert told["ping", "dimmnet1-A"]["round_ns"] < told["ping", "rhinet2-ni"]["round_ns"]
assert told["push", "dimmnet2"]["context_hits"] > 0
END
}

# A file of three lines that changes one value changes the result.
a_machine_of_ones_own()
{
    printf '[machine]\ninherit = dimmnet1-D\n[link]\nwire_ns = 1132 | a longer cable\n' >far.ini
    sim ping --topology back-to-back --json
    ended_with 0 && cp out near || return 1
    sim ping --topology back-to-back --machine ./far.ini --json
    ended_with 0 && python3 - <<'END'
import json
near, far = (json.load(open(name))["round_ns"] for name in ("near", "out"))
assert 1900 <= far - near <= 2200, (near, far)
END
}

# A file may have any name.
names_are_texts()
{
    local name='so "called\.ini'
    printf '[machine]\ninherit = dimmnet1-D\n' >"$name"
    sim ping --machine "./$name" --json
    ended_with 0 && python3 - <<'END' || return 1
import json
assert json.load(open("out"))["machine"] == 'so "called\\'
END
    live_alone "$live_dimmnet" sim show "./$name" --json
    ended_with 0 && python3 - <<'END'
import json
assert {json.loads(line)["machine"] for line in open("out")} == {'so "called\\'}
END
}

# Every board has its own loop; every node has its turn with the lock, with as many packets for
# each.
all_nodes_take_part()
{
    local nodes
    sim loop --nodes 9 --json
    ended_with 0 && grep -q '"packets":900,' out || return 1
    for nodes in 3 200; do
        sim lock --nodes "$nodes" --rounds 4 --json
        ended_with 0 && cp out "lock$nodes" || return 1
    done
    python3 - <<'END'
import json
few, many = (json.load(open(name)) for name in ("lock3", "lock200"))
assert many["packets"] * 2 >= few["packets"] * 199 * 0.9, (few["packets"], many["packets"])
END
}

# As many nodes get the lock, and paper 004's way needs fewer packets.
locks_of_both_kinds()
{
    sim lock --nodes 8 --lock queue --json
    ended_with 0 && cp out queue || return 1
    sim lock --nodes 8 --lock chain --json
    ended_with 0 && python3 - <<'END'
import json
queue, chain = (json.load(open(name)) for name in ("queue", "out"))
assert chain["packets"] < 0.7 * queue["packets"], (chain["packets"], queue["packets"])
END
}

# Every message arrives, whatever is lost and however small the buffers are; what is sent again is
# counted.
messages_arrive()
{
    local how
    : >lines
    for how in nack back-off request request-half request-all; do
        sim message --machine rhinet2-ni --nodes 5 --resend "$how" --detect-loss --loss 20000 \
            --receive-buffer 8192 --read-work 5000 --json
        ended_with 0 && cat out >>lines || return 1
    done
    python3 - <<'END' || return 1
import json
for each in map(json.loads, open("lines")):
    assert each["messages"] == 4 * 100 and each["lost"] > 0 and each["refused"] > 0, each
    assert each["data_packets"] == each["messages"] + each["repeated"], each
END
    sim message --machine dimmnet1-o3 --loss 100000
    ended_with 0 && grep -q ' [1-9][0-9]* *times sent a damaged packet again' out && grep -q ' 0 lost' out
}

# A machine that was not made for router boards: its port is assumed, and that is said.
an_assumed_port_is_told()
{
    local topology
    for topology in ring torus; do
        sim ping --nodes 4 --topology "$topology" --machine dimmnet1-D
        ended_with 0 && grep -qE '^  port +500\.0 MB/s \(assumed: .* dimmnet1-D has no \[port\]' out ||
            return 1
        sim ping --nodes 4 --topology "$topology" --machine dimmnet1-D --json
        ended_with 0 && grep -q '"port_mb_per_s":500.000,"port_basis":"assumed"' out || return 1
        sim ping --nodes 4 --topology "$topology" --machine dimmnet1-B
        ended_with 0 && ! grep -q '^  port' out || return 1
    done
    sim ping --nodes 4 --machine dimmnet1-D
    ended_with 0 && ! grep -q '^  port' out
}

# told WORDS BASIS MACHINE: what is told of the port carries a little more than is then pushed.
told()
{
    sim push --nodes 8 --topology ring --machine "$3" --rounds 10
    ended_with 0 && grep -qE "^  port +$1" out || { echo "not $1: $(grep port out)"; return 1; }
    sim push --nodes 8 --topology ring --machine "$3" --rounds 10 --json
    ended_with 0 && python3 - "$2" <<'END'
import json, sys
each = json.load(open("out"))
assert each["port_basis"] == sys.argv[1], each
assert 0.95 * each["port_mb_per_s"] < each["mb_per_s"] < each["port_mb_per_s"], each
assert each["port_mb_per_s"] < 0.9 * each["port_asked_mb_per_s"], each
END
}

# A port whose lines do not take whole cycles of the routers is slower than it says; and no port
# carries more than a flit in a cycle.
a_port_tells_what_it_carries()
{
    printf '[machine]\ninherit = dimmnet1-B\n[port]\nframe_bits = 80 | a frame\n' >odd.ini
    printf 'frame_mhz = 50 | what if\n' >>odd.ini
    told '250\.0 MB/s \(not 400\.0: a line takes whole cycles of 16 ns, .* one\)$' machine \
        ./odd.ini || return 1
    told '750\.0 MB/s \(not 1000\.0: .*; assumed: .* dimmnet1-o2 has no \[port\]' assumed dimmnet1-o2
}

twice_the_same()
{
    sim lock --nodes 20 --trace one --json
    ended_with 0 && mv out first || return 1
    sim lock --nodes 20 --trace two --json
    ended_with 0 && cmp first out && cmp one two
}

traces_are_whole()
{
    sim ping --rounds 3 --trace all
    ended_with 0 || return 1
    sim ping --rounds 3 --trace window --from 2000 --to 3000
    ended_with 0 || return 1
    python3 - <<'END'
import json
for name, low, high in ("all", 0, 1e9), ("window", 2.0, 3.0):
    events = json.load(open(name))["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    tracks = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert spans and "header TLB" in tracks, tracks
    assert name == "window" or "write into LLCM" in tracks, tracks
    for span in spans:
        assert span["ts"] <= high and span["ts"] + span["dur"] >= low, (name, span)
assert len(json.load(open("window"))["traceEvents"]) < len(json.load(open("all"))["traceEvents"])
END
}

live_verdict "words are checked" words_are_checked
live_verdict "figures are plausible" figures_are_plausible
live_verdict "a machine of one's own" a_machine_of_ones_own
live_verdict "names are texts" names_are_texts
live_verdict "all nodes take part" all_nodes_take_part
live_verdict "locks of both kinds" locks_of_both_kinds
live_verdict "messages arrive" messages_arrive
live_verdict "an assumed port is told" an_assumed_port_is_told
live_verdict "a port tells what it carries" a_port_tells_what_it_carries
live_verdict "twice the same" twice_the_same
live_verdict "traces are whole" traces_are_whole
live_finish
