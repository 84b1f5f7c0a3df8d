#!/usr/bin/env bash
# The library in programs that open it at run time, as interpreters do. usage: shmem_dlopen.sh
# BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# opens_it PES END
opens_it()
{
    live_group -n "$1" --timeout 100 "$live_programs/shmem_dlopen" "$2"
    if [ "$status" -ne 0 ] || [ "$(grep -cx ok "$live_work/out")" -ne "$1" ]; then
        echo "status $status"
        return 1
    fi
}

for pes in 1 2 3; do
    live_verdict "opened, closed after shmem_finalize, $pes PEs" opens_it "$pes" finalize
    live_verdict "opened, closed without shmem_finalize, $pes PEs" opens_it "$pes" leave
done
live_verdict "nothing remains" live_nothing_remains
live_finish
