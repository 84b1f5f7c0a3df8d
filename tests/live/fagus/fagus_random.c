/* Random work under random variables by all threads of all nodes; fagus_replay judges the log.
 *
 *     fagus_random FOLDER THREADS PHASES STEPS
 *
 * In each phase every thread makes its steps: it acquires one to three variables in some way,
 * looks at all that is bound to them, writes, moves pieces from one to another, looks again and
 * releases. Between phases the nodes' first threads write between barriers with a variable, and
 * make some variable anew. DN_TEST_SEED, node, thread and phase decide what is done, but not
 * which thread comes first. */
#include "fagus_live.h"
#include "fagus_random.h"

#include <sched.h>

enum { HELD_MAX = 3, HOT = 5, BARRIERS = 3 };

static struct plan plan;
static unsigned char *arenas[ARENAS];
static struct fagus_sync *syncs[VARIABLES];
static const char *folder;
static uint32_t thread_count;
static uint32_t phase_count;
static uint32_t step_count;
static uint32_t phase; /* the one that runs now */

/* One of the threads, and one more for what is done between phases. */
struct worker {
    uint32_t thread;
    uint32_t step;
    uint64_t random;
    FILE *log;
    uint64_t counts[4]; /* grants, moves, acquires that gave up, barriers */
};
static struct worker workers[THREADS_MAX + 1];

/* A variable that a step holds. */
struct held {
    struct record record;
    struct seen seen[VARIABLE_PIECES_MAX];
    struct seen left[VARIABLE_PIECES_MAX];
    struct written written[WRITES_MAX];
};

static unsigned char *bytes_of(uint32_t piece)
{
    return arenas[plan.pieces[piece].arena] + plan.pieces[piece].at;
}

static bool is_one_in(struct worker *worker, uint64_t count)
{
    return live_random(&worker->random, count) == 0;
}

static void put(struct worker *worker, const void *from, size_t bytes)
{
    require(bytes == 0 || fwrite(from, bytes, 1, worker->log) == 1);
}

static void write_log(struct worker *worker, const struct record *record, const struct seen *seen,
                      const struct seen *left, const struct written *written)
{
    put(worker, record, sizeof *record);
    put(worker, seen, record->seen_count * sizeof *seen);
    put(worker, left, record->left_count * sizeof *left);
    put(worker, written, record->written_count * sizeof *written);
}

/* ---- Looking ---------------------------------------------------------------------------- */

static uint32_t look(uint32_t variable, uint64_t movable, struct seen *seen)
{
    uint32_t pieces[VARIABLE_PIECES_MAX];
    uint32_t count = pieces_of(variable, movable, pieces);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = plan.pieces[pieces[i]].bytes;
        seen[i] = (struct seen){.piece = pieces[i], .bytes = bytes};
        seen[i].hash = piece_hash(bytes_of(pieces[i]), bytes);
        memcpy(&seen[i].first, bytes_of(pieces[i]), bytes < 8 ? bytes : 8);
    }
    return count;
}

/* Reads the header, which must be valid; zeros where there is none. */
static struct header look_at_header(uint32_t variable, const struct worker *worker)
{
    struct header header = {0, 0, 0};
    if (variable >= TINY) {
        memcpy(&header, bytes_of(variable), sizeof header);
        require_else(header.check == header_check(variable, header.sequence, header.movable),
                     "phase %u thread %u step %u: the header of variable %u is torn: %llu %llx",
                     phase, worker->thread, worker->step, variable,
                     (unsigned long long)header.sequence, (unsigned long long)header.movable);
    }
    return header;
}

/* ---- Changing --------------------------------------------------------------------------- */

static void write_once(struct held *held, struct written write)
{
    unsigned char *target = bytes_of(write.piece) + write.at;
    if (held->record.written_count == WRITES_MAX) {
        return;
    }
    if (write.is_void) {
        for (uint32_t i = 0; i < write.bytes; i++) {
            volatile unsigned char *byte = target + i;
            *byte = (unsigned char)~*byte;
            *byte = (unsigned char)~*byte;
        }
    }
    apply_write(bytes_of(write.piece), &write);
    held->written[held->record.written_count++] = write;
}

