/* Phases of a team by packets with death, leaving, giving up and shrinking (src/team/phase.c,
 * src/team/team_by_packets.c, src/group/team.c): three members, PHASES barriers.
 *
 * Every member has a block: what it knows of the others. A telling is one step for each of them,
 * so that it may be late, and a death cuts it anywhere. What is told is there, since a teller that
 * is slow does the same to the others as packets under way; but the arrival that a dead member told
 * last may come to some of them at any time after its death, and not to others. Each member learns
 * of a death or a leaving by itself: it may act on it from then on, and need not.
 *
 * The VICTIMS (a bit for each) may die before any of their steps. A member may leave between two
 * barriers or in the middle of one (LEAVES times in a run), and may give the team up likewise
 * (REVOKES), and whenever it knows of an end, which it may have heard of in another call. Whoever
 * cannot go on shrinks the team. The new team's own meeting is one shared word for each list, as in
 * place.
 *
 * Checked: nobody waits for ever (an invalid end state); all who live have passed the same phases
 * at the end, and differ by one at most if somebody gave up in the middle of a barrier; those who
 * shrink get the same team.
 *
 * The runs, and planted bugs, which the model finds: shrinking gives nothing up (one waits in the
 * barrier, one for it in shrinking); a member that left proves nothing; the doubters do not agree;
 * whoever passes does not look whether somebody has asked, or goes by its own block's word without
 * a look at the others'; giving up also ends what the giver has passed; an arrival that was taken
 * back never counts. The word of the own block needs four members and two victims, which have too
 * many states for a run that must find nothing.
 *
 * spin: -DVICTIMS=4 -DLEAVES=1
 * spin: -DVICTIMS=1 -DREVOKES=1
 * spin: -DREVOKES=1
 * spin: -DVICTIMS=6
 * spin-long: -DVICTIMS=4 -DLEAVES=1 -DREVOKES=1
 * spin-fails: -DVICTIMS=4 -DPHASES=1 -DKEEPS_TEAM
 * spin-fails: -DVICTIMS=4 -DLEAVES=1 -DPHASES=1 -DLEAVER_PROVES_NOTHING
 * spin-fails: -DVICTIMS=4 -DPHASES=1 -DNO_AGREEMENT
 * spin-fails: -DVICTIMS=4 -DPHASES=1 -DNO_MARK
 * spin-fails: -DVICTIMS=12 -DPHASES=1 -DMEMBERS=4 -DOWN_WORD
 * spin-fails: -DREVOKES=1 -DENDS_PASSED
 * spin-fails: -DREVOKES=1 -DNEVER_RESTORED */

#ifndef VICTIMS
#define VICTIMS 0
#endif
#ifndef LEAVES
#define LEAVES 0
#endif
#ifndef REVOKES
#define REVOKES 0
#endif
#ifndef PHASES
#define PHASES 2
#endif
#ifndef MEMBERS
#define MEMBERS 3
#endif

#define AT(block, member) ((block) * MEMBERS + (member))
/* The members behind this one in turn: not all begin with the first. */
#define NEXT(step) ((self + (step)) % MEMBERS)

/* The members' blocks: arrived, 1 + the last phase passed of one that gave up, left before it had
 * passed, and of one that is gone 0, ASKED, or SAID + what was agreed. */
byte arrived[MEMBERS * MEMBERS];
byte revoked[MEMBERS * MEMBERS];
bool left_waiting[MEMBERS * MEMBERS];
byte last[MEMBERS * MEMBERS];
#define ASKED 1
#define SAID 2

bool dead[MEMBERS];
bool gone[MEMBERS]; /* dead or left */
#define IS_GONE(m) gone[m]
bool ended[MEMBERS];
byte leaves_left = LEAVES;
byte revokes_left = REVOKES;

/* Shrinking: whose list is this, and what was said of it first. */
#define OPEN 0
#define MADE 1
#define GIVEN_UP 2
byte wanted[MEMBERS];
byte outcome[16];

/* For the checks only. */
byte passed[MEMBERS];
byte team[MEMBERS]; /* the survivors' list; 0: none */
bool gave_up_open;
bool forsook[MEMBERS]; /* left in the middle of a barrier */

