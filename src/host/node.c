/* Attaching, lanes, detaching. */
#define _GNU_SOURCE
#include "host/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "host/clock.h"
#include "host/fork.h"
#include "host/join.h"
#include "host/killpoint.h"
#include "host/settings.h"
#include "host/trace.h"
#include "host/wait.h"
#include "group/service_memory.h"

/* A process has one node. Handles are never freed, so that a stale one is still
 * readable and answers DN_ESTATE. */
static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dn_node default_node;
static struct host_process process = {
    .default_lane = &default_node,
    .acknowledge_lock = PTHREAD_MUTEX_INITIALIZER,
    .table_lock = PTHREAD_MUTEX_INITIALIZER,
    .sleep_lock = PTHREAD_MUTEX_INITIALIZER,
};
static struct dn_node default_node = {.process = &process, .is_default = true};
static bool attached;

uint64_t (*host_fabric_clock)(void);

/* Virtual time ends with the node's part in it. */
static uint64_t clock_end_ns;

static uint64_t stopped_clock(void)
{
    return clock_end_ns;
}

static bool has_own_memory(void)
{
    return process.control_group.group != NULL;
}

static void stop_fabric(void)
{
    if (host_fabric_clock && host_fabric_clock != stopped_clock) {
        clock_end_ns = host_fabric_clock();
        host_fabric_clock = stopped_clock;
    }
    if (process.fabric->stop) {
        process.fabric->stop();
    }
}

/* This process's place in a group that somebody else has made. */
struct place {
    int group_fd;
    bool is_ours; /* nobody else knows that descriptor */
    uint32_t rank;
};

/* The place that `dimmnet run` names. DN_EGROUP when its words make no sense. */
static int find_place(struct place *place)
{
    uint64_t fd;
    uint64_t rank;
    if (!fabric_environment_number(HOST_ENV_GROUP_FD, INT32_MAX, &fd) ||
        !fabric_environment_number(HOST_ENV_RANK, GROUP_NODES_MAX, &rank)) {
        return DN_EGROUP;
    }
    *place = (struct place){.group_fd = (int)fd, .rank = (uint32_t)rank};
    return 0;
}

static int map_launched(const struct place *place, struct host_group *launched)
{
    int error = host_group_map(place->group_fd, place->rank, launched);
    if (error && place->is_ours) {
        (void)close(place->group_fd);
    }
    if (!error && place->rank >= launched->facts.geometry.node_count) {
        host_group_unmap(launched);
        error = DN_EGROUP;
    }
    return error;
}

/* The group that the launcher has made, or, where the fabric says so, one of this process's
 * own. */
static int join_group(const struct place *place)
{
    struct host_group launched;
    int error = map_launched(place, &launched);
    if (error) {
        return error;
    }
    const struct group_sizes *own = NULL;
    error = process.fabric->join ? process.fabric->join(launched.facts.geometry.node_count, &own)
                                 : 0;
    if (!error && !own) {
        process.group = launched;
        return 0;
    }
    if (!error) {
        error = host_group_create(launched.facts.geometry.node_count, own,
                                  launched.facts.core_count, place->rank, &process.group);
    }
    if (error) {
        stop_fabric();
        host_group_unmap(&launched);
        return error;
    }
    process.control_group = launched;
    return 0;
}

/* The sizes of a group that no launcher makes: the caller's over the environment's. */
static struct group_sizes own_sizes(const struct dn_options *options,
                                    const struct host_settings *settings)
{
    struct group_sizes sizes = settings->sizes;
    sizes.llcm_bytes = options->llcm_bytes ? options->llcm_bytes : sizes.llcm_bytes;
    sizes.bank_bytes = options->bank_bytes ? options->bank_bytes : sizes.bank_bytes;
    sizes.heap_bytes = options->heap_bytes ? options->heap_bytes : sizes.heap_bytes;
    return sizes;
}

static int make_group_of_one(const struct dn_options *options, const struct host_settings *settings)
{
    struct group_sizes sizes = own_sizes(options, settings);
    return host_group_create(1, &sizes, host_core_count(), 0, &process.group);
}

/* Why the last attempt to attach failed, if there is more to say than the error's own sentence. */
static char reason[HOST_SENTENCE_BYTES];

const char *host_attach_reason(void)
{
    return reason;
}

/* Such a job has the first of all fabrics; who asked for another one must not get this. */
static int check_fabric(const struct host_job *job)
{
    const char *wanted = getenv("DN_FABRIC");
    if (!wanted || !*wanted || strcmp(wanted, fabric_first_name()) == 0) {
        return 0;
    }
    (void)snprintf(reason, sizeof reason, "%s starts groups on %s only, not on DN_FABRIC=%s",
                   job->launcher, fabric_first_name(), wanted);
    return DN_EGROUP;
}

