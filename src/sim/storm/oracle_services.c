/* The oracle's rules for locks, the barrier and messages.
 *
 * Lock: while its manager lives, no node is given a lock that a living node holds and has
 * not found to be lost, unless the manager was told that the holder is lost (see
 * nic/services.h).
 * Barrier: no member passes a phase before all members arrived in it; it fails only after a
 * member died or was thought dead.
 * Messages: from one node to another in order, none twice, and none missing except those in
 * doubt when the peer is lost. */
#include "sim/storm/oracle.h"

/* ---- Locks -------------------------------------------------------------------------- */

/* Whether the manager's promise to this request still binds it. */
static bool is_bound(const struct storm_oracle *oracle, const struct storm_operation *request)
{
    const struct storm_life *manager = storm_oracle_life(oracle, request->target);
    return manager->is_alive && oracle->life_of[request->target] == request->first_life &&
           manager->losses[request->source] == request->manager_losses;
}

static void grant(struct storm_oracle *oracle, uint32_t index)
{
    struct storm_operation *request = &oracle->operations[index];
    uint32_t lock = (uint32_t)request->offset;
    uint32_t *holders = oracle->lock_holders[lock];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < oracle->holder_count[lock]; i++) {
        const struct storm_operation *holder = &oracle->operations[holders[i]];
        if (!holder->is_held || !oracle->lives[holder->source_life]->is_alive) {
            continue;
        }
        if (is_bound(oracle, holder) && is_bound(oracle, request)) {
            storm_oracle_fail(oracle,
                              "lock %u of node %u was given to node %u (operation %u) while "
                              "node %u held it (operation %u)",
                              lock, request->target, request->source, request->number,
                              holder->source, holder->number);
            return;
        }
        holders[kept++] = holders[i];
    }
    holders = storm_grow(holders, kept, &oracle->holder_room[lock], sizeof *holders);
    holders[kept++] = index;
    oracle->lock_holders[lock] = holders;
    oracle->holder_count[lock] = kept;
    request->is_held = true;
    oracle->checked[STORM_WORK_LOCK]++;
}

void storm_oracle_end_lock(struct storm_oracle *oracle, uint32_t index, int result)
{
    const struct storm_operation *request = &oracle->operations[index];
    const struct storm_life *manager = storm_oracle_life(oracle, request->target);
    const struct storm_life *source = oracle->lives[request->source_life];
    bool is_fair = false;
    switch (result) {
    case 0: grant(oracle, index); return;
    case DN_EOWNERDEAD:
        is_fair = manager->loss_count > 0 || !manager->is_alive || manager->ordinal > 0;
        grant(oracle, index);
        break;
    case DN_EBUSY: is_fair = request->function == 1; break;
    case DN_ETIMEOUT: /* the program abandoned it */
    case DN_EFULL: is_fair = true; break;
    case DN_EPEER:
        is_fair = request->was_dead || source->losses[request->target] > request->losses;
        break;
    default: break;
    }
    if (!is_fair) {
        storm_oracle_fail(oracle, "node %u: the request %u for lock %llu of node %u ended with %d",
                          request->source, request->number, (unsigned long long)request->offset,
                          request->target, result);
    }
    oracle->checked[STORM_WORK_LOCK]++;
}

void storm_oracle_lock_over(struct storm_oracle *oracle, uint32_t index)
{
    oracle->operations[index].is_held = false;
}

/* ---- The barrier -------------------------------------------------------------------- */

void storm_oracle_end_barrier(struct storm_oracle *oracle, uint32_t index, int result,
                              uint64_t phase)
{
    const struct storm_operation *arrival = &oracle->operations[index];
    if (result) {
        if (result != DN_EPEER || !oracle->is_team_broken) {
            storm_oracle_fail(oracle, "node %u: phase %llu of the barrier ended with %d",
                              arrival->source, (unsigned long long)arrival->offset, result);
        }
        return;
    }
    if (phase != arrival->offset) {
        storm_oracle_fail(oracle, "node %u: arrived in phase %llu of the barrier and passed %llu",
                          arrival->source, (unsigned long long)arrival->offset,
                          (unsigned long long)phase);
        return;
    }
    for (uint32_t node = 0; node < oracle->node_count; node++) {
        if (oracle->phases[node] < phase) {
            storm_oracle_fail(oracle,
                              "node %u: passed phase %llu of the barrier, and node %u had not "
                              "arrived",
                              arrival->source, (unsigned long long)phase, node);
            return;
        }
    }
    oracle->checked[STORM_WORK_BARRIER]++;
}

/* ---- Messages ----------------------------------------------------------------------- */

void storm_oracle_message(struct storm_oracle *oracle, uint16_t node, uint16_t from,
                          const unsigned char *data, uint32_t bytes)
{
    if (from >= oracle->node_count) {
        storm_oracle_fail(oracle, "node %u: a message came from node %u", node, from);
        return;
    }
    struct storm_stream *stream = storm_oracle_stream(oracle, from, STORM_SERVICE_LANE, node);
    uint32_t next = storm_oracle_first(oracle, stream);
    uint32_t index = stream->first;
    bool is_late = true;
    while (index != STORM_NONE) {
        is_late = is_late && index != next;
        const struct storm_operation *message = &oracle->operations[index];
        if (message->bytes == bytes && storm_derived_match(message->identity, 0, bytes, data)) {
            break;
        }
        index = message->next;
    }
    if (index == STORM_NONE || is_late) {
        storm_oracle_fail(oracle, "node %u: a message of %u bytes from node %u came %s", node,
                          bytes, from,
                          index == STORM_NONE                 ? "that nobody sent"
                          : oracle->operations[index].is_seen ? "twice"
                                                              : "after a later one");
        return;
    }
    storm_oracle_see_next(oracle, stream, index, node);
}
