/* A program's own memory, registered: peers reach it where it is, its threads do not
 * notice, and it is private again afterwards.
 *
 *     register --storm     registers for ever while threads write; the script kills it
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "live/live.h"

enum {
    NAME_AT = 64, /* of LLCM: what the node before has registered */
    FLAG_AT = 128,
    BODY_BYTES = 100003, /* no multiple of anything */
    PAGE_BYTES = 4096,
    WRITERS = 2,
    TURNS = 1000,
    TURNS_LEAST = 10,
};

static unsigned char zeroed[BODY_BYTES];
static unsigned char initialised[BODY_BYTES] = {1, 2, 3};

/* Tells the next node a name; gives the one that the node before told. */
static uint32_t exchange(uint32_t area)
{
    expect(dn_set_u32(me.node, live_place(live_neighbour(1), NAME_AT), area), 0);
    live_barrier();
    uint32_t theirs = *live_u32(NAME_AT);
    live_barrier();
    return theirs;
}

/* How many bytes of a range are mapped from a group's file. */
static uint64_t shared_bytes(const void *start, size_t bytes)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    uint64_t sum = 0;
    require(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        unsigned long long from;
        unsigned long long to;
        require(sscanf(line, "%llx-%llx", &from, &to) == 2);
        unsigned long long first = (uintptr_t)start;
        unsigned long long end = first + bytes;
        from = from > first ? from : first;
        to = to < end ? to : end;
        sum += from < to && strstr(line, "memfd:dimmnet") ? to - from : 0;
    }
    fclose(maps);
    return sum;
}

/* ---- Reaching it ------------------------------------------------------------------ */

