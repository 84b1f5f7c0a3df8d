/* The order: what a launcher wants of an agent, the tail of one frame. */
#ifndef CLI_REMOTE_ORDER_H
#define CLI_REMOTE_ORDER_H

#include "cli/remote/frame.h"

struct order {
    uint32_t node_count; /* of the whole group */
    uint32_t rank_first; /* the agent's own */
    uint32_t rank_count;
    struct group_sizes sizes;
    bool no_pin;
    uint64_t settings[FABRIC_OPTIONS_MAX]; /* of the fabric; the fabric checks them */
    struct fabric_contact contact;         /* of the agent's host; likewise */
    const char *fabric;
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

size_t remote_order_bytes(const struct order *order);
/* Writes remote_order_bytes. */
void remote_order_put(unsigned char *to, const struct order *order);
/* False: it makes no sense, or there is no memory. */
bool remote_order_take(const unsigned char *bytes, size_t length, struct order_read *read);
void remote_order_release(struct order_read *read);

#endif
