/* Runs traffic over a subnet that the manager inside brought up, and writes its page, for a test
 * that looks at it in a browser. Prints the outcome.
 *
 * usage: subnet_page_sample TOPOLOGY RATE ROUTING FLOWS FILE [DEAD_CABLE_PORT] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/subnet_page.h"
#include "sim/subnet/manager.h"
#include "sim/subnet/topology_make.h"

static void bring_up(struct subnet *subnet, const char *routing)
{
    struct manager_config config = {.routing = strcmp(routing, "min-hop") == 0 ? MANAGER_MIN_HOP
                                                                               : MANAGER_UP_DOWN};
    struct manager_result result;
    char error[TOPOLOGY_ERROR_BYTES];
    struct agent *agent = agent_open(subnet);
    struct manager *manager = manager_open(agent, subnet_port_index(subnet, 0, 1), &config);
    if (!manager_sweep(manager, &result, error)) {
        fprintf(stderr, "subnet_page_sample: %s\n", error);
        exit(1);
    }
    manager_close(manager);
    agent_close(agent);
}

static bool run(struct subnet *subnet, double rate, uint32_t flows, const char *path)
{
    static struct load_result result;
    struct flow_config flow;
    struct bridge_config bridge;
    struct load_config config;
    flow_config_default(&flow);
    bridge_config_default(&bridge);
    load_config_default(&config);
    config.rate = rate;
    config.flows = flows;
    config.carrier = rate > 0.3 ? LOAD_DATAGRAMS : LOAD_BRIDGES;
    config.window_ps /= 10;
    struct load *load = load_open(subnet, &flow, &bridge, &config, NULL);
    while (load_step(load, UINT64_MAX, UINT64_MAX)) {
    }
    load_result(load, &result);
    double *busy = calloc(subnet->port_count, sizeof *busy);
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        busy[i] = (double)load_busy_ps(load, i) / (double)load_now_ps(load);
    }
    load_close(load);
    printf("%s\n", load_outcome_names[result.outcome]);
    const struct subnet_page page = {"A subnet", "subnet_page_sample", &result, busy};
    bool is_written = subnet_page_write(path, subnet, &page);
    free(busy);
    return is_written;
}

int main(int argc, char **argv)
{
    struct topology topology = {0};
    struct subnet_config config;
    char error[TOPOLOGY_ERROR_BYTES];
    if (argc < 6) {
        fprintf(stderr, "usage: subnet_page_sample TOPOLOGY RATE ROUTING FLOWS FILE [DEAD]\n");
        return 2;
    }
    subnet_config_default(&config);
    if (!topology_open(argv[1], &topology, error)) {
        fprintf(stderr, "subnet_page_sample: %s\n", error);
        return 1;
    }
    struct subnet *subnet = subnet_open(&topology, &config);
    topology_free(&topology);
    if (argc > 6) {
        subnet_cable_set(subnet, (uint32_t)atoi(argv[6]), false);
    }
    bring_up(subnet, argv[3]);
    bool is_written = run(subnet, atof(argv[2]), (uint32_t)atoi(argv[4]), argv[5]);
    if (!is_written) {
        fprintf(stderr, "subnet_page_sample: %s: %s\n", argv[5], strerror(errno));
    }
    subnet_close(subnet);
    return is_written ? 0 : 1;
}
