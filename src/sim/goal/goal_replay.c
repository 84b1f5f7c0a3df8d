/* The programs of a schedule's cpus. A stream is all messages from one cpu to one rank: they arrive
 * in order, and a word of the target's LLCM counts them. */
#include "sim/goal/goal_replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dimmnet.h"
#include "sim/goal/goal_flow.h"
#include "sim/model/host.h"

enum { PAGE_BYTES = 4096, FLAG_BYTES = 8, FLAG_DATA_BYTES = 4 };
#define PS_PER_NS UINT64_C(1000)

/* At the target, whose streams are in the order of their sources. */
struct stream {
    uint32_t source, cpu;
    uint64_t kick;   /* the flag's, at the source; 0: the source is the target */
    uint32_t *sends; /* the source's operations, in the order in which they started */
    uint32_t sent, room;
};

/* Operations in a row, by rank_play.next. */
struct queue {
    uint32_t first, last; /* GOAL_NONE: empty */
};

struct cpu {
    struct play *play;
    struct rank_play *rank;
    struct sim_host *host;
    uint32_t number;
    struct queue inbox;    /* operations whose needs are fulfilled, not yet looked at */
    struct queue runnable; /* of these: what can be done without waiting */
    /* By stream: messages that this cpu has seen, and receives that wait for one. */
    uint64_t *seen;
    uint32_t *waiting;
    uint32_t *place; /* in words, of one that is waited for */
    /* Streams that are waited for. */
    struct sim_poll_word *words;
    uint32_t *word_streams;
    uint32_t word_count;
    /* What it is doing. */
    uint32_t operation;
    uint64_t at; /* bytes of a message that are sent */
    uint64_t mark_ps, mark_busy_ps;
    uint64_t compute_ps, communicate_ps, wait_ps;
};

struct rank_play {
    uint32_t number;
    const struct goal_operation *operations;
    uint32_t count;
    struct stream *streams; /* to this rank */
    uint32_t stream_count, stream_room;
    uint64_t data_offset; /* in LLCM, behind the flags */
    struct cpu *cpus[GOAL_CPUS_MAX];
    /* By operation. */
    uint32_t *stream_of; /* of a send: at the target */
    uint32_t *number_of; /* of a send that started: its message's in the stream, from 1 on */
    uint32_t *next;      /* in its queue */
    bool *is_waiting;    /* a receive, in its cpu's words */
};

struct play {
    const struct goal_replay_wish *wish;
    struct goal_replay_result *result;
    struct goal_flow flow;
    struct rank_play *ranks;
    struct sim_world *world;
    unsigned char *data; /* what is sent */
    uint64_t data_bytes;
    uint64_t messages_bytes_max;
    uint32_t user_count;
    int fault; /* of the first operation that failed */
};

/* ---- Operations that may start ------------------------------------------------------------ */

static void append(struct rank_play *rank, struct queue *queue, uint32_t operation)
{
    rank->next[operation] = GOAL_NONE;
    if (queue->first == GOAL_NONE) {
        queue->first = operation;
    } else {
        rank->next[queue->last] = operation;
    }
    queue->last = operation;
}

static uint32_t take_first(const struct rank_play *rank, struct queue *queue)
{
    uint32_t operation = queue->first;
    queue->first = rank->next[operation];
    return operation;
}

/* Hands operations that may start to their cpus. Receives have started with that. */
static void hand_out(struct play *play, struct rank_play *rank)
{
    uint32_t operation;
    while (goal_flow_next(&play->flow, rank->number, &operation)) {
        struct cpu *cpu = rank->cpus[rank->operations[operation].cpu];
        append(rank, &cpu->inbox, operation);
        if (rank->operations[operation].kind == GOAL_RECEIVE) {
            goal_flow_started(&play->flow, rank->number, operation);
        }
        sim_poll_end(cpu->host); /* of the cpu that is at work here there is none */
    }
}