/* Writes all of a piece, a few bytes at one place, or a sprinkle. */
static void write_piece(struct worker *worker, struct held *held, uint32_t piece)
{
    uint32_t size = plan.pieces[piece].bytes;
    uint32_t count = is_one_in(worker, 4) ? 12 : 1;
    bool is_whole = is_one_in(worker, 6);
    bool is_long = is_one_in(worker, 4);
    for (uint32_t i = 0; i < count; i++) {
        struct written write = {.piece = piece, .seed = live_mix(worker->random)};
        write.at = is_whole ? 0 : (uint32_t)live_random(&worker->random, size);
        uint32_t room = size - write.at;
        uint32_t most = is_long || room < 9 ? room : 9;
        write.bytes = is_whole ? size : 1 + (uint32_t)live_random(&worker->random, most);
        write.is_void = is_one_in(worker, 10);
        write_once(held, write);
    }
}

static void write_header(uint32_t variable, uint64_t sequence, uint64_t movable)
{
    struct header header = header_of(variable, sequence, movable);
    memcpy(bytes_of(variable), &header, sizeof header);
}

/* Lists all that is bound to a variable, in any order. */
static size_t list_ranges(uint32_t variable, uint64_t movable, uint64_t *random,
                          struct fagus_range *ranges)
{
    uint32_t pieces[VARIABLE_PIECES_MAX];
    size_t count = pieces_of(variable, movable, pieces);
    for (size_t i = 0; i < count; i++) {
        size_t other = live_random(random, i + 1);
        ranges[i] = ranges[other];
        ranges[other] = (struct fagus_range){bytes_of(pieces[i]), plan.pieces[pieces[i]].bytes};
    }
    return count;
}

static void rebind(struct worker *worker, uint32_t variable, uint64_t movable)
{
    struct fagus_range ranges[VARIABLE_PIECES_MAX];
    size_t count = list_ranges(variable, movable, &worker->random, ranges);
    fagus_expect(fagus_rebind(syncs[variable], ranges, count), 0);
}

/* Moves some piece of one variable to another, or binds it anew where it is. Both are held. */
static void move_piece(struct worker *worker, struct record *from, struct record *to)
{
    uint32_t bit = (uint32_t)live_random(&worker->random, MOVABLE);
    while (!(from->movable_after >> bit & 1)) {
        bit = (bit + 1) % MOVABLE;
    }
    void *pointer = bytes_of(VARIABLES + bit);
    uint64_t mask = UINT64_C(1) << bit;
    from->movable_after &= ~mask;
    if (is_one_in(worker, 2)) {
        fagus_expect(fagus_unbind(syncs[from->variable], pointer), 0);
    } else {
        rebind(worker, from->variable, from->movable_after);
    }
    to->movable_after |= mask;
    if (is_one_in(worker, 2)) {
        fagus_expect(fagus_bind(syncs[to->variable], pointer, plan.pieces[VARIABLES + bit].bytes),
                     0);
    } else {
        rebind(worker, to->variable, to->movable_after);
    }
    from->is_touched = 1;
    to->is_touched = 1;
    worker->counts[1]++;
}

static void maybe_move(struct worker *worker, struct held *held, uint32_t count)
{
    struct record *from = &held[live_random(&worker->random, count)].record;
    struct record *to = &held[live_random(&worker->random, count)].record;
    if (from->mode == FAGUS_WRITE && to->mode == FAGUS_WRITE && from->variable >= TINY &&
        to->variable >= TINY && from->movable_after != 0) {
        move_piece(worker, from, to);
    }
}

static void change(struct worker *worker, struct held *held)
{
    struct record *record = &held->record;
    uint32_t pieces[VARIABLE_PIECES_MAX];
    uint32_t count = pieces_of(record->variable, record->movable_after, pieces);
    uint64_t writes = live_random(&worker->random, 5); /* also none */
    for (uint64_t i = 0; i < writes; i++) {
        uint32_t piece = pieces[live_random(&worker->random, count)];
        if (piece >= VARIABLES || record->variable < TINY) {
            write_piece(worker, held, piece);
        }
    }
    if (record->variable >= TINY && (record->is_touched || !is_one_in(worker, 8))) {
        record->is_touched = 1;
        write_header(record->variable, record->sequence + 1, record->movable_after);
    }
}

