/* Nodes that share memory have all they need in the launcher's group. */
#include "fabric/launch.h"

extern const struct fabric_launch mem_launch;
const struct fabric_launch mem_launch = {
    .name = "mem",
    .help = "the memory of this machine",
    .shares_memory = true,
    .options = (const struct fabric_option[]){{.name = NULL}},
};
