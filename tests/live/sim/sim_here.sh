#!/usr/bin/env bash
# `dimmnet sim calibrate` and `--fabric sim:here`: the machine is measured, the file is a machine, and
# programs run on it. How well it predicts is no test's to say: scripts/predict measures that.
# usage: sim_here.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=program.bash
. "$(dirname "$0")/program.bash"
unset DIMMNET_HERE XDG_CACHE_HOME
export HOME=$live_work

examples=$live_build/examples

says() { grep -qE -- "$1" "$2" || { echo "not \"$1\" but: $(cat "$2")"; return 1; }; }

# here SETTINGS OPTION... PROGRAM: on this machine's model.
here()
{
    local settings=$1
    shift
    on "here$settings" "$@"
}

unmeasured_is_refused()
{
    here '' -n 2 "$examples/hello"
    ended_with 2 && says 'has not been measured; say `dimmnet sim calibrate`' err
}

measures()
{
    timeout 250 "$live_dimmnet" sim calibrate --quick --json >figures 2>err || { cat err; return 1; }
    python3 - <<'END'
import json
rows = [json.loads(line) for line in open("figures")]
names = {(row["operation"], row["nodes"]) for row in rows}
assert len(names) == len(rows) >= 16, names
assert all(row["machine_ns"] > 0 and row["model_ns"] >= 0 for row in rows), rows
assert {row["is_fitted"] for row in rows} == {True, False}
END
    [ -s .cache/dimmnet/here.ini ] && "$live_dimmnet" sim show .cache/dimmnet/here.ini >out &&
        says 'fitted: barrier, measured' out
}

nothing_is_left()
{
    [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'dimmnet-calibrate-*' -user "$(id -u)" -newer figures)" ]
}

# A wait takes see_ns and a store store_ns, to the picosecond, where nothing is measured; a wait for
# a word by OpenSHMEM is no other.
calls_take_what_the_file_says()
{
    cat >own.ini <<'END'
[machine]
inherit = in-place
text    = a machine of this test
[call]
cores     = 2    | assumed
store_ns  = 5    | assumed
see_ns    = 1000 | assumed
look_ns   = 3    | assumed
meet_ns   = 5000 | assumed
END
    local short long
    export DIMMNET_HERE=$PWD/own.ini
    here ,compute=declared -n 2 "$examples/shmem/ring" 100
    short=$(reported 'r["virtual_ns"]')
    here ,compute=declared -n 2 "$examples/shmem/ring" 1100
    long=$(reported 'r["virtual_ns"]')
    here ,compute=declared -n 2 "$live_programs/sim_program_rounds" ping
    unset DIMMNET_HERE
    ended_with 0 && says '^round_ns 2010(\.0*)?$' out && awk -v short="$short" -v long="$long" \
        'BEGIN { if (long - short != 2010000) { print short, long; exit 1 } }'
}

# Four nodes on two cores take turns; on four they do not.
cores_are_shared()
{
    local two four
    cat >own.ini <<'END'
[machine]
inherit = in-place
text    = a machine of this test
[call]
cores     = 2      | assumed
switch_ns = 700000 | assumed
slice_ns  = 3000000 | assumed
END
    export DIMMNET_HERE=$PWD/own.ini
    here ,compute=declared -n 4 "$examples/shmem/ring"
    two=$(reported 'r["virtual_ns"]')
    ended_with 0 || return 1
    here ,compute=declared,cores=4 -n 4 "$examples/shmem/ring"
    four=$(reported 'r["virtual_ns"]')
    unset DIMMNET_HERE
    ended_with 0 && awk -v two="$two" -v four="$four" \
        'BEGIN { if (two < 1000 * 700000 || four > 1000) { print two, four; exit 1 } }'
}

programs_run_there()
{
    local program nodes
    for program in hello shmem/ring shmem/stencil fagus/sor; do
        for nodes in 2 4; do
            here '' -n "$nodes" "$examples/$program"
            ended_with 0 || return 1
            [ "$(reported 'r["virtual_ns"] > 0')" = True ] || return 1
        done
    done
    here ,cores=16 -n 16 "$examples/shmem/ring"
    ended_with 0
}

cores_are_for_here()
{
    live_group --fabric sim:dimmnet1-D,cores=2 -n 2 "$examples/hello"
    ended_with 2 && says 'cores= is for machines without a NIC' err
}

the_real_time_is_said()
{
    live_group --time -n 2 "$examples/hello"
    ended_with 0 && says '^dimmnet run: [0-9.]+ us from the last node.s attachment' err || return 1
    live_group --time -n 2 true
    ended_with 0 && says 'no time: not every node attached and left' err
}

live_verdict "a machine that was not measured is refused" unmeasured_is_refused
live_verdict "this machine is measured" measures
live_verdict "nothing is left behind" nothing_is_left
live_verdict "calls take what the file says" calls_take_what_the_file_says
live_verdict "nodes share cores" cores_are_shared
live_verdict "programs run on it" programs_run_there
live_verdict "other machines have no cores= to set" cores_are_for_here
live_verdict "--time says how long the real run took" the_real_time_is_said
live_verdict "nothing remains" live_nothing_remains
live_finish
