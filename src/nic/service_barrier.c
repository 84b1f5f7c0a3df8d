/* BARRIER by records: paper 004's binary tree, each member's NIC a node of it.
 *
 * A member whose host and whose children have arrived at a phase tells its parent; the root
 * then releases the phase, and the release goes down. One phase is under way at a time, and
 * nobody can be more than one ahead, so a phase number says all.
 *
 * Nothing is kept for a team that is not open here. Instead a member that opens it ASKs its
 * children, and a child that has arrived (or is broken) says so again. */
#include "base/mutant.h"
#include "nic/services_state.h"

static struct nic_barrier *find(const struct nic_services *services, uint32_t team)
{
    for (uint32_t i = 0; i < services->config.team_count; i++) {
        struct nic_barrier *barrier = &services->barriers[i];
        if (barrier->open && barrier->team == team) {
            return barrier;
        }
    }
    return NULL;
}

/* NULL: not a neighbour. */
static struct nic_barrier_link *link_to(struct nic_barrier *barrier, uint16_t node)
{
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        if (barrier->links[i].node == node) {
            return &barrier->links[i];
        }
    }
    return NULL;
}

/* What the link has to send next; 0: nothing. */
static unsigned next_kind(const struct nic_barrier_link *link)
{
    bool is_parent = link == &link->barrier->links[NIC_BARRIER_PARENT];
    if (link->broken_due) {
        return NIC_BARRIER_RECORD_BROKEN;
    }
    if (link->phase_due) {
        return is_parent ? NIC_BARRIER_RECORD_ARRIVE : NIC_BARRIER_RECORD_RELEASE;
    }
    return link->ask_due ? NIC_BARRIER_RECORD_ASK : 0;
}

/* ---- Phases -------------------------------------------------------------------------- */

/* While our host waits, all neighbours are watched. */
static void watch_neighbours(struct nic_services *services, uint64_t now_ns,
                             const struct nic_barrier *barrier, bool on)
{
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        if (barrier->links[i].node != WIRE_NOBODY) {
            nic_services_watch(services, now_ns, barrier->links[i].node, on);
        }
    }
}

static void end_wait(struct nic_services *services, uint64_t now_ns, struct nic_barrier *barrier,
                     int result)
{
    if (!barrier->waiting) {
        return;
    }
    barrier->waiting = false;
    nic_completion_finish(barrier->completion, result, barrier->completion->value);
    watch_neighbours(services, now_ns, barrier, false);
}

static bool children_arrived(const struct nic_barrier *barrier, uint32_t phase)
{
    for (uint32_t i = NIC_BARRIER_LEFT; i < NIC_BARRIER_LINKS; i++) {
        const struct nic_barrier_link *child = &barrier->links[i];
        if (child->node != WIRE_NOBODY && child->arrived_phase != phase) {
            return false;
        }
    }
    return true;
}

static void release(struct nic_services *services, uint64_t now_ns, struct nic_barrier *barrier)
{
    barrier->released_phase++;
    end_wait(services, now_ns, barrier, 0);
    for (uint32_t i = NIC_BARRIER_LEFT; i < NIC_BARRIER_LINKS; i++) {
        if (barrier->links[i].node != WIRE_NOBODY) {
            barrier->links[i].phase_due = true;
            nic_due_add(services, &barrier->links[i].due);
        }
    }
}

/* Somebody has arrived: goes on if that was the last one. */
static void advance(struct nic_services *services, uint64_t now_ns, struct nic_barrier *barrier)
{
    uint32_t phase = barrier->released_phase + 1;
    struct nic_barrier_link *parent = &barrier->links[NIC_BARRIER_PARENT];
    bool is_root = parent->node == WIRE_NOBODY;
    /* The root waits for its own host as well, which the paper forgets to say. */
    bool own = barrier->waiting || (is_root && MUTANT(BARRIER_ROOT_FORGETS_ITSELF));
    if (!own || !children_arrived(barrier, phase)) {
        return;
    }
    if (is_root) {
        release(services, now_ns, barrier);
    } else if (barrier->told_phase != phase) {
        barrier->told_phase = phase;
        parent->phase_due = true;
        nic_due_add(services, &parent->due);
    }
}

static void tell_broken(struct nic_services *services, struct nic_barrier_link *link)
{
    link->broken_due = true;
    nic_due_add(services, &link->due);
}

