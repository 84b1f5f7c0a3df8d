/* A machine filled in by hand, like environment D without padding, so that each expected time is a
 * sum that one can follow; and worlds made of it. */
#ifndef UNIT_SIM_WORLD_BY_HAND_H
#define UNIT_SIM_WORLD_BY_HAND_H

#include "unit/unit.h"

#include <string.h>

#include "sim/model/host.h"

#define NS UINT64_C(1000)

enum { BUS_NS = 10, SWIF_NS = 10 };

static inline void fill(struct sim_machine *machine)
{
    *machine = (struct sim_machine){
        .name = "by hand",
        .clock_dimm = BUS_NS * NS,
        .clock_swif = SWIF_NS * NS,
        .clock_core = 20 * NS,
        .host_write = 53 * NS,
        .host_write8 = 53 * NS,
        .host_read = 173 * NS,
        .host_read8 = 173 * NS,
        .host_kick_cycles = 10,
        .host_burst_cycles = 1,
        .host_bank_switch = 5000 * NS,
        .llcm_bytes = 128 * 1024,
        .fifo_entries = 2048,
        .fifo_users = 64,
        .send_buffers = 4,
        .tlb_refill = SIM_REFILL_CORE,
        .tlb_refill_cycles = 50,
        .core_dispatch_cycles = 10,
        .core_look_up_cycles = 5,
        .core_update_cycles = 5,
        .core_send_cycles = 10,
        .core_notify_cycles = 5,
        .packet_overhead_bytes = 24,
        .packet_data_bytes = 464,
        .link_mb_per_s = 500000000,
        .link_wire = 100 * NS,
        .switch_ports = 8,
        .switch_transit = 50 * NS,
        .switch_next = 240 * NS,
        .switch_multicast = 1,
    };
    static const struct {
        enum sim_stage_name name;
        struct sim_stage stage;
    } stages[] = {
        {SIM_STAGE_HOST_WRITE, {.clock = SIM_CLOCK_DIMM, .cycles = 3}},
        {SIM_STAGE_TRANSACTION_QUEUE, {.clock = SIM_CLOCK_DIMM, .cycles = 2}},
        {SIM_STAGE_HEADER_TLB, {.clock = SIM_CLOCK_DIMM, .cycles = 3}},
        {SIM_STAGE_SIZE_DECISION, {.clock = SIM_CLOCK_DIMM, .cycles = 1}},
        {SIM_STAGE_SEND_BUFFER, {.clock = SIM_CLOCK_DIMM, .cycles = 1}},
        {SIM_STAGE_SWIF_SEND, {.clock = SIM_CLOCK_SWIF, .cycles = 4}},
        {SIM_STAGE_SWIF_RECEIVE, {.clock = SIM_CLOCK_SWIF, .cycles = 7}},
        {SIM_STAGE_ADDRESS_TLB, {.clock = SIM_CLOCK_DIMM, .cycles = 2}},
        {SIM_STAGE_LLCM_WRITE, {.clock = SIM_CLOCK_DIMM, .cycles = 1}},
    };
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        machine->stages[stages[i].name] = stages[i].stage;
    }
}

static inline struct sim_world *open_world(struct sim_machine *machine, uint32_t nodes,
                                           enum sim_topology topology, bool services)
{
    char error[SIM_ERROR_BYTES];
    const struct sim_world_config config = {
        .machine = machine, .node_count = nodes, .topology = topology, .services = services};
    struct sim_world *world = sim_world_open(&config, error);
    if (!world) {
        print_error("%s\n", error);
    }
    assert_non_null(world);
    return world;
}

static inline void ends_well(struct sim_world *world)
{
    char why[SIM_ERROR_BYTES];
    enum sim_end end = sim_world_run(world, UINT64_C(1000000000000));
    sim_world_why(world, end, why);
    if (end != SIM_END_DONE) {
        print_error("%s\n", why);
    }
    assert_int_equal(end, SIM_END_DONE);
}

#endif
