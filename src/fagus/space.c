/* Joining the group, and one address for the space on all nodes.
 *
 * The space is the whole symmetric heap, mapped a second time: offsets in it are offsets in
 * DN_HEAP. What the protocol itself uses lies in the same heaps, and is used through the
 * group's own mapping, in which every node has its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fagus/environment.h"
#include "fagus/state.h"

struct fagus_state fagus_state;

static pthread_mutex_t collective_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Collective calls ----------------------------------------------------------------- */

void fagus_collective_begin(void)
{
    (void)pthread_mutex_lock(&collective_lock);
}

void fagus_collective_end(void)
{
    (void)pthread_mutex_unlock(&collective_lock);
}

int fagus_agree(const char *call, const uint64_t *numbers, size_t count)
{
    if (!fagus_state.node) {
        return FAGUS_ESTATE;
    }
    return fagus_error_of(inner_agree(fagus_state.team, call, numbers, count));
}

int fagus_refuse(int error)
{
    if (!fagus_state.node) {
        return FAGUS_ESTATE;
    }
    return inner_refuse(fagus_state.team, DN_EINVAL) == DN_EPEER ? FAGUS_EPEER : error;
}

int fagus_everywhere(bool is_so, bool *everywhere)
{
    uint64_t mine = is_so;
    uint64_t all = 0;
    int error = dn_allreduce(fagus_state.team, &mine, &all, 1, DN_UINT64, DN_AND);
    *everywhere = !error && all;
    return fagus_error_of(error);
}

int fagus_all_or_none(int error)
{
    bool everywhere;
    int failed = fagus_everywhere(error == 0, &everywhere);
    if (error) {
        return error;
    }
    return failed ? failed : everywhere ? 0 : FAGUS_ENOMEM;
}

/* ---- The address ------------------------------------------------------------------------ */

/* Far from where kernels put anything by themselves, and from what sanitizers keep; the last
 * ones for address spaces of 39 bits. */
static const uint64_t addresses[] = {
    UINT64_C(32) << 40, UINT64_C(48) << 40,  UINT64_C(24) << 40,
    UINT64_C(64) << 40, UINT64_C(128) << 30, UINT64_C(256) << 30,
};

enum {
    ADDRESSES = sizeof addresses / sizeof addresses[0],
    PROPOSALS_PER_NODE = 2, /* of whatever its kernel has free, when none of those is */
};

/* A free address of this process, or 0. */
static uint64_t propose(void)
{
    void *room = mmap(NULL, fagus_state.bytes + FAGUS_HUGE_PAGE_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return 0;
    }
    (void)munmap(room, fagus_state.bytes + FAGUS_HUGE_PAGE_BYTES);
    return ((uintptr_t)room + FAGUS_HUGE_PAGE_BYTES - 1) & ~(FAGUS_HUGE_PAGE_BYTES - 1);
}

/* Maps the heap at that address; NULL: it is not free here. The address is a hint, which kernels
 * follow when they can and never at the cost of another mapping. (TSan changes addresses that it
 * does not like, which MAP_FIXED_NOREPLACE would then insist on.) */
static unsigned char *map_at(uint64_t address)
{
    uint64_t offset;
    int fd = inner_file_of(fagus_state.node, fagus_state.unguarded, &offset);
    void *wanted = (void *)(uintptr_t)address;
    void *map = mmap(wanted, fagus_state.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     fd, (off_t)offset);
    if (map == MAP_FAILED) {
        return NULL;
    }
    if (map != wanted) {
        (void)munmap(map, fagus_state.bytes);
        return NULL;
    }
    /* As the group's own mapping: a forked child has no part in it. */
    (void)madvise(map, fagus_state.bytes, MADV_DONTFORK);
    (void)madvise(map, fagus_state.bytes, MADV_DONTDUMP);
    (void)madvise(map, fagus_state.bytes, MADV_HUGEPAGE);
    return map;
}

