/* Modified ACK/NACK between one sender and one receiver (src/nic/message_sender.c and
 * message_receiver.c): every message is delivered exactly once and in order, and the two
 * never wait for each other.
 *
 * Time is left out: back-off and time-outs may happen at any moment, which includes all
 * that clocks could do. NO_TIMEOUT leaves them out: the model then finds the deadlock that
 * a loss leads to. The runs:
 *
 * spin:
 * spin: -DRESEND_REQUEST
 * spin: -DLOSS
 * spin: -DRESEND_REQUEST -DLOSS
 * spin-fails: -DLOSS -DNO_TIMEOUT */

#ifdef LOSS
#define MESSAGES 3
#define WIRE 2
#else
#define MESSAGES 5
#define WIRE 4
#endif
#define ENTRIES 3 /* SENDTBL */
#define ROOM 1    /* RB, in messages */

mtype = { ACK, NACK, STOP, RESEND };
mtype = { FLOWING, RESENDING, PAUSED };
mtype = { TAKING, REFUSING };

chan data = [WIRE] of { byte };
chan answers = [WIRE] of { mtype, byte };
chan stored = [ROOM] of { byte };

byte read = 0; /* messages that the host has got */
bool acked_all = false;

#ifdef LOSS
#define SEND_DATA(n) if :: data ! n :: skip fi
#define ANSWER(type, n) if :: nfull(answers) -> answers ! type, n :: skip fi
#else
#define SEND_DATA(n) data ! n
#define ANSWER(type, n) answers ! type, n
#endif

active proctype sender()
{
    byte acked = 0;
    byte unsent = 0;
    byte sent = 0;
    byte next = 0;
    byte nacked = 0;
    byte n;
    mtype flow = FLOWING;
    mtype type;

    do
    :: acked == MESSAGES -> break
    :: next < MESSAGES && next - acked < ENTRIES -> next++
    :: nfull(data) && ((flow == FLOWING && unsent < next) || (flow == RESENDING && unsent < sent)) ->
        atomic {
            SEND_DATA(unsent);
            unsent++;
            if
            :: sent < unsent -> sent = unsent
            :: else
            fi
        }
#if defined(LOSS) && !defined(NO_TIMEOUT)
    :: acked < sent && (unsent == sent || flow == PAUSED) -> /* a time-out */
        atomic {
            flow = RESENDING;
            nacked = acked;
            unsent = acked
        }
#endif
    :: answers ? type, n ->
        atomic {
            /* An answer tells that all before it were taken; an ACK, that it was, too. */
            if
            :: type == ACK -> n++
            :: else
            fi;
            if
            :: n > acked && n <= sent ->
                acked = n;
                if
                :: unsent < acked -> unsent = acked
                :: else
                fi;
                if
                :: flow != FLOWING && acked > nacked -> flow = FLOWING
                :: else
                fi
            :: else
            fi;
            if
            :: type != ACK && n >= acked && n < sent ->
                nacked = n;
                unsent = n;
                if
                :: type == STOP -> flow = PAUSED
                :: else -> flow = RESENDING
                fi
            :: else
            fi
        }
    od;
    acked_all = true;
    assert(sent == MESSAGES && next == MESSAGES);
    /* Whatever is still under way, the host gets all; else this is a deadlock. */
    read == MESSAGES
}

/* At most one answer of each kind is due; they go out when there is room for them. */
active proctype receiver()
{
    byte expected = 0;
    byte n;
    mtype intake = TAKING;
    bool stopped = false;
    bool ack_due = false;
    bool nack_due = false;
    bool resend_due = false;

end:
    do
    :: data ? n ->
        atomic {
            if
            :: n == expected && nfull(stored) ->
                stored ! n;
                expected++;
                intake = TAKING;
                ack_due = true;
                nack_due = false;
                resend_due = false;
                stopped = false
            :: n == expected && full(stored) ->
                intake = REFUSING;
                nack_due = true;
                resend_due = false;
#ifdef RESEND_REQUEST
                stopped = true
#endif
            :: n < expected ->
#ifdef LOSS
                ack_due = true
#else
                assert(false) /* a reliable network and a NACK never bring one twice */
#endif
            :: n > expected ->
#ifdef LOSS
                if
                :: intake == TAKING -> intake = REFUSING; nack_due = true; resend_due = false
                :: else
                fi
#else
                assert(intake == REFUSING)
#endif
            fi
        }
    :: atomic {
            ack_due && nfull(answers) ->
            ack_due = false;
            ANSWER(ACK, (expected - 1))
        }
    :: atomic {
            !ack_due && nack_due && nfull(answers) ->
            nack_due = false;
            if
            :: stopped -> ANSWER(STOP, expected)
            :: else -> ANSWER(NACK, expected)
            fi
        }
    :: atomic {
            !ack_due && !nack_due && resend_due && nfull(answers) ->
            resend_due = false;
            ANSWER(RESEND, expected)
        }
    :: atomic {
            /* One that was not told to stop yet is told to go on instead. */
            stopped && nfull(stored) ->
            stopped = false;
            resend_due = !nack_due
        }
    od
}

active proctype host()
{
    byte n;

end:
    do
    :: atomic {
            stored ? n ->
            assert(n == read);
            read++
        }
    od
}

/* Whoever has all acknowledged has had all stored. */
active proctype monitor()
{
end:
    acked_all -> assert(read + len(stored) == MESSAGES)
}
