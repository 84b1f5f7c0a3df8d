#!/usr/bin/env bash
# OpenSHMEM's one-sided calls with 1 to 8 PEs, its mistakes, and the ways a job can end.
# usage: shmem_core.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

options=()

# mistake PES NAME SENTENCE: the job ends in time, and one PE says so.
mistake()
{
    live_group -n "$1" "${options[@]}" --timeout 30 "$live_programs/shmem_core" --mistake "$2"
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
        echo "the job ended with status $status"
        return 1
    fi
    [ "$(grep -c "$3" "$live_work/err")" -eq "${4:-1}" ]
}

# death PES WAY SENTENCE: one PE says what the death of another means to it. The launcher itself
# would end the job a moment after a death, whether it is reported or not.
death()
{
    local options=(--keep-going)
    mistake "$@"
}

# ends PES WAY STATUS: the job ends in time with this status.
ends()
{
    live_group -n "$1" --timeout 30 "$live_programs/shmem_core" --mistake "$2"
    [ "$status" -eq "$3" ] || { echo "the job ended with status $status"; return 1; }
}

flushed_exit() { ends 3 exit-5 5 && grep -q flushed "$live_work/out"; }

# Two executables in one job.
two_programs()
{
    # shellcheck disable=SC2016
    live_group -n 2 --timeout 30 bash -c 'exec "$0/$DIMMNET_RANK"' "$live_work/programs"
    [ "$status" -ne 0 ] && grep -q 'runs another program' "$live_work/err"
}

live_checks shmem_core alone
for pes in 1 2 3 8; do
    live_checks shmem_core "$pes"
done
SHMEM_DEBUG=1 live_checks shmem_core 3

live_verdict "a call before shmem_init" mistake 1 uninitialised 'called before shmem_init'
live_verdict "a call after shmem_finalize" mistake 1 finalized 'called after shmem_finalize'
live_verdict "a PE that does not exist" mistake 2 pe 'there is no PE 2'
live_verdict "a negative PE" mistake 2 negative-pe 'there is no PE -1'
live_verdict "an address that is not symmetric" mistake 3 stack 'is not symmetric'
live_verdict "a transfer that leaves the heap" mistake 2 beyond 'beyond the end'
live_verdict "sizes that differ" mistake 2 sizes 'asked for different sizes'
live_verdict "memory freed twice" mistake 2 twice-freed 'freed already'
live_verdict "a lock that is not held" mistake 2 not-held 'does not hold the lock'
live_verdict "a lock that is held already" mistake 1 held-already 'holds the lock'
live_verdict "a wait that cannot end" mistake 2 impossible 'would never end'
live_verdict "a context that is none" mistake 2 no-context 'SHMEM_CTX_INVALID'
live_verdict "all others have finished" mistake 3 all-others-finish 'cannot come any more'
live_verdict "a dead PE is waited for" death 3 dies-waited-for 'PE 2 has died'
live_verdict "a dead PE is written to" death 3 dies-written-to 'PE 2 has died'
live_verdict "a PE dies with a lock" death 3 dies-with-lock 'held the lock has died'

SHMEM_DEBUG=1 live_verdict "debug: memory that is freed" mistake 2 freed 'it has been freed'
SHMEM_DEBUG=1 live_verdict "debug: past the end" mistake 2 past-the-end 'leave their allocation'
SHMEM_DEBUG=1 live_verdict "debug: overlap" mistake 2 overlap 'overlap'

live_verdict "global exit with success" ends 3 exit-0 0
live_verdict "global exit with a status, output flushed" flushed_exit
live_verdict "global exit from a thread" ends 3 exit-thread-7 7
live_verdict "the end of the program finalizes" ends 3 without-finalize 0

mkdir "$live_work/programs"
ln -s "$live_programs/shmem_core" "$live_work/programs/0"
ln -s "$live_programs/shmem_collectives" "$live_work/programs/1"
live_verdict "two programs in one job" two_programs
live_verdict "nothing remains" live_nothing_remains
live_finish
