/* The inside of OpenSHMEM's one-sided calls: both segments at any load address, contexts of threads
 * and of teams, sleepers that are woken, locks of threads and in masses, memory. With --mistake it
 * makes one mistake, and must end with a sentence, or with a status. */
#include "shmem_spec.h"

#include <signal.h>
#include <sys/wait.h>

enum { WORDS = 512, LONG_BYTES = 1 << 20 };

/* Initialised, zero, large, and static in a function below. */
static uint64_t words[WORDS];
static int marks[3] = {1, -2, 3};
static unsigned char large[LONG_BYTES];
static long lock_word;
static uint64_t *heap_words;
static unsigned char *heap_large;

static uint64_t *words_of(int segment)
{
    return segment == 0 ? heap_words : words;
}

static void clear(void)
{
    memset(words, 0, sizeof words);
    memset(heap_words, 0, sizeof words);
    shmem_barrier_all();
}

/* ---- Addresses ------------------------------------------------------------------------ */

static uint64_t *function_static(void)
{
    static uint64_t word;
    return &word;
}

static void initialised_statics_keep_their_values(void)
{
    require(marks[0] == 1 && marks[1] == -2 && marks[2] == 3);
    for (int pe = 0; pe < me.size; pe++) {
        require(shmem_int_g(&marks[1], pe) == -2);
    }
    shmem_barrier_all();
    shmem_int_p(&marks[1], 100 + me.rank, live_neighbour(1));
    shmem_barrier_all();
    require(marks[1] == 100 + live_neighbour(-1));
    shmem_barrier_all();
    marks[1] = -2;
}

static void function_statics_are_symmetric(void)
{
    shmem_uint64_p(function_static(), 7 + (uint64_t)me.rank, live_neighbour(1));
    shmem_barrier_all();
    require(*function_static() == 7 + (uint64_t)live_neighbour(-1));
}

static void what_is_accessible(void)
{
    int local;
    require(shmem_pe_accessible(0) && shmem_pe_accessible(me.size - 1));
    require(!shmem_pe_accessible(me.size) && !shmem_pe_accessible(-1));
    require(shmem_addr_accessible(words, me.size - 1) && shmem_addr_accessible(heap_words, 0));
    require(!shmem_addr_accessible(&local, 0) && !shmem_addr_accessible(words, me.size));
    require(!shmem_addr_accessible(NULL, 0));
}

static void pointers_reach_both_segments(void)
{
    clear();
    for (int segment = 0; segment < 2; segment++) {
        uint64_t *mine = words_of(segment);
        uint64_t *theirs = shmem_ptr(mine, live_neighbour(1));
        bool none = live_is_relaxed() || (live_shares_nothing() && me.size > 1);
        require((theirs == NULL) == none);
        require(live_is_relaxed() || shmem_ptr(mine, me.rank) == mine);
        if (theirs) {
            theirs[3] = 50 + (uint64_t)me.rank;
        }
        shmem_barrier_all();
        require(!theirs || mine[3] == 50 + (uint64_t)live_neighbour(-1));
    }
    require(!shmem_ptr(&(int){0}, 0) && !shmem_ptr(words, me.size));
}

/* ---- Transfers -------------------------------------------------------------------------- */

/* All lengths around those of words that take one store, and long ones, from and to any
 * alignment. */
static void blocks_of_all_lengths(void)
{
    static unsigned char source[LONG_BYTES + 64];
    static unsigned char copy[LONG_BYTES + 64];
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 464, 4096, 65537};
    int to = live_neighbour(1);
    live_fill(source, sizeof source, (uint64_t)me.rank);
    for (size_t i = 0; i < LIVE_COUNT(lengths); i++) {
        size_t bytes = lengths[i];
        size_t shift = i % 9;
        unsigned char *target = i % 2 ? large : heap_large;
        memset(target, 0xee, bytes + 64);
        shmem_barrier_all();
        if (i % 3 == 0) {
            shmem_putmem_nbi(target + shift, source, bytes, to);
        } else {
            shmem_putmem(target + shift, source, bytes, to);
        }
        shmem_quiet();
        memset(copy, 0, bytes + 1);
        shmem_getmem(copy, target + shift, bytes, to);
        require(memcmp(copy, source, bytes) == 0 && copy[bytes] == 0);
        shmem_barrier_all();
        require(live_first_other(target + shift, bytes, (uint64_t)live_neighbour(-1)) == bytes);
        require(live_all_are(target, shift, 0xee) && target[shift + bytes] == 0xee);
    }
}

