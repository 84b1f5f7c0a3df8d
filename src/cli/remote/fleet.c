/* The fleet at work; fleet_start.c brings it there. */
#define _GNU_SOURCE
#include "cli/remote/fleet.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/remote/fleet_state.h"
#include "group/life.h"
#include "host/clock.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_SECOND (1000 * NS_PER_MS)
#define KILL_NS (5000 * NS_PER_MS) /* for agents to end their nodes and themselves */

enum { POLLS_BY_LINK = 3, FLUSH_ROUNDS = 64, FLUSH_ROUND_MS = 20 };

/* ---- Lives ------------------------------------------------------------------------- */

/* Tells all hosts what the rank has become, if that is news; but not `source`, which told us. What
 * an agent repeats would fill the queue to a host that is slow to read. */
static void tell_life(struct launch *launch, const struct link *source, uint32_t rank,
                      enum dn_life life)
{
    struct fleet *fleet = launch->fleet;
    const uint32_t words[] = {rank, life};
    enum dn_life before = host_group_life(&launch->group, rank);
    if (group_life_gone(before) || life == before || life == DN_STARTING) {
        return;
    }
    host_group_tell_life(&launch->group, rank, life);
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        if (link != source && link->state == LINK_RUNNING) {
            remote_link_say(link, FRAME_LIFE, words, NULL, 0);
        }
    }
}

void remote_fleet_tell_verdict(struct launch *launch, uint32_t rank)
{
    tell_life(launch, NULL, rank, DN_DEAD);
}

static void end_node(struct launch *launch, uint32_t rank)
{
    struct node *node = &launch->nodes[rank];
    if (node->state == NODE_RUNNING) {
        node->state = NODE_ENDED;
        launch->live_count--;
    }
}

/* The agent is gone or cannot be understood, so nothing is known of its nodes any more. */
static void lose(struct launch *launch, struct link *link)
{
    remote_link_cut(link, host_now_ns());
    for (uint32_t i = 0; i < link->host->rank_count && link->had_started; i++) {
        uint32_t rank = link->host->rank_first + i;
        if (launch->nodes[rank].state == NODE_RUNNING) {
            tell_life(launch, link, rank, DN_DEAD);
        }
    }
}

/* ---- What agents say --------------------------------------------------------------- */

static void on_failure(struct launch *launch, const struct link *link, const uint32_t *words)
{
    int status;
    const struct ending ending = {
        .kind = words[2] <= ENDING_UNKNOWN ? (enum ending_kind)words[2] : ENDING_UNKNOWN,
        .number = (int)(words[3] & 0xff),
        .dumped_core = words[4] != 0,
    };
    bool wanted = words[5] != 0 || host_group_end_is_wanted(launch->group.group, &status);
    launch_ends_judge(launch, words[0], (pid_t)words[1], link->host->name, &ending, wanted);
}

/* False: it was not sent as much, or has no node that reads. */
static bool take_credit(struct launch *launch, const struct link *link, const uint32_t *words)
{
    struct fleet *fleet = launch->fleet;
    if (link->host->rank_first != 0 || words[0] != 0 ||
        words[1] > POST_WINDOW_BYTES - fleet->input_credit_bytes) {
        return false;
    }
    fleet->input_credit_bytes += words[1];
    return true;
}

/* False: this is nothing that an agent says about its nodes. */
static bool on_running_frame(struct launch *launch, struct link *link, const struct frame *frame)
{
    const uint32_t *words = frame->words;
    bool names_rank = frame->kind == FRAME_LIFE || frame->kind == FRAME_FAILURE ||
                      frame->kind == FRAME_ENDED || frame->kind == FRAME_SUSPICION;
    if (names_rank && words[0] - link->host->rank_first >= link->host->rank_count) {
        return false; /* not one of its own */
    }
    switch (frame->kind) {
    case FRAME_LIFE:
        if (words[1] > DN_DEAD) {
            return false;
        }
        tell_life(launch, link, words[0], (enum dn_life)words[1]);
        return true;
    case FRAME_SUSPICION: launch_verdict_suspect(launch, words[0], words[1]); return true;
    case FRAME_OUTPUT: return remote_link_take_output(link, launch, frame);
    case FRAME_CREDIT: return take_credit(launch, link, words);
    case FRAME_WANTED_END:
        (void)host_group_want_end(launch->group.group, (int)words[0]);
        launch_phase_on_wanted_end(launch, (int)(words[0] & 0xff), host_now_ns());
        return true;
    case FRAME_GOING_ON: host_group_go_on(launch->group.group); return true;
    case FRAME_FAILURE: on_failure(launch, link, words); return true;
    case FRAME_ENDED: end_node(launch, words[0]); return true;
    case FRAME_NOT_STARTED:
        if (launch->phase == LAUNCH_RUNNING) {
            launch_say(launch, "cannot start \"%s\" on %s: %s", launch->request->argv[0],
                       link->host->name, strerror((int)(words[0] & 0xffff)));
        }
        launch_phase_on_start_failure(launch, CLI_USAGE);
        return true;
    case FRAME_DONE: link->is_done = true; return true;
    case FRAME_BEAT: return true;
    default: return false;
    }
}

