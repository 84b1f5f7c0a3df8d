/* C-ARQ (src/swif): node A sends operations to node B, one to a packet, over a network
 * that loses, duplicates and reorders; contexts are evicted and nodes restart meanwhile.
 * doc/infiniswif.md tells the protocol; the names here are those of that page.
 *
 * A's stub holds B's incarnation and the next sequence to use; its LTEE, the oldest
 * sequence that is not acknowledged, the stage, and what the receiver has beyond a gap.
 * B's stub holds A's incarnation and the next sequence expected; its RTEE, the bitmap and
 * the packets that are held until what they come after has been carried out.
 *
 * Time is left out: a time-out, an eviction, a loss or one more copy may happen at any
 * moment and any number of times, which includes all that clocks and caches could do. Only
 * operations, restarts and what is under way at once are bounded. Each network is a set:
 * to send what is under way already changes nothing, a packet that arrives may stay and
 * arrive again. B answers every packet at once; an answer that waits for company is one
 * that was lost, and so is a packet that the client refused. An operation is appended when
 * it is first sent, since in a queue it does nothing.
 *
 * Checked, whatever is evicted, lost, repeated or restarted:
 * - no operation is carried out twice, be it by one life of B or by two;
 * - one that is acknowledged has been carried out, one that was reported lost will not be
 *   any more;
 * - one in order takes effect after those that it was to come after;
 * - what the receiver said that it has is never missing later;
 * - when A sends its oldest packet or its greeting while nothing is under way, and nothing
 *   is lost from then on, it gets further: something is acknowledged, or reported lost, or
 *   a life is learned. So with fair loss everything comes to an end, and at the end every
 *   operation is acknowledged or lost.
 *
 * OPERATIONS to send; WINDOW of packets under way, 3 at most; STAGE_MAX 0 stop-and-wait, 1
 * go-back-N, 2 selective repeat; RESTARTS_A and RESTARTS_B; PACKETS and ANSWERS under way
 * at once; ORDERED, a bit for each operation that comes after all before it (`after` 1
 * with AFTER_ALL); CHAINED, for each that comes after the one before it only (`after` 1).
 *
 * spin: -DSTAGE_MAX=0 -DRESTARTS_A=1 -DRESTARTS_B=1
 * spin: -DSTAGE_MAX=1 -DRESTARTS_A=1 -DRESTARTS_B=1
 * spin: -DRESTARTS_A=1 -DRESTARTS_B=1 -DORDERED=10
 * spin: -DWINDOW=3 -DPACKETS=3 -DANSWERS=3 -DORDERED=4 -DCHAINED=8
 * spin: -DWINDOW=3 -DPACKETS=3 -DRESTARTS_B=1 -DCHAINED=14
 * spin-long: -DRESTARTS_A=1 -DRESTARTS_B=1 -DPACKETS=3 -DORDERED=10
 * spin-long: -DRESTARTS_A=1 -DRESTARTS_B=1 -DANSWERS=3 -DORDERED=10
 * spin-long: -DRESTARTS_A=1 -DRESTARTS_B=2 -DORDERED=12
 * spin-long: -DWINDOW=3 -DOPERATIONS=5 -DRESTARTS_B=1 -DPACKETS=3 -DORDERED=10 -DCHAINED=20
 *
 * Each of these leaves a rule out, and the model finds what it is there for. Contexts and
 * stubs: an LTEE or RTEE is evicted only when nothing of its own is under way or beyond a
 * gap; a stub outlives them; without an RTEE only the next sequence is taken.
 *
 * spin-fails: -DEVICT_IN_FLIGHT
 * spin-fails: -DEVICT_WITH_HOLES
 * spin-fails: -DEVICT_WITH_HOLES -DORDERED=15
 * spin-fails: -DSTUB_FORGOTTEN
 * spin-fails: -DTAKE_ANY_SEQUENCE
 *
 * Lives: a packet names both, and both are looked at in packets and in acknowledgements;
 * data goes only to a life that is known; who speaks to a life that is gone is told so.
 *
 * spin-fails: -DRESTARTS_B=1 -DTARGET_UNCHECKED
 * spin-fails: -DRESTARTS_A=1 -DSOURCE_UNCHECKED
 * spin-fails: -DRESTARTS_B=1 -DACK_SOURCE_UNCHECKED
 * spin-fails: -DRESTARTS_A=1 -DACK_TARGET_UNCHECKED
 * spin-fails: -DRESTARTS_B=1 -DNO_GREETING
 * spin-fails: -DRESTARTS_B=1 -DNO_RESTARTED
 *
 * Order and completion: what is held is not carried out yet, and not acknowledged; what
 * may be lost is sent again.
 *
 * spin-fails: -DORDERED=15 -DORDER_IGNORED
 * spin-fails: -DORDERED=15 -DACKNOWLEDGE_HELD
 * spin-fails: -DNO_TIMEOUT */

