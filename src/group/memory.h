/* The group's memory: one file, mapped whole by every node.
 *
 *     | group | port 0 | port 1 | ... | LLCM 0 | bank 0 | heap 0 | service 0 | registered 0 | ...
 *      \_ the library's own words ___/ \_ what programs use _/ \_ library's _/ \_ programs' _/
 *
 * Registered memory holds pages of a program's private memory while they are registered.
 * The NIC's words (ports, and service memory for locks, teams and messages) never lie in
 * memory that programs write. The comment beside each word says which process may write it.
 * Every word that more than one process touches is atomic, and after each single store the
 * whole is a state from which survivors can go on. */
#ifndef GROUP_MEMORY_H
#define GROUP_MEMORY_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/base.h"
#include "dimmnet.h"

enum {
    GROUP_NODES_MAX = 4096,
    GROUP_AREAS = 256, /* a port's area table, the built-in ones included */
    GROUP_AREA_FIRST_FREE = 4,
    GROUP_LOCK_RECORDS = 1 << 16, /* lock requesters of a node at a time */
    GROUP_TEAM_SLOTS = 256,       /* teams for which a node offers a block at a time */
};

/* A node's service memory: lock records, team slots, and then the arena from which its owner
 * allocates. The system commits it when it is touched. */
#define GROUP_SERVICE_BYTES (UINT64_C(1) << 30)

#define GROUP_END_WANTED UINT32_C(0x100)

#define GROUP_MAGIC UINT64_C(0x31304d454d4e4d44) /* "DMNMEM01" */
#define GROUP_LAYOUT_VERSION 10u

/* The segments of a node's memory, indexed by the built-in area numbers. */
struct group_sizes {
    uint64_t llcm_bytes;
    uint64_t bank_bytes;
    uint64_t heap_bytes;
    uint64_t registered_bytes; /* 0 lets group_geometry choose */
};

/* The size that group_geometry chooses for registered memory, unless the group is too large. */
#define GROUP_REGISTERED_BYTES (UINT64_C(64) << 30)

/* Where everything lies in the file. group_geometry derives it from the sizes and the node
 * count; it never changes afterwards. */
struct group_geometry {
    uint32_t node_count;
    struct group_sizes sizes; /* rounded up to whole pages, none of them 0 */
    uint64_t ports_offset;
    uint64_t nodes_offset;
    uint64_t node_stride_bytes;
    uint64_t segment_offset[GROUP_AREA_FIRST_FREE]; /* from the node's start; [0] unused */
    uint64_t service_offset;                        /* the same */
    uint64_t registered_offset;                     /* the same */
    /* A power of two, at least 2 MiB: each node maps the file so that its own heap begins at a
     * multiple of it. */
    uint64_t heap_alignment;
    uint64_t total_bytes;
};

/* A named piece of a node's memory. Only its owner writes it. */
struct group_area {
    /* generation << 1 | in use. The owner changes it last when it registers and first when it
     * deregisters, so that a reader who finds it the same before and after has read the
     * fields that belong to it. */
    _Atomic uint32_t state;
    /* The rights (enum dn_right) that others do not have: the owner may change it at any time.
     * Of the built-in areas this is all that is used. */
    _Atomic uint32_t denied;
    _Atomic uint64_t offset; /* from the node's start */
    _Atomic uint64_t bytes;
};
_Static_assert(offsetof(struct group_area, denied) == sizeof(uint32_t),
               "all but the state is one piece, which is told at once");

/* A node's NIC registers, as its peers see them. The size is a power of two, so that finding
 * one is a shift. The call word stands in the middle of a page: programs like to put their
 * own words at the start of one, and a core at first takes a load and a store with equal low
 * address bits for the same place. */
struct group_port {
    alignas(CACHE_LINE_BYTES) struct group_area areas[GROUP_AREAS];

    /* Every sender looks at it after writing: see group/call.h. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t call;
    _Atomic uint32_t life; /* enum dn_life; by the owner until it ends, then the launcher */