static void fences_order_puts(void)
{
    enum { ROUNDS = 300 };
    clear();
    int to = live_neighbour(1);
    for (int segment = 0; segment < 2; segment++) {
        uint64_t *mine = words_of(segment);
        for (uint64_t round = 1; round <= ROUNDS; round++) {
            uint64_t source[64];
            for (int i = 0; i < 64; i++) {
                source[i] = round;
            }
            shmem_uint64_put_nbi(mine + 64, source, 64, to);
            shmem_fence();
            shmem_uint64_p(mine, round, to);
            shmem_uint64_wait_until(mine, SHMEM_CMP_GE, round);
            for (int i = 0; i < 64; i++) {
                require(mine[64 + i] >= round);
            }
            /* The source of a non-blocking put belongs to us again, and its target has been
             * read. */
            shmem_barrier_all();
        }
    }
}

static void signals_come_after_their_bodies(void)
{
    enum { ROUNDS = 300 };
    clear();
    int to = live_neighbour(1);
    uint64_t *body = heap_words + 64;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t source[32];
        for (int i = 0; i < 32; i++) {
            source[i] = round;
        }
        bool adds = round % 2 == 0;
        shmem_uint64_put_signal(body, source, 32, &words[1], adds ? 1 : round,
                                adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, to);
        require(shmem_signal_wait_until(&words[1], SHMEM_CMP_GE, round) == round);
        require(shmem_signal_fetch(&words[1]) == round);
        for (int i = 0; i < 32; i++) {
            require(body[i] == round);
        }
        shmem_barrier_all();
    }
}

static void atomics_of_all_pes_add_up(void)
{
    enum { ROUNDS = 500 };
    clear();
    for (int i = 0; i < ROUNDS; i++) {
        for (int segment = 0; segment < 2; segment++) {
            uint64_t *word = words_of(segment);
            shmem_uint64_atomic_inc(word, 0);
            (void)shmem_uint64_atomic_fetch_add(word + 1, 2, me.size - 1);
            shmem_uint32_atomic_xor((uint32_t *)(void *)(word + 2), 1, 0);
            uint64_t old = shmem_uint64_atomic_fetch(word + 3, 0);
            while (true) {
                uint64_t found = shmem_uint64_atomic_compare_swap(word + 3, old, old + 1, 0);
                if (found == old) {
                    break;
                }
                old = found;
            }
        }
    }
    shmem_barrier_all();
    uint64_t total = (uint64_t)ROUNDS * (uint64_t)me.size;
    for (int segment = 0; segment < 2; segment++) {
        uint64_t *word = words_of(segment);
        require(shmem_uint64_g(word, 0) == total);
        require(shmem_uint64_g(word + 1, me.size - 1) == 2 * total);
        require(shmem_uint64_g(word + 2, 0) == total % 2);
        require(shmem_uint64_g(word + 3, 0) == total);
    }
}

/* ---- Waiting ------------------------------------------------------------------------------ */

/* Waits long enough to fall asleep; any store to any place must wake it. */
static void sleepers_are_woken(void)
{
    clear();
    int to = live_neighbour(1);
    for (uint64_t round = 1; round <= 8; round++) {
        uint64_t *word = words_of((int)(round % 2)) + 8;
        shmem_barrier_all();
        if (me.rank == 0) {
            live_sleep_ns(20 * LIVE_MS);
        } else {
            shmem_uint64_wait_until(word, SHMEM_CMP_EQ, round);
        }
        switch (round / 2 % 4) {
        case 0: shmem_uint64_p(word, round, to); break;
        case 1: shmem_uint64_atomic_set(word, round, to); break;
        case 2: shmem_uint64_put(word, &round, 1, to); break;
        default:
            shmem_putmem_signal(large, &round, sizeof round, word, round, SHMEM_SIGNAL_SET, to);
        }
        shmem_uint64_wait_until(word, SHMEM_CMP_EQ, round);
    }
}

