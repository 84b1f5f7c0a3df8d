#!/usr/bin/env bash
# PEs that fork, linked in each of the ways there are. usage: shmem_fork.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

source=$(cd "$(dirname "$0")" && pwd)/shmem_fork.c
cd "$live_work" || exit

forks()
{
    live_group -n 2 --timeout 100 "$1"
    [ "$status" -eq 0 ] && [ "$(grep -cx ok "$live_work/out")" -eq 2 ]
}

# The job ends before anything is destroyed.
is_refused()
{
    live_group -n 2 --timeout 100 "$1"
    [ "$status" -ne 0 ] && grep -q 'fork: the program is linked statically' "$live_work/err"
}
live_verdict "shared libraries" forks "$live_programs/shmem_fork"

# Only the C library is shared: the library's own variables are the program's. Its fork() does not
# call our function, whether the linker was asked to put it there (pkg-config --static) or not.
if grep -q -- -fsanitize= "$live_build/build.ninja"; then
    live_skip "static libraries" "sanitizers are shared"
else
    for wrap in '' -Wl,--wrap=_Fork,-u,_Fork; do
        # shellcheck disable=SC2086 # no word, or one
        live_alone cc "-I$("$live_build/oshcc" -showme:compile | cut -c 3-)" -O1 "$source" -o own \
            $wrap "$live_build/libdimmnet-shmem.a" "$live_build/libdimmnet.a" -lsodium -pthread
        if [ "$status" -eq 0 ]; then
            live_verdict "our libraries are static${wrap:+, with $wrap}" forks ./own
        else
            live_skip "our libraries are static" "they cannot be linked here"
        fi
    done
    for kind in -static -static-pie; do
        live_alone "$live_build/oshcc" "$kind" -O1 "$source" -o whole
        if [ "$status" -eq 0 ] && [ "$(getconf GNU_LIBC_VERSION | cut -d. -f2)" -ge 41 ]; then
            live_verdict "oshcc $kind with this C library is refused" is_refused ./whole
        elif [ "$status" -eq 0 ]; then
            live_verdict "oshcc $kind" forks ./whole
        else
            live_skip "oshcc $kind" "not all libraries are here as static ones"
        fi
    done
fi

# Linked by hand without the wrapped function.
live_alone cc "-I$("$live_build/oshcc" -showme:compile | cut -c 3-)" -static -O1 "$source" -o hand \
    "$live_build/libdimmnet-shmem.a" "$live_build/libdimmnet.a" -lsodium -pthread
if [ "$status" -eq 0 ]; then
    live_verdict "a static program linked by hand is told how" is_refused ./hand
else
    live_skip "a static program linked by hand" "not all libraries are here as static ones"
fi
live_verdict "nothing remains" live_nothing_remains
live_finish
