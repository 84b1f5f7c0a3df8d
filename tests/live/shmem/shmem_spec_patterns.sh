#!/usr/bin/env bash
# What the specification's examples do, in C99, C11 and C++17, by 1 to 8 PEs.
# usage: shmem_spec_patterns.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

source_folder=$(cd "$(dirname "$0")" && pwd)
sanitizer=$(grep -om1 -- '-fsanitize=[a-z,]*' "$live_build/build.ninja")

# compiles PROGRAM COMPILER OPTION...
compiles()
{
    local program=$1
    shift
    "$@" ${sanitizer:+"$sanitizer"} -Wall -Wextra -Wpedantic -Werror \
        -I"$source_folder/../../../include" "$source_folder/$program.c" -x none \
        -o "$live_work/$program" "$live_build/libdimmnet-shmem.so" "$live_build/libdimmnet.so" \
        -Wl,-rpath,"$live_build" -pthread
}

# runs PROGRAM PES
runs()
{
    live_group -n "$2" --timeout 100 "$live_work/$1"
    [ "$status" -eq 0 ] && grep -qx 'ok all patterns' "$live_work/out"
}

# patterns COMPILER OPTION...
patterns()
{
    local program pes
    for program in shmem_spec_patterns shmem_spec_patterns_overlap; do
        live_verdict "$program compiles, $*" compiles "$program" "$@"
        for pes in 1 2 4 8; do
            live_verdict "$program, $pes PEs, $*" runs "$program" "$pes"
        done
    done
}

patterns cc -x c -std=c99
patterns cc -x c -std=c11
if command -v c++ >/dev/null; then
    patterns c++ -x c++ -std=c++17
else
    live_skip "C++" "there is no c++"
fi
live_verdict "nothing remains" live_nothing_remains
live_finish