#ifndef OPERATIONS
#define OPERATIONS 4
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef STAGE_MAX
#define STAGE_MAX 2
#endif
#ifndef RESTARTS_A
#define RESTARTS_A 0
#endif
#ifndef RESTARTS_B
#define RESTARTS_B 0
#endif
#ifndef PACKETS
#define PACKETS 2
#endif
#ifndef ANSWERS
#define ANSWERS 2
#endif
#ifndef ORDERED
#define ORDERED 0
#endif
#ifndef CHAINED
#define CHAINED 0
#endif

#define STOP_AND_WAIT 0
#define BIT(n) (1 << (n))
#define HAS(mask, n) (((mask) >> (n)) & 1)

/* A packet: a greeting (target incarnation 0, no operation) or data. */
#define NOTHING 7
#define PACKET(source, target, sequence, operation)                                       \
    ((source) | (target) << 2 | (sequence) << 4 | (operation) << 7)
#define PACKET_SOURCE(p) ((p) & 3)
#define PACKET_TARGET(p) ((p) >> 2 & 3)
#define PACKET_SEQUENCE(p) ((p) >> 4 & 7)
#define PACKET_OPERATION(p) ((p) >> 7)

/* An answer: who gives it, to which life of A, and for an ACK what it says. */
#define ACK 0
#define WELCOME 1
#define RESTARTED 2
#define ANSWER(kind, source, target, next, stage, bitmap)                                 \
    ((kind) | (source) << 2 | (target) << 4 | (next) << 6 | (stage) << 9 | (bitmap) << 11)
#define ANSWER_KIND(p) ((p) & 3)
#define ANSWER_SOURCE(p) ((p) >> 2 & 3)
#define ANSWER_TARGET(p) ((p) >> 4 & 3)
#define ACK_NEXT(p) ((p) >> 6 & 7)
#define ACK_STAGE(p) ((p) >> 9 & 3)
#define ACK_BITMAP(p) ((p) >> 11)

/* Sorted, so that a set is one state whatever the order of sending. */
chan packets = [PACKETS] of { short };
chan answers = [ANSWERS] of { short };

/* Node A. */
byte life_a = 1;
byte known_b; /* stub: B's incarnation; 0: never heard of */
byte use;     /* stub: the next sequence to use */
bool ltee;
byte stage;  /* LTEE */
byte base;   /* LTEE: the oldest sequence not acknowledged; `use`: none is under way */
byte marked; /* LTEE: bit s: s > base is with the receiver, and not sent again */
byte first;  /* the operation that has sequence 0 */

/* Node B. */
byte life_b = 1;
byte known_a; /* stub: A's incarnation; 0: never heard of */
byte next;    /* stub: all before this have been carried out */
bool rtee;
byte bitmap;                /* RTEE: bit s: s > next is here, carried out or held */
byte held;                  /* RTEE: bit s: it is held */
byte holds[OPERATIONS + 1]; /* RTEE: by sequence, which operation */

