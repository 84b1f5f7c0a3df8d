#!/usr/bin/env bash
# OpenSHMEM in Fortran: the library's names, and, if gfortran is there, the module, shmem.fh, old
# programs and oshfort. usage: shmem_fortran.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source-path=SCRIPTDIR source=fortran_names.bash
. "$(dirname "$0")/fortran_names.bash"

source_folder=$(cd "$(dirname "$0")" && pwd)
root=$source_folder/../../..
include=$root/include
module=$root/src/shmem/fortran/shmem_module.f90
export PATH=$live_build:$PATH
# The libraries of a sanitized build need a sanitized program.
sanitizer=$(grep -om1 -- '-fsanitize=[a-z,]*' "$live_build/build.ninja")

fortran_names >"$live_work/names"

# same_names WHERE: standard input has the names of the specification, and no others.
same_names()
{
    sort -u >"$live_work/there"
    [ "$(wc -l <"$live_work/names")" -eq 181 ] || { echo "too few names are expected"; return 1; }
    comm -23 "$live_work/names" "$live_work/there" | sed "s/\$/: not $1/" >"$live_work/differ"
    comm -13 "$live_work/names" "$live_work/there" |
        sed "s/\$/: $1, but not in the specification/" >>"$live_work/differ"
    ! grep . "$live_work/differ"
}

# Each with gfortran's underscore, a version of ours, and nothing else.
exported()
{
    nm -D --defined-only "$live_build/libdimmnet-shmem-fortran.so" | awk '$2 != "A" { print $3 }' \
        >"$live_work/defined"
    if grep -v '_@@DIMMNET_SHMEM_FORTRAN_0.1$' "$live_work/defined"; then
        return 1
    fi
    sed 's/_@@.*//' "$live_work/defined" | same_names "in the library"
}

declared()
{
    sed 's/!.*//' "$module" | grep -oE '\b(shmem_[a-z0-9_]+|my_pe|num_pes|start_pes|interface shp[a-z]+)' |
        sed 's/^interface //; /^shmem_constants$/d' | same_names "in the module"
}

# The values are those of C. Work arrays have elements of half the size of C's.
constants()
{
    {
        echo '#include <shmem.h>'
        fortran_constants | sed 's/.*/"&" = (&)/'
    } >"$live_work/constants.c"
    cc -I"$include" -E -P "$live_work/constants.c" | tail -n "$(fortran_constants | wc -l)" |
        sed 's/0L/0/; s/^"\(.*_SYNC_SIZE\|SHMEM_SYNC_SIZE\)" = (1)/"\1" = (2)/' |
        sed "s/\"\\(SHMEM_[A-Z_]*\\)\" = (\\(.*\\))/\\1 = \\2/; s/\"/'/g" | sort >"$live_work/of_c"
    sed -n 's/^ *PARAMETER (\(.*\))$/\1/p' "$include/shmem_constants.fh" | sort |
        diff "$live_work/of_c" -
}

compiles()
{
    oshfort ${sanitizer:+"$sanitizer"} -g "$@" >"$live_work/said" 2>&1 ||
        { cat "$live_work/said"; return 1; }
}

# refused TEXT: standard input is a program that the compiler does not take, for that reason.
refused()
{
    cat >"$live_work/wrong.f90"
    if LC_ALL=C oshfort -fsyntax-only "$live_work/wrong.f90" >"$live_work/said" 2>&1; then
        echo "it is taken"
        return 1
    fi
    grep -q "$1" "$live_work/said" || { cat "$live_work/said"; return 1; }
}

# line TEXT REASON: the statement is refused.
line()
{
    refused "$2" <<END
program wrong
  use shmem
  integer, save :: word
  integer(8), save :: long
  $1
end program
END
}

every_name()
{
    {
        echo "module every_name"
        sed 's/.*/  use shmem, only: &/' "$live_work/names"
        fortran_constants | sed 's/.*/  use shmem, only: &/'
        echo "end module"
    } >"$live_work/every.f90"
    compiles -fsyntax-only -J "$live_work" "$live_work/every.f90"
}

# shmem.fh in a program unit of each form.
included()
{
    printf '%s\n' '      SUBROUTINE S' '      IMPLICIT NONE' "      INCLUDE 'shmem.fh'" \
        "      INCLUDE 'shmemx.fh'" "      INCLUDE 'mpp/shmemx.fh'" '      LOGICAL L' \
        '      L = SHMEM_PE_ACCESSIBLE(0)' '      END' >"$live_work/included.f"
    cp "$live_work/included.f" "$live_work/included.f90"
    compiles -c -Wall -Werror -o "$live_work/included.o" "$live_work/included.f" &&
        compiles -c -Wall -Werror -o "$live_work/included.o" "$live_work/included.f90"
}

