/* Areas, allocations, names and kicks. */
#include <stdlib.h>

#include "unit/api/node.h"

static void areas(void **unused)
{
    (void)unused;
    size_t bytes = 0;
    unsigned char *llcm = dn_llcm(node, &bytes);
    assert_int_equal(bytes, NODE_LLCM_BYTES);
    unsigned char *bank = dn_bank(node, &bytes);
    assert_int_equal(bytes, NODE_BANK_BYTES);
    assert_true(llcm[NODE_LLCM_BYTES - 1] == 0 && bank[NODE_BANK_BYTES - 1] == 0);
    assert_null(dn_llcm(NULL, &bytes));
    assert_null(dn_bank(NULL, &bytes));
}

static void addresses(void **unused)
{
    (void)unused;
    struct dn_remote remote;
    unsigned char *bank = dn_bank(node, NULL);
    int private_word;
    assert_int_equal(dn_remote_of(node, bank + 100, 0, &remote), 0);
    assert_true(remote.rank == 0 && remote.area == DN_BANK && remote.offset == 100);
    assert_int_equal(dn_remote_of(node, bank, 1, &remote), DN_ERANK);
    assert_int_equal(dn_remote_of(node, &private_word, 0, &remote), DN_ERANGE);
    assert_int_equal(dn_remote_of(node, bank, 0, NULL), DN_EINVAL);
}

static void allocations(void **unused)
{
    (void)unused;
    void *first;
    void *second;
    struct dn_remote remote;
    assert_int_equal(dn_alloc(node, 1, &first), 0);
    assert_int_equal((uintptr_t)first % 64, 0);
    assert_int_equal(dn_alloc_aligned(node, 1 << 20, 10, &second), 0);
    assert_int_equal((uintptr_t)second % (1 << 20), 0);
    assert_int_equal(dn_remote_of(node, first, 0, &remote), 0);
    assert_int_equal(remote.area, DN_HEAP);
    assert_int_equal(dn_free(node, (unsigned char *)first + 64), DN_EINVAL);
    assert_int_equal(dn_free(node, first), 0);
    assert_int_equal(dn_free(node, first), DN_EINVAL);
    assert_int_equal(dn_free(node, second), 0);
    assert_int_equal(dn_alloc(node, (size_t)NODE_HEAP_BYTES + 1, &first), DN_ENOMEM);
    assert_int_equal(dn_alloc(node, 0, &first), DN_EINVAL);
    assert_int_equal(dn_alloc(node, 8, NULL), DN_EINVAL);
    assert_int_equal(dn_alloc_aligned(node, 3, 8, &first), DN_EINVAL);
    assert_int_equal(dn_alloc_aligned(node, NODE_HEAP_BYTES, 8, &first), 0);
    assert_int_equal((uintptr_t)first % NODE_HEAP_BYTES, 0);
    assert_int_equal(dn_free(node, first), 0);
    assert_int_equal(dn_alloc_aligned(node, (size_t)2 * NODE_HEAP_BYTES, 8, &first), DN_EINVAL);
}

static void private_memory_keeps_its_content(void **unused)
{
    (void)unused;
    enum { BYTES = 20000 };
    unsigned char *memory = malloc(BYTES);
    struct dn_remote remote = {.rank = 0, .offset = 1000};
    uint64_t value = 0;
    unit_needs_true_mappings();
    memset(memory, 0x11, BYTES);
    assert_int_equal(dn_register(node, memory, BYTES, &remote.area), 0);
    assert_int_equal(dn_read_u64(node, remote, &value), 0);
    assert_int_equal(value, UINT64_C(0x1111111111111111));
    assert_int_equal(dn_set_u64(node, remote, 5), 0);
    assert_int_equal(dn_quiet(node), 0);
    assert_int_equal(memory[1000], 5);
    assert_int_equal(dn_deregister(node, remote.area), 0);
    assert_true(memory[1000] == 5 && memory[0] == 0x11);
    assert_int_equal(dn_deregister(node, remote.area), DN_ESTALE);
    assert_int_equal(dn_deregister(node, DN_HEAP), DN_EAREA);
    free(memory);
    assert_int_equal(dn_register(node, NULL, 8, &remote.area), DN_EINVAL);
    assert_int_equal(dn_register(node, &value, 0, &remote.area), DN_EINVAL);
}