/* ---- A step ----------------------------------------------------------------------------- */

static void dwell(struct worker *worker)
{
    switch (live_random(&worker->random, 12)) {
    case 0: live_sleep_ns(live_random(&worker->random, 300 * LIVE_US)); break;
    case 1:
    case 2: (void)sched_yield(); break;
    default: break;
    }
}

/* Acquires in one of the three ways; false: it was not granted. */
static bool acquire(struct worker *worker, struct fagus_sync *sync, enum fagus_mode mode)
{
    int error;
    int allowed = 0;
    switch (live_random(&worker->random, 10)) {
    case 0:
        error = fagus_acquire_try(sync, mode);
        allowed = FAGUS_EBUSY;
        break;
    case 1:
        error = fagus_acquire_timed(sync, mode, live_random(&worker->random, 2 * LIVE_MS));
        allowed = FAGUS_ETIMEOUT;
        break;
    default: error = fagus_acquire(sync, mode);
    }
    require_else(error == 0 || error == allowed, "phase %u thread %u step %u: acquire gave \"%s\"",
                 phase, worker->thread, worker->step, fagus_strerror(error));
    worker->counts[2] += error != 0;
    return error == 0;
}

static bool begin_to_hold(struct worker *worker, struct held *held, uint32_t variable)
{
    enum fagus_mode mode = is_one_in(worker, 3) ? FAGUS_READ : FAGUS_WRITE;
    if (!acquire(worker, syncs[variable], mode)) {
        return false;
    }
    held->record = (struct record){.kind = GRANT,
                                   .variable = variable,
                                   .phase = phase,
                                   .step = worker->step,
                                   .node = (uint32_t)me.rank,
                                   .thread = worker->thread,
                                   .mode = mode,
                                   .begin_ns = live_real_ns()};
    struct header header = look_at_header(variable, worker);
    held->record.sequence = header.sequence;
    held->record.movable = header.movable;
    held->record.movable_after = header.movable;
    held->record.seen_count = look(variable, header.movable, held->seen);
    return true;
}

/* Ends a step's holds: all variables together, so that a piece that has moved is in one place at
 * any time. */
static void release_all(struct worker *worker, struct held *held, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct record *record = &held[i].record;
        record->left_count = look(record->variable, record->movable_after, held[i].left);
    }
    uint64_t now_ns = live_real_ns();
    uint32_t first = (uint32_t)live_random(&worker->random, count);
    for (uint32_t i = 0; i < count; i++) {
        held[i].record.end_ns = now_ns;
        write_log(worker, &held[i].record, held[i].seen, held[i].left, held[i].written);
    }
    for (uint32_t i = 0; i < count; i++) {
        fagus_expect(fagus_release(syncs[held[(first + i) % count].record.variable]), 0);
    }
    worker->counts[0] += count;
}

/* In a phase all threads prefer the same few variables. Every other tiny one is a neighbour of
 * such anyhow. */
static uint32_t pick_variable(struct worker *worker)
{
    if (is_one_in(worker, 3)) {
        return (uint32_t)live_random(&worker->random, VARIABLES);
    }
    uint64_t hot = live_mix(plan.seed + phase * 131 + live_random(&worker->random, HOT));
    return hot % 3 == 0 ? (uint32_t)(hot >> 8) % TINY : TINY + (uint32_t)(hot >> 8) % HEADED;
}

