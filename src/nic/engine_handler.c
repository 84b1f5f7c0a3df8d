/* Carries out records of other nodes on this node's memory.
 *
 * A packet is carried out whole, in the order of its records, or not at all: there is room for
 * its replies before the first record is touched. Every area, offset and length is checked
 * against this node's memory, and every operation against the rights there; what names no memory
 * or has no right is refused, with a reply if it has a tag. */
#include "nic/engine_state.h"

#include "base/mutant.h"
#include "nic/memory_access.h"
#include "nic/services.h"

/* Where a record came from, for its reply. */
struct origin {
    uint64_t now_ns;
    uint32_t pgid;
    uint16_t source;
    uint8_t channel;
};

/* Appends a reply; gives the place for data that it does not point to. NULL: the peer is lost. */
static unsigned char *reply(struct nic_engine *engine, const struct origin *origin,
                            const struct wire_operation *operation)
{
    struct wire_route route = {
        .target = origin->source,
        .class = WIRE_REPLY,
        .channel = origin->channel,
        .pgid = origin->pgid,
    };
    unsigned char *room;
    int error = engine->network.append(engine->network.context, origin->now_ns, &route,
                                       wire_operation_bytes(operation), &room);
    INVARIANT(error != DN_EFULL); /* has_reply_room said so */
    if (error) {
        return NULL;
    }
    wire_operation_encode(operation, room);
    return room + WIRE_OPERATION_BYTES;
}

static void refuse(struct nic_engine *engine, const struct origin *origin, uint64_t tag, int error)
{
    engine->counters.refused++;
    if (tag != WIRE_NO_TAG) {
        (void)reply(engine, origin,
                    &(struct wire_operation){
                        .opcode = WIRE_REFUSED, .detail = (uint8_t)-error, .offset = tag});
    }
}

static void written(const struct nic_engine *engine, uint64_t address, uint64_t bytes)
{
    if (engine->memory.written) {
        engine->memory.written(engine->memory.context, address, bytes);
    }
}

/* An address of the area that is all of this node's memory. */
static int ask_permission(const struct nic_engine *engine, const struct origin *origin,
                          const struct wire_operation *operation, uint64_t address)
{
    const struct nic_local_memory *memory = &engine->memory;
    bool permits = !memory->permits ||
                   memory->permits(memory->context, origin->source, operation, address);
    return permits ? 0 : DN_ERIGHTS;
}

static int translate(struct nic_engine *engine, const struct origin *origin,
                     const struct wire_operation *operation, uint32_t right, uint64_t *address)
{
    int error = nic_address_tlb_translate(&engine->addresses, &engine->memory, operation->area,
                                          operation->offset, operation->bytes,
                                          (struct nic_access){right, origin->pgid}, address);
    return error || LIKELY(operation->area != NIC_AREA_WHOLE)
               ? error
               : ask_permission(engine, origin, operation, *address);
}

static int translate_skip(struct nic_engine *engine, const struct origin *origin,
                          const struct wire_operation *operation, uint64_t *address)
{
    int error = nic_address_tlb_translate_skip(&engine->addresses, &engine->memory,
                                               operation->offset, operation->bytes, address);
    return error ? error : ask_permission(engine, origin, operation, *address);
}

static void carry_out_aotf(struct nic_engine *engine, const struct origin *origin,
                           const struct wire_operation *operation)
{
    uint64_t address;
    int error = operation->detail == WIRE_SKIP
                    ? translate_skip(engine, origin, operation, &address)
                    : translate(engine, origin, operation, DN_WRITE, &address);
    if (error) {
        refuse(engine, origin, WIRE_NO_TAG, error);
        return;
    }
    unsigned char *target = engine->memory.base + address;
    uint32_t bytes = operation->bytes;
    if (is_power_of_two(bytes) && (uintptr_t)target % bytes == 0) {
        nic_store_word(target, operation->operand, bytes);
    } else {
        atomic_thread_fence(memory_order_release);
        for (uint32_t i = 0; i < bytes; i++) {
            target[i] = (unsigned char)(operation->operand >> 8 * i);
        }
    }
    engine->counters.carried_out++;
    written(engine, address, bytes);
}

/* BOTF and PUSH. */
static void carry_out_block(struct nic_engine *engine, const struct origin *origin,
                            const struct wire_operation *operation)
{
    uint64_t address;
    int error = translate(engine, origin, operation, DN_WRITE, &address);
    if (error) {
        refuse(engine, origin, WIRE_NO_TAG, error);
        return;
    }
    nic_store_block(engine->memory.base + address, operation->data, operation->bytes);
    engine->counters.carried_out++;
    written(engine, address, operation->bytes);
}

static void carry_out_pull(struct nic_engine *engine, const struct origin *origin,
                           const struct wire_operation *operation)
{
    uint64_t address;
    int error = translate(engine, origin, operation, DN_READ, &address);
    if (error) {
        refuse(engine, origin, operation->tag, error);
        return;
    }
    engine->counters.carried_out++;
    unsigned char *into = reply(engine, origin,
                                &(struct wire_operation){
                                    .opcode = WIRE_PULLED,
                                    .bytes = operation->bytes,
                                    .offset = operation->tag,
                                });
    if (into) {
        nic_load_block(into, engine->memory.base + address, operation->bytes);
    }
}

