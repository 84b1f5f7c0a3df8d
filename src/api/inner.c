/* The calls that the libraries above make besides the public ones. */
#include "api/inner.h"

#include <string.h>

#include "api/check.h"
#include "base/uncancelled.h"
#include "group/address.h"
#include "host/fork.h"
#include "host/job.h"
#include "host/program_data.h"
#include "lock/lock.h"
#include "nic/services.h"
#include "team/symmetric.h"

int inner_thread_start(const struct dn_node *node, pthread_t *thread, void *(*run)(void *),
                       void *context)
{
    return fabric_thread_start(thread, run, context, node->process->memory.stop_signal);
}

bool inner_fork_spares_variables(void)
{
    return host_fork_spares_variables();
}

/* ---- Roads ----------------------------------------------------------------------- */

bool inner_in_place(const struct dn_node *node, int rank)
{
    return fabric_road(&node->lane, (uint32_t)rank) == FABRIC_IN_PLACE;
}

bool inner_all_in_place(const struct dn_node *node)
{
    return fabric_all_in_place(&node->lane);
}

bool inner_reaches(const struct dn_node *node, int rank)
{
    return fabric_has_pointer(&node->lane, (uint32_t)rank);
}

bool inner_reaches_all(const struct dn_node *node)
{
    return node->lane.is_prompt;
}

/* ---- Where memory lies ----------------------------------------------------------- */

uint64_t inner_area_bytes(const struct dn_node *node, uint32_t area)
{
    return group_segment_bytes(&node->process->view, area);
}

uint64_t inner_heap_alignment(const struct dn_node *node)
{
    return node->process->view.facts.geometry.heap_alignment;
}

int inner_file_of(const struct dn_node *node, const void *place, uint64_t *offset)
{
    const struct host_group *group = &node->process->group;
    *offset = (uint64_t)((uintptr_t)place - (uintptr_t)group->group);
    return group->fd;
}

bool inner_heap_find(const struct dn_node *node, uint64_t offset, uint64_t *bytes)
{
    return base_extents_find(&node->process->heap, offset, bytes);
}

unsigned char *inner_registered(const struct dn_node *node, int rank)
{
    return group_registered_memory(&node->process->view, (uint32_t)rank);
}

/* A name for the window, for fabrics that reach it by remote addresses. */
static int name_window(struct dn_node *node, struct inner_program_data *data)
{
    struct host_process *process = node->process;
    uint64_t offset = process->view.facts.geometry.registered_offset + data->place;
    pthread_mutex_lock(&process->table_lock);
    int error = group_area_register(&process->view, offset, data->bytes, 0, &data->area);
    pthread_mutex_unlock(&process->table_lock);
    return error ? error : fabric_tell_area(&node->lane, data->area);
}

/* They are one window from the first page that programs write to the last one; what the loader
 * made read-only between them is not moved. */
int inner_program_data_share(struct dn_node *node, struct inner_program_data *data)
{
    struct host_program_range ranges[HOST_PROGRAM_RANGES];
    uint32_t count;
    *data = (struct inner_program_data){0};
    int error = host_program_data(ranges, &count);
    if (error || count == 0) {
        return error;
    }
    for (uint32_t i = 0; i < count && !error; i++) {
        error = host_memory_move(node->process, (const void *)ranges[i].start, ranges[i].bytes,
                                 ranges[i].link_offset);
    }
    if (error) {
        return error;
    }
    const struct host_program_range *last = &ranges[count - 1];
    data->base = ranges[0].start;
    data->bytes = last->start + last->bytes - data->base;
    data->place = ranges[0].link_offset;
    return name_window(node, data);
}

/* ---- Waking and waiting ---------------------------------------------------------- */

void inner_wake(const struct dn_node *node, int rank, const void *written, uint64_t bytes)
{
    fabric_wake_watching(&node->process->view, (uint32_t)rank, written, bytes);
}

