#!/usr/bin/env bash
# Every OpenSHMEM example compiles by the line in its head, runs, and finds its own result right; so
# does the one that the build made. usage: shmem_examples.sh BUILD_FOLDER
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

# runs PES NAME
runs()
{
    live_group -n "$1" --timeout 100 "$live_build/examples/shmem/$2"
    ran_well
}

# The line as users copy it, in a folder with the example's source.
runs_by_its_line()
{
    local name=$1 line
    line=$(sed -n 's/^ \*  *\(oshcc .* oshrun .*[a-z]\)\( \*\/\)*$/\1/p' "$examples/$name.c")
    if [ -z "$line" ]; then
        echo "no line in the head of $name.c"
        return 1
    fi
    mkdir -p "$live_work/copy"
    cp "$examples/$name.c" "$live_work/copy"
    live_alone sh -c "cd '$live_work/copy' && $line"
    ran_well
}

# The libraries of a sanitized build need a sanitized program.
if grep -q -- -fsanitize= "$live_build/build.ninja"; then
    runs_by_its_line() { :; }
fi

for source in "$examples"/*.c; do
    name=$(basename "$source" .c)
    for pes in 1 2 3 4; do
        live_verdict "$name, $pes PEs" runs "$pes" "$name"
    done
    live_verdict "$name by its line" runs_by_its_line "$name"
done
live_finish
