/* Paper 001: Fagus on two hosts, its send and its two barriers. */
#include "sim/papers/measure.h"

#include <stdio.h>
#include <string.h>

#include "sim/model/host.h"

enum {
    SENDER = 0,
    RECEIVER = 1,
    SENDS = 200,
    MESSAGE_BYTES = 10000,
    HEADER_BYTES = 16, /* size and flag */
    BLOCK_BYTES = WIRE_BOTF_BYTES_MAX,
};

/* Words of LLCM that the other node stores into. */
enum { FLAG = 0, ENTRY = 8 };

static uint64_t copy_ps(const struct sim_machine *machine)
{
    return machine->software_copy_mb_per_s > 0
               ? MESSAGE_BYTES * UINT64_C(1000000000000) / machine->software_copy_mb_per_s
               : 0;
}

/* ---- A send ------------------------------------------------------------------------------- */

/* Paper 000 asks that banks change sides between barriers, when no packet is on its way into
 * them. Both are the library's barrier: one before the switch, one after the receiver has copied
 * the message out. */
enum { BARRIERS_OF_A_SEND = 2 };

struct sending {
    const struct sim_machine *machine;
    bool detect_thread;
    bool wrong; /* the receiver did not find what was sent */
    uint64_t kick;
    uint32_t round, barrier, phase, offset;
    uint64_t start_ps, part_ps;
    uint64_t total_ps, bank_ps, internal_ps, block_ps;
    unsigned char data[HEADER_BYTES + MESSAGE_BYTES];
};

/* What is sent in a round. */
static void fill(struct sending *mine)
{
    for (uint32_t i = 0; i < sizeof mine->data; i++) {
        mine->data[i] = (unsigned char)(i + mine->round);
    }
}

static uint32_t block_bytes(const struct sending *mine)
{
    uint32_t left = sizeof mine->data - mine->offset;
    return left < BLOCK_BYTES ? left : BLOCK_BYTES;
}

static void sender_program(struct sim_host *host)
{
    struct sending *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, RECEIVER, 0);
    for (mine->round = 1; mine->round <= SENDS; mine->round++) {
        mine->start_ps = host->now_ps;
        fill(mine);
        SIM_STEP(host, sim_work(host, machine->software_message / 2 + copy_ps(machine)));
        mine->internal_ps += host->now_ps - mine->start_ps;
        mine->part_ps = host->now_ps;
        for (mine->offset = 0; mine->offset < sizeof mine->data; mine->offset += BLOCK_BYTES) {
            SIM_STEP(host, sim_block(host, sim_remote_bank(RECEIVER, mine->offset),
                                     mine->data + mine->offset, block_bytes(mine)));
        }
        mine->block_ps += host->now_ps - mine->part_ps;
        SIM_STEP(host, sim_store(host, mine->kick + FLAG, mine->round, 4));
        for (mine->barrier = 0; mine->barrier < BARRIERS_OF_A_SEND; mine->barrier++) {
            mine->phase++;
            SIM_STEP(host, sim_poll(host, ENTRY, 4, UINT32_MAX, mine->phase));
            SIM_STEP(host, sim_work(host, sim_machine_turn(machine) + machine->software_pass +
                                              machine->software_library_barrier));
            SIM_STEP(host, sim_store(host, mine->kick + ENTRY, mine->phase, 4));
        }
        mine->total_ps += host->now_ps - mine->start_ps;
    }
    SIM_END(host);
}

/* How long the flag waited for the blocks before it: this counts as their time, not its own. */
static uint64_t waited_ps(const struct sim_passage *passage)
{
    uint64_t waited = 0;
    for (unsigned stage = SIM_STAGE_HOST_WRITE + 1; stage <= SIM_STAGE_LINK; stage++) {
        waited += passage->from_ps[stage] - passage->to_ps[stage - 1];
    }
    return waited;
}

static void receiver_program(struct sim_host *host)
{
    struct sending *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, SENDER, 0);
    for (mine->round = 1; mine->round <= SENDS; mine->round++) {
        SIM_STEP(host, sim_poll(host, FLAG, 4, UINT32_MAX, mine->round));
        mine->block_ps += waited_ps(sim_world_passage(host->world, host->node));
        SIM_STEP(host, sim_work(host, mine->detect_thread ? machine->software_detect_thread : 0));
        SIM_STEP(host, sim_work(host, machine->host_write)); /* clears the flag */
        for (mine->barrier = 0; mine->barrier < BARRIERS_OF_A_SEND; mine->barrier++) {
            mine->phase++;
            SIM_STEP(host, sim_work(host, machine->software_pass));
            SIM_STEP(host, sim_store(host, mine->kick + ENTRY, mine->phase, 4));
            SIM_STEP(host, sim_poll(host, ENTRY, 4, UINT32_MAX, mine->phase));
            if (mine->barrier == 0) {
                mine->part_ps = host->now_ps;
                SIM_STEP(host, sim_switch_banks(host));
                mine->bank_ps += host->now_ps - mine->part_ps;
                mine->part_ps = host->now_ps;
                SIM_STEP(host, sim_work(host, machine->host_read8)); /* the header */
                SIM_STEP(host, sim_work(host, machine->software_message / 2 + copy_ps(machine)));
                mine->internal_ps += host->now_ps - mine->part_ps;
                fill(mine);
                mine->wrong = mine->wrong ||
                              memcmp(sim_bank(host, 0), mine->data, sizeof mine->data) != 0;
            }
        }
    }
    SIM_END(host);
}

bool papers_measure_send(const char *machine, bool detect_thread, struct papers_send *send,
                         char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    if (!papers_bench_load(&bench, machine, error)) {
        return false;
    }
    struct sending sender = {.machine = &bench.machine};
    struct sending receiver = {.machine = &bench.machine, .detect_thread = detect_thread};
    bench.bank_bytes = sizeof sender.data;
    bool ok = papers_bench_run(&bench, SIM_BACK_TO_BACK, sender_program, &sender, receiver_program,
                               &receiver, error);
    if (ok && receiver.wrong) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s: what was received is not what was sent",
                       machine);
        ok = false;
    }
    send->total_ns = papers_ns(sender.total_ps) / SENDS;
    send->bank_ns = papers_ns(receiver.bank_ps) / SENDS;
    send->internal_ns = papers_ns(sender.internal_ps + receiver.internal_ps) / SENDS;
    send->block_ns = papers_ns(sender.block_ps + receiver.block_ps) / SENDS;
    send->rest_ns = send->total_ns - send->bank_ns - send->internal_ns - send->block_ns;
    return ok;
}

/* ---- Barriers ----------------------------------------------------------------------------- */

/* _expBarrier and dimmnet_comm_sync make the same two stores, those of papers_bench_ping. Their
 * software differs, and comm_sync resets the words that it received. */
bool papers_measure_library_barrier(const char *machine, double *ns, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    return papers_bench_load(&bench, machine, error) &&
           papers_bench_ping(&bench, bench.machine.software_library_barrier, 0, ns, error);
}

bool papers_measure_comm_sync(const char *machine, double *ns, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    return papers_bench_load(&bench, machine, error) &&
           papers_bench_ping(&bench, bench.machine.software_comm_sync, bench.machine.host_write, ns,
                             error);
}
