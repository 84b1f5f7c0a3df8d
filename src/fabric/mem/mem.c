/* The `mem` fabric: the memory of one host, which the launcher makes and every node maps. The
 * MMU is the header TLB, the coherence hardware the network: every peer is in place, there is
 * nothing to start, and each operation is done when its call returns. */
#include "fabric/in_place.h"

const struct fabric mem_fabric = {.ops = &in_place_ops};
