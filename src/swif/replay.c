/* Wide windows from short ones, and back. */
#include "swif/replay.h"

#include <string.h>

void swif_replay_widen(struct swif_replay *window, uint64_t newest, uint32_t bits)
{
    memset(window, 0xff, sizeof *window);
    window->word[newest / 64 % SWIF_REPLAY_WORDS] = UINT64_MAX >> (63 - newest % 64);
    for (uint64_t i = 0; i < SWIF_REPLAY_SHORT_BITS && i < newest; i++) {
        uint64_t counter = newest - 1 - i;
        if (!(bits >> i & 1)) {
            window->word[counter / 64 % SWIF_REPLAY_WORDS] &= ~(UINT64_C(1) << counter % 64);
        }
    }
}

uint32_t swif_replay_shorten(const struct swif_replay *window, uint64_t newest)
{
    uint32_t bits = 0;
    for (uint64_t i = 0; i < SWIF_REPLAY_SHORT_BITS && i < newest; i++) {
        bits |= (uint32_t)!swif_replay_is_new(window, newest, newest - 1 - i) << i;
    }
    return bits;
}
