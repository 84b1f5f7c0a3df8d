/* LOCK with death (src/group/lock.c): three requesters, each shared access one step.
 *
 * Every use of a record is a ticket of its own here, which stands for the sequence in the
 * code. A use that is over counts as Last; a record that is let go is used again at once
 * (the worst that can happen), so letting go makes it OVER.
 *
 * A process may die before any of its steps, DEATHS times in a run; the launcher then
 * announces it in two steps, the life and the count of changes, at any later time. A
 * waiter looks who is gone when it enters, when the count has changed, and when it has
 * gone past somebody; it may stop waiting at any time, TIMEOUTS times in a run. Hints and
 * waking are left out: every waiter polls.
 *
 * Checked: never two holders alive; the lock goes in the order of the queue; and no state
 * in which somebody alive waits for ever (an invalid end state).
 *
 * The runs; NO_SECOND_LOOK leaves out the look after going past somebody, and the model
 * then finds the waiter that nobody tells of the death:
 *
 * spin: -DDEATHS=1 -DTIMEOUTS=1
 * spin: -DDEATHS=2 -DTIMEOUTS=1
 * spin: -DDEATHS=1 -DTIMEOUTS=2
 * spin-long: -DDEATHS=0 -DTIMEOUTS=1 -DUSES=2
 * spin-fails: -DDEATHS=1 -DTIMEOUTS=1 -DNO_SECOND_LOOK */

#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1
#endif
#ifndef USES
#define USES 1
#endif
#define PROCESSES 3
#define TICKETS (PROCESSES * USES + 1)
#define OWNER(ticket) (((ticket) - 1) / USES)

#define OVER 0 /* also: none at all */
#define WAIT 1
#define LOCK 2
#define LAST 3
#define ABANDONED 4
#define IS_LAST(s) ((s) == LAST || (s) == OVER)

byte last_proc;
byte state[TICKETS];
byte prev[TICKETS];
bool dead[PROCESSES];      /* stopped moving */
bool announced[PROCESSES]; /* its life says so */
byte changes;
byte deaths_left = DEATHS;
byte timeouts_left = TIMEOUTS;

/* For the checks only. */
byte holders; /* alive */
bool holding[PROCESSES];
byte order[TICKETS]; /* place in the queue by ticket */
byte arrivals;
byte newest; /* the last place that had the lock */

inline stop_holding()
{
    if
    :: holding[self] -> holding[self] = false; holders--
    :: else -> skip
    fi
}

inline may_die()
{
    if
    :: true -> skip
    :: atomic {
            deaths_left > 0 ->
            deaths_left--;
            dead[self] = true;
            stop_holding()
        };
        goto died
    fi
}

/* In the very step that makes it Lock. */
inline hold()
{
    assert(holders == 0);
    assert(order[ticket] > newest);
    newest = order[ticket];
    holding[self] = true;
    holders++;
    done = true
}

/* prev and a compare-swap on last_proc; `appended` when it stood there. */
inline append(takes)
{
    may_die();
    prev[ticket] = expected;
    may_die();
    atomic {
        appended = last_proc == expected;
        if
        :: appended ->
            last_proc = ticket;
            arrivals++;
            order[ticket] = arrivals;
            if
            :: takes -> hold()
            :: else -> skip
            fi
        :: else -> expected = last_proc
        fi
    }
}

inline go_past()
{
    may_die();
    further = prev[before];
    may_die();
    prev[ticket] = further;
    may_die();
    atomic {
        if
        :: state[before] == ABANDONED -> state[before] = OVER
        :: else -> skip
        fi
    };
    before = further
}

/* group_lock_granted */
inline granted()
{
    before = prev[ticket];
    do
    :: true ->
        may_die();
        found = state[before];
        if
        :: found == ABANDONED -> go_past(); went_past = true
        :: else -> break
        fi
    od;
    if
    :: IS_LAST(found) ->
        may_die();
        atomic { state[ticket] = LOCK; hold() }
    :: else -> skip
    fi
}

/* group_lock_inherit */
inline inherit()
{
    do
    :: true ->
        granted();
        if
        :: done -> break
        :: else -> skip
        fi;
        before = prev[ticket];
        may_die();
        if
        :: !announced[OWNER(before)] -> went_past = false; break
        :: else -> skip
        fi;
        may_die();
        found = state[before];
        if
        :: found == LOCK ->
            may_die();
            atomic { state[ticket] = LOCK; hold(); break }
        :: found == WAIT -> go_past()
        :: else -> skip
        fi
    od
}

proctype requester(byte self)
{
    byte ticket, expected, before, further, found, seen, use;
    bool appended, done, went_past;
    do
    :: use == USES -> break
    :: else ->
        /* The use before is over, unless it was abandoned: then another record serves. */
        atomic {
            if
            :: use > 0 && state[ticket] == LAST -> state[ticket] = OVER
            :: else -> skip
            fi;
            ticket = self * USES + use + 1;
            use++;
            done = false;
            went_past = false;
            appended = false
        };
        seen = changes;
        may_die();
        expected = last_proc;
        may_die();
        if
        :: IS_LAST(state[expected]) ->
            /* group_lock_take_again, and whoever else may find it free */
            may_die();
            state[ticket] = LOCK;
            append(true)
        :: else -> skip
        fi;
        if
        :: !appended ->
            /* group_lock_enqueue */
            may_die();
            atomic { state[ticket] = WAIT; expected = last_proc };
            do
            :: !appended -> append(false)
            :: else -> break
            od;
            inherit();
            do
            :: done -> break
            :: !done && IS_LAST(state[prev[ticket]]) -> granted()
            :: !done && state[prev[ticket]] == ABANDONED -> granted()
            :: !done && changes != seen -> seen = changes; inherit()
#ifndef NO_SECOND_LOOK
            :: !done && went_past -> inherit()
#endif
            :: atomic { !done && timeouts_left > 0 -> timeouts_left-- };
                granted();
                may_die();
                if
                :: !done -> state[ticket] = ABANDONED; goto next_use
                :: else -> skip
                fi
            :: atomic {
                    !done && deaths_left > 0 ->
                    deaths_left--;
                    dead[self] = true
                };
                goto died
            od
        :: else -> skip
        fi;
        /* group_lock_give */
        may_die();
        atomic { state[ticket] = LAST; stop_holding() };
next_use:
        skip
    od;
died:
    skip
}

/* Announces deaths some time after they happen, the life before the count. */
proctype launcher()
{
end_none:
    do
    :: dead[0] && !announced[0] -> announced[0] = true; changes++
    :: dead[1] && !announced[1] -> announced[1] = true; changes++
    :: dead[2] && !announced[2] -> announced[2] = true; changes++
    od
}

init {
    atomic {
        run launcher();
        run requester(0);
        run requester(1);
        run requester(2)
    }
}
