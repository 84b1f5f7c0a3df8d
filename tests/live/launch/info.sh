#!/usr/bin/env bash
# What `dimmnet info` finds out about this machine and about groups that run on it.
# usage: info.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2016,SC2154 # single quotes for shells inside; names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

# Runs `dimmnet info` to its end; leaves told, wrong and $status.
info()
{
    status=0
    timeout -k 5 30 "$live_dimmnet" info "$@" >told 2>wrong || status=$?
}

# told_objects EXPRESSION: whether it is true of the objects of the last JSON output.
told_objects()
{
    python3 -c '
import json, sys
told = [json.loads(line) for line in open("told")]
one = lambda what: [each for each in told if each["what"] == what]
nodes = {each["rank"]: each for each in one("node")}
led = lambda leader: next(each for each in one("group") if each["leader"] == leader)
sys.exit(0 if eval("(" + sys.argv[1] + ")") else "not so: " + sys.argv[1] + "\n" + open("told").read())' "$1"
}

# Repeats that for what is said about a process: reports come now and then.
eventually_told()
{
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        info --json "$1" && told_objects "$2" 2>not_so && return 0
        sleep 0.1
    done
    cat not_so
    return 1
}

# verdict NAME COMMAND: ends the group that the command started afterwards.
verdict()
{
    launcher=
    live_verdict "$@"
    if [ -n "$launcher" ]; then
        kill -KILL "$launcher" 2>/dev/null
        wait "$launcher" 2>/dev/null
    fi
}

words_are_checked()
{
    local words
    for words in --bogus '1 2' 'x' '0' '-1' '99999999999'; do
        # shellcheck disable=SC2086 # several words
        info $words
        if ! expect_status 2 || [ "$(wc -l <wrong)" -ne 1 ] || [ -s told ]; then
            echo "case: $words"
            return 1
        fi
    done
    info 4194303
    expect_status 2 && grep -q 'there is no process 4194303' wrong || return 1
    info $$
    expect_status 2 && grep -q "process $$ is in no group" wrong || return 1
    info --help
    expect_status 0 && grep -q -- --json told && "$live_dimmnet" --help | grep -q '^  info '
}

the_machine()
{
    info --json
    expect_status 0 && told_objects 'len(one("machine")) == 1 and told[0]["mem"] and told[0]["udp"]
and told[0]["cores"] >= 1 and 1400 <= told[0]["loopback_packet_bytes"] <= 9216
and told[0]["cipher"] in ("AES-256-GCM", "ChaCha20-Poly1305")' || return 1
    info
    expect_status 0 && grep -q '^fabric udp: yes' told
}

a_group_on_mem()
{
    start -n 3 --label --llcm 64K --bank 8M sh -c 'echo "pid $$"; exec "$0" sleep' "$node"
    live_eventually lines_are out 6 || return 1
    info --json
    told_objects "led($launcher)['fabric'] == 'mem' and led($launcher)['nodes'] == 3 and
led($launcher)['attached'] == 3 and led($launcher)['llcm_bytes'] == 65536 and
led($launcher)['bank_bytes'] == 8 << 20" || return 1
    local rank pid
    for rank in 0 1 2; do
        pid=$(sed -n "s/^\[$rank\] pid //p" out)
        info --json "$pid"
        told_objects "led($launcher) and len(nodes) == 3 and nodes[$rank]['process'] == $pid and
nodes[$rank]['life'] == 'attached' and 'address' not in nodes[$rank]" || return 1
    done
    info "$launcher"
    expect_status 0 && grep -q 'fabric mem, 3 nodes' told &&
        [ "$(grep -cE '^ +[0-2]  attached' told)" -eq 3 ] 
}

