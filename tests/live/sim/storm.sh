#!/usr/bin/env bash
# The storm through its command. usage: storm.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# storm OPTION...: runs it to its end; leaves out, err and $status.
storm() { live_alone "$live_dimmnet" storm "$@"; }

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; return 1; }; }

# The value of a field of the last JSON object.
field() { tail -n 1 "$live_work/out" | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

# The part of a summary that depends on the seeds alone.
lasting() { tail -n 1 "$live_work/out" | sed 's/"per_s".*"trace_hash"/"trace_hash"/'; }

# ---- Runs -------------------------------------------------------------------------------

every_scenario_is_clean()
{
    local scenario
    for scenario in calm loss burst duplicate reorder corrupt delay partition pause crash evict \
        full skew stranger; do
        storm --scenario "$scenario" --seeds 0..39 --json
        ended_with 0 || { echo "$scenario"; return 1; }
        [ "$scenario" = calm ] || [ "$(field "$scenario")" -gt 0 ] ||
            { echo "$scenario never came about"; return 1; }
    done
}

the_mixture_is_clean()
{
    storm --seeds 0..299 --json
    ended_with 0 && [ "$(field runs)" -eq 300 ] && [ "$(field failed)" -eq 0 ]
}

jobs_do_not_matter()
{
    local jobs first
    for jobs in 1 2 5; do
        storm --seeds 7..90 --json --jobs "$jobs"
        ended_with 0 || return 1
        first=${first:-$(lasting)}
        [ "$(lasting)" = "$first" ] || { echo "with $jobs jobs: $(lasting)"; return 1; }
    done
}

traces_are_the_same_bytes()
{
    local seed
    : >"$live_work/singly"
    storm --seeds 3..6 --trace "$live_work/together"
    ended_with 0 || return 1
    for seed in 3 4 5 6; do
        storm --seeds $seed --trace "$live_work/one"
        ended_with 0 || return 1
        cat "$live_work/one" >>"$live_work/singly"
    done
    [ -s "$live_work/singly" ] && cmp "$live_work/together" "$live_work/singly"
}

what_is_left_out_does_not_happen()
{
    storm --seeds 0..39 --without loss,crash,lock --nodes 3 --operations 10 --json
    ended_with 0 && [ "$(field loss)" -eq 0 ] && [ "$(field crash)" -eq 0 ] &&
        [ "$(field restart)" -eq 0 ] && [ "$(field lock)" -eq 0 ] && [ "$(field burst)" -gt 0 ]
}

no_failure_where_one_is_expected()
{
    storm --seeds 0..9 --expect-failure
    ended_with 1 && grep -q 'none of 10 seeds failed' "$live_work/out"
}

# ---- Failures and signals ----------------------------------------------------------------

# storm_behind OPTION...: starts a long storm in the background; leaves its $pid.
storm_behind()
{
    "$live_dimmnet" storm --seeds 0..9999999 "$@" >"$live_work/out" 2>"$live_work/err" &
    pid=$!
}

has_worker() { pgrep -P "$pid" >"$live_work/worker"; }

await_end()
{
    status=0
    wait "$pid" || status=$?
}

# A worker that dies is a failure of its seed, with the command to repeat it.
a_dead_worker_is_a_failing_seed()
{
    storm_behind --jobs 1 --failures 1
    live_eventually has_worker || return 1
    kill -ILL "$(head -n 1 "$live_work/worker")"
    await_end
    ended_with 1 || return 1
    grep -qE '^seed [0-9]+ failed: the run (died|ended)' "$live_work/out" &&
        grep -qE '^  repeat: dimmnet storm --seeds ([0-9]+)\.\.\1 --scenario all$' \
            "$live_work/out" && grep -qE '^ +[0-9.]+ us n[0-9]+ ' "$live_work/out"
}

a_signal_ends_it_with_a_summary()
{
    storm_behind --jobs 2
    live_eventually has_worker || return 1
    kill -TERM "$pid"
    await_end
    ended_with 143 && grep -q '^work, effects checked' "$live_work/out" && live_nothing_remains
}

nothing_outlives_it()
{
    storm_behind --jobs 2
    live_eventually has_worker || return 1
    kill -KILL "$pid"
    await_end
    live_nothing_remains
}

mistakes_are_refused()
{
    local mistake
    for mistake in "--seeds 5..3" "--seeds x" "--nodes 1" "--nodes 65" "--scenario sunshine" \
        "--without sunshine" "--sunshine" "--sunshine 1" "--jobs 0" "--operations 0" \
        "--mutant SUNSHINE"; do
        # shellcheck disable=SC2086
        storm $mistake
        if ! ended_with 2 || [ "$(wc -l <"$live_work/err")" -ne 1 ]; then
            echo "$mistake"
            return 1
        fi
    done
}

lists_name_everything()
{
    storm --list
    ended_with 0 && grep -q '^  stranger ' "$live_work/out" &&
        grep -q '^  goodput ' "$live_work/out" && grep -q '^  datagram ' "$live_work/out" &&
        grep -q '^  NONE ' "$live_work/out"
}

# ---- Studies -----------------------------------------------------------------------------

studies_meet_their_bars()
{
    local study
    for study in goodput state; do
        storm --scenario "$study" --json
        if ! ended_with 0 || ! grep -q '"met":true' "$live_work/out" ||
            grep -q '"met":false' "$live_work/out"; then
            echo "$study"
            return 1
        fi
    done
}

for name in every_scenario_is_clean the_mixture_is_clean jobs_do_not_matter \
    traces_are_the_same_bytes what_is_left_out_does_not_happen no_failure_where_one_is_expected \
    a_dead_worker_is_a_failing_seed a_signal_ends_it_with_a_summary nothing_outlives_it \
    mistakes_are_refused lists_name_everything studies_meet_their_bars; do
    live_verdict "${name//_/ }" "$name"
done
live_finish