/* For the checks only; bit n: operation n. */
byte carried_out;
byte acknowledged;
byte lost;       /* reported to A's user */
byte forgotten;  /* by a life of A that is gone */
bool unanswered; /* A spoke while nothing was under way, and has not got further since */

/* Used within single steps and no part of the state. spin does not bring them back when it
 * takes back a d_step, so a d_step leaves alone what an atomic step chose before it. */
hidden short code, other;
hidden byte position, stays, sequence, operation;
hidden byte i, n; /* within a d_step only */

/* ---- The network ------------------------------------------------------------------ */

inline put(network, what)
{
    code = what;
    if
    :: network ?? [eval(code)] -> skip
    :: !(network ?? [eval(code)]) -> network !! code
    fi
}

/* Any one of them, into `code`; `stays`: it may come once more. */
inline pick(network, may_stay)
{
    position = 0;
    do
    :: position + 1 < len(network) -> position++
    :: break
    od;
    if
    :: stays = false
    :: may_stay -> stays = true
    fi;
    d_step {
        n = len(network);
        i = 0;
        do
        :: i < n ->
            network ? other;
            if
            :: i == position -> code = other
            :: else -> skip
            fi;
            if
            :: i != position || stays -> network ! other
            :: else -> skip
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        n = 0
    }
}

active proctype network()
{
end:
    do
    :: atomic { nempty(packets) -> pick(packets, false); unanswered = false }
    :: atomic { nempty(answers) -> pick(answers, false); unanswered = false }
    od
}

/* ---- Node A ----------------------------------------------------------------------- */

#define ALL_SENT (first + use == OPERATIONS)
#define ALL_ACKNOWLEDGED (!ltee || base == use)
#define MAY_SEND_AGAIN(s) (ltee && (s) < use && !HAS(marked, s) && nfull(packets))
#define SEND_LIMIT (stage == STOP_AND_WAIT -> 1 : WINDOW)

#ifdef NO_GREETING
#define MAY_SEND true
#else
#define MAY_SEND (known_b != 0)
#endif

#ifdef EVICT_IN_FLIGHT
#define LTEE_MAY_GO ltee
#else
#define LTEE_MAY_GO (ltee && base == use)
#endif

inline drop_ltee()
{
    ltee = false;
    stage = STOP_AND_WAIT;
    base = 0;
    marked = 0
}

/* Sequences from..to-1 of this stream, as a mask of operations. */
#define OPERATIONS_OF(from, to) ((BIT(to) - BIT(from)) << first)

inline start_stream()
{
    first = first + use;
    use = 0;
    drop_ltee()
}

inline send_data(s)
{
    put(packets, PACKET(life_a, known_b, s, first + s))
}

/* The next operation, in a packet that was never sent. */
inline send_new()
{
    if
    :: !ltee -> ltee = true; base = use
    :: else -> skip
    fi;
    send_data(use);
    use++
}

/* The oldest packet or a greeting must get A further, if nothing else is under way. */
inline must_be_answered()
{
    if
    :: empty(packets) && empty(answers) ->
        assert(!unanswered);
        unanswered = true
    :: nempty(packets) || nempty(answers) -> skip
    fi
}

/* B lives, in a life that was not known: what the one before had is lost. */
inline learn_b(life)
{
    if
    :: known_b != 0 ->
        if
        :: ltee -> lost = lost | OPERATIONS_OF(base, use)
        :: else -> skip
        fi;
        start_stream()
    :: else -> skip
    fi;
    known_b = life;
    unanswered = false
}

inline acknowledge(mask)
{
    assert((carried_out & (mask)) == (mask));
    acknowledged = acknowledged | (mask)
}

/* Any ACK of these two lives, however old, may be believed: `next` only grows, what is in
 * the bitmap stays, and a wrong stage costs time only. */
