/* Turns, steps, deaths; see program.h. */
#define _GNU_SOURCE
#include "sim/program/program.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dimmnet.h"
#include "sim/model/clock.h"
#include "sim/model/in_place.h"
#include "sim/program/state.h"

#define FNV_PRIME UINT64_C(0x100000001b3)
#define FNV_START UINT64_C(0xcbf29ce484222325)

/* ---- The hash of all that happens ------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * FNV_PRIME;
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const unsigned char *bytes, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, count - at < sizeof word ? count - at : sizeof word);
        hash = mix(hash, word);
    }
    return hash;
}

static void note(struct sim_programs *programs, uint64_t word)
{
    programs->hash = mix(programs->hash, word);
}

/* ---- Reading a turn -------------------------------------------------------------------------- */

static struct program_step *add_step(struct program_seat *seat, const struct turn_record *record)
{
    if (seat->step_count == seat->step_room) {
        seat->step_room = seat->step_room > 0 ? 2 * seat->step_room : 64;
        seat->steps = realloc(seat->steps, seat->step_room * sizeof *seat->steps);
        INVARIANT(seat->steps);
    }
    struct program_step *step = &seat->steps[seat->step_count++];
    *step = (struct program_step){
        .word = record->word,
        .detail = record->detail,
        .value = record->value,
        .peer = JOURNAL_NOBODY,
        .print = mix(mix(FNV_START, record->detail), record->value),
    };
    return step;
}

static bool packet_is_sound(const struct sim_programs *programs, const struct turn_packet *packet)
{
    return packet->peer < programs->config.node_count && packet->class <= WIRE_REPLY &&
           packet->bytes <= programs->packet_bytes_max;
}

/* False: the program has written nonsense over its page. */
static bool read_packet(struct program_seat *seat, const struct turn_record *record,
                        const unsigned char *load, struct sim_parcels *free_ones)
{
    struct turn_packet packet;
    const unsigned char *data;
    if (!turn_packet_read(record, load, &packet, &data) ||
        !packet_is_sound(seat->programs, &packet)) {
        return false;
    }
    note(seat->programs, (uint64_t)seat->rank << 32 | packet.peer);
    note(seat->programs, packet.number);
    seat->programs->hash = mix_bytes(seat->programs->hash, data, packet.bytes);
    uint64_t print = seat->programs->config.journal ? mix_bytes(packet.peer, data, packet.bytes)
                                                    : 0;
    struct sim_parcel *parcel = sim_parcel_make(seat->programs->world, &packet, data);
    if (packet.flags & TURN_KICKED && seat->step_count > 0) {
        struct program_step *step = &seat->steps[seat->step_count - 1];
        step->peer = packet.peer;
        step->print = mix(step->print, print);
        sim_parcels_add(&step->parcels, parcel);
    } else {
        sim_program_enter(seat, TURN_PACKET, journal_amount(packet.bytes, packet.peer), print);
        sim_parcels_add(free_ones, parcel);
    }
    return true;
}

static bool read_turn(struct program_seat *seat, enum turn_reason reason)
{
    const struct turn_page *page = seat->page;
    struct sim_programs *programs = seat->programs;
    struct sim_parcels free_ones = {0};
    struct turn_record record;
    const unsigned char *load;
    uint32_t at = 0;
    uint16_t closing = 0;
    while (turn_next(page->from_program, page->from_program_bytes, &at, &record, &load)) {
        note(programs, (uint64_t)record.word << 48 | (uint64_t)record.detail << 32 | seat->rank);
        note(programs, record.value);
        if (record.word == TURN_PACKET) {
            if (!read_packet(seat, &record, load, &free_ones)) {
                break;
            }
        } else if (record.word >= TURN_WAIT) {
            closing = record.word;
            break;
        } else if (reason != TURN_SERVE) {
            (void)add_step(seat, &record);
        }
    }
    sim_outside_send(programs->world, seat->rank, &free_ones);
    sim_outside_alarm(programs->world, seat->rank, page->deadline_ns);
    if (closing == 0) {
        return false;
    }
    if (closing != TURN_SERVED) {
        seat->closing = (enum turn_word)closing;
        seat->closing_value = record.value;
    }
    return true;
}

/* ---- Giving a turn --------------------------------------------------------------------------- */

static bool is_back(const struct turn_page *page)
{
    /* Acquire: pairs with the release of the program's giving. */
    return atomic_load_explicit(&page->turn, memory_order_acquire) == TURN_SIMULATOR;
}

