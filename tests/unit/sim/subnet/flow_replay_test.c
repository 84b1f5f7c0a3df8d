/* A log of all that began on any cable, replayed flit by flit from the five rules of
 * doc/infiniband.md ("What a packet meets"), without a look at the simulator's state.
 *
 * A run is recorded: what was sent, what began on which cable (flow_sight), what was delivered or
 * lost. The replay gives each packet that came into a buffer the time at which it may ask, at which
 * its tail has left, and at which there was credit for it by the link packets that had come, and
 * holds the log against them. Two things at one instant may come in either order. */
#include "flow_replay.h"

/* ---- Flits ------------------------------------------------------------------------------ */

struct span {
    uint64_t from_ps, to_ps;
};

/* When a flit of a packet is on a cable, at the end where it begins. A symbol goes before the first
 * byte and one behind the last. */
static struct span flit_span(const struct world *world, const struct thing *thing, uint32_t flit)
{
    uint32_t width = world->subnet->ports[thing->sight.from_port].width;
    uint32_t bytes = thing->sight.bytes;
    uint32_t first = flit == 0 ? 0 : 1 + flit * FLIT;
    uint32_t last = (flit + 1) * FLIT >= bytes ? bytes + 1 : (flit + 1) * FLIT;
    return (struct span){thing->sight.from_ps + (uint64_t)(first / width) * CYCLE_PS,
                         thing->sight.from_ps + (uint64_t)(last / width + 1) * CYCLE_PS};
}

/* A flit is through the switch 160 ns after it has come, at its begin as at its end. */
static void check_flits_through(const struct world *world, const struct thing *in,
                                const struct thing *out)
{
    uint64_t inside_ps = world->config.cable_ps + world->config.switch_ps;
    for (uint32_t flit = 0; flit < flits_of(in->sight.bytes); flit++) {
        struct span came = flit_span(world, in, flit);
        struct span left = flit_span(world, out, flit);
        assert_true(left.from_ps >= came.from_ps + inside_ps);
        assert_true(left.to_ps >= came.to_ps + inside_ps);
    }
}

static uint64_t head_ps(const struct world *world, const struct thing *thing)
{
    return thing->sight.from_ps + world->config.cable_ps;
}

static uint64_t tail_ps(const struct world *world, const struct thing *thing)
{
    return flit_span(world, thing, flits_of(thing->sight.bytes) - 1).to_ps + world->config.cable_ps;
}

/* ---- Cables ----------------------------------------------------------------------------- */

/* One thing at a time, each as long as its bytes. */
static void check_cable(struct world *world, uint32_t port)
{
    uint64_t free_ps = 0;
    uint64_t busy_from_ps = 0;
    const struct list *list = &world->by_cable[port];
    for (uint32_t i = 0; i < list->count; i++) {
        struct thing *thing = &world->things[list->items[i]];
        uint32_t width = world->subnet->ports[port].width;
        uint64_t long_ps = (uint64_t)((thing->sight.bytes + 2 + width - 1) / width) * CYCLE_PS;
        assert_true(thing->sight.from_ps >= free_ps);
        assert_int_equal(thing->sight.to_ps - thing->sight.from_ps, long_ps);
        if (thing->sight.from_ps > free_ps || i == 0) {
            busy_from_ps = thing->sight.from_ps;
        }
        thing->busy_from_ps = busy_from_ps;
        free_ps = thing->sight.to_ps;
    }
}

/* Nothing idles: from when the thing could go until it went, the cable was busy. */
static void check_no_idling(const struct thing *thing, uint64_t could_ps)
{
    assert_true(thing->sight.from_ps >= could_ps);
    assert_true(thing->sight.from_ps == could_ps || thing->busy_from_ps <= could_ps);
}

/* No packet of the lanes in `behind` began after the thing could have gone and before it
 * went. */
static void check_goes_first(const struct world *world, const struct thing *thing, uint32_t item,
                             uint64_t could_ps, uint32_t behind)
{
    const struct list *list = &world->by_cable[thing->sight.from_port];
    /* The log is in order: look back from the thing. */
    uint32_t low = 0;
    uint32_t high = list->count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (list->items[middle] <= item) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (uint32_t i = low; i-- > 0;) {
        const struct flow_sight *before = &world->things[list->items[i]].sight;
        if (before->from_ps <= could_ps) {
            return;
        }
        assert_true(before->is_link_packet || !(behind >> before->vl & 1));
    }
}

