/* Set-up and queries: joining the group, laying out what all calls need, the end. */
#define _GNU_SOURCE
#include "shmem/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "shmem/above.h"
#include "shmem/collective.h"
#include "shmem/environment.h"
#include "shmem/failure.h"

/* The library's word in the low-latency memory of each PE, which no OpenSHMEM program
 * sees: 1 from the moment when it begins to finalize. Where that memory is a mirror the PE has
 * told it. */
static _Atomic uint32_t *finalizing_word(int pe)
{
    return (_Atomic uint32_t *)(void *)inner_area(shmem_state.node, pe, DN_LLCM);
}

bool shmem_others_finalize(void)
{
    for (int pe = 0; pe < shmem_state.n_pes; pe++) {
        if (pe != shmem_state.my_pe &&
            atomic_load_explicit(finalizing_word(pe), memory_order_acquire) == 0 &&
            !shmem_is_dead(pe)) {
            return false;
        }
    }
    return shmem_state.n_pes > 1;
}

static void say_finalizing(bool finalizes)
{
    _Atomic uint32_t *word = finalizing_word(shmem_state.my_pe);
    atomic_store_explicit(word, finalizes ? 1 : 0, memory_order_release);
    inner_show(shmem_state.node, word, sizeof *word);
}

/* ---- The end ------------------------------------------------------------------------- */

/* The launcher takes less to end a job. */
enum { PATIENCE_S = 2 };

/* Set by whoever ends the process, so that the end does not begin again. */
static _Atomic bool ending;

bool shmem_want_end(int *status)
{
    bool first = !shmem_state.node || inner_want_end(shmem_state.node, status);
    return first && !atomic_load(&ending);
}

_Noreturn void shmem_end(bool first, int status)
{
    atomic_store(&ending, true);
    (void)base_uncancelled_begin();
    if (!first) {
        (void)fflush(NULL);
        (void)sleep(PATIENCE_S);
    } else if (shmem_state.node) {
        /* From now on the launcher ends the job, should this process get stuck in exit(). */
        inner_tell_launcher();
    }
    exit(status);
}

_Noreturn void pshmem_global_exit(int status)
{
    int wanted = status;
    bool first = shmem_want_end(&wanted);
    shmem_end(first, wanted);
}

SHMEM_ALIAS(global_exit)

/* A barrier of all PEs, or of those that are left if the program goes on after deaths. */
static void meet_at_the_end(const char *call)
{
    struct dn_team *all = dn_team_all(shmem_state.node);
    struct dn_team *team = all;
    inner_trace_as(shmem_state.node, call);
    int error = dn_barrier(team, DN_FOREVER);
    while (error == DN_EPEER && shmem_state.goes_on) {
        struct dn_team *left;
        error = dn_team_shrink(team, &left);
        if (team != all) {
            (void)dn_team_free(team);
        }
        team = error ? all : left;
        error = error ? error : dn_barrier(team, DN_FOREVER);
    }
    if (team != all) {
        (void)inner_team_free_unused(team);
    }
    shmem_require(call, error);
}

/* Other threads may ask at any time (pshmem_query_initialized). */
static void set_initialised(bool initialised)
{
    __atomic_store_n(&shmem_state.initialised, initialised, __ATOMIC_RELEASE);
}

/* The library above this one, if the program uses it. */
static const struct inner_shmem_ending *above;

void inner_shmem_at_end(const struct inner_shmem_ending *of_the_library_above)
{
    above = of_the_library_above;
}

/* Others may wait for what this PE holds, so they get it before the PEs meet. */
static void give_all_locks(void)
{
    shmem_locks_give();
    if (above) {
        above->give_locks();
    }
}

/* After the barrier nobody uses anything any more. The node stays attached, at rest, because the
 * program may initialise the library again; until then its end is nobody's loss. */
