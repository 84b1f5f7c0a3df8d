/* The storm's programs: one on each node, made of what its seed draws. Only the traffic's files
 * include this.
 *
 * Each program draws from a generator of its own, so what a node does depends on
 * the seed and on its own steps, not on when others take theirs. */
#ifndef SIM_STORM_TRAFFIC_H
#define SIM_STORM_TRAFFIC_H

#include "sim/storm/oracle.h"

enum {
    STORM_KICKS = 2 * STORM_LANES, /* for each target: by lane, translated and physical */
    STORM_LOCK_USES = 4,           /* requests and held locks of a node at a time */
    STORM_TEAM = 0,
    STORM_CHANNEL = 0,
};

/* A completion, and the memory that belongs to the operation until the completion comes. Tickets
 * stay until the run's end, so that a completion that comes twice is noticed. */
struct storm_ticket {
    struct nic_completion completion;
    uint32_t operation;
    bool is_over;
    uint64_t data_bytes;
    unsigned char data[];
};

struct storm_lock_use {
    bool is_used;
    bool is_held;
    uint64_t name; /* the ticket that the services gave */
    struct storm_ticket *ticket;
    uint64_t until_ns; /* when to release it, or to stop waiting for it */
};

struct storm_program {
    bool is_running;
    struct base_random random;
    uint32_t left; /* operations to start */
    uint32_t burst_left;
    bool is_stream; /* the burst goes to one target on one lane */
    uint8_t stream_lane;
    uint64_t next_ns;  /* when the next burst begins */
    uint64_t woken_ns; /* the earliest wake-up that is asked for; UINT64_MAX: none */
    uint16_t favourite;

    bool has_gift; /* it was drawn, but there was no room to give it yet */
    struct storm_gift gift;
    bool is_fence_first;
    bool is_skip; /* AOTF: through a physical kick */

    uint64_t kicks[STORM_NODES_MAX][STORM_KICKS]; /* kick address + 1; 0: not open */
    struct storm_ticket **tickets;                /* the ones whose completions are awaited */
    uint32_t ticket_count, ticket_room;
    uint64_t last_fetched; /* what a compare-swap may expect */

    struct storm_lock_use locks[STORM_LOCK_USES];
    struct storm_ticket *arrival; /* at the barrier, outstanding */
    bool is_member;
    bool has_met;          /* it knows the other members in their first life */
    uint32_t phase;        /* the last one in which it arrived */
    uint64_t arrival_ns;   /* when it arrives next */
    uint64_t next_read_ns; /* when it reads messages next */
};

struct storm_traffic {
    struct storm_world *world;
    struct storm_oracle *oracle;
    bool is_stopped;
    uint64_t node_seeds[STORM_NODES_MAX];
    uint16_t lock_managers[STORM_LOCKS];
    uint32_t phase_count; /* that every member goes through */
    struct storm_program programs[STORM_NODES_MAX];
    struct storm_ticket **tickets; /* all */
    uint32_t ticket_count, ticket_room;
};

/* The engine's user number of a lane. */
uint32_t storm_lane_user(uint32_t lane);

struct storm_ticket *storm_ticket_new(struct storm_traffic *traffic, struct storm_program *program,
                                      uint32_t operation, uint64_t data_bytes);
/* Drops the newest ticket, whose operation was not taken. */
void storm_ticket_drop(struct storm_traffic *traffic, struct storm_program *program);

/* Asks for a step at that time, unless one is due earlier. */
void storm_program_wake(struct storm_traffic *traffic, struct storm_node *node, uint64_t at_ns);

/* Draws the next operation into program->gift. False: there is nothing to draw. */
bool storm_program_draw(struct storm_traffic *traffic, struct storm_node *node);
/* Gives program->gift. DN_EFULL: not now. */
int storm_program_give(struct storm_traffic *traffic, struct storm_node *node);

/* Notes a service's operation with the oracle; as storm_oracle_give. */
uint32_t storm_traffic_note(struct storm_traffic *traffic, struct storm_node *node,
                            struct storm_gift *gift);

void storm_services_born(struct storm_traffic *traffic, struct storm_node *node);
void storm_services_step(struct storm_traffic *traffic, struct storm_node *node);
int storm_services_give_lock(struct storm_traffic *traffic, struct storm_node *node);
int storm_services_give_message(struct storm_traffic *traffic, struct storm_node *node);
/* A request's completion came. */
void storm_services_lock_ended(struct storm_traffic *traffic, struct storm_node *node,
                               struct storm_ticket *ticket);
/* Whether the node's service programs have come to an end. */
bool storm_services_are_done(const struct storm_traffic *traffic, uint16_t node);

#endif