static void finish(struct cpu *cpu, uint32_t operation)
{
    struct play *play = cpu->play;
    struct rank_play *rank = cpu->rank;
    goal_flow_finished(&play->flow, rank->number, operation);
    hand_out(play, rank);
    if (play->flow.ranks[rank->number].finished == rank->count) {
        play->result->end_ps[rank->number] = cpu->host->now_ps;
        for (uint32_t i = 0; i < GOAL_CPUS_MAX; i++) {
            if (rank->cpus[i]) {
                sim_poll_end(rank->cpus[i]->host);
            }
        }
    }
}

/* ---- Receiving ----------------------------------------------------------------------------- */

static uint32_t partner_of(const struct cpu *cpu, uint32_t operation)
{
    return cpu->play->flow.ranks[cpu->rank->number].partner[operation];
}

/* The stream that a receive's message comes in. */
static uint32_t stream_to(const struct cpu *cpu, uint32_t receive)
{
    uint32_t source = cpu->rank->operations[receive].peer;
    return cpu->play->ranks[source].stream_of[partner_of(cpu, receive)];
}

static bool is_seen(const struct cpu *cpu, uint32_t receive)
{
    uint32_t source = cpu->rank->operations[receive].peer;
    uint32_t number = cpu->play->ranks[source].number_of[partner_of(cpu, receive)];
    return number > 0 && number <= cpu->seen[stream_to(cpu, receive)];
}

static void wait_for(struct cpu *cpu, uint32_t receive)
{
    uint32_t stream = stream_to(cpu, receive);
    cpu->rank->is_waiting[receive] = true;
    if (cpu->waiting[stream]++ == 0) {
        cpu->place[stream] = cpu->word_count;
        cpu->word_streams[cpu->word_count] = stream;
        cpu->words[cpu->word_count++] = (struct sim_poll_word){(uint64_t)stream * FLAG_BYTES,
                                                               cpu->seen[stream]};
    }
}

static void stop_waiting(struct cpu *cpu, uint32_t receive)
{
    uint32_t stream = stream_to(cpu, receive);
    cpu->rank->is_waiting[receive] = false;
    if (--cpu->waiting[stream] == 0) {
        uint32_t place = cpu->place[stream];
        cpu->words[place] = cpu->words[--cpu->word_count];
        cpu->word_streams[place] = cpu->word_streams[cpu->word_count];
        cpu->place[cpu->word_streams[place]] = place;
    }
}

static void sort_inbox(struct cpu *cpu)
{
    struct rank_play *rank = cpu->rank;
    while (cpu->inbox.first != GOAL_NONE) {
        uint32_t operation = take_first(rank, &cpu->inbox);
        if (rank->operations[operation].kind == GOAL_RECEIVE && !is_seen(cpu, operation)) {
            wait_for(cpu, operation);
        } else {
            append(rank, &cpu->runnable, operation);
        }
    }
}

/* A read has shown more messages of a stream. Those for other cpus are theirs to see, and those
 * whose receives have not started are remembered by their number. */
static void note_arrivals(struct cpu *cpu, uint32_t place)
{
    const uint32_t number = cpu->word_streams[place];
    const struct stream *stream = &cpu->rank->streams[number];
    const uint64_t before = cpu->seen[number];
    const uint64_t now = cpu->words[place].seen;
    INVARIANT(now > before && now <= stream->sent);
    cpu->seen[number] = now;
    for (uint64_t i = before; i < now; i++) {
        uint32_t receive = cpu->play->flow.ranks[stream->source].partner[stream->sends[i]];
        if (receive != GOAL_NONE && cpu->rank->operations[receive].cpu == cpu->number &&
            cpu->rank->is_waiting[receive]) {
            stop_waiting(cpu, receive);
            finish(cpu, receive);
        }
    }
}

static void mark(struct cpu *cpu)
{
    cpu->mark_ps = cpu->host->now_ps;
    cpu->mark_busy_ps = cpu->host->busy_ps;
}

static void end_wait(struct cpu *cpu)
{
    uint64_t busy_ps = cpu->host->busy_ps - cpu->mark_busy_ps;
    cpu->communicate_ps += busy_ps;
    cpu->wait_ps += cpu->host->now_ps - cpu->mark_ps - busy_ps;
    if (cpu->host->value < cpu->word_count) {
        note_arrivals(cpu, (uint32_t)cpu->host->value);
    }
}

