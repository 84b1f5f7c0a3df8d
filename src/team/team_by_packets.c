/* Tells words, gives data, asks and decides. */
#include "team/team_by_packets.h"

#include "fabric/in_place.h"
#include "host/clock.h"
#include "team/staging.h"

#define TESTIFY_NS UINT64_C(100000000)
#define TESTIFY_AGAIN_NS UINT64_C(100000)

/* The same words in another member's block: its memory, or the mirror of it. */
static void *at_member(const struct dn_team *team, uint32_t index, const void *words)
{
    const unsigned char *own = (const unsigned char *)team->nic.members;
    return team_memory(team, index, team->blocks[index]) + ((const unsigned char *)words - own);
}

static struct dn_remote at_rank(const struct dn_team *team, uint32_t index, const void *place)
{
    const struct group_view *view = team->nic.view;
    return (struct dn_remote){
        .rank = (int)team->nic.ranks[index],
        .area = FABRIC_AREA_GROUP,
        .offset = (uint64_t)((const unsigned char *)place - (const unsigned char *)view->group),
    };
}

/* The members behind this one in turn, so that not all members begin with the first one. */
static uint32_t next_of(const struct dn_team *team, uint32_t step)
{
    uint32_t index = team->nic.index + step;
    return index < team->nic.count ? index : index - team->nic.count;
}

static bool is_away(const struct dn_team *team, uint32_t rank)
{
    return fabric_road(team_lane(team), rank) == FABRIC_BY_PACKETS;
}

/* Sends a piece of the group's memory to the same place at a member. */
static void reflect(const struct dn_team *team, uint32_t index, const void *piece, uint64_t bytes)
{
    (void)fabric_reflect(team_lane(team), team->nic.ranks[index], piece, bytes);
}

void team_tell(const struct dn_team *team, uint32_t index, const void *words, uint64_t bytes)
{
    unsigned char *theirs = at_member(team, index, words);
    /* In place this is the telling, and a single word has release: pairs with the acquire in
     * group_team_has_arrived. By packets it only fills the mirror, which is sent. */
    if (bytes == sizeof(uint8_t)) {
        nic_store_word(theirs, *(const uint8_t *)words, sizeof(uint8_t));
    } else {
        nic_store_block(theirs, words, bytes);
    }
    reflect(team, index, theirs, bytes);
}

static void tell_all(const struct dn_team *team, const void *words, uint64_t bytes)
{
    for (uint32_t step = 1; step < team->nic.count; step++) {
        team_tell(team, next_of(team, step), words, bytes);
    }
}

/* A few packets' worth goes the way of words, and needs no answer. More is pushed from where it
 * lies, and is complete before the next arrival. */
static void give_one(const struct dn_team *team, uint32_t index, void *place, const void *source,
                     uint64_t bytes)
{
    struct fabric_lane *lane = team_lane(team);
    if (bytes > TEAM_SMALL_BYTES && is_away(team, team->nic.ranks[index])) {
        (void)lane->ops->push(lane, at_rank(team, index, place), source, bytes, NULL);
        /* No lane's quiet waits for this push, which is the library's own operation. */
        (void)fabric_settle(lane);
    } else if (bytes != 0) {
        team_copy(place, source, bytes);
        reflect(team, index, place, bytes);
    }
}

static void give(struct dn_team *team, uint32_t index, void *place, const void *source,
                 uint64_t bytes)
{
    give_one(team, index, place, source, bytes);
    if (bytes <= TEAM_SMALL_BYTES) {
        team->gave_at = team->phase + 1; /* more is in place already */
    }
}

static void give_all(struct dn_team *team, void *place, const void *source, uint64_t bytes)
{
    /* What lies in the small buffers can be taken over from a witness. */
    uint64_t offset = (uint64_t)((unsigned char *)place - team_memory(team, team->nic.index, 0));
    bool is_small_buffer = offset - team->staging < 2 * (uint64_t)TEAM_SMALL_BYTES;
    if (bytes <= TEAM_SMALL_BYTES && !is_small_buffer) {
        team->gave_at = team->phase + 1;
    }
    if (bytes <= TEAM_SMALL_BYTES) {
        team_copy(place, source, bytes);
        source = place;
    }
    for (uint32_t step = 1; step < team->nic.count; step++) {
        give_one(team, next_of(team, step), place, source, bytes);
    }
}

