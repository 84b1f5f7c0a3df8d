/* The state of a run of real programs, private to this folder. */
#ifndef SIM_PROGRAM_STATE_H
#define SIM_PROGRAM_STATE_H

#include <limits.h>
#include <stdlib.h>

#include "sim/program/program.h"
#include "sim/program/spans.h"
#include "swif/swif.h"

#define PROGRAM_NAP_NS 2000000
#define PROGRAM_COMPUTE_NS_MAX (UINT64_MAX / 1000000)

#define PROGRAM_LONG_YIELD_NS UINT64_C(200000)

/* Of waiting for threads: a pause is short enough that one which knocks gets its turn soon. */
#define PROGRAM_PAUSE_NS UINT64_C(100000)
#define PROGRAM_SHORT_PAUSE_NS UINT64_C(20000)

#define PROGRAM_FAR_PS UINT64_C(1000000000) /* so much time does not pass without a second look */

enum { PROGRAM_YIELDS = 100, PROGRAM_TURNS_WITHOUT = 1000 };

/* A step that the program has said, and the packets that belong to it. */
struct program_step {
    uint16_t word;
    uint16_t detail;
    uint64_t value;
    struct sim_parcels parcels;
    /* For the journal. */
    uint32_t peer; /* of its last packet, or JOURNAL_NOBODY */
    uint64_t print;
};

/* ABSENT -> STEPS <-> WAITS -> LEFT or DEAD. */
enum program_state { PROGRAM_ABSENT, PROGRAM_STEPS, PROGRAM_WAITS, PROGRAM_LEFT, PROGRAM_DEAD };

/* What is to be done at an event of a seat's own; the wait's number stands above these bits. */
enum program_call {
    PROGRAM_CALL_WAKE,    /* a notice has come for a program that waits */
    PROGRAM_CALL_SERVE,   /* its NIC has work */
    PROGRAM_CALL_TIMEOUT, /* of a wait */
    PROGRAM_CALL_LIFE,    /* the others learn that it has left or died */
    PROGRAM_CALL_KILL,    /* the plan's death */
    PROGRAM_CALL_CORE,    /* its core has switched to it */
};
enum { PROGRAM_CALL_BITS = 8 };

enum { PROGRAM_ENDED_WELL = 1, PROGRAM_ENDED_BADLY };

struct program_seat {
    struct sim_programs *programs;
    uint32_t rank;
    struct turn_page *page;
    enum program_state state;
    struct program_step *steps; /* of the last turn; those before step_at are done */
    uint32_t step_count, step_at, step_room;
    enum turn_word closing; /* what it does when they are */
    uint64_t closing_value;
    uint64_t wait_since_ps; /* its reads in a row began then; UINT64_MAX: it does not wait */
    uint32_t wait_number;
    uint32_t known_in;  /* the number of a wait in which all threads were known */
    uint32_t called;    /* a bit for each enum program_call that is due now */
    int32_t process;    /* read once when it attached, and one of our descendants; 0: not known */
    uint32_t core_next; /* the rank behind it in the row for its core; PROGRAM_NOBODY: none */
    bool is_in_row;     /* for its core */
    bool is_knocked;
    uint64_t knocked_ps;   /* when it was last, in virtual time */
    bool is_sure;          /* all of its threads wait, and have looked since they all did */
    bool has_news;         /* its NIC has taken something in that the program has not looked at */
    bool is_warned;        /* that it loops */
    uint64_t ticks_before; /* CPU time of its process when it was watched first in this turn */
    enum sim_program_doing account; /* where the time that passes now belongs */
    uint64_t account_from_ps;
    struct sim_program_times times;
    struct sim_program_spans spans;
    _Atomic uint32_t ended; /* by the launcher: how its process ended; 0: it has not */
};

/* A core that several nodes share. */
struct program_core {
    uint32_t holder;      /* the rank that runs, or that it switches to; PROGRAM_NOBODY: none */
    uint32_t last;        /* the rank that ran last */
    uint32_t first, tail; /* of the row of ranks that want it */
    uint64_t since_ps;    /* when the holder got it */
};
#define PROGRAM_NOBODY UINT32_MAX

struct program_traffic {
    uint64_t packets, bytes;
};

struct sim_programs {
    struct sim_programs_config config;
    struct sim_outside outside;
    struct sim_world *world;
    struct program_seat *seats;
    struct program_traffic *traffic; /* [from * nodes + to] */
    struct sim_death *deaths;
    bool is_in_place;           /* the machine has no NIC (sim/model/in_place.h) */
    struct program_core *cores; /* NULL: each node has its own */
    uint32_t core_count;
    uint32_t packet_bytes_max;
    unsigned spins;
    uint32_t turns_without; /* yields, after one that took long */
    bool is_threaded;       /* a program has several threads */
    uint64_t looks;
    uint64_t paced_from_ns, paced_from_ps;
    uint64_t calls, turns, hash;
    bool is_different; /* from the run of which the journal is */
    char fault[SIM_PROGRAMS_ERROR_BYTES];
    _Atomic bool stops;
    _Atomic bool is_cut; /* the launcher ends processes */
    _Atomic bool any_ended;
};

/* ---- cores.c: machines in place with more nodes than cores. Rank r runs on core r % cores, as the
 * launcher pins it there (src/cli/launch/start.c) ---- */

void sim_program_cores_open(struct sim_programs *programs);
/* Whether the seat may take its next step now. Else it stands in the row for its core, and is
 * called by PROGRAM_CALL_CORE. */
bool sim_program_core_is_its(struct program_seat *seat);
/* The core has switched to it. False: it has gone meanwhile. */
bool sim_program_core_came(struct program_seat *seat);
/* It waits, or has ended. */
void sim_program_core_leave(struct program_seat *seat);
/* How much of a computation it may do before it looks whether others want the core. */
uint64_t sim_program_core_slice_ps(const struct program_seat *seat, uint64_t compute_ps);

/* ---- accounts.c ------------------------------------------------------------------------------ */

void sim_program_accounts_open(struct sim_programs *programs);
/* Time since the last step began goes where that step belongs; what follows belongs to `next`. */
void sim_program_account(struct program_seat *seat, enum sim_program_doing next);
/* The run is over: the time of those that have not left goes to this moment. */
void sim_program_accounts_close(struct sim_programs *programs);

/* ---- same.c ---------------------------------------------------------------------------------- */

/* What goes into the journal, if one is kept. A second run that differs from the first stops. */
void sim_program_enter(struct program_seat *seat, enum turn_word word, uint64_t amount,
                       uint64_t print);
void sim_program_enter_step(struct program_seat *seat, const struct program_step *step);
void sim_program_enter_end(struct sim_programs *programs);

/* Something of this seat is to be done now, behind what happens at this moment. */
void sim_program_call_soon(struct program_seat *seat, enum program_call call);

/* ---- pace.c ---------------------------------------------------------------------------------- */

uint64_t sim_program_real_ns(void);
/* As struct sim_outside has it: lets the event happen when its time has come. */
bool sim_program_goes_on(void *context, uint64_t next_ps);

/* ---- watch.c --------------------------------------------------------------------- */

/* A process that has had the turn for long may loop over memory that nobody can change. */
void sim_program_watch(struct program_seat *seat, uint32_t naps);
void sim_program_look_for_ends(struct sim_programs *programs);
/* The process that has attached. A program can write any number on its page: 0 unless it descends
 * from this process. */
int32_t sim_program_process(const struct program_seat *seat);
/* How many threads its process has; 0: nobody can tell. */
uint32_t sim_program_threads(const struct program_seat *seat);

#endif
