#!/usr/bin/python3
"""Heat spreads over a plate whose strips are NumPy arrays in symmetric memory.

Every PE has a strip of the plate's rows, with one more row above and below (the halo) for the
neighbours' outer rows. In each step a PE puts its outer rows into the neighbours' halos, waits for
all at a barrier, and computes. There are two plates, for even and odd steps, so that nobody puts
into a halo that its neighbour still reads.

    oshrun -n 4 ./heat.py

It takes cffi and NumPy (Debian's python3-cffi and python3-numpy) and the installed library; the one
in a folder of your own is found by LD_LIBRARY_PATH. No compiler is needed. """
import math
import sys

import cffi
import numpy as np

ROWS, COLUMNS, STEPS = 32, 128, 100
WARM = {(0, 10): 1000.0, (0, 90): 500.0}  # these cells of the plate, at the start

# What this program uses of shmem.h, as it stands there.
ffi = cffi.FFI()
ffi.cdef("""
    typedef struct shmem_team *shmem_team_t;
    void shmem_init(void);
    void shmem_finalize(void);
    int shmem_my_pe(void);
    int shmem_n_pes(void);
    void *shmem_calloc(size_t count, size_t size);
    void shmem_barrier_all(void);
    void shmem_double_put(double *dest, const double *source, size_t nelems, int pe);
    void shmem_double_get(double *dest, const double *source, size_t nelems, int pe);
    int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source,
                                size_t nreduce);
""")
shmem = ffi.dlopen("libdimmnet-shmem.so.0")
SHMEM_TEAM_WORLD = ffi.cast("shmem_team_t", 1)


def symmetric(*shape):
    """Returns an array of zeros at the same place of every PE's heap. All PEs call it together."""
    count = math.prod(shape)
    memory = shmem.shmem_calloc(count, np.dtype(float).itemsize)
    if memory == ffi.NULL:
        raise MemoryError("the symmetric heap is full; SHMEM_SYMMETRIC_SIZE makes it larger")
    return np.frombuffer(ffi.buffer(memory, count * np.dtype(float).itemsize)).reshape(shape)


def pointer(array):
    """Returns the address of an array that lies in one piece, as calls take it."""
    return ffi.from_buffer("double[]", array)


def compute(plate):
    """Returns the next state of all rows but the halo. No heat leaves the plate's sides."""
    rows = plate[1:-1]
    wide = np.pad(rows, ((0, 0), (1, 1)), "edge")
    around = plate[:-2] + plate[2:] + wide[:, :-2] + wide[:, 2:]
    return rows + 0.2 * (around - 4 * rows)


def spread(plates, me, count):
    for step in range(STEPS):
        now, after = plates[step % 2], plates[1 - step % 2]
        if me > 0:
            shmem.shmem_double_put(pointer(now[-1]), pointer(now[1]), COLUMNS, me - 1)
        else:
            now[0] = now[1]  # beyond its edge the plate is as warm as its last row
        if me < count - 1:
            shmem.shmem_double_put(pointer(now[0]), pointer(now[-2]), COLUMNS, me + 1)
        else:
            now[-1] = now[-2]
        shmem.shmem_barrier_all()
        after[1:-1] = compute(now)


def rows_that_differ(plate, count):
    """Computes the whole plate without help: every cell must come out the same, to the last bit."""
    alone = np.zeros((count * ROWS + 2, COLUMNS))
    for (row, column), heat in WARM.items():
        alone[1 + row, column] = heat
    for _ in range(STEPS):
        alone[0], alone[-1] = alone[1], alone[-2]
        alone[1:-1] = compute(alone)
    theirs = np.empty((ROWS, COLUMNS))
    differ = 0
    for pe in range(count):
        shmem.shmem_double_get(pointer(theirs), pointer(plate[1:-1]), theirs.size, pe)
        ours = alone[1 + pe * ROWS:1 + (pe + 1) * ROWS]
        differ += int((theirs != ours).any(axis=1).sum())
    return differ


def main():
    shmem.shmem_init()
    me, count = shmem.shmem_my_pe(), shmem.shmem_n_pes()
    plates = [symmetric(ROWS + 2, COLUMNS) for _ in range(2)]
    heat, whole_heat = symmetric(1), symmetric(1)
    if me == 0:
        for (row, column), warmth in WARM.items():
            plates[0][1 + row, column] = warmth

    spread(plates, me, count)

    result = plates[STEPS % 2]
    heat[0] = result[1:-1].sum()
    shmem.shmem_barrier_all()  # all rows are ready to be read
    shmem.shmem_double_sum_reduce(SHMEM_TEAM_WORLD, pointer(whole_heat), pointer(heat), 1)
    is_wrong = False
    if me == 0:
        differ = rows_that_differ(result, count)
        is_wrong = differ > 0 or not math.isclose(whole_heat[0], sum(WARM.values()))
        print(f"{count} PEs, {count * ROWS} x {COLUMNS} cells, {STEPS} steps: {differ} rows "
              f"differ, heat {whole_heat[0]:.3f} of {sum(WARM.values()):.3f}")
    # Not in a `finally`: an exception ends this process, and with it the job, while here it would
    # wait for PEs that wait for it. From now on the arrays have no memory.
    shmem.shmem_finalize()
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
