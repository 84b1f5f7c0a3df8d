/* Making the fake fabric's memory, and running its nodes. */
#define _GNU_SOURCE
#include "unit/fake_packets.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "group/service_memory.h"

enum { PATIENCE_S = 60 };

/* ---- Copies --------------------------------------------------------------------------------- */

uint32_t fake_first_of_host(uint32_t rank)
{
    uint32_t first = 0;
    while (fake->hosts[first] != fake->hosts[rank]) {
        first++;
    }
    return first;
}

uint32_t fake_home(uint32_t rank, uint64_t offset)
{
    if (offset < fake->geometry.nodes_offset) {
        return fake_first_of_host(rank);
    }
    uint64_t owner = (offset - fake->geometry.nodes_offset) / fake->geometry.node_stride_bytes;
    return fake->hosts[owner] == fake->hosts[rank] ? (uint32_t)owner : rank;
}

/* Makes a copy show what its node shares with its host. */
static void share(uint32_t rank, uint64_t offset, uint64_t bytes)
{
    uint64_t at = fake_home(rank, offset) * fake->geometry.total_bytes + offset;
    unsigned char *place = fake_place(rank, offset);
    if (fake_home(rank, offset) != rank) {
        assert_ptr_equal(mmap(place, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fake->memory_fd, (off_t)at),
                         place);
    }
}

static void make_copy(uint32_t rank)
{
    const struct group_geometry *geometry = &fake->geometry;
    void *copy = mmap(NULL, geometry->total_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fake->memory_fd,
                      (off_t)(rank * geometry->total_bytes));
    assert_true(copy != MAP_FAILED);
    fake->copies[rank] = copy;
    share(rank, 0, geometry->nodes_offset);
    for (uint32_t other = 0; other < fake->node_count; other++) {
        share(rank, geometry->nodes_offset + other * geometry->node_stride_bytes,
              geometry->node_stride_bytes);
    }
    if (fake_first_of_host(rank) == rank) {
        const struct group_facts facts = {1, *geometry};
        group_group_init(copy, &facts);
        for (uint32_t other = 0; other < fake->node_count; other++) {
            struct group_view view;
            group_view_make(copy, &facts, other, &view);
            assert_true(group_life_attach(&view));
        }
    }
}

void fake_make(const struct fake_settings *settings)
{
    struct group_sizes sizes = settings->sizes;
    uint64_t *each[] = {&sizes.llcm_bytes, &sizes.bank_bytes, &sizes.heap_bytes,
                        &sizes.registered_bytes};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        *each[i] = *each[i] ? *each[i] : UNIT_PAGE_BYTES;
    }
    assert_true(settings->node_count <= FAKE_NODES_MAX);
    fake = mmap(NULL, sizeof *fake, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(fake != MAP_FAILED);
    fake->node_count = settings->node_count;
    fake->asks_wait = settings->asks_wait;
    fake->has_services = settings->services != NULL;
    if (fake->has_services) {
        fake->services = *settings->services;
    }
    fake->random = settings->seed;
    assert_int_equal(group_geometry(fake->node_count, &sizes, UNIT_PAGE_BYTES, &fake->geometry), 0);
    fake->memory_fd = memfd_create("fake", MFD_CLOEXEC);
    assert_true(fake->memory_fd >= 0);
    assert_int_equal(
        ftruncate(fake->memory_fd, (off_t)(fake->node_count * fake->geometry.total_bytes)), 0);
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        fake->hosts[rank] = settings->hosts ? settings->hosts[rank] : rank;
    }
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        make_copy(rank);
    }
}

/* What src/host does for a process when it attaches. */
static void attach(uint32_t rank, uint64_t seed)
{
    struct fake_node *node = &fake_nodes[rank];
    struct host_process *process = &node->process;
    memset(node, 0, sizeof *node);
    node->rank = rank;
    (void)pthread_mutex_init(&node->send_lock, NULL);
    (void)pthread_mutex_init(&node->receive_lock, NULL);
    (void)pthread_mutex_init(&node->grants_lock, NULL);
    (void)pthread_mutex_init(&node->services_lock, NULL);
    (void)pthread_mutex_init(&process->sleep_lock, NULL);
    (void)pthread_mutex_init(&process->acknowledge_lock, NULL);
    (void)pthread_mutex_init(&process->table_lock, NULL);
    group_view_make(fake->copies[rank], &(struct group_facts){1, fake->geometry}, rank,
                    &process->view);
    process->control = process->view;
    process->fabric = &fake_fabric;
    process->core_is_free = !fake_own;
    process->default_lane = &node->node;
    process->segments = node->segments;
    INVARIANT(base_extents_init(&process->arena,
                                GROUP_SERVICE_BYTES - group_service_free_offset(&process->view)));
    INVARIANT(fake_fabric.start(&(struct fabric_start){
                  .view = &process->view, .control = &process->control, .seed = seed}) == 0);
    process->all_in_place = true;
    for (uint32_t other = 0; other < fake->node_count; other++) {
        process->all_in_place &= fake->hosts[other] == fake->hosts[rank];
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            node->segments[other * FABRIC_SEGMENTS + area] = (struct fabric_segment){
                .base = group_segment(&process->view, other, area),
                .bytes = group_segment_bytes(&process->view, area)};
        }
    }
    node->node = (struct dn_node){
        .lane = {.open = FABRIC_LANE_OPEN,
                 .node_count = fake->node_count,
                 .quick_count = fake->node_count,
                 .all_in_place = process->all_in_place,
                 .is_prompt = process->all_in_place,
                 .segments = node->segments,
                 .ports = process->view.ports,
                 .ops = &fake_ops,
                 .stored_to = process->stored_to,
                 .sleeping = process->view.group->sleeping,
                 .view = &process->view},
        .process = process,
        .is_default = true,
    };
    INVARIANT(fake_ops.lane_open(&node->node.lane) == 0);
}