static void finalize(const char *call)
{
    int cancellable = base_uncancelled_begin();
    /* A PE that sees all others finalize waits no longer: what it waits for must be there. */
    shmem_contexts_quiet(call);
    give_all_locks();
    say_finalizing(true);
    meet_at_the_end(call);
    set_initialised(false);
    atomic_store(&shmem_state.init_count, 0);
    shmem_locks_end();
    if (above) {
        above->forget();
    }
    shmem_contexts_end();
    shmem_teams_end();
    shmem_memory_end();
    memset(shmem_state.segments, 0, sizeof shmem_state.segments);
    free(shmem_state.peers);
    for (int i = 0; i < SHMEM_SEGMENTS; i++) {
        free(shmem_state.origins[i]);
    }
    shmem_require(call, inner_heap_clear(shmem_state.node));
    inner_rest(shmem_state.node, true);
    base_uncancelled_end(cancellable);
}

/* One thread at a time begins or ends the library; the parts of a program need not know of each
 * other. */
static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;

/* All but the last call are barriers. */
void pshmem_finalize(void)
{
    static const char call[] = "shmem_finalize";
    pthread_mutex_lock(&life_lock);
    shmem_require_initialised(call);
    if (atomic_fetch_sub(&shmem_state.init_count, 1) > 1) {
        meet_at_the_end(call);
    } else {
        finalize(call);
    }
    pthread_mutex_unlock(&life_lock);
}

SHMEM_ALIAS(finalize)

static void detach(const char *call)
{
    struct dn_node *node = shmem_state.node;
    shmem_state.node = NULL;
    int error = dn_detach(node);
    /* Static variables that cannot be moved back now (a thread blocks all signals) are the
     * program's all the same. */
    if (error == DN_ETHREADS || error == DN_ENOMEM || error == DN_ESYSTEM) {
        inner_leave_with_memory(node);
    } else {
        shmem_require(call, error);
    }
}

/* A program may end without shmem_finalize. With a status of failure the launcher ends the
 * job; nobody is waited for then. */
static void leave_at_exit(int status, void *unused)
{
    static const char call[] = "shmem_finalize at the end of the program";
    (void)unused;
    if (status == 0 && shmem_state.node && !atomic_exchange(&ending, true)) {
        int cancellable = base_uncancelled_begin();
        if (shmem_state.initialised) {
            finalize(call);
        }
        detach(call);
        base_uncancelled_end(cancellable);
    }
}

/* ---- The beginning ------------------------------------------------------------------- */

/* What every PE tells the others about itself. */
struct introduction {
    uint64_t static_bytes;
    uint64_t static_place;
    uint32_t static_area;
    uint32_t debug;
};

static void check_same_program(const char *call, const struct introduction *all)
{
    const struct introduction *mine = &all[shmem_state.my_pe];
    for (int pe = 0; pe < shmem_state.n_pes; pe++) {
        if (all[pe].static_bytes != mine->static_bytes ||
            all[pe].static_place != mine->static_place) {
            shmem_fail(call,
                       "PE %d runs another program than this one: it has %llu bytes of static "
                       "variables, this one %llu. Start all PEs with the same executable",
                       pe, (unsigned long long)all[pe].static_bytes,
                       (unsigned long long)mine->static_bytes);
        }
    }
}

/* Debug mode takes part in collective calls, so one PE that has it turns it on for all. Launchers
 * of MPI programs may set variables for some processes only. */
static bool wants_debug(const struct introduction *all)
{
    bool wants = false;
    for (int pe = 0; pe < shmem_state.n_pes; pe++) {
        wants = wants || all[pe].debug;
    }
    return wants;
}

static void *allocate(const char *call, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        shmem_fail(call, "no memory is left for a table of %zu PEs", count);
    }
    return memory;
}

/* Everybody's segments as remote addresses, and as distances, which contexts use where
 * in_place_count says so. */
