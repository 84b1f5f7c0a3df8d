/* Planted bugs: steps that a build with -Dmutants=true can leave out or do wrong, one at a
 * time, to show that the tests would notice. In ordinary builds they are not there.
 *
 *     if (header->source_incarnation < stub->incarnation && !MUTANT(OLD_SOURCE_BELIEVED)) {
 *
 * The list below is all of them; `dimmnet storm --mutant NAME` chooses one. */
#ifndef BASE_MUTANT_H
#define BASE_MUTANT_H

/* X(NAME, "what is wrong") */
#define MUTANTS(X)                                                                  \
    X(NONE, "nothing") \
    X(EVICT_IN_FLIGHT, "a sending context is evicted with packets under way") \
    X(EVICT_WITH_HOLES, "a receiving context is evicted with packets held or out of turn") \
    X(STUB_FORGOTTEN, "an evicted receiving context takes the stub's sequence with it") \
    X(ACK_UNCHECKED, "an acknowledgement's number is not looked at") \
    X(ACK_HELD, "packets that are only held are acknowledged as carried out") \
    X(ORDER_IGNORED, "packets take effect as they come") \
    X(TAKE_OUT_OF_TURN, "without a receiving context any packet is taken") \
    X(PIECES_COUNTED, "a packet in pieces counts as whole when enough of them have come") \
    X(PATH_ALWAYS_WIDE, "a packet that is too long for its path is sent again as it is") \
    X(REPLAY, "a packet that comes twice is carried out twice, atomics too") \
    X(OLD_SOURCE_BELIEVED, "packets of a peer's earlier life are believed") \
    X(OLD_TARGET_BELIEVED, "packets for an earlier life of this node are believed") \
    X(COUNTER_REPLAYED, "a packet whose counter has come before is believed") \
    X(ACK_REPLAYED, "an acknowledgement is believed as often as it comes, however old") \
    X(OTHER_GROUP_BELIEVED, "the group of a packet is not looked at") \
    X(UNAUTHENTIC_BELIEVED, "packets are believed without authentication") \
    X(ACK_AS_DONE, "a PULL is done when its requests are acknowledged, not when the data came") \
    X(FENCE_IGNORED, "a fence orders nothing") \
    X(FENCE_EARLY, "a fence does not wait for the records of transfers before it") \
    X(QUIET_EARLY, "a quiet does not wait until the targets have carried all out") \
    X(PASS_BLOCKED, "an operation may pass an earlier one to the same target") \
    X(STORES_UNORDERED, "stores are sent without their order") \
    X(HALF_REFUSED, "a packet without room for its replies is carried out in part, then again") \
    X(LOST_ATOMIC, "atomics that wait for a lost peer are forgotten") \
    X(LOCK_GRANT_TWICE, "a manager passes on a lock that its holder has given to the next") \
    X(LOCK_GRANT_ANY_USE, "a grant is taken for whatever use waits, not for the one it names") \
    X(LOCK_CANCEL_KEEPS, "a lock granted to a node that no longer waits is not passed on") \
    X(LOCK_DEATH_UNNOTED, "a holder's death does not pass the lock on") \
    X(BARRIER_ROOT_FORGETS_ITSELF, "a barrier's root does not wait for its own host") \
    X(BARRIER_BREAK_KEPT, "a node that hears that a team is broken does not pass it on") \
    X(MESSAGE_NACK_AS_ACK, "a refused message is taken for an accepted one") \
    X(MESSAGE_NEVER_ASKED, "a sender that was stopped is not asked to go on") \
    X(MESSAGE_SEQID_OF_OLD_LIFE, "SEQIDs of a restarted peer are to go on from its old life")

#define MUTANT_ENUM(name, text) MUTANT_##name,
enum base_mutant { MUTANTS(MUTANT_ENUM) MUTANT_COUNT };
#undef MUTANT_ENUM

#ifdef DN_MUTANTS
extern enum base_mutant base_mutant;
#define MUTANT(name) __builtin_expect(base_mutant == MUTANT_##name, 0)
#else
#define MUTANT(name) 0
#endif

/* For listing and choosing; NULL past the last. */
const char *base_mutant_name(unsigned mutant);
const char *base_mutant_text(unsigned mutant);

#endif
