/* Swifs on a well-behaved network, for studies: a link from each node to one switch, a
 * port with a finite buffer from the switch to each node, and random loss if wanted.
 *
 * As with a NIC, a node is asked for its next packet when its link is free. */
#ifndef SIM_STORM_STUDY_NET_H
#define SIM_STORM_STUDY_NET_H

#include "base/random.h"
#include "sim/event.h"
#include "sim/storm/packets.h"
#include "sim/storm/study.h"
#include "swif/swif.h"

struct study_net;

struct study_node {
    struct study_net *net;
    uint16_t number;
    struct swif *swif; /* NULL: the node is not there */
    void *memory;
    struct swif_client client;
    uint32_t leaving; /* the slot of the packet on the link, while it is busy */
    bool link_is_busy;
    uint64_t port_free_ns; /* of the switch's port to this node */
    uint64_t timer_ns;
    uint64_t timer_generation;
    uint64_t delivered_count;                    /* bodies */
    uint64_t appended_count, acknowledged_count; /* with a cookie */
    uint64_t *delivered_from;                    /* bytes by source, or NULL */
};

struct study_net {
    uint32_t node_count;
    struct study_node *nodes;
    struct sim_events events;
    struct sim_slots packets; /* of struct sim_packet */
    struct base_random random;
    uint64_t now_ns;
    uint64_t bits_per_s; /* of links and ports */
    uint64_t latency_ns; /* one way */
    uint64_t port_bytes; /* that may wait for a port; more is dropped */
    uint32_t loss_ppm;
    uint64_t port_drops;
    /* Called before a node is asked for packets; appends what the node has to send. */
    void (*feed)(struct study_node *node);
    void *context;
};

/* A network without nodes. */
void study_net_init(struct study_net *net, uint32_t node_count);
void study_net_free(struct study_net *net);

/* Adds a node; the config's node is the number, group and incarnation are filled in. */
void study_net_add(struct study_net *net, uint16_t number, const struct swif_config *config);

/* Lets a node act now; each sender needs this once, to begin. */
void study_net_start(struct study_net *net, uint16_t number);

void study_net_run(struct study_net *net, uint64_t until_ns);
/* Runs until that many more of the node's operations with a cookie have been acknowledged. */
void study_net_run_operations(struct study_net *net, const struct study_node *node, uint64_t count);

/* Makes two nodes known to each other, as a launcher would. */
void study_net_introduce(struct study_net *net, uint16_t one, uint16_t other);

/* Appends a body of one PUSH to the target, with as much data as fits in `bytes`. Returns as
 * swif_append. */
int study_append(struct study_node *node, uint16_t target, uint32_t bytes, uint64_t cookie);

/* The studies of study_state.c; false: a bar was missed. */
bool storm_study_cache(const struct storm_printer *printer);
bool storm_study_state(const struct storm_printer *printer);

#endif