/* All the ways in which a node uses another one's area of BODY_BYTES. */
static void use_area(int rank, uint32_t area, uint64_t seed)
{
    unsigned char *body = malloc(BODY_BYTES);
    struct dn_op op;
    struct dn_kick kick;
    uint64_t old;
    require(body != NULL);
    expect(dn_pull(me.node, live_at(rank, area, 0), body, BODY_BYTES, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    require(live_first_other(body, BODY_BYTES, seed) == BODY_BYTES);
    live_fill(body, BODY_BYTES, seed + 1);
    expect(dn_push(me.node, live_at(rank, area, 0), body, BODY_BYTES, NULL), 0);
    expect(dn_quiet(me.node), 0);
    expect(dn_botf(me.node, live_at(rank, area, BODY_BYTES - 3), "end", 3), 0);
    /* Words are aligned to their addresses at the owner, which said where. */
    uint64_t word = *live_u64(FLAG_AT);
    expect(dn_set_u64(me.node, live_at(rank, area, word), 5), 0);
    expect(dn_quiet(me.node), 0);
    expect(dn_fetch_add_u64(me.node, live_at(rank, area, word), 7, &old), 0);
    require(old == 5);
    expect(dn_kick_map(me.node, live_at(rank, area, word + 8), 16, &kick), 0);
    dn_store_u64(&kick, 8, 99);
    expect(dn_quiet(me.node), 0);
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_botf(me.node, live_at(rank, area, BODY_BYTES), "x", 1), DN_ERANGE);
    expect(dn_put_signal(me.node, live_at(rank, area, 100), "signal", 6,
                         live_at(rank, area, word + 8), 1),
           0);
    free(body);
}

/* Lends a node's own body, wherever it is, to the next node, which changes it. */
static void lend(unsigned char *body)
{
    uint32_t area;
    struct dn_remote remote;
    uint64_t seed = (uint64_t)me.rank * 1000;
    uint64_t word = 4096 + (8 - (uintptr_t)body % 8) % 8;
    uint64_t *flag = (uint64_t *)(void *)(body + word + 8);
    live_fill(body, BODY_BYTES, seed);
    expect(dn_register(me.node, body, BODY_BYTES, &area), 0);
    require(live_first_other(body, BODY_BYTES, seed) == BODY_BYTES);
    require(shared_bytes(body, BODY_BYTES) == BODY_BYTES);
    expect(dn_remote_of(me.node, body + 17, me.rank, &remote), 0);
    require(remote.rank == me.rank && remote.area == area && remote.offset == 17);

    expect(dn_set_u64(me.node, live_place(live_neighbour(1), FLAG_AT), word), 0);
    uint32_t theirs = exchange(area);
    use_area(live_neighbour(-1), theirs, (uint64_t)live_neighbour(-1) * 1000);
    expect(dn_wait_until_u64(me.node, flag, DN_EQ, 1, LIVE_PATIENCE_NS), 0);
    live_barrier();
    require(memcmp(body + 100, "signal", 6) == 0 && memcmp(body + BODY_BYTES - 3, "end", 3) == 0);
    require(*(uint64_t *)(void *)(body + word) == 12);
    require(*(uint64_t *)(void *)(body + word + 16) == 99);
    require(live_first_other(body, 100, seed + 1) == 100);
    live_barrier();

    expect(dn_deregister(me.node, area), 0);
    require(shared_bytes(body, BODY_BYTES) == 0);
    require(memcmp(body + 100, "signal", 6) == 0 && memcmp(body + BODY_BYTES - 3, "end", 3) == 0);
    require(*(uint64_t *)(void *)(body + word) == 12);
    expect(dn_remote_of(me.node, body, me.rank, &remote), DN_ERANGE);
    expect(dn_deregister(me.node, area), DN_ESTALE);
    live_barrier();
    expect(dn_botf(me.node, live_at(live_neighbour(-1), theirs, 0), "x", 1), DN_ESTALE);
    live_barrier();
    /* It is private: nobody wrote that, and nobody sees what is written now. */
    require(body[0] != 'x');
    memset(body, 3, BODY_BYTES);
    require(live_all_are(body, BODY_BYTES, 3));
}

static void allocated_memory(void)
{
    unsigned char *body = malloc(BODY_BYTES + 8);
    require(body != NULL);
    for (size_t shift = 0; shift < 3; shift++) {
        lend(body + shift);
    }
    free(body);
    /* From the middle of the heap, with neighbours that are in use. */
    void *small[64];
    for (size_t i = 0; i < LIVE_COUNT(small); i++) {
        small[i] = malloc(3000);
        memset(small[i], (int)i, 3000);
    }
    uint32_t areas[LIVE_COUNT(small)];
    for (size_t i = 0; i < LIVE_COUNT(small); i += 2) {
        expect(dn_register(me.node, small[i], 3000, &areas[i]), 0);
    }
    for (size_t i = 0; i < LIVE_COUNT(small); i++) {
        require(live_all_are(small[i], 3000, (unsigned char)i));
        if (i % 2 == 0) {
            expect(dn_set_u32(me.node, live_at(me.rank, areas[i], 0), 77), 0);
            expect(dn_quiet(me.node), 0);
            require(*(uint32_t *)small[i] == 77);
            expect(dn_deregister(me.node, areas[i]), 0);
            require(*(uint32_t *)small[i] == 77);
        }
        free(small[i]);
    }
}

static void mapped_memory(void)
{
    unsigned char *body = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                               -1, 0);
    require(body != MAP_FAILED);
    lend(body);
    lend(body + (1 << 20) - BODY_BYTES);
    require(munmap(body, 1 << 20) == 0);
}

static void static_memory(void)
{
    lend(zeroed);
    lend(initialised);
}

/* A thread that sleeps until its registered word changes is woken; it does not find it by
 * chance. */
static void waiting_for_it(void)
{
    uint64_t *word = calloc(2, 4096);
    uint32_t area;
    require(word != NULL);
    expect(dn_register(me.node, word, 4096, &area), 0);
    uint32_t theirs = exchange(area);
    int before = live_neighbour(-1);
    for (uint64_t turn = 1; turn <= 20; turn++) {
        if (me.rank == (int)(turn % (uint64_t)me.size)) {
            live_sleep_ns(3 * LIVE_MS);
        }
        expect(dn_botf(me.node, live_at(before, theirs, 64), &turn, 8), 0);
        expect(dn_wait_until_u64(me.node, word + 8, DN_GE, turn, LIVE_PATIENCE_NS), 0);
        struct dn_condition conditions[2] = {{word + 8, 8, DN_GE, turn}, {word, 8, DN_NE, 0}};
        size_t index = 7;
        expect(dn_wait_until_any(me.node, conditions, 2, LIVE_PATIENCE_NS, &index), 0);
        require(index == 0);
    }
    live_barrier();
    expect(dn_deregister(me.node, area), 0);
    free(word);
}

