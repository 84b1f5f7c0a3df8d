/* Groups, regions of LLCM and kick pages, which only a node's kernel hands out; and what kick pages
 * cost the CPU, whose page tables are what protects a sender's side. */
#include <stdlib.h>
#include <string.h>

#include "sim/model/state.h"

/* ---- Groups and regions ----------------------------------------------------------------- */

int sim_group_join(struct sim_host *host, uint32_t pgid)
{
    if (sim_node_of(host)->board) {
        return DN_ENOTSUP;
    }
    int error = nic_user_group(sim_node_of(host)->engine, host->user, pgid);
    if (!error) {
        host->pgid = pgid;
    }
    return error;
}

uint32_t sim_region_open(struct sim_host *host, uint64_t offset, uint64_t bytes)
{
    struct sim_node *node = sim_node_of(host);
    INVARIANT(bytes > 0 && offset < host->world->machine->llcm_bytes &&
              bytes <= host->world->machine->llcm_bytes - offset);
    node->regions = realloc(node->regions, (node->region_count + 1) * sizeof *node->regions);
    INVARIANT(node->regions);
    node->regions[node->region_count] = (struct sim_region){offset, bytes, host->pgid};
    return SIM_AREA_REGION + node->region_count++;
}

int sim_region_find(const struct sim_node *node, uint32_t area, struct nic_extent *extent)
{
    uint32_t number = area - SIM_AREA_REGION;
    if (area < SIM_AREA_REGION || number >= node->region_count) {
        return DN_EAREA;
    }
    const struct sim_region *region = &node->regions[number];
    *extent = (struct nic_extent){
        .offset = region->offset, .bytes = region->bytes, .pgid = region->pgid};
    return 0;
}

struct dn_remote sim_remote_region(uint32_t remote_node, uint32_t area, uint64_t offset)
{
    return (struct dn_remote){.rank = (int)remote_node, .area = area, .offset = offset};
}

/* ---- Kick pages ------------------------------------------------------------------------- */

/* The CPU's TLB holds the page, since the kernel has just entered it. */
static void note_page(struct sim_host *host, uint64_t kick_address)
{
    uint64_t entries = host->world->machine->host_tlb_entries;
    if (++host->kick_pages > entries && entries > 0 && !host->tlb && !host->is_core) {
        host->tlb = sim_lru_open(entries);
    }
    if (host->tlb) {
        (void)sim_lru_use(host->tlb, kick_address >> NIC_KICK_PAGE_BITS);
    }
}

uint64_t sim_cpu_tlb_ps(struct sim_host *host, uint64_t kick_address)
{
    if (!host->tlb || sim_lru_use(host->tlb, kick_address >> NIC_KICK_PAGE_BITS)) {
        return 0;
    }
    host->tlb_misses++;
    return host->world->machine->host_tlb_miss;
}

/* The target's kernel is asked, as it is at start-up: a physical address is nobody's to check
 * later. */
static int check_physical(const struct sim_host *host, struct dn_remote *remote)
{
    struct nic_extent extent = {.bytes = host->world->machine->llcm_bytes, .pgid = SIM_PGID};
    int error = remote->area == SIM_AREA_LLCM
                    ? 0
                    : sim_region_find(&host->world->nodes[remote->rank], remote->area, &extent);
    if (error) {
        return error;
    }
    if (extent.pgid != host->pgid) {
        return DN_ERIGHTS;
    }
    if (remote->offset >= extent.bytes) {
        return DN_ERANGE;
    }
    remote->offset += extent.offset;
    return 0;
}

int sim_kick_open(struct sim_host *host, struct dn_remote remote, bool physical, uint64_t *kick)
{
    sim_carrier_introduce(host->world, host->node, (uint32_t)remote.rank);
    int error = physical ? check_physical(host, &remote) : 0;
    error = error ? error
                  : nic_kick_open(sim_node_of(host)->engine, host->user, remote, physical, kick);
    if (!error) {
        note_page(host, *kick);
    }
    return error;
}

int sim_kick_read(struct sim_host *host, struct dn_remote remote, uint64_t local, uint64_t *kick)
{
    INVARIANT(!sim_node_of(host)->board);
    int error = nic_kick_open_read(sim_node_of(host)->engine, host->user, remote, local, kick);
    if (!error) {
        note_page(host, *kick);
    }
    return error;
}

/* ---- Unknown packets -------------------------------------------------------------------- */

void sim_mailbox_open(struct sim_host *host, uint64_t offset, uint64_t bytes)
{
    INVARIANT(bytes >= sizeof(uint64_t) && offset < host->world->machine->llcm_bytes &&
              bytes <= host->world->machine->llcm_bytes - offset);
    host->mailbox = offset;
    host->mailbox_bytes = bytes;
}

void sim_unknown_arrived(void *context, uint16_t source, uint32_t pgid, const unsigned char *body,
                         uint32_t bytes)
{
    struct sim_node *node = context;
    struct sim_world *world = node->world;
    (void)source;
    for (uint32_t i = 0; i < node->host_count; i++) {
        struct sim_host *host = &world->hosts[node->first_host + i];
        if (host->mailbox_bytes > 0 && host->pgid == pgid) {
            uint64_t room = host->mailbox_bytes - sizeof(uint64_t);
            uint64_t count;
            unsigned char *place = node->memory + host->mailbox;
            memcpy(&count, place, sizeof count);
            count++;
            memcpy(place, &count, sizeof count);
            memcpy(place + sizeof count, body, bytes < room ? bytes : room);
            sim_hosts_see(world, node, host->mailbox, host->mailbox_bytes);
            return;
        }
    }
    node->unknown_dropped++;
}
