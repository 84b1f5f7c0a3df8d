#!/usr/bin/env bash
# Teams and collective calls of OpenSHMEM with 1 to 8 PEs, and what is said about mistakes.
# usage: shmem_collectives.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

options=()

# mistake PES NAME SENTENCE: the job ends in time and says so.
mistake()
{
    live_group -n "$1" "${options[@]}" --timeout 30 "$live_programs/shmem_collectives" --mistake "$2"
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
        echo "the job ended with status $status"
        return 1
    fi
    grep -q "$3" "$live_work/err"
}

# The launcher itself would end the job a moment after a death, whether it is reported or not.
death()
{
    local options=(--keep-going)
    mistake "$@"
}

# A mistake that does not end the job: a PE comes late, and the others say for whom they wait.
late()
{
    local sentence='waiting for PE 0, which has not made the call'
    live_late_group "$sentence" -n 2 --timeout 30 "$live_programs/shmem_collectives" \
        --mistake part-of-the-team
    [ "$status" -eq 0 ] && grep -q "$sentence" "$live_work/err"
}

# A call on an active set that does nothing at a PE outside, which SHMEM_DEBUG tells.
outside()
{
    live_group -n 3 --timeout 30 "$live_programs/shmem_collectives" --mistake not-in-set
    [ "$status" -eq 0 ] &&
        [ "$(grep -c 'PE 2: shmem_barrier: this PE is not in the active set' "$live_work/err")" \
            = "${SHMEM_DEBUG:-0}" ]
}

live_checks shmem_collectives alone
for pes in 1 2 3 5 8; do
    live_checks shmem_collectives "$pes"
done
SHMEM_DEBUG=1 live_checks shmem_collectives 3

live_verdict "different calls end the job" mistake 2 another-call 'made different calls'
live_verdict "different numbers end the job" mistake 3 other-numbers 'made different calls'
live_verdict "a collective call without a team" mistake 2 no-team 'SHMEM_TEAM_INVALID'
live_verdict "a root outside" mistake 2 root 'PE_root 2 is not one of the 2 PEs'
live_verdict "a set that is none" mistake 2 no-set 'is no set of PEs among 2'
live_verdict "a PE outside an active set" outside
live_verdict "a predefined team is not destroyed" mistake 2 predefined 'cannot be destroyed'
live_verdict "a PE dies in a reduction" death 3 dies 'died'

export SHMEM_DEBUG=1
live_verdict "debug: a PE outside an active set" outside
live_verdict "debug: another call" mistake 2 another-call 'has called shmem_'
live_verdict "debug: other numbers" mistake 3 other-numbers 'gave other numbers'
live_verdict "debug: private memory" mistake 2 private 'is not symmetric memory'
live_verdict "debug: overlap" mistake 2 overlap 'overlap'
live_verdict "debug: a part of the team calls" late
unset SHMEM_DEBUG

live_verdict "nothing remains" live_nothing_remains
live_finish
