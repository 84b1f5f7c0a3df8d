/* Fagus without its variables: shared memory, flags, threads, mistakes. With --end, --terabyte,
 * --start, --death or --stats it does one thing, which a script judges. */
#include "fagus_live.h"

#include <signal.h>
#include <sys/wait.h>

enum { PAGE = 4096, MEGABYTE = 1 << 20 };

/* ---- Memory ------------------------------------------------------------------------------ */

/* Requires that the number is the same on all nodes. */
static void require_same(uint64_t number)
{
    uint64_t first = number;
    fagus_expect(fagus_distribute(&first, sizeof first), 0);
    require(first == number);
}

static void addresses_are_the_same_everywhere(void)
{
    static const size_t sizes[] = {1, 100, PAGE, PAGE + 1, 5 * MEGABYTE, 64 * MEGABYTE};
    unsigned char *pointers[LIVE_COUNT(sizes)];
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        pointers[i] = fagus_get(sizes[i], FAGUS_BLOCK);
        require_same((uintptr_t)pointers[i]);
        require((uintptr_t)pointers[i] % PAGE == 0);
        for (size_t before = 0; before < i; before++) {
            require(pointers[i] + sizes[i] <= pointers[before] ||
                    pointers[before] + sizes[before] <= pointers[i]);
        }
        require(pointers[i][0] == 0 && pointers[i][sizes[i] - 1] == 0);
    }
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        fagus_expect(fagus_free(pointers[i]), 0);
    }
}

/* There is one copy, or each node has its own: then nothing comes by itself. */
static void memory_is_one_where_it_is_shared(void)
{
    uint64_t *words = fagus_get((size_t)me.size * sizeof *words, FAGUS_ROUND_ROBIN);
    words[me.rank] = 100 + (uint64_t)me.rank;
    fagus_expect(comm_sync(), 0);
    for (int rank = 0; rank < me.size; rank++) {
        bool seen = fagus_nodes_share() || rank == me.rank;
        require(words[rank] == (seen ? 100 + (uint64_t)rank : 0));
    }
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_free(words), 0);
}

static void freed_memory_is_zero_again(void)
{
    static const size_t sizes[] = {100, 3 * PAGE, 3 * MEGABYTE};
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        for (int round = 0; round < 3; round++) {
            unsigned char *pointer = fagus_get(sizes[i], round - 3);
            require(live_all_are(pointer, sizes[i], 0));
            fagus_expect(comm_sync(), 0);
            memset(pointer, 0xab, sizes[i]);
            fagus_expect(fagus_free(pointer), 0);
        }
    }
}

static void the_space_is_finite(void)
{
    void *pieces[64];
    size_t count = 0;
    int error = 0;
    while (count < LIVE_COUNT(pieces) &&
           (error = fagus_alloc(100 * MEGABYTE, FAGUS_BLOCK, &pieces[count])) == 0) {
        count++;
    }
    fagus_expect(error, FAGUS_ENOMEM);
    require(count >= 5);
    require_same(count);
    void *pointer = &count;
    fagus_expect(fagus_alloc(SIZE_MAX, FAGUS_BLOCK, &pointer), FAGUS_ENOMEM);
    fagus_expect(fagus_alloc(SIZE_MAX - 2 * PAGE, FAGUS_FIRST_TOUCH, &pointer), FAGUS_ENOMEM);
    require(pointer == &count);
    while (count > 0) {
        fagus_expect(fagus_free(pieces[--count]), 0);
    }
    fagus_expect(fagus_free(fagus_get(500 * MEGABYTE, FAGUS_BLOCK)), 0);
}

