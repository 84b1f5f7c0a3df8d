/* What peers may do in the group's memory: every word that is theirs, and no other. */
#include "unit/group.h"

#include "fabric/grants.h"
#include "group/address.h"
#include "group/call.h"
#include "group/life.h"
#include "group/service_memory.h"
#include "group/tree.h"
#include "nic/engine.h"

enum { NODES = 5, OWN = 1, UNITS = 64, TEAM_AT = 1 << 20, BOX_AT = 2 << 20, STAGING_AT = 3 << 20 };

static struct unit_group made;
static struct fabric_grants *grants;
static const struct group_view *view; /* of OWN */

static int make(void **state)
{
    (void)state;
    unit_group_make(&made, NODES, 2);
    view = &made.views[OWN];
    for (uint32_t rank = 0; rank < NODES; rank++) {
        assert_true(group_life_attach(&made.views[rank]));
    }
    assert_int_equal(fabric_grants_make(view, view, &grants), 0);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    fabric_grants_free(grants);
    unit_group_free(&made);
    return 0;
}

static uint64_t address_of(const void *place)
{
    return (uint64_t)((const unsigned char *)place - (const unsigned char *)made.group);
}

static unsigned char *at(uint32_t rank, uint64_t offset)
{
    return group_node_memory(view, rank) + offset;
}

static uint64_t service(uint64_t offset)
{
    return view->facts.geometry.service_offset + offset;
}

static bool may(uint32_t source, struct wire_operation operation, const void *place)
{
    return fabric_grants_permit(grants, source, &operation, address_of(place));
}

static bool may_write(uint32_t source, const void *place, uint32_t bytes)
{
    struct wire_operation push = {.opcode = WIRE_PUSH, .bytes = (uint16_t)bytes};
    struct wire_operation block = {.opcode = WIRE_BOTF, .bytes = (uint16_t)bytes};
    bool yes = may(source, push, place);
    assert_int_equal(may(source, block, place), yes);
    return yes;
}

static bool may_read(uint32_t source, const void *place, uint32_t bytes)
{
    struct wire_operation pull = {.opcode = WIRE_PULL, .bytes = (uint16_t)bytes};
    struct wire_operation read = {.opcode = WIRE_ATOMIC, .detail = WIRE_READ, .bytes = 8};
    bool yes = may(source, pull, place);
    assert_true(bytes < 8 || may(source, read, place) == yes || !yes);
    return yes;
}

static bool may_apply(uint32_t source, enum wire_atomic function, const void *place, uint32_t bytes,
                      uint64_t operand, uint64_t expected)
{
    struct wire_operation atomic = {.opcode = WIRE_ATOMIC,
                                    .detail = (uint8_t)function,
                                    .bytes = (uint16_t)bytes,
                                    .operand = operand,
                                    .expected = expected};
    return may(source, atomic, place);
}

static struct group_team_member *member_line(uint64_t block, uint32_t index)
{
    return (struct group_team_member *)(void *)at(OWN, block) + index;
}

static void grant_all(void)
{
    const uint32_t members[] = {4, OWN, 0};
    const uint32_t sources[] = {0, 3};
    const struct fabric_grant list[] = {
        {.kind = FABRIC_GRANT_STAGING,
         .offset = service(STAGING_AT),
         .ranks = members,
         .count = 3,
         .bytes = 4096},
        {.kind = FABRIC_GRANT_TEAM,
         .offset = service(TEAM_AT),
         .ranks = members,
         .count = 3,
         .index = 1},
        {.kind = FABRIC_GRANT_BOX,
         .offset = service(BOX_AT),
         .ranks = sources,
         .count = 2,
         .unit_count = UNITS},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        assert_int_equal(fabric_grants_add(grants, &list[i]), 0);
    }
}

/* ---- The mirror of the peer itself ------------------------------------------------------- */