/* ---- Doing --------------------------------------------------------------------------------- */

static const struct goal_operation *doing(const struct cpu *cpu)
{
    return &cpu->rank->operations[cpu->operation];
}

static struct stream *stream_from(const struct cpu *cpu)
{
    return &cpu->play->ranks[doing(cpu)->peer].streams[cpu->rank->stream_of[cpu->operation]];
}

static void begin_operation(struct cpu *cpu)
{
    struct play *play = cpu->play;
    cpu->operation = take_first(cpu->rank, &cpu->runnable);
    const struct goal_operation *operation = doing(cpu);
    cpu->at = 0;
    mark(cpu);
    if (operation->kind == GOAL_SEND) {
        struct stream *stream = stream_from(cpu);
        stream->sends[stream->sent++] = cpu->operation;
        cpu->rank->number_of[cpu->operation] = stream->sent;
        play->result->messages++;
        play->result->bytes += operation->amount;
        play->result->unreceived += partner_of(cpu, cpu->operation) == GOAL_NONE;
    }
    if (operation->kind != GOAL_RECEIVE) {
        goal_flow_started(&play->flow, cpu->rank->number, cpu->operation);
        hand_out(play, cpu->rank);
    }
}

static void end_operation(struct cpu *cpu)
{
    uint64_t took_ps = cpu->host->now_ps - cpu->mark_ps;
    if (doing(cpu)->kind == GOAL_CALC) {
        cpu->compute_ps += took_ps;
    } else {
        cpu->communicate_ps += took_ps;
    }
    finish(cpu, cpu->operation);
}

static bool has_data_left(const struct cpu *cpu)
{
    uint64_t bytes = doing(cpu)->amount;
    return bytes > FLAG_DATA_BYTES && cpu->at < bytes;
}

/* What goes at once of the message that is being sent. */
static uint64_t piece_of(const struct cpu *cpu)
{
    const struct play *play = cpu->play;
    uint64_t left = doing(cpu)->amount - cpu->at;
    uint64_t most = doing(cpu)->amount > play->wish->push_bytes
                        ? play->wish->machine->llcm_bytes -
                              play->ranks[doing(cpu)->peer].data_offset
                        : WIRE_BOTF_BYTES_MAX;
    return left < most ? left : most;
}

static void send_piece(struct cpu *cpu, uint64_t bytes)
{
    const struct play *play = cpu->play;
    const struct sim_machine *machine = play->wish->machine;
    struct sim_host *host = cpu->host;
    struct dn_remote remote = sim_remote(doing(cpu)->peer,
                                         play->ranks[doing(cpu)->peer].data_offset);
    if (doing(cpu)->peer == cpu->rank->number) {
        uint64_t bus_ps = machine->clock_dimm ? machine->clock_dimm : machine->clock_nic;
        sim_work(host, (bytes + 7) / 8 * machine->host_burst_cycles * bus_ps);
    } else if (doing(cpu)->amount > play->wish->push_bytes) {
        sim_push(host, remote, play->data, bytes);
    } else {
        remote.offset += cpu->at % (machine->llcm_bytes - remote.offset - WIRE_BOTF_BYTES_MAX) / 8 *
                         8;
        sim_block(host, remote, play->data, (uint32_t)bytes);
    }
}

static void send_flag(struct cpu *cpu)
{
    const struct stream *stream = stream_from(cpu);
    uint64_t offset = (uint64_t)cpu->rank->stream_of[cpu->operation] * FLAG_BYTES;
    uint64_t number = cpu->rank->number_of[cpu->operation];
    if (doing(cpu)->peer == cpu->rank->number) {
        sim_write(cpu->host, offset, number, FLAG_BYTES);
    } else {
        sim_store(cpu->host, stream->kick + offset % PAGE_BYTES, number, FLAG_BYTES);
    }
}