static void names_are_their_owners(void)
{
    struct dn_remote remote = live_at(77, 77, 77);
    uint32_t area;
    unsigned char *body = malloc(PAGE_BYTES);
    expect(dn_register(me.node, body, PAGE_BYTES, &area), 0);
    expect(dn_remote_of(me.node, body, live_neighbour(1), &remote), DN_EAREA);
    expect(dn_remote_of(me.node, body + PAGE_BYTES, me.rank, &remote), DN_ERANGE);
    require(remote.rank == 77);
    expect(dn_deregister(me.node, area), 0);
    free(body);
}

/* ---- What is refused --------------------------------------------------------------- */

static const char constant_text[PAGE_BYTES * 4] = "read-only";

struct other_stack {
    _Atomic(void *) place;
    atomic_bool ends;
};

static void *lend_stack(void *argument)
{
    struct other_stack *stack = argument;
    unsigned char own[64] = {0};
    uint32_t area;
    expect(dn_register(me.node, own, sizeof own, &area), DN_ESTACK);
    atomic_store(&stack->place, own);
    while (!atomic_load(&stack->ends)) {
        live_sleep_ns(LIVE_MS);
    }
    return NULL;
}

static void refused_stacks(void)
{
    unsigned char own[64];
    uint32_t area = 77;
    struct other_stack stack = {NULL, false};
    pthread_t thread;
    expect(dn_register(me.node, own, sizeof own, &area), DN_ESTACK);
    live_thread_start(&thread, lend_stack, &stack);
    while (!atomic_load(&stack.place)) {
        live_sleep_ns(LIVE_MS);
    }
    expect(dn_register(me.node, atomic_load(&stack.place), 64, &area), DN_ESTACK);
    atomic_store(&stack.ends, true);
    live_thread_join(thread);
    require(area == 77);
}

