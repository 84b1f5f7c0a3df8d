/* Memory so large that moving it takes seconds: the node goes on answering meanwhile.
 * usage: udp_register GIB
 *
 * Node 1 registers GIB GiB, all of them touched, and takes them back. The others meanwhile
 * ask it for a count again and again. No answer may take long beside the whole: a node that answers
 * nobody while it moves memory in either direction would need about half of it. */
#include "live/live.h"

enum { COUNT_AT = 64, DONE_AT = 128, BUSY_RANK = 1, PART_MAX = 4 };

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
    uint64_t from_ns = live_now_ns();
    expect(dn_register(me.node, memory, bytes, &area), 0);
    expect(dn_deregister(me.node, area), 0);
    uint64_t took_ns = live_now_ns() - from_ns;
    for (size_t page = 0; page < pages; page++) {
        require(*word_of(memory, page) == page + 1);
    }
    free(memory);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_set_u64(me.node, live_place(rank, DONE_AT), took_ns), 0);
    }
    expect(dn_quiet(me.node), 0);
}

static void ask_again_and_again(void)
{
    uint64_t old;
    uint64_t longest_ns = 0;
    uint64_t took_ns;
    do {
        uint64_t from_ns = live_now_ns();
        expect(dn_fetch_add_u64(me.node, live_place(BUSY_RANK, COUNT_AT), 1, &old), 0);
        uint64_t answer_ns = live_now_ns() - from_ns;
        longest_ns = answer_ns > longest_ns ? answer_ns : longest_ns;
        took_ns = dn_load_u64(live_u64(DONE_AT));
    } while (took_ns == 0);
    printf("moving took %.2f s, the longest answer %.2f s\n", (double)took_ns / 1e9,
           (double)longest_ns / 1e9);
    require(longest_ns < took_ns / PART_MAX);
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
