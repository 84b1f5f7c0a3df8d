#!/usr/bin/env bash
# The tests of the OpenSHMEM specification that need only PEs: 1 to 8 of them.
# usage: shmem_spec.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for pes in 1 2 4 8; do
    for program in types generic memory sync teams 1_6 blocks scans lives; do
        live_checks "shmem_spec_$program" "$pes"
    done
done
live_checks shmem_spec_lives alone

# aligned BYTES: a heap of this size has what is aligned to all of it, and says no beyond.
aligned()
{
    local check
    for check in alignments_up_to_the_heaps_size alignments_that_cannot_be; do
        SHMEM_SYMMETRIC_SIZE=$1 live_group -n 2 --timeout 100 "$live_programs/shmem_spec_1_6" "$check"
        [ "$status" -eq 0 ] && grep -qx "ok $check" "$live_work/out" || return 1
    done
}

for bytes in $((4 << 20)) $((64 << 20)) 3000000; do
    live_verdict "alignment in a heap of $bytes bytes" aligned "$bytes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
