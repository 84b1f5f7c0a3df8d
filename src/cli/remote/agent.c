/* An agent's life: it greets, takes an order, binds sockets, looks for paths, starts nodes,
 * and stays until they have ended or nobody leads it any more. */
#define _GNU_SOURCE
#include "cli/remote/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "cli/cli.h"
#include "cli/remote/order.h"
#include "cli/remote/post.h"
#include "cli/remote/pulse.h"
#include "host/clock.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_SECOND (1000 * NS_PER_MS)
/* A launcher gives its order when it has read the greeting; from then on the order says how long
 * it may be silent. */
#define ORDER_NS (60 * NS_PER_SECOND)

enum { STATUS_SILENCE = 124 }; /* as of a launcher whose group timed out */

/* ORDER, PEERS and START come in this order; then all others. */
enum agent_stage { AGENT_GREETS, AGENT_IS_BOUND, AGENT_IS_READY, AGENT_RUNS, AGENT_DRAINS };

struct agent {
    enum agent_stage stage;
    bool is_over;      /* the only thing left to do is to end what runs */
    bool is_done;      /* all has been said; the agent ends when it is written out */
    bool is_left;      /* nothing has come from the launcher for too long */
    bool has_no_input; /* it ended when all had been said */
    struct pulse pulse;
    int from_fd;
    int to_fd;
    struct sink to;
    struct post_inbox inbox;

    struct order_read order;
    struct launch_request request;
    struct launch launch;

    uint32_t *told_lives; /* by nodes */
    bool wanted_end_is_told;
    bool going_on_is_told;
    uint32_t credit_bytes[2]; /* how much output may be sent */

    char *input; /* for node 0, POST_WINDOW_BYTES */
    size_t input_start;
    size_t input_bytes;
    bool input_has_ended;
};

const char *remote_agent_host_id(const struct agent *agent)
{
    return agent->order.order.host_id;
}

int remote_agent_lifeline(const struct agent *agent)
{
    return agent->from_fd;
}

void remote_agent_greeting(uint32_t words[AGENT_GREETING_WORDS])
{
    words[0] = FRAME_PROTOCOL;
    words[1] = GROUP_LAYOUT_VERSION;
    words[2] = 0;
    for (const struct fabric_launch *const *fabric = fabric_launches; *fabric; fabric++) {
        words[2] = 31 * words[2] + (*fabric)->version;
    }
    words[3] = (uint32_t)sysconf(_SC_PAGESIZE);
}

/* ---- What it says ------------------------------------------------------------------ */

static void end_all(struct agent *agent)
{
    agent->is_over = true;
    agent->launch.phase = LAUNCH_KILLING;
}

static void say(struct agent *agent, enum frame_kind kind, const uint32_t *words, const void *tail,
                size_t tail_bytes)
{
    if (!remote_post_send(&agent->to, kind, words, tail, tail_bytes)) {
        end_all(agent);
    }
}

static void say_word(struct agent *agent, enum frame_kind kind, uint32_t word)
{
    say(agent, kind, &word, NULL, 0);
}

/* The reason is on standard error. */
static void give_up(struct agent *agent, int status)
{
    say_word(agent, FRAME_GIVEN_UP, (uint32_t)status);
    agent->is_done = true;
}

void remote_agent_tell_lives(struct launch *launch)
{
    struct agent *agent = launch->agent;
    for (uint32_t i = 0; i < launch->rank_count; i++) {
        uint32_t rank = launch->rank_first + i;
        uint32_t life = host_group_life(&launch->group, rank);
        if (life != agent->told_lives[i]) {
            agent->told_lives[i] = life;
            say(agent, FRAME_LIFE, (const uint32_t[]){rank, life}, NULL, 0);
        }
    }
}

void remote_agent_tell_suspicion(struct launch *launch, uint32_t by, uint32_t rank)
{
    say(launch->agent, FRAME_SUSPICION, (const uint32_t[]){by, rank}, NULL, 0);
}

void remote_agent_tell_failure(struct launch *launch, uint32_t rank, pid_t pid,
                               const struct ending *ending, bool wanted)
{
    const uint32_t words[] = {
        rank, (uint32_t)pid, ending->kind, (uint32_t)ending->number, ending->dumped_core, wanted,
    };
    say(launch->agent, FRAME_FAILURE, words, NULL, 0);
}

