/* Lives, as the launcher tells them through the control group that it shares with the nodes of its
 * host. They end in this process's view, where waiting and every call look.
 *
 * A peer that InfiniSWIF hears nothing of is reported to the launcher, which decides for all nodes
 * alike who is dead: paths may be cut between some nodes only, and nodes that disagree on who lives
 * would wait for each other. When the launcher says nothing, for it stands still or is cut off,
 * InfiniSWIF's silence decides. */
#include "fabric/udp/state.h"
#include "group/life.h"

/* A peer's last acknowledgements may arrive after the launcher's word that it has left. This is
 * how long they are waited for, besides two round trips. */
#define PARTING_NS UINT64_C(50000000)

enum { BURSTS_BEFORE_END = 4096 }; /* more than a socket holds; a flood ends, too */

void udp_peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    struct udp_state *udp = context;
    (void)now_ns;
    group_life_conclude(udp->view, peer, DN_DEAD);
    atomic_fetch_add_explicit(&udp->generation, 1, memory_order_release);
}

bool udp_peer_suspected(void *context, uint64_t now_ns, uint16_t peer)
{
    const struct udp_state *udp = context;
    (void)now_ns;
    bool is_noted = group_life_suspect(udp->control, peer);
    udp->tell_launcher();
    return is_noted;
}

/* Peers that have not attached do not listen yet: what is sent to them waits in their sockets,
 * and their silence means nothing. */
void udp_vouch_for_starting(struct udp_state *udp, uint64_t now_ns)
{
    for (uint32_t rank = 0; rank < udp->view->node_count && udp->starting_count != 0; rank++) {
        if (group_life(udp->view, rank) == DN_STARTING) {
            swif_peer_lives(udp->packets.board.swif, now_ns, (uint16_t)rank);
        }
    }
}

void udp_meet(struct udp_state *udp, uint64_t now_ns, uint32_t rank)
{
    /* Acquire: pairs with the release in udp_start. Whoever saw the life ATTACHED sees it, too. */
    uint32_t incarnation = (uint32_t)atomic_load_explicit(
        &udp_roster_report(udp->roster, rank)->incarnation, memory_order_acquire);
    if (incarnation != 0) {
        if (udp->guard) {
            udp_guard_expect(udp->guard, (uint16_t)rank, incarnation);
        }
        swif_peer_is(udp->packets.board.swif, now_ns, (uint16_t)rank, incarnation);
    }
}

/* Gives the peer up, whether we have ever heard of it or not. */
static void end_peer(struct udp_state *udp, uint64_t now_ns, uint32_t rank)
{
    uint32_t incarnation = swif_peer_incarnation(udp->packets.board.swif, (uint16_t)rank);
    swif_peer_died(udp->packets.board.swif, now_ns, (uint16_t)rank, incarnation);
}

/* ---- Partings ----------------------------------------------------------------------------- */

static uint64_t parting_ns(const struct udp_state *udp, uint32_t rank)
{
    struct swif_peer_state state;
    bool is_known = swif_peer_state(udp->packets.board.swif, (uint16_t)rank, &state);
    return PARTING_NS + (is_known ? 2 * state.srtt_ns : 0);
}

/* Forgets a peer that has acknowledged and answered everything, so that no quiet fails
 * because of it. False: something is under way to it, and nothing was done. */
static bool forget_idle(struct udp_state *udp, uint32_t rank)
{
    return swif_peer_is_idle(udp->packets.board.swif, (uint16_t)rank) &&
           nic_engine_forget_peer(udp->packets.board.engine, (uint16_t)rank);
}

static void begin_parting(struct udp_state *udp, uint64_t now_ns, uint32_t rank)
{
    if (forget_idle(udp, rank)) {
        end_peer(udp, now_ns, rank);
    } else {
        udp->peers[rank].parting_until_ns = now_ns + parting_ns(udp, rank);
        udp->parting_count++;
    }
}

void udp_end_partings(struct udp_state *udp, uint64_t now_ns)
{
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        struct udp_peer *peer = &udp->peers[rank];
        if (peer->parting_until_ns != 0 &&
            (forget_idle(udp, rank) || now_ns >= peer->parting_until_ns)) {
            peer->parting_until_ns = 0;
            udp->parting_count--;
            end_peer(udp, now_ns, rank);
        }
    }
}

/* ---- The launcher's words ------------------------------------------------------------------- */

static void take_in_life(struct udp_state *udp, uint64_t now_ns, uint32_t rank)
{
    enum dn_life life = udp->peers[rank].told;
    enum dn_life known = group_life(udp->view, rank);
    /* Nobody goes back to the start, whatever was written over the launcher's word. */
    if (rank == udp->view->rank || life == known || group_life_gone(known) || life == DN_STARTING) {
        return;
    }
    if (known == DN_STARTING) {
        udp->starting_count--;
        swif_peer_lives(udp->packets.board.swif, now_ns, (uint16_t)rank);
    }
    if (life == DN_ATTACHED) {
        udp_meet(udp, now_ns, rank);
        atomic_store_explicit(&udp->view->ports[rank].life, life, memory_order_release);
        return;
    }
    /* End the life first: when InfiniSWIF gives the rank up, that would count as a death. */
    group_life_conclude(udp->view, rank, life);
    if (life == DN_LEFT) {
        begin_parting(udp, now_ns, rank);
    } else {
        /* Nothing more comes from a dead peer, but what it acknowledged has taken effect. */
        (void)forget_idle(udp, rank);
        end_peer(udp, now_ns, rank);
    }
}

void udp_read_lives(struct udp_state *udp, uint64_t now_ns)
{
    udp->lives_seen = atomic_load_explicit(&udp->control->group->change_count,
                                           memory_order_acquire);
    /* When the launcher holds this node for dead, its peers hear it no more. Nobody lives for it
     * then, whatever its packets still reach. */
    bool is_outcast = group_life(udp->control, udp->view->rank) == DN_DEAD;
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        enum dn_life life = group_life(udp->control, rank);
        udp->peers[rank].told = is_outcast && life != DN_LEFT ? DN_DEAD : life;
    }
    /* First take in what peers sent before they went. */
    for (int burst = 0; burst < BURSTS_BEFORE_END && udp_receive(udp); burst++) {
    }
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        take_in_life(udp, now_ns, rank);
    }
    atomic_fetch_add_explicit(&udp->generation, 1, memory_order_release);
}
