/* The header TLB: seeds found by page, by hit and by miss, and never after their removal. */
#include "unit/unit.h"

#include "base/random.h"
#include "nic/header_tlb.h"

enum { PAGES = 4096 };

static struct nic_header_tlb tlb;
static struct nic_header_page pages[PAGES];
static struct nic_header_way ways[NIC_HEADER_SETS * NIC_HEADER_WAYS];

/* In memory that held something else before. */
static void make(uint32_t page_count)
{
    memset(&tlb, 0xff, sizeof tlb);
    memset(pages, 0xff, sizeof pages);
    memset(ways, 0, sizeof ways);
    nic_header_tlb_init(&tlb, ways, pages, page_count);
}

/* A seed that can be told from others by its number. */
static struct nic_header_seed seed_of(uint32_t number)
{
    return (struct nic_header_seed){
        .offset = (uint64_t)number << NIC_KICK_PAGE_BITS,
        .area = number * 3 + 1,
        .pgid = number ^ 0x5a5a5a5a,
        .target = (uint16_t)(number % WIRE_NODES_MAX),
        .user = (uint8_t)(number % NIC_USERS),
        .channel = (uint8_t)(number % WIRE_CHANNELS),
        .skip = number % 2 != 0,
    };
}

static uint32_t install(uint32_t number)
{
    struct nic_header_seed seed = seed_of(number);
    uint32_t page = UINT32_MAX;
    assert_int_equal(nic_header_tlb_install(&tlb, &seed, &page), 0);
    return page;
}

static void assert_finds(uint64_t page, uint32_t number)
{
    struct nic_header_seed expected = seed_of(number);
    const struct nic_header_seed *seed = nic_header_tlb_lookup(&tlb, page);
    assert_non_null(seed);
    assert_true(seed->in_use);
    assert_int_equal(seed->offset, expected.offset);
    assert_int_equal(seed->area, expected.area);
    assert_int_equal(seed->pgid, expected.pgid);
    assert_int_equal(seed->target, expected.target);
    assert_int_equal(seed->user, expected.user);
    assert_int_equal(seed->channel, expected.channel);
    assert_int_equal(seed->skip, expected.skip);
}

static void a_seed_is_missed_once_and_then_hit(void **state)
{
    (void)state;
    make(PAGES);
    uint32_t page = install(7);
    assert_finds(page, 7);
    assert_int_equal(tlb.hits, 0);
    assert_int_equal(tlb.misses, 1);
    assert_finds(page, 7);
    assert_finds(page, 7);
    assert_int_equal(tlb.hits, 2);
    assert_int_equal(tlb.misses, 1);
}

static void pages_not_in_use_are_not_found(void **state)
{
    (void)state;
    make(8);
    assert_null(nic_header_tlb_lookup(&tlb, 0));
    install(1);
    assert_null(nic_header_tlb_lookup(&tlb, 1));
    assert_null(nic_header_tlb_lookup(&tlb, 8));
    assert_null(nic_header_tlb_lookup(&tlb, NIC_KICK_PAGES_MAX));
    assert_null(nic_header_tlb_lookup(&tlb, UINT64_MAX));
    assert_int_equal(tlb.hits, 0);
    assert_int_equal(tlb.misses, 5);
}

/* Numbers far beyond the table whose set and 9 lower tag bits are those of a page in it. */
static void a_number_beyond_the_table_is_no_alias(void **state)
{
    (void)state;
    make(PAGES);
    uint32_t page = install(1);
    assert_finds(page, 1);
    assert_null(nic_header_tlb_lookup(&tlb, page + (uint64_t)NIC_KICK_PAGES_MAX));
    assert_null(nic_header_tlb_lookup(&tlb, page + (UINT64_C(1) << 24)));
    assert_null(nic_header_tlb_lookup(&tlb, page + (UINT64_C(1) << 32)));
}

static void a_removed_seed_is_never_found_again(void **state)
{
    (void)state;
    make(PAGES);
    uint32_t page = install(1);
    assert_finds(page, 1);
    assert_int_equal(nic_header_tlb_remove(&tlb, page), 0);
    assert_null(nic_header_tlb_lookup(&tlb, page));
    assert_null(nic_header_tlb_lookup(&tlb, page));
    /* Nor under the page's next seed. */
    assert_int_equal(install(2), page);
    assert_finds(page, 2);
    assert_finds(page, 2);
}

