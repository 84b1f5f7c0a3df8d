#!/usr/bin/env bash
# OpenSHMEM's thread levels, and threads with contexts of their own under load.
# usage: shmem_spec_threads.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for pes in 1 2 4 8; do
    live_checks shmem_spec_threads "$pes"
done

# thread_level PES LEVEL: what a program of this level may do.
thread_level()
{
    live_group -n "$1" --timeout 60 "$live_programs/shmem_spec_threads" "$2"
    [ "$status" -eq 0 ] && grep -qx 'ok the_level_is_known' "$live_work/out"
}

for level in 0 1 2; do
    live_verdict "thread level $level" thread_level 4 "$level"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
