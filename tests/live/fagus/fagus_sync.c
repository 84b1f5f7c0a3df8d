/* Synchronisation variables: exact sums, whole versions, bindings that move, ranges that share
 * words, pages and packets with others, barriers that merge, and the errors of wrong calls. */
#include "fagus_live.h"

static void take(struct fagus_sync *sync, enum fagus_mode mode)
{
    fagus_expect(fagus_acquire_timed(sync, mode, LIVE_PATIENCE_NS), 0);
}

static void give(struct fagus_sync *sync)
{
    fagus_expect(fagus_release(sync), 0);
}

/* ---- Counting --------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 150 };

struct counting {
    struct fagus_sync *sync;
    unsigned char *object;
    size_t words;
};

/* Words that need not be aligned: ranges begin anywhere. */
static uint64_t word_at(const unsigned char *object, size_t index)
{
    uint64_t value;
    memcpy(&value, object + 8 * index, sizeof value);
    return value;
}

static void put_word(unsigned char *object, size_t index, uint64_t value)
{
    memcpy(object + 8 * index, &value, sizeof value);
}

static void *count(void *argument)
{
    struct counting *counting = argument;
    uint64_t random = me.seed + (uint64_t)(uintptr_t)&random;
    for (int i = 0; i < ROUNDS; i++) {
        take(counting->sync, FAGUS_WRITE);
        size_t index = live_random(&random, counting->words);
        put_word(counting->object, index, word_at(counting->object, index) + 1);
        give(counting->sync);
    }
    return NULL;
}

