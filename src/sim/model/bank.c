/* The two SO-DIMMs of a board as programs see them: which one faces the host, what a switch costs,
 * and copies that a switch spoils.
 *
 * A switch is the host's: whoever runs it is busy for [host] bank_switch_ns, and at its end the
 * banks change sides. What arrives from the network meanwhile goes into the bank that faced the
 * network when the switch began, and is counted: paper 001 (section 4.1) warns that such data may
 * be lost, so a program has to see to it that nothing is under way. */
#include <string.h>

#include "sim/model/state.h"

void *sim_bank(struct sim_host *host, uint64_t offset)
{
    const struct sim_machine *machine = host->world->machine;
    INVARIANT(offset < machine->bank_bytes);
    return sim_node_of(host)->memory + machine->llcm_bytes +
           sim_bank_facing(host) * machine->bank_bytes + offset;
}

uint32_t sim_bank_facing(const struct sim_host *host)
{
    return 1 - sim_node_of(host)->network_bank;
}

bool sim_bank_is_switching(const struct sim_host *host)
{
    return sim_node_of(host)->bank_switcher != 0;
}

/* A step that the bank's state forbids: the host finds out by reading a register of the NIC. */
static void refuse(struct sim_host *host, int error)
{
    host->result = error;
    sim_host_go_on(host, "bank is busy", host->now_ps + host->world->machine->host_read);
}

/* ---- Switching ------------------------------------------------------------------------- */

void sim_switch_banks(struct sim_host *host)
{
    struct sim_node *node = sim_node_of(host);
    if (node->bank_switcher != 0) {
        refuse(host, DN_EBUSY);
        return;
    }
    node->bank_switcher = host->user + 1;
    node->bank_over_ps = host->now_ps + host->world->machine->host_bank_switch;
    host->result = 0;
    sim_host_go_on(host, "bank switch", node->bank_over_ps);
}

/* The area keeps its name, but now means the other bank. */
static void change_sides(struct sim_node *node)
{
    node->bank_switcher = 0;
    node->bank_switches++;
    node->bank_switch_ps += node->world->machine->host_bank_switch;
    node->network_bank = 1 - node->network_bank;
    nic_engine_forget_area(node->engine, SIM_AREA_BANK);
}

/* ---- Copies ---------------------------------------------------------------------------- */

uint64_t sim_copy_ps(const struct sim_world *world, uint64_t bytes)
{
    const struct sim_machine *machine = world->machine;
    if (machine->software_copy_mb_per_s > 0) {
        return bytes * UINT64_C(1000000000000) / machine->software_copy_mb_per_s;
    }
    return (bytes + 7) / 8 * sim_cycles(world->bus_ps, machine->host_burst_cycles);
}

/* With PEMM's wait signal the host's accesses stand still until a switch is over. */
static void begin_copy(struct sim_host *host, const struct sim_bank_copy *copy)
{
    const struct sim_node *node = sim_node_of(host);
    bool waits = node->bank_switcher != 0;
    INVARIANT(copy->bytes > 0 && copy->bytes <= host->world->machine->bank_bytes - copy->offset);
    if (waits && host->world->machine->host_pemm == 0) {
        refuse(host, DN_EBUSY);
        return;
    }
    uint64_t from_ps = waits ? node->bank_over_ps : host->now_ps;
    host->copy = *copy;
    host->copy.switches = node->bank_switches + waits;
    sim_host_go_on(host, "bank copy", from_ps + sim_copy_ps(host->world, copy->bytes));
}

void sim_bank_read(struct sim_host *host, uint64_t offset, void *into, uint64_t bytes)
{
    begin_copy(host, &(struct sim_bank_copy){.into = into, .offset = offset, .bytes = bytes});
}

void sim_bank_write(struct sim_host *host, uint64_t offset, const void *from, uint64_t bytes)
{
    begin_copy(host, &(struct sim_bank_copy){.from = from, .offset = offset, .bytes = bytes});
}

void sim_bank_step_done(struct sim_host *host)
{
    struct sim_node *node = sim_node_of(host);
    if (node->bank_switcher == host->user + 1) {
        change_sides(node);
    }
    struct sim_bank_copy *copy = &host->copy;
    if (copy->bytes > 0) {
        bool is_spoilt = node->bank_switches != copy->switches;
        if (!is_spoilt && copy->into) {
            memcpy(copy->into, sim_bank(host, copy->offset), copy->bytes);
        } else if (!is_spoilt) {
            memcpy(sim_bank(host, copy->offset), copy->from, copy->bytes);
        }
        host->result = is_spoilt ? DN_ESTALE : 0;
        copy->bytes = 0;
    }
}