/* After a piece: a PUSH can fail. */
static void note_piece(struct cpu *cpu)
{
    cpu->at += piece_of(cpu);
    if (cpu->host->result != 0 && cpu->play->fault == 0) {
        cpu->play->fault = cpu->host->result;
    }
}

static void run_cpu(struct sim_host *host)
{
    struct cpu *cpu = host->locals;
    SIM_BEGIN(host);
    while (cpu->play->flow.ranks[cpu->rank->number].finished < cpu->rank->count) {
        sort_inbox(cpu);
        if (cpu->runnable.first == GOAL_NONE) {
            mark(cpu);
            SIM_STEP(host, sim_poll_any(host, cpu->words, cpu->word_count));
            end_wait(cpu);
            continue;
        }
        begin_operation(cpu);
        if (doing(cpu)->kind == GOAL_CALC) {
            SIM_STEP(host, sim_compute(host, doing(cpu)->amount * PS_PER_NS));
        } else if (doing(cpu)->kind == GOAL_RECEIVE) {
            SIM_STEP(host, sim_load(host, (uint64_t)stream_to(cpu, cpu->operation) * FLAG_BYTES,
                                    FLAG_BYTES));
        } else {
            while (has_data_left(cpu)) {
                SIM_STEP(host, send_piece(cpu, piece_of(cpu)));
                note_piece(cpu);
            }
            SIM_STEP(host, send_flag(cpu));
        }
        end_operation(cpu);
    }
    SIM_END(host);
}

/* ---- Set-up -------------------------------------------------------------------------------- */

static void *array(uint64_t count, size_t each)
{
    void *memory = calloc(count + 1, each);
    INVARIANT(memory);
    return memory;
}

/* The stream of a send. Sources come in order, so one that is there already is among the last. */
static uint32_t join_stream(struct rank_play *target, uint32_t source, uint32_t cpu)
{
    for (uint32_t i = target->stream_count; i > 0 && target->streams[i - 1].source == source; i--) {
        if (target->streams[i - 1].cpu == cpu) {
            target->streams[i - 1].room++;
            return i - 1;
        }
    }
    if (target->stream_count == target->stream_room) {
        target->stream_room = 2 * target->stream_room + 4;
        target->streams = realloc(target->streams, target->stream_room * sizeof *target->streams);
        INVARIANT(target->streams);
    }
    target->streams[target->stream_count] = (struct stream){
        .source = source, .cpu = cpu, .room = 1};
    return target->stream_count++;
}

static void open_cpu(struct play *play, struct rank_play *rank, uint32_t number)
{
    struct cpu *cpu = array(1, sizeof *cpu);
    rank->cpus[number] = cpu;
    *cpu = (struct cpu){.play = play,
                        .rank = rank,
                        .number = number,
                        .inbox = {GOAL_NONE, GOAL_NONE},
                        .runnable = {GOAL_NONE, GOAL_NONE}};
    play->user_count = number >= play->user_count ? number + 1 : play->user_count;
    play->result->cpus++;
}

static void open_ranks(struct play *play)
{
    const struct goal *goal = play->wish->goal;
    play->ranks = array(goal->rank_count, sizeof *play->ranks);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        struct rank_play *rank = &play->ranks[i];
        rank->number = i;
        rank->operations = goal->ranks[i].operations;
        rank->count = goal->ranks[i].count;
        rank->stream_of = array(rank->count, sizeof *rank->stream_of);
        rank->number_of = array(rank->count, sizeof *rank->number_of);
        rank->next = array(rank->count, sizeof *rank->next);
        rank->is_waiting = array(rank->count, sizeof *rank->is_waiting);
        for (uint32_t number = 0; number < rank->count; number++) {
            const struct goal_operation *operation = &rank->operations[number];
            if (!rank->cpus[operation->cpu]) {
                open_cpu(play, rank, operation->cpu);
            }
            if (operation->kind == GOAL_SEND) {
                rank->stream_of[number] = join_stream(&play->ranks[operation->peer], i,
                                                      operation->cpu);
                play->messages_bytes_max = operation->amount > play->messages_bytes_max
                                               ? operation->amount
                                               : play->messages_bytes_max;
            }
        }
    }
}