inline on_ack()
{
    n = ACK_NEXT(code);
    stage = ACK_STAGE(code);
    if
    :: n > base && n <= use ->
        acknowledge(OPERATIONS_OF(base, n));
        base = n;
        unanswered = false
    :: else -> skip
    fi;
    marked = (marked | ACK_BITMAP(code) << (n + 1)) & ~(BIT(base) - 1);
    assert(!HAS(marked, base));
#ifdef ACKNOWLEDGE_HELD
    acknowledge(marked << first);
#endif
    n = 0
}

inline on_answer()
{
    if
#ifdef ACK_TARGET_UNCHECKED
    :: ANSWER_TARGET(code) != life_a && ANSWER_KIND(code) != ACK -> skip
#else
    :: ANSWER_TARGET(code) != life_a -> skip
#endif
#ifndef ACK_SOURCE_UNCHECKED
    :: ANSWER_TARGET(code) == life_a && ANSWER_SOURCE(code) < known_b -> skip
#endif
    :: else ->
        if
        :: ANSWER_SOURCE(code) > known_b -> learn_b(ANSWER_SOURCE(code))
        :: else -> skip
        fi;
        if
        :: ANSWER_KIND(code) == ACK && ltee -> on_ack()
        :: else -> skip
        fi
    fi
}

inline restart_a()
{
    if
    :: ltee -> forgotten = forgotten | OPERATIONS_OF(base, use)
    :: else -> skip
    fi;
    start_stream();
    known_b = 0;
    life_a++;
    unanswered = false
}

active proctype node_a()
{
    do
    :: d_step {
            MAY_SEND && !ALL_SENT && nfull(packets) && (!ltee || use - base < SEND_LIMIT) ->
            send_new()
        }
    :: d_step {
            !MAY_SEND && !ALL_SENT && nfull(packets) ->
            must_be_answered();
            put(packets, PACKET(life_a, 0, 0, NOTHING))
        }
#ifndef NO_TIMEOUT
    :: d_step { MAY_SEND_AGAIN(base) -> must_be_answered(); send_data(base) }
    :: d_step { stage != STOP_AND_WAIT && MAY_SEND_AGAIN(base + 1) -> send_data(base + 1) }
    :: d_step { stage != STOP_AND_WAIT && MAY_SEND_AGAIN(base + 2) -> send_data(base + 2) }
#endif
    :: atomic { nempty(answers) -> pick(answers, true); d_step { on_answer() } }
    :: d_step { LTEE_MAY_GO -> drop_ltee() }
    :: d_step { life_a <= RESTARTS_A -> restart_a() }
    :: ALL_SENT && ALL_ACKNOWLEDGED -> break
    od;
    assert((acknowledged | lost | forgotten) == BIT(OPERATIONS) - 1)
}

/* ---- Node B ----------------------------------------------------------------------- */

#ifdef EVICT_WITH_HOLES
#define RTEE_MAY_GO rtee
#else
#define RTEE_MAY_GO (rtee && bitmap == 0)
#endif

inline drop_rtee()
{
    rtee = false;
    bitmap = 0;
    held = 0;
    i = 0;
    do
    :: i <= OPERATIONS -> holds[i] = 0; i++
    :: else -> break
    od;
    i = 0
}

/* The operations before o in the stream in which it has sequence s. */
#define BEFORE(s, o) ((BIT(s) - 1) << ((o) - (s)))

inline carry_out(s, o)
{
    assert(!HAS(carried_out, o));
    assert(!HAS(lost, o));
    if
    :: HAS(ORDERED, o) -> assert((carried_out & BEFORE(s, o)) == BEFORE(s, o))
    :: HAS(CHAINED, o) && s > 0 -> assert(HAS(carried_out, (o) - 1))
    :: else -> skip
    fi;
    carried_out = carried_out | BIT(o)
}

