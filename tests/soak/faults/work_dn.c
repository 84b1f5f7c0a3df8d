/* The work of the fault run on dimmnet.h: nodes do everything with each other, compare every
 * result, and go on with those that are left when some die. Run with --keep-going.
 *
 * All members of the team choose the same step from the same seed. A step that meets a death ends
 * with DN_EPEER at some members and well at others; the survivors then make a new team, agree on a
 * new epoch and begin again. What one sends carries its epoch and step, so that nothing of an
 * earlier one is taken for the answer to a later one. What holds between two survivors whatever
 * happens to others (messages in order and once, atomics once) is counted through all epochs.
 *
 * A step whose error no death explains, and every wrong result, is "FAIL ..." and status 1. */
#define _GNU_SOURCE
#include "board.h"

/* Places in LLCM. Those with one word for each rank are written by that rank. */
enum {
    WORD_AT = 0,
    FLAG_AT = 1024,
    COUNT_AT = 2048,
    ARRIVED_AT = 3072,
    NEVER_AT = 4096,
    LOCK_AT = 4160,
    GUARDED_AT = 4224,
};

/* Each rank sends into a piece of its own of the bank; the last piece is the owner's source. */
enum {
    PIECE_BYTES = 1 << 18,
    SOURCE_PIECE = BOARD_NODES_MAX,
    ELEMENTS_MAX = 6000,
    CHANNEL = 7,
    NAP_MS = 20,
    WATCH_MS = 200,
};

/* What the lock guards: whole when nobody holds it, unless a holder died. */
struct guarded {
    uint64_t inside; /* rank + 1 of the holder */
    uint64_t total;  /* the sum of the tallies */
    uint64_t tallies[BOARD_NODES_MAX];
};

struct note {        /* at the head of a message */
    uint64_t number; /* among those from this sender to this receiver */
    uint64_t tag;    /* of the step; its bytes follow from that */
};

static struct dn_team *team;
static int members[BOARD_NODES_MAX];
static int count; /* of members */
static int place; /* mine among them */
static uint64_t epoch;
static uint64_t step;
static uint64_t random_state; /* the same at all members */

static struct dn_context *context;
static uint64_t sent[BOARD_NODES_MAX];
static uint64_t received[BOARD_NODES_MAX];
static uint64_t added[BOARD_NODES_MAX];
static unsigned char bytes_here[PIECE_BYTES];
static uint64_t elements[2][ELEMENTS_MAX];

/* ---- Deaths ------------------------------------------------------------------------------ */

static bool is_gone(int rank)
{
    enum dn_life life = live_life_of(rank);
    return life == DN_DEAD || life == DN_LEFT;
}

static void note_deaths(void)
{
    for (int rank = 0; rank < me.size; rank++) {
        if (rank != me.rank && live_life_of(rank) == DN_DEAD) {
            board_note_death(rank);
        }
    }
}

static bool a_member_is_gone(void)
{
    bool gone = false;
    for (int i = 0; i < count; i++) {
        gone = gone || is_gone(members[i]);
    }
    return gone;
}

/* Another member may know of a death first, and give the team up; then it is soon known here. Where
 * silence counts as death it may never be. */
static bool a_death_explains_it(void)
{
    uint64_t end_ns = live_now_ns() + LIVE_SOON_NS;
    while (!a_member_is_gone() && !atomic_load(&board->silence) && live_now_ns() < end_ns) {
        live_sleep_ns(LIVE_MS);
    }
    return a_member_is_gone() || atomic_load(&board->silence);
}

/* A node that has no memory, and says so, ends. */
static void stop_if_scarce(const char *call, int error)
{
    if (atomic_load(&board->scarce) && (error == DN_ENOMEM || error == DN_ESYSTEM)) {
        (void)dprintf(STDOUT_FILENO, "scarce: %s gave %s\n", call, dn_errname(error));
        _exit(3);
    }
}