# Every routine stands in a call of the tests.
called()
{
    oshfort -cpp -E "$source_folder/shmem_fortran_module.F90" >"$live_work/expanded" &&
        grep -v '^ *#\|^ *!' "$live_work/expanded" | tr '[:upper:]' '[:lower:]' |
        grep -oE '\b(shmem_[a-z0-9_]+|my_pe|num_pes|start_pes|shp[a-z]+) *\(' | tr -d ' (' |
            sort -u >"$live_work/called"
    { cat "$live_work/called" && echo shmem_global_exit; } | sort -u |
        comm -23 "$live_work/names" - | sed 's/$/: in no call/' >"$live_work/differ"
    ! grep . "$live_work/differ"
}

old_in_two_steps()
{
    compiles -O1 -c "$source_folder/shmem_fortran_old.f" -o "$live_work/old.o" &&
        compiles "$live_work/old.o" -o "$live_work/old"
}

# old PES: each PE says ok, and the program need not end the library.
old()
{
    live_group -n "$1" --timeout 100 "$live_work/old"
    [ "$status" -eq 0 ] && [ "$(grep -c '^ok' "$live_work/out")" -eq "$1" ] &&
        ! grep '^FAIL' "$live_work/out"
}

# ends_with PES STATUS TEXT WORD...: what the program of that name and its arguments do.
ends_with()
{
    local wanted=$2 text=$3 pes=$1
    shift 3
    live_group -n "$pes" --timeout 100 "$@"
    [ "$status" -eq "$wanted" ] && grep -qF "$text" "$live_work/out" "$live_work/err"
}

ends()
{
    ends_with 2 "$@"
}

# lock_of_the_dead PES HOW TEXT: the survivors do not wait for ever, and one of them says that.
lock_of_the_dead()
{
    live_group -n "$1" --timeout 100 "$live_work/ends" "$2"
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && grep "has the lock" "$live_work/out" &&
        grep -qE "^PE [0-9]+: $3" "$live_work/err"
}

live_verdict "the specification's routines are exported, and no others" exported
live_verdict "the module's source has them, and no others" declared
live_verdict "the constants are those of C" constants
if ! command -v gfortran >/dev/null || [ ! -e "$live_build/shmem.mod" ]; then
    live_skip "programs in Fortran" "there is no gfortran, or there was none for the build"
    live_finish
    exit
fi

live_verdict "the module gives every routine and constant" every_name
live_verdict "shmem.fh in both forms" included
live_verdict "a program with the module compiles" compiles -O1 -Wall -Werror \
    -ffree-line-length-none -J "$live_work" "$source_folder/shmem_fortran_check.f90" \
    "$source_folder/shmem_fortran_module.F90" -o "$live_work/shmem_fortran_module"
live_verdict "it calls every routine" called
live_verdict "an old program compiles, in two steps" old_in_two_steps
live_programs=$live_work
for pes in 1 2 4 8; do
    live_checks shmem_fortran_module "$pes"
    live_verdict "an old program, $pes PEs" old "$pes"
done
live_checks shmem_fortran_module alone

sed -n '/^program left$/,/^end program$/p' "$root/man/shmem.7" >"$live_work/left.f90"
live_verdict "the program of shmem(7) compiles" compiles "$live_work/left.f90" -o "$live_work/left"
live_verdict "the program of shmem(7)" ends 0 "is to the left" "$live_work/left"

live_verdict "an argument too few" line "call shmem_put4(word, word, 1)" "Missing actual argument"
live_verdict "an argument too many" line "call shmem_fence(1)" "More actual than formal"
live_verdict "a PE that is no INTEGER" line "call shmem_put4(word, word, 1, 0.)" "Type mismatch"
live_verdict "an atomic of the wrong kind" line "call shmem_int4_inc(long, 0)" "Type mismatch"
live_verdict "a subroutine as a function" line "word = shmem_quiet()" "FUNCTION attribute"
live_verdict "a function as a subroutine" line "call shmem_n_pes()" "has a type"
live_verdict "an unknown routine" refused "not found in module" <<'END'
program wrong
  use shmem, only: shmem_nonsense
end program
END

if [ "$sanitizer" ] || ! echo end | gfortran -static -x f95 - -lsodium -o "$live_work/static" \
    2>"$live_work/said"; then
    live_skip "a static program" "not all libraries are here as static ones for this build"
