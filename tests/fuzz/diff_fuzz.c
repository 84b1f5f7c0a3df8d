/* Differences from outside: those that are accepted change only words of the range, and making them
 * again from the result gives the same. */
#include "fagus/diff.h"
#include "fuzz.h"

enum { GUARD = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 3) {
        return 0;
    }
    uint64_t lead = data[0] % 8;
    uint64_t range_bytes = data[1] + (uint64_t)data[2] % 8 * 256;
    unsigned char *differences = fuzz_copy(data + 3, bytes - 3);
    unsigned char *before = calloc(1, lead + range_bytes + 2 * GUARD);
    unsigned char *after = calloc(1, lead + range_bytes + 2 * GUARD);
    FUZZ_ASSERT(before && after);
    unsigned char *target = after + GUARD + lead;
    bool fits = fagus_diff_fits(target, range_bytes, differences, bytes - 3);
    bool applied = fagus_diff_apply(target, range_bytes, differences, bytes - 3);
    FUZZ_ASSERT(fits == applied);
    FUZZ_ASSERT(memcmp(after, before, GUARD + lead) == 0);
    FUZZ_ASSERT(memcmp(target + range_bytes, before + GUARD + lead + range_bytes, GUARD) == 0);
    FUZZ_ASSERT(applied || memcmp(after, before, lead + range_bytes + 2 * GUARD) == 0);
    if (applied) {
        uint64_t capacity = fagus_diff_bound(range_bytes);
        unsigned char *made = calloc(1, capacity ? capacity : 1);
        FUZZ_ASSERT(made != NULL && bytes - 3 <= capacity);
        uint64_t length = fagus_diff_make(target, before + GUARD + lead, range_bytes, made,
                                          capacity);
        FUZZ_ASSERT(length <= bytes - 3);
        FUZZ_ASSERT(fagus_diff_words(made, length) <= fagus_diff_words(differences, bytes - 3));
        FUZZ_ASSERT(fagus_diff_apply(before + GUARD + lead, range_bytes, made, length));
        FUZZ_ASSERT(memcmp(before, after, lead + range_bytes + 2 * GUARD) == 0);
        free(made);
    }
    free(differences);
    free(before);
    free(after);
    return 0;
}
