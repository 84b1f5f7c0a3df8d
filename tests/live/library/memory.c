/* Reachable memory: what a node has, symmetric allocation, named areas whose names can be taken
 * back. */
#define _GNU_SOURCE
#include "live/live.h"

static uint64_t heap_bytes;

/* ---- A node's own ------------------------------------------------------------ */

/* Checked before any node writes. */
static bool llcm_started_as_zeros;

static void starts_as_zeros(void)
{
    require(llcm_started_as_zeros);
    require(live_all_are(me.bank, 1 << 20, 0));
    require(live_all_are(me.bank + me.bank_bytes - (1 << 20), 1 << 20, 0));
    require(me.llcm_bytes == 128 << 10 && me.bank_bytes >= 1 << 20);
    require(dn_llcm(me.node, NULL) == me.llcm && dn_bank(me.node, NULL) == me.bank);
}

static void remote_of(void)
{
    struct dn_remote remote;
    void *block;
    unsigned char own[8];
    expect(dn_alloc(me.node, 100, &block), 0);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_remote_of(me.node, me.llcm + 5, rank, &remote), 0);
        require(remote.rank == rank && remote.area == DN_LLCM && remote.offset == 5);
        expect(dn_remote_of(me.node, me.bank + me.bank_bytes - 1, rank, &remote), 0);
        require(remote.area == DN_BANK && remote.offset == me.bank_bytes - 1);
        expect(dn_remote_of(me.node, (unsigned char *)block + 1, rank, &remote), 0);
        require(remote.rank == rank && remote.area == DN_HEAP && remote.offset % 64 == 1);
    }
    struct dn_remote untouched = live_at(77, 77, 77);
    expect(dn_remote_of(me.node, own, 0, &untouched), DN_ERANGE);
    expect(dn_remote_of(me.node, me.llcm - 1, 0, &untouched), DN_ERANGE);
    expect(dn_remote_of(me.node, me.llcm + me.llcm_bytes, 0, &untouched), DN_ERANGE);
    expect(dn_remote_of(me.node, me.llcm, -1, &untouched), DN_ERANK);
    expect(dn_remote_of(me.node, me.llcm, me.size, &untouched), DN_ERANK);
    require(untouched.rank == 77 && untouched.area == 77 && untouched.offset == 77);
    expect(dn_free(me.node, block), 0);
}

/* ---- Symmetric memory -------------------------------------------------------- */

static uint64_t heap_offset(const void *block)
{
    struct dn_remote remote;
    expect(dn_remote_of(me.node, block, me.rank, &remote), 0);
    require(remote.area == DN_HEAP);
    return remote.offset;
}

/* Tells the next node where its own block lies; the places must be the same. */
static void require_symmetry(const void *block)
{
    uint64_t offset = heap_offset(block) + 1;
    expect(dn_set_u64(me.node, live_place(live_neighbour(1), 8), offset), 0);
    live_barrier();
    require_else(*live_u64(8) == offset, "offset %#llx here, %#llx at the node before",
                 (unsigned long long)offset - 1, (unsigned long long)*live_u64(8) - 1);
    live_barrier();
}

static void allocations_are_symmetric(void)
{
    static const size_t sizes[] = {1, 64, 65, 4096, 100000, (1 << 20) + 1};
    void *blocks[LIVE_COUNT(sizes)];
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        expect(dn_alloc(me.node, sizes[i], &blocks[i]), 0);
        require((uintptr_t)blocks[i] % 64 == 0);
        require_symmetry(blocks[i]);
    }
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        struct dn_remote place = live_at(live_neighbour(1), DN_HEAP, heap_offset(blocks[i]));
        unsigned char *body = malloc(sizes[i]);
        require(body != NULL);
        live_fill(body, sizes[i], i);
        expect(dn_botf(me.node, place, body, sizes[i]), 0);
        free(body);
    }
    live_barrier();
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        require(live_first_other(blocks[i], sizes[i], i) == sizes[i]);
    }
    live_barrier();
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        expect(dn_free(me.node, blocks[(i * 5) % LIVE_COUNT(sizes)]), 0);
    }
}

