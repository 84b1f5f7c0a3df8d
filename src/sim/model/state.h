/* The world's insides, shared by the files of this folder.
 *
 *     world.c     set-up, the loop, reports
 *     host.c      steps of programs
 *     kick.c      from the host's bus into the transaction FIFO
 *     send.c      from the FIFO to the link; the stages
 *     receive.c   from the link into memory
 *     carrier.c   what lies between NIC and link: nothing (plain, ud) or InfiniSWIF (cd)
 *     core.c      the core processor; interrupt.c: what it is interrupted by
 *     bank.c      the SO-DIMM banks
 *     message.c   paper 004's SEND/RECEIVE
 *     dma.c       between NIC and memory
 *     protect.c   groups, regions, the CPU's TLB
 *     outside.c   steps and packets of engines that are not the world's own
 *     expect.c    prefetching what the next events need
 *
 * A flight is a packet under way. It belongs to the stage it is in or, between LINK and the
 * receive stages, to the network; it is given back when the last target has taken it. */
#ifndef SIM_MODEL_STATE_H
#define SIM_MODEL_STATE_H

#include "base/random.h"
#include "board/board.h"
#include "nic/message_protocol.h"
#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/model/interrupt.h"
#include "sim/model/outside.h"
#include "sim/lru.h"
#include "sim/slots.h"

enum sim_event_kind {
    SIM_EVENT_HOST,     /* subject: host; its program goes on */
    SIM_EVENT_SAMPLE,   /* subject: host; value: which; a poll's read that may find something */
    SIM_EVENT_KICK,     /* subject: kick; value: enum sim_kick_phase */
    SIM_EVENT_PUMP,     /* subject: node; something may be sent */
    SIM_EVENT_STAGE,    /* subject: flight; value: the stage it enters */
    SIM_EVENT_LEFT,     /* subject: node; value: flight, number << 32; its head is on the link */
    SIM_EVENT_NETWORK,  /* the network's own */
    SIM_EVENT_RECEIVED, /* subject: node; value: flight; it is through the receive stages */
    SIM_EVENT_CARRY,    /* subject: node; value: flight; CorePU has served it, or it is visible */
    SIM_EVENT_TIMER,    /* subject: node; value: which setting of the timer */
    SIM_EVENT_CORE,     /* subject: node; value: enum sim_core_moment */
    SIM_EVENT_OUTSIDE,  /* subject: node; value: as given to sim_outside_call */
};

/* The areas that remote nodes may name; those of regions begin with SIM_AREA_REGION. */
enum { SIM_AREA_LLCM = 1, SIM_AREA_BANK = 2, SIM_AREA_REGION = 3 };

/* The group of a user that has joined none; LLCM as a whole and the banks are its. */
enum { SIM_PGID = 1 };

/* A part of LLCM that only one group may reach. */
struct sim_region {
    uint64_t offset, bytes;
    uint32_t pgid;
};

enum sim_kick_kind {
    SIM_KICK_AOTF,
    SIM_KICK_MULTICAST,
    SIM_KICK_BOTF,
    SIM_KICK_PACKET, /* BOTF with a packet of the user's own */
    SIM_KICK_PUSH,
    SIM_KICK_PULL,
    SIM_KICK_LOCAL, /* into the node's own LLCM */
    SIM_KICK_QUIET, /* what follows waits until all before is acknowledged */
    /* Of programs outside; the parcels are what their engines made of it. */
    SIM_KICK_STORE_OUTSIDE,
    SIM_KICK_BLOCK_OUTSIDE,
    SIM_KICK_REQUEST_OUTSIDE,
    SIM_KICK_BARRIER,
    SIM_KICK_LOCK,
    SIM_KICK_UNLOCK,
    SIM_KICK_SEND,
    SIM_KICK_READ, /* the host has read a message */
    SIM_KICK_SERVICE_OUTSIDE,
};

enum sim_kick_phase {
    SIM_KICK_COMES,   /* from the host's bus into HOST_WRITE */
    SIM_KICK_WRITTEN, /* through HOST_WRITE, and meant for CorePU */
    SIM_KICK_READY,   /* through the transaction queue and all before it */
};

