/* How long packets to a peer may be: what its path carries, found out by trying.
 *
 * Nothing that the network says about it is believed; anybody can forge an ICMP message. A path
 * counts as wide, as the config says, until packets longer than path_bytes_min vanish again and
 * again though the peer speaks (swif_path_narrow; sender.c notices it). Then it counts as narrow:
 * only packets of path_bytes_min go there, and longer ones that are queued or under way go in
 * pieces. At once, and later from time to time, a context that sends there tries longer packets,
 * the longest first, by CONTROL packets that say nothing. The first one that is answered says what
 * the path carries. */
#include "swif/state.h"

#include <string.h>

enum { TRIES = 3 }; /* of each length */

void swif_path_init(struct swif *swif)
{
    /* What links carry, less the headers of IPv6 and UDP: jumbo frames, InfiniBand, Ethernet,
     * tunnels over it. */
    static const uint16_t usual[] = {9000 - 48, 4096 - 48, 1500 - 48, 1400 - 48};
    const struct swif_config *config = &swif->config;
    swif->path_bytes[0] = (uint16_t)config->packet_bytes_max;
    if (!swif->path_steps) {
        return;
    }
    for (unsigned i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (usual[i] < config->packet_bytes_max && usual[i] > config->path_bytes_min) {
            swif->path_bytes[++swif->path_step_last] = usual[i];
        }
    }
    swif->path_bytes[++swif->path_step_last] = (uint16_t)config->path_bytes_min;
    INVARIANT(swif->path_step_last < SWIF_PATH_STEPS);
}

uint32_t swif_body_bytes(const struct swif *swif, uint16_t peer)
{
    return swif_body_bytes_in(swif_path_bytes(swif, peer));
}

uint32_t swif_datagram_bytes_max(const struct swif *swif)
{
    return swif->path_steps ? swif_body_bytes_in(swif->config.path_bytes_min)
                            : swif->body_bytes_max;
}

bool swif_path_is_tight(const struct swif *swif, uint16_t peer, uint32_t body_bytes)
{
    return swif->path_steps && body_bytes > swif_body_bytes_in(swif->config.path_bytes_min) &&
           body_bytes <= swif_body_bytes(swif, peer) && !MUTANT(PATH_ALWAYS_WIDE);
}

void swif_path_narrow(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    if (!swif->path_steps || swif->path_steps[peer] == swif->path_step_last) {
        return;
    }
    swif->path_steps[peer] = (uint8_t)swif->path_step_last;
    swif->counters.paths_narrowed++;
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee) {
            /* An answer to what was sent before says nothing any more. */
            ltee->search = (struct swif_search){.at_ns = now_ns};
        }
    }
}

/* When three copies have gone in vain a short packet is sent behind them. If it is answered, and by
 * the next time-out they are not, the path is to blame: not a peer that stands still, and not a way
 * so long that answers to later copies are still under way. A packet that the peer has refused did
 * arrive.
 *
 * The short packet goes out just before the next copy, not just behind one: hosts hand a long
 * packet and a short one behind it on as one, and a narrow link between them drops both. */
bool swif_path_blame(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                     const struct swif_buffer *lost)
{
    uint16_t peer = ltee->name.peer;
    if (ltee->copies.count < 2) {
        ltee->doubted = 0;
        return false;
    }
    if (!lost || ltee->refusals != 0 || !swif_path_is_tight(swif, peer, lost->body_bytes)) {
        return false;
    }
    if (ltee->doubted == 0) {
        ltee->doubted = swif->counter;
    } else if (ltee->carried > ltee->doubted) {
        swif_path_narrow(swif, now_ns, peer);
        return true;
    }
    swif_note_control(swif, peer, WIRE_PATH, swif->stubs[peer].incarnation);
    return false;
}

void swif_path_refused(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t packet_bytes)
{
    /* A longer one only tried whether it would pass. */
    if (packet_bytes <= swif_path_bytes(swif, peer)) {
        swif_path_narrow(swif, now_ns, peer);
    }
}

void swif_path_sends(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    if (ltee->silences == 0 && ltee->search.at_ns <= now_ns) {
        swif_list_add(&swif->tries, &ltee->trying);
    }
}

/* The context's next try, or 0. */
static uint32_t try_longer(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                           unsigned char *packet)
{
    uint16_t peer = ltee->name.peer;
    uint64_t patience_ns = swif_time_out_ns(swif, ltee);
    struct swif_search *search = &ltee->search;
    if (search->counter > swif_most(ltee->newest_arrived, ltee->carried)) {
        /* Nothing that was sent later has arrived either: the peer has not come to it yet. */
        search->at_ns = now_ns + patience_ns;
        return 0;
    }
    if (search->tries == TRIES) {
        search->step++;
        search->tries = 0;
    }
    if (search->step >= swif->path_steps[peer]) {
        *search = (struct swif_search){.at_ns = now_ns + swif->config.path_again_ns};
        return 0;
    }
    uint32_t body_bytes = swif->path_bytes[search->step] - (uint32_t)WIRE_OVERHEAD_BYTES;
    struct wire_header header = {.kind = WIRE_CONTROL,
                                 .target = peer,
                                 .target_incarnation = swif->stubs[peer].incarnation,
                                 .body_bytes = (uint16_t)body_bytes};
    memset(packet + WIRE_PREFIX_BYTES, 0, body_bytes);
    packet[WIRE_PREFIX_BYTES] = WIRE_PATH;
    uint32_t bytes = swif_seal(swif, &header, packet);
    search->tries++;
    search->counter = swif->counter;
    search->at_ns = now_ns + patience_ns;
    return bytes;
}

/* Tries go last: what stands behind a long packet may travel and be lost as one with it. */
uint32_t swif_path_try(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint16_t *target)
{
    uint32_t bytes = 0;
    while (bytes == 0 && swif->tries.next != &swif->tries) {
        struct swif_ltee *ltee = SWIF_OWNER(swif->tries.next, struct swif_ltee, trying);
        swif_list_remove(&ltee->trying);
        *target = ltee->name.peer;
        bytes = try_longer(swif, now_ns, ltee, packet);
    }
    return bytes;
}

void swif_path_carries(struct swif *swif, uint64_t now_ns, uint16_t peer, uint64_t counter)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee && counter <= swif->counter) {
            ltee->carried = swif_most(ltee->carried, counter);
        }
        if (ltee && ltee->search.counter == counter && counter != 0) {
            if (ltee->search.step < swif->path_steps[peer]) {
                swif->path_steps[peer] = ltee->search.step;
                swif->counters.paths_widened++;
            }
            ltee->search = (struct swif_search){.at_ns = now_ns + swif->config.path_again_ns};
        }
    }
}
