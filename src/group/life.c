/* A node's life and its end. */
#include "group/life.h"

bool group_life_claim(const struct group_view *view, uint32_t process_id)
{
    uint32_t nobody = 0;
    KILL_POINT("attach: nothing published");
    /* A compare-swap and not a store: a second process with the same rank must not overwrite
     * the id that the launcher watches. */
    bool claimed = atomic_compare_exchange_strong(&view->ports[view->rank].process_id, &nobody,
                                                  process_id);
    KILL_POINT("attach: process id published");
    return claimed && group_life(view, view->rank) == DN_STARTING;
}

bool group_life_attach(const struct group_view *view)
{
    uint32_t starting = DN_STARTING;
    KILL_POINT("attach: not attached yet");
    bool attached = atomic_compare_exchange_strong(&view->ports[view->rank].life, &starting,
                                                   DN_ATTACHED);
    KILL_POINT("attach: attached");
    atomic_fetch_add(&view->group->change_count, 1);
    return attached;
}

void group_life_leave(const struct group_view *view)
{
    struct group_port *port = &view->ports[view->rank];
    uint32_t life = atomic_load(&port->life);
    KILL_POINT("detach: still attached");
    /* Not a store: what the launcher has ended stays as it is. */
    while (!group_life_gone((enum dn_life)life) &&
           !atomic_compare_exchange_weak_explicit(&port->life, &life, DN_LEFT, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    KILL_POINT("detach: left, senders not told");
    atomic_fetch_or(&port->call, GROUP_CALL_GONE);
    KILL_POINT("detach: senders told");
    atomic_fetch_add(&view->group->change_count, 1);
}

void group_life_rest(const struct group_view *view, bool rests)
{
    KILL_POINT("rest: not told");
    atomic_store(&view->ports[view->rank].is_resting, rests ? 1 : 0);
    KILL_POINT("rest: told");
}

void group_life_conclude(const struct group_view *view, uint32_t rank, enum dn_life life)
{
    struct group_port *port = &view->ports[rank];
    bool was_gone = group_life_gone(group_life(view, rank));
    if (!was_gone) {
        /* Release: pairs with the acquire in group_life. */
        atomic_store_explicit(&port->life, life, memory_order_release);
    }
    atomic_fetch_or(&port->call, GROUP_CALL_GONE);
    /* Nobody sleeps there any more, so senders need neither wake it nor look. */
    atomic_fetch_and(&port->call, ~(GROUP_CALL_SLEEPING | GROUP_CALL_WATCHING));
    atomic_fetch_and(group_sleeping_word(view, rank), ~(UINT64_C(1) << (rank % 64)));
    if (!was_gone && life == DN_DEAD) {
        /* Release: pairs with the acquire in group_deaths_beyond; the life is set. */
        atomic_fetch_add_explicit(&view->group->death_count, 1, memory_order_release);
    }
    atomic_fetch_add_explicit(&view->group->change_count, 1, memory_order_release);
}

bool group_life_suspect(const struct group_view *view, uint32_t rank)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(&view->ports[rank].suspected_by, &nobody, view->rank + 1);
}

bool group_life_take_suspicion(const struct group_view *view, uint32_t rank, uint32_t *by)
{
    uint32_t taken = atomic_exchange(&view->ports[rank].suspected_by, 0);
    *by = taken - 1;
    return taken != 0 && *by < view->node_count;
}

bool group_life_end(const struct group_view *view, uint32_t rank, bool well)
{
    enum dn_life life = group_life(view, rank);
    bool rests = atomic_load(&view->ports[rank].is_resting) == 1;
    bool death = life == DN_ATTACHED ? !well || !rests : life == DN_STARTING && !well;
    group_life_conclude(view, rank, death ? DN_DEAD : DN_LEFT);
    return death;
}

bool group_peers_all_gone(const struct group_view *view)
{
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        if (rank != view->rank && !group_life_gone(group_life(view, rank))) {
            return false;
        }
    }
    return view->node_count > 1;
}
