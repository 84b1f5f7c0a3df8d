#!/usr/bin/env bash
# OpenSHMEM programs that go on after PEs have died. usage: shmem_failure.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# goes_on PES CASE DEATHS: the others end well, and the job has the status of the first death.
goes_on()
{
    live_group -n "$1" --timeout 60 "$live_programs/shmem_failure" "$2"
    if [ "$(grep -c '^ok survivor' "$live_work/out")" -ne $(($1 - $3)) ]; then
        echo "not all of the others survived"
        return 1
    fi
    if [ "$status" -ne 137 ] || [ "$(grep -c 'killed by SIGKILL' "$live_work/err")" -ne "$3" ]; then
        echo "status $status, or a death that nobody named"
        return 1
    fi
    live_nothing_remains
}

# ends PES CASE LINE: the survivors end, and standard error has a line that begins so and names the
# dead PE.
ends()
{
    live_group -n "$1" --timeout 60 "$live_programs/shmem_failure" "$2"
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || grep '^FAIL' "$live_work/out" ||
        ! grep -q "^$3.*: PE $(($1 - 1)) has died" "$live_work/err"; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

# survives PES DEAD_PE...: the example finds its sum, whoever is left.
survives()
{
    local pes=$1
    shift
    live_group -n "$pes" --timeout 60 "$live_build/examples/shmem/survive" "$@"
    if ! grep -E "^$((pes - $#)) PEs left: ([0-9]+) steps, expected \1$" "$live_work/out" ||
        [ "$(grep -c 'has died after' "$live_work/out")" -ne $# ] ||
        [ "$status" -ne $(($# > 0 ? 137 : 0)) ]; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

for pes in 2 3 5; do
    for case in transfers waits sleepers collectives locks_of_the_dead lock_is_left \
        locks_without_a_home ends_within strided_get_after_a_put; do
        live_verdict "$case, $pes PEs" goes_on "$pes" "$case" 1
    done
    live_verdict "until_one_is_left, $pes PEs" goes_on "$pes" until_one_is_left $((pes - 1))
    live_verdict "left_alone, $pes PEs" goes_on "$pes" left_alone $((pes - 1))
    live_verdict "in_the_end, $pes PEs" goes_on "$pes" in_the_end $((pes > 2 ? 2 : 1))
    live_verdict "no_more, $pes PEs" ends "$pes" no_more "PE 0: shmem_"
    live_verdict "begin_again, $pes PEs" ends "$pes" begin_again "PE [0-9]*: shmem_init"
done
live_verdict "a sum survives nothing" survives 3
live_verdict "a sum survives two deaths" survives 4 1 2
live_verdict "a sum survives the deaths of all but one" survives 4 0 3 1
live_verdict "nothing remains" live_nothing_remains
live_finish
