/* Senders and their receiver, and what became of their messages. */
#include "sim/trial/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "nic/message_protocol.h"
#include "sim/model/host.h"

enum {
    RECEIVER = 0,
    ENTRIES_USUAL = 16,
    BUFFER_BYTES_USUAL = 16384,
    WORD_BYTES = 8,
};

/* Some round trips of the papers' machines. */
#define BACK_OFF_USUAL_NS UINT64_C(5000)
#define RESEND_USUAL_NS UINT64_C(100000)

const char *const sim_resend_names[SIM_RESENDS] = {
    [SIM_RESEND_NACK] = "nack",
    [SIM_RESEND_BACK_OFF] = "back-off",
    [SIM_RESEND_REQUEST_ALL] = "request-all",
    [SIM_RESEND_REQUEST] = "request",
    [SIM_RESEND_REQUEST_HALF] = "request-half",
};

/* ---- Programs ----------------------------------------------------------------------------- */

/* A message's first words, as far as they fit. */
struct letter {
    uint32_t from;
    uint32_t number; /* of the piece, from 0 */
};

struct play {
    const struct sim_messages_wish *wish;
    struct sim_messages_result *result;
    struct member *members;
    uint16_t *nodes;    /* all numbers */
    uint64_t *round_ps; /* may be NULL */
    uint64_t round_start_ps;
    uint64_t pieces;    /* of all messages of a round */
    uint64_t piece_max; /* of all rounds */
    uint32_t log;       /* kicks of each sender that are kept, a power of two */
    uint32_t wrong;
};

struct member {
    struct play *play;
    uint32_t sent, received; /* pieces of this sender */
    uint32_t round;
    uint64_t at; /* bytes of the message that are sent */
    struct base_random random;
    uint64_t *kicked_ps; /* by number */
    unsigned char *data;
};

static uint32_t flags_of(const struct sim_messages_wish *wish)
{
    static const uint32_t flags[SIM_RESENDS] = {
        [SIM_RESEND_BACK_OFF] = DN_CONTEXT_BACK_OFF,
        [SIM_RESEND_REQUEST_ALL] = DN_CONTEXT_RESEND_REQUEST,
        [SIM_RESEND_REQUEST] = DN_CONTEXT_RESEND_REQUEST,
        [SIM_RESEND_REQUEST_HALF] = DN_CONTEXT_RESEND_REQUEST,
    };
    return flags[wish->resend] | (wish->detects_loss ? DN_CONTEXT_LOSS_DETECTION : 0u);
}

static uint32_t piece_bytes(const struct member *member)
{
    const struct sim_messages_wish *wish = member->play->wish;
    uint64_t left = wish->bytes - member->at;
    return left < wish->buffers.bytes_max ? (uint32_t)left : wish->buffers.bytes_max;
}

static uint64_t *kick_of(const struct member *member, uint32_t number)
{
    return &member->kicked_ps[number & (member->play->log - 1)];
}

static void write_piece(const struct sim_host *host, struct member *member)
{
    struct letter letter = {host->node, member->sent};
    uint32_t bytes = piece_bytes(member);
    memcpy(member->data, &letter, bytes < sizeof letter ? bytes : sizeof letter);
}

/* Its write is over: the NIC has it some clocks later, and the receiver long after that. */
static void note_kick(const struct sim_host *host, struct member *member)
{
    struct sim_messages_result *result = member->play->result;
    result->first_ps = result->first_ps ? result->first_ps : host->now_ps;
    *kick_of(member, member->sent++) = host->now_ps;
}

static uint64_t pause_ps(struct member *member)
{
    uint64_t mean_ps = member->play->wish->send_ps;
    return mean_ps > 0 ? base_random_below(&member->random, 2 * mean_ps + 1) : 0;
}

static void send_all(struct sim_host *host)
{
    struct member *member = host->locals;
    const struct sim_messages_wish *wish = member->play->wish;
    const struct nic_message_lists lists = {member->play->nodes, 1, NULL, 0};
    SIM_BEGIN(host);
    sim_message_open(host, &lists, flags_of(wish));
    for (member->round = 0; member->round < wish->rounds; member->round++) {
        SIM_STEP(host, sim_work(host, pause_ps(member)));
        for (member->at = 0; member->at < wish->bytes; member->at += piece_bytes(member)) {
            write_piece(host, member);
            SIM_STEP(host, sim_send(host, RECEIVER, member->data, piece_bytes(member)));
            note_kick(host, member);
        }
    }
    SIM_STEP(host, sim_send_wait(host));
    SIM_END(host);
}

