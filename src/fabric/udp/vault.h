/* A vault: memory for secrets. Its pages are locked, so that they are never written to a disk; they
 * are in no core file and in no forked child, and unreadable pages lie before and behind them.
 *
 * It has pieces of one size. A piece is zero when it is taken and wiped when it is given back. */
#ifndef FABRIC_UDP_VAULT_H
#define FABRIC_UDP_VAULT_H

#include "base/base.h"

struct udp_vault {
    unsigned char *pages; /* NULL: not open */
    uint64_t bytes;
    uint64_t piece_bytes;
    uint32_t piece_count;
    uint32_t touched_count; /* pieces that were ever taken: the others' pages do not exist yet */
    uint64_t locked_bytes;  /* from the start; fewer than the touched ones: is_locked is false */
    bool is_locked;         /* the system's limit (RLIMIT_MEMLOCK) has allowed it so far */
    void *given;            /* a piece that was given back; its first word leads to the next one */
};

/* Makes room for so many pieces, each at the start of a cache line. DN_ENOMEM. */
int udp_vault_open(struct udp_vault *vault, uint64_t piece_bytes, uint32_t piece_count);
/* NULL: all are taken. A page is locked when its first piece is taken; where the system does not
 * allow that the piece is as good, but could be swapped out. */
void *udp_vault_take(struct udp_vault *vault);
void udp_vault_give(struct udp_vault *vault, void *piece);
/* Wipes everything; does nothing if it is not open. */
void udp_vault_close(struct udp_vault *vault);

#endif
