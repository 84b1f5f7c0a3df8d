#!/usr/bin/env bash
# Deprecated collectives called by a PE that is not in the active set: it goes on at once, the others
# do not miss it, and SHMEM_DEBUG=1 says what it did. usage: shmem_spec_outside.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for pes in 2 3 4 8; do
    live_checks shmem_spec_outside "$pes"
done

# alone DEBUG: PE 2 makes every call on the set of PE 0 and 1.
alone()
{
    SHMEM_DEBUG=$1 live_group -n 3 --timeout 100 "$live_programs/shmem_spec_outside" \
        a_pe_outside_goes_on_alone
    [ "$status" -eq 0 ] && grep -qx 'ok a_pe_outside_goes_on_alone' "$live_work/out"
}

# One line for each call, in their order, by the PE that made it.
debug_says_so()
{
    local set='(PE_start 0, logPE_stride 0, PE_size 2)'
    alone 1 || return 1
    "$live_programs/shmem_spec_outside" --calls |
        sed "s/.*/PE 2: &: this PE is not in the active set $set and takes no part in the call/" \
            >"$live_work/wanted"
    [ "$(wc -l <"$live_work/wanted")" -eq 56 ] || { echo "not all calls"; return 1; }
    # The others may wait so long for a PE that comes late on a busy machine that they say it.
    grep -v ' waiting for PE ' "$live_work/err" | diff "$live_work/wanted" -
}

says_nothing()
{
    alone '' && [ ! -s "$live_work/err" ]
}

live_verdict "SHMEM_DEBUG=1 names each call" debug_says_so
live_verdict "without SHMEM_DEBUG nothing is said" says_nothing
live_verdict "nothing remains" live_nothing_remains
live_finish