/* ---- Ways through switches -------------------------------------------------------------- */

static bool is_wanted(const struct world *world, const struct thing *in, uint32_t number)
{
    uint32_t node = world->subnet->ports[in->in_port].node;
    if (in->sight.dlid >= SUBNET_MULTICAST_LID) {
        const uint64_t *mask =
            &world->subnet->nodes[node]
                 .multicast[(size_t)(in->sight.dlid - SUBNET_MULTICAST_LID) * SUBNET_MASK_WORDS];
        return number != world->subnet->ports[in->in_port].number &&
               (mask[number / 64] >> number % 64 & 1);
    }
    return subnet_linear(world->subnet, node, in->sight.dlid) == number;
}

/* Gives each packet that leaves a switch the one that came, and holds ways and lanes against the
 * tables. */
static void join_ways(struct world *world)
{
    for (uint32_t i = 0; i < world->thing_count; i++) {
        struct thing *out = &world->things[i];
        const struct subnet_port *port = &world->subnet->ports[out->sight.from_port];
        const struct subnet_node *node = &world->subnet->nodes[port->node];
        if (out->sight.is_link_packet) {
            continue;
        }
        uint32_t in_number = 0;
        if (subnet_is_switch(world->subnet, port->node)) {
            for (uint32_t p = 1; p <= node->port_count; p++) {
                uint32_t item = find_into(world, out->sight.tag, node->port_first + p);
                if (item != NONE) {
                    assert_int_equal(out->came_by, NONE); /* no packet comes twice */
                    out->came_by = item;
                    in_number = p;
                }
            }
            assert_true(out->came_by != NONE && out->came_by < i);
            struct thing *in = &world->things[out->came_by];
            assert_true(is_wanted(world, in, port->number));
            assert_false(in->is_dropped);
            in->ways++;
            check_flits_through(world, in, out);
        } else {
            assert_int_equal(out->sight.from_port, world->sent[out->sight.tag].port);
        }
        bool is_management = world->sent[out->sight.tag].packet.is_management;
        uint32_t lane = out->came_by == NONE
                            ? subnet_sl_to_vl(node, 0, 0, out->sight.sl)
                            : subnet_sl_to_vl(node, in_number, port->number, out->sight.sl);
        assert_int_equal(out->sight.vl, is_management ? 15 : lane);
    }
}

/* All ways that were wanted were taken, and once; or the packet was delivered, or lost. */
static void check_ends(const struct world *world)
{
    for (uint32_t i = 0; i < world->thing_count; i++) {
        const struct thing *in = &world->things[i];
        if (in->sight.is_link_packet) {
            continue;
        }
        uint32_t node = world->subnet->ports[in->in_port].node;
        if (!subnet_is_switch(world->subnet, node)) {
            assert_int_equal(in->is_delivered + in->is_dropped, 1);
            assert_int_equal(in->is_dropped, in->sight.wrong_bits > 0);
            uint32_t hops = 0;
            for (uint32_t by = in->came_by; by != NONE; by = world->things[by].came_by) {
                hops++;
            }
            assert_true(in->is_dropped || in->hops == hops);
            continue;
        }
        uint32_t wanted = 0;
        for (uint32_t p = 1; p <= world->subnet->nodes[node].port_count && !in->is_dropped; p++) {
            wanted += is_wanted(world, in, p);
        }
        assert_int_equal(in->ways, wanted);
        assert_true(in->is_dropped || wanted > 0);
    }
    for (uint64_t tag = 0; tag < world->sent_count; tag++) {
        const struct sent *sent = &world->sent[tag];
        bool is_own = sent->packet.dlid == world->subnet->ports[sent->port].lid;
        assert_int_equal(sent->own_count, is_own);
        assert_int_equal(sent->things == NONE, is_own);
    }
}

/* ---- Buffers ---------------------------------------------------------------------------- */

/* Rules 1 and 4: when the packets of a lane of an input may ask, and when their tails have left.
 * The things are those of the output before the cable, in their order. What leaves a switch is
 * settled before what came later, so one pass over the log in its order is enough. */
