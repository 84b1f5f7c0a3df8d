#!/usr/bin/env bash
# Groups on several hosts whose links fall silent and never end, as when a host loses power.
# usage: hosts_silence.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2016,SC2154 # single quotes for shells inside; names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

# A remote shell as ssh is one: processes of its own stand between launcher and agent, and the agent
# is in another session. Stopping `cat` makes the link silent at both ends, and nobody sees an end.
#
#     launcher -- cat -- in.HOST -- agent -- out.HOST -- cat -- launcher
cat >relaying_rsh <<'END_OF_RSH'
#!/bin/sh
host=$1
shift
rm -f "in.$host" "out.$host"
mkfifo "in.$host" "out.$host"
exec 3<&0
cat <&3 >"in.$host" & one=$!
cat <"out.$host" & two=$!
exec 3<&-
echo "$one $two" >"relays.$host"
setsid -w "$@" <"in.$host" >"out.$host"
status=$?
echo "$status" >"status.$host"
wait "$two"
exit "$status"
END_OF_RSH
chmod +x relaying_rsh
readonly SILENCE_MS=5000
relayed=(--fabric udp --hosts three --rsh "$live_work/relaying_rsh" --peer-timeout "$SILENCE_MS")

# What stands still would stay for ever if a check fails.
end_all()
{
    local pid
    while read -r pid; do
        [ "$pid" -eq "$$" ] || kill -KILL "$pid" 2>/dev/null
    done < <(live_marked_processes)
    rm -rf "$live_work"
}
trap end_all EXIT

relays_of() { cat "relays.$1"; }
is_gone() { ! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }
are_gone()
{
    local pid
    for pid in "$@"; do
        is_gone "$pid" || return 1
    done
}

guardian_of_launcher()
{
    ps -o pid=,comm= --ppid "$launcher" | awk '$2 == "dimmnet-guard" { print $1 }'
}
has_guardian() { [ -n "$(guardian_of_launcher)" ]; }

# The launcher and everything on its host goes at once, and no other host hears of it.
power_loss()
{
    local host pids
    rm -f status.*
    start "${relayed[@]}" sh -c 'echo "$$"; sleep 100; true'
    live_eventually lines_are out 5 && live_eventually has_guardian || return 1
    mapfile -t pids <out
    for host in alpha beta gamma; do
        # shellcheck disable=SC2046 # words
        kill -STOP $(relays_of "$host")
    done
    kill -STOP "$launcher"
    kill -KILL "$(guardian_of_launcher)"
    kill -KILL "$launcher"
    finish
    expect_status 137 || return 1
    live_eventually are_gone "${pids[@]}" || return 1
    for host in alpha beta gamma; do
        live_eventually test -s "status.$host" || return 1
        [ "$(cat "status.$host")" = 124 ] ||
            { echo "the agent on $host ended with $(cat "status.$host")"; return 1; }
        # shellcheck disable=SC2046 # words
        kill -KILL $(relays_of "$host")
    done
    live_nothing_remains
}

# One host falls silent: the launcher says so, its nodes are dead for the others, and end.
a_silent_host()
{
    start "${relayed[@]}" --keep-going --label sh -c 'echo "pid $$"; exec "$0" witness' "$node"
    live_eventually lines_are out 10 || return 1
    local before=$SECONDS pids
    mapfile -t pids < <(sed -n 's/^\[[23]\] pid //p' out)
    # shellcheck disable=SC2046 # words
    kill -STOP $(relays_of beta)
    finish
    # Without the heartbeat it took 30 s.
    [ $((SECONDS - before)) -lt 20 ] || { echo "$((SECONDS - before)) s"; return 1; }
    expect_status 1 && grep -q '^dimmnet run: host beta: it has been silent for too long' err &&
        [ "$(grep -c '\[[014]\] 2 is dead' out)" -eq 3 ] &&
        live_eventually are_gone "${pids[@]}" && live_nothing_remains
}

state_is() { [ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status")" = "$2" ]; }

# A user who stops the group (Ctrl-Z) finds it again, however long that was, and so does one who
# lets it run and say nothing.
stopping_for_long()
{
    start "${relayed[@]}" sh -c 'echo "$$"; until [ -e enough ]; do sleep 0.05; done; echo "done"'
    live_eventually lines_are out 5 || return 1
    local pid
    kill -TSTP "$launcher"
    for pid in "$launcher" $(cat out); do
        live_eventually state_is "$pid" T || return 1
    done
    sleep $((SILENCE_MS / 1000 + 2))
    while read -r pid; do
        state_is "$pid" T || { echo "a node has gone on, or ended"; return 1; }
    done <out
    kill -CONT "$launcher"
    sleep $((SILENCE_MS / 1000 + 2))
    touch enough
    finish
    rm enough
    expect_status 0 && [ "$(grep -c '^done$' out)" -eq 5 ] && [ ! -s err ] && live_nothing_remains
}

# SIGSTOP cannot be noticed before it stops the launcher: the other hosts take it for dead.
a_launcher_stopped_by_force()
{
    start "${relayed[@]}" sh -c 'echo "$$"; sleep 100; true'
    live_eventually lines_are out 5 || return 1
    local pids
    mapfile -t pids <out
    kill -STOP "$launcher"
    live_eventually are_gone "${pids[@]}" || return 1
    kill -CONT "$launcher"
    finish
    grep -q '^dimmnet run on beta: the launcher has been silent for 5 s' err &&
        expect_status 1 && live_nothing_remains
}

# Host beta is far away: nothing there descends from the launcher, as with ssh.
cat >far_rsh <<'END_OF_RSH'
#!/bin/sh
[ "$1" = beta ] || { shift; exec "$@"; }
exec 3<&0
cat <&3 >far.in &
exec 3<&-
exec cat <far.out
END_OF_RSH
chmod +x far_rsh

# The launcher gives an agent up that stands still. Its nodes end although it cannot end them.
a_stopped_agent()
{
    local agent nodes
    mkfifo far.in far.out
    setsid "$live_dimmnet" agent <far.in >far.out 2>far.err &
    start --fabric udp --hosts three --rsh "$live_work/far_rsh" --peer-timeout "$SILENCE_MS" \
        --label sh -c 'echo "$$ $PPID"; sleep 100; true'
    live_eventually lines_are out 5 || return 1
    mapfile -t nodes < <(sed -n 's/^\[[23]\] \([0-9]*\) .*/\1/p' out)
    agent=$(sed -n 's/^\[2\] [0-9]* //p' out)
    [ "${#nodes[@]}" -eq 2 ] && kill -STOP "$agent" || return 1
    finish
    expect_status 1 && grep -q '^dimmnet run: host beta: it has been silent for too long' err &&
        live_eventually are_gone "$agent" "${nodes[@]}" && live_nothing_remains
}

live_verdict "a launcher whose host loses power" power_loss
live_verdict "a host that falls silent" a_silent_host
live_verdict "a group that is stopped for long" stopping_for_long
live_verdict "a launcher that is stopped by force" a_launcher_stopped_by_force
live_verdict "an agent that is stopped for long" a_stopped_agent
live_verdict "nothing remains" live_nothing_remains
live_finish
