/* Packets of all patterns.
 *
 * Each node and cycle is a trial: a packet comes or not, with the same chance. Trials are numbered
 * (cycle * nodes + node), and we draw the gap to the next success, so what a cycle costs does not
 * depend on how many nodes send nothing. */
#include "sim/ring/traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/size_text.h"

const char *const net_pattern_names[NET_PATTERNS] = {
    [NET_UNIFORM] = "uniform",   [NET_NEIGHBOUR] = "neighbour",   [NET_TRANSPOSE] = "transpose",
    [NET_HOT_SPOT] = "hot-spot", [NET_ALL_TO_ALL] = "all-to-all", [NET_MULTICAST] = "multicast",
    [NET_TRACE] = "trace",
};

const char *const net_multicast_names[NET_MULTICASTS] = {
    [NET_BY_TABLES] = "tables",
    [NET_BY_UNICAST] = "unicast",
};

enum { GAPS = 64, LINE_NUMBERS = 4, FLITS_MAX = 1 << 16 };
/* The gaps of a lower rate are longer than any run lasts. */
#define RATE_LEAST 1e-6

struct entry {
    uint64_t cycle;
    uint32_t source, target, flits;
};

struct net_traffic {
    struct net_traffic_config config;
    struct net_config network;
    struct net *net;
    struct base_random random;
    struct net_traffic_counters counters;
    uint32_t nodes;
    uint32_t networks;
    /* at_least[k]: how many of 2^64 draws have k failures or more before the success. */
    uint64_t at_least[GAPS + 1];
    uint64_t trial;                 /* the next success; UINT64_MAX: never */
    uint64_t long_limit, hot_limit; /* a draw below means yes */
    uint32_t *turn;                 /* ALL_TO_ALL: for each node, how far the last target was */
    uint32_t group_count;
    struct entry *entries; /* TRACE */
    size_t entry_count, entry_next;
};

/* ---- Config ------------------------------------------------------------------------------- */

void net_traffic_config_default(struct net_traffic_config *config)
{
    *config = (struct net_traffic_config){
        .pattern = NET_UNIFORM,
        .rate = 0.1,
        .flits = 8,
        .long_flits = 64,
        .hot_share = 0.1,
        .members = 4,
        .seed = 1,
    };
}

double net_traffic_flits(const struct net_traffic_config *config)
{
    return config->flits * (1 - config->long_share) + config->long_flits * config->long_share;
}

static uint32_t square_root(uint32_t value)
{
    uint32_t root = 0;
    while ((uint64_t)(root + 1) * (root + 1) <= value) {
        root++;
    }
    return root;
}

static const char *reply_objection(const struct net_traffic_config *config,
                                   const struct net_config *network, char text[NET_ERROR_BYTES])
{
    if (config->reply_flits > 0 && net_replies(network) == 0) {
        return net_object(text, "[traffic] reply_flits: replies need a second virtual network");
    }
    if (config->reply_flits > 0 && config->networks > 1) {
        return net_object(text,
                          "[traffic] networks: is %" PRIu32
                          ", but with replies all requests are in the first",
                          config->networks);
    }
    return NULL;
}

/* Objections that concern one pattern only. */
static const char *pattern_objection(const struct net_traffic_config *config, uint32_t nodes,
                                     enum net_shape shape, char text[NET_ERROR_BYTES])
{
    if (config->pattern == NET_TRANSPOSE && square_root(nodes) * square_root(nodes) != nodes) {
        return net_object(
            text, "[traffic] pattern: transpose needs a square number of nodes, not %" PRIu32,
            nodes);
    }
    if (config->pattern == NET_HOT_SPOT && config->hot_node >= nodes) {
        return net_object(text, "[traffic] hot_node: there is no node %" PRIu32 " among %" PRIu32,
                          config->hot_node, nodes);
    }
    if (config->pattern == NET_MULTICAST && (config->members < 2 || config->members > nodes)) {
        return net_object(
            text, "[traffic] members: a group has 2 to %" PRIu32 " of the nodes, not %" PRIu32,
            nodes, config->members);
    }
    if (config->pattern == NET_MULTICAST && config->multicast == NET_BY_TABLES &&
        shape != NET_RING) {
        return net_object(text,
                          "[traffic] multicast: tables lead round a ring; a %s has unicast only",
                          net_shape_names[shape]);
    }
    if (config->pattern == NET_TRACE && !*config->trace) {
        return net_object(text, "[traffic] trace: no file is named");
    }
    return NULL;
}

