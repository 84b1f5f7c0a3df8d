/* Where bits are wrong on a wire: each one by itself with the same chance, drawn as the number of
 * right bits before the next wrong one. Nothing is drawn for bits that are right, so a wire without
 * errors costs a subtraction. Whole numbers only: a seed gives the same bits on every machine. */
#ifndef SIM_BIT_ERRORS_H
#define SIM_BIT_ERRORS_H

#include "base/random.h"
#include "base/base.h"

enum { BIT_ERROR_DIGITS = 63 };

struct bit_errors {
    uint64_t until; /* right bits before the next wrong one; UINT64_MAX: none ever is */
    /* In 2^64ths: the chance that a binary digit of a gap is 1, and that the gap is longer than all
     * digits together. */
    uint64_t digits[BIT_ERROR_DIGITS];
    uint64_t beyond;
    struct base_random random;
};

/* With a rate of 0 no bit is ever wrong. */
void bit_errors_init(struct bit_errors *errors, double bit_error_rate, uint64_t seed);

/* Passes that many bits if all of them are right. */
static inline bool bit_errors_pass(struct bit_errors *errors, uint64_t bits)
{
    if (LIKELY(errors->until >= bits)) {
        errors->until -= errors->until == UINT64_MAX ? 0 : bits;
        return true;
    }
    return false;
}

/* The place of the next wrong bit among `bits`, of which those before *at have passed; false: there
 * is none, and all have passed. Begin with *at = 0; a place that was given has passed. */
bool bit_errors_next(struct bit_errors *errors, uint64_t bits, uint64_t *at, uint64_t *place);

#endif
