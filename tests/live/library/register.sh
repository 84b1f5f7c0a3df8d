#!/usr/bin/env bash
# A program's own memory, registered. usage: register.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in alone 2 4; do
    live_checks register "$nodes"
done

# Another signal, and one that cannot be used.
other_signal()
{
    DN_STOP_SIGNAL=40 live_group -n 2 "$live_programs/register" threads_lose_nothing
    [ "$status" -eq 0 ] || return 1
    DN_STOP_SIGNAL=9 live_alone "$live_programs/register" static_memory
    [ "$status" -ne 0 ] && grep -q 'dn_attach.*DN_EINVAL' "$live_work/out"
}
live_verdict "the signal can be chosen" other_signal

# Little registered memory: what does not fit gives a named error, what fits works.
little_memory()
{
    DN_REGISTERED_BYTES=64M live_group -n 2 "$live_programs/register" overlapping_areas
    [ "$status" -eq 0 ] || return 1
    DN_REGISTERED_BYTES=64M live_alone "$live_programs/register" large_and_empty
    grep -q 'DN_ENOMEM' "$live_work/out"
}
live_verdict "its size can be chosen" little_memory

# A limit on addresses: a group of two takes 134 GiB, and less where that is too much.
few_addresses()
(
    ulimit -v $((16 << 20)) && live_group -n 2 "$live_programs/register" overlapping_areas
    [ "$status" -eq 0 ]
)
if grep -q __asan_init "$live_programs/register"; then
    live_skip "few addresses" "sanitizers need more for themselves"
else
    live_verdict "few addresses" few_addresses
fi

# The process of one of the nodes.
a_node()
{
    local process
    for process in $(live_marked_processes); do
        if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = register ]; then
            echo "$process"
            return
        fi
    done
}

# On a busy machine one look in some 150 finds neither node, though both are there; why is not known.
victim_is_found()
{
    victim=$(a_node)
    [ -n "$victim" ]
}

# killed_after SECONDS: a node dies somewhere in the middle of registering.
killed_after()
{
    local launcher victim
    timeout -k 5 60 "$live_dimmnet" run -n 2 --timeout 50 "$live_programs/register" --storm \
        >"$live_work/out" 2>"$live_work/err" </dev/null &
    launcher=$!
    live_eventually grep -q storming "$live_work/out" || return 1
    sleep "$1"
    live_eventually victim_is_found && kill -KILL "$victim"
    wait "$launcher"
    status=$?
    [ "$status" -eq 137 ] || { echo "status $status"; return 1; }
    ! grep '^FAIL' "$live_work/out" && live_nothing_remains
}
for delay in 0.01 0.05 0.13 0.2 0.31; do
    live_verdict "killed after $delay s" killed_after "$delay"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
