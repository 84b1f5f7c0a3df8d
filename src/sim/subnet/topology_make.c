/* Generators of shapes. Each first says how many boards and switches it needs, and which ports; the
 * nodes are added then, and the generator joins them. */
#include "sim/subnet/topology_make.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/size_text.h"
#include "sim/subnet/topology_file.h"

enum { SIZES_MAX = 6, PLAN_TEXT_BYTES = 256, UNSAID = UINT32_MAX };

/* A text taken apart, and then what comes of it. */
struct plan {
    const char *text;
    char *error;
    uint32_t sizes[SIZES_MAX];
    uint32_t size_count;
    uint32_t ports, width, boards, switches; /* settings; UNSAID */
    uint64_t seed;
    bool has_seed;
    /* How many there are in all. */
    uint32_t board_count, switch_count;
    struct topology *topology;
};

/* Writes "TEXT: ..."; returns false. */
__attribute__((format(printf, 2, 3))) static bool fault(const struct plan *plan, const char *format,
                                                        ...)
{
    int at = snprintf(plan->error, TOPOLOGY_ERROR_BYTES, "%.100s: ", plan->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(plan->error + at, TOPOLOGY_ERROR_BYTES - (size_t)at, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Nodes and cables --------------------------------------------------------------------- */

/* Adds all nodes, boards first; the switches have plan->ports ports. */
static bool add_nodes(struct plan *plan, uint64_t boards, uint64_t switches)
{
    char name[TOPOLOGY_NAME_BYTES];
    if (boards + switches > TOPOLOGY_NODES_MAX) {
        return fault(plan, "%" PRIu64 " boards and %" PRIu64 " switches; %d nodes are the most",
                     boards, switches, TOPOLOGY_NODES_MAX);
    }
    plan->board_count = (uint32_t)boards;
    plan->switch_count = (uint32_t)switches;
    uint8_t width = (uint8_t)plan->width;
    for (uint32_t i = 0; i < boards; i++) {
        (void)snprintf(name, sizeof name, "board-%" PRIu32, i);
        (void)topology_add(plan->topology, TOPOLOGY_BOARD, 1, width,
                           topology_guid(TOPOLOGY_BOARD, i), name);
    }
    for (uint32_t i = 0; i < switches; i++) {
        (void)snprintf(name, sizeof name, "switch-%" PRIu32, i);
        (void)topology_add(plan->topology, TOPOLOGY_SWITCH, plan->ports, width,
                           topology_guid(TOPOLOGY_SWITCH, i), name);
    }
    return true;
}

static void join_switches(struct plan *plan, uint32_t one, uint32_t port, uint32_t other,
                          uint32_t other_port)
{
    topology_join(plan->topology, plan->board_count + one, port, plan->board_count + other,
                  other_port);
}

static void join_board(struct plan *plan, uint32_t board, uint32_t at, uint32_t port)
{
    topology_join(plan->topology, board, 1, plan->board_count + at, port);
}

/* Takes the setting, or `least` where it is not said. False: it is too few, or no switch has so
 * many. */
static bool settle_ports(struct plan *plan, uint64_t least)
{
    if (least > TOPOLOGY_PORTS_MAX) {
        return fault(plan, "a switch needs %" PRIu64 " ports; 254 are the most", least);
    }
    if (plan->ports == UNSAID) {
        plan->ports = (uint32_t)least;
    }
    return plan->ports >= least || fault(plan, "a switch needs %" PRIu64 " ports at least", least);
}

/* ---- One switch --------------------------------------------------------------------------- */

static bool make_switch(struct plan *plan)
{
    if (!settle_ports(plan, plan->sizes[0]) || !add_nodes(plan, plan->sizes[0], 1)) {
        return false;
    }
    for (uint32_t i = 0; i < plan->board_count; i++) {
        join_board(plan, i, 0, i + 1);
    }
    return true;
}

/* ---- Rings, tori, meshes ------------------------------------------------------------------ */

/* Joins each switch to the next in that dimension; `stride` is how far apart their numbers are. */
static void join_dimension(struct plan *plan, uint32_t dimension, uint32_t stride, bool wraps)
{
    uint32_t size = plan->sizes[dimension];
    for (uint32_t i = 0; i < plan->switch_count; i++) {
        uint32_t at = i / stride % size;
        bool is_last = at + 1 == size;
        if (size > 1 && (!is_last || wraps)) {
            uint32_t next = is_last ? i - at * stride : i + stride;
            join_switches(plan, i, 2 * dimension + 1, next, 2 * dimension + 2);
        }
    }
}

static bool make_grid(struct plan *plan, bool wraps)
{
    uint64_t switches = 1;
    uint32_t boards = plan->boards == UNSAID ? 1 : plan->boards;
    for (uint32_t i = 0; i < plan->size_count; i++) {
        /* The product of so many nodes that it is refused anyway needs no more factors. */
        switches = switches > TOPOLOGY_NODES_MAX ? switches : switches * plan->sizes[i];
    }
    uint32_t cables = 2 * plan->size_count;
    if (!settle_ports(plan, (uint64_t)cables + boards) ||
        !add_nodes(plan, switches * boards, switches)) {
        return false;
    }
    uint32_t stride = 1;
    for (uint32_t i = 0; i < plan->size_count; i++) {
        join_dimension(plan, i, stride, wraps);
        stride *= plan->sizes[i];
    }
    for (uint32_t i = 0; i < plan->board_count; i++) {
        join_board(plan, i, i / boards, cables + 1 + i % boards);
    }
    return true;
}

static bool make_torus(struct plan *plan)
{
    return make_grid(plan, true);
}

static bool make_mesh(struct plan *plan)
{
    return make_grid(plan, false);
}

static bool make_ring(struct plan *plan)
{
    if (plan->size_count == 2) {
        if (plan->boards != UNSAID) {
            return fault(plan, "boards is said twice");
        }
        plan->boards = plan->sizes[1];
    }
    if (plan->sizes[0] < 2) {
        return fault(plan, "a ring has 2 switches at least");
    }
    plan->size_count = 1;
    return make_grid(plan, true);
}

/* ---- Fat trees ---------------------------------------------------------------------------- */

/* A level's switches: one for each group of `span` boards, in as many copies as there are ways up
 * to the level from each of these boards. The switch of a group with a copy's number is
 * first + group * copies + copy. */
struct tree_level {
    uint32_t first, groups, copies;
    uint64_t span;
};
enum { TREE_LEVELS_MAX = 32 };

/* Returns the number of levels; the switches of all come to *switches. */
static uint32_t lay_tree(const struct plan *plan, struct tree_level *levels, uint64_t *switches)
{
    uint32_t boards = plan->sizes[0];
    uint32_t half = plan->ports / 2;
    uint32_t count = 0;
    uint64_t span = 1;
    uint64_t copies = 1;
    *switches = 0;
    while (span * plan->ports < boards) {
        INVARIANT(count < TREE_LEVELS_MAX - 1);
        span *= half;
        uint64_t groups = (boards + span - 1) / span;
        levels[count++] = (struct tree_level){(uint32_t)*switches, (uint32_t)groups,
                                              (uint32_t)copies, span};
        *switches += groups * copies;
        copies *= half;
    }
    levels[count++] = (struct tree_level){(uint32_t)*switches, 1, (uint32_t)copies, boards};
    *switches += copies;
    return count;
}

/* Joins the ports up of a level's switches to the level above. */
static void join_up(struct plan *plan, const struct tree_level *level, bool above_is_top)
{
    const struct tree_level *above = level + 1;
    uint32_t half = plan->ports / 2;
    for (uint32_t group = 0; group < level->groups; group++) {
        uint32_t above_group = above_is_top ? 0 : group / half;
        uint32_t above_port = above_is_top ? group : group % half;
        for (uint32_t i = 0; i < level->copies * half; i++) {
            uint32_t copy = i / half;
            join_switches(plan, level->first + group * level->copies + copy, half + 1 + i % half,
                          above->first + above_group * above->copies + i, above_port + 1);
        }
    }
}

static bool make_fat_tree(struct plan *plan)
{
    struct tree_level levels[TREE_LEVELS_MAX];
    uint64_t switches;
    uint32_t boards = plan->sizes[0];
    plan->ports = plan->ports == UNSAID ? 8 : plan->ports;
    if (boards > plan->ports && (plan->ports < 4 || plan->ports % 2 == 1)) {
        return fault(plan, "ports is not an even number from 4 to 254");
    }
    uint32_t count = lay_tree(plan, levels, &switches);
    if (!add_nodes(plan, boards, switches)) {
        return false;
    }
    /* A switch below others has half of its ports for boards. */
    uint32_t at_switch = count == 1 ? plan->ports : plan->ports / 2;
    for (uint32_t i = 0; i < boards; i++) {
        join_board(plan, i, i / at_switch, i % at_switch + 1);
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        join_up(plan, &levels[i], i + 2 == count);
    }
    return true;
}

/* ---- By chance ---------------------------------------------------------------------------- */

/* Free ports of switches that belong to the tree already, a switch for each port. */
struct stubs {
    uint32_t *at;
    uint32_t count;
    uint32_t *next_port; /* by switch: the first that is free */
};

static uint32_t take_stub(struct stubs *stubs, struct base_random *chance)
{
    uint32_t i = (uint32_t)base_random_below(chance, stubs->count);
    uint32_t taken = stubs->at[i];
    stubs->at[i] = stubs->at[--stubs->count];
    return taken;
}

static void join_by_chance(struct plan *plan, struct stubs *stubs, uint32_t one, uint32_t other)
{
    uint32_t port = stubs->next_port[one]++;
    uint32_t other_port = stubs->next_port[other]++;
    join_switches(plan, one, port, other, other_port);
}

static bool are_joined(const struct plan *plan, uint32_t one, uint32_t other)
{
    for (uint32_t port = 1; port <= plan->ports; port++) {
        if (topology_port(plan->topology, plan->board_count + one, port)->peer_node ==
            plan->board_count + other) {
            return true;
        }
    }
    return false;
}

/* How many boards a switch has: as many as the others, or one more. */
static uint32_t boards_at(const struct plan *plan, uint32_t number)
{
    return plan->board_count / plan->switch_count +
           (number < plan->board_count % plan->switch_count);
}

/* Switches in an order by chance, those with more free ports before those with fewer: so the tree
 * never runs out of free ports before its last switch. */
static void lay_order(const struct plan *plan, uint32_t *order, struct base_random *chance)
{
    uint32_t count = plan->switch_count;
    uint32_t fuller = plan->board_count % count;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = (fuller + i) % count;
    }
    uint32_t emptier = count - fuller;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = i < emptier ? emptier : count;
        uint32_t with = i + (uint32_t)base_random_below(chance, end - i);
        uint32_t held = order[i];
        order[i] = order[with];
        order[with] = held;
    }
}

/* A tree of all switches, then cables between ports that are left, none between neighbours. */
static void join_random(struct plan *plan, struct stubs *stubs, uint32_t *order,
                        struct base_random *chance)
{
    lay_order(plan, order, chance);
    for (uint32_t i = 0; i < plan->switch_count; i++) {
        uint32_t number = order[i];
        uint32_t boards = boards_at(plan, number);
        uint32_t left = plan->ports - boards;
        stubs->next_port[number] = boards + 1;
        if (i > 0) {
            join_by_chance(plan, stubs, take_stub(stubs, chance), number);
            left--;
        }
        for (; left > 0; left--) {
            stubs->at[stubs->count++] = number;
        }
    }
    for (uint32_t tries = 0; stubs->count > 1 && tries < 16;) {
        uint32_t one = take_stub(stubs, chance);
        uint32_t other = take_stub(stubs, chance);
        if (one != other && !are_joined(plan, one, other)) {
            join_by_chance(plan, stubs, one, other);
            tries = 0;
        } else {
            stubs->at[stubs->count++] = one;
            stubs->at[stubs->count++] = other;
            tries++;
        }
    }
}

static bool make_random(struct plan *plan)
{
    uint32_t boards = plan->sizes[0];
    plan->ports = plan->ports == UNSAID ? 8 : plan->ports;
    uint32_t share = plan->ports > 1 ? plan->ports / 2 : 1;
    uint32_t count = plan->switches == UNSAID ? (boards + share - 1) / share : plan->switches;
    uint64_t all_ports = (uint64_t)count * plan->ports;
    /* A tree of n switches has n - 1 cables, and each switch is at one of them at least. */
    uint64_t needed = boards + 2 * (uint64_t)(count - 1);
    uint32_t most_boards = (boards + count - 1) / count;
    if (all_ports < needed || (count > 1 && most_boards >= plan->ports)) {
        return fault(plan, "the switches have too few ports: there are %" PRIu64, all_ports);
    }
    if (!add_nodes(plan, boards, count)) {
        return false;
    }
    struct base_random chance = {plan->has_seed ? plan->seed : 1};
    struct stubs stubs = {
        .at = calloc(all_ports, sizeof *stubs.at),
        .next_port = calloc(count, sizeof *stubs.next_port),
    };
    uint32_t *order = calloc(count, sizeof *order);
    INVARIANT(stubs.at && stubs.next_port && order);
    for (uint32_t i = 0; i < boards; i++) {
        join_board(plan, i, i % count, i / count + 1);
    }
    join_random(plan, &stubs, order, &chance);
    free(stubs.at);
    free(stubs.next_port);
    free(order);
    return true;
}

/* ---- The text ----------------------------------------------------------------------------- */

enum setting { PORTS = 1, BOARDS = 2, SWITCHES = 4, SEED = 8 };

static const struct generator {
    const char *name;
    uint32_t sizes_most;
    unsigned settings;
    bool (*make)(struct plan *plan);
} generators[] = {
    {"switch", 1, PORTS, make_switch},
    {"ring", 2, PORTS | BOARDS, make_ring},
    {"torus", SIZES_MAX, PORTS | BOARDS, make_torus},
    {"mesh", SIZES_MAX, PORTS | BOARDS, make_mesh},
    {"fat-tree", 1, PORTS, make_fat_tree},
    {"random", 1, PORTS | SWITCHES | SEED, make_random},
};
enum { GENERATORS = sizeof generators / sizeof generators[0] };

static const struct generator *find_generator(const char *text)
{
    for (unsigned i = 0; i < GENERATORS; i++) {
        size_t length = strlen(generators[i].name);
        if (strncmp(text, generators[i].name, length) == 0 && text[length] == ':') {
            return &generators[i];
        }
    }
    return NULL;
}

bool topology_is_made(const char *text)
{
    return find_generator(text) != NULL;
}

static bool take_sizes(struct plan *plan, const struct generator *generator, char *text)
{
    char *rest = NULL;
    if (*text == '\0' || text[strlen(text) - 1] == 'x') {
        return fault(plan, "its size is missing");
    }
    for (char *word = strtok_r(text, "x", &rest); word; word = strtok_r(NULL, "x", &rest)) {
        uint64_t size;
        if (plan->size_count == generator->sizes_most) {
            return fault(plan, "it has too many sizes");
        }
        if (!base_number_parse(word, TOPOLOGY_NODES_MAX, &size) || size == 0) {
            return fault(plan, "a size is a number from 1 to %d", TOPOLOGY_NODES_MAX);
        }
        plan->sizes[plan->size_count++] = (uint32_t)size;
    }
    return true;
}

static bool take_setting(struct plan *plan, const struct generator *generator, const char *word)
{
    const struct {
        const char *name;
        unsigned setting; /* 0: of all kinds */
        uint32_t *value;
        uint64_t least, most;
    } known[] = {
        {"ports", PORTS, &plan->ports, 1, TOPOLOGY_PORTS_MAX},
        {"boards", BOARDS, &plan->boards, 0, TOPOLOGY_PORTS_MAX},
        {"switches", SWITCHES, &plan->switches, 1, TOPOLOGY_NODES_MAX},
        {"width", 0, &plan->width, 1, 12},
        {"seed", SEED, NULL, 0, INT64_MAX},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *name = known[i].name;
        size_t length = strlen(name);
        uint64_t value;
        if (strncmp(word, name, length) != 0 || word[length] != '=' ||
            (known[i].setting && !(generator->settings & known[i].setting))) {
            continue;
        }
        if (known[i].value ? *known[i].value != UNSAID : plan->has_seed) {
            return fault(plan, "%s is said twice", name);
        }
        if (!base_number_parse(word + length + 1, known[i].most, &value) ||
            value < known[i].least) {
            return fault(plan, "%s is a number from %" PRIu64 " to %" PRIu64, name, known[i].least,
                         known[i].most);
        }
        if (known[i].value == &plan->width && value != 1 && value != 4 && value != 12) {
            return fault(plan, "width is 1, 4 or 12");
        }
        if (known[i].value) {
            *known[i].value = (uint32_t)value;
        } else {
            plan->seed = value;
            plan->has_seed = true;
        }
        return true;
    }
    return fault(plan, "%s has no setting \"%.60s\"", generator->name, word);
}

bool topology_make(const char *text, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES])
{
    struct topology made = {0};
    struct plan plan = {
        .text = text,
        .error = error,
        .topology = &made,
        .ports = UNSAID,
        .width = UNSAID,
        .boards = UNSAID,
        .switches = UNSAID,
    };
    char copy[PLAN_TEXT_BYTES];
    const struct generator *generator = find_generator(text);
    if (!generator) {
        return fault(&plan, "begins with switch:, ring:, torus:, mesh:, fat-tree: or random:");
    }
    if (strlen(text) >= sizeof copy) {
        return fault(&plan, "it is too long");
    }
    (void)snprintf(copy, sizeof copy, "%s,", strchr(text, ':') + 1);
    char *rest = strchr(copy, ',') + 1;
    rest[-1] = '\0';
    bool good = take_sizes(&plan, generator, copy);
    while (good && *rest) {
        char *word = rest;
        rest = strchr(word, ',') + 1;
        rest[-1] = '\0';
        good = take_setting(&plan, generator, word);
    }
    if (good) {
        plan.width = plan.width == UNSAID ? 4 : plan.width;
        good = generator->make(&plan);
    }
    if (good) {
        *topology = made;
    } else {
        topology_free(&made);
    }
    return good;
}

bool topology_open(const char *text, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES])
{
    return topology_is_made(text) ? topology_make(text, topology, error)
                                  : topology_read(text, topology, error);
}
