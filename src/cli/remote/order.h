/* The order: what a launcher wants of an agent, the tail of one frame; and addresses, as
 * frames carry them. */
#ifndef CLI_REMOTE_ORDER_H
#define CLI_REMOTE_ORDER_H

#include "cli/remote/frame.h"
#include "fabric/udp/roster.h"

struct order {
    uint32_t node_count; /* of the whole group */
    uint32_t rank_first; /* the agent's own */
    uint32_t rank_count;
    struct group_sizes sizes;
    uint32_t pgid;
    uint64_t peer_timeout_ns;
    bool encrypt;
    bool no_pin;
    uint16_t port;             /* of node 0; 0: any */
    uint16_t relay_port;       /* 0: none */
    union udp_address address; /* of the agent's host; its port does not matter */
    unsigned char secret[UDP_SECRET_BYTES];
    const char *command;      /* who speaks in messages */
    const char *group_id;     /* the same for all nodes */
    const char *host_id;      /* this host's in the group */
    const char *folder;       /* to work in */
    char *const *argv;        /* NULL ends it; at least one */
    char *const *environment; /* "NAME=VALUE", NULL ends it */
};

/* An order taken apart, with the memory that its words lie in. */
struct order_read {
    struct order order;
    char *text;
    char **lists;
};

size_t order_bytes(const struct order *order);
/* Writes order_bytes. */
void order_put(unsigned char *to, const struct order *order);
/* False: it makes no sense, or there is no memory. */
bool order_take(const unsigned char *bytes, size_t length, struct order_read *read);
/* Wipes the secret, too. */
void order_release(struct order_read *read);

/* FRAME_ADDRESS_BYTES each. */
void order_put_address(unsigned char *to, const union udp_address *address);
/* False: of neither IPv4 nor IPv6. */
bool order_take_address(const unsigned char *from, union udp_address *address);

#endif
