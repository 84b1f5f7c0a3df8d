#!/usr/bin/env bash
# OpenSHMEM jobs that end early: shmem_global_exit from anywhere, a PE that is killed, a
# program without shmem_finalize. usage: shmem_spec_ends.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

program=$live_programs/shmem_spec_ends
computing=computing
# There time passes in calls only, and what never calls keeps the others from dying.
[[ ${DN_FABRIC-} != sim:* ]] || computing=
places="barrier sync wait wait_any signal test lock reduction malloc finalize sleep $computing
transfers end"

# global_exit PES PLACE [thread]: the job gets the status of one PE, while the others are at this
# place.
global_exit()
{
    local pes=$1
    shift
    live_group -n "$pes" --timeout 20 "$program" exit "$@"
    if [ "$status" -ne 17 ]; then
        echo "status $status, not 17"
        return 1
    fi
    grep -q 'a line that stdio holds' "$live_work/out" || { echo "stdio not flushed"; return 1; }
    grep -q 'at exit' "$live_work/out" || { echo "atexit not called"; return 1; }
    live_nothing_remains
}

# killed PES PLACE: the others end, and say why.
killed()
{
    live_group -n "$1" --timeout 20 "$program" kill "$2"
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
        echo "status $status"
        return 1
    fi
    grep -qi 'killed\|has died\|signal 9' "$live_work/err" || { echo "nobody said it"; return 1; }
    live_nothing_remains
}

implicit_end()
{
    live_group -n "$1" --timeout 20 "$program" without_finalize
    [ "$status" -eq 0 ] && grep -q '^ok' "$live_work/out"
}

# below PLACE STATUS END WANTED: the PEs are below shells, which end as they like: with status END.
# Where the PE ends, without leaving the group, counts only while it has not finalized.
below()
{
    # shellcheck disable=SC2016 # the inner shell's
    live_group -n 2 --timeout 20 sh -c '"$0" "$1" "$2"; sleep 0.3; exit "$3"' "$program" "$1" "$2" "$3"
    if [ "$status" -ne "$4" ]; then
        echo "status $status, not $4"
        return 1
    fi
    live_nothing_remains
}

for place in $places; do
    live_verdict "global exit, 2 PEs, the other one: $place" global_exit 2 "$place"
done
for place in barrier wait lock $computing finalize; do
    live_verdict "global exit, 8 PEs, the others: $place" global_exit 8 "$place"
    live_verdict "global exit from a thread, the others: $place" global_exit 4 "$place" thread
done
live_verdict "global exit, 1 PE" global_exit 1 barrier
for place in $places; do
    live_verdict "a killed PE ends the job, the others: $place" killed 3 "$place"
done
for pes in 1 2 4; do
    live_verdict "start_pes and no shmem_finalize, $pes PEs" implicit_end "$pes"
done
live_verdict "below a shell, a PE has finalized" below at_rest 0 0 0
live_verdict "below a shell, a PE has finalized and fails" below at_rest 3 0 0
live_verdict "below a shell that fails, a PE has finalized" below at_rest 0 5 5
live_verdict "below a shell, a PE has not finalized" below at_work 0 0 1
live_verdict "nothing remains" live_nothing_remains
live_finish
