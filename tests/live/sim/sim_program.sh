#!/usr/bin/env bash
# `dimmnet run --fabric sim:MACHINE`: programs on simulated machines, in virtual time.
# usage: sim_program.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=program.bash
. "$(dirname "$0")/program.bash"

rounds=$live_programs/sim_program_rounds
ways=$live_programs/sim_program_ways

says() { grep -qF -- "$1" "$2" || { echo "not \"$1\" but: $(cat "$2")"; return 1; }; }

# refused TEXT: status 2, and one line that has the text.
refused()
{
    ended_with 2 && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && says "$1" err
}

# ---- Times ---------------------------------------------------------------------------------------

# takes_what_the_trial_takes TRIAL MACHINE: a round of the library's program takes what one of the
# simulator's own trial takes, within 1 %. Both times are said in any case.
takes_what_the_trial_takes()
{
    local trial ours
    trial=$("$live_dimmnet" sim run "$1" --machine "$2" --nodes 2 --json |
        sed -n 's/.*"round_ns":\([0-9.]*\).*/\1/p')
    on "$2" -n 2 "$rounds" "$1"
    ended_with 0 || return 1
    ours=$(sed -n 's/^round_ns //p' out)
    echo "# $1 on $2: $ours ns a round, the trial $trial ns" >&3
    awk -v ours="$ours" -v trial="$trial" 'BEGIN {
        off = 100 * (ours - trial) / trial
        if (off > 1 || off < -1) {
            printf "%.2f %% more than the trial\n", off
            exit 1
        }
    }'
}
exec 3>&1

computing_takes_what_it_says()
{
    local before_ns
    LIVE_COMPUTE_NS=0 on dimmnet1-D -n 2 "$ways" compute
    ended_with 0 || return 1
    before_ns=$(reported 'r["node_times"][0]["end_ns"]')
    LIVE_COMPUTE_NS=77777 on dimmnet1-D -n 2 "$ways" compute
    ended_with 0 && reports "r['node_times'][0]['end_ns'] - $before_ns" 77777.0 &&
        reports 'r["node_times"][0]["compute_ns"]' 77777.0
}

the_clock_is_common()
{
    on "$1" -n 4 "$ways" clock
    ended_with 0 && says 'ok clock' out && reports 'r["deterministic"]' True
}

measured_time_counts()
{
    on dimmnet2,compute=measured -n 1 "$ways" measured
    ended_with 0 || return 1
    # 50 ms of CPU time since the process began; nearly all of it was behind the attachment.
    reports 'r["virtual_ns"] > 10e6' True && reports 'r["deterministic"]' False || return 1
    on dimmnet2 -n 1 "$ways" measured
    reports 'r["virtual_ns"] < 10e6' True && reports 'r["deterministic"]' True || return 1
    live_group --fabric sim:dimmnet2,compute=measured,report=yes -n 1 "$ways" measured
    says 'not repeatable' err
}

# ---- Deaths --------------------------------------------------------------------------------------

# dies_alike OPTION...: sets $hash and $virtual_ns, which are the same in three runs.
dies_alike()
{
    local again first
    for again in 1 2 3; do
        on dimmnet2 -n 4 --keep-going "$@" "$ways" survive
        ! grep FAIL out || return 1
        sort out >"survivors.$again"
        cmp survivors.1 "survivors.$again" || return 1
        hash=$(reported 'r["hash"], r["virtual_ns"]')
        [ "$hash" = "${first:=$hash}" ] || { echo "$first, then $hash"; return 1; }
    done
}

a_planned_death_comes_when_it_is_due()
{
    dies_alike --kill 1@20us && ended_with 137 && says 'node 1 (pid' err &&
        reports 'r["node_times"][1]["end_ns"]' 20000.0 &&
        [ "$(grep -c '^survivor . of 3 at' out)" -eq 3 ]
}

a_file_has_deaths()
{
    printf '# two of four\nkill 1 20us\nkill 3 30us # later\n' >faults
    dies_alike --faults faults && reports 'r["node_times"][1]["end_ns"]' 20000.0 &&
        reports 'r["node_times"][3]["end_ns"]' 30000.0 && [ "$(grep -c '^survivor' out)" -eq 2 ]
}

random_deaths_follow_from_their_seed()
{
    local one
    echo 'random 1 200us 42' >faults
    dies_alike --faults faults || return 1
    one=$hash
    [ "$(grep -c '^survivor . of 3' out)" -eq 3 ] || return 1
    echo 'random 1 200us 43' >faults
    dies_alike --faults faults && [ "$hash" != "$one" ]
}