static void allocations_are_aligned(void)
{
    for (size_t alignment = 1; alignment <= heap_bytes / 4; alignment *= 2) {
        void *one;
        void *other;
        size_t wanted = alignment < 64 ? 64 : alignment;
        expect(dn_alloc_aligned(me.node, alignment, 1, &one), 0);
        expect(dn_alloc_aligned(me.node, alignment, alignment + 1, &other), 0);
        require_else((uintptr_t)one % wanted == 0 && (uintptr_t)other % wanted == 0,
                     "%p and %p are not multiples of %zu", one, other, wanted);
        require_symmetry(other);
        expect(dn_free(me.node, one), 0);
        expect(dn_free(me.node, other), 0);
    }
    void *largest;
    expect(dn_alloc_aligned(me.node, heap_bytes, 1, &largest), 0);
    require((uintptr_t)largest % heap_bytes == 0);
    require_symmetry(largest);
    expect(dn_free(me.node, largest), 0);
}

static void refused_allocations(void)
{
    void *block = me.llcm;
    expect(dn_alloc(me.node, 0, &block), DN_EINVAL);
    expect(dn_alloc_aligned(me.node, 0, 64, &block), DN_EINVAL);
    expect(dn_alloc_aligned(me.node, 48, 64, &block), DN_EINVAL);
    expect(dn_alloc_aligned(me.node, 2 * heap_bytes, 64, &block), DN_EINVAL);
    expect(dn_alloc_aligned(me.node, SIZE_MAX, 64, &block), DN_EINVAL);
    expect(dn_alloc(me.node, SIZE_MAX, &block), DN_ENOMEM);
    expect(dn_alloc(me.node, SIZE_MAX - 62, &block), DN_ENOMEM);
    expect(dn_alloc_aligned(me.node, 2 << 20, SIZE_MAX - (1 << 20), &block), DN_ENOMEM);
    expect(dn_alloc(me.node, heap_bytes + 1, &block), DN_ENOMEM);
    require(block == me.llcm);
    /* To the last byte, and not one more. */
    void *whole;
    expect(dn_alloc(me.node, heap_bytes, &whole), 0);
    require_symmetry(whole);
    expect(dn_alloc(me.node, 1, &block), DN_ENOMEM);
    expect(dn_free(me.node, whole), 0);
    expect(dn_alloc(me.node, heap_bytes, &whole), 0);
    expect(dn_free(me.node, whole), 0);
}

/* After a disagreement the allocators still agree. */
static void require_agreement(void)
{
    void *block;
    expect(dn_alloc(me.node, 64, &block), 0);
    require_symmetry(block);
    expect(dn_free(me.node, block), 0);
}

static void nodes_disagree(void)
{
    bool other = me.rank == me.size - 1;
    void *block;
    void *untouched = me.llcm;
    expect(dn_alloc(me.node, other ? 128 : 64, &untouched), DN_EMISMATCH);
    require_agreement();
    expect(dn_alloc_aligned(me.node, other ? 128 : 64, 64, &untouched), DN_EMISMATCH);
    require_agreement();
    expect(dn_alloc(me.node, other ? 0 : 64, &untouched), other ? DN_EINVAL : DN_EMISMATCH);
    require_agreement();
    expect(dn_alloc(me.node, other ? SIZE_MAX : 64, &untouched), DN_EMISMATCH);
    require_agreement();

    void *second;
    expect(dn_alloc(me.node, 64, &block), 0);
    expect(dn_alloc(me.node, 64, &second), 0);
    expect(dn_free(me.node, other ? second : block), DN_EMISMATCH);
    expect(dn_free(me.node, other ? me.llcm : block), other ? DN_EINVAL : DN_EMISMATCH);
    expect(other ? dn_free(me.node, block) : dn_alloc(me.node, 64, &untouched), DN_EMISMATCH);
    require_agreement();
    expect(dn_free(me.node, second), 0);
    expect(dn_free(me.node, block), 0);
    require(untouched == me.llcm);
}

