#include <dimmnet.h>
#include <stdio.h>

int main(void)
{
    struct dn_node *node;
    struct dn_kick kick;
    int error = dn_attach(&node, NULL);
    int rank = error ? error : dn_rank(node);
    if (rank == 0) {
        error = dn_kick_map(node, (struct dn_remote){1, DN_LLCM, 0}, 8, &kick);
        if (!error) {
            dn_store_u64(&kick, 0, 42); /* one store, straight into node 1's memory */
        }
    } else if (rank == 1) {
        error = dn_wait_until_u64(node, dn_llcm(node, NULL), DN_EQ, 42, DN_FOREVER);
    }
    printf("node %d: %s\n", rank, error ? dn_strerror(error) : rank == 1 ? "got 42" : "done");
    return error || dn_detach(node);
}
