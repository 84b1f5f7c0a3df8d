#!/usr/bin/env bash
# Nodes that die, leave or stop, and what the others hear of it. usage: faults.sh BUILD_FOLDER;
# DN_TEST_KILLS is the number of nodes that are killed at random (30).
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

kills=${DN_TEST_KILLS:-30}
first_seed=$DN_TEST_SEED

# How many lines of out are exactly this.
said() { grep -cxF "$1" "$live_work/out"; }

# expect_group STATUS SURVIVORS WORD: how the last group ended, and how many said the word.
expect_group()
{
    if [ "$status" -ne "$1" ]; then
        echo "status $status, not $1"
        return 1
    fi
    if [ "$(said "$3")" -ne "$2" ]; then
        echo "$(said "$3") nodes $3, not $2"
        return 1
    fi
    live_nothing_remains
}

# What the launcher itself said; a sanitizer may also have reported a process that was killed while
# it looked.
launcher_lines() { grep '^dimmnet run: ' "$live_work/err"; }

# expect_message PATTERN: the launcher said one matching line.
expect_message()
{
    if [ "$(launcher_lines | wc -l)" -ne 1 ] || ! launcher_lines | grep -qE -- "$1"; then
        echo "the launcher did not say one line like: $1"
        return 1
    fi
}

# ---- Random kills ---------------------------------------------------------------------

# The launcher reports each death in a line that names the node.
cascade_is_right()
{
    local nodes=$1 count=$2
    expect_group 137 $((nodes - count)) survived || return 1
    if [ "$(launcher_lines | wc -l)" -ne "$count" ] ||
        [ "$(launcher_lines | grep -cE 'node [0-9]+ \(pid [0-9]+\) was killed by SIGKILL')" \
            -ne "$count" ]; then
        echo "the launcher did not name $count nodes, and nothing else"
        return 1
    fi
}

# run_cascades: runs until $kills nodes have died. Leaves the delays in epeer.
run_cascades()
{
    local sizes=(2 3 4 8 4 2 5) i=0 left=$kills nodes count
    : >"$live_work/epeer"
    while [ "$left" -gt 0 ]; do
        nodes=${sizes[i % ${#sizes[@]}]}
        count=$((1 + i % (nodes - 1)))
        [ "$count" -le "$left" ] || count=$left
        export DN_TEST_SEED=$((first_seed + i))
        live_group -n "$nodes" --keep-going --timeout 30 "$live_programs/faults" cascade "$count"
        sed -n 's/^epeer_us //p' "$live_work/out" >>"$live_work/epeer"
        cascade_is_right "$nodes" "$count" || return 1
        left=$((left - count))
        i=$((i + 1))
    done
}

anytime_is_right()
{
    case $status in
    0) expect_group 0 4 survived ;;
    *)
        # The last moment of a life is after its last word.
        expect_message 'was killed by SIGKILL' || return 1
        expect_group 137 3 survived || expect_group 137 4 survived
        ;;
    esac
}

# One of four is killed at any moment of its life, or survives.
run_anytimes()
{
    local i
    for ((i = 0; i < (kills + 2) / 3; i++)); do
        export DN_TEST_SEED=$((first_seed + i))
        live_group -n 4 --keep-going --timeout 30 "$live_programs/faults" anytime
        anytime_is_right || return 1
    done
}

live_verdict "survivors of $kills kills go on" run_cascades
if [ -s "$live_work/epeer" ]; then
    sort -n "$live_work/epeer" | awk '
        { all[NR] = $1 / 1000 }
        END {
            printf "after a death, DN_EPEER came within %.1f ms at most, %.1f ms in the median\n",
                all[NR], all[int((NR + 1) / 2)]
            if (all[NR] > 100)
                print "WARNING: that is more than the 100 ms promised; is this machine loaded?"
        }'
fi
live_verdict "a node is killed at any time" run_anytimes
export DN_TEST_SEED=$first_seed

# The node is not the launcher's child but a shell's.
run_further_down()
{
    # shellcheck disable=SC2016 # for the shell inside
    live_group -n 3 --keep-going --timeout 30 sh -c '"$@"; true' sh \
        "$live_programs/faults" cascade 2
    expect_group 1 1 survived
}
live_verdict "killed below a shell" run_further_down

# ---- Other ends -----------------------------------------------------------------------

# scenario NAME NODES STATUS STAYING MESSAGE-PATTERN (or nothing)
scenario()
{
    local name=$1 nodes=$2
    rm -f "$live_work/told"
    live_group -n "$nodes" --keep-going --timeout 30 "$live_programs/leaving" "$name" \
        "$live_work/told"
    expect_group "$3" "$4" stayed || return 1
    case $5 in
    '') [ -z "$(launcher_lines)" ] || { echo "the launcher had something to say"; return 1; } ;;
    *) expect_message "^dimmnet run: node 1 \(pid [0-9]+\) $5" ;;
    esac
}