void inner_note_pointers(const struct dn_node *node, int rank)
{
    atomic_fetch_or_explicit(&node->lane.stored_to[rank / 64], UINT64_C(1) << (rank % 64),
                             memory_order_relaxed);
}

void inner_wake_stored_to(const struct dn_node *lane)
{
    fabric_wake_stored_to(&lane->lane);
}

bool inner_core_is_free(const struct dn_node *node)
{
    return node->process->core_is_free;
}

/* Virtual time passes in reads and in the fabric's naps only. */
static void pause_virtually(struct dn_node *node, struct inner_ladder *ladder,
                            enum fabric_rung rung, uint64_t longest_ns)
{
    if (rung == FABRIC_NAP) {
        fabric_nap(&node->lane, fabric_ladder_nap_ns(&ladder->steps, longest_ns), &ladder->seen);
    } else {
        fabric_look(&node->lane);
    }
}

bool inner_pause(struct dn_node *node, struct inner_ladder *ladder, uint64_t now_ns,
                 uint64_t longest_ns)
{
    ladder->steps.spins = inner_core_is_free(node);
    enum fabric_rung rung = fabric_ladder_rung(&ladder->steps, now_ns);
    if (inner_time_is_virtual(node)) {
        pause_virtually(node, ladder, rung, longest_ns);
    } else if (rung == FABRIC_SPIN) {
        cpu_relax();
    } else if (rung == FABRIC_YIELD) {
        (void)sched_yield();
    } else {
        base_nap_ns(fabric_ladder_nap_ns(&ladder->steps, longest_ns));
    }
    return rung == FABRIC_NAP;
}

bool inner_time_is_virtual(const struct dn_node *node)
{
    return node->lane.ops->is_virtual;
}

void inner_nap(struct dn_node *node, uint64_t nap_ns)
{
    uint64_t seen = 0;
    if (!inner_time_is_virtual(node)) {
        base_nap_ns(nap_ns);
    } else {
        fabric_nap(&node->lane, nap_ns, &seen); /* tells what is there already */
        fabric_nap(&node->lane, nap_ns, &seen);
    }
}

void inner_look_again(struct dn_node *node)
{
    fabric_progress(&node->lane);
    if (!inner_core_is_free(node)) {
        (void)sched_yield();
    }
}

int inner_wait(const struct dn_node *node, const struct inner_condition *condition,
               uint64_t timeout_ns)
{
    const struct group_view *view = &node->process->view;
    struct host_condition waited = {
        .holds = condition->holds,
        .hopeless = condition->hopeless,
        .context = condition->context,
        .watch = group_watch_join(group_watch_of(view, condition->first),
                                  group_watch_of(view, condition->last)),
    };
    return host_wait_word(node, &waited, condition->bytes, timeout_ns);
}

uint64_t inner_now_ns(void)
{
    return host_now_ns();
}

bool inner_nobody_left(const struct dn_node *node, void *context, bool forever)
{
    return host_nobody_left(node, context, forever);
}

/* ---- Lives ----------------------------------------------------------------------- */

bool inner_deaths_are_news(const struct dn_node *node, uint32_t *known_count)
{
    const struct group_view *view = &node->process->view;
    bool are_news = group_deaths_beyond(view, *known_count);
    if (are_news) {
        *known_count = atomic_load_explicit(&view->group->death_count, memory_order_acquire);
    }
    return are_news;
}

int inner_unacknowledged(struct dn_node *node)
{
    struct host_process *process = node->process;
    int found = -1;
    fabric_look(&node->lane);
    pthread_mutex_lock(&process->acknowledge_lock);
    for (uint32_t rank = 0; rank < process->view.node_count && found < 0; rank++) {
        bool is_known = process->acknowledged[rank / 64] >> (rank % 64) & 1;
        found = group_life(&process->view, rank) == DN_DEAD && !is_known ? (int)rank : -1;
    }
    pthread_mutex_unlock(&process->acknowledge_lock);
    return found;
}

