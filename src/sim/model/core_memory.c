/* Sizes of table lines. They are not our structs', which have pointers of 64 bits and what only
 * deaths need, but what the papers' fields take in words of 32 bits. */
#include "sim/model/core_memory.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    LOCK_LINE = 16,    /* name 8, first and last in the queue 2 each, the chain 4 */
    WAITER_LINE = 16,  /* ticket 8, node 2, lock 2, the next one 4 */
    USE_LINE = 24,     /* name 8, ticket 8, state, manager 2, next_proc 2, the window 2 */
    TEAM_LINE = 32,    /* three neighbours 2 each, four phases 4 each, state, the window */
    CONTEXT_LINE = 64, /* window, channel, PID; SB, RB and SENDTBL: address, size, head, tail */
    SEQUENCE_LINE = 8, /* of S_SEQTBL and R_SEQTBL: PID 4, SEQID 4 */
    SENDTBL_LINE = 20, /* position 4, size 4, destination 2, flags 2, route 4, SEQID 4 */
};

static uint64_t context_bytes(const struct nic_services_config *config)
{
    return CONTEXT_LINE + 2 * (uint64_t)SEQUENCE_LINE * config->context_peer_count +
           (uint64_t)SENDTBL_LINE * config->context_entry_count;
}

uint64_t sim_core_table_bytes(const struct nic_services_config *config)
{
    return (uint64_t)LOCK_LINE * config->lock_count +
           (uint64_t)WAITER_LINE * config->lock_waiter_count +
           (uint64_t)USE_LINE * config->lock_request_count +
           (uint64_t)(LOCK_LINE + USE_LINE) * config->chain_count +
           (uint64_t)TEAM_LINE * config->team_count + config->context_count * context_bytes(config);
}

static uint64_t room_bytes(const struct sim_machine *machine)
{
    uint64_t all = machine->core_data_bytes;
    return all > machine->core_reserved_bytes ? all - machine->core_reserved_bytes : 0;
}

uint32_t sim_core_waiters_max(const struct sim_machine *machine,
                              const struct nic_services_config *config)
{
    struct nic_services_config others = *config;
    others.lock_waiter_count = 0;
    uint64_t taken = sim_core_table_bytes(&others);
    if (machine->core_data_bytes == 0) {
        return UINT32_MAX;
    }
    return taken < room_bytes(machine) ? (uint32_t)((room_bytes(machine) - taken) / WAITER_LINE)
                                       : 0;
}

bool sim_core_tables_fit(const struct sim_machine *machine,
                         const struct nic_services_config *config, char error[SIM_ERROR_BYTES])
{
    uint64_t bytes = sim_core_table_bytes(config);
    if (machine->core_data_bytes == 0 || bytes <= room_bytes(machine)) {
        return true;
    }
    (void)snprintf(error, SIM_ERROR_BYTES,
                   "%s: the core processor's tables take %" PRIu64 " bytes (%" PRIu32
                   " requests for locks, %" PRIu32 " message contexts of %" PRIu32
                   " peers), but its data SRAM has %" PRIu64 " for them",
                   machine->name, bytes, config->lock_waiter_count, config->context_count,
                   config->context_peer_count, room_bytes(machine));
    return false;
}