static void lay_out(const char *call, const struct inner_program_data *data,
                    const struct introduction *all)
{
    const struct dn_node *node = shmem_state.node;
    size_t count = (size_t)shmem_state.n_pes;
    struct shmem_peer *peers = allocate(call, count, sizeof *peers);
    unsigned char *heap = inner_area(node, shmem_state.my_pe, DN_HEAP);
    shmem_state.segments[SHMEM_HEAP] = (struct shmem_segment){(uintptr_t)heap,
                                                              inner_area_bytes(node, DN_HEAP)};
    shmem_state.segments[SHMEM_STATIC] = (struct shmem_segment){data->base, data->bytes};
    shmem_state.static_image = (uintptr_t)inner_registered(node, shmem_state.my_pe) + data->place;
    for (int i = 0; i < SHMEM_SEGMENTS; i++) {
        shmem_state.origins[i] = allocate(call, count, sizeof *shmem_state.origins[i]);
    }
    for (int pe = 0; pe < shmem_state.n_pes; pe++) {
        uintptr_t its_heap = (uintptr_t)inner_area(node, pe, DN_HEAP);
        uintptr_t its_data = (uintptr_t)inner_registered(node, pe) + data->place;
        peers[pe] = (struct shmem_peer){
            .distance = {(ptrdiff_t)(its_heap - (uintptr_t)heap),
                         pe == shmem_state.my_pe ? 0 : (ptrdiff_t)(its_data - data->base)},
            .call = inner_call_word(node, pe),
            .pe = pe,
        };
        shmem_state.origins[SHMEM_HEAP][pe] = (struct dn_remote){
            .rank = pe, .area = DN_HEAP, .offset = 0};
        shmem_state.origins[SHMEM_STATIC][pe] = (struct dn_remote){
            .rank = pe, .area = all[pe].static_area, .offset = 0};
    }
    shmem_state.peers = peers;
    memcpy(shmem_state.near, peers,
           (count < SHMEM_NEAR_PES ? count : SHMEM_NEAR_PES) * sizeof *peers);
}

/* After this exchange every PE's memory is where the others expect it. Static variables stay shared
 * from the first one on. */
static void meet(const char *call, const struct shmem_environment *environment)
{
    static struct inner_program_data data;
    int error = shmem_state.epoch == 0 ? inner_program_data_share(shmem_state.node, &data) : 0;
    if (error) {
        shmem_fail(call, "the program's static variables cannot be shared: %s", dn_strerror(error));
    }
    struct introduction mine = {data.bytes, data.place, data.area, environment->debug};
    struct introduction *all = allocate(call, (size_t)shmem_state.n_pes, sizeof *all);
    inner_trace_as(shmem_state.node, call);
    shmem_require(call, dn_allgather(dn_team_all(shmem_state.node), &mine, all, sizeof mine));
    check_same_program(call, all);
    shmem_state.debug = wants_debug(all);
    lay_out(call, &data, all);
    free(all);
}

static bool is_static(const void *object)
{
    const struct shmem_segment *segment = &shmem_state.segments[SHMEM_STATIC];
    return (uintptr_t)object - segment->base < segment->bytes;
}

/* Linked statically, the C library has its variables among the program's. A child would write the
 * PE's before any handler could prevent it. */
static void refuse_to_fork(void)
{
    if (shmem_state.initialised && !inner_fork_spares_variables() &&
        (is_static(stdin) || is_static(stdout) || is_static(stderr))) {
        shmem_fail("fork",
                   "the program is linked statically, and its child would destroy its "
                   "variables; link it by oshcc -static, or with -Wl,--wrap=_Fork,-u,_Fork, and "
                   "with a C library before version 2.41");
    }
}

/* The group's memory is not there in a forked child, and its end is not the PE's. */
static void forget_in_child(void)
{
    shmem_contexts_forbid();
    memset(shmem_state.segments, 0, sizeof shmem_state.segments);
    shmem_state.initialised = false;
    shmem_state.node = NULL;
}

static void watch_the_process(const char *call)
{
    static bool is_watched;
    if (!is_watched && (on_exit(leave_at_exit, NULL) != 0 ||
                        pthread_atfork(refuse_to_fork, NULL, forget_in_child) != 0)) {
        shmem_fail(call, "no memory is left to watch the end of the program");
    }
    is_watched = true;
}

/* Joins the group, or comes back into it. */
static struct dn_node *join(const char *call, const struct shmem_environment *environment)
{
    struct dn_options options = {.struct_bytes = sizeof options,
                                 .heap_bytes = environment->symmetric_bytes};
    struct dn_node *node = shmem_state.node;
    if (node) {
        inner_rest(node, false);
        return node;
    }
    int error = dn_attach(&node, &options);
    if (error) {
        shmem_fail(call, "cannot join the group of PEs: %s", inner_attach_reason(error));
    }
    return node;
}

