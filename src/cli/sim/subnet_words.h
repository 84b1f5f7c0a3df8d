/* What the library that stands in for libumad (umad2sim, Debian's package libumad2sim0) says to a
 * server of a simulated subnet. Requests for control are in the machine's own byte order, datagrams
 * in InfiniBand's. */
#ifndef CLI_SIM_SUBNET_WORDS_H
#define CLI_SIM_SUBNET_WORDS_H

#include <stdint.h>
#include <string.h>

#include "base/big.h"
#include "wire/ib_mad.h"

enum {
    SUBNET_WORDS_DATA_BYTES = 64,
    SUBNET_WORDS_HOST_BYTES = 32,
    SUBNET_WORDS_DATAGRAM_BYTES = 288,
};

#define SUBNET_WORDS_MAGIC UINT32_C(0xdeadbeef)

enum subnet_control {
    SUBNET_CONTROL_ERROR = 0, /* of an answer */
    SUBNET_CONTROL_CONNECT = 1,
    SUBNET_CONTROL_DISCONNECT = 2,
    SUBNET_CONTROL_PORT = 3,
    SUBNET_CONTROL_VENDOR = 4,
    SUBNET_CONTROL_GID = 5,
    SUBNET_CONTROL_GUID = 6,
    SUBNET_CONTROL_NODE_INFO = 7,
    SUBNET_CONTROL_PORT_INFO = 8, /* of the port in the first byte; 0: the client's */
    SUBNET_CONTROL_SET_SM = 9,
    SUBNET_CONTROL_PKEYS = 10,
};

/* A request and its answer. */
struct subnet_words_control {
    uint32_t magic;
    uint32_t client; /* its slot */
    uint32_t type;   /* enum subnet_control */
    uint32_t length; /* of the data */
    unsigned char data[SUBNET_WORDS_DATA_BYTES];
};

/* The data of CONNECT. */
struct subnet_words_client {
    uint32_t id; /* the client's process; in the answer its slot */
    uint32_t qp;
    uint32_t is_sm;
    char host[SUBNET_WORDS_HOST_BYTES];
};

struct subnet_words_vendor {
    uint32_t vendor_id, part_id, hardware_version;
    uint64_t firmware_version;
};

struct subnet_words_port {
    uint16_t lid;
    uint8_t state;
};

/* A management datagram and how it travels. */
struct subnet_words_datagram {
    uint16_t dlid, slid;
    uint32_t dqp, sqp;
    uint32_t status; /* an errno; 0 if all is well */
    uint64_t length; /* of the MAD: 256 */
    unsigned char mad[WIRE_MAD_BYTES];
};

static inline void subnet_words_encode(const struct subnet_words_datagram *datagram,
                                       unsigned char to[SUBNET_WORDS_DATAGRAM_BYTES])
{
    memset(to, 0, SUBNET_WORDS_DATAGRAM_BYTES);
    base_big_put(to, 2, datagram->dlid);
    base_big_put(to + 4, 2, datagram->slid);
    base_big_put(to + 8, 4, datagram->dqp);
    base_big_put(to + 12, 4, datagram->sqp);
    base_big_put(to + 16, 4, datagram->status);
    base_big_put(to + 24, 8, datagram->length);
    memcpy(to + 32, datagram->mad, WIRE_MAD_BYTES);
}

static inline void subnet_words_decode(const unsigned char from[SUBNET_WORDS_DATAGRAM_BYTES],
                                       struct subnet_words_datagram *datagram)
{
    datagram->dlid = (uint16_t)base_big_get(from, 2);
    datagram->slid = (uint16_t)base_big_get(from + 4, 2);
    datagram->dqp = (uint32_t)base_big_get(from + 8, 4);
    datagram->sqp = (uint32_t)base_big_get(from + 12, 4);
    datagram->status = (uint32_t)base_big_get(from + 16, 4);
    datagram->length = base_big_get(from + 24, 8);
    memcpy(datagram->mad, from + 32, WIRE_MAD_BYTES);
}

#endif
