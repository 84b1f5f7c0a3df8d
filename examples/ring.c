/* The papers' ring buffer (paper 000): one producer, one consumer, and no remote
 * reads.
 *
 *     node 0, the producer            node 1, the consumer
 *     LLCM:  head  <------ AOTF ----- how many messages were taken
 *     how many were put ---- AOTF --> LLCM:  tail
 *     a message --------- BOTF -----> bank:  slots
 *
 * A slot is filled before its tail is stored, because BOTF and AOTF of one lane take effect at a
 * target in program order. It is filled again only after its head came back.
 *
 *     dimmnet run -n 2 build/examples/ring */
#include <dimmnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCER, CONSUMER, SLOTS = 8, SLOT_BYTES = 64, MESSAGES = 100000 };

static void must(int error)
{
    if (error) {
        fprintf(stderr, "ring: %s\n", dn_strerror(error));
        exit(1); /* without dn_detach: the peer's waits end with DN_EPEER */
    }
}

static void produce(struct dn_node *node, const struct dn_kick *tail)
{
    const uint64_t *head = dn_llcm(node, NULL);
    for (uint64_t put = 0; put < MESSAGES; put++) {
        char text[SLOT_BYTES] = "";
        snprintf(text, sizeof text, "message %d", (int)put);
        if (put >= SLOTS) { /* room: fewer than SLOTS are put and not taken */
            must(dn_wait_until_u64(node, head, DN_GT, put - SLOTS, DN_FOREVER));
        }
        struct dn_remote slot = {CONSUMER, DN_BANK, put % SLOTS * SLOT_BYTES};
        must(dn_botf(node, slot, text, sizeof text));
        dn_store_u64(tail, 0, put + 1);
    }
    must(dn_wait_until_u64(node, head, DN_EQ, MESSAGES, DN_FOREVER));
}

static void consume(struct dn_node *node, const struct dn_kick *head)
{
    const uint64_t *tail = dn_llcm(node, NULL);
    const char *slots = dn_bank(node, NULL);
    for (uint64_t taken = 0; taken < MESSAGES; taken++) {
        char expected[SLOT_BYTES];
        snprintf(expected, sizeof expected, "message %d", (int)taken);
        must(dn_wait_until_u64(node, tail, DN_GT, taken, DN_FOREVER));
        if (strcmp(slots + taken % SLOTS * SLOT_BYTES, expected) != 0) {
            printf("expected %s\n", expected);
            exit(1);
        }
        dn_store_u64(head, 0, taken + 1);
    }
    printf("%d messages in order through %d slots\n", MESSAGES, SLOTS);
}

int main(void)
{
    struct dn_node *node;
    struct dn_kick kick;
    must(dn_attach(&node, NULL));
    int rank = dn_rank(node);
    if (rank <= CONSUMER) {
        must(dn_kick_map(node, (struct dn_remote){CONSUMER - rank, DN_LLCM, 0}, 8, &kick));
        (rank == PRODUCER ? produce : consume)(node, &kick);
    }
    must(dn_detach(node));
    return 0;
}