static void count_in(size_t words, size_t skip)
{
    unsigned char *memory = fagus_get(skip + 8 * words, FAGUS_ROUND_ROBIN);
    struct counting counting = {fagus_bound_to(memory + skip, 8 * words), memory + skip, words};
    pthread_t threads[THREADS];
    fagus_meet();
    for (int i = 0; i < THREADS; i++) {
        live_thread_start(&threads[i], count, &counting);
    }
    for (int i = 0; i < THREADS; i++) {
        live_thread_join(threads[i]);
    }
    fagus_meet();
    take(counting.sync, FAGUS_READ);
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) {
        sum += word_at(counting.object, i);
    }
    require_else(sum == (uint64_t)(me.size * THREADS * ROUNDS), "%llu", (unsigned long long)sum);
    give(counting.sync);
    fagus_meet();
    fagus_expect(fagus_sync_free(counting.sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void counts_in_a_word(void)
{
    count_in(1, 0);
}

static void counts_in_a_small_object(void)
{
    count_in(8, 0);
}

static void counts_in_an_object_across_pages(void)
{
    count_in(3000, 4090);
}

/* ---- Whole versions --------------------------------------------------------------------- */

struct versions {
    struct fagus_sync *sync;
    unsigned char *object;
    size_t bytes;
    int rounds;
};

/* Every byte tells the version, so a version that is not whole has two kinds. */
static void *read_versions(void *argument)
{
    struct versions *versions = argument;
    unsigned last = 0;
    for (int i = 0; i < versions->rounds; i++) {
        take(versions->sync, FAGUS_READ);
        unsigned now = versions->object[0];
        require_else(live_all_are(versions->object, versions->bytes, versions->object[0]),
                     "%zu bytes: torn version %u", versions->bytes, now);
        require_else(now >= last, "%zu bytes: version %u after %u", versions->bytes, now, last);
        last = now;
        give(versions->sync);
    }
    return NULL;
}

static void *write_versions(void *argument)
{
    struct versions *versions = argument;
    for (int i = 0; i < versions->rounds; i++) {
        take(versions->sync, FAGUS_WRITE);
        unsigned now = versions->object[0];
        require(live_all_are(versions->object, versions->bytes, versions->object[0]));
        if (now < 250) {
            memset(versions->object, (int)now + 1, versions->bytes);
        }
        give(versions->sync);
    }
    return NULL;
}

static void versions_of(size_t bytes, size_t skip, int rounds)
{
    unsigned char *memory = fagus_get(skip + bytes + 64, FAGUS_BLOCK);
    struct versions versions = {fagus_bound_to(memory + skip, bytes), memory + skip, bytes, rounds};
    pthread_t reader;
    pthread_t writer;
    fagus_meet();
    live_thread_start(&reader, read_versions, &versions);
    live_thread_start(&writer, write_versions, &versions);
    (void)read_versions(&versions);
    live_thread_join(writer);
    live_thread_join(reader);
    fagus_meet();
    require(live_all_are(memory, skip, 0) && live_all_are(memory + skip + bytes, 64, 0));
    fagus_meet();
    fagus_expect(fagus_sync_free(versions.sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void readers_see_whole_versions(void)
{
    static const size_t sizes[] = {1, 8, 64, 447, 448, 449, 1000, 4096, 9001, 65536};
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        versions_of(sizes[i], 0, 60);
        versions_of(sizes[i], 4093, 60);
    }
}

static void readers_see_whole_large_versions(void)
{
    versions_of(1 << 20, 12, 20);
}

/* ---- Differences ------------------------------------------------------------------------ */

/* Few words of a large object change; the result is compared with a serial copy. */
static void few_changes_of_a_large_object(void)
{
    enum { WORDS = 40000, TURNS = 120 };
    uint64_t *object = fagus_get(WORDS * 8, 0);
    uint64_t *expected = calloc(WORDS, 8);
    struct fagus_sync *sync = fagus_bound_to(object, WORDS * 8);
    require(expected != NULL);
    uint64_t random = me.seed; /* the same on all nodes */
    for (int turn = 0; turn < TURNS; turn++) {
        int writer = (int)live_random(&random, (uint64_t)me.size);
        uint64_t changes = live_random(&random, turn % 10 == 9 ? 30000 : 20);
        if (writer == me.rank) {
            take(sync, FAGUS_WRITE);
            require(memcmp(object, expected, WORDS * 8) == 0);
        }
        for (uint64_t i = 0; i < changes; i++) {
            uint64_t at = live_random(&random, WORDS);
            uint64_t value = live_random(&random, 1000);
            expected[at] = value;
            if (writer == me.rank) {
                object[at] = value;
            }
        }
        if (writer == me.rank) {
            give(sync);
        }
        fagus_meet();
        if ((turn + me.rank) % 3 == 0) {
            take(sync, FAGUS_READ);
            require_else(memcmp(object, expected, WORDS * 8) == 0, "turn %d", turn);
            give(sync);
        }
        fagus_meet();
    }
    struct fagus_stats stats;
    fagus_expect(fagus_stats(sync, &stats), 0);
    require(stats.acquires > 0);
    if (!fagus_nodes_share() && me.size > 1) {
        require_else(stats.bytes_differences > 0, "no differences were used");
        require(stats.bytes_whole < stats.acquires * WORDS * 8);
    } else {
        require(stats.grants == 0 && stats.bytes_whole == 0);
    }
    fagus_meet();
    free(expected);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(object), 0);
}

/* ---- Bindings --------------------------------------------------------------------------- */

/* A variable walks over an array: its holder moves it on, and fills what it came to. */
static void bindings_move(void)
{
    enum { PIECES = 24, STEPS = 96 };
    static const size_t piece_bytes[] = {40, 400, 3000, 20000};
    for (size_t kind = 0; kind < LIVE_COUNT(piece_bytes); kind++) {
        size_t bytes = piece_bytes[kind];
        unsigned char *memory = fagus_get(64 + PIECES * bytes, FAGUS_BLOCK);
        uint64_t *step = (uint64_t *)(void *)memory;
        unsigned char *pieces = memory + 64;
        struct fagus_sync *sync = fagus_bound_to(step, 8);
        fagus_expect(fagus_bind(sync, pieces, bytes), 0);
        fagus_meet();
        bool is_over = false;
        while (!is_over) {
            take(sync, FAGUS_WRITE);
            uint64_t now = *step;
            unsigned char *piece = pieces + now % PIECES * bytes;
            require_else(live_all_are(piece, bytes, (unsigned char)now), "step %llu of %zu bytes",
                         (unsigned long long)now, bytes);
            is_over = now == STEPS;
            if (!is_over) {
                unsigned char *next = pieces + (now + 1) % PIECES * bytes;
                const struct fagus_range ranges[] = {{step, 8}, {next, bytes}};
                fagus_expect(fagus_rebind(sync, ranges, 2), 0);
                memset(next, (int)now + 1, bytes);
                *step = now + 1;
            }
            give(sync);
        }
        fagus_meet();
        fagus_expect(fagus_sync_free(sync), 0);
        fagus_expect(fagus_free(memory), 0);
    }
}

/* More ranges than the record has room for, and bound one by one by a holder. */
static void many_ranges(void)
{
    enum { RANGES = 40, STRIDE = 1000 };
    unsigned char *memory = fagus_get(RANGES * STRIDE, FAGUS_ROUND_ROBIN);
    struct fagus_sync *sync = fagus_bound_to(memory, 100);
    struct fagus_range ranges[RANGES];
    for (int i = 0; i < RANGES; i++) {
        ranges[i] = (struct fagus_range){memory + i * STRIDE + i % 7, (size_t)(10 + 20 * i)};
    }
    fagus_expect(fagus_rebind(sync, ranges, RANGES / 2), 0);
    fagus_meet();
    for (int round = 0; round < 3 * me.size; round++) {
        if (round % me.size == me.rank) {
            take(sync, FAGUS_WRITE);
            size_t known = RANGES / 2;
            for (size_t i = 0; i < known; i++) {
                require(live_all_are(ranges[i].pointer, ranges[i].bytes, (unsigned char)round));
            }
            fagus_expect(fagus_unbind(sync, ranges[0].pointer), 0);
            fagus_expect(fagus_unbind(sync, ranges[0].pointer), FAGUS_ERANGE);
            fagus_expect(fagus_rebind(sync, ranges, RANGES), 0);
            for (size_t i = 0; i < RANGES; i++) {
                memset(ranges[i].pointer, round + 1, ranges[i].bytes);
            }
            if (round % 2) {
                fagus_expect(fagus_rebind(sync, ranges, RANGES / 2), 0);
            }
            give(sync);
        }
        fagus_meet();
    }
    take(sync, FAGUS_READ);
    for (size_t i = 0; i < RANGES / 2; i++) {
        require(live_all_are(ranges[i].pointer, ranges[i].bytes, (unsigned char)(3 * me.size)));
    }
    give(sync);
    fagus_meet();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* Memory that is bound and never released has the content of its homes. */
static void first_copies_are_the_homes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = 8 * page;
    unsigned char *memory = fagus_get(bytes, FAGUS_ROUND_ROBIN);
    for (size_t i = 0; i < 8; i++) {
        if (fagus_home(memory + i * page) == me.rank) {
            memset(memory + i * page, (int)i + 1, page);
        }
    }
    struct fagus_sync *sync = fagus_bound_to(memory + 10, bytes - 20);
    fagus_meet();
    take(sync, me.rank % 2 ? FAGUS_READ : FAGUS_WRITE);
    for (size_t i = 0; i < 8; i++) {
        size_t skip = i == 0 ? 10 : 0;
        size_t cut = i == 7 ? 10 : 0;
        require_else(
            live_all_are(memory + i * page + skip, page - skip - cut, (unsigned char)(i + 1)),
            "page %zu", i);
    }
    give(sync);
    fagus_meet();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- False sharing ---------------------------------------------------------------------- */

/* Objects of 1 to 40 bytes side by side, each with its variable, written by all nodes: no bytes are
 * lost to a neighbour's. */
static void neighbours_do_not_disturb(void)
{
    enum { OBJECTS = 40, TURNS = 400 };
    unsigned char *memory = fagus_get(OBJECTS * 41, FAGUS_BLOCK);
    struct fagus_sync *syncs[OBJECTS];
    unsigned char *objects[OBJECTS];
    size_t offset = 3;
    uint64_t random = me.seed + (uint64_t)me.rank;
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = memory + offset;
        syncs[i] = fagus_bound_to(objects[i], (size_t)i + 1);
        offset += (size_t)i + 1;
    }
    fagus_meet();
    for (int turn = 0; turn < TURNS; turn++) {
        size_t i = live_random(&random, OBJECTS);
        take(syncs[i], FAGUS_WRITE);
        require_else(live_all_are(objects[i], i + 1, objects[i][0]), "object %zu", i);
        memset(objects[i], objects[i][0] + 1, i + 1);
        give(syncs[i]);
    }
    fagus_meet();
    unsigned sum = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        take(syncs[i], FAGUS_READ);
        require(live_all_are(objects[i], i + 1, objects[i][0]));
        sum += objects[i][0];
        give(syncs[i]);
    }
    require_else(sum % 256 == (unsigned)(me.size * TURNS) % 256, "sum %u", sum);
    fagus_meet();
    for (int i = 0; i < OBJECTS; i++) {
        fagus_expect(fagus_sync_free(syncs[i]), 0);
    }
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Barriers --------------------------------------------------------------------------- */

/* Each node writes its words of every page, then all nodes have all words; in some rounds one node
 * writes while it holds the variable. */
static void merge_at_barriers(size_t words, size_t skip)
{
    uint64_t *memory = fagus_get(8 * (words + skip), FAGUS_ROUND_ROBIN);
    uint64_t *object = memory + skip;
    struct fagus_sync *sync = fagus_bound_to(object, 8 * words);
    uint64_t extra = 0;
    fagus_meet();
    for (uint64_t round = 1; round <= 12; round++) {
        for (size_t i = (size_t)me.rank; i < words; i += (size_t)me.size) {
            object[i] = round * 1000 + i + extra;
        }
        fagus_expect(fagus_barrier(sync), 0);
        for (size_t i = 0; i < words; i++) {
            require_else(object[i] == round * 1000 + i + extra, "round %llu, word %zu: %llu",
                         (unsigned long long)round, i, (unsigned long long)object[i]);
        }
        fagus_meet();
        if (round % 4 == 0) {
            if ((int)round % me.size == me.rank) {
                take(sync, FAGUS_WRITE);
                for (size_t i = 0; i < words; i++) {
                    object[i] = 7;
                }
                give(sync);
            }
            fagus_meet();
            fagus_expect(fagus_barrier(sync), 0);
            for (size_t i = 0; i < words; i++) {
                require_else(object[i] == 7, "after a writer, round %llu, word %zu: %llu",
                             (unsigned long long)round, i, (unsigned long long)object[i]);
            }
            extra++;
            fagus_meet();
        }
    }
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void barriers_merge_what_all_wrote(void)
{
    merge_at_barriers(5, 0);
    merge_at_barriers(40, 3);
    merge_at_barriers(5000, 509);
}

/* Two nodes write the same word: all nodes get the same one of the two. */
static void writers_of_one_word_agree(void)
{
    uint64_t *memory = fagus_get(8 * (size_t)(me.size + 64), 0);
    struct fagus_sync *sync = fagus_bound_to(memory, 64);
    fagus_meet();
    for (int round = 1; round < 20; round++) {
        memory[3] = (uint64_t)(round * 100 + me.rank);
        fagus_expect(fagus_barrier(sync), 0);
        uint64_t value = memory[3];
        require(value / 100 == (uint64_t)round && value % 100 < (uint64_t)me.size);
        uint64_t of_rank_0 = value;
        fagus_expect(fagus_distribute(&of_rank_0, sizeof of_rank_0), 0);
        require(value == of_rank_0);
    }
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Trying, waiting, fairness ---------------------------------------------------------- */

static void trying_and_timing_out(void)
{
    uint64_t *memory = fagus_get(64, 0);
    struct fagus_sync *sync = fagus_bound_to(memory, 8);
    fagus_meet();
    if (me.rank == 0) {
        take(sync, FAGUS_WRITE);
    }
    fagus_meet();
    if (me.rank != 0) {
        fagus_expect(fagus_acquire_try(sync, FAGUS_WRITE), FAGUS_EBUSY);
        fagus_expect(fagus_acquire_try(sync, FAGUS_READ), FAGUS_EBUSY);
        uint64_t start_ns = live_now_ns();
        fagus_expect(fagus_acquire_timed(sync, FAGUS_WRITE, 20 * LIVE_MS), FAGUS_ETIMEOUT);
        require(live_now_ns() - start_ns >= 20 * LIVE_MS);
        fagus_expect(fagus_acquire_timed(sync, FAGUS_READ, LIVE_MS), FAGUS_ETIMEOUT);
    }
    fagus_meet();
    if (me.rank == 0) {
        give(sync);
    }
    fagus_meet();
    take(sync, FAGUS_READ); /* all at once */
    fagus_meet();
    fagus_expect(fagus_acquire_try(sync, FAGUS_WRITE), FAGUS_EHELD);
    if (me.rank == me.size - 1) {
        give(sync);
        if (me.size > 1) {
            fagus_expect(fagus_acquire_timed(sync, FAGUS_WRITE, 20 * LIVE_MS), FAGUS_ETIMEOUT);
            fagus_expect(fagus_acquire_try(sync, FAGUS_WRITE), FAGUS_EBUSY);
        }
        fagus_expect(fagus_acquire_timed(sync, FAGUS_READ, LIVE_PATIENCE_NS), 0);
    }
    fagus_meet();
    give(sync);
    fagus_meet();
    if (me.rank == 0) {
        take(sync, FAGUS_WRITE);
        give(sync);
    }
    fagus_meet();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

struct reading {
    struct fagus_sync *sync;
    const uint64_t *word;
    _Atomic bool *stop;
};

static void *read_on(void *argument)
{
    struct reading *reading = argument;
    while (!*reading->stop) {
        take(reading->sync, FAGUS_READ);
        live_sleep_ns(200 * LIVE_US); /* there is always a reader */
        give(reading->sync);
    }
    return NULL;
}

static void writers_do_not_starve(void)
{
    uint64_t *word = fagus_get(64, 0);
    struct fagus_sync *sync = fagus_bound_to(word, 8);
    _Atomic bool stop = false;
    struct reading reading = {sync, word, &stop};
    pthread_t readers[2];
    fagus_meet();
    for (int i = 0; i < 2; i++) {
        live_thread_start(&readers[i], read_on, &reading);
    }
    for (int i = 0; i < 10; i++) {
        take(sync, FAGUS_WRITE);
        (*word)++;
        give(sync);
    }
    fagus_meet();
    stop = true;
    for (int i = 0; i < 2; i++) {
        live_thread_join(readers[i]);
    }
    fagus_meet();
    take(sync, FAGUS_READ);
    require(*word == (uint64_t)(10 * me.size));
    give(sync);
    fagus_meet();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(word), 0);
}

/* ---- Mistakes --------------------------------------------------------------------------- */

static void mistakes_have_names(void)
{
    unsigned char *memory = fagus_get(10000, 0);
    unsigned char outside[16];
    struct fagus_sync *sync = fagus_bound_to(memory, 100);
    struct fagus_sync *other = fagus_bound_to(memory + 200, 100);
    fagus_expect(fagus_sync_create(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_acquire(NULL, FAGUS_READ), FAGUS_EINVAL);
    fagus_expect(fagus_acquire(sync, (enum fagus_mode)3), FAGUS_EINVAL);
    fagus_expect(fagus_release(sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_bind(sync, NULL, 8), FAGUS_EINVAL);
    fagus_expect(fagus_bind(sync, memory + 300, 0), FAGUS_EINVAL);
    fagus_expect(fagus_bind(sync, outside, sizeof outside), FAGUS_ERANGE);
    fagus_expect(fagus_bind(sync, memory + 9990, 11), FAGUS_ERANGE);
    fagus_expect(fagus_bind(sync, memory + 99, 2), FAGUS_EOVERLAP);
    fagus_expect(fagus_bind(sync, memory + 150, 51), FAGUS_EOVERLAP);
    fagus_expect(fagus_bind(sync, memory + 150, 50), 0);
    fagus_expect(fagus_unbind(sync, memory + 151), FAGUS_ERANGE);
    fagus_expect(fagus_unbind(sync, memory + 150), 0);
    const struct fagus_range twice[] = {{memory + 400, 10}, {memory + 409, 1}};
    fagus_expect(fagus_rebind(sync, twice, 2), FAGUS_EOVERLAP);
    if (me.size > 1) {
        fagus_expect(fagus_bind(sync, memory + 500 + me.rank, 5), FAGUS_EMISMATCH);
        fagus_expect(fagus_barrier(me.rank ? sync : other), FAGUS_EMISMATCH);
    }
    fagus_meet();
    take(sync, FAGUS_WRITE);
    fagus_expect(fagus_acquire(sync, FAGUS_WRITE), FAGUS_EHELD);
    fagus_expect(fagus_acquire(sync, FAGUS_READ), FAGUS_EHELD);
    fagus_expect(fagus_bind(sync, memory + 250, 4), FAGUS_EOVERLAP);
    give(sync);
    fagus_expect(fagus_bind(sync, memory + 600, 4), FAGUS_ENOTHELD);
    take(sync, FAGUS_READ);
    fagus_expect(fagus_bind(sync, memory + 600, 4), FAGUS_ENOTHELD);
    fagus_expect(fagus_acquire(sync, FAGUS_WRITE), FAGUS_EHELD);
    give(sync);
    fagus_expect(fagus_release(sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_sync_name(sync, NULL), FAGUS_EINVAL);
    fagus_expect(fagus_sync_name(sync, "a name that is much longer than a report has any room for"),
                 0);
    fagus_expect(fagus_stats(sync, NULL), FAGUS_EINVAL);
    fagus_meet();
    fagus_expect(fagus_free(memory), FAGUS_EBUSY);
    fagus_expect(fagus_sync_free(other), 0);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_sync_free(sync), FAGUS_EINVAL);
    fagus_expect(fagus_acquire(sync, FAGUS_READ), FAGUS_EINVAL);
    fagus_expect(fagus_free(memory), 0);
}

/* A range goes from one variable to another; a node that has not heard of the first can still use
 * it. */
static void ranges_change_their_variable(void)
{
    unsigned char *memory = fagus_get(4096, 0);
    struct fagus_sync *one = fagus_bound_to(memory, 100);
    struct fagus_sync *other = fagus_bound_to(memory + 200, 100);
    fagus_meet();
    for (int round = 0; round < 2 * me.size; round++) {
        if (round % me.size == me.rank) {
            take(one, FAGUS_WRITE);
            require(live_all_are(memory, 100, (unsigned char)round));
            fagus_expect(fagus_unbind(one, memory), 0);
            give(one);
        }
        fagus_meet();
        if ((round + 1) % me.size == me.rank) {
            take(other, FAGUS_WRITE);
            fagus_expect(fagus_bind(other, memory, 100), 0);
            memset(memory, round + 1, 100);
            give(other);
        }
        fagus_meet();
        if ((round + 2) % me.size == me.rank) {
            take(other, FAGUS_WRITE);
            require(live_all_are(memory, 100, (unsigned char)(round + 1)));
            fagus_expect(fagus_unbind(other, memory), 0);
            give(other);
            take(one, FAGUS_WRITE);
            fagus_expect(fagus_bind(one, memory, 100), 0);
            give(one);
        }
        fagus_meet();
    }
    fagus_expect(fagus_sync_free(one), 0);
    fagus_expect(fagus_sync_free(other), 0);
    fagus_expect(fagus_free(memory), 0);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, mistakes_have_names),
        LIVE_CHECK(1, counts_in_a_word),
        LIVE_CHECK(1, counts_in_a_small_object),
        LIVE_CHECK(1, counts_in_an_object_across_pages),
        LIVE_CHECK(1, readers_see_whole_versions),
        LIVE_CHECK(1, readers_see_whole_large_versions),
        LIVE_CHECK(1, few_changes_of_a_large_object),
        LIVE_CHECK(1, bindings_move),
        LIVE_CHECK(1, many_ranges),
        LIVE_CHECK(1, ranges_change_their_variable),
        LIVE_CHECK(1, first_copies_are_the_homes),
        LIVE_CHECK(1, neighbours_do_not_disturb),
        LIVE_CHECK(1, barriers_merge_what_all_wrote),
        LIVE_CHECK(2, writers_of_one_word_agree),
        LIVE_CHECK(1, trying_and_timing_out),
        LIVE_CHECK(1, writers_do_not_starve),
    };
    return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
}