static void a_peer_writes_its_own_part(void **state)
{
    (void)state;
    const struct group_geometry *geometry = &view->facts.geometry;
    const uint64_t stride = geometry->node_stride_bytes;
    for (uint32_t owner = 0; owner < NODES; owner++) {
        bool is_own = owner == 2;
        assert_int_equal(may_write(2, at(owner, 0), 8), is_own);
        assert_int_equal(may_write(2, at(owner, stride - 8), 8), is_own);
        assert_int_equal(may_write(2, at(owner, service(TEAM_AT)), 9000), is_own);
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            assert_int_equal(may_write(2, group_segment(view, owner, area), 8), is_own);
        }
        assert_int_equal(may_write(2, group_registered_memory(view, owner), 8), is_own);
        const struct group_port *port = &view->ports[owner];
        assert_int_equal(may_write(2, &port->areas[0], sizeof port->areas), is_own);
        assert_int_equal(may_write(2, &port->areas[GROUP_AREAS - 1], sizeof port->areas[0]),
                         is_own);
    }
    /* Not a byte beyond. */
    assert_false(may_write(2, at(2, 0) - 1, 2));
    assert_false(may_write(2, at(2, stride - 1), 2));
    assert_false(may_write(2, (unsigned char *)&view->ports[2] - 1, 2));
    assert_false(
        may_write(2, (unsigned char *)view->ports[2].areas + sizeof view->ports->areas - 1, 2));
}

static void nobody_writes_the_groups_words(void **state)
{
    (void)state;
    const unsigned char *start = (const unsigned char *)made.group;
    for (uint32_t source = 0; source < NODES; source++) {
        if (source == OWN) {
            continue;
        }
        for (uint64_t offset = 0; offset < sizeof *made.group; offset += 4) {
            assert_false(may_write(source, start + offset, 4));
            assert_false(may_apply(source, WIRE_COMPARE_SWAP, start + offset, 4, 1, 0));
            assert_false(may_read(source, start + offset, 8));
        }
        for (uint32_t rank = 0; rank < NODES; rank++) {
            const struct group_port *port = &view->ports[rank];
            assert_false(may_write(source, &port->call, 8));
            assert_false(may_write(source, &port->life, 4));
            assert_false(may_write(source, &port->process_id, 4));
            assert_false(may_apply(source, WIRE_OR, &port->call, 8, GROUP_CALL_GONE, 0));
            assert_false(may_read(source, &port->call, 8));
        }
    }
}

/* ---- Data areas --------------------------------------------------------------------------- */

static void data_areas_are_read_by_their_rights_and_never_written(void **state)
{
    (void)state;
    for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
        unsigned char *own = group_segment(view, OWN, area);
        uint64_t bytes = group_segment_bytes(view, area);
        for (uint32_t denied = 0; denied <= DN_ALL_RIGHTS; denied++) {
            assert_int_equal(group_area_restrict(view, area, denied), 0);
            bool reads = !(denied & DN_READ);
            assert_int_equal(may_read(0, own, 8), reads);
            assert_int_equal(may_read(0, own + bytes - 8, 8), reads);
            assert_false(may_read(0, own + bytes - 8, 16));
            assert_false(may_write(0, own, 8));
            assert_false(may_apply(0, WIRE_ADD, own, 8, 1, 0));
        }
        assert_int_equal(group_area_restrict(view, area, 0), 0);
        assert_false(may_read(0, group_segment(view, 2, area), 8));
    }
    assert_false(may_read(0, group_registered_memory(view, OWN), 8));
    assert_false(may_write(0, group_registered_memory(view, OWN), 8));
}

/* ---- Grants ------------------------------------------------------------------------------- */

/* Byte by byte: who may write a granted piece. */
static void each_word_has_its_writer(void **state)
{
    (void)state;
    static const uint32_t members[] = {4, OWN, 0};
    grant_all();
    const uint64_t block = service(TEAM_AT);
    const uint64_t tree = group_team_tree_offset(3) + sizeof(struct group_tree_node);
    for (uint32_t source = 0; source < NODES; source++) {
        for (uint64_t byte = 0; source != OWN && byte < group_team_bytes(3); byte++) {
            uint64_t index = byte / sizeof(struct group_team_member);
            uint64_t within = byte % sizeof(struct group_team_member);
            bool expected = index < 3 && members[index] == source &&
                            within < offsetof(struct group_team_member, outcome);
            /* The parent of the second member is the first. It has no children. */
            expected |= byte == tree + offsetof(struct group_tree_node, release) && source == 4;
            /* Of giving up each member has a word. */
            uint64_t word = (byte - group_team_revoked_offset(3)) / sizeof(uint64_t);
            expected |= word < 3 && members[word] == source;
            assert_int_equal(may_write(source, at(OWN, block + byte), 1), expected);
        }
    }
    struct group_box_layout box = group_box_layout(2, UNITS);
    static const uint32_t sources[] = {0, 3};
    for (uint32_t source = 0; source < NODES; source++) {
        for (uint64_t byte = 0; source != OWN && byte < box.bytes; byte++) {
            uint64_t in_words = (byte - box.words_offset) % sizeof(struct group_ring_words);
            uint64_t words = (byte - box.words_offset) / sizeof(struct group_ring_words);
            uint64_t ring = (byte - box.rings_offset) / (UNITS * GROUP_UNIT_BYTES);
            bool expected = byte >= box.rings_offset ? sources[ring] == source
                            : byte >= box.words_offset
                                ? sources[words] == source && in_words >= CACHE_LINE_BYTES
                                : false;
            assert_int_equal(may_write(source, at(OWN, service(BOX_AT) + byte), 1), expected);
        }
    }
    for (uint32_t source = 0; source < NODES; source++) {
        bool expected = source == 4 || source == 0;
        assert_int_equal(may_write(source, at(OWN, service(STAGING_AT)), 4096),
                         source == OWN || expected);
        assert_int_equal(may_write(source, at(OWN, service(STAGING_AT)) + 1, 4096), source == OWN);
    }
}