/* What a host has stored to the NIC and the NIC has not taken in yet. */
struct sim_kick {
    uint64_t free; /* the slots' own while it is not taken */
    enum sim_kick_kind kind;
    uint32_t host;
    uint32_t next;         /* in its list, behind this one; UINT32_MAX: none */
    uint32_t first, count; /* MULTICAST: the nodes */
    uint64_t started_ps;   /* the CPU's write began */
    uint64_t come_ps;      /* into HOST_WRITE */
    uint64_t written_ps;   /* out of it */
    uint64_t queued_ps;    /* into TRANSACTION_QUEUE */
    uint64_t ready_ps;     /* and out of that */
    /* AOTF, MULTICAST: kick address; LOCAL: offset; BARRIER: team; LOCK: name; UNLOCK: ticket;
     * SEND: entry */
    uint64_t address;
    uint64_t value; /* AOTF, LOCAL; LOCK: the manager */
    uint64_t bytes;
    struct dn_remote remote; /* AOTF, MULTICAST: only its rank */
    unsigned char *local;
    uint32_t block;   /* BOTF: the slot of what was written into the window */
    uint64_t *ticket; /* LOCK: where it goes */
    struct sim_parcels parcels;
};

enum sim_core_moment {
    SIM_CORE_DONE, /* the task is done */
    SIM_CORE_NEXT, /* and so is all that it set off */
};

/* A request that waits for the core processor, or is being served. */
struct sim_task {
    uint64_t free;    /* the slots' own while it is not taken */
    uint64_t packet;  /* for traces */
    uint32_t next;    /* in its list, behind this one; UINT32_MAX: none */
    uint32_t subject; /* KICK: the kick; PACKET: the flight */
    uint32_t words;   /* PACKET: of its data */
    uint8_t request;  /* enum sim_request */
};

/* Tasks in a row, by their slots. */
struct sim_task_list {
    uint32_t first, last; /* UINT32_MAX: empty */
};

/* A flight takes three cache lines, since many thousands may be under way. What only some need
 * lies elsewhere: the passage, and room for a large packet. */
enum { SIM_FLIGHT_SMALL_BYTES = 72, SIM_FLIGHT_BYTES = 3 * CACHE_LINE_BYTES };

struct sim_flight {
    uint64_t free;           /* the slots' own while it is not taken */
    uint32_t source, target; /* target: the first of them */
    uint32_t target_count;   /* more than 1: multicast */
    uint32_t copies;         /* not yet taken by their targets */
    uint32_t node;           /* whose stage it is in */
    uint32_t words;          /* as the papers count a packet */
    uint32_t bytes;          /* of data */
    uint32_t data_bytes;     /* as the machine counts the payload */
    uint32_t host;           /* BOTF: whose window it drains; UINT32_MAX: nobody's */
    uint32_t pgid;           /* plain: of the user that sends; CD packets are all of one group */
    enum wire_class class : 8;
    uint8_t channel;
    bool is_service;  /* CorePU's to carry out */
    bool is_message;  /* and its data come and go by DMA */
    bool writes;      /* into memory that hosts read */
    bool is_tagged;   /* plain: a kick made it */
    bool is_unknown;  /* plain: CorePU's, since nobody else knows it */
    bool is_cd;       /* the bytes are a whole CD packet, else a body */
    bool is_repeat;   /* CD: it was sent before */
    bool context_hit; /* CD */
    bool is_stopped;  /* its router takes no line of it yet */
    bool has_left;    /* and its source knows it */
    bool is_ack;      /* of an engine outside: its packet has been carried out */
    uint16_t stores;  /* whose headers it looks up */
    uint16_t header_misses;
    uint32_t area; /* not 0: the receiver must look it up */
    uint64_t cookie;
    struct sim_parcel *parcels;  /* of an engine outside: what it carries; else NULL */
    uint64_t number;             /* for traces */
    struct sim_passage *passage; /* NULL: not kept */
    unsigned char *data;         /* `small`, or the body's, or the first parcel's */
    uint32_t body;               /* of the world's bodies; UINT32_MAX: none, the packet is small */
    unsigned char small[SIM_FLIGHT_SMALL_BYTES];
};
_Static_assert(sizeof(struct sim_flight) <= SIM_FLIGHT_BYTES, "a flight fills whole lines");