const char *net_traffic_objection(const struct net_traffic_config *config,
                                  const struct net_config *network, char text[NET_ERROR_BYTES])
{
    if (!(config->rate >= 0 && config->rate <= 1)) {
        return net_object(text, "[traffic] rate: a NIC sends 0 to 1 flits in a cycle, not %g",
                          config->rate);
    }
    if (config->rate > 0 && config->rate < RATE_LEAST) {
        return net_object(text, "[traffic] rate: %g is 0 or at least %g", config->rate, RATE_LEAST);
    }
    if (config->networks > network->virtual_networks) {
        return net_object(
            text, "[traffic] networks: there are %" PRIu32 " virtual networks, not %" PRIu32,
            network->virtual_networks, config->networks);
    }
    const char *objection = reply_objection(config, network, text);
    return objection
               ? objection
               : pattern_objection(config, network->width * network->height, network->shape, text);
}

/* ---- Chance ------------------------------------------------------------------------------- */

/* That share of 2^64 draws. */
static uint64_t limit_of(double share)
{
    double limit = share * 18446744073709551616.0;
    return limit >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)limit;
}

static void set_rate(struct net_traffic *traffic)
{
    double share = traffic->config.rate / net_traffic_flits(&traffic->config);
    uint64_t failure = limit_of(1 - share);
    traffic->at_least[0] = UINT64_MAX;
    for (unsigned i = 1; i <= GAPS; i++) {
        unsigned __int128 product = (unsigned __int128)traffic->at_least[i - 1] * failure;
        traffic->at_least[i] = (uint64_t)(product >> 64);
    }
}

/* Draws the trials from one success to the next. After GAPS failures we draw anew: trials have no
 * memory. */
