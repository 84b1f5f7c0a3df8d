/* A program that was not launched is a group of one; and wrong words from a launcher are refused.
 * Started without `dimmnet run`. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "live/live.h"

static struct dn_node *attach(const struct dn_options *options)
{
    struct dn_node *node = NULL;
    expect(dn_attach(&node, options), 0);
    require(node != NULL);
    expect(dn_rank(node), 0);
    expect(dn_size(node), 1);
    return node;
}

/* Asserts that attaching fails with this code and gives no node. */
static void refused(const struct dn_options *options, int wanted)
{
    struct dn_node *node = NULL;
    expect(dn_attach(&node, options), wanted);
    require(node == NULL);
}

/* ---- Sizes ------------------------------------------------------------------- */

static void require_sizes(const struct dn_options *options, uint64_t llcm_bytes,
                          uint64_t bank_bytes, uint64_t heap_bytes)
{
    struct dn_node *node = attach(options);
    size_t bytes;
    void *block;
    require(dn_llcm(node, &bytes) && bytes == llcm_bytes);
    require(dn_bank(node, &bytes) && bytes == bank_bytes);
    expect(dn_alloc(node, heap_bytes + 1, &block), DN_ENOMEM);
    expect(dn_alloc(node, heap_bytes, &block), 0);
    expect(dn_detach(node), 0);
}

static void default_sizes(void)
{
    struct dn_options options = {.struct_bytes = sizeof options};
    require_sizes(NULL, 128 << 10, 1 << 30, 1 << 30);
    require_sizes(&options, 128 << 10, 1 << 30, 1 << 30);
}

static void sizes_from_the_environment(void)
{
    struct dn_options options = {.struct_bytes = sizeof options, .bank_bytes = 5 << 20};
    require(setenv("DN_LLCM_BYTES", "64K", 1) == 0 && setenv("DN_BANK_BYTES", "2M", 1) == 0 &&
            setenv("DN_HEAP_BYTES", "12288", 1) == 0);
    require_sizes(NULL, 64 << 10, 2 << 20, 12288);
    /* The program's options come before the environment. */
    require_sizes(&options, 64 << 10, 5 << 20, 12288);
    require(unsetenv("DN_LLCM_BYTES") == 0 && unsetenv("DN_BANK_BYTES") == 0);
    require(unsetenv("DN_HEAP_BYTES") == 0);
}

/* A program with an older header, whose struct ended before the bank's size. */
static void sizes_of_a_smaller_struct(void)
{
    struct dn_options options = {.struct_bytes = offsetof(struct dn_options, bank_bytes),
                                 .llcm_bytes = 64 << 10,
                                 .bank_bytes = 5 << 20};
    require_sizes(&options, 64 << 10, 1 << 30, 1 << 30);
}

static void odd_sizes_become_pages(void)
{
    struct dn_options options = {
        .struct_bytes = sizeof options, .llcm_bytes = 1, .bank_bytes = 4097, .heap_bytes = 100};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    require_sizes(&options, page, (4097 + page - 1) / page * page, page);
}

static void bad_sizes(void)
{
    struct dn_options options = {.struct_bytes = sizeof options, .bank_bytes = UINT64_MAX};
    refused(&options, DN_ERANGE);
    options = (struct dn_options){.struct_bytes = sizeof options, .heap_bytes = UINT64_MAX - 4095};
    refused(&options, DN_ERANGE);
    options = (struct dn_options){.struct_bytes = sizeof(size_t) - 1};
    refused(&options, DN_EINVAL);
    static const char *const garbage[] = {"0", "-1", "lots", "1X", "99999999999999999999"};
    for (size_t i = 0; i < LIVE_COUNT(garbage); i++) {
        require(setenv("DN_HEAP_BYTES", garbage[i], 1) == 0);
        refused(NULL, DN_EINVAL);
    }
    require(unsetenv("DN_HEAP_BYTES") == 0);
    char *before = getenv("DN_RELAX");
    require(setenv("DN_RELAX", "maybe", 1) == 0);
    refused(NULL, DN_EINVAL);
    require((before ? setenv("DN_RELAX", "1", 1) : unsetenv("DN_RELAX")) == 0);
    require_sizes(NULL, 128 << 10, 1 << 30, 1 << 30);
}

/* ---- Attaching again and again ----------------------------------------------- */

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    require(folder != NULL);
    while (readdir(folder)) {
        count++;
    }
    require(closedir(folder) == 0);
    return count;
}

static size_t count_group_mappings(void)
{
    char line[512];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    require(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        count += strstr(line, "dimmnet (deleted)") != NULL;
    }
    require(fclose(maps) == 0);
    return count;
}

