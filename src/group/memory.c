/* Laying out and checking the group's memory. */
#include "group/memory.h"

#include <string.h>

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)
#define TOTAL_BYTES_MAX (UINT64_C(1) << 46)
/* A size chosen here uses half of it, and leaves the rest to callers that ask for larger sizes. */
#define CHOSEN_TOTAL_BYTES_MAX (TOTAL_BYTES_MAX / 2)

/* Registered memory costs nothing until it is used, but addresses are finite. `used_bytes` is
 * a node's share of the group without it. */
static uint64_t choose_registered_bytes(uint32_t node_count, uint64_t used_bytes)
{
    uint64_t share = CHOSEN_TOTAL_BYTES_MAX / node_count;
    uint64_t left = share > used_bytes ? share - used_bytes : 0;
    uint64_t bytes = left < GROUP_REGISTERED_BYTES ? left : GROUP_REGISTERED_BYTES;
    bytes -= bytes % HUGE_PAGE_BYTES;
    return bytes > 0 ? bytes : HUGE_PAGE_BYTES;
}

static uint64_t power_of_two_within(uint64_t number)
{
    uint64_t power = 1;
    while (power <= number / 2) {
        power *= 2;
    }
    return power;
}

/* Places a node's segments, of whole pages already: all but registered memory, which comes last. */
static void place_segments(struct group_geometry *made)
{
    /* Bank and heap start at huge-page boundaries so that huge pages can hold them. */
    uint64_t end = made->sizes.llcm_bytes;
    made->segment_offset[DN_LLCM] = 0;
    (void)round_up(end, HUGE_PAGE_BYTES, &made->segment_offset[DN_BANK]);
    end = made->segment_offset[DN_BANK] + made->sizes.bank_bytes;
    (void)round_up(made->nodes_offset + end, made->heap_alignment, &end);
    made->segment_offset[DN_HEAP] = end - made->nodes_offset;
    end = made->segment_offset[DN_HEAP] + made->sizes.heap_bytes;
    (void)round_up(end, HUGE_PAGE_BYTES, &made->service_offset);
    end = made->service_offset + GROUP_SERVICE_BYTES;
    (void)round_up(end, HUGE_PAGE_BYTES, &made->registered_offset);
}

/* Places the nodes, whose segments are placed. False: the group is larger than `limit`. */
static bool place_nodes(struct group_geometry *made, uint64_t limit)
{
    uint64_t end = made->registered_offset + made->sizes.registered_bytes;
    (void)round_up(end, made->heap_alignment, &made->node_stride_bytes);
    if (made->node_stride_bytes > (limit - made->nodes_offset) / made->node_count) {
        return false;
    }
    made->total_bytes = made->nodes_offset + made->node_count * made->node_stride_bytes;
    return true;
}

/* Aligns the heap to its own size, as far as the group then takes at most half of the addresses.
 * The sizes stay: this depends on nothing else, so that all who lay out the same sizes agree. */
static void align_heap(struct group_geometry *made)
{
    if (made->sizes.registered_bytes <= GROUP_REGISTERED_BYTES_MODEST) {
        return;
    }
    struct group_geometry aligned = *made;
    uint64_t alignment = power_of_two_within(made->sizes.heap_bytes);
    for (; alignment > HUGE_PAGE_BYTES; alignment /= 2) {
        aligned.heap_alignment = alignment;
        place_segments(&aligned);
        if (place_nodes(&aligned, CHOSEN_TOTAL_BYTES_MAX)) {
            *made = aligned;
            return;
        }
    }
}