/* No piece may reach into the next one's. */
static void no_write_crosses_a_border(void **state)
{
    (void)state;
    grant_all();
    struct group_box_layout box = group_box_layout(2, UNITS);
    const uint64_t ring = UNITS * GROUP_UNIT_BYTES;
    unsigned char *rings = at(OWN, service(BOX_AT) + box.rings_offset);
    assert_true(may_write(0, rings, (uint32_t)ring));
    assert_false(may_write(0, rings + 8, (uint32_t)ring));
    assert_false(may_write(0, rings + ring - 4, 8));
    assert_false(may_write(0, rings - 4, 8));
    assert_true(may_write(3, rings + ring, (uint32_t)ring));
    assert_false(may_write(3, rings + ring, (uint32_t)ring + 1));
    unsigned char *line = (unsigned char *)member_line(service(TEAM_AT), 0);
    assert_true(may_write(4, line, offsetof(struct group_team_member, outcome)));
    assert_false(may_write(4, line, sizeof(struct group_team_member)));
    assert_false(may_write(4, line - 4, 8));
    assert_true(may_apply(0, WIRE_COMPARE_SWAP, rings + 64, 8, 3, 1)); /* of an offer in its ring */
    assert_false(may_apply(3, WIRE_COMPARE_SWAP, rings + 64, 8, 3, 1));
}

/* What members agree on is said once, by a compare-swap of a phase. */
static void a_last_phase_is_agreed_on_by_members(void **state)
{
    (void)state;
    const uint64_t asked = GROUP_TEAM_ASKED;
    const uint64_t said = GROUP_TEAM_SAID | 7;
    grant_all();
    unsigned char *row = at(OWN, service(TEAM_AT) + group_team_last_offset(3));
    for (uint32_t i = 0; i < 4; i++) {
        bool is_word = i < 3;
        assert_int_equal(may_apply(0, WIRE_COMPARE_SWAP, row + 8 * i, 8, asked, 0), is_word);
        assert_int_equal(may_apply(0, WIRE_COMPARE_SWAP, row + 8 * i, 8, said, asked), is_word);
        assert_int_equal(may_apply(4, WIRE_COMPARE_SWAP, row + 8 * i, 8, said, asked), is_word);
    }
    assert_false(may_apply(2, WIRE_COMPARE_SWAP, row, 8, asked, 0));
    assert_false(may_apply(2, WIRE_COMPARE_SWAP, row, 8, said, asked));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 8, said, 0));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 8, said, said));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 8, asked, said));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 8, 7, asked));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 8, 3 * GROUP_TEAM_SAID, asked));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, row, 4, said, asked));
    assert_false(may_apply(0, WIRE_SWAP, row, 8, said, asked));
    unsigned char *words = at(OWN, service(TEAM_AT) + group_team_revoked_offset(3));
    assert_true(may_write(4, words, 8));
    assert_false(may_write(4, words, 16));
    assert_false(may_write(4, words + 4, 8));
}

static void a_grant_ends_when_it_is_revoked(void **state)
{
    (void)state;
    grant_all();
    unsigned char *line = (unsigned char *)member_line(service(TEAM_AT), 2);
    struct group_box_layout box = group_box_layout(2, UNITS);
    unsigned char *ring = at(OWN, service(BOX_AT) + box.rings_offset);
    assert_true(may_write(0, line, 4) && may_write(0, ring, 8));
    fabric_grants_remove(grants, service(TEAM_AT));
    assert_false(may_write(0, line, 4));
    assert_true(may_write(0, ring, 8));
    fabric_grants_remove(grants, service(BOX_AT));
    assert_false(may_write(0, ring, 8));
    assert_true(may_write(0, at(OWN, service(STAGING_AT)), 8));
    fabric_grants_remove(grants, service(STAGING_AT));
    assert_false(may_write(0, at(OWN, service(STAGING_AT)), 8));
    /* The team of all stays, and was there from the start. */
    for (uint32_t rank = 0; rank < NODES; rank++) {
        struct group_team_member *all = member_line(group_service_team_of_all(view), rank);
        assert_int_equal(may_write(3, &all->arrived, 4), rank == 3);
    }
}