static void forms_of_waiting(void)
{
    static int status[8];
    size_t indices[8];
    clear();
    memset(status, 0, sizeof status);
    status[5] = 1;
    int *ivars = (int *)(void *)heap_words;
    for (int i = 0; i < 8; i++) {
        require(shmem_int_test_any(ivars, 8, status, SHMEM_CMP_NE, 0) == SIZE_MAX);
        require(shmem_int_test_some(ivars, 8, indices, status, SHMEM_CMP_NE, 0) == 0);
        shmem_barrier_all();
        shmem_int_atomic_set(&ivars[i], -1 - i, live_neighbour(1));
        if (i == 5) {
            shmem_int_wait_until(&ivars[5], SHMEM_CMP_EQ, -6);
            shmem_barrier_all();
            ivars[5] = 0;
            shmem_barrier_all();
            continue;
        }
        require(shmem_int_wait_until_any(ivars, 8, status, SHMEM_CMP_LT, 0) == (size_t)i);
        require(shmem_int_wait_until_some(ivars, 8, indices, status, SHMEM_CMP_LT, 0) == 1);
        require(indices[0] == (size_t)i);
        status[i] = 1;
    }
    require(shmem_int_wait_until_any(ivars, 8, status, SHMEM_CMP_LT, 0) == SIZE_MAX);
    int wanted[8] = {-1, -2, -3, -4, -5, 0, -7, -8};
    require(shmem_int_test_all_vector(ivars, 8, NULL, SHMEM_CMP_EQ, wanted) == 1);
    shmem_int_wait_until_all_vector(ivars, 8, NULL, SHMEM_CMP_GE, wanted);
}

/* No word that holds is passed over for ever. */
static void any_is_fair(void)
{
    clear();
    bool seen[8] = {false};
    for (int i = 0; i < 8; i++) {
        heap_words[i] = 1;
    }
    for (int i = 0; i < 8; i++) {
        seen[shmem_uint64_wait_until_any(heap_words, 8, NULL, SHMEM_CMP_EQ, 1)] = true;
    }
    for (int i = 0; i < 8; i++) {
        require(seen[i]);
    }
}

static void comparisons_at_the_edges(void)
{
    static short small;
    static unsigned int natural;
    static long long wide;
    small = -32768;
    natural = UINT32_MAX;
    wide = INT64_MIN;
    require(shmem_short_test(&small, SHMEM_CMP_LE, -32768));
    require(shmem_short_test(&small, SHMEM_CMP_LT, 32767));
    require(!shmem_short_test(&small, SHMEM_CMP_LT, -32768));
    require(!shmem_short_test(&small, SHMEM_CMP_GT, 0));
    require(shmem_uint_test(&natural, SHMEM_CMP_GT, 0));
    require(!shmem_uint_test(&natural, SHMEM_CMP_GT, UINT32_MAX));
    require(shmem_uint_test(&natural, SHMEM_CMP_NE, 0));
    require(!shmem_uint_test(&natural, SHMEM_CMP_NE, UINT32_MAX));
    require(shmem_longlong_test(&wide, SHMEM_CMP_LT, -1) && !shmem_longlong_test(&wide, 2, -1));
    require(shmem_longlong_test_all(&wide, 1, NULL, SHMEM_CMP_LE, INT64_MIN));
    require(shmem_uint_test_any(&natural, 1, NULL, SHMEM_CMP_GE, UINT32_MAX) == 0);
}

/* ---- Contexts and threads ------------------------------------------------------------------ */

enum { THREADS = 3, THREAD_ROUNDS = 200 };

/* Each thread has words of its own at the next PE and sends on a context of its own. */
static void *send_on_own_context(void *argument)
{
    size_t thread = *(const size_t *)argument;
    shmem_ctx_t context;
    require(shmem_ctx_create(thread % 2 ? SHMEM_CTX_PRIVATE : 0, &context) == 0);
    uint64_t *body = words_of((int)(thread % 2)) + 16 + thread * 16;
    for (uint64_t round = 1; round <= THREAD_ROUNDS; round++) {
        uint64_t source[8] = {round, round, round, round, round, round, round, round};
        shmem_ctx_uint64_put_nbi(context, body + 8, source, 8, live_neighbour(1));
        shmem_ctx_quiet(context);
        shmem_ctx_uint64_p(context, body, round, live_neighbour(1));
        shmem_ctx_uint64_atomic_add(context, heap_words, 1, 0);
        shmem_uint64_wait_until(body, SHMEM_CMP_GE, round);
        require(body[8] >= round && body[15] >= round);
    }
    shmem_ctx_destroy(context);
    return NULL;
}