/* The place in the group of a job that a launcher of MPI programs has started. */
static int meet_job(const struct host_job *job, const struct dn_options *options,
                    const struct host_settings *settings, struct place *place)
{
    struct group_sizes sizes = own_sizes(options, settings);
    struct host_join_terms terms = {.sizes = &sizes,
                                    .patience_ms = settings->join_timeout_ms,
                                    .stop_signal = settings->stop_signal};
    int group_fd;
    int error = check_fabric(job);
    error = error ? error : host_join(job, &terms, &group_fd, reason);
    if (!error) {
        *place = (struct place){.group_fd = group_fd, .is_ours = true, .rank = job->rank};
    }
    return error;
}

static int fill_segments(void)
{
    const struct group_view *view = &process.view;
    size_t bytes = view->node_count * FABRIC_SEGMENTS * sizeof(struct fabric_segment);
    struct fabric_segment *segments = aligned_alloc(CACHE_LINE_BYTES, bytes);
    if (!segments) {
        return DN_ENOMEM;
    }
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        struct fabric_segment *row = &segments[rank * FABRIC_SEGMENTS];
        row[0] = (struct fabric_segment){0};
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            row[area].base = group_segment(view, rank, area);
            row[area].bytes = group_segment_bytes(view, area);
        }
    }
    process.segments = segments;
    return 0;
}

static int open_lane(struct dn_node *node)
{
    const struct fabric_ops *ops = process.fabric->ops;
    node->lane = (struct fabric_lane){
        .node_count = process.view.node_count,
        .all_in_place = process.all_in_place,
        .is_prompt = process.all_in_place && !ops->intercepts,
        .segments = process.segments,
        .ports = process.view.ports,
        .ops = ops,
        .stored_to = process.stored_to,
        .sleeping = process.view.group->sleeping,
        .view = &process.view,
    };
    int error = ops->lane_open ? ops->lane_open(&node->lane) : 0;
    if (!error) {
        node->lane.quick_count = ops->intercepts || host_trace_is_on ? 0 : node->lane.node_count;
        node->lane.open = FABRIC_LANE_OPEN;
    }
    return error;
}

static void forbid_lane(struct dn_node *node)
{
    node->lane.open = 0;
    node->lane.quick_count = 0;
}

static void close_file(struct host_group *group)
{
    if (group->group) {
        (void)close(group->fd);
        group->fd = -1;
    }
}

/* In a forked child the memory is not mapped, and the handles close. So do the files, or a child
 * that lives on would keep the memory of all nodes. Locks start anew: another thread of the parent
 * may have held one, and is not there to give it back. */
static void close_handles_in_child(void)
{
    int cancellable = base_uncancelled_begin();
    (void)pthread_mutex_init(&attach_lock, NULL);
    (void)pthread_mutex_init(&process.table_lock, NULL);
    host_join_forget();
    close_file(&process.group);
    close_file(&process.control_group);
    host_trace_stop();
    if (host_fabric_clock) {
        host_fabric_clock = stopped_clock; /* the fabric's memory is not there either */
    }
    forbid_lane(&default_node);
    for (struct dn_node *lane = process.lanes; lane; lane = lane->next) {
        forbid_lane(lane);
    }
    base_uncancelled_end(cancellable);
}

/* Before anything of the program runs; 101 is the first that programs and libraries may have. */
__attribute__((constructor(101))) static void watch_forks(void)
{
    (void)host_fork_watch(&process, close_handles_in_child);
}

static void close_lane(struct dn_node *node)
{
    if (node->lane.ops->lane_close) {
        node->lane.ops->lane_close(&node->lane);
    }
    forbid_lane(node);
}

/* Whether the launcher watches this process anyway. */
static bool is_launchers_child(void)
{
    uint64_t launcher;
    return !fabric_environment_number(HOST_ENV_LAUNCHER, INT32_MAX, &launcher) ||
           launcher == (uint64_t)getppid();
}

static int start_fabric(const struct host_settings *settings)
{
    const struct group_view *view = &process.view;
    struct fabric_start start = {
        .view = view,
        .control = &process.control,
        .tell_launcher = host_tell_launcher,
        .stop_signal = settings->stop_signal,
        .seed = (settings->relax_seed ? settings->relax_seed : host_now_ns()) + view->rank,
    };
    int error = process.fabric->start ? process.fabric->start(&start) : 0;
    host_fabric_clock = error ? NULL : process.fabric->now_ns;
    process.all_in_place = true;
    /* A fabric without packets has no such bits, whatever others wrote into the ports. */
    for (uint32_t rank = 0; rank < view->node_count && process.fabric->ops->reflect; rank++) {
        process.all_in_place &= !(atomic_load(&view->ports[rank].call) & GROUP_CALL_BY_PACKETS);
    }
    process.polls_closely = process.core_is_free && process.all_in_place;
    if (!error && process.fabric->ops->is_virtual) {
        /* As if this node stored to itself and slept: so every wait goes the whole way, also one
         * that finds at once what it waits for, and its look takes virtual time. */
        uint64_t bit = UINT64_C(1) << view->rank % 64;
        atomic_fetch_or(&process.stored_to[view->rank / 64], bit);
        atomic_fetch_or(&view->group->sleeping[view->rank / 64], bit);
    }
    return error;
}

