/* Steps of programs: what they cost the CPU, and what they set off.
 *
 * A poll is one read after the other. Only a read that can find something new becomes an event:
 * when bytes arrive that fulfil the condition, the first read that begins afterwards is put. The
 * reads before it, known to be in vain, cost only virtual time. */
#include "sim/model/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Going on -------------------------------------------------------------------------- */

void sim_host_event(struct sim_world *world, struct sim_host *host)
{
    uint64_t core_free_ps = world->nodes[host->node].core_free_ps;
    if (host->is_core && core_free_ps > world->now_ps) {
        sim_put(world, core_free_ps, SIM_EVENT_HOST, (uint32_t)(host - world->hosts), 0);
        return; /* a handler is at work */
    }
    host->now_ps = world->now_ps;
    sim_bank_step_done(host);
    host->program(host);
    if (host->ended) {
        world->running--;
    }
}

static void show(const struct sim_host *host, const char *what, uint64_t from_ps, uint64_t to_ps)
{
    if (host->world->config.timeline) {
        sim_timeline_span(host->world->config.timeline, host->node, SIM_TRACK_HOST + host->user,
                          what, from_ps, to_ps, 0);
    }
}

static uint32_t host_number(const struct sim_host *host)
{
    return (uint32_t)(host - host->world->hosts);
}

void sim_host_go_on(struct sim_host *host, const char *what, uint64_t at_ps)
{
    show(host, what, host->now_ps, at_ps);
    host->busy_ps += at_ps - host->now_ps;
    sim_put(host->world, at_ps, SIM_EVENT_HOST, host_number(host), 0);
}

void sim_work(struct sim_host *host, uint64_t ps)
{
    sim_host_go_on(host, "work", host->now_ps + ps);
}

void sim_compute(struct sim_host *host, uint64_t ps)
{
    sim_host_go_on(host, "compute", host->now_ps + ps);
    host->busy_ps -= ps;
}

/* ---- The kernel's side ------------------------------------------------------------------- */

struct dn_remote sim_remote(uint32_t remote_node, uint64_t offset)
{
    return (struct dn_remote){.rank = (int)remote_node, .area = SIM_AREA_LLCM, .offset = offset};
}

struct dn_remote sim_remote_bank(uint32_t remote_node, uint64_t offset)
{
    return (struct dn_remote){.rank = (int)remote_node, .area = SIM_AREA_BANK, .offset = offset};
}

uint64_t sim_kick(struct sim_host *host, uint32_t remote_node, uint64_t offset)
{
    uint64_t kick_address;
    int error = sim_kick_open(host, sim_remote(remote_node, offset), true, &kick_address);
    INVARIANT(!error);
    return kick_address;
}

void *sim_memory(struct sim_host *host, uint64_t offset)
{
    INVARIANT(offset < host->world->machine->llcm_bytes);
    return sim_node_of(host)->memory + offset;
}

/* ---- Kicks ------------------------------------------------------------------------------- */

/* A store to the NIC: the CPU goes on after its write; the NIC has it some bus clocks after the
 * write began. */
void sim_host_kick(struct sim_host *host, uint64_t at_ps, const struct sim_kick *kick)
{
    struct sim_world *world = host->world;
    uint64_t bus_ps = host->is_core ? 0 : world->bus_ps;
    uint64_t come_ps = at_ps + sim_cycles(bus_ps, world->machine->host_kick_cycles);
    uint32_t slot;
    struct sim_kick *taken = sim_slots_take(&world->kicks, &slot);
    *taken = *kick;
    taken->host = host_number(host);
    taken->started_ps = at_ps;
    if (kick->kind <= SIM_KICK_MULTICAST) {
        taken->remote.rank = nic_kick_target(sim_node_of(host)->engine, kick->address);
    }
    sim_put(world, come_ps, SIM_EVENT_KICK, slot, SIM_KICK_COMES);
}

/* The core processor moves 32 bits at a time. */
static uint64_t core_ps(const struct sim_world *world, uint64_t cycles, unsigned bytes)
{
    return sim_cycles(world->core_ps, bytes > 4 ? 2 * cycles : cycles);
}