static void carry_out_atomic(struct nic_engine *engine, const struct origin *origin,
                             const struct wire_operation *operation)
{
    enum wire_atomic function = (enum wire_atomic)operation->detail;
    uint64_t address;
    int error = translate(engine, origin, operation, nic_atomic_right(function), &address);
    void *word = error ? NULL : engine->memory.base + address;
    if (!error && (uintptr_t)word % operation->bytes != 0) {
        error = DN_EALIGN;
    }
    if (error) {
        refuse(engine, origin, operation->tag, error);
        return;
    }
    uint64_t old = nic_apply(word, function, operation->bytes, operation->operand,
                             operation->expected);
    engine->counters.carried_out++;
    if (function != WIRE_READ) {
        written(engine, address, operation->bytes);
    }
    if (operation->tag != WIRE_NO_TAG) {
        (void)reply(engine, origin,
                    &(struct wire_operation){
                        .opcode = WIRE_FETCHED,
                        .bytes = operation->bytes,
                        .offset = operation->tag,
                        .operand = old,
                    });
    }
}

static void carry_out(struct nic_engine *engine, const struct origin *origin,
                      const struct wire_operation *operation)
{
    switch (operation->opcode) {
    case WIRE_AOTF: carry_out_aotf(engine, origin, operation); break;
    case WIRE_BOTF:
    case WIRE_PUSH: carry_out_block(engine, origin, operation); break;
    case WIRE_PULL: carry_out_pull(engine, origin, operation); break;
    case WIRE_ATOMIC: carry_out_atomic(engine, origin, operation); break;
    case WIRE_SERVICE:
        if (engine->services) {
            nic_services_deliver(engine->services, origin->now_ns, origin->source, operation);
        } else {
            engine->counters.refused++;
        }
        break;
    case WIRE_PULLED:
    case WIRE_FETCHED:
    case WIRE_REFUSED: nic_reply_received(engine, origin->source, operation); break;
    case WIRE_SERVED: engine->counters.replies_unexpected++; break;
    }
}

/* No engine makes such a packet; a user may have. It has no replies. */
static void hand_over_unknown(struct nic_engine *engine, const struct origin *origin,
                              const unsigned char *body, uint32_t bytes)
{
    const struct nic_local_memory *memory = &engine->memory;
    if (memory->unknown) {
        engine->counters.unknown++;
        memory->unknown(memory->context, origin->source, origin->pgid, body, bytes);
    } else {
        engine->counters.refused++;
    }
}

bool nic_engine_deliver(struct nic_engine *engine, uint64_t now_ns, uint16_t source,
                        enum wire_class class, uint8_t channel, const unsigned char *body,
                        uint32_t bytes)
{
    return nic_engine_deliver_of(engine, now_ns, engine->config.pgid, source, class, channel, body,
                                 bytes);
}

bool nic_engine_deliver_of(struct nic_engine *engine, uint64_t now_ns, uint32_t pgid,
                           uint16_t source, enum wire_class class, uint8_t channel,
                           const unsigned char *body, uint32_t bytes)
{
    INVARIANT(!engine->running);
    struct wire_operation operation;
    uint64_t reply_bytes = 0;
    uint32_t at = 0;
    while (wire_operation_decode(body, bytes, class, &at, &operation)) {
        reply_bytes += wire_reply_bytes(&operation);
        if (at == bytes) {
            break;
        }
    }
    struct origin origin = {.now_ns = now_ns, .pgid = pgid, .source = source, .channel = channel};
    if (at != bytes || reply_bytes > engine->network.body_bytes_max) {
        hand_over_unknown(engine, &origin, body, bytes);
        return true;
    }
    if (reply_bytes != 0 &&
        !engine->network.has_reply_room(engine->network.context, now_ns, source)) {
        at = 0;
        while (MUTANT(HALF_REFUSED) && wire_operation_decode(body, bytes, class, &at, &operation)) {
            if (wire_reply_bytes(&operation) == 0) {
                carry_out(engine, &origin, &operation);
            }
        }
        return false;
    }
    /* A packet of one operation, which somebody may wait for, has been decoded just now. */
    bool is_one = bytes < 2 * WIRE_OPERATION_BYTES && bytes != 0;
    at = 0;
    while (!is_one && wire_operation_decode(body, bytes, class, &at, &operation)) {
        carry_out(engine, &origin, &operation);
    }
    if (is_one) {
        carry_out(engine, &origin, &operation);
    }
    engine->counters.address_hits = engine->addresses.hits;
    engine->counters.address_misses = engine->addresses.misses;
    engine->counters.address_skips = engine->addresses.skips;
    engine->counters.foreign = engine->addresses.foreign;
    return true;
}
