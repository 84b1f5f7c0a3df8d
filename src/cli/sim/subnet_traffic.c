#define _GNU_SOURCE
#include "cli/sim/subnet_traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/subnet_report.h"
#include "host/clock.h"
#include "sim/model/timeline.h"
#include "sim/subnet/capture.h"
#include "wire/ib_frame.h"
#include "wire/ib_link.h"

#define COMMAND "dimmnet sim subnet"
#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)

enum { STEP_EVENTS = 20000, AHEAD_WAIT_MS = 1 };

/* ---- Options ------------------------------------------------------------------------------ */

static int take_share(const char *option, const char *value, double most, double *share)
{
    char *end;
    *share = strtod(value, &end);
    if (end == value || *end || !(*share >= 0 && *share <= most)) {
        return cli_refuse(COMMAND, "--%s takes a number from 0 to %g, not \"%s\"", option, most,
                          value);
    }
    return CLI_OK;
}

static int take_rate(void *target, const char *value)
{
    struct subnet_traffic *traffic = target;
    return take_share("rate", value, 1, &traffic->load.rate);
}

static int take_errors(void *target, const char *value)
{
    struct subnet_traffic *traffic = target;
    return take_share("errors", value, 1e-3, &traffic->flow.bit_error_rate);
}

static int take_pattern(void *target, const char *value)
{
    struct subnet_traffic *traffic = target;
    for (uint32_t i = 0; i < LOAD_PATTERNS; i++) {
        if (strcmp(value, load_pattern_names[i]) == 0) {
            traffic->load.pattern = (enum load_pattern)i;
            traffic->pattern = value;
            return CLI_OK;
        }
    }
    return cli_refuse(COMMAND,
                      "--traffic takes uniform, shift, neighbour, permutation, all-to-all or "
                      "hot-spot, not \"%s\"",
                      value);
}

/* "NODE:PORT@FROM-TO" in microseconds; without ":PORT" a node, without "-TO" for ever. */
static int take_fault(struct subnet_traffic *traffic, const char *option, const char *value,
                      bool has_port)
{
    const char *at = strrchr(value, '@');
    const char *colon = has_port && at ? memrchr(value, ':', (size_t)(at - value)) : at;
    struct subnet_traffic_fault fault = {.to_ps = UINT64_MAX};
    char *end = NULL;
    bool is_good = at && colon && (size_t)(colon - value) < sizeof fault.name && colon > value;
    if (is_good && has_port) {
        fault.port = (uint32_t)strtoul(colon + 1, &end, 10);
        is_good = end == at && fault.port > 0;
    }
    if (is_good) {
        fault.from_ps = strtoull(at + 1, &end, 10) * PS_PER_US;
        is_good = end > at + 1;
        if (is_good && *end == '-') {
            char *last;
            fault.to_ps = strtoull(end + 1, &last, 10) * PS_PER_US;
            is_good = last > end + 1 && fault.to_ps > fault.from_ps;
            end = last;
        }
        is_good = is_good && *end == '\0';
    }
    if (!is_good) {
        return cli_refuse(COMMAND, "--%s takes NODE%s@MICROSECONDS or NODE%s@FROM-TO, not \"%s\"",
                          option, has_port ? ":PORT" : "", has_port ? ":PORT" : "", value);
    }
    if (traffic->fault_count == SUBNET_TRAFFIC_FAULTS_MAX) {
        return cli_refuse(COMMAND, "--cut and --kill come more than %d times",
                          SUBNET_TRAFFIC_FAULTS_MAX);
    }
    memcpy(fault.name, value, (size_t)(colon - value));
    traffic->faults[traffic->fault_count++] = fault;
    return CLI_OK;
}

static int take_cut(void *target, const char *value)
{
    return take_fault(target, "cut", value, true);
}

static int take_kill(void *target, const char *value)
{
    return take_fault(target, "kill", value, false);
}

#define AT(field) OPTIONS_AT(struct subnet_traffic, field)

