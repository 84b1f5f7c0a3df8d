/* A board: Martini and InfiniSWIF joined, as on DIMMnet-2. A fabric or a simulator puts it on its
 * network. Like both parts, it does no I/O.
 *
 *     users' calls (nic_aotf, nic_packet_lock_request, ...) on board->engine, board->services
 *     board_transmit until it gives 0; each packet to its target's board_receive
 *     at board_deadline_ns, if nothing else happens before, board_transmit again
 *
 * The engine runs inside board_transmit, whenever it has work. One caller at a time. */
#ifndef BOARD_BOARD_H
#define BOARD_BOARD_H

#include "nic/engine.h"
#include "nic/services.h"
#include "nic/target_set.h"
#include "swif/swif.h"

struct board_config {
    struct swif_config swif;             /* packet_bytes_max is the same on all nodes */
    struct nic_engine_config engine;     /* node, pgid and node_count are taken from swif */
    struct nic_services_config services; /* node, incarnation and node_count as well */
    uint64_t lock_names_offset; /* in the local memory, where the names of locks count from */
};

void board_config_default(struct board_config *config, uint32_t node_count);

/* What a board tells; any of the calls may be NULL, but peer_suspected only where swif.verdict_ns
 * is 0. */
struct board_listener {
    void *context;
    /* A peer is lost, and all that waited for it has been completed. */
    void (*peer_lost)(void *context, uint64_t now_ns, uint16_t peer);
    /* As in swif_client. */
    bool (*peer_suspected)(void *context, uint64_t now_ns, uint16_t peer);
    /* A record with a tag (wire/route.h) was given to InfiniSWIF. */
    void (*recorded)(void *context, const struct wire_route *route);
    /* A UD packet's body on another channel than the services': the engine does not carry it
     * out. */
    void (*datagram)(void *context, uint64_t now_ns, const struct swif_delivery *delivery);
};

struct board {
    struct swif *swif;
    struct nic_engine *engine;
    struct nic_services *services;
    struct board_listener listener;
    struct swif_client client;
    struct swif_guard guard;
    struct nic_network network;
    struct nic_local_memory memory; /* as the engine's: locks' values lie there */
    uint64_t lock_names_offset;
    bool changed;    /* something came or ended since the last transmission */
    uint64_t now_ns; /* when that was */
    /* Peers whose death the services want to be told, peers whose replies the engine awaits (as
     * of the last look), and peers that InfiniSWIF watches: the last differ from the other two
     * until there is room for the change. */
    bool watches_differ;
    uint64_t look_at_ns;
    uint64_t look_every_ns;
    struct nic_target_set wanted;
    struct nic_target_set awaited;
    struct nic_target_set watched;
};

/* The smallest packet_bytes_max that such a board works with. */
uint32_t board_packet_bytes_min(const struct board_config *config);

/* How much memory board_init needs (aligned to 64), or 0 for a config that makes no sense. The
 * memory must be all zero, as fresh memory is: clear used memory before a board starts anew. */
uint64_t board_bytes(const struct board_config *config);

/* DN_EINVAL: the config makes no sense, or its packets are too small for BOTF or for the
 * services' messages. Guard NULL: packets are not authenticated. The board must not move. */
int board_init(struct board *board, const struct board_config *config,
               const struct nic_local_memory *memory, const struct swif_guard *guard,
               const struct board_listener *listener, uint64_t now_ns, void *space);

/* The same without InfiniSWIF: engine and services on a network that loses nothing and keeps the
 * order between two nodes, as DIMMnet-1's. The caller delivers to the engine itself, runs it, and
 * tells engine and services of peers that are lost; the functions below are not for such a board.
 * Of config->swif only node, pgid, incarnation, node_count and packet_bytes_max count. */
int board_init_plain(struct board *board, const struct board_config *config,
                     const struct nic_local_memory *memory, const struct nic_network *network,
                     void *space);

void board_receive(struct board *board, uint64_t now_ns, unsigned char *packet, uint32_t bytes);

/* The next packet to send: its bytes (0: none now) and where to, as swif_transmit. */
uint32_t board_transmit(struct board *board, uint64_t now_ns, unsigned char *packet,
                        uint16_t *target);
uint64_t board_deadline_ns(const struct board *board);

#endif
