/* Reading network files. All statements are collected first; shape, size and the port's mode are
 * taken before the rest, because the defaults of a network depend on them. */
#include "sim/ring/net_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "sim/model/machine_file.h"

_Static_assert((int)NET_ERROR_BYTES == (int)SIM_ERROR_BYTES, "errors of both are one");

/* ---- The keys ----------------------------------------------------------------------------- */

enum kind {
    KIND_COUNT,  /* uint32_t */
    KIND_LONG,   /* uint64_t */
    KIND_REAL,   /* double */
    KIND_MHZ,    /* a decimal; kept in kHz */
    KIND_CHOICE, /* an enum: one of the words */
    KIND_RULES,  /* bool: the second word */
    KIND_PATH,
};

struct key {
    const char *section, *key;
    enum kind kind;
    size_t offset; /* in struct net_experiment */
    double least, most;
    const char *const *words;
    unsigned word_count;
    const char *help;
};

static const char *const rules_words[2] = {"repaired", "literal"};

#define AT(field) offsetof(struct net_experiment, field)
#define NUMBER(section, name, kind, field, least, most, help)      \
    {                                                              \
        section, name, kind, AT(field), least, most, NULL, 0, help \
    }
#define COUNT(section, name, field, least, most, help) \
    NUMBER(section, name, KIND_COUNT, field, least, most, help)
#define LONG(section, name, field, least, most, help) \
    NUMBER(section, name, KIND_LONG, field, least, most, help)
#define REAL(section, name, field, least, most, help) \
    NUMBER(section, name, KIND_REAL, field, least, most, help)
#define CHOICE(section, name, field, words, count, help)                \
    {                                                                   \
        section, name, KIND_CHOICE, AT(field), 0, 0, words, count, help \
    }

/* Shape, size and the port's mode are the first FIRST_KEYS: others have their defaults from
 * them. */