    alignas(CACHE_LINE_BYTES) _Atomic uint32_t process_id; /* that claimed the rank */
    /* 1 + a rank that hears nothing of this node, until the launcher has read it; or 0. */
    _Atomic uint32_t suspected_by;
    /* When the node attached and left, by the host's monotonic clock; 0: it has not. For the
     * launcher's `--time`; nobody decides anything by them. */
    _Atomic uint64_t attached_ns, left_ns;
    /* 1 while the node needs nobody and nobody needs it: see group_life_rest. */
    _Atomic uint32_t is_resting;

    alignas(CACHE_LINE_BYTES) unsigned char to_full_size[1920];
};
_Static_assert(sizeof(struct group_port) == 8192, "see above");

/* Group-wide words. */
struct group_memory {
    uint64_t magic; /* written last when the group is made */
    uint32_t layout_version;
    uint32_t core_count; /* cores that the nodes may use together */
    struct group_geometry geometry;

    /* The number of deaths announced. The launcher raises it after it has set the life. */
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t death_count;
    /* Raised when a node attaches, leaves or ends, so that a waiter for a service looks again. */
    _Atomic uint32_t change_count;
    /* A node's wish that the whole group ends: 0, or GROUP_END_WANTED | exit status. The
     * first wish stays. */
    _Atomic uint32_t end;
    /* 1: the nodes' program goes on after deaths, and the launcher shall let it. Any node sets
     * it, and it stays. */
    _Atomic uint32_t goes_on;

    /* A bit for each node whose port says that somebody sleeps there: a hint that saves
     * looking at every port. The sleeper sets it, and whoever wakes the sleeper clears it. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t sleeping[GROUP_NODES_MAX / 64];
};

/* What the head of the file says of the whole. Every node can write the head, so each process
 * keeps what it made, or read once and checked, and never looks there again. Private. */
struct group_facts {
    uint32_t core_count;
    struct group_geometry geometry;
};

/* A node's view of the group's memory in its own address space. Private. */
struct group_view {
    struct group_memory *group;
    struct group_port *ports;
    unsigned char *nodes;
    uint64_t node_stride_bytes;
    uint32_t node_count;
    uint32_t rank;
    struct group_facts facts;
};

/* DN_EINVAL for a size of zero (but that of registered memory) or a count outside
 * 1..GROUP_NODES_MAX, DN_ERANGE when the whole exceeds 2^46 bytes. page_bytes is the size
 * of the pages that segments start at. */
int group_geometry(uint32_t node_count, const struct group_sizes *sizes, uint64_t page_bytes,
                   struct group_geometry *geometry);

/* Fills a zeroed file's group words and ports. */
void group_group_init(struct group_memory *group, const struct group_facts *facts);

/* Reads the head of a file, each word once, and checks that it is a group of this layout and of
 * this many bytes: 0, DN_EGROUP or DN_EVERSION. Offsets are not believed: all follow from the
 * node count and the sizes. */
int group_group_check(const struct group_memory *group, uint64_t file_bytes,
                      struct group_facts *facts);

/* Whether the head still says what it said when these facts were made or read. */
bool group_head_is_whole(const struct group_memory *group, const struct group_facts *facts);

/* The view of node `rank` of a group mapped at `group`. */
void group_view_make(struct group_memory *group, const struct group_facts *facts, uint32_t rank,
                     struct group_view *view);

static inline unsigned char *group_node_memory(const struct group_view *view, uint32_t rank)
{
    return view->nodes + rank * view->node_stride_bytes;
}

static inline unsigned char *group_service_memory(const struct group_view *view, uint32_t rank)
{
    return group_node_memory(view, rank) + view->facts.geometry.service_offset;
}

static inline unsigned char *group_registered_memory(const struct group_view *view, uint32_t rank)
{
    return group_node_memory(view, rank) + view->facts.geometry.registered_offset;
}

static inline unsigned char *group_segment(const struct group_view *view, uint32_t rank,
                                           uint32_t area)
{
    return group_node_memory(view, rank) + view->facts.geometry.segment_offset[area];
}

static inline uint64_t group_segment_bytes(const struct group_view *view, uint32_t area)
{
    const struct group_sizes *sizes = &view->facts.geometry.sizes;
    return area == DN_LLCM   ? sizes->llcm_bytes
           : area == DN_BANK ? sizes->bank_bytes
                             : sizes->heap_bytes;
}

#endif
