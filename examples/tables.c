/* Tables 5, 7 and 8 of paper 000 by an ordinary program: round trips, barriers and global sums of
 * two nodes, measured as DIMMnet-1's authors did (sections 5.2 to 5.4), on a simulated board.
 *
 *     dimmnet run --fabric sim:dimmnet1-D,topology=back-to-back -n 2 tables D
 *     dimmnet run --fabric sim:dimmnet1-D,topology=loop-outside -n 1 tables D "external loop"
 *     dimmnet run --fabric sim:dimmnet1-D,topology=loop-inside -n 1 tables D "internal loop"
 *
 * The letter is the paper's environment, A to F. A line is one figure, named as in the lines of
 * `dimmnet sim papers --json`, whose programs are part of the simulator (src/sim/papers).
 *
 * What the hosts' software takes is declared (dn_compute_ns). On other fabrics that does nothing,
 * and the program measures what it runs on. */
#include <dimmnet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many rounds as the simulator's own programs take. */
enum { ROUNDS = 2000 };

/* Node 0 is the home, which waits and answers. The other one measures; its flag is byte 1. */
enum { HOME = 0, CHILD = 1 };

/* What the papers' programs do beyond their reads and writes: the [software] of the machines
 * (`dimmnet sim show dimmnet1-D`), where it was fitted on the paper's own figures. */
static const struct software {
    const char *environments;
    uint64_t pass_ps;        /* before a store */
    uint64_t turn_ps;        /* from a poll to the answer: turn_ns and untwist_ns */
    uint64_t barrier_ps;     /* the home's part of a barrier */
    uint64_t sum_ps;         /* the home's part of a sum */
    uint64_t leave_mmx_ps;   /* the way out of MMX in a barrier */
    unsigned sum_long_reads; /* further reads for `unsigned long long`, at both nodes together */
} softwares[] = {
    {"ABCD", 22400, 180400, 140300, 45700, 0, 2},    /* Pentium III */
    {"EF", 22400, 180400, 140300, 45700, 376200, 2}, /* Pentium 4 */
};

static struct dn_node *node;
static const struct software *software;
static char environment;
static struct dn_kick peer;        /* the other node's LLCM, or this one's own by way of a loop */
static unsigned char *llcm;        /* this node's */
static uint64_t read_ps, read8_ps; /* what a look at 4 and at 8 bytes of it takes */

static void must(int error)
{
    if (error) {
        fprintf(stderr, "tables: %s\n", dn_strerror(error));
        exit(1);
    }
}

/* ---- Time -------------------------------------------------------------------------------- */

/* Computes for so long. The library counts whole nanoseconds: the rest is for the next time. */
static void work(uint64_t ps)
{
    static uint64_t owed_ps;
    owed_ps += ps;
    must(dn_compute_ns(node, owed_ps / 1000));
    owed_ps %= 1000;
}

static void poll_u32(uint64_t offset, uint32_t value)
{
    must(dn_wait_until_u32(node, (uint32_t *)(void *)(llcm + offset), DN_EQ, value, DN_FOREVER));
}

static void poll_u64(uint64_t offset, uint64_t value)
{
    must(dn_wait_until_u64(node, (uint64_t *)(void *)(llcm + offset), DN_EQ, value, DN_FOREVER));
}

/* The mean of some looks at a word that has its value already. */
static void measure_reads(void)
{
    enum { READS = 16, EMPTY = 4096 };
    uint64_t start_ns = dn_time_ns(node);
    for (int i = 0; i < READS; i++) {
        poll_u32(EMPTY, 0);
    }
    uint64_t middle_ns = dn_time_ns(node);
    for (int i = 0; i < READS; i++) {
        poll_u64(EMPTY, 0);
    }
    read_ps = (middle_ns - start_ns) * 1000 / READS;
    read8_ps = (dn_time_ns(node) - middle_ns) * 1000 / READS;
}

/* The papers took the mean of many rounds, in which polls and arrivals met in every phase. In
 * virtual time all rounds would be alike: so each begins, and polls, a little later. The steps
 * fill three spans at once evenly: they are powers of 1 / 1.2207..., the root of x^4 = x + 1. */
static uint64_t spread(uint32_t round, unsigned direction, uint64_t span_ps)
{
    static const uint32_t steps[] = {UINT32_C(3518319155), UINT32_C(2882110345),
                                     UINT32_C(2360945575)};
    uint32_t share = round * steps[direction];
    return (uint64_t)share * (span_ps >> 8) >> 24;
}

