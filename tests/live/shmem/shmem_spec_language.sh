#!/usr/bin/env bash
# The header in C and C++, the names that the library exports, and profiling.
# usage: shmem_spec_language.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

source_folder=$(cd "$(dirname "$0")" && pwd)
include=$source_folder/../../../include
library=$live_build/libdimmnet-shmem.so
strict="-Wall -Wextra -Wconversion -pedantic -Werror"

# header COMPILER OPTION...: the headers compile alone.
header()
{
    local name
    for name in shmem.h pshmem.h shmemx.h mpp/shmem.h mpp/shmemx.h; do
        echo "#include <$name>" >"$live_work/alone.inc"
        # shellcheck disable=SC2086 # the options are several words
        "$@" $strict -I"$include" -fsyntax-only "$live_work/alone.inc" || return 1
    done
}

# runs PROGRAM PES: it says ok and ends well.
runs()
{
    live_group -n "$2" --timeout 50 "$1"
    [ "$status" -eq 0 ] && grep -q '^ok' "$live_work/out"
}

# The sanitizer that the library was built with, which must be in the program too.
sanitizer()
{
    nm -D "$library" | sed -n 's/.* __asan_init$/-fsanitize=address,undefined/p
        s/.* __tsan_init$/-fsanitize=thread/p'
}

language_program()
{
    # shellcheck disable=SC2046 # an option or none
    c++ $(sanitizer) -std=c++14 -Wall -Wextra -Werror -I"$include" "$source_folder/shmem_spec_language.cpp" \
        -o "$live_work/language" "$@" "$library" "$live_build/libdimmnet.so" \
        -Wl,-rpath,"$live_build"
}

# Every function of the header is in the library, under both of its names.
exported()
{
    echo '#include <shmem.h>' | cc -std=c99 -I"$include" -E -P - | tr ';' '\n' |
        grep -o '\bp\?shmem_[A-Za-z0-9_]* *(' | tr -d ' (' | sort -u >"$live_work/declared"
    nm -D --defined-only "$library" | awk '{ print $3 }' | cut -d@ -f1 | sort -u \
        >"$live_work/defined"
    [ "$(wc -l <"$live_work/declared")" -gt 3000 ] || { echo "too few declared"; return 1; }
    if comm -23 "$live_work/declared" "$live_work/defined" | grep .; then
        echo "declared, but not in the library"
        return 1
    fi
    sed -n 's/^pshmem_/shmem_/p' "$live_work/declared" | sort >"$live_work/shifted"
    if comm -23 <(grep '^shmem_' "$live_work/declared") "$live_work/shifted" | grep .; then
        echo "without a pshmem_ name"
        return 1
    fi
}

for standard in c99 c11 c17; do
    live_verdict "headers alone, $standard" header cc -x c "-std=$standard"
done
if command -v c++ >/dev/null; then
    for standard in c++11 c++17; do
        live_verdict "headers alone, $standard" header c++ -x c++ "-std=$standard"
    done
    live_verdict "a C++ program compiles" language_program
    for pes in 1 2 4; do
        live_verdict "a C++ program, $pes PEs" runs "$live_work/language" "$pes"
    done
    live_verdict "a C++ program compiles at a fixed address" language_program -no-pie -fno-pie
    live_verdict "a C++ program at a fixed address" runs "$live_work/language" 2
else
    live_skip "C++" "there is no c++"
fi
live_verdict "every declared function is exported, and as pshmem_" exported
for pes in 1 2 4; do
    live_verdict "a profiler in front, $pes PEs" runs "$live_programs/shmem_spec_profile" "$pes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