enum { FIRST_KEYS = 4 };
static const struct key keys[] = {
    CHOICE("network", "shape", network.shape, net_shape_names, NET_SHAPES,
           "how routers are joined"),
    COUNT("network", "width", network.width, 1, NET_NODES_MAX, "nodes of a row, or of the ring"),
    COUNT("network", "height", network.height, 1, NET_NODES_MAX, "rows; a ring has 1"),
    CHOICE("port", "mode", network.swif, net_swif_names, NET_SWIFS,
           "of the SWIF: its frames are those of paper 003's Table 2"),
    CHOICE("network", "routing", network.routing, net_routing_names, NET_ROUTINGS,
           "the way of a packet, and why it cannot wait for itself"),
    COUNT("network", "virtual_networks", network.virtual_networks, 0, NET_VCS_MAX,
          "parts that do not wait for each other"),
    COUNT("network", "vcs", network.vcs, 0, NET_VCS_MAX,
          "virtual channels of a port, all virtual networks together"),
    COUNT("network", "buffer_flits", network.buffer_flits, 0, 1 << 20,
          "room of a channel between routers"),
    COUNT("network", "slack_flits", network.slack_flits, 0, 1 << 20,
          "room of a channel between NIC and router; 0: what the round trip needs"),
    COUNT("network", "leave_flits", network.leave_flits, 0, 1 << 20,
          "room of a channel in which flits wait for the port to their NIC"),
    COUNT("network", "patience_cycles", network.patience_cycles, 0, 1 << 30,
          "a NIC's packet lets those on their way by for so long; 0: all in turn"),
    COUNT("network", "dateline", network.dateline, 0, NET_NODES_MAX,
          "the router at which packets climb a channel"),
    COUNT("network", "flit_bytes", network.flit_bytes, 1, 255, "of a flit"),
    {"network", "clock_mhz", KIND_MHZ, AT(network.clock_khz), 0.001, 100000, NULL, 0,
     "of routers and links"},
    COUNT("delays", "route_cycles", network.route_cycles, 0, 65535,
          "a head in a router: its output is chosen"),
    COUNT("delays", "switch_cycles", network.switch_cycles, 0, 65535,
          "a flit from an input to an output"),
    COUNT("delays", "link_cycles", network.link_cycles, 0, 65535,
          "a flit from a router to the next"),
    COUNT("delays", "credit_cycles", network.credit_cycles, 0, 65535,
          "a credit to the router before"),
    COUNT("delays", "nic_cycles", network.nic_cycles, 0, 65535,
          "a flit between NIC and router, either way"),
    COUNT("port", "frame_bits", network.port_frame_bits, 0, 65535,
          "a line between NIC and router is 80"),
    {"port", "frame_mhz", KIND_MHZ, AT(network.port_frame_khz), 0.001, 100000, NULL, 0,
     "how many frames pass the port; a line takes whole cycles of the clock, a flit at least one"},
    COUNT("port", "take_cycles", network.port_take_cycles, 0, 65535,
          "in which a NIC takes a line; 0: all lines at once"),
    REAL("errors", "bit_error_rate", network.bit_error_rate, 0, 1, "of links between routers"),
    REAL("errors", "port_bit_error_rate", network.port_bit_error_rate, 0, 1,
         "between NICs and routers"),
    COUNT("errors", "frame_flits", network.frame_flits, 0, 65535,
          "of a transfer with a CRC and a number"),
    {"errors", "rules", KIND_RULES, AT(network.literal_rules), 0, 0, rules_words, 2,
     "of retransmission: the paper's as written livelock"},
    COUNT("errors", "resend_cycles", network.resend_cycles, 0, 1 << 30,
          "the timer of the repaired rules"),
    LONG("errors", "seed", network.seed, 0, 9e15, "of errors"),
    CHOICE("traffic", "pattern", traffic.pattern, net_pattern_names, NET_PATTERNS,
           "who sends to whom"),
    REAL("traffic", "rate", traffic.rate, 0, 1, "flits of each node and cycle"),
    COUNT("traffic", "flits", traffic.flits, 1, 65536, "of a packet"),
    COUNT("traffic", "long_flits", traffic.long_flits, 1, 65536, "of a long packet"),
    REAL("traffic", "long_share", traffic.long_share, 0, 1, "of packets that are long"),
    COUNT("traffic", "reply_flits", traffic.reply_flits, 0, 65536,
          "of the answer to each packet, in the second virtual network; 0: none"),
    COUNT("traffic", "networks", traffic.networks, 0, NET_VCS_MAX,
          "virtual networks that packets are spread over; 0: all"),
    COUNT("traffic", "hot_node", traffic.hot_node, 0, NET_NODES_MAX, "of hot-spot"),
    REAL("traffic", "hot_share", traffic.hot_share, 0, 1, "of packets that go there"),
    COUNT("traffic", "members", traffic.members, 0, NET_NODES_MAX, "of a multicast's group"),
    CHOICE("traffic", "multicast", traffic.multicast, net_multicast_names, NET_MULTICASTS,
           "one packet by the routers' tables, or one for each member"),
    LONG("traffic", "seed", traffic.seed, 0, 9e15, "of packets"),
    {"traffic", "trace", KIND_PATH, AT(traffic.trace), 0, 0, NULL, 0,
     "a file of lines: cycle source target flits"},
    LONG("measure", "warm_up_cycles", measure.warm_up_cycles, 0, 1e12, "at least"),
    LONG("measure", "batch_cycles", measure.batch_cycles, 1, 1e12,
         "whose mean latencies are compared"),
    COUNT("measure", "batches", measure.batches, 1, 64, "that have to agree to be steady"),
    COUNT("measure", "batches_most", measure.batches_most, 1, 1000000,
          "then it is measured as it is"),
    REAL("measure", "tolerance", measure.tolerance, 0, 1, "by which batches agree"),
    LONG("measure", "cycles", measure.cycles, 1, 1e12, "of the measured window"),
    LONG("measure", "drain_cycles", measure.drain_cycles, 0, 1e12,
         "for what was sent in the window"),
    LONG("measure", "look_cycles", measure.look_cycles, 1, 1e12, "between looks for a deadlock"),
    REAL("measure", "precision", measure.precision, 1e-5, 1,
         "of the saturation point, as a share of it"),
};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* The name NULL: the section's first key. KEYS: there is none. */
static unsigned find_key(const char *section, const char *name)
{
    unsigned i = 0;
    while (i < KEYS &&
           (strcmp(keys[i].section, section) != 0 || (name && strcmp(keys[i].key, name) != 0))) {
        i++;
    }
    return i;
}

/* ---- What is said ------------------------------------------------------------------------- */

struct said {
    unsigned line; /* 0: it was not said */
    char text[SIM_VALUE_BYTES];
};

struct loading {
    struct net_file *file;
    const char *name;
    char *error;
    struct said said[KEYS]; /* in the file */
    struct said set[KEYS];  /* in the settings; the line is the setting's number, from 1 */
    struct said outages[NET_OUTAGES_MAX];
    unsigned outage_count;
    unsigned said_text;
};

