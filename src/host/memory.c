/* Registering private memory, moving it, and giving it back. */
#define _GNU_SOURCE
#include "host/memory.h"

#include <string.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "host/node.h"
#include "host/pages.h"
#include "host/threads.h"
#include "group/address.h"
#include "group/call.h"

/* Peers are answered between two parts. On a busy machine it takes some 10 ms to move one, and all
 * of the registered memory has fewer than the kernel allows mappings. */
#define PART_BYTES (UINT64_C(2) << 20)

/* Whole pages. */
struct span {
    uintptr_t start;
    uint64_t bytes;
};

/* For calls that read files meanwhile; gives what give_table takes. */
static int take_table(struct host_process *process)
{
    int cancellable = base_uncancelled_begin();
    pthread_mutex_lock(&process->table_lock);
    return cancellable;
}

static void give_table(struct host_process *process, int cancellable)
{
    pthread_mutex_unlock(&process->table_lock);
    base_uncancelled_end(cancellable);
}

/* The pages around a range; false when that wraps around the end of addresses. */
static bool span_of(const struct host_process *process, const void *pointer, uint64_t bytes,
                    struct span *span)
{
    uint64_t page_bytes = process->memory.moved.page_bytes;
    uintptr_t start = (uintptr_t)pointer - (uintptr_t)pointer % page_bytes;
    uint64_t end;
    if (__builtin_add_overflow((uintptr_t)pointer, bytes, &end) ||
        !round_up(end, page_bytes, &end)) {
        return false;
    }
    *span = (struct span){start, end - start};
    return true;
}

static bool meets_group(const struct host_process *process, struct span span)
{
    uintptr_t group = (uintptr_t)process->group.group;
    return span.start < group + process->group.bytes && group < span.start + span.bytes;
}

uint64_t host_memory_file_offset(const struct host_process *process, uint64_t place)
{
    const struct group_geometry *geometry = &process->view.facts.geometry;
    return geometry->nodes_offset + process->view.rank * geometry->node_stride_bytes +
           geometry->registered_offset + place;
}

void host_memory_init(struct host_process *process, int stop_signal)
{
    struct host_memory *memory = &process->memory;
    host_moved_init(&memory->moved, process->view.facts.geometry.sizes.registered_bytes,
                    (uint64_t)sysconf(_SC_PAGESIZE));
    memory->stop_signal = stop_signal;
    memset(memory->areas, 0, sizeof memory->areas);
}

/* ---- Pages in and out ----------------------------------------------------------- */

static int stop_threads(struct host_process *process, struct host_stop *stop)
{
    return host_threads_stop(process->memory.stop_signal, &process->default_lane->lane, stop);
}

static int stop_and_share(struct host_process *process, struct host_pieces *pieces)
{
    struct host_stop stop;
    int error = host_pieces_cut(pieces, PART_BYTES);
    error = error ? error : stop_threads(process, &stop);
    if (error) {
        return error;
    }
    for (size_t i = 0; i < pieces->count && !error; i++) {
        if (host_threads_stack_meets(&stop, pieces->list[i].start, pieces->list[i].bytes)) {
            error = DN_ESTACK;
        }
    }
    error = error ? error : host_pages_share(process->group.fd, pieces, &stop);
    host_threads_go(&stop);
    return error;
}

/* Moves the pages of a span that are not moved yet to a place that fits, and holds all. */
static int take_pages(struct host_process *process, struct span span, uint64_t place)
{
    struct host_moved *moved = &process->memory.moved;
    struct host_pieces pieces = {0};
    uintptr_t end = span.start + span.bytes;
    uintptr_t gap_start;
    uintptr_t gap_end;
    int error = 0;
    for (uintptr_t at = span.start; !error && host_moved_gap(moved, at, end, &gap_start, &gap_end);
         at = gap_end) {
        error = host_mappings_private(
            gap_start, gap_end, host_memory_file_offset(process, place + (gap_start - span.start)),
            &pieces);
    }
    if (!error && pieces.count > 0) {
        KILL_POINT("register: pages found");
        error = stop_and_share(process, &pieces);
    }
    host_pieces_free(&pieces);
    if (!error) {
        host_moved_hold(moved, span.start, span.bytes, place);
    }
    return error;
}