/* A node has all rights in its own areas; what others have is a word. */
static void rights(void **unused)
{
    (void)unused;
    unsigned char *bank = dn_bank(node, NULL);
    uint32_t area;
    unsigned found = 99;
    for (uint32_t built_in = DN_LLCM; built_in <= DN_HEAP; built_in++) {
        assert_int_equal(dn_rights_get(node, 0, built_in, &found), 0);
        assert_int_equal(found, DN_ALL_RIGHTS);
        assert_int_equal(dn_rights_set(node, built_in, DN_READ), 0);
        assert_int_equal(dn_rights_get(node, 0, built_in, &found), 0);
        assert_int_equal(found, DN_READ);
        struct dn_remote remote = {.rank = 0, .area = built_in};
        assert_int_equal(dn_add_u64(node, remote, 0), 0);
        assert_int_equal(dn_rights_set(node, built_in, DN_ALL_RIGHTS), 0);
    }
    assert_int_equal(dn_register_rights(node, bank, 64, DN_WRITE | DN_ATOMIC, &area), 0);
    assert_int_equal(dn_rights_get(node, 0, area, &found), 0);
    assert_int_equal(found, DN_WRITE | DN_ATOMIC);
    assert_int_equal(dn_rights_set(node, area, 0), 0);
    assert_int_equal(dn_rights_get(node, 0, area, &found), 0);
    assert_int_equal(found, 0);
    assert_int_equal(dn_deregister(node, area), 0);
    found = 99;
    assert_int_equal(dn_rights_set(node, area, 0), DN_ESTALE);
    assert_int_equal(dn_rights_get(node, 0, area, &found), DN_ESTALE);
    assert_int_equal(dn_rights_set(node, 0, 0), DN_EAREA);
    assert_int_equal(dn_rights_get(node, 0, 0, &found), DN_EAREA);
    assert_int_equal(dn_rights_get(node, 1, DN_BANK, &found), DN_ERANK);
    assert_int_equal(dn_rights_get(node, -1, DN_BANK, &found), DN_ERANK);
    assert_int_equal(dn_rights_get(node, 0, DN_BANK, NULL), DN_EINVAL);
    assert_int_equal(dn_rights_get(NULL, 0, DN_BANK, &found), DN_EINVAL);
    assert_int_equal(dn_rights_set(NULL, DN_BANK, 0), DN_EINVAL);
    assert_int_equal(dn_rights_set(node, DN_BANK, DN_ALL_RIGHTS + 1), DN_EINVAL);
    assert_int_equal(dn_register_rights(node, bank, 64, 8, &area), DN_EINVAL);
    assert_int_equal(found, 99);
}

/* Stores by packets keep their errors; here with a kick that has a pointer. */
static void errors_of_stores_are_kept(void **unused)
{
    (void)unused;
    struct dn_kick kick;
    struct dn_kick lane_kick;
    struct dn_node *lane;
    struct dn_team *all = dn_team_all(node);
    assert_int_equal(dn_lane_open(node, &lane), 0);
    assert_int_equal(dn_kick_map(node, node_llcm(64), 16, &kick), 0);
    assert_int_equal(dn_kick_map(lane, node_llcm(64), 16, &lane_kick), 0);
    dn_kick_store_later(&kick, 0, 1, 8);
    assert_int_equal(dn_quiet(node), 0);
    dn_kick_store_later(&kick, 16, 1, 8);
    dn_kick_store_later(&kick, 1, 1, 8);
    assert_int_equal(dn_fence(lane), 0);
    assert_int_equal(dn_fence(node), DN_ERANGE);
    assert_int_equal(dn_quiet(node), 0);
    dn_kick_store_later(&lane_kick, 1, 1, 8);
    assert_int_equal(dn_barrier(all, DN_FOREVER), DN_EALIGN);
    assert_int_equal(dn_barrier(all, DN_FOREVER), 0);
    dn_kick_store_later(&lane_kick, 16, 1, 8);
    assert_int_equal(dn_lane_close(lane), 0);
    dn_kick_store_later(&lane_kick, 0, 1, 8); /* its lane is closed */
    assert_int_equal(dn_barrier(all, DN_FOREVER), 0);
    assert_int_equal(dn_kick_unmap(&kick), 0);
    dn_kick_store_later(&kick, 0, 1, 8); /* it is no longer mapped */
    dn_kick_store_later(NULL, 0, 1, 8);
    assert_int_equal(dn_quiet(node), 0);
}

static void kicks(void **unused)
{
    (void)unused;
    struct dn_kick kick;
    uint64_t *words = dn_llcm(node, NULL);
    assert_int_equal(dn_kick_map(node, node_llcm(64), 16, &kick), 0);
    dn_store_u64(&kick, 8, UINT64_C(0x1122334455667788));
    assert_int_equal(dn_quiet(node), 0);
    assert_int_equal(words[9], UINT64_C(0x1122334455667788));
    dn_store_u16(&kick, 8, 0xffff);
    dn_store_u8(&kick, 15, 0);
    dn_store_u32(&kick, 0, 7);
    assert_int_equal(dn_quiet(node), 0);
    assert_true(words[9] == UINT64_C(0x002233445566ffff) && dn_load_u64(&words[8]) == 7);
    assert_int_equal(dn_kick_store(&kick, 16, 1, 8), DN_ERANGE);
    assert_int_equal(dn_kick_store(&kick, 1, 1, 8), DN_EALIGN);
    assert_int_equal(dn_kick_store(&kick, 0, 1, 3), DN_EINVAL);
    assert_int_equal(dn_kick_store(&kick, 0, 9, 8), 0);
    assert_int_equal(dn_load_u64(&words[8]), 9);
    assert_int_equal(dn_kick_unmap(&kick), 0);
    assert_int_equal(dn_kick_map(node, node_llcm(NODE_LLCM_BYTES - 8), 16, &kick), DN_ERANGE);
    assert_int_equal(dn_kick_map(node, node_llcm(0), 8, NULL), DN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas),
        cmocka_unit_test(addresses),
        cmocka_unit_test(allocations),
        cmocka_unit_test(private_memory_keeps_its_content),
        cmocka_unit_test(rights),
        cmocka_unit_test(kicks),
        cmocka_unit_test(errors_of_stores_are_kept),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
