/* LOCK as paper 004 has it (section 3): a queue that lies in its requesters. The manager remembers
 * only who asked last, and each requester who comes behind it.
 *
 *     request   lock_req to the manager, which sends lock_forw on to last_proc and takes the
 *               requester's name for last_proc; last_proc notes it as its next_proc
 *     release   lock_reply from the holder to its next_proc
 *
 * A requester has a structure for each lock, and structures are named by node and number, as the
 * paper names them by PID and virtual address. Its LOCKCONDITION:
 *
 *     NONE    has not asked, or has handed the lock on
 *     WAIT    has asked                        --somebody asks next--> QUEUED
 *     LOCK    has the lock                     --somebody asks next--> QUEUED
 *     QUEUED  as one of these two, and next_proc is known
 *     LAST    has released the lock, and nobody has asked since
 *
 * One more bit, `here`, says whether the lock is at this structure. It tells the holder that is
 * QUEUED from the one that waits; and it makes a LAST one that asks again wait with the lock in its
 * hand: what the manager forwards to it from then on was asked for either before its own request,
 * and gets the lock at once, or is that request itself. Without the bit both would wait for each
 * other (tests/models/lock_chain.pml).
 *
 * The manager grants the first request of all. There are no try-locks, because it does not know
 * who has the lock; and a death takes the queue with it, so nobody waits for the dead here: this
 * lock is for networks and nodes that do not fail. service_lock_manager.c has the other one. */
#include "nic/services_state.h"

static bool is_nobody(struct nic_chain_name name)
{
    return name.node == WIRE_NOBODY;
}

static bool is_same(struct nic_chain_name one, struct nic_chain_name other)
{
    return one.node == other.node && one.line == other.line;
}

static const struct nic_chain_name nobody = {WIRE_NOBODY, 0};

/* The structure of a lock at this node; NULL: it has none yet. */
static struct nic_chain_member *find_member(const struct nic_services *services, uint16_t manager,
                                            uint64_t name)
{
    for (uint32_t i = 0; i < services->chain_members.touched; i++) {
        struct nic_chain_member *member = base_pool_line(&services->chain_members, i);
        if (member->manager == manager && member->name == name) {
            return member;
        }
    }
    return NULL;
}

static struct nic_chain_name own_name(const struct nic_services *services,
                                      const struct nic_chain_member *member)
{
    return (struct nic_chain_name){services->config.node,
                                   base_pool_number(&services->chain_members, member)};
}

static struct nic_chain_member *make_member(struct nic_services *services, uint16_t manager,
                                            uint64_t name)
{
    struct nic_chain_member *member = base_pool_take_line(&services->chain_members);
    if (member) {
        *member = (struct nic_chain_member){.to_manager.kind = NIC_DUE_CHAIN_REQUEST,
                                            .to_next.kind = NIC_DUE_CHAIN_REPLY,
                                            .manager = manager,
                                            .name = name,
                                            .next = nobody,
                                            .reply_to = nobody};
    }
    return member;
}

/* ---- The host ------------------------------------------------------------------------ */

int nic_chain_lock_request(struct nic_services *services, uint16_t manager, uint64_t name,
                           struct nic_completion *completion, uint64_t *ticket)
{
    if (manager >= services->config.node_count) {
        return DN_ERANK;
    }
    struct nic_chain_member *member = find_member(services, manager, name);
    member = member ? member : make_member(services, manager, name);
    if (!member) {
        return DN_EFULL;
    }
    if (member->condition != NIC_CHAIN_NONE && member->condition != NIC_CHAIN_LAST) {
        return DN_EBUSY;
    }
    member->condition = NIC_CHAIN_WAIT;
    member->completion = completion;
    member->request_due = true;
    *completion = (struct nic_completion){.state = NIC_PENDING};
    *ticket = base_pool_number(&services->chain_members, member);
    nic_due_add(services, &member->to_manager);
    return 0;
}

/* The lock leaves this structure. */
static void hand_on(struct nic_services *services, struct nic_chain_member *member,
                    struct nic_chain_name to)
{
    member->here = false;
    member->reply_to = to;
    nic_due_add(services, &member->to_next);
}

int nic_chain_lock_release(struct nic_services *services, uint64_t ticket)
{
    if (ticket >= services->chain_members.touched) {
        return DN_ENOTHELD;
    }
    struct nic_chain_member *member = base_pool_line(&services->chain_members, (uint32_t)ticket);
    if (member->condition == NIC_CHAIN_LOCK) {
        member->condition = NIC_CHAIN_LAST;
        return 0;
    }
    if (member->condition != NIC_CHAIN_QUEUED || !member->here) {
        return DN_ENOTHELD;
    }
    struct nic_chain_name next = member->next;
    member->condition = NIC_CHAIN_NONE;
    member->next = nobody;
    hand_on(services, member, next);
    return 0;
}

/* ---- The manager --------------------------------------------------------------------- */

static struct nic_chain_lock *find_lock(struct nic_services *services, uint64_t name)
{
    for (uint32_t i = 0; i < services->chain_locks.touched; i++) {
        struct nic_chain_lock *lock = base_pool_line(&services->chain_locks, i);
        if (lock->name == name) {
            return lock;
        }
    }
    struct nic_chain_lock *lock = base_pool_take_line(&services->chain_locks);
    if (lock) {
        *lock = (struct nic_chain_lock){.name = name, .last = nobody};
    }
    return lock;
}

/* False: no line is left, which a requester that asks once at a time cannot bring about. */
static bool on_request(struct nic_services *services, uint64_t name,
                       struct nic_chain_name requester)
{
    struct nic_chain_lock *lock = find_lock(services, name);
    struct nic_chain_forward *forward = lock ? base_pool_take_line(&services->chain_forwards)
                                             : NULL;
    if (!forward) {
        return false;
    }
    *forward = (struct nic_chain_forward){
        .due.kind = NIC_DUE_CHAIN_FORWARD, .to = lock->last, .requester = requester};
    lock->last = requester;
    nic_due_add(services, &forward->due);
    return true;
}