struct sim_node {
    struct sim_world *world;
    uint32_t number;
    uint32_t first_host, host_count; /* of the world's hosts */
    struct nic_engine *engine;
    struct nic_services *services; /* NULL: none wanted */
    struct board *board;           /* CD */
    unsigned char *memory;
    uint64_t stage_free_ps[SIM_STAGES]; /* no flight enters the stage before this */
    uint64_t stage_out_ps[SIM_STAGES];  /* none leaves before this: they keep their order */
    uint64_t launched_ps; /* CD: when its last packet began its way; in place: was carried */
    uint32_t network_bank;              /* 0 or 1: the one that faces the network */
    uint64_t core_free_ps;
    uint64_t core_busy_ps;  /* its work so far */
    uint64_t core_requests; /* that it took */
    uint32_t core_task;     /* the one that is served; UINT32_MAX: none */
    uint32_t core_pending;  /* requests that wait, a bit for each enum sim_request */
    bool core_goes_on;      /* SIM_CORE_NEXT is due */
    struct sim_task_list core_queue[SIM_INTERRUPTS];
    uint64_t dma_free_ps;
    uint64_t dma_writes; /* so far */
    uint64_t pump_ps;    /* when a pump is due; UINT64_MAX: none is */
    uint64_t timer_ps;
    uint64_t timer_setting;
    struct sim_kick_list recorded; /* kicks whose records no packet has taken along yet */
    uint32_t made;           /* plain: the flight that the engine has just made; UINT32_MAX: none */
    bool may_make;           /* plain: the engine may make one */
    bool stirred;            /* CD: something happened since the board had nothing to send */
    uint32_t sending;        /* flights between header TLB and link */
    uint32_t waiting;        /* kicks of its hosts that found no room in the FIFO */
    uint32_t retry_first;    /* only grows; says whose kicks are retried first */
    uint64_t appended, left; /* plain: requests given to the network, and gone */
    uint64_t header_misses;  /* already charged to flights */
    uint64_t context_misses; /* CD: the same */
    uint64_t retransmissions;    /* CD: as of the last packet */
    struct sim_passage *passage; /* of the last packet into memory; NULL in large worlds */
    struct sim_lru *chip;        /* CD, contexts kept elsewhere: those on the chip; else NULL */
    uint64_t fetches;            /* of contexts onto it */
    struct sim_region *regions;  /* of LLCM, that belong to groups; NULL: none yet */
    uint32_t region_count;
    uint64_t unknown_dropped;      /* unknown packets for which no program has a place */
    uint32_t bank_switcher;        /* 1 + the user that is switching the banks; 0: nobody is */
    uint64_t bank_over_ps;         /* when that switch is over */
    uint64_t bank_switches;        /* ended */
    uint64_t bank_switch_ps;       /* their time */
    uint64_t bank_arrivals;        /* blocks that came into a bank during a switch */
    struct sim_messages *messages; /* NULL: no context is open */
    struct sim_parcels outbox;     /* of an engine outside: packets to be sent */
    struct sim_lru *addresses;     /* of an engine outside: the address TLB; NULL: empty */
    uint64_t address_misses;       /* of it */
    struct sim_nic_use *use;       /* NULL: not counted */
    uint32_t services_due;         /* of an engine outside: requests to CorePU, not yet served */
    uint32_t told_bytes;           /* its host waits for their end; 0: it does not */
    uint64_t told_since_ps;        /* and has done so since then */
};

/* A store, an acknowledgement or a short message of an engine outside has room in so much. */
enum { SIM_PARCEL_SMALL_BYTES = 168 };

