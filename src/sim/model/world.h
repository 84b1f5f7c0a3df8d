/* The modelled machine at work: nodes (host, Martini or CoreLogic, InfiniSWIF) on a network,
 * driven by events in picoseconds. The protocol is the live fabrics' own: nic_engine and
 * nic_services decide what is sent and what happens to memory, swif decides how it gets there,
 * and this model decides when.
 *
 *     struct sim_world *world = sim_world_open(&config, error);
 *     sim_world_start(world, node, user, program, locals);      for each program
 *     enum sim_end end = sim_world_run(world, limit_ps);
 *     sim_world_close(world);
 *
 * Two runs of the same world are the same, event by event. */
#ifndef SIM_MODEL_WORLD_H
#define SIM_MODEL_WORLD_H

#include "sim/model/machine.h"
#include "sim/model/network.h"
#include "sim/model/timeline.h"

struct sim_world;
struct sim_host;
struct sim_outside;

/* A program of a host: see host.h. */
typedef void sim_program(struct sim_host *host);

/* How CorePU's locks work. */
enum sim_locks {
    SIM_LOCKS_QUEUE, /* the manager keeps the queue (nic/service_lock_manager.c) */
    SIM_LOCKS_CHAIN, /* as in paper 004: last_proc, next_proc (nic/service_lock_chain.c) */
    SIM_LOCKS,
};
extern const char *const sim_locks_names[SIM_LOCKS];

/* CorePU's SEND/RECEIVE, for one context at each node. */
struct sim_message_config {
    uint32_t entries;       /* of SENDTBL, a power of two; 0: no messages are wanted */
    uint32_t send_bytes;    /* SB, a multiple of 8 */
    uint32_t receive_bytes; /* RB, a multiple of 8 */
    uint32_t bytes_max;     /* of a message: at most the MTU */
    uint64_t back_off_ns, resend_ns;
    bool asks_all; /* as in struct px_options */
    uint32_t ask_bytes;
};

struct sim_world_config {
    const struct sim_machine *machine;
    uint32_t node_count;
    enum sim_topology topology;
    struct sim_timeline *timeline; /* may be NULL */
    uint32_t user_count;           /* of a node; 0: 1 */
    bool services;                 /* CorePU's lock and barrier are wanted */
    enum sim_locks locks;          /* a node's users share one place in a chain */
    uint32_t lock_waiters;         /* lines for requests for locks; 0: as many as fit */
    bool core_programs;            /* CorePU runs a program: it is one more user of the NIC */
    struct sim_message_config messages;
    uint64_t seed;   /* of what gets lost */
    bool counts_use; /* sim_world_use and sim_world_load are wanted */
    /* Programs and engines are outside (outside.h); NULL: they are the world's own. */
    const struct sim_outside *outside;
};

/* NULL: no such world can be made; the error says why in one line. */
struct sim_world *sim_world_open(const struct sim_world_config *config,
                                 char error[SIM_ERROR_BYTES]);
void sim_world_close(struct sim_world *world);

/* Starts the program at `at_ps`. Its locals stay the caller's. */
void sim_world_start(struct sim_world *world, uint32_t node, uint32_t user, sim_program *program,
                     void *locals, uint64_t at_ps);

/* The same for the core processor's program. */
void sim_world_start_core(struct sim_world *world, uint32_t node, sim_program *program,
                          void *locals, uint64_t at_ps);

enum sim_end {
    SIM_END_DONE,     /* every program has ended, and nothing is under way */
    SIM_END_DEADLOCK, /* nothing is under way, and somebody waits */
    SIM_END_LIMIT,    /* virtual time is up */
};
enum sim_end sim_world_run(struct sim_world *world, uint64_t limit_ps);

/* Says in one line who waits where, after a run that did not end well. */
void sim_world_why(const struct sim_world *world, enum sim_end end, char text[SIM_ERROR_BYTES]);

uint64_t sim_world_now(const struct sim_world *world);

/* The largest body of a packet of such a machine. */
uint32_t sim_world_body_bytes_max(const struct sim_machine *machine);

/* The output that most packets have waited for. */
void sim_world_worst(const struct sim_world *world, struct sim_network_worst *worst);

/* Switches or routers that a packet goes through. */
uint32_t sim_world_hops(const struct sim_world *world, uint32_t source, uint32_t target);

