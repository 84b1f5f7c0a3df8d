/* Turns: what is said to the simulator, what it says, and waiting for the turn.
 *
 * The turn is here or away (turn_is_here), which changes with the lock held. While it is here,
 * every thread that has the lock may say steps. It goes away in two ways:
 *
 *     seat_close_turn   keeps the lock, so nobody else sees the turn away, until it is back
 *     seat_nap          gives the lock up. It does so only if no other thread is about to call
 *                       (threads.c): the last one that begins to wait gives the turn away
 *
 * While it is away without the lock, one thread watches the page, and the others sleep on `news`. A
 * thread that wants the turn then knocks, and the simulator gives it back. Whoever takes it counts
 * `news` up, and each napper looks again: nothing that came is missed, whoever took it in. So while
 * the turn is away, some thread watches or is about to, and the simulator gets its answer.
 *
 * Programs whose threads call the library run, but what happens first among their threads is the
 * machine's to decide, so they are not repeated exactly. */
#define _GNU_SOURCE
#include "fabric/seat/state.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/futex.h"

#define NAP_NS UINT64_C(10000000)
#define LONG_YIELD_NS UINT64_C(200000)
/* Nobody is forgotten: whoever gives the turn looks whether the other one sleeps. Hundreds of
 * programs that woke for nothing would leave no core to the one whose turn it is. */
#define LONG_NAP_NS UINT64_C(1000000000)
#define PS_PER_NS 1000
#define ACKS_DUE_NS UINT64_C(1000000) /* longer than InfiniSWIF lets one wait for company */

enum {
    YIELDS = 20,
    YIELDS_FOR_TURN = 100,
    TURNS_WITHOUT = 1000,       /* yields, after a long one */
    ROOM_KEPT_BYTES = 64 << 10, /* for replies and closing words */
    VAIN_LOOKS = 4,             /* one by one, before several are taken together */
    READS_BITS_MAX = 10,
    VAIN_CLOCKS = 16, /* readings of the clock and nothing else: more of them are a loop */
};

/* ---- The turn itself ----------------------------------------------------------------------- */

static bool is_ours(const struct turn_page *page)
{
    /* Acquire: pairs with the release of the simulator's giving. */
    return atomic_load_explicit(&page->turn, memory_order_acquire) == TURN_PROGRAM;
}

static void give_turn(struct turn_page *page)
{
    atomic_store_explicit(&page->turn, TURN_SIMULATOR, memory_order_seq_cst);
    if (atomic_load_explicit(&page->sleeps[TURN_SIMULATOR], memory_order_seq_cst) != 0) {
        futex_wake_all(&page->turn);
    }
}

/* Whether the turn came while others were let run. Who yields on a busy machine waits until all of
 * them have had their slice, while who sleeps and is woken goes first: so after a long yield there
 * are none for a while. */
static bool yields_and_gets_it(const struct turn_page *page)
{
    static _Atomic uint32_t turns_without;
    if (page->terms.spins == 0 || atomic_load(&turns_without) > 0) {
        uint32_t left = atomic_load(&turns_without);
        atomic_store(&turns_without, left > 0 ? left - 1 : 0);
        return is_ours(page);
    }
    uint64_t before_ns = fabric_now_ns();
    for (int yield = 0; yield < YIELDS_FOR_TURN; yield++) {
        if (is_ours(page)) {
            return true;
        }
        (void)sched_yield();
        uint64_t now_ns = fabric_now_ns();
        if (now_ns - before_ns > LONG_YIELD_NS) {
            atomic_store(&turns_without, TURNS_WITHOUT);
            break;
        }
        before_ns = now_ns;
    }
    return is_ours(page);
}

/* Until the turn is on this side, or other news than these have come. The launcher ends us when it
 * ends itself, so this ends. A waiter may also wait for another thread of its own process, of which
 * the simulator knows nothing: where there are several, it knocks now and then to look again,
 * unless it has the lock. */
