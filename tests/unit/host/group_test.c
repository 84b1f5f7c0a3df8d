/* What a launcher is told of ranks on other hosts becomes their lives here; groups where there are
 * few addresses. */
#include "host/group.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/child.h"
#include "unit/refuse_call.h"
#include "group/life.h"

static int make(void **state)
{
    static struct host_group group;
    const struct group_sizes sizes = {1, 1, 1, 1};
    *state = &group;
    return host_group_create(3, &sizes, 1, HOST_NO_RANK, &group);
}

static int unmake(void **state)
{
    host_group_unmap(*state);
    return 0;
}

static uint32_t deaths(const struct host_group *group)
{
    return atomic_load(&group->group->death_count);
}

static uint32_t changes(const struct host_group *group)
{
    return atomic_load(&group->group->change_count);
}

static bool senders_are_told(const struct host_group *group, uint32_t rank)
{
    struct group_view view;
    group_view_make(group->group, &group->facts, rank, &view);
    return atomic_load(&view.ports[rank].call) & GROUP_CALL_GONE;
}

static void a_rank_attaches_and_leaves(void **state)
{
    struct host_group *group = *state;
    uint32_t before = changes(group);
    host_group_tell_life(group, 1, DN_ATTACHED);
    assert_int_equal(host_group_life(group, 1), DN_ATTACHED);
    assert_int_equal(host_group_process(group, 1), 0); /* it is another host's */
    assert_int_not_equal(changes(group), before);
    before = changes(group);
    host_group_tell_life(group, 1, DN_LEFT);
    assert_int_equal(host_group_life(group, 1), DN_LEFT);
    assert_int_not_equal(changes(group), before);
    assert_true(senders_are_told(group, 1));
    assert_int_equal(deaths(group), 0);
    assert_int_equal(host_group_life(group, 0), DN_STARTING);
}

static void a_rank_dies(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 2, DN_ATTACHED);
    host_group_tell_life(group, 2, DN_DEAD);
    assert_int_equal(host_group_life(group, 2), DN_DEAD);
    assert_true(senders_are_told(group, 2));
    assert_int_equal(deaths(group), 1);
    /* Also before it attached. */
    host_group_tell_life(group, 0, DN_DEAD);
    assert_int_equal(host_group_life(group, 0), DN_DEAD);
    assert_int_equal(deaths(group), 2);
}

static void a_rank_leaves_without_having_attached(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 0, DN_LEFT);
    assert_int_equal(host_group_life(group, 0), DN_LEFT);
    assert_int_equal(deaths(group), 0);
}

static void nothing_changes_a_life_that_is_over(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 1, DN_DEAD);
    uint32_t before = changes(group);
    host_group_tell_life(group, 1, DN_LEFT);
    host_group_tell_life(group, 1, DN_ATTACHED);
    host_group_tell_life(group, 1, DN_DEAD);
    host_group_tell_life(group, 1, DN_STARTING);
    assert_int_equal(host_group_life(group, 1), DN_DEAD);
    assert_int_equal(deaths(group), 1);
    assert_int_equal(changes(group), before);
    host_group_tell_life(group, 2, DN_ATTACHED);
    host_group_tell_life(group, 2, DN_STARTING);
    assert_int_equal(host_group_life(group, 2), DN_ATTACHED);
}

/* ---- What nodes can write ------------------------------------------------------------------- */

static void scribble(struct group_memory *group, uint64_t value)
{
    uint64_t *word = (uint64_t *)(void *)group;
    uint64_t *end = (uint64_t *)(void *)(&group->geometry + 1);
    while (word < end) {
        *word++ = value;
    }
}

static const uint64_t hostile[] = {0, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40, 4097};

static void a_launcher_does_not_follow_the_head(void **state)
{
    struct host_group *group = *state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        assert_int_equal(host_group_is_whole(group), i == 0);
        scribble(group->group, hostile[i]);
        host_group_tell_life(group, 1, DN_ATTACHED);
        assert_int_equal(host_group_life(group, 1), DN_ATTACHED);
        assert_int_equal(host_group_process(group, 2), 0);
    }
    assert_true(host_group_node_ended(group, 1, false));
    assert_int_equal(host_group_life(group, 1), DN_DEAD);
}

/* Whatever stands in the word: while the process runs the node counts as attached. */
static void a_life_that_makes_no_sense_ends_as_a_death(void **state)
{
    struct host_group *group = *state;
    static const uint32_t lives[] = {4, 77, 0x80000001, UINT32_MAX};
    for (size_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        uint32_t rank = (uint32_t)i % 3;
        struct group_view view;
        group_view_make(group->group, &group->facts, rank, &view);
        atomic_store(&view.ports[rank].life, lives[i]);
        assert_int_equal(host_group_life(group, rank), DN_ATTACHED);
        assert_true(host_group_node_ended(group, rank, true));
        assert_int_equal(host_group_life(group, rank), DN_DEAD);
    }
}

static void only_a_wish_ends_the_group(void **state)
{
    struct host_group *group = *state;
    static const uint32_t words[] = {1, 0xff, 0x200, 0x80000103, UINT32_MAX};
    int status;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        atomic_store(&group->group->end, words[i]);
        assert_false(host_group_end_is_wanted(group->group, &status));
    }
    atomic_store(&group->group->end, 0);
    assert_true(host_group_want_end(group->group, 3));
    assert_true(host_group_end_is_wanted(group->group, &status));
    assert_int_equal(status, 3);
}

