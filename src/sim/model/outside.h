/* Worlds whose programs and engines are outside: in processes (sim/program). The world has the
 * hosts' steps, the NICs' stages, CorePU and the network, and so decides when; what a packet does
 * to memory, and which packets a step makes, is decided outside.
 *
 * A step of such a host is one of those below, with the packets (parcels) that the engine outside
 * has made of it. They go out when the step's kick has come through the NIC's queue. */
#ifndef SIM_MODEL_OUTSIDE_H
#define SIM_MODEL_OUTSIDE_H

#include "sim/model/host.h"
#include "wire/turn.h"

/* A packet on its way from outside to outside: in an outbox, then in a flight. */
struct sim_parcel {
    struct sim_parcel *next;
    struct turn_packet head;
    uint32_t slot;  /* of the world's parcels */
    bool is_large;  /* of those for packets of any size */
    bool is_block;  /* it drains a window of its host */
    bool is_kicked; /* the times below are a kick's */
    uint64_t started_ps, come_ps, written_ps, queued_ps, ready_ps; /* as in struct sim_kick */
    unsigned char data[];
};

struct sim_parcels {
    struct sim_parcel *first, *last;
};

/* What such a world tells. */
struct sim_outside {
    void *context;
    /* A packet is in the node's memory now. False: there is nobody, and nothing is acknowledged. */
    bool (*arrived)(void *context, uint32_t node, const struct turn_packet *packet,
                    const unsigned char *data);
    /* The peer has carried out the packet with this number. */
    void (*acked)(void *context, uint32_t node, uint32_t peer, uint64_t number, uint64_t cookie);
    /* The moment of sim_outside_alarm has come. */
    void (*alarm)(void *context, uint32_t node);
    /* The moment of sim_outside_call has come; the value is as given there. */
    void (*called)(void *context, uint32_t node, uint64_t value);
    /* Before each event, with its time (UINT64_MAX: there is none). False: the run ends here. */
    bool (*goes_on)(void *context, uint64_t next_ps);
    /* The last parcel that waited to be sent is on its way. */
    void (*drained)(void *context, uint32_t node);
};

/* At most swif_packet_bytes(sim_world_body_bytes_max()) bytes. A parcel that was given with a step
 * is given back by the world; those that are left are so when it closes. */
struct sim_parcel *sim_parcel_make(struct sim_world *world, const struct turn_packet *head,
                                   const unsigned char *data);
void sim_parcels_add(struct sim_parcels *parcels, struct sim_parcel *parcel);
void sim_parcels_give(struct sim_world *world, struct sim_parcels *parcels);

/* ---- Steps: the host's program is called again when they are done ---------------------------- */

void sim_outside_store(struct sim_host *host, unsigned bytes, struct sim_parcels *parcels);
void sim_outside_block(struct sim_host *host, uint32_t bytes, struct sim_parcels *parcels);
void sim_outside_request(struct sim_host *host, unsigned words, struct sim_parcels *parcels);
void sim_outside_service(struct sim_host *host, struct sim_parcels *parcels);
/* A read of so many bytes of LLCM, or of the host's memory. */
void sim_outside_look(struct sim_host *host, unsigned bytes);
/* The read that finds what came at this moment, of reads in a row that began at `since_ps`. */
void sim_outside_found(struct sim_host *host, unsigned bytes, uint64_t since_ps);
/* The read that finds that the core processor has told the end of a service, which it does at this
 * moment or, if its request has yet to be served, then. UINT64_MAX: the host has not waited. */
void sim_outside_told(struct sim_host *host, unsigned bytes, uint64_t since_ps);

/* ---- No steps -------------------------------------------------------------------------------- */

/* The NIC sends these by itself. */
void sim_outside_send(struct sim_world *world, uint32_t node, struct sim_parcels *parcels);
/* The engine outside has something to do then; UINT64_MAX: no more. Only the last one counts. */
void sim_outside_alarm(struct sim_world *world, uint32_t node, uint64_t at_ns);
void sim_outside_call(struct sim_world *world, uint32_t node, uint64_t at_ps, uint64_t value);
/* The host's program goes on at this moment, which it does not do by itself. */
void sim_outside_go_on(struct sim_world *world, uint32_t node);
/* The host's program has ended, though it is not called. */
void sim_outside_end(struct sim_world *world, uint32_t node);

#endif