/* One life of a node that uses something of everything. */
static void live_once(void)
{
    struct dn_node *node = attach(NULL);
    struct dn_node *lanes[3];
    size_t bytes;
    unsigned char *llcm = dn_llcm(node, &bytes);
    require(live_all_are(llcm, bytes, 0));
    memset(llcm, 0xff, bytes);
    uint64_t old = 0;
    uint32_t area;
    void *block;
    struct dn_kick kick;
    for (size_t i = 0; i < LIVE_COUNT(lanes); i++) {
        expect(dn_lane_open(node, &lanes[i]), 0);
        expect(dn_push(lanes[i], live_place(0, 8 * i), &old, 8, NULL), 0);
    }
    expect(dn_alloc(node, 3 << 20, &block), 0);
    memset(block, 1, 3 << 20);
    expect(dn_register(node, block, 64, &area), 0);
    expect(dn_fetch_add_u64(node, live_at(0, area, 8), 1, &old), 0);
    expect(dn_kick_map(node, live_place(0, 64), 8, &kick), 0);
    dn_store_u64(&kick, 0, 5);
    expect(dn_wait_until_u64(node, (uint64_t *)(void *)(llcm + 64), DN_EQ, 5, LIVE_PATIENCE_NS), 0);
    expect(dn_barrier(dn_team_all(node), 0), 0);
    expect(dn_lane_close(lanes[1]), 0);
    expect(dn_detach(node), 0);
    expect(dn_lane_close(lanes[0]), DN_ESTATE);
    expect(dn_detach(node), DN_ESTATE);
}

static void many_lives(void)
{
    live_once();
    size_t descriptors = count_entries("/proc/self/fd");
    size_t threads = count_entries("/proc/self/task");
    require(count_group_mappings() == 0);
    for (int i = 0; i < 20; i++) {
        live_once();
    }
    require(count_entries("/proc/self/fd") == descriptors);
    /* A thread that was joined may be listed a moment longer. */
    for (int i = 0; i < 1000 && count_entries("/proc/self/task") > threads; i++) {
        live_sleep_ns(LIVE_MS);
    }
    require(count_entries("/proc/self/task") == threads && count_group_mappings() == 0);
}

/* ---- A group of one has threads ---------------------------------------------- */

static void *store_later(void *argument)
{
    struct dn_node *node = argument;
    live_sleep_ns(20 * LIVE_MS);
    expect(dn_add_u64(node, live_place(0, 128), 9), 0);
    expect(dn_quiet(node), 0);
    return NULL;
}

/* No other node is there, but another thread can end an endless wait. */
static void endless_wait_for_a_thread(void)
{
    struct dn_node *node = attach(NULL);
    uint64_t *word = (uint64_t *)(void *)((unsigned char *)dn_llcm(node, NULL) + 128);
    pthread_t thread;
    live_thread_start(&thread, store_later, node);
    expect(dn_wait_until_u64(node, word, DN_EQ, 9, DN_FOREVER), 0);
    live_thread_join(thread);
    expect(dn_wait_until_u64(node, word, DN_NE, 9, 3 * LIVE_MS), DN_ETIMEOUT);
    expect(dn_detach(node), 0);
}

/* ---- What a launcher could say wrongly --------------------------------------- */

static void claim_group(int fd, const char *rank)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", fd);
    require(setenv("DIMMNET_GROUP_FD", text, 1) == 0 && setenv("DIMMNET_RANK", rank, 1) == 0);
    refused(NULL, DN_EGROUP);
    require(unsetenv("DIMMNET_GROUP_FD") == 0 && unsetenv("DIMMNET_RANK") == 0);
}

static int memory_file(off_t bytes, int seals)
{
    int fd = memfd_create("live-test", MFD_ALLOW_SEALING);
    require(fd >= 0 && ftruncate(fd, bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

static void groups_that_are_none(void)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    const struct {
        off_t bytes;
        int seals;
    } files[] = {{0, seals}, {100, seals}, {4096, seals}, {4 << 20, seals}, {4 << 20, 0}};
    for (size_t i = 0; i < LIVE_COUNT(files); i++) {
        int fd = memory_file(files[i].bytes, files[i].seals);
        claim_group(fd, "0");
        require(fcntl(fd, F_GETFD) == 0 && close(fd) == 0);
    }
    int null = open("/dev/null", O_RDWR);
    require(null >= 0);
    claim_group(null, "0");
    require(fcntl(null, F_GETFD) == 0 && close(null) == 0);
    claim_group(null, "0");
    claim_group(-1, "0");
    claim_group(9999, "0");
    require(setenv("DIMMNET_GROUP_FD", "zero", 1) == 0);
    refused(NULL, DN_EGROUP);
    require(unsetenv("DIMMNET_GROUP_FD") == 0);
    live_once();
}

/* Only the words differ from those of a true group. */
static void ranks_that_are_none(void)
{
    struct dn_node *node = attach(NULL);
    int group = -1;
    for (int fd = 0; fd < 100 && group < 0; fd++) {
        group = fcntl(fd, F_GET_SEALS) > 0 ? dup(fd) : -1;
    }
    require(group >= 0);
    expect(dn_detach(node), 0);
    claim_group(group, "1");
    claim_group(group, "-1");
    claim_group(group, "");
    claim_group(group, "4096");
    claim_group(group, "18446744073709551616");
    /* This rank is already taken. */
    claim_group(group, "0");
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, default_sizes),
    LIVE_CHECK(1, sizes_from_the_environment),
    LIVE_CHECK(1, sizes_of_a_smaller_struct),
    LIVE_CHECK(1, odd_sizes_become_pages),
    LIVE_CHECK(1, bad_sizes),
    LIVE_CHECK(1, many_lives),
    LIVE_CHECK(1, endless_wait_for_a_thread),
    LIVE_CHECK(1, groups_that_are_none),
    LIVE_CHECK(1, ranks_that_are_none),
};

int main(int argc, char **argv)
{
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    me.size = 1;
    for (size_t i = 0; i < LIVE_COUNT(checks); i++) {
        me.check = checks[i].name;
        checks[i].run();
        live_say_ok();
    }
    return 0;
}
