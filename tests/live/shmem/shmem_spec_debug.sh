#!/usr/bin/env bash
# Mistakes in OpenSHMEM programs: which sentence each of them gets, with SHMEM_DEBUG=1 and
# without. usage: shmem_spec_debug.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

program=$live_programs/shmem_spec_ends

# mistake DEBUG NAME CALL SENTENCE: the job fails, and a PE says `PE n: CALL: ...` with these words.
mistake()
{
    local debug=$1 name=$2 call=$3 sentence=$4 group=(live_group)
    [ "$name" != a_pe_does_not_come ] || group=(live_late_group "$sentence")
    SHMEM_DEBUG=$debug "${group[@]}" -n 2 --timeout 20 "$program" "$name"
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
        echo "status $status"
        return 1
    fi
    if ! grep -Eq "^(PE [0-9]+: )?$call: .*$sentence" "$live_work/err"; then
        echo "nobody said \"$call: ... $sentence\""
        return 1
    fi
    live_nothing_remains
}

# Each line: when it is found (always, or only with SHMEM_DEBUG), the mistake, the call that is
# named, and what must be said.
while IFS='|' read -r when name call sentence; do
    live_verdict "SHMEM_DEBUG=1 finds $name" mistake 1 "$name" "$call" "$sentence"
    if [ "$when" = always ]; then
        live_verdict "found without SHMEM_DEBUG: $name" mistake '' "$name" "$call" "$sentence"
    fi
done <<'END'
always|put_to_the_stack|shmem_long_p|not symmetric
always|get_from_private_memory|shmem_long_g|not symmetric
always|put_beyond_the_heap|shmem_putmem|beyond the end of the symmetric memory
always|atomic_on_the_stack|shmem_long_atomic_inc|not symmetric
debug|collective_on_the_stack|shmem_long_sum_reduce|not symmetric
debug|wait_on_the_stack|shmem_long_wait_until|not symmetric
always|lock_on_the_stack|shmem_set_lock|not symmetric
always|put_to_no_pe|shmem_long_p|there is no PE 2
always|get_from_a_negative_pe|shmem_long_g|there is no PE -1
always|add_at_no_pe|shmem_long_atomic_add|there is no PE 1000
debug|put_that_overlaps|shmem_putmem|overlap
debug|reduction_that_overlaps|shmem_long_sum_reduce|overlap
debug|put_to_freed_memory|shmem_long_p|has been freed
debug|put_beyond_the_allocation|shmem_long_put|leave their allocation
always|free_twice|shmem_free|freed already
always|free_of_the_middle|shmem_free|not the start of an allocation
always|different_sizes|shmem_malloc|different sizes
debug|another_collective|shmem_long_(sum|max)_reduce|has called shmem_long_(sum|max)_reduce instead
debug|another_root|shmem_long_broadcast|gave other numbers
debug|a_pe_does_not_come|shmem_long_sum_reduce|waiting for PE 1, which has not made the call
always|a_pe_leaves_while_others_wait|shmem_long_wait_until|cannot come any more
debug|a_pe_leaves_while_others_meet|shmem_long_sum_reduce|has finished already
always|a_barrier_meets_the_end|shmem_(barrier_all|finalize)|has finished already
always|collective_of_no_team|shmem_team_sync|SHMEM_TEAM_INVALID
always|no_comparison|shmem_long_wait_until|no comparison
always|the_invalid_context|shmem_ctx_long_p|SHMEM_CTX_INVALID
always|the_default_context_destroyed|shmem_ctx_destroy|cannot be destroyed
always|the_world_destroyed|shmem_team_destroy|cannot be destroyed
always|lock_set_twice|shmem_set_lock|holds the lock
always|lock_of_another|shmem_clear_lock|does not hold the lock
always|word_off_its_place|shmem_long_atomic_inc|not aligned
always|no_signal_operation|shmem_long_put_signal|no signal operation
always|stride_of_nothing|shmem_long_iput|strides are 1 or more
always|blocks_that_overlap|shmem_long_ibput|not less than a block
always|block_source_that_overlaps|shmem_long_ibget|not less than a block
always|blocks_beyond_the_heap|shmem_ibput64|beyond the end of the symmetric memory
always|signal_to_the_stack|shmem_signal_set|not symmetric
always|signal_off_its_place|shmem_ctx_signal_add|not aligned
always|quiet_of_no_pe|shmem_pe_quiet|there is no PE 2
always|session_without_a_configuration|shmem_ctx_session_start|null pointer
always|session_of_no_option|shmem_ctx_session_start|bits without a meaning
always|scan_of_no_team|shmem_long_sum_exscan|SHMEM_TEAM_INVALID
debug|scan_on_the_stack|shmem_long_sum_inscan|not symmetric
debug|scan_that_overlaps|shmem_long_sum_inscan|overlap
debug|another_scan|shmem_long_sum_(in|ex)scan|has called shmem_long_sum_(in|ex)scan instead
always|set_that_is_none|shmem_barrier|no set of PEs
always|finalize_once_too_often|shmem_finalize|after shmem_finalize
always|call_after_finalize|shmem_long_p|after shmem_finalize
always|without_init|shmem_long_p|before shmem_init
END

# One PE alone has the variable, as launchers of MPI programs allow.
asked_by_one()
{
    # shellcheck disable=SC2016 # the PE's shell does that
    live_group -n 2 --timeout 20 sh -c \
        '[ "$DIMMNET_RANK" != 1 ] || export SHMEM_DEBUG=1; exec "$0" "$@"' "$program" "$1"
    grep -Eq "$2" "$live_work/err"
}

live_verdict "one PE asks, and mistakes are found" asked_by_one another_root 'gave other numbers'

# A program without mistakes works the same in debug mode, which rightly says which PE is slow.
correct_program()
{
    local pes=$2
    [[ ${DN_FABRIC-} != sim:* ]] || pes=$live_simulated_nodes
    SHMEM_DEBUG=1 live_group -n "$pes" --timeout 100 "$live_programs/$1"
    [ "$status" -eq 0 ] &&
        ! grep -v 'waiting for PE [0-9]*, which has not made the call' "$live_work/err"
}

for name in types memory sync teams 1_6 blocks scans lives threads; do
    live_verdict "SHMEM_DEBUG=1, nothing to find: shmem_spec_$name" correct_program \
        "shmem_spec_$name" 4
done
live_verdict "nothing remains" live_nothing_remains
live_finish