/* What a call with the whole team gave: 0 or a death that is known. */
static int checked(const char *call, int error)
{
    note_deaths();
    stop_if_scarce(call, error);
    require_else(error == 0 || error == DN_EPEER, "%s gave %s", call, dn_errname(error));
    require_else(error == 0 || a_death_explains_it(), "%s gave DN_EPEER, but all are there", call);
    return error;
}

/* The same of a call that needs one node only. */
static int checked_at(const char *call, int rank, int error)
{
    note_deaths();
    stop_if_scarce(call, error);
    require_else(error == 0 || error == DN_EPEER, "%s gave %s", call, dn_errname(error));
    require_else(error == 0 || is_gone(rank), "%s gave DN_EPEER, but node %d is there", call, rank);
    return error;
}

#define TRY(name, call)                                   \
    do {                                                  \
        int error_ = checked(name, ON_BOARD(name, call)); \
        if (error_) {                                     \
            return error_;                                \
        }                                                 \
    } while (0)
#define TRY_AT(rank, name, call)                                     \
    do {                                                             \
        int error_ = checked_at(name, (rank), ON_BOARD(name, call)); \
        if (error_) {                                                \
            return error_;                                           \
        }                                                            \
    } while (0)

/* ---- Who is who -------------------------------------------------------------------------- */

static int right(void)
{
    return members[(place + 1) % count];
}

static int left(void)
{
    return members[(place + count - 1) % count];
}

/* A number that stands for this step of this epoch and a rank. */
static uint64_t tag_of(int rank)
{
    return live_mix(live_mix(live_mix(me.seed + epoch) + step) + (uint64_t)rank);
}

static struct dn_remote piece_of(int rank, int piece)
{
    return live_at(rank, DN_BANK, (uint64_t)piece * PIECE_BYTES);
}

static unsigned char *own_piece(int piece)
{
    return me.bank + (size_t)piece * PIECE_BYTES;
}

static void require_filled(const void *found, size_t bytes, uint64_t seed, const char *what)
{
    size_t other = live_first_other(found, bytes, seed);
    require_else(other == bytes, "%s: byte %zu of %zu is wrong", what, other, bytes);
}

static size_t some_bytes(void)
{
    static const size_t most[] = {64, 2000, 30000, PIECE_BYTES};
    return 8 + live_random(&random_state, most[live_random(&random_state, 4)] - 8);
}

/* ---- Steps: stores and transfers --------------------------------------------------------- */

/* An endless wait of the last node left ends with DN_EPEER, unless what it sent itself is there. */
static int wait_for(const char *name, uint64_t offset, uint64_t value)
{
    if (count == 1) {
        TRY("dn_quiet alone", dn_quiet(me.node));
    }
    TRY(name, dn_wait_until_u64(me.node, live_u64(offset), DN_EQ, value, DN_FOREVER));
    return 0;
}

static int step_store(void)
{
    struct dn_kick kick;
    TRY_AT(right(), "dn_kick_map",
           dn_kick_map(me.node, live_place(right(), WORD_AT + 8 * (uint64_t)me.rank), 8, &kick));
    dn_store_u64(&kick, 0, tag_of(me.rank));
    int error = wait_for("wait for a store", WORD_AT + 8 * (uint64_t)left(), tag_of(left()));
    expect(dn_kick_unmap(&kick), 0);
    return error;
}

static int step_put_signal(void)
{
    size_t bytes = some_bytes();
    live_fill(bytes_here, bytes, tag_of(me.rank));
    TRY_AT(right(), "dn_put_signal",
           dn_put_signal(me.node, piece_of(right(), me.rank), bytes_here, bytes,
                         live_place(right(), FLAG_AT + 8 * (uint64_t)me.rank), tag_of(me.rank)));
    int error = wait_for("wait for a signal", FLAG_AT + 8 * (uint64_t)left(), tag_of(left()));
    if (!error) {
        require_filled(own_piece(left()), bytes, tag_of(left()), "a block before its signal");
    }
    return error;
}