static void refused_files(void)
{
    char path[] = "/tmp/dimmnet-register-XXXXXX";
    uint32_t area = 77;
    int fd = mkstemp(path);
    require(fd >= 0 && unlink(path) == 0 && ftruncate(fd, 4 * PAGE_BYTES) == 0);
    for (int flags = MAP_SHARED; flags <= MAP_PRIVATE; flags++) {
        void *map = mmap(NULL, 4 * PAGE_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
        require(map != MAP_FAILED);
        expect(dn_register(me.node, map, 100, &area), flags == MAP_SHARED ? DN_ESHARED : DN_EFILE);
        require(munmap(map, 4 * PAGE_BYTES) == 0);
    }
    require(close(fd) == 0 && area == 77);
}

static void refused_mappings(void)
{
    uint32_t area = 77;
    size_t bytes = 4 * PAGE_BYTES;
    unsigned char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                              0);
    require(map != MAP_FAILED);
    expect(dn_register(me.node, map, bytes, &area), DN_ESHARED);
    require(munmap(map, bytes) == 0);

    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(map != MAP_FAILED);
    live_fill(map, bytes, 5);
    require(mprotect(map + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ) == 0);
    expect(dn_register(me.node, map, bytes, &area), DN_EREADONLY);
    require(mprotect(map + 2 * PAGE_BYTES, PAGE_BYTES, PROT_NONE) == 0);
    expect(dn_register(me.node, map, bytes, &area), DN_EREADONLY);
    require(mprotect(map + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
    require(shared_bytes(map, bytes) == 0 && live_first_other(map, bytes, 5) == bytes);
    require(munmap(map + 2 * PAGE_BYTES, PAGE_BYTES) == 0);
    expect(dn_register(me.node, map, bytes, &area), DN_EUNMAPPED);
    expect(dn_register(me.node, map + 2 * PAGE_BYTES, 1, &area), DN_EUNMAPPED);
    require(munmap(map, bytes) == 0);
    expect(dn_register(me.node, map, bytes, &area), DN_EUNMAPPED);
    expect(dn_register(me.node, (void *)(uintptr_t)16, 8, &area), DN_EUNMAPPED);
    require(area == 77);
}

static void *find_special(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned long long start = 0;
    require(maps != NULL);
    while (start == 0 && fgets(line, sizeof line, maps)) {
        if (strstr(line, "[vdso]")) {
            require(sscanf(line, "%llx-", &start) == 1);
        }
    }
    fclose(maps);
    return (void *)(uintptr_t)start;
}

static void refused_memory(void)
{
    uint32_t area = 77;
    void *special = find_special();
    refused_stacks();
    refused_files();
    refused_mappings();
    expect(dn_register(me.node, (void *)(uintptr_t)constant_text, 10, &area), DN_EREADONLY);
    if (special) {
        expect(dn_register(me.node, special, 8, &area), DN_ESPECIAL);
    }
    expect(dn_register(me.node, zeroed, SIZE_MAX - 100, &area), DN_ERANGE);
    expect(dn_register(me.node, zeroed, SIZE_MAX / 2, &area), DN_ERANGE);
    expect(dn_register(me.node, zeroed, 0, &area), DN_EINVAL);
    require(area == 77);
    /* None of that has done harm. */
    expect(dn_register(me.node, zeroed, sizeof zeroed, &area), 0);
    expect(dn_deregister(me.node, area), 0);
}

/* ---- Overlaps ----------------------------------------------------------------------- */

static void overlapping_areas(void)
{
    enum { PIECES = 40 };
    uint32_t areas[PIECES] = {0};
    uint64_t first[PIECES];
    uint64_t bytes[PIECES];
    uint64_t random = me.seed + (uint64_t)me.rank;
    size_t total = 64 * PAGE_BYTES;
    /* Aligned to its size, so that its places do not begin again in its midst (host/moved.h):
     * pieces on both sides of that would lie apart, and one across it would be refused. */
    unsigned char *body = aligned_alloc(total, total);
    struct dn_remote remote;
    require(body != NULL);
    for (uint64_t turn = 0; turn < 600; turn++) {
        size_t i = live_random(&random, PIECES);
        if (areas[i]) {
            expect(dn_deregister(me.node, areas[i]), 0);
            areas[i] = 0;
            continue;
        }
        first[i] = live_random(&random, total - 16);
        bytes[i] = 16 + live_random(&random, total - first[i] - 15);
        expect(dn_register(me.node, body + first[i], bytes[i], &areas[i]), 0);
        expect(dn_remote_of(me.node, body + first[i], me.rank, &remote), 0);
        require(remote.area == areas[i] && remote.offset == 0);
        /* Every name reaches its own piece, to the last byte. */
        unsigned char last = (unsigned char)turn;
        expect(dn_botf(me.node, live_at(me.rank, areas[i], 0), &turn, 8), 0);
        expect(dn_botf(me.node, live_at(me.rank, areas[i], bytes[i] - 1), &last, 1), 0);
        expect(dn_quiet(me.node), 0);
        require(memcmp(body + first[i], &turn, 8) == 0 && body[first[i] + bytes[i] - 1] == last);
    }
    for (size_t i = 0; i < PIECES; i++) {
        if (areas[i]) {
            expect(dn_deregister(me.node, areas[i]), 0);
        }
    }
    require(shared_bytes(body, total) == 0);
    free(body);
}

static void many_areas(void)
{
    static uint32_t areas[300];
    size_t count = 0;
    int error = 0;
    unsigned char *body = malloc(300 * 1000);
    require(body != NULL);
    while (count < LIVE_COUNT(areas) && !error) {
        error = dn_register(me.node, body + 1000 * count, 1000, &areas[count]);
        count += !error;
    }
    require(error == DN_EFULL && count == 252);
    for (size_t i = 0; i < count; i++) {
        expect(dn_deregister(me.node, areas[i * 5 % count]), 0);
    }
    require(shared_bytes(body, (size_t)300 * 1000) == 0);
    free(body);
}

/* ---- The program's own threads ------------------------------------------------------ */

/* Each thread counts in words of its own all over the range; at the end every word must hold what
 * was counted: a write between copying and replacing would be missing. */
struct writer {
    uint64_t *words; /* a page apart */
    size_t count;
    uint64_t rounds;
    uint64_t lost;
};

static atomic_bool writers_end;

static void *write_on(void *argument)
{
    struct writer *writer = argument;
    enum { STEP = PAGE_BYTES / sizeof(uint64_t) };
    while (!atomic_load_explicit(&writers_end, memory_order_relaxed)) {
        writer->rounds++;
        for (size_t i = 0; i < writer->count; i++) {
            volatile uint64_t *word = &writer->words[i * STEP];
            writer->lost += *word != writer->rounds - 1;
            *word = writer->rounds;
        }
    }
    return NULL;
}

/* A thread that only starts and joins others. */
static void *nothing(void *argument)
{
    return argument;
}

static void *start_others(void *argument)
{
    while (!atomic_load(&writers_end)) {
        pthread_t thread;
        live_thread_start(&thread, nothing, NULL);
        live_thread_join(thread);
    }
    return argument;
}

static void threads_lose_nothing(void)
{
    enum { PAGES = 16 };
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS + 1];
    uint64_t *words = calloc(PAGES + 1, PAGE_BYTES);
    uint32_t area;
    require(words != NULL);
    atomic_store(&writers_end, false);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){words + 8 * i, PAGES, 0, 0};
        live_thread_start(&threads[i], write_on, &writers[i]);
    }
    live_thread_start(&threads[WRITERS], start_others, NULL);
    uint64_t start_ns = live_now_ns();
    int turns = 0;
    /* With many nodes on few cores a turn takes long; then a few are enough. */
    for (; turns < TURNS && (turns < TURNS_LEAST || live_now_ns() - start_ns < 8 * LIVE_SECOND);
         turns++) {
        expect(dn_register(me.node, words, (PAGES + 1) * PAGE_BYTES - 8, &area), 0);
        expect(dn_add_u64(me.node, live_at(me.rank, area, 2048), 1), 0);
        expect(dn_quiet(me.node), 0);
        expect(dn_deregister(me.node, area), 0);
    }
    atomic_store(&writers_end, true);
    for (size_t i = 0; i <= WRITERS; i++) {
        live_thread_join(threads[i]);
    }
    require_else(words[256] == (uint64_t)turns, "%llu of %d additions",
                 (unsigned long long)words[256], turns);
    for (size_t i = 0; i < WRITERS; i++) {
        require_else(writers[i].lost == 0 && writers[i].rounds > 0, "%llu of %llu writes lost",
                     (unsigned long long)writers[i].lost, (unsigned long long)writers[i].rounds);
    }
    free(words);
}

