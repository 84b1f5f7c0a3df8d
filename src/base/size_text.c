/* Parsing sizes and numbers: every character is accounted for. */
#include "base/size_text.h"

#include <stddef.h>

/* Reads digits; gives what follows them, or NULL when there are none or too many. */
static const char *digits(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return NULL;
        }
    }
    *number = value;
    return at == text ? NULL : at;
}

/* The unit that ends a text: how far it shifts a number; nothing at all shifts by 0. */
static bool unit(const char *text, unsigned *shift)
{
    static const char units[] = "KMGT";
    if (*text == '\0') {
        *shift = 0;
        return true;
    }
    char letter = *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text;
    for (unsigned i = 0; i < sizeof units - 1; i++) {
        if (letter == units[i] && text[1] == '\0') {
            *shift = (i + 1) * 10;
            return true;
        }
    }
    return false;
}

bool base_size_parse(const char *text, uint64_t *bytes)
{
    uint64_t value;
    unsigned shift;
    const char *at = digits(text, &value);
    if (!at || !unit(at, &shift) || value > UINT64_MAX >> shift) {
        return false;
    }
    *bytes = value << shift;
    return true;
}

bool base_scaled_parse(const char *text, uint64_t *bytes)
{
    enum { DIGITS_THAT_MATTER = 6 }; /* of a fraction; shifted to a T they fit 64 bits */
    uint64_t value;
    uint64_t fraction = 0;
    uint64_t scale = 1;
    unsigned shift;
    const char *at = digits(text, &value);
    if (at && *at == '.') {
        const char *first = ++at;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (at - first < DIGITS_THAT_MATTER) {
                fraction = fraction * 10 + (uint64_t)(*at - '0');
                scale *= 10;
            }
        }
        if (at == first) {
            return false;
        }
    }
    if (!at || !unit(at, &shift) || value > (UINT64_MAX >> shift) - 1) {
        return false;
    }
    *bytes = (value << shift) + (fraction << shift) / scale;
    return true;
}

bool base_number_parse(const char *text, uint64_t limit, uint64_t *number)
{
    uint64_t value;
    const char *at = digits(text, &value);
    if (!at || *at != '\0' || value > limit) {
        return false;
    }
    *number = value;
    return true;
}