const struct options_row subnet_traffic_rows[] = {
    {"traffic", 0, "PATTERN",
     "send packets: uniform, shift, neighbour, permutation, all-to-all or hot-spot", OPTIONS_CALL,
     .take = take_pattern},
    {"carrier", 0, "HOW", "bridge (frames, resent) or datagram (default: bridge)", OPTIONS_CHOICE,
     AT(load.carrier), .names = load_carrier_names, .most = LOAD_CARRIERS - 1},
    {"rate", 0, "R", "of what a board's cable carries, 0 to 1 (default 0.1)", OPTIONS_CALL,
     .take = take_rate},
    {"bytes", 0, "N", "of a packet (default 256)", OPTIONS_NUMBER, AT(load.bytes), .least = 1,
     .most = BRIDGE_PACKET_BYTES_MAX},
    {"flows", 0, "N", "that packets are spread over, a lane each (default 4)", OPTIONS_NUMBER,
     AT(load.flows), .least = 1, .most = BRIDGE_FLOWS},
    {"warm-up", 0, "US", "before the window (default 100)", OPTIONS_NUMBER, AT(warm_us),
     .most = 1000000000},
    {"window", 0, "US", "in which is measured (default 1,000)", OPTIONS_NUMBER, AT(window_us),
     .least = 1, .most = 1000000000},
    {"drain", 0, "MS", "to wait for the last packets (default 100)", OPTIONS_NUMBER, AT(drain_ms),
     .most = 1000000},
    {"packets", 0, "N", "send no more than these in all", OPTIONS_NUMBER, AT(load.packets),
     .least = 1, .most = UINT64_C(1) << 40},
    {"seed", 0, "N", "of chance (default 1)", OPTIONS_NUMBER, AT(load.seed), .most = UINT32_MAX},
    {"errors", 0, "R", "bit error rate of the cables, up to 0.001 (default 0)", OPTIONS_CALL,
     .take = take_errors},
    {"cut", 0, "NODE:PORT@US[-US]", "a cable dies at that time, and comes back; may be repeated",
     OPTIONS_CALL, .take = take_cut},
    {"kill", 0, "NODE@US[-US]", "a node dies, and comes back; may be repeated", OPTIONS_CALL,
     .take = take_kill},
    {"frame-lines", 0, "N", "lines of 8 bytes in a bridge's frame (default 8)", OPTIONS_NUMBER,
     AT(bridge.frame_lines), .least = 1, .most = WIRE_IB_FRAME_LINES_MAX},
    {"literal", 0, NULL, "resend frames by the paper's rules as they stand, which livelock",
     OPTIONS_FLAG, AT(bridge.literal_rules)},
    {"check", 0, NULL, "make, spoil and read every frame bit by bit", OPTIONS_FLAG,
     AT(bridge.checks_all)},
    {"buffer", 0, "FLITS", "of 64 bytes, for each lane of each input (default 128)", OPTIONS_NUMBER,
     AT(flow.buffer_flits), .least = 1, .most = 2047},
    {"switch-ns", 0, "NS", "from port to port of a switch (default 160)", OPTIONS_NUMBER,
     AT(switch_ns), .most = 1000000},
    {"cable-ns", 0, "NS", "of a cable (default 36)", OPTIONS_NUMBER, AT(cable_ns), .most = 1000000},
    {"capture", 0, "FILE", "write what goes over the cables, for Wireshark (pcapng)", OPTIONS_TEXT,
     AT(capture)},
    {"capture-packets", 0, "N", "capture no more than these (default 100,000)", OPTIONS_NUMBER,
     AT(capture_packets), .least = 1, .most = UINT64_C(1) << 40},
    {"timeline", 0, "FILE", "write a trace for ui.perfetto.dev: a track for each lane of each port",
     OPTIONS_TEXT, AT(timeline)},
    {"html", 0, "FILE", "write a page: the topology drawn, cables coloured by load", OPTIONS_TEXT,
     AT(page)},
    {"links", 0, NULL, "also print what each cable carried", OPTIONS_FLAG, AT(links)},
    {"speed", 0, NULL, "also print the simulator's own speed (never the same twice)", OPTIONS_FLAG,
     AT(speed)},
    {"json", 0, NULL, "print one JSON object", OPTIONS_FLAG, AT(json)},
    {.kind = OPTIONS_END},
};

#undef AT

void subnet_traffic_default(struct subnet_traffic *traffic)
{
    *traffic = (struct subnet_traffic){.capture_packets = 100000};
    load_config_default(&traffic->load);
    flow_config_default(&traffic->flow);
    bridge_config_default(&traffic->bridge);
    traffic->switch_ns = traffic->flow.switch_ps / PS_PER_NS;
    traffic->cable_ns = traffic->flow.cable_ps / PS_PER_NS;
    traffic->warm_us = traffic->load.warm_ps / PS_PER_US;
    traffic->window_us = traffic->load.window_ps / PS_PER_US;
    traffic->drain_ms = traffic->load.drain_ps / PS_PER_MS;
}