/* A barrier is no allocation, even when the allocation just before was the same. */
static void barrier_meets_allocation(void)
{
    bool other = me.rank == me.size - 1;
    void *blocks[4];
    void *untouched = me.llcm;
    for (size_t i = 0; i < LIVE_COUNT(blocks); i++) {
        expect(dn_alloc(me.node, 64, &blocks[i]), 0);
    }
    if (other) {
        live_barrier();
    } else {
        expect(dn_alloc(me.node, 64, &untouched), DN_EMISMATCH);
    }
    require(untouched == me.llcm);
    require_agreement();
    for (size_t i = 0; i < LIVE_COUNT(blocks); i++) {
        expect(dn_free(me.node, blocks[i]), 0);
    }
}

static void garbage_is_not_freed(void)
{
    unsigned char own[64];
    void *block;
    expect(dn_alloc(me.node, 4096, &block), 0);
    memset(block, 0x77, 4096);
    expect(dn_free(me.node, NULL), DN_EINVAL);
    expect(dn_free(me.node, own), DN_EINVAL);
    expect(dn_free(me.node, me.llcm), DN_EINVAL);
    expect(dn_free(me.node, me.bank), DN_EINVAL);
    expect(dn_free(me.node, (unsigned char *)block + 1), DN_EINVAL);
    expect(dn_free(me.node, (unsigned char *)block + 64), DN_EINVAL);
    expect(dn_free(me.node, (unsigned char *)block + 4096), DN_EINVAL);
    expect(dn_free(me.node, (unsigned char *)block - 64), DN_EINVAL);
    expect(dn_free(me.node, (void *)UINTPTR_MAX), DN_EINVAL);
    require(live_all_are(block, 4096, 0x77));
    expect(dn_free(me.node, block), 0);
    expect(dn_free(me.node, block), DN_EINVAL);
    require_agreement();
}

/* ---- Areas ------------------------------------------------------------------- */

/* Where a node says the name of its area. */
enum { NAME_AT = 0 };

static uint32_t name_at(int rank)
{
    uint32_t name;
    expect(dn_read_u32(me.node, live_place(rank, NAME_AT), &name), 0);
    return name;
}

static void publish_name(uint32_t name)
{
    expect(dn_set_u32(me.node, live_place(me.rank, NAME_AT), name), 0);
    live_barrier();
}

/* Each kind of access to the next node's area, at the given places. */
static void use_area(struct dn_remote remote, size_t bytes, int wanted)
{
    unsigned char block[64] = {0};
    struct dn_kick kick;
    uint64_t old;
    int rank = remote.rank;
    struct dn_op op;
    expect(dn_botf(me.node, remote, block, bytes), wanted);
    expect(dn_put_signal(me.node, remote, block, bytes, live_place(rank, 64), 1), wanted);
    expect(dn_push(me.node, remote, block, bytes, NULL), wanted);
    expect(dn_pull(me.node, remote, block, bytes, NULL), wanted);
    expect(dn_push(me.node, remote, block, bytes, &op), wanted);
    expect(wanted ? 0 : dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_quiet(me.node), 0);
    if (bytes > 0) {
        expect(dn_kick_map(me.node, remote, bytes, &kick), wanted);
    }
    if (bytes == 8) {
        expect(dn_put_signal(me.node, live_place(rank, 128), block, 1, remote, 1), wanted);
        expect(dn_fetch_add_u64(me.node, remote, 1, &old), wanted);
        expect(dn_add_u64(me.node, remote, 1), wanted);
        expect(dn_read_u64(me.node, remote, &old), wanted);
        expect(dn_compare_swap_u64(me.node, remote, 0, 1, &old), wanted);
    }
}