static void many_grants_are_told_apart(void **state)
{
    (void)state;
    enum { TEAMS = 100 };
    const uint64_t bytes = group_team_bytes(2);
    for (uint32_t i = 0; i < TEAMS; i++) {
        uint32_t number = i * 37 % TEAMS;
        const uint32_t members[] = {number % 2 ? 0 : 2, OWN};
        const struct fabric_grant grant = {.kind = FABRIC_GRANT_TEAM,
                                           .offset = service(TEAM_AT) + number * bytes,
                                           .ranks = members,
                                           .count = 2,
                                           .index = 1};
        assert_int_equal(fabric_grants_add(grants, &grant), 0);
    }
    for (uint32_t i = 0; i < TEAMS; i++) {
        unsigned char *line = at(OWN, service(TEAM_AT) + i * bytes);
        assert_int_equal(may_write(0, line, 4), i % 2 == 1);
        assert_int_equal(may_write(2, line, 4), i % 2 == 0);
        if (i % 3 == 0) {
            fabric_grants_remove(grants, service(TEAM_AT) + i * bytes);
            assert_false(may_write(0, line, 4) || may_write(2, line, 4));
        }
    }
}

/* ---- Atomics ------------------------------------------------------------------------------ */

static void an_outcome_is_decided_once_by_members(void **state)
{
    (void)state;
    grant_all();
    _Atomic uint32_t *outcome = &member_line(service(TEAM_AT), 0)->outcome;
    for (uint32_t source = 0; source < NODES; source++) {
        bool is_member = source == 4 || source == 0 || source == OWN;
        assert_int_equal(may_apply(source, WIRE_COMPARE_SWAP, outcome, 4, GROUP_TEAM_MADE, 0),
                         is_member || source == OWN);
    }
    assert_true(may_apply(0, WIRE_COMPARE_SWAP, outcome, 4, GROUP_TEAM_GIVEN_UP, 0));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, outcome, 4, 7, 0));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, outcome, 4, GROUP_TEAM_MADE, GROUP_TEAM_GIVEN_UP));
    assert_false(may_apply(0, WIRE_SWAP, outcome, 4, GROUP_TEAM_MADE, 0));
    assert_false(may_write(0, outcome, 4));
    assert_false(may_write(4, outcome, 4));
    assert_true(may_apply(0, WIRE_COMPARE_SWAP, outcome, 4, GROUP_TEAM_UNHEARD, 0));
    _Atomic uint32_t *verdict = &member_line(service(TEAM_AT), 0)->verdict;
    assert_true(may_apply(0, WIRE_COMPARE_SWAP, verdict, 4, GROUP_TEAM_GIVEN_UP, 0));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, verdict, 4, GROUP_TEAM_UNHEARD, 0));
    assert_false(may_apply(2, WIRE_COMPARE_SWAP, verdict, 4, GROUP_TEAM_MADE, 0));
    outcome = &member_line(service(TEAM_AT), 2)->outcome;
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, outcome, 4, GROUP_TEAM_MADE, 0));
}

static void a_peer_sets_and_clears_its_own_bit(void **state)
{
    (void)state;
    struct group_service *own = group_service(view, OWN);
    for (uint32_t slot = 0; slot < GROUP_MESSAGE_SLOTS; slot += 63) {
        struct group_message_slot *box = &own->message_slots[slot];
        uint64_t bit = UINT64_C(1) << 3;
        assert_true(may_apply(3, WIRE_OR, &box->users[0], 8, bit, 0));
        assert_true(may_apply(3, WIRE_AND, &box->users[0], 8, ~bit, 0));
        assert_false(may_apply(2, WIRE_OR, &box->users[0], 8, bit, 0));
        assert_false(may_apply(2, WIRE_AND, &box->users[0], 8, ~bit, 0));
        assert_false(may_apply(3, WIRE_OR, &box->users[0], 8, bit | 1, 0));
        assert_false(may_apply(3, WIRE_OR, &box->users[1], 8, bit, 0));
        assert_false(may_apply(3, WIRE_OR, &box->key, 8, bit, 0));
        assert_false(may_apply(3, WIRE_OR, &box->offset, 8, bit, 0));
        assert_false(may_apply(3, WIRE_SWAP, &box->users[0], 8, bit, 0));
        assert_false(may_write(3, &box->users[0], 8));
        assert_false(may_write(3, &box->key, 8));
        assert_true(may_read(3, box, 512));
    }
    assert_false(may_write(3, &own->team_slots[0], 16));
    assert_false(may_write(3, &own->lock_records[0], 8));
}

