/* What a node did from the beginning to its end, as spans of time without gaps, in bounded memory.
 *
 * A span is of one kind. When there are too many, short neighbours become one that is a mixture:
 * `grain_ps` is how long such a one may be, and grows as the run goes on. What lasts longer than
 * that keeps its beginning and its end. */
#ifndef SIM_PROGRAM_SPANS_H
#define SIM_PROGRAM_SPANS_H

#include "base/base.h"

enum sim_program_doing { SIM_PROGRAM_WORKS, SIM_PROGRAM_COMPUTES, SIM_PROGRAM_WAITS };
enum { SIM_PROGRAM_DOINGS = 3 };

/* Where one begins the one before ends; the first begins with the run. */
struct sim_program_span {
    uint64_t ps[SIM_PROGRAM_DOINGS]; /* of each kind; all but one are 0 unless it is a mixture */
};

struct sim_program_spans {
    struct sim_program_span *spans;
    uint32_t count, room;
    uint32_t count_max; /* 0: none are kept */
    uint64_t passed_ps; /* of all spans */
    uint64_t grain_ps;  /* of mixtures; 0: there is none */
};

/* At least 8. */
void sim_program_spans_init(struct sim_program_spans *spans, uint32_t count_max);
void sim_program_spans_free(struct sim_program_spans *spans);
/* Behind all others. */
void sim_program_spans_add(struct sim_program_spans *spans, enum sim_program_doing doing,
                           uint64_t ps);

static inline uint64_t sim_program_span_ps(const struct sim_program_span *span)
{
    return span->ps[SIM_PROGRAM_WORKS] + span->ps[SIM_PROGRAM_COMPUTES] +
           span->ps[SIM_PROGRAM_WAITS];
}

static inline void sim_program_span_join(struct sim_program_span *into,
                                         const struct sim_program_span *other)
{
    for (unsigned doing = 0; doing < SIM_PROGRAM_DOINGS; doing++) {
        into->ps[doing] += other->ps[doing];
    }
}

#endif