static void area_is_a_piece_of(unsigned char *piece, size_t bytes)
{
    uint32_t area;
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    unsigned char block[40];
    memset(piece - 8, 0xee, bytes + 16);
    expect(dn_register(me.node, piece, bytes, &area), 0);
    require(area > DN_HEAP);
    publish_name(area);
    uint32_t theirs = name_at(to);
    live_fill(block, sizeof block, (uint64_t)me.rank);
    expect(dn_botf(me.node, live_at(to, theirs, 0), block, 40), 0);
    expect(dn_push(me.node, live_at(to, theirs, bytes - 40), block, 40, NULL), 0);
    live_barrier();
    require(live_first_other(piece, 40, (uint64_t)from) == 40);
    require(live_first_other(piece + bytes - 40, 40, (uint64_t)from) == 40);
    require(live_all_are(piece - 8, 8, 0xee) && live_all_are(piece + bytes, 8, 0xee));
    live_barrier();

    use_area(live_at(to, theirs, 0), 1, 0);
    use_area(live_at(to, theirs, bytes), 0, 0);
    use_area(live_at(to, theirs, bytes), 1, DN_ERANGE);
    use_area(live_at(to, theirs, bytes - 7), 8, DN_ERANGE);
    use_area(live_at(to, theirs, bytes + 1), 0, DN_ERANGE);
    use_area(live_at(to, theirs, UINT64_MAX), 1, DN_ERANGE);
    use_area(live_at(to, theirs, UINT64_MAX - 7), 8, DN_ERANGE);
    use_area(live_at(to, theirs, 1), SIZE_MAX, DN_ERANGE);
    live_barrier();
    require(live_all_are(piece - 8, 8, 0xee) && live_all_are(piece + bytes, 8, 0xee));
    expect(dn_deregister(me.node, area), 0);
    live_barrier();
}

static void registered_pieces(void)
{
    void *block;
    expect(dn_alloc(me.node, 4096, &block), 0);
    area_is_a_piece_of(me.llcm + 4096, 256);
    area_is_a_piece_of(me.llcm + 4099, 99);
    area_is_a_piece_of(me.bank + 65, 100003);
    area_is_a_piece_of((unsigned char *)block + 64, 1000);
    expect(dn_free(me.node, block), 0);
}

/* A word's alignment is that of its address, not of its offset in the area. */
static void words_in_a_shifted_area(void)
{
    uint32_t area;
    uint64_t old;
    int to = live_neighbour(1);
    expect(dn_register(me.node, me.llcm + 4097, 64, &area), 0);
    publish_name(area);
    uint32_t theirs = name_at(to);
    expect(dn_fetch_add_u64(me.node, live_at(to, theirs, 7), 5, &old), 0);
    expect(dn_fetch_add_u64(me.node, live_at(to, theirs, 8), 5, &old), DN_EALIGN);
    expect(dn_put_signal(me.node, live_at(to, theirs, 32), &old, 8, live_at(to, theirs, 8), 1),
           DN_EALIGN);
    expect(dn_put_signal(me.node, live_at(to, theirs, 32), &old, 8, live_at(to, theirs, 23), 9), 0);
    live_barrier();
    require(*live_u64(4104) == 5 && *live_u64(4120) == 9);
    expect(dn_deregister(me.node, area), 0);
}

