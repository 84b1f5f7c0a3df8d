/* Turns: what is said to the simulator, what it says, and waiting for the turn.
 *
 * One thread has the turn; it may say many steps before it gives the turn away. A thread that waits
 * for memory gives it away without the lock. If another thread of the program then wants to say
 * something, it knocks: the simulator gives the turn back, the waiter lets the other one go first,
 * and waits again. Such programs run, but what happens first among their threads is the machine's
 * to decide, so they are not repeated exactly. */
#define _GNU_SOURCE
#include "fabric/seat/state.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/futex.h"

#define NAP_NS UINT64_C(2000000)
#define LONG_YIELD_NS UINT64_C(200000)
#define LET_IN_NAP_NS UINT64_C(20000)
/* Nobody is forgotten: whoever gives the turn looks whether the other one sleeps. Hundreds of
 * programs that woke for nothing would leave no core to the one whose turn it is. */
#define LONG_NAP_NS UINT64_C(1000000000)
#define PS_PER_NS 1000
#define ACKS_DUE_NS UINT64_C(1000000) /* longer than InfiniSWIF lets one wait for company */

enum {
    YIELDS = 20,
    YIELDS_FOR_TURN = 100,
    TURNS_WITHOUT = 1000,       /* yields, after a long one */
    LETS_IN = 100,              /* looks whether the others have come */
    ROOM_KEPT_BYTES = 64 << 10, /* for replies and closing words */
    VAIN_LOOKS = 4,             /* one by one, before several are taken together */
    READS_BITS_MAX = 10,
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
 * are none for a while. But other threads of this process may be what is waited for. */
static bool yields_and_gets_it(const struct turn_page *page)
{
    static _Atomic uint32_t turns_without;
    bool is_threaded = atomic_load(&page->is_threaded) != 0;
    if (!is_threaded && (page->terms.spins == 0 || atomic_load(&turns_without) > 0)) {
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
        if (!is_threaded && now_ns - before_ns > LONG_YIELD_NS) {
            atomic_store(&turns_without, TURNS_WITHOUT);
            break;
        }
        before_ns = now_ns;
    }
    return is_ours(page);
}

/* The launcher ends us when it ends itself, so this ends. A waiter may also wait for another thread
 * of its own process, of which the simulator knows nothing: where there are several, it knocks now
 * and then to look again. */
static void await_turn(struct turn_page *page)
{
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
    while (atomic_load_explicit(&page->turn, memory_order_seq_cst) != TURN_PROGRAM) {
        bool is_threaded = atomic_load(&page->is_threaded) != 0;
        futex_wait(&page->turn, TURN_SIMULATOR, is_threaded ? NAP_NS : LONG_NAP_NS);
        if (is_threaded) {
            atomic_store(&page->knocks, 1);
        }
    }
    atomic_fetch_sub_explicit(&page->sleeps[TURN_PROGRAM], 1, memory_order_relaxed);
}

/* ---- What the program computes between two calls --------------------------------------------- */

/* A short computation is measured by a clock that costs little; a longer one by the thread's CPU
 * time, since another process may have had the core meanwhile. */
#define SHORT_NS 20000

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t instructions(const struct seat_state *seat)
{
    uint64_t count = 0;
    return syscall(SYS_read, seat->counter_fd, &count, sizeof count) == sizeof count ? count : 0;
}

/* What two looks at the clock take that have nothing between them. */
static uint64_t look_ns(void)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
        uint64_t passed_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
        least_ns = passed_ns < least_ns ? passed_ns : least_ns;
    }
    return least_ns;
}

static uint64_t computed_ns(const struct seat_state *seat)
{
    const struct turn_terms *terms = &seat->page->terms;
    if (terms->compute == TURN_COMPUTE_INSTRUCTIONS) {
        uint64_t count = instructions(seat) - seat->computing_from;
        return (uint64_t)((double)count * 1e6 / (double)terms->compute_factor_ppm);
    }
    uint64_t passed_ns = clock_ns(CLOCK_MONOTONIC) - seat->computing_from;
    if (passed_ns > SHORT_NS) {
        uint64_t used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - seat->computing_from_cpu_ns;
        passed_ns = used_ns < passed_ns ? used_ns : passed_ns;
    }
    uint64_t added_ns = seat->clock_ns + terms->gap_ns + (seat->is_resumed ? terms->resume_ns : 0);
    passed_ns -= passed_ns < added_ns ? passed_ns : added_ns;
    return (uint64_t)((double)passed_ns * (double)terms->compute_factor_ppm / 1e6);
}

/* The program enters the library: says for how long it has computed. */
static void end_computing(struct seat_state *seat)
{
    struct turn_page *page = seat->page;
    uint64_t ns = computed_ns(seat);
    seat->computing_from = 0;
    seat->is_resumed = false;
    if (ns > 0) {
        INVARIANT(turn_put(page->from_program, &page->from_program_bytes, TURN_COMPUTE, 0, ns, 0));
        seat->step_count++;
    }
}

bool seat_meters(void)
{
    struct seat_state *seat = &seat_state;
    seat->clock_ns = look_ns();
    return seat->page->terms.compute != TURN_COMPUTE_DECLARED;
}

