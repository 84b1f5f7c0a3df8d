/* Stores outside a kick, or across its end; or inside, when the argument says so. */
#include <stdlib.h>
#include <string.h>

#include "dimmnet.h"

int main(int argc, char **argv)
{
    struct dn_node *node;
    struct dn_kick kick;
    const char *what = argc > 1 ? argv[1] : "";
    if (dn_attach(&node, NULL) ||
        dn_kick_map(node, (struct dn_remote){.rank = 0, .area = DN_LLCM, .offset = 64}, 64,
                    &kick)) {
        return 2;
    }
    if (strcmp(what, "inside") == 0) {
        dn_store_u64(&kick, 56, 1);
    } else if (strcmp(what, "outside") == 0) {
        dn_store_u64(&kick, 64, 1);
    } else if (strcmp(what, "astride") == 0) {
        dn_store_u64(&kick, 60, 1);
    } else if (strcmp(what, "misaligned") == 0) {
        dn_store_u32(&kick, 2, 1);
    } else if (strcmp(what, "wrapping") == 0) {
        dn_store_u8(&kick, UINT64_MAX, 1);
    } else {
        return 2;
    }
    return dn_detach(node) ? 2 : 0;
}
