/* Accesses that FAGUS_CHECK=1 traps, and those that it must not: fagus_check STORY. */
#include "fagus_live.h"

static volatile unsigned char *memory;
static struct fagus_sync *first;
static struct fagus_sync *second;

/* Two large objects with whole pages of their own, two small ones on one page, and memory that is
 * bound to nothing. */
enum { PAGES = 8, SMALL = 6 };
static size_t page;

static void set_up(void)
{
    fagus_begin();
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = fagus_get(PAGES * page, FAGUS_BLOCK);
    fagus_expect(fagus_sync_create(&first), 0);
    fagus_expect(fagus_sync_create(&second), 0);
    fagus_expect(fagus_sync_name(first, "the first"), 0);
    fagus_expect(fagus_sync_name(second, "the second"), 0);
    unsigned char *plain = (unsigned char *)(uintptr_t)memory;
    fagus_expect(fagus_bind(first, plain, 2 * page), 0);
    fagus_expect(fagus_bind(second, plain + 2 * page, 2 * page), 0);
    fagus_expect(fagus_bind(first, plain + SMALL * page, page / 2), 0);
    fagus_expect(fagus_bind(second, plain + SMALL * page + page / 2, page / 2), 0);
}

static void touch(size_t offset, bool is_write)
{
    if (is_write) {
        memory[offset] = 1;
    } else {
        (void)memory[offset];
    }
}

/* Correct accesses pass, through all the ways to bind and hold. */
static void well(void)
{
    for (int round = 0; round < 3; round++) {
        fagus_expect(fagus_acquire(first, FAGUS_WRITE), 0);
        touch(0, true);
        touch(2 * page - 1, true);
        touch(SMALL * page, true);
        touch(SMALL * page + page - 1, true); /* not noticed: the page is shared */
        fagus_expect(fagus_release(first), 0);
        fagus_expect(fagus_acquire(second, FAGUS_READ), 0);
        touch(2 * page, false);
        touch(SMALL * page + page - 1, false);
        fagus_expect(fagus_release(second), 0);
        touch(4 * page, true); /* bound to nothing */
        touch(PAGES * page - 1, true);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 0) {
        fagus_expect(fagus_acquire(first, FAGUS_WRITE), 0);
        fagus_expect(fagus_unbind(first, (unsigned char *)(uintptr_t)memory), 0);
        fagus_expect(fagus_release(first), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    fagus_expect(fagus_acquire(first, FAGUS_READ), 0); /* learns of it */
    fagus_expect(fagus_release(first), 0);
    touch(0, true); /* no longer bound */
    fagus_expect(fagus_barrier(second), 0);
    touch(2 * page, true); /* from now on all nodes may write it */
    fagus_expect(fagus_barrier(second), 0);
    fagus_expect(fagus_sync_free(first), 0);
    fagus_expect(fagus_sync_free(second), 0);
    touch(SMALL * page, true);
    fagus_expect(fagus_finalize(), 0);
    (void)dprintf(STDOUT_FILENO, "well\n");
}

static void write_unheld(void)
{
    touch(page + 5, true);
}

static void read_unheld(void)
{
    touch(2 * page, false);
}

static void write_held_to_read(void)
{
    fagus_expect(fagus_acquire(first, FAGUS_READ), 0);
    touch(page, false);
    touch(page, true);
}

static void write_released(void)
{
    fagus_expect(fagus_acquire(first, FAGUS_WRITE), 0);
    touch(page, true);
    fagus_expect(fagus_release(first), 0);
    touch(page, true);
}

static void write_small(void)
{
    touch(SMALL * page + page / 2, true);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } stories[] = {
        {"well", well},
        {"write_unheld", write_unheld},
        {"read_unheld", read_unheld},
        {"write_held_to_read", write_held_to_read},
        {"write_released", write_released},
        {"write_small", write_small},
    };
    for (size_t i = 0; argc == 2 && i < LIVE_COUNT(stories); i++) {
        if (strcmp(stories[i].name, argv[1]) == 0) {
            me.check = stories[i].name;
            set_up();
            stories[i].run();
            (void)dprintf(STDOUT_FILENO, "came to its end\n");
            return 0;
        }
    }
    return 2;
}