static int step_push_pull(void)
{
    size_t bytes = some_bytes();
    struct dn_op op;
    live_fill(own_piece(SOURCE_PIECE), bytes, tag_of(me.rank));
    TRY_AT(right(), "dn_push",
           dn_push(me.node, piece_of(right(), me.rank), own_piece(SOURCE_PIECE), bytes, &op));
    TRY_AT(right(), "dn_op_wait", dn_op_wait(&op, DN_FOREVER));
    TRY("dn_barrier after a push", dn_barrier(team, DN_FOREVER));
    require_filled(own_piece(left()), bytes, tag_of(left()), "what was pushed");
    memset(bytes_here, 0, bytes);
    TRY_AT(left(), "dn_get", dn_get(me.node, piece_of(left(), SOURCE_PIECE), bytes_here, bytes));
    require_filled(bytes_here, bytes, tag_of(left()), "what was fetched");
    TRY("dn_barrier after a get", dn_barrier(team, DN_FOREVER));
    return 0;
}

static int step_atomics(void)
{
    int to = right();
    struct dn_remote word = live_place(to, COUNT_AT + 8 * (uint64_t)me.rank);
    uint64_t found;
    for (int i = 0; i < 5; i++) {
        TRY_AT(to, "dn_fetch_add", dn_fetch_add_u64(me.node, word, 1, &found));
        require_else(found == added[to], "%llu additions, %llu took effect",
                     (unsigned long long)added[to], (unsigned long long)found);
        added[to]++;
        TRY_AT(to, "dn_add", dn_add_u64(me.node, word, 1));
        added[to]++;
        TRY_AT(to, "dn_quiet", dn_quiet(me.node));
    }
    TRY_AT(to, "dn_read", dn_read_u64(me.node, word, &found));
    require_else(found == added[to], "%llu additions, %llu took effect in the end",
                 (unsigned long long)added[to], (unsigned long long)found);
    return 0;
}

/* ---- Steps: teams ------------------------------------------------------------------------ */

/* All tell all that they arrive; after the barrier everybody's word is there. */
static int tell_arrival(void)
{
    uint64_t tag = tag_of(me.rank);
    for (int i = 0; i < count; i++) {
        TRY_AT(
            members[i], "dn_botf",
            dn_botf(me.node, live_place(members[i], ARRIVED_AT + 8 * (uint64_t)me.rank), &tag, 8));
    }
    return 0;
}

static int check_arrivals(void)
{
    for (int i = 0; i < count; i++) {
        require_else(*live_u64(ARRIVED_AT + 8 * (uint64_t)members[i]) == tag_of(members[i]),
                     "node %d had not arrived at a barrier that is passed", members[i]);
    }
    TRY("dn_barrier", dn_barrier(team, DN_FOREVER));
    return 0;
}

static int step_barrier(void)
{
    enum dn_barrier_kind kind = (enum dn_barrier_kind)live_random(&random_state, 3);
    TRY("dn_barrier_kind", dn_barrier_kind(team, kind));
    int error = tell_arrival();
    if (error) {
        return error;
    }
    TRY("dn_barrier of a kind", dn_barrier(team, DN_FOREVER));
    return check_arrivals();
}

static int step_split_barrier(void)
{
    int passed = 0;
    int error = tell_arrival();
    if (error) {
        return error;
    }
    TRY("dn_barrier_arrive", dn_barrier_arrive(team));
    for (int i = 0; i < 10 && !passed; i++) {
        TRY("dn_barrier_test", dn_barrier_test(team, &passed));
    }
    if (!passed) {
        TRY("dn_barrier_wait", dn_barrier_wait(team, DN_FOREVER));
    }
    return check_arrivals();
}