static const char *fault_objection(const struct subnet_traffic_fault *fault,
                                   const struct subnet *subnet, char text[TOPOLOGY_ERROR_BYTES])
{
    uint32_t node = topology_find(&subnet->topology, fault->name);
    if (node == TOPOLOGY_NONE) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "there is no node \"%s\"", fault->name);
        return text;
    }
    if (fault->port > 0 &&
        (fault->port > subnet->nodes[node].port_count ||
         subnet->ports[subnet_port_index(subnet, node, fault->port)].peer == SUBNET_NONE)) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s has no cable at port %" PRIu32, fault->name,
                       fault->port);
        return text;
    }
    return NULL;
}

const char *subnet_traffic_objection(struct subnet_traffic *traffic, const struct subnet *subnet,
                                     char text[TOPOLOGY_ERROR_BYTES])
{
    traffic->flow.switch_ps = traffic->switch_ns * PS_PER_NS;
    traffic->flow.cable_ps = traffic->cable_ns * PS_PER_NS;
    traffic->flow.seed = traffic->load.seed;
    traffic->load.warm_ps = traffic->warm_us * PS_PER_US;
    traffic->load.window_ps = traffic->window_us * PS_PER_US;
    traffic->load.drain_ps = traffic->drain_ms * PS_PER_MS;
    const char *what = flow_config_objection(&traffic->flow, subnet, text);
    what = what ? what : bridge_config_objection(&traffic->bridge, subnet, text);
    what = what ? what : load_config_objection(&traffic->load, subnet, text);
    for (uint32_t i = 0; i < traffic->fault_count && !what; i++) {
        what = fault_objection(&traffic->faults[i], subnet, text);
    }
    return what;
}

/* ---- What is seen on the cables ----------------------------------------------------------- */

struct run {
    const struct subnet_traffic *traffic;
    struct subnet_session *session;
    const struct subnet_opensm *opensm;
    struct load *load;
    struct capture capture;
    FILE *capture_file;
    uint32_t *capture_ports; /* by port; SUBNET_NONE: not in the file yet */
    uint64_t captured;
    struct sim_timeline *timeline;
    struct base_random random;
    uint32_t faults_begun, faults_ended; /* bits */
    uint64_t own_ns;
};

static uint8_t level_of(void *context, uint32_t source, uint32_t target, uint32_t flow)
{
    const struct run *run = context;
    (void)flow;
    return run->opensm->levels[(size_t)source * run->opensm->board_count + target];
}

/* Spoils as many bits as the cables did, behind the headers: the simulation leads no packet astray
 * by wrong bits, and a dissector should not be led astray either. */
static void spoil(struct run *run, unsigned char *bytes, uint32_t count, uint32_t headers,
                  uint32_t bits)
{
    for (uint32_t i = 0; i < bits; i++) {
        uint64_t at = 8 * headers +
                      base_random_below(&run->random, 8 * (uint64_t)(count - headers));
        bytes[at / 8] ^= (unsigned char)(1U << at % 8);
    }
}

static void capture_sight(struct run *run, const struct flow_sight *sight)
{
    unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    uint32_t *port = &run->capture_ports[sight->from_port];
    if (run->captured >= run->traffic->capture_packets) {
        return;
    }
    run->captured++;
    if (*port == SUBNET_NONE) {
        char name[2 * TOPOLOGY_NAME_BYTES];
        *port = capture_port(&run->capture, subnet_port_name(run->session->subnet, sight->from_port,
                                                             name, sizeof name));
    }
    if (sight->is_link_packet) {
        const struct wire_ib_link link = {
            .vl = sight->vl, .fctbs = sight->fctbs, .fccl = sight->fccl};
        wire_ib_link_encode(&link, bytes);
        spoil(run, bytes, WIRE_IB_LINK_BYTES, 0, sight->wrong_bits);
        capture_link_packet(&run->capture, sight->from_ps, *port, bytes, sight->wrong_bits);
        return;
    }
    uint32_t count = load_bytes(run->load, sight, bytes);
    spoil(run, bytes, count, WIRE_IB_LRH_BYTES + WIRE_IB_RWH_BYTES, sight->wrong_bits);
    capture_packet(&run->capture, sight->from_ps, *port, bytes, count, sight->wrong_bits);
}