the_notice_comes_later_if_asked()
{
    local soon
    on dimmnet2,notice=0 -n 3 --keep-going --kill 1@20us "$ways" survive
    soon=$(sed -n 's/^survivor 0 .* at \([0-9]*\) ns.*/\1/p' out)
    on dimmnet2,notice=1ms -n 3 --keep-going --kill 1@20us "$ways" survive
    [ $(($(sed -n 's/^survivor 0 .* at \([0-9]*\) ns.*/\1/p' out) - soon)) -gt 900000 ]
}

# ---- Programs that do not go on --------------------------------------------------------------------

a_deadlock_ends_with_a_sentence()
{
    on "$1" -n 2 "$ways" deadlock
    ended_with 1 && says 'deadlock at 0.000 us of virtual time' err && says '2 nodes wait' err &&
        reports 'r["end"]' deadlock
}

a_limit_ends_with_a_sentence()
{
    on dimmnet1-D,limit=20us -n 2 "$rounds" ping
    ended_with 1 && says 'virtual time is up' err && reports 'r["end"]' limit
}

# Nobody gives nodes their turns any more: who goes on after deaths cannot go on after that.
a_machine_that_ended_ends_who_goes_on_after_deaths()
{
    on dimmnet2,limit=20us -n 2 --keep-going "$rounds" ping
    ended_with 1 && says 'virtual time is up' err && live_nothing_remains || return 1
    on dimmnet2 -n 2 --keep-going "$ways" deadlock
    ended_with 1 && says 'deadlock at' err && reports 'r["end"]' deadlock &&
        live_nothing_remains || return 1
    on dimmnet2,limit=2ms -n 2 "$live_programs/shmem_goes_on"
    ended_with 1 && says 'virtual time is up' err && reports 'r["end"]' limit &&
        live_nothing_remains
}

a_loop_over_memory_is_found()
{
    rm -f err
    timeout -k 5 110 "$live_dimmnet" run --timeout 90 --fabric sim:dimmnet1-D -n 2 "$ways" loop \
        >out 2>err </dev/null &
    local launcher=$!
    live_eventually grep -qE \
        'node 0 has looped at sim_program_ways\+0x[0-9a-f]+ for a second' err
    local found=$?
    kill -TERM "$launcher"
    wait "$launcher"
    [ "$found" -eq 0 ] || { cat err; return 1; }
}

the_time_out_ends_a_loop()
{
    live_group --timeout 1 --fabric sim:dimmnet1-D -n 2 "$ways" loop
    ended_with 124 && says 'timed out after 1 s' err
}

who_does_not_attach_holds_nobody_up()
{
    on "$1" -n 3 "$ways" absent
    ended_with 0 && says 'ok absent' out
}

who_dies_before_attaching_holds_nobody_up()
{
    on "$1" -n 3 --keep-going "$ways" absent-dead
    ended_with 134 && says 'ok absent-dead' out && live_nothing_remains || return 1
    on "$1" -n 3 "$ways" absent-dead
    ended_with 134 && live_nothing_remains
}

an_interrupt_ends_everything()
{
    # A shell lets what it starts in the background ignore interrupts.
    env --default-signal "$live_dimmnet" run --fabric sim:dimmnet2 -n 4 "$ways" loop \
        >out 2>err </dev/null &
    local launcher=$!
    live_eventually grep -q 'node 0 has looped' err && kill -INT "$launcher" || return 1
    wait "$launcher"
    status=$?
    ended_with 130 && live_nothing_remains
}

# Each look at a life, or at the clock, moves time by a read.
loops_of_calls_end()
{
    local way
    for way in loop-life loop-clock; do
        on "$1" -n 3 "$ways" "$way"
        ended_with 0 && says "ok $way" out && reports 'r["deterministic"]' True || return 1
    done
}

# ---- Threads -------------------------------------------------------------------------------------

threads_work_and_are_marked()
{
    local way
    for way in threads threads-wait threads-lock threads-word; do
        on "$1" -n 3 "$ways" "$way"
        ended_with 0 && says "ok $way" out && reports 'r["deterministic"]' False || return 1
    done
}

# ---- Words and reports -----------------------------------------------------------------------------