static void threads_have_contexts(void)
{
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    clear();
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        live_thread_start(&threads[i], send_on_own_context, &numbers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        live_thread_join(threads[i]);
    }
    shmem_barrier_all();
    require(shmem_uint64_g(heap_words, 0) == (uint64_t)THREADS * THREAD_ROUNDS * (uint64_t)me.size);
}

static void contexts_number_by_team(void)
{
    shmem_team_t odd_or_even = SHMEM_TEAM_INVALID;
    shmem_team_t found;
    shmem_ctx_t context;
    clear();
    int count = (me.size + 1 - me.rank % 2) / 2;
    for (int parity = 0; parity < 2 && parity < me.size; parity++) {
        shmem_team_t team;
        int size = (me.size + 1 - parity) / 2;
        (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, 2, size, NULL, 0, &team);
        odd_or_even = me.rank % 2 == parity ? team : odd_or_even;
    }
    require(shmem_team_create_ctx(odd_or_even, 0, &context) == 0);
    require(shmem_ctx_get_team(context, &found) == 0 && found == odd_or_even);
    for (int i = 0; i < count; i++) {
        shmem_ctx_uint64_atomic_add(context, words, (uint64_t)i + 1, i);
    }
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    require(words[0] == (uint64_t)count * ((uint64_t)(me.rank / 2) + 1));
    shmem_ctx_destroy(context);
    shmem_team_destroy(odd_or_even);
    require(shmem_ctx_get_team(SHMEM_CTX_INVALID, &found) != 0 && found == SHMEM_TEAM_INVALID);
    require(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &found) == 0 && found == SHMEM_TEAM_WORLD);
    require(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context) != 0);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

/* ---- Locks ----------------------------------------------------------------------------------- */

enum { LOCK_ROUNDS = 100 };

/* Not atomic on purpose: the lock keeps the two steps together. */
static void raise_under_lock(void)
{
    shmem_set_lock(&lock_word);
    uint64_t value = shmem_uint64_g(heap_words, 0);
    shmem_uint64_p(heap_words, value + 1, 0);
    shmem_clear_lock(&lock_word);
}

static void *raise_many_times(void *unused)
{
    for (int i = 0; i < LOCK_ROUNDS; i++) {
        raise_under_lock();
    }
    return unused;
}

static void locks_exclude_threads_and_pes(void)
{
    pthread_t thread;
    clear();
    live_thread_start(&thread, raise_many_times, NULL);
    (void)raise_many_times(NULL);
    live_thread_join(thread);
    shmem_barrier_all();
    require(shmem_uint64_g(heap_words, 0) == 2u * LOCK_ROUNDS * (uint64_t)me.size);
}

static void locks_are_tried(void)
{
    shmem_barrier_all();
    if (me.rank == 0) {
        require(shmem_test_lock(&lock_word) == 0);
    }
    shmem_barrier_all();
    require(shmem_test_lock(&lock_word) == 1);
    shmem_barrier_all();
    if (me.rank == 0) {
        shmem_clear_lock(&lock_word);
    }
    shmem_barrier_all();
    while (shmem_test_lock(&lock_word) != 0) {
    }
    shmem_clear_lock(&lock_word);
}

/* More locks than a PE has handles for. */
static void locks_in_masses(void)
{
    enum { LOCKS = 70000 };
    long *locks = shmem_calloc(LOCKS, sizeof *locks);
    require(locks != NULL);
    for (size_t i = (size_t)me.rank; i < LOCKS; i += (size_t)me.size) {
        shmem_set_lock(&locks[i]);
        shmem_clear_lock(&locks[i]);
    }
    shmem_barrier_all();
    for (size_t i = 0; i < LOCKS; i += 1000) {
        shmem_set_lock(&locks[i]);
        shmem_clear_lock(&locks[i]);
    }
    shmem_free(locks);
}

/* ---- Children -------------------------------------------------------------------------------- */

