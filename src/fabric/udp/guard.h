/* Authentication of packets: only a holder of the group's secret can make a packet that is
 * believed. A swif_guard over libsodium.
 *
 * Every process has a key of its own to send by, derived by keyed BLAKE2b from the group's
 * secret, its rank and its incarnation, which it has chosen at random; the packet's counter,
 * never used twice by a process, is the nonce. A rank lives once in a group, so the guard believes
 * one incarnation of it: the one that it was told, or else the first one that an authentic packet
 * names. A second one would be of a process that has not claimed the rank.
 *
 * Header and counter are always associated data. Without encryption the rest is too, and the tag
 * covers the whole packet; with it the acknowledgements and the body are hidden. AES-256-GCM where
 * the CPU has AES, else ChaCha20-Poly1305: all nodes of a group use the same, so the launcher
 * decides (the roster of a group across hosts says which). */
#ifndef FABRIC_UDP_GUARD_H
#define FABRIC_UDP_GUARD_H

#include "dimmnet.h"
#include "swif/swif.h"

enum udp_cipher { UDP_CIPHER_NONE = 0, UDP_CIPHER_AES_256_GCM = 1, UDP_CIPHER_CHACHA20 = 2 };

struct udp_guard_config {
    enum udp_cipher cipher; /* not NONE */
    bool encrypt;
    uint32_t node_count;
    uint32_t incarnation;        /* of this process, whose packets are sealed; never 0 */
    uint16_t node;               /* its rank */
    const unsigned char *secret; /* 32 bytes, kept by the guard in a vault of its own */
};

/* The fastest that this CPU can do. */
enum udp_cipher udp_cipher_best(void);
bool udp_cipher_is_possible(enum udp_cipher cipher);
const char *udp_cipher_name(enum udp_cipher cipher);

struct udp_guard;

/* Makes a guard. It derives a peer's key when the peer's first packet comes (about 512 bytes
 * each); udp_guard_free wipes secret and keys. DN_ENOMEM; DN_EVERSION: this CPU cannot
 * do the cipher; DN_ESYSTEM. */
int udp_guard_make(const struct udp_guard_config *config, struct udp_guard **guard);
void udp_guard_free(struct udp_guard *guard);

/* The rank's incarnation, as a reliable source says; what the guard knew before stays. */
void udp_guard_expect(struct udp_guard *guard, uint16_t rank, uint32_t incarnation);

/* For board_init; valid as long as the guard; one caller at a time. Sealing and opening allocate
 * memory only for the first packet that claims to come from a rank, so an attacker can cause at
 * most one allocation for each rank. While a rank's incarnation is not known, each packet of an
 * attacker can cause the derivation of a key (about a microsecond); afterwards none can. When a
 * packet is not believed, its encrypted part may be wiped. */
struct swif_guard udp_guard_hooks(struct udp_guard *guard);

#endif