struct sim_world {
    struct sim_world_config config;
    const struct sim_machine *machine;
    uint64_t period_ps[SIM_CLOCKS];
    uint64_t bus_ps;  /* of the host's bus */
    uint64_t core_ps; /* of CorePU */
    bool stage_is_there[SIM_STAGES];
    bool swif_is_slow;
    bool is_large;              /* its state fits into no cache */
    uint64_t core_send_lead_ps; /* of the stages from the header TLB to CORE_SEND */
    uint64_t now_ps;
    uint64_t event_count;
    uint64_t packet_count;
    uint64_t lost_count;       /* of these */
    struct base_random chance; /* which ones get lost */
    struct sim_events events;
    struct sim_network *network;
    struct sim_slots kicks;
    struct sim_slots blocks;  /* of WIRE_BOTF_BYTES_MAX */
    struct sim_slots flights; /* each followed by its passage, where passages are kept */
    struct sim_slots bodies;  /* packets that are too large for their flight */
    struct sim_slots tasks;   /* of the core processors */
    /* Of engines outside: small ones, and of any size. */
    struct sim_slots parcels[2];
    struct sim_interrupts interrupts;
    bool keeps_passages;
    struct sim_node *nodes;
    struct sim_host *hosts;
    uint32_t host_count;
    uint32_t running;   /* programs started and not ended */
    uint32_t pumps_due; /* nodes whose pump is due */
    uint32_t body_bytes_max;
    uint64_t memory_bytes; /* of a node: LLCM and both banks */
    /* All nodes' state: first, packed, the parts of engine and services that nearly every event
     * touches (near), then memory, their tables, boards. */
    unsigned char *space;
    uint64_t space_bytes;
    uint64_t near_bytes; /* of one node */
};

static inline uint64_t sim_now_ns(const struct sim_world *world)
{
    return world->now_ps / SIM_PS_PER_NS;
}

static inline struct sim_node *sim_node_of(const struct sim_host *host)
{
    return &host->world->nodes[host->node];
}

static inline struct sim_flight *sim_flight_at(const struct sim_world *world, uint32_t flight)
{
    return sim_slots_at(&world->flights, flight);
}

/* Notes when the flight was in a stage. */
static inline void sim_flight_note(struct sim_flight *flight, unsigned stage, uint64_t from_ps,
                                   uint64_t to_ps)
{
    if (flight->passage) {
        flight->passage->from_ps[stage] = from_ps;
        flight->passage->to_ps[stage] = to_ps;
    }
}

/* Counts a passage through a stage for reports: it came at `come_ps`, and was inside from then to
 * then. Of each stage they are told in the order in which they begin. */
static inline void sim_use_note(const struct sim_node *node, unsigned stage, uint64_t come_ps,
                                uint64_t from_ps, uint64_t to_ps)
{
    if (node->use) {
        struct sim_stage_use *use = &node->use->stages[stage];
        uint64_t alone_ps = from_ps > use->until_ps ? from_ps : use->until_ps;
        use->count++;
        use->inside_ps += to_ps - from_ps;
        use->waited_ps += from_ps - come_ps;
        if (to_ps > alone_ps) {
            use->busy_ps += to_ps - alone_ps;
            use->until_ps = to_ps;
        }
    }
}

static inline void sim_put(struct sim_world *world, uint64_t at_ps, enum sim_event_kind kind,
                           uint32_t subject, uint64_t value)
{
    sim_events_put(&world->events, at_ps, kind, subject, value);
}

/* ---- host.c ------------------------------------------------------------------------------- */

void sim_host_event(struct sim_world *world, struct sim_host *host);
/* How long the CPU takes for a write of so many bytes. */
uint64_t sim_host_write_ps(const struct sim_host *host, unsigned bytes);
/* From one of a poll's reads to the next; *read_ps: how long the one that finds something takes. */
uint64_t sim_host_poll_period_ps(const struct sim_host *host, unsigned bytes, uint64_t *read_ps);
/* When the host can read that a request is done, which it is now; CorePU may have to tell it. */
uint64_t sim_host_told_ps(struct sim_host *host, bool by_core);
/* The host writes the kick's bytes into a window as soon as it knows of a free one. */
void sim_host_ask_for_window(struct sim_host *host, const struct sim_kick *kick);
/* Ends a step of the program, whose name is for traces: the program goes on at that time. */
void sim_host_go_on(struct sim_host *host, const char *what, uint64_t at_ps);
/* The host begins to read something of the NIC's again and again. */
void sim_host_poll(struct sim_host *host, unsigned kind, uint64_t period_ps);
/* The host stores to the NIC; its write begins at that time. */
void sim_host_kick(struct sim_host *host, uint64_t at_ps, const struct sim_kick *kick);
void sim_host_sample(struct sim_world *world, struct sim_host *host, uint64_t number);
/* New bytes in the node's memory are visible to its hosts. */
void sim_hosts_see(struct sim_world *world, struct sim_node *node, uint64_t offset, uint64_t bytes);
/* A completion may have been finished. */
void sim_hosts_look(struct sim_world *world, struct sim_node *node);
/* A BOTF window has been drained. */
void sim_host_window_drained(struct sim_world *world, uint32_t host);

