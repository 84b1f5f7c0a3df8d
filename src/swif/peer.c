/* Peers: which life of a peer is spoken to, and when it counts as dead.
 *
 * Every packet names the incarnation that sent it and the one that it is for. A node believes no
 * packet from a life older than the newest it has heard of, and none for an earlier life of its
 * own, and no packet whose counter has come before; so it never takes an old packet for a new one.
 * It greets a peer whose incarnation it does not know before it sends anything that has an effect.
 *
 * A peer that we have given up stays dead for as long as that incarnation lasts: we do not know
 * whether it carried out what was under way, and cannot go on without. We tell it so whenever it
 * speaks, and then it gives us up as well. */
#include "swif/state.h"

/* ---- Watches --------------------------------------------------------------------- */

/* Few peers are watched at a time. */
static struct swif_watch *find_watch(const struct swif *swif, uint16_t peer)
{
    for (uint32_t i = 0; i < swif->watch_used; i++) {
        if (swif->watches[i].count && swif->watches[i].peer == peer) {
            return &swif->watches[i];
        }
    }
    return NULL;
}

static void end_watch(struct swif *swif, struct swif_watch *watch)
{
    watch->count = 0;
    swif_timer_set(&swif->timers, &watch->timer, SWIF_NEVER);
    while (swif->watch_used && swif->watches[swif->watch_used - 1].count == 0) {
        swif->watch_used--;
    }
}

static void look_later(struct swif *swif, uint64_t now_ns, struct swif_watch *watch)
{
    uint32_t looks = watch->silent ? SWIF_LOOKS_AT_SILENT : SWIF_LOOKS;
    swif->stubs[watch->peer].heard = 0;
    swif_timer_set(&swif->timers, &watch->timer, now_ns + swif->config.peer_timeout_ns / looks);
}

int swif_watch(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    if (swif->stubs[peer].dead) {
        return DN_EPEER;
    }
    struct swif_watch *watch = find_watch(swif, peer);
    if (watch) {
        watch->count++;
        return 0;
    }
    uint32_t free = 0;
    while (free < swif->watch_used && swif->watches[free].count) {
        free++;
    }
    if (free == swif->config.watch_max) {
        return DN_EFULL;
    }
    swif->watch_used = free < swif->watch_used ? swif->watch_used : free + 1;
    watch = &swif->watches[free];
    *watch = (struct swif_watch){.timer = {.at_ns = SWIF_NEVER, .owner = SWIF_WATCH},
                                 .peer = peer,
                                 .count = 1,
                                 .heard_ns = now_ns};
    look_later(swif, now_ns, watch);
    return 0;
}

void swif_unwatch(struct swif *swif, uint16_t peer)
{
    struct swif_watch *watch = find_watch(swif, peer);
    if (watch && --watch->count == 0) {
        end_watch(swif, watch);
    }
}

void swif_peer_look(struct swif *swif, uint64_t now_ns, struct swif_watch *watch)
{
    watch->silent = !swif->stubs[watch->peer].heard;
    if (watch->silent) {
        uint64_t since_ns = swif_most(watch->heard_ns, swif->grace_ns);
        uint64_t due_ns = since_ns + swif->config.peer_timeout_ns;
        if (now_ns >= due_ns && swif_peer_doubt(swif, now_ns, watch->peer, due_ns)) {
            return; /* the watch has ended */
        }
        swif_note_control(swif, watch->peer, WIRE_PROBE, swif->stubs[watch->peer].incarnation);
    } else {
        watch->heard_ns = now_ns;
    }
    look_later(swif, now_ns, watch);
}

/* ---- Counters -------------------------------------------------------------------- */