static void settle_lanes(struct world *world)
{
    uint64_t *left_ps = calloc((size_t)world->subnet->port_count * LANES, sizeof *left_ps);
    uint64_t *last_ps = calloc(world->thing_count, sizeof *last_ps); /* its ways end */
    for (uint32_t i = 0; i < world->thing_count; i++) {
        const struct thing *out = &world->things[i];
        if (!out->sight.is_link_packet && out->came_by != NONE &&
            out->sight.to_ps > last_ps[out->came_by]) {
            last_ps[out->came_by] = out->sight.to_ps;
        }
    }
    for (uint32_t i = 0; i < world->thing_count; i++) {
        struct thing *in = &world->things[i];
        if (in->sight.is_link_packet) {
            continue;
        }
        uint64_t *lane_ps = &left_ps[at_lane(in->in_port, in->sight.vl)];
        if (!subnet_is_switch(world->subnet, world->subnet->ports[in->in_port].node)) {
            in->left_ps = tail_ps(world, in);
            continue;
        }
        uint64_t through_ps = head_ps(world, in) + world->config.switch_ps;
        in->asked_ps = through_ps > *lane_ps ? through_ps : *lane_ps; /* to go on from there */
        in->left_ps = in->is_dropped ? through_ps : last_ps[i];
        if (!in->is_dropped) {
            assert_true(in->left_ps >= *lane_ps);
            *lane_ps = in->left_ps;
        }
    }
    free(last_ps);
    free(left_ps);
}

struct change {
    uint64_t at_ps;
    int32_t flits;
};

static int by_time(const void *a, const void *b)
{
    const struct change *first = a;
    const struct change *second = b;
    if (first->at_ps != second->at_ps) {
        return first->at_ps < second->at_ps ? -1 : 1;
    }
    return second->flits - first->flits; /* what comes before what goes: the harder case */
}

/* Flits come one by one, and go when the tail of their packet has left. Whether management finds
 * room is looked at when it is through the switch, so its flits count from then on. */
static void check_room(const struct world *world, uint32_t out_port, uint32_t lane)
{
    const struct list *list = &world->by_output[at_lane(out_port, lane)];
    bool is_board = !subnet_is_switch(
        world->subnet, world->subnet->ports[world->subnet->ports[out_port].peer].node);
    size_t count = 0;
    int64_t inside = 0;
    struct change *changes = calloc((size_t)list->count * (4096 / FLIT + 4) + 1, sizeof *changes);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct thing *in = &world->things[list->items[i]];
        uint32_t flits = flits_of(in->sight.bytes);
        if (lane == 15 && is_board) {
            continue; /* a board takes it as it comes */
        }
        for (uint32_t flit = 0; flit < flits && !in->is_dropped; flit++) {
            uint64_t at_ps = flit_span(world, in, flit).from_ps + world->config.cable_ps +
                             (lane == 15 ? world->config.switch_ps : 0);
            changes[count++] = (struct change){at_ps, 1};
        }
        if (!in->is_dropped) {
            changes[count++] = (struct change){in->left_ps, -(int32_t)flits};
        }
    }
    qsort(changes, count, sizeof *changes, by_time);
    uint32_t room = lane == 15 ? world->config.management_flits : world->config.buffer_flits;
    for (size_t i = 0; i < count; i++) {
        inside += changes[i].flits;
        assert_true(inside >= 0);
        assert_true(inside <= room);
    }
    assert_int_equal(inside, 0);
    free(changes);
}

/* ---- Credits and link packets ------------------------------------------------------------ */

/* The newest link packet that a lane of an output needs. */
struct credit {
    uint32_t limit;
    uint32_t read; /* link packets up to it */
    uint64_t at_ps;
};

/* Reads link packets until they allow that many flits after those sent before; NEVER: they never
 * do. They count modulo 4,096. */
static uint64_t read_credits(const struct world *world, uint32_t out_port, uint32_t lane,
                             struct credit *credit, uint64_t before, uint32_t flits)
{
    const struct list *list =
        &world->by_link_packets[at_lane(world->subnet->ports[out_port].peer, lane)];
    for (;;) {
        uint32_t credits = (uint32_t)((credit->limit + MODULO - before % MODULO) % MODULO);
        if (credits >= flits && credits <= MODULO / 2) {
            return credit->at_ps;
        }
        if (credit->read == list->count) {
            return NEVER;
        }
        const struct flow_sight *sight = &world->things[list->items[credit->read++]].sight;
        if (sight->wrong_bits == 0) {
            credit->limit = sight->fccl;
            credit->at_ps = sight->to_ps + world->config.cable_ps;
        }
    }
}