/* ---- protect.c ---------------------------------------------------------------------------- */

/* An area's place; DN_EAREA: there is none. */
int sim_region_find(const struct sim_node *node, uint32_t area, struct nic_extent *extent);
/* CorePU has got a packet that nobody knows. */
void sim_unknown_arrived(void *context, uint16_t source, uint32_t pgid, const unsigned char *body,
                         uint32_t bytes);
/* How long the CPU's TLB holds up a store to this kick address. */
uint64_t sim_cpu_tlb_ps(struct sim_host *host, uint64_t kick_address);

/* ---- bank.c ------------------------------------------------------------------------------- */

/* The host's step is over: if it was a switch or a copy, now it happens. */
void sim_bank_step_done(struct sim_host *host);
/* How long the CPU copies so many bytes. */
uint64_t sim_copy_ps(const struct sim_world *world, uint64_t bytes);

/* ---- message.c ---------------------------------------------------------------------------- */

void sim_messages_free(struct sim_node *node);
/* When what a host polls for holds, or will hold; UINT64_MAX: it does not. */
uint64_t sim_message_poll_ps(const struct sim_host *host);
/* A read of that kind, which ends at that time, has found it. */
void sim_message_polled(struct sim_host *host, unsigned kind, uint64_t done_ps);
/* Whether CorePU has to do something about the room that a host has made. */
bool sim_message_stirs_core(const struct sim_node *node);
/* A SEND or READ has come to the NIC. */
void sim_message_kicked(struct sim_node *node, const struct sim_kick *kick);

/* ---- dma.c -------------------------------------------------------------------------------- */

/* What programs read is host memory, and the NIC reaches it by DMA. */
static inline bool sim_is_card(const struct sim_world *world)
{
    return world->machine->dma_word_cycles > 0;
}
/* Both begin as soon as DMA is free and not before `from_ps`, and give when the last word has
 * moved; *first_ps: when the first one has come. */
uint64_t sim_dma_write(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                       uint64_t bytes);
uint64_t sim_dma_read(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                      uint64_t bytes, uint64_t *first_ps);

/* ---- kick.c ------------------------------------------------------------------------------- */

void sim_kick_event(struct sim_world *world, uint32_t kick, enum sim_kick_phase phase);
/* CorePU has served the kick, before anything is sent. */
void sim_kick_served(struct sim_world *world, uint32_t kick);
/* There may be room for waiting kicks. */
void sim_kicks_retry(struct sim_world *world, struct sim_node *node);
/* The engine of a node (the context) has made a record of the kick that the route's tag names. */
void sim_kick_recorded(void *context, const struct wire_route *route);
/* Finds the kick of the flight's next store or block, ends that kick and says what it was. Records
 * to one target on one channel leave in the order in which they were made. */
enum sim_kick_kind sim_kick_claim(struct sim_world *world, struct sim_node *node,
                                  struct sim_flight *flight);

/* ---- send.c ------------------------------------------------------------------------------- */

void sim_pump_event(struct sim_world *world, struct sim_node *node);
/* Puts a pump at `at_ps`, unless one is due before. */
void sim_pump_at(struct sim_world *world, struct sim_node *node, uint64_t at_ps);
/* The flight enters that stage; SIM_STAGES: it was just made and enters its first one. */
void sim_stage_event(struct sim_world *world, uint32_t flight, unsigned stage);
/* For traces: the flight's time in a stage of the node. */
void sim_stage_show(const struct sim_world *world, const struct sim_node *node,
                    enum sim_stage_name stage, const struct sim_flight *flight);
/* The flight's head is on the link. */
void sim_left_event(struct sim_world *world, struct sim_node *node, uint64_t value);
/* It arrives. When it would leave was a guess: over routers a short packet may pass a long one that
 * is stopped, and arrive before. */
void sim_left_early(struct sim_world *world, struct sim_flight *flight);
/* What the flight is on the link, with headers and padding. */
uint32_t sim_flight_link_bytes(const struct sim_world *world, const struct sim_flight *flight);
/* The network's sim_network_user.left. */
void sim_left(void *context, uint32_t source, uint32_t flight);

