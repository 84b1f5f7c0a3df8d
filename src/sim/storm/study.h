/* Studies: what InfiniSWIF achieves in virtual time, beside what it should achieve, with no faults
 * but those under study. The figures are the same on every machine and in every run. */
#ifndef SIM_STORM_STUDY_H
#define SIM_STORM_STUDY_H

#include "sim/storm/storm.h"

enum { STORM_STUDY_FIGURES = 8 };

struct storm_figure {
    const char *name; /* with its unit, as in JSON */
    double value;
};

struct storm_row {
    const char *study;
    const char *detail;
    uint32_t nodes;
    struct storm_figure figures[STORM_STUDY_FIGURES]; /* a NULL name ends them */
    const char *bar;                                  /* for the ratio; "": none */
    double ratio;
    bool missed;
};

/* Where rows go as they become known. */
struct storm_printer {
    void *context;
    void (*row)(void *context, const struct storm_row *row);
};

/* False: a bar was missed. */
bool storm_study_run(unsigned study, const struct storm_printer *printer);
extern const struct storm_name storm_studies[];

#endif