static void homes_follow_the_placement(void)
{
    size_t pages = (size_t)(4 * me.size + 1);
    unsigned char *turns = fagus_get(pages * PAGE, FAGUS_ROUND_ROBIN);
    unsigned char *blocks = fagus_get((size_t)(4 * me.size) * PAGE, FAGUS_BLOCK);
    unsigned char *given = fagus_get(pages * PAGE, me.size - 1);
    for (size_t page = 0; page < pages; page++) {
        require(fagus_home(turns + page * PAGE) == (int)page % me.size);
        require(fagus_home(turns + page * PAGE + PAGE - 1) == (int)page % me.size);
        require(page + 1 == pages || fagus_home(blocks + page * PAGE + 7) == (int)page / 4);
        require(fagus_home(given + page * PAGE) == me.size - 1);
    }
    fagus_expect(fagus_free(turns), 0);
    fagus_expect(fagus_free(blocks), 0);
    fagus_expect(fagus_free(given), 0);
    /* Fewer pages than nodes. */
    unsigned char *page = fagus_get(1, FAGUS_BLOCK);
    require(fagus_home(page) == 0);
    fagus_expect(fagus_free(page), 0);
}

static void the_first_who_asks_is_the_home(void)
{
    size_t pages = (size_t)(3 * me.size);
    unsigned char *memory = fagus_get(pages * PAGE, FAGUS_FIRST_TOUCH);
    require(fagus_home(memory + (size_t)live_neighbour(1) * PAGE + 5) == me.rank);
    fagus_expect(comm_sync(), 0);
    for (int rank = 0; rank < me.size; rank++) {
        int asker = (rank - 1 + me.size) % me.size;
        require(fagus_home(memory + (size_t)rank * PAGE) == asker);
    }
    /* All at once: one of them, the same for all. */
    for (size_t page = (size_t)me.size; page < pages; page++) {
        int home = fagus_home(memory + page * PAGE);
        require(home >= 0 && home < me.size);
        require(fagus_home(memory + page * PAGE) == home);
        require_same((uint64_t)home);
    }
    fagus_expect(fagus_free(memory), 0);
}