void remote_agent_tell_end(struct launch *launch, uint32_t rank)
{
    say_word(launch->agent, FRAME_ENDED, rank);
}

void remote_agent_tell_wanted_end(struct launch *launch, int status)
{
    if (!launch->agent->wanted_end_is_told) {
        launch->agent->wanted_end_is_told = true;
        say_word(launch->agent, FRAME_WANTED_END, (uint32_t)status);
    }
}

void remote_agent_tell_going_on(struct launch *launch)
{
    if (!launch->agent->going_on_is_told) {
        launch->agent->going_on_is_told = true;
        say(launch->agent, FRAME_GOING_ON, NULL, NULL, 0);
    }
}

void remote_agent_tell_not_started(struct launch *launch, int error)
{
    say_word(launch->agent, FRAME_NOT_STARTED, (uint32_t)error);
}

/* ---- Until it runs ----------------------------------------------------------------- */

/* 0, or a status after having said why. */
static int make_request(struct agent *agent)
{
    const struct order *order = &agent->order.order;
    const struct fabric_launch *fabric = fabric_launch_find(order->fabric);
    agent->request = (struct launch_request){
        .command = order->command,
        .node_count = order->node_count,
        .argv = order->argv,
        .sizes = order->sizes,
        .fabric = fabric,
        .settings = order->settings,
        .no_pin = order->no_pin,
    };
    if (!fabric || !fabric->spans_hosts || !fabric_launch_accepts(fabric, order->settings) ||
        !fabric->contact_is_sound(&order->contact) ||
        strlen(order->group_id) >= GUARDIAN_ID_BYTES ||
        strlen(order->host_id) + sizeof GUARDIAN_ENV_HOST_ID >= GUARDIAN_MARK_BYTES) {
        return cli_refuse(order->command, "the launcher's order makes no sense");
    }
    if (chdir(order->folder) != 0) {
        return cli_refuse(order->command, "cannot go to %s: %s", order->folder, strerror(errno));
    }
    /* Set them in our own environment: nodes inherit it, and PATH counts here as well. */
    for (char *const *word = order->environment; *word; word++) {
        if (!strchr(*word, '=') || putenv(*word) != 0) {
            return cli_refuse(order->command, "cannot set \"%s\" in the environment", *word);
        }
    }
    launch_init(&agent->launch, &agent->request);
    agent->launch.rank_first = order->rank_first;
    agent->launch.rank_count = order->rank_count;
    agent->launch.agent = agent;
    strcpy(agent->launch.group_id, order->group_id);
    return 0;
}

static int allocate(struct agent *agent)
{
    agent->told_lives = calloc(agent->launch.rank_count, sizeof *agent->told_lives);
    agent->input = malloc(POST_WINDOW_BYTES);
    if (!agent->told_lives || !agent->input) {
        return cli_fail(agent->request.command, "no memory");
    }
    agent->credit_bytes[0] = POST_WINDOW_BYTES;
    agent->credit_bytes[1] = POST_WINDOW_BYTES;
    return 0;
}

static void on_order(struct agent *agent, const struct frame *frame)
{
    if (!remote_order_take(frame->tail, frame->tail_bytes, &agent->order)) {
        cli_say("dimmnet agent", "the launcher's order makes no sense");
        end_all(agent);
        return;
    }
    const struct order *order = &agent->order.order;
    struct fabric_roster *roster = &agent->launch.roster;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    int status = make_request(agent);
    status = status ? status : launch_prepare(&agent->launch);
    status = status ? status : allocate(agent);
    status = status ? status
                    : launch_fabric_check_room(order->command, order->node_count, &order->sizes);
    status = status ? status
                    : launch_fabric_open(roster, &agent->request, &order->sizes, order->rank_first,
                                         order->rank_count);
    status = status
                 ? status
                 : launch_fabric_conclude(order->command,
                                          roster->fabric->bind(roster, &order->contact, sentence),
                                          sentence);
    if (status) {
        give_up(agent, status);
        return;
    }
    remote_pulse_begin(&agent->pulse, roster->fabric->silence_ns(roster->settings), host_now_ns());
    agent->stage = AGENT_IS_BOUND;
    say(agent, FRAME_BOUND, NULL, &roster->contacts[order->rank_first],
        order->rank_count * sizeof *roster->contacts);
}