static uint64_t draw_gap(struct net_traffic *traffic)
{
    uint64_t gap = 1;
    uint64_t draw = base_random_next(&traffic->random);
    while (draw < traffic->at_least[GAPS]) {
        gap += GAPS;
        draw = base_random_next(&traffic->random);
    }
    unsigned low = 0;
    unsigned high = GAPS;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (draw < traffic->at_least[middle]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return gap + low;
}

static bool draw_below(struct net_traffic *traffic, uint64_t limit)
{
    return limit > 0 && base_random_next(&traffic->random) < limit;
}

/* ---- Targets ------------------------------------------------------------------------------ */

static uint32_t any_other(struct net_traffic *traffic, uint32_t source)
{
    uint32_t target = (uint32_t)base_random_below(&traffic->random, traffic->nodes - 1);
    return target + (target >= source);
}

static uint32_t any_neighbour(struct net_traffic *traffic, uint32_t source)
{
    uint32_t found[4];
    unsigned count = 0;
    for (uint32_t port = 1; port < net_ports(&traffic->network); port++) {
        uint32_t neighbour = net_neighbour(&traffic->network, source, port);
        if (neighbour != UINT32_MAX) {
            found[count++] = neighbour;
        }
    }
    return found[base_random_below(&traffic->random, count)];
}

/* Gives the source itself if it sends nothing. */
static uint32_t choose_target(struct net_traffic *traffic, uint32_t source)
{
    switch (traffic->config.pattern) {
    case NET_NEIGHBOUR: return any_neighbour(traffic, source);
    case NET_TRANSPOSE: {
        uint32_t side = square_root(traffic->nodes);
        return source % side * side + source / side;
    }
    case NET_HOT_SPOT:
        return source != traffic->config.hot_node && draw_below(traffic, traffic->hot_limit)
                   ? traffic->config.hot_node
                   : any_other(traffic, source);
    case NET_ALL_TO_ALL:
        traffic->turn[source] = traffic->turn[source] % (traffic->nodes - 1) + 1;
        return (source + traffic->turn[source]) % traffic->nodes;
    case NET_UNIFORM:
    case NET_MULTICAST:
    case NET_TRACE:
    case NET_PATTERNS: break;
    }
    return any_other(traffic, source);
}

static uint32_t member_of(const struct net_traffic *traffic, uint32_t group, uint32_t number)
{
    return (group + (uint32_t)((uint64_t)number * traffic->nodes / traffic->config.members)) %
           traffic->nodes;
}

/* ---- Sending ------------------------------------------------------------------------------ */

static void send_one(struct net_traffic *traffic, uint32_t source, uint32_t target,
                     uint32_t virtual_network, uint32_t flits)
{
    net_send(traffic->net, source, target, virtual_network, flits, ++traffic->counters.packets);
    traffic->counters.packets_wanted++;
    traffic->counters.flits_wanted += flits;
}

/* With tables, a source that is a member also gets its own packet when it has gone round. */
static void send_multicast(struct net_traffic *traffic, uint32_t source, uint32_t virtual_network,
                           uint32_t flits)
{
    uint32_t members = traffic->config.members;
    uint32_t group = (uint32_t)base_random_below(&traffic->random, traffic->group_count);
    if (traffic->config.multicast == NET_BY_TABLES) {
        net_send_group(traffic->net, source, group, virtual_network, flits,
                       ++traffic->counters.packets);
        traffic->counters.packets_wanted += members;
        traffic->counters.flits_wanted += (uint64_t)members * flits;
        return;
    }
    for (uint32_t i = 0; i < members; i++) {
        uint32_t target = member_of(traffic, group, i);
        if (target != source) {
            send_one(traffic, source, target, virtual_network, flits);
        }
    }
}

static void send_packet(struct net_traffic *traffic, uint32_t source)
{
    const struct net_traffic_config *config = &traffic->config;
    uint32_t flits = draw_below(traffic, traffic->long_limit) ? config->long_flits : config->flits;
    uint32_t virtual_network = traffic->networks > 1 ? (uint32_t)base_random_below(
                                                           &traffic->random, traffic->networks)
                                                     : 0;
    if (config->pattern == NET_MULTICAST) {
        send_multicast(traffic, source, virtual_network, flits);
        return;
    }
    uint32_t target = choose_target(traffic, source);
    if (target != source) {
        send_one(traffic, source, target, virtual_network, flits);
    }
}

static void step_trace(struct net_traffic *traffic, uint64_t cycle)
{
    while (traffic->entry_next < traffic->entry_count &&
           traffic->entries[traffic->entry_next].cycle <= cycle) {
        const struct entry *entry = &traffic->entries[traffic->entry_next];
        /* Packets of a pair stay in one virtual network, and so in order. */
        send_one(traffic, entry->source, entry->target,
                 (entry->source + entry->target) % traffic->networks, entry->flits);
        traffic->entry_next++;
    }
}

void net_traffic_step(struct net_traffic *traffic)
{
    uint64_t cycle = net_cycle(traffic->net);
    if (traffic->config.pattern == NET_TRACE) {
        step_trace(traffic, cycle);
        return;
    }
    uint64_t first = cycle * traffic->nodes;
    while (traffic->trial < first + traffic->nodes) {
        send_packet(traffic, (uint32_t)(traffic->trial - first));
        traffic->trial += draw_gap(traffic);
    }
}

void net_traffic_delivered(struct net_traffic *traffic, const struct net_delivery *delivery)
{
    uint32_t flits = traffic->config.reply_flits;
    if (flits > 0 && delivery->virtual_network == 0 &&
        net_reply(traffic->net, delivery->target, delivery->header,
                  flits * traffic->network.flit_bytes, traffic->counters.packets + 1)) {
        traffic->counters.packets++;
        traffic->counters.packets_wanted++;
        traffic->counters.flits_wanted += flits;
    }
}

bool net_traffic_is_over(const struct net_traffic *traffic)
{
    return traffic->config.pattern == NET_TRACE && traffic->entry_next == traffic->entry_count;
}

void net_traffic_counters(const struct net_traffic *traffic, struct net_traffic_counters *counters)
{
    *counters = traffic->counters;
}

/* ---- Traces ------------------------------------------------------------------------------- */

static bool trace_fault(const struct net_traffic *traffic, unsigned line, const char *what,
                        char error[NET_ERROR_BYTES])
{
    (void)snprintf(error, NET_ERROR_BYTES, "%s:%u: %s", traffic->config.trace, line, what);
    return false;
}

/* Reads the numbers of a line; gives how many, or LINE_NUMBERS + 1 if anything else is there. */
static unsigned split_line(char *line, uint64_t numbers[LINE_NUMBERS])
{
    unsigned count = 0;
    char *rest = line;
    line[strcspn(line, "#")] = '\0';
    for (char *word; (word = strtok_r(rest, " \t\r\n", &rest)) != NULL; count++) {
        if (count == LINE_NUMBERS || !base_number_parse(word, UINT64_MAX / 2, &numbers[count])) {
            return LINE_NUMBERS + 1;
        }
    }
    return count;
}

static bool take_line(struct net_traffic *traffic, unsigned line, const uint64_t *numbers,
                      size_t *room, char error[NET_ERROR_BYTES])
{
    uint64_t before = traffic->entry_count > 0 ? traffic->entries[traffic->entry_count - 1].cycle
                                               : 0;
    if (numbers[0] < before) {
        return trace_fault(traffic, line, "its cycle is before that of the line before", error);
    }
    if (numbers[1] >= traffic->nodes || numbers[2] >= traffic->nodes) {
        return trace_fault(traffic, line, "there is no such node", error);
    }
    if (numbers[1] == numbers[2]) {
        return trace_fault(traffic, line, "source and target are the same node", error);
    }
    if (numbers[3] == 0 || numbers[3] > FLITS_MAX) {
        return trace_fault(traffic, line, "a packet has 1 to 65536 flits", error);
    }
    if (traffic->entry_count == *room) {
        *room = *room ? 2 * *room : 1024;
        struct entry *more = realloc(traffic->entries, *room * sizeof *more);
        if (!more) {
            return trace_fault(traffic, line, "there is no memory left", error);
        }
        traffic->entries = more;
    }
    traffic->entries[traffic->entry_count++] = (struct entry){
        numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2], (uint32_t)numbers[3]};
    return true;
}