/* Says why the link is going to end. Only the first fault of all is said. */
static void say_about(struct launch *launch, struct link *link, const char *sentence)
{
    if (launch->phase == LAUNCH_RUNNING) {
        launch_say(launch, "host %s: %s", link->host->name, sentence);
    }
    link->is_told = true;
    if (!link->had_started && launch->phase == LAUNCH_RUNNING) {
        launch_phase_on_start_failure(launch, CLI_FAULT);
    }
}

static void on_frame(struct launch *launch, struct link *link, const struct frame *frame)
{
    bool understood = true;
    if (frame->kind == FRAME_GIVEN_UP) {
        launch_phase_on_start_failure(launch, (int)(frame->words[0] & 0xff));
        remote_link_hang_up(link);
    } else if (link->state == LINK_RUNNING) {
        understood = on_running_frame(launch, link, frame);
    } else {
        understood = remote_fleet_on_starting_frame(launch, link, frame);
    }
    if (!understood) {
        say_about(launch, link, "its agent says what it should not");
        lose(launch, link);
    }
}

/* Something other than an agent speaks there, perhaps a shell's start-up file. */
static void say_what_came(struct launch *launch, struct link *link)
{
    char text[48] = "";
    char sentence[128];
    for (size_t i = 0; i < sizeof text - 1 && link->inbox.start + i < link->inbox.end; i++) {
        unsigned char byte = link->inbox.bytes[link->inbox.start + i];
        text[i] = byte >= ' ' && byte < 127 ? (char)byte : '.';
    }
    (void)snprintf(sentence, sizeof sentence,
                   "this is not an agent: \"%s\"; does a start-up file print it?", text);
    say_about(launch, link, sentence);
}

static void hear(struct launch *launch, struct link *link, uint64_t now_ns)
{
    struct frame frame;
    enum frame_verdict verdict = FRAME_IS_CUT;
    enum post_news news = remote_post_read(&link->inbox, link->from_fd);
    if (news == POST_NEWS) {
        remote_pulse_heard(&link->pulse, now_ns);
    }
    while (link->state < LINK_ENDING &&
           (verdict = remote_post_take(&link->inbox, FRAME_OF_AGENT, &frame)) == FRAME_IS_WHOLE) {
        on_frame(launch, link, &frame);
    }
    if (verdict == FRAME_IS_BAD && link->state < LINK_ENDING) {
        say_what_came(launch, link);
        lose(launch, link);
    } else if (news == POST_END) {
        lose(launch, link);
    }
}

/* ---- A link's end ------------------------------------------------------------------ */

static void say_lost(struct launch *launch, const struct link *link)
{
    const struct hosts_entry *host = link->host;
    char reason[ENDS_SENTENCE_BYTES + 64] = "";
    char sentence[ENDS_SENTENCE_BYTES];
    char nodes[64];
    if (link->has_ended && link->ending.kind == ENDING_EXITED && link->ending.number == 0) {
        (void)snprintf(reason, sizeof reason, " (%s ended)", launch->fleet->rsh[0]);
    } else if (link->has_ended) {
        (void)launch_ends_describe(&link->ending, sentence);
        (void)snprintf(reason, sizeof reason, " (%s %s)", launch->fleet->rsh[0], sentence);
    }
    if (!link->had_started) {
        launch_say(launch, "cannot reach an agent on host %s%s", host->name, reason);
        return;
    }
    if (host->rank_count == 1) {
        (void)snprintf(nodes, sizeof nodes, "node %u is dead", host->rank_first);
    } else {
        (void)snprintf(nodes, sizeof nodes, "nodes %u to %u are dead", host->rank_first,
                       host->rank_first + host->rank_count - 1);
    }
    launch_say(launch, "lost the agent on host %s%s: %s", host->name, reason, nodes);
}