/* ---- The requesters ------------------------------------------------------------------ */

static void take_lock(struct nic_chain_member *member)
{
    member->here = true;
    if (member->condition == NIC_CHAIN_WAIT) {
        member->condition = NIC_CHAIN_LOCK;
    }
    nic_completion_finish(member->completion, 0, 0);
}

/* False: the manager would not have sent this. */
static bool on_forward(struct nic_services *services, struct nic_chain_member *member,
                       struct nic_chain_name requester)
{
    switch (member->condition) {
    case NIC_CHAIN_WAIT:
        if (member->here) {
            if (is_same(requester, own_name(services, member))) {
                take_lock(member);
            } else {
                hand_on(services, member, requester);
            }
            return true;
        }
        break;
    case NIC_CHAIN_LOCK: break;
    case NIC_CHAIN_LAST:
        member->condition = NIC_CHAIN_NONE;
        hand_on(services, member, requester);
        return true;
    case NIC_CHAIN_QUEUED:
    case NIC_CHAIN_NONE: return false;
    }
    member->condition = NIC_CHAIN_QUEUED;
    member->next = requester;
    return true;
}

static bool on_reply(struct nic_chain_member *member)
{
    bool waits = member->condition == NIC_CHAIN_WAIT || member->condition == NIC_CHAIN_QUEUED;
    if (!waits || member->here) {
        return false;
    }
    take_lock(member);
    return true;
}

static bool deliver(struct nic_services *services, uint16_t source, unsigned kind,
                    const struct wire_operation *operation)
{
    uint64_t line = operation->offset;
    uint32_t bytes = kind == NIC_LOCK_RECORD_CHAIN_REQUEST   ? NIC_SERVICE_NUMBER_BYTES
                     : kind == NIC_LOCK_RECORD_CHAIN_FORWARD ? 2 * NIC_SERVICE_NUMBER_BYTES
                                                             : 0;
    if (operation->bytes != bytes || line > UINT32_MAX) {
        return false;
    }
    if (kind == NIC_LOCK_RECORD_CHAIN_REQUEST) {
        return on_request(services, wire_get64(operation->data),
                          (struct nic_chain_name){source, (uint32_t)line});
    }
    if (line >= services->chain_members.touched) {
        return false;
    }
    struct nic_chain_member *member = base_pool_line(&services->chain_members, (uint32_t)line);
    if (kind == NIC_LOCK_RECORD_CHAIN_REPLY) {
        return on_reply(member);
    }
    uint64_t node = wire_get64(operation->data);
    uint64_t requester_line = wire_get64(operation->data + 8);
    return kind == NIC_LOCK_RECORD_CHAIN_FORWARD && source == member->manager &&
           node < services->config.node_count && requester_line <= UINT32_MAX &&
           on_forward(services, member,
                      (struct nic_chain_name){(uint16_t)node, (uint32_t)requester_line});
}

/* ---- What goes out ------------------------------------------------------------------- */

static void reply_record(struct nic_service_packet *packet, struct nic_chain_name to)
{
    nic_service_record(packet, to.node, WIRE_LOCK, NIC_LOCK_RECORD_CHAIN_REPLY, 0, to.line);
}

static bool peek(const struct nic_services *services, struct nic_due *due,
                 struct nic_service_packet *packet)
{
    const struct nic_chain_member *member;
    const struct nic_chain_forward *forward;
    switch (due->kind) {
    case NIC_DUE_CHAIN_REQUEST:
        member = NIC_DUE_OWNER(due, struct nic_chain_member, to_manager);
        if (member->request_due) {
            nic_service_record(packet, member->manager, WIRE_LOCK, NIC_LOCK_RECORD_CHAIN_REQUEST, 0,
                               base_pool_number(&services->chain_members, member));
            nic_service_record_add(packet, member->name);
        }
        return member->request_due;
    case NIC_DUE_CHAIN_REPLY:
        member = NIC_DUE_OWNER(due, struct nic_chain_member, to_next);
        if (!is_nobody(member->reply_to)) {
            reply_record(packet, member->reply_to);
        }
        return !is_nobody(member->reply_to);
    default: break;
    }
    forward = NIC_DUE_OWNER(due, struct nic_chain_forward, due);
    if (is_nobody(forward->to)) {
        reply_record(packet, forward->requester); /* the first request of all */
    } else {
        nic_service_record(packet, forward->to.node, WIRE_LOCK, NIC_LOCK_RECORD_CHAIN_FORWARD, 0,
                           forward->to.line);
        nic_service_record_add(packet, forward->requester.node);
        nic_service_record_add(packet, forward->requester.line);
    }
    return true;
}

static void sent(struct nic_services *services, struct nic_due *due)
{
    struct nic_chain_forward *forward;
    switch (due->kind) {
    case NIC_DUE_CHAIN_REQUEST:
        NIC_DUE_OWNER(due, struct nic_chain_member, to_manager)->request_due = false;
        break;
    case NIC_DUE_CHAIN_REPLY:
        NIC_DUE_OWNER(due, struct nic_chain_member, to_next)->reply_to = nobody;
        break;
    default:
        forward = NIC_DUE_OWNER(due, struct nic_chain_forward, due);
        nic_due_remove(services, &forward->due);
        base_pool_give_line(&services->chain_forwards, forward);
        break;
    }
}

const struct nic_chain_service nic_chain_service = {
    .deliver = deliver,
    .peek = peek,
    .sent = sent,
};
