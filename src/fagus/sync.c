/* Synchronisation variables: making, freeing, naming, and what happened to them. */
#include "fagus/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fagus/bound.h"
#include "fagus/check.h"
#include "fagus/environment.h"
#include "fagus/report.h"
#include "fagus/traced.h"

static struct fagus_handles handles = FAGUS_HANDLES(struct fagus_sync);

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct fagus_sync *list;                               /* of all open ones */
static uint64_t made_count; /* ever, by this opening; with the collective calls' turn */

void fagus_sync_each(void (*call)(struct fagus_sync *sync, void *context), void *context)
{
    (void)pthread_mutex_lock(&list_lock);
    for (struct fagus_sync *sync = list; sync; sync = sync->next) {
        call(sync, context);
    }
    (void)pthread_mutex_unlock(&list_lock);
}

static void add_to_list(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&list_lock);
    sync->next = list;
    list = sync;
    (void)pthread_mutex_unlock(&list_lock);
}

static void take_from_list(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&list_lock);
    struct fagus_sync **link = &list;
    while (*link != sync) {
        link = &(*link)->next;
    }
    *link = sync->next;
    (void)pthread_mutex_unlock(&list_lock);
}

/* What a node keeps of it. */
static void forget(struct fagus_sync *sync)
{
    take_from_list(sync);
    fagus_log_free(sync);
    fagus_binding_forget(sync);
    fagus_twin_drop(sync);
    fagus_lockers_close(sync);
    free(sync->reader_threads);
    (void)pthread_mutex_destroy(&sync->lock);
}

/* ---- Making and freeing ------------------------------------------------------------------- */

void fagus_sync_manage(struct fagus_sync *sync, int manager)
{
    if (sync->own && sync->manager != manager) {
        fagus_lockers_close(sync); /* they were opened at another manager, before the binding */
    }
    sync->manager = manager;
    sync->reached = fagus_reach(manager, fagus_place_of(sync->own));
    sync->is_quick = fagus_state.is_shared && sync->reached && sync->reader_words == 1 &&
                     !fagus_environment.stats && !fagus_check_is_on && !fagus_is_traced();
}

static int create(void *opened, const void *unused)
{
    (void)unused;
    struct fagus_sync *sync = opened;
    uint64_t number = made_count;
    uint32_t words = ((uint32_t)fagus_state.size + FAGUS_READERS_PER_WORD - 1) /
                     FAGUS_READERS_PER_WORD;
    void *own;
    int error = fagus_agree("fagus_sync_create", &number, 1);
    error = error ? error : fagus_control_alloc(sizeof *sync->own + words * sizeof(uint64_t), &own);
    if (error) {
        return error;
    }
    made_count++;
    sync->number = number;
    sync->reader_words = words;
    sync->version = FAGUS_VERSION_NONE;
    sync->twin_version = FAGUS_VERSION_NONE;
    sync->manager = -1;
    sync->own = own;
    (void)pthread_mutex_init(&sync->lock, NULL);
    (void)snprintf(sync->name, sizeof sync->name, "variable %" PRIu64, number);
    fagus_sync_manage(sync, (int)(number % (uint64_t)fagus_state.size));
    add_to_list(sync);
    return 0;
}

int fagus_sync_create(struct fagus_sync **sync)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, 0, fagus_sync_create(sync));
    return fagus_handle_create(&handles, sync != NULL, create, NULL, sync);
}

static int destroy(void *opened)
{
    struct fagus_sync *sync = opened;
    int error = fagus_sync_is_held(sync) ? fagus_refuse(FAGUS_EBUSY)
                                         : fagus_agree("fagus_sync_free", &sync->number, 1);
    if (error) {
        return error;
    }
    forget(sync);
    error = fagus_control_free(sync->own);
    (void)fagus_handle_close(&sync->handle, fagus_state.generation);
    return error;
}

int fagus_sync_free(struct fagus_sync *sync)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, 0, fagus_sync_free(sync));
    return fagus_handle_free(sync, destroy);
}

int fagus_sync_name(struct fagus_sync *sync, const char *name)
{
    int error = fagus_handle_check(sync);
    if (error || !name) {
        return error ? error : FAGUS_EINVAL;
    }
    (void)pthread_mutex_lock(&sync->lock);
    (void)snprintf(sync->name, sizeof sync->name, "%s", name);
    (void)pthread_mutex_unlock(&sync->lock);
    return 0;
}

/* ---- What happened -------------------------------------------------------------------------- */

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_counters(struct fagus_sync *sync, void *context)
{
    struct fagus_stats *stats = context;
    const struct fagus_counters *counters = &sync->counters;
    stats->acquires += read_counter(&counters->acquires);
    stats->acquires_local += read_counter(&counters->acquires_local);
    stats->grants += read_counter(&counters->grants);
    stats->bytes_whole += read_counter(&counters->bytes_whole);
    stats->bytes_differences += read_counter(&counters->bytes_differences);
    stats->bytes_changed += read_counter(&counters->bytes_changed);
    stats->hops += read_counter(&counters->hops);
    stats->wait_ns += read_counter(&counters->wait_ns);
    stats->held_ns += read_counter(&counters->held_ns);
}

int fagus_stats(const struct fagus_sync *sync, struct fagus_stats *stats)
{
    int error = sync ? fagus_handle_check(sync) : fagus_check_open();
    if (error || !stats) {
        return error ? error : FAGUS_EINVAL;
    }
    *stats = (struct fagus_stats){0};
    if (sync) {
        struct fagus_sync *counted = (struct fagus_sync *)(uintptr_t)sync;
        add_counters(counted, stats);
    } else {
        fagus_sync_each(add_counters, stats);
    }
    return 0;
}

struct rows {
    struct fagus_report_row *rows;
    size_t count;
};

static void add_row(struct fagus_sync *sync, void *context)
{
    struct rows *rows = context;
    if (rows->rows) {
        struct fagus_report_row *row = &rows->rows[rows->count];
        *row = (struct fagus_report_row){.name = sync->name};
        add_counters(sync, &row->stats);
    }
    rows->count++;
}

/* All nodes have made the same variables in the same order. */
static void report(void)
{
    struct rows rows = {.count = 0};
    fagus_sync_each(add_row, &rows);
    rows.rows = calloc(rows.count + 1, sizeof *rows.rows);
    if (rows.rows) {
        rows.count = 0;
        fagus_sync_each(add_row, &rows);
        fagus_report(rows.rows, rows.count);
        free(rows.rows);
    }
}

/* ---- Set-up ------------------------------------------------------------------------------- */

int fagus_syncs_open(void)
{
    made_count = 0;
    return fagus_check_open_guard();
}

void fagus_syncs_close(void)
{
    if (fagus_environment.stats) {
        report();
    }
    while (list) {
        struct fagus_sync *sync = list;
        forget(sync);
        (void)fagus_handle_close(&sync->handle, fagus_state.generation);
    }
    fagus_bound_close();
    fagus_check_close();
}