/* `from` knows already, or is lost. */
static void break_team(struct nic_services *services, uint64_t now_ns, struct nic_barrier *barrier,
                       const struct nic_barrier_link *from)
{
    if (barrier->broken) {
        return;
    }
    barrier->broken = true;
    end_wait(services, now_ns, barrier, DN_EPEER);
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        struct nic_barrier_link *link = &barrier->links[i];
        link->phase_due = false;
        link->ask_due = false;
        if (link->node != WIRE_NOBODY && link != from) {
            tell_broken(services, link);
        }
    }
}

/* ---- The host ------------------------------------------------------------------------ */

/* Without a list the members are the nodes from 0 on. */
static uint16_t member_at(const uint16_t *members, uint32_t place)
{
    return members ? members[place] : (uint16_t)place;
}

/* This node's place; `count`: it is not among them. DN_ERANK: a member is no node. */
static int find_place(const struct nic_services *services, const uint16_t *members, uint32_t count,
                      uint32_t *place)
{
    uint32_t node_count = services->config.node_count;
    uint16_t own = services->config.node;
    if (!members) {
        *place = own < count ? own : count;
        return count <= node_count ? 0 : DN_ERANK;
    }
    *place = count;
    for (uint32_t i = 0; i < count; i++) {
        if (members[i] >= node_count) {
            return DN_ERANK;
        }
        *place = members[i] == own ? i : *place;
    }
    return 0;
}

/* Where a neighbour of the member in that place stands; `count` or more: there is none. */
static uint64_t place_of_link(uint32_t place, uint32_t count, uint32_t link)
{
    const uint64_t places[NIC_BARRIER_LINKS] = {
        [NIC_BARRIER_PARENT] = place ? (place - 1) / 2 : count,
        [NIC_BARRIER_LEFT] = 2 * (uint64_t)place + 1,
        [NIC_BARRIER_RIGHT] = 2 * (uint64_t)place + 2,
    };
    return places[link];
}

static void set_links(struct nic_services *services, struct nic_barrier *barrier,
                      const uint16_t *members, uint32_t count, uint32_t place)
{
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        struct nic_barrier_link *link = &barrier->links[i];
        uint64_t other = place_of_link(place, count, i);
        *link = (struct nic_barrier_link){
            .due.kind = NIC_DUE_BARRIER,
            .barrier = barrier,
            .node = other < count ? member_at(members, (uint32_t)other) : WIRE_NOBODY,
        };
        if (i != NIC_BARRIER_PARENT && link->node != WIRE_NOBODY) {
            link->ask_due = true;
            nic_due_add(services, &link->due);
        }
    }
}

int nic_packet_barrier_open(struct nic_services *services, uint64_t now_ns, uint32_t team,
                            const uint16_t *members, uint32_t count)
{
    uint32_t place;
    int error = find_place(services, members, count, &place);
    return error ? error
                 : nic_packet_barrier_open_at(services, now_ns, team, members, count, place);
}

int nic_packet_barrier_open_at(struct nic_services *services, uint64_t now_ns, uint32_t team,
                               const uint16_t *members, uint32_t count, uint32_t place)
{
    (void)now_ns;
    if (place >= count || member_at(members, place) != services->config.node ||
        team > NIC_SERVICE_NUMBER_MAX) {
        return DN_EINVAL;
    }
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        uint64_t other = place_of_link(place, count, i);
        if (other < count && member_at(members, (uint32_t)other) >= services->config.node_count) {
            return DN_ERANK;
        }
    }
    if (find(services, team)) {
        return DN_EBUSY;
    }
    for (uint32_t i = 0; i < services->config.team_count; i++) {
        struct nic_barrier *barrier = &services->barriers[i];
        if (!barrier->open) {
            *barrier = (struct nic_barrier){.open = true, .team = team};
            set_links(services, barrier, members, count, place);
            return 0;
        }
    }
    return DN_EFULL;
}

int nic_packet_barrier_break(struct nic_services *services, uint64_t now_ns, uint32_t team)
{
    struct nic_barrier *barrier = find(services, team);
    if (!barrier) {
        return DN_EINVAL;
    }
    break_team(services, now_ns, barrier, NULL);
    return 0;
}

int nic_packet_barrier_close(struct nic_services *services, uint64_t now_ns, uint32_t team)
{
    struct nic_barrier *barrier = find(services, team);
    (void)now_ns;
    if (!barrier) {
        return DN_EINVAL;
    }
    if (barrier->waiting) {
        return DN_EBUSY;
    }
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        if (next_kind(&barrier->links[i])) {
            return DN_EBUSY;
        }
    }
    for (uint32_t i = 0; i < NIC_BARRIER_LINKS; i++) {
        nic_due_remove(services, &barrier->links[i].due);
    }
    barrier->open = false;
    return 0;
}