static void close_link(struct launch *launch, struct link *link)
{
    bool had_nodes = false;
    /* What the remote shell wrote last comes before what we say. */
    while (link->err.fd >= 0 && launch_output_may_read(&link->err) &&
           launch_output_read(&link->err)) {
    }
    if (link->err.fd >= 0 && launch_sink_has_room(link->err.sink, link->err.held_bytes + 2)) {
        launch_output_close(&link->err);
    }
    launch_output_drop(&link->err);
    link->state = LINK_CLOSED;
    for (uint32_t i = 0; i < link->host->rank_count; i++) {
        uint32_t rank = link->host->rank_first + i;
        had_nodes = had_nodes || launch->nodes[rank].state == NODE_RUNNING;
        end_node(launch, rank);
    }
    if (had_nodes && launch->phase == LAUNCH_RUNNING && !link->is_told) {
        say_lost(launch, link);
    }
    if (had_nodes && link->had_started) {
        launch_phase_on_failure(launch, CLI_FAULT, host_now_ns());
    } else if (had_nodes && launch->phase <= LAUNCH_GRACE) {
        launch_phase_on_start_failure(launch, CLI_FAULT);
    }
}

bool remote_fleet_on_process_end(struct launch *launch, pid_t pid, const struct ending *ending)
{
    struct fleet *fleet = launch->fleet;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        if (link->pid == pid && !link->has_ended) {
            link->has_ended = true;
            link->ending = *ending;
            atomic_store(&launch->guardian.process_groups[i], 0);
            /* Its last words may still be in the pipe, so wait for a moment. Other processes may
             * keep the pipe open; what they write later does not count. */
            link->ending_at_ns = host_now_ns() + FLEET_LAST_WORDS_NS;
            return true;
        }
    }
    return false;
}

/* ---- Input ------------------------------------------------------------------------- */

static struct link *link_of_node_0(const struct launch *launch)
{
    return &launch->fleet->links[0];
}

int remote_fleet_input_poll_fd(const struct launch *launch, short *events)
{
    const struct link *link = link_of_node_0(launch);
    bool may = link->state == LINK_RUNNING && launch->nodes[0].state == NODE_RUNNING &&
               !launch->feed.at_end && !launch->feed.paused &&
               launch->fleet->input_credit_bytes > 0 &&
               launch_sink_has_room(&link->to, POST_CONTROL_BYTES / 2);
    *events = POLLIN;
    return may ? STDIN_FILENO : -1;
}

static void pass_input_on(struct launch *launch)
{
    struct fleet *fleet = launch->fleet;
    char bytes[FRAME_DATA_BYTES_MAX];
    size_t room = fleet->input_credit_bytes;
    ssize_t got = read(STDIN_FILENO, bytes, room < sizeof bytes ? room : sizeof bytes);
    if (got < 0 && errno == EIO) {
        launch->feed.paused = true; /* a terminal whose foreground we are not in */
        return;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    launch->feed.at_end = got <= 0;
    fleet->input_credit_bytes -= got > 0 ? (uint32_t)got : 0;
    remote_link_say(link_of_node_0(launch), FRAME_INPUT, NULL, bytes, got > 0 ? (size_t)got : 0);
}

/* ---- The loop ---------------------------------------------------------------------- */

nfds_t remote_fleet_fill_polls(struct launch *launch, struct pollfd *polls)
{
    struct fleet *fleet = launch->fleet;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        struct pollfd *own = &polls[POLLS_BY_LINK * i];
        bool writes = launch_sink_is_waiting(&link->to);
        bool reads_err = link->err.fd >= 0 && launch_output_may_read(&link->err);
        own[0] = launch_poll_for(link->from_fd, POLLIN);
        own[1] = launch_poll_for(writes ? link->to.fd : -1, POLLOUT);
        own[2] = launch_poll_for(reads_err ? link->err.fd : -1, POLLIN);
    }
    return POLLS_BY_LINK * (nfds_t)fleet->count;
}