/* Each sender's pieces come in order, and whole. */
static void note_message(const struct sim_host *host, const struct member *self)
{
    struct play *play = self->play;
    struct sim_messages_result *result = play->result;
    struct member *sender = &play->members[host->message.peer];
    struct letter expected = {host->message.peer, sender->received};
    uint32_t bytes = host->message.bytes;
    uint64_t latency_ps = host->now_ps - *kick_of(sender, sender->received++);
    play->wrong += memcmp(self->data, &expected,
                          bytes < sizeof expected ? bytes : sizeof expected) != 0;
    result->latency_ps += latency_ps;
    result->latency_most_ps = latency_ps > result->latency_most_ps ? latency_ps
                                                                   : result->latency_most_ps;
    result->last_ps = host->now_ps;
    result->pieces++;
    if (play->round_ps && result->pieces % play->pieces == 0) {
        play->round_ps[result->pieces / play->pieces - 1] = host->now_ps - play->round_start_ps;
        play->round_start_ps = host->now_ps;
    }
}

static void receive_all(struct sim_host *host)
{
    struct member *member = host->locals;
    struct play *play = member->play;
    const struct nic_message_lists lists = {NULL, 0, play->nodes + 1, play->wish->node_count - 1};
    SIM_BEGIN(host);
    sim_message_open(host, &lists, flags_of(play->wish));
    while (play->result->pieces < play->piece_max) {
        SIM_STEP(host, sim_receive(host, member->data, play->wish->buffers.bytes_max));
        note_message(host, member);
        if (play->wish->read_ps > 0) {
            SIM_STEP(host, sim_work(host, play->wish->read_ps));
        }
    }
    SIM_END(host);
}

/* ---- Running ------------------------------------------------------------------------------ */

uint32_t sim_messages_room(uint32_t count, uint64_t bytes)
{
    uint64_t words = (bytes + WORD_BYTES - 1) / WORD_BYTES + sizeof(struct px_stored) / WORD_BYTES;
    return (uint32_t)(count * words * WORD_BYTES);
}

static void take_defaults(struct sim_messages_wish *wish)
{
    struct sim_message_config *buffers = &wish->buffers;
    uint64_t most = wish->machine->packet_data_bytes;
    most = most < NIC_MESSAGE_BYTES_MAX ? most : NIC_MESSAGE_BYTES_MAX;
    buffers->entries = buffers->entries ? buffers->entries : ENTRIES_USUAL;
    buffers->send_bytes = buffers->send_bytes ? buffers->send_bytes : BUFFER_BYTES_USUAL;
    buffers->receive_bytes = buffers->receive_bytes ? buffers->receive_bytes : BUFFER_BYTES_USUAL;
    buffers->bytes_max = (uint32_t)(wish->bytes < most ? wish->bytes : most);
    buffers->back_off_ns = buffers->back_off_ns ? buffers->back_off_ns : BACK_OFF_USUAL_NS;
    buffers->asks_all = wish->resend == SIM_RESEND_REQUEST_ALL;
    buffers->ask_bytes = wish->resend == SIM_RESEND_REQUEST_HALF
                             ? buffers->receive_bytes / 2 - (uint32_t)sizeof(struct px_stored)
                             : 0;
    buffers->resend_ns = buffers->resend_ns ? buffers->resend_ns : RESEND_USUAL_NS;
}

const char *sim_messages_objection(const struct sim_message_config *buffers)
{
    bool is_usual = buffers->entries == 0;
    return (is_usual || is_power_of_two(buffers->entries)) &&
                   buffers->send_bytes % WORD_BYTES == 0 && buffers->receive_bytes % WORD_BYTES == 0
               ? NULL
               : "entries are a power of two, buffers a multiple of 8 bytes";
}

/* What cannot be run, in one line, or NULL. */
static const char *objection(const struct sim_messages_wish *wish)
{
    const struct sim_message_config *buffers = &wish->buffers;
    if (wish->node_count < 2) {
        return "messages need 2 nodes";
    }
    if (sim_messages_objection(buffers)) {
        return sim_messages_objection(buffers);
    }
    if (buffers->send_bytes < buffers->bytes_max ||
        buffers->receive_bytes < sim_messages_room(1, buffers->bytes_max)) {
        return "a buffer has no room for one message and its header of 8 bytes";
    }
    if (wish->machine->link_loss_ppm > 0 && !wish->detects_loss &&
        wish->machine->carrier_kind != SIM_CARRIER_CD &&
        !sim_links_resend(wish->machine, wish->topology)) {
        return "packets are lost, and nobody detects it";
    }
    return NULL;
}