static bool read_trace(struct net_traffic *traffic, char error[NET_ERROR_BYTES])
{
    FILE *file = fopen(traffic->config.trace, "re");
    if (!file) {
        (void)snprintf(error, NET_ERROR_BYTES, "cannot read the trace %s: %s",
                       traffic->config.trace, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t line_room = 0;
    size_t room = 0;
    unsigned number = 0;
    bool good = true;
    while (good && getline(&line, &line_room, file) >= 0) {
        uint64_t numbers[LINE_NUMBERS];
        number++;
        unsigned count = split_line(line, numbers);
        if (count == LINE_NUMBERS) {
            good = take_line(traffic, number, numbers, &room, error);
        } else if (count != 0) {
            good = trace_fault(traffic, number,
                               "a line is four whole numbers: cycle source target flits", error);
        }
    }
    if (good && ferror(file)) {
        good = trace_fault(traffic, number, strerror(errno), error);
    }
    free(line);
    (void)fclose(file);
    return good;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static void set_groups(struct net_traffic *traffic)
{
    uint32_t members = traffic->config.members;
    uint32_t list[NET_NODES_MAX];
    traffic->group_count = traffic->nodes / members;
    if (traffic->group_count > NET_GROUPS_MAX) {
        traffic->group_count = NET_GROUPS_MAX;
    }
    for (uint32_t group = 0; group < traffic->group_count; group++) {
        for (uint32_t i = 0; i < members; i++) {
            list[i] = member_of(traffic, group, i);
        }
        if (traffic->config.multicast == NET_BY_TABLES) {
            net_group_set(traffic->net, group, list, members);
        }
    }
}

struct net_traffic *net_traffic_open(const struct net_traffic_config *config,
                                     const struct net_config *network, struct net *net,
                                     char error[NET_ERROR_BYTES])
{
    if (net_traffic_objection(config, network, error)) {
        return NULL;
    }
    struct net_traffic *traffic = calloc(1, sizeof *traffic);
    uint32_t nodes = network->width * network->height;
    uint32_t *turn = calloc(nodes, sizeof *turn);
    if (!traffic || !turn) {
        free(traffic);
        free(turn);
        (void)snprintf(error, NET_ERROR_BYTES, "there is no memory left");
        return NULL;
    }
    *traffic = (struct net_traffic){
        .config = *config,
        .network = *network,
        .net = net,
        .random = {config->seed},
        .nodes = nodes,
        .networks = config->reply_flits ? 1
                    : config->networks  ? config->networks
                                        : network->virtual_networks,
        .long_limit = limit_of(config->long_share),
        .hot_limit = limit_of(config->hot_share),
        .turn = turn,
    };
    if (config->pattern == NET_TRACE && !read_trace(traffic, error)) {
        net_traffic_close(traffic);
        return NULL;
    }
    if (config->pattern == NET_MULTICAST) {
        set_groups(traffic);
    }
    set_rate(traffic);
    traffic->trial = config->rate > 0 ? draw_gap(traffic) - 1 : UINT64_MAX;
    return traffic;
}

void net_traffic_close(struct net_traffic *traffic)
{
    if (traffic) {
        free(traffic->turn);
        free(traffic->entries);
        free(traffic);
    }
}