/* ---- Testimony ---------------------------------------------------------------------------- */

static void only_the_dead_are_spoken_for(void **state)
{
    (void)state;
    grant_all();
    struct group_team_member *line = member_line(service(TEAM_AT), 0); /* rank 4's */
    unsigned char *staging = at(4, service(STAGING_AT));
    assert_false(may_write(0, line->contribution, sizeof line->contribution[0]));
    assert_false(may_apply(0, WIRE_COMPARE_SWAP, &line->arrived, 4, 2, 1));
    assert_false(may_write(0, staging, 4096));
    assert_true(group_life_end(view, 4, false));
    assert_true(may_write(0, line->contribution, sizeof line->contribution[0]));
    assert_true(may_apply(0, WIRE_COMPARE_SWAP, &line->arrived, 4, 2, 1));
    assert_true(may_write(0, staging, 4096));
    /* By members, and about nobody else. */
    assert_false(may_apply(3, WIRE_COMPARE_SWAP, &line->arrived, 4, 2, 1));
    assert_false(may_write(0, group_segment(view, 4, DN_BANK), 8));
    assert_false(may_write(0, at(2, service(STAGING_AT)), 4096));
    assert_false(may_write(0, &view->ports[4].areas[5], 24));
}

/* ---- A hostile member --------------------------------------------------------------------- */

static int find_whole(void *context, uint32_t area, struct nic_extent *extent)
{
    (void)context;
    *extent = (struct nic_extent){.bytes = made.geometry.total_bytes};
    return area == NIC_AREA_WHOLE ? 0 : DN_EAREA;
}

static bool permits(void *context, uint16_t source, const struct wire_operation *operation,
                    uint64_t address)
{
    return fabric_grants_permit(context, source, operation, address);
}

static unsigned char reply[64];

static int append(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room)
{
    (void)context;
    (void)now_ns;
    assert_true(route->class == WIRE_REPLY && bytes <= sizeof reply);
    *room = reply;
    return 0;
}

static bool has_room(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)context;
    (void)now_ns;
    (void)peer;
    return true;
}

/* Sends an operation to the node's engine as that rank; gives its answer. */
static int attack(struct nic_engine *engine, uint16_t source, struct wire_operation operation)
{
    _Alignas(8) unsigned char body[64];
    struct wire_operation answer;
    uint32_t at_byte = 0;
    memset(reply, 0, sizeof reply);
    wire_operation_encode(&operation, body);
    assert_true(nic_engine_deliver(engine, 0, source, WIRE_REQUEST, 0, body,
                                   wire_operation_bytes(&operation)));
    if (operation.tag == WIRE_NO_TAG) {
        return 0;
    }
    uint32_t bytes = operation.opcode == WIRE_ATOMIC ? 32 : 24;
    bool decoded = wire_operation_decode(reply, WIRE_OPERATION_BYTES, WIRE_REPLY, &at_byte,
                                         &answer);
    return decoded && answer.opcode == WIRE_REFUSED ? -answer.detail : (int)bytes;
}

/* Every operation on a word by a member that has nothing to write there. */
static void attack_word(struct nic_engine *engine, uint16_t source, void *word)
{
    static const unsigned char evil[8] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
    struct wire_operation operation = {
        .area = NIC_AREA_WHOLE, .offset = address_of(word), .bytes = 8, .operand = ~UINT64_C(0)};
    unsigned char before[8];
    memcpy(before, word, sizeof before);
    uint64_t refused = nic_engine_counters(engine)->refused;
    operation.opcode = WIRE_AOTF;
    (void)attack(engine, source, operation);
    operation.detail = WIRE_SKIP;
    (void)attack(engine, source, operation);
    operation.detail = 0;
    operation.data = evil;
    operation.opcode = WIRE_BOTF;
    (void)attack(engine, source, operation);
    operation.opcode = WIRE_PUSH;
    (void)attack(engine, source, operation);
    operation.data = NULL;
    operation.opcode = WIRE_ATOMIC;
    operation.tag = 5;
    uint32_t count = 4;
    for (int function = 0; function < WIRE_ATOMICS; function++) {
        if (function != WIRE_READ) {
            operation.detail = (uint8_t)function;
            memcpy(&operation.expected, before, sizeof before);
            assert_int_equal(attack(engine, source, operation), DN_ERIGHTS);
            count++;
        }
    }
    assert_memory_equal(word, before, sizeof before);
    assert_int_equal(nic_engine_counters(engine)->refused - refused, count);
}

