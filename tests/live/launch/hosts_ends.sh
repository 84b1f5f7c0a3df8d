#!/usr/bin/env bash
# Groups on several hosts: how they end, which nodes learn of it, and that nothing remains.
# usage: hosts_ends.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2016,SC2154 # single quotes for shells inside; names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

# ---- Ends ---------------------------------------------------------------------------------------

statuses_are_passed_on()
{
    live_group "${here[@]}" sh -c '[ "$DIMMNET_RANK" != 3 ] || exit 7; sleep 30'
    expect_status 7 && expect_message 'node 3 \(pid [0-9]+ on beta\) exited with status 7$' &&
        live_group "${here[@]}" sh -c '[ "$DIMMNET_RANK" != 4 ] || kill -SEGV $$; sleep 30' &&
        expect_status 139 && expect_message 'node 4 \(pid [0-9]+ on gamma\) was killed by SIGSEGV'
}

keep_going()
{
    # The first failure decides the status: the second waits until the first is reported. The others
    # stay longer than they could without the option.
    rm -f err
    live_group "${here[@]}" --keep-going sh -c '
        said() { until grep -q "exited with status $1" err; do sleep 0.02; done; }
        case $DIMMNET_RANK in
        0) exit 5 ;;
        3) said 5; exit 6 ;;
        *) said 6; sleep 0.6; echo "done $DIMMNET_RANK" ;;
        esac'
    expect_status 5 && expect_out <<<$'done 1\ndone 2\ndone 4' &&
        [ "$(grep -c 'exited with status' err)" -eq 2 ]
}

time_out()
{
    refused 124 'timed out after 0.5 s' "${here[@]}" --timeout 0.5 sleep 30 && live_nothing_remains &&
        refused 124 'timed out after 1 s' "${here[@]}" --timeout 1 python3 -c 'import os, time
os.setpgid(0, os.getpgid(os.getppid()))
time.sleep(30)' && live_nothing_remains
}

ending_attached_is_a_failure()
{
    live_group "${here[@]}" "$node" leave
    expect_status 0 && live_group "${here[@]}" "$node" stay && expect_status 1 &&
        expect_message 'node [0-4] \(pid [0-9]+ on [a-z]+\) exited with status 0 but without dn_detach'
}

signals_are_passed_on()
{
    local signal number
    while read -r signal number; do
        start "${here[@]}" sh -c \
            'trap "echo got $1; exit 0" "$1"; echo ready; sleep 100 & wait' sh "$signal"
        live_eventually lines_are out 5
        kill "-$signal" "$launcher"
        finish
        expect_status $((128 + number)) || return 1
        [ "$(grep -c "got $signal" out)" -eq 5 ] || { echo "not all got $signal"; return 1; }
    done <<<$'INT 2\nTERM 15\nHUP 1\nQUIT 3'
    start "${here[@]}" sh -c 'trap "echo one" USR1; echo ready; until [ -e enough ]; do sleep 0.05; done'
    live_eventually lines_are out 5
    kill -USR1 "$launcher"
    live_eventually lines_are out 10
    touch enough
    finish
    rm enough
    expect_status 0 && live_nothing_remains
}

state_is() { [ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status")" = "$2" ]; }
state_is_not() { ! state_is "$@"; }

all_stop_and_go_on()
{
    local pid
    kill -TSTP "$launcher"
    for pid in "$launcher" $(cat out); do
        live_eventually state_is "$pid" T || return 1
    done
    kill -CONT "$launcher"
    while read -r pid; do
        live_eventually state_is_not "$pid" T || return 1
    done <out
}

# The nodes wait for a line each without starting anything: a shell that is stopped between the two
# halves of vfork() does not look stopped.
stopping_and_continuing()
{
    local result=0
    mkfifo enough
    start "${here[@]}" --timeout 60 sh -c 'echo $$; read -r line <>enough'
    live_eventually lines_are out 5
    all_stop_and_go_on || result=1
    kill -CONT "$launcher"
    exec 8<>enough
    printf '\n\n\n\n\n' >&8
    finish
    exec 8>&-
    rm enough
    [ "$result" = 0 ] && expect_status 0
}

who_ignores_is_killed()
{
    start "${here[@]}" sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done'
    live_eventually lines_are out 5
    kill -TERM "$launcher"
    finish
    expect_status 143 && live_nothing_remains
}

live_verdict "statuses are passed on" statuses_are_passed_on
live_verdict "others keep going" keep_going
live_verdict "time-out" time_out
live_verdict "ending attached is a failure" ending_attached_is_a_failure
live_verdict "signals are passed on" signals_are_passed_on
live_verdict "stopping and continuing" stopping_and_continuing
live_verdict "who ignores a signal is killed" who_ignores_is_killed

