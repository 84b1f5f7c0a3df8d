/* Which of a peer's counters have come: each is believed once. An authentic packet whose counter
 * has come before is somebody's recording, or the network has doubled it.
 *
 * The newest counter stands in the stub. A window behind it has a bit for each counter that came;
 * what is older than the window counts as come, and its sender sends it again with a new counter.
 * Counters are a sender's for all its targets, so the window is wider than what a peer may have
 * under way to us. Windows live in a cache of their own. A peer without one has a short one in
 * its stub: the wide window begins as the short one, and is short again when it is evicted, so
 * nothing is ever forgotten. */
#ifndef SWIF_REPLAY_H
#define SWIF_REPLAY_H

#include "base/base.h"

enum {
    SWIF_REPLAY_WORDS = 32,
    SWIF_REPLAY_BITS = 64 * SWIF_REPLAY_WORDS,
    /* At least so many counters back are told apart. The window moves by whole words. */
    SWIF_REPLAY_REACH = SWIF_REPLAY_BITS - 64,
    SWIF_REPLAY_SHORT_BITS = 26,
};

/* A ring of bits by counter. Bits of counters beyond the newest one are 0 in its own word; other
 * words are cleared when the window moves there. */
struct swif_replay {
    uint64_t word[SWIF_REPLAY_WORDS];
};

/* Whether this counter never came, as the window and the newest counter say. */
static inline bool swif_replay_is_new(const struct swif_replay *window, uint64_t newest,
                                      uint64_t counter)
{
    return counter > newest ||
           (newest / 64 - counter / 64 < SWIF_REPLAY_WORDS &&
            !(window->word[counter / 64 % SWIF_REPLAY_WORDS] >> counter % 64 & 1));
}

/* The same by a short window; its bit i says whether newest - 1 - i has come. */
static inline bool swif_replay_is_new_to_short(uint32_t bits, uint64_t newest, uint64_t counter)
{
    return counter > newest ||
           (newest - counter - 1 < SWIF_REPLAY_SHORT_BITS && !(bits >> (newest - counter - 1) & 1));
}

/* The counter, which is new, has come: the window moves if need be. Gives the newest one. */
static inline uint64_t swif_replay_note(struct swif_replay *window, uint64_t newest,
                                        uint64_t counter)
{
    if (counter > newest) {
        uint64_t steps = counter / 64 - newest / 64;
        uint64_t first = counter / 64 - (steps < SWIF_REPLAY_WORDS ? steps : SWIF_REPLAY_WORDS);
        for (uint64_t word = first + 1; word <= counter / 64; word++) {
            window->word[word % SWIF_REPLAY_WORDS] = 0;
        }
        newest = counter;
    }
    window->word[counter / 64 % SWIF_REPLAY_WORDS] |= UINT64_C(1) << counter % 64;
    return newest;
}

/* From a short window to a wide one and back. */
void swif_replay_widen(struct swif_replay *window, uint64_t newest, uint32_t bits);
uint32_t swif_replay_shorten(const struct swif_replay *window, uint64_t newest);

#endif
