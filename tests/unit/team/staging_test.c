/* Words of a team that make no sense: a member in place tells places outside of its memory, lengths
 * that do not fit and tables that are none. Its peer gets an error, and touches nothing else. */
#define _GNU_SOURCE
#include "unit/fake_fabric.h"

#include <pthread.h>
#include <sched.h>

#include "team/reduce.h"
#include "team/staging.h"
#include "team/way.h"
#include "group/service_memory.h"

enum {
    NODES = 2,
    SMALL = 512,
    LARGE = 2 * TEAM_CHUNK_BYTES + 4096, /* several chunks */
    HEAP = 4 << 20,
    ROOM = 1 << 20,
};

/* ---- The member that tells nonsense ------------------------------------------------------- */

enum { SOURCE = 1, OPERAND = 2 };

/* What rank 1 tells instead of what rank 0 told in the same phase. */
struct nonsense {
    int words; /* which */
    uint64_t source;
    uint64_t operand;
};

static struct {
    struct dn_team *team; /* rank 0's */
    struct nonsense tells;
    uint32_t phase; /* of rank 1 */
    pthread_t thread;
    _Atomic bool ends;
} other;

/* Follows rank 0 from phase to phase, and agrees with it on all arguments. */
static void *be_the_other(void *unused)
{
    const struct group_team *nic = &other.team->nic;
    (void)unused;
    while (!atomic_load(&other.ends)) {
        uint32_t phase = other.phase + 1;
        if (!group_team_has_arrived(nic, 0, phase)) {
            (void)sched_yield();
            continue;
        }
        bool tells_source = other.tells.words & SOURCE;
        bool tells_operand = other.tells.words & OPERAND;
        atomic_store(group_team_argument(nic, 1, phase),
                     atomic_load(group_team_argument(nic, 0, phase)));
        atomic_store(group_team_operand(nic, 1, phase),
                     tells_operand ? other.tells.operand
                                   : atomic_load(group_team_operand(nic, 0, phase)));
        atomic_store(group_team_source(nic, 1, phase),
                     tells_source ? other.tells.source
                                  : atomic_load(group_team_source(nic, 0, phase)));
        atomic_store_explicit(group_team_arrived_word(nic, 1), phase, memory_order_release);
        other.phase = phase;
    }
    return NULL;
}

static void begin(const struct nonsense *tells)
{
    other.tells = *tells;
    atomic_store(&other.ends, false);
    assert_int_equal(pthread_create(&other.thread, NULL, be_the_other, NULL), 0);
}

static void end(void)
{
    atomic_store(&other.ends, true);
    assert_int_equal(pthread_join(other.thread, NULL), 0);
}

static uint64_t stride(void)
{
    return fake_nodes[0].process.view.node_stride_bytes;
}

static int make(void **state)
{
    (void)state;
    static const uint32_t one_host[NODES];
    fake_make(&(struct fake_settings){
        .node_count = NODES, .hosts = one_host, .sizes = {.bank_bytes = HEAP, .heap_bytes = HEAP}});
    fake_attach();
    assert_int_equal(team_all_make(&fake_nodes[0].node), 0);
    other.team = team_all(&fake_nodes[0].node);
    other.phase = 0;
    assert_ptr_equal(other.team->way, &team_in_place);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    team_all_end(&fake_nodes[0].node);
    fake_free();
    return 0;
}

/* ---- Calls -------------------------------------------------------------------------------- */

/* Memory that ends where nobody may read or write. */
static unsigned char *room_before_a_wall(size_t bytes)
{
    unsigned char *memory = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + ROOM, 4096, PROT_NONE), 0);
    return memory + ROOM - bytes;
}

static void free_room(unsigned char *room, size_t bytes)
{
    assert_int_equal(munmap(room + bytes - ROOM, ROOM + 4096), 0);
}

static int broadcast(struct dn_team *team, void *source, void *result, size_t bytes)
{
    (void)source;
    return team_broadcast(team, result, bytes / 2, 1);
}

static int allgather(struct dn_team *team, void *source, void *result, size_t bytes)
{
    return team_allgather(team, source, result, bytes / 2);
}

static int allreduce(struct dn_team *team, void *source, void *result, size_t bytes)
{
    struct team_reduction reduction;
    assert_int_equal(team_reduction_of(DN_UINT64, DN_SUM, bytes / 16, &reduction), 0);
    return team_allreduce(team, source, result, &reduction);
}

