/* The papers' experiments, live: what DIMMnet-1's authors measured on their boards
 * (paper 000, sections 5.2 to 5.4), done with the same primitives on this machine; and
 * paper 004's lock and messages, for which it printed no figures.
 *
 *     dimmnet run -n 4 papers [FILE]
 *
 * With a FILE that `dimmnet sim papers --json` wrote, the table also shows the simulated boards'
 * figures.
 *
 * Nodes 0 and 1 do the two-node experiments by polling, as the paper did; the other
 * nodes sleep in a barrier until it is their turn. */
#define _GNU_SOURCE
#include <dimmnet.h>
#include <unistd.h>
#include "papers_table.h"

enum { FLAG = 0, PHASES = 64, BODY = 4096 };

static struct dn_node *node;
static int rank;
static int size;

/* Ends the program with a sentence; the launcher tells the others. */
static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "papers: node %d: %s: %s\n", rank, what, dn_strerror(error));
        exit(1);
    }
}

static struct dn_kick peer; /* the other of nodes 0 and 1: the start of its LLCM */
static unsigned char *llcm;

/* Section 5.2.1: A writes 4 bytes into B's LLCM by AOTF; B polls and writes back. */
static void round_trips(int count)
{
    static uint32_t value;
    while (count-- > 0) {
        value++;
        if (rank == 0) {
            dn_store_u32(&peer, FLAG, value);
        }
        while (dn_load_u32(llcm + FLAG) != value) {
        }
        if (rank == 1) {
            dn_store_u32(&peer, FLAG, value);
        }
    }
}

/* Section 5.3: the child stores its one-byte phase count into its byte of a word at the parent,
 * which reads all eight at once and then stores the phase back to its children. */
static void host_barriers(int count)
{
    static uint8_t phase;
    while (count-- > 0) {
        phase++;
        if (rank == 1) {
            dn_store_u8(&peer, PHASES + 1, phase);
            while (dn_load_u8(llcm + PHASES) != phase) {
            }
        } else {
            while ((dn_load_u64(llcm + PHASES) >> 8 & 0xff) != phase) {
            }
            dn_store_u8(&peer, PHASES, phase);
        }
    }
}

/* Table 9: one-way BOTF, 464 bytes at a time. */
static void botf_blocks(int count)
{
    static const unsigned char body[464] = {1};
    while (count-- > 0) {
        struct dn_remote there = {1, DN_LLCM, BODY};
        check(dn_botf(node, there, body, sizeof body), "dn_botf");
    }
}

static struct dn_team *pair;
static struct dn_lock *lock;
static struct dn_context *context;

/* Section 5.4: the global sum of two nodes. */
static void sums(int count)
{
    double own = rank + 1;
    double total;
    while (count-- > 0) {
        check(dn_allreduce(pair, &own, &total, 1, DN_DOUBLE, DN_SUM), "dn_allreduce");
    }
}

static void locks(int count)
{
    while (count-- > 0) {
        check(dn_lock_take(lock, DN_FOREVER), "dn_lock_take");
        check(dn_lock_give(lock), "dn_lock_give");
    }
}

/* An 8-byte message there and back. */
static void messages(int count)
{
    uint64_t word = 0;
    while (count-- > 0) {
        if (rank == 0) {
            check(dn_send(context, 1, &word, sizeof word, DN_FOREVER), "dn_send");
        }
        check(dn_recv(context, 1 - rank, &word, sizeof word, DN_FOREVER, NULL, NULL), "dn_recv");
        if (rank == 1) {
            check(dn_send(context, 0, &word, sizeof word, DN_FOREVER), "dn_send");
        }
    }
}

static void barriers(int count)
{
    while (count-- > 0) {
        check(dn_barrier(dn_team_all(node), DN_FOREVER), "dn_barrier");
    }
}

static const char *simulated_file; /* NULL: none was given */