static void await_turn(struct seat_state *seat, uint32_t news, bool knocks)
{
    struct turn_page *page = seat->page;
    for (uint32_t spin = 0; spin < page->terms.spins; spin++) {
        if (is_ours(page)) {
            return;
        }
        cpu_relax();
    }
    if (yields_and_gets_it(page)) {
        return;
    }
    atomic_fetch_add_explicit(&page->sleeps[TURN_PROGRAM], 1, memory_order_seq_cst);
    while (atomic_load_explicit(&page->turn, memory_order_seq_cst) != TURN_PROGRAM &&
           atomic_load_explicit(&seat->news, memory_order_relaxed) == news) {
        bool is_threaded = knocks && atomic_load(&page->is_threaded) != 0;
        uint64_t before_ns = is_threaded ? fabric_now_ns() : 0;
        futex_wait(&page->turn, TURN_SIMULATOR, is_threaded ? NAP_NS : LONG_NAP_NS);
        /* Not if the turn has come: each knock is a turn for nothing, and would bring the next. */
        if (is_threaded && !is_ours(page) && fabric_now_ns() - before_ns >= NAP_NS) {
            atomic_fetch_or(&page->knocks, TURN_LOOK_AGAIN);
        }
    }
    atomic_fetch_sub_explicit(&page->sleeps[TURN_PROGRAM], 1, memory_order_relaxed);
}

/* ---- Getting the turn ------------------------------------------------------------------------ */

static bool take_turn(struct seat_state *seat);
static void await_news(struct seat_state *seat, uint32_t news);

void seat_want_turn(struct seat_state *seat)
{
    struct seat_thread *own = seat_thread_enter(seat);
    while (UNLIKELY(!seat->turn_is_here) && !take_turn(seat)) {
        own->doing = SEAT_WANTS;
        atomic_store(&seat->page->is_threaded, 1);
        atomic_fetch_or(&seat->page->knocks, TURN_WANTED);
        await_news(seat, atomic_load_explicit(&seat->news, memory_order_relaxed));
    }
    own->doing = SEAT_RUNS;
    own->deadline_ns = UINT64_MAX;
    if (UNLIKELY((own->computing_from | own->computed_ns) != 0)) {
        seat_end_computing(seat, own);
    }
}

/* ---- What the simulator says ----------------------------------------------------------------- */

uint64_t seat_time_ns(const struct seat_state *seat)
{
    return seat->now_ns;
}

static void take_in_packet(struct seat_state *seat, const struct turn_record *record,
                           const unsigned char *load)
{
    struct turn_packet packet;
    const unsigned char *data;
    uint64_t now_ns = seat_time_ns(seat);
    INVARIANT(turn_packet_read(record, load, &packet, &data));
    if (packet.flags & TURN_IS_CD) {
        /* InfiniSWIF may change it in its place. */
        board_receive(&seat->packets.board, now_ns, (unsigned char *)(uintptr_t)data, packet.bytes);
        return;
    }
    bool done = nic_engine_deliver(seat->packets.board.engine, now_ns, packet.peer,
                                   (enum wire_class)packet.class, packet.channel, data,
                                   packet.bytes);
    INVARIANT(done);
}

static void take_in_ack(struct seat_state *seat, const struct turn_record *record,
                        const unsigned char *load)
{
    uint64_t cookie;
    memcpy(&cookie, load, sizeof cookie);
    seat_plain_acked(seat, record->detail, record->value);
    if (cookie != 0) {
        nic_engine_acknowledged(seat->packets.board.engine, seat_time_ns(seat), record->detail,
                                cookie);
    }
}

static void take_in(struct seat_state *seat)
{
    struct turn_page *page = seat->page;
    struct turn_record record;
    const unsigned char *load;
    uint32_t at = 0;
    seat->now_ns = page->now_ps / PS_PER_NS;
    page->from_program_bytes = 0;
    seat->last_packet = NULL;
    page->wants_room = 0;
    seat->is_resumed = true;
    seat->step_count = 0;
    seat->is_kicked = false;
    while (turn_next(page->from_simulator, page->from_simulator_bytes, &at, &record, &load)) {
        switch ((enum turn_word)record.word) {
        case TURN_ARRIVED: take_in_packet(seat, &record, load); break;
        case TURN_ACKED: take_in_ack(seat, &record, load); break;
        case TURN_LIFE: seat_take_in_life(seat, record.detail, record.value); break;
        default: INVARIANT(false);
        }
    }
    if (at > 0) {
        atomic_fetch_add_explicit(&seat->generation, 1, memory_order_release);
    }
    page->from_simulator_bytes = 0;
    if (seat->parting_count > 0) {
        seat_end_partings(seat);
    }
    seat_send(seat);
}