uint64_t sim_host_write_ps(const struct sim_host *host, unsigned bytes)
{
    if (host->is_core) {
        return core_ps(host->world, host->world->machine->core_store_cycles, bytes);
    }
    return bytes > 4 ? host->world->machine->host_write8 : host->world->machine->host_write;
}

void sim_store(struct sim_host *host, uint64_t kick_address, uint64_t value, unsigned bytes)
{
    uint64_t at_ps = host->now_ps + sim_cpu_tlb_ps(host, kick_address);
    sim_host_kick(
        host, at_ps,
        &(struct sim_kick){
            .kind = SIM_KICK_AOTF, .address = kick_address, .value = value, .bytes = bytes});
    sim_host_go_on(host, "store", at_ps + sim_host_write_ps(host, bytes));
}

void sim_store_all(struct sim_host *host, uint64_t kick_address, uint64_t value, unsigned bytes,
                   uint32_t first, uint32_t count)
{
    INVARIANT(!sim_world_multicast_refusal(host->world));
    sim_host_kick(host, host->now_ps,
                  &(struct sim_kick){.kind = SIM_KICK_MULTICAST,
                                     .address = kick_address,
                                     .value = value,
                                     .bytes = bytes,
                                     .first = first,
                                     .count = count});
    sim_host_go_on(host, "store to all", host->now_ps + sim_host_write_ps(host, bytes));
}

void sim_write(struct sim_host *host, uint64_t offset, uint64_t value, unsigned bytes)
{
    sim_host_kick(host, host->now_ps,
                  &(struct sim_kick){
                      .kind = SIM_KICK_LOCAL, .address = offset, .value = value, .bytes = bytes});
    sim_host_go_on(host, "write", host->now_ps + sim_host_write_ps(host, bytes));
}

/* ---- Reads and polls ------------------------------------------------------------------- */

static uint64_t read_ps(const struct sim_host *host, unsigned bytes)
{
    const struct sim_machine *machine = host->world->machine;
    if (host->is_core) {
        return core_ps(host->world, machine->core_load_cycles, bytes);
    }
    return bytes > 4 ? machine->host_read8 : machine->host_read;
}

/* Whether the host's reads are of its own memory, through its cache. */
static bool reads_memory(const struct sim_host *host)
{
    return sim_is_card(host->world) && !host->is_core;
}

static uint64_t word_at(struct sim_host *host, uint64_t offset, unsigned bytes)
{
    uint64_t word = 0;
    memcpy(&word, sim_memory(host, offset), bytes);
    return word;
}

void sim_load(struct sim_host *host, uint64_t offset, unsigned bytes)
{
    uint64_t load_ps = read_ps(host, bytes);
    if (reads_memory(host)) {
        load_ps = host->dma_seen != sim_node_of(host)->dma_writes
                      ? host->world->machine->host_fill
                      : host->world->machine->host_cached;
    }
    host->value = word_at(host, offset, bytes);
    host->dma_seen = sim_node_of(host)->dma_writes;
    sim_host_go_on(host, "load", host->now_ps + load_ps);
}

/* When the read of that word begins that is the first one at `from_ps` or later. */
static uint64_t word_read_ps(const struct sim_host *host, uint32_t number, uint64_t from_ps)
{
    uint64_t first_ps = host->poll_start_ps + number * host->poll_period_ps;
    uint64_t round_ps = host->poll_word_count * host->poll_period_ps;
    uint64_t rounds = from_ps > first_ps ? (from_ps - first_ps + round_ps - 1) / round_ps : 0;
    return first_ps + rounds * round_ps;
}

/* Of the words that are not as they were seen, the one that is read first from that moment on. */
static bool find_word(struct sim_host *host, uint64_t from_ps, uint32_t *found)
{
    uint64_t least_ps = UINT64_MAX;
    for (uint32_t i = 0; i < host->poll_word_count; i++) {
        const struct sim_poll_word *word = &host->poll_words[i];
        if (word_at(host, word->offset, 8) != word->seen) {
            uint64_t at_ps = word_read_ps(host, i, from_ps);
            *found = at_ps < least_ps ? i : *found;
            least_ps = at_ps < least_ps ? at_ps : least_ps;
        }
    }
    return least_ps != UINT64_MAX;
}

