/* Programs that end early, and programs with one mistake each. shmem_spec_ends.sh and
 * shmem_spec_debug.sh say what must happen then.
 *
 * usage: shmem_spec_ends exit WHERE [thread], kill WHERE, at_rest [STATUS], at_work [STATUS],
 * or the name of a mistake */
#include <signal.h>

#include "shmem_spec.h"

static long word;
static long lock;
static long array[100];
static uint64_t signal_word;

/* ---- Where the other PEs are ------------------------------------------------------- */

static void others_in_barrier(void)
{
    shmem_barrier_all();
}

static void others_in_sync(void)
{
    shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void others_in_wait(void)
{
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 12345);
}

static void others_in_wait_any(void)
{
    (void)shmem_long_wait_until_any(array, 100, NULL, SHMEM_CMP_EQ, 12345);
}

static void others_in_signal_wait(void)
{
    (void)shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 12345);
}

static void others_in_test(void)
{
    while (!shmem_long_test(&word, SHMEM_CMP_EQ, 12345)) {
    }
}

/* The last PE has it and never gives it back. */
static void others_in_lock(void)
{
    shmem_set_lock(&lock);
}

static void others_in_reduction(void)
{
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &array[0], &array[1], 1);
}

static void others_in_malloc(void)
{
    (void)shmem_malloc(1000);
}

static void others_in_finalize(void)
{
    shmem_finalize();
    exit(0);
}

static void others_in_sleep(void)
{
    live_sleep_ns(100 * LIVE_SECOND);
}

static void others_in_computing(void)
{
    for (volatile long i = 0;; i++) {
    }
}

static void others_in_transfers(void)
{
    for (;;) {
        shmem_long_p(&word, 1, me.size - 1);
        (void)shmem_long_g(&word, me.size - 1);
        shmem_quiet();
    }
}

static void others_at_the_end(void)
{
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} places[] = {
    {"barrier", others_in_barrier},     {"sync", others_in_sync},
    {"wait", others_in_wait},           {"wait_any", others_in_wait_any},
    {"signal", others_in_signal_wait},  {"test", others_in_test},
    {"lock", others_in_lock},           {"reduction", others_in_reduction},
    {"malloc", others_in_malloc},       {"finalize", others_in_finalize},
    {"sleep", others_in_sleep},         {"computing", others_in_computing},
    {"transfers", others_in_transfers}, {"end", others_at_the_end},
};

static void *exit_in_a_thread(void *unused)
{
    (void)unused;
    shmem_global_exit(17);
}

static void say_at_exit(void)
{
    (void)dprintf(STDOUT_FILENO, "at exit\n");
}

/* The last PE ends the job, or dies, when the others have come to their place. */
static void end_early(bool by_signal, bool in_thread)
{
    /* While others put without end, virtual time passes slowly. */
    live_sleep_ns(live_is_virtual() ? LIVE_MS : 100 * LIVE_MS);
    if (by_signal) {
        (void)raise(SIGKILL);
    }
    (void)atexit(say_at_exit);
    (void)printf("a line that stdio holds");
    if (in_thread) {
        pthread_t thread;
        live_thread_start(&thread, exit_in_a_thread, NULL);
        others_in_wait();
    }
    shmem_global_exit(17);
}

static int end_while_others(const char *place, bool by_signal, bool in_thread)
{
    for (size_t i = 0; i < LIVE_COUNT(places); i++) {
        if (strcmp(places[i].name, place) == 0) {
            if (me.rank == me.size - 1) {
                shmem_set_lock(&lock);
            }
            shmem_barrier_all();
            if (me.rank == me.size - 1) {
                end_early(by_signal, in_thread);
            }
            places[i].run();
            /* A PE that returns from there has not been told. */
            live_sleep_ns(100 * LIVE_SECOND);
        }
    }
    return 99;
}

/* ---- Mistakes ---------------------------------------------------------------------- */

static void put_to_the_stack(void)
{
    long on_stack = 0;
    shmem_long_p(&on_stack, 1, 1);
}

static void get_from_private_memory(void)
{
    long *private = calloc(8, sizeof *private);
    (void)shmem_long_g(private, 1);
}

static void put_beyond_the_heap(void)
{
    char *memory = shmem_malloc(64);
    static char much[1000];
    shmem_putmem(memory + ((size_t)1 << 30) - 200, much, sizeof much, 1);
}

static void atomic_on_the_stack(void)
{
    long on_stack = 0;
    shmem_long_atomic_inc(&on_stack, 1);
}

static void put_to_no_pe(void)
{
    shmem_long_p(&word, 1, me.size);
}

static void get_from_a_negative_pe(void)
{
    (void)shmem_long_g(&word, -1);
}

static void add_at_no_pe(void)
{
    shmem_long_atomic_add(&word, 1, 1000);
}