/* Threads that register at the same time, each its own memory. */
static void *register_own(void *argument)
{
    unsigned char *body = argument;
    for (int turn = 0; turn < 50; turn++) {
        uint32_t area;
        memset(body, turn, 3000);
        expect(dn_register(me.node, body, 3000, &area), 0);
        require(live_all_are(body, 3000, (unsigned char)turn));
        expect(dn_deregister(me.node, area), 0);
        require(live_all_are(body, 3000, (unsigned char)turn));
    }
    return NULL;
}

static void threads_register_together(void)
{
    pthread_t threads[WRITERS];
    unsigned char *bodies = malloc(WRITERS * 3000);
    require(bodies != NULL);
    for (size_t i = 0; i < WRITERS; i++) {
        live_thread_start(&threads[i], register_own, bodies + 3000 * i);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        live_thread_join(threads[i]);
    }
    free(bodies);
}

static void *block_signals(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    atomic_store((atomic_bool *)argument, true);
    while (!atomic_load(&writers_end)) {
        live_sleep_ns(LIVE_MS);
    }
    return argument;
}

/* Registering ends, says so, and leaves everything as it was. */
static void thread_that_cannot_be_stopped(void)
{
    pthread_t thread;
    uint32_t area = 77;
    atomic_bool blocks = false;
    atomic_store(&writers_end, false);
    memset(zeroed, 9, sizeof zeroed);
    live_thread_start(&thread, block_signals, &blocks);
    while (!atomic_load(&blocks)) {
        live_sleep_ns(LIVE_MS);
    }
    expect(dn_register(me.node, zeroed, sizeof zeroed, &area), DN_ETHREADS);
    require(area == 77);
    require(shared_bytes(zeroed, sizeof zeroed) == 0);
    atomic_store(&writers_end, true);
    live_thread_join(thread);
    expect(dn_register(me.node, zeroed, sizeof zeroed, &area), 0);
    require(live_all_are(zeroed, sizeof zeroed, 9));
    expect(dn_deregister(me.node, area), 0);
}

/* While its child has its memory, a thread takes no signal. It is slow, but does not refuse. */
static void *stay_in_the_kernel(void *argument)
{
    pid_t child = vfork();
    if (child == 0) {
        atomic_store((atomic_bool *)argument, true);
        live_sleep_ns(3 * LIVE_SECOND);
        _exit(0);
    }
    require(child > 0 && waitpid(child, NULL, 0) == child);
    return argument;
}

static void thread_that_is_slow(void)
{
    pthread_t thread;
    uint32_t area;
    atomic_bool is_there = false;
    live_thread_start(&thread, stay_in_the_kernel, &is_there);
    while (!atomic_load(&is_there)) {
        live_sleep_ns(LIVE_MS);
    }
    expect(dn_register(me.node, zeroed, sizeof zeroed, &area), 0);
    live_thread_join(thread);
    expect(dn_deregister(me.node, area), 0);
}