bool inner_peers_all_gone(const struct dn_node *node)
{
    return group_peers_all_gone(&node->process->view);
}

/* Acquire: pairs with the release of whoever raises it. */
uint32_t inner_change_count(const struct dn_node *node)
{
    return atomic_load_explicit(&node->process->view.group->change_count, memory_order_acquire);
}

/* ---- Collective calls ------------------------------------------------------------ */

int inner_barrier(struct dn_team *team)
{
    return team_open(team) ? team_barrier(team, DN_FOREVER) : DN_ESTATE;
}

static uint64_t given_argument(struct dn_node *node, void *context)
{
    (void)node;
    return *(const uint64_t *)context;
}

static int nothing_more(struct dn_node *node, void *context)
{
    (void)node;
    (void)context;
    return 0;
}

int inner_agree(struct dn_team *team, const char *call, const uint64_t *numbers, size_t count)
{
    uint64_t sum = team_digest(TEAM_FAGUS, count, strlen(call));
    for (const char *letter = call; *letter; letter++) {
        sum = team_digest(TEAM_FAGUS, sum, (unsigned char)*letter);
    }
    for (size_t i = 0; i < count; i++) {
        sum = team_digest(TEAM_FAGUS, sum, numbers[i]);
    }
    struct team_call agreement = {given_argument, nothing_more, &sum};
    return team_agree(team, &agreement);
}

int inner_refuse(struct dn_team *team, int error)
{
    return team_refuse(team, error);
}

int inner_team_create_named(struct dn_node *node, const int *ranks, size_t count, uint64_t name,
                            struct dn_team **team)
{
    return team_create_named(node, ranks, count, name, team);
}

int inner_team_free_unused(struct dn_team *team)
{
    return team_free_unused(team);
}

int inner_heap_clear(struct dn_node *node)
{
    return team_heap_clear(node);
}

bool inner_team_is_given_up(const struct dn_team *team)
{
    return group_team_is_given_up(&team->nic);
}

bool inner_team_has_arrived(const struct dn_team *team, int member)
{
    return group_team_has_arrived(&team->nic, (uint32_t)member, team->phase);
}

/* ---- Locks that carry a value ---------------------------------------------------- */

int inner_lock_open(struct dn_node *node, int rank, uint64_t heap_offset, struct dn_lock **lock)
{
    /* The word where this process has it; in a mirror it is a name. */
    unsigned char *word = inner_area(node, rank, DN_HEAP) + heap_offset;
    return lock_open(node, (uint32_t)rank, (_Atomic uint64_t *)(void *)word, lock);
}

void inner_lock_want_value(struct dn_lock *lock, void *memory,
                           const struct inner_lock_region regions[2])
{
    struct nic_lock_value value = {
        .memory = memory,
        .regions = {{regions[0].offset, regions[0].bytes}, {regions[1].offset, regions[1].bytes}},
    };
    lock_want_value(lock, &value);
}

bool inner_lock_carries_value(const struct dn_lock *lock)
{
    return lock_carries_value(lock);
}

bool inner_lock_has_value(const struct dn_lock *lock)
{
    return lock_has_value(lock);
}

int inner_lock_give_value(struct dn_lock *lock, const void *changes, uint32_t bytes)
{
    return lock_give_value(lock, changes, bytes);
}

uint32_t inner_change_add(unsigned char *changes, uint32_t length, uint32_t offset,
                          const void *from, uint32_t bytes, bool is_or)
{
    return nic_lock_change_add(changes, length, offset, from, bytes, is_or);
}

const void *inner_change_next(const unsigned char *changes, uint32_t length, uint32_t *at,
                              struct inner_lock_region *region, bool *is_or)
{
    struct nic_lock_region found;
    bool fits = nic_lock_change_next(changes, length, at, &found, is_or);
    INVARIANT(fits);
    const void *bytes = changes + *at;
    *region = (struct inner_lock_region){found.offset, found.bytes};
    *at += (found.bytes + 7) & ~UINT32_C(7);
    return bytes;
}

