/* LOCK as paper 004 has it (src/nic/service_lock_chain.c): three requesters and a manager, records
 * between two of them in order, between others in any order. Each requester asks USES times, when
 * it likes, and releases when it likes.
 *
 * Checked: never two holders; the lock goes in the order in which the manager heard the requests;
 * no record comes that a structure does not expect; and no state in which somebody waits for ever
 * (an invalid end state).
 *
 * The runs; NO_BIT leaves out the bit `here` of one that was LAST and asks again, and the model
 * then finds two that wait for each other:
 *
 * spin: -DUSES=1
 * spin: -DUSES=2
 * spin: -DUSES=3
 * spin-long: -DUSES=6
 * spin-fails: -DUSES=2 -DNO_BIT */

#ifndef USES
#define USES 2
#endif
#define PROCESSES 3
#define NOBODY 255
#define WIRE 4 /* records under way to one requester, far more than can be */

mtype = { REQUEST, FORWARD, REPLY };
mtype = { NONE, WAIT, LOCK, QUEUED, LAST };

/* Requests are in order for each requester, as it has one under way at a time; what the manager
 * sends to a requester is in order; lock_reply comes from the other requesters. */
chan to_manager = [PROCESSES] of { byte };
chan from_manager[PROCESSES] = [WIRE] of { mtype, byte };
chan replies[PROCESSES] = [1] of { bit };

/* For the checks only. */
byte holders;
byte order[PROCESSES]; /* of the request that is under way */
byte newest;           /* the order of the last holder */
byte arrivals;

active proctype manager()
{
    byte last_proc = NOBODY;
    byte requester;

end:
    do
    :: atomic {
            to_manager ? requester ->
            arrivals++;
            order[requester] = arrivals;
            if
            :: last_proc == NOBODY -> from_manager[requester] ! REPLY, NOBODY
            :: else -> from_manager[last_proc] ! FORWARD, requester
            fi;
            last_proc = requester
        }
    od
}

inline take_lock()
{
    here = true;
    if
    :: condition == WAIT -> condition = LOCK
    :: else
    fi;
    assert(holders == 0);
    holders++;
    assert(order[self] == newest + 1);
    newest = order[self];
    holds = true
}

inline hand_on(to)
{
    here = false;
    replies[to] ! 1
}

proctype requester(byte self)
{
    mtype condition = NONE;
    mtype type;
    byte next = NOBODY;
    byte other;
    byte uses = 0;
    bool here = false;
    bool holds = false;

    do
    :: atomic {
            uses < USES && (condition == NONE || condition == LAST) ->
            uses++;
            condition = WAIT;
#ifdef NO_BIT
            here = false;
#endif
            to_manager ! self
        }
    :: atomic {
            holds ->
            holds = false;
            holders--;
            if
            :: condition == LOCK -> condition = LAST
            :: condition == QUEUED ->
                condition = NONE;
                other = next;
                next = NOBODY;
                hand_on(other)
            fi
        }
    :: atomic {
            replies[self] ? 1 ->
            assert((condition == WAIT || condition == QUEUED) && !here);
            take_lock()
        }
    :: atomic {
            from_manager[self] ? type, other ->
            if
            :: type == REPLY -> take_lock()
            :: type == FORWARD && condition == WAIT && here ->
                if
                :: other == self -> take_lock()
                :: else -> hand_on(other)
                fi
            :: type == FORWARD && condition == LAST ->
                condition = NONE;
                hand_on(other)
            :: type == FORWARD && ((condition == WAIT && !here) || condition == LOCK) ->
                condition = QUEUED;
                next = other
            :: type == FORWARD && (condition == NONE || condition == QUEUED) -> assert(false)
            fi
        }
    :: uses == USES && (condition == NONE || condition == LAST) -> goto done
    od;
done:
    /* Its NIC still answers. */
end_done:
    do
    :: atomic {
            from_manager[self] ? type, other ->
            assert(type == FORWARD && condition == LAST);
            condition = NONE;
            hand_on(other)
        }
    od
}

init {
    atomic {
        run requester(0);
        run requester(1);
        run requester(2)
    }
}