static void draw_sight(const struct run *run, const struct flow_sight *sight)
{
    const struct subnet *subnet = run->session->subnet;
    const struct subnet_port *port = &subnet->ports[sight->from_port];
    bool is_switch = subnet_is_switch(subnet, port->node);
    uint32_t first = is_switch ? SIM_TIMELINE_SWITCH : 0;
    char name[48];
    if (sight->is_link_packet) {
        (void)snprintf(name, sizeof name, "credits to %u", (unsigned)sight->fccl);
    } else {
        (void)snprintf(name, sizeof name, "%u to %u%s", (unsigned)sight->slid,
                       (unsigned)sight->dlid, sight->wrong_bits ? ", damaged" : "");
    }
    sim_timeline_span(run->timeline, first + port->node,
                      (uint32_t)SIM_TRACK_LANE + (uint32_t)port->number * SIM_TRACK_CHANNELS +
                          sight->vl,
                      name, sight->from_ps, sight->to_ps, 0);
}

static void watch_sight(void *context, const struct flow_sight *sight)
{
    struct run *run = context;
    if (run->capture_file) {
        capture_sight(run, sight);
    }
    if (run->timeline) {
        draw_sight(run, sight);
    }
}

static int open_files(struct run *run)
{
    const struct subnet_traffic *traffic = run->traffic;
    char error[SIM_ERROR_BYTES];
    if (traffic->capture) {
        run->capture_file = fopen(traffic->capture, "we");
        if (!run->capture_file) {
            return cli_fail(COMMAND, "cannot write %s: %s", traffic->capture, strerror(errno));
        }
        run->capture_ports = malloc(run->session->subnet->port_count * sizeof(uint32_t));
        INVARIANT(run->capture_ports);
        memset(run->capture_ports, 0xff, run->session->subnet->port_count * sizeof(uint32_t));
        capture_begin(&run->capture, run->capture_file);
    }
    if (traffic->timeline) {
        run->timeline = sim_timeline_open(traffic->timeline, 0, UINT64_MAX, error);
        if (!run->timeline) {
            return cli_fail(COMMAND, "%s", error);
        }
    }
    return CLI_OK;
}

static int close_files(struct run *run)
{
    int status = CLI_OK;
    if (run->capture_file) {
        int why = capture_end(&run->capture);
        if (fclose(run->capture_file) != 0 && why == 0) {
            why = errno;
        }
        if (why != 0) {
            status = cli_fail(COMMAND, "cannot write %s: %s", run->traffic->capture, strerror(why));
        }
    }
    if (run->timeline && !sim_timeline_close(run->timeline)) {
        status = cli_fail(COMMAND, "cannot write %s", run->traffic->timeline);
    }
    free(run->capture_ports);
    return status;
}

/* ---- Running ------------------------------------------------------------------------------ */

static void set_fault(struct run *run, const struct subnet_traffic_fault *fault, bool alive)
{
    struct subnet *subnet = run->session->subnet;
    uint32_t node = topology_find(&subnet->topology, fault->name);
    if (fault->port > 0) {
        subnet_cable_set(subnet, subnet_port_index(subnet, node, fault->port), alive);
    } else {
        subnet_node_set(subnet, node, alive);
    }
    (void)subnet_session_changed(run->session);
    load_changed(run->load);
    if (!run->traffic->json) {
        char port[24] = "";
        if (fault->port > 0) {
            (void)snprintf(port, sizeof port, ", port %u", (unsigned)fault->port);
        }
        printf("%12.3f us: %s%s %s\n", (double)load_now_ps(run->load) / 1e6, fault->name, port,
               alive ? "is back" : "is dead");
        (void)fflush(stdout);
    }
}

/* Deaths and returns that are due. Gives the time of the next one. */
static uint64_t set_faults(struct run *run)
{
    uint64_t next_ps = UINT64_MAX;
    for (uint32_t i = 0; i < run->traffic->fault_count; i++) {
        const struct subnet_traffic_fault *fault = &run->traffic->faults[i];
        uint32_t bit = UINT32_C(1) << i;
        uint64_t now_ps = load_now_ps(run->load);
        if (!(run->faults_begun & bit) && fault->from_ps <= now_ps) {
            run->faults_begun |= bit;
            set_fault(run, fault, false);
        }
        if ((run->faults_begun & bit) && !(run->faults_ended & bit) && fault->to_ps <= now_ps) {
            run->faults_ended |= bit;
            set_fault(run, fault, true);
        }
        uint64_t at_ps = !(run->faults_begun & bit)   ? fault->from_ps
                         : !(run->faults_ended & bit) ? fault->to_ps
                                                      : UINT64_MAX;
        next_ps = at_ps < next_ps ? at_ps : next_ps;
    }
    return next_ps;
}