static void two_node_experiments(void)
{
    struct dn_remote there = {1 - rank, DN_LLCM, 0};
    check(dn_kick_map(node, there, 4096, &peer), "dn_kick_map");
    double round_trip = median_ns(round_trips);
    double barrier = median_ns(host_barriers);
    if (rank == 0) {
        double block = median_ns(botf_blocks);
        double mb_per_s = 464 * 1e3 / block;
        static const struct figure trip = {"000", "5", "RTT, two boards", "D", 1840, 0};
        static const struct figure write = {"000", "9", "remote write", "DIMMnet-1", 270, 0};
        static const struct figure phases = {"000", "7", "barrier, with MMX", "B", 2026, 0};
        static const struct figure blocks = {"000",       "9",  "sustained, one way (BOTF)",
                                             "DIMMnet-1", 1017, 0};
        show("4-byte round trip, AOTF", round_trip, "ns", &trip, simulated_file,
             "paper 000, Table 5, D");
        show("remote write, one way", round_trip / 2, "ns", &write, simulated_file,
             "paper 000, Table 9 (design)");
        show("2-node barrier, 1-byte phases", barrier, "ns", &phases, simulated_file,
             "paper 000, Table 7, B");
        show("BOTF, 464-byte blocks", mb_per_s, "MB/s", &blocks, simulated_file,
             "paper 000, Table 9 (estimate)");
    }
}

static void two_node_services(void)
{
    static const int ranks[] = {0, 1};
    struct dn_remote word = {0, DN_LLCM, 8192};
    int other = 1 - rank;
    check(dn_team_create(node, ranks, 2, &pair), "dn_team_create");
    check(dn_lock_open(node, word, &lock), "dn_lock_open");
    check(dn_context_open(node, 1, &other, 1, &other, 1, NULL, &context), "dn_context_open");
    double sum = median_ns(sums);
    double message = median_ns(messages);
    if (rank == 0) {
        double take_and_give = median_ns(locks);
        static const struct figure doubles = {"000", "8", "double", "D", 1912, 0};
        show("2-node global sum, double", sum, "ns", &doubles, simulated_file,
             "paper 000, Table 8, D");
        show("lock, take and give", take_and_give, "ns", NULL, simulated_file,
             "paper 004 printed no figure");
        show("8-byte message, round trip", message, "ns", NULL, simulated_file,
             "paper 004 printed no figure");
    }
    check(dn_barrier(pair, DN_FOREVER), "dn_barrier");
    check(dn_context_close(context), "dn_context_close");
    check(dn_lock_close(lock), "dn_lock_close");
    check(dn_team_free(pair), "dn_team_free");
}

int main(int argc, char **argv)
{
    simulated_file = argc > 1 ? argv[1] : NULL;
    check(dn_attach(&node, NULL), "dn_attach");
    rank = dn_rank(node);
    size = dn_size(node);
    llcm = dn_llcm(node, NULL);
    if (size < 2) {
        fprintf(stderr, "papers: needs two nodes or more: dimmnet run -n 4 papers\n");
        return 2;
    }
    take_a_core(rank);
    if (rank == 0) {
        printf("The papers' experiments on this machine: %d nodes, fabric mem\n\n", size);
        show_head();
    }
    check(dn_barrier(dn_team_all(node), DN_FOREVER), "dn_barrier");
    if (rank < 2) {
        two_node_experiments();
        two_node_services();
    }
    check(dn_barrier(dn_team_all(node), DN_FOREVER), "dn_barrier");
    double all = median_ns(barriers);
    if (rank == 0) {
        /* The paper had two boards; for k more it predicts 240 ns each (section 5.3). */
        struct figure predicted = {.paper = 2026 + 240.0 * (size - 2)};
        char what[48];
        snprintf(what, sizeof what, "barrier of %d nodes on %ld cores", size,
                 sysconf(_SC_NPROCESSORS_ONLN));
        show(what, all, "ns", &predicted, simulated_file, "paper 000, section 5.3 (predicted)");
    }
    check(dn_detach(node), "dn_detach");
    return 0;
}