static void put_that_overlaps(void)
{
    shmem_putmem(&array[1], &array[0], 80, me.rank);
}

static void reduction_that_overlaps(void)
{
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &array[1], &array[0], 10);
}

static void put_to_freed_memory(void)
{
    long *memory = shmem_malloc(64);
    shmem_free(memory);
    shmem_long_p(memory, 1, 1);
}

static void put_beyond_the_allocation(void)
{
    long *memory = shmem_malloc(64);
    shmem_long_put(&memory[4], array, 10, 1);
}

static void free_twice(void)
{
    long *memory = shmem_malloc(64);
    shmem_free(memory);
    shmem_free(memory);
}

static void free_of_the_middle(void)
{
    char *memory = shmem_malloc(640);
    shmem_free(memory + 64);
}

static void different_sizes(void)
{
    (void)shmem_malloc(me.rank == 0 ? 1000 : 100000);
}

/* One PE makes a different collective call. */
static void another_collective(void)
{
    if (me.rank == 0) {
        (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    } else {
        (void)shmem_long_max_reduce(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    }
}

static void another_root(void)
{
    (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, &array[0], &array[50], 1, me.rank == 0);
}

/* One PE does not make the call until the others have missed it. */
static void a_pe_does_not_come(void)
{
    if (me.rank == 1) {
        spec_come_late();
    }
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    shmem_global_exit(3);
}

static void a_pe_leaves_while_others_wait(void)
{
    if (me.rank == 0) {
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    }
}

static void a_pe_leaves_while_others_meet(void)
{
    if (me.rank == 0) {
        (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    }
}

static void a_barrier_meets_the_end(void)
{
    if (me.rank == 0) {
        shmem_barrier_all();
    }
}

static void collective_of_no_team(void)
{
    (void)shmem_team_sync(SHMEM_TEAM_INVALID);
}

static void collective_on_the_stack(void)
{
    long on_stack[2] = {0, 0};
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &on_stack[0], &on_stack[1], 1);
}

static void wait_on_the_stack(void)
{
    long on_stack = 0;
    shmem_long_wait_until(&on_stack, SHMEM_CMP_EQ, 1);
}

static void no_comparison(void)
{
    shmem_long_wait_until(&word, 17, 1);
}

static void the_invalid_context(void)
{
    shmem_ctx_long_p(SHMEM_CTX_INVALID, &word, 1, 0);
}

static void the_default_context_destroyed(void)
{
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
}

static void the_world_destroyed(void)
{
    shmem_team_destroy(SHMEM_TEAM_WORLD);
}

static void lock_set_twice(void)
{
    if (me.rank == 0) {
        shmem_set_lock(&lock);
        shmem_set_lock(&lock);
    }
    shmem_barrier_all();
}

static void lock_of_another(void)
{
    shmem_clear_lock(&lock);
}

static void lock_on_the_stack(void)
{
    long on_stack = 0;
    shmem_set_lock(&on_stack);
}

static void word_off_its_place(void)
{
    shmem_long_atomic_inc((long *)(void *)((char *)array + 4), 1);
}

static void no_signal_operation(void)
{
    shmem_long_put_signal(&array[0], &array[50], 1, &signal_word, 1, 17, 1);
}

static void stride_of_nothing(void)
{
    shmem_long_iput(&array[0], &array[50], 0, 1, 3, 1);
}

/* ---- Of version 1.6 ----------------------------------------------------------------- */

static void blocks_that_overlap(void)
{
    shmem_long_ibput(&array[0], &array[50], 2, 3, 3, 2, 1);
}

static void block_source_that_overlaps(void)
{
    shmem_long_ibget(&array[0], &array[50], 3, 2, 3, 2, 1);
}

static void blocks_beyond_the_heap(void)
{
    long *memory = shmem_malloc(64);
    shmem_ibput64(memory, array, (ptrdiff_t)1 << 30, 1, 1, 2, 1);
}

static void signal_to_the_stack(void)
{
    uint64_t on_stack = 0;
    shmem_signal_set(&on_stack, 1, 1);
}

static void signal_off_its_place(void)
{
    shmem_signal_add(SHMEM_CTX_DEFAULT, (uint64_t *)(void *)((char *)array + 4), 1, 1);
}

static void quiet_of_no_pe(void)
{
    static const int pes[2] = {1, 2};
    shmem_pe_quiet(pes, 2);
}

static void session_without_a_configuration(void)
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, SHMEM_CTX_SESSION_TOTAL_OPS);
}

static void session_of_no_option(void)
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 1L << 20, NULL, 0);
}

static void scan_of_no_team(void)
{
    (void)shmem_long_sum_exscan(SHMEM_TEAM_INVALID, &array[0], &array[50], 1);
}

static void scan_on_the_stack(void)
{
    long on_stack[2] = {0, 0};
    (void)shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &on_stack[0], &on_stack[1], 1);
}

