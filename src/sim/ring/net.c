/* A network's life, its clock, and what it counts. */
#include "sim/ring/state.h"

#include <stdio.h>
#include <string.h>

void *net_table(struct net *net, size_t count, size_t bytes)
{
    void *table = calloc(count, bytes);
    INVARIANT(net->table_count < TABLES_MAX);
    net->tables[net->table_count++] = table;
    net->lacks_memory = net->lacks_memory || !table;
    return table;
}

/* ---- Delay lines ----------------------------------------------------------------------------- */

void net_burst_grow(struct burst *burst)
{
    burst->room = burst->room ? burst->room * 2 : 8;
    burst->events = realloc(burst->events, burst->room * sizeof *burst->events);
    INVARIANT(burst->events);
}

void net_line_open(struct net *net, struct line *line, uint32_t cycles)
{
    uint32_t count = 1;
    while (count <= cycles) {
        count *= 2;
    }
    line->mask = count - 1;
    line->bursts = net_table(net, count, sizeof *line->bursts);
}

void net_line_close(struct line *line)
{
    for (uint32_t i = 0; line->bursts && i <= line->mask; i++) {
        free(line->bursts[i].events);
    }
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void open_bits(struct net *net, struct bits *bits, uint32_t count)
{
    bits->word_count = (count + 63) / 64;
    bits->words = net_table(net, bits->word_count, sizeof *bits->words);
}

static void open_tables(struct net *net)
{
    size_t ports = (size_t)net->nodes * net->ports;
    size_t channels = ports * net->vcs;
    net->inputs = net_table(net, channels, sizeof *net->inputs);
    net->outputs = net_table(net, channels, sizeof *net->outputs);
    net->places = net_table(net, channels, sizeof *net->places);
    net->port_state = net_table(net, ports, sizeof *net->port_state);
    net->records = net_table(net, channels * net->records_of_each, sizeof *net->records);
    net->next_forked = net_table(net, channels, sizeof *net->next_forked);
    net->queues = net_table(net, (size_t)net->nodes * net->vcs, sizeof *net->queues);
    net->nics = net_table(net, net->nodes, sizeof *net->nics);
    net->asked_cycle = net_table(net, channels, sizeof *net->asked_cycle);
    net->grants = net_table(net, ports, sizeof *net->grants);
    net->link_ports = net_table(net, ports, sizeof *net->link_ports);
    net->multicast_enable = net_table(net, net->nodes, sizeof *net->multicast_enable);
    net->pass_enable = net_table(net, net->nodes, sizeof *net->pass_enable);
    net->held_since = net->user.held ? net_table(net, channels, sizeof *net->held_since) : NULL;
    open_bits(net, &net->sending_ports, (uint32_t)ports);
    open_bits(net, &net->busy_links, (uint32_t)ports);
}

static void open_lines(struct net *net)
{
    const struct net_config *config = &net->config;
    net_line_open(net, &net->flits, config->switch_cycles + config->link_cycles);
    uint32_t longest = net_port_time(&net->port_rate, net_lines(config->flit_bytes));
    net_line_open(net, &net->nic_flits, config->nic_cycles + longest - 1);
    net_line_open(net, &net->nics_due, longest);
    uint32_t of_port = config->switch_cycles + 1; /* in the same router */
    net_line_open(net, &net->credits,
                  config->credit_cycles > of_port ? config->credit_cycles : of_port);
    net_line_open(net, &net->routed, config->route_cycles);
    net_line_open(net, &net->signals, config->nic_cycles);
    net_line_open(net, &net->frames, config->switch_cycles + config->link_cycles);
    net_line_open(net, &net->answers, config->credit_cycles);
}

/* A port's link leads to the port of the opposite direction. */
static uint32_t opposite(uint32_t port)
{
    return ((port - 1) ^ 1) + 1;
}

static void join(struct net *net)
{
    for (uint32_t channel = 0; channel < net->nodes * net->ports * net->vcs; channel++) {
        uint32_t router = channel / (net->ports * net->vcs);
        uint32_t port = channel / net->vcs % net->ports;
        net->places[channel] = (struct place){
            .router = router, .port = (uint8_t)port, .channel = (uint8_t)(channel % net->vcs)};
        uint32_t peer = NO_CHANNEL;
        if (port != PORT_NIC) {
            uint32_t neighbour = net_neighbour(&net->config, router, port);
            if (neighbour != NO_CHANNEL) {
                if (channel % net->vcs == 0) {
                    net->link_ports[net->link_count++] = channel / net->vcs;
                }
                peer = (neighbour * net->ports + opposite(port)) * net->vcs + channel % net->vcs;
            }
        }
        net->inputs[channel] = (struct input){
            .peer = peer,
            .branch = {NO_CHANNEL, NO_CHANNEL},
            .next = NO_CHANNEL,
            .packet = NO_PACKET,
        };
        net->outputs[channel] = (struct output){
            .peer = peer,
            .owner = NO_CHANNEL,
            .packet = NO_PACKET,
            .last_waiter = NO_CHANNEL,
            .port = channel / net->vcs,
            .credits = (uint16_t)(peer == NO_CHANNEL ? net->config.leave_flits
                                                     : net->config.buffer_flits),
            .channel = (uint8_t)(channel % net->vcs),
        };
    }
}

struct net *net_open(const struct net_config *config, const struct net_user *user,
                     char error[NET_ERROR_BYTES])
{
    if (net_config_objection(config, error)) {
        return NULL;
    }
    struct net *net = calloc(1, sizeof *net);
    if (!net) {
        snprintf(error, NET_ERROR_BYTES, "no memory for a network");
        return NULL;
    }
    net->config = *config;
    net->user = *user;
    net->nodes = config->width * config->height;
    net->ports = net_ports(config);
    net->vcs = config->vcs;
    net->network_vcs = config->vcs / config->virtual_networks;
    net->port_rate = net_port_rate(config);
    net->slack_flits = net_slack(config);
    /* Flits that are on their way when the NIC hears stop still find a place. */
    net->stop_fill = net->slack_flits - net_overshoot(config);
    net->records_of_each = config->buffer_flits > net->slack_flits ? config->buffer_flits
                                                                   : net->slack_flits;
    sim_slots_init(&net->packets, (sizeof(struct packet) + 7) / 8 * 8);
    open_tables(net);
    open_lines(net);
    if (net->lacks_memory) {
        snprintf(error, NET_ERROR_BYTES, "no memory for a network of %u nodes", net->nodes);
        net_close(net);
        return NULL;
    }
    join(net);
    if (!net_links_open(net) || !net_leave_open(net)) {
        snprintf(error, NET_ERROR_BYTES, "no memory for the links of %u nodes", net->nodes);
        net_close(net);
        return NULL;
    }
    return net;
}

void net_close(struct net *net)
{
    if (!net) {
        return;
    }
    struct line *lines[] = {&net->flits,   &net->nic_flits, &net->credits, &net->routed,
                            &net->signals, &net->nics_due,  &net->frames,  &net->answers};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        net_line_close(lines[i]);
    }
    free(net->leaving.events);
    net_links_close(net);
    net_leave_close(net);
    for (uint32_t i = 0; i < net->table_count; i++) {
        free(net->tables[i]);
    }
    sim_slots_free(&net->packets);
    free(net);
}