static void start(const char *call, int level)
{
    int cancellable = base_uncancelled_begin();
    struct shmem_environment environment;
    shmem_environment_read(call, &environment);
    struct dn_node *node = join(call, &environment);
    shmem_state.node = node;
    shmem_state.my_pe = dn_rank(node);
    shmem_state.n_pes = dn_size(node);
    shmem_state.thread_level = level;
    shmem_state.debug = false;
    shmem_state.goes_on = false;
    say_finalizing(false);
    meet(call, &environment);
    shmem_state.epoch++;
    shmem_require(call, shmem_teams_start());
    shmem_contexts_start();
    watch_the_process(call);
    set_initialised(true);
    if (shmem_state.my_pe == 0) {
        shmem_environment_show(&environment);
    }
    base_uncancelled_end(cancellable);
}

/* The thread level is that of the first call. */
static void initialise(const char *call, int level)
{
    pthread_mutex_lock(&life_lock);
    if (!shmem_state.initialised) {
        start(call, level);
    }
    atomic_fetch_add(&shmem_state.init_count, 1);
    pthread_mutex_unlock(&life_lock);
}

void pshmem_init(void)
{
    initialise("shmem_init", SHMEM_THREAD_SINGLE);
}

int pshmem_init_thread(int requested, int *provided)
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
        return -1;
    }
    initialise("shmem_init_thread", requested);
    if (provided) {
        *provided = shmem_state.thread_level;
    }
    return 0;
}

void pshmem_query_thread(int *provided)
{
    *provided = shmem_state.thread_level;
}

void pshmem_query_initialized(int *initialized)
{
    *initialized = __atomic_load_n(&shmem_state.initialised, __ATOMIC_ACQUIRE);
}

SHMEM_ALIAS(init)
SHMEM_ALIAS(init_thread)
SHMEM_ALIAS(query_thread)
SHMEM_ALIAS(query_initialized)

/* ---- Queries ------------------------------------------------------------------------- */

int pshmem_my_pe(void)
{
    return shmem_state.my_pe;
}

int pshmem_n_pes(void)
{
    return shmem_state.n_pes;
}

int pshmem_pe_accessible(int pe)
{
    return shmem_state.initialised && (uint32_t)pe < (uint32_t)shmem_state.n_pes &&
           !(shmem_state.goes_on && shmem_is_dead(pe));
}

int pshmem_addr_accessible(const void *addr, int pe)
{
    struct dn_remote remote;
    return pshmem_pe_accessible(pe) && shmem_remote_of(addr, 1, pe, &remote);
}

void pshmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

void pshmem_info_get_name(char *name)
{
    _Static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN, "the name has its room");
    memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING);
}

SHMEM_ALIAS(my_pe)
SHMEM_ALIAS(n_pes)
SHMEM_ALIAS(pe_accessible)
SHMEM_ALIAS(addr_accessible)
SHMEM_ALIAS(info_get_version)
SHMEM_ALIAS(info_get_name)

void pshmem_pcontrol(int level, ...)
{
    (void)level;
}

SHMEM_ALIAS(pcontrol)

/* ---- Deprecated names ------------------------------------------------------------------ */

/* Called again it does nothing, and asks for no further shmem_finalize. */
void start_pes(int npes)
{
    (void)npes;
    if (!shmem_state.initialised) {
        initialise("start_pes", SHMEM_THREAD_SINGLE);
    }
}

int _my_pe(void)
{
    return pshmem_my_pe();
}

int _num_pes(void)
{
    return pshmem_n_pes();
}

/* Memory is coherent; there is nothing to flush. */
SHMEM_DEFINE(void, clear_cache_inv, (void), )
SHMEM_DEFINE(void, clear_cache_line_inv, (void *dest), (void)dest)
SHMEM_DEFINE(void, set_cache_inv, (void), )
SHMEM_DEFINE(void, set_cache_line_inv, (void *dest), (void)dest)
SHMEM_DEFINE(void, udcflush, (void), )
SHMEM_DEFINE(void, udcflush_line, (void *dest), (void)dest)
