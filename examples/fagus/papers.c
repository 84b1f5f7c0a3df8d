/* Paper 001's measurements of Fagus on DIMMnet-1, live: sending 10,000 bytes with both ways to
 * notice them, and comm_sync; and one that the paper lacks: acquiring an object from another node.
 *
 *     FAGUS_FORCE_REMOTE=1 dimmnet run -n 2 papers [FILE]
 *     dimmnet run -n 2 --fabric udp papers [FILE] udp
 *
 * With a FILE that `dimmnet sim papers --json` wrote, the table also shows the simulated boards'
 * figures. Without FAGUS_FORCE_REMOTE the nodes share one memory and nothing has to move. The word
 * "udp" says that packets carry it: then it is the paper's comparison, Fagus over UDP (rows 3 and 4
 * of its second evaluation). */
#define _GNU_SOURCE
#include <stdbool.h>
#include "../papers_table.h"
#include "example.h"

enum { SEND_BYTES = 10000, OBJECT_BYTES = 64 };

static int rank;

static void sent(ssize_t bytes, const char *what)
{
    if (bytes < 0) {
        fprintf(stderr, "papers: node %d: ", rank);
        perror(what);
        exit(1);
    }
}

/* Evaluation 1. The last one is answered, which shows that all have come. */
static void sends(int count)
{
    static unsigned char data[SEND_BYTES];
    int from;
    while (rank == 0 && count-- > 0) {
        sent(dimmnet_sendto(1, data, sizeof data), "dimmnet_sendto");
    }
    while (rank == 1 && count-- > 0) {
        sent(dimmnet_recvfrom(data, sizeof data, &from, FAGUS_FOREVER), "dimmnet_recvfrom");
    }
    if (rank == 0) {
        sent(dimmnet_recvfrom(data, sizeof data, &from, FAGUS_FOREVER), "dimmnet_recvfrom");
    } else {
        sent(dimmnet_sendto(0, data, 1), "dimmnet_sendto");
    }
}

/* Evaluation 2. */
static void barriers(int count)
{
    while (count-- > 0) {
        must(comm_sync());
    }
}

static struct fagus_sync *object_sync;
static uint64_t *object;

/* The nodes take turns: each waits on the object's own word until the other has had it. */
static void hand_overs(int count)
{
    static uint64_t turn;
    for (uint64_t end = turn + 2 * (uint64_t)count; turn < end; turn++) {
        if (turn % 2 != (uint64_t)rank) {
            continue;
        }
        must(fagus_acquire(object_sync, FAGUS_WRITE));
        while (*object != turn) {
            must(fagus_release(object_sync));
            must(fagus_acquire(object_sync, FAGUS_WRITE));
        }
        *object = turn + 1;
        must(fagus_release(object_sync));
    }
}

/* Evaluation 1, row 2 of evaluation 2, and ours. */
static void measure_all(const char *file)
{
    must(dimmnet_detect_thread(1));
    must(comm_sync());
    double noticed = median_ns(sends);
    must(dimmnet_detect_thread(0));
    must(comm_sync());
    double direct = median_ns(sends);
    double barrier = median_ns(barriers);
    double acquire = median_ns(hand_overs) / 2;
    if (rank == 0) {
        static const struct figure helper = {"001",      "1",   "with detect_thread",
                                             "per send", 23.59, 1000};
        static const struct figure poll = {"001", "1", "without", "per send", 20, 1000};
        static const struct figure sync = {"001", "2", "dimmnet_comm_sync", "time", 29.8033, 0};
        printf("Paper 001's Fagus on this machine: 2 nodes\n\n");
        show_head();
        show("10,000 bytes, a thread notices them", noticed / 1e3, "us", &helper, file,
             "paper 001, evaluation 1");
        show("10,000 bytes, noticed by recvfrom", direct / 1e3, "us", &poll, file,
             "paper 001, evaluation 1");
        show("comm_sync", barrier / 1e3, "us", &sync, file, "paper 001, evaluation 2, row 2");
        show("64 bytes acquired from elsewhere", acquire / 1e3, "us", NULL, file,
             "paper 001 printed no figure");
    }
}

/* Rows 3 and 4 of evaluation 2: the paper's hosts had Ethernet between them. */
static void measure_udp(const char *file)
{
    double barrier = median_ns(barriers);
    if (rank == 0) {
        static const struct figure fast = {"001", "2", "Fagus, Fast Ethernet", "time", 179.8826, 0};
        static const struct figure gigabit = {"001",  "2",      "Fagus, Gigabit Ethernet",
                                              "time", 136.6572, 0};
        printf("Paper 001's Fagus over UDP: 2 nodes\n\n");
        show_head();
        show("comm_sync, UDP", barrier / 1e3, "us", &fast, file,
             "paper 001, evaluation 2, row 3: Fast Ethernet");
        show("comm_sync, UDP", barrier / 1e3, "us", &gigabit, file,
             "paper 001, evaluation 2, row 4: Gigabit Ethernet");
    }
}

int main(int argc, char **argv)
{
    bool over_udp = argc > 1 && strcmp(argv[argc - 1], "udp") == 0;
    const char *file = argc > 1 + over_udp ? argv[1] : NULL;
    must(fagus_init());
    rank = fagus_rank();
    if (fagus_size() != 2) {
        fprintf(stderr, "papers: needs two nodes: dimmnet run -n 2 papers\n");
        return 2;
    }
    take_a_core(rank);
    object = shared(OBJECT_BYTES, 0);
    object_sync = variable();
    must(fagus_bind(object_sync, object, OBJECT_BYTES));
    must(comm_sync());
    if (over_udp) {
        measure_udp(file);
    } else {
        measure_all(file);
    }
    must(fagus_finalize());
    return 0;
}
