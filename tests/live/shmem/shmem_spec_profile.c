/* Profiling: this program defines some shmem_ functions itself, counts their calls, and calls
 * the library's under their pshmem_ names. */
#include <pshmem.h>

#include "shmem_spec.h"

static int puts64;
static int longs;
static int barriers;
static int level;

void shmem_put64(void *dest, const void *source, size_t nelems, int pe)
{
    puts64++;
    pshmem_put64(dest, source, nelems, pe);
}

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    longs++;
    pshmem_long_put(dest, source, nelems, pe);
}

void shmem_barrier_all(void)
{
    barriers++;
    pshmem_barrier_all();
}

void shmem_pcontrol(int new_level, ...)
{
    level = new_level;
    pshmem_pcontrol(new_level);
}

int main(void)
{
    static uint64_t box[2];
    static long longs_box[2];
    shmem_init();
    spec_begin();
    me.check = "profile";
    uint64_t two[2] = {7, 8};
    long two_longs[2] = {9, 10};
    shmem_put64(box, two, 2, live_neighbour(1));
    shmem_long_put(longs_box, two_longs, 2, live_neighbour(1));
    /* A generic name calls the function that it stands for. */
    shmem_put(longs_box, two_longs, 1, live_neighbour(1));
    shmem_pcontrol(2, "more", 3.5);
    shmem_barrier_all();
    require(box[0] == 7 && box[1] == 8 && longs_box[0] == 9 && longs_box[1] == 10);
    /* The library itself does not call the functions that the program put in front. */
    void *memory = shmem_malloc(100);
    shmem_free(memory);
    require(puts64 == 1 && longs == 2 && barriers == 1 && level == 2);
    live_say_ok();
    shmem_finalize();
    return 0;
}