/* ---- Fork, size, mistakes ----------------------------------------------------------- */

/* The child has its own copy of what was there at fork(). */
static void fork_in_between(void)
{
    enum { BYTES = 5 * PAGE_BYTES };
    unsigned char *body = malloc(BYTES);
    uint32_t area;
    int status;
    int go[2];
    char byte = 0;
    require(body != NULL && pipe(go) == 0);
    memset(body, 1, BYTES);
    expect(dn_register(me.node, body, BYTES, &area), 0);
    memset(body, 2, BYTES);
    fflush(NULL);
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        /* By now the parent has changed it, too. */
        bool well = read(go[0], &byte, 1) == 1 && live_all_are(body, BYTES, 2) &&
                    shared_bytes(body, BYTES) == 0;
        memset(body, 4, BYTES);
        well = well && dn_deregister(me.node, area) == DN_ESTATE;
        _exit(well ? 0 : 1);
    }
    memset(body, 3, BYTES);
    require(write(go[1], &byte, 1) == 1);
    require(waitpid(child, &status, 0) == child && status == 0);
    require(live_all_are(body, BYTES, 3));
    expect(dn_set_u32(me.node, live_at(me.rank, area, 0), 0x05050505), 0);
    expect(dn_quiet(me.node), 0);
    require(body[0] == 5);
    expect(dn_deregister(me.node, area), 0);
    require(body[0] == 5 && body[4] == 3);
    (void)close(go[0]);
    (void)close(go[1]);
    free(body);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAY_LIMIT_ADDRESSES = false }; /* sanitizers need more for themselves */
#else
enum { MAY_LIMIT_ADDRESSES = true };
#endif

/* The child sees the parent's pages then, but what it writes stays in the child. */
static void fork_without_memory_for_copies(void)
{
    enum { BYTES = 64 << 20 };
    struct rlimit before;
    unsigned long pages = 0;
    uint32_t area;
    int status;
    unsigned char *body = malloc(BYTES);
    require(body != NULL && getrlimit(RLIMIT_AS, &before) == 0);
    memset(body, 1, BYTES);
    expect(dn_register(me.node, body, BYTES, &area), 0);
    FILE *sizes = fopen("/proc/self/statm", "re");
    require(sizes && fscanf(sizes, "%lu", &pages) == 1);
    fclose(sizes);
    struct rlimit little = {.rlim_cur = pages * PAGE_BYTES + BYTES / 4,
                            .rlim_max = before.rlim_max};
    require(!MAY_LIMIT_ADDRESSES || setrlimit(RLIMIT_AS, &little) == 0);
    pid_t child = fork();
    if (child == 0) {
        bool well = live_all_are(body, BYTES, 1);
        memset(body, 2, PAGE_BYTES);
        _exit(well && body[0] == 2 ? 0 : 1);
    }
    require(setrlimit(RLIMIT_AS, &before) == 0);
    require(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    require(live_all_are(body, BYTES, 1));
    expect(dn_deregister(me.node, area), 0);
    free(body);
}

static uint64_t shared_kib(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kib = 0;
    require(status != NULL);
    while (fgets(line, sizeof line, status)) {
        (void)sscanf(line, "RssShmem: %llu", &kib);
    }
    fclose(status);
    return kib;
}

/* Pages that were never touched stay untouched. */
static void large_and_empty(void)
{
    uint64_t bytes = UINT64_C(8) << 30;
    unsigned char *body = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint32_t area;
    if (body == MAP_FAILED) {
        return;
    }
    body[0] = 1;
    body[bytes / 2] = 2;
    body[bytes - 1] = 3;
    uint64_t before_kib = shared_kib();
    expect(dn_register(me.node, body, bytes, &area), 0);
    require(body[0] == 1 && body[bytes / 2] == 2 && body[bytes - 1] == 3);
    require(body[bytes / 4] == 0);
    expect(dn_set_u32(me.node, live_at(me.rank, area, bytes / 8), 7), 0);
    expect(dn_quiet(me.node), 0);
    require(shared_kib() - before_kib < 65536);
    expect(dn_deregister(me.node, area), 0);
    require(body[0] == 1 && body[bytes / 2] == 2 && body[bytes - 1] == 3 && body[bytes / 8] == 7);
    require(shared_bytes(body, bytes) == 0);
    require(munmap(body, bytes) == 0);
}

/* The program's mistake does not hurt memory that has got the addresses since. */
static void unmapped_meanwhile(void)
{
    size_t bytes = 8 * PAGE_BYTES;
    uint32_t area;
    unsigned char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                              0);
    require(map != MAP_FAILED);
    memset(map, 1, bytes);
    expect(dn_register(me.node, map, bytes, &area), 0);
    require(mmap(map + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == map + 2 * PAGE_BYTES);
    memset(map + 2 * PAGE_BYTES, 2, PAGE_BYTES);
    require(munmap(map + 4 * PAGE_BYTES, PAGE_BYTES) == 0);
    require(mprotect(map + 6 * PAGE_BYTES, PAGE_BYTES, PROT_READ) == 0);
    expect(dn_deregister(me.node, area), 0);
    require(live_all_are(map, 2 * PAGE_BYTES, 1));
    require(live_all_are(map + 2 * PAGE_BYTES, PAGE_BYTES, 2));
    require(live_all_are(map + 3 * PAGE_BYTES, PAGE_BYTES, 1));
    require(live_all_are(map + 5 * PAGE_BYTES, 3 * PAGE_BYTES, 1));
    expect(dn_register(me.node, map + 4 * PAGE_BYTES, 1, &area), DN_EUNMAPPED);
    expect(dn_register(me.node, map + 6 * PAGE_BYTES, 1, &area), DN_EREADONLY);
    require(munmap(map, bytes) == 0);
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, allocated_memory),
    LIVE_CHECK(1, mapped_memory),
    LIVE_CHECK(1, static_memory),
    LIVE_CHECK(1, waiting_for_it),
    LIVE_CHECK(2, names_are_their_owners),
    LIVE_CHECK(1, refused_memory),
    LIVE_CHECK(1, overlapping_areas),
    LIVE_CHECK(1, many_areas),
    LIVE_CHECK(1, threads_lose_nothing),
    LIVE_CHECK(1, threads_register_together),
    LIVE_CHECK(1, thread_that_cannot_be_stopped),
    LIVE_CHECK(1, thread_that_is_slow),
    LIVE_CHECK(1, fork_in_between),
    LIVE_CHECK(1, fork_without_memory_for_copies),
    LIVE_CHECK(1, large_and_empty),
    LIVE_CHECK(1, unmapped_meanwhile),
};