/* All clocks of the boards have an edge together every so often. */
enum { EDGES_NS = 240, EDGES_BETWEEN_ROUNDS = 10 };

static uint64_t until_edge_ps(void)
{
    return (EDGES_NS - dn_time_ns(node) % EDGES_NS) * 1000;
}

/* Whoever measures begins a round well after the other one has begun to poll; gives the time. */
static uint64_t begin_round(uint32_t round)
{
    const uint64_t edges_ps = EDGES_NS * 1000;
    work(until_edge_ps() + EDGES_BETWEEN_ROUNDS * edges_ps + spread(round, 0, edges_ps));
    return dn_time_ns(node);
}

static void begin_polls(uint32_t round, uint64_t a_read_ps)
{
    work(until_edge_ps() + spread(round, 2, a_read_ps));
}

static void print(const char *table, const char *row, uint64_t total_ns)
{
    if (dn_rank(node) == dn_size(node) - 1) {
        printf("{\"source\":\"000\",\"table\":\"%s\",\"row\":\"%s\",\"column\":\"%c\","
               "\"unit\":\"ns\",\"measured\":%.3f}\n",
               table, row, environment, (double)total_ns / ROUNDS);
    }
}

/* ---- Table 5: 4 bytes to the other board and back, or round this one --------------------- */

static uint64_t ping(uint64_t offset)
{
    uint64_t total_ns = 0;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint64_t start_ns = begin_round(round);
        work(software->pass_ps);
        dn_store_u32(&peer, offset, round);
        work(spread(round, 1, read_ps));
        poll_u32(offset, round);
        total_ns += dn_time_ns(node) - start_ns;
    }
    return total_ns;
}

static void answer_pings(uint64_t offset)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        begin_polls(round, read_ps);
        poll_u32(offset, round);
        work(software->turn_ps + software->pass_ps);
        dn_store_u32(&peer, offset, round);
    }
}

/* ---- Table 7: barriers ------------------------------------------------------------------- */

static uint64_t child_barriers(uint64_t offset)
{
    uint64_t total_ns = 0;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t phase = round & 0xff;
        uint64_t start_ns = begin_round(round);
        work(software->pass_ps);
        dn_store_u8(&peer, offset + CHILD, (uint8_t)phase);
        work(spread(round, 1, read_ps));
        poll_u32(offset, phase << 8 * CHILD);
        total_ns += dn_time_ns(node) - start_ns;
    }
    return total_ns;
}

/* With MMX one read brings the flags of 8 nodes. Without it there are two words to read, the
 * second one once the first has all of its phases. */
static void home_barriers(uint64_t offset, bool mmx)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t phase = round & 0xff;
        begin_polls(round, mmx ? read8_ps : read_ps);
        if (mmx) {
            poll_u64(offset, phase << 8 * CHILD);
            work(software->leave_mmx_ps);
        } else {
            poll_u32(offset, phase << 8 * CHILD);
            poll_u32(offset + 4, 0);
        }
        work(software->turn_ps + software->barrier_ps + software->pass_ps);
        dn_store_u8(&peer, offset + CHILD, (uint8_t)phase);
    }
}

/* ---- Table 8: global sums ---------------------------------------------------------------- */

enum type { UNSIGNED, LONG, FLOAT, DOUBLE, TYPES };

static const char *const type_names[TYPES] = {"unsigned", "unsigned long long", "float", "double"};

/* A number of any type, and the word that carries it. */
union operand {
    unsigned whole;
    unsigned long long long_whole;
    float single;
    double twice;
    uint64_t word;
};

static union operand operand_of(enum type type, unsigned rank, uint32_t round)
{
    union operand made = {.word = 0};
    unsigned number = (rank + 1) * round + rank;
    switch (type) {
    case UNSIGNED: made.whole = number; break;
    case LONG: made.long_whole = (unsigned long long)number << 20; break;
    case FLOAT: made.single = (float)number / 4; break;
    default: made.twice = (double)number / 8; break;
    }
    return made;
}

static uint64_t add(enum type type, union operand one, union operand other)
{
    union operand sum = {.word = 0};
    switch (type) {
    case UNSIGNED: sum.whole = one.whole + other.whole; break;
    case LONG: sum.long_whole = one.long_whole + other.long_whole; break;
    case FLOAT: sum.single = one.single + other.single; break;
    default: sum.twice = one.twice + other.twice; break;
    }
    return sum.word;
}

