/* One board whose link comes back to it: what a node sends to itself goes round. Run by
 * sim_tables.sh; exits with 0, or says what is wrong. */
#include <dimmnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dn_node *node;
static struct dn_kick kick;
static unsigned char *llcm;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        exit(1);
    }
}

static void must(int error, const char *what)
{
    expect(error == 0, what);
}

/* From a moment at which all clocks have an edge. */
static uint64_t round_ns(uint32_t value)
{
    must(dn_compute_ns(node, 2640 - dn_time_ns(node) % 240), "compute");
    uint64_t start_ns = dn_time_ns(node);
    dn_store_u32(&kick, 0, value);
    must(dn_wait_until_u32(node, (uint32_t *)(void *)llcm, DN_EQ, value, DN_FOREVER), "wait");
    return dn_time_ns(node) - start_ns;
}

static void stores_go_round(void)
{
    uint64_t first_ns = round_ns(1);
    uint64_t second_ns = round_ns(2);
    expect(dn_kick_pointer(&kick) == NULL, "a kick to oneself is no pointer");
    expect(second_ns > 500, "a store takes its way");
    expect(first_ns > second_ns + 500, "the first store waits for its header");
    expect(round_ns(3) == second_ns, "and no other");
}

static void blocks_and_atomics_go_round(struct dn_remote there)
{
    char sent[3000], got[3000];
    uint64_t old;
    there.offset = 64;
    memset(sent, 7, sizeof sent);
    must(dn_put(node, there, sent, sizeof sent), "put");
    must(dn_get(node, there, got, sizeof got), "get");
    expect(memcmp(sent, got, sizeof sent) == 0, "what was put is got");
    must(dn_fetch_add_u64(node, there, 1, &old), "add");
    expect(dn_load_u64(llcm + 64) == old + 1, "an atomic is done");
}

/* The rights that others have do not bind the owner, whose packets come from outside as well. */
static void the_owner_may(struct dn_remote there)
{
    uint64_t word = 99;
    must(dn_rights_set(node, DN_LLCM, 0), "rights");
    must(dn_put(node, there, &word, sizeof word), "put");
    expect(dn_load_u64(llcm) == word, "the owner writes without a right");
}

int main(void)
{
    struct dn_remote there = {.rank = 0, .area = DN_LLCM};
    must(dn_attach(&node, NULL), "attach");
    llcm = dn_llcm(node, NULL);
    must(dn_kick_map(node, there, 4096, &kick), "map");
    stores_go_round();
    blocks_and_atomics_go_round(there);
    must(dn_barrier(dn_team_all(node), DN_FOREVER), "barrier");
    the_owner_may(there);
    must(dn_detach(node), "detach");
    return 0;
}
