/* A node for run_test.sh: joins its group and then does what the test wants.
 *
 *     leave      detaches and ends well
 *     stay       ends with status 0 without detaching
 *     sleep      says "attached" and sleeps
 *     sizes      prints the sizes of LLCM and bank
 *     die FILE   node 0 is killed while the others wait; each of those writes to FILE.RANK
 *                how many milliseconds after that its wait returned DN_EPEER
 *     witness    says "attached", waits for a death and says which ranks are dead
 *     still      says "attached", waits for a death, says whether the dead store nothing more
 *     talk       stores to all others again and again, until it is killed
 *     lives      all see each other attached, and node 0 leave; the others say so
 */
#include <dimmnet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND UINT64_C(1000000000)

enum { AWAITED_OFFSET = 64, TALK_OFFSET = 128 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Tells all nodes the time, and is killed. */
static int be_killed(struct dn_node *node)
{
    for (int rank = 1; rank < dn_size(node); rank++) {
        struct dn_remote word = {.rank = rank, .area = DN_LLCM, .offset = 0};
        if (dn_set_u64(node, word, now_ns()) != 0) {
            return 1;
        }
    }
    if (dn_quiet(node) != 0) {
        return 1;
    }
    return raise(SIGKILL);
}

static int wait_for_death(struct dn_node *node, const char *file)
{
    size_t bytes;
    unsigned char *llcm = dn_llcm(node, &bytes);
    uint64_t *awaited = (uint64_t *)(void *)(llcm + AWAITED_OFFSET);
    int error = dn_wait_until_u64(node, awaited, DN_NE, 0, 20 * NS_PER_SECOND);
    uint64_t after_ns = now_ns() - dn_load_u64(llcm);
    if (error != DN_EPEER) {
        return 1;
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s.%d", file, dn_rank(node));
    FILE *result = fopen(path, "w");
    if (!result) {
        return 1;
    }
    fprintf(result, "%llu\n", (unsigned long long)(after_ns / 1000000));
    return fclose(result) == 0 && dn_detach(node) == 0 ? 0 : 1;
}

static bool wait_for_life(struct dn_node *node, int rank, enum dn_life least)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t deadline_ns = now_ns() + 20 * NS_PER_SECOND;
    enum dn_life life = DN_STARTING;
    while (dn_peer_life(node, rank, &life) == 0 && life < least && now_ns() < deadline_ns) {
        nanosleep(&pause, NULL);
    }
    return life >= least;
}

static int watch_lives(struct dn_node *node)
{
    uint64_t *seen = dn_llcm(node, NULL);
    int rank = dn_rank(node);
    for (int other = 0; other < dn_size(node); other++) {
        if (other != rank && !wait_for_life(node, other, DN_ATTACHED)) {
            return 98;
        }
    }
    if (rank > 0) {
        struct dn_remote word = {.rank = 0, .area = DN_LLCM, .offset = 8 * (uint64_t)rank};
        enum dn_life life;
        if (dn_set_u64(node, word, 1) != 0 || !wait_for_life(node, 0, DN_LEFT) ||
            dn_peer_life(node, 0, &life) != 0) {
            return 96;
        }
        printf("%s\n", life == DN_LEFT ? "saw it leave" : "saw it die");
        return dn_detach(node) == 0 ? 0 : 97;
    }
    for (int other = 1; other < dn_size(node); other++) {
        if (dn_wait_until_u64(node, &seen[other], DN_EQ, 1, 20 * NS_PER_SECOND) != 0) {
            return 95;
        }
    }
    return dn_detach(node) == 0 ? 0 : 97;
}

static int talk(struct dn_node *node)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (uint64_t round = 1;; round++) {
        for (int rank = 0; rank < dn_size(node); rank++) {
            struct dn_remote word = {.rank = rank, .area = DN_LLCM, .offset = TALK_OFFSET};
            if (rank != dn_rank(node) && dn_set_u64(node, word, round) != 0) {
                return 96;
            }
        }
        if (dn_quiet(node) != 0) {
            return 95;
        }
        if (round == 1) {
            puts("attached");
            fflush(stdout);
        }
        nanosleep(&pause, NULL);
    }
}

static int be_witness(struct dn_node *node)
{
    uint64_t *never = dn_llcm(node, NULL);
    puts("attached");
    fflush(stdout);
    if (dn_wait_until_u64(node, never, DN_NE, 0, 60 * NS_PER_SECOND) != DN_EPEER) {
        return 96;
    }
    for (int rank = 0; rank < dn_size(node); rank++) {
        enum dn_life life;
        if (dn_peer_life(node, rank, &life) == 0 && life == DN_DEAD) {
            printf("%d is dead\n", rank);
        }
    }
    return dn_detach(node) == 0 ? 0 : 97;
}

/* Beside nodes that talk. */
static int see_stillness(struct dn_node *node)
{
    unsigned char *llcm = dn_llcm(node, NULL);
    const struct timespec pause = {.tv_nsec = 300000000};
    puts("attached");
    fflush(stdout);
    if (dn_wait_until_u64(node, (uint64_t *)(void *)llcm, DN_NE, 0, 60 * NS_PER_SECOND) !=
        DN_EPEER) {
        return 96;
    }
    uint64_t before = dn_load_u64(llcm + TALK_OFFSET);
    nanosleep(&pause, NULL);
    puts(dn_load_u64(llcm + TALK_OFFSET) == before ? "still" : "it stores");
    return dn_detach(node) == 0 ? 0 : 97;
}

int main(int argc, char **argv)
{
    struct dn_node *node;
    const char *what = argc > 1 ? argv[1] : "leave";
    size_t llcm_bytes;
    size_t bank_bytes;
    if (dn_attach(&node, NULL) != 0 || !dn_llcm(node, &llcm_bytes) || !dn_bank(node, &bank_bytes)) {
        return 99;
    }
    if (strcmp(what, "stay") == 0) {
        return 0;
    }
    if (strcmp(what, "sleep") == 0) {
        puts("attached");
        fflush(stdout);
        return (int)sleep(100);
    }
    if (strcmp(what, "die") == 0 && argc > 2) {
        if (dn_barrier(dn_team_all(node), 20 * NS_PER_SECOND) != 0) {
            return 98;
        }
        return dn_rank(node) == 0 ? be_killed(node) : wait_for_death(node, argv[2]);
    }
    if (strcmp(what, "witness") == 0) {
        return be_witness(node);
    }
    if (strcmp(what, "still") == 0) {
        return see_stillness(node);
    }
    if (strcmp(what, "talk") == 0) {
        return talk(node);
    }
    if (strcmp(what, "lives") == 0) {
        return watch_lives(node);
    }
    if (strcmp(what, "sizes") == 0) {
        printf("%zu %zu\n", llcm_bytes, bank_bytes);
    }
    return dn_detach(node) == 0 ? 0 : 97;
}
