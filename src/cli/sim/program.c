/* `dimmnet run --fabric sim:MACHINE`: the simulator beside the launcher, in a thread of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/sim/program_report.h"
#include "cli/sim/program_words.h"
#include "fabric/seat/launch.h"
#include "sim/program/program.h"

/* Steps of a program without InfiniSWIF that one turn may have: many, so that turns are few; not
 * endlessly many, because what arrives meanwhile is seen at the next turn only. */
enum { STEPS_MANY = 256, PS_PER_NS = 1000 };

/* For what is under way when the last process has ended. */
enum { SETTLE_SECONDS = 10 };

/* With a core for each node the turn comes back sooner than a sleeper wakes. But the simulator and
 * the nodes are one more than the cores, and who spins may be in the way of who has the turn: so
 * only for an answer that comes at once, and then the core is offered to the others. */
enum { SPINS = 10 };

struct simulator {
    struct program_words words;
    struct sim_machine machine;
    struct sim_programs *programs;
    struct sim_timeline *timeline;
    struct sim_death *deaths;
    struct journal *journal;
    struct fabric_repeat *repeat; /* or NULL */
    const char *texts[SEAT_SETTINGS];
    uint32_t node_count;
    uint32_t ended_count; /* nodes whose processes have ended */
    int notify_fd;
    pthread_t thread;
    bool is_running;
    char error[SIM_PROGRAMS_ERROR_BYTES];
    enum sim_programs_end end;
    bool is_told;
    _Atomic bool is_over;
};

static void *run(void *context)
{
    struct simulator *simulator = context;
    simulator->end = sim_programs_run(simulator->programs, simulator->error);
    atomic_store(&simulator->is_over, true);
    const uint64_t one = 1;
    ssize_t written = write(simulator->notify_fd, &one, sizeof one);
    (void)written; /* it fails only when nobody looks any more */
    return NULL;
}

static void set_terms(const struct simulator *simulator, struct turn_page *page)
{
    static const enum wire_stage stages[] = {
        [SIM_ARQ_GO_BACK_N] = WIRE_GO_BACK_N,
        [SIM_ARQ_SELECTIVE_REPEAT] = WIRE_SELECTIVE_REPEAT,
        [SIM_ARQ_STOP_AND_WAIT] = WIRE_STOP_AND_WAIT,
    };
    const struct sim_machine *machine = &simulator->machine;
    struct turn_terms *terms = &page->terms;
    terms->is_cd = machine->carrier_kind == SIM_CARRIER_CD;
    terms->body_bytes_max = sim_world_body_bytes_max(machine);
    terms->step_max = terms->is_cd ? 1 : STEPS_MANY;
    terms->context_count = (uint32_t)machine->carrier_contexts;
    terms->ways = (uint32_t)machine->carrier_ways;
    terms->stage_max = stages[machine->carrier_arq];
    terms->spins = simulator->node_count <= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0;
    terms->is_in_place = sim_machine_is_in_place(machine);
    terms->read_ns =
        (uint32_t)((terms->is_in_place ? machine->call_look : machine->host_read8) / PS_PER_NS) + 1;
    terms->compute = simulator->words.compute;
    terms->gap_ns = (uint32_t)(machine->call_gap / PS_PER_NS);
    terms->resume_ns = (uint32_t)(machine->call_resume / PS_PER_NS);
    terms->is_loop = simulator->words.is_loop;
    terms->compute_factor_ppm = simulator->words.factor_ppm;
}

/* A thread of the launcher's takes no signals: they are for the launcher. */
static bool start(struct simulator *simulator)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    simulator->is_running = pthread_create(&simulator->thread, NULL, run, simulator) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return simulator->is_running;
}

/* Packets may still be under way when the last process has ended, and a run that is the same each
 * time has them all. They arrive within moments; something that does not is stopped. */
static void join(const struct simulator *simulator)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SETTLE_SECONDS;
    if (simulator->ended_count < simulator->node_count ||
        pthread_timedjoin_np(simulator->thread, NULL, &until) != 0) {
        sim_programs_stop(simulator->programs);
        (void)pthread_join(simulator->thread, NULL);
    }
}

/* For whoever compares this run with another one. */
static void conclude(const struct simulator *simulator)
{
    struct fabric_repeat *repeat = simulator->repeat;
    struct sim_programs_result result;
    sim_programs_result(simulator->programs, &result);
    repeat->has_run = true;
    repeat->virtual_ps = result.virtual_ps;
    repeat->hash = result.hash;
    if (result.is_different) {
        (void)snprintf(repeat->difference, sizeof repeat->difference, "%s", simulator->error);
    }
}

static bool is_second(const struct simulator *simulator)
{
    return simulator->repeat && simulator->repeat->is_second;
}

static void stop(struct simulator *simulator)
{
    if (simulator->is_running) {
        join(simulator);
        if (simulator->repeat) {
            conclude(simulator);
        }
        simulator->is_running = false;
    }
}

static bool close_timeline(struct simulator *simulator)
{
    struct sim_timeline *timeline = simulator->timeline;
    simulator->timeline = NULL;
    errno = 0;
    if (timeline && !sim_timeline_close(timeline)) {
        cli_say("dimmnet run", "cannot write %s: %s", simulator->texts[SEAT_STAGES],
                errno ? strerror(errno) : "it is not whole");
        return false;
    }
    return true;
}