static void variables_are_distributed(void)
{
    static unsigned char variable[MEGABYTE + 3];
    static const size_t lengths[] = {1, 8, 1000, sizeof variable};
    for (size_t i = 0; i < LIVE_COUNT(lengths); i++) {
        live_fill(variable, sizeof variable, me.seed + i + 100 * (uint64_t)me.rank);
        unsigned char behind = lengths[i] < sizeof variable ? variable[lengths[i]] : 0;
        fagus_expect(fagus_distribute(variable, lengths[i]), 0);
        require(live_first_other(variable, lengths[i], me.seed + i) == lengths[i]);
        require(lengths[i] == sizeof variable || variable[lengths[i]] == behind);
    }
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void errors_have_sentences(void)
{
    for (int error = FAGUS_ESYSTEM; error <= 0; error++) {
        require(strncmp(fagus_strerror(error), "FAGUS_", 6) == 0);
    }
    require(strcmp(fagus_strerror(1), "unknown error code") == 0);
    require(strcmp(fagus_strerror(FAGUS_ESYSTEM - 1), "unknown error code") == 0);
}

static void bad_input_is_named(void)
{
    void *pointer = NULL;
    int local;
    fagus_expect(fagus_init(), FAGUS_ESTATE);
    fagus_expect(fagus_alloc(0, FAGUS_BLOCK, &pointer), FAGUS_EINVAL);
    fagus_expect(fagus_alloc(10, FAGUS_BLOCK, NULL), FAGUS_EINVAL);
    fagus_expect(fagus_alloc(10, me.size, &pointer), FAGUS_EINVAL);
    fagus_expect(fagus_alloc(10, -4, &pointer), FAGUS_EINVAL);
    require(pointer == NULL);
    fagus_expect(fagus_distribute(NULL, 10), FAGUS_EINVAL);
    fagus_expect(fagus_distribute(&local, 0), FAGUS_EINVAL);
    fagus_expect(fagus_free(NULL), FAGUS_ERANGE);
    fagus_expect(fagus_free(&local), FAGUS_ERANGE);
    unsigned char *memory = fagus_get(100, FAGUS_FIRST_TOUCH);
    fagus_expect(fagus_free(memory + 1), FAGUS_ERANGE);
    fagus_expect(fagus_home(memory + 100), FAGUS_ERANGE);
    fagus_expect(fagus_home(memory - 1), FAGUS_ERANGE);
    fagus_expect(fagus_home(&local), FAGUS_ERANGE);
    fagus_expect(fagus_home(NULL), FAGUS_ERANGE);
    require(fagus_home(memory + 99) >= 0);
    fagus_expect(fagus_free(memory), 0);
    fagus_expect(fagus_free(memory), FAGUS_ERANGE);
    fagus_expect(fagus_home(memory), FAGUS_ERANGE);
}

/* All nodes hear of it, and can go on. */
static void different_calls_are_refused(void)
{
    void *pointer = &pointer;
    bool first = me.rank == 0;
    uint64_t word = 0;
    struct fagus_flag *flag = NULL;
    void *memory = fagus_get(100, FAGUS_BLOCK);
    void *other = fagus_get(100, FAGUS_BLOCK);
    fagus_expect(fagus_alloc(first ? 100 : 101, FAGUS_BLOCK, &pointer), FAGUS_EMISMATCH);
    fagus_expect(fagus_alloc(100, first ? FAGUS_BLOCK : 0, &pointer), FAGUS_EMISMATCH);
    fagus_expect(fagus_alloc(first ? 0 : 100, 0, &pointer), first ? FAGUS_EINVAL : FAGUS_EMISMATCH);
    fagus_expect(fagus_free(first ? memory : other), FAGUS_EMISMATCH);
    fagus_expect(fagus_free(first ? &first : memory), first ? FAGUS_ERANGE : FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_free(memory) : fagus_alloc(100, 0, &pointer), FAGUS_EMISMATCH);
    fagus_expect(fagus_distribute(&word, first ? 8 : 4), FAGUS_EMISMATCH);
    fagus_expect(fagus_flag_create(&flag, first ? 0 : 1), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_flag_create(&flag, 0) : fagus_distribute(&word, 8), FAGUS_EMISMATCH);
    fagus_expect(fagus_flag_create(&flag, first ? 0 : me.size),
                 first ? FAGUS_EMISMATCH : FAGUS_EINVAL);
    fagus_expect(first ? fagus_finalize() : fagus_distribute(&word, 8), FAGUS_EMISMATCH);
    require(pointer == &pointer && flag == NULL);
    fagus_expect(fagus_free(memory), 0);
    fagus_expect(fagus_free(other), 0);
}

static void a_forked_child_may_not_call(void)
{
    unsigned char *memory = fagus_get(100, 0);
    struct fagus_flag *flag;
    fagus_expect(fagus_flag_create(&flag, 0), 0);
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        void *pointer;
        int wrong = fagus_rank() != FAGUS_ESTATE || fagus_size() != FAGUS_ESTATE ||
                    fagus_alloc(10, 0, &pointer) != FAGUS_ESTATE ||
                    fagus_free(memory) != FAGUS_ESTATE || fagus_home(memory) != FAGUS_ESTATE ||
                    fagus_flag_set(flag, 1) != FAGUS_ESTATE || comm_sync() != FAGUS_ESTATE ||
                    dimmnet_sendto(0, "x", 1) != -1 || errno != ENOTCONN ||
                    fagus_finalize() != FAGUS_ESTATE;
        _exit(wrong);
    }
    int status;
    require(waitpid(child, &status, 0) == child);
    require(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fagus_expect(fagus_flag_free(flag), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Flags and threads --------------------------------------------------------------------- */

static struct fagus_flag *flag_at(int node)
{
    struct fagus_flag *flag = NULL;
    fagus_expect(fagus_flag_create(&flag, node), 0);
    return flag;
}

static void flags_pass_round(void)
{
    enum { ROUNDS = 200 };
    struct fagus_flag **flags = calloc((size_t)me.size, sizeof *flags);
    require(flags != NULL);
    for (int node = 0; node < me.size; node++) {
        flags[node] = flag_at(node);
    }
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me.rank == 0) {
            fagus_expect(fagus_flag_set(flags[live_neighbour(1)], round), 0);
        }
        fagus_expect(fagus_flag_wait(flags[me.rank], round, LIVE_PATIENCE_NS), 0);
        if (me.rank != 0) {
            fagus_expect(fagus_flag_set(flags[live_neighbour(1)], round), 0);
        }
    }
    for (int node = 0; node < me.size; node++) {
        fagus_expect(fagus_flag_free(flags[node]), 0);
    }
    free(flags);
}

/* The last of a thread's stores and adds stays. */
static void flags_keep_a_threads_order(void)
{
    struct fagus_flag *flag = flag_at(me.size - 1);
    for (uint64_t round = 1; round <= 200 && me.rank == 0; round++) {
        uint64_t value = 0;
        fagus_expect(fagus_flag_set(flag, 10 * round), 0);
        fagus_expect(fagus_flag_set(flag, 20 * round), 0);
        fagus_expect(fagus_flag_add(flag, 1, &value), 0);
        require(value == 20 * round);
        fagus_expect(fagus_flag_read(flag, &value), 0);
        require(value == 20 * round + 1);
    }
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(flag), 0);
}