/* Leaving gives everything back. */
static void detach_with_registered_memory(void)
{
    uint32_t area;
    unsigned char *body = malloc(BODY_BYTES);
    require(body != NULL);
    me.check = "detach_with_registered_memory";
    live_fill(body, BODY_BYTES, 1);
    live_fill(zeroed, BODY_BYTES, 2);
    expect(dn_register(me.node, body, BODY_BYTES, &area), 0);
    expect(dn_register(me.node, body + 9, 9, &area), 0);
    expect(dn_register(me.node, zeroed, BODY_BYTES, &area), 0);
    expect(dn_botf(me.node, live_at(me.rank, area, 0), "last", 4), 0);
    live_barrier();
    expect(dn_detach(me.node), 0);
    require(memcmp(zeroed, "last", 4) == 0);
    live_fill(zeroed, 8, 2);
    require(live_first_other(body, BODY_BYTES, 1) == BODY_BYTES);
    require(live_first_other(zeroed, BODY_BYTES, 2) == BODY_BYTES);
    require(shared_bytes(NULL, SIZE_MAX) == 0);
    free(body);
}

static void storm(void)
{
    struct writer writer = {calloc(17, PAGE_BYTES), 16, 0, 0};
    pthread_t thread;
    uint32_t area;
    require(writer.words != NULL);
    live_thread_start(&thread, write_on, &writer);
    puts("storming");
    fflush(stdout);
    for (;;) {
        expect(dn_register(me.node, writer.words, (size_t)16 * PAGE_BYTES, &area), 0);
        (void)dn_add_u64(me.node, live_at(me.rank, area, 2048), 1);
        (void)dn_quiet(me.node);
        expect(dn_deregister(me.node, area), 0);
    }
}

int main(int argc, char **argv)
{
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    live_attach();
    if (argc > 1 && strcmp(argv[1], "--storm") == 0) {
        storm();
    }
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    detach_with_registered_memory();
    return 0;
}
