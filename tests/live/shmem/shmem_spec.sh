#!/usr/bin/env bash
# The tests of the OpenSHMEM specification that need only PEs: 1 to 8 of them.
# usage: shmem_spec.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for pes in 1 2 4 8; do
    for program in types generic memory sync teams blocks scans; do
        live_checks "shmem_spec_$program" "$pes"
    done
done
live_verdict "nothing remains" live_nothing_remains
live_finish
