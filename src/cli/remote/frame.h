/* What a launcher and its agents on other hosts say to each other: frames on the agent's
 * standard input and output.
 *
 *     | payload bytes | kind | words ... | tail ... |      all words 32 bits, little-endian
 *
 * Each kind has a fixed number of words and a largest size of its tail;
 * remote_frame_take refuses everything else. Nothing here does I/O. */
#ifndef CLI_REMOTE_FRAME_H
#define CLI_REMOTE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/launch.h"

enum {
    FRAME_PROTOCOL = 5,
    FRAME_HEADER_BYTES = 8,
    FRAME_WORDS_MAX = 8,
    FRAME_DATA_BYTES_MAX = 16 * 1024, /* of one piece of output or input */
    FRAME_ORDER_BYTES_MAX = 8 << 20,
};

enum frame_sender { FRAME_OF_AGENT = 1, FRAME_OF_LAUNCHER = 2, FRAME_OF_BOTH = 3 };

/* name, who sends it, words, most bytes of the tail. In the order of a group's life: GREETING,
 * ORDER, BOUND, PEERS, PATHS, START; then all the others; DONE. */
#define FRAME_KINDS(kind)                                                                      \
    /* protocol, layout of groups, versions of fabrics, page size; the version as text */      \
    kind(GREETING, FRAME_OF_AGENT, 4, 64)                                                      \
    /* cli/remote/order.h */                                                                   \
    kind(ORDER, FRAME_OF_LAUNCHER, 0, FRAME_ORDER_BYTES_MAX)                                   \
    /* the contacts of its nodes */                                                            \
    kind(BOUND, FRAME_OF_AGENT, 0, FRAME_NODES_MAX * FABRIC_CONTACT_BYTES)                     \
    /* the contacts of all nodes */                                                            \
    kind(PEERS, FRAME_OF_LAUNCHER, 0, FRAME_NODES_MAX * FABRIC_CONTACT_BYTES)                  \
    /* 0 and the finding, or an errno and a rank that is out of reach */                       \
    kind(PATHS, FRAME_OF_AGENT, 2, FABRIC_FINDING_BYTES)                                       \
    /* the terms */                                                                            \
    kind(START, FRAME_OF_LAUNCHER, 0, FABRIC_TERMS_BYTES)                                      \
    /* rank, enum dn_life: of the agent's own nodes, and of those elsewhere */                 \
    kind(LIFE, FRAME_OF_BOTH, 2, 0)                                                            \
    /* rank, 0 or 1 for standard output or error; what it wrote, or nothing at its end */      \
    kind(OUTPUT, FRAME_OF_AGENT, 2, FRAME_DATA_BYTES_MAX)                                      \
    /* for node 0; nothing at its end */                                                       \
    kind(INPUT, FRAME_OF_LAUNCHER, 0, FRAME_DATA_BYTES_MAX)                                    \
    /* 0 or 1 for output or error, or 0 for input; how many more bytes may be sent */          \
    kind(CREDIT, FRAME_OF_BOTH, 2, 0)                                                          \
    /* to all nodes of the agent */                                                            \
    kind(SIGNAL, FRAME_OF_LAUNCHER, 1, 0)                                                      \
    /* a node wants the whole group to end with this status */                                 \
    kind(WANTED_END, FRAME_OF_AGENT, 1, 0)                                                     \
    /* the nodes' program goes on after deaths */                                              \
    kind(GOING_ON, FRAME_OF_AGENT, 0, 0)                                                       \
    /* rank, process, enum ending_kind, status or signal, core dumped, end was wanted */       \
    kind(FAILURE, FRAME_OF_AGENT, 6, 0)                                                        \
    /* rank: nothing of it runs any more */                                                    \
    kind(ENDED, FRAME_OF_AGENT, 1, 0)                                                          \
    /* errno: nodes could not become the program */                                            \
    kind(NOT_STARTED, FRAME_OF_AGENT, 1, 0)                                                    \
    /* exit status: the agent has said why, and goes */                                        \
    kind(GIVEN_UP, FRAME_OF_AGENT, 1, 0)                                                       \
    /* all nodes of the agent have ended, and all their output was sent */                     \
    kind(DONE, FRAME_OF_AGENT, 0, 0)                                                           \
    /* cli/remote/pulse.h */                                                                   \
    kind(BEAT, FRAME_OF_BOTH, 0, 0)                                                            \
    /* a rank of the agent's own, one that it hears nothing of: cli/launch/verdict.h */        \
    kind(SUSPICION, FRAME_OF_AGENT, 2, 0)

enum { FRAME_NODES_MAX = 4096 };

enum frame_kind {
    FRAME_NONE,
#define KIND(name, sender, words, tail_bytes_max) FRAME_##name,
    FRAME_KINDS(KIND)
#undef KIND
    FRAME_KIND_COUNT
};

struct frame {
    enum frame_kind kind;
    uint32_t words[FRAME_WORDS_MAX];
    const unsigned char *tail;
    uint32_t tail_bytes;
};

/* The bytes of the whole frame with that tail. */
size_t remote_frame_bytes(enum frame_kind kind, size_t tail_bytes);

/* Writes remote_frame_bytes() and gives the place of the tail. With `tail` NULL the caller fills it
 * in afterwards. */
unsigned char *remote_frame_put(unsigned char *to, enum frame_kind kind, const uint32_t *words,
                         const void *tail, size_t tail_bytes);

/* FRAME_IS_BAD: the sender may not send this, and nothing that follows can be understood. */
enum frame_verdict { FRAME_IS_WHOLE, FRAME_IS_CUT, FRAME_IS_BAD };

/* Looks at what has come so far. The tail of a whole frame points into these bytes, and *whole is
 * how many of them the frame takes. */
enum frame_verdict remote_frame_take(const unsigned char *bytes, size_t available,
                              enum frame_sender sender, struct frame *frame, size_t *whole);

#endif