/* Lists the pieces of a span that have at most `count` holds and that the program left mapped. */
static int list_moved(struct host_process *process, struct span span, uint32_t count,
                      struct host_pieces *pieces)
{
    uintptr_t end = span.start + span.bytes;
    struct host_moved_range part;
    int error = 0;
    for (uintptr_t at = span.start;
         !error && host_moved_held(&process->memory.moved, at, end, count, &part);
         at = part.start + part.bytes) {
        error = host_mappings_of_group(part.start, part.start + part.bytes, process->group.fd,
                                       host_memory_file_offset(process, part.place), pieces);
    }
    return error;
}

/* Empties the places of a span's pages that have at most `count` holds. */
static void clear_places(struct host_process *process, struct span span, uint32_t count)
{
    uintptr_t end = span.start + span.bytes;
    struct host_moved_range part;
    for (uintptr_t at = span.start; host_moved_held(&process->memory.moved, at, end, count, &part);
         at = part.start + part.bytes) {
        host_pages_clear(process->group.fd, host_memory_file_offset(process, part.place),
                         part.bytes);
    }
}

static void take_name(struct host_process *process, uint32_t area)
{
    int error = group_area_deregister(&process->view, area);
    INVARIANT(!error);
    process->memory.areas[area % GROUP_AREAS].area = 0;
}

/* Takes back one name, or with 0 all. */
static void take_names(struct host_process *process, uint32_t area)
{
    if (area != 0) {
        take_name(process, area);
        return;
    }
    for (uint32_t slot = 0; slot < GROUP_AREAS; slot++) {
        if (process->memory.areas[slot].area != 0) {
            take_name(process, process->memory.areas[slot].area);
        }
    }
}

/* Takes names back, and then makes those pages of a span private that have at most `count`
 * holds. The steps that may well fail come first. If the kernel refuses at the very end, the
 * names are gone and the pages stay as they are. */
static int free_pages(struct host_process *process, struct span span, uint32_t count, uint32_t area)
{
    struct host_pieces pieces = {0};
    struct host_stop stop;
    int error = list_moved(process, span, count, &pieces);
    error = error ? error : host_pages_reserve(&pieces);
    error = error ? error : host_pieces_cut(&pieces, PART_BYTES);
    if (!error && pieces.count > 0) {
        error = stop_threads(process, &stop);
    }
    if (!error) {
        take_names(process, area);
        if (pieces.count > 0) {
            error = host_pages_unshare(process->group.fd, &pieces, &stop);
            host_threads_go(&stop);
            KILL_POINT("deregister: pages private");
        }
    }
    if (!error) {
        clear_places(process, span, count);
    }
    host_pages_drop(&pieces);
    host_pieces_free(&pieces);
    return error;
}

/* ---- Registering ---------------------------------------------------------------- */

static int register_locked(struct host_process *process, struct span span, const void *pointer,
                           uint64_t bytes, uint32_t denied, uint32_t *area)
{
    struct host_memory *memory = &process->memory;
    uint64_t place;
    if (group_area_table_is_full(&process->view)) {
        return DN_EFULL;
    }
    int error = host_moved_place(&memory->moved, span.start, span.bytes, &place);
    error = error ? error : take_pages(process, span, place);
    if (error) {
        return error;
    }
    uint64_t offset = process->view.facts.geometry.registered_offset + place +
                      ((uintptr_t)pointer - span.start);
    error = group_area_register(&process->view, offset, bytes, denied, area);
    INVARIANT(!error);
    memory->areas[*area % GROUP_AREAS] = (struct host_memory_area){
        .area = *area, .pointer = (uintptr_t)pointer, .bytes = bytes, .order = ++memory->order};
    return 0;
}

int host_memory_register(struct host_process *process, const void *pointer, uint64_t bytes,
                         uint32_t denied, uint32_t *area)
{
    struct span span;
    if (!span_of(process, pointer, bytes, &span) || meets_group(process, span)) {
        return DN_ERANGE;
    }
    int cancellable = take_table(process);
    int error = register_locked(process, span, pointer, bytes, denied, area);
    give_table(process, cancellable);
    return error;
}

