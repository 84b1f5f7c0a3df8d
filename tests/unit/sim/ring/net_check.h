/* Whether a network's books balance: each place of a buffer is a credit at the output that
 * feeds it, a flit on its way, a flit in the buffer or a credit on its way back. */
#ifndef UNIT_SIM_RING_NET_CHECK_H
#define UNIT_SIM_RING_NET_CHECK_H

#include "sim/ring/state.h"

static void count(const struct line *line, uint32_t *counts)
{
    for (uint32_t i = 0; i <= line->mask; i++) {
        for (uint32_t e = 0; e < line->bursts[i].count; e++) {
            counts[line->bursts[i].events[e].where]++;
        }
    }
}

/* Counts what is in frames that have not been taken, and credits that were lost. */
static void count_framed(const struct net *net, const struct link *link, uint32_t *coming,
                         uint32_t *returning)
{
    for (uint32_t i = 0; i < link->open_count; i++) {
        coming[link->open[i].event.where]++;
    }
    for (uint16_t frame = link->receiver.expected; frame != link->sender.end; frame++) {
        uint32_t slot = frames_slot(&link->sender, frame);
        for (uint32_t i = 0; i < link->lengths[slot]; i++) {
            coming[link->contents[(size_t)slot * net->config.frame_flits + i].event.where]++;
        }
    }
    for (uint32_t channel = 0; channel < net->vcs; channel++) {
        returning[link->port * net->vcs + channel] += link->owed[channel];
    }
}

static uint32_t flits_of_records(const struct net *net, uint32_t number)
{
    const struct input *input = &net->inputs[number];
    uint32_t flits = input->count ? input->arrived : 0;
    for (uint32_t i = 1; i < input->count; i++) {
        flits += net_record(net, number, i)->arrived;
    }
    return flits;
}

static void check_output(const struct net *net, uint32_t number)
{
    const struct output *output = &net->outputs[number];
    const struct port *port = &net->port_state[output->port];
    bool ready = port->ready >> output->channel & 1;
    bool can_send = output->owner != NO_CHANNEL && output->available && output->credits;
    INVARIANT(ready == can_send);
    INVARIANT(!ready || net->sending_ports.words[output->port / 64] >> output->port % 64 & 1);
    if (output->owner == NO_CHANNEL) {
        INVARIANT(output->last_waiter == NO_CHANNEL);
        return;
    }
    const struct input *owner = &net->inputs[output->owner / 2];
    INVARIANT(owner->count && owner->branch[output->owner % 2] == number);
    INVARIANT(output->left > 0 && output->available <= output->left);
    INVARIANT(output->available <= owner->fill);
    INVARIANT(output->at_head || output->left < net_packet(net, output->packet)->flits);
}

/* Stops the program when a flit, a credit or a place is missing or counted twice. */
static void net_check(const struct net *net)
{
    uint32_t channels = net->nodes * net->ports * net->vcs;
    uint32_t *coming = calloc(channels, sizeof *coming);
    uint32_t *returning = calloc(channels, sizeof *returning);
    INVARIANT(coming && returning);
    count(&net->flits, coming);
    count(&net->credits, returning);
    for (uint32_t number = 0; number < net->link_count; number++) {
        if (net->port_state[net->links[number].port].framed) {
            count_framed(net, &net->links[number], coming, returning);
        }
    }
    for (uint32_t number = 0; number < channels; number++) {
        const struct output *output = &net->outputs[number];
        const struct input *input = &net->inputs[number];
        INVARIANT(input->count <= net->records_of_each && input->routed <= input->count);
        INVARIANT(input->fill <= flits_of_records(net, number));
        check_output(net, number);
        if (output->peer != NO_CHANNEL) {
            const struct input *next = &net->inputs[output->peer];
            INVARIANT(next->peer == number && next->fill <= net->config.buffer_flits);
            INVARIANT(output->credits + coming[output->peer] + next->fill + returning[number] ==
                      net->config.buffer_flits);
        } else if (net_port_of(net, number) == PORT_NIC) {
            INVARIANT(input->fill <= net->slack_flits);
            INVARIANT(output->credits + net_leave_fill(net, number) + returning[number] ==
                      net->config.leave_flits);
        }
    }
    free(coming);
    free(returning);
}

#endif