/* Others may hear of this member's next arrival by a witness, and not have its data, which perhaps
 * was lost on its way. If it dies before that arrival, the call is broken for all of them. */
static void settle_given(struct dn_team *team)
{
    if (team->gave_at != 0 && team->gave_at == team->phase) {
        (void)fabric_settle(team_lane(team));
        team->gave_at = 0;
        KILL_POINT("team: what was given is in place, not arrived");
    }
}

static void tell_arrival(const struct dn_team *team, bool contributes)
{
    const struct group_team *nic = &team->nic;
    const struct group_team_member *own = &nic->members[nic->index];
    for (uint32_t step = 1; step < nic->count; step++) {
        uint32_t index = next_of(team, step);
        if (contributes) {
            team_tell(team, index, &own->contribution[team->phase & 1],
                      sizeof own->contribution[0]);
        }
        team_tell(team, index, &own->arrived, sizeof own->arrived);
        KILL_POINT("team: arrival told to one more");
    }
}

void team_packets_note(const struct dn_team *team, uint32_t index, uint32_t phase)
{
    _Atomic uint32_t *word = group_team_arrived_word(&team->nic, index);
    uint32_t known = atomic_load_explicit(word, memory_order_relaxed);
    /* The member's own reflection of a later phase may come meanwhile. Release: pairs with the
     * read of a member that asks this one, and then takes over what it has of the other. */
    while ((int32_t)(known - phase) < 0 &&
           !atomic_compare_exchange_weak_explicit(word, &known, phase, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* ---- Asking ---------------------------------------------------------------------------- */

/* The part of a member's data for a phase that is the same for all members. It lies in small
 * staging memory, where the contribution says. NULL: there is none. */
static unsigned char *common_data(const struct dn_team *team, uint32_t index, uint32_t phase)
{
    uint64_t source = atomic_load_explicit(group_team_source(&team->nic, index, phase),
                                           memory_order_relaxed);
    bool is_place = source != 0 && source <= team->nic.view->node_stride_bytes - TEAM_SMALL_BYTES;
    return is_place ? team_memory(team, index, source) : NULL;
}

/* Takes over what a witness has of a member's contribution to this phase. */
static bool take_over(const struct dn_team *team, uint32_t index, uint32_t witness)
{
    struct fabric_lane *lane = team_lane(team);
    uint32_t rank = team->nic.ranks[witness];
    struct group_team_contribution *own = &team->nic.members[index].contribution[team->phase & 1];
    struct group_team_contribution *theirs = at_member(team, witness, own);
    if (fabric_refresh(lane, rank, theirs, sizeof *theirs) != 0) {
        return false;
    }
    nic_store_block((unsigned char *)own, theirs, sizeof *own);
    /* A member in place has left its data in its memory. */
    unsigned char *data = is_away(team, team->nic.ranks[index])
                              ? common_data(team, index, team->phase)
                              : NULL;
    return !data || fabric_refresh(lane, rank, data, TEAM_SMALL_BYTES) == 0;
}

/* The last phase that a witness has seen a member arrive at. What a member that is away sent may
 * have come to the witness and not be taken in. A question by packets goes behind it, but a witness
 * in place is read without one. So it is first asked for a word of its mirror of the member. */
static int read_arrival(const struct dn_team *team, uint32_t index, uint32_t witness,
                        uint32_t *phase)
{
    struct fabric_lane *lane = team_lane(team);
    uint32_t *mirrored = at_member(team, index, &team->nic.members[team->nic.index].arrived);
    const void *word = at_member(team, witness, group_team_arrived_word(&team->nic, index));
    uint64_t answer = 0;
    int error = is_away(team, team->nic.ranks[index])
                    ? fabric_refresh(lane, team->nic.ranks[witness], mirrored, sizeof *mirrored)
                    : 0;
    error = error ? error
                  : lane->ops->atomic(lane, at_rank(team, witness, word), WIRE_READ, sizeof *phase,
                                      0, 0, &answer);
    *phase = (uint32_t)answer;
    return error;
}

/* Whether that witness has seen the member arrive at this phase. If so, this one has now, too. */
static bool ask(const struct dn_team *team, uint32_t index, uint32_t witness)
{
    uint32_t phase;
    if (read_arrival(team, index, witness, &phase) != 0 || (int32_t)(phase - team->phase) < 0 ||
        !take_over(team, index, witness)) {
        return false;
    }
    KILL_POINT("team: arrival taken over, not noted");
    team_packets_note(team, index, team->phase);
    return true;
}

static void tell_revoked(const struct dn_team *team)
{
    const struct group_team *nic = &team->nic;
    for (uint32_t step = 1; step < nic->count; step++) {
        uint32_t index = next_of(team, step);
        team_tell(team, index, &nic->members[nic->index].arrived, sizeof(uint32_t));
        team_tell(team, index, &nic->revoked[nic->index], sizeof(uint64_t));
        KILL_POINT("team: giving up told to one more");
    }
}

static bool is_gone(const struct dn_team *team, uint32_t index)
{
    return group_life_gone(group_life(team->nic.view, team->nic.ranks[index]));
}

static void ask_all_about(const struct dn_team *team, uint32_t index)
{
    for (uint32_t step = 1; step < team->nic.count; step++) {
        uint32_t witness = next_of(team, step);
        if (!is_gone(team, witness) && ask(team, index, witness)) {
            return;
        }
    }
}

/* Writes `wish` into a word of one member's block if `expected` stands there, in one step; gives
 * what stands there from now on. DN_EPEER: the member is gone, and the wish stays. */
static int say_once(const struct dn_team *team, uint32_t index, const void *own_word,
                    unsigned bytes, uint64_t expected, uint64_t *wish)
{
    struct fabric_lane *lane = team_lane(team);
    unsigned char *word = at_member(team, index, own_word);
    uint64_t old = 0;
    if (index == team->nic.index) {
        old = nic_apply(word, WIRE_COMPARE_SWAP, bytes, *wish, expected);
    } else {
        int error = lane->ops->atomic(lane, at_rank(team, index, word), WIRE_COMPARE_SWAP, bytes,
                                      *wish, expected, &old);
        if (error) {
            return error;
        }
    }
    *wish = old != expected ? old : *wish;
    return 0;
}

/* The last phase at which anybody who lives has seen a member arrive that is gone. This may be the
 * phase behind this member's own. Each of them is first told that somebody asks: if it sees the
 * arrival only afterwards, it does not pass before it has agreed with the others (confirm). */
static uint32_t last_seen(const struct dn_team *team, uint32_t gone)
{
    const void *word = &team->nic.last[gone];
    uint64_t asked = GROUP_TEAM_ASKED;
    (void)say_once(team, team->nic.index, word, sizeof asked, 0, &asked);
    uint32_t last = atomic_load_explicit(group_team_arrived_word(&team->nic, gone),
                                         memory_order_acquire);
    for (uint32_t step = 1; step < team->nic.count; step++) {
        uint32_t witness = next_of(team, step);
        uint32_t seen;
        asked = GROUP_TEAM_ASKED;
        if (!is_gone(team, witness) &&
            say_once(team, witness, word, sizeof asked, 0, &asked) == 0 &&
            read_arrival(team, gone, witness, &seen) == 0 && (int32_t)(seen - last) > 0) {
            last = seen;
        }
    }
    return last;
}

/* Agrees with the others on the last phase of a member that is gone. Everybody asks all blocks in
 * team order, and goes on with what it finds: behind the block of a member that stays alive all
 * have the same. So it does not matter who dies meanwhile, nor what only the dead have seen. */
static uint32_t agree_on_last(const struct dn_team *team, uint32_t gone, uint32_t last)
{
    uint64_t wish = GROUP_TEAM_SAID | last;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (!is_gone(team, index)) {
            (void)say_once(team, index, &team->nic.last[gone], sizeof wish, GROUP_TEAM_ASKED,
                           &wish);
            KILL_POINT("team: agreed at one more");
        }
    }
    return (uint32_t)wish;
}

/* Finds out whether a member that is gone had arrived at this phase, with the same result for all
 * who live. A phase that somebody has passed is complete, also for those who have not seen that
 * member arrive; but where members bring data, that one's is missing, and those who have it may be
 * gone, too. Whoever has passed and left was asked too late, and its life tells it by now. */
static void ask_about_gone(const struct dn_team *team, uint32_t index)
{
    uint32_t last = last_seen(team, index);
    if ((int32_t)(last - team->phase) < 0 && !team->brings_data &&
        group_team_was_passed(&team->nic, team->phase)) {
        last = team->phase;
    }
    last = agree_on_last(team, index, last);
    if ((int32_t)(last - team->phase) < 0) {
        atomic_store_explicit(group_team_arrived_word(&team->nic, index), last,
                              memory_order_release);
        return;
    }
    ask_all_about(team, index);
    if (!team->brings_data) {
        team_packets_note(team, index, team->phase);
    }
}

/* Whoever asks about a member that is gone marks all blocks before it reads. So if this one has no
 * mark now, all who ask later find here what this member has seen. */
static bool confirm(const struct dn_team *team)
{
    /* A tree's news has just been noted in this block: the notes come before the look. Pairs with
     * the compare-swap in last_seen, which comes before the read. */
    atomic_thread_fence(memory_order_seq_cst);
    bool is_passed = true;
    for (uint32_t index = 0; index < team->nic.count && is_passed; index++) {
        /* Also if something was said here already: whoever said it may have died before it came to
         * the other blocks, and this member may leave before those who still ask come here. */
        if (UNLIKELY(atomic_load_explicit(&team->nic.last[index], memory_order_acquire) != 0)) {
            uint32_t last = agree_on_last(team, index, last_seen(team, index));
            is_passed = (int32_t)(last - team->phase) >= 0;
        }
    }
    return is_passed;
}

void team_packets_ask(const struct dn_team *team, bool living)
{
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (group_team_has_arrived(&team->nic, index, team->phase)) {
            continue;
        }
        if (is_gone(team, index)) {
            ask_about_gone(team, index);
        } else if (living) {
            (void)ask(team, index, index);
        }
    }
}

static void ask_about_the_gone(struct dn_team *team)
{
    team_packets_ask(team, false);
}

/* Leaves with a living member what this one has of a dead one, unless that one knows as much.
 * DN_ERIGHTS: it does not know yet that the member is dead, and lets nobody else write its words.
 * It may learn that at any moment, so the contribution goes first: if it is there, so is the
 * rest. */
static int try_to_testify(const struct dn_team *team, uint32_t index, uint32_t other)
{
    struct fabric_lane *lane = team_lane(team);
    const struct group_team_member *member = &team->nic.members[index];
    uint32_t known = atomic_load_explicit(&member->arrived, memory_order_acquire);
    uint32_t theirs;
    uint64_t old;
    if (read_arrival(team, index, other, &theirs) != 0 || (int32_t)(theirs - known) >= 0) {
        return 0;
    }
    const struct group_team_contribution *contribution = &member->contribution[known & 1];
    team_tell(team, other, contribution, sizeof *contribution);
    const unsigned char *data = common_data(team, index, known);
    if (data) {
        reflect(team, other, data, TEAM_SMALL_BYTES);
    }
    (void)fabric_settle(lane);
    void *told = at_member(team, other, contribution);
    if (fabric_refresh(lane, team->nic.ranks[other], told, sizeof *contribution) != 0) {
        return 0;
    }
    if (memcmp(told, contribution, sizeof *contribution) != 0) {
        return DN_ERIGHTS;
    }
    return lane->ops->atomic(lane, at_rank(team, other, at_member(team, other, &member->arrived)),
                             WIRE_COMPARE_SWAP, sizeof member->arrived, known, theirs, &old);
}

/* A death is announced on one host after the other. */
static void testify_to(const struct dn_team *team, uint32_t index, uint32_t other)
{
    uint64_t deadline_ns = host_now_ns() + TESTIFY_NS;
    uint64_t seen = 0;
    while (try_to_testify(team, index, other) == DN_ERIGHTS && host_now_ns() < deadline_ns) {
        fabric_nap(team_lane(team), TESTIFY_AGAIN_NS, &seen);
    }
}

/* Leaves what this member has seen of dead members' arrivals with those who live. */
static void testify(const struct dn_team *team)
{
    const struct group_team *nic = &team->nic;
    /* The last barrier may have been a tree's, which told few of this member's arrival. */
    bool tells_arrival = team->arrival_is_tree ||
                         (team->tree_phase == team->phase && team->phase != 0);
    for (uint32_t index = 0; index < nic->count; index++) {
        /* A member that left in peace had told everybody. */
        bool is_dead = group_life(nic->view, nic->ranks[index]) == DN_DEAD;
        tells_arrival = tells_arrival || is_dead;
        for (uint32_t step = 1; is_dead && step < nic->count; step++) {
            uint32_t other = next_of(team, step);
            if (!is_gone(team, other)) {
                testify_to(team, index, other);
            }
        }
    }
    if (tells_arrival) {
        tell_all(team, &nic->members[nic->index].arrived, sizeof(uint32_t));
    }
}

static void leave(struct dn_team *team)
{
    team_packet_barrier_close(team);
    testify(team);
}

static void tell_left(const struct dn_team *team)
{
    /* After that nothing that this member sent may arrive in the words of others. */
    (void)fabric_settle(team_lane(team));
    tell_all(team, &team->nic.members[team->nic.index].left, sizeof(uint32_t));
}

/* ---- Deciding -------------------------------------------------------------------------- */

/* The first member's block decides, and whoever hears its word notes it in its own block before it
 * goes by it. If the first member is gone, the others ask all blocks what their owners have heard;
 * where that is nothing, they say so, and the owner must agree with them. Then all blocks decide
 * once more, in team order, so that the last survivor's has the last word, the same for everybody.
 * If an owner that lives goes by what it heard, everybody has found it there. */
static bool decide(const struct dn_team *team, bool made)
{
    const struct group_team_member *first = &team->nic.members[0];
    uint64_t wish = made ? GROUP_TEAM_MADE : GROUP_TEAM_GIVEN_UP;
    KILL_POINT("team: not decided");
    if (say_once(team, 0, &first->outcome, sizeof first->outcome, GROUP_TEAM_OPEN, &wish) == 0) {
        KILL_POINT("team: decided, not noted");
        uint64_t noted = wish;
        (void)say_once(team, team->nic.index, &first->outcome, sizeof first->outcome,
                       GROUP_TEAM_OPEN, &noted);
        if (noted == wish) {
            return wish == GROUP_TEAM_MADE;
        }
    }
    for (uint32_t index = 1; index < team->nic.count; index++) {
        uint64_t heard = GROUP_TEAM_UNHEARD;
        int error = say_once(team, index, &first->outcome, sizeof first->outcome, GROUP_TEAM_OPEN,
                             &heard);
        wish = error || heard == GROUP_TEAM_UNHEARD ? wish : heard;
        KILL_POINT("team: asked what one more has heard");
    }
    for (uint32_t index = 1; index < team->nic.count; index++) {
        (void)say_once(team, index, &first->verdict, sizeof first->verdict, GROUP_TEAM_OPEN, &wish);
        KILL_POINT("team: decided at one more");
    }
    return wish == GROUP_TEAM_MADE;
}

const struct team_way team_by_packets = {
    .in_place = false,
    .tell_arrival = tell_arrival,
    .ask = ask_about_the_gone,
    .confirm = confirm,
    .tell_revoked = tell_revoked,
    .decide = decide,
    .leave = leave,
    .tell_left = tell_left,
    .give = give,
    .give_all = give_all,
    .settle_given = settle_given,
    .agree_on_kind = team_packets_agree_on_kind,
    .tell_host_part = team_packets_tell_host_part,
    .nic_arrive = team_packets_nic_arrive,
    .nic_passed = team_packets_nic_passed,
    .pass_cut_tree = team_packets_pass_cut_tree,
    .note_tree_passed = team_packets_note_tree_passed,
};
