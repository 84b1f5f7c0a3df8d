/* Packets of a machine without InfiniSWIF: its network loses nothing and keeps the order between
 * two nodes. So nothing is acknowledged unless somebody asks: pieces of a PUSH ask for themselves,
 * and a quiet sends an empty packet (a flush) to each node that has been sent to since, whose
 * acknowledgement covers all before it. */
#include "fabric/seat/state.h"

static bool needs_now(const struct wire_route *route)
{
    return route->reply_bytes > 0 || route->channel == NIC_SERVICE_CHANNEL;
}

static int append(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room)
{
    struct seat_state *seat = context;
    struct seat_way *way = &seat->ways[route->target];
    (void)now_ns;
    struct turn_packet packet = {
        .peer = route->target,
        .class = (uint8_t)route->class,
        .channel = route->channel,
        .flags = (uint16_t)(needs_now(route) ? TURN_NEEDS_NOW : 0),
        .bytes = bytes,
        .number = seat->packet_count + 1,
        .cookie = route->cookie,
    };
    if (route->cookie != 0) {
        packet.flags |= TURN_WANTS_ACK;
    }
    /* Replies find room: there are no more of them in a turn than requests that came. */
    if (route->class == WIRE_REQUEST && !seat_has_room(seat, bytes)) {
        return DN_EFULL;
    }
    *room = seat_packet(seat, &packet);
    seat->packet_count = packet.number;
    if (route->class == WIRE_REQUEST) {
        way->sent = packet.number;
        way->asked = route->cookie != 0 ? packet.number : way->asked;
    }
    return 0;
}

static bool has_reply_room(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)context;
    (void)now_ns;
    (void)peer;
    return true;
}

/* Nothing to do: packets between two nodes keep their order. */
static void fence(void *context, uint16_t target, uint8_t channel)
{
    (void)context;
    (void)target;
    (void)channel;
}

static uint64_t mark(void *context)
{
    const struct seat_state *seat = context;
    return seat->packet_count;
}

static void flush(struct seat_state *seat, uint32_t rank)
{
    struct seat_way *way = &seat->ways[rank];
    struct turn_packet packet = {
        .peer = (uint16_t)rank,
        .class = WIRE_REQUEST,
        .flags = TURN_WANTS_ACK | TURN_IS_FLUSH,
        .number = ++seat->packet_count,
    };
    way->sent = way->asked = packet.number;
    (void)seat_packet(seat, &packet);
}

/* Somebody waits for everything up to the mark: now it is asked for. */
static bool mark_is_passed(void *context, uint64_t number)
{
    struct seat_state *seat = context;
    bool is_passed = true;
    for (uint32_t rank = 0; rank < seat->view->node_count; rank++) {
        struct seat_way *way = &seat->ways[rank];
        if (way->carried >= number || way->carried >= way->sent) {
            continue;
        }
        is_passed = false;
        if (way->asked < way->sent && seat_has_room(seat, 0)) {
            flush(seat, rank);
        }
    }
    return is_passed;
}

struct nic_network seat_plain_network(struct seat_state *seat)
{
    return (struct nic_network){
        .context = seat,
        .body_bytes_max = seat->page->terms.body_bytes_max,
        .append = append,
        .has_reply_room = has_reply_room,
        .fence = fence,
        .mark = mark,
        .mark_is_passed = mark_is_passed,
    };
}

void seat_plain_acked(struct seat_state *seat, uint16_t peer, uint64_t number)
{
    struct seat_way *way = &seat->ways[peer];
    if (number > way->carried && number <= way->sent) {
        way->carried = number;
    }
}

void seat_plain_forget(struct seat_state *seat, uint16_t peer)
{
    struct seat_way *way = &seat->ways[peer];
    way->carried = way->asked = way->sent;
}
