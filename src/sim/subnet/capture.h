/* Captures of a simulated subnet: what went over its cables, in a pcapng file that Wireshark and
 * tshark (4.0) open without settings.
 *
 * Each port that sends is an interface of the file, by its name. Times are in picoseconds. The link
 * type is 252, "exported PDU": before each packet stands the name of the dissector that shows it,
 * because Wireshark refuses the link type of InfiniBand itself. Dissectors show CRCs and do not
 * check them, so each packet has a comment with what our decoders say of it, and one with a wrong
 * CRC has pcapng's flag for that (frame.packet_flags_crc_error == 1), by which it can be found.
 *
 * A write that fails, say on a full disk, is the last: what comes after it is not written, and
 * capture_end gives the reason. */
#ifndef SIM_SUBNET_CAPTURE_H
#define SIM_SUBNET_CAPTURE_H

#include <stdio.h>

#include "base/base.h"

enum {
    CAPTURE_NAME_BYTES_MAX = 255, /* of a port's name; the rest is cut off */
    CAPTURE_COMMENT_BYTES = 256,
};

struct capture {
    FILE *file; /* the caller's, and open until after capture_end */
    uint32_t port_count;
    int error; /* errno of the write that failed; 0: none did */
};

void capture_begin(struct capture *capture, FILE *file);

/* A port, by whose number packets are captured. Ports may come later than packets of others. */
uint32_t capture_port(struct capture *capture, const char *name);

/* A packet (LRH to VCRC) began to leave that port; it is captured as it arrives at the other end:
 * `changed_bits` of it were changed on the cable. Times need not rise. */
void capture_packet(struct capture *capture, uint64_t time_ps, uint32_t port,
                    const unsigned char *packet, uint32_t bytes, uint32_t changed_bits);
/* The same of a link packet (wire/ib_link.h), whose length is known. Bytes of 0 follow it in the
 * file, because Wireshark reads more than there are. */
void capture_link_packet(struct capture *capture, uint64_t time_ps, uint32_t port,
                         const unsigned char *packet, uint32_t changed_bits);

/* Writes out what is left. 0, or the errno of the first write that failed: the file is not
 * whole. */
int capture_end(struct capture *capture);

/* ---- What a packet's comment says --------------------------------------------------------- */

/* "VCRC good, CRC-32 good; frame 7 of flow 2, 30 lines, begins a packet",
 * "VCRC wrong: 3 bits were changed on the cable", ... True: all its CRCs are right. */
bool capture_verdict(const unsigned char *packet, uint32_t bytes, uint32_t changed_bits,
                     char text[CAPTURE_COMMENT_BYTES]);
bool capture_link_verdict(const unsigned char *packet, uint32_t changed_bits,
                          char text[CAPTURE_COMMENT_BYTES]);

#endif
