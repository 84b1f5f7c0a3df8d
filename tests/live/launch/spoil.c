/* A node that writes over the words of its own group, for spoil.sh. Rank 0 does the harm, through
 * the descriptor that every node inherits; the others stay.
 *
 *     spoil head N        fills the constant words at the file's start with the byte N
 *     spoil lives N       gives all ports the life N
 *     spoil processes N   gives all ports the process N
 *     spoil neighbour     gives its own port the process of rank 1
 *     spoil wish N        writes N over the word by which a node wishes that the group end
 *     spoil ports N       fills all ports with the byte N
 *     spoil notice        makes the launcher's event blocking, and races with it for the count
 *
 *     spoil roads         marks all nodes as reached by packets, before the others attach
 *
 * Rank 0 says "done" and, when its standard input ends, ends without detaching. The others sleep,
 * and say "here" a second after that if they were not killed.
 *
 *     spoil forge GROUP ROSTER   no node: holds copies of the starts of these two files, under the
 *                                names that a group's files have, says "done" and sleeps
 *     spoil forge                the same with zeros */
#define _GNU_SOURCE
#include <dimmnet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* src/group/memory.h */
enum {
    CALL_AT = 6144,
    BY_PACKETS = 8,
    PORTS_OFFSET_AT = 56,
    HEAD_BYTES = 136,
    END_AT = 200,
    PORT_BYTES = 8192,
    LIFE_AT = 6152,
    PROCESS_AT = 6208,
};

static void say(const char *word)
{
    printf("%s\n", word);
    (void)fflush(stdout);
}

static void put(unsigned char *at, uint32_t value)
{
    __atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELAXED);
}

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Whether the launcher waits for the event in a read, where no signal's end wakes it. */
static bool launcher_is_caught(void)
{
    char path[64];
    char name[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/wchan", (int)getppid());
    FILE *file = fopen(path, "r");
    bool is_read = file && fgets(name, sizeof name, file);
    if (file) {
        (void)fclose(file);
    }
    /* Kernels differ in whom they name. */
    return is_read &&
           (strncmp(name, "eventfd_read", 12) == 0 || strncmp(name, "do_wait_intr", 12) == 0);
}

/* Writes to the event and reads it back at once, so that the launcher finds nothing to read where
 * it was told that there is something. */
static void race_for_notice(void)
{
    const char *text = getenv("DIMMNET_NOTIFY_FD");
    int fd = text ? atoi(text) : -1;
    if (fcntl(fd, F_SETFL, 0) != 0) {
        exit(3);
    }
    for (int i = 0; i < 100000 && !launcher_is_caught(); i++) {
        uint64_t count = 1;
        struct iovec room = {&count, sizeof count};
        if (write(fd, &count, sizeof count) != sizeof count) {
            exit(3);
        }
        ssize_t got = preadv2(fd, &room, 1, -1, RWF_NOWAIT);
        (void)got; /* the launcher may have been faster */
    }
}

static void do_harm(struct dn_node *node, const char *harm, uint32_t number)
{
    struct stat status;
    const char *text = getenv("DIMMNET_GROUP_FD");
    int fd = text ? atoi(text) : -1;
    if (fstat(fd, &status) != 0) {
        exit(3);
    }
    unsigned char *file = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (file == MAP_FAILED || memcmp(file, "DMNMEM01", 8) != 0) {
        exit(3);
    }
    uint32_t count = (uint32_t)dn_size(node);
    uint64_t offset;
    memcpy(&offset, file + PORTS_OFFSET_AT, sizeof offset);
    unsigned char *ports = file + offset;
    if (strcmp(harm, "head") == 0) {
        memset(file, (int)number, HEAD_BYTES);
    } else if (strcmp(harm, "ports") == 0) {
        memset(ports, (int)number, (size_t)count * PORT_BYTES);
    } else if (strcmp(harm, "wish") == 0) {
        put(file + END_AT, number);
    } else if (strcmp(harm, "notice") == 0) {
        race_for_notice();
    } else if (strcmp(harm, "neighbour") == 0) {
        memcpy(ports + PROCESS_AT, ports + PORT_BYTES + PROCESS_AT, sizeof(uint32_t));
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned char *port = ports + (size_t)rank * PORT_BYTES;
        if (strcmp(harm, "lives") == 0) {
            put(port + LIFE_AT, number);
        } else if (strcmp(harm, "processes") == 0) {
            put(port + PROCESS_AT, number);
        } else if (strcmp(harm, "roads") == 0) {
            __atomic_fetch_or((uint32_t *)(void *)(port + CALL_AT), BY_PACKETS, __ATOMIC_RELAXED);
        }
    }
}

/* ---- Files that are no group's ---------------------------------------------------------- */

static int make_file(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        exit(3);
    }
    return fd;
}