/* Rules 2 and 3, for what goes out by a lane of an output. */
static void check_output(struct world *world, uint32_t port, uint32_t lane)
{
    const struct list *list = &world->by_output[at_lane(port, lane)];
    struct credit credit = {.limit = world->config.buffer_flits};
    uint64_t flits_before = 0;
    uint64_t asked_before_ps = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct thing *thing = &world->things[list->items[i]];
        uint32_t flits = flits_of(thing->sight.bytes);
        const struct sent *sent = &world->sent[thing->sight.tag];
        uint64_t asked_ps = sent->at_ps;
        uint64_t ready_ps = asked_ps;
        if (thing->came_by != NONE) {
            const struct thing *in = &world->things[thing->came_by];
            asked_ps = ready_ps = in->asked_ps;
            /* So late that its last flit is not sooner than it can be. */
            uint64_t long_ps = thing->sight.to_ps - thing->sight.from_ps;
            uint64_t through_ps = tail_ps(world, in) + world->config.switch_ps;
            if (through_ps > ready_ps + long_ps) {
                ready_ps = through_ps - long_ps;
            }
        } else if (i > 0) {
            assert_true(thing->sight.tag > world->things[list->items[i - 1]].sight.tag);
        }
        assert_true(asked_ps >= asked_before_ps); /* who asked first goes first */
        asked_before_ps = asked_ps;
        uint64_t could_ps = ready_ps;
        if (lane != 15) {
            uint64_t allowed_ps = read_credits(world, port, lane, &credit, flits_before, flits);
            could_ps = allowed_ps > could_ps ? allowed_ps : could_ps;
            world->held_up += allowed_ps > ready_ps && allowed_ps == thing->sight.from_ps;
            world->wrapped += flits_before >= MODULO;
        }
        if (i > 0 && world->things[list->items[i - 1]].sight.from_ps > could_ps) {
            could_ps = world->things[list->items[i - 1]].sight.from_ps;
        }
        check_no_idling(thing, could_ps);
        if (lane == 15) {
            check_goes_first(world, thing, list->items[i], could_ps, 0x7fff);
        } else if (lane == 0 && world->setup->high_limit == 255) {
            check_goes_first(world, thing, list->items[i], could_ps, 0x7ffe);
        }
        flits_before += flits;
    }
}

/* Rule 4, for a lane of an input: which link packets its port owes, and when they go. */
static void check_link_packets(const struct world *world, uint32_t port, uint32_t lane)
{
    const struct list *come = &world->by_output[at_lane(world->subnet->ports[port].peer, lane)];
    const struct list *go = &world->by_output[at_lane(port, lane)];
    const struct list *told = &world->by_link_packets[at_lane(port, lane)];
    uint64_t buffer = world->config.buffer_flits;
    uint64_t left = 0; /* flits that have left the buffer */
    uint64_t left_told = 0;
    uint64_t owed_ps = NEVER;
    uint32_t again = 0; /* damaged ones before are sent again */
    uint32_t next = 0;
    uint32_t sent = 0;
    uint64_t sent_flits = 0;
    for (uint32_t i = 0; i <= told->count; i++) {
        const struct thing *link = i < told->count ? &world->things[told->items[i]] : NULL;
        uint64_t until_ps = link ? link->sight.from_ps : NEVER;
        for (; next < come->count; next++) {
            const struct thing *in = &world->things[come->items[next]];
            bool is_at_once = in->left_ps == until_ps; /* it may be told or not */
            if (in->left_ps > until_ps) {
                break;
            }
            if (is_at_once && (left + buffer) % MODULO == link->sight.fccl && owed_ps != NEVER) {
                break; /* the link packet went first */
            }
            left += flits_of(in->sight.bytes);
            if (4 * (left - left_told) >= buffer && in->left_ps < owed_ps) {
                owed_ps = in->left_ps;
            }
        }
        for (; again < i; again++) {
            const struct flow_sight *damaged = &world->things[told->items[again]].sight;
            uint64_t again_ps = damaged->from_ps + world->config.refresh_ps;
            if (damaged->wrong_bits > 0 && again_ps > until_ps) {
                break;
            }
            owed_ps = damaged->wrong_bits > 0 && again_ps < owed_ps ? again_ps : owed_ps;
        }
        if (!link) {
            break;
        }
        assert_int_equal((left + buffer) % MODULO, link->sight.fccl);
        assert_true(owed_ps != NEVER);
        check_no_idling(link, owed_ps);
        check_goes_first(world, link, told->items[i], owed_ps, 0xffff);
        for (; sent < go->count && go->items[sent] < told->items[i]; sent++) {
            sent_flits += flits_of(world->things[go->items[sent]].sight.bytes);
        }
        assert_int_equal(sent_flits % MODULO, link->sight.fctbs);
        left_told = left;
        owed_ps = NEVER;
    }
    assert_true(owed_ps == NEVER);
}