/* Flags, and behind them a page at least for data. */
static bool lay_out(struct play *play, struct rank_play *rank, char error[SIM_ERROR_BYTES])
{
    const struct sim_machine *machine = play->wish->machine;
    uint64_t flags = (uint64_t)rank->stream_count * FLAG_BYTES;
    rank->data_offset = (flags + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (rank->data_offset + PAGE_BYTES > machine->llcm_bytes) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "%s: rank %" PRIu32 " gets messages of %" PRIu32
                       " cpus, whose flags and a page of data do not fit into the %" PRIu64
                       " of [llcm] bytes",
                       machine->name, rank->number, rank->stream_count, machine->llcm_bytes);
        return false;
    }
    for (uint32_t i = 0; i < rank->stream_count; i++) {
        rank->streams[i].sends = array(rank->streams[i].room, sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < GOAL_CPUS_MAX; i++) {
        struct cpu *cpu = rank->cpus[i];
        if (cpu) {
            cpu->host = sim_world_host(play->world, rank->number, i);
            cpu->seen = array(rank->stream_count, sizeof *cpu->seen);
            cpu->waiting = array(rank->stream_count, sizeof *cpu->waiting);
            cpu->place = array(rank->stream_count, sizeof *cpu->place);
            cpu->words = array(rank->stream_count, sizeof *cpu->words);
            cpu->word_streams = array(rank->stream_count, sizeof *cpu->word_streams);
        }
    }
    return true;
}

static bool open_kicks(struct play *play, const struct rank_play *rank, char error[SIM_ERROR_BYTES])
{
    for (uint32_t i = 0; i < rank->stream_count; i++) {
        struct stream *stream = &rank->streams[i];
        uint64_t page = (uint64_t)i * FLAG_BYTES / PAGE_BYTES * PAGE_BYTES;
        struct sim_host *host = sim_world_host(play->world, stream->source, stream->cpu);
        int fault = stream->source == rank->number
                        ? 0
                        : sim_kick_open(host, sim_remote(rank->number, page), true, &stream->kick);
        if (fault) {
            (void)snprintf(error, SIM_ERROR_BYTES,
                           "%s: rank %" PRIu32 " has no kick page for rank %" PRIu32 ": %s",
                           play->wish->machine->name, stream->source, rank->number,
                           dn_strerror(fault));
            return false;
        }
    }
    return true;
}

static bool open_play(struct play *play, char error[SIM_ERROR_BYTES])
{
    uint64_t llcm_bytes = play->wish->machine->llcm_bytes;
    play->data_bytes = play->messages_bytes_max < llcm_bytes ? play->messages_bytes_max
                                                             : llcm_bytes;
    play->data = array(play->data_bytes, 1);
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        if (!lay_out(play, &play->ranks[i], error) || !open_kicks(play, &play->ranks[i], error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        struct rank_play *rank = &play->ranks[i];
        hand_out(play, rank);
        for (uint32_t number = 0; number < GOAL_CPUS_MAX; number++) {
            if (rank->cpus[number]) {
                sim_world_start(play->world, i, number, run_cpu, rank->cpus[number], 0);
            }
        }
    }
    return true;
}

static void close_play(struct play *play)
{
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        struct rank_play *rank = &play->ranks[i];
        for (uint32_t number = 0; number < rank->stream_count; number++) {
            free(rank->streams[number].sends);
        }
        for (uint32_t number = 0; number < GOAL_CPUS_MAX; number++) {
            struct cpu *cpu = rank->cpus[number];
            if (cpu) {
                free(cpu->seen);
                free(cpu->waiting);
                free(cpu->place);
                free(cpu->words);
                free(cpu->word_streams);
                free(cpu);
            }
        }
        free(rank->streams);
        free(rank->stream_of);
        free(rank->number_of);
        free(rank->next);
        free(rank->is_waiting);
    }
    free(play->ranks);
    free(play->data);
    goal_flow_close(&play->flow);
}

/* ---- Running ------------------------------------------------------------------------------- */