static void on_peers(struct agent *agent, const struct frame *frame)
{
    const struct fabric_roster *roster = &agent->launch.roster;
    struct fabric_finding finding;
    uint32_t rank;
    if (frame->tail_bytes != roster->node_count * sizeof *roster->contacts) {
        end_all(agent);
        return;
    }
    memcpy(roster->contacts, frame->tail, frame->tail_bytes);
    for (uint32_t i = 0; i < roster->node_count; i++) {
        if (!roster->fabric->contact_is_sound(&roster->contacts[i])) {
            end_all(agent);
            return;
        }
    }
    if (roster->fabric->survey(roster, &finding, &rank) != 0) {
        say(agent, FRAME_PATHS, (const uint32_t[]){(uint32_t)errno, rank}, NULL, 0);
        agent->is_done = true;
        return;
    }
    agent->stage = AGENT_IS_READY;
    say(agent, FRAME_PATHS, (const uint32_t[]){0, 0}, finding.bytes, sizeof finding.bytes);
}

/* ---- Signals and ends -------------------------------------------------------------- */

static void on_signals(struct launch *launch)
{
    for (int number; (number = launch_signals_next(&launch->signals)) != 0;) {
        switch (number) {
        case SIGCHLD: launch_ends_collect(launch); break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT: end_all(launch->agent); break;
        default: break; /* the launcher passes its own on */
        }
    }
}

/* What waits to be written is a sign of life as good as a beat. */
static void beat(struct agent *agent, uint64_t now_ns)
{
    if (remote_pulse_beats(&agent->pulse, now_ns) && !launch_sink_is_waiting(&agent->to)) {
        say(agent, FRAME_BEAT, NULL, NULL, 0);
    }
}

/* Between two starts of nodes: a thousand of them take longer than a launcher waits for a beat. */
static void glance(struct launch *launch)
{
    struct agent *agent = launch->agent;
    struct pollfd to = launch_poll_for(agent->to.fd, POLLOUT);
    on_signals(launch);
    beat(agent, host_now_ns());
    if (launch_sink_is_waiting(&agent->to) && poll(&to, 1, 0) > 0) {
        launch_sink_write(&agent->to);
    }
}

static void on_start(struct agent *agent, const struct frame *frame)
{
    const struct order *order = &agent->order.order;
    struct launch *launch = &agent->launch;
    struct fabric_terms terms;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    if (frame->tail_bytes != sizeof terms.bytes) {
        end_all(agent);
        return;
    }
    base_secret_copy(terms.bytes, frame->tail, sizeof terms.bytes);
    remote_post_wipe(&agent->inbox); /* before nodes are forked */
    int status = launch_fabric_conclude(
        order->command, launch->roster.fabric->seal(&launch->roster, &terms, sentence), sentence);
    explicit_bzero(&terms, sizeof terms);
    if (status) {
        give_up(agent, status);
        return;
    }
    agent->stage = AGENT_RUNS;
    if (!launch_start(launch, glance)) {
        launch_phase_signal_nodes(launch, SIGKILL);
        give_up(agent, CLI_FAULT);
    }
}

/* ---- Input and output -------------------------------------------------------------- */

static void on_input(struct agent *agent, const struct frame *frame)
{
    if (frame->tail_bytes > POST_WINDOW_BYTES - agent->input_bytes || agent->input_has_ended) {
        end_all(agent);
        return;
    }
    agent->input_has_ended = frame->tail_bytes == 0;
    for (uint32_t i = 0; i < frame->tail_bytes; i++) {
        size_t at = (agent->input_start + agent->input_bytes++) % POST_WINDOW_BYTES;
        agent->input[at] = (char)frame->tail[i];
    }
}

/* Once node 0 reads no more, the launcher gets no more credit. */
static void pass_input_on(struct agent *agent)
{
    struct feed *feed = &agent->launch.feed;
    size_t bytes = POST_WINDOW_BYTES - agent->input_start;
    bytes = bytes < agent->input_bytes ? bytes : agent->input_bytes;
    ssize_t written = bytes == 0 ? 0
                                 : write(feed->pipe_fd, agent->input + agent->input_start, bytes);
    if (written < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            launch_feed_close(feed);
        }
        return;
    }
    agent->input_start = (agent->input_start + (size_t)written) % POST_WINDOW_BYTES;
    agent->input_bytes -= (size_t)written;
    if (written > 0) {
        say(agent, FRAME_CREDIT, (const uint32_t[]){0, (uint32_t)written}, NULL, 0);
    }
    if (agent->input_has_ended && agent->input_bytes == 0) {
        launch_feed_close(feed);
    }
}