void remote_fleet_on_ready(struct launch *launch, const struct pollfd *polls, bool has_input)
{
    struct fleet *fleet = launch->fleet;
    uint64_t now_ns = host_now_ns();
    short events;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        const struct pollfd *own = &polls[POLLS_BY_LINK * i];
        if (own[2].revents && link->err.fd >= 0 && launch_output_may_read(&link->err)) {
            (void)launch_output_read(&link->err);
        }
        if (own[1].revents && launch_sink_is_waiting(&link->to)) {
            /* An agent that takes nothing any more is noticed by the end of its output. */
            launch_sink_write(&link->to);
        }
        if (own[0].revents && link->from_fd >= 0) {
            hear(launch, link, now_ns);
        }
    }
    if (has_input && remote_fleet_input_poll_fd(launch, &events) >= 0) {
        pass_input_on(launch);
    }
}

static uint64_t earlier(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

uint64_t remote_fleet_deadline_ns(const struct launch *launch)
{
    const struct fleet *fleet = launch->fleet;
    uint64_t deadline_ns = earlier(fleet->start_deadline_ns, fleet->kill_deadline_ns);
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct link *link = &fleet->links[i];
        if (link->state == LINK_CLOSED) {
            continue;
        }
        deadline_ns = earlier(deadline_ns, link->ending_at_ns);
        deadline_ns = earlier(deadline_ns, remote_pulse_due_ns(&link->pulse));
    }
    return deadline_ns;
}

/* What waits to be written is a sign of life as good as a beat. */
static void watch_over(struct launch *launch, struct link *link, uint64_t now_ns)
{
    if (remote_pulse_beats(&link->pulse, now_ns) && !launch_sink_is_waiting(&link->to)) {
        remote_link_say(link, FRAME_BEAT, NULL, NULL, 0);
    }
    if (link->state < LINK_RUNNING) {
        /* It may take its time to get ready: the start has a deadline of its own. */
        remote_pulse_heard(&link->pulse, now_ns);
    } else if (link->state == LINK_RUNNING &&
               remote_pulse_is_silent(&link->pulse, now_ns, link->from_fd)) {
        /* An agent that is done has ended; the remote shell may take its time. */
        if (!link->is_done) {
            say_about(launch, link, "it has been silent for too long, and is held for dead");
        }
        lose(launch, link);
    }
}

/* Gives the link up, and kills the remote shell that leads there. */
static void force(struct launch *launch, struct link *link)
{
    if (link->state < LINK_ENDING) {
        lose(launch, link);
    }
    if (!link->has_ended) {
        launch_signals_send(link->pid, SIGKILL);
    }
}

static void on_deadlines(struct launch *launch, uint64_t now_ns)
{
    struct fleet *fleet = launch->fleet;
    if (now_ns >= fleet->start_deadline_ns) {
        fleet->start_deadline_ns = UINT64_MAX;
        for (uint32_t i = 0; i < fleet->count; i++) {
            if (fleet->links[i].state < LINK_RUNNING && launch->phase == LAUNCH_RUNNING) {
                launch_say(launch, "host %s has not been ready for %u s",
                           fleet->links[i].host->name, FLEET_START_S);
                launch_phase_on_start_failure(launch, CLI_FAULT);
            }
        }
    }
    if (now_ns >= fleet->kill_deadline_ns) {
        fleet->kill_deadline_ns = UINT64_MAX;
        for (uint32_t i = 0; i < fleet->count; i++) {
            force(launch, &fleet->links[i]);
        }
    }
}

void remote_fleet_on_time(struct launch *launch, uint64_t now_ns)
{
    struct fleet *fleet = launch->fleet;
    on_deadlines(launch, now_ns);
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        watch_over(launch, link, now_ns);
        bool waited = now_ns >= link->ending_at_ns;
        if (link->state < LINK_ENDING && waited) {
            /* Its shell has ended and another process keeps the pipe open, or the shell does not
             * end. */
            force(launch, link);
        } else if (link->state == LINK_ENDING && (link->has_ended || waited)) {
            lose(launch, link); /* it may have been cut where nobody tells the others */
            if (!link->has_ended) {
                launch_signals_send(link->pid, SIGKILL);
            }
            close_link(launch, link);
        }
        if (link->state >= LINK_RUNNING) {
            remote_link_pass_on(link, launch);
        }
        for (uint32_t s = 0; link->state == LINK_CLOSED && s < 2 * link->host->rank_count; s++) {
            struct output *output = &launch->outputs[2 * link->host->rank_first + s];
            if (output->fd == OUTPUT_FED && remote_link_is_drained(link) &&
                launch_output_may_read(output)) {
                launch_output_close(output);
            }
        }
    }
}