static bool poll_holds(struct sim_host *host)
{
    switch (host->polls) {
    case SIM_POLL_WORD:
        return (word_at(host, host->poll_offset, host->poll_bytes) & host->poll_mask) ==
               host->poll_wanted;
    case SIM_POLL_COMPLETION: return nic_completion_is_done(&host->completion);
    case SIM_POLL_WINDOW: {
        uint32_t share = NIC_WINDOWS / host->world->config.user_count;
        return host->windows_in_nic < share;
    }
    case SIM_POLL_ANY: return find_word(host, host->world->now_ps, &host->poll_found);
    case SIM_NO_POLL: break;
    default: return sim_message_poll_ps(host) <= host->world->now_ps;
    }
    return false;
}

/* The moment from which a poll's reads find what they look for; UINT64_MAX: not yet known. */
static uint64_t holds_from_ps(struct sim_host *host)
{
    if (host->polls >= SIM_POLL_SEND_ROOM) {
        return sim_message_poll_ps(host);
    }
    return poll_holds(host) ? 0 : UINT64_MAX;
}

/* A sample that was due before this one is not any more. */
static void put_sample_at(struct sim_host *host, uint64_t at_ps)
{
    host->sample_is_due = true;
    host->sample_ps = at_ps;
    sim_put(host->world, at_ps, SIM_EVENT_SAMPLE, host_number(host), ++host->sample_number);
}

/* Puts the poll's first read that begins at `from_ps` or later. */
static void put_sample(struct sim_host *host, uint64_t from_ps)
{
    uint64_t start_ps = host->poll_start_ps;
    if (host->is_asleep && from_ps > start_ps) {
        start_ps = from_ps + host->world->machine->host_interrupt;
        host->busy_ps += host->world->machine->host_interrupt;
    } else if (from_ps > start_ps) {
        uint64_t reads = (from_ps - start_ps + host->poll_period_ps - 1) / host->poll_period_ps;
        start_ps += reads * host->poll_period_ps;
    }
    put_sample_at(host, start_ps);
}

uint64_t sim_host_poll_period_ps(const struct sim_host *host, unsigned bytes, uint64_t *read)
{
    const struct sim_machine *machine = host->world->machine;
    bool is_of_memory = reads_memory(host);
    *read = is_of_memory ? machine->host_fill : read_ps(host, bytes);
    uint64_t period_ps = is_of_memory ? machine->host_cached : *read;
    return period_ps > 0 ? period_ps : 1;
}

void sim_host_poll(struct sim_host *host, unsigned kind, uint64_t read_ps)
{
    const struct sim_machine *machine = host->world->machine;
    bool is_of_memory = reads_memory(host) && (kind == SIM_POLL_WORD || kind == SIM_POLL_MESSAGE ||
                                               kind == SIM_POLL_COMPLETION);
    host->polls = kind;
    host->poll_start_ps = host->now_ps;
    host->poll_read_ps = is_of_memory ? machine->host_fill : read_ps;
    host->poll_period_ps = (is_of_memory ? machine->host_cached : read_ps) + host->poll_pause_ps;
    host->sample_is_due = false;
    uint64_t from_ps = holds_from_ps(host);
    if (from_ps != UINT64_MAX) {
        put_sample(host, from_ps);
    }
}

void sim_poll(struct sim_host *host, uint64_t offset, unsigned bytes, uint64_t mask,
              uint64_t wanted)
{
    host->poll_offset = offset;
    host->poll_bytes = bytes;
    host->poll_mask = mask;
    host->poll_wanted = wanted;
    uint64_t loop_ps = host->is_core ? sim_cycles(host->world->core_ps,
                                                  host->world->machine->core_loop_cycles)
                                     : 0;
    sim_host_poll(host, SIM_POLL_WORD, read_ps(host, bytes) + loop_ps);
}

/* ---- Polls of several words --------------------------------------------------------------- */

static void put_word_sample(struct sim_host *host, uint32_t number)
{
    uint64_t at_ps = word_read_ps(host, number, host->world->now_ps);
    if (!host->sample_is_due || at_ps < host->sample_ps) {
        host->poll_found = number;
        put_sample_at(host, at_ps);
    }
}