static bool may_send(const struct agent *agent, unsigned which)
{
    return agent->credit_bytes[which] > POST_FRAME_CHARGE_BYTES;
}

/* Reads once; false: nothing was there. */
static bool pass_output_on(struct agent *agent, uint32_t number)
{
    struct output *output = &agent->launch.outputs[number];
    unsigned which = number % 2;
    const uint32_t words[] = {agent->launch.rank_first + number / 2, which};
    char bytes[FRAME_DATA_BYTES_MAX];
    size_t room = agent->credit_bytes[which] - POST_FRAME_CHARGE_BYTES;
    ssize_t got = read(output->fd, bytes, room < sizeof bytes ? room : sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    say(agent, FRAME_OUTPUT, words, bytes, got > 0 ? (size_t)got : 0);
    if (got > 0) {
        agent->credit_bytes[which] -= (uint32_t)got + POST_FRAME_CHARGE_BYTES;
    } else {
        launch_output_drop(output);
    }
    return true;
}

/* All nodes have ended, and nobody writes any more. */
static void drain(struct agent *agent)
{
    struct launch *launch = &agent->launch;
    bool done = true;
    for (uint32_t i = 0; i < 2 * launch->rank_count; i++) {
        struct output *output = &launch->outputs[i];
        while (output->fd >= 0 && may_send(agent, i % 2)) {
            if (!pass_output_on(agent, i)) {
                const uint32_t words[] = {launch->rank_first + i / 2, i % 2};
                say(agent, FRAME_OUTPUT, words, NULL, 0);
                launch_output_drop(output);
            }
        }
        done = done && output->fd < 0;
    }
    if (done) {
        say(agent, FRAME_DONE, NULL, NULL, 0);
        agent->is_done = true;
    }
}

/* ---- What it hears ----------------------------------------------------------------- */

/* Lives of nodes elsewhere; and the verdict that a node of ours is held for dead. */
static void on_life(struct agent *agent, const struct frame *frame)
{
    struct launch *launch = &agent->launch;
    uint32_t rank = frame->words[0];
    uint32_t life = frame->words[1];
    bool is_ours = rank - launch->rank_first < launch->rank_count;
    if (rank >= agent->request.node_count || life > DN_DEAD || (is_ours && life != DN_DEAD)) {
        end_all(agent);
        return;
    }
    host_group_tell_life(&launch->group, rank, (enum dn_life)life);
}

static void on_running_frame(struct agent *agent, const struct frame *frame)
{
    uint32_t which = frame->words[0];
    switch (frame->kind) {
    case FRAME_LIFE: on_life(agent, frame); break;
    case FRAME_INPUT: on_input(agent, frame); break;
    case FRAME_SIGNAL:
        if (frame->words[0] <= (uint32_t)SIGRTMAX) {
            launch_phase_signal_nodes(&agent->launch, (int)frame->words[0]);
        }
        break;
    case FRAME_CREDIT:
        if (which > 1 || frame->words[1] > POST_WINDOW_BYTES - agent->credit_bytes[which]) {
            end_all(agent);
        } else {
            agent->credit_bytes[which] += frame->words[1];
        }
        break;
    default: end_all(agent); break; /* not now */
    }
}

static void on_frame(struct agent *agent, const struct frame *frame)
{
    if (frame->kind == FRAME_BEAT) {
        return; /* that something came is all it says */
    }
    if (agent->stage == AGENT_GREETS && frame->kind == FRAME_ORDER) {
        on_order(agent, frame);
    } else if (agent->stage == AGENT_IS_BOUND && frame->kind == FRAME_PEERS) {
        on_peers(agent, frame);
    } else if (agent->stage == AGENT_IS_READY && frame->kind == FRAME_START) {
        on_start(agent, frame);
    } else if (agent->stage >= AGENT_RUNS) {
        on_running_frame(agent, frame);
    } else {
        end_all(agent);
    }
}

static void hear(struct agent *agent)
{
    struct frame frame;
    enum frame_verdict verdict = FRAME_IS_CUT;
    enum post_news news = remote_post_read(&agent->inbox, agent->from_fd);
    if (news == POST_NEWS) {
        remote_pulse_heard(&agent->pulse, host_now_ns());
    }
    if (agent->is_done) {
        agent->inbox.start = agent->inbox.end; /* whatever it was, it comes too late */
        agent->has_no_input = news == POST_END;
        return;
    }
    if (news == POST_END) {
        end_all(agent); /* the launcher is gone */
    }
    while (!agent->is_over && !agent->is_done &&
           (verdict = remote_post_take(&agent->inbox, FRAME_OF_LAUNCHER, &frame)) ==
               FRAME_IS_WHOLE) {
        on_frame(agent, &frame);
    }
    if (verdict == FRAME_IS_BAD) {
        cli_say("dimmnet agent", "what comes on standard input is not a launcher's");
        end_all(agent);
    }
}

/* ---- The loop ---------------------------------------------------------------------- */

enum { AT_FROM, AT_TO, AT_SIGNALS, AT_NOTIFY, AT_REPORTS, AT_INPUT, AT_STREAMS };

static nfds_t fill_polls(const struct agent *agent, struct pollfd *polls)
{
    const struct launch *launch = &agent->launch;
    bool runs = agent->stage == AGENT_RUNS;
    bool has_input = agent->input_bytes > 0 || agent->input_has_ended;
    uint32_t count = launch->rank_count;
    polls[AT_FROM] = launch_poll_for(agent->has_no_input ? -1 : agent->from_fd, POLLIN);
    polls[AT_TO] = launch_poll_for(launch_sink_is_waiting(&agent->to) ? agent->to.fd : -1, POLLOUT);
    polls[AT_SIGNALS] = launch_poll_for(launch->signals.fd, POLLIN);
    polls[AT_NOTIFY] = launch_poll_for(launch->notify_fd, POLLIN);
    polls[AT_REPORTS] = launch_poll_for(launch->reports_fd, POLLIN);
    polls[AT_INPUT] = launch_poll_for(has_input ? launch->feed.pipe_fd : -1, POLLOUT);
    if (!runs) {
        return AT_STREAMS;
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        bool read_it = launch->outputs[i].fd >= 0 && may_send(agent, i % 2);
        polls[AT_STREAMS + i] = launch_poll_for(read_it ? launch->outputs[i].fd : -1, POLLIN);
    }
    for (uint32_t i = 0; i < count; i++) {
        polls[AT_STREAMS + 2 * count + i] = launch_poll_for(launch->nodes[i].attached_fd, POLLIN);
    }
    return AT_STREAMS + 3 * count;
}

static void on_ready(struct agent *agent, const struct pollfd *polls, nfds_t polled)
{
    struct launch *launch = &agent->launch;
    uint32_t count = launch->rank_count;
    if (polls[AT_SIGNALS].revents) {
        on_signals(launch);
    }
    launch_loop_on_nodes(launch, &polls[AT_NOTIFY], &polls[AT_REPORTS],
                         polled > AT_STREAMS ? &polls[AT_STREAMS + 2 * count] : NULL);
    for (uint32_t i = 0; polled > AT_STREAMS && i < 2 * count; i++) {
        if (polls[AT_STREAMS + i].revents && may_send(agent, i % 2)) {
            (void)pass_output_on(agent, i);
        }
    }
    if (polls[AT_INPUT].revents && launch->feed.pipe_fd >= 0) {
        pass_input_on(agent);
    }
    if (polls[AT_TO].revents && launch_sink_is_waiting(&agent->to)) {
        launch_sink_write(&agent->to);
    }
    /* This comes last: an order opens descriptors, which this poll did not look at. */
    if (polls[AT_FROM].revents) {
        hear(agent);
    }
}

/* The launcher's host may have lost power: then nothing ends our standard input. */
static void on_time(struct agent *agent, uint64_t now_ns)
{
    beat(agent, now_ns);
    int from_fd = agent->has_no_input ? -1 : agent->from_fd;
    if (remote_pulse_is_silent(&agent->pulse, now_ns, from_fd)) {
        agent->is_left = true;
        end_all(agent);
    }
    if (agent->to.error) {
        end_all(agent); /* nobody reads what it says */
    }
}

enum { GUARDIAN_RETRY_MS = 100 };

static int poll_timeout_ms(const struct agent *agent)
{
    bool unguarded = agent->stage == AGENT_RUNS && agent->launch.guardian.pid == 0;
    uint64_t now_ns = host_now_ns();
    uint64_t due_ns = remote_pulse_due_ns(&agent->pulse);
    uint64_t left_ms = due_ns <= now_ns ? 0 : (due_ns - now_ns) / NS_PER_MS + 1;
    left_ms = left_ms < INT_MAX ? left_ms : INT_MAX;
    return unguarded && left_ms > GUARDIAN_RETRY_MS ? GUARDIAN_RETRY_MS : (int)left_ms;
}

static void work(struct agent *agent)
{
    struct launch *launch = &agent->launch;
    struct pollfd few[AT_STREAMS];
    while (!agent->is_over) {
        if (agent->stage == AGENT_RUNS && launch->live_count == 0 && !agent->is_done) {
            agent->stage = AGENT_DRAINS;
            launch_sweep(launch);
        }
        if (agent->stage == AGENT_DRAINS && !agent->is_done) {
            drain(agent);
        }
        if (agent->is_done && !launch_sink_is_waiting(&agent->to)) {
            return;
        }
        struct pollfd *polls = launch->polls ? launch->polls : few;
        nfds_t polled = fill_polls(agent, polls);
        int ready = poll(polls, polled, poll_timeout_ms(agent));
        if (ready > 0) {
            on_ready(agent, polls, polled);
        }
        on_time(agent, host_now_ns());
        if (agent->stage == AGENT_RUNS && launch->guardian.pid == 0 && launch->live_count > 0) {
            (void)launch_guardian_start(&launch->guardian);
        }
    }
}

/* ---- Beginning and end ------------------------------------------------------------- */

/* Frames get descriptors of their own, so that nothing that is printed comes between them. */
static bool take_descriptors(struct agent *agent)
{
    agent->from_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    agent->to_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool taken = agent->from_fd >= 0 && agent->to_fd >= 0 && null_fd >= 0 &&
                 dup2(null_fd, STDIN_FILENO) >= 0 && dup2(null_fd, STDOUT_FILENO) >= 0;
    if (null_fd >= 0) {
        (void)close(null_fd);
    }
    return taken &&
           launch_sink_open(&agent->to, agent->to_fd, POST_CONTROL_BYTES + 2 * POST_WINDOW_BYTES);
}

/* Perhaps nobody ever reads it, so it must not wait for a reader. */
static void say_left(const struct agent *agent)
{
    struct pollfd err = launch_poll_for(STDERR_FILENO, POLLOUT);
    unsigned long long silence_s = agent->pulse.silence_ns / NS_PER_SECOND;
    if (poll(&err, 1, 0) <= 0) {
        return;
    }
    if (agent->launch.request) {
        cli_say(agent->launch.request->command,
                "the launcher has been silent for %llu s: its nodes here are ended", silence_s);
    } else {
        cli_say("dimmnet agent", "no launcher has given an order for %llu s", silence_s);
    }
}

static void release(struct agent *agent)
{
    struct launch *launch = &agent->launch;
    if (launch->request) {
        launch_phase_signal_nodes(launch, SIGKILL);
        launch_sweep(launch);
    }
    if (agent->is_left) {
        say_left(agent);
    }
    if (launch->request) {
        launch_release(launch);
    }
    free(agent->told_lives);
    free(agent->input);
    remote_order_release(&agent->order);
    remote_post_release(&agent->inbox);
    launch_sink_close(&agent->to);
    (void)close(agent->from_fd);
    (void)close(agent->to_fd);
}

int cli_agent(int argc, char **argv)
{
    struct agent agent = {.to = {.fd = -1}, .launch = {.signals = {.fd = -1}}};
    uint32_t words[AGENT_GREETING_WORDS];
    (void)argv;
    if (argc > 1 || isatty(STDIN_FILENO)) {
        return cli_refuse("dimmnet agent", "this is started by dimmnet run --hosts, "
                                           "and not for people");
    }
    if (!launch_fill_standard_descriptors() || !take_descriptors(&agent)) {
        return cli_fail("dimmnet agent", "cannot take the standard descriptors: %s",
                        strerror(errno));
    }
    agent.launch.notify_fd = -1;
    agent.launch.reports_fd = -1;
    agent.launch.feed.pipe_fd = -1;
    remote_agent_greeting(words);
    remote_pulse_await(&agent.pulse, ORDER_NS, host_now_ns());
    say(&agent, FRAME_GREETING, words, dn_version(), strlen(dn_version()));
    work(&agent);
    int status = agent.is_left ? STATUS_SILENCE : agent.is_over ? CLI_FAULT : CLI_OK;
    release(&agent);
    return status;
}