/* A member with the group's secret, whose packets are believed, tries all words that are not its
 * own to write: the head, ports, tables, grants of others, data. */
static void a_hostile_member_changes_nothing(void **state)
{
    (void)state;
    const struct nic_engine_config config = {.node = OWN,
                                             .node_count = NODES,
                                             .kick_page_count = 64,
                                             .transfer_count = 8,
                                             .outstanding_count = 32};
    const struct nic_network network = {
        .body_bytes_max = 512, .append = append, .has_reply_room = has_room};
    const struct nic_local_memory memory = {.context = grants,
                                            .base = (unsigned char *)made.group,
                                            .bytes = made.geometry.total_bytes,
                                            .find = find_whole,
                                            .permits = permits};
    uint64_t space_bytes = nic_engine_bytes(&config);
    void *space = mmap(NULL, space_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    assert_true(space != MAP_FAILED);
    struct nic_engine *engine = nic_engine_init(&config, &network, &memory, space, NULL);
    const uint16_t hostile = 2; /* in no team but that of all, and no source */
    grant_all();
    for (uint64_t offset = 0; offset < sizeof *made.group; offset += 8) {
        attack_word(engine, hostile, (unsigned char *)made.group + offset);
    }
    for (uint32_t rank = 0; rank < NODES; rank++) {
        for (uint64_t offset = 0; offset < sizeof(struct group_port); offset += 8) {
            bool is_own = rank == hostile && offset < sizeof view->ports->areas;
            if (!is_own) {
                attack_word(engine, hostile, (unsigned char *)&view->ports[rank] + offset);
            }
        }
        for (uint32_t area = DN_LLCM; rank != hostile && area <= DN_HEAP; area++) {
            attack_word(engine, hostile, group_segment(view, rank, area));
            attack_word(engine, hostile,
                        group_segment(view, rank, area) + group_segment_bytes(view, area) - 8);
        }
        if (rank != hostile) {
            attack_word(engine, hostile, group_registered_memory(view, rank));
            attack_word(engine, hostile, group_service_memory(view, rank));
        }
    }
    struct group_service *own = group_service(view, OWN);
    for (uint32_t slot = 0; slot < GROUP_TEAM_SLOTS; slot++) {
        attack_word(engine, hostile, &own->team_slots[slot].key);
    }
    for (uint32_t slot = 0; slot < GROUP_MESSAGE_SLOTS; slot++) {
        attack_word(engine, hostile, &own->message_slots[slot].key);
        attack_word(engine, hostile, &own->message_slots[slot].offset);
        attack_word(engine, hostile, &own->message_slots[slot].users[1]);
    }
    for (uint64_t offset = 0; offset < group_team_bytes(3); offset += 8) {
        attack_word(engine, hostile, at(OWN, service(TEAM_AT) + offset));
    }
    for (uint64_t offset = 0; offset < group_box_layout(2, UNITS).bytes; offset += 8) {
        attack_word(engine, hostile, at(OWN, service(BOX_AT) + offset));
    }
    attack_word(engine, hostile, at(OWN, service(STAGING_AT)));
    assert_int_equal(nic_engine_counters(engine)->carried_out, 0);
    assert_int_equal(munmap(space, space_bytes), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_peer_writes_its_own_part),
        TEST(nobody_writes_the_groups_words),
        TEST(data_areas_are_read_by_their_rights_and_never_written),
        TEST(each_word_has_its_writer),
        TEST(no_write_crosses_a_border),
        TEST(a_last_phase_is_agreed_on_by_members),
        TEST(a_grant_ends_when_it_is_revoked),
        TEST(many_grants_are_told_apart),
        TEST(an_outcome_is_decided_once_by_members),
        TEST(a_peer_sets_and_clears_its_own_bit),
        TEST(only_the_dead_are_spoken_for),
        TEST(a_hostile_member_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
