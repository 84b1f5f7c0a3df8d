/* The copies of a packet that time-outs in a row send again.
 *
 * On a way that is longer than the time-outs the answer to the first copy comes when several others
 * have followed it. An acknowledgement echoes the counter of the copy that arrived, so it measures
 * the way as long as that copy's time is known; and it says that the time-outs were wrong. The
 * first copies are kept, because they are answered first, however long the way is. */
#ifndef SWIF_COPIES_H
#define SWIF_COPIES_H

#include "base/base.h"

enum { SWIF_COPIES_MAX = 8 };

struct swif_copy {
    uint64_t counter;
    uint64_t at_ns;
};

struct swif_copies {
    uint64_t since; /* the newest packet of all before the first time-out */
    uint32_t count; /* of copies that another one has followed */
    struct swif_copy list[SWIF_COPIES_MAX];
};

/* The first time-out in a row. */
static inline void swif_copies_begin(struct swif_copies *copies, uint64_t newest)
{
    copies->since = newest;
    copies->count = 0;
}

/* Another copy follows this one. */
static inline void swif_copies_note(struct swif_copies *copies, uint64_t counter, uint64_t at_ns)
{
    if (copies->count < SWIF_COPIES_MAX) {
        copies->list[copies->count++] = (struct swif_copy){counter, at_ns};
    }
}

/* The copy that is echoed, by the lower half of its counter, or NULL. */
static inline const struct swif_copy *swif_copies_find(const struct swif_copies *copies,
                                                       uint32_t echo)
{
    for (uint32_t i = 0; i < copies->count; i++) {
        if ((uint32_t)copies->list[i].counter == echo) {
            return &copies->list[i];
        }
    }
    return NULL;
}

/* Whether what is echoed went before the first time-out. */
static inline bool swif_copies_echo_is_older(const struct swif_copies *copies, uint32_t echo)
{
    return (int32_t)((uint32_t)copies->since - echo) >= 0;
}

#endif
