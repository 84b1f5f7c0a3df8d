/* Authentication in the storm: fast, and safe only because the storm's forgers do not try to guess
 * it. Every node holds the keys of all groups (as a NIC that serves several does), so it is the
 * check of the PGID that keeps groups apart, not the key. */
#ifndef SIM_STORM_GUARD_H
#define SIM_STORM_GUARD_H

#include "swif/swif.h"

/* All nodes of a run share the secret. */
struct storm_guard {
    uint64_t secret;
};

/* As swif_guard's seal and open; context is a struct storm_guard. */
void storm_guard_seal(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes);
bool storm_guard_open(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes);

#endif