static int look(const struct host_group *group, struct host_group *copied)
{
    int fd = dup(group->fd);
    int error = host_group_look(fd, copied);
    if (error) {
        close(fd);
    }
    return error;
}

/* What `dimmnet info` prints stays as it was when it looked. */
static void a_look_is_a_copy(void **state)
{
    struct host_group *group = *state;
    struct host_group copied;
    host_group_tell_life(group, 1, DN_ATTACHED);
    assert_int_equal(look(group, &copied), 0);
    scribble(group->group, UINT64_MAX);
    host_group_tell_life(group, 1, DN_DEAD);
    assert_int_equal(copied.facts.geometry.node_count, 3);
    assert_int_equal(host_group_life(&copied, 1), DN_ATTACHED);
    assert_true(host_group_is_whole(&copied));
    host_group_unmap(&copied);
    assert_int_equal(look(group, &copied), DN_EGROUP);
}

/* ---- Addresses ------------------------------------------------------------------------------ */

/* Each node has its own heap at a multiple of the heap's size, and other nodes' where no processor
 * takes them for it. */
static void a_node_maps_its_own_heap_aligned(void **state)
{
    const uint64_t gib = UINT64_C(1) << 30;
    const struct group_sizes sizes = {4096, 4096, gib, 4096};
    struct host_group made;
    (void)state;
    assert_int_equal(host_group_create(3, &sizes, 1, HOST_NO_RANK, &made), 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct host_group mapped;
        assert_int_equal(host_group_map(dup(made.fd), rank, &mapped), 0);
        const struct group_geometry *geometry = &mapped.facts.geometry;
        uintptr_t heap[3];
        for (uint32_t node = 0; node < 3; node++) {
            heap[node] = (uintptr_t)mapped.group + geometry->nodes_offset +
                         node * geometry->node_stride_bytes + geometry->segment_offset[DN_HEAP];
            assert_int_equal(heap[node] % (2 << 20), 0);
        }
        assert_int_equal(heap[rank] % gib, 0);
        assert_int_not_equal(heap[(rank + 1) % 3] % (256 << 20), 0);
        assert_int_not_equal(heap[(rank + 2) % 3] % (256 << 20), 0);
        host_group_unmap(&mapped);
    }
    host_group_unmap(&made);
}

/* Makes an ordinary group of one, and maps its file as somebody who attaches does. */
static void make_and_map_within_limit(void)
{
    const struct rlimit addresses = {UINT64_C(4500000) << 10, UINT64_C(4500000) << 10};
    const struct group_sizes sizes = {128 << 10, UINT64_C(1) << 30, UINT64_C(1) << 30, 0};
    struct host_group made;
    struct host_group mapped;
    int error = setrlimit(RLIMIT_AS, &addresses) == 0 ? 0 : DN_ESYSTEM;
    error = error ? error : host_group_create(1, &sizes, 1, 0, &made);
    if (!error) {
        int fd = dup(made.fd);
        host_group_unmap(&made);
        error = host_group_map(fd, 0, &mapped);
    }
    if (error) {
        (void)fprintf(stderr, "%s\n", dn_strerror(error));
        exit(EXIT_FAILURE);
    }
}

static void a_group_of_one_needs_few_addresses(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need addresses, too */
#endif
    unit_child_passes(make_and_map_within_limit);
}

/* ---- Notices -------------------------------------------------------------------------------- */

/* 0: the count is taken, and none that is not there is waited for, though a node made the event
 * blocking. */
static int clear_notice(void)
{
    uint64_t count = 1;
    int fd = eventfd(0, EFD_CLOEXEC);
    (void)alarm(60); /* should it wait */
    if (write(fd, &count, sizeof count) != sizeof count) {
        return 1;
    }
    host_clear_notice(fd);
    host_clear_notice(fd);
    return read(fd, &count, sizeof count) >= 0 || errno != EAGAIN;
}

static void a_notice_is_cleared(void **state)
{
    (void)state;
    assert_int_equal(clear_notice(), 0);
    (void)alarm(0);
}

/* As before Linux 5.8: a launcher to which the notice stays would look at it without a pause. */
static void a_notice_is_cleared_by_an_old_kernel(void **state)
{
    int status = -1;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(unit_refuse_call(SYS_preadv2, EOPNOTSUPP) ? clear_notice() : UNIT_SKIPS);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNIT_SKIPS) {
        skip(); /* an emulator */
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rank_attaches_and_leaves, make, unmake),
        cmocka_unit_test_setup_teardown(a_rank_dies, make, unmake),
        cmocka_unit_test_setup_teardown(a_rank_leaves_without_having_attached, make, unmake),
        cmocka_unit_test_setup_teardown(nothing_changes_a_life_that_is_over, make, unmake),
        cmocka_unit_test_setup_teardown(a_launcher_does_not_follow_the_head, make, unmake),
        cmocka_unit_test_setup_teardown(a_life_that_makes_no_sense_ends_as_a_death, make, unmake),
        cmocka_unit_test_setup_teardown(only_a_wish_ends_the_group, make, unmake),
        cmocka_unit_test_setup_teardown(a_look_is_a_copy, make, unmake),
        cmocka_unit_test(a_node_maps_its_own_heap_aligned),
        cmocka_unit_test(a_group_of_one_needs_few_addresses),
        cmocka_unit_test(a_notice_is_cleared),
        cmocka_unit_test(a_notice_is_cleared_by_an_old_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