a_group_on_udp()
{
    start -n 3 --fabric udp --mtu 2000 --encrypt --label sh -c 'echo "pid $$"; exec "$0" talk' "$node"
    live_eventually lines_are out 6 || return 1
    eventually_told "$launcher" "led($launcher)['fabric'] == 'udp' and
led($launcher)['attached'] == 3 and led($launcher)['packet_bytes'] == 1972 and
led($launcher)['encrypt'] and led($launcher)['llcm_bytes'] == 131072 and
min(nodes[r]['packets_sent'] for r in nodes) > 10 and
min(nodes[r]['packets_received'] for r in nodes) > 10 and
min(t for r in nodes for p, t in enumerate(nodes[r]['round_trip_ns']) if p != r) > 0 and
all(nodes[r]['address'].startswith('127.0.0.1:') for r in nodes)" ||
        return 1
    local pid
    pid=$(sed -n 's/^\[1\] pid //p' out)
    eventually_told "$pid" "len(one('group')) == 1 and nodes[1]['process_id'] == $pid" || return 1
    # A node's own copy of the group's memory does not count as a group.
    info --json
    told_objects "[g['leader'] for g in one('group')].count($launcher) == 1 and
$pid not in [g['leader'] for g in one('group')]" || return 1
    info "$launcher"
    expect_status 0 && grep -q 'fabric udp, 3 nodes' told && grep -q ', protection encrypted' told &&
        grep -qE '^ +0   1: [0-9.]+  2: [0-9.]+$' told || return 1
}

lives_are_counted()
{
    start -n 3 --fabric udp --keep-going sh -c '
        case $DIMMNET_RANK in 0) "$0" leave; echo left; sleep 100 ;; 1) echo dead; kill -9 $$ ;;
        *) exec "$0" sleep ;; esac' "$node"
    live_eventually lines_are out 3 || return 1
    eventually_told "$launcher" "(led($launcher)['left'], led($launcher)['dead'],
led($launcher)['attached']) == (1, 1, 1) and nodes[1]['life'] == 'dead'" 
}

a_group_inside_a_group()
{
    start -n 2 --fabric udp sh -c 'echo $$; exec "$0" run -n 2 "$1" sleep' "$live_dimmnet" "$node"
    live_eventually lines_are out 6 || return 1
    local inner
    inner=$(grep -m 1 '^[0-9]' out)
    info --json
    told_objects "led($launcher)['fabric'] == 'udp' and led($launcher)['starting'] == 2 and
led($inner)['fabric'] == 'mem' and led($inner)['attached'] == 2" || return 1
    info --json "$inner"
    told_objects "led($inner)['fabric'] == 'mem' and len(one('group')) == 1" 
}

several_hosts()
{
    start "${here[@]}" "$node" talk
    live_eventually lines_are out 5 || return 1
    local beta
    beta=$(agent_of 2)
    eventually_told "$launcher" "led($launcher)['nodes'] == 5 and led($launcher)['attached'] == 5 and
not any('packets_sent' in nodes[r] for r in nodes)" || return 1
    # Each host has the reports of its own nodes.
    eventually_told "$beta" "led($beta)['attached'] == 5 and
[r for r in sorted(nodes) if 'packets_sent' in nodes[r]] == [2, 3] and
nodes[2]['packets_sent'] > 0" || return 1
    info "$beta"
    expect_status 0 && grep -q '0  has reported nothing here' told 
}

a_node_alone()
{
    "$node" sleep >out &
    launcher=$!
    live_eventually lines_are out 1 || return 1
    info --json "$launcher"
    told_objects "led($launcher)['nodes'] == 1 and nodes[0]['process'] == $launcher" 
}

verdict "words that make no sense" words_are_checked
verdict "the machine" the_machine
verdict "a group on mem" a_group_on_mem
verdict "a group on udp, its counters and round trips" a_group_on_udp
verdict "lives are counted" lives_are_counted
verdict "a group inside a group" a_group_inside_a_group
verdict "a group on several hosts" several_hosts
verdict "a node alone" a_node_alone
verdict "nothing remains" live_nothing_remains
live_finish