words_are_checked()
{
    local words sentence
    while IFS='|' read -r words sentence; do
        # shellcheck disable=SC2086 # several words
        live_group --fabric $words true
        refused "$sentence" || return 1
    done <<'END'
sim:dimmnet9 -n 2|there is no machine "dimmnet9"
sim:dimmnet2,colour=red -n 2|cannot understand "colour=red"
sim:dimmnet2,topology=moebius -n 2|topology is loop-inside, 
sim:dimmnet2,topology=back-to-back -n 3|nodes is 3, but a cable between two boards
sim:dimmnet2,limit=soon -n 2|limit is a time: 10us
sim:dimmnet2 -n 2 --kill 2@1us|--kill takes RANK@TIME,... with ranks below 2
sim:dimmnet2 -n 2 --faults /no/such/plan|cannot read /no/such/plan
sim:dimmnet2 -n 2 --stages /no/such/folder/trace|cannot write the trace /no/such/folder/trace
simulated:dimmnet2 -n 2|--fabric takes one of mem, udp, sim
mem:dimmnet2 -n 2|--fabric takes one of mem, udp, sim
mem -n 2 --kill 1@1us|--kill is for --fabric sim only
END
}

reports_are_written()
{
    on dimmnet1-D --html page.html --stages trace -n 3 "$rounds" barrier
    ended_with 0 && [ ! -s err ] || return 1
    reports 'r["test"], r["machine"], r["topology"], r["nodes"], r["end"]' \
        'program dimmnet1-D switch 3 done' || return 1
    reports 'len(r["node_times"]), sum(t["packets"] for t in r["traffic"]) > 300' '3 True' &&
        reports 'r["virtual_ns"] == max(t["end_ns"] for t in r["node_times"])' True || return 1
    says '<!DOCTYPE html>' page.html && says '</html>' page.html &&
        python3 -c 'import json; json.load(open("trace"))'
}

a_report_is_said_unless_it_is_stilled()
{
    DN_SIM_REPORT=1 live_group --fabric sim:dimmnet1-D -n 2 "$rounds" ping
    says 'simulated dimmnet1-D, 2 nodes, switch: ' err && says '; hash ' err || return 1
    live_group --fabric sim:dimmnet1-D -n 2 "$rounds" ping
    [ ! -s err ]
}

# ---- Other libraries -------------------------------------------------------------------------------

openshmem_runs()
{
    live_alone "$live_build/oshrun" --fabric sim:dimmnet2 -n 4 "$live_build/examples/shmem/ring"
    ended_with 0 && [ -s out ]
}

fagus_runs()
{
    on dimmnet2 -n 2 "$live_build/examples/fagus/sor"
    ended_with 0 && [ -s out ] && reports 'r["end"]' 'done'
}

examples_run()
{
    local example
    for example in hello ring; do
        on dimmnet2 -n 4 "$live_build/examples/$example"
        ended_with 0 && [ -s out ] || return 1
    done
}

for machine in dimmnet1-D dimmnet2; do
    for trial in ping barrier stream; do
        live_verdict "a $trial on $machine takes what the trial takes" \
            takes_what_the_trial_takes "$trial" "$machine"
    done
    live_verdict "the clock begins with 0 and is common: $machine" the_clock_is_common "$machine"
    live_verdict "a deadlock ends with a sentence: $machine" \
        a_deadlock_ends_with_a_sentence "$machine"
    live_verdict "who does not attach holds nobody up: $machine" \
        who_does_not_attach_holds_nobody_up "$machine"
    live_verdict "who dies before attaching holds nobody up: $machine" \
        who_dies_before_attaching_holds_nobody_up "$machine"
    live_verdict "loops of calls end: $machine" loops_of_calls_end "$machine"
    live_verdict "threads work and are marked: $machine" threads_work_and_are_marked "$machine"
done
live_verdict "computing takes what it says" computing_takes_what_it_says
live_verdict "measured time counts, and is marked" measured_time_counts
live_verdict "a planned death comes when it is due" a_planned_death_comes_when_it_is_due
live_verdict "a file has deaths" a_file_has_deaths
live_verdict "random deaths follow from their seed" random_deaths_follow_from_their_seed
live_verdict "the notice comes later if asked" the_notice_comes_later_if_asked
live_verdict "a limit ends with a sentence" a_limit_ends_with_a_sentence
live_verdict "a machine that ended ends who goes on after deaths" \
    a_machine_that_ended_ends_who_goes_on_after_deaths
live_verdict "a loop over memory is found" a_loop_over_memory_is_found
live_verdict "the time-out ends a loop" the_time_out_ends_a_loop
live_verdict "an interrupt ends everything" an_interrupt_ends_everything
live_verdict "words are checked" words_are_checked
live_verdict "reports are written" reports_are_written
live_verdict "a report is said unless it is stilled" a_report_is_said_unless_it_is_stilled
live_verdict "OpenSHMEM runs" openshmem_runs
live_verdict "Fagus runs" fagus_runs
live_verdict "examples run" examples_run
live_verdict "nothing remains" live_nothing_remains
live_finish
