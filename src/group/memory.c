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

/* What a heap's own node maps it at a multiple of. It depends on the heap's size alone: nodes that
 * share no memory must agree on what dn_alloc_aligned refuses. A group may take half of a process's
 * addresses, so there is room for the largest one. */
static uint64_t choose_heap_alignment(uint64_t heap_bytes)
{
    uint64_t alignment = HUGE_PAGE_BYTES;
    while (alignment <= heap_bytes / 2 && alignment < CHOSEN_TOTAL_BYTES_MAX) {
        alignment *= 2;
    }
    return alignment;
}

/* From one node's memory to the next one's: an odd number of huge pages. What has the same place in
 * two nodes' memory then has addresses that differ in bits 21 to 27. AMD's Zen processors guess
 * from a hash of bits 12 to 27 where a line is in the first cache (Lipp and others, "Take A Way",
 * 2020), and lines of the same hash throw each other out: a put from an object to the same one of
 * another node reached 24 GB/s with 464 bytes and 38 with 4 KB where these bits were alike, and 62
 * and 90 where not (measured on an EPYC). */
static uint64_t choose_stride(uint64_t node_bytes)
{
    uint64_t huge_pages = node_bytes / HUGE_PAGE_BYTES + (node_bytes % HUGE_PAGE_BYTES != 0);
    return (huge_pages | 1) * HUGE_PAGE_BYTES;
}

int group_geometry(uint32_t node_count, const struct group_sizes *sizes, uint64_t page_bytes,
                   struct group_geometry *geometry)
{
    struct group_geometry made = {.node_count = node_count};
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

    /* Bank and heap start at huge-page boundaries so that huge pages can hold them. */
    uint64_t end = made.sizes.llcm_bytes;
    made.segment_offset[DN_LLCM] = 0;
    (void)round_up(end, HUGE_PAGE_BYTES, &made.segment_offset[DN_BANK]);
    end = made.segment_offset[DN_BANK] + made.sizes.bank_bytes;
    (void)round_up(end, HUGE_PAGE_BYTES, &made.segment_offset[DN_HEAP]);
    end = made.segment_offset[DN_HEAP] + made.sizes.heap_bytes;
    made.heap_alignment = choose_heap_alignment(made.sizes.heap_bytes);
    (void)round_up(end, HUGE_PAGE_BYTES, &made.service_offset);
    end = made.service_offset + GROUP_SERVICE_BYTES;
    (void)round_up(end, HUGE_PAGE_BYTES, &made.registered_offset);
    uint64_t registered_bytes = sizes->registered_bytes;
    if (registered_bytes == 0) {
        uint64_t head_bytes = made.nodes_offset / node_count + 2 * HUGE_PAGE_BYTES;
        registered_bytes = choose_registered_bytes(node_count, made.registered_offset + head_bytes);
    }
    (void)round_up(registered_bytes, page_bytes, &made.sizes.registered_bytes);
    made.node_stride_bytes = choose_stride(made.registered_offset + made.sizes.registered_bytes);

    if (made.node_stride_bytes > (TOTAL_BYTES_MAX - made.nodes_offset) / node_count) {
        return DN_ERANGE;
    }
    made.total_bytes = made.nodes_offset + node_count * made.node_stride_bytes;
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
