/* Spans, and their joining. */
#include "sim/program/spans.h"

#include <stdlib.h>

enum { ROOM_FIRST = 64, SPANS_MIN = 8 };

void sim_program_spans_init(struct sim_program_spans *spans, uint32_t count_max)
{
    INVARIANT(count_max == 0 || count_max >= SPANS_MIN);
    *spans = (struct sim_program_spans){.count_max = count_max};
}

void sim_program_spans_free(struct sim_program_spans *spans)
{
    free(spans->spans);
    *spans = (struct sim_program_spans){0};
}

/* Of two spans in a row at least one pair's sum is above the grain, so that with a grain of four
 * times the mean at most half of the room is taken afterwards. */
static void coarsen(struct sim_program_spans *spans)
{
    uint32_t kept = 0;
    uint64_t grain_ps = spans->passed_ps / spans->count_max * 4 + 1;
    spans->grain_ps = grain_ps > spans->grain_ps ? grain_ps : spans->grain_ps;
    for (uint32_t i = 1; i < spans->count; i++) {
        struct sim_program_span *last = &spans->spans[kept];
        const struct sim_program_span *next = &spans->spans[i];
        if (sim_program_span_ps(last) + sim_program_span_ps(next) <= spans->grain_ps) {
            sim_program_span_join(last, next);
        } else {
            spans->spans[++kept] = *next;
        }
    }
    spans->count = kept + 1;
    INVARIANT(spans->count <= spans->count_max / 2 + 1);
}

static void make_room(struct sim_program_spans *spans)
{
    if (spans->count == spans->count_max) {
        coarsen(spans);
    }
    if (spans->count == spans->room) {
        uint32_t room = spans->room > 0 ? 2 * spans->room : ROOM_FIRST;
        spans->room = room < spans->count_max ? room : spans->count_max;
        spans->spans = realloc(spans->spans, spans->room * sizeof *spans->spans);
        INVARIANT(spans->spans);
    }
}

/* Whether the last span and so much of this are one span. */
static bool is_one(const struct sim_program_spans *spans, enum sim_program_doing doing, uint64_t ps)
{
    if (spans->count == 0) {
        return false;
    }
    const struct sim_program_span *last = &spans->spans[spans->count - 1];
    uint64_t last_ps = sim_program_span_ps(last);
    return last->ps[doing] == last_ps || last_ps + ps <= spans->grain_ps;
}

void sim_program_spans_add(struct sim_program_spans *spans, enum sim_program_doing doing,
                           uint64_t ps)
{
    if (spans->count_max == 0 || ps == 0) {
        return;
    }
    if (!is_one(spans, doing, ps)) {
        make_room(spans);
        spans->spans[spans->count++] = (struct sim_program_span){{0}};
    }
    spans->spans[spans->count - 1].ps[doing] += ps;
    spans->passed_ps += ps;
}
