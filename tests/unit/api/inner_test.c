/* What the libraries above see of the layers below, in a group of one. */
#include "api/inner.h"

#include <sys/mman.h>

#include "unit/api/node.h"

static uint64_t variable = 11; /* of the program */

static void roads(void **unused)
{
    (void)unused;
    assert_true(inner_in_place(node, 0));
    assert_true(inner_all_in_place(node));
    assert_true(inner_reaches(node, 0));
    assert_true(inner_reaches_all(node));
}

static void where_memory_lies(void **unused)
{
    (void)unused;
    void *allocated;
    uint64_t bytes = 0;
    uint64_t offset;
    assert_ptr_equal(inner_area(node, 0, DN_LLCM), dn_llcm(node, NULL));
    assert_int_equal(inner_area_bytes(node, DN_LLCM), NODE_LLCM_BYTES);
    assert_int_equal(inner_area_bytes(node, DN_HEAP), NODE_HEAP_BYTES);
    assert_int_equal(dn_alloc(node, 4096, &allocated), 0);
    unsigned char *heap = inner_area(node, 0, DN_HEAP);
    uint64_t place = (uint64_t)((unsigned char *)allocated - heap);
    assert_true(inner_heap_find(node, place, &bytes) && bytes >= 4096);
    assert_false(inner_heap_find(node, place + 64, &bytes));
    /* The same bytes through one more mapping. */
    int fd = inner_file_of(node, heap, &offset);
    unsigned char *again = mmap(NULL, NODE_HEAP_BYTES, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    assert_true(again != MAP_FAILED);
    ((volatile unsigned char *)allocated)[5] = 0x77;
    assert_int_equal(((volatile unsigned char *)again)[place + 5], 0x77);
    assert_int_equal(munmap(again, NODE_HEAP_BYTES), 0);
    assert_int_equal(dn_free(node, allocated), 0);
}

static void the_programs_variables(void **unused)
{
    (void)unused;
    struct inner_program_data data;
    unit_needs_true_mappings();
    assert_int_equal(inner_program_data_share(node, &data), 0);
    uint64_t offset = (uint64_t)((uintptr_t)&variable - data.base);
    assert_true(offset < data.bytes);
    struct dn_remote remote = {.rank = 0, .area = data.area, .offset = offset};
    uint64_t old = 0;
    assert_int_equal(dn_fetch_add_u64(node, remote, 1, &old), 0);
    assert_int_equal(old, 11);
    assert_int_equal(__atomic_load_n(&variable, __ATOMIC_RELAXED), 12);
    const uint64_t *image = (void *)(inner_registered(node, 0) + data.place + offset);
    assert_int_equal(__atomic_load_n(image, __ATOMIC_RELAXED), 12);
}

static bool is_set(void *context)
{
    return dn_load_u64(context) != 0;
}

static bool is_hopeless(const struct dn_node *lane, void *context, bool forever)
{
    (void)lane;
    (void)context;
    (void)forever;
    return true;
}

static void *set_later(void *word)
{
    struct timespec nap = {.tv_nsec = 20000000};
    (void)nanosleep(&nap, NULL);
    __atomic_store_n((uint64_t *)word, 1, __ATOMIC_RELEASE);
    inner_wake(node, 0, word, 8);
    return NULL;
}

static void waits(void **unused)
{
    (void)unused;
    uint64_t *word = dn_llcm(node, NULL);
    pthread_t thread;
    struct inner_condition condition = {
        .holds = is_set, .context = word, .first = word, .last = word};
    *word = 0;
    assert_int_equal(inner_wait(node, &condition, 5 * UNIT_MS), DN_ETIMEOUT);
    condition.hopeless = is_hopeless;
    assert_int_equal(inner_wait(node, &condition, UNIT_PATIENCE_NS), DN_EPEER);
    condition.hopeless = NULL;
    assert_int_equal(pthread_create(&thread, NULL, set_later, word), 0);
    assert_int_equal(inner_wait(node, &condition, UNIT_PATIENCE_NS), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    inner_look_again(node);
    assert_int_equal(inner_deadline_ns(5, DN_FOREVER), UINT64_MAX);
    assert_int_equal(inner_deadline_ns(5, 6), 11);
}

static void stores_through_pointers(void **unused)
{
    (void)unused;
    assert_false(inner_stored_to_sleeps(node));
    inner_note_pointers(node, 0);
    assert_int_equal(atomic_load(&node->lane.stored_to[0]), 1);
    inner_wake_stored_to(node); /* nobody sleeps */
    assert_false(atomic_load(inner_call_word(node, 0)) & (INNER_CALL_WATCHING | INNER_CALL_GONE));
}

static void lives(void **unused)
{
    (void)unused;
    uint32_t known = 0;
    uint32_t changes = inner_change_count(node);
    assert_false(inner_deaths_are_news(node, &known));
    assert_int_equal(known, 0);
    assert_false(inner_peers_all_gone(node));
    assert_int_equal(inner_change_count(node), changes);
}

static void agreement(void **unused)
{
    (void)unused;
    const int self[] = {0};
    const uint64_t numbers[] = {1, 2, 3};
    struct dn_team *team;
    assert_int_equal(inner_team_create_named(node, self, 1, 5, &team), 0);
    assert_int_equal(inner_agree(team, "a call", numbers, 3), 0);
    assert_int_equal(inner_agree(team, "a call", NULL, 0), 0);
    assert_int_equal(inner_refuse(team, DN_EALIGN), DN_EALIGN);
    assert_int_equal(dn_barrier_arrive(team), 0);
    assert_true(inner_team_has_arrived(team, 0));
    assert_int_equal(dn_barrier_wait(team, DN_FOREVER), 0);
    assert_int_equal(dn_team_free(team), 0);
}

static void atomics(void **unused)
{
    (void)unused;
    uint64_t *word = dn_llcm(node, NULL);
    uint64_t old = 0;
    *word = UINT64_C(0x100000003);
    assert_int_equal(inner_atomic(node, node_llcm(0), INNER_ADD, 8, 1, 0, &old), 0);
    assert_int_equal(old, UINT64_C(0x100000003));
    assert_int_equal(inner_atomic(node, node_llcm(0), INNER_COMPARE_SWAP, 4, 9, 4, &old), 0);
    assert_true(old == 4 && *word == UINT64_C(0x100000009));
    assert_int_equal(inner_atomic(node, node_llcm(2), INNER_ADD, 4, 1, 0, NULL), DN_EALIGN);
    assert_int_equal(inner_apply_u64(word, INNER_SWAP, 1, 0), UINT64_C(0x100000009));
    assert_int_equal(inner_apply_u32((uint32_t *)(void *)word, INNER_XOR, 3, 0), 1);
    assert_int_equal(*word, 2);
}

/* Changes are read back as they were put in; the lock itself is in place and carries nothing. */
static void values_of_locks(void **unused)
{
    (void)unused;
    unsigned char changes[100];
    const uint64_t bits = 0xf0;
    uint32_t length = inner_change_add(changes, 0, 40, "abc", 3, false);
    assert_true(length <= INNER_CHANGE_ROOM(3));
    length = inner_change_add(changes, length, 8, &bits, sizeof bits, true);
    struct inner_lock_region region;
    bool is_or = true;
    uint32_t at = 0;
    assert_memory_equal(inner_change_next(changes, length, &at, &region, &is_or), "abc", 3);
    assert_true(region.offset == 40 && region.bytes == 3 && !is_or);
    assert_memory_equal(inner_change_next(changes, length, &at, &region, &is_or), &bits, 8);
    assert_true(region.offset == 8 && region.bytes == 8 && is_or && at == length);
    struct dn_lock *lock;
    void *word;
    assert_int_equal(dn_alloc(node, 64, &word), 0);
    memset(word, 0, 64);
    uint64_t offset = (uint64_t)((unsigned char *)word - inner_area(node, 0, DN_HEAP));
    assert_int_equal(inner_lock_open(node, 0, offset, &lock), 0);
    assert_false(inner_lock_carries_value(lock));
    assert_int_equal(dn_lock_take(lock, DN_FOREVER), 0);
    assert_false(inner_lock_has_value(lock));
    assert_int_equal(inner_lock_give_value(lock, NULL, 0), 0);
    assert_int_equal(dn_lock_give(lock), DN_ENOTHELD);
    assert_int_equal(dn_lock_close(lock), 0);
    assert_int_equal(dn_free(node, word), 0);
}

static void the_first_wish_counts(void **unused)
{
    (void)unused;
    int status = 3;
    assert_true(inner_want_end(node, &status));
    assert_int_equal(status, 3);
    status = 4;
    assert_false(inner_want_end(node, &status));
    assert_int_equal(status, 3);
    inner_tell_launcher(); /* there is none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roads),
        cmocka_unit_test(where_memory_lies),
        cmocka_unit_test(the_programs_variables),
        cmocka_unit_test(waits),
        cmocka_unit_test(stores_through_pointers),
        cmocka_unit_test(lives),
        cmocka_unit_test(agreement),
        cmocka_unit_test(atomics),
        cmocka_unit_test(values_of_locks),
        cmocka_unit_test(the_first_wish_counts),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