static void mistakes_change_nothing(void **state)
{
    (void)state;
    make(PAGES);
    struct nic_header_seed seed = seed_of(1);
    uint32_t page = install(1);
    assert_int_equal(nic_header_tlb_remove(&tlb, UINT64_MAX), DN_EINVAL);
    assert_int_equal(nic_header_tlb_remove(&tlb, page + 1), DN_EINVAL);
    assert_int_equal(nic_header_tlb_remove(&tlb, page + (UINT64_C(1) << 32)), DN_EINVAL);
    seed.offset += 8;
    uint32_t untouched = 12345;
    assert_int_equal(nic_header_tlb_install(&tlb, &seed, &untouched), DN_EALIGN);
    assert_int_equal(untouched, 12345);
    assert_finds(page, 1);
    assert_int_equal(nic_header_tlb_remove(&tlb, page), 0);
    assert_int_equal(nic_header_tlb_remove(&tlb, page), DN_EINVAL);
}

static void the_table_fills_and_gives_its_pages_again(void **state)
{
    (void)state;
    make(PAGES);
    static bool taken[PAGES];
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint32_t page = install(i);
        assert_true(page < PAGES && !taken[page]);
        taken[page] = true;
    }
    struct nic_header_seed seed = seed_of(1);
    uint32_t page = 12345;
    assert_int_equal(nic_header_tlb_install(&tlb, &seed, &page), DN_EFULL);
    assert_int_equal(page, 12345);
    assert_int_equal(nic_header_tlb_remove(&tlb, 17), 0);
    assert_int_equal(nic_header_tlb_remove(&tlb, 99), 0);
    uint32_t first = install(5);
    uint32_t second = install(6);
    assert_true((first == 17 && second == 99) || (first == 99 && second == 17));
    assert_int_equal(nic_header_tlb_install(&tlb, &seed, &page), DN_EFULL);
}

static void a_set_keeps_the_four_used_last(void **state)
{
    (void)state;
    make(PAGES);
    for (uint32_t i = 0; i < PAGES; i++) {
        assert_int_equal(install(i), i);
    }
    uint32_t same_set[] = {3, 3 + 256, 3 + 512, 3 + 768, 3 + 1024};
    for (uint32_t i = 0; i < 4; i++) {
        assert_finds(same_set[i], same_set[i]);
    }
    assert_finds(same_set[0], same_set[0]);
    assert_int_equal(tlb.misses, 4);
    assert_finds(same_set[4], same_set[4]); /* in place of [1] */
    assert_int_equal(tlb.misses, 5);
    assert_finds(same_set[0], same_set[0]);
    assert_finds(same_set[2], same_set[2]);
    assert_finds(same_set[3], same_set[3]);
    assert_int_equal(tlb.misses, 5);
    assert_finds(same_set[1], same_set[1]);
    assert_int_equal(tlb.misses, 6);
}

static void a_thousand_and_twenty_four_pages_fit(void **state)
{
    (void)state;
    make(PAGES);
    for (uint32_t i = 0; i < 1024; i++) {
        install(i);
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 1024; i++) {
            assert_finds(i, i);
        }
    }
    assert_int_equal(tlb.misses, 1024);
    assert_int_equal(tlb.hits, 2 * 1024);
}

/* Against a plain array of what each page stands for. */
static void random_use_agrees_with_a_plain_table(void **state)
{
    (void)state;
    const uint64_t seed_number = 20240611;
    print_message("seed %llu\n", (unsigned long long)seed_number);
    struct base_random random = {seed_number};
    static uint32_t plain[PAGES]; /* 0: not in use */
    memset(plain, 0, sizeof plain);
    make(PAGES);
    for (uint32_t step = 1; step < 300000; step++) {
        uint32_t page = (uint32_t)base_random_below(&random, PAGES);
        struct nic_header_seed seed = seed_of(step);
        switch (base_random_below(&random, 8)) {
        case 0:
            if (nic_header_tlb_install(&tlb, &seed, &page) == 0) {
                assert_int_equal(plain[page], 0);
                plain[page] = step;
            }
            break;
        case 1:
            assert_int_equal(nic_header_tlb_remove(&tlb, page), plain[page] ? 0 : DN_EINVAL);
            plain[page] = 0;
            break;
        default:
            if (plain[page]) {
                assert_finds(page, plain[page]);
            } else {
                assert_null(nic_header_tlb_lookup(&tlb, page));
            }
        }
    }
    assert_true(tlb.hits > 1000 && tlb.misses > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_missed_once_and_then_hit),
        cmocka_unit_test(pages_not_in_use_are_not_found),
        cmocka_unit_test(a_number_beyond_the_table_is_no_alias),
        cmocka_unit_test(a_removed_seed_is_never_found_again),
        cmocka_unit_test(mistakes_change_nothing),
        cmocka_unit_test(the_table_fills_and_gives_its_pages_again),
        cmocka_unit_test(a_set_keeps_the_four_used_last),
        cmocka_unit_test(a_thousand_and_twenty_four_pages_fit),
        cmocka_unit_test(random_use_agrees_with_a_plain_table),
    };
    return cmocka_run_group_tests_name("nic/header_tlb", tests, NULL, NULL);
}
