#!/usr/bin/env bash
# Every OpenSHMEM example compiles by the line in its head, runs, and finds its own result right; so
# does the one that the build made, or for C++ and Fortran this script. usage: shmem_examples.sh
# BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

examples=$(cd "$(dirname "$0")/../../../examples/shmem" && pwd)
export PATH=$live_build:$PATH

# ran_well: the last command succeeded and left nothing.
ran_well()
{
    if [ "$status" -ne 0 ]; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

# runs PES NAME [FOLDER]
runs()
{
    live_group -n "$1" --timeout 100 "${3-$live_build/examples/shmem}/$2"
    ran_well
}

# The line as users copy it, in a folder with the example's source.
runs_by_its_line()
{
    local source=$1 line
    line=$(sed -nE 's/^(\/\/| \*|!) *(osh(cc|c\+\+|fort) .* oshrun .*[a-z])( \*\/)*$/\2/p' "$source")
    if [ -z "$line" ]; then
        echo "no line in the head of $source"
        return 1
    fi
    mkdir -p "$live_work/copy"
    cp "$source" "$live_work/copy"
    live_alone sh -c "cd '$live_work/copy' && $line"
    ran_well
}

compiles_cxx()
{
    oshc++ ${sanitizer:+"$sanitizer"} -O2 -Wall -Wextra -Wpedantic -Werror "$1" -o "$2"
}

compiles_fortran()
{
    oshfort ${sanitizer:+"$sanitizer"} -O2 -Wall -Wextra -Werror -std=f2018 -J "$live_work" "$1" -o "$2"
}

# The libraries of a sanitized build need a sanitized program.
sanitizer=$(grep -om1 -- '-fsanitize=[a-z,]*' "$live_build/build.ninja")
if [ "$sanitizer" ]; then
    runs_by_its_line() { :; }
fi

for source in "$examples"/*.c; do
    name=$(basename "$source" .c)
    for pes in 1 2 3 4; do
        live_verdict "$name, $pes PEs" runs "$pes" "$name"
    done
    live_verdict "$name by its line" runs_by_its_line "$source"
done
for source in "$examples"/*.cpp; do
    name=$(basename "$source" .cpp)
    if ! command -v c++ >/dev/null; then
        live_skip "$name" "there is no c++"
        continue
    fi
    live_verdict "$name compiles" compiles_cxx "$source" "$live_work/$name"
    for pes in 1 2 3 4; do
        live_verdict "$name, $pes PEs" runs "$pes" "$name" "$live_work"
    done
    live_verdict "$name by its line" runs_by_its_line "$source"
done
for source in "$examples"/*.f90; do
    name=$(basename "$source" .f90)
    if ! command -v gfortran >/dev/null || [ ! -e "$live_build/shmem.mod" ]; then
        live_skip "$name" "there is no gfortran, or there was none for the build"
        continue
    fi
    live_verdict "$name compiles" compiles_fortran "$source" "$live_work/$name"
    for pes in 1 2 3 4; do
        live_verdict "$name, $pes PEs" runs "$pes" "$name" "$live_work"
    done
    live_verdict "$name by its line" runs_by_its_line "$source"
done
live_finish