static void sum_up(const struct play *play, struct sim_world *world)
{
    struct sim_messages_result *result = play->result;
    for (uint32_t i = 0; i < play->wish->node_count; i++) {
        const struct px_sender *sender = sim_world_message_sender(world, i);
        result->packets += sender->counters.sent;
        result->repeated += sender->counters.repeated;
        result->silences += sender->counters.silences;
    }
    const struct px_receiver *receiver = sim_world_message_receiver(world, RECEIVER);
    result->refused = receiver->counters.refused;
    result->dropped = receiver->counters.dropped;
    result->core_ps = sim_world_busy(world, RECEIVER, true);
    result->virtual_ps = sim_world_now(world);
    sim_world_counters(world, &result->counters);
}

static bool run_world(struct play *play, struct sim_world *world, char error[SIM_ERROR_BYTES])
{
    for (uint32_t i = 0; i < play->wish->node_count; i++) {
        sim_world_start(world, i, 0, i == RECEIVER ? receive_all : send_all, &play->members[i], 0);
    }
    enum sim_end end = sim_world_run(world, play->wish->limit_ps);
    if (end != SIM_END_DONE) {
        sim_world_why(world, end, error);
        return false;
    }
    if (play->wrong > 0) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%" PRIu32 " messages are wrong", play->wrong);
        return false;
    }
    sum_up(play, world);
    return true;
}

/* No sender has more under way than SENDTBL holds, with what lies in RB. */
static uint32_t log_of(const struct sim_message_config *buffers)
{
    uint32_t log = 1;
    while (log < buffers->entries + buffers->receive_bytes / WORD_BYTES) {
        log *= 2;
    }
    return log;
}

static void make_members(struct play *play)
{
    uint32_t nodes = play->wish->node_count;
    play->members = calloc(nodes, sizeof *play->members);
    play->nodes = calloc(nodes, sizeof *play->nodes);
    INVARIANT(play->members && play->nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        struct member *member = &play->members[i];
        play->nodes[i] = (uint16_t)i;
        member->play = play;
        member->random.state = play->wish->seed << 32 | i;
        member->kicked_ps = calloc(play->log, sizeof *member->kicked_ps);
        member->data = calloc(1, NIC_MESSAGE_BYTES_MAX);
        INVARIANT(member->kicked_ps && member->data);
    }
}

static void free_members(struct play *play)
{
    for (uint32_t i = 0; i < play->wish->node_count; i++) {
        free(play->members[i].kicked_ps);
        free(play->members[i].data);
    }
    free(play->members);
    free(play->nodes);
}

bool sim_messages_run(const struct sim_messages_wish *given, uint64_t *round_ps,
                      struct sim_messages_result *result, char error[SIM_ERROR_BYTES])
{
    struct sim_messages_wish wish = *given;
    struct sim_machine machine = *given->machine;
    wish.machine = &machine;
    machine.link_loss_ppm = wish.loss_ppm ? wish.loss_ppm : machine.link_loss_ppm;
    take_defaults(&wish);
    const char *wrong = objection(&wish);
    if (wrong) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s", wrong);
        return false;
    }
    const struct sim_world_config config = {
        .machine = wish.machine,
        .node_count = wish.node_count,
        .topology = wish.topology,
        .timeline = wish.timeline,
        .services = true,
        .messages = wish.buffers,
        .seed = wish.seed,
    };
    struct sim_world *world = sim_world_open(&config, error);
    if (!world) {
        return false;
    }
    uint64_t each = (wish.bytes + wish.buffers.bytes_max - 1) / wish.buffers.bytes_max;
    struct play play = {.wish = &wish,
                        .result = result,
                        .round_ps = round_ps,
                        .pieces = each * (wish.node_count - 1),
                        .piece_max = each * (wish.node_count - 1) * wish.rounds,
                        .log = log_of(&wish.buffers)};
    *result = (struct sim_messages_result){.buffers = wish.buffers};
    make_members(&play);
    bool done = run_world(&play, world, error);
    free_members(&play);
    sim_world_close(world);
    return done;
}
