#!/usr/bin/env bash
# OpenSHMEM in Python: the examples, PEs that fail, and what an interpreter has that C programs have
# not. usage: shmem_python.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# Of the system: others that come first in the path may lack the modules.
python=/usr/bin/python3
examples=$(cd "$(dirname "$0")/../../../examples/shmem" && pwd)

if grep -q -- -fsanitize= "$live_build/build.ninja"; then
    echo "SKIPPED: the libraries of a sanitized build need a sanitized interpreter"
    exit 77
fi
if ! "$python" -c 'import cffi, numpy' 2>/dev/null; then
    echo "SKIPPED: $python has no cffi or no numpy (python3-cffi, python3-numpy)"
    exit 77
fi

export PATH=$live_build:$PATH LD_LIBRARY_PATH=$live_build PYTHONPATH=$live_work
# Python 3.12 and later warn of a fork beside threads, which the test means to do.
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore::DeprecationWarning
# This test chooses the fabric where its surroundings do not.
read -ra fabrics <<<"${DN_FABRIC:-mem udp}"
counts=(1 2 4 8)
# There time passes in calls only, and what never calls keeps the others from dying.
places=(barrier wait finalize end computing)
if [[ ${DN_FABRIC-} == sim:* ]]; then
    counts=(1 2 "$live_simulated_nodes")
    unset 'places[-1]'
fi

# What the programs below begin with.
cat >"$live_work/osh.py" <<'END'
import cffi

ffi = cffi.FFI()
ffi.cdef("""
    void shmem_init(void);
    void shmem_finalize(void);
    int shmem_my_pe(void);
    int shmem_n_pes(void);
    void *shmem_calloc(size_t count, size_t size);
    void shmem_barrier_all(void);
    void shmem_long_atomic_add(long *dest, long value, int pe);
    void shmem_long_wait_until(long *ivar, int cmp, long cmp_value);
""")
shmem = ffi.dlopen("libdimmnet-shmem.so.0")
SHMEM_CMP_NE, SHMEM_CMP_GE = 1, 3
END

# ends_well PES FABRIC PROGRAM ARGUMENT...: and no PE says anything on standard error.
ends_well()
{
    live_group -n "$1" --fabric "$2" --timeout 100 "${@:3}"
    if [ "$status" -ne 0 ] || [ -s "$live_work/err" ]; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

# The line in the example's head, as users copy it.
runs_by_its_line()
{
    local line
    line=$(sed -n 's/^ *\(oshrun -n [0-9]* \.\/[a-z_]*\.py\)$/\1/p' "$1")
    if [ -z "$line" ]; then
        echo "no line in the head"
        return 1
    fi
    mkdir -p "$live_work/copy"
    cp "$1" "$live_work/copy"
    live_alone sh -c "cd '$live_work/copy' && $line"
    [ "$status" -eq 0 ] && [ ! -s "$live_work/err" ]
}

for example in "$examples"/*.py; do
    name=$(basename "$example")
    for fabric in "${fabrics[@]}"; do
        for pes in "${counts[@]}"; do
            live_verdict "$name, $pes PEs, $fabric" ends_well "$pes" "$fabric" "$example"
        done
    done
    if [[ ${DN_FABRIC-} != sim:* ]]; then
        live_verdict "$name by its line" runs_by_its_line "$example"
    fi
done

# PE 1 fails while the others are at a place: the job has its status, and its message is there.
cat >"$live_work/fails.py" <<'END'
import sys
import threading

from osh import *


def wait():
    shmem.shmem_long_wait_until(word, SHMEM_CMP_NE, 0)


how, place = sys.argv[1:]
shmem.shmem_init()
word = ffi.cast("long *", shmem.shmem_calloc(1, 8))
if shmem.shmem_my_pe() == 1:
    if how == "thread":
        threading.Thread(target=wait, daemon=True).start()
    if how == "exit":
        sys.exit("the harvest failed")
    raise ValueError("the harvest failed")
if place == "barrier":
    shmem.shmem_barrier_all()
elif place == "wait":
    wait()
elif place == "finalize":
    shmem.shmem_finalize()
elif place == "computing":
    while True:
        pass
END

fails()
{
    live_group -n 3 --fabric "$1" --timeout 60 "$python" "$live_work/fails.py" "$2" "$3"
    if [ "$status" -ne 1 ]; then
        echo "status $status, not 1"
        return 1
    fi
    grep -q 'the harvest failed' "$live_work/err" || { echo "its message is lost"; return 1; }
    grep -q 'node 1 .*status 1' "$live_work/err" || { echo "nobody said which PE"; return 1; }
    live_nothing_remains
}

for fabric in "${fabrics[@]}"; do
    for place in "${places[@]}"; do
        live_verdict "an exception, the others: $place, $fabric" fails "$fabric" exception "$place"
    done
    live_verdict "sys.exit, the others: barrier, $fabric" fails "$fabric" exit barrier
    live_verdict "an exception beside a thread that waits, $fabric" fails "$fabric" thread barrier
done

# The interpreter's variables move onto shared memory while its threads run, and are its own
# afterwards: for threads, for children that go on in Python, and for those that run a program.
cat >"$live_work/lives.py" <<'END'
import gc
import os
import subprocess
import sys
import threading

from osh import *


def count_until_stopped(index):
    while not stopped.is_set():
        counts[index] += 1


def child_says(value):
    """A forked child goes on in Python, and writes the interpreter's variables."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        keep = [None] * 100000 + [True] * 1000
        gc.collect()
        sys.setrecursionlimit(4321)
        os.write(writable, str(value * len(keep)).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as stream:
        said = int(stream.read())
    assert os.waitpid(child, 0)[1] == 0
    return said


stopped = threading.Event()
counts = [0] * 3
threads = [threading.Thread(target=count_until_stopped, args=(i,)) for i in range(len(counts))]
for thread in threads:
    thread.start()
limit = sys.getrecursionlimit()

shmem.shmem_init()
me, pes = shmem.shmem_my_pe(), shmem.shmem_n_pes()
total = ffi.cast("long *", shmem.shmem_calloc(1, 8))
for turn in range(3):
    before = list(counts)
    while not all(now > then for now, then in zip(counts, before)):
        shmem.shmem_long_atomic_add(total, 0, 0)  # on a simulated machine time passes in calls
    assert child_says(me + 1) == (me + 1) * 101000
    assert sys.getrecursionlimit() == limit
    assert subprocess.run(["echo", str(me)], capture_output=True).stdout.decode() == f"{me}\n"
    gc.collect()
    shmem.shmem_barrier_all()

# While a thread waits in a call, the others go on.
waits = threading.Thread(target=shmem.shmem_long_wait_until, args=(total, SHMEM_CMP_GE, pes))
if me == 0:
    waits.start()
shmem.shmem_long_atomic_add(total, 1, 0)
shmem.shmem_barrier_all()
if me == 0:
    waits.join()
    assert total[0] == pes
stopped.set()
for thread in threads:
    thread.join()
if sys.argv[1] == "finalize":
    shmem.shmem_finalize()
print("lived")
END

lives()
{
    ends_well "$1" "$2" "$python" "$live_work/lives.py" "$3" || return
    if [ "$(grep -cx lived "$live_work/out")" -ne "$1" ]; then
        echo "not all PEs came to the end"
        return 1
    fi
}

for fabric in "${fabrics[@]}"; do
    live_verdict "an interpreter lives on, $fabric" lives 3 "$fabric" finalize
    live_verdict "it ends without shmem_finalize, $fabric" lives 2 "$fabric" leave
done
live_verdict "nothing remains" live_nothing_remains
live_finish