/* ---- What is said ---------------------------------------------------------------------------- */

static void put(struct seat_state *seat, enum turn_word word, uint16_t detail, uint64_t value)
{
    struct turn_page *page = seat->page;
    INVARIANT(turn_put(page->from_program, &page->from_program_bytes, word, detail, value, 0));
}

static uint64_t deadline_ns(const struct seat_state *seat)
{
    const struct board *board = &seat->packets.board;
    uint64_t parting_ns = seat_parting_deadline_ns(seat);
    uint64_t board_ns = board->swif ? board_deadline_ns(board)
                                    : nic_services_deadline_ns(board->services, seat_time_ns(seat));
    return parting_ns < board_ns ? parting_ns : board_ns;
}

static void close_and_give(struct seat_state *seat, enum turn_word word, uint64_t value)
{
    put(seat, word, 0, value);
    seat->page->deadline_ns = deadline_ns(seat);
    give_turn(seat->page);
}

/* With the turn: every napper looks again. */
static void tell_news(struct seat_state *seat)
{
    atomic_fetch_add_explicit(&seat->news, 1, memory_order_relaxed);
    seat_threads_wake(seat);
    if (seat->sleepers > 0) {
        futex_wake_all(&seat->news);
    }
}

void seat_close_turn(struct seat_state *seat, enum turn_word word, uint64_t value)
{
    seat_want_turn(seat);
    uint64_t generation = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    uint32_t news = atomic_load_explicit(&seat->news, memory_order_relaxed);
    seat->clock_reads = 0;
    seat->page->others_run = 0; /* they wait for the lock */
    close_and_give(seat, word, value);
    for (;;) {
        await_turn(seat, news, false);
        take_in(seat);
        if (seat->page->reason != TURN_SERVE) {
            break;
        }
        close_and_give(seat, TURN_SERVED, 0);
    }
    if (atomic_load_explicit(&seat->generation, memory_order_relaxed) != generation) {
        tell_news(seat); /* what came may be for another thread */
    }
}

void seat_sync(struct seat_state *seat)
{
    seat_close_turn(seat, TURN_SYNC, 0);
}

void seat_sync_now_and_then(struct seat_state *seat)
{
    if (seat->step_count >= seat->page->terms.step_max ||
        TURN_ROOM_BYTES - seat->page->from_program_bytes < 2 * ROOM_KEPT_BYTES) {
        seat_sync(seat);
    }
}

void seat_step(struct seat_state *seat, enum turn_word word, uint16_t detail, uint64_t value)
{
    seat_want_turn(seat);
    seat->vain_looks = word == TURN_LOOK ? seat->vain_looks : 0;
    seat->clock_reads = 0;
    put(seat, word, detail, value);
    seat->step_count++;
    seat->last_step = word;
    seat->is_kicked = word <= TURN_SERVICE;
}

bool seat_has_room(struct seat_state *seat, uint32_t bytes)
{
    struct turn_page *page = seat->page;
    uint32_t needed = turn_record_bytes((uint32_t)sizeof(struct turn_packet) + bytes);
    bool has_room = needed + ROOM_KEPT_BYTES <= TURN_ROOM_BYTES - page->from_program_bytes;
    page->wants_room |= !has_room;
    return has_room;
}

/* The misses of the header TLB that no packet has been charged with. */
static uint16_t new_misses(struct seat_state *seat)
{
    uint64_t misses = nic_engine_counters(seat->packets.board.engine)->header_misses;
    uint16_t more = (uint16_t)(misses - seat->header_misses);
    seat->header_misses = misses;
    return more;
}

/* Without InfiniSWIF a header is looked up once its packet has its room: so the last packet is the
 * one that missed. */
static void charge_last_packet(struct seat_state *seat)
{
    uint16_t more = new_misses(seat);
    if (more > 0 && seat->last_packet) {
        struct turn_packet packet;
        memcpy(&packet, seat->last_packet, sizeof packet);
        packet.header_misses = (uint16_t)(packet.header_misses + more);
        memcpy(seat->last_packet, &packet, sizeof packet);
    }
}