/* ---- Traces ------------------------------------------------------------------------ */

void inner_trace_rename(const char *name)
{
    host_trace_rename(name);
}

static struct inner_trace begin(const char *name, const struct host_trace_what *what)
{
    return (struct inner_trace){.record = host_trace_begin(name, what), .is_begun = true};
}

/* Whether a record begins here. */
static bool enters(const struct dn_node *node)
{
    return inner_is_traced(node) && host_trace_is_on && host_trace_enter();
}

struct inner_trace inner_trace_begin(const struct dn_node *node, enum inner_trace_kind kind,
                                     const char *name, uint64_t bytes)
{
    if (!enters(node)) {
        return (struct inner_trace){0};
    }
    struct host_trace_what what = host_trace_call((enum host_trace_kind)kind);
    what.bytes = bytes;
    return begin(name, &what);
}

struct inner_trace inner_trace_remote(const struct dn_node *node, enum inner_trace_kind kind,
                                      const char *name, struct dn_remote remote, uint64_t bytes)
{
    if (!enters(node)) {
        return (struct inner_trace){0};
    }
    struct host_trace_what what = host_trace_remote((enum host_trace_kind)kind, node, remote,
                                                    bytes);
    return begin(name, &what);
}

struct inner_trace inner_trace_signal(const struct dn_node *node, const char *name,
                                      struct dn_remote remote, uint64_t bytes,
                                      struct dn_remote flag)
{
    if (!enters(node)) {
        return (struct inner_trace){0};
    }
    struct host_trace_what what = host_trace_signal(node, remote, bytes, flag);
    return begin(name, &what);
}

struct inner_trace inner_trace_wait(const struct dn_node *node, const char *name, const void *word,
                                    uint64_t bytes)
{
    if (!enters(node)) {
        return (struct inner_trace){0};
    }
    struct host_trace_what what = host_trace_word(HOST_TRACE_WAIT, node, word, bytes);
    return begin(name, &what);
}

void inner_trace_end(struct inner_trace trace, int result)
{
    if (trace.is_begun) {
        host_trace_end(trace.record, result);
    }
}

void inner_trace_look(const struct dn_node *node, const char *name, const void *word,
                      uint64_t bytes)
{
    uint64_t now_ns = host_trace_now_ns();
    if (inner_is_traced(node) && host_trace_is_on) {
        struct host_trace_what what = host_trace_word(HOST_TRACE_WAIT, node, word, bytes);
        host_trace_note(name, &what, now_ns, now_ns, 0);
    }
}

/* ---- The beginning and the end of the job ------------------------------------- */

const char *inner_attach_reason(int error)
{
    const char *reason = host_attach_reason();
    return *reason ? reason : dn_strerror(error);
}

bool inner_want_end(const struct dn_node *node, int *status)
{
    struct group_memory *group = node->process->control.group;
    bool first = host_group_want_end(group, *status);
    if (first) {
        host_job_note_end(*status);
    }
    (void)host_group_end_is_wanted(group, status);
    return first;
}

void inner_tell_launcher(void)
{
    host_tell_launcher();
}

void inner_go_on(const struct dn_node *node)
{
    host_group_go_on(node->process->control.group);
    host_tell_launcher();
}

void inner_show(struct dn_node *node, const void *place, uint64_t bytes)
{
    for (uint32_t rank = 0; rank < node->lane.node_count; rank++) {
        /* Nodes that are gone need not know. */
        (void)fabric_reflect(&node->lane, rank, place, bytes);
    }
}

void inner_rest(struct dn_node *node, bool rests)
{
    host_rest(node, rests);
}

void inner_leave_with_memory(struct dn_node *node)
{
    host_leave_with_memory(node);
}