/* Where everybody lives, nobody does what its peers do not permit. Whoever testifies of a dead node
 * may be refused until the death is known there, and tries again. */
static void assert_nothing_was_refused(void)
{
    bool anybody_died = false;
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        anybody_died |= atomic_load(&fake->silent[rank]);
    }
    assert_true(anybody_died || atomic_load(&fake->refused) == 0);
}

void fake_free(void)
{
    assert_nothing_was_refused();
    if (fake_nodes[0].node.lane.open) {
        fake_fabric.stop();
    }
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        struct fake_node *node = &fake_nodes[rank];
        if (node->node.lane.open) {
            base_extents_release(&node->process.arena);
            fabric_grants_free(node->grants);
        }
        if (node->services_space) {
            assert_int_equal(munmap(node->services_space, node->services_bytes), 0);
        }
        assert_int_equal(munmap(fake->copies[rank], fake->geometry.total_bytes), 0);
    }
    memset(fake_nodes, 0, sizeof fake_nodes);
    assert_int_equal(close(fake->memory_fd), 0);
    assert_int_equal(munmap(fake, sizeof *fake), 0);
    fake = NULL;
}

/* ---- Nodes in the test's process ------------------------------------------------------------ */

void fake_attach(void)
{
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        attach(rank, 0);
    }
}

void fake_assert_nobody_watches(void)
{
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        for (uint32_t peer = 0; peer < fake->node_count; peer++) {
            assert_false(!atomic_load(&fake->silent[rank]) && fake_nodes[rank].watches[peer]);
        }
    }
}

void fake_announce(uint32_t rank, bool well, struct base_random *pauses)
{
    uint32_t first = pauses ? (uint32_t)base_random_below(pauses, fake->node_count) : 0;
    for (uint32_t i = 0; i < fake->node_count; i++) {
        uint32_t copy = (first + i) % fake->node_count;
        struct group_view view;
        if (fake_first_of_host(copy) != copy) {
            continue;
        }
        group_view_make(fake->copies[copy], &(struct group_facts){1, fake->geometry}, rank, &view);
        if (well) {
            group_life_leave(&view);
        } else {
            (void)group_life_end(&view, rank, false);
        }
        if (pauses && base_random_below(pauses, 2)) {
            (void)usleep((useconds_t)base_random_below(pauses, 2000));
        }
    }
}

void fake_kill(uint32_t rank)
{
    fake_silence(rank, false);
    fake_announce(rank, false, NULL);
}

/* ---- Nodes as processes --------------------------------------------------------------------- */

void fake_say(int result, uint64_t value)
{
    struct fake_log *log = &fake->logs[fake_own->rank];
    uint32_t count = atomic_load_explicit(&log->count, memory_order_relaxed);
    if (count < FAKE_STEPS_MAX) {
        log->results[count] = result;
        log->values[count] = value;
        atomic_store_explicit(&log->count, count + 1, memory_order_release);
    }
}

void fake_meet(uint32_t step, uint32_t count)
{
    atomic_fetch_add(&fake->met[step], 1);
    while (atomic_load(&fake->met[step]) < count) {
        (void)sched_yield();
    }
}

static _Noreturn void be_node(uint32_t rank, uint64_t seed, uint64_t dies_at,
                              void (*run)(struct dn_node *node))
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_DFL); /* cmocka's would go on with the next test */
    }
    (void)alarm(PATIENCE_S);
    fake_own = &fake_nodes[rank];
    attach(rank, seed * 1000 + rank);
    fake_own->dies_at = dies_at;
    run(&fake_own->node);
    fake_fabric.stop();
    _exit(0);
}

uint32_t fake_run_nodes(uint64_t seed, uint32_t victim, uint64_t dies_at,
                        void (*run)(struct dn_node *node))
{
    pid_t processes[FAKE_NODES_MAX];
    struct base_random random = {seed};
    uint32_t failed = 0;
    atomic_store(&fake->refused, 0);
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        processes[rank] = fork();
        assert_true(processes[rank] >= 0);
        if (processes[rank] == 0) {
            be_node(rank, seed, rank == victim ? dies_at : 0, run);
        }
    }
    for (uint32_t ended = 0; ended < fake->node_count; ended++) {
        int status;
        pid_t process = wait(&status);
        bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        for (uint32_t rank = 0; rank < fake->node_count; rank++) {
            if (processes[rank] == process) {
                bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
                failed += !well && !(rank == victim && was_killed);
                atomic_store(&fake->silent[rank], true);
                fake_announce(rank, well, &random);
            }
        }
    }
    assert_true(dies_at != 0 || atomic_load(&fake->refused) == 0);
    return failed;
}