static int step_reduce(void)
{
    static const size_t lengths[] = {1, 64, ELEMENTS_MAX};
    size_t length = lengths[live_random(&random_state, 3)];
    for (size_t i = 0; i < length; i++) {
        elements[0][i] = live_mix(tag_of(me.rank) + i);
    }
    TRY("dn_allreduce", dn_allreduce(team, elements[0], elements[1], length, DN_UINT64, DN_SUM));
    for (size_t i = 0; i < length; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < count; j++) {
            sum += live_mix(tag_of(members[j]) + i);
        }
        require_else(elements[1][i] == sum, "element %zu of %zu of a sum is wrong", i, length);
    }
    return 0;
}

static int step_gather(void)
{
    size_t bytes = 8 + 8 * live_random(&random_state, 1000);
    int root = (int)live_random(&random_state, (uint64_t)count);
    memset(bytes_here, 0, bytes);
    if (place == root) {
        live_fill(bytes_here, bytes, tag_of(me.rank));
    }
    TRY("dn_broadcast", dn_broadcast(team, bytes_here, bytes, root));
    require_filled(bytes_here, bytes, tag_of(members[root]), "a broadcast");
    live_fill(elements[0], bytes, tag_of(me.rank));
    TRY("dn_allgather", dn_allgather(team, elements[0], bytes_here, bytes));
    for (int i = 0; i < count; i++) {
        require_filled(bytes_here + (size_t)i * bytes, bytes, tag_of(members[i]), "a gather");
    }
    return 0;
}

/* ---- Steps: locks ------------------------------------------------------------------------ */

static void require_sound(const struct guarded *guarded)
{
    uint64_t sum = 0;
    for (int rank = 0; rank < me.size; rank++) {
        sum += guarded->tallies[rank];
    }
    require_else(guarded->inside == 0, "node %d is inside as well", (int)guarded->inside - 1);
    require_else(guarded->total == sum, "the lock's total is %llu, its tallies make %llu",
                 (unsigned long long)guarded->total, (unsigned long long)sum);
}

/* What a holder that died, or is taken for dead, has left. */
static void mend(struct guarded *guarded)
{
    guarded->inside = 0;
    guarded->total = 0;
    for (int rank = 0; rank < me.size; rank++) {
        guarded->total += guarded->tallies[rank];
    }
}

/* Changes what the lock guards at the node `home`, in several steps. */
static int work_inside(int home, bool is_mending)
{
    struct guarded guarded;
    struct dn_remote there = live_place(home, GUARDED_AT);
    TRY_AT(home, "dn_get inside", dn_get(me.node, there, &guarded, sizeof guarded));
    if (is_mending) {
        mend(&guarded);
    }
    require_sound(&guarded);
    guarded.inside = (uint64_t)me.rank + 1;
    guarded.total++;
    TRY_AT(home, "dn_put inside", dn_put(me.node, there, &guarded, sizeof guarded));
    guarded.tallies[me.rank]++;
    guarded.inside = 0;
    TRY_AT(home, "dn_put inside", dn_put(me.node, there, &guarded, sizeof guarded));
    return 0;
}

static int step_lock(void)
{
    int home = members[0];
    struct dn_lock *lock;
    int error = checked_at("dn_lock_open", home,
                           dn_lock_open(me.node, live_place(home, LOCK_AT), &lock));
    if (error) {
        return error;
    }
    for (int i = 0; i < 3 && !error; i++) {
        error = ON_BOARD("dn_lock_take", dn_lock_take(lock, DN_FOREVER));
        bool is_mending = error == DN_EOWNERDEAD;
        error = checked_at("dn_lock_take", home, is_mending ? 0 : error);
        if (!error) {
            error = work_inside(home, is_mending);
            int given = ON_BOARD("dn_lock_give", dn_lock_give(lock));
            error = error ? error : checked_at("dn_lock_give", home, given);
        }
    }
    (void)dn_lock_close(lock);
    return error;
}

/* ---- Steps: messages --------------------------------------------------------------------- */