static void flags_are_waited_for_by_everybody(void)
{
    for (int node = 0; node < me.size; node++) {
        struct fagus_flag *flag = flag_at(node);
        if (me.rank == (node + 1) % me.size) {
            live_sleep_ns(3 * LIVE_MS);
            fagus_expect(fagus_flag_set(flag, UINT64_MAX), 0);
        }
        fagus_expect(fagus_flag_wait(flag, 1, FAGUS_FOREVER), 0);
        uint64_t value = 0;
        fagus_expect(fagus_flag_read(flag, &value), 0);
        require(value == UINT64_MAX);
        fagus_expect(comm_sync(), 0);
        fagus_expect(fagus_flag_free(flag), 0);
    }
}

static void flag_waits_end_in_time(void)
{
    struct fagus_flag *flag = flag_at(0);
    fagus_expect(fagus_flag_wait(flag, 0, 0), 0);
    fagus_expect(fagus_flag_wait(flag, 1, 0), FAGUS_ETIMEOUT);
    uint64_t before_ns = live_now_ns();
    fagus_expect(fagus_flag_wait(flag, 1, 5 * LIVE_MS), FAGUS_ETIMEOUT);
    require(live_now_ns() - before_ns >= 5 * LIVE_MS);
    fagus_expect(fagus_flag_free(flag), 0);
}

static void flag_mistakes_are_named(void)
{
    uint64_t value;
    struct fagus_flag *flag = flag_at(0);
    fagus_expect(fagus_flag_read(flag, NULL), FAGUS_EINVAL);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(flag), 0);
    fagus_expect(fagus_flag_free(flag), FAGUS_EINVAL);
    fagus_expect(fagus_flag_set(flag, 1), FAGUS_EINVAL);
    fagus_expect(fagus_flag_add(flag, 1, NULL), FAGUS_EINVAL);
    fagus_expect(fagus_flag_read(flag, &value), FAGUS_EINVAL);
    fagus_expect(fagus_flag_wait(flag, 0, 0), FAGUS_EINVAL);
    fagus_expect(fagus_flag_set(NULL, 1), FAGUS_EINVAL);
    fagus_expect(fagus_flag_free(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_flag_create(NULL, 0), FAGUS_EINVAL);
    fagus_expect(fagus_flag_create(&flag, -1), FAGUS_EINVAL);
    /* The next one may have the same handle, and starts as 0. */
    struct fagus_flag *next = flag_at(0);
    fagus_expect(fagus_flag_read(next, &value), 0);
    require(value == 0);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(next), 0);
}

