#include "sim/latency.h"

#include <math.h>

enum { HALF = 1 << (SIM_LATENCY_EXACT_BITS - 1) };

/* Above the exact bins, a bin is given by the highest bits of the number, the first set one
 * included. */
static uint32_t bin_of(uint64_t cycles)
{
    if (cycles < 2 * HALF) {
        return (uint32_t)cycles;
    }
    unsigned shift = 64 - SIM_LATENCY_EXACT_BITS - (unsigned)__builtin_clzll(cycles);
    return shift * HALF + (uint32_t)(cycles >> shift);
}

static uint64_t most_of(uint32_t bin)
{
    if (bin < 2 * HALF) {
        return bin;
    }
    unsigned shift = bin / HALF - 1;
    uint64_t highest = bin - shift * HALF;
    return ((highest + 1) << shift) - 1;
}

void sim_latency_add(struct sim_latency *latency, uint64_t cycles)
{
    latency->bins[bin_of(cycles)]++;
    latency->count++;
    latency->sum += cycles;
    latency->most = cycles > latency->most ? cycles : latency->most;
}

double sim_latency_mean(const struct sim_latency *latency)
{
    return latency->count ? (double)latency->sum / (double)latency->count : NAN;
}

uint64_t sim_latency_at(const struct sim_latency *latency, double share)
{
    double wanted = share * (double)latency->count;
    uint64_t counted = 0;
    for (uint32_t i = 0; i < SIM_LATENCY_BINS; i++) {
        counted += latency->bins[i];
        if (counted > 0 && (double)counted >= wanted) {
            /* No latency is above the largest, whatever its bin. */
            return most_of(i) < latency->most ? most_of(i) : latency->most;
        }
    }
    return 0;
}