/* Makes an error: where a key's value comes from, and what is wrong with it. */
static bool key_fault(struct loading *loading, bool setting, unsigned line, const char *section,
                      const char *key, const char *text, const char *fault)
{
    if (setting) {
        (void)snprintf(loading->error, NET_ERROR_BYTES, "--set %.20s.%.30s: \"%.60s\" %.190s",
                       section, key, text, fault);
        return false;
    }
    return sim_file_fault(loading->error, loading->name, line, "[%s] %s: \"%s\" %s", section, key,
                          text, fault);
}

static bool take_section(void *context, unsigned line, const char *section)
{
    struct loading *loading = context;
    return find_key(section, NULL) < KEYS ||
           sim_file_fault(loading->error, loading->name, line, "there is no section [%s]", section);
}

static bool take_text(struct loading *loading, unsigned line, const char *value)
{
    if (loading->said_text) {
        return sim_file_said_twice(loading->error, loading->name, line, "network", "text",
                                   loading->said_text);
    }
    loading->said_text = line;
    if (strlen(value) >= NET_TEXT_BYTES) {
        return sim_file_fault(loading->error, loading->name, line,
                              "[network] text: more than %d bytes", NET_TEXT_BYTES - 1);
    }
    (void)snprintf(loading->file->text, NET_TEXT_BYTES, "%s", value);
    return true;
}

static bool take_outage(struct loading *loading, unsigned line, const char *value)
{
    if (loading->outage_count == NET_OUTAGES_MAX) {
        return sim_file_fault(loading->error, loading->name, line,
                              "[errors] outage: %d are the most", NET_OUTAGES_MAX);
    }
    struct said *said = &loading->outages[loading->outage_count++];
    said->line = line;
    (void)sim_file_split(value, said->text);
    return true;
}

static bool take_statement(void *context, unsigned line, const char *section, const char *key,
                           const char *value)
{
    struct loading *loading = context;
    if (strcmp(section, "network") == 0 && strcmp(key, "text") == 0) {
        return take_text(loading, line, value);
    }
    if (strcmp(section, "errors") == 0 && strcmp(key, "outage") == 0) {
        return take_outage(loading, line, value);
    }
    unsigned number = find_key(section, key);
    if (number == KEYS) {
        return sim_file_fault(loading->error, loading->name, line,
                              *section ? "[%s] has no key \"%s\""
                                       : "%s\"%s\" stands before any section",
                              section, key);
    }
    struct said *said = &loading->said[number];
    if (said->line) {
        return sim_file_said_twice(loading->error, loading->name, line, section, key, said->line);
    }
    said->line = line;
    (void)sim_file_split(value, said->text);
    return true;
}

static bool setting_fault(struct loading *loading, const char *setting, const char *what)
{
    (void)snprintf(loading->error, NET_ERROR_BYTES, "--set %.100s: %s", setting, what);
    return false;
}

static bool take_setting(struct loading *loading, unsigned number, const char *setting)
{
    char section[SIM_VALUE_BYTES];
    const char *equals = strchr(setting, '=');
    if (strlen(setting) >= sizeof section || !equals) {
        return setting_fault(loading, setting, "it is not section.key=value");
    }
    (void)snprintf(section, sizeof section, "%.*s", (int)(equals - setting), setting);
    char *dot = strchr(section, '.');
    if (!dot) {
        return setting_fault(loading, setting, "it is not section.key=value");
    }
    *dot = '\0';
    unsigned key = find_key(section, dot + 1);
    if (key == KEYS) {
        return setting_fault(loading, setting, "there is no such key");
    }
    loading->set[key].line = number;
    (void)snprintf(loading->set[key].text, SIM_VALUE_BYTES, "%s", equals + 1);
    return true;
}

/* ---- Text to value ------------------------------------------------------------------------ */

static bool read_number(const struct key *key, const char *text, double *value,
                        char fault[NET_ERROR_BYTES])
{
    bool whole = key->kind == KIND_COUNT || key->kind == KIND_LONG;
    uint64_t number;
    char *end;
    bool good;
    if (whole) {
        good = base_number_parse(text, (uint64_t)key->most, &number);
        *value = good ? (double)number : 0;
    } else {
        *value = strtod(text, &end);
        good = end != text && *end == '\0' && isfinite(*value);
    }
    if (!good || *value < key->least || *value > key->most) {
        (void)snprintf(fault, NET_ERROR_BYTES, "is no %snumber from %.15g to %.15g",
                       whole ? "whole " : "", key->least, key->most);
        return false;
    }
    return true;
}

