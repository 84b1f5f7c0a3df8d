#include "sim/subnet/manager.h"
#include <stdio.h>
const char *const manager_routing_names[MANAGER_ROUTINGS] = {"up-down", "min-hop"};
struct manager *manager_open(struct agent *agent, uint32_t port, const struct manager_config *config){(void)agent;(void)port;(void)config;return NULL;}
void manager_close(struct manager *manager){(void)manager;}
bool manager_sweep(struct manager *manager, struct manager_result *result, char error[TOPOLOGY_ERROR_BYTES]){(void)manager;(void)result;snprintf(error,9,"no");return false;}