/* ---- The clock ------------------------------------------------------------------------------- */

void net_step(struct net *net)
{
    if (line_burst(&net->signals, net->cycle)->count > 0) {
        net_nics_signalled(net);
    }
    net_routers_receive(net);
    if (net->framed_links) {
        net_links_receive(net);
    }
    net_leave_receive(net);
    net_nics_send(net);
    net_routers_send(net);
    net_leave_step(net);
    if (net->framed_links) {
        net_links_send(net);
    }
    net->cycle++;
}

uint64_t net_cycle(const struct net *net)
{
    return net->cycle;
}

bool net_is_empty(const struct net *net)
{
    return net->packets.taken == 0;
}

/* ---- What happened --------------------------------------------------------------------------- */

void net_counters(const struct net *net, struct net_counters *counters)
{
    *counters = net->counters;
    counters->cycles = net->cycle;
    counters->frames_resent = net_links_resent(net);
}

uint32_t net_link_count(const struct net *net)
{
    return net->link_count;
}

void net_link_load(const struct net *net, uint32_t link, struct net_link_load *load)
{
    INVARIANT(link < net->link_count);
    uint32_t port = net->link_ports[link];
    load->from = port / net->ports;
    load->port = port % net->ports;
    load->to = net_neighbour(&net->config, load->from, load->port);
    load->flits = net->port_state[port].flits;
}