/* Nothing that belongs to the rank alone is touched before it is claimed: a second process in the
 * same rank would send by the same socket. The launcher watches its own children; a process
 * further down says who it is, so that its end is noticed from now on. */
static int claim_rank(void)
{
    if (!group_life_claim(&process.control, (uint32_t)getpid())) {
        return DN_EGROUP;
    }
    if (!is_launchers_child()) {
        host_tell_launcher();
    }
    return 0;
}

static int publish_life(void)
{
    struct group_port *port = &process.control.ports[process.control.rank];
    atomic_store_explicit(&port->attached_ns, fabric_now_ns(), memory_order_relaxed);
    return group_life_attach(&process.control) &&
                   (!has_own_memory() || group_life_attach(&process.view))
               ? 0
               : DN_EGROUP;
}

/* Nodes on other hosts learn through the launcher what a node did. */
static void tell_other_hosts(void)
{
    if (has_own_memory()) {
        host_tell_launcher();
    }
}

/* The rank is claimed and cannot go on: whoever waits for it learns that now. */
static void end_unborn_life(void)
{
    if (!group_life_gone(group_life(&process.control, process.control.rank))) {
        group_life_leave(&process.control);
        tell_other_hosts();
    }
}

/* Whether the sizes that the launcher chose are enough for what the program says it needs. */
static bool has_sizes(const struct dn_options *options)
{
    return options->llcm_bytes <= group_segment_bytes(&process.view, DN_LLCM) &&
           options->bank_bytes <= group_segment_bytes(&process.view, DN_BANK) &&
           options->heap_bytes <= group_segment_bytes(&process.view, DN_HEAP);
}

static int begin_life(const struct host_settings *settings)
{
    int error = start_fabric(settings);
    /* Before the lane, which has quick paths or not. */
    error = error ? error : host_trace_start(process.fabric);
    error = error ? error : open_lane(&default_node);
    if (!error) {
        error = publish_life();
        if (error) {
            close_lane(&default_node);
        }
    }
    process.is_traced = host_trace_is_on;
    if (error) {
        host_trace_stop();
        end_unborn_life();
    }
    return error;
}

/* Everything that depends on the mapped group, in order; undone by the caller. */
static int set_up(uint32_t rank, const struct dn_options *options,
                  const struct host_settings *settings)
{
    const struct host_group *control = has_own_memory() ? &process.control_group : &process.group;
    group_view_make(process.group.group, &process.group.facts, rank, &process.view);
    group_view_make(control->group, &control->facts, rank, &process.control);
    process.core_is_free = process.view.node_count <= process.view.facts.core_count;
    atomic_store(&process.acknowledged_count, 0);
    memset(process.acknowledged, 0, sizeof process.acknowledged);
    memset(process.stored_to, 0, sizeof process.stored_to);
    process.segments = NULL;
    host_memory_init(&process, settings->stop_signal);
    if (!base_extents_init(&process.heap, group_segment_bytes(&process.view, DN_HEAP)) ||
        !base_extents_init(&process.arena,
                           GROUP_SERVICE_BYTES - group_service_free_offset(&process.view))) {
        return DN_ENOMEM;
    }
    int error = has_sizes(options) ? fill_segments() : DN_ENOMEM;
    if (error) {
        return error;
    }
    process.has_store_error = false;
    error = claim_rank();
    return error ? error : begin_life(settings);
}

static void tear_down(void)
{
    stop_fabric();
    if (has_own_memory()) {
        host_group_unmap(&process.control_group);
    }
    free(process.segments);
    base_extents_release(&process.heap);
    base_extents_release(&process.arena);
    host_group_unmap(&process.group);
}

