/* Lives, as the simulator tells them. They end in this process's view, where waiting and every call
 * look. */
#include "fabric/seat/state.h"
#include "group/life.h"

/* How long the answers of a peer that has left are waited for. */
#define PARTING_NS UINT64_C(1000000)

/* Gives the peer up: what waits for it ends with DN_EPEER. */
static void end_peer(struct seat_state *seat, uint32_t rank)
{
    struct board *board = &seat->packets.board;
    uint64_t now_ns = seat_time_ns(seat);
    if (board->swif) {
        uint32_t incarnation = swif_peer_incarnation(board->swif, (uint16_t)rank);
        swif_peer_died(board->swif, now_ns, (uint16_t)rank, incarnation);
        return;
    }
    seat_plain_forget(seat, (uint16_t)rank);
    nic_engine_peer_lost(board->engine, now_ns, (uint16_t)rank);
    nic_services_peer_lost(board->services, now_ns, (uint16_t)rank);
}

/* Forgets a peer that has acknowledged and answered everything, so that no quiet fails
 * because of it. False: something is under way to it, and nothing was done. */
static bool forget_idle(struct seat_state *seat, uint32_t rank)
{
    const struct board *board = &seat->packets.board;
    bool is_idle = board->swif ? swif_peer_is_idle(board->swif, (uint16_t)rank)
                               : seat->ways[rank].asked <= seat->ways[rank].carried;
    return is_idle && nic_engine_forget_peer(board->engine, (uint16_t)rank);
}

void seat_end_partings(struct seat_state *seat)
{
    for (uint32_t rank = 0; rank < seat->view->node_count; rank++) {
        if (seat->parting_ns[rank] != 0 &&
            (forget_idle(seat, rank) || seat_time_ns(seat) >= seat->parting_ns[rank])) {
            seat->parting_ns[rank] = 0;
            seat->parting_count--;
            end_peer(seat, rank);
        }
    }
}

uint64_t seat_parting_deadline_ns(const struct seat_state *seat)
{
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t rank = 0; rank < seat->view->node_count && seat->parting_count > 0; rank++) {
        uint64_t parting_ns = seat->parting_ns[rank];
        first_ns = parting_ns != 0 && parting_ns < first_ns ? parting_ns : first_ns;
    }
    return first_ns;
}

void seat_take_in_life(struct seat_state *seat, uint32_t rank, uint64_t life)
{
    struct board *board = &seat->packets.board;
    enum dn_life known = group_life(seat->view, rank);
    if (rank == seat->view->rank || life == known || group_life_gone(known)) {
        return;
    }
    if (life == DN_ATTACHED) {
        if (board->swif) {
            swif_peer_is(board->swif, seat_time_ns(seat), (uint16_t)rank, 1);
        }
        atomic_store_explicit(&seat->view->ports[rank].life, DN_ATTACHED, memory_order_release);
        return;
    }
    /* End the life first: when InfiniSWIF gives the rank up, that would count as a death. */
    group_life_conclude(seat->view, rank, (enum dn_life)life);
    if (forget_idle(seat, rank) || life == DN_DEAD) {
        end_peer(seat, rank);
    } else {
        seat->parting_ns[rank] = seat_time_ns(seat) + PARTING_NS;
        seat->parting_count++;
    }
}