# ---- Lives ----------------------------------------------------------------------------------------

lives_are_told()
{
    live_group "${here[@]}" "$node" lives
    expect_status 0 && [ ! -s err ] && expect_out <<<$'saw it leave\nsaw it leave
saw it leave\nsaw it leave'
}

deaths_are_told()
{
    start "${here[@]}" --keep-going --label sh -c 'echo "pid $$"; exec "$0" witness' "$node"
    live_eventually lines_are out 10
    kill -KILL "$(sed -n 's/^\[2\] pid //p' out)"
    finish
    expect_status 137 && expect_message 'node 2 \(pid [0-9]+ on beta\) was killed by SIGKILL' &&
        sed -i '/pid\|attached/d' out && expect_out <<<$'[0] 2 is dead\n[1] 2 is dead
[3] 2 is dead\n[4] 2 is dead'
}

# An agent's nodes end with it, and the others learn of it.
a_killed_agent()
{
    start "${here[@]}" --keep-going --label sh -c 'echo "pid $$"; exec "$0" witness' "$node"
    live_eventually lines_are out 10
    kill -KILL "$(agent_of 2)"
    finish
    expect_status 1 &&
        expect_message 'lost the agent on host beta .*was killed by SIGKILL.*: nodes 2 to 3 are dead' &&
        sed -i '/pid\|attached/d' out && sort -u out >unique && mv unique out &&
        [ "$(cut -d' ' -f1 out | sort -u | tr '\n' ' ')" = '[0] [1] [4] ' ] &&
        grep -q '2 is dead' out && live_nothing_remains
}

# Not only its children, but also processes that left their process groups.
a_killed_agent_leaves_nothing()
{
    start "${here[@]}" sh -c 'sleep 100 & setsid sleep 100 & (setsid sh -c "sleep 100; true" &)
        echo ready; sleep 100; true'
    live_eventually lines_are out 5
    kill -KILL "$(agent_of 1)"
    finish
    expect_status 1 && expect_message 'lost the agent on host alpha .*nodes 0 to 1 are dead' &&
        live_nothing_remains
}

a_terminated_agent()
{
    start "${here[@]}" sh -c 'echo ready; sleep 100; true'
    live_eventually lines_are out 5
    kill -TERM "$(agent_of 3)"
    finish
    expect_status 1 && expect_message 'lost the agent on host gamma .*: node 4 is dead' &&
        live_nothing_remains
}

a_killed_launcher()
{
    start "${here[@]}" sh -c 'sleep 100 & setsid sleep 100 & (setsid sh -c "sleep 100; true" &)
        echo ready; sleep 100; true'
    live_eventually lines_are out 5
    kill -KILL "$launcher"
    finish
    expect_status 137 && live_nothing_remains || return 1
    local delay
    for delay in 0.005 0.01 0.02 0.04 0.08; do
        start "${here[@]}" sh -c 'sleep 100; true'
        sleep "$delay"
        kill -KILL "$launcher"
        finish
    done
    live_nothing_remains
}

# Between an agent and its launcher: adds a frame that gives credit for input to what the agent on
# the second host says. Only the first has a node that reads.
cat >generous_rsh <<'END_OF_RSH'
#!/usr/bin/env python3
import os, struct, subprocess, sys
CREDIT, OUTPUT = 10, 8
host, command = sys.argv[1], sys.argv[2:]
if host != "beta":
    os.execvp(command[0], command)
agent = subprocess.Popen(command, stdout=subprocess.PIPE)
given = False
while len(head := agent.stdout.read(8)) == 8:
    length, kind = struct.unpack("<II", head)
    sys.stdout.buffer.write(head + agent.stdout.read(length))
    if kind == OUTPUT and not given:
        given = True
        sys.stdout.buffer.write(struct.pack("<IIII", 8, CREDIT, 0, 1000))
    sys.stdout.buffer.flush()
END_OF_RSH
chmod +x generous_rsh

credit_for_nothing()
{
    live_group --fabric udp --hosts three --rsh "$live_work/generous_rsh" sh -c 'echo here; sleep 100'
    expect_status 1 && expect_message 'host beta: its agent says what it should not'
}

# The agent on the second host says a hundred thousand times that its first node is attached, while
# the link to the third stands still.
cat >chatty_rsh <<'END_OF_RSH'
#!/usr/bin/env python3
import os, pathlib, struct, subprocess, sys
LIFE, OUTPUT, ATTACHED = 7, 8, 1
host, command = sys.argv[1], sys.argv[2:]
if host == "gamma":
    relay = subprocess.Popen(["cat"], stdout=subprocess.PIPE)
    pathlib.Path("relay").write_text(str(relay.pid))
    sys.exit(subprocess.run(command, stdin=relay.stdout, check=False).returncode)