void sim_poll_any(struct sim_host *host, struct sim_poll_word *words, uint32_t count)
{
    const struct sim_machine *machine = host->world->machine;
    uint64_t loop_ps = host->is_core ? sim_cycles(host->world->core_ps, machine->core_loop_cycles)
                                     : 0;
    uint64_t each_ps = read_ps(host, 8) + loop_ps;
    uint32_t number;
    host->polls = SIM_POLL_ANY;
    host->poll_words = words;
    host->poll_word_count = count;
    host->poll_start_ps = host->now_ps;
    host->poll_read_ps = reads_memory(host) ? machine->host_fill : each_ps;
    host->poll_period_ps = (reads_memory(host) ? machine->host_cached : each_ps) +
                           host->poll_pause_ps;
    host->sample_is_due = false;
    if (find_word(host, host->now_ps, &number)) {
        put_word_sample(host, number);
    }
}

void sim_poll_end(struct sim_host *host)
{
    if (host->polls != SIM_POLL_ANY) {
        return;
    }
    uint64_t end_ps = host->world->now_ps;
    if (host->poll_word_count > 0) {
        uint64_t reads = (end_ps - host->poll_start_ps + host->poll_period_ps - 1) /
                         host->poll_period_ps;
        end_ps = host->poll_start_ps + reads * host->poll_period_ps;
    }
    if (host->sample_is_due && host->sample_ps < end_ps) {
        return; /* it ends by itself before */
    }
    host->polls = SIM_NO_POLL;
    host->sample_is_due = false;
    host->sample_number++;
    host->value = host->poll_word_count;
    host->now_ps = host->poll_start_ps;
    host->busy_ps -= end_ps - host->poll_start_ps;
    sim_host_go_on(host, "poll", end_ps);
}

static void any_arrived(struct sim_host *host, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = 0; i < host->poll_word_count; i++) {
        const struct sim_poll_word *word = &host->poll_words[i];
        if (word->offset < offset + bytes && offset < word->offset + 8 &&
            word_at(host, word->offset, 8) != word->seen) {
            put_word_sample(host, i);
        }
    }
}

static void any_found(struct sim_host *host)
{
    struct sim_poll_word *word = &host->poll_words[host->poll_found];
    word->seen = word_at(host, word->offset, 8);
    host->value = host->poll_found;
}

/* ---- What a poll finds -------------------------------------------------------------------- */

void sim_wait(struct sim_host *host, uint64_t offset, unsigned bytes, uint64_t mask,
              uint64_t wanted)
{
    host->is_asleep = host->world->machine->host_pemm != 0;
    sim_poll(host, offset, bytes, mask, wanted);
}

static void begin_block(struct sim_host *host, uint64_t at_ps);

void sim_host_sample(struct sim_world *world, struct sim_host *host, uint64_t number)
{
    if (number != host->sample_number || !host->sample_is_due) {
        return; /* another one took its place */
    }
    host->sample_is_due = false;
    if (!poll_holds(host)) {
        return; /* overwritten meanwhile: the reads go on */
    }
    if (host->polls == SIM_POLL_ANY &&
        word_read_ps(host, host->poll_found, world->now_ps) > world->now_ps) {
        put_word_sample(host, host->poll_found); /* the same, but there is another word */
        return;
    }
    uint64_t done_ps = world->now_ps + host->poll_read_ps;
    host->dma_seen = sim_node_of(host)->dma_writes;
    host->now_ps = host->poll_start_ps;
    host->busy_ps -= world->now_ps - host->poll_start_ps;
    unsigned kind = host->polls;
    host->polls = SIM_NO_POLL;
    host->is_asleep = false;
    struct sim_passage *passage = sim_node_of(host)->passage;
    switch (kind) {
    case SIM_POLL_WORD:
        host->value = word_at(host, host->poll_offset, host->poll_bytes);
        if (passage) {
            passage->read_ps = world->now_ps;
            passage->seen_ps = done_ps;
        }
        sim_host_go_on(host, "poll", done_ps);
        break;
    case SIM_POLL_ANY:
        any_found(host);
        sim_host_go_on(host, "poll", done_ps);
        break;
    case SIM_POLL_COMPLETION:
        host->result = host->completion.result;
        sim_host_go_on(host, "wait", done_ps);
        break;
    case SIM_POLL_WINDOW: begin_block(host, done_ps); break;
    default: sim_message_polled(host, kind, done_ps); break;
    }
}