unsigned char *seat_packet(struct seat_state *seat, const struct turn_packet *said)
{
    struct turn_page *page = seat->page;
    struct turn_packet packet = *said;
    packet.flags |= seat->is_kicked ? TURN_KICKED : 0;
    if (packet.flags & TURN_IS_CD) {
        packet.header_misses = new_misses(seat);
    } else {
        charge_last_packet(seat);
    }
    unsigned char *load = turn_put(page->from_program, &page->from_program_bytes, TURN_PACKET, 0, 0,
                                   (uint32_t)sizeof packet + packet.bytes);
    INVARIANT(load);
    memcpy(load, &packet, sizeof packet);
    seat->last_packet = load;
    return load + sizeof packet;
}

static void send_cd(struct seat_state *seat, uint64_t now_ns)
{
    struct board *board = &seat->packets.board;
    const struct swif_counters *counters = swif_counters(board->swif);
    uint32_t most = swif_packet_bytes(seat->page->terms.body_bytes_max);
    uint16_t target;
    while (seat_has_room(seat, most)) {
        uint32_t bytes = board_transmit(board, now_ns, seat->packet, &target);
        if (bytes == 0) {
            return;
        }
        struct wire_header header;
        INVARIANT(wire_header_decode(seat->packet, bytes, &header));
        struct turn_packet packet = {
            .peer = target,
            .class = header.flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST,
            .channel = header.channel,
            .flags = TURN_IS_CD | TURN_NEEDS_NOW,
            .bytes = bytes,
            .number = ++seat->packet_count,
        };
        packet.flags |= counters->retransmissions != seat->retransmissions ? TURN_IS_REPEAT : 0;
        seat->retransmissions = counters->retransmissions;
        if (header.body_bytes > 0 && counters->ltee_misses != seat->context_misses) {
            packet.flags |= TURN_MISSED;
            seat->context_misses++;
        }
        memcpy(seat_packet(seat, &packet), seat->packet, bytes);
    }
}

void seat_send(struct seat_state *seat)
{
    if (seat->packets.board.swif) {
        send_cd(seat, seat_time_ns(seat));
    } else if (nic_engine_has_work(seat->packets.board.engine)) {
        nic_engine_run(seat->packets.board.engine, seat_time_ns(seat));
        charge_last_packet(seat);
    }
}

void seat_send_last(struct seat_state *seat)
{
    seat_want_turn(seat);
    if (seat->packets.board.swif) {
        send_cd(seat, seat_time_ns(seat) + ACKS_DUE_NS);
    }
}

/* If the turn has come and no other thread has it: takes in what came with it, and every napper
 * looks again. False: it has not, or it was only for the NIC. */
