/* A topology file of any bytes: it is refused with one line that names it, or it gives a shape
 * without objection, and what is written of that gives the same shape again. */
#include "fuzz.h"
#include "sim/subnet/topology_file.h"

/* A name that looks as the file's own texts in quotes do may be another node's there. */
static bool is_like_a_key(const char *name)
{
    return strncmp(name, "S-", 2) == 0 || strncmp(name, "H-", 2) == 0;
}

static void expect_same(const struct topology *one, const struct topology *other)
{
    FUZZ_ASSERT(one->node_count == other->node_count && one->port_count == other->port_count);
    for (uint32_t i = 0; i < one->node_count; i++) {
        const struct topology_node *node = &one->nodes[i];
        FUZZ_ASSERT(node->kind == other->nodes[i].kind && node->guid == other->nodes[i].guid);
        FUZZ_ASSERT(node->port_count == other->nodes[i].port_count);
        FUZZ_ASSERT(is_like_a_key(node->name) || strcmp(node->name, other->nodes[i].name) == 0);
    }
    for (uint32_t i = 0; i < one->port_count; i++) {
        const struct topology_port *port = &one->ports[i];
        FUZZ_ASSERT(port->peer_node == other->ports[i].peer_node);
        FUZZ_ASSERT(port->peer_port == other->ports[i].peer_port);
        /* Nothing tells the width of a port without a cable. */
        FUZZ_ASSERT(port->peer_node == TOPOLOGY_NONE || port->width == other->ports[i].width);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct topology topology = {0};
    struct topology again = {0};
    char error[TOPOLOGY_ERROR_BYTES] = "";
    unsigned char *input = fuzz_copy(data, bytes);
    bool good = topology_read_bytes("fuzz.topo", input, bytes, &topology, error);
    free(input);
    if (!good) {
        FUZZ_ASSERT(topology.nodes == NULL && topology.ports == NULL);
        FUZZ_ASSERT(strncmp(error, "fuzz.topo:", 10) == 0 && strchr(error, '\n') == NULL);
        return 0;
    }
    FUZZ_ASSERT(topology_objection(&topology, error) == NULL && topology.node_count > 0);
    FUZZ_ASSERT(topology_parts(&topology) <= topology.node_count);
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    FUZZ_ASSERT(file != NULL);
    topology_write(file, &topology, NULL);
    FUZZ_ASSERT(fclose(file) == 0);
    FUZZ_ASSERT(topology_read_bytes("fuzz.topo", text, length, &again, error));
    expect_same(&topology, &again);
    free(text);
    topology_free(&topology);
    topology_free(&again);
    return 0;
}