static void make_step(struct worker *worker, struct held *held)
{
    uint32_t wanted = is_one_in(worker, 2) ? 1 + (uint32_t)live_random(&worker->random, HELD_MAX)
                                           : 1;
    uint32_t variables[HELD_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        variables[i] = pick_variable(worker);
    }
    /* By number, each once, so that two never wait for each other. */
    uint32_t least = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t next = VARIABLES;
        for (uint32_t other = 0; other < wanted; other++) {
            if (variables[other] >= least && variables[other] < next) {
                next = variables[other];
            }
        }
        if (next < VARIABLES && begin_to_hold(worker, &held[count], next)) {
            count++;
        }
        least = next + 1;
    }
    if (count == 0) {
        return;
    }
    dwell(worker);
    if (is_one_in(worker, 2)) {
        maybe_move(worker, held, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (held[i].record.mode == FAGUS_WRITE) {
            change(worker, &held[i]);
        }
    }
    dwell(worker);
    release_all(worker, held, count);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct held *held = malloc(HELD_MAX * sizeof *held);
    require(held != NULL);
    worker->random = live_mix(plan.seed + phase * 4096 + worker->thread * 64 + (uint32_t)me.rank);
    for (worker->step = 0; worker->step < step_count; worker->step++) {
        make_step(worker, held);
    }
    free(held);
    return NULL;
}

/* ---- Between phases --------------------------------------------------------------------- */

static void log_equal(struct worker *worker, struct held *held, uint32_t variable, uint32_t number)
{
    struct header header = look_at_header(variable, worker);
    held->record = (struct record){.kind = EQUAL,
                                   .variable = variable,
                                   .phase = phase,
                                   .step = number,
                                   .node = (uint32_t)me.rank,
                                   .thread = worker->thread,
                                   .sequence = header.sequence,
                                   .movable = header.movable};
    held->record.seen_count = look(variable, header.movable, held->seen);
    write_log(worker, &held->record, held->seen, NULL, NULL);
    worker->counts[3]++;
}

/* Writes those words of 8 bytes in the variable's pieces that belong to this node in this phase. */
static void write_own_words(struct worker *worker, struct held *held)
{
    const struct record *record = &held->record;
    uint32_t pieces[VARIABLE_PIECES_MAX];
    uint32_t count = pieces_of(record->variable, record->movable, pieces);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t piece = pieces[live_random(&worker->random, count)];
        uint32_t at = (uint32_t)live_random(&worker->random, plan.pieces[piece].bytes);
        uint64_t word = (uintptr_t)(bytes_of(piece) + at) / 8;
        uint64_t in_word = 8 - (uintptr_t)(bytes_of(piece) + at) % 8;
        uint32_t room = plan.pieces[piece].bytes - at;
        if ((piece < VARIABLES && piece >= TINY) ||
            (word + phase) % (uint64_t)me.size != (uint64_t)me.rank) {
            continue;
        }
        struct written write = {.piece = piece, .at = at, .seed = live_mix(worker->random)};
        write.bytes = 1 + (uint32_t)live_random(&worker->random, room < in_word ? room : in_word);
        write_once(held, write);
    }
}

/* All nodes see the same, write here and there, and see the same again. */
static void meet_with(struct worker *worker, struct held *held, uint32_t variable, uint32_t number)
{
    fagus_expect(fagus_barrier(syncs[variable]), 0);
    log_equal(worker, held, variable, 2 * number);
    if (fagus_nodes_share() || number == 0) {
        fagus_expect(fagus_barrier(NULL), 0); /* others have looked */
    }
    held->record.kind = WRITTEN;
    held->record.seen_count = 0;
    write_own_words(worker, held);
    write_log(worker, &held->record, NULL, NULL, held->written);
    fagus_expect(fagus_barrier(syncs[variable]), 0);
    log_equal(worker, held, variable, 2 * number + 1);
    fagus_expect(fagus_barrier(NULL), 0);
}

static void make_variable(uint32_t variable, uint64_t movable, uint64_t *random)
{
    struct fagus_range ranges[VARIABLE_PIECES_MAX];
    size_t count = list_ranges(variable, movable, random, ranges);
    fagus_expect(fagus_sync_create(&syncs[variable]), 0);
    if (live_random(random, 2) == 0) {
        fagus_expect(fagus_rebind(syncs[variable], ranges, count), 0);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fagus_expect(fagus_bind(syncs[variable], ranges[i].pointer, ranges[i].bytes), 0);
    }
}

