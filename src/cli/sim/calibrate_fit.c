/* Fitting, one value to one figure. */
#include "cli/sim/calibrate_fit.h"

#include <stddef.h>

/* Of one transfer the caches hold about so much; not measured. */
#define NEAR_BYTES (256 << 10)
/* The kernel's time slice where several want a core; not measured. */
#define SLICE_NS 3000000

#define RATE_MAX_MB_PER_S 1e6

/* A lock is asked for and given back. In a barrier of a crowd the nodes of a core go by it one
 * after the other. */
const struct calibrate_value calibrate_values[CALIBRATE_VALUES] = {
    {"store_ns", CALIBRATE_STORE, CALIBRATE_PAIR, 1},
    {"see_ns", CALIBRATE_SEE, CALIBRATE_PAIR, 1},
    {"look_ns", CALIBRATE_LOOK, CALIBRATE_PAIR, 1},
    {"block_ns", CALIBRATE_BLOCK, CALIBRATE_PAIR, 1},
    {"push_ns", CALIBRATE_PUT, CALIBRATE_PAIR, 1},
    {"pull_ns", CALIBRATE_GET, CALIBRATE_PAIR, 1},
    {"atomic_ns", CALIBRATE_ATOMIC, CALIBRATE_PAIR, 1},
    {"fence_ns", CALIBRATE_FENCE, CALIBRATE_PAIR, 1},
    {"quiet_ns", CALIBRATE_QUIET, CALIBRATE_PAIR, 1},
    {"service_ns", CALIBRATE_LOCK, CALIBRATE_PAIR, 2},
    {"meet_ns", CALIBRATE_BARRIER, CALIBRATE_PAIR, 1},
    {"switch_ns", CALIBRATE_BARRIER, CALIBRATE_CROWD, 2},
};

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

void calibrate_fit(struct calibrate_model *model,
                   const struct calibrate_figures machine[CALIBRATE_GROUPS],
                   const struct calibrate_figures simulated[CALIBRATE_GROUPS])
{
    const double *real = machine[CALIBRATE_PAIR].ns;
    const double *ours = simulated[CALIBRATE_PAIR].ns;
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        const struct calibrate_value *value = &calibrate_values[i];
        double lacks_ns = machine[value->group].ns[value->meter] -
                          simulated[value->group].ns[value->meter];
        model->value_ns[i] = at_least(model->value_ns[i] + lacks_ns / value->per, 0);
    }
    double copy_before_ns = model->copy_ns;
    double near_lacks_ns = real[CALIBRATE_COPY] - ours[CALIBRATE_COPY];
    model->copy_ns = at_least(model->copy_ns + near_lacks_ns / CALIBRATE_COPY_BYTES, 0);
    /* A part of what a long transfer lacks is mended by that. */
    double far_lacks_ns = real[CALIBRATE_FAR] - ours[CALIBRATE_FAR] -
                          (model->copy_ns - copy_before_ns) * NEAR_BYTES;
    model->far_ns = at_least(model->far_ns + far_lacks_ns / (CALIBRATE_FAR_BYTES - NEAR_BYTES), 0);
}

void calibrate_fit_gaps(struct calibrate_model *model, const struct calibrate_figures *declared,
                        const struct calibrate_figures *measured)
{
    double by_meter[CALIBRATE_METER_COUNT];
    for (unsigned i = 0; i < CALIBRATE_METER_COUNT; i++) {
        by_meter[i] = at_least(measured->ns[i] - declared->ns[i], 0);
    }
    model->gap_ns = by_meter[CALIBRATE_STORE];
    /* From one node's store to the other's there are two computations, one behind a wait. */
    model->resume_ns = at_least(by_meter[CALIBRATE_SEE] - 2 * model->gap_ns, 0);
}

bool calibrate_is_fitted(enum calibrate_group group, enum calibrate_meter meter)
{
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        if (calibrate_values[i].group == group && calibrate_values[i].meter == meter) {
            return true;
        }
    }
    return group == CALIBRATE_PAIR && (meter == CALIBRATE_COPY || meter == CALIBRATE_FAR);
}

static double rate_mb_per_s(double byte_ns)
{
    double rate = byte_ns > 0 ? 1e3 / byte_ns : RATE_MAX_MB_PER_S;
    return rate < RATE_MAX_MB_PER_S ? rate : RATE_MAX_MB_PER_S;
}

void calibrate_write(FILE *file, const struct calibrate_model *model,
                     const struct calibrate_figures machine[CALIBRATE_GROUPS], const char *about)
{
    (void)fprintf(file,
                  "# Measured by `dimmnet sim calibrate`; --fabric sim:here runs programs on it.\n"
                  "[machine]\ninherit = in-place\ntext    = %s\n\n[call]\n"
                  "cores = %u | this machine's\n",
                  about, model->cores);
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        const struct calibrate_value *value = &calibrate_values[i];
        (void)fprintf(file, "%s = %.3f | fitted: %s%s, measured %.2f ns\n", value->key,
                      model->value_ns[i], calibrate_texts[value->meter],
                      value->group == CALIBRATE_CROWD ? " of more nodes than cores" : "",
                      machine[value->group].ns[value->meter]);
    }
    (void)fprintf(file,
                  "copy_mb_per_s = %.1f | fitted: %s, measured %.0f ns\n"
                  "copy_near = %d | assumed\n"
                  "copy_far_mb_per_s = %.1f | fitted: %s, measured %.0f ns\n"
                  "record_ns = %.3f | assumed: as see_ns\n"
                  "slice_ns = %d | assumed: the kernel's\n"
                  "gap_ns = %.0f | measured: loops of calls with compute=measured, and without\n"
                  "resume_ns = %.0f | measured: the same for loops that wait\n",
                  rate_mb_per_s(model->copy_ns), calibrate_texts[CALIBRATE_COPY],
                  machine[CALIBRATE_PAIR].ns[CALIBRATE_COPY], NEAR_BYTES,
                  rate_mb_per_s(model->far_ns), calibrate_texts[CALIBRATE_FAR],
                  machine[CALIBRATE_PAIR].ns[CALIBRATE_FAR], model->value_ns[CALIBRATE_SEE],
                  SLICE_NS, model->gap_ns, model->resume_ns);
}
