/* From a seed to everything that a run depends on.
 *
 * Everything is drawn in the same order, whatever is left out afterwards, so a run
 * without one fault has the sizes, times and other faults of the run with it. */
#include <string.h>

#include "sim/storm/storm.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

#define NAME(name, word, text) {word, text, 0},
const struct storm_name storm_faults[STORM_FAULT_COUNT + 1] = {STORM_FAULTS(NAME)};
const struct storm_name storm_works[STORM_WORK_COUNT + 1] = {STORM_WORKS(NAME)};
#undef NAME

#define BIT(fault) (1u << STORM_##fault)

const struct storm_name storm_scenarios[] = {
    {"all", "a mixture of everything that the seed chooses", (1u << STORM_FAULT_COUNT) - 1},
    {"calm", "no faults", 0},
    {"loss", "packets are lost", BIT(LOSS)},
    {"burst", "runs of packets are lost", BIT(BURST)},
    {"duplicate", "packets come twice, some long after", BIT(DUPLICATE)},
    {"reorder", "packets overtake each other", BIT(REORDER)},
    {"corrupt", "packets change on their way", BIT(CORRUPT)},
    {"delay", "packets take much longer", BIT(DELAY)},
    {"partition", "nodes cannot reach others for a time", BIT(PARTITION)},
    {"pause", "nodes stand still for a time", BIT(PAUSE)},
    {"crash", "nodes die, some begin a new life", BIT(CRASH) | BIT(RESTART)},
    {"evict", "caches of very few contexts", BIT(EVICT)},
    {"full", "very few buffers", BIT(FULL)},
    {"skew", "clocks run fast, slow and jump ahead", BIT(SKEW)},
    {"stranger", "packets of another group, and forged ones", BIT(STRANGER)},
    {"narrow", "paths carry only shorter packets, and again longer ones", BIT(NARROW)},
    {"replay", "recorded packets over and over, and few buffers", BIT(REPLAY) | BIT(FULL)},
    {NULL, NULL, 0},
};

/* ---- Drawing ----------------------------------------------------------------------- */

static uint64_t between(struct base_random *random, uint64_t least, uint64_t most)
{
    return least + base_random_below(random, most - least + 1);
}

/* Each doubling is as likely as the next, so small values come as often as large ones. */
static uint64_t spread(struct base_random *random, uint64_t least, uint64_t most)
{
    uint64_t doublings = 0;
    while (least << (doublings + 1) <= most) {
        doublings++;
    }
    uint64_t from = least << base_random_below(random, doublings + 1);
    return between(random, from, 2 * from - 1 < most ? 2 * from - 1 : most);
}

static uint32_t spread32(struct base_random *random, uint32_t least, uint32_t most)
{
    return (uint32_t)spread(random, least, most);
}

static uint32_t power_between(struct base_random *random, uint32_t least_bits, uint32_t most_bits)
{
    return UINT32_C(1) << between(random, least_bits, most_bits);
}

static bool is_mixture(const struct storm_plan *plan)
{
    return strcmp(plan->scenario, "all") == 0;
}

static void draw_fault(struct storm_plan *plan, struct base_random *random, uint32_t allowed,
                       enum storm_fault fault)
{
    bool wanted = base_random_below(random, 2) == 0;
    plan->fault[fault] = (allowed >> fault & 1) && (wanted || !is_mixture(plan));
}

static void draw_faults(struct storm_plan *plan, struct base_random *random, uint32_t allowed)
{
    bool mixture = is_mixture(plan);
    for (unsigned i = 0; i < STORM_REPLAY; i++) {
        draw_fault(plan, random, allowed, (enum storm_fault)i);
    }
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        bool wanted = base_random_below(random, 4) != 0;
        plan->work[i] = wanted || !mixture;
    }
    plan->loss_ppm = spread32(random, 1000, 200000);
    plan->duplicate_ppm = spread32(random, 1000, 300000);
    plan->reorder_ppm = spread32(random, 1000, 500000);
    plan->corrupt_ppm = spread32(random, 1000, 100000);
    plan->delay_ppm = spread32(random, 1000, 100000);
    plan->burst_ppm = spread32(random, 500, 20000);
    plan->burst_length = spread32(random, 2, 40);
}

