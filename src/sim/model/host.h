/* Programs of a simulated host: what the papers' authors wrote in C, as steps that take
 * virtual time.
 *
 *     static void ping(struct sim_host *host)
 *     {
 *         struct ping *mine = host->locals;
 *         SIM_BEGIN(host);
 *         for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
 *             SIM_STEP(host, sim_store(host, mine->kick, mine->round, 4));
 *             SIM_STEP(host, sim_poll(host, 0, 4, UINT32_MAX, mine->round));
 *         }
 *         SIM_END(host);
 *     }
 *
 * A step starts one operation and returns; when the operation is done the program is called
 * again and goes on behind the step. So keep locals that live across steps in host->locals, write
 * one SIM_STEP to a line, and none inside a switch.
 *
 * The core processor can run a program, too (sim_world_start_core): stores, loads, polls and work,
 * each at its own cost and without the host's bus. Its handlers of interrupts go first. */
#ifndef SIM_MODEL_HOST_H
#define SIM_MODEL_HOST_H

#include "nic/engine.h"
#include "nic/services.h"
#include "sim/model/world.h"

/* Kicks in a row, by their slots. */
struct sim_kick_list {
    uint32_t first, last; /* UINT32_MAX: empty */
};

/* Between a host's memory and the bank that faces it. */
struct sim_bank_copy {
    void *into;       /* NULL: it is a write */
    const void *from; /* of a write */
    uint64_t offset;
    uint64_t bytes;    /* 0: none is under way */
    uint64_t switches; /* of the node's banks, when it began */
};

/* A word of LLCM that sim_poll_any reads. */
struct sim_poll_word {
    uint64_t offset; /* of 8 bytes */
    uint64_t seen;   /* what the program knows to be there */
};

/* The host's copy of what is free for sending, and the step that is under way. */
struct sim_message_step {
    uint64_t entry_tail, buffer_tail; /* of SENDTBL and SB, as last read */
    uint32_t peer;                    /* the node that is sent to, or was received from */
    uint32_t bytes;                   /* to send, or received */
    const void *data;
    void *into;
};

struct sim_lru;

struct sim_host {
    struct sim_world *world;
    uint32_t node;
    uint32_t user;
    sim_program *program; /* NULL: none was started */
    void *locals;
    uint32_t line; /* of the program: where it goes on; 0: at its beginning */
    bool ended;
    uint64_t now_ps;        /* while the program runs */
    uint64_t value;         /* what the last load or poll brought */
    int result;             /* of the last operation that can fail: 0 or DN_E... */
    bool is_core;           /* this is the core processor, not the host's CPU */
    uint64_t poll_pause_ps; /* the program may set it: it computes so long between a poll's reads */
    /* Time of its steps, without sim_compute and without a poll's reads that found nothing. */
    uint64_t busy_ps;

    /* The simulator's own from here on. */
    enum {
        SIM_NO_POLL,
        SIM_POLL_WORD,
        SIM_POLL_ANY,
        SIM_POLL_COMPLETION,
        SIM_POLL_WINDOW,
        SIM_POLL_SEND_ROOM,
        SIM_POLL_SENT,
        SIM_POLL_MESSAGE,
    } polls;
    bool sample_is_due;
    bool is_served; /* the completion is CorePU's */
    unsigned poll_bytes;
    uint64_t poll_offset, poll_mask, poll_wanted;
    uint64_t poll_start_ps;  /* of the first read */
    uint64_t poll_read_ps;   /* the read that finds what it waits for */
    uint64_t poll_period_ps; /* from the start of a read to the start of the next */
    uint64_t sample_number;  /* of the sample that is due; one with another number is not */
    uint64_t sample_ps;      /* when it is */
    struct sim_poll_word *poll_words; /* ANY: read in turn */
    uint32_t poll_word_count, poll_found;
    uint64_t dma_seen; /* a card: the node's DMA writes when host memory was last read */
    struct nic_completion completion;
    uint32_t windows_free; /* BOTF windows that this host knows to be free */
    uint32_t windows_in_nic;
    uint32_t block_kick; /* the BOTF that waits for a window */
    bool is_asleep;      /* it polls nothing, and waits for PEMM's interrupt */
    uint32_t pgid;
    uint32_t kick_pages; /* open */
    struct sim_lru *tlb; /* the CPU's, of kick pages; NULL: they all fit */
    uint64_t tlb_misses;
    struct nic_completion *quiets; /* of sim_serialise, in turn; NULL: none yet */
    uint32_t quiet_count;
    uint64_t mailbox; /* where unknown packets go; mailbox_bytes 0: nowhere */
    uint64_t mailbox_bytes;
    struct sim_bank_copy copy;
    struct sim_message_step message;
    struct sim_kick_list waiting; /* at the NIC, for room in the transaction FIFO */
};