static int agree_on_address(void)
{
    int proposals = ADDRESSES + PROPOSALS_PER_NODE * fagus_state.size;
    for (int i = 0; i < proposals; i++) {
        uint64_t address = 0;
        int error = 0;
        if (i < ADDRESSES) {
            address = addresses[i];
        } else {
            int proposer = (i - ADDRESSES) % fagus_state.size;
            address = proposer == fagus_state.rank ? propose() : 0;
            error = fagus_error_of(
                dn_broadcast(fagus_state.team, &address, sizeof address, proposer));
        }
        unsigned char *map = !error && address ? map_at(address) : NULL;
        bool everywhere = false;
        error = error ? error : fagus_everywhere(map != NULL, &everywhere);
        if (everywhere) {
            fagus_state.base = map;
            return 0;
        }
        if (map) {
            (void)munmap(map, fagus_state.bytes);
        }
        if (error) {
            return error;
        }
    }
    return FAGUS_ENOMEM;
}

/* ---- Opening and closing ---------------------------------------------------------------- */

/* The group's memory is not there in a forked child. */
static void forget_in_child(void)
{
    fagus_state.node = NULL;
    fagus_state.generation++;
    (void)pthread_mutex_init(&collective_lock, NULL);
}

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

static void know_the_group(struct dn_node *node)
{
    fagus_state.node = node;
    fagus_state.rank = dn_rank(node);
    fagus_state.size = dn_size(node);
    fagus_state.reaches_all = inner_reaches_all(node);
    fagus_state.is_shared = !fagus_environment.force_remote && inner_all_in_place(node);
    fagus_state.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    fagus_state.bytes = inner_area_bytes(node, DN_HEAP);
    fagus_state.heap = fagus_heap_of(fagus_state.rank);
    fagus_state.unguarded = fagus_heap_of(fagus_state.is_shared ? 0 : fagus_state.rank);
    fagus_state.generation++;
}

/* All nodes see the same sizes and want the same mode, and a report of all or none. */
static int meet(bool is_understood)
{
    fagus_state.team = dn_team_all(fagus_state.node);
    if (!is_understood) {
        return fagus_refuse(FAGUS_EINVAL);
    }
    const uint64_t numbers[] = {fagus_environment.force_remote, fagus_environment.stats,
                                fagus_state.page_bytes, fagus_state.bytes};
    return fagus_agree("fagus_init", numbers, sizeof numbers / sizeof numbers[0]);
}

/* Also after a part of fagus_space_open. */
static int leave(void)
{
    if (fagus_state.base) {
        (void)munmap(fagus_state.base, fagus_state.bytes);
        fagus_state.base = NULL;
    }
    struct dn_node *node = fagus_state.node;
    fagus_state.node = NULL;
    fagus_state.team = NULL;
    fagus_state.generation++;
    return fagus_error_of(dn_detach(node));
}

int fagus_space_open(void)
{
    bool is_understood = fagus_environment_read();
    struct dn_node *node;
    int error = fagus_error_of(dn_attach(&node, NULL));
    if (error) {
        return error;
    }
    (void)pthread_once(&fork_once, watch_forks);
    know_the_group(node);
    error = meet(is_understood);
    error = error ? error : agree_on_address();
    error = error ? error : fagus_memory_open();
    if (error) {
        int saved = errno;
        (void)leave();
        errno = saved;
    }
    return error;
}

int fagus_space_close(void)
{
    fagus_memory_close();
    return leave();
}

/* ---- Addresses ---------------------------------------------------------------------------- */

void *fagus_pointer_at(uint64_t offset)
{
    return fagus_state.base + offset;
}

void *fagus_unguarded_at(uint64_t offset)
{
    return fagus_state.unguarded + offset;
}

uint64_t fagus_place_of(const void *pointer)
{
    uint64_t place = (uint64_t)((const unsigned char *)pointer - fagus_state.heap);
    INVARIANT(place < fagus_state.bytes);
    return place;
}

struct dn_remote fagus_remote_at(int rank, uint64_t place)
{
    return (struct dn_remote){.rank = rank, .area = DN_HEAP, .offset = place};
}

struct dn_remote fagus_remote_of(int rank, const void *pointer)
{
    return fagus_remote_at(rank, fagus_place_of(pointer));
}

void *fagus_reach(int rank, uint64_t place)
{
    return LIKELY(fagus_state.reaches_all) || rank == fagus_state.rank ? fagus_heap_of(rank) + place
                                                                       : NULL;
}
