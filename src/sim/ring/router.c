/* The router. What a flit meets in it:
 *
 *  - It comes into the buffer of an input channel. A head's header is looked at for
 *    route_cycles, whatever is still in front of it.
 *  - In front, a head asks for its output channel; the first to ask gets it first, and keeps the
 *    channel until its tail has gone by.
 *  - Each output port sends one flit in a cycle. The channels that have a flit here and a
 *    credit for the next buffer take turns.
 *  - A packet that comes from the NIC lets all others go first while its patience lasts: to
 *    the channel, which it gives back if none of its flits has gone, and to the port. Once its
 *    head has gone it is like any other. As many outputs at once can read an input as its
 *    channels allow; a channel gives one flit in a cycle.
 *  - When it leaves the buffer its place is free and the credit for it on its way back; it is
 *    at the next router after switch_cycles + link_cycles.
 *
 * First all ports choose, then all flits move, so the order of the ports does not matter: a
 * channel that one packet's tail leaves in a cycle takes another's head in the next. */
#include "sim/ring/state.h"

/* Nets of thousands of routers do not fit into the near caches. So we fetch what an event is about
 * FAR_AHEAD events before, and what that leads to NEAR_AHEAD events before. */
enum { FAR_AHEAD = 16, NEAR_AHEAD = 8 };

/* A channel can send if `wanted`. What happens to each flit has as few branches as possible, here
 * and below: whether a channel has just become ready follows no pattern. */
static inline void set_ready_if(struct net *net, bool wanted, const struct output *output)
{
    net->port_state[output->port].ready |= (uint64_t)wanted << output->channel;
    bits_set_if(&net->sending_ports, wanted, output->port);
}

static inline void clear_ready_if(struct net *net, bool wanted, const struct output *output)
{
    struct port *port = &net->port_state[output->port];
    port->ready &= ~((uint64_t)wanted << output->channel);
    bits_clear_if(&net->sending_ports, port->ready == 0, output->port);
}

/* ---- An output channel is taken, waited for, and left ---------------------------------------- */

static inline bool is_nic_input(const struct net *net, uint32_t input)
{
    return net->inputs[input].peer == NO_CHANNEL;
}

/* Whether an input's packet, of which no flit has gone, comes from the NIC and lets others go
 * first. */
static bool gives_way(const struct net *net, uint32_t input)
{
    return is_nic_input(net, input) &&
           net->cycle - net->asked_cycle[input] < net->config.patience_cycles;
}

static void take(struct net *net, uint32_t number, uint32_t input, uint32_t branch)
{
    struct output *output = &net->outputs[number];
    struct port *port = &net->port_state[output->port];
    uint64_t bit = UINT64_C(1) << output->channel;
    output->owner = input * 2 + branch;
    output->packet = net->inputs[input].packet;
    output->left = net_packet(net, output->packet)->flits;
    output->available = net->inputs[input].arrived;
    output->at_head = true;
    port->fresh = is_nic_input(net, input) ? port->fresh | bit : port->fresh & ~bit;
    set_ready_if(net, output->credits > 0, output);
}

static uint32_t *after(struct net *net, uint32_t waiter)
{
    return waiter % 2 ? &net->next_forked[waiter / 2] : &net->inputs[waiter / 2].next;
}

/* The waiter in a channel's circular list behind which a router's input is put: before all that
 * give way. NO_CHANNEL: before everybody. */
static uint32_t place_before_nics(struct net *net, const struct output *output)
{
    uint32_t place = NO_CHANNEL;
    uint32_t waiter = output->last_waiter;
    do {
        waiter = *after(net, waiter);
        if (gives_way(net, waiter / 2)) {
            break;
        }
        place = waiter;
    } while (waiter != output->last_waiter);
    return place;
}

static void wait_after(struct net *net, struct output *output, uint32_t place, uint32_t me)
{
    uint32_t *my_next = after(net, me);
    uint32_t last = output->last_waiter;
    if (last == NO_CHANNEL) {
        *my_next = me;
        output->last_waiter = me;
        return;
    }
    uint32_t before = place == NO_CHANNEL ? last : place;
    *my_next = *after(net, before);
    *after(net, before) = me;
    if (place == last) {
        output->last_waiter = me;
    }
}