static void between_phases(struct worker *worker)
{
    struct held *held = malloc(sizeof *held);
    require(held != NULL);
    /* The same on all nodes; what a node writes is not. */
    uint64_t random = live_mix(plan.seed + phase);
    worker->random = random + (uint32_t)me.rank;
    for (uint32_t i = 0; i < BARRIERS; i++) {
        uint32_t variable = (uint32_t)live_random(&random, VARIABLES);
        variable = i == 0 ? variable % TINY : TINY + variable % HEADED;
        worker->step = i;
        meet_with(worker, held, variable, i);
        if (live_random(&random, 3) == 0) {
            struct header header = look_at_header(variable, worker);
            fagus_expect(fagus_sync_free(syncs[variable]), 0);
            make_variable(variable, header.movable, &random);
        }
    }
    free(held);
}

/* ---- The run ---------------------------------------------------------------------------- */

static void set_up(void)
{
    static const int placements[] = {FAGUS_ROUND_ROBIN, FAGUS_BLOCK, FAGUS_FIRST_TOUCH, 0};
    uint64_t random = live_mix(plan.seed + 77);
    for (uint32_t i = 0; i < ARENAS; i++) {
        int placement = placements[live_random(&random, LIVE_COUNT(placements))];
        arenas[i] = fagus_get(plan.arena_bytes[i], placement);
    }
    for (uint32_t i = 0; i < VARIABLES; i++) {
        make_variable(i, i < TINY ? 0 : plan.movable[i - TINY], &random);
        if (i < TINY || (int)i % me.size != me.rank) {
            continue;
        }
        fagus_expect(fagus_acquire(syncs[i], FAGUS_WRITE), 0);
        write_header(i, 0, plan.movable[i - TINY]);
        fagus_expect(fagus_release(syncs[i]), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
}

static void open_logs(void)
{
    struct preface preface = {.seed = plan.seed,
                              .nodes = (uint32_t)me.size,
                              .threads = thread_count,
                              .phases = phase_count};
    for (uint32_t i = 0; i <= thread_count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/log.%d.%u", folder, me.rank, i);
        workers[i].thread = i;
        workers[i].log = fopen(path, "wb");
        require(workers[i].log && fwrite(&preface, sizeof preface, 1, workers[i].log) == 1);
    }
}

/* The library's threads and plain ones. */
static void run_phase(void)
{
    struct fagus_thread *threads[THREADS_MAX];
    pthread_t plain[THREADS_MAX];
    for (uint32_t i = 0; i < thread_count; i++) {
        if (i % 2 == 0) {
            fagus_expect(fagus_thread_create(&threads[i], work, &workers[i]), 0);
        } else {
            live_thread_start(&plain[i], work, &workers[i]);
        }
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        if (i % 2 == 0) {
            fagus_expect(fagus_thread_join(threads[i], NULL), 0);
        } else {
            live_thread_join(plain[i]);
        }
    }
    between_phases(&workers[thread_count]);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        (void)dprintf(STDERR_FILENO, "usage: fagus_random FOLDER THREADS PHASES STEPS\n");
        return 2;
    }
    folder = argv[1];
    thread_count = (uint32_t)atoi(argv[2]);
    phase_count = (uint32_t)atoi(argv[3]);
    step_count = (uint32_t)atoi(argv[4]);
    me.check = "random";
    fagus_begin();
    require(thread_count >= 1 && thread_count <= THREADS_MAX);
    plan_make(&plan, me.seed);
    open_logs();
    set_up();
    for (phase = 0; phase < phase_count; phase++) {
        run_phase();
    }
    uint64_t counts[4] = {0};
    for (uint32_t i = 0; i <= thread_count; i++) {
        require(fclose(workers[i].log) == 0);
        for (size_t k = 0; k < LIVE_COUNT(counts); k++) {
            counts[k] += workers[i].counts[k];
        }
    }
    fagus_expect(fagus_finalize(), 0);
    (void)dprintf(STDOUT_FILENO, "node %d: %llu grants, %llu moves, %llu given up, %llu barriers\n",
                  me.rank, (unsigned long long)counts[0], (unsigned long long)counts[1],
                  (unsigned long long)counts[2], (unsigned long long)counts[3]);
    return 0;
}
