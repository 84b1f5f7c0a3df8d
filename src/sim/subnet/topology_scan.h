/* What readers of topology files, one for each format, hand to topology_file.c, and how they take
 * lines apart. */
#ifndef SIM_SUBNET_TOPOLOGY_SCAN_H
#define SIM_SUBNET_TOPOLOGY_SCAN_H

#include "sim/subnet/topology.h"

/* Some bytes of the file, without a zero behind them. */
struct topology_words {
    const char *at;
    size_t length;
};

/* One end of a cable as a line names it. */
struct topology_end {
    uint32_t node;             /* TOPOLOGY_NONE: not found yet */
    uint32_t port;             /* 0: the only port that the node has */
    struct topology_words key; /* of the node, while it is not found */
};

/* A line that says what is at the other end of a port. */
struct topology_claim {
    struct topology_end own, peer;
    unsigned line;
    uint8_t width; /* 0: not said */
};

struct topology_loading {
    struct topology topology;
    const char *name;
    char *error;
    unsigned line;
    /* By node: the line, how the file calls it, and what a comment calls it. */
    struct topology_said {
        unsigned line;
        struct topology_words key, comment;
    } * said;
    uint32_t said_room;
    struct topology_claim *claims;
    uint32_t claim_count, claim_room;
    /* ibnetdiscover's: the node that ports belong to, and what the next nodes get. */
    uint32_t node;
    uint64_t guid[2]; /* by kind; 0: topology_guid */
    uint8_t width;
};

/* Writes "NAME:LINE: ..."; returns false. */
bool topology_fault(struct topology_loading *loading, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a node whose fields were read; false after an error. GUID 0: topology_guid gives it. */
bool topology_take_node(struct topology_loading *loading, enum topology_kind kind, uint64_t ports,
                        uint8_t width, uint64_t guid, struct topology_words key,
                        struct topology_words comment);
void topology_take_claim(struct topology_loading *loading, const struct topology_claim *claim);

/* A line of a file, from a place on. Those that return bool leave the place alone on false. */
struct topology_scan {
    const char *at, *end;
};
void topology_skip_blanks(struct topology_scan *scan);
bool topology_scan_char(struct topology_scan *scan, char wanted);
/* The word, if nothing of it goes on behind. */
bool topology_scan_word(struct topology_scan *scan, const char *wanted);
bool topology_scan_number(struct topology_scan *scan, uint64_t *number);
bool topology_scan_hex(struct topology_scan *scan, uint64_t *number);
/* "text" with its quotes. */
bool topology_scan_quoted(struct topology_scan *scan, struct topology_words *words);
/* Up to the next blank; false: there is nothing. */
bool topology_scan_words(struct topology_scan *scan, struct topology_words *words);

/* Whether a cable can have so many lanes. */
static inline bool topology_is_width(uint64_t width)
{
    return width == 1 || width == 4 || width == 12;
}

/* A line of either format, without comments that fill it and not empty. */
bool topology_own_line(struct topology_loading *loading, struct topology_scan scan);
bool topology_discovered_line(struct topology_loading *loading, struct topology_scan scan);

#endif
