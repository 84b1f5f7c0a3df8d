#!/usr/bin/env bash
# Runs of programs on simulated machines are equal to the last packet, whatever else the cores do.
# usage: sim_program_same.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit
unset DN_FABRIC
export DN_SIM_REPORT=0

readonly NODES=16
mix=$live_programs/sim_program_mix

# mixed NAME WORDS SEED OPTION...: runs a mix of everything; NAME.sum says what became of it.
mixed()
{
    local name=$1 words=$2 seed=$3
    shift 3
    DN_TEST_SEED=$seed timeout -k 5 110 "$live_dimmnet" run --fabric "sim:$words" -n "$NODES" \
        --timeout 100 --json "$name.json" "$@" "$mix" >"$name.out" 2>&1 </dev/null
    echo "status $?" >>"$name.out"
    python3 - "$name.json" >"$name.sum" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
print(*(report[key] for key in ("end", "hash", "virtual_ns", "calls", "packets", "deterministic")))
END
}

# A core that is busy elsewhere, until it is told to stop. It leaves the others enough of the
# machine for this test to end soon.
burn() { nice -n 19 sh -c 'while [ ! -e burnt ]; do :; done'; }

# runs_are_equal MACHINE RUNS: two runs beside each other, and a loop beside them.
runs_are_equal()
{
    local run
    rm -f burnt
    burn &
    for ((run = 0; run < $2; run += 2)); do
        mixed "$1.$run" "$1" 7 &
        local other=$!
        mixed "$1.$((run + 1))" "$1" 7
        wait "$other"
    done
    : >burnt
    wait
    for ((run = 0; run < $2; run++)); do
        grep -qx 'status 0' "$1.$run.out" || { cat "$1.$run.out"; return 1; }
        cmp "$1.0.sum" "$1.$run.sum" || { cat "$1".*.sum; return 1; }
    done
    grep -qE '^done [0-9a-f]{16} [0-9.]+ [0-9]+ [0-9]+ True$' "$1.0.sum" ||
        { cat "$1.0.sum"; return 1; }
}

# A seed of the program, another machine and another topology are other runs.
other_runs_differ()
{
    mixed seed dimmnet1-D 8
    mixed topology dimmnet1-D,topology=tree 7
    mixed dies dimmnet1-D 7 --kill 3@100us
    grep -h 'done' dimmnet1-D.0.sum dimmnet2.0.sum seed.sum topology.sum dies.sum | cut -d' ' -f2 |
        sort | uniq -d >doubles
    [ -s seed.sum ] && [ -s topology.sum ] && [ -s dies.sum ] && [ ! -s doubles ] ||
        { cat ./*.sum; return 1; }
}

live_verdict "ten runs on dimmnet1-D are equal" runs_are_equal dimmnet1-D 10
live_verdict "four runs on dimmnet2 are equal" runs_are_equal dimmnet2 4
live_verdict "other runs differ" other_runs_differ
live_verdict "nothing remains" live_nothing_remains
live_finish