static bool take_turn(struct seat_state *seat)
{
    if (seat->turn_is_here || !is_ours(seat->page)) {
        return false;
    }
    take_in(seat);
    if (seat->page->reason == TURN_SERVE) {
        close_and_give(seat, TURN_SERVED, 0);
        return false;
    }
    seat->turn_is_here = true;
    seat->clock_reads = 0;
    atomic_fetch_add_explicit(&seat->generation, 1, memory_order_release);
    tell_news(seat);
    return true;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* With the lock, which it gives up meanwhile: for so long, or until there are other news. */
static void sleep_on_news(struct seat_state *seat, uint32_t news, uint64_t nap_ns)
{
    seat->sleepers++;
    fabric_mutex_give(&seat->packets.lock);
    futex_wait(&seat->news, news, nap_ns);
    fabric_mutex_take(&seat->packets.lock);
    seat->sleepers--;
}

/* With the lock, which it gives up meanwhile: while the turn is away and there are no other news. A
 * watcher that another thread forestalls leaves when it sees the turn or the news; it is WAKES
 * then, so the turn stays until it has. */
static void await_news(struct seat_state *seat, uint32_t news)
{
    while (!seat->turn_is_here && atomic_load_explicit(&seat->news, memory_order_relaxed) == news) {
        if (seat->is_watched) {
            sleep_on_news(seat, news, NAP_NS);
            continue;
        }
        seat->is_watched = true;
        fabric_mutex_give(&seat->packets.lock);
        await_turn(seat, news, true);
        fabric_mutex_take(&seat->packets.lock);
        seat->is_watched = false;
        (void)take_turn(seat);
    }
}

/* All threads wait, or are away: until the first of those that wait has its time. */
static void give_for_all(struct seat_state *seat)
{
    uint64_t deadline_ns = seat_threads_deadline_ns(seat);
    seat->told_deadline_ns = deadline_ns;
    seat->page->others_run = seat_threads_are_away(seat, &seat->page->thread_count);
    close_and_give(seat, TURN_WAIT,
                   deadline_ns == UINT64_MAX ? UINT64_MAX : deadline_ns - seat->now_ns);
    seat->turn_is_here = false;
}

/* With the lock, which it gives up meanwhile: until there are news. */
static void stand(struct seat_state *seat, struct seat_thread *own, uint64_t timeout_ns)
{
    uint32_t news = atomic_load_explicit(&seat->news, memory_order_relaxed);
    own->doing = SEAT_NAPS; /* until take_turn makes it SEAT_WAKES */
    own->deadline_ns = timeout_ns < UINT64_MAX - seat->now_ns ? seat->now_ns + timeout_ns
                                                              : UINT64_MAX;
    if (!seat->turn_is_here && own->deadline_ns < seat->told_deadline_ns) {
        atomic_fetch_or(&seat->page->knocks, TURN_WANTED); /* all wait anew, with this one's time */
    }
    while (atomic_load_explicit(&seat->news, memory_order_relaxed) == news) {
        if (!seat->turn_is_here) {
            await_news(seat, news);
        } else if (!seat_threads_have_seen(seat, seat_threads_written(seat))) {
            tell_news(seat);
        } else if (seat_threads_stand(seat)) {
            give_for_all(seat);
        } else {
            sleep_on_news(seat, news, SEAT_LINGER_NS);
        }
    }
    own->doing = SEAT_RUNS;
}

void seat_nap(struct seat_state *seat, uint64_t timeout_ns, uint64_t *seen)
{
    fabric_mutex_take(&seat->packets.lock);
    struct seat_thread *own = seat_thread_enter(seat);
    (void)take_turn(seat);
    if (seat->turn_is_here && UNLIKELY((own->computing_from | own->computed_ns) != 0)) {
        seat_end_computing(seat, own);
    }
    if (atomic_load_explicit(&seat->generation, memory_order_relaxed) == *seen &&
        own->written == seat_threads_written(seat)) {
        stand(seat, own, timeout_ns);
    }
    own->written = seat_threads_written(seat);
    *seen = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    fabric_mutex_give(&seat->packets.lock);
}

bool seat_look_again(struct seat_state *seat)
{
    uint64_t before = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    uint32_t more = seat->vain_looks > VAIN_LOOKS ? seat->vain_looks - VAIN_LOOKS : 0;
    seat_step(seat, TURN_LOOK, 0, 0);
    if (more > 0) {
        uint64_t reads = UINT64_C(1) << (more < READS_BITS_MAX ? more : READS_BITS_MAX);
        seat_close_turn(seat, TURN_WAIT, reads * seat->page->terms.read_ns);
        put(seat, TURN_LOOK, 0, 0);
    }
    seat_sync(seat);
    bool anything = atomic_load_explicit(&seat->generation, memory_order_relaxed) != before;
    seat->vain_looks = anything ? 0 : seat->vain_looks + 1;
    return anything;
}

uint64_t seat_now_ns(struct seat_state *seat)
{
    fabric_mutex_take(&seat->packets.lock);
    seat_want_turn(seat);
    if (seat->step_count > 0) {
        seat_sync(seat);
    } else if (++seat->clock_reads > VAIN_CLOCKS) {
        uint32_t reads = seat->clock_reads;
        (void)seat_look_again(seat); /* it waits for a moment, or for memory */
        seat->clock_reads = reads;
    }
    uint64_t now_ns = seat_time_ns(seat);
    fabric_mutex_give(&seat->packets.lock);
    return now_ns;
}