static void draw_times(struct storm_plan *plan, struct base_random *random)
{
    static const enum storm_fault slow[] = {STORM_DUPLICATE, STORM_DELAY, STORM_PARTITION,
                                            STORM_PAUSE,     STORM_CRASH, STORM_SKEW};
    struct swif_config *swif = &plan->board.swif;
    plan->latency_ns = spread(random, 5 * US, 200 * US);
    plan->link_bits_per_s = between(random, 1, 10) * 1000000000;
    swif->rto_min_ns = spread(random, 100 * US, 1 * MS);
    swif->rto_max_ns = spread(random, 1 * MS, 5 * MS);
    swif->rto_first_ns = between(random, swif->rto_min_ns, swif->rto_max_ns);
    swif->ack_delay_ns = between(random, 0, swif->rto_min_ns / 4);
    swif->peer_timeout_ns = between(random, 30, 60) * MS;
    uint64_t quick_ns = between(random, 5, 20) * MS;
    uint64_t slow_ns = swif->peer_timeout_ns * between(random, 20, 40) / 10;
    plan->safety_ns = quick_ns;
    for (unsigned i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        if (plan->fault[slow[i]]) {
            plan->safety_ns = slow_ns;
        }
        plan->gap_ns[slow[i]] = slow_ns / between(random, 1, 5);
    }
    plan->gap_ns[STORM_STRANGER] = plan->safety_ns / spread(random, 20, 400);
    plan->liveness_ns = 60 * swif->peer_timeout_ns;
    plan->events_max = 1000000;
}

static void draw_sizes(struct storm_plan *plan, struct base_random *random)
{
    static const uint32_t packet_bytes[] = {640, 768, 1024, 1500};
    struct swif_config *swif = &plan->board.swif;
    struct nic_engine_config *engine = &plan->board.engine;
    swif->packet_bytes_max = packet_bytes[base_random_below(random, 4)];
    swif->ltee_count = power_between(random, 3, 4);
    swif->rtee_count = power_between(random, 3, 4);
    swif->ways = power_between(random, 1, 3);
    swif->buffer_count[WIRE_REQUEST] = spread32(random, 16, 64);
    swif->buffer_count[WIRE_REPLY] = spread32(random, 16, 64);
    swif->reorder_count = spread32(random, 8, 64);
    swif->queue_max = spread32(random, 4, 32);
    swif->window_max = spread32(random, 4, 64);
    /* Mostly the whole protocol; sometimes only part of it. */
    uint64_t stage = base_random_below(random, 8);
    swif->stage_max = stage == 0   ? WIRE_STOP_AND_WAIT
                      : stage == 1 ? WIRE_GO_BACK_N
                                   : WIRE_SELECTIVE_REPEAT;
    swif->congestion_control = base_random_below(random, 4) != 0;
    plan->link_queue_bytes = 256 * 1024;
    engine->kick_page_count = 64;
    engine->transfer_count = spread32(random, 4, 16);
    engine->outstanding_count = spread32(random, 8, 64);
}

static void draw_services(struct storm_plan *plan, struct base_random *random)
{
    struct nic_services_config *services = &plan->board.services;
    services->lock_count = 3; /* of the four that programs may ask for */
    services->lock_waiter_count = 32;
    services->lock_request_count = 8;
    services->team_count = 2;
    nic_services_config_messages(services);
    services->context_count = 1;
    services->context_entry_count = power_between(random, 2, 5);
    services->message_bytes_max = spread32(random, 64, 256);
    /* Room for one message or for many, so receivers are often full. */
    uint32_t message_bytes = (services->message_bytes_max / 8 + 8) * 8;
    services->context_send_bytes = message_bytes * spread32(random, 1, 8);
    services->context_receive_bytes = message_bytes * spread32(random, 1, 8);
    services->message_datagrams = services->message_bytes_max % 3 == 0;
    services->message_back_off_ns = spread(random, 5 * US, 50 * US);
    /* A turn is for one message, or for half of the buffer. */
    services->message_ask_bytes = services->message_bytes_max % 2
                                      ? services->context_receive_bytes / 2 - 8
                                      : 0;
}

static void draw_paths(struct storm_plan *plan, struct base_random *random)
{
    struct swif_config *swif = &plan->board.swif;
    swif->path_bytes_min = (uint32_t)between(random, 28, swif->packet_bytes_max / 8) * 8;
    swif->path_again_ns = spread(random, 100 * US, 10 * MS);
    plan->gap_ns[STORM_NARROW] = plan->safety_ns / between(random, 2, 20);
}

/* ---- What the choice says ---------------------------------------------------------- */