bool swif_peer_is_replay(const struct swif *swif, const struct wire_header *header)
{
    const struct swif_stub *stub = &swif->stubs[header->source];
    if (header->source_incarnation != stub->incarnation || MUTANT(COUNTER_REPLAYED)) {
        return false;
    }
    uint32_t index = swif_cache_peek(&swif->replay_cache, header->source);
    return index == SWIF_NO_CONTEXT
               ? !swif_replay_is_new_to_short(stub->replay, stub->newest_counter, header->counter)
               : !swif_replay_is_new(&swif->replays[index], stub->newest_counter, header->counter);
}

static bool may_evict(void *owner, uint32_t index)
{
    (void)owner;
    (void)index;
    return true;
}

/* The peer's wide window. Another peer may have to be content with a short one. */
static struct swif_replay *window_of(struct swif *swif, uint16_t peer)
{
    uint32_t index = swif_cache_find(&swif->replay_cache, peer);
    if (UNLIKELY(index == SWIF_NO_CONTEXT)) {
        int32_t evicted;
        index = swif_cache_take(&swif->replay_cache, peer, may_evict, NULL, &evicted);
        struct swif_replay *window = &swif->replays[index];
        if (evicted >= 0) {
            struct swif_stub *former = &swif->stubs[evicted];
            former->replay = swif_replay_shorten(window, former->newest_counter) &
                             ((UINT32_C(1) << SWIF_REPLAY_SHORT_BITS) - 1);
        }
        swif_replay_widen(window, swif->stubs[peer].newest_counter, swif->stubs[peer].replay);
    }
    return &swif->replays[index];
}

static void note_counter(struct swif *swif, uint16_t peer, uint64_t counter)
{
    uint64_t *newest = &swif->stubs[peer].newest_counter;
    *newest = swif_replay_note(window_of(swif, peer), *newest, counter);
}

/* The peer counts anew. */
static void forget_counters(struct swif *swif, uint16_t peer)
{
    uint32_t index = swif_cache_find(&swif->replay_cache, peer);
    if (index != SWIF_NO_CONTEXT) {
        swif_cache_free(&swif->replay_cache, index);
    }
}

/* ---- Lives ----------------------------------------------------------------------- */

/* Everything between us and the peer's last known life is over. */
static void lose(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    struct swif_watch *watch = find_watch(swif, peer);
    if (watch) {
        end_watch(swif, watch);
    }
    swif_sender_forget(swif, peer);
    swif_receiver_forget(swif, peer);
    swif->counters.peers_lost++;
    swif->client->peer_lost(swif->client->context, now_ns, peer);
}

void swif_peer_give_up(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    struct swif_stub *stub = &swif->stubs[peer];
    if (!stub->dead) {
        stub->dead = 1;
        lose(swif, now_ns, peer);
    }
}

bool swif_peer_doubt(struct swif *swif, uint64_t now_ns, uint16_t peer, uint64_t due_ns)
{
    struct swif_stub *stub = &swif->stubs[peer];
    if (now_ns - due_ns >= swif->config.verdict_ns) {
        swif_peer_give_up(swif, now_ns, peer);
        return true;
    }
    if (!stub->suspected) {
        stub->suspected = swif->client->peer_suspected(swif->client->context, now_ns, peer);
    }
    return false;
}

static void note_heard(struct swif_stub *stub)
{
    stub->heard = 1;
    stub->suspected = 0;
}

/* Whether we must not have heard of another incarnation to believe this one. */
static bool is_new_life(const struct swif *swif, const struct swif_stub *stub, uint32_t incarnation)
{
    return swif->config.lives_once ? stub->incarnation == 0 && incarnation != 0
                                   : incarnation > stub->incarnation;
}

/* The peer lives in that incarnation, which is newer than what was known. */
static void begin_life(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t incarnation)
{
    struct swif_stub *stub = &swif->stubs[peer];
    bool was_known = stub->incarnation != 0 || stub->dead;
    if (swif->config.lives_once && stub->dead) {
        stub->incarnation = incarnation; /* it died before we heard of it, and can be told so */
        return;
    }
    if (was_known && !stub->dead) {
        lose(swif, now_ns, peer);
    }
    if (was_known) {
        forget_counters(swif, peer);
        *stub = (struct swif_stub){.incarnation = incarnation};
    } else {
        stub->incarnation = incarnation; /* sequences may be given out already */
        swif_sender_greeted(swif, now_ns, peer);
    }
}