for nodes in 2 4; do
    # shellcheck disable=SC2034 # named by the table
    others=$((nodes - 1))
    while IFS='|' read -r name wanted staying message; do
        live_verdict "$name, $nodes nodes" scenario "$name" "$nodes" "$wanted" \
            "$((staying))" "$message"
    done <<SCENARIOS
leave|0|others|
last_one|0|nodes|
exit_0|1|others|exited with status 0 but without dn_detach
exit_3|3|others|exited with status 3
killed_after_leaving|137|others|was killed by SIGKILL
never_attaches|0|others|
dies_before_attaching|137|others|was killed by SIGKILL
stopped|0|nodes|
SCENARIOS
done

# In namespaces of its own the group's names would be the only ones.
no_name_is_left()
{
    local names
    # shellcheck disable=SC2016 # for the shell inside
    names=$(unshare --mount --ipc --net bash -c '
        ip link set lo up 2>/dev/null # packets need it
        mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/tmp && export TMPDIR=/var/tmp
        timeout -k 5 60 "$1" run -n 4 --keep-going "$2" cascade 2 >"$3" 2>&1
        echo "status $?"
        timeout -k 5 60 "$1" run -n 4 "$2" cascade 0 >"$3" 2>&1
        echo "status $?"
        find /dev/shm /var/tmp -mindepth 1
        tail -n +2 /proc/net/unix
        tail -qn +2 /proc/sysvipc/*' bash "$live_dimmnet" "$live_programs/faults" "$live_work/out")
    status=0
    if [ "$names" != $'status 137\nstatus 0' ]; then
        echo "after a killed and a good group there is: $names"
        return 1
    fi
}
if unshare --mount --ipc --net true 2>/dev/null; then
    live_verdict "no name of a group is left" no_name_is_left
else
    live_skip "no name of a group is left" "no namespaces without root"
fi

# Without --keep-going the others have 200 ms to say what they heard. On a busy machine some may not
# get to it, but none stays longer.
death_ends_the_group()
{
    live_group -n 4 --timeout 30 "$live_programs/leaving" exit_3
    [ "$status" -eq 3 ] || { echo "status $status, not 3"; return 1; }
    [ "$(said stayed)" -le 3 ] && ! grep '^FAIL' "$live_work/out" && live_nothing_remains &&
        expect_message '^dimmnet run: node 1 .* exited with status 3'
}
live_verdict "a death ends the group" death_ends_the_group

all_wait() { [ "$(said waiting)" -eq "$1" ]; }

killed_launcher_takes_all()
{
    local launcher
    : >"$live_work/out"
    "$live_dimmnet" run -n 6 "$live_programs/leaving" wait_in_all_ways \
        >"$live_work/out" 2>"$live_work/err" </dev/null &
    launcher=$!
    live_eventually all_wait 6
    kill -KILL "$launcher"
    wait "$launcher"
    status=$?
    [ "$status" -eq 137 ] && live_nothing_remains
}
live_verdict "a killed launcher takes its nodes along" killed_launcher_takes_all

# Nobody reads what node 0 writes; deaths are still announced.
deaths_are_heard_in_a_flood()
{
    local launcher took_ms
    rm -f "$live_work/told" "$live_work/pipe"
    mkfifo "$live_work/pipe"
    exec 7<>"$live_work/pipe"
    : >"$live_work/out"
    "$live_dimmnet" run -n 3 --keep-going "$live_programs/leaving" flooded "$live_work/told" \
        >"$live_work/pipe" 2>"$live_work/err" </dev/null 7<&- &
    launcher=$!
    live_eventually test -s "$live_work/told"
    kill -KILL "$launcher"
    wait "$launcher"
    status=$?
    exec 7<&-
    took_ms=$(cat "$live_work/told")
    [ "$took_ms" -lt 5000 ] || { echo "heard after $took_ms ms"; return 1; }
    live_nothing_remains
}
live_verdict "deaths are heard in a flood of output" deaths_are_heard_in_a_flood

live_finish