/* Sets the faults that are a matter of sizes; they are drawn whether or not they are wanted. */
static void shrink_sizes(struct storm_plan *plan, struct base_random *random)
{
    struct swif_config *swif = &plan->board.swif;
    struct nic_engine_config *engine = &plan->board.engine;
    uint32_t ltee_count = power_between(random, 1, 2);
    uint32_t rtee_count = power_between(random, 1, 2);
    uint32_t ways = power_between(random, 0, 1);
    uint32_t requests = spread32(random, 2, 6);
    uint32_t replies = spread32(random, 2, 6);
    uint32_t reorder = spread32(random, 1, 4);
    uint32_t queue = spread32(random, 2, 4);
    uint32_t link_packets = spread32(random, 2, 8);
    uint32_t transfers = spread32(random, 1, 2);
    uint32_t outstanding = spread32(random, 2, 4);
    if (plan->fault[STORM_EVICT]) {
        swif->ltee_count = ltee_count;
        swif->rtee_count = rtee_count;
        swif->ways = ways;
    }
    if (plan->fault[STORM_FULL]) {
        swif->buffer_count[WIRE_REQUEST] = requests;
        swif->buffer_count[WIRE_REPLY] = replies;
        swif->reorder_count = reorder;
        swif->queue_max = queue;
        plan->link_queue_bytes = link_packets * swif->packet_bytes_max;
        engine->transfer_count = transfers;
        engine->outstanding_count = outstanding;
    }
}

static void leave_out(struct storm_plan *plan, const struct storm_choice *choice)
{
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        plan->fault[i] = plan->fault[i] && !choice->without_fault[i];
    }
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        plan->work[i] = plan->work[i] && !choice->without_work[i];
    }
    plan->fault[STORM_RESTART] = plan->fault[STORM_RESTART] && plan->fault[STORM_CRASH];
    plan->loss_ppm = plan->fault[STORM_LOSS] ? plan->loss_ppm : 0;
    plan->duplicate_ppm = plan->fault[STORM_DUPLICATE] ? plan->duplicate_ppm : 0;
    plan->reorder_ppm = plan->fault[STORM_REORDER] ? plan->reorder_ppm : 0;
    plan->corrupt_ppm = plan->fault[STORM_CORRUPT] ? plan->corrupt_ppm : 0;
    plan->delay_ppm = plan->fault[STORM_DELAY] ? plan->delay_ppm : 0;
    plan->burst_ppm = plan->fault[STORM_BURST] ? plan->burst_ppm : 0;
}

/* Drawn last: seeds of the time before replays mean what they meant. */
static void draw_replays(struct storm_plan *plan, struct base_random *random, uint32_t allowed,
                         const struct storm_choice *choice)
{
    draw_fault(plan, random, allowed, STORM_REPLAY);
    plan->replay_ppm = spread32(random, 1000, 100000);
    plan->fault[STORM_REPLAY] = plan->fault[STORM_REPLAY] && !choice->without_fault[STORM_REPLAY];
    plan->replay_ppm = plan->fault[STORM_REPLAY] ? plan->replay_ppm : 0;
}

bool storm_plan_choose(struct storm_plan *plan, const struct storm_choice *choice)
{
    unsigned scenario = 0;
    while (storm_scenarios[scenario].name &&
           strcmp(storm_scenarios[scenario].name, choice->scenario) != 0) {
        scenario++;
    }
    if (!storm_scenarios[scenario].name || choice->node_count > STORM_NODES_MAX) {
        return false;
    }
    struct base_random random = {choice->seed * 64 + scenario};
    *plan = (struct storm_plan){
        .seed = choice->seed, .scenario = storm_scenarios[scenario].name, .luck = choice->luck};
    /* A cache of two contexts means something else with two nodes than with six. */
    uint32_t nodes = (uint32_t)between(&random, 2, 6);
    uint32_t operations = spread32(&random, 8, 120);
    plan->node_count = choice->node_count ? choice->node_count : nodes;
    plan->operations = choice->operations ? choice->operations : operations;
    board_config_default(&plan->board, plan->node_count);
    plan->board.swif.incarnation = 1; /* each life has its own; the size needs any */
    draw_faults(plan, &random, storm_scenarios[scenario].faults);
    draw_times(plan, &random);
    draw_sizes(plan, &random);
    draw_services(plan, &random);
    leave_out(plan, choice);
    shrink_sizes(plan, &random);
    draw_paths(plan, &random);
    draw_replays(plan, &random, storm_scenarios[scenario].faults, choice);
    return true;
}