/* A path is relative to the file that says it. */
static bool read_path(struct loading *loading, bool setting, const char *text, char *path,
                      char fault[NET_ERROR_BYTES])
{
    const char *slash = setting || *text == '/' ? NULL : strrchr(loading->name, '/');
    int length = snprintf(path, NET_PATH_BYTES, "%.*s%s",
                          slash ? (int)(slash - loading->name + 1) : 0, loading->name, text);
    if (length >= NET_PATH_BYTES) {
        (void)snprintf(fault, NET_ERROR_BYTES, "is too long a path");
        return false;
    }
    return true;
}

static bool read_value(struct loading *loading, bool setting, const struct key *key,
                       const char *text, char fault[NET_ERROR_BYTES])
{
    void *field = (char *)&loading->file->experiment + key->offset;
    double number;
    uint64_t word;
    switch (key->kind) {
    case KIND_COUNT:
    case KIND_LONG:
    case KIND_REAL:
    case KIND_MHZ:
        if (!read_number(key, text, &number, fault)) {
            return false;
        }
        if (key->kind == KIND_COUNT) {
            *(uint32_t *)field = (uint32_t)number;
        } else if (key->kind == KIND_REAL) {
            *(double *)field = number;
        } else {
            *(uint64_t *)field = key->kind == KIND_LONG ? (uint64_t)number
                                                        : (uint64_t)(number * 1000 + 0.5);
        }
        return true;
    case KIND_CHOICE:
    case KIND_RULES:
        if (!sim_file_word(key->words, key->word_count, text, &word, fault, NET_ERROR_BYTES)) {
            return false;
        }
        if (key->kind == KIND_RULES) {
            *(bool *)field = word == 1;
        } else {
            *(unsigned *)field = (unsigned)word;
        }
        return true;
    case KIND_PATH: return read_path(loading, setting, text, field, fault);
    }
    INVARIANT(false);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static bool apply(struct loading *loading, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        bool setting = loading->set[i].line > 0;
        const struct said *said = setting ? &loading->set[i] : &loading->said[i];
        char fault[NET_ERROR_BYTES];
        if (said->line && !read_value(loading, setting, &keys[i], said->text, fault)) {
            return key_fault(loading, setting, said->line, keys[i].section, keys[i].key, said->text,
                             fault);
        }
    }
    return true;
}

static bool apply_outages(struct loading *loading)
{
    struct net_experiment *experiment = &loading->file->experiment;
    for (unsigned i = 0; i < loading->outage_count; i++) {
        const struct said *said = &loading->outages[i];
        struct net_outage *outage = &experiment->outages[experiment->outage_count];
        char rest;
        if (sscanf(said->text, "%" SCNu32 "%" SCNu32 "%" SCNu64 "%" SCNu64 " %c", &outage->from,
                   &outage->to, &outage->die_cycle, &outage->return_cycle, &rest) != 4 ||
            strpbrk(said->text, "+-") || outage->die_cycle >= outage->return_cycle) {
            return key_fault(loading, false, said->line, "errors", "outage", said->text,
                             "is not: from to cycle later-cycle");
        }
        experiment->outage_count++;
    }
    return true;
}

/* The key that an objection begins with: behind [section], or without it when the objection is
 * about the network alone. */
static unsigned find_objected(const char *objection)
{
    char section[SIM_VALUE_BYTES];
    char key[SIM_VALUE_BYTES];
    if (sscanf(objection, "[%190[^]]] %190[^:, ]", section, key) == 2) {
        return find_key(section, key);
    }
    unsigned i = KEYS;
    if (sscanf(objection, "%190[^:, ]", key) == 1) {
        for (i = 0; i < KEYS && strcmp(keys[i].key, key) != 0; i++) {
        }
    }
    return i;
}

/* Reports what makes no sense in the parts together, at the key's place. */
static bool objection_fault(struct loading *loading, const char *objection)
{
    char text[NET_ERROR_BYTES];
    unsigned number = find_objected(objection);
    bool known = number < KEYS;
    (void)snprintf(text, sizeof text, *objection == '[' || !known ? "%s%.280s" : "[%s] %.280s",
                   *objection == '[' || !known ? "" : keys[number].section, objection);
    if (known && !loading->set[number].line && loading->said[number].line) {
        return sim_file_fault(loading->error, loading->name, loading->said[number].line, "%s",
                              text);
    }
    bool setting = known && loading->set[number].line;
    (void)snprintf(loading->error, NET_ERROR_BYTES, "%.100s: %.200s",
                   setting ? "--set" : loading->name, text);
    return false;
}