static bool report(void *context)
{
    struct simulator *simulator = context;
    const struct sim_machine *machine = &simulator->machine;
    char cores[32];
    (void)snprintf(cores, sizeof cores, "%" PRIu64 " core%s", machine->call_cores,
                   machine->call_cores == 1 ? "" : "s");
    stop(simulator);
    bool is_told = is_second(simulator) ||
                   cli_program_report(&(struct program_report){
                       .programs = simulator->programs,
                       .machine = simulator->machine.name,
                       .topology = sim_machine_is_in_place(machine)
                                       ? cores
                                       : sim_topology_names[simulator->words.topology],
                       .is_in_place = sim_machine_is_in_place(machine),
                       .node_count = simulator->node_count,
                       .words = &simulator->words,
                       .json = simulator->texts[SEAT_JSON],
                       .html = simulator->texts[SEAT_HTML],
                       .end = simulator->end,
                   });
    return close_timeline(simulator) && is_told;
}

static void end(void *context)
{
    struct simulator *simulator = context;
    stop(simulator);
    if (simulator->programs) {
        sim_programs_close(simulator->programs);
    }
    journal_close(simulator->journal);
    (void)close_timeline(simulator);
    sim_machine_free(&simulator->machine);
    free(simulator->deaths);
    free(simulator);
}

/* Whether this kernel counts instructions for an ordinary user. */
static bool can_count(void)
{
    struct perf_event_attr wanted = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof wanted,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

/* One of two runs. */
static int open_journal(struct simulator *simulator, const struct fabric_repeat *repeat,
                        char error[SIM_ERROR_BYTES])
{
    if (simulator->words.compute == TURN_COMPUTE_MEASURED) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "--check-determinism does not go with compute=measured: measured time is "
                       "never the same twice");
        return DN_EINVAL;
    }
    simulator->journal = journal_open(repeat->journal_fd, repeat->is_second);
    if (!simulator->journal) {
        (void)snprintf(error, SIM_ERROR_BYTES, "there is no room for what the first run did");
        return DN_ENOMEM;
    }
    return 0;
}

static int open_programs(struct simulator *simulator, const struct seat_order *order,
                         char error[SIM_ERROR_BYTES])
{
    uint32_t death_count;
    int fault = simulator->repeat ? open_journal(simulator, simulator->repeat, error) : 0;
    if (fault) {
        return fault;
    }
    if (simulator->words.compute == TURN_COMPUTE_INSTRUCTIONS && !can_count()) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "this kernel counts no instructions here (perf_event_open): take "
                       "compute=measured or compute=declared");
        return DN_EINVAL;
    }
    if (order->texts[SEAT_STAGES] && !is_second(simulator)) {
        simulator->timeline = sim_timeline_open(order->texts[SEAT_STAGES], 0, UINT64_MAX, error);
        if (!simulator->timeline) {
            return DN_EINVAL;
        }
    }
    if (!cli_program_deaths(order->texts[SEAT_KILL], order->texts[SEAT_FAULTS], order->node_count,
                            &simulator->deaths, &death_count, error)) {
        return DN_EINVAL;
    }
    for (uint32_t rank = 0; rank < order->node_count; rank++) {
        set_terms(simulator, order->pages[rank]);
    }
    const struct sim_programs_config config = {
        .machine = &simulator->machine,
        .topology = simulator->words.topology,
        .node_count = order->node_count,
        .pages = order->pages,
        .timeline = simulator->timeline,
        .seed = simulator->words.seed,
        .limit_ps = simulator->words.limit_ps,
        .deaths = simulator->deaths,
        .death_count = death_count,
        .notice_ps = simulator->words.notice_ps,
        .keeps_spans = order->texts[SEAT_HTML] != NULL,
        .journal = simulator->journal,
    };
    simulator->programs = sim_programs_open(&config, error);
    return simulator->programs ? 0 : DN_EINVAL;
}

static int begin(const struct seat_order *order, void **made, char *sentence)
{
    char error[SIM_ERROR_BYTES] = "";
    struct simulator *simulator = calloc(1, sizeof *simulator);
    if (!simulator) {
        return fabric_launch_refuse(sentence, DN_ENOMEM, "no memory");
    }
    simulator->node_count = order->node_count;
    simulator->notify_fd = order->notify_fd;
    simulator->repeat = order->repeat;
    memcpy(simulator->texts, order->texts, sizeof order->texts);
    int fault = cli_program_words_read(order->words, order->node_count, &simulator->words,
                                       &simulator->machine, error)
                    ? 0
                    : DN_EINVAL;
    fault = fault ? fault : open_programs(simulator, order, error);
    if (!fault && !start(simulator)) {
        fault = DN_ESYSTEM;
        (void)snprintf(error, sizeof error, "cannot start the simulator");
    }
    if (fault) {
        end(simulator);
        return fabric_launch_refuse(sentence, fault, "%s", error);
    }
    *made = simulator;
    return 0;
}

static void ended(void *context, uint32_t rank, bool well)
{
    struct simulator *simulator = context;
    simulator->ended_count++;
    sim_programs_ended(simulator->programs, rank, well);
}

static void cut(void *context)
{
    const struct simulator *simulator = context;
    sim_programs_cut(simulator->programs);
}

static const char *fault(void *context)
{
    struct simulator *simulator = context;
    if (!atomic_load(&simulator->is_over) || simulator->end == SIM_PROGRAMS_DONE ||
        simulator->is_told || *simulator->error == '\0') {
        return NULL;
    }
    simulator->is_told = true;
    return simulator->error;
}

const struct seat_simulator seat_simulator = {
    .begin = begin,
    .ended = ended,
    .cut = cut,
    .report = report,
    .fault = fault,
    .end = end,
};
