#!/usr/bin/env bash
# The header in C and C++, a program in both, the names that the library exports, and profiling.
# usage: shmem_spec_language.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source-path=SCRIPTDIR source=spec_names.bash
. "$(dirname "$0")/spec_names.bash"

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

# after_others COMPILER OPTION...: the headers compile behind C's own, which make macros of and, or
# and xor, among others; so do the names that are made of such words.
after_others()
{
    local name of_type=uint_
    [ "${*: -1}" = -std=c99 ] || of_type=
    {
        printf '#include <%s.h>\n' iso646 complex tgmath stdbool
        [ -n "$of_type" ] || printf '#include <%s.h>\n' stdatomic stdalign stdnoreturn
        echo '#include <shmem.h>'
        echo 'void use(unsigned *word, int pe);'
        echo 'void use(unsigned *word, int pe) {'
        for name in and or xor; do
            echo "    shmem_${of_type}atomic_$name(word, 1, pe);"
            echo "    (void)shmem_${of_type}atomic_fetch_$name(word, 1, pe);"
            echo "    (void)shmem_${of_type}${name}_reduce(SHMEM_TEAM_WORLD, word, word, 1);"
        done
        echo '}'
    } >"$live_work/after.c"
    # shellcheck disable=SC2086 # the options are several words
    "$@" $strict -Wc++-compat -I"$include" -fsyntax-only "$live_work/after.c"
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

# cxx_program NAME COMPILER OPTION...: makes NAME from NAME.cpp.
cxx_program()
{
    local name=$1
    shift
    # shellcheck disable=SC2046 # an option or none
    "$@" $(sanitizer) -Wall -Wextra -Wpedantic -Wold-style-cast -Werror -I"$include" \
        "$source_folder/shmem_spec_$name.cpp" -o "$live_work/$name" "$library" \
        "$live_build/libdimmnet.so" -Wl,-rpath,"$live_build"
}

# generic_names PES COMPILER OPTION...
generic_names()
{
    local pes=$1
    shift
    live_verdict "generic names compile, ${*}" cxx_program cxx "$@"
    live_verdict "generic names, $pes PEs, ${*}" runs "$live_work/cxx" "$pes"
}

# portable COMPILER OPTION...: one program, in this language.
portable()
{
    # shellcheck disable=SC2046 # an option or none
    "$@" $(sanitizer) -Wall -Wextra -Werror -I"$include" "$source_folder/shmem_spec_portable.c" \
        -x none -o "$live_work/portable" "$library" "$live_build/libdimmnet.so" \
        -Wl,-rpath,"$live_build" && runs "$live_work/portable" 3
}

# The header declares what the specification has, and nothing else.
declared()
{
    echo '#include <shmem.h>' | cc -std=c99 -I"$include" -E -P - | tr ';' '\n' |
        grep -o '\b\(p\?shmem\|start\|_my\|_num\|sh\)_\?[A-Za-z0-9_]* *(' | tr -d ' (' |
        grep -v '^shmem_noplt$' | sort -u >"$live_work/declared"
    same_names "$live_work/declared" "in shmem.h"
}

# The library exports for programs what the specification has, its own extensions, and nothing
# else.
exported()
{
    nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' |
        grep -v '@DIMMNET_SHMEM_PRIVATE$' | cut -d@ -f1 | grep -v '^shmemx_' | sort -u >"$live_work/defined"
    same_names "$live_work/defined" "in the library"
}

# same_names FILE WHERE: a sorted file has the names of the specification, and no others.
same_names()
{
    spec_names >"$live_work/names"
    [ "$(wc -l <"$live_work/names")" -gt 3700 ] || { echo "too few names are expected"; return 1; }
    comm -23 "$live_work/names" "$1" | sed "s/\$/: not $2/" >"$live_work/differ"
    comm -13 "$live_work/names" "$1" | sed "s/\$/: $2, but not in the specification/" \
        >>"$live_work/differ"
    ! grep . "$live_work/differ"
}

# Extensions are declared in shmemx.h, one by one.
extensions()
{
    echo '#include <shmemx.h>' | cc -std=c99 -I"$include" -E -P - |
        grep -o '\bshmemx_[A-Za-z0-9_]* *(' | tr -d ' (' | sort -u >"$live_work/declared"
    nm -D --defined-only "$library" | awk '{ print $3 }' | cut -d@ -f1 | grep '^shmemx_' |
        sort -u | diff "$live_work/declared" -
}

for standard in c99 c11 c17; do
    live_verdict "headers alone, $standard" header cc -x c "-std=$standard"
    live_verdict "headers after others, $standard" after_others cc -x c "-std=$standard"
    live_verdict "one program in all languages, $standard" portable cc -x c "-std=$standard"
done
if command -v c++ >/dev/null; then
    for standard in c++11 c++17; do
        live_verdict "headers alone, $standard" header c++ -x c++ "-std=$standard"
        live_verdict "one program in all languages, $standard" portable c++ -x c++ "-std=$standard"
    done
    live_verdict "a C++ program compiles" cxx_program language c++ -std=c++14
    for pes in 1 2 4; do
        live_verdict "a C++ program, $pes PEs" runs "$live_work/language" "$pes"
    done
    live_verdict "a C++ program compiles at a fixed address" \
        cxx_program language c++ -std=c++14 -no-pie -fno-pie
    live_verdict "a C++ program at a fixed address" runs "$live_work/language" 2
    generic_names 2 c++ -std=c++11
    generic_names 3 c++ -std=c++17 -O2
    # Another compiler's sanitizer is another library.
    if ! command -v clang++ >/dev/null; then
        live_skip "generic names, clang++" "there is no clang++"
    elif [ "$(sanitizer)" ]; then
        live_skip "generic names, clang++" "the library has the sanitizer of another compiler"
    else
        generic_names 4 clang++ -std=c++11
    fi
else
    live_skip "C++" "there is no c++"
fi
live_verdict "the specification's functions are declared, and no others" declared
live_verdict "the specification's functions are exported, and no others" exported
live_verdict "what shmemx.h declares is exported, and nothing else" extensions
for pes in 1 2 4; do
    live_verdict "a profiler in front, $pes PEs" runs "$live_programs/shmem_spec_profile" "$pes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