/* What one member sees of the others, in one look. */
#define ANY(p) (p(0) || p(1) || p(2) || p(MEMBERS - 1))
#define ALL(p) (p(0) && p(1) && p(2) && p(MEMBERS - 1))
#define HAS_ARRIVED(m) (arrived[AT(self, m)] >= phase)
#define IS_LACKED(m) (IS_GONE(m) && !HAS_ARRIVED(m))
#define GAVE_UP(m) (revoked[AT(self, m)] != 0)
#define GAVE_UP_LATER(m) (revoked[AT(self, m)] > phase)
#define TOOK_BACK(m) (GAVE_UP(m) && !HAS_ARRIVED(m))
#ifdef LEAVER_PROVES_NOTHING
#define LEFT_LATER(m) false
#else
#define LEFT_LATER(m) (gone[m] && !dead[m] && !left_waiting[AT(self, m)] && HAS_ARRIVED(m))
#endif
#ifdef NO_MARK
#define IS_DOUBTED(m) false
#elif defined(OWN_WORD)
#define IS_DOUBTED(m) (last[AT(self, m)] != 0 && last[AT(self, m)] < SAID + phase)
#else
#define IS_DOUBTED(m) (last[AT(self, m)] != 0 && !(sure & (1 << (m))))
#endif
#define IS_BEYOND(m) (arrived[AT(self, m)] > phase)
#define WAS_PASSED (ANY(IS_BEYOND) || ANY(GAVE_UP_LATER) || ANY(LEFT_LATER))
#ifdef ENDS_PASSED
#define IS_REVOKED ANY(GAVE_UP)
#else
#define IS_REVOKED (ANY(GAVE_UP) && !ANY(GAVE_UP_LATER))
#endif
#ifdef NEVER_RESTORED
#define IS_TAKEN_BACK false
#else
#define IS_TAKEN_BACK ANY(TOOK_BACK)
#endif

inline may_die()
{
    if
    :: true -> skip
    :: atomic { is_mortal -> dead[self] = true; gone[self] = true };
        goto died
    fi
}

/* A step for each other member; what is told is set before. What was sent before a death comes
 * afterwards, or not. */
inline tell_arrival()
{
    arrived[AT(self, self)] = phase;
    other = 1;
    do
    :: other < MEMBERS ->
        if
        :: true -> skip
        :: atomic { is_mortal && !dead[self] -> dead[self] = true; gone[self] = true }
        fi;
        if
        :: d_step { true -> arrived[AT(NEXT(other), self)] = phase; other++ }
        :: d_step { dead[self] -> other++ }
        fi
    :: else -> other = 0; break
    od;
    if
    :: dead[self] -> goto died
    :: else -> skip
    fi
}

/* Gives up: `passed[self]` is the last phase, and an arrival beyond it is taken back. */
inline give_up()
{
    other = 0;
    do
    :: other < MEMBERS && !has_given_up ->
        may_die();
        d_step {
            if
            :: arrived[AT(other, self)] > passed[self] -> arrived[AT(other, self)] = passed[self]
            :: else -> skip
            fi;
            revoked[AT(other, self)] = passed[self] + 1;
            other++
        }
    :: else -> break
    od;
    has_given_up = true
}

/* Asks all who live about a member that is gone, each after a mark, then agrees with them. */
inline ask_about(missed)
{
    d_step {
        if
        :: last[AT(self, missed)] == 0 -> last[AT(self, missed)] = ASKED
        :: else -> skip
        fi;
        wish = SAID + arrived[AT(self, missed)];
        other = 1
    };
    do
    :: other < MEMBERS ->
        may_die();
        d_step {
            if
            :: !gone[NEXT(other)] && last[AT(NEXT(other), missed)] == 0 ->
                last[AT(NEXT(other), missed)] = ASKED
            :: else -> skip
            fi
        };
        d_step {
            if
            :: !gone[NEXT(other)] && SAID + arrived[AT(NEXT(other), missed)] > wish ->
                wish = SAID + arrived[AT(NEXT(other), missed)]
            :: else -> skip
            fi;
            other++
        }
    :: else -> break
    od;
    if
    :: WAS_PASSED && wish < SAID + phase -> wish = SAID + phase
    :: else -> skip
    fi;
#ifndef NO_AGREEMENT
    other = 0;
    do
    :: other < MEMBERS ->
        may_die();
        d_step {
            if
            :: gone[other] -> skip
            :: !gone[other] && last[AT(other, missed)] < SAID -> last[AT(other, missed)] = wish
            :: else -> wish = last[AT(other, missed)]
            fi;
            other++
        }
    :: else -> break
    od;
#else
    last[AT(self, missed)] = wish;
#endif
    arrived[AT(self, missed)] = wish - SAID
}