/* Why sim_store_all cannot be used in this world, in a sentence; NULL: it can. */
const char *sim_world_multicast_refusal(const struct sim_world *world);

struct sim_world_counters {
    uint64_t events;
    uint64_t packets;
    uint64_t lost;    /* of these: see [link] loss_ppm */
    uint64_t resends; /* by links that repair what they damage */
    uint64_t header_misses, address_misses;
    uint64_t context_hits, context_misses; /* CD */
    uint64_t retransmissions, timeouts;
    uint64_t transmissions; /* CD: of packets with a body */
    uint64_t stop_and_wait; /* of these, by stop-and-wait */
    uint64_t cpu_misses;    /* of the hosts' own TLBs, by stores to kick pages */
    uint64_t refused;       /* operations that named no memory, or had no right there */
    uint64_t foreign;       /* of these: the memory was another group's */
    uint64_t unknown,
        unknown_dropped;    /* packets for CorePU; those that no program has a place for */
    uint64_t core_busy_ps;  /* of all core processors */
    uint64_t core_requests; /* that they took, TLB misses included */
    uint64_t bank_switches, bank_switch_ps;
    uint64_t bank_arrivals; /* blocks that came into a bank while the banks were switched */
};
void sim_world_counters(const struct sim_world *world, struct sim_world_counters *counters);

/* What has passed a stage of a node's NIC. */
struct sim_stage_use {
    uint64_t count;     /* packets; of the first two stages kicks */
    uint64_t inside_ps; /* their times in it, added up */
    uint64_t waited_ps; /* their times before it, for its clock and for those before them */
    uint64_t busy_ps;   /* while there was any in it; of the link, while any was under way */
    uint64_t until_ps;  /* the last one is out of it then */
};

/* What a node's NIC has done. Bytes are those on the link, with headers and padding. */
struct sim_nic_use {
    struct sim_stage_use stages[SIM_STAGES];
    uint64_t sent, sent_bytes, received, received_bytes; /* packets */
    uint64_t lost;                                       /* of those that it sent */
    uint64_t repeats;                                    /* CD: sent again */
    uint64_t header_lookups, header_misses;
    uint64_t address_lookups, address_misses;
    uint64_t context_lookups, context_misses; /* CD: by packets with a body */
    uint64_t core_requests, core_busy_ps;
    uint64_t dma_busy_ps;
    uint64_t under_way;       /* packets on their way from it now */
    uint64_t under_way_since; /* ps: when the first of them left */
};
void sim_world_use(const struct sim_world *world, uint32_t node, struct sim_nic_use *use);

/* What each output of the network has carried: see network.h. */
size_t sim_world_load_count(const struct sim_world *world);
void sim_world_load(const struct sim_world *world, size_t output, struct sim_network_load *load);

/* A user's host, so that the kernel's side can be set up before programs start. */
struct sim_host *sim_world_host(struct sim_world *world, uint32_t node, uint32_t user);

/* How long the node's hosts, or its core processor with its program, have been busy: sim_host's
 * busy_ps, and for the core processor also its handlers. */
uint64_t sim_world_busy(const struct sim_world *world, uint32_t node, bool core);
/* How many requests the node's core processor took. */
uint64_t sim_world_core_requests(const struct sim_world *world, uint32_t node);

/* The two state machines of a node's message context, which is open. */
struct px_sender;
struct px_receiver;
const struct px_sender *sim_world_message_sender(const struct sim_world *world, uint32_t node);
const struct px_receiver *sim_world_message_receiver(const struct sim_world *world, uint32_t node);

/* ---- Where each nanosecond goes ------------------------------------------------------- */

/* The way of one packet: when it entered and left each stage, equal for a stage it skipped. The
 * time between two stages was waiting (for an edge of the next clock, for the packet before). */
struct sim_passage {
    uint64_t from_ps[SIM_STAGES], to_ps[SIM_STAGES];
    uint64_t kicked_ps;  /* the host's store began */
    uint64_t visible_ps; /* the host's reads see it */
    uint64_t read_ps;    /* one of them begins to bring it */
    uint64_t seen_ps;    /* it has brought it */
};

/* The passage of the packet that last arrived in a node's memory. */
const struct sim_passage *sim_world_passage(const struct sim_world *world, uint32_t node);

#endif
