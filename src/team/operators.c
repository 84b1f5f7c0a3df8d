/* Reduction loops, one table line for each type. Simple enough for the compiler to
 * use vectors. */
#include "team/operators.h"

#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))

/* `wide` is what the arithmetic is done in: unsigned for integers, so that overflow
 * wraps instead of being undefined. Comparisons use the type itself. */
#define LOOP(name, type, wide, operation)                                            \
    static void name(void *result, const void *operand, size_t count, void *context) \
    {                                                                                \
        type *restrict to = result;                                                  \
        const type *restrict from = operand;                                         \
        (void)context;                                                               \
        for (size_t i = 0; i < count; i++) {                                         \
            to[i] = (type)operation((wide)to[i], (wide)from[i]);                     \
        }                                                                            \
    }

#define ARITHMETIC(suffix, type, wide)  \
    LOOP(sum_##suffix, type, wide, SUM) \
    LOOP(product_##suffix, type, wide, PRODUCT)

#define ORDER(suffix, type)             \
    LOOP(min_##suffix, type, type, MIN) \
    LOOP(max_##suffix, type, type, MAX)

#define BITS(suffix, type)              \
    LOOP(and_##suffix, type, type, AND) \
    LOOP(or_##suffix, type, type, OR)   \
    LOOP(xor_##suffix, type, type, XOR)

#define INTEGERS(each)                                                                     \
    each(i8, int8_t, uint32_t, DN_INT8) each(i16, int16_t, uint32_t, DN_INT16)             \
        each(i32, int32_t, uint32_t, DN_INT32) each(i64, int64_t, uint64_t, DN_INT64)      \
            each(u8, uint8_t, uint32_t, DN_UINT8) each(u16, uint16_t, uint32_t, DN_UINT16) \
                each(u32, uint32_t, uint32_t, DN_UINT32) each(u64, uint64_t, uint64_t, DN_UINT64)

#define FLOATS(each)                                                       \
    each(f32, float, float, DN_FLOAT) each(f64, double, double, DN_DOUBLE) \
        each(flong, long double, long double, DN_LONG_DOUBLE)

#define COMPLEX_NUMBERS(each)                                   \
    each(c32, float _Complex, float _Complex, DN_FLOAT_COMPLEX) \
        each(c64, double _Complex, double _Complex, DN_DOUBLE_COMPLEX)

#define DEFINE_INTEGER(suffix, type, wide, number) \
    ARITHMETIC(suffix, type, wide) ORDER(suffix, type) BITS(suffix, type)
#define DEFINE_FLOAT(suffix, type, wide, number) ARITHMETIC(suffix, type, wide) ORDER(suffix, type)
#define DEFINE_COMPLEX(suffix, type, wide, number) ARITHMETIC(suffix, type, wide)
INTEGERS(DEFINE_INTEGER)
FLOATS(DEFINE_FLOAT)
COMPLEX_NUMBERS(DEFINE_COMPLEX)

const struct team_type team_types[TEAM_TYPES] = {
#define INTEGER_ROW(suffix, type, wide, number)   \
    [number] = {sizeof(type),                     \
                _Alignof(type),                   \
                {[DN_SUM] = sum_##suffix,         \
                 [DN_PRODUCT] = product_##suffix, \
                 [DN_MIN] = min_##suffix,         \
                 [DN_MAX] = max_##suffix,         \
                 [DN_AND] = and_##suffix,         \
                 [DN_OR] = or_##suffix,           \
                 [DN_XOR] = xor_##suffix}},
#define FLOAT_ROW(suffix, type, wide, number)     \
    [number] = {sizeof(type),                     \
                _Alignof(type),                   \
                {[DN_SUM] = sum_##suffix,         \
                 [DN_PRODUCT] = product_##suffix, \
                 [DN_MIN] = min_##suffix,         \
                 [DN_MAX] = max_##suffix}},
#define COMPLEX_ROW(suffix, type, wide, number) \
    [number] = {                                \
        sizeof(type), _Alignof(type), {[DN_SUM] = sum_##suffix, [DN_PRODUCT] = product_##suffix}},
    INTEGERS(INTEGER_ROW) FLOATS(FLOAT_ROW) COMPLEX_NUMBERS(COMPLEX_ROW)};
