/* BOTF's windows: where a user's block stays from the call until it is in a packet.
 *
 * A user fills only the data, or a whole packet but for the PGID: that stands beside it, where the
 * NIC put it.
 *
 * A user that holds h windows gets another only while more than h are free. So nobody ever
 * takes all: alone a user gets half of them, k busy users get about 64 / (k + 1) each, and
 * one that holds none gets one whenever any is free. As windows come back, those that hold
 * few get them before those that hold many. A fixed share of 64 windows for 64 users would
 * be one each, however few of them send. */
#ifndef NIC_WINDOW_H
#define NIC_WINDOW_H

#include "nic/engine.h"

struct nic_window {
    uint32_t pgid; /* stamped when it is taken */
    uint32_t user;
    unsigned char data[NIC_BODY_BYTES_MIN];
};

struct nic_windows {
    uint64_t free; /* bit w: window w is drained */
    uint8_t held[NIC_USERS];
    struct nic_window *windows; /* NIC_WINDOWS */
};

/* `memory`: NIC_WINDOWS windows; one is written before it is read. */
void nic_window_init(struct nic_windows *windows, struct nic_window *memory);

/* Stamped with the user's group. DN_EFULL: none is free, or the user has its share. */
int nic_window_take(struct nic_windows *windows, uint32_t user, uint32_t pgid, uint32_t *window);

/* Its block is in a packet, or given up. */
void nic_window_give(struct nic_windows *windows, uint32_t window);

/* A window that somebody holds. */
struct nic_window *nic_window_at(struct nic_windows *windows, uint32_t window);

#endif
