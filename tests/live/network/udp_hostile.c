/* A hostile member of a group: it holds the secret, its packets are authentic, and it goes round
 * its own library's checks. Node 0 tries to write every word of node 1 that is not its own to
 * write; nothing changes there, and nodes 1 and 2 go on working. */
#include <stddef.h>

#include "group/service_memory.h"
#include "host/node.h"
#include "live/live.h"

enum { HOSTILE, VICTIM, BYSTANDER, CHANNEL = 9, AT = 4096, ARENA_AT = 16 << 20 };

static struct dn_team *pair; /* of the two others */
static struct dn_context *context;

static struct fabric_lane *lane(void)
{
    return &me.node->lane;
}

static uint64_t offset_of(const void *place)
{
    return (uint64_t)((const unsigned char *)place - (const unsigned char *)lane()->view->group);
}

/* ---- What the others do meanwhile ---------------------------------------------------------- */

static void work(uint64_t round)
{
    const uint64_t other = VICTIM + BYSTANDER - (uint64_t)me.rank;
    uint64_t sum = round + (uint64_t)me.rank;
    uint64_t message = sum;
    if (me.rank != HOSTILE) {
        expect(dn_allreduce(pair, &sum, &sum, 1, DN_UINT64, DN_SUM), 0);
        require(sum == 2 * round + VICTIM + BYSTANDER);
        expect(dn_send(context, (int)other, &message, sizeof message, LIVE_PATIENCE_NS), 0);
        expect(dn_recv(context, (int)other, &message, sizeof message, LIVE_PATIENCE_NS, NULL, NULL),
               0);
        require(message == round + other);
    }
    live_barrier();
}

/* ---- Attacks -------------------------------------------------------------------------------- */

/* By every kind of operation that the fabric has. Those that are answered get the error. */
static void attack(const void *word)
{
    const struct dn_remote there = {VICTIM, FABRIC_AREA_GROUP, offset_of(word)};
    const struct fabric_ops *ops = lane()->ops;
    uint64_t evil = UINT64_C(0x6666666666666666);
    uint64_t old;
    struct dn_op op;
    require(there.offset % 8 == 0);
    expect(ops->atomic(lane(), there, WIRE_SWAP, 8, evil, 0, &old), DN_ERIGHTS);
    expect(ops->atomic(lane(), there, WIRE_OR, 8, evil, 0, &old), DN_ERIGHTS);
    expect(ops->botf(lane(), there, &evil, 8), 0);
    if (there.offset % 256 == 0) {
        expect(ops->store(lane(), there, evil, 8), 0);
        expect(ops->push(lane(), there, &evil, 8, &op), 0);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    }
}

static void attack_all(const void *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += 8) {
        attack((const unsigned char *)start + at);
    }
}

/* What is the victim's own, or nobody's, to write, and changes only when somebody does. */
struct piece {
    const void *start;
    uint64_t bytes;
};

static size_t pieces(struct piece *list)
{
    const struct group_view *view = lane()->view;
    const struct group_service *service = group_service(view, VICTIM);
    size_t count = 0;
    list[count++] = (struct piece){view->group, offsetof(struct group_memory, death_count)};
    list[count++] = (struct piece){&view->ports[VICTIM], sizeof view->ports->areas};
    list[count++] = (struct piece){&view->ports[BYSTANDER], sizeof view->ports->areas};
    list[count++] = (struct piece){service->team_slots, sizeof service->team_slots};
    list[count++] = (struct piece){service->message_slots, sizeof service->message_slots[0]};
    list[count++] = (struct piece){service->lock_records, 256};
    list[count++] = (struct piece){group_service_memory(view, VICTIM) + ARENA_AT, 1024};
    for (uint32_t rank = VICTIM; rank <= BYSTANDER; rank++) {
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            list[count++] = (struct piece){group_segment(view, rank, area), 256};
        }
        list[count++] = (struct piece){group_registered_memory(view, rank), 256};
    }
    return count;
}

static void words_of_others_stay_as_they_are(void)
{
    static unsigned char before[1 << 20];
    struct piece list[16];
    size_t count = pieces(list);
    unsigned char *copy = before;
    work(1);
    for (size_t i = 0; me.rank == VICTIM && i < count; i++) {
        memcpy(copy, list[i].start, list[i].bytes);
        copy += list[i].bytes;
        require(copy <= before + sizeof before);
    }
    live_barrier();
    for (size_t i = 0; me.rank == HOSTILE && i < count; i++) {
        attack_all(list[i].start, list[i].bytes);
    }
    if (me.rank == HOSTILE) {
        /* These change by themselves; the group would end or hang if this one could, too. */
        const struct group_view *view = lane()->view;
        attack(&view->group->death_count);
        attack(&view->group->sleeping[0]);
        for (uint32_t rank = 0; rank < view->node_count; rank++) {
            attack(&view->ports[rank].call);
            attack(&view->ports[rank].life);
            attack(&view->ports[rank].process_id);
        }
        expect(dn_quiet(me.node), 0);
    }
    live_barrier();
    copy = before;
    for (size_t i = 0; me.rank == VICTIM && i < count; i++) {
        require_else(memcmp(copy, list[i].start, list[i].bytes) == 0, "piece %zu has changed", i);
        copy += list[i].bytes;
    }
    for (uint64_t round = 2; round < 20; round++) {
        work(round);
    }
}

/* The rights that the owner has set count, not what the hostile one believes. */
static void rights_hold_at_the_owner(void)
{
    const struct dn_remote there = live_at(VICTIM, DN_BANK, AT);
    uint64_t word = 5;
    if (me.rank == VICTIM) {
        memset(me.bank + AT, 0x11, 8);
        expect(dn_rights_set(me.node, DN_BANK, 0), 0);
    }
    live_barrier();
    if (me.rank == HOSTILE) {
        expect(dn_put(me.node, there, &word, 8), DN_ERIGHTS);
        atomic_store(&lane()->ports[VICTIM].areas[DN_BANK].denied, 0);
        expect(dn_put(me.node, there, &word, 8), 0); /* writes have no answer */
        expect(dn_add_u64(me.node, there, 1), 0);
        expect(dn_quiet(me.node), 0);
        expect(dn_fetch_add_u64(me.node, there, 1, &word), DN_ERIGHTS);
        expect(dn_get(me.node, there, &word, 8), DN_ERIGHTS);
        expect(lane()->ops->pull(
                   lane(),
                   (struct dn_remote){VICTIM, FABRIC_AREA_GROUP,
                                      offset_of(group_segment(lane()->view, VICTIM, DN_BANK) + AT)},
                   &word, 8, NULL),
               0);
        expect(lane()->ops->settle(lane()), 0);
        require(word == 5);
    }
    live_barrier();
    if (me.rank == VICTIM) {
        require(live_all_are(me.bank + AT, 8, 0x11));
        expect(dn_rights_set(me.node, DN_BANK, DN_ALL_RIGHTS), 0);
    }
    live_barrier();
    work(99);
}

static const struct live_check checks[] = {
    LIVE_CHECK_UP_TO(3, 3, words_of_others_stay_as_they_are),
    LIVE_CHECK_UP_TO(3, 3, rights_hold_at_the_owner),
};

int main(int argc, char **argv)
{
    const int ranks[] = {VICTIM, BYSTANDER};
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    live_attach();
    if (me.rank != HOSTILE) {
        int other = VICTIM + BYSTANDER - me.rank;
        expect(dn_team_create(me.node, ranks, 2, &pair), 0);
        expect(dn_context_open(me.node, CHANNEL, &other, 1, &other, 1, NULL, &context), 0);
    }
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    live_detach();
    return 0;
}
