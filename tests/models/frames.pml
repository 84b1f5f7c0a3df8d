/* The retransmission of frames over one link (src/sim/frames.c): every frame is taken exactly
 * once and in order, whatever is lost, and the two ends never resend for ever. The names are
 * those of frames.h; numbers wrap after NUMBERS, and each frame carries what it is, so that an
 * old one taken for a new one is seen.
 *
 * An answer is sent at any moment after it is due, which includes any ack_frames and ack_cycles;
 * what comes meanwhile is said in one. Two kinds of runs:
 *
 * ANY: frames and answers may be lost, and the timer fires, at any moment and any number of
 * times. That includes links that die and return: all on them is lost, and the sender goes back.
 * Checked: nothing is taken twice or out of order, and what is acknowledged was taken.
 *
 * Else LOSSES are lost, wherever it hurts most, and the timer fires only when it is needed: when
 * nothing is under way. Checked as well: all frames come and are acknowledged, and no more
 * are sent than one window for each loss. So nothing is sent for ever.
 *
 * spin:
 * spin: -DLOSSES=4
 * spin: -DWINDOW=4 -DWIRE=4 -DFRAMES=9 -DLOSSES=2
 * spin: -DANY
 * spin: -DANY -DWINDOW=3 -DFRAMES=8
 * spin-long: -DWINDOW=4 -DWIRE=5 -DFRAMES=9 -DLOSSES=4
 * spin-long: -DANY -DWINDOW=3 -DWIRE=3 -DFRAMES=8
 *
 * Each of these leaves a rule out, and the model finds what it is there for. LITERAL is the
 * paper's own rules: after one loss 250 frames are sent for 6, and there is no end.
 *
 * spin-fails: -DLITERAL -DWINDOW=4 -DWIRE=4 -DLOSSES=1 -DLIMIT=250
 * spin-fails: -DNO_TIMER
 * spin-fails: -DDUPLICATES_SILENT -DLIMIT=250
 * spin-fails: -DDUPLICATES_NACKED
 * spin-fails: -DWINDOW=4 -DWIRE=4 -DNACK_EACH
 * spin-fails: -DANY -DNUMBERS=2 */

#ifndef FRAMES
#define FRAMES 6
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef NUMBERS
#define NUMBERS (2 * WINDOW)
#endif
#ifndef WIRE
#define WIRE 2 /* frames, and answers, that are under way at once */
#endif
#ifndef LOSSES
#define LOSSES 3
#endif

#ifndef LIMIT
#define LIMIT (FRAMES + WINDOW * LOSSES)
#endif

/* A number's distance from another, upwards. */
#define DISTANCE(number, from) ((number + NUMBERS - (from) % NUMBERS) % NUMBERS)

mtype = { ACK, NACK };

chan data = [WIRE] of { byte, byte };     /* number, content */
chan answers = [WIRE] of { mtype, byte }; /* the number of the first frame that has not come */

byte taken = 0; /* frames; the next expected one's content */
bool ack_due = false;
bool nack_due = false;
byte losses = 0;
byte transmissions = 0;

#ifdef ANY
#define SEND(channel, one, two) if :: skip :: channel ! one, two fi
#define COUNT skip
#else
#define SEND(channel, one, two) if :: losses < LOSSES -> losses++ :: channel ! one, two fi
#define COUNT transmissions++; assert(transmissions <= LIMIT)
#endif

#define TRANSMIT(frame) COUNT; SEND(data, (frame) % NUMBERS, frame)

#ifndef LITERAL

active proctype sender()
{
    byte oldest = 0;
    byte next = 0;
    byte sent = 0;
    byte number;
    byte good;
    mtype type;

    do
    :: oldest == FRAMES -> break
    :: next < FRAMES && next - oldest < WINDOW && nfull(data) ->
        atomic {
            TRANSMIT(next);
            next++;
            if
            :: sent < next -> sent = next
            :: else
            fi
        }
#ifndef NO_TIMER
#ifdef ANY
    :: oldest < sent -> next = oldest
#else
    :: oldest < sent && (next == FRAMES || next - oldest == WINDOW) && empty(data) &&
        empty(answers) && !ack_due && !nack_due -> next = oldest
#endif
#endif
    :: atomic {
            answers ? type, number ->
            good = DISTANCE(number, oldest);
            if
            :: good <= sent - oldest ->
                good = oldest + good;
                oldest = good;
                if
                :: type == NACK || next < good -> next = good
                :: else
                fi
            :: else
            fi;
            number = 0;
            good = 0
        }
    od;
    assert(taken == FRAMES)
}

active proctype receiver()
{
    byte number;
    byte content;
    byte distance;
    byte beyond = 0; /* in a gap: how far the newest is from the missing one; else 0 */

end:
    do
    :: atomic {
            data ? number, content ->
            distance = DISTANCE(number, taken);
            if
            :: distance == 0 ->
                assert(content == taken);
                taken++;
                beyond = 0;
                nack_due = false;
                ack_due = true
            :: distance != 0 && distance >= NUMBERS - WINDOW ->
#ifdef DUPLICATES_NACKED
                nack_due = true
#elif defined(DUPLICATES_SILENT)
                skip
#else
                ack_due = true
#endif
            :: distance != 0 && distance < NUMBERS - WINDOW ->
                if
#ifdef NACK_EACH
                :: true -> nack_due = true
#else
                :: beyond == 0 || distance <= beyond -> nack_due = true
                :: else
#endif
                fi;
                beyond = distance
            fi;
            number = 0;
            content = 0;
            distance = 0
        }
    :: atomic {
            (ack_due || nack_due) && nfull(answers) ->
            if
            :: nack_due -> SEND(answers, NACK, taken % NUMBERS)
            :: else -> SEND(answers, ACK, taken % NUMBERS)
            fi;
            ack_due = false;
            nack_due = false
        }
    od
}

#else

#ifndef THRESHOLD
#define THRESHOLD 6
#endif

/* The paper's section 5.4.4, word by word. It may wait for ever for what nobody sends; here only
 * endless sending counts. */
active proctype sender()
{
    byte oldest = 0;
    byte next = 0;
    byte again = 0;
    byte again_end = 0;
    byte number;
    byte good;
    mtype type;

end:
    do
    :: again < again_end && nfull(data) ->
        atomic { TRANSMIT(again) };
        again++
    :: again == again_end && next < FRAMES && next - oldest < WINDOW && nfull(data) ->
        atomic { TRANSMIT(next) };
        next++
    :: again == again_end && nempty(answers) ->
        atomic {
            answers ? type, number;
            good = DISTANCE(number, oldest);
            if
            :: type == ACK -> oldest = oldest + good; again = oldest; again_end = oldest
            :: type == NACK && oldest + good < next -> again = oldest; again_end = oldest + good + 1
            :: else -> again = oldest; again_end = next
            fi
        }
    od
}

active proctype receiver()
{
    byte number;
    byte content;
    byte count = 0;

end:
    do
    :: atomic {
            data ? number, content ->
            if
            :: number == taken % NUMBERS ->
                assert(content == taken);
                taken++;
                count++;
                if
                :: count >= THRESHOLD && nfull(answers) -> answers ! ACK, taken % NUMBERS
                :: else
                fi
            :: number != taken % NUMBERS && nfull(answers) -> answers ! NACK, taken % NUMBERS
            :: else
            fi
        }
    od
}

#endif