void swif_peer_is(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t incarnation)
{
    if (is_new_life(swif, &swif->stubs[peer], incarnation)) {
        begin_life(swif, now_ns, peer, incarnation);
    }
}

void swif_peer_died(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t incarnation)
{
    swif_peer_is(swif, now_ns, peer, incarnation);
    if (incarnation == swif->stubs[peer].incarnation) {
        swif_peer_give_up(swif, now_ns, peer);
    }
}

void swif_peer_lives(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    note_heard(&swif->stubs[peer]);
    swif_sender_vouched(swif, now_ns, peer);
}

/* Whether to tell the sender of this packet that it was in vain. */
static bool wants_answer(const struct wire_header *header, uint8_t code)
{
    return header->kind != WIRE_CONTROL || code == WIRE_HELLO || code == WIRE_PROBE;
}

bool swif_peer_admit(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                     uint8_t code)
{
    uint16_t peer = header->source;
    struct swif_stub *stub = &swif->stubs[peer];
    if (is_new_life(swif, stub, header->source_incarnation)) {
        begin_life(swif, now_ns, peer, header->source_incarnation);
    }
    if (header->source_incarnation != stub->incarnation && !MUTANT(OLD_SOURCE_BELIEVED)) {
        swif->counters.stale++;
        return false;
    }
    /* An older counter than the newest may be of a packet that somebody held back, which is no
     * sign of life. */
    bool is_newest = header->counter > stub->newest_counter;
    note_counter(swif, peer, header->counter);
    if (header->target_incarnation != swif->config.incarnation &&
        !(header->target_incarnation == 0 && header->kind == WIRE_CONTROL) &&
        !MUTANT(OLD_TARGET_BELIEVED)) {
        swif->counters.stale++;
        if (wants_answer(header, code)) {
            swif_note_control(swif, peer, WIRE_RESTARTED, header->source_incarnation);
        }
        return false;
    }
    if (stub->dead) {
        swif->counters.stale++;
        if (wants_answer(header, code)) {
            swif_note_control(swif, peer, WIRE_DEAD, stub->incarnation);
        }
        return false;
    }
    if (is_newest) {
        note_heard(stub);
        swif_sender_heard(swif, now_ns, peer);
    }
    return true;
}

void swif_peer_control(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                       const unsigned char *body)
{
    uint16_t peer = header->source;
    switch ((enum wire_control)body[0]) {
    case WIRE_HELLO: swif_note_control(swif, peer, WIRE_WELCOME, header->source_incarnation); break;
    case WIRE_PROBE: swif_note_control(swif, peer, WIRE_PRESENT, header->source_incarnation); break;
    case WIRE_DEAD:
        if (header->target_incarnation == swif->config.incarnation) {
            swif_peer_give_up(swif, now_ns, peer);
        }
        break;
    case WIRE_PATH: {
        struct swif_note note = {.kind = SWIF_NOTE_CONTROL,
                                 .peer = peer,
                                 .code = WIRE_PATH_CARRIES,
                                 .incarnation = header->source_incarnation,
                                 .counter = header->counter};
        swif_note_add(swif, &note);
        break;
    }
    case WIRE_PATH_CARRIES:
        swif_path_carries(swif, now_ns, peer, wire_path_answer_decode(body));
        break;
    case WIRE_WELCOME:
    case WIRE_PRESENT:
    case WIRE_RESTARTED: break; /* the header has said it */
    }
}

uint32_t swif_peer_incarnation(const struct swif *swif, uint16_t peer)
{
    return swif->stubs[peer].incarnation;
}

bool swif_peer_is_dead(const struct swif *swif, uint16_t peer)
{
    return swif->stubs[peer].dead;
}