/* Waits for the phase; `is_over`: it cannot be passed. */
inline pass()
{
    do
    :: true ->
        may_die();
        if
        :: atomic {
                ALL(HAS_ARRIVED) && !ANY(IS_DOUBTED) ->
                passed[self] = phase
            };
            break
        :: atomic {
                ALL(HAS_ARRIVED) && ANY(IS_DOUBTED) ->
                missing = 0;
                do
                :: !IS_DOUBTED(missing) -> missing++
                :: else -> break
                od
            };
            ask_about(missing);
            if
            :: wish < SAID + phase -> wish = 0; is_over = true; break
            :: else -> wish = 0; sure = sure | (1 << missing)
            fi
        :: atomic { !ALL(HAS_ARRIVED) && IS_REVOKED -> is_over = true }; break
        :: atomic {
                ANY(IS_LACKED) && !IS_REVOKED ->
                missing = 0;
                do
                :: !IS_LACKED(missing) -> missing++
                :: else -> break
                od
            };
            ask_about(missing);
            wish = 0;
            if
            :: !HAS_ARRIVED(missing) -> is_over = true; break
            :: else -> skip
            fi
        :: d_step {
                !ANY(IS_LACKED) && !IS_REVOKED && IS_TAKEN_BACK ->
                other = 0;
                do
                :: other < MEMBERS ->
                    if
                    :: TOOK_BACK(other) -> arrived[AT(self, other)] = phase
                    :: else -> skip
                    fi;
                    other++
                :: else -> break
                od;
                other = 0
            }
        fi
    od
}

#define IS_LISTED(m) ((list & (1 << (m))) != 0)
#define HAS_COME(m) (!IS_LISTED(m) || wanted[m] == list)
#define CANNOT_COME(m) (IS_LISTED(m) && IS_GONE(m))

/* Tries lists of those who are there until one comes about. */
inline shrink()
{
    do
    :: true ->
        may_die();
        d_step {
            list = 0;
            other = 0;
            do
            :: other < MEMBERS ->
                if
                :: !IS_GONE(other) -> list = list | (1 << other)
                :: else -> skip
                fi;
                other++
            :: else -> break
            od;
            other = 0;
            wanted[self] = list
        };
        if
        /* All have come, and this one says so; or somebody is gone. */
        :: atomic {
                ALL(HAS_COME) ->
                if
                :: outcome[list] == OPEN -> outcome[list] = MADE
                :: else -> skip
                fi
            }
        :: atomic {
                ANY(CANNOT_COME) ->
                if
                :: outcome[list] == OPEN -> outcome[list] = GIVEN_UP
                :: else -> skip
                fi
            }
        fi;
        if
        :: outcome[list] == MADE -> team[self] = list; break
        :: else -> skip
        fi
    od
}

proctype member(byte self)
{
    byte phase = 0;
    byte other = 0;
    byte missing = 0;
    byte wish = 0;
    byte sure = 0; /* of whom this member has agreed with the others: a bit for each */
    byte list = 0;
    bool is_over = false;
    bool has_given_up = false;
    bool leaves = false;
    bool is_mortal = (VICTIMS >> self) & 1;

    do
    :: phase < PHASES && !is_over && !leaves ->
        /* Between two barriers. */
        if
        :: ANY(IS_GONE) -> is_over = true
        :: atomic { revokes_left > 0 -> revokes_left--; is_over = true }; give_up()
        :: atomic { leaves_left > 0 -> leaves_left--; leaves = true }
        :: true ->
            phase++;
            sure = 0;
            tell_arrival();
            if
            :: atomic { revokes_left > 0 -> revokes_left--; is_over = true };
                gave_up_open = true;
                give_up()
            :: atomic { leaves_left > 0 -> leaves_left--; leaves = true; forsook[self] = true };
                other = 0;
                do
                :: other < MEMBERS ->
                    may_die();
                    d_step { left_waiting[AT(other, self)] = true; other++ }
                :: else -> break
                od
            :: true -> pass()
            fi
        fi
    :: else -> break
    od;
    if
    :: is_over ->
#ifdef KEEPS_TEAM
        if
        :: revoked[AT(self, self)] != 0 -> give_up()
        :: else -> skip
        fi;
#else
        give_up();
#endif
        shrink()
    :: else ->
        /* Leaves in peace, and has told all that it did. */
        may_die();
        gone[self] = true
    fi;
died:
    ended[self] = true
}

active proctype check()
{
    byte self;
    byte one = 0;
    byte two;
    atomic {
        self = 0;
        do
        :: self < MEMBERS -> run member(self); self++
        :: else -> break
        od
    };
    (ended[0] && ended[1] && ended[2] && ended[MEMBERS - 1]);
    do
    :: one < MEMBERS ->
        two = 0;
        do
        :: two < MEMBERS ->
            if
            :: !dead[one] && !dead[two] && !forsook[one] && !forsook[two] ->
                assert(passed[one] == passed[two] ||
                       (gave_up_open && passed[one] <= passed[two] + 1 &&
                        passed[two] <= passed[one] + 1));
                assert(team[one] == 0 || team[two] == 0 || team[one] == team[two])
            :: else -> skip
            fi;
            two++
        :: else -> break
        od;
        one++
    :: else -> break
    od
}
