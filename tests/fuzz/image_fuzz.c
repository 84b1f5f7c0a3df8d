/* A group's words and a roster with any of them overwritten: what the launcher and `dimmnet info`
 * make of them. Whoever accepts a file has looked at nothing outside of it, and believes no life,
 * no length and no offset that cannot be.
 *
 * The input is a list of changes: where, 4 bytes, the lowest bit of which picks the roster, and a
 * value, 8 bytes. */
#define _GNU_SOURCE
#include <unistd.h>

#include "fabric/udp/roster.h"
#include "fuzz.h"
#include "group/address.h"
#include "group/life.h"
#include "host/group.h"

enum { NODES = 3, CHANGE_BYTES = 12 };

/* A file's memory, and what it was when it was made. */
struct image {
    unsigned char *memory;
    unsigned char *fresh;
    size_t bytes;
};

static struct host_group group;
static struct udp_roster_file roster;
static struct image images[2];

static struct image keep(void *memory, size_t bytes)
{
    return (struct image){memory, fuzz_copy(memory, bytes), bytes};
}

static void make_once(void)
{
    const struct group_sizes sizes = {1, 1, 1, 1};
    if (images[0].memory) {
        return;
    }
    FUZZ_ASSERT(host_group_create(NODES, &sizes, 2, HOST_NO_RANK, &group) == 0);
    FUZZ_ASSERT(udp_roster_create(NODES, &roster) == 0 && udp_roster_seal(&roster) == 0);
    const struct group_geometry *geometry = &group.facts.geometry;
    images[0] = keep(group.group, geometry->ports_offset + NODES * sizeof(struct group_port));
    images[1] = keep(roster.roster, roster.bytes);
}

static void change(const uint8_t *data, size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        memcpy(images[i].memory, images[i].fresh, images[i].bytes);
    }
    for (size_t at = 0; at + CHANGE_BYTES <= bytes; at += CHANGE_BYTES) {
        uint32_t where;
        memcpy(&where, data + at, sizeof where);
        const struct image *image = &images[where & 1];
        size_t words = image->bytes / sizeof(uint64_t);
        memcpy(image->memory + (where >> 1) % words * sizeof(uint64_t), data + at + 4,
               sizeof(uint64_t));
    }
}

static void try_areas(const struct group_view *view, uint32_t rank)
{
    for (uint32_t slot = GROUP_AREA_FIRST_FREE; slot < GROUP_AREAS; slot++) {
        uint32_t state = atomic_load(&view->ports[rank].areas[slot].state);
        struct group_area_extent extent;
        uint32_t area = state >> 1 << GROUP_AREA_SLOT_BITS | slot;
        if (group_area_look(view, rank, area, &extent) == 0) {
            FUZZ_ASSERT(extent.bytes <= view->node_stride_bytes &&
                        extent.offset <= view->node_stride_bytes - extent.bytes);
        }
    }
}

/* As the launcher has it: the words themselves, and facts of its own. */
static void launch(void)
{
    int status = 0;
    (void)host_group_is_whole(&group);
    FUZZ_ASSERT(!host_group_end_is_wanted(group.group, &status) || (status >= 0 && status <= 255));
    for (uint32_t rank = 0; rank < NODES; rank++) {
        struct group_view view;
        group_view_make(group.group, &group.facts, rank, &view);
        try_areas(&view, (rank + 1) % NODES);
        FUZZ_ASSERT((unsigned)host_group_life(&group, rank) <= DN_DEAD);
        (void)host_group_process(&group, rank);
        (void)host_group_node_ended(&group, rank, rank == 0);
        FUZZ_ASSERT(group_life_gone(host_group_life(&group, rank)));
    }
}

static volatile uint64_t sum; /* of all that is looked at, so that it is read */

/* As `dimmnet info` sees both. */
static void look(void)
{
    struct host_group seen;
    struct udp_roster_file copied;
    int fd = dup(group.fd);
    if (host_group_look(fd, &seen) == 0) {
        const struct group_geometry *geometry = &seen.facts.geometry;
        FUZZ_ASSERT(geometry->total_bytes == group.facts.geometry.total_bytes);
        for (uint32_t rank = 0; rank < geometry->node_count; rank++) {
            FUZZ_ASSERT((unsigned)host_group_life(&seen, rank) <= DN_DEAD);
            (void)host_group_process(&seen, rank);
        }
        host_group_unmap(&seen);
    } else {
        (void)close(fd);
    }
    fd = dup(roster.fd);
    if (udp_roster_look(fd, &copied) == 0) {
        for (uint32_t rank = 0; rank < copied.roster->node_count; rank++) {
            sum += udp_roster_address(copied.roster, rank)->v4.sin_port;
            sum += atomic_load(&udp_roster_report(copied.roster, rank)->updated_ns);
            for (uint32_t peer = 0; peer < copied.roster->node_count; peer++) {
                sum += atomic_load(&udp_roster_trips(copied.roster, rank)[peer]);
            }
        }
        udp_roster_unmap(&copied);
    } else {
        (void)close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    make_once();
    change(data, bytes);
    look();
    launch();
    return 0;
}
