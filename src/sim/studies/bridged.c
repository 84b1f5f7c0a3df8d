#include "sim/studies/bridged.h"

#include <stdio.h>

#include "sim/subnet/manager.h"
#include "sim/subnet/topology_make.h"

#define CABLE_MB_PER_S 1000.0 /* 4X */

static bool bring_up(struct subnet *subnet, char error[TOPOLOGY_ERROR_BYTES])
{
    const struct manager_config config = {.routing = MANAGER_UP_DOWN};
    struct manager_result result;
    struct agent *agent = agent_open(subnet);
    struct manager *manager = manager_open(agent, subnet_port_index(subnet, 0, 1), &config);
    bool is_up = manager_sweep(manager, &result, error);
    manager_close(manager);
    agent_close(agent);
    return is_up;
}

bool bridged_open_topology(struct bridged *bridged, const struct topology *topology,
                           char error[SIM_ERROR_BYTES])
{
    struct subnet_config config;
    char text[TOPOLOGY_ERROR_BYTES];
    *bridged = (struct bridged){0};
    subnet_config_default(&config);
    flow_config_default(&bridged->flow);
    bridge_config_default(&bridged->bridge);
    load_config_default(&bridged->load);
    bridged->subnet = subnet_open(topology, &config);
    if (!bring_up(bridged->subnet, text)) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s", text);
        bridged_close(bridged);
        return false;
    }
    return true;
}

bool bridged_open(struct bridged *bridged, const char *shape, char error[SIM_ERROR_BYTES])
{
    struct topology topology = {0};
    char text[TOPOLOGY_ERROR_BYTES];
    if (!topology_make(shape, &topology, text)) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s", text);
        return false;
    }
    bool is_open = bridged_open_topology(bridged, &topology, error);
    topology_free(&topology);
    return is_open;
}

void bridged_close(struct bridged *bridged)
{
    subnet_close(bridged->subnet);
    bridged->subnet = NULL;
}

double bridged_empty_ns(const struct bridged *bridged, uint32_t bytes)
{
    struct sim_events events = {0};
    const struct bridge_user user = {.events = &events};
    struct bridges *bridges = bridges_open(bridged->subnet, &bridged->flow, &bridged->bridge,
                                           &user);
    uint32_t boards = bridges_board_count(bridges);
    double sum_ps = 0;
    for (uint32_t target = 1; target < boards; target++) {
        sum_ps += (double)bridge_zero_load_ps(bridges, 0, target, bytes);
    }
    bridges_close(bridges);
    sim_events_free(&events);
    return sum_ps / (boards - 1) / 1e3;
}

static struct load *start(const struct bridged *bridged, double mb_per_s)
{
    struct load_config config = bridged->load;
    config.rate = mb_per_s / CABLE_MB_PER_S;
    return load_open(bridged->subnet, &bridged->flow, &bridged->bridge, &config, NULL);
}

void bridged_run(const struct bridged *bridged, double mb_per_s, struct load_result *result)
{
    struct load *load = start(bridged, mb_per_s);
    while (load_step(load, UINT64_MAX, UINT64_MAX)) {
    }
    load_result(load, result);
    load_close(load);
}

double bridged_most(const struct bridged *bridged)
{
    static const double rates[] = {200, 225, 250}; /* a port to a NIC carries no more */
    static struct load_result result;
    double most = 0;
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct load *load = start(bridged, rates[i]);
        /* What is still to come when the window ends does not count. */
        (void)load_step(load, UINT64_MAX, bridged->load.warm_ps + bridged->load.window_ps);
        load_result(load, &result);
        load_close(load);
        most = result.mb_per_s > most ? result.mb_per_s : most;
    }
    return most;
}