/* ---- Whole runs ------------------------------------------------------------------------- */

static void replay(struct world *world)
{
    uint32_t ports = world->subnet->port_count;
    for (uint32_t port = 0; port < ports; port++) {
        check_cable(world, port);
    }
    join_ways(world);
    check_ends(world);
    settle_lanes(world);
    for (uint32_t port = 0; port < ports; port++) {
        if (world->subnet->ports[port].peer == SUBNET_NONE) {
            continue;
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            check_output(world, port, lane);
            check_room(world, port, lane);
            if (lane < 15) {
                check_link_packets(world, port, lane);
            }
        }
    }
}

struct totals {
    uint64_t wrapped, dropped;
};

static void run_and_replay(const struct setup *setup, uint64_t seed, struct totals *totals)
{
    struct world world = {.setup = setup, .random = {seed}};
    bring_up(&world);
    size_t lanes = (size_t)world.subnet->port_count * LANES;
    world.sent = calloc(PACKETS, sizeof *world.sent);
    world.by_cable = calloc(world.subnet->port_count, sizeof *world.by_cable);
    world.by_output = calloc(lanes, sizeof *world.by_output);
    world.by_link_packets = calloc(lanes, sizeof *world.by_link_packets);
    world.own_free_ps = calloc(world.subnet->port_count, sizeof *world.own_free_ps);
    run(&world);
    replay(&world);
    assert_true(world.deliveries > PACKETS / 2);
    assert_int_equal(world.damaged > 0, setup->bit_error_rate > 0);
    assert_true(world.held_up > 100 || setup->buffer_flits == 2047);
    totals->wrapped += world.wrapped;
    totals->dropped += world.dropped;
    for (size_t i = 0; i < lanes; i++) {
        free(world.by_output[i].items);
        free(world.by_link_packets[i].items);
    }
    for (uint32_t i = 0; i < world.subnet->port_count; i++) {
        free(world.by_cable[i].items);
    }
    free(world.by_cable);
    free(world.by_output);
    free(world.by_link_packets);
    free(world.own_free_ps);
    free(world.sent);
    free(world.things);
    flow_close(world.flow);
    sim_events_free(&world.events);
    subnet_close(world.subnet);
}

static void every_flit_of_a_run_keeps_the_rules(void **state)
{
    (void)state;
    static const char *const shapes[] = {"switch:6", "ring:5", "torus:3x3", "fat-tree:16",
                                         "random:12"};
    struct totals totals = {0};
    for (unsigned shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        for (unsigned kind = 0; kind < 8; kind++) {
            const struct setup setup = {
                .shape = shapes[shape],
                .mtu = kind % 2 ? 256 : 2048,
                .bytes_most = kind % 2 ? 370 : 2170,
                .buffer_flits = kind % 2 ? (kind & 4 ? 8 : 13) : (kind & 4 ? 2047 : 49),
                .gap_ps = kind % 2 ? 60000 : 300000,
                .bit_error_rate = kind == 3 || kind == 6 ? 2e-5 : 0,
                .mixes_widths = kind & 2,
                .has_multicast = kind != 2,
                .has_management = kind >= 4,
                .high_limit = kind & 4 ? 255 : 1,
            };
            uint64_t seed = 100 * shape + kind + 1;
            print_message("%s, kind %u, seed %llu\n", setup.shape, kind, (unsigned long long)seed);
            run_and_replay(&setup, seed, &totals);
        }
    }
    assert_true(totals.wrapped > 1000 && totals.dropped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flit_of_a_run_keeps_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
