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

bool base_size_parse(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    uint64_t value;
    const char *at = digits(text, &value);
    if (!at) {
        return false;
    }
    unsigned shift = 0;
    if (*at != '\0') {
        char letter = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        for (unsigned i = 0; i < sizeof units - 1; i++) {
            if (letter == units[i]) {
                shift = (i + 1) * 10;
            }
        }
        if (shift == 0 || at[1] != '\0' || value > UINT64_MAX >> shift) {
            return false;
        }
    }
    *bytes = value << shift;
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
