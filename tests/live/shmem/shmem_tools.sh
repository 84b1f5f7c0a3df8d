#!/usr/bin/env bash
# oshcc, oshc++, oshfort and oshrun do what existing makefiles ask of them. usage: shmem_tools.sh
# BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

export PATH=$live_build:$PATH
cd "$live_work" || exit
sanitizer=$(grep -om1 -- '-fsanitize=[a-z,]*' "$live_build/build.ninja")

cat >program.c <<'END'
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        printf("%d PEs, %s, %s\n", shmem_n_pes(), argc > 1 ? argv[1] : "-",
               getenv("WORD") ? getenv("WORD") : "-");
    }
    shmem_finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
END
cat >program.cc <<'END'
#include <shmem.h>
#include <iostream>
int main()
{
    static long word;
    shmem_init();
    shmem_long_p(&word, 7, shmem_my_pe());
    std::cout << "word " << word << std::endl;
    shmem_finalize();
}
END

# says TEXT COMMAND...: its output has a line with exactly that.
says()
{
    local text=$1
    shift
    live_alone "$@"
    [ "$status" -eq 0 ] && grep -qxF -- "$text" "$live_work/out"
}

# refuses STATUS TEXT COMMAND...
refuses()
{
    local wanted=$1 text=$2
    shift 2
    live_alone "$@"
    [ "$status" -eq "$wanted" ] && grep -qF -- "$text" "$live_work/err"
}

compiles() { live_alone "$@" && [ "$status" -eq 0 ]; }

two_steps()
{
    compiles oshcc ${sanitizer:+"$sanitizer"} -O2 -Wall -Werror -c program.c -o program.o &&
        compiles oshcc ${sanitizer:+"$sanitizer"} program.o -o program
}

live_verdict "oshcc compiles and links in two steps" two_steps
live_verdict "oshc++ compiles C++" compiles oshc++ ${sanitizer:+"$sanitizer"} program.cc -o program++
live_verdict "oshcxx is oshc++" compiles oshcxx ${sanitizer:+"$sanitizer"} program.cc -o program++
live_verdict "a C++ program runs" says "word 7" oshrun -n 1 ./program++
live_verdict "-showme names the library" grep -q -- -ldimmnet-shmem <(oshcc -showme program.c)
live_verdict "-showme with -c does not" grep -vq -- -ldimmnet-shmem <(oshcc -showme -c program.c)
live_verdict "-showme:compile and :link build a program" compiles sh -c \
    "cc $sanitizer \$(oshcc -showme:compile) program.c \$(oshcc --showme:link) -o program"
live_verdict "-showme quotes" says "mycc -I$(oshcc -showme:compile | cut -c 3-) '-DA=\"b c\"'" \
    env OSHCC_CC=mycc oshcc '-DA="b c"' -showme
live_verdict "OSHCC_CC is called" grep -q '^/bin/echo -I' <(OSHCC_CC=/bin/echo oshcc -showme x.c)
live_verdict "the compiler's own options" compiles oshcc --version
live_verdict "the compiler's status" refuses 1 "no_such_file.c" oshcc no_such_file.c
live_verdict "oshcc --help" grep -q '^usage: oshcc' <(oshcc --help)

# A Fortran compiler that knows one of the two options, and shows how it is called.
cat >fortran <<'END'
#!/bin/sh
case "$*" in
*-fallow-argument-mismatch*) exit 1 ;;
*) echo "$@" ;;
esac
END
chmod +x fortran
live_verdict "oshfort links the library for Fortran before that for C" grep -q -- \
    "-ldimmnet-shmem-fortran -ldimmnet-shmem\$" <(OSHFORT_FC=./fortran oshfort -showme:link)
live_verdict "oshfort -static links all" grep -q -- \
    "-ldimmnet-shmem-fortran -ldimmnet-shmem -ldimmnet -lsodium" \
    <(OSHFORT_FC=./fortran oshfort -static -showme x.f)
live_verdict "OSHFORT_FC is called" grep -q '^-I.* -fcray-pointer x.f -L' \
    <(OSHFORT_FC=./fortran oshfort x.f)
live_verdict "what the compiler does not know is left out" grep -qv mismatch \
    <(OSHFORT_FC=./fortran oshfort -showme:compile)
live_verdict "what it knows is there" grep -q -- '-fallow-argument-mismatch' \
    <(OSHFORT_FC=true oshfort -showme:compile)
live_verdict "oshfort takes the module from the build folder" grep -q -- "-I$live_build " \
    <(OSHFORT_FC=./fortran oshfort -showme -c x.f)
live_verdict "oshfort --help" grep -q '^usage: oshfort' <(oshfort --help)
live_verdict "oshcc knows nothing of Fortran" grep -qv -- -fortran <(oshcc -showme x.c)

for option in -n -np -c; do
    live_verdict "oshrun $option" says "3 PEs, -, -" oshrun "$option" 3 ./program
done
live_verdict "a PE for each core" says "$(nproc) PEs, -, -" oshrun ./program
live_verdict "arguments arrive whole" says "2 PEs, -n a  b, -" oshrun -n 2 ./program "-n a  b"
live_verdict "oshrun -x" says "2 PEs, -, c  d" oshrun -n 2 -x "WORD=c  d" -x HOME ./program
live_verdict "what other launchers take" says "2 PEs, -, -" oshrun --mca memory ^patcher \
    --oversubscribe --bind-to none --map-by core --allow-run-as-root -np 2 ./program
live_verdict "a PE's status" refuses 7 "" oshrun -n 2 ./program x 7
live_verdict "unknown option" refuses 2 'unknown option "--nonsense"' oshrun --nonsense ./program
live_verdict "no program" refuses 2 "no program given" oshrun -n 2
live_verdict "a value is missing" refuses 2 "-n needs a value" oshrun -n
live_verdict "oshrun --help" grep -q '^usage: oshrun' <(oshrun --help)

heap_is() { says "2 PEs, symmetric heap of $1 bytes each" "${@:2}"; }
live_verdict "heap of 3 MB" heap_is $((3 << 20)) \
    env SHMEM_INFO=1 SHMEM_SYMMETRIC_SIZE=3M oshrun -n 2 ./program
live_verdict "heap of 64 GB" heap_is $((64 << 30)) \
    env SHMEM_INFO=1 SHMEM_SYMMETRIC_SIZE=64G oshrun -n 2 ./program
live_verdict "heap of 1.5 MB, old name" heap_is $((3 << 19)) \
    env SHMEM_INFO=1 SMA_SYMMETRIC_SIZE=1.5M oshrun -n 2 ./program
live_verdict "--heap before the environment" heap_is $((4 << 20)) \
    env SHMEM_INFO=1 SHMEM_SYMMETRIC_SIZE=3M oshrun -n 2 --heap 4M ./program
live_verdict "a heap that makes no sense" refuses 2 'SHMEM_SYMMETRIC_SIZE="much"' \
    env SHMEM_SYMMETRIC_SIZE=much oshrun -n 2 ./program
live_verdict "nothing remains" live_nothing_remains
live_finish