/* Prints when, after a change from outside, the tables lead everywhere again. */
struct rerouting {
    uint64_t version;
    bool is_broken;
};

static bool has_all_ways(const struct subnet *subnet)
{
    uint32_t way[64];
    char text[TOPOLOGY_ERROR_BYTES];
    for (uint32_t from = 0; from < subnet->node_count; from++) {
        uint32_t start = subnet_port_index(subnet, from, 1);
        if (subnet_is_switch(subnet, from) || subnet->ports[start].state != SUBNET_ACTIVE) {
            continue;
        }
        for (uint32_t to = 0; to < subnet->node_count; to++) {
            const struct subnet_port *end = &subnet->ports[subnet_port_index(subnet, to, 1)];
            if (to != from && !subnet_is_switch(subnet, to) && end->state == SUBNET_ACTIVE &&
                subnet_way(subnet, start, end->lid, way, 64, text) == SUBNET_NO_WAY) {
                return false;
            }
        }
    }
    return true;
}

static void tell_rerouting(const struct run *run, struct rerouting *rerouting)
{
    const struct subnet *subnet = run->session->subnet;
    if (subnet->version == rerouting->version) {
        return;
    }
    bool is_broken = !has_all_ways(subnet);
    rerouting->version = subnet->version;
    if (!run->traffic->json && rerouting->is_broken && !is_broken) {
        printf("%12.3f us: all ways lead to their boards again\n",
               (double)load_now_ps(run->load) / 1e6);
    }
    rerouting->is_broken = is_broken;
}

static void run_load(struct run *run, const volatile sig_atomic_t *asked_to_end)
{
    struct subnet_server *server = run->session->server;
    uint64_t began_ns = host_now_ns();
    struct rerouting rerouting = {.version = run->session->subnet->version};
    bool goes_on = true;
    while (goes_on && !*asked_to_end) {
        uint64_t until_ps = set_faults(run);
        uint64_t now_ns = host_now_ns();
        until_ps = until_ps < UINT64_MAX ? until_ps : UINT64_MAX - 1;
        if (server) {
            uint64_t day_ps = (now_ns - began_ns) * PS_PER_NS;
            until_ps = day_ps < until_ps ? day_ps : until_ps;
        }
        uint64_t cpu_ns = host_cpu_ns();
        goes_on = load_step(run->load, STEP_EVENTS, until_ps);
        run->own_ns += host_cpu_ns() - cpu_ns;
        if (server) {
            subnet_server_step(server, load_now_ps(run->load) < until_ps ? 0 : AHEAD_WAIT_MS);
            tell_rerouting(run, &rerouting);
        }
    }
}

int subnet_traffic_run(const struct subnet_traffic *traffic, struct subnet_session *session,
                       struct subnet_opensm *opensm, const char *title,
                       const volatile sig_atomic_t *asked_to_end)
{
    struct run run = {
        .traffic = traffic,
        .session = session,
        .opensm = opensm,
        .random = {traffic->load.seed},
    };
    struct load_result result;
    int status = open_files(&run);
    if (status != CLI_OK) {
        (void)close_files(&run);
        return status;
    }
    const struct load_watch watch = {
        .context = &run,
        .level = opensm->levels ? level_of : NULL,
        .sight = run.capture_file || run.timeline ? watch_sight : NULL,
    };
    run.load = load_open(session->subnet, &traffic->flow, &traffic->bridge, &traffic->load, &watch);
    run_load(&run, asked_to_end);
    load_result(run.load, &result);
    const struct subnet_report report = {
        .title = title,
        .engine = opensm->engine,
        .traffic = traffic,
        .subnet = session->subnet,
        .load = run.load,
        .result = &result,
        .own_ns = traffic->speed ? run.own_ns : 0,
        .was_interrupted = *asked_to_end != 0,
    };
    status = subnet_report_print(&report);
    int file_status = close_files(&run);
    load_close(run.load);
    return status == CLI_OK ? file_status : status;
}