static int status_of(pid_t child)
{
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A child has the variables as they were; its end is not the PE's, and it may not make calls. */
static void forked_children_are_no_pes(void)
{
    clear();
    words[0] = 5;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        exit(words[0]++ == 5 ? 0 : 9);
    }
    require(status_of(child) == 0 && words[0] == 5);
    child = fork();
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr);
        shmem_uint64_p(words, 1, me.rank);
        exit(0);
    }
    require(status_of(child) == 1 && words[0] == 5);
    shmem_barrier_all();
    shmem_uint64_p(words, 6, live_neighbour(1));
    shmem_barrier_all();
    require(words[0] == 6);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void allocations(void)
{
    require(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL);
    require(shmem_calloc(SIZE_MAX / 2, 8) == NULL && shmem_align(24, 8) == NULL);
    require(shmem_malloc((size_t)1 << 45) == NULL);
    shmem_free(NULL);
    for (size_t alignment = 8; alignment <= (size_t)2 << 20; alignment *= 4) {
        void *aligned = shmem_align(alignment, 100);
        require(aligned && (uintptr_t)aligned % alignment == 0);
        shmem_free(aligned);
    }
    unsigned char *zeros = shmem_malloc(5000);
    memset(zeros, 0xff, 5000);
    shmem_free(zeros);
    zeros = shmem_calloc(5000, 1);
    require(zeros && live_all_are(zeros, 5000, 0));
    shmem_free(zeros);
    require(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
    shmem_free(shmem_malloc_with_hints(64, SHMEM_MALLOC_SIGNAL_REMOTE));
}

static void reallocations_keep_content(void)
{
    unsigned char *memory = shmem_realloc(NULL, 1000);
    static const size_t sizes[] = {1001, 5000, 100000, 99000, 2000, 100, 64, 500000};
    size_t kept = 1000;
    live_fill(memory, 1000, (uint64_t)me.rank);
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        memory = shmem_realloc(memory, sizes[i]);
        require(memory != NULL);
        kept = sizes[i] < kept ? sizes[i] : kept;
        require(live_first_other(memory, kept, (uint64_t)me.rank) == kept);
        /* Symmetric still. */
        unsigned char first;
        shmem_getmem(&first, memory, 1, live_neighbour(1));
        uint64_t word = live_mix((uint64_t)live_neighbour(1));
        require(first == (unsigned char)word);
        shmem_barrier_all();
    }
    require(shmem_realloc(memory, (size_t)1 << 45) == NULL);
    require(live_first_other(memory, kept, (uint64_t)me.rank) == kept);
    require(shmem_realloc(memory, 0) == NULL);
}

/* ---- Mistakes ----------------------------------------------------------------------------- */

static void *exit_soon(void *status)
{
    live_sleep_ns(30 * LIVE_MS);
    shmem_global_exit(*(int *)status);
}

static void die(bool dies)
{
    if (dies) {
        /* While others put without end, virtual time passes slowly. */
        live_sleep_ns(live_is_virtual() ? LIVE_MS : 30 * LIVE_MS);
        (void)raise(SIGKILL);
    }
}

static void end_in_a_way(const char *way)
{
    static int status;
    bool last = me.rank == me.size - 1;
    pthread_t thread;
    if (strncmp(way, "exit-", 5) == 0) {
        status = atoi(strrchr(way, '-') + 1);
        if (last && strncmp(way, "exit-thread", 11) == 0) {
            live_thread_start(&thread, exit_soon, &status);
        } else if (last) {
            (void)printf("flushed");
            shmem_global_exit(status);
        }
        shmem_uint64_wait_until(words, SHMEM_CMP_EQ, 1);
    } else if (strcmp(way, "dies-waited-for") == 0) {
        die(last);
        shmem_uint64_wait_until(words, SHMEM_CMP_EQ, 1);
    } else if (strcmp(way, "dies-written-to") == 0) {
        die(last);
        while (true) {
            shmem_uint64_p(words, 0, me.size - 1);
        }
    } else if (strcmp(way, "dies-with-lock") == 0) {
        if (last) {
            shmem_set_lock(&lock_word);
        }
        shmem_barrier_all();
        shmem_uint64_atomic_set(words, 1, me.rank);
        /* A PE that is still in the barrier would report the death, not the lock. */
        for (int pe = 0; last && pe < me.size; pe++) {
            while (shmem_uint64_g(words, pe) == 0) {
            }
        }
        die(last);
        shmem_set_lock(&lock_word);
    } else if (strcmp(way, "without-finalize") == 0) {
        exit(0);
    } else if (strcmp(way, "all-others-finish") == 0 && me.rank == 0) {
        shmem_uint64_wait_until(words, SHMEM_CMP_EQ, 1);
    }
}

