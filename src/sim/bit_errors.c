/* A gap has the geometric distribution: n or more right bits with a chance of q^n. Its binary
 * digits are then independent, since the sum of all q^n is the product of all 1 + q^(2^k): digit k
 * is 1 with a chance of q^(2^k) / (1 + q^(2^k)). So a gap of any length is as many draws as it has
 * digits. */
#include "sim/bit_errors.h"

/* In 2^64ths. */
static uint64_t threshold(double chance)
{
    return chance >= 1 ? UINT64_MAX : (uint64_t)(chance * 18446744073709551616.0);
}

static void draw_gap(struct bit_errors *errors)
{
    uint64_t gap = 0;
    if (base_random_next(&errors->random) < errors->beyond) {
        errors->until = UINT64_MAX;
        return;
    }
    for (unsigned k = 0; k < BIT_ERROR_DIGITS && errors->digits[k] > 0; k++) {
        gap |= (uint64_t)(base_random_next(&errors->random) < errors->digits[k]) << k;
    }
    errors->until = gap;
}

void bit_errors_init(struct bit_errors *errors, double bit_error_rate, uint64_t seed)
{
    *errors = (struct bit_errors){.until = UINT64_MAX, .random = {.state = seed}};
    if (!(bit_error_rate > 0)) {
        return;
    }
    /* 1 - q^(2^k), which is exact where q^(2^k) itself could not be told from 1. */
    double lacks = bit_error_rate;
    for (unsigned k = 0; k < BIT_ERROR_DIGITS; k++) {
        errors->digits[k] = threshold((1 - lacks) / (2 - lacks));
        lacks = lacks * (2 - lacks);
    }
    errors->beyond = threshold(1 - lacks);
    draw_gap(errors);
}

bool bit_errors_next(struct bit_errors *errors, uint64_t bits, uint64_t *at, uint64_t *place)
{
    if (bit_errors_pass(errors, bits - *at)) {
        *at = bits;
        return false;
    }
    *place = *at + errors->until;
    *at = *place + 1;
    draw_gap(errors);
    return true;
}
