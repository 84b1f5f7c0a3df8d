/* A program that is OpenSHMEM and MPI at once, built by the compilers of several MPI libraries
 * (-DWITH_MPI, shmem_mpi.sh); and without any, for processes that have nothing of MPI but its
 * launcher.
 *
 *     mpi_first | shmem_first   both kinds of calls, beside each other
 *     several                   begins and ends OpenSHMEM several times
 *     exit N                    the last PE ends the job by shmem_global_exit(N)
 *     wait PLACE                says "PE n process p", then stays at that place
 *     absent RANK SECONDS       that rank, or the "last" one, never calls shmem_init, and ends
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { ROUNDS = 50, WORDS = 1000, PATIENCE_S = 100 };

static long from_left[WORDS]; /* symmetric */
static long sums[WORDS];
static int flag;

static void require(int holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        fflush(stdout);
        abort();
    }
}

/* ---- MPI, if there is any --------------------------------------------------------------- */

#ifndef WITH_MPI
static void begin_mpi(void)
{
}
static void end_mpi(void)
{
}
static void meet_by_mpi(void)
{
}
static int rank_of_launcher(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    return rank ? atoi(rank) : 0;
}
static int size_of_launcher(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    size = size ? size : getenv("PMI_SIZE");
    return size ? atoi(size) : 1;
}
static void ranks_agree(void)
{
}
static void sum_by_mpi(const long *mine, long *all)
{
    (void)mine;
    memcpy(all, sums, WORDS * sizeof *all);
}
#else
static void begin_mpi(void)
{
    MPI_Init(NULL, NULL);
}
static void end_mpi(void)
{
    MPI_Finalize();
}
static void meet_by_mpi(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
static int rank_of_launcher(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
static int size_of_launcher(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
static void sum_by_mpi(const long *mine, long *all)
{
    MPI_Allreduce(mine, all, WORDS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void ranks_agree(void)
{
    require(rank_of_launcher() == shmem_my_pe(), "the ranks agree");
    require(size_of_launcher() == shmem_n_pes(), "the sizes agree");
}
#endif

/* ---- What PEs do -------------------------------------------------------------------------- */

static void work(void)
{
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    int left = (me + count - 1) % count;
    long *mine = shmem_malloc(WORDS * sizeof *mine);
    long by_mpi[WORDS];
    require(mine != NULL, "memory");
    for (long round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < WORDS; i++) {
            mine[i] = me + i * round;
        }
        shmem_barrier_all();
        shmem_long_put(from_left, mine, WORDS, (me + 1) % count);
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, mine, WORDS);
        sum_by_mpi(mine, by_mpi);
        shmem_barrier_all();
        for (long i = 0; i < WORDS; i++) {
            require(from_left[i] == left + i * round, "a put arrives");
            require(sums[i] == by_mpi[i], "both sums are the same");
            require(sums[i] == (long)count * (count - 1) / 2 + count * i * round, "and right");
        }
        meet_by_mpi();
    }
    shmem_free(mine);
}

static int both(int mpi_first)
{
    if (mpi_first) {
        begin_mpi();
        shmem_init();
    } else {
        shmem_init();
        begin_mpi();
    }
    ranks_agree();
    work();
    printf("ok %d of %d\n", shmem_my_pe(), shmem_n_pes());
    if (mpi_first) {
        shmem_finalize();
        end_mpi();
    } else {
        end_mpi();
        shmem_finalize();
    }
    return 0;
}

/* MPICH takes the buffer from stdout. The line still is one write, because a number is in it, and
 * no other rank's words come into its midst. */
static int several(void)
{
    begin_mpi();
    int rounds = 0;
    for (; rounds < 3; rounds++) {
        shmem_init();
        work();
        shmem_finalize();
    }
    end_mpi();
    printf("ok several: %d\n", rounds);
    return 0;
}

static void stay(const char *place)
{
    if (strcmp(place, "barrier") == 0 && shmem_my_pe() != shmem_n_pes() - 1) {
        shmem_barrier_all();
    } else if (strcmp(place, "wait") == 0) {
        shmem_int_wait_until(&flag, SHMEM_CMP_NE, 0);
    } else if (strcmp(place, "compute") == 0) {
        for (volatile int forever = 1; forever;) {
        }
    }
    sleep(PATIENCE_S);
}

static int wait_there(const char *place)
{
    begin_mpi();
    shmem_init();
    shmem_barrier_all();
    printf("PE %d process %d\n", shmem_my_pe(), (int)getpid());
    fflush(stdout);
    alarm(PATIENCE_S);
    stay(place);
    return 3;
}

static int global_exit(int status)
{
    begin_mpi();
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == shmem_n_pes() - 1) {
        shmem_global_exit(status);
    }
    alarm(PATIENCE_S);
    stay("compute");
    return 3;
}

/* Without MPI, whose launchers wait for it in their own ways. */
static int absent(const char *who, const char *seconds)
{
    int rank = rank_of_launcher();
    alarm(PATIENCE_S);
    if (rank == (strcmp(who, "last") == 0 ? size_of_launcher() - 1 : atoi(who))) {
        sleep((unsigned)atoi(seconds));
        return 3;
    }
    shmem_init();
    printf("FAIL nobody is absent\n");
    return 3;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "mpi_first";
    const char *more = argc > 2 ? argv[2] : "";
    if (strcmp(what, "several") == 0) {
        return several();
    }
    if (strcmp(what, "exit") == 0) {
        return global_exit(atoi(more));
    }
    if (strcmp(what, "wait") == 0) {
        return wait_there(more);
    }
    if (strcmp(what, "absent") == 0) {
        return absent(more, argc > 3 ? argv[3] : "1");
    }
    return both(strcmp(what, "mpi_first") == 0);
}