static void ask(struct net *net, uint32_t number, uint32_t input, uint32_t branch)
{
    struct output *output = &net->outputs[number];
    uint32_t me = input * 2 + branch;
    bool from_nic = is_nic_input(net, input);
    if (from_nic) {
        net->asked_cycle[input] = net->cycle;
    }
    if (output->owner == NO_CHANNEL) {
        take(net, number, input, branch);
    } else if (!from_nic && output->at_head && gives_way(net, output->owner / 2)) {
        wait_after(net, output, NO_CHANNEL, output->owner);
        clear_ready_if(net, true, output);
        take(net, number, input, branch);
    } else {
        bool is_last = from_nic || output->last_waiter == NO_CHANNEL;
        wait_after(net, output, is_last ? output->last_waiter : place_before_nics(net, output), me);
    }
}

static void leave(struct net *net, uint32_t number)
{
    struct output *output = &net->outputs[number];
    output->owner = NO_CHANNEL;
    if (output->last_waiter == NO_CHANNEL) {
        return;
    }
    uint32_t *last = after(net, output->last_waiter);
    uint32_t first = *last;
    if (first == output->last_waiter) {
        output->last_waiter = NO_CHANNEL;
    } else {
        *last = *after(net, first);
    }
    take(net, number, first / 2, first % 2);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* A flit has left a buffer. */
static inline void release(struct net *net, uint32_t number)
{
    struct input *input = &net->inputs[number];
    bool from_nic = input->peer == NO_CHANNEL;
    burst_add_if(line_burst(&net->credits, net->cycle + net->config.credit_cycles), !from_nic,
                 input->peer, 0);
    if (UNLIKELY(input->fill == net->stop_fill && from_nic)) {
        line_send(&net->signals, net->cycle + net->config.nic_cycles, number, 0);
    }
    input->fill--;
}

static void start_front(struct net *net, uint32_t number);

/* The packet in front has gone. */
static void drop_front(struct net *net, uint32_t number)
{
    struct input *input = &net->inputs[number];
    input->count--;
    input->routed--;
    if (input->count == 0) {
        return;
    }
    const struct record *next = net_record(net, number, 1);
    input->packet = next->packet;
    input->arrived = next->arrived;
    input->first++;
    if (input->count == 1 || input->first == net->records_of_each) {
        input->first = 0; /* also when one is left: few records then stay in the cache */
    }
    if (input->routed) {
        start_front(net, number);
    }
}

/* The header of the packet in front has been looked at: it asks for its outputs. */
static void start_front(struct net *net, uint32_t number)
{
    struct input *input = &net->inputs[number];
    struct packet *packet = net_packet(net, input->packet);
    net_route(net, packet, number, input->branch);
    if (input->branch[0] == SINK_CHANNEL) {
        for (uint32_t i = 0; i < input->arrived; i++) {
            release(net, number);
        }
        if (input->arrived == packet->flits) {
            net_packet_ended(net, input->packet);
            drop_front(net, number);
        }
        return;
    }
    ask(net, input->branch[0], number, 0);
    if (input->branch[1] != NO_CHANNEL) {
        packet->ends++;
        ask(net, input->branch[1], number, 1);
    }
}

static void body_to_sink(struct net *net, uint32_t number)
{
    const struct input *input = &net->inputs[number];
    release(net, number);
    if (input->arrived == net_packet(net, input->packet)->flits) {
        net_packet_ended(net, input->packet);
        drop_front(net, number);
    }
}

static inline void add_available(struct net *net, uint32_t number, uint32_t owner)
{
    struct output *output = &net->outputs[number];
    if (output->owner == owner) {
        output->available++;
        set_ready_if(net, output->credits > 0, output);
    }
}

static inline __attribute__((always_inline)) void body_arrives(struct net *net, uint32_t number)
{
    struct input *input = &net->inputs[number];
    if (input->count > 1) {
        net_record(net, number, input->count - 1u)->arrived++;
        return;
    }
    input->arrived++;
    if (input->routed == 0) {
        return;
    }
    if (UNLIKELY(input->branch[0] == SINK_CHANNEL)) {
        body_to_sink(net, number);
        return;
    }
    if (LIKELY(input->branch[0] != NO_CHANNEL)) {
        add_available(net, input->branch[0], number * 2);
    }
    if (UNLIKELY(input->branch[1] != NO_CHANNEL)) {
        add_available(net, input->branch[1], number * 2 + 1);
    }
}

static void head_routed(struct net *net, uint32_t number)
{
    if (net->inputs[number].routed++ == 0) {
        start_front(net, number);
    }
}

static void head_arrives(struct net *net, uint32_t number, uint32_t packet)
{
    struct input *input = &net->inputs[number];
    if (input->count == 0) {
        input->packet = packet;
        input->arrived = 1;
    } else {
        INVARIANT(input->count <= net->records_of_each);
        *net_record(net, number, input->count) = (struct record){packet, 1};
    }
    input->count++;
    if (net->config.route_cycles) {
        line_send(&net->routed, net->cycle + net->config.route_cycles, number, 0);
    } else {
        head_routed(net, number);
    }
}

static inline __attribute__((always_inline)) void input_receive(struct net *net, uint32_t number,
                                                                uint32_t what, bool from_nic)
{
    struct input *input = &net->inputs[number];
    INVARIANT(input->fill < (from_nic ? net->slack_flits : net->config.buffer_flits));
    input->fill++;
    if (from_nic && input->fill == net->stop_fill) {
        line_send(&net->signals, net->cycle + net->config.nic_cycles, number, 1);
    }
    if (what == BODY_FLIT) {
        body_arrives(net, number);
    } else {
        head_arrives(net, number, what);
    }
}

void net_input_receive(struct net *net, uint32_t input, uint32_t what)
{
    input_receive(net, input, what, false);
}

static inline void output_credit(struct net *net, uint32_t number)
{
    struct output *output = &net->outputs[number];
    if (output->credits++ == 0) {
        set_ready_if(net, output->owner != NO_CHANNEL && output->available > 0, output);
    }
}

void net_output_credit(struct net *net, uint32_t output)
{
    output_credit(net, output);
}

static inline __attribute__((always_inline)) void receive(struct net *net, struct line *line,
                                                          bool from_nic)
{
    struct burst *burst = line_burst(line, net->cycle);
    const struct event *events = burst->events;
    uint32_t count = burst->count;
    for (uint32_t i = 0; i < count; i++) {
        if (i + FAR_AHEAD < count) {
            __builtin_prefetch(&net->inputs[events[i + FAR_AHEAD].where], 1);
            uint32_t next = net->inputs[events[i + NEAR_AHEAD].where].branch[0];
            __builtin_prefetch(&net->outputs[next < SINK_CHANNEL ? next : 0], 1);
        }
        input_receive(net, events[i].where, events[i].what, from_nic);
    }
    burst->count = 0;
}

static void receive_credits(struct net *net)
{
    struct burst *burst = line_burst(&net->credits, net->cycle);
    const struct event *events = burst->events;
    uint32_t count = burst->count;
    bool some_framed = net->framed_links > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + FAR_AHEAD < count) {
            __builtin_prefetch(&net->outputs[events[i + FAR_AHEAD].where], 1);
        }
        uint32_t output = events[i].where;
        if (UNLIKELY(some_framed) && net->port_state[net->outputs[output].port].framed) {
            net_link_credit(net, output);
        } else {
            output_credit(net, output);
        }
    }
    burst->count = 0;
}