static void scan_that_overlaps(void)
{
    (void)shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &array[1], &array[0], 10);
}

static void another_scan(void)
{
    if (me.rank == 0) {
        (void)shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    } else {
        (void)shmem_long_sum_exscan(SHMEM_TEAM_WORLD, &array[0], &array[50], 1);
    }
}

/* It reaches beyond the last PE; a PE that is outside says so, too. */
static void set_that_is_none(void)
{
    shmem_barrier(1, 0, 2, array);
}

static void finalize_once_too_often(void)
{
    shmem_finalize();
    shmem_finalize();
}

static void call_after_finalize(void)
{
    shmem_finalize();
    shmem_long_p(&word, 1, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} mistakes[] = {
#define MISTAKE(function)   \
    {                       \
#function, function \
    }
    MISTAKE(put_to_the_stack),
    MISTAKE(get_from_private_memory),
    MISTAKE(put_beyond_the_heap),
    MISTAKE(atomic_on_the_stack),
    MISTAKE(put_to_no_pe),
    MISTAKE(get_from_a_negative_pe),
    MISTAKE(add_at_no_pe),
    MISTAKE(put_that_overlaps),
    MISTAKE(reduction_that_overlaps),
    MISTAKE(put_to_freed_memory),
    MISTAKE(put_beyond_the_allocation),
    MISTAKE(free_twice),
    MISTAKE(free_of_the_middle),
    MISTAKE(different_sizes),
    MISTAKE(another_collective),
    MISTAKE(another_root),
    MISTAKE(a_pe_does_not_come),
    MISTAKE(a_pe_leaves_while_others_wait),
    MISTAKE(a_pe_leaves_while_others_meet),
    MISTAKE(a_barrier_meets_the_end),
    MISTAKE(collective_of_no_team),
    MISTAKE(collective_on_the_stack),
    MISTAKE(wait_on_the_stack),
    MISTAKE(no_comparison),
    MISTAKE(the_invalid_context),
    MISTAKE(the_default_context_destroyed),
    MISTAKE(the_world_destroyed),
    MISTAKE(lock_set_twice),
    MISTAKE(lock_of_another),
    MISTAKE(lock_on_the_stack),
    MISTAKE(word_off_its_place),
    MISTAKE(no_signal_operation),
    MISTAKE(stride_of_nothing),
    MISTAKE(blocks_that_overlap),
    MISTAKE(block_source_that_overlaps),
    MISTAKE(blocks_beyond_the_heap),
    MISTAKE(signal_to_the_stack),
    MISTAKE(signal_off_its_place),
    MISTAKE(quiet_of_no_pe),
    MISTAKE(session_without_a_configuration),
    MISTAKE(session_of_no_option),
    MISTAKE(scan_of_no_team),
    MISTAKE(scan_on_the_stack),
    MISTAKE(scan_that_overlaps),
    MISTAKE(another_scan),
    MISTAKE(set_that_is_none),
    MISTAKE(finalize_once_too_often),
    MISTAKE(call_after_finalize),
};

static int make_mistake(const char *name)
{
    for (size_t i = 0; i < LIVE_COUNT(mistakes); i++) {
        if (strcmp(mistakes[i].name, name) == 0) {
            mistakes[i].run();
            return 0;
        }
    }
    return 99;
}

/* Neither shmem_init nor shmem_finalize is called under its own name. */
static int without_finalize(void)
{
    start_pes(0);
    spec_begin();
    shmem_long_p(&word, me.rank + 1, live_neighbour(1));
    shmem_barrier_all();
    require(word == live_neighbour(-1) + 1);
    live_say_ok();
    return 0;
}

/* Ends without the functions that exit() calls, and so without leaving the group. */
static int end_at_once(bool finalizes, int status)
{
    shmem_init();
    spec_begin();
    if (finalizes) {
        shmem_finalize();
    }
    _exit(status);
}

int main(int argc, char **argv)
{
    require(argc > 1);
    if (strcmp(argv[1], "at_rest") == 0 || strcmp(argv[1], "at_work") == 0) {
        return end_at_once(strcmp(argv[1], "at_rest") == 0, argc > 2 ? atoi(argv[2]) : 0);
    }
    if (strcmp(argv[1], "without_init") == 0) {
        shmem_long_p(&word, 1, 0);
        return 0;
    }
    if (strcmp(argv[1], "without_finalize") == 0) {
        return without_finalize();
    }
    int provided;
    require(shmem_init_thread(argc > 3 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided) ==
            0);
    spec_begin();
    if (argc > 2) {
        return end_while_others(argv[2], strcmp(argv[1], "kill") == 0, argc > 3);
    }
    int status = make_mistake(argv[1]);
    int is_initialised;
    shmem_query_initialized(&is_initialised);
    if (status == 0 && is_initialised) {
        shmem_finalize();
    }
    return status;
}
