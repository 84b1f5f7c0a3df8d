/* The tables, by paper; papers.c lists them. */
#ifndef SIM_PAPERS_TABLES_H
#define SIM_PAPERS_TABLES_H

#include "sim/papers/papers.h"

#define PAPERS_COUNT(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))

/* A table out of its arrays. */
#define PAPERS_TABLE(paper, number, text, column_array, row_array, note_array, ...)             \
    {                                                                                           \
        .source = (paper), .name = (number), .title = (text), .columns = (column_array),        \
        .rows = (row_array), .notes = (note_array), .column_count = PAPERS_COUNT(column_array), \
        .row_count = PAPERS_COUNT(row_array), __VA_ARGS__                                       \
    }

extern const struct papers_table papers_000_1, papers_000_2, papers_000_3, papers_000_4,
    papers_000_5, papers_000_6, papers_000_7, papers_000_8, papers_000_9;
extern const struct papers_table papers_001_1, papers_001_2, papers_001_3;
extern const struct papers_table papers_002_1, papers_002_2, papers_002_latency, papers_002_ratios,
    papers_002_bandwidth, papers_002_curve;
extern const struct papers_table papers_003_2, papers_003_3;

/* Paper 002's equations, for what it computed with them. Times in ns; the machine is 0 for
 * DIMMnet-1/bDais, 1 for DIMMnet-2. */
enum papers_service { PAPERS_UD, PAPERS_CD_HIT, PAPERS_CD_MISS };
double papers_002_transit_ns(unsigned machine, enum papers_service service, unsigned data_bytes);
/* Equation 2. As printed, it counts the first packet in TL and again in N and PKTNUM; `first_once`:
 * TL alone accounts for the first packet and its words. */
double papers_002_message_ns(unsigned machine, enum papers_service service, uint64_t data_bytes,
                             bool first_once);

/* The message sizes of its figure 6, one for each row. */
uint64_t papers_002_curve_bytes(unsigned row);

#endif