bool remote_fleet_is_done(const struct launch *launch)
{
    const struct fleet *fleet = launch->fleet;
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->links[i].state != LINK_CLOSED || !remote_link_is_drained(&fleet->links[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < 2 * launch->rank_count; i++) {
        if (launch->outputs[i].fd != OUTPUT_ENDED) {
            return false;
        }
    }
    return true;
}

static bool is_ending_signal(int signal_number)
{
    return signal_number == SIGKILL || signal_number == SIGTERM || signal_number == SIGINT ||
           signal_number == SIGHUP || signal_number == SIGQUIT;
}

void remote_fleet_signal(struct launch *launch, int signal_number)
{
    struct fleet *fleet = launch->fleet;
    const uint32_t word = (uint32_t)signal_number;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct link *link = &fleet->links[i];
        if (link->state == LINK_RUNNING) {
            remote_link_say(link, FRAME_SIGNAL, &word, NULL, 0);
            /* Write at once if possible: we may be about to stop. */
            if (launch_sink_is_waiting(&link->to)) {
                launch_sink_write(&link->to);
            }
        } else if (link->state < LINK_RUNNING && is_ending_signal(signal_number)) {
            remote_link_call_off(link, host_now_ns());
        }
    }
    if (signal_number == SIGKILL) {
        fleet->kill_deadline_ns = host_now_ns() + KILL_NS;
    }
}

/* ---- Being stopped ----------------------------------------------------------------- */

/* Writes out what waits, if the agent reads: a beat must not come into the midst of a frame. */
static void flush(struct link *link)
{
    struct pollfd to = launch_poll_for(link->to.fd, POLLOUT);
    for (unsigned i = 0;
         i < FLUSH_ROUNDS && launch_sink_is_waiting(&link->to) && poll(&to, 1, FLUSH_ROUND_MS) > 0;
         i++) {
        launch_sink_write(&link->to);
    }
}

/* A pipe takes a beat whole or not at all, so this may be killed at any moment. */
_Noreturn static void beat_for_ever(const struct launch *launch, pid_t launcher)
{
    unsigned char frame[FRAME_HEADER_BYTES];
    const struct fleet *fleet = launch->fleet;
    (void)setsid(); /* what stops the launcher's process group does not stop this */
    (void)prctl(PR_SET_NAME, "dimmnet-pulse");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)remote_frame_put(frame, FRAME_BEAT, NULL, NULL, 0);
    while (getppid() == launcher) {
        for (uint32_t i = 0; i < fleet->count; i++) {
            const struct link *link = &fleet->links[i];
            bool beats = link->pulse.next_beat_ns != UINT64_MAX && !link->hung_up &&
                         !launch_sink_is_waiting(&link->to);
            ssize_t written = beats ? write(link->to.fd, frame, sizeof frame) : 0;
            (void)written; /* an agent that does not read needs no beat */
        }
        /* Often enough for any time-out; where no link beats yet, there is none to go by. */
        const uint64_t nap_ns = PULSE_SILENCE_NS_MIN / PULSE_BEATS;
        const struct timespec nap = {.tv_sec = (time_t)(nap_ns / NS_PER_SECOND),
                                     .tv_nsec = (long)(nap_ns % NS_PER_SECOND)};
        (void)nanosleep(&nap, NULL);
    }
    _exit(0);
}

pid_t remote_fleet_beat_apart(struct launch *launch)
{
    struct fleet *fleet = launch->fleet;
    pid_t launcher = getpid();
    for (uint32_t i = 0; i < fleet->count; i++) {
        flush(&fleet->links[i]);
    }
    pid_t child = fork();
    if (child == 0) {
        beat_for_ever(launch, launcher);
    }
    return child > 0 ? child : 0;
}

void remote_fleet_beat_again(pid_t child)
{
    if (child > 0) {
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}