static void sum_up(struct play *play)
{
    struct goal_replay_result *result = play->result;
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        uint64_t end_ps = result->end_ps[i];
        result->virtual_ps = end_ps > result->virtual_ps ? end_ps : result->virtual_ps;
        for (uint32_t number = 0; number < GOAL_CPUS_MAX; number++) {
            const struct cpu *cpu = play->ranks[i].cpus[number];
            if (cpu) {
                result->compute_ps += cpu->compute_ps;
                result->communicate_ps += cpu->communicate_ps;
                result->wait_ps += cpu->wait_ps;
            }
        }
    }
    sim_world_counters(play->world, &result->counters);
}

/* Names the first receive that waits; if none does, the world says who is where. */
static void explain(const struct play *play, enum sim_end end, char error[SIM_ERROR_BYTES])
{
    char text[GOAL_ERROR_BYTES];
    uint64_t finished = 0;
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        finished += play->flow.ranks[i].finished;
    }
    for (uint32_t i = 0; i < play->wish->goal->rank_count; i++) {
        for (uint32_t number = 0; number < play->ranks[i].count; number++) {
            if (play->ranks[i].is_waiting[number]) {
                (void)snprintf(error, SIM_ERROR_BYTES,
                               "%s at %.3f us: %" PRIu64 " of %" PRIu64
                               " operations have finished, and %.150s waits for its message",
                               end == SIM_END_LIMIT ? "virtual time is up" : "nothing is under way",
                               (double)sim_world_now(play->world) / 1e6, finished,
                               play->wish->goal->operation_count,
                               goal_describe(play->wish->goal, i, number, text));
                return;
            }
        }
    }
    sim_world_why(play->world, end, error);
}

static bool run(struct play *play, char error[SIM_ERROR_BYTES])
{
    if (!open_play(play, error)) {
        return false;
    }
    enum sim_end end = sim_world_run(play->world, play->wish->limit_ps);
    if (play->fault != 0) {
        (void)snprintf(error, SIM_ERROR_BYTES, "an operation failed: %s", dn_strerror(play->fault));
        return false;
    }
    if (end != SIM_END_DONE) {
        explain(play, end, error);
        return false;
    }
    sum_up(play);
    return true;
}

static bool run_on(const struct goal_replay_wish *wish, struct goal_replay_result *result,
                   char error[SIM_ERROR_BYTES])
{
    struct play play = {.wish = wish, .result = result, .user_count = 1};
    if (wish->machine->link_loss_ppm > 0 && wish->machine->carrier_kind != SIM_CARRIER_CD &&
        !sim_links_resend(wish->machine, result->topology)) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s: packets are lost, and nobody detects it",
                       wish->machine->name);
        return false;
    }
    goal_flow_open(&play.flow, wish->goal);
    open_ranks(&play);
    const struct sim_world_config config = {.machine = wish->machine,
                                            .node_count = wish->goal->rank_count,
                                            .topology = result->topology,
                                            .timeline = wish->timeline,
                                            .user_count = play.user_count,
                                            .seed = wish->seed};
    play.world = sim_world_open(&config, error);
    bool done = play.world && run(&play, error);
    sim_world_close(play.world);
    close_play(&play);
    return done;
}

bool goal_replay(const struct goal_replay_wish *given, struct goal_replay_result *result,
                 char error[SIM_ERROR_BYTES])
{
    struct sim_machine machine = *given->machine;
    struct goal_replay_wish wish = *given;
    uint32_t ranks = wish.goal->rank_count;
    struct goal_replay_result made = {
        .topology = wish.topology == SIM_TOPOLOGIES ? sim_topology_suiting(&machine, ranks)
                                                    : wish.topology,
        .end_ps = array(ranks, sizeof *made.end_ps),
    };
    machine.link_loss_ppm = wish.loss_ppm > 0 ? wish.loss_ppm : machine.link_loss_ppm;
    wish.machine = &machine;
    if (!run_on(&wish, &made, error)) {
        free(made.end_ps);
        return false;
    }
    *result = made;
    return true;
}