void net_routers_receive(struct net *net)
{
    receive_credits(net);
    if (net->config.route_cycles) {
        struct burst *burst = line_burst(&net->routed, net->cycle);
        for (uint32_t i = 0; i < burst->count; i++) {
            head_routed(net, burst->events[i].where);
        }
        burst->count = 0;
    }
    receive(net, &net->flits, false);
    receive(net, &net->nic_flits, true);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* The channels of a port that let others by, among those held by a NIC's packet of which no flit
 * has gone. */
static uint64_t patient(const struct net *net, uint32_t port, uint64_t fresh)
{
    uint64_t found = 0;
    for (; fresh; fresh &= fresh - 1) {
        uint32_t channel = (uint32_t)__builtin_ctzll(fresh);
        uint32_t owner = net->outputs[port * net->vcs + channel].owner;
        found |= (uint64_t)gives_way(net, owner / 2) << channel;
    }
    return found;
}

static uint32_t choose(struct net *net)
{
    uint32_t count = 0;
    for (uint32_t word = 0; word < net->sending_ports.word_count; word++) {
        for (uint64_t ports = net->sending_ports.words[word]; ports; ports &= ports - 1) {
            uint32_t number = word * 64 + (uint32_t)__builtin_ctzll(ports);
            struct port *port = &net->port_state[number];
            if (UNLIKELY(port->blocked)) {
                continue;
            }
            uint64_t ready = port->ready;
            if (ready & port->fresh && ready & ~port->fresh) {
                ready &= ~patient(net, number, ready & port->fresh);
            }
            uint64_t later = ready & ~((UINT64_C(2) << port->last) - 1);
            port->last = (uint16_t)__builtin_ctzll(later ? later : ready);
            net->grants[count++] = number * net->vcs + port->last;
        }
    }
    return count;
}

/* A flit has gone by one of two branches: its place is free when it has gone by both. */
static void release_forked(struct net *net, uint32_t number, uint32_t branch, uint32_t flits)
{
    if (net_sent_by(net, number, branch, flits) <= net_sent_by(net, number, 1 - branch, flits)) {
        release(net, number);
    }
}

static void tail_gone(struct net *net, uint32_t number, uint32_t owner)
{
    struct output *output = &net->outputs[number];
    if (net->user.held) {
        const struct packet *packet = net_packet(net, output->packet);
        net->user.held(net->user.context, output->port / net->ports, output->port % net->ports,
                       output->channel, net->held_since[number], net->cycle, packet->tag);
    }
    clear_ready_if(net, true, output);
    leave(net, number);
    struct input *input = &net->inputs[owner / 2];
    input->branch[owner % 2] = NO_CHANNEL;
    if (input->branch[1 - owner % 2] == NO_CHANNEL) {
        drop_front(net, owner / 2);
    }
}

static inline void send(struct net *net, uint32_t number, struct burst *to_routers)
{
    struct output *output = &net->outputs[number];
    uint32_t owner = output->owner;
    bool at_head = output->at_head;
    if (UNLIKELY(net->held_since && at_head)) {
        net->held_since[number] = net->cycle;
    }
    output->at_head = false;
    output->available--;
    output->left--;
    struct port *port = &net->port_state[output->port];
    port->fresh &= ~(UINT64_C(1) << output->channel);
    port->flits++;
    uint32_t what = output->packet | -(uint32_t)!at_head; /* BODY_FLIT is all ones */
    output->credits--;
    bool to_nic = output->peer == NO_CHANNEL;
    burst_add_if(&net->leaving, to_nic, number, what);
    if (UNLIKELY(port->framed)) {
        net_link_add(net, port->link, number, what);
    } else {
        burst_add_if(to_routers, !to_nic, output->peer, what);
    }
    if (LIKELY(owner % 2 == 0 && net->inputs[owner / 2].branch[1] == NO_CHANNEL)) {
        release(net, owner / 2);
    } else {
        uint32_t flits = net_packet(net, output->packet)->flits;
        release_forked(net, owner / 2, owner % 2, flits);
    }
    if (output->left == 0) {
        tail_gone(net, number, owner);
    } else {
        clear_ready_if(net, (output->available == 0) | (output->credits == 0), output);
    }
}

void net_routers_send(struct net *net)
{
    uint32_t count = choose(net);
    uint64_t comes_cycle = net->cycle + net->config.switch_cycles + net->config.link_cycles;
    struct burst *to_routers = line_burst(&net->flits, comes_cycle);
    for (uint32_t i = 0; i < count; i++) {
        if (i + FAR_AHEAD < count) {
            __builtin_prefetch(&net->outputs[net->grants[i + FAR_AHEAD]], 1);
            uint32_t owner = net->outputs[net->grants[i + NEAR_AHEAD]].owner;
            __builtin_prefetch(&net->inputs[owner / 2], 1);
        }
        send(net, net->grants[i], to_routers);
    }
    net->counters.flit_hops += count;
}