/* ---- receive.c ---------------------------------------------------------------------------- */

void sim_arrived(void *context, uint64_t at_ps, uint32_t node, uint32_t flight);
/* The flight is through the receive stages; CorePU, the host's port and memory follow. */
void sim_receive_stages_done(struct sim_world *world, struct sim_node *node, uint32_t flight,
                             uint64_t at_ps);
void sim_carry_event(struct sim_world *world, struct sim_node *node, uint32_t flight);
/* CorePU has served the flight. */
void sim_receive_served(struct sim_world *world, struct sim_node *node, uint32_t flight);

/* ---- carrier.c ---------------------------------------------------------------------------- */

/* Bytes of one node's engine, services and board without the near ones; 0: the machine makes no
 * sense, and the error says why. */
uint64_t sim_carrier_bytes(const struct sim_world *world, char error[SIM_ERROR_BYTES]);
/* The near bytes of a node: nearly every event of the node touches them. */
uint64_t sim_carrier_near_bytes(const struct sim_world *world);
void sim_carrier_init(struct sim_world *world, struct sim_node *node, unsigned char *near,
                      unsigned char *space);
/* Takes a flight for the node, with room for that many bytes and nothing else set. */
struct sim_flight *sim_flight_take(struct sim_world *world, const struct sim_node *node,
                                   uint32_t bytes, uint32_t *slot);
void sim_flight_give(struct sim_world *world, uint32_t slot);
/* The next flight that the NIC can send now; UINT32_MAX: none. */
uint32_t sim_carrier_next(struct sim_world *world, struct sim_node *node);
bool sim_carrier_has_work(const struct sim_node *node);
/* Nothing that it sent may have been lost without being noticed: CD has it acknowledged. */
bool sim_carrier_is_settled(const struct sim_node *node);
/* Carries the flight out on the node's memory. */
void sim_carrier_deliver(struct sim_world *world, struct sim_node *node, struct sim_flight *flight);
/* The flight is on the link. */
void sim_carrier_left(struct sim_world *world, struct sim_node *node, struct sim_flight *flight);
void sim_carrier_set_timer(struct sim_world *world, struct sim_node *node);
/* Tells the two nodes of each other. */
void sim_carrier_introduce(struct sim_world *world, uint32_t one, uint32_t other);

/* ---- outside.c ---------------------------------------------------------------------------- */

/* The kick of a program outside has come through the queue: its parcels can be sent. */
void sim_outside_kicked(struct sim_world *world, struct sim_node *node, struct sim_kick *kick);
/* In place: carries the parcels to their nodes, at that moment or, for records of services,
 * later. */
void sim_in_place_carry(struct sim_world *world, struct sim_node *node,
                        struct sim_parcels *parcels, uint64_t at_ps);
/* The flight of one parcel. */
uint32_t sim_outside_flight(struct sim_world *world, struct sim_node *node,
                            struct sim_parcel *parcel);
/* The next flight of an engine outside; UINT32_MAX: none. */
uint32_t sim_outside_next(struct sim_world *world, struct sim_node *node);
void sim_outside_deliver(struct sim_world *world, struct sim_node *node, struct sim_flight *flight);
/* Whether the address TLB had to be refilled for the area. */
bool sim_outside_recalls(struct sim_node *node, uint32_t area);

/* ---- expect.c ----------------------------------------------------------------------------- */

/* Prefetches what coming events need; call it as each event is taken. */
void sim_expect(const struct sim_world *world);

/* ---- core.c ------------------------------------------------------------------------------- */

/* CorePU works for `cycles` of its clock, as soon as what it does now is done and not before
 * `from_ps`. Returns when it is done. */
uint64_t sim_core_work(struct sim_world *world, struct sim_node *node, const char *what,
                       uint64_t from_ps, uint64_t cycles, uint64_t packet);
/* Asks CorePU to serve a kick or a packet with that many words of data. */
void sim_core_request(struct sim_world *world, struct sim_node *node, enum sim_request request,
                      uint32_t subject, uint32_t words, uint64_t packet);
void sim_core_event(struct sim_world *world, struct sim_node *node, enum sim_core_moment moment);
/* A TLB missed at `from_ps`; returns when host or CorePU has refilled it. */
uint64_t sim_refill(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                    uint64_t packet);

#endif