#define SIM_BEGIN(host)     \
    switch ((host)->line) { \
    case 0:
#define SIM_STEP(host, operation) \
    do {                          \
        (host)->line = __LINE__;  \
        operation;                \
        return;                   \
    case __LINE__:;               \
    } while (false)
/* The program ends here. */
#define SIM_LEAVE(host)       \
    do {                      \
        (host)->ended = true; \
        return;               \
    } while (false)
#define SIM_END(host)     \
    (host)->ended = true; \
    }

/* The CPU works for the communication; or computes something else meanwhile. */
void sim_work(struct sim_host *host, uint64_t ps);
void sim_compute(struct sim_host *host, uint64_t ps);

/* ---- The kernel's side: takes no time ---------------------------------------------------- */

/* Opens a kick page, with physical addresses, on the remote node's LLCM; the offset is a multiple
 * of 4,096. */
uint64_t sim_kick(struct sim_host *host, uint32_t remote_node, uint64_t offset);
/* This node's LLCM, and that one of its banks that faces the host. */
void *sim_memory(struct sim_host *host, uint64_t offset);
void *sim_bank(struct sim_host *host, uint64_t offset);
/* The same on a remote node, for operations other than stores; the bank is the one that faces
 * the network when the packet arrives. */
struct dn_remote sim_remote(uint32_t remote_node, uint64_t offset);
struct dn_remote sim_remote_bank(uint32_t remote_node, uint64_t offset);

/* ---- Groups: the kernel's side, too ------------------------------------------------------ */

/* The host's user joins a group, before it opens a kick page; without it all are of one group,
 * whose LLCM and banks are. DN_ENOTSUP: InfiniSWIF's packets (cd) are all of one group. */
int sim_group_join(struct sim_host *host, uint32_t pgid);
/* Gives a part of this node's LLCM to the user's group, and gives the area's number. */
uint32_t sim_region_open(struct sim_host *host, uint64_t offset, uint64_t bytes);
struct dn_remote sim_remote_region(uint32_t remote_node, uint32_t area, uint64_t offset);
/* Opens a kick page on a region. Physical: the kernel checks the group now (DN_ERIGHTS), and the
 * receiver translates nothing; both offsets are multiples of 4,096. Else the receiver checks. */
int sim_kick_open(struct sim_host *host, struct dn_remote remote, bool physical, uint64_t *kick);
/* Opens a kick page for remote reads, whose answers go to this page of the node's own LLCM. */
int sim_kick_read(struct sim_host *host, struct dn_remote remote, uint64_t local, uint64_t *kick);
/* Packets of the user's group that only CorePU knows are put there: how many so far, 8 bytes, and
 * behind it the last one, as far as it fits. */
void sim_mailbox_open(struct sim_host *host, uint64_t offset, uint64_t bytes);

/* ---- Steps ------------------------------------------------------------------------------ */

/* AOTF: an uncached store of 1 to 8 bytes; those that are no power of two lie within 8 aligned
 * ones. To a page for reads: the value says where in the local page the answer goes. */
void sim_store(struct sim_host *host, uint64_t kick_address, uint64_t value, unsigned bytes);
/* The same to all nodes first .. first + count - 1, by the switch's multicast; the kick address
 * is one on the first node. */
void sim_store_all(struct sim_host *host, uint64_t kick_address, uint64_t value, unsigned bytes,
                   uint32_t first, uint32_t count);