static int scan(struct dn_team *team, void *source, void *result, size_t bytes)
{
    struct team_reduction reduction;
    assert_int_equal(team_reduction_of(DN_UINT64, DN_SUM, bytes / 16, &reduction), 0);
    return team_scan(team, source, result, &reduction, DN_INCLUSIVE);
}

static int alltoall(struct dn_team *team, void *source, void *result, size_t bytes)
{
    return team_alltoall(team, source, result, bytes / 2);
}

static int alltoallv(struct dn_team *team, void *source, void *result, size_t bytes)
{
    size_t sizes[NODES] = {bytes / 2, bytes / 2};
    size_t received[NODES];
    int error = team_alltoallv(team, source, sizes, result, bytes, received);
    assert_true(error || received[0] + received[1] <= bytes);
    return error;
}

static int allgatherv(struct dn_team *team, void *source, void *result, size_t bytes)
{
    size_t received[NODES];
    int error = team_allgatherv(team, source, bytes / 2, result, bytes, received);
    assert_true(error || received[0] + received[1] <= bytes);
    return error;
}

static const struct {
    const char *name;
    int (*run)(struct dn_team *team, void *source, void *result, size_t bytes);
} calls[] = {
    {"broadcast", broadcast}, {"allgather", allgather}, {"allreduce", allreduce},   {"scan", scan},
    {"alltoall", alltoall},   {"alltoallv", alltoallv}, {"allgatherv", allgatherv},
};

static int run(size_t call, size_t bytes, const struct nonsense *tells)
{
    unsigned char *source = room_before_a_wall(bytes);
    unsigned char *result = room_before_a_wall(bytes);
    begin(tells);
    int error = calls[call].run(other.team, source, result, bytes);
    end();
    free_room(source, bytes);
    free_room(result, bytes);
    return error;
}

static const size_t lengths[] = {SMALL, LARGE};

/* ---- Tests -------------------------------------------------------------------------------- */

static void places_outside_are_refused(void **state)
{
    (void)state;
    uint64_t places[] = {stride(),       stride() - 8,       stride() - 1, UINT64_C(1) << 63,
                         UINT64_MAX - 1, UINT64_MAX - SMALL, 2 * stride(), UINT64_C(0) - stride()};
    for (size_t call = 0; call < sizeof calls / sizeof calls[0]; call++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            for (size_t j = 0; j < sizeof places / sizeof places[0]; j++) {
                print_message("%s of %zu: %llx\n", calls[call].name, lengths[i],
                              (unsigned long long)places[j]);
                struct nonsense tells = {SOURCE, places[j], 0};
                /* The first member's prefix of a few words is its own. */
                bool reads = calls[call].run != scan || lengths[i] > TEAM_SMALL_BYTES;
                assert_int_equal(run(call, lengths[i], &tells), reads ? DN_EGROUP : 0);
            }
        }
    }
}

/* A reduction of words does not read them where no word is. */
static void places_that_are_not_aligned_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct nonsense tells = {SOURCE, 4097, 0};
        assert_int_equal(run(2, lengths[i], &tells), DN_EGROUP);
    }
    struct nonsense tells = {SOURCE, 4097, 0};
    assert_int_equal(run(3, LARGE, &tells), DN_EGROUP);
}

/* Large reductions deliver to places; the operand of a stream is its length and state. */
static void operands_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    uint64_t operands[] = {stride(), UINT64_C(1) << 63, UINT64_MAX - 3, UINT64_MAX - SMALL};
    for (size_t call = 2; call < sizeof calls / sizeof calls[0]; call++) {
        for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
            print_message("%s: %llx\n", calls[call].name, (unsigned long long)operands[i]);
            struct nonsense tells = {OPERAND, 0, operands[i]};
            int error = run(call, LARGE, &tells);
            /* A stream may be that long, if none of it is for this member. */
            assert_true(error == DN_EGROUP || error == DN_ETOOLONG ||
                        (error == 0 && calls[call].run == alltoallv && i == 0));
        }
    }
    struct nonsense no_state = {OPERAND, 0, (uint64_t)SMALL << 2 | 3};
    assert_int_equal(run(4, SMALL, &no_state), DN_EGROUP);
}

/* A table in the memory of rank 1: the stream's place, where rank 0's part begins and ends. */
static uint64_t *table_of_other(void)
{
    return (uint64_t *)(void *)group_segment(&fake_nodes[0].process.view, 1, DN_BANK);
}

static uint64_t place_of_table(void)
{
    return fake->geometry.segment_offset[DN_BANK];
}

