/* Memory so large that moving it takes longer than the peer time-out: the node goes on answering.
 * usage: udp_register GIB
 *
 * Node 1 registers GIB GiB, all of them touched, and takes them back. The others meanwhile
 * ask it for a count again and again, which must never fail. */
#include "live/live.h"

enum { COUNT_AT = 64, DONE_AT = 128, BUSY_RANK = 1 };

/* A word in each page, so that each page is touched and can be checked. */
static uint64_t *word_of(unsigned char *memory, size_t page)
{
    return (uint64_t *)(void *)(memory + page * 4096 + page % 500 * 8);
}

static void move_large_memory(size_t bytes)
{
    unsigned char *memory = malloc(bytes);
    size_t pages = bytes / 4096 - 1;
    require(memory != NULL);
    for (size_t page = 0; page < pages; page++) {
        *word_of(memory, page) = page + 1;
    }
    uint32_t area;
    expect(dn_register(me.node, memory, bytes, &area), 0);
    expect(dn_deregister(me.node, area), 0);
    for (size_t page = 0; page < pages; page++) {
        require(*word_of(memory, page) == page + 1);
    }
    free(memory);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_set_u64(me.node, live_place(rank, DONE_AT), 1), 0);
    }
    expect(dn_quiet(me.node), 0);
}

static void ask_again_and_again(void)
{
    uint64_t old;
    do {
        expect(dn_fetch_add_u64(me.node, live_place(BUSY_RANK, COUNT_AT), 1, &old), 0);
    } while (dn_load_u64(live_u64(DONE_AT)) == 0);
}

int main(int argc, char **argv)
{
    me.check = "large memory";
    live_attach();
    live_barrier();
    if (me.rank == BUSY_RANK) {
        move_large_memory((argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 30);
    } else {
        ask_again_and_again();
    }
    live_barrier();
    expect(dn_detach(me.node), 0);
    printf("ok %d\n", me.rank);
    return 0;
}
