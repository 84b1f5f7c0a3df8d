/* Bandwidths: BOTF streams, the host's windows, an SO-DIMM's network side, a link. */
#include "sim/papers/measure.h"

#include "sim/model/host.h"

/* Bytes in picoseconds, as MB/s. */
static double mb_per_s_of(uint64_t bytes, uint64_t ps)
{
    return (double)bytes * 1e6 / (double)ps;
}

/* ---- BOTF --------------------------------------------------------------------------------- */

/* So many that the first packet's way does not matter. */
enum { BLOCKS = 8192, BLOCK_BYTES = WIRE_BOTF_BYTES_MAX };

struct blocks {
    uint32_t count;
    uint32_t i;
    struct dn_remote remote;
    unsigned char source[BLOCK_BYTES];
    uint64_t end_ps;
};

static void blocks_program(struct sim_host *host)
{
    struct blocks *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < mine->count; mine->i++) {
        SIM_STEP(host, sim_block(host, mine->remote, mine->source, BLOCK_BYTES));
    }
    mine->end_ps = host->now_ps;
    SIM_END(host);
}

bool papers_measure_blocks(const char *machine, bool both_ways, double *mb_per_s,
                           char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench = {0};
    struct blocks blocks[2];
    for (uint32_t node = 0; node < 2; node++) {
        blocks[node] = (struct blocks){.count = BLOCKS, .remote = sim_remote_bank(1 - node, 0)};
    }
    bool ok = papers_bench_load(&bench, machine, error) &&
              papers_bench_run(&bench, SIM_BACK_TO_BACK, blocks_program, &blocks[0],
                               both_ways ? blocks_program : NULL, &blocks[1], error);
    *mb_per_s = mb_per_s_of((uint64_t)BLOCKS * BLOCK_BYTES, bench.last[1].visible_ps);
    if (both_ways) {
        *mb_per_s += mb_per_s_of((uint64_t)BLOCKS * BLOCK_BYTES, bench.last[0].visible_ps);
    }
    return ok;
}

bool papers_measure_windows(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench = {0};
    struct blocks blocks = {.count = NIC_WINDOWS / 2, .remote = sim_remote_bank(1, 0)};
    bool ok = papers_bench_load(&bench, machine, error) &&
              papers_bench_run(&bench, SIM_BACK_TO_BACK, blocks_program, &blocks, NULL, NULL,
                               error);
    uint64_t bytes = BLOCK_BYTES + bench.machine.packet_overhead_bytes;
    *mb_per_s = mb_per_s_of(blocks.count * bytes, blocks.end_ps);
    return ok;
}

/* ---- SO-DIMM ------------------------------------------------------------------------------ */

enum { TRANSFER_BYTES = 32768, LINK_FACTOR = 4 };

static void push_program(struct sim_host *host)
{
    const uint64_t *bytes = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_push(host, sim_remote_bank(1, 0), sim_bank(host, 0), *bytes));
    SIM_END(host);
}

/* When the last byte of a PUSH has arrived. */
static bool push_end(const char *machine, uint64_t bytes, uint64_t *end_ps,
                     char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    if (!papers_bench_load(&bench, machine, error)) {
        return false;
    }
    bench.machine.link_mb_per_s *= LINK_FACTOR; /* so that only the memory limits it */
    bench.bank_bytes = bytes;
    bool ok = papers_bench_run(&bench, SIM_BACK_TO_BACK, push_program, &bytes, NULL, NULL, error);
    *end_ps = bench.last[1].visible_ps;
    return ok;
}

bool papers_measure_bank(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES])
{
    uint64_t one_ps;
    uint64_t two_ps;
    if (!push_end(machine, TRANSFER_BYTES, &one_ps, error) ||
        !push_end(machine, 2 * TRANSFER_BYTES, &two_ps, error)) {
        return false;
    }
    *mb_per_s = mb_per_s_of(TRANSFER_BYTES, two_ps - one_ps);
    return true;
}

/* ---- Link --------------------------------------------------------------------------------- */

enum { LINK_PACKETS = 1000, LINK_PACKET_BYTES = 512 };

struct arrivals {
    uint32_t count;
    uint64_t first_ps, last_ps;
};

static void note_arrival(void *context, uint64_t at_ps, uint32_t node, uint32_t token)
{
    struct arrivals *arrivals = context;
    (void)node;
    (void)token;
    if (arrivals->count++ == 0) {
        arrivals->first_ps = at_ps;
    }
    arrivals->last_ps = at_ps;
}

bool papers_measure_link(const char *name, double *mb_per_s, char error[SIM_ERROR_BYTES])
{
    struct sim_machine machine;
    struct sim_events events = {0};
    struct arrivals arrivals = {0};
    if (!papers_machine_load(&machine, name, error)) {
        return false;
    }
    const struct sim_network_user user = {
        .context = &arrivals, .events = &events, .arrived = note_arrival};
    struct sim_network *network = sim_network_open(&machine, SIM_BACK_TO_BACK, 2, &user, error);
    if (network) {
        uint64_t free_ps = 0;
        struct sim_event event;
        for (uint32_t i = 0; i < LINK_PACKETS; i++) {
            free_ps = sim_network_send(network, free_ps, 0, 1, LINK_PACKET_BYTES, i);
        }
        while (sim_events_take(&events, &event)) {
            sim_network_event(network, &event);
        }
        *mb_per_s = mb_per_s_of((uint64_t)(LINK_PACKETS - 1) * LINK_PACKET_BYTES,
                                arrivals.last_ps - arrivals.first_ps);
        sim_network_close(network);
    }
    sim_events_free(&events);
    sim_machine_free(&machine);
    return network != NULL;
}