static void tables_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const uint64_t good = place_of_table() + 4096;
    const struct {
        uint64_t place;
        uint64_t from;
        uint64_t to;
        int error;
    } cases[] = {
        {good, 0, SMALL / 2, 0},
        {good, 0, SMALL / 2 + 1, DN_ETOOLONG},
        {good, 8, 0, DN_EGROUP},
        {good, UINT64_MAX - 7, 0, DN_EGROUP},
        {good, 0, UINT64_MAX, DN_EGROUP},
        {good, SMALL, SMALL + 1, DN_EGROUP},
        {stride() - 8, 0, 8, DN_EGROUP},
        {UINT64_MAX - 8, 0, 8, DN_EGROUP},
        {UINT64_C(1) << 63, 0, 0, DN_EGROUP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t *table = table_of_other();
        table[0] = cases[i].place;
        table[1] = cases[i].from;
        table[2] = cases[i].to;
        struct nonsense tells = {SOURCE | OPERAND, place_of_table(), (uint64_t)SMALL << 2 | 0};
        print_message("case %zu\n", i);
        assert_int_equal(run(5, SMALL, &tells), cases[i].error);
    }
    struct nonsense misplaced = {SOURCE | OPERAND, place_of_table() + 4, (uint64_t)SMALL << 2};
    assert_int_equal(run(5, SMALL, &misplaced), DN_EGROUP);
}

static _Atomic bool stops;

/* Changes the length between two looks. */
static void *flicker(void *unused)
{
    uint64_t *table = table_of_other();
    (void)unused;
    while (!atomic_load(&stops)) {
        __atomic_store_n(&table[2], SMALL / 2, __ATOMIC_RELAXED);
        __atomic_store_n(&table[2], ROOM, __ATOMIC_RELAXED);
        __atomic_store_n(&table[2], 0, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void a_length_that_changes_overflows_nothing(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t *table = table_of_other();
    table[0] = place_of_table() + 4096;
    table[1] = 0;
    atomic_store(&stops, false);
    assert_int_equal(pthread_create(&thread, NULL, flicker, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        struct nonsense tells = {SOURCE | OPERAND, place_of_table(), (uint64_t)ROOM << 2 | 1};
        int error = run(5, SMALL, &tells);
        assert_true(error == 0 || error == DN_EGROUP || error == DN_ETOOLONG);
    }
    atomic_store(&stops, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The key under which the members of {1, 0} meet by this name: team.c. */
static uint64_t key_of(uint64_t name)
{
    uint64_t digest = team_digest(TEAM_KEY_OF_LIST, NODES, 0);
    digest = team_digest(TEAM_KEY_OF_LIST, digest, 1);
    digest = team_digest(TEAM_KEY_OF_LIST, digest, 0);
    return team_digest(TEAM_KEY_OF_NAME, digest, name);
}

/* In place the first member has the team's words. */
static void blocks_outside_are_refused(void **state)
{
    (void)state;
    const struct group_view *view = &fake_nodes[0].process.view;
    uint64_t service = fake->geometry.service_offset;
    uint64_t free_offset = service + group_service_free_offset(view);
    uint64_t end = service + GROUP_SERVICE_BYTES;
    const uint64_t blocks[] = {1,
                               64,
                               service,
                               free_offset - 64,
                               free_offset + 8,
                               end,
                               end - group_team_bytes(NODES) + 64,
                               stride(),
                               UINT64_C(1) << 63,
                               UINT64_MAX - 63};
    struct group_team_slot *slot = &group_service(view, 1)->team_slots[0];
    static const int ranks[NODES] = {1, 0};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct dn_team *team = NULL;
        print_message("block at %llx\n", (unsigned long long)blocks[i]);
        atomic_store(&slot->offset, blocks[i]);
        atomic_store(&slot->key, key_of(i));
        assert_int_equal(team_create_named(&fake_nodes[0].node, ranks, NODES, i, &team), DN_EGROUP);
        assert_null(team);
    }
    atomic_store(&slot->key, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_outside_are_refused, make, unmake),
        cmocka_unit_test_setup_teardown(places_that_are_not_aligned_are_refused, make, unmake),
        cmocka_unit_test_setup_teardown(operands_that_make_no_sense_are_refused, make, unmake),
        cmocka_unit_test_setup_teardown(tables_that_make_no_sense_are_refused, make, unmake),
        cmocka_unit_test_setup_teardown(a_length_that_changes_overflows_nothing, make, unmake),
        cmocka_unit_test_setup_teardown(blocks_outside_are_refused, make, unmake),
    };
    return cmocka_run_group_tests_name("team/staging", tests, NULL, NULL);
}
