/* A node's life. The node itself goes STARTING -> ATTACHED -> LEFT. The launcher sets DEAD (or
 * LEFT for a program that ended well without attaching) after the process has ended, so that
 * the process changes nothing afterwards. Nobody else changes a life.
 *
 * Where nodes speak by packets the launcher also sets DEAD for a node that others hear nothing of,
 * though its process runs: they tell their suspicions, and the launcher decides for all. Such a
 * node finds its own life ended, and from then on nobody hears it.
 *
 * A process claims its rank while the life is STARTING, before it uses anything that belongs to the
 * rank (the socket, the keys). Peers go on waiting for it; the launcher knows whose end would be
 * the node's. */
#ifndef GROUP_LIFE_H
#define GROUP_LIFE_H

#include "group/call.h"

static inline enum dn_life group_life(const struct group_view *view, uint32_t rank)
{
    /* Acquire: pairs with the release in group_life_end. A reader of DEAD sees everything that
     * the node did. */
    uint32_t life = atomic_load_explicit(&view->ports[rank].life, memory_order_acquire);
    /* Whatever else was written over the word: the node counts as attached until its process
     * ends, and then as dead. */
    return LIKELY(life <= DN_DEAD) ? (enum dn_life)life : DN_ATTACHED;
}

static inline bool group_life_gone(enum dn_life life)
{
    return life == DN_LEFT || life == DN_DEAD;
}

/* The node's own steps. A claim is for good; false: another process has had this rank before,
 * or the launcher has given it up. False from group_life_attach: the life has ended already. */
bool group_life_claim(const struct group_view *view, uint32_t process_id);
bool group_life_attach(const struct group_view *view);
void group_life_leave(const struct group_view *view);

/* An attached node rests when its program is done with its peers for now, and may yet come back. A
 * process that ends well while its node rests has left; else only group_life_leave does that. */
void group_life_rest(const struct group_view *view, bool rests);

/* Nodes notice a silence at slightly different times: InfiniSWIF looks that often in a peer
 * time-out. The launcher waits so long after the first suspicion before it decides. */
static inline uint64_t group_life_hearing_ns(uint64_t peer_timeout_ns)
{
    return peer_timeout_ns / 16 + 100000000;
}

/* This node hears nothing of that rank any more; the launcher shall decide. False: another node's
 * suspicion of that rank waits there. The caller makes the launcher look. */
bool group_life_suspect(const struct group_view *view, uint32_t rank);
/* Takes a suspicion of that rank. True: *by has it. Nodes can write it: it is a claim. Only the
 * launcher calls it. */
bool group_life_take_suspicion(const struct group_view *view, uint32_t rank, uint32_t *by);

/* The process of this rank has ended, well or not. True: that is a death, which is announced
 * now. The caller wakes the sleepers. Only the launcher calls it. */
bool group_life_end(const struct group_view *view, uint32_t rank, bool well);

/* The life of this rank ends as LEFT or DEAD, unless it was over before. */
void group_life_conclude(const struct group_view *view, uint32_t rank, enum dn_life life);

/* Whether deaths beyond the given count have been announced. */
static inline bool group_deaths_beyond(const struct group_view *view, uint32_t known_count)
{
    uint32_t count = atomic_load_explicit(&view->group->death_count, memory_order_acquire);
    return (int32_t)(count - known_count) > 0;
}

/* Whether every node but this one is gone; false for a group of one. */
bool group_peers_all_gone(const struct group_view *view);

#endif