static void mistake(const char *name)
{
    uint64_t local = 0;
    uint64_t *memory = shmem_malloc(128);
    if (strcmp(name, "pe") == 0) {
        shmem_uint64_p(words, 1, me.size);
    } else if (strcmp(name, "negative-pe") == 0) {
        shmem_uint64_atomic_add(words, 1, -1);
    } else if (strcmp(name, "stack") == 0) {
        shmem_uint64_put(&local, &local, 1, 0);
    } else if (strcmp(name, "beyond") == 0) {
        shmem_getmem(large, heap_words, (size_t)1 << 45, 0);
    } else if (strcmp(name, "freed") == 0) {
        shmem_free(memory);
        shmem_uint64_p(memory, 1, 0);
    } else if (strcmp(name, "past-the-end") == 0) {
        shmem_putmem(memory + 8, words, 65, 0);
    } else if (strcmp(name, "overlap") == 0) {
        shmem_putmem(words + 1, words, 80, me.rank);
    } else if (strcmp(name, "sizes") == 0) {
        (void)shmem_malloc(64 + (size_t)me.rank);
    } else if (strcmp(name, "twice-freed") == 0) {
        shmem_free(memory);
        shmem_free(memory);
    } else if (strcmp(name, "not-held") == 0) {
        shmem_clear_lock(&lock_word);
    } else if (strcmp(name, "held-already") == 0) {
        shmem_set_lock(&lock_word);
        shmem_set_lock(&lock_word);
    } else if (strcmp(name, "impossible") == 0) {
        shmem_uint64_wait_until(words, SHMEM_CMP_LT, 0);
    } else if (strcmp(name, "no-context") == 0) {
        shmem_ctx_uint64_p(SHMEM_CTX_INVALID, words, 1, 0);
    } else if (strcmp(name, "finalized") == 0) {
        shmem_finalize();
        shmem_uint64_p(words, 1, 0);
    } else {
        end_in_a_way(name);
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, initialised_statics_keep_their_values),
        LIVE_CHECK(1, function_statics_are_symmetric),
        LIVE_CHECK(1, what_is_accessible),
        LIVE_CHECK(1, pointers_reach_both_segments),
        LIVE_CHECK(1, blocks_of_all_lengths),
        LIVE_CHECK(1, fences_order_puts),
        LIVE_CHECK(1, signals_come_after_their_bodies),
        LIVE_CHECK(1, atomics_of_all_pes_add_up),
        LIVE_CHECK(2, sleepers_are_woken),
        LIVE_CHECK(1, forms_of_waiting),
        LIVE_CHECK(1, any_is_fair),
        LIVE_CHECK(1, comparisons_at_the_edges),
        LIVE_CHECK(1, threads_have_contexts),
        LIVE_CHECK(1, contexts_number_by_team),
        LIVE_CHECK(1, locks_exclude_threads_and_pes),
        LIVE_CHECK(1, locks_are_tried),
        LIVE_CHECK(1, locks_in_masses),
        LIVE_CHECK(1, forked_children_are_no_pes),
        LIVE_CHECK(1, allocations),
        LIVE_CHECK(1, reallocations_keep_content),
    };
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    bool mistakes = argc > 2 && strcmp(argv[1], "--mistake") == 0;
    int level = mistakes ? SHMEM_THREAD_SINGLE : SHMEM_THREAD_MULTIPLE;
    int provided;
    if (mistakes && strcmp(argv[2], "uninitialised") == 0) {
        shmem_uint64_p(words, 1, 0);
    }
    require(shmem_init_thread(level, &provided) == 0 && provided == level);
    spec_begin();
    heap_words = shmem_calloc(WORDS, sizeof *heap_words);
    heap_large = shmem_malloc(LONG_BYTES);
    require(heap_words && heap_large);
    if (mistakes) {
        mistake(argv[2]);
    }
    for (size_t i = 0; !mistakes && i < LIVE_COUNT(checks); i++) {
        if (live_applies(&checks[i], me.size) &&
            (argc < 2 || strcmp(argv[1], checks[i].name) == 0)) {
            spec_run(&checks[i]);
        }
    }
    me.check = "end";
    shmem_finalize();
    return 0;
}