static void sleep_on(struct turn_page *page)
{
    struct timespec nap = {.tv_nsec = PROGRAM_NAP_NS};
    (void)syscall(SYS_futex, &page->turn, FUTEX_WAIT, TURN_PROGRAM, &nap, NULL, 0);
}

/* As the program's side does (src/fabric/seat/turn.c), and for the same reason. */
static bool yields_and_gets_it(struct program_seat *seat)
{
    struct sim_programs *programs = seat->programs;
    if (programs->spins == 0 || programs->turns_without > 0) {
        programs->turns_without -= programs->turns_without > 0;
        return is_back(seat->page);
    }
    uint64_t before_ns = sim_program_real_ns();
    for (unsigned yield = 0; yield < PROGRAM_YIELDS; yield++) {
        if (is_back(seat->page)) {
            return true;
        }
        (void)sched_yield();
        uint64_t now_ns = sim_program_real_ns();
        if (now_ns - before_ns > PROGRAM_LONG_YIELD_NS) {
            programs->turns_without = PROGRAM_TURNS_WITHOUT;
            break;
        }
        before_ns = now_ns;
    }
    return is_back(seat->page);
}

/* False: the process has ended, or the run is to stop. */
static bool await(struct program_seat *seat)
{
    struct turn_page *page = seat->page;
    for (unsigned spin = 0; spin < seat->programs->spins; spin++) {
        if (is_back(page)) {
            return true;
        }
        cpu_relax();
    }
    if (yields_and_gets_it(seat)) {
        return true;
    }
    atomic_store_explicit(&page->sleeps[TURN_SIMULATOR], 1, memory_order_seq_cst);
    bool goes_on = true;
    for (uint32_t naps = 0;; naps++) {
        if (atomic_load_explicit(&page->turn, memory_order_seq_cst) == TURN_SIMULATOR) {
            break;
        }
        if (atomic_load(&seat->ended) != 0 || atomic_load(&seat->programs->stops)) {
            /* It may have given the turn just before. */
            goes_on = is_back(page);
            break;
        }
        sim_program_watch(seat, naps);
        sleep_on(page);
    }
    atomic_store_explicit(&page->sleeps[TURN_SIMULATOR], 0, memory_order_relaxed);
    return goes_on;
}