enum { THREADS = 4, ADDS = 250 };

static void *add_often(void *argument)
{
    struct fagus_flag *flag = argument;
    for (int i = 0; i < ADDS; i++) {
        fagus_expect(fagus_flag_add(flag, 1, NULL), 0);
    }
    return argument;
}

static void threads_of_both_kinds_add_up(void)
{
    struct fagus_flag *flag = flag_at(me.size - 1);
    struct fagus_thread *threads[THREADS];
    pthread_t plain[THREADS];
    for (int i = 0; i < THREADS; i++) {
        fagus_expect(fagus_thread_create(&threads[i], add_often, flag), 0);
        live_thread_start(&plain[i], add_often, flag);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        fagus_expect(fagus_thread_join(threads[i], i % 2 ? &result : NULL), 0);
        require(i % 2 == 0 || result == flag);
        live_thread_join(plain[i]);
    }
    uint64_t all = (uint64_t)me.size * 2 * THREADS * ADDS;
    fagus_expect(fagus_flag_wait(flag, all, LIVE_PATIENCE_NS), 0);
    fagus_expect(comm_sync(), 0);
    uint64_t value = 0;
    fagus_expect(fagus_flag_read(flag, &value), 0);
    require(value == all);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(flag), 0);
}

static void *wait_at(void *argument)
{
    fagus_expect(fagus_flag_wait(argument, 1, LIVE_PATIENCE_NS), 0);
    return NULL;
}

static void threads_wait_together(void)
{
    struct fagus_flag *flag = flag_at(0);
    struct fagus_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        fagus_expect(fagus_thread_create(&threads[i], wait_at, flag), 0);
    }
    live_sleep_ns(2 * LIVE_MS);
    if (me.rank == me.size - 1) {
        fagus_expect(fagus_flag_set(flag, 1), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        fagus_expect(fagus_thread_join(threads[i], NULL), 0);
    }
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(flag), 0);
}

static void *join_itself(void *argument)
{
    fagus_expect(fagus_flag_wait(argument, 1, LIVE_PATIENCE_NS), 0);
    return NULL;
}

static void thread_mistakes_are_named(void)
{
    struct fagus_flag *flag = flag_at(0);
    struct fagus_thread *thread = NULL;
    fagus_expect(fagus_thread_create(NULL, join_itself, flag), FAGUS_EINVAL);
    fagus_expect(fagus_thread_create(&thread, NULL, flag), FAGUS_EINVAL);
    fagus_expect(fagus_thread_join(NULL, NULL), FAGUS_EINVAL);
    fagus_expect(fagus_thread_create(&thread, join_itself, flag), 0);
    fagus_expect(fagus_flag_set(flag, 1), 0);
    fagus_expect(fagus_thread_join(thread, NULL), 0);
    fagus_expect(fagus_thread_join(thread, NULL), FAGUS_EINVAL);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_flag_free(flag), 0);
}

