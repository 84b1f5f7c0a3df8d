#!/usr/bin/env bash
# `make install` gives a user all that the README promises: its example compiles through
# pkg-config against the installed files alone, shared and static, and runs; so does an
# OpenSHMEM program, by oshcc and oshrun, and one with Fagus.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make -s install BUILD=build/test/install MESON_OPTIONS='-Dtests=disabled -Dwerror=true' \
    DESTDIR="$folder/root" >"$folder/log" || {
    cat "$folder/log"
    exit 1
}

# What newcomers try first: the first C blocks of README.md and of doc/fagus.md.
first_c_block() { awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' "$1"; }
first_c_block README.md >"$folder/example.c"
first_c_block doc/fagus.md >"$folder/shared_memory.c"
grep -q main "$folder/example.c"
grep -q main "$folder/shared_memory.c"

pc=$(find "$folder/root" -name dimmnet.pc)
libraries=$(dirname "$(dirname "$pc")")
command=$(find "$folder/root" -path '*/bin/dimmnet')
# The system's own folders stay in the search: libsodium is there.
export PKG_CONFIG_SYSROOT_DIR=$folder/root PKG_CONFIG_PATH=${pc%/*}
export LD_LIBRARY_PATH=$libraries

read -ra flags < <(pkg-config --cflags dimmnet)
read -ra shared < <(pkg-config --libs dimmnet)
if [[ ${shared[*]} == *sodium* ]]; then
    echo "programs are linked with libsodium: ${shared[*]}"
    exit 1
fi
for compiler in gcc clang; do
    "$compiler" -Wall -Wextra -Werror "${flags[@]}" "$folder/example.c" -o "$folder/shared" "${shared[@]}"
    "$command" run -n 2 "$folder/shared"
done
read -ra needed < <(pkg-config --static --libs-only-l dimmnet | sed 's/-ldimmnet//')
gcc "${flags[@]}" "$folder/example.c" -o "$folder/static" "$libraries/libdimmnet.a" \
    "${needed[@]}" -pthread
"$command" run -n 2 "$folder/static"

# OpenSHMEM: by its pkg-config file, and by the commands alone, which find everything from
# where they lie.
ring=examples/shmem/ring.c
read -ra flags < <(pkg-config --cflags --libs dimmnet-shmem)
gcc -Wall -Wextra -Werror "$ring" -o "$folder/ring" "${flags[@]}"
"$command" run -n 2 "$folder/ring"

# Fagus, shared and static.
read -ra flags < <(pkg-config --cflags fagus)
read -ra shared < <(pkg-config --libs fagus)
gcc -Wall -Wextra -Werror "${flags[@]}" "$folder/shared_memory.c" -o "$folder/fagus" "${shared[@]}"
"$command" run -n 2 "$folder/fagus"
gcc "${flags[@]}" "$folder/shared_memory.c" -o "$folder/fagus" "$libraries/libfagus.a" \
    "$libraries/libdimmnet.a" "${needed[@]}" -pthread
"$command" run -n 2 "$folder/fagus"

# Fortran: by the module, and by shmem.fh.
cat >"$folder/total.f90" <<'END'
program total
  use shmem
  integer, save :: sum
  call shmem_init()
  call shmem_barrier_all()
  call shmem_int4_add(sum, shmem_my_pe() + 1, 0)
  call shmem_barrier_all()
  if (shmem_my_pe() == 0) print '(a, i3)', 'total', sum
  call shmem_finalize()
end program
END
sed 's/^/      /; s/use shmem/include "mpp\/shmem.fh"\n        integer shmem_my_pe/' "$folder/total.f90" \
    >"$folder/total.f"

unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH LD_LIBRARY_PATH
PATH=${command%/*}:$PATH
oshcc -O2 "$ring" -o "$folder/ring"
oshrun -n 4 "$folder/ring"
oshc++ --version >"$folder/log"
if command -v gfortran >/dev/null; then
    for program in total.f90 total.f; do
        oshfort -O2 "$folder/$program" -o "$folder/total"
        oshrun -n 3 "$folder/total" | tee "$folder/log"
        grep -qx 'total *6' "$folder/log"
    done
else
    echo "skip Fortran: gfortran is missing"
fi
for page in man1/oshcc.1 man1/oshc++.1 man1/oshfort.1 man1/oshrun.1 man7/shmem.7 man7/fagus.7 \
    man3/fagus_release.3 man3/comm_sync.3; do
    if [ -z "$(find "$folder/root" -path "*/$page")" ]; then
        echo "$page is not installed"
        exit 1
    fi
done