/* A call that asked nothing of the fabric is a part of the computation. Where several threads
 * compute at once nobody could say whose time it is: the first one's counts. */
void seat_left_call(void)
{
    struct seat_state *seat = &seat_state;
    if (seat->computing_from != 0) {
        return;
    }
    if (seat->page->terms.compute == TURN_COMPUTE_INSTRUCTIONS) {
        seat->computing_from = instructions(seat);
    } else {
        seat->computing_from_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        seat->computing_from = clock_ns(CLOCK_MONOTONIC);
    }
}

/* Several threads of one program have an order that no run repeats. */
static void count_threads(struct seat_state *seat)
{
    static _Thread_local bool is_counted;
    if (UNLIKELY(!is_counted)) {
        is_counted = true;
        if (seat->thread_count++ > 0) {
            atomic_store(&seat->page->is_threaded, 1);
        }
    }
}

static bool take_turn(struct seat_state *seat);

/* With the lock, which it gives up meanwhile: until the turn is here. */
static void want_turn(struct seat_state *seat)
{
    count_threads(seat);
    if (UNLIKELY(seat->computing_from != 0 && seat->turn_is_here)) {
        end_computing(seat);
    }
    while (UNLIKELY(!seat->turn_is_here)) {
        if (take_turn(seat)) {
            return;
        }
        atomic_fetch_add(&seat->wanters, 1);
        atomic_store(&seat->page->is_threaded, 1);
        atomic_store(&seat->page->knocks, 1);
        fabric_mutex_give(&seat->packets.lock);
        futex_wait(&seat->here, 0, NAP_NS);
        fabric_mutex_take(&seat->packets.lock);
        atomic_fetch_sub(&seat->wanters, 1);
    }
}

/* ---- What the simulator says ----------------------------------------------------------------- */

uint64_t seat_time_ns(const struct seat_state *seat)
{
    return seat->page->now_ps / PS_PER_NS;
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

void seat_close_turn(struct seat_state *seat, enum turn_word word, uint64_t value)
{
    want_turn(seat);
    close_and_give(seat, word, value);
    for (;;) {
        await_turn(seat->page);
        take_in(seat);
        if (seat->page->reason != TURN_SERVE) {
            return;
        }
        close_and_give(seat, TURN_SERVED, 0);
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
    want_turn(seat);
    seat->vain_looks = word == TURN_LOOK ? seat->vain_looks : 0;
    put(seat, word, detail, value);
    seat->step_count++;
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
    want_turn(seat);
    if (seat->packets.board.swif) {
        send_cd(seat, seat_time_ns(seat) + ACKS_DUE_NS);
    }
}

/* If the turn has come and no other thread has it: takes in what came with it. False: it has not,
 * or it was only for the NIC. */
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
    atomic_store(&seat->here, 1);
    atomic_fetch_add_explicit(&seat->generation, 1, memory_order_release);
    return true;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Lets others of the program's threads go first who want the turn, which is here now. */
static void let_in(struct seat_state *seat)
{
    for (int look = 0; look < LETS_IN && atomic_load(&seat->wanters) > 0; look++) {
        futex_wake_all(&seat->here);
        if (look < YIELDS) {
            (void)sched_yield();
        } else {
            futex_wait(&seat->here, 1, LET_IN_NAP_NS);
        }
    }
}

/* With the lock, which it gives up meanwhile. Several threads may stand here: one of them takes the
 * turn when it comes, and all look again, even if that one has given it away before they do. */
static void await_and_take_in(struct seat_state *seat)
{
    uint64_t before = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    while (!seat->turn_is_here &&
           atomic_load_explicit(&seat->generation, memory_order_relaxed) == before) {
        fabric_mutex_give(&seat->packets.lock);
        await_turn(seat->page);
        fabric_mutex_take(&seat->packets.lock);
        (void)take_turn(seat);
    }
}

void seat_nap(struct seat_state *seat, uint64_t timeout_ns, uint64_t *seen)
{
    fabric_mutex_take(&seat->packets.lock);
    (void)take_turn(seat);
    if (seat->turn_is_here) {
        want_turn(seat); /* says what was computed */
    } else {
        count_threads(seat);
    }
    uint64_t generation = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    if (generation != *seen) {
        *seen = generation;
        fabric_mutex_give(&seat->packets.lock);
        return;
    }
    /* Where the turn is not here another thread waits already, and this one joins it. */
    if (seat->turn_is_here) {
        close_and_give(seat, TURN_WAIT, timeout_ns);
        seat->turn_is_here = false;
        atomic_store(&seat->here, 0);
    }
    await_and_take_in(seat);
    *seen = atomic_load_explicit(&seat->generation, memory_order_relaxed);
    fabric_mutex_give(&seat->packets.lock);
    let_in(seat);
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
    want_turn(seat);
    if (seat->step_count > 0) {
        seat_sync(seat);
    }
    uint64_t now_ns = seat_time_ns(seat);
    fabric_mutex_give(&seat->packets.lock);
    return now_ns;
}