/* Carries out a packet, and those held that come after it and wait for nothing else. */
inline carry_out_all(s, o)
{
    carry_out(s, o);
    i = s;
    do
    :: true ->
        if
        :: i == next -> next++; bitmap = bitmap & ~BIT(i)
        :: else -> bitmap = bitmap | BIT(i)
        fi;
        i++;
        if
        :: HAS(held, i) && (i == next || !HAS(ORDERED, holds[i])) ->
            carry_out(i, holds[i]);
            held = held & ~BIT(i);
            holds[i] = 0
        :: else ->
            if
            :: i == next && HAS(bitmap, i) -> skip
            :: else -> break
            fi
        fi
    od;
    i = 0
}

#ifdef ORDER_IGNORED
#define MAY_TAKE_EFFECT true
#else
#define MAY_TAKE_EFFECT                                                                   \
    (!HAS(ORDERED, operation) &&                                                          \
        (!HAS(CHAINED, operation) || HAS(bitmap & ~held, sequence - 1)))
#endif

#ifdef TAKE_ANY_SEQUENCE
#define IS_TAKEN (sequence == next || (sequence > next && !rtee))
#else
#define IS_TAKEN (sequence == next)
#endif

/* A packet of both current lives. */
inline take()
{
    if
    :: IS_TAKEN ->
        d_step { next = sequence; carry_out_all(sequence, operation) }
    :: !IS_TAKEN && sequence > next && STAGE_MAX == 2 && rtee && !HAS(bitmap, sequence) ->
        assert(sequence < next + WINDOW);
        if
        :: MAY_TAKE_EFFECT ->
            d_step { carry_out_all(sequence, operation) }
        :: !MAY_TAKE_EFFECT ->
            bitmap = bitmap | BIT(sequence);
            held = held | BIT(sequence);
            holds[sequence] = operation
        :: true -> skip /* no room; it will come again */
        fi
    :: else -> skip
    fi
}

#define STAGE (rtee -> STAGE_MAX : STOP_AND_WAIT)

#ifdef SOURCE_UNCHECKED
#define SOURCE_IS_OLD false
#else
#define SOURCE_IS_OLD (PACKET_SOURCE(code) < known_a)
#endif

#ifdef TARGET_UNCHECKED
#define TARGET_IS_GONE false
#elif defined(NO_GREETING)
#define TARGET_IS_GONE (PACKET_TARGET(code) != 0 && PACKET_TARGET(code) != life_b)
#else
#define TARGET_IS_GONE (PACKET_TARGET(code) != life_b)
#endif

/* A lives, in a life that was not known: its sequences start anew. */
inline learn_a(life)
{
    known_a = life;
    next = 0;
    drop_rtee()
}

inline on_packet()
{
    if
    :: SOURCE_IS_OLD -> skip
    :: else ->
        if
        :: PACKET_SOURCE(code) > known_a -> d_step { learn_a(PACKET_SOURCE(code)) }
        :: else -> skip
        fi;
        sequence = PACKET_SEQUENCE(code);
        operation = PACKET_OPERATION(code);
        if
        :: operation == NOTHING ->
            put(answers, ANSWER(WELCOME, life_b, known_a, 0, 0, 0))
        :: operation != NOTHING && TARGET_IS_GONE ->
#ifdef NO_RESTARTED
            skip
#else
            put(answers, ANSWER(RESTARTED, life_b, known_a, 0, 0, 0))
#endif
        :: else ->
            if
            :: !rtee && STAGE_MAX > STOP_AND_WAIT -> rtee = true
            :: true -> skip /* every context is in use, or it was registered before */
            fi;
            take();
            put(answers, ANSWER(ACK, life_b, known_a, next, STAGE, bitmap >> (next + 1)))
        fi
    fi
}

inline restart_b()
{
    learn_a(0);
    life_b++;
    unanswered = false
}

active proctype node_b()
{
end:
    do
    :: atomic { nempty(packets) && nfull(answers) -> pick(packets, true); on_packet() }
    :: d_step {
            RTEE_MAY_GO ->
            drop_rtee();
#ifdef STUB_FORGOTTEN
            next = 0
#endif
        }
    :: d_step { life_b <= RESTARTS_B -> restart_b() }
    od
}