/* No node leaves before all have come. */
static void comm_sync_waits_for_all(void)
{
    struct fagus_flag *flag = flag_at(0);
    uint64_t value;
    for (uint64_t round = 1; round <= 100; round++) {
        fagus_expect(fagus_flag_add(flag, 1, NULL), 0);
        fagus_expect(comm_sync(), 0);
        fagus_expect(fagus_flag_read(flag, &value), 0);
        require(value == round * (uint64_t)me.size);
        fagus_expect(comm_sync(), 0);
    }
    fagus_expect(fagus_flag_free(flag), 0);
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, addresses_are_the_same_everywhere),
    LIVE_CHECK(1, memory_is_one_where_it_is_shared),
    LIVE_CHECK(1, freed_memory_is_zero_again),
    LIVE_CHECK(1, the_space_is_finite),
    LIVE_CHECK(1, homes_follow_the_placement),
    LIVE_CHECK(1, the_first_who_asks_is_the_home),
    LIVE_CHECK(1, variables_are_distributed),
    LIVE_CHECK(1, errors_have_sentences),
    LIVE_CHECK(1, bad_input_is_named),
    LIVE_CHECK(2, different_calls_are_refused),
    LIVE_CHECK(1, a_forked_child_may_not_call),
    LIVE_CHECK(1, flags_pass_round),
    LIVE_CHECK(1, flags_keep_a_threads_order),
    LIVE_CHECK(1, flags_are_waited_for_by_everybody),
    LIVE_CHECK(1, flag_waits_end_in_time),
    LIVE_CHECK(1, flag_mistakes_are_named),
    LIVE_CHECK(1, threads_of_both_kinds_add_up),
    LIVE_CHECK(1, threads_wait_together),
    LIVE_CHECK(1, thread_mistakes_are_named),
    LIVE_CHECK(1, comm_sync_waits_for_all),
};

/* ---- Programs for the script ---------------------------------------------------------------- */

/* Calls before and after, and a process that starts once more by itself. */
static void come_and_go(void)
{
    void *pointer;
    for (int round = 0; round < 3; round++) {
        fagus_expect(fagus_rank(), FAGUS_ESTATE);
        fagus_expect(fagus_size(), FAGUS_ESTATE);
        fagus_expect(fagus_alloc(10, 0, &pointer), FAGUS_ESTATE);
        fagus_expect(fagus_distribute(&round, sizeof round), FAGUS_ESTATE);
        fagus_expect(fagus_finalize(), FAGUS_ESTATE);
        fagus_expect(comm_sync(), FAGUS_ESTATE);
        fagus_expect(dimmnet_detect_thread(1), FAGUS_ESTATE);
        if (round == 1 && getenv("DIMMNET_RANK")) {
            fagus_expect(fagus_init(), FAGUS_ESTATE); /* a rank cannot come back */
            break;
        }
        fagus_begin();
        struct fagus_flag *flag = flag_at(0);
        unsigned char *memory = fagus_get(3 * MEGABYTE, 0);
        require(live_all_are(memory, 3 * MEGABYTE, 0));
        fagus_expect(comm_sync(), 0);
        memset(memory, 1, 3 * MEGABYTE);
        fagus_expect(dimmnet_detect_thread(1), 0);
        fagus_expect(fagus_finalize(), 0);
        fagus_expect(fagus_flag_set(flag, 1), FAGUS_ESTATE);
    }
    (void)dprintf(STDOUT_FILENO, "well\n");
}

/* Both ends of a terabyte, and hardly any memory. */
static void reserve_a_terabyte(void)
{
    const size_t bytes = (size_t)1 << 40;
    fagus_begin();
    for (int round = 0; round < 2; round++) {
        unsigned char *memory = fagus_get(bytes, FAGUS_ROUND_ROBIN);
        require(memory[0] == 0 && memory[bytes - 1] == 0);
        fagus_expect(comm_sync(), 0);
        memory[0] = 1;
        memory[bytes - 1] = 2;
        require(fagus_home(memory + bytes - 1) == (int)((bytes / PAGE - 1) % (size_t)me.size));
        fagus_expect(comm_sync(), 0);
        require(memory[0] == 1 && memory[bytes - 1] == 2);
        fagus_expect(fagus_free(memory), 0);
    }
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long resident;
    require(file && fscanf(file, "%*u %lu", &resident) == 1);
    (void)fclose(file);
    require_else(resident < 50000, "%lu pages are resident", resident);
    fagus_expect(fagus_finalize(), 0);
    (void)dprintf(STDOUT_FILENO, "well\n");
}

/* Prints what fagus_init says. */
static void start(void)
{
    (void)dprintf(STDOUT_FILENO, "%.15s\n", fagus_strerror(fagus_init()));
}