static void copy_file(const char *name, const char *from)
{
    struct stat status;
    static unsigned char start[65536];
    int source = open(from, O_RDONLY);
    ssize_t got = source < 0 ? -1 : pread(source, start, sizeof start, 0);
    if (got <= 0 || fstat(source, &status) != 0 ||
        pwrite(make_file(name, (uint64_t)status.st_size), start, (size_t)got, 0) != got) {
        exit(3);
    }
    (void)close(source);
}

static void forge(int argc, char **argv)
{
    if (argc == 4) {
        copy_file("dimmnet", argv[2]);
        copy_file("dimmnet-roster", argv[3]);
    } else {
        (void)make_file("dimmnet", UINT64_C(1) << 40);
        (void)make_file("dimmnet-roster", UINT64_C(1) << 40);
    }
}

/* On `mem` there are no packets, whatever the ports say. */
static int work_on_roads(void)
{
    struct dn_node *node;
    struct dn_team *team;
    struct dn_context *context;
    const char *rank = getenv("DIMMNET_RANK");
    const char *mark = getenv("SPOIL_MARK");
    bool is_first = rank && atoi(rank) == 0;
    while (!is_first && mark && access(mark, F_OK) != 0) {
        sleep_ms(10);
    }
    if (!mark || dn_attach(&node, NULL) != 0) {
        return 4;
    }
    if (is_first) {
        do_harm(node, "roads", 0);
        (void)close(open(mark, O_CREAT | O_WRONLY, 0600));
    }
    const int ranks[] = {0, 1};
    int peer = 1 - dn_rank(node);
    uint64_t word = 1;
    uint64_t sum = 0;
    if (dn_barrier(dn_team_all(node), DN_FOREVER) != 0 ||
        dn_allreduce(dn_team_all(node), &word, &sum, 1, DN_UINT64, DN_SUM) != 0 || sum != 2 ||
        dn_team_create(node, ranks, 2, &team) != 0 || dn_barrier(team, DN_FOREVER) != 0 ||
        dn_context_open(node, 1, &peer, 1, &peer, 1, NULL, &context) != 0 ||
        dn_send(context, peer, &word, sizeof word, DN_FOREVER) != 0 ||
        dn_recv(context, peer, &sum, sizeof sum, DN_FOREVER, NULL, NULL) != 0 || sum != 1 ||
        dn_put(node, (struct dn_remote){.rank = peer, .area = DN_LLCM}, &word, sizeof word) != 0 ||
        dn_barrier(team, DN_FOREVER) != 0) {
        return 5;
    }
    say("fine");
    return dn_detach(node) == 0 ? 0 : 6;
}

int main(int argc, char **argv)
{
    const char *harm = argc > 1 ? argv[1] : "";
    char byte;
    if (strcmp(harm, "forge") == 0) {
        forge(argc, argv);
        say("done");
        return pause();
    }
    struct dn_node *node;
    if (strcmp(harm, "roads") == 0) {
        return work_on_roads();
    }
    if (dn_attach(&node, NULL) != 0) {
        return 4;
    }
    if (dn_barrier(dn_team_all(node), DN_FOREVER) != 0) {
        return 5;
    }
    bool is_harmful = dn_rank(node) == 0;
    if (is_harmful) {
        do_harm(node, harm, argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0);
        say("done");
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
        return 0; /* without dn_detach */
    }
    /* Not the standard input, which is rank 0's alone. */
    const char *end = getenv("SPOIL_END");
    while (end && access(end, F_OK) != 0) {
        sleep_ms(10);
    }
    sleep_ms(1000);
    say("here");
    return pause();
}
