/* The net for hours: usage: soak_net errors [PACKETS] | soak_net saturation [FLIT_HOPS]
 *
 * errors: PACKETS (1e8) over links with a bit error rate of 1e-6, then a tenth of that at 1e-5
 *     with links that die and return: nothing lost, doubled, reordered or delivered elsewhere.
 * saturation: FLIT_HOPS (1e9) on every topology with every routing that it has, full all the
 *     time, and a tenth of that with short buffers: no deadlock, and the same.
 *
 * A line for each run; 1 when one of them went wrong. */
#include <time.h>

#include "pour.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool run(const char *name, const struct pour_plan *plan)
{
    static struct pour_result result;
    double start_s = now_s();
    bool fine = pour(plan, &result);
    const struct net_counters *counters = &result.counters;
    if (fine && plan->config.bit_error_rate > 0 &&
        (counters->frames_damaged == 0 || counters->frames_resent == 0)) {
        fine = false;
        snprintf(result.fault, sizeof result.fault, "no frame was damaged and sent again");
    }
    printf("%s %s: %llu packets, %llu flit-hops, %llu cycles, %llu frames damaged, %llu resent, "
           "%llu deaths, %.0f s%s%s\n",
           fine ? "ok" : "FAIL", name, (unsigned long long)counters->packets_delivered,
           (unsigned long long)counters->flit_hops, (unsigned long long)counters->cycles,
           (unsigned long long)counters->frames_damaged,
           (unsigned long long)counters->frames_resent, (unsigned long long)result.deaths,
           now_s() - start_s, fine ? "" : ": ", result.fault);
    fflush(stdout);
    return fine;
}

static bool run_errors(uint64_t packets)
{
    struct pour_plan plan = {.packets = packets, .flits_max = 4, .queue_flits = 64, .seed = 9};
    net_config_default(&plan.config, 8);
    plan.config.bit_error_rate = 1e-6;
    bool fine = run("ring of 8, bit error rate 1e-6", &plan);
    plan.packets = packets / 10;
    plan.config.bit_error_rate = 1e-5;
    plan.death_cycles = 5000;
    fine = run("ring of 8, 1e-5, links that die", &plan) && fine;
    plan.config.shape = NET_TORUS;
    plan.config.width = plan.config.height = 4;
    return run("torus of 4 x 4, 1e-5, links that die", &plan) && fine;
}

static const struct {
    const char *name;
    enum net_shape shape;
    enum net_routing routing;
    uint32_t width, height;
    uint32_t virtual_networks, vcs;
} topologies[] = {
    {"ring of 2", NET_RING, NET_DATELINE, 2, 1, 2, 4},
    {"ring of 8", NET_RING, NET_DATELINE, 8, 1, 2, 4},
    {"ring of 17", NET_RING, NET_DATELINE, 17, 1, 1, 2},
    {"ring of 64", NET_RING, NET_DATELINE, 64, 1, 2, 4},
    {"ring of 8, structured channels", NET_RING, NET_STRUCTURED, 8, 1, 2, 10},
    {"mesh of 8 x 8", NET_MESH, NET_DIMENSION, 8, 8, 2, 4},
    {"mesh of 5 x 3, 1 channel", NET_MESH, NET_DIMENSION, 5, 3, 1, 1},
    {"torus of 8 x 8", NET_TORUS, NET_DATELINE, 8, 8, 2, 4},
    {"torus of 5 x 4", NET_TORUS, NET_DATELINE, 5, 4, 1, 2},
    {"torus of 4 x 4, structured channels", NET_TORUS, NET_STRUCTURED, 4, 4, 1, 5},
};

static bool run_saturation(uint64_t flit_hops)
{
    bool fine = true;
    for (size_t i = 0; i < sizeof topologies / sizeof topologies[0]; i++) {
        struct pour_plan plan = {
            .flit_hops = flit_hops, .flits_max = 24, .queue_flits = 64, .seed = i};
        net_config_default(&plan.config, topologies[i].width);
        net_config_swif(&plan.config, NET_SW2A); /* ports by which NICs can fill the net */
        plan.config.shape = topologies[i].shape;
        plan.config.routing = topologies[i].routing;
        plan.config.height = topologies[i].height;
        plan.config.virtual_networks = topologies[i].virtual_networks;
        plan.config.vcs = topologies[i].vcs;
        fine = run(topologies[i].name, &plan) && fine;
        /* Packets that lie in many routers at once are the ones to wait in a circle. */
        char name[100];
        snprintf(name, sizeof name, "%s, short buffers", topologies[i].name);
        plan.config.buffer_flits = 3;
        plan.flit_hops = flit_hops / 10;
        fine = run(name, &plan) && fine;
    }
    return fine;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    double many = count > 2 ? strtod(arguments[2], NULL) : 0;
    if (count > 3 || (count > 2 && !(many >= 1 && many < 1e15))) {
        what = "";
    }
    if (strcmp(what, "errors") == 0) {
        return run_errors(count > 2 ? (uint64_t)many : 100000000) ? 0 : 1;
    }
    if (strcmp(what, "saturation") == 0) {
        return run_saturation(count > 2 ? (uint64_t)many : 1000000000) ? 0 : 1;
    }
    fprintf(stderr, "usage: soak_net errors [PACKETS] | soak_net saturation [FLIT_HOPS]\n");
    return 2;
}
