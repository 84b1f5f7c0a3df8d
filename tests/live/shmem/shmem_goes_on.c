/* Goes on after deaths, and has no end: for a simulated machine that ends before the program does
 * (tests/live/sim/sim_program.sh). */
#include <shmem.h>
#include <shmemx.h>

static long word; /* symmetric */

int main(void)
{
    shmem_init();
    (void)shmemx_failure_mode(SHMEMX_CONTINUE);
    shmem_barrier_all();
    int other = 1 - shmem_my_pe();
    for (long turn = 1;; turn++) {
        shmem_long_p(&word, turn, other);
        shmem_long_wait_until(&word, SHMEM_CMP_GE, turn);
    }
}
