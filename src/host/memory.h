/* The program's own memory, registered: its pages lie in the node's registered memory,
 * at the addresses that they have in the program, until nobody holds them any more.
 *
 * The program's threads are stopped while pages move, so that no write of theirs gets
 * lost between copying and replacing. Peers find the pages as they find every other area.
 * Everything is guarded by the process's table_lock, which also keeps fork() out. */
#ifndef HOST_MEMORY_H
#define HOST_MEMORY_H

#include "host/moved.h"
#include "group/memory.h"

struct host_pieces;
struct host_process;

/* A registration of private memory. */
struct host_memory_area {
    uint32_t area; /* its name; 0: none in this slot */
    uintptr_t pointer;
    uint64_t bytes;
    uint64_t order; /* of registering */
};

struct host_memory {
    struct host_moved moved;
    struct host_memory_area areas[GROUP_AREAS]; /* by slot */
    uint64_t order;                             /* the last one's */
    int stop_signal;
};

/* For a process that has just attached. */
void host_memory_init(struct host_process *process, int stop_signal);

/* Makes everything private again, before the node leaves. Errors as for
 * host_memory_deregister; trying again may then help. */
int host_memory_restore(struct host_process *process);

/* Registers private memory under a name; others do not have the rights in `denied`. Memory of
 * another kind gets the codes of host_mappings_private, the group's memory DN_ERANGE. DN_EBUSY
 * when it takes in registered pages that lie apart, DN_EFULL, DN_ENOMEM, DN_ETHREADS,
 * DN_ESYSTEM. */
int host_memory_register(struct host_process *process, const void *pointer, uint64_t bytes,
                         uint32_t denied, uint32_t *area);

/* Takes the name of any area back. Private memory becomes private again, and what its
 * threads and its peers wrote is in it. DN_EAREA, DN_ESTALE; on DN_ETHREADS or DN_ENOMEM
 * it is registered as before; on DN_ESYSTEM, when the kernel refuses more mappings, the
 * name may be gone and the pages stay where they are until the node leaves. */
int host_memory_deregister(struct host_process *process, uint32_t area);

/* The area of private memory that holds a pointer; of several, the one registered last. */
bool host_memory_area_holding(struct host_process *process, const void *pointer, uint32_t *area,
                              uint64_t *offset);

/* Where [pointer, pointer + bytes) lies in the group's memory, from the start of the
 * node's: the built-in areas and registered private memory. False: not reachable. */
bool host_memory_offset(struct host_process *process, const void *pointer, uint64_t bytes,
                        uint64_t *node_offset);

/* What a waiter for a word at this address watches (group/call.h). */
uint32_t host_memory_watch_of(struct host_process *process, const void *word);

/* Moves the pages of [pointer, pointer + bytes) to a fixed place: place, a multiple of the page
 * size, counts from the start of registered memory and lies in its first part (host/moved.h). The
 * pages get no name; whoever knows the place reaches them at group_registered_memory(view, rank) +
 * place. So objects can lie at equal places on all nodes whatever their addresses are. DN_ERANGE
 * for another place, DN_EBUSY when something else is there or the pages are elsewhere; else as
 * host_memory_register. */
int host_memory_move(struct host_process *process, const void *pointer, uint64_t bytes,
                     uint64_t place);

/* For fork() (host/fork.h), with the table_lock. Where a place of this node's registered memory is
 * in the group's file; all moved pages that are still there, DN_ENOMEM or DN_ESYSTEM; and, in a
 * child, no page is moved any more. */
uint64_t host_memory_file_offset(const struct host_process *process, uint64_t place);
int host_memory_list_all(struct host_process *process, struct host_pieces *pieces);
void host_memory_forget(struct host_process *process);

#endif