static void store(enum type type, uint64_t offset, uint64_t word)
{
    if (type == UNSIGNED || type == FLOAT) {
        dn_store_u32(&peer, offset, (uint32_t)word);
    } else {
        dn_store_u64(&peer, offset, word);
    }
}

/* `unsigned long long` takes further reads, for a reason that the paper does not know. */
static void read_more(enum type type, uint64_t offset, unsigned odd)
{
    unsigned reads = type == LONG ? (software->sum_long_reads + odd) / 2 : 0;
    for (; reads > 0; reads--) {
        poll_u64(offset, dn_load_u64(llcm + offset));
    }
}

/* The sum is known beforehand: with a wrong one this would wait for ever. */
static uint64_t child_sums(uint64_t offset, enum type type)
{
    uint64_t total_ns = 0;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        union operand mine = operand_of(type, CHILD, round);
        uint64_t start_ns = begin_round(round);
        work(software->pass_ps);
        store(type, offset, mine.word);
        work(spread(round, 1, read8_ps));
        poll_u64(offset, add(type, operand_of(type, HOME, round), mine));
        read_more(type, offset, 0);
        total_ns += dn_time_ns(node) - start_ns;
    }
    return total_ns;
}

static void home_sums(uint64_t offset, enum type type)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        begin_polls(round, read8_ps);
        poll_u64(offset, operand_of(type, CHILD, round).word);
        read_more(type, offset, 1);
        union operand theirs = {.word = dn_load_u64(llcm + offset)};
        uint64_t sum = add(type, theirs, operand_of(type, HOME, round));
        work(software->turn_ps + software->sum_ps + software->pass_ps);
        store(type, offset, sum);
    }
}

/* ---- All of it --------------------------------------------------------------------------- */

/* An experiment has words of its own, and begins when both nodes are there. */
static uint64_t begin_experiment(void)
{
    static uint64_t offset;
    must(dn_barrier(dn_team_all(node), DN_FOREVER));
    return offset += 64;
}

static void measure_boards(void)
{
    bool is_home = dn_rank(node) == HOME;
    uint64_t total_ns = 0;
    uint64_t offset = begin_experiment();
    if (is_home) {
        answer_pings(offset);
    } else {
        total_ns = ping(offset);
    }
    print("5", "RTT, two boards", total_ns);
    for (int mmx = 1; mmx >= 0; mmx--) {
        offset = begin_experiment();
        if (is_home) {
            home_barriers(offset, mmx);
        } else {
            total_ns = child_barriers(offset);
        }
        print("7", mmx ? "barrier, with MMX" : "barrier, without MMX", total_ns);
    }
    for (enum type type = 0; type < TYPES; type++) {
        offset = begin_experiment();
        if (is_home) {
            home_sums(offset, type);
        } else {
            total_ns = child_sums(offset, type);
        }
        print("8", type_names[type], total_ns);
    }
}

/* An extra first store fills the header TLB. */
static void measure_loop(const char *row)
{
    uint64_t offset = begin_experiment();
    dn_store_u32(&peer, offset, UINT32_MAX);
    poll_u32(offset, UINT32_MAX);
    print("5", row, ping(offset));
}

int main(int count, char **words)
{
    environment = count > 1 && strlen(words[1]) == 1 ? words[1][0] : '?';
    for (size_t i = 0; i < sizeof softwares / sizeof softwares[0]; i++) {
        software = strchr(softwares[i].environments, environment) ? &softwares[i] : software;
    }
    must(dn_attach(&node, NULL));
    int size = dn_size(node);
    if (!software || size > 2 || count != 4 - size) {
        fprintf(stderr, "usage: dimmnet run -n 2 tables A|B|C|D|E|F\n"
                        "       dimmnet run -n 1 tables A|B|C|D|E|F ROW\n");
        exit(2);
    }
    llcm = dn_llcm(node, NULL);
    struct dn_remote there = {.rank = size - 1 - dn_rank(node), .area = DN_LLCM};
    must(dn_kick_map(node, there, 4096, &peer));
    measure_reads();
    if (size == 2) {
        measure_boards();
    } else {
        measure_loop(words[2]);
    }
    must(dn_detach(node));
    return 0;
}