void sim_hosts_see(struct sim_world *world, struct sim_node *node, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = 0; i < node->host_count; i++) {
        struct sim_host *host = &world->hosts[node->first_host + i];
        if (host->polls == SIM_POLL_WORD && !host->sample_is_due &&
            host->poll_offset < offset + bytes && offset < host->poll_offset + host->poll_bytes &&
            poll_holds(host)) {
            put_sample(host, world->now_ps);
        } else if (host->polls == SIM_POLL_ANY) {
            any_arrived(host, offset, bytes);
        }
    }
}

uint64_t sim_host_told_ps(struct sim_host *host, bool by_core)
{
    struct sim_world *world = host->world;
    struct sim_node *node = sim_node_of(host);
    uint64_t told_ps = world->now_ps;
    if (by_core) {
        told_ps = sim_core_work(world, node, "notify", told_ps, world->machine->core_notify_cycles,
                                0);
    }
    return reads_memory(host) ? sim_dma_write(world, node, told_ps, sizeof host->value) : told_ps;
}

void sim_hosts_look(struct sim_world *world, struct sim_node *node)
{
    for (uint32_t i = 0; i < node->host_count; i++) {
        struct sim_host *host = &world->hosts[node->first_host + i];
        if (host->sample_is_due || host->polls < SIM_POLL_COMPLETION ||
            host->polls == SIM_POLL_WINDOW) {
            continue;
        }
        uint64_t told_ps = holds_from_ps(host);
        if (told_ps == UINT64_MAX) {
            continue;
        }
        told_ps = told_ps > world->now_ps ? told_ps : world->now_ps;
        if (host->polls == SIM_POLL_COMPLETION) {
            told_ps = sim_host_told_ps(host, host->is_served);
        }
        put_sample(host, told_ps);
    }
}

/* ---- Blocks ---------------------------------------------------------------------------- */

/* Writes the window's words; the last of them kicks. */
static void begin_block(struct sim_host *host, uint64_t at_ps)
{
    struct sim_world *world = host->world;
    struct sim_kick *kick = sim_slots_at(&world->kicks, host->block_kick);
    /* A packet of the user's own has its header in it. */
    uint64_t data_bytes = kick->kind == SIM_KICK_PACKET ? kick->bytes - WIRE_OPERATION_BYTES
                                                        : kick->bytes;
    uint64_t words = (data_bytes + world->machine->packet_overhead_bytes + 7) / 8;
    uint64_t written_ps = at_ps +
                          words * sim_cycles(world->bus_ps, world->machine->host_burst_cycles);
    uint64_t share = NIC_WINDOWS / world->config.user_count;
    if (host->windows_free == 0) {
        host->windows_free = (uint32_t)(share - host->windows_in_nic);
    }
    host->windows_free--;
    host->windows_in_nic++;
    struct sim_kick copy = *kick;
    if (kick->kind != SIM_KICK_BLOCK_OUTSIDE) {
        /* A copy, because the program goes on after the write and may change the source. */
        memcpy(sim_slots_take(&world->blocks, &copy.block), kick->local, kick->bytes);
    }
    sim_slots_give(&world->kicks, host->block_kick);
    sim_host_kick(host, written_ps, &copy);
    sim_host_go_on(host, "block", written_ps);
}

void sim_host_ask_for_window(struct sim_host *host, const struct sim_kick *wanted)
{
    struct sim_world *world = host->world;
    struct sim_kick *kick = sim_slots_take(&world->kicks, &host->block_kick);
    *kick = *wanted;
    if (host->windows_free > 0) {
        begin_block(host, host->now_ps);
    } else {
        sim_host_poll(host, SIM_POLL_WINDOW, world->machine->host_read);
    }
}

static void ask_for_window(struct sim_host *host, enum sim_kick_kind kind, struct dn_remote remote,
                           const void *source, uint32_t bytes)
{
    sim_carrier_introduce(host->world, host->node, (uint32_t)remote.rank);
    sim_host_ask_for_window(host, &(struct sim_kick){.kind = kind,
                                                     .remote = remote,
                                                     .local = (unsigned char *)(uintptr_t)source,
                                                     .bytes = bytes});
}