static void taken_back(void)
{
    uint32_t first;
    uint32_t second;
    struct dn_kick kick;
    int to = live_neighbour(1);
    expect(dn_register(me.node, me.llcm + 4096, 64, &first), 0);
    publish_name(first);
    uint32_t old_name = name_at(to);
    expect(dn_kick_map(me.node, live_at(to, old_name, 8), 8, &kick), 0);
    live_barrier();
    expect(dn_deregister(me.node, first), 0);
    expect(dn_deregister(me.node, first), DN_ESTALE);
    live_barrier();
    use_area(live_at(to, old_name, 0), 8, DN_ESTALE);
    use_area(live_at(to, old_name, 1000), 8, DN_ESTALE);
    /* Mapped before, and still mapped. */
    dn_store_u64(&kick, 0, 77);
    live_barrier();
    require(*live_u64(4096) == 0 && *live_u64(4104) == 77);

    expect(dn_register(me.node, me.llcm + 4096, 64, &second), 0);
    require(second != first);
    publish_name(second);
    use_area(live_at(to, old_name, 0), 8, DN_ESTALE);
    use_area(live_at(to, name_at(to), 0), 8, 0);
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_deregister(me.node, first), DN_ESTALE);
    live_barrier();
    expect(dn_deregister(me.node, second), 0);
}

/* A name is valid only at the node that gave it. */
static void name_of_another_node(void)
{
    uint32_t areas[3] = {0};
    if (me.rank == 0) {
        for (size_t i = 0; i < LIVE_COUNT(areas); i++) {
            expect(dn_register(me.node, me.llcm + 4096, 64, &areas[i]), 0);
        }
    }
    publish_name(areas[2]);
    uint32_t theirs = name_at(0);
    use_area(live_at(0, theirs, 0), 8, 0);
    for (int rank = 1; rank < me.size; rank++) {
        /* Its slot may have been in use there, in the checks before. */
        uint64_t old;
        int error = dn_read_u64(me.node, live_at(rank, theirs, 0), &old);
        require(error == DN_EAREA || error == DN_ESTALE);
    }
    live_barrier();
    for (size_t i = 0; i < LIVE_COUNT(areas) && me.rank == 0; i++) {
        expect(dn_deregister(me.node, areas[i]), 0);
    }
}

static void refused_areas(void)
{
    unsigned char own[64];
    uint32_t area = 77;
    expect(dn_register(me.node, me.llcm, 0, &area), DN_EINVAL);
    expect(dn_register(me.node, own, sizeof own, &area), DN_ESTACK);
    expect(dn_register(me.node, me.llcm + me.llcm_bytes, 1, &area), DN_ERANGE);
    expect(dn_register(me.node, me.llcm + 1, me.llcm_bytes, &area), DN_ERANGE);
    expect(dn_register(me.node, me.llcm, me.llcm_bytes + 1, &area), DN_ERANGE);
    expect(dn_register(me.node, me.llcm - 1, 2, &area), DN_ERANGE);
    expect(dn_register(me.node, me.bank, me.bank_bytes + 1, &area), DN_ERANGE);
    expect(dn_register(me.node, me.bank + 64, SIZE_MAX - 63, &area), DN_ERANGE);
    expect(dn_register(me.node, me.bank + 64, SIZE_MAX, &area), DN_ERANGE);
    require(area == 77);
    static const uint32_t garbage[] = {0, DN_LLCM, DN_BANK, DN_HEAP, 4, 255, 256, 257, UINT32_MAX};
    for (size_t i = 0; i < LIVE_COUNT(garbage); i++) {
        expect(dn_deregister(me.node, garbage[i]), DN_EAREA);
    }
    expect(dn_register(me.node, me.bank, me.bank_bytes, &area), 0);
    expect(dn_deregister(me.node, area + 256), DN_EAREA);
    expect(dn_deregister(me.node, area), 0);
}

static void full_table(void)
{
    enum { MORE_THAN_FIT = 1000 };
    uint32_t areas[MORE_THAN_FIT];
    size_t count = 0;
    int error = 0;
    while (count < MORE_THAN_FIT && !error) {
        areas[count] = 77;
        error = dn_register(me.node, me.llcm + 4096 + 8 * count, 8, &areas[count]);
        count += !error;
    }
    require(error == DN_EFULL && areas[count] == 77 && count >= 200);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            require(areas[i] != areas[j]);
        }
        /* Each name reaches its own piece. */
        expect(dn_set_u64(me.node, live_at(me.rank, areas[i], 0), i + 1), 0);
    }
    expect(dn_quiet(me.node), 0);
    for (size_t i = 0; i < count; i++) {
        require(*live_u64(4096 + 8 * i) == i + 1);
    }
    expect(dn_deregister(me.node, areas[count / 2]), 0);
    expect(dn_register(me.node, me.llcm, 8, &areas[count / 2]), 0);
    expect(dn_register(me.node, me.llcm, 8, &areas[count]), DN_EFULL);
    for (size_t i = 0; i < count; i++) {
        expect(dn_deregister(me.node, areas[i]), 0);
    }
}

