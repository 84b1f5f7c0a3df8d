# shellcheck shell=bash
# What the live tests share. Sourced by them; $1 is the build folder.
#
# A test prints "ok NAME" or "FAIL NAME" for each behaviour and ends with live_finish.
set -uo pipefail

live_build=$(cd "${1:?usage: TEST BUILD_FOLDER}" && pwd -P)
live_dimmnet=$live_build/dimmnet
live_programs=$live_build/tests/live
live_work=$(mktemp -d)
trap 'rm -rf "$live_work"' EXIT

# Every process that a test starts inherits this, so one that remains is found.
export LIVE_TEST_MARK=live-test-$$-$RANDOM
# Everything random follows from these two; a failure prints them.
export DN_TEST_SEED=${DN_TEST_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
export DN_RELAX_SEED=${DN_RELAX_SEED:-$DN_TEST_SEED}
unset DN_LLCM_BYTES DN_BANK_BYTES DN_HEAP_BYTES
ulimit -S -c 0

live_passed=0
live_failed=0

live_pass()
{
    live_passed=$((live_passed + 1))
    echo "ok $1"
}

# live_fail NAME [reason]
live_fail()
{
    live_failed=$((live_failed + 1))
    echo "FAIL $1${2:+: $2}"
}

# What the last group said, after a failure.
live_show_group()
{
    local file
    [ -e "$live_work/out" ] || return 0
    echo "    DN_TEST_SEED=$DN_TEST_SEED DN_RELAX_SEED=$DN_RELAX_SEED, status $status"
    for file in out err; do
        grep -v '^ok ' "$live_work/$file" | head -n 20 | sed "s/^/    $file: /"
    done
}

# live_free_ports COUNT: the first of COUNT free ports in a row, below those that the kernel hands
# out. A free port may be taken a moment later, so each test goes round in a range of its own.
live_free_ports()
{
    local at first port taken
    at=$(cat "$live_work/next_port" 2>/dev/null || echo 0)
    while true; do
        [ $((at + $1)) -le 64 ] || at=0
        first=$((10000 + $$ % 300 * 64 + at))
        at=$((at + $1))
        taken=0
        for ((port = first; port < first + $1; port++)); do
            ! grep -q "$(printf ':%04X ' "$port")" /proc/net/udp || taken=1
        done
        if [ "$taken" -eq 0 ]; then
            echo "$at" >"$live_work/next_port"
            echo "$first"
            return
        fi
    done
}

# live_verdict NAME COMMAND...: the test passes if the command succeeds.
live_verdict()
{
    local name=$1
    shift
    if "$@" >"$live_work/reason" 2>&1; then
        live_pass "$name"
    else
        live_fail "$name" "$(cat "$live_work/reason")"
        live_show_group
    fi
}

live_skip() { echo "skip $1: $2"; }

# live_group OPTION... PROGRAM ARGUMENT...: runs a group to its end; leaves out, err
# and $status.
live_group()
{
    status=0
    timeout -k 5 110 "$live_dimmnet" run "$@" >"$live_work/out" 2>"$live_work/err" </dev/null ||
        status=$?
}

# live_late_group SENTENCE WORD...: live_group of the words, in which a PE waits (spec_come_late)
# until the sentence is on standard error, or for 20 s.
live_late_group()
{
    local sentence=$1
    shift
    rm -f "$live_work/said"
    : >"$live_work/err"
    {
        live_eventually grep -q "$sentence" "$live_work/err"
        : >"$live_work/said"
    } &
    LIVE_SAID=$live_work/said live_group "$@"
    wait
}

# Runs a program to its end without the launcher; otherwise as live_group.
live_alone()
{
    status=0
    timeout -k 5 110 "$@" >"$live_work/out" 2>"$live_work/err" </dev/null || status=$?
}

# On a simulated machine every step of every node is a turn: more of them take minutes, and show
# nothing that these do not.
live_simulated_nodes=3

# live_checks PROGRAM NODES: runs all checks of a program in one group, or with NODES `alone`
# without the launcher. A check that does not say ok has failed; those after it were not reached.
live_checks()
{
    local program=$1 nodes=$2 name missing=()
    if [[ ${DN_FABRIC-} == sim:* ]] && [ "${nodes/alone/1}" -gt "$live_simulated_nodes" ]; then
        live_skip "$program $nodes" "$live_simulated_nodes nodes at most are simulated"
        return
    fi
    case $nodes in
    alone) live_alone "$live_programs/$program" ;;
    *) live_group -n "$nodes" --timeout 100 "$live_programs/$program" ;;
    esac
    while read -r name; do
        if grep -qxF "ok $name" "$live_work/out"; then
            live_pass "$program $nodes: $name"
        else
            missing+=("$name")
        fi
    done < <("$live_programs/$program" --list "${nodes/alone/1}")
    if [ "${#missing[@]}" -gt 0 ] || [ "$status" -ne 0 ]; then
        live_fail "$program $nodes: ${missing[0]-end}"
        live_show_group
        [ "${#missing[@]}" -lt 2 ] || echo "    not reached: ${missing[*]:1}"
    fi
}

# The tools that search must not find themselves.
live_marked_processes()
{
    local mark=LIVE_TEST_MARK=$LIVE_TEST_MARK
    LIVE_TEST_MARK='' grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null |
        LIVE_TEST_MARK='' cut -d/ -f3
}

# Repeats a command until it succeeds, for 20 s at most.
live_eventually()
{
    local end=$((SECONDS + 20))
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "never came true: $*"
            return 1
        fi
        sleep 0.02
    done
}

live_no_process() { [ -z "$(live_marked_processes)" ]; }

# live_all_have_ended NODES POINT, after a group that lost nodes at a kill point: each node died or
# reached its end. Notes whether the point was reached.
live_all_have_ended()
{
    local survivors dead
    ! grep -qxF "killed at $2" "$live_work/out" || echo "$2" >>"$live_work/reached"
    survivors=$(grep -c '^ok survivor' "$live_work/out")
    dead=$(grep -c 'killed by SIGKILL' "$live_work/err")
    if [ $((survivors + dead)) -ne "$1" ] || grep '^FAIL' "$live_work/out"; then
        echo "$survivors survivors, $dead dead"
        return 1
    fi
}

# Nothing remains of any group that this test started. What has no name (and faults.sh shows that a
# group makes none) is gone with the last process that holds it.
live_nothing_remains()
{
    live_eventually live_no_process || { ps -fp "$(live_marked_processes | paste -sd,)"; return 1; }
}

# A node's program in Python that looks for its group's secret, as bytes and as text, in the
# arguments and environment of every process, and then says "looked".
live_secret_search()
{
    cat <<'END'
import base64, os, pathlib
secret = os.read(int(os.environ["DIMMNET_SECRET_FD"]), 64)
assert len(secret) == 32 and len(set(secret)) > 8, "this is no secret"
forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)]
for process in os.listdir("/proc"):
    for kind in ("environ", "cmdline"):
        try:
            words = pathlib.Path("/proc", process, kind).read_bytes()
        except OSError:
            continue # gone, or none
        if any(form in words for form in forms):
            print("found in", process, kind)
print("looked")
END
}

# Prints the last line; gives the test's status.
live_finish()
{
    echo "$live_passed passed, $live_failed failed"
    [ "$live_failed" -eq 0 ] && [ "$live_passed" -gt 0 ]
}