if host == "alpha":
    os.execvp(command[0], command)
agent = subprocess.Popen(command, stdout=subprocess.PIPE)
while len(head := agent.stdout.read(8)) == 8:
    length, kind = struct.unpack("<II", head)
    frame = head + agent.stdout.read(length)
    if kind == OUTPUT and frame.endswith(b"now\n"):
        sys.stdout.buffer.write(struct.pack("<IIII", 8, LIFE, 2, ATTACHED) * 100000)
    sys.stdout.buffer.write(frame)
    sys.stdout.buffer.flush()
END_OF_RSH
chmod +x chatty_rsh

lives_told_again_and_again()
{
    rm -f relay go enough
    start --fabric udp --hosts three --rsh "$live_work/chatty_rsh" --peer-timeout 60000 --label \
        sh -c 'echo ready
        until [ -e go ]; do sleep 0.02; done
        [ "$DIMMNET_RANK" != 2 ] || echo now
        until [ -e enough ]; do sleep 0.02; done'
    live_eventually lines_are out 5 || return 1
    kill -STOP "$(cat relay)"
    touch go
    # What comes after all of them is there: the launcher has read them.
    live_eventually grep -q now out
    kill -CONT "$(cat relay)"
    touch enough
    finish
    rm -f go enough
    expect_status 0 && [ ! -s err ]
}

# All remote shells end with an unfinished line, and nobody reads what they said.
unread_last_lines()
{
    local i
    for ((i = 0; i < 12; i++)); do
        echo "h$i address=127.0.0.1"
    done >many
    cat >verbose_rsh <<'END_OF_RSH'
#!/bin/sh
shift
head -c 60000 /dev/zero | tr '\0' x >&2
exec "$@"
END_OF_RSH
    chmod +x verbose_rsh
    mkfifo unread
    exec 8<>unread
    "$live_dimmnet" run --fabric udp --hosts many --rsh "$live_work/verbose_rsh" sh -c \
        'until [ -e enough ]; do sleep 0.02; done' >out 2>unread </dev/null &
    launcher=$!
    live_eventually agents_are 12 || return 1
    touch enough
    live_eventually agents_are 0 || return 1
    exec 9<unread
    cat <&9 >said 8>&- &
    local reader=$!
    finish
    exec 8>&- 9<&-
    wait "$reader"
    rm enough unread
    expect_status 0 && grep -qx 'x*' said
}

agents_are() { [ "$(agents | wc -l)" -eq "$1" ]; }

guardian_of_launcher()
{
    ps -o pid=,comm= --ppid "$launcher" | awk '$2 == "dimmnet-guard" { print $1 }'
}
# A process has its name only once it has begun to run.
has_guardian() { [ -n "$(guardian_of_launcher)" ]; }

# Agents end by themselves when their input ends, as on a host that cannot be reached to kill them:
# here the guardian is killed before the launcher.
a_launcher_without_guardian()
{
    start "${here[@]}" sh -c 'echo ready; sleep 100; true'
    live_eventually lines_are out 5
    local guardian
    live_eventually has_guardian || return 1
    guardian=$(guardian_of_launcher)
    kill -STOP "$launcher"
    kill -KILL "$guardian"
    kill -KILL "$launcher"
    finish
    expect_status 137 && live_nothing_remains
}

live_verdict "lives are told to other hosts" lives_are_told
live_verdict "deaths are told to other hosts" deaths_are_told
live_verdict "an agent that is killed" a_killed_agent
live_verdict "an agent that is killed leaves nothing" a_killed_agent_leaves_nothing
live_verdict "an agent that is terminated" a_terminated_agent
live_verdict "a launcher that is killed" a_killed_launcher
live_verdict "a launcher that is killed after its guardian" a_launcher_without_guardian

# ---- The secret ---------------------------------------------------------------------------------------

secret_is_nowhere()
{
    live_group "${here[@]}" --timeout 60 python3 -c "$(live_secret_search)"
    expect_status 0 && expect_out <<<$'looked\nlooked\nlooked\nlooked\nlooked'
}
live_verdict "the secret is in no environment and no command line" secret_is_nowhere

live_verdict "an agent that gives credit for nothing" credit_for_nothing
live_verdict "lives that are told again and again" lives_told_again_and_again
live_verdict "last lines that nobody reads" unread_last_lines
live_verdict "nothing remains" live_nothing_remains
live_finish