/* Node 0 gives the same slot to one piece after the other, and the others look all the time: each
 * gets the piece that the name was made for, or hears that it is stale. */
enum { PIECES = 8, PIECE_BYTES = 64, PIECES_AT = 8192, CURRENT_AT = 64, END_AT = 128 };

static void change_pieces(void)
{
    for (uint64_t piece = 0; piece < PIECES; piece++) {
        live_fill(me.llcm + PIECES_AT + piece * PIECE_BYTES, PIECE_BYTES, piece);
    }
    live_barrier();
    for (uint64_t turn = 0; turn < 20000; turn++) {
        uint32_t area;
        uint64_t piece = turn % PIECES;
        expect(
            dn_register(me.node, me.llcm + PIECES_AT + piece * PIECE_BYTES, 8 * (piece + 1), &area),
            0);
        expect(dn_set_u64(me.node, live_place(0, CURRENT_AT), (uint64_t)area << 32 | piece), 0);
        expect(dn_quiet(me.node), 0);
        expect(dn_deregister(me.node, area), 0);
    }
    expect(dn_set_u64(me.node, live_place(0, END_AT), 1), 0);
    expect(dn_quiet(me.node), 0);
}

static void look_at_pieces(void)
{
    uint64_t end = 0;
    live_barrier();
    while (!end) {
        uint64_t current;
        uint64_t word;
        expect(dn_read_u64(me.node, live_place(0, CURRENT_AT), &current), 0);
        uint32_t area = (uint32_t)(current >> 32);
        uint64_t piece = current % PIECES;
        int error = area ? dn_read_u64(me.node, live_at(0, area, 8 * piece), &word) : DN_ESTALE;
        require_else(error == DN_ESTALE || (!error && word == live_mix(piece + 8 * piece)),
                     "piece %llu gave %s", (unsigned long long)piece, dn_errname(error));
        error = area ? dn_read_u64(me.node, live_at(0, area, 8 * piece + 8), &word) : DN_ESTALE;
        require(error == DN_ESTALE || error == DN_ERANGE);
        expect(dn_read_u64(me.node, live_place(0, END_AT), &end), 0);
    }
}

static void areas_change_under_their_users(void)
{
    if (me.rank == 0) {
        change_pieces();
    } else {
        look_at_pieces();
    }
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, starts_as_zeros),
    LIVE_CHECK(1, remote_of),
    LIVE_CHECK(1, allocations_are_symmetric),
    LIVE_CHECK(1, allocations_are_aligned),
    LIVE_CHECK(1, refused_allocations),
    LIVE_CHECK(2, nodes_disagree),
    LIVE_CHECK(2, barrier_meets_allocation),
    LIVE_CHECK(1, garbage_is_not_freed),
    LIVE_CHECK(1, registered_pieces),
    LIVE_CHECK(1, words_in_a_shifted_area),
    LIVE_CHECK(1, taken_back),
    LIVE_CHECK(2, name_of_another_node),
    LIVE_CHECK(1, refused_areas),
    LIVE_CHECK(1, full_table),
    LIVE_CHECK(2, areas_change_under_their_users),
};

int main(int argc, char **argv)
{
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    live_attach();
    heap_bytes = UINT64_C(1) << 30;
    llcm_started_as_zeros = live_all_are(me.llcm, me.llcm_bytes, 0);
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    live_detach();
    return 0;
}