/* A large message waits until its receiver fetches it. If that one has met a death and makes a new
 * team already, only looking at the lives ends the wait: the message is then taken back. */
static int finish_send(struct dn_message_op *op, int to)
{
    int error;
    while ((error = ON_BOARD("dn_message_wait",
                             dn_message_wait(op, NAP_MS * LIVE_MS, NULL, NULL))) == DN_ETIMEOUT) {
        note_deaths();
        if (a_member_is_gone()) {
            error = ON_BOARD("dn_message_cancel", dn_message_cancel(op));
            require_else(error == 0 || error == DN_EBUSY, "dn_message_cancel gave %s",
                         dn_errname(error));
            if (error == 0) {
                return DN_EPEER;
            }
        }
    }
    sent[to] += error == 0;
    return checked_at("dn_isend", to, error);
}

static int send_one(int to, size_t bytes, void *message)
{
    struct note note = {.number = sent[to], .tag = tag_of(me.rank)};
    struct dn_message_op op;
    memcpy(message, &note, sizeof note);
    live_fill((char *)message + sizeof note, bytes, note.tag);
    int error = checked_at("dn_isend", to,
                           dn_isend(context, to, message, sizeof note + bytes, &op));
    return error ? error : finish_send(&op, to);
}

/* Receives until the message of this step has come; others are of steps that were given up. */
static int receive_one(int from, size_t bytes)
{
    struct note note;
    do {
        int sender;
        size_t length;
        TRY("dn_recv",
            dn_recv(context, DN_ANY, bytes_here, sizeof bytes_here, DN_FOREVER, &sender, &length));
        memcpy(&note, bytes_here, sizeof note);
        require_else(length >= sizeof note && note.number == received[sender],
                     "message %llu came from node %d, %llu was next",
                     (unsigned long long)note.number, sender, (unsigned long long)received[sender]);
        require_filled(bytes_here + sizeof note, length - sizeof note, note.tag, "a message");
        received[sender]++;
        require_else(note.tag != tag_of(from) || length == sizeof note + bytes,
                     "a message of %zu bytes, not %zu", length, sizeof note + bytes);
    } while (note.tag != tag_of(from));
    return 0;
}

/* Small ones go first to the right and are then received. Large ones, which wait for their
 * receivers, go from each second member in turn. */
static int step_message(void)
{
    size_t bytes = 8 * (1 + live_random(&random_state, 250));
    size_t large = 33000 + 8 * live_random(&random_state, 4000);
    static unsigned char small[8192];
    int error = send_one(right(), bytes, small);
    error = error ? error : receive_one(left(), bytes);
    if (error || count % 2) {
        return error;
    }
    step++; /* another tag */
    if (place % 2 == 0) {
        error = send_one(right(), large, own_piece(SOURCE_PIECE));
    } else {
        error = receive_one(left(), large);
    }
    return error;
}

/* ---- Epochs ------------------------------------------------------------------------------ */

static void look_at_team(void)
{
    count = dn_team_size(team);
    place = dn_team_rank(team);
    require(count > 0 && count <= BOARD_NODES_MAX);
    for (int i = 0; i < count; i++) {
        members[i] = dn_team_node_rank(team, i);
    }
    atomic_store(&board_slot()->members, (uint64_t)count);
}

/* All members get the same epoch, later than any of theirs. */
static int agree_on_epoch(void)
{
    uint64_t latest;
    look_at_team();
    TRY("dn_allreduce of epochs", dn_allreduce(team, &epoch, &latest, 1, DN_UINT64, DN_MAX));
    epoch = latest + 1;
    step = 0;
    random_state = live_mix(me.seed + epoch);
    return 0;
}

/* Goes on with those that are left. */
static void begin_epoch(void)
{
    do {
        struct dn_team *survivors;
        int error = ON_BOARD("dn_team_shrink", dn_team_shrink(team, &survivors));
        note_deaths();
        stop_if_scarce("dn_team_shrink", error);
        expect(error, 0);
        if (team != dn_team_all(me.node)) {
            (void)ON_BOARD("dn_team_free", dn_team_free(team));
        }
        team = survivors;
    } while (agree_on_epoch());
}