int nic_packet_barrier_arrive(struct nic_services *services, uint64_t now_ns, uint32_t team,
                              struct nic_completion *completion)
{
    struct nic_barrier *barrier = find(services, team);
    if (!barrier) {
        return DN_EINVAL;
    }
    if (barrier->waiting) {
        return DN_EBUSY;
    }
    *completion = (struct nic_completion){.state = NIC_PENDING,
                                          .value = barrier->released_phase + UINT64_C(1)};
    if (barrier->broken) {
        nic_completion_finish(completion, DN_EPEER, completion->value);
        return 0;
    }
    barrier->completion = completion;
    barrier->waiting = true;
    services->counters.arrivals++;
    watch_neighbours(services, now_ns, barrier, true);
    advance(services, now_ns, barrier);
    return 0;
}

/* ---- Events -------------------------------------------------------------------------- */

static void on_arrive(struct nic_services *services, uint64_t now_ns, struct nic_barrier *barrier,
                      struct nic_barrier_link *child, uint32_t phase)
{
    if (barrier->broken) {
        tell_broken(services, child);
    } else if (phase == barrier->released_phase + 1) {
        /* Any other phase is over, and was said again because we asked. */
        child->arrived_phase = phase;
        advance(services, now_ns, barrier);
    }
}

static void on_ask(struct nic_services *services, struct nic_barrier *barrier,
                   struct nic_barrier_link *parent)
{
    if (barrier->broken) {
        tell_broken(services, parent);
    } else if (barrier->told_phase == barrier->released_phase + 1) {
        parent->phase_due = true;
        nic_due_add(services, &parent->due);
    }
}

bool nic_barrier_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                         unsigned kind, uint32_t team, const struct wire_operation *operation)
{
    struct nic_barrier *barrier = find(services, team);
    uint32_t phase = (uint32_t)operation->offset;
    if (operation->bytes != 0 || operation->offset > UINT32_MAX ||
        kind < NIC_BARRIER_RECORD_ARRIVE || kind > NIC_BARRIER_RECORD_ASK) {
        return false;
    }
    struct nic_barrier_link *link = barrier ? link_to(barrier, source) : NULL;
    if (!link) {
        return true; /* not open, or with other members than the source thinks */
    }
    bool is_parent = link == &barrier->links[NIC_BARRIER_PARENT];
    switch ((enum nic_barrier_record_kind)kind) {
    case NIC_BARRIER_RECORD_ARRIVE:
        if (!is_parent) {
            on_arrive(services, now_ns, barrier, link, phase);
        }
        break;
    case NIC_BARRIER_RECORD_RELEASE:
        if (is_parent && phase == barrier->released_phase + 1 && phase == barrier->told_phase) {
            release(services, now_ns, barrier);
        }
        break;
    case NIC_BARRIER_RECORD_BROKEN:
        if (MUTANT(BARRIER_BREAK_KEPT)) {
            end_wait(services, now_ns, barrier, DN_EPEER);
            barrier->broken = true;
            break;
        }
        break_team(services, now_ns, barrier, link);
        break;
    case NIC_BARRIER_RECORD_ASK:
        if (is_parent) {
            on_ask(services, barrier, link);
        }
        break;
    }
    return true;
}

void nic_barriers_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer)
{
    for (uint32_t i = 0; i < services->config.team_count; i++) {
        struct nic_barrier *barrier = &services->barriers[i];
        struct nic_barrier_link *link = barrier->open ? link_to(barrier, peer) : NULL;
        if (link) {
            link->broken_due = false;
            nic_due_remove(services, &link->due);
            break_team(services, now_ns, barrier, link);
        }
    }
}

/* ---- What goes out ------------------------------------------------------------------- */

bool nic_barrier_peek(const struct nic_barrier_link *link, struct nic_service_packet *packet)
{
    const struct nic_barrier *barrier = link->barrier;
    unsigned kind = next_kind(link);
    uint32_t phase = 0;
    if (kind == NIC_BARRIER_RECORD_ARRIVE) {
        phase = barrier->told_phase;
    } else if (kind == NIC_BARRIER_RECORD_RELEASE) {
        phase = barrier->released_phase;
    }
    nic_service_record(packet, link->node, WIRE_BARRIER, kind, barrier->team, phase);
    return kind != 0;
}

void nic_barrier_sent(struct nic_barrier_link *link)
{
    switch (next_kind(link)) {
    case NIC_BARRIER_RECORD_BROKEN: link->broken_due = false; break;
    case NIC_BARRIER_RECORD_ARRIVE:
    case NIC_BARRIER_RECORD_RELEASE: link->phase_due = false; break;
    default: link->ask_due = false; break;
    }
}