static int attach_locked(const struct dn_options *options)
{
    struct host_settings settings;
    struct host_job job = {.launcher = NULL};
    struct place place = {.rank = 0};
    const char *bad;
    reason[0] = '\0';
    int error = host_settings_read(&settings, &bad);
    if (!error && !host_fork_watch(&process, close_handles_in_child)) {
        error = DN_ENOMEM;
    }
    if (error) {
        return error;
    }
    bool launched = getenv(HOST_ENV_GROUP_FD) != NULL;
    process.fabric = fabric_choose(launched, settings.relax);
    error = launched ? find_place(&place) : host_job_find(&job, reason);
    if (!error && job.launcher) {
        error = meet_job(&job, options, &settings, &place);
    }
    if (!error) {
        error = launched || job.launcher ? join_group(&place)
                                         : make_group_of_one(options, &settings);
    }
    if (error) {
        host_join_end();
        return error;
    }
    host_killpoint_arm(place.rank);
    host_wait_prepare();
    error = set_up(place.rank, options, &settings);
    if (error) {
        tear_down();
        host_join_end();
        return error;
    }
    if (launched) {
        host_keep_from_programs();
    }
    tell_other_hosts();
    attached = true;
    return 0;
}

int host_attach(struct dn_node **node, const struct dn_options *options)
{
    int cancellable = base_uncancelled_begin();
    pthread_mutex_lock(&attach_lock);
    int error = attached ? DN_ESTATE : attach_locked(options);
    if (!error) {
        *node = &default_node;
    }
    pthread_mutex_unlock(&attach_lock);
    base_uncancelled_end(cancellable);
    return error;
}

/* What this node sent to its own registered memory must be in it before that becomes private. */
static int give_memory_back(void)
{
    if (!default_node.lane.is_prompt && process.memory.moved.count > 0) {
        (void)default_node.lane.ops->quiet(&default_node.lane);
        for (struct dn_node *lane = process.lanes; lane; lane = lane->next) {
            if (host_node_open(lane)) {
                (void)lane->lane.ops->quiet(&lane->lane);
            }
        }
    }
    return host_memory_restore(&process);
}

static void close_all_lanes(void)
{
    for (struct dn_node *lane = process.lanes; lane; lane = lane->next) {
        if (host_node_open(lane)) {
            close_lane(lane);
        }
    }
    close_lane(&default_node);
}

/* Notes when the program was done with its peers. */
static void note_departure(void)
{
    struct group_port *port = &process.control.ports[process.control.rank];
    if (!atomic_load(&port->is_resting)) {
        atomic_store_explicit(&port->left_ns, fabric_now_ns(), memory_order_relaxed);
    }
}

void host_rest(struct dn_node *node, bool rests)
{
    INVARIANT(host_node_open(node));
    if (rests) {
        /* The process may end at any moment: what peers still wait for is in place. */
        (void)fabric_settle(&default_node.lane);
    }
    note_departure();
    group_life_rest(&process.control, rests);
}

/* All that this node sent is in place before peers learn that it has left. */
static void end_life(void)
{
    host_trace_stop();
    close_all_lanes();
    stop_fabric();
    note_departure();
    group_life_leave(&process.control);
    if (has_own_memory()) {
        group_life_leave(&process.view);
    }
    tell_other_hosts();
}

void host_leave_with_memory(struct dn_node *node)
{
    int cancellable = base_uncancelled_begin();
    pthread_mutex_lock(&attach_lock);
    if (host_node_open(node)) {
        end_life();
    }
    pthread_mutex_unlock(&attach_lock);
    base_uncancelled_end(cancellable);
}

int host_detach(struct dn_node *node)
{
    int cancellable = base_uncancelled_begin();
    pthread_mutex_lock(&attach_lock);
    int error = 0;
    if (!host_node_open(node)) {
        error = DN_ESTATE;
    } else if (!node->is_default) {
        error = DN_EINVAL;
    } else {
        error = give_memory_back();
    }
    if (!error) {
        end_life();
        tear_down();
        host_join_end();
        attached = false;
    }
    pthread_mutex_unlock(&attach_lock);
    base_uncancelled_end(cancellable);
    return error;
}

int host_lane_open(struct dn_node **lane)
{
    pthread_mutex_lock(&process.table_lock);
    struct dn_node *made = process.lanes;
    while (made && host_node_open(made)) {
        made = made->next;
    }
    int error = 0;
    if (!made) {
        made = aligned_alloc(CACHE_LINE_BYTES, (sizeof *made + CACHE_LINE_BYTES - 1) /
                                                   CACHE_LINE_BYTES * CACHE_LINE_BYTES);
        if (made) {
            *made = (struct dn_node){.process = &process, .next = process.lanes};
            process.lanes = made;
        } else {
            error = DN_ENOMEM;
        }
    }
    error = error ? error : open_lane(made);
    if (!error) {
        *lane = made;
    }
    pthread_mutex_unlock(&process.table_lock);
    return error;
}

int host_lane_close(struct dn_node *lane)
{
    pthread_mutex_lock(&process.table_lock);
    int error = 0;
    if (!host_node_open(lane)) {
        error = DN_ESTATE;
    } else if (lane->is_default) {
        error = DN_EINVAL;
    } else {
        close_lane(lane);
    }
    pthread_mutex_unlock(&process.table_lock);
    return error;
}
