/* Authentication in the storm: fast, and no forger can guess it, but only because storm's
 * forgers do not try. Every node holds the keys of all groups (as a NIC that serves several
 * does), so that what keeps groups apart is the check of the PGID and not the key. */
#ifndef SIM_STORM_GUARD_H
#define SIM_STORM_GUARD_H

#include "swif/swif.h"

/* The secret is that of the whole run. */
struct storm_guard {
    uint64_t secret;
};

/* As swif_guard's seal and open; context is a struct storm_guard. */
void storm_guard_seal(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes);
bool storm_guard_open(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes);

#endif