/* An uncached read of LLCM into host->value. */
void sim_load(struct sim_host *host, uint64_t offset, unsigned bytes);
/* A store into this node's own LLCM, where the core processor, or from there the host, finds it. */
void sim_write(struct sim_host *host, uint64_t offset, uint64_t value, unsigned bytes);
/* Reads until (word & mask) == wanted. */
void sim_poll(struct sim_host *host, uint64_t offset, unsigned bytes, uint64_t mask,
              uint64_t wanted);

/* Reads the words in turn until one is not as the program has seen it, which is then noted there;
 * host->value is that word's number. The words are the poll's until then. */
void sim_poll_any(struct sim_host *host, struct sim_poll_word *words, uint32_t count);
/* No step: another CPU of the node has something for this one. It ends a sim_poll_any, and nothing
 * else, behind the read that is under way; host->value is then the count. With no words only this
 * ends one. */
void sim_poll_end(struct sim_host *host);

/* BOTF: writes up to 464 bytes into a window and kicks it. A host that knows of no free window
 * first asks for one by an uncached read. The source may be reused afterwards. */
void sim_block(struct sim_host *host, struct dn_remote remote, const void *source, uint32_t bytes);

/* BOTF with a packet that the program made itself (nic_botf_packet). */
void sim_packet(struct sim_host *host, uint32_t remote_node, const void *packet, uint32_t bytes);

/* Waits like sim_poll, but with PEMM's interrupt signal ([host] pemm) it sleeps meanwhile. */
void sim_wait(struct sim_host *host, uint64_t offset, unsigned bytes, uint64_t mask,
              uint64_t wanted);

/* No step and no time: the NIC sends nothing that this host gives from now on before all that it
 * gave is acknowledged, as a queue pair of InfiniBand's RD does between two messages. */
void sim_serialise(struct sim_host *host);

/* RDMA: kicks and polls the completion; the outcome is in host->result. */
void sim_push(struct sim_host *host, struct dn_remote remote, const void *source, uint64_t bytes);
void sim_pull(struct sim_host *host, struct dn_remote remote, void *target, uint64_t bytes);

/* ---- The SO-DIMM banks ------------------------------------------------------------------- */

/* Which bank, 0 or 1, faces the host; the other one is the network's. All users of a node see the
 * same, and any of them may switch. */
uint32_t sim_bank_facing(const struct sim_host *host);
bool sim_bank_is_switching(const struct sim_host *host);

/* The banks change sides at the end of the step; what arrives before goes to the old bank.
 * host->result is 0, or DN_EBUSY: another user is switching, and nothing was done. */
void sim_switch_banks(struct sim_host *host);
/* Copies between the host's memory and the bank that faces it, at [software] copy_mb_per_s, else
 * at the bus' rate. host->result is 0, or nothing was copied: DN_EBUSY, somebody is switching (with
 * PEMM's wait signal the copy begins behind the switch); DN_ESTALE, somebody switched before the
 * copy was done. */
void sim_bank_read(struct sim_host *host, uint64_t offset, void *into, uint64_t bytes);
void sim_bank_write(struct sim_host *host, uint64_t offset, const void *from, uint64_t bytes);

/* CorePU's services: a kick, the handlers on both NICs, and polling the completion. */
/* Opening takes no time. The host is members[place]; members NULL: all nodes in order. */
void sim_barrier_open(struct sim_host *host, uint32_t team, const uint16_t *members, uint32_t count,
                      uint32_t place);
void sim_nic_barrier(struct sim_host *host, uint32_t team);
void sim_lock(struct sim_host *host, uint32_t manager, uint64_t name, uint64_t *ticket);
void sim_unlock(struct sim_host *host, uint64_t ticket);

/* ---- Messages ---------------------------------------------------------------------------- */

/* Opens the node's context, which takes no time. Flags: enum dn_context_flag. */
void sim_message_open(struct sim_host *host, const struct nic_message_lists *lists, uint32_t flags);
/* Waits until SENDTBL and SB have room, copies the message there and kicks. */
void sim_send(struct sim_host *host, uint32_t to, const void *data, uint32_t bytes);
/* Waits until all that was sent is acknowledged. */
void sim_send_wait(struct sim_host *host);
/* Waits for a message, whoever sent it, and copies it out of RB; host->message.peer and .bytes
 * then say whose it was and how long. */
void sim_receive(struct sim_host *host, void *buffer, uint32_t capacity);

#endif