static int deregister_locked(struct host_process *process, uint32_t area)
{
    struct host_memory_area *registered = &process->memory.areas[area % GROUP_AREAS];
    struct span span;
    if (registered->area != area || area == 0) {
        return group_area_deregister(&process->view, area);
    }
    const void *pointer = (const void *)registered->pointer;
    bool known = span_of(process, pointer, registered->bytes, &span);
    INVARIANT(known);
    int error = free_pages(process, span, 1, area);
    if (!error) {
        host_moved_release(&process->memory.moved, span.start, span.bytes);
    }
    return error;
}

int host_memory_deregister(struct host_process *process, uint32_t area)
{
    int cancellable = take_table(process);
    int error = deregister_locked(process, area);
    give_table(process, cancellable);
    return error;
}

int host_memory_restore(struct host_process *process)
{
    struct span everything = {0, UINTPTR_MAX};
    int cancellable = take_table(process);
    int error = free_pages(process, everything, UINT32_MAX, 0);
    if (!error) {
        process->memory.moved.count = 0;
        process->memory.moved.hold_count = 0;
    }
    give_table(process, cancellable);
    return error;
}

/* ---- Fixed places --------------------------------------------------------------- */

int host_memory_move(struct host_process *process, const void *pointer, uint64_t bytes,
                     uint64_t place)
{
    struct span span;
    if (bytes == 0) {
        return DN_EINVAL;
    }
    if (!span_of(process, pointer, bytes, &span) || meets_group(process, span)) {
        return DN_ERANGE;
    }
    int cancellable = take_table(process);
    int error = host_moved_check_place(&process->memory.moved, span.start, span.bytes, place);
    error = error ? error : take_pages(process, span, place);
    give_table(process, cancellable);
    return error;
}

/* ---- Finding -------------------------------------------------------------------- */

bool host_memory_area_holding(struct host_process *process, const void *pointer, uint32_t *area,
                              uint64_t *offset)
{
    const struct host_memory_area *found = NULL;
    pthread_mutex_lock(&process->table_lock);
    for (uint32_t slot = GROUP_AREA_FIRST_FREE; slot < GROUP_AREAS; slot++) {
        const struct host_memory_area *candidate = &process->memory.areas[slot];
        if (candidate->area != 0 && (uintptr_t)pointer - candidate->pointer < candidate->bytes &&
            (!found || candidate->order > found->order)) {
            found = candidate;
        }
    }
    if (found) {
        *area = found->area;
        *offset = (uintptr_t)pointer - found->pointer;
    }
    pthread_mutex_unlock(&process->table_lock);
    return found != NULL;
}

bool host_memory_offset(struct host_process *process, const void *pointer, uint64_t bytes,
                        uint64_t *node_offset)
{
    const struct group_geometry *geometry = &process->view.facts.geometry;
    uint64_t offset;
    uint32_t area = group_area_holding(&process->view, pointer, bytes, &offset);
    if (area != 0) {
        *node_offset = geometry->segment_offset[area] + offset;
        return true;
    }
    pthread_mutex_lock(&process->table_lock);
    bool found = host_moved_find(&process->memory.moved, (uintptr_t)pointer, bytes, &offset);
    pthread_mutex_unlock(&process->table_lock);
    if (found) {
        *node_offset = geometry->registered_offset + offset;
    }
    return found;
}

uint32_t host_memory_watch_of(struct host_process *process, const void *word)
{
    const struct group_view *view = &process->view;
    uint64_t node_offset;
    uint32_t watch = group_watch_of(view, word);
    if (watch == GROUP_WATCH_NOTHING && host_memory_offset(process, word, 1, &node_offset)) {
        watch = group_watch_of(view, group_node_memory(view, view->rank) + node_offset);
    }
    return watch;
}

/* ---- Fork ------------------------------------------------------------------------ */

int host_memory_list_all(struct host_process *process, struct host_pieces *pieces)
{
    struct span everything = {0, UINTPTR_MAX};
    return list_moved(process, everything, UINT32_MAX, pieces);
}

void host_memory_forget(struct host_process *process)
{
    process->memory.moved.count = 0;
    process->memory.moved.hold_count = 0;
    memset(process->memory.areas, 0, sizeof process->memory.areas);
    host_threads_forget();
}