int group_geometry(uint32_t node_count, const struct group_sizes *sizes, uint64_t page_bytes,
                   struct group_geometry *geometry)
{
    struct group_geometry made = {.node_count = node_count, .heap_alignment = HUGE_PAGE_BYTES};
    INVARIANT(is_power_of_two(page_bytes));
    if (node_count == 0 || node_count > GROUP_NODES_MAX || sizes->llcm_bytes == 0 ||
        sizes->bank_bytes == 0 || sizes->heap_bytes == 0) {
        return DN_EINVAL;
    }
    if (sizes->llcm_bytes > TOTAL_BYTES_MAX || sizes->bank_bytes > TOTAL_BYTES_MAX ||
        sizes->heap_bytes > TOTAL_BYTES_MAX || sizes->registered_bytes > TOTAL_BYTES_MAX) {
        return DN_ERANGE;
    }
    /* Nothing below can overflow: each term is at most 2^46. */
    (void)round_up(sizes->llcm_bytes, page_bytes, &made.sizes.llcm_bytes);
    (void)round_up(sizes->bank_bytes, page_bytes, &made.sizes.bank_bytes);
    (void)round_up(sizes->heap_bytes, page_bytes, &made.sizes.heap_bytes);
    (void)round_up(sizeof(struct group_memory), page_bytes, &made.ports_offset);
    (void)round_up(made.ports_offset + node_count * sizeof(struct group_port), HUGE_PAGE_BYTES,
                   &made.nodes_offset);
    place_segments(&made);
    uint64_t registered_bytes = sizes->registered_bytes;
    if (registered_bytes == 0) {
        uint64_t head_bytes = made.nodes_offset / node_count + HUGE_PAGE_BYTES;
        registered_bytes = choose_registered_bytes(node_count, made.registered_offset + head_bytes);
    }
    (void)round_up(registered_bytes, page_bytes, &made.sizes.registered_bytes);
    if (!place_nodes(&made, TOTAL_BYTES_MAX)) {
        return DN_ERANGE;
    }
    /* Last: an alignment costs addresses, and no registered memory. */
    align_heap(&made);
    *geometry = made;
    return 0;
}

void group_group_init(struct group_memory *group, const struct group_facts *facts)
{
    group->layout_version = GROUP_LAYOUT_VERSION;
    group->core_count = facts->core_count;
    group->geometry = facts->geometry;
    group->magic = GROUP_MAGIC;
}

/* The constant words before the counters. */
struct head {
    uint64_t magic;
    uint32_t layout_version;
    uint32_t core_count;
    struct group_geometry geometry;
};
_Static_assert(offsetof(struct head, geometry) == offsetof(struct group_memory, geometry) &&
                   sizeof(struct head) % sizeof(uint64_t) == 0,
               "the head is a number of whole words");

/* Each word is loaded once: the nodes may be writing there. */
static void read_head(const struct group_memory *group, struct head *head)
{
    const uint64_t *from = (const uint64_t *)(const void *)group;
    uint64_t words[sizeof *head / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
    memcpy(head, words, sizeof words);
}

/* All that follows from node count, sizes and pages; there is no padding in it. */
static bool geometry_equal(const struct group_geometry *one, const struct group_geometry *other)
{
    const size_t from = offsetof(struct group_geometry, sizes);
    return one->node_count == other->node_count &&
           memcmp(&one->sizes, &other->sizes, sizeof *one - from) == 0;
}

int group_group_check(const struct group_memory *group, uint64_t file_bytes,
                      struct group_facts *facts)
{
    struct head head;
    if (file_bytes < sizeof *group) {
        return DN_EGROUP;
    }
    read_head(group, &head);
    if (head.magic != GROUP_MAGIC) {
        return DN_EGROUP;
    }
    if (head.layout_version != GROUP_LAYOUT_VERSION) {
        return DN_EVERSION;
    }
    for (uint64_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 2) {
        struct group_geometry expected;
        if (group_geometry(head.geometry.node_count, &head.geometry.sizes, page_bytes, &expected) ==
                0 &&
            geometry_equal(&expected, &head.geometry) && expected.total_bytes == file_bytes) {
            *facts = (struct group_facts){head.core_count, expected};
            return 0;
        }
    }
    return DN_EGROUP;
}

bool group_head_is_whole(const struct group_memory *group, const struct group_facts *facts)
{
    struct head head;
    read_head(group, &head);
    return head.magic == GROUP_MAGIC && head.layout_version == GROUP_LAYOUT_VERSION &&
           head.core_count == facts->core_count && geometry_equal(&head.geometry, &facts->geometry);
}

void group_view_make(struct group_memory *group, const struct group_facts *facts, uint32_t rank,
                     struct group_view *view)
{
    const struct group_geometry *geometry = &facts->geometry;
    unsigned char *file = (unsigned char *)group;
    INVARIANT(rank < geometry->node_count);
    view->group = group;
    view->ports = (struct group_port *)(void *)(file + geometry->ports_offset);
    view->nodes = file + geometry->nodes_offset;
    view->node_stride_bytes = geometry->node_stride_bytes;
    view->node_count = geometry->node_count;
    view->rank = rank;
    view->facts = *facts;
}