void sim_block(struct sim_host *host, struct dn_remote remote, const void *source, uint32_t bytes)
{
    INVARIANT(bytes > 0 && bytes <= WIRE_BOTF_BYTES_MAX);
    ask_for_window(host, SIM_KICK_BOTF, remote, source, bytes);
}

void sim_packet(struct sim_host *host, uint32_t remote_node, const void *packet, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_OPERATION_BYTES && bytes <= NIC_BODY_BYTES_MIN &&
              host->world->machine->carrier_kind != SIM_CARRIER_CD);
    ask_for_window(host, SIM_KICK_PACKET, (struct dn_remote){.rank = (int)remote_node}, packet,
                   bytes);
}

/* Each has a completion of its own, which nobody looks at; those of a user are done in order. */
enum { QUIETS = NIC_TRANSACTIONS };

void sim_serialise(struct sim_host *host)
{
    if (!host->quiets) {
        host->quiets = calloc(QUIETS, sizeof *host->quiets);
        INVARIANT(host->quiets);
    }
    sim_host_kick(host, host->now_ps, &(struct sim_kick){.kind = SIM_KICK_QUIET});
}

void sim_host_window_drained(struct sim_world *world, uint32_t number)
{
    struct sim_host *host = &world->hosts[number];
    host->windows_in_nic--;
    if (host->polls == SIM_POLL_WINDOW && !host->sample_is_due) {
        put_sample(host, world->now_ps);
    }
}

/* ---- RDMA and services ----------------------------------------------------------------- */

/* Words of a request: source, target, length, and the kick. */
enum { DESCRIPTOR_WORDS = 4 };

static void request(struct sim_host *host, const struct sim_kick *kick, bool is_served)
{
    struct sim_world *world = host->world;
    unsigned words = is_served ? 1 : DESCRIPTOR_WORDS;
    host->completion = (struct nic_completion){.state = NIC_PENDING};
    host->is_served = is_served;
    sim_host_kick(host, host->now_ps + (words - 1) * world->machine->host_write, kick);
    uint64_t write_ps = words * world->machine->host_write;
    show(host, "request", host->now_ps, host->now_ps + write_ps);
    host->now_ps += write_ps;
    host->busy_ps += write_ps;
    sim_host_poll(host, SIM_POLL_COMPLETION, world->machine->host_read);
}

static void transfer(struct sim_host *host, enum sim_kick_kind kind, struct dn_remote remote,
                     unsigned char *local, uint64_t bytes)
{
    sim_carrier_introduce(host->world, host->node, (uint32_t)remote.rank);
    request(host,
            &(struct sim_kick){.kind = kind, .remote = remote, .local = local, .bytes = bytes},
            false);
}

void sim_push(struct sim_host *host, struct dn_remote remote, const void *source, uint64_t bytes)
{
    transfer(host, SIM_KICK_PUSH, remote, (unsigned char *)(uintptr_t)source, bytes);
}

void sim_pull(struct sim_host *host, struct dn_remote remote, void *target, uint64_t bytes)
{
    transfer(host, SIM_KICK_PULL, remote, target, bytes);
}

void sim_barrier_open(struct sim_host *host, uint32_t team, const uint16_t *members, uint32_t count,
                      uint32_t place)
{
    struct sim_node *node = sim_node_of(host);
    INVARIANT(node->services);
    int error = nic_packet_barrier_open_at(node->services, sim_now_ns(host->world), team, members,
                                           count, place);
    INVARIANT(!error);
}

void sim_nic_barrier(struct sim_host *host, uint32_t team)
{
    request(host, &(struct sim_kick){.kind = SIM_KICK_BARRIER, .address = team}, true);
}

void sim_lock(struct sim_host *host, uint32_t manager, uint64_t name, uint64_t *ticket)
{
    sim_carrier_introduce(host->world, host->node, manager);
    request(host,
            &(struct sim_kick){
                .kind = SIM_KICK_LOCK, .value = manager, .address = name, .ticket = ticket},
            true);
}

void sim_unlock(struct sim_host *host, uint64_t ticket)
{
    sim_host_kick(host, host->now_ps,
                  &(struct sim_kick){.kind = SIM_KICK_UNLOCK, .address = ticket});
    sim_host_go_on(host, "unlock", host->now_ps + host->world->machine->host_write);
}