else
    live_verdict "a static program compiles" compiles -static "$source_folder/shmem_fortran_old.f" \
        -o "$live_work/old"
    live_verdict "a static program, 2 PEs" old 2
fi

cat >"$live_work/ends.f90" <<'END'
program ends
  use shmem
  implicit none
  character(len=16) :: how
  integer :: code
  integer(8) :: p = 3
  integer, save :: word, lock
  interface
    integer function shmemx_failure_mode(mode) bind(c)
      integer, value :: mode
    end function
    integer function raise(number) bind(c)
      integer, value :: number
    end function
  end interface
  call get_command_argument(1, how)
  call shmem_init()
  select case (how)
  case ('exit')
    print '(a)', 'still in the buffer'
    if (shmem_my_pe() == 1) call shmem_global_exit(7)
    call shmem_wait(word, 0)
  case ('length')
    call shpalloc(p, 0, code, 1)
  case ('memory')
    call shpalloc(p, huge(code), code, 1)
  case ('address')
    call shpdeallc(p, code, 1)
  case ('free')
    call shpalloc(p, 5, code, 1)
    call shpdeallc(p, code, 1)
    call shpclmove(p, 5, code, 1)
  case ('lock')
    call shmem_clear_lock(lock)
  case ('stop')
    if (shmem_my_pe() == 1) call shmem_set_lock(lock)
    call shmem_barrier_all()
    if (shmem_my_pe() == 1) stop
    call shmem_set_lock(lock)
    print '(a)', 'has it now'
    call shmem_clear_lock(lock)
  case ('dead 0', 'dead 1', 'tried 0', 'tried 1')
    read (how(index(how, ' '):), *) code
    code = modulo(code, shmem_n_pes())
    word = shmemx_failure_mode(1)
    if (shmem_my_pe() == code) then
      call shmem_set_lock(lock)
      print '(a)', 'has the lock'
      flush (6)
    end if
    call shmem_barrier_all()
    if (shmem_my_pe() == code) word = raise(9)
    if (how(:4) == 'dead') call shmem_set_lock(lock)
    do while (how(:5) == 'tried' .and. shmem_test_lock(lock) /= 0)
    end do
    print '(a)', 'who has died cannot give it'
  case ('pe')
    call shmem_put4(word, word, 1, 2)
  case ('number')
    call shmem_put4(word, word, -1, 0)
  end select
  call shmem_finalize()
end program
END
live_verdict "a program of mistakes compiles" compiles "$live_work/ends.f90" -o "$live_work/ends"
live_verdict "the status of global_exit, and output" ends 7 "still in the buffer" \
    "$live_work/ends" exit
live_verdict "abort: no length" ends 1 "SHPALLOC: a length is" "$live_work/ends" length
live_verdict "abort: no memory" ends 1 "SHPALLOC: the symmetric heap has no room" \
    "$live_work/ends" memory
live_verdict "abort: no such block" ends 1 "SHPDEALLC: the address is not in" \
    "$live_work/ends" address
live_verdict "abort: freed" ends 1 "SHPCLMOVE: the block has been freed" "$live_work/ends" free
live_verdict "a lock that is not held" ends 1 "SHMEM_CLEAR_LOCK: this PE does not hold" \
    "$live_work/ends" lock
for pes in 2 4; do
    live_verdict "a lock is given at the end without SHMEM_FINALIZE, $pes PEs" ends_with "$pes" 0 "has it now" \
        "$live_work/ends" stop
    live_verdict "a lock whose holder has died, $pes PEs" lock_of_the_dead "$pes" "dead 1" \
        "SHMEM_SET_LOCK: PE 1 has died, perhaps with the lock"
    live_verdict "a lock whose home has died, $pes PEs" lock_of_the_dead "$pes" "dead 0" \
        "SHMEM_SET_LOCK: PE 0 has died"
    live_verdict "a lock whose holder has died is tried, $pes PEs" lock_of_the_dead "$pes" \
        "tried 1" "SHMEM_TEST_LOCK: PE 1 has died, perhaps with the lock"
    live_verdict "a lock whose home has died is tried, $pes PEs" lock_of_the_dead "$pes" "tried 0" \
        "SHMEM_TEST_LOCK: PE 0 has died"
done
live_verdict "no such PE" ends 1 "there is no PE 2" "$live_work/ends" pe
live_verdict "a negative number of elements" ends 1 "shmem_put32: " "$live_work/ends" number
live_verdict "nothing remains" live_nothing_remains
live_finish