/* The last node dies. Each waiter hears of it once, and the others go on among themselves. */
static void outlive_a_node(void)
{
    char letter;
    int sender = -1;
    void *pointer;
    fagus_begin();
    struct fagus_flag *here = flag_at(0);
    struct fagus_flag *there = flag_at(me.size - 1);
    struct fagus_flag *last = flag_at(1);
    if (me.rank == me.size - 1) {
        fagus_expect(fagus_flag_wait(here, (uint64_t)me.size - 1, LIVE_PATIENCE_NS), 0);
        (void)raise(SIGKILL);
    }
    fagus_expect(fagus_flag_add(here, 1, NULL), 0);
    fagus_expect(fagus_flag_wait(here, 100, FAGUS_FOREVER), FAGUS_EPEER);
    fagus_expect(fagus_flag_wait(here, 100, 2 * LIVE_MS), FAGUS_ETIMEOUT);
    fagus_expect(fagus_flag_set(there, 1), FAGUS_EPEER);
    fagus_expect(fagus_flag_wait(there, 1, FAGUS_FOREVER), FAGUS_EPEER);
    if (me.rank == 1) {
        require(dimmnet_sendto(0, "x", 1) == 1);
        require(dimmnet_recvfrom(&letter, 1, &sender, LIVE_PATIENCE_NS) == 1 && sender == 0);
        require(dimmnet_sendto(me.size - 1, "x", 1) == -1 && errno == ECONNRESET);
        fagus_expect(fagus_flag_set(here, 100), 0);
        fagus_expect(fagus_flag_wait(last, 1, LIVE_PATIENCE_NS), 0);
    } else if (me.rank == 0) {
        require(dimmnet_recvfrom(&letter, 1, &sender, LIVE_PATIENCE_NS) == 1 && sender == 1);
        require(dimmnet_sendto(1, "y", 1) == 1);
        fagus_expect(fagus_flag_wait(here, 100, LIVE_PATIENCE_NS), 0);
        fagus_expect(fagus_flag_set(last, 1), 0);
    }
    fagus_expect(fagus_alloc(10, 0, &pointer), FAGUS_EPEER);
    fagus_expect(comm_sync(), FAGUS_EPEER);
    fagus_expect(fagus_finalize(), FAGUS_EPEER);
    fagus_expect(fagus_finalize(), FAGUS_ESTATE);
    (void)dprintf(STDOUT_FILENO, "survived\n");
}

/* Makes two variables and uses one; the script reads what FAGUS_STATS says about them. */
static void use_a_variable(void)
{
    struct fagus_sync *hot;
    struct fagus_sync *cold;
    fagus_begin();
    uint64_t *word = fagus_get(sizeof *word, 0);
    fagus_expect(fagus_sync_create(&cold), 0);
    fagus_expect(fagus_sync_name(cold, "cold"), 0);
    fagus_expect(fagus_sync_create(&hot), 0);
    fagus_expect(fagus_sync_name(hot, "hot"), 0);
    fagus_expect(fagus_bind(hot, word, sizeof *word), 0);
    for (int i = 0; i < 10; i++) {
        fagus_expect(fagus_acquire(hot, FAGUS_WRITE), 0);
        ++*word;
        fagus_expect(fagus_release(hot), 0);
    }
    fagus_expect(fagus_finalize(), 0);
    (void)dprintf(STDOUT_FILENO, "well\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        void (*run)(void);
    } programs[] = {
        {"--end", come_and_go},      {"--terabyte", reserve_a_terabyte}, {"--start", start},
        {"--death", outlive_a_node}, {"--stats", use_a_variable},
    };
    for (size_t i = 0; i < LIVE_COUNT(programs) && argc > 1; i++) {
        if (strcmp(argv[1], programs[i].word) == 0) {
            programs[i].run();
            return 0;
        }
    }
    return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
}
