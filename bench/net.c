/* How fast networks are simulated: uniform traffic at a share of what the links can carry.
 * Not run by scripts/bench, which compares libraries; build it with the simulator's library:
 * see bench/README.md. Prints a line: nodes, load, flit-hops per second, ns per flit-hop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "sim/ring/net.h"

static uint64_t latency_cycles, packets;

static void delivered(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    (void)context;
    latency_cycles += cycle - delivery->injected_cycle;
    packets++;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fprintf(stderr, "usage: net ring|torus WIDTH LOAD [FLITS] [BIT-ERROR-RATE]\n");
        return 2;
    }
    struct net_config config;
    net_config_default(&config, number(arguments[2]));
    double load = strtod(arguments[3], NULL);
    uint32_t flits = count > 4 ? number(arguments[4]) : 8;
    if (count > 5) {
        config.bit_error_rate = strtod(arguments[5], NULL);
    }
    /* Links by node, over the mean way: what a node can send in a cycle when the links are full. */
    double most = 2.0 * 4 / config.width;
    if (strcmp(arguments[1], "torus") == 0) {
        config.shape = NET_TORUS;
        config.height = config.width;
        most = 4.0 * 2 / config.width;
    }
    most = most > 1 ? 1 : most;
    struct net_user user = {.delivered = delivered};
    char error[NET_ERROR_BYTES];
    struct net *net = net_open(&config, &user, error);
    if (!net) {
        fprintf(stderr, "net: %s\n", error);
        return 1;
    }
    uint32_t nodes = config.width * config.height;
    struct base_random random = {config.seed};
    /* Packets by cycle in the whole net. */
    double each_cycle = load * most * nodes / flits;
    double due = 0, start = 0;
    struct net_counters before = {0}, after;
    uint64_t warm = 4000 + config.width * 10,
             cycles = warm + (uint64_t)(4e7 / (each_cycle * flits * config.width / 4 + 1));
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        if (cycle == warm) {
            net_counters(net, &before);
            start = now();
            latency_cycles = packets = 0;
        }
        for (due += each_cycle; due >= 1; due--) {
            uint64_t chance = base_random_next(&random);
            net_send(net, (uint32_t)(chance % nodes), (uint32_t)((chance >> 32) % nodes),
                     chance >> 31 & 1, flits, 0);
        }
        net_step(net);
    }
    double seconds = now() - start;
    net_counters(net, &after);
    double hops = (double)(after.flit_hops - before.flit_hops);
    printf("%s %u load %.2f: %.2f M flit-hops/s, %.1f ns each, %.3f flits/node/cycle, "
           "%.0f cycles latency, %.2f us/cycle\n",
           net_shape_names[config.shape], config.width, load, hops / seconds / 1e6,
           seconds / hops * 1e9,
           (double)(after.flits_delivered - before.flits_delivered) /
               (double)(after.cycles - before.cycles) / nodes,
           (double)latency_cycles / (double)packets,
           seconds / (double)(after.cycles - before.cycles) * 1e6);
    net_close(net);
    return 0;
}
