/* The model of a machine that is being measured: what calls take there, and how that follows from
 * what nodes measured on the machine and on the model. No I/O. */
#ifndef CLI_SIM_CALIBRATE_FIT_H
#define CLI_SIM_CALIBRATE_FIT_H

#include <stdio.h>

#include "cli/sim/calibrate.h"

/* What a group measured; 0: it did not. */
struct calibrate_figures {
    double ns[CALIBRATE_METER_COUNT];
};

/* The groups: two nodes with a core each, and more nodes than cores. */
enum calibrate_group { CALIBRATE_PAIR, CALIBRATE_CROWD, CALIBRATE_GROUPS };

/* One value of [call]. */
struct calibrate_value {
    const char *key;            /* as in the file */
    enum calibrate_meter meter; /* that it is fitted to */
    enum calibrate_group group; /* where */
    double per;                 /* how often it counts in one operation of that meter */
};

enum { CALIBRATE_VALUES = 12 };
extern const struct calibrate_value calibrate_values[CALIBRATE_VALUES];

struct calibrate_model {
    unsigned cores;
    double value_ns[CALIBRATE_VALUES];
    double copy_ns, far_ns; /* a byte */
    double gap_ns, resume_ns;
};

/* Changes the model by what its figures lack to the machine's. These were taken with
 * compute=declared, so that they are exact. */
void calibrate_fit(struct calibrate_model *model,
                   const struct calibrate_figures machine[CALIBRATE_GROUPS],
                   const struct calibrate_figures simulated[CALIBRATE_GROUPS]);

/* What measuring adds to computations: by figures with compute=measured, and without. */
void calibrate_fit_gaps(struct calibrate_model *model, const struct calibrate_figures *declared,
                        const struct calibrate_figures *measured);

/* Whether a value was fitted to this figure. */
bool calibrate_is_fitted(enum calibrate_group group, enum calibrate_meter meter);

/* Writes the model as a machine file; `about` says of which machine, and when it was measured. */
void calibrate_write(FILE *file, const struct calibrate_model *model,
                     const struct calibrate_figures machine[CALIBRATE_GROUPS], const char *about);

#endif