static void set_name(struct net_file *file, const char *path)
{
    size_t length;
    const char *from = sim_file_stem(path, &length);
    (void)snprintf(file->name, NET_NAME_BYTES, "%.*s", (int)(length < 63 ? length : 63), from);
}

/* Takes sizes and mode first, then the defaults for such a network, then the rest. */
static bool apply_all(struct loading *loading)
{
    struct net_experiment *experiment = &loading->file->experiment;
    char text[NET_ERROR_BYTES];
    net_config_default(&experiment->network, 8);
    net_traffic_config_default(&experiment->traffic);
    if (!apply(loading, 0, FIRST_KEYS)) {
        return false;
    }
    const struct net_config said = experiment->network;
    uint64_t nodes = (uint64_t)said.width * said.height;
    if (nodes < 2 || nodes > NET_NODES_MAX) {
        (void)snprintf(text, sizeof text, "[network] width: %" PRIu64 " nodes; it has 2 to %d",
                       nodes, NET_NODES_MAX);
        return objection_fault(loading, text);
    }
    net_config_default(&experiment->network, (uint32_t)nodes);
    net_measure_config_default(&experiment->measure, (uint32_t)nodes);
    experiment->network.shape = said.shape;
    experiment->network.width = said.width;
    experiment->network.height = said.height;
    net_config_swif(&experiment->network, said.swif);
    if (said.shape == NET_MESH) {
        experiment->network.routing = NET_DIMENSION;
    }
    if (!apply(loading, FIRST_KEYS, KEYS) || !apply_outages(loading)) {
        return false;
    }
    const char *objection = net_experiment_objection(experiment, text);
    return !objection || objection_fault(loading, objection);
}

bool net_file_load_bytes(struct net_file *file, const char *name, const void *bytes, size_t length,
                         const char *const *settings, unsigned setting_count,
                         char error[NET_ERROR_BYTES])
{
    struct loading *loading = calloc(1, sizeof *loading);
    if (!loading) {
        (void)snprintf(error, NET_ERROR_BYTES, "there is no memory left");
        return false;
    }
    *file = (struct net_file){0};
    set_name(file, name);
    loading->file = file;
    loading->name = name;
    loading->error = error;
    struct sim_file reading = {
        .name = name,
        .bytes = bytes,
        .length = length,
        .context = loading,
        .section = take_section,
        .statement = take_statement,
        .error = error,
    };
    bool good = sim_file_read(&reading);
    for (unsigned i = 0; good && i < setting_count; i++) {
        good = take_setting(loading, i + 1, settings[i]);
    }
    good = good && apply_all(loading);
    free(loading);
    return good;
}

bool net_file_load(struct net_file *file, const char *path, const char *const *settings,
                   unsigned setting_count, char error[NET_ERROR_BYTES])
{
    struct sim_file_identity identity;
    const char *fault;
    size_t length;
    char *bytes = sim_file_fetch(path, &length, &identity, &fault);
    if (!bytes) {
        (void)snprintf(error, NET_ERROR_BYTES, "cannot read %.200s: %s", path, fault);
        return false;
    }
    bool good = net_file_load_bytes(file, path, bytes, length, settings, setting_count, error);
    free(bytes);
    return good;
}

static void write_value(const struct net_experiment *experiment, const struct key *key, char *text,
                        size_t room)
{
    const void *field = (const char *)experiment + key->offset;
    switch (key->kind) {
    case KIND_COUNT: (void)snprintf(text, room, "%" PRIu32, *(const uint32_t *)field); return;
    case KIND_LONG: (void)snprintf(text, room, "%" PRIu64, *(const uint64_t *)field); return;
    case KIND_REAL: (void)snprintf(text, room, "%.15g", *(const double *)field); return;
    case KIND_MHZ:
        (void)snprintf(text, room, "%.15g", (double)*(const uint64_t *)field / 1000);
        return;
    case KIND_RULES: (void)snprintf(text, room, "%s", key->words[*(const bool *)field]); return;
    case KIND_CHOICE:
        (void)snprintf(text, room, "%s", key->words[*(const unsigned *)field]);
        return;
    case KIND_PATH: (void)snprintf(text, room, "%s", (const char *)field); return;
    }
}

void net_file_each(const struct net_experiment *experiment,
                   void (*line)(void *context, const struct net_key_value *value), void *context)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct net_key_value value = {keys[i].section, keys[i].key, keys[i].help, ""};
        write_value(experiment, &keys[i], value.value, sizeof value.value);
        line(context, &value);
    }
}