static void give(struct turn_page *page)
{
    atomic_store_explicit(&page->turn, TURN_PROGRAM, memory_order_seq_cst);
    if (atomic_load_explicit(&page->sleeps[TURN_PROGRAM], memory_order_seq_cst) != 0) {
        (void)syscall(SYS_futex, &page->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

static void end_seat(struct program_seat *seat, enum dn_life life);

/* The program runs until it stands again. */
static void take_turn(struct program_seat *seat, enum turn_reason reason)
{
    struct turn_page *page = seat->page;
    seat->programs->turns++;
    seat->has_news = reason == TURN_SERVE;
    if (reason != TURN_SERVE) {
        atomic_store(&page->knocks, 0); /* before the turn: who knocks now may still miss it */
    }
    page->now_ps = sim_world_now(seat->programs->world);
    page->reason = reason;
    give(page);
    bool has_come_back = await(seat);
    seat->programs->is_threaded |= atomic_load(&page->is_threaded) != 0;
    if (!has_come_back) {
        end_seat(seat, atomic_load(&seat->ended) == PROGRAM_ENDED_WELL ? DN_LEFT : DN_DEAD);
    } else if (!read_turn(seat, reason)) {
        (void)snprintf(seat->programs->fault, sizeof seat->programs->fault,
                       "node %" PRIu32 " wrote over its page of turns", seat->rank);
        atomic_store(&seat->programs->stops, true);
    }
}

/* ---- Notices --------------------------------------------------------------------------------- */

static struct program_seat *at_rank(struct sim_programs *programs, uint32_t rank)
{
    return &programs->seats[rank];
}

void sim_program_call_soon(struct program_seat *seat, enum program_call call)
{
    if (!(seat->called & 1u << call)) {
        seat->called |= 1u << call;
        sim_outside_call(seat->programs->world, seat->rank, sim_world_now(seat->programs->world),
                         call);
    }
}

/* Whether the program is there to take something in. */
static bool is_there(const struct program_seat *seat)
{
    return seat->state == PROGRAM_STEPS || seat->state == PROGRAM_WAITS;
}

static unsigned char *notice(struct program_seat *seat, enum turn_word word, uint32_t detail,
                             uint64_t value, uint32_t load_bytes)
{
    struct turn_page *page = seat->page;
    unsigned char *load = turn_put(page->from_simulator, &page->from_simulator_bytes, word,
                                   (uint16_t)detail, value, load_bytes);
    if (!load) {
        take_turn(seat, TURN_SERVE);
        load = turn_put(page->from_simulator, &page->from_simulator_bytes, word, (uint16_t)detail,
                        value, load_bytes);
        INVARIANT(load || !is_there(seat));
    }
    return load;
}

/* It has a notice: one that waits looks at it at once, another one when it stands again. */
static void noticed(struct program_seat *seat, bool needs_now)
{
    if (seat->state == PROGRAM_WAITS) {
        sim_program_call_soon(seat, PROGRAM_CALL_WAKE);
    } else if (needs_now) {
        sim_program_call_soon(seat, PROGRAM_CALL_SERVE);
    }
}

static bool on_arrived(void *context, uint32_t rank, const struct turn_packet *packet,
                       const unsigned char *data)
{
    struct sim_programs *programs = context;
    struct program_seat *seat = at_rank(programs, rank);
    struct program_traffic *traffic =
        &programs->traffic[(uint64_t)packet->peer * programs->config.node_count + rank];
    traffic->packets++;
    traffic->bytes += packet->bytes;
    note(programs, sim_world_now(programs->world));
    if (!is_there(seat)) {
        return seat->state == PROGRAM_LEFT; /* its NIC is still there */
    }
    if (!(packet->flags & TURN_IS_FLUSH)) {
        unsigned char *load = notice(seat, TURN_ARRIVED, 0, 0,
                                     (uint32_t)sizeof *packet + packet->bytes);
        if (!load) {
            return false;
        }
        memcpy(load, packet, sizeof *packet);
        memcpy(load + sizeof *packet, data, packet->bytes);
        noticed(seat, packet->flags & TURN_NEEDS_NOW || packet->class == WIRE_REPLY);
    }
    return true;
}

static void on_acked(void *context, uint32_t rank, uint32_t peer, uint64_t number, uint64_t cookie)
{
    struct program_seat *seat = at_rank(context, rank);
    unsigned char *load = is_there(seat) ? notice(seat, TURN_ACKED, peer, number, sizeof cookie)
                                         : NULL;
    if (load) {
        memcpy(load, &cookie, sizeof cookie);
        noticed(seat, true);
    }
}

static void on_alarm(void *context, uint32_t rank)
{
    struct program_seat *seat = at_rank(context, rank);
    if (is_there(seat)) {
        noticed(seat, true); /* what its NIC does then may be what the program waits for */
    }
}

static void on_drained(void *context, uint32_t rank)
{
    struct program_seat *seat = at_rank(context, rank);
    if (is_there(seat) && seat->page->wants_room) {
        sim_program_call_soon(seat, PROGRAM_CALL_SERVE);
    }
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static void tell_life(struct sim_programs *programs, uint32_t rank, enum dn_life life)
{
    for (uint32_t other = 0; other < programs->config.node_count; other++) {
        struct program_seat *seat = at_rank(programs, other);
        if (other != rank && is_there(seat) && notice(seat, TURN_LIFE, rank, life, 0)) {
            noticed(seat, false);
        }
    }
}

/* The program does nothing more; the others learn it. */
static void end_seat(struct program_seat *seat, enum dn_life life)
{
    struct sim_programs *programs = seat->programs;
    uint64_t now_ps = sim_world_now(programs->world);
    if (!is_there(seat)) {
        return;
    }
    if (seat->state == PROGRAM_WAITS) {
        sim_outside_end(programs->world, seat->rank); /* else `go` ends it, which comes */
    }
    sim_program_account(seat, SIM_PROGRAM_WORKS);
    seat->state = life == DN_LEFT ? PROGRAM_LEFT : PROGRAM_DEAD;
    sim_program_core_leave(seat);
    for (uint32_t i = seat->step_at; i < seat->step_count; i++) {
        sim_parcels_give(programs->world, &seat->steps[i].parcels);
    }
    seat->step_at = seat->step_count = 0;
    note(programs, (uint64_t)life << 32 | seat->rank);
    sim_program_enter(seat, TURN_LIFE, journal_amount(life, JOURNAL_NOBODY), 0);
    sim_outside_call(programs->world, seat->rank,
                     now_ps + (life == DN_DEAD ? programs->config.notice_ps : 0),
                     PROGRAM_CALL_LIFE);
}

static void kill_seat(struct program_seat *seat)
{
    if (is_there(seat) && seat->process != 0) {
        (void)kill((pid_t)seat->process, SIGKILL);
        end_seat(seat, DN_DEAD);
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

enum { WORD_BYTES = 8 };

static void begin_step_in_place(struct sim_host *host, struct program_step *step, uint64_t since_ps)
{
    if (step->word == TURN_LOOK && since_ps == UINT64_MAX) {
        sim_in_place_look(host);
    } else if (step->word == TURN_LOOK) {
        sim_in_place_found(host, since_ps, step->detail == TURN_MET);
    } else {
        sim_in_place_step(host, (enum turn_word)step->word, step->detail, step->value,
                          &step->parcels);
    }
}

/* Where cores are shared it computes for a slice, and the rest is still to be done. */
static void begin_computing(struct program_seat *seat, struct sim_host *host,
                            struct program_step *step)
{
    uint64_t whole_ps = step->value < PROGRAM_COMPUTE_NS_MAX ? step->value * SIM_PS_PER_NS : 0;
    uint64_t now_ps = sim_program_core_slice_ps(seat, whole_ps);
    if (now_ps < whole_ps) {
        step->value -= now_ps / SIM_PS_PER_NS;
        seat->step_at--;
    }
    sim_compute(host, now_ps);
}

static void begin_step(struct program_seat *seat, struct sim_host *host, struct program_step *step)
{
    uint64_t since_ps = seat->wait_since_ps;
    sim_program_enter_step(seat, step);
    seat->programs->calls++;
    seat->wait_since_ps = UINT64_MAX;
    sim_program_account(seat,
                        step->word == TURN_COMPUTE ? SIM_PROGRAM_COMPUTES : SIM_PROGRAM_WORKS);
    if (seat->programs->is_in_place && step->word != TURN_COMPUTE) {
        begin_step_in_place(host, step, since_ps);
        return;
    }
    switch ((enum turn_word)step->word) {
    case TURN_STORE: sim_outside_store(host, step->detail, &step->parcels); break;
    case TURN_BLOCK: sim_outside_block(host, (uint32_t)step->value, &step->parcels); break;
    case TURN_REQUEST:
        sim_outside_request(host, turn_asking_words(step->detail), &step->parcels);
        break;
    case TURN_SERVICE: sim_outside_service(host, &step->parcels); break;
    case TURN_COMPUTE: begin_computing(seat, host, step); break;
    default: {
        unsigned bytes = step->detail > 0 && step->detail <= WORD_BYTES ? step->detail : WORD_BYTES;
        if (step->value != 0) {
            sim_outside_told(host, bytes, since_ps);
        } else if (since_ps == UINT64_MAX) {
            sim_outside_look(host, bytes);
        } else {
            sim_outside_found(host, bytes, since_ps);
        }
    }
    }
}

/* It stands in a wait: until a notice comes, or its time is up. */
static void park(struct program_seat *seat)
{
    struct sim_programs *programs = seat->programs;
    uint64_t now_ps = sim_world_now(programs->world);
    sim_program_enter(seat, TURN_WAIT, journal_amount(seat->closing_value, JOURNAL_NOBODY),
                      seat->closing_value);
    seat->state = PROGRAM_WAITS;
    seat->wait_number++;
    sim_program_account(seat, SIM_PROGRAM_WAITS);
    sim_program_core_leave(seat);
    if (seat->wait_since_ps == UINT64_MAX) {
        seat->wait_since_ps = now_ps;
        programs->calls++;
    }
    if (seat->page->from_simulator_bytes > 0 || seat->has_news) {
        sim_program_call_soon(seat, PROGRAM_CALL_WAKE);
    } else if (seat->closing_value < (UINT64_MAX - now_ps) / (2 * SIM_PS_PER_NS)) {
        sim_outside_call(programs->world, seat->rank, now_ps + seat->closing_value * SIM_PS_PER_NS,
                         (uint64_t)seat->wait_number << PROGRAM_CALL_BITS | PROGRAM_CALL_TIMEOUT);
    }
}

/* The host's program in the world: one step after the other. */
static void go(struct sim_host *host)
{
    struct program_seat *seat = host->locals;
    while (is_there(seat) && sim_program_core_is_its(seat)) {
        if (seat->step_at < seat->step_count) {
            begin_step(seat, host, &seat->steps[seat->step_at++]);
            break;
        }
        seat->step_at = seat->step_count = 0;
        if (seat->closing == TURN_WAIT) {
            park(seat);
            break;
        }
        if (seat->closing == TURN_LEAVE) {
            end_seat(seat, DN_LEFT);
            seat->page->reason = TURN_GO_ON;
            seat->page->from_simulator_bytes = 0;
            give(seat->page);
            break;
        }
        take_turn(seat, seat->is_knocked ? TURN_KNOCK : TURN_GO_ON);
        seat->is_sure = seat->is_knocked && seat->step_count == 0 && seat->closing == TURN_WAIT;
        seat->is_knocked = false;
    }
    host->ended = !is_there(seat);
}

static void wake(struct program_seat *seat)
{
    if (seat->state == PROGRAM_WAITS) {
        sim_program_account(seat, SIM_PROGRAM_WAITS);
        seat->state = PROGRAM_STEPS;
        seat->closing = TURN_SYNC;
        sim_outside_go_on(seat->programs->world, seat->rank);
    }
}

static void on_called(void *context, uint32_t rank, uint64_t value)
{
    struct sim_programs *programs = context;
    struct program_seat *seat = at_rank(programs, rank);
    enum program_call call = (enum program_call)(value & ((1u << PROGRAM_CALL_BITS) - 1));
    seat->called &= ~(1u << call);
    switch (call) {
    case PROGRAM_CALL_WAKE: wake(seat); break;
    case PROGRAM_CALL_SERVE:
        if (is_there(seat)) {
            take_turn(seat, TURN_SERVE);
        }
        break;
    case PROGRAM_CALL_TIMEOUT:
        if (value >> PROGRAM_CALL_BITS == seat->wait_number) {
            wake(seat);
        }
        break;
    case PROGRAM_CALL_LIFE:
        tell_life(programs, rank, seat->state == PROGRAM_LEFT ? DN_LEFT : DN_DEAD);
        break;
    case PROGRAM_CALL_KILL: kill_seat(seat); break;
    case PROGRAM_CALL_CORE:
        if (sim_program_core_came(seat)) {
            sim_outside_go_on(programs->world, rank);
        }
        break;
    }
}

/* ---- Ends of processes ----------------------------------------------------------------------- */

/* A process that ended while it stood has died at this moment. */
void sim_program_look_for_ends(struct sim_programs *programs)
{
    if (!atomic_exchange(&programs->any_ended, false)) {
        return;
    }
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        struct program_seat *seat = at_rank(programs, rank);
        uint32_t ended = atomic_load(&seat->ended);
        if (ended != 0 && is_there(seat)) {
            end_seat(seat, ended == PROGRAM_ENDED_WELL ? DN_LEFT : DN_DEAD);
        }
    }
}

/* ---- From the beginning to the end ----------------------------------------------------------- */

struct sim_programs *sim_programs_open(const struct sim_programs_config *config,
                                       char error[SIM_ERROR_BYTES])
{
    struct sim_programs *programs = calloc(1, sizeof *programs);
    uint64_t nodes = config->node_count;
    INVARIANT(programs);
    programs->config = *config;
    programs->hash = FNV_START;
    programs->packet_bytes_max = swif_packet_bytes(sim_world_body_bytes_max(config->machine));
    programs->spins = config->pages[0]->terms.spins;
    programs->seats = calloc(nodes, sizeof *programs->seats);
    programs->traffic = calloc(nodes * nodes, sizeof *programs->traffic);
    programs->deaths = calloc(config->death_count + 1, sizeof *programs->deaths);
    INVARIANT(programs->seats && programs->traffic && programs->deaths);
    for (uint32_t i = 0; i < config->death_count; i++) {
        programs->deaths[i] = config->deaths[i];
    }
    for (uint32_t rank = 0; rank < nodes; rank++) {
        programs->seats[rank] = (struct program_seat){
            .programs = programs,
            .rank = rank,
            .page = config->pages[rank],
            .wait_since_ps = UINT64_MAX,
        };
    }
    sim_program_accounts_open(programs);
    programs->outside = (struct sim_outside){
        .context = programs,
        .arrived = on_arrived,
        .acked = on_acked,
        .alarm = on_alarm,
        .called = on_called,
        .goes_on = sim_program_goes_on,
        .drained = on_drained,
    };
    const struct sim_world_config world = {
        .machine = config->machine,
        .node_count = config->node_count,
        .topology = config->topology,
        .timeline = config->timeline,
        .seed = config->seed,
        .counts_use = true,
        .outside = &programs->outside,
    };
    programs->is_in_place = sim_machine_is_in_place(config->machine);
    sim_program_cores_open(programs);
    programs->world = sim_world_open(&world, error);
    if (!programs->world) {
        sim_programs_close(programs);
        return NULL;
    }
    return programs;
}

void sim_programs_close(struct sim_programs *programs)
{
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        free(at_rank(programs, rank)->steps);
        sim_program_spans_free(&at_rank(programs, rank)->spans);
    }
    sim_world_close(programs->world);
    free(programs->seats);
    free(programs->traffic);
    free(programs->deaths);
    free(programs->cores);
    free(programs);
}

/* Virtual time begins when every process has attached, or has ended without. */
static void gather(struct sim_programs *programs)
{
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        struct program_seat *seat = at_rank(programs, rank);
        if (await(seat)) {
            seat->state = PROGRAM_STEPS;
            seat->closing = TURN_SYNC;
            seat->account = SIM_PROGRAM_WORKS;
            seat->process = sim_program_process(seat);
            sim_world_start(programs->world, rank, 0, go, seat, 0);
        } else {
            bool well = atomic_load(&seat->ended) == PROGRAM_ENDED_WELL;
            seat->state = well ? PROGRAM_LEFT : PROGRAM_DEAD;
        }
    }
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        static const enum dn_life lives[] = {
            [PROGRAM_ABSENT] = DN_STARTING, [PROGRAM_STEPS] = DN_ATTACHED,
            [PROGRAM_WAITS] = DN_ATTACHED,  [PROGRAM_LEFT] = DN_LEFT,
            [PROGRAM_DEAD] = DN_DEAD,
        };
        tell_life(programs, rank, lives[at_rank(programs, rank)->state]);
    }
    for (uint32_t i = 0; i < programs->config.death_count; i++) {
        sim_outside_call(programs->world, programs->deaths[i].rank, programs->deaths[i].at_ps,
                         PROGRAM_CALL_KILL);
    }
}

static void say_who_waits(const struct sim_programs *programs, char error[SIM_PROGRAMS_ERROR_BYTES])
{
    uint32_t first = UINT32_MAX;
    uint32_t waiting = 0;
    for (uint32_t rank = programs->config.node_count; rank > 0; rank--) {
        if (programs->seats[rank - 1].state == PROGRAM_WAITS) {
            first = rank - 1;
            waiting++;
        }
    }
    (void)snprintf(error, SIM_PROGRAMS_ERROR_BYTES,
                   "deadlock at %.3f us of virtual time: nothing is under way, and %" PRIu32
                   " nodes wait, the first of them node %" PRIu32,
                   (double)sim_world_now(programs->world) / 1e6, waiting, first);
}

enum sim_programs_end sim_programs_run(struct sim_programs *programs,
                                       char error[SIM_PROGRAMS_ERROR_BYTES])
{
    *error = '\0';
    gather(programs);
    if (atomic_load(&programs->stops)) {
        return SIM_PROGRAMS_STOPPED; /* not all have come, and nobody waits for them any more */
    }
    enum sim_end end = sim_world_run(programs->world, programs->config.limit_ps);
    sim_program_accounts_close(programs);
    sim_program_enter_end(programs);
    if (end == SIM_END_DONE && !programs->is_different) {
        return atomic_load(&programs->is_cut) ? SIM_PROGRAMS_STOPPED : SIM_PROGRAMS_DONE;
    }
    if (atomic_load(&programs->stops)) {
        (void)snprintf(error, SIM_PROGRAMS_ERROR_BYTES, "%s", programs->fault);
        return SIM_PROGRAMS_STOPPED;
    }
    if (end == SIM_END_DEADLOCK) {
        say_who_waits(programs, error);
        return SIM_PROGRAMS_DEADLOCK;
    }
    (void)snprintf(error, SIM_PROGRAMS_ERROR_BYTES, "virtual time is up");
    return SIM_PROGRAMS_LIMIT;
}

void sim_programs_ended(struct sim_programs *programs, uint32_t rank, bool well)
{
    struct program_seat *seat = at_rank(programs, rank);
    atomic_store(&seat->ended, well ? PROGRAM_ENDED_WELL : PROGRAM_ENDED_BADLY);
    atomic_store(&programs->any_ended, true);
    (void)syscall(SYS_futex, &seat->page->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void sim_programs_stop(struct sim_programs *programs)
{
    atomic_store(&programs->stops, true);
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        (void)syscall(SYS_futex, &programs->seats[rank].page->turn, FUTEX_WAKE, INT_MAX, NULL, NULL,
                      0);
    }
}

void sim_programs_cut(struct sim_programs *programs)
{
    atomic_store(&programs->is_cut, true);
}
