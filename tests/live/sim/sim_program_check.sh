#!/usr/bin/env bash
# `dimmnet run --check-determinism`: programs that are the same in both runs, and programs that are
# not, whose first difference is named.
# usage: sim_program_check.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
unset DN_FABRIC
export DN_SIM_REPORT=0
node=$live_programs/sim_program_check
twice="the second run differs: at [0-9,.]+ ns of virtual time node"

# checked MACHINE WORD...: four nodes, twice.
checked()
{
    local machine=$1
    shift
    live_group --fabric "sim:$machine" -n 4 --timeout 100 --check-determinism "$@"
}

said() { grep -qE -- "$1" "$live_work/err"; }
is() { [ "$1" = "$2" ]; }
shown() { is "$(grep -c '^node . has' "$live_work/out")" 4; }

equal_runs_are_said_to_be_equal()
{
    checked "$1" "$node" same
    is "$status" 0 && shown && is "$(wc -l <"$live_work/err")" 1 &&
        said 'both runs are the same: [0-9.]+ ns of virtual time, hash [0-9a-f]{16}'
}

a_process_id_in_a_store_is_named()
{
    checked "$1" "$node" pid
    is "$status" 1 && shown && said "$twice 2 stored 8 bytes to node 3 with other content.*process id"
}

a_time_of_day_is_named()
{
    checked "$1" "$node" time
    is "$status" 1 && said "$twice 2 computed [0-9]+ ns; in the first run it computed [0-9]+ ns"
}

# How threads take turns is the kernel's affair: once in a while it is the same twice.
threads_are_named()
{
    local attempt
    for attempt in 1 2 3 4 5; do
        checked "$1" "$node" threads
        is "$status" 0 || break
    done
    is "$status" 1 && said 'several of its threads call the library' || return 1
    echo "attempt $attempt"
}

output_alone_is_named()
{
    checked "$1" "$node" output
    is "$status" 1 && shown && is "$(wc -l <"$live_work/out")" 5 &&
        said 'the second run differs: standard output of node 1 is not the same from byte [0-9]+'
}

a_file_is_read_twice()
{
    status=0
    echo 'of a file' >"$live_work/input"
    timeout -k 5 110 "$live_dimmnet" run --fabric "sim:$1" -n 2 --check-determinism "$node" input \
        <"$live_work/input" >"$live_work/out" 2>"$live_work/err" || status=$?
    is "$status" 0 && grep -qx 'input of a file' "$live_work/out" && said 'both runs are the same'
}

a_pipe_is_not_read()
{
    status=0
    echo 'of a pipe' | timeout -k 5 110 "$live_dimmnet" run --fabric "sim:$1" -n 2 \
        --check-determinism "$node" input >"$live_work/out" 2>"$live_work/err" || status=$?
    is "$status" 0 && grep -qx 'input is empty' "$live_work/out" &&
        said 'standard input is no file and cannot be read twice: both runs find it empty' &&
        said 'both runs are the same'
}

a_status_that_differs_is_named()
{
    rm -f "$live_work/made"
    checked "$1" --keep-going "$node" status "$live_work/made"
    is "$status" 1 && said 'the second run differs: node 1 ended with status 4 instead of 3'
}

a_failure_in_both_keeps_its_status()
{
    checked "$1" "$node" fails
    is "$status" 5 && is "$(grep -c 'exited with status 5' "$live_work/err")" 1 &&
        said 'both runs are the same'
}

files_are_of_the_first_run()
{
    checked "$1" --trace "$live_work/trace" --goal "$live_work/goal" "$node" same
    is "$status" 0 && said 'both runs are the same' || return 1
    checked "$1" --json "$live_work/report" --trace "$live_work/trace" "$node" pid
    is "$status" 1 && grep -q '"end":"done"' "$live_work/report" &&
        is "$(grep -c 'trace: ' "$live_work/err")" 1
}

deaths_happen_twice()
{
    checked "$1" --keep-going --kill 3@5us "$live_programs/sim_program_mix"
    is "$(grep -c 'was killed by SIGKILL' "$live_work/err")" 1 && said 'both runs are the same'
}

other_words_are_refused()
{
    live_group -n 2 --fabric mem --check-determinism "$node"
    is "$status" 2 && said 'check-determinism is for --fabric sim only' || return 1
    checked "$1,compute=measured" "$node"
    is "$status" 2 && said 'check-determinism does not go with compute=measured'
}

for machine in dimmnet1-D dimmnet2; do
    for behaviour in equal_runs_are_said_to_be_equal a_process_id_in_a_store_is_named \
        a_time_of_day_is_named output_alone_is_named a_file_is_read_twice; do
        live_verdict "$machine: $behaviour" "$behaviour" "$machine"
    done
done
for behaviour in threads_are_named a_pipe_is_not_read a_status_that_differs_is_named \
    a_failure_in_both_keeps_its_status files_are_of_the_first_run deaths_happen_twice \
    other_words_are_refused; do
    live_verdict "$behaviour" "$behaviour" dimmnet1-D
done
live_verdict "nothing remains" live_nothing_remains
live_finish