static int (*const steps[])(void) = {
    step_store,         step_put_signal, step_push_pull, step_atomics, step_barrier,
    step_split_barrier, step_reduce,     step_gather,    step_lock,    step_message,
};

/* One step, and whether all shall go on. */
static int work(bool *is_over)
{
    uint64_t mine = board_finish_is_wanted();
    uint64_t anybody;
    int error = steps[live_random(&random_state, LIVE_COUNT(steps))]();
    if (error) {
        return error;
    }
    TRY("dn_allreduce of wishes", dn_allreduce(team, &mine, &anybody, 1, DN_UINT64, DN_MAX));
    *is_over = anybody != 0;
    step++;
    board_step(1);
    return 0;
}

/* ---- Another thread ---------------------------------------------------------------------- */

/* The work itself may be in a call that a death does not concern: in the queue of a lock, or in a
 * phase that the dead node had come to. This thread learns of every death, by a wait for what never
 * comes, or, with SOAK_WATCH=0, by looking at the lives. */
static void *watch(void *waits)
{
    while (!board_finish_is_wanted()) {
        int error = DN_ETIMEOUT;
        if (waits) {
            uint64_t due_ns = live_now_ns() + WATCH_MS * LIVE_MS;
            error = dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, WATCH_MS * LIVE_MS);
            board_note_wait("a deadline that had passed", due_ns);
        }
        require_else(error == DN_EPEER || error == DN_ETIMEOUT, "a wait for nothing gave %s",
                     dn_errname(error));
        note_deaths();
        if (error == DN_EPEER || !waits) {
            live_sleep_ns(LIVE_MS); /* or until the other thread has acknowledged it */
        }
    }
    return NULL;
}

static void start(void)
{
    int all[BOARD_NODES_MAX];
    const char *seed = getenv("DN_TEST_SEED");
    const char *rank = getenv("DIMMNET_RANK");
    me.check = "soak";
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    me.rank = rank ? atoi(rank) : 0;
    require(me.rank >= 0 && me.rank < BOARD_NODES_MAX);
    board_open();
    atomic_store(&board_slot()->pid, (uint64_t)getpid());
    int error = ON_BOARD("dn_attach", dn_attach(&me.node, NULL));
    stop_if_scarce("dn_attach", error);
    expect(error, 0);
    me.size = dn_size(me.node);
    me.llcm = dn_llcm(me.node, &me.llcm_bytes);
    me.bank = dn_bank(me.node, &me.bank_bytes);
    require(me.llcm && me.bank && me.size <= BOARD_NODES_MAX);
    for (int i = 0; i < me.size; i++) {
        all[i] = i;
    }
    error = dn_context_open(me.node, CHANNEL, all, (size_t)me.size, all, (size_t)me.size, NULL,
                            &context);
    stop_if_scarce("dn_context_open", error);
    expect(error, 0);
    team = dn_team_all(me.node);
}

int main(void)
{
    pthread_t watcher;
    bool is_over = false;
    const char *watches = getenv("SOAK_WATCH");
    start();
    void *waits = watches && strcmp(watches, "1") == 0 ? me.node : NULL;
    int error = pthread_create(&watcher, NULL, watch, waits);
    if (error) {
        stop_if_scarce("pthread_create", DN_ENOMEM);
        require(error == 0);
    }
    error = agree_on_epoch();
    while (!is_over) {
        if (error) {
            begin_epoch();
        }
        error = work(&is_over);
    }
    live_thread_join(watcher);
    (void)dn_context_close(context);
    error = ON_BOARD("dn_detach", dn_detach(me.node));
    require_else(error == 0, "dn_detach gave %s", dn_errname(error));
    board_ended();
    return 0;
}
