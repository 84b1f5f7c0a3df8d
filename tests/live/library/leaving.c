/* Ends that are no SIGKILL, and a stop that is no end: what the others see of a node that
 * leaves, exits without leaving, never comes, or is stopped for a while.
 *
 *     leaving SCENARIO [FILE]     a node that stays to the end says "stayed"
 *
 * It happens to node 1 (the last of two, or the second of several). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "live/live.h"

enum { NEVER_AT = 0, MESSAGE_AT = 64, PID_AT = 128, TOLD_AT = 192, DATA_AT = 4096 };

static int wait_never(uint64_t timeout_ns)
{
    return dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, timeout_ns);
}

static void require_deaths(size_t wanted)
{
    size_t count;
    expect(dn_failure_ack(me.node, NULL, 0, &count), 0);
    require_else(count == wanted, "%zu deaths, not %zu", count, wanted);
}

static void require_gone(int rank, enum dn_life wanted)
{
    uint64_t value = 1;
    require(live_life_of(rank) == wanted);
    expect(dn_botf(me.node, live_place(rank, DATA_AT), &value, 8), DN_EPEER);
    expect(dn_barrier(dn_team_all(me.node), DN_FOREVER), DN_EPEER);
    expect(dn_alloc(me.node, 64, &(void *){NULL}), DN_EPEER);
}

/* A file tells a process that is not attached that it may end. */
static int wait_for_file(const char *path)
{
    for (int i = 0; i < 20000; i++) {
        if (access(path, F_OK) == 0) {
            return 0;
        }
        live_sleep_ns(LIVE_MS);
    }
    return 1;
}

static void make_file_when_all_are_there(const char *path)
{
    expect(dn_add_u64(me.node, live_place(0, TOLD_AT), 1), 0);
    expect(dn_quiet(me.node), 0);
    if (me.rank == 0) {
        live_wait_u64(TOLD_AT, DN_EQ, (uint64_t)me.size - 1);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        require(fd >= 0 && close(fd) == 0);
    }
}

/* ---- Leaving ----------------------------------------------------------------- */

/* Sends without waiting, and leaves at once: everything arrives. */
static void send_and_leave(void)
{
    static unsigned char body[30000];
    struct dn_node *lane;
    struct dn_kick kick;
    live_fill(body, sizeof body, 7);
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_push(lane, live_place(0, DATA_AT), body, sizeof body, NULL), 0);
    expect(dn_add_u64(me.node, live_place(0, DATA_AT + sizeof body), 5), 0);
    expect(dn_kick_map(lane, live_place(0, DATA_AT + sizeof body + 8), 8, &kick), 0);
    dn_store_u64(&kick, 0, 6);
    expect(dn_detach(me.node), 0);
}

/* The others' waits go on, and end when another node ends them. The process that left is still
 * there. */
static void leave(const char *path)
{
    live_barrier();
    if (me.rank == 1) {
        live_sleep_ns(10 * LIVE_MS); /* the others are waiting by then */
        send_and_leave();
        require(wait_for_file(path) == 0);
        return;
    }
    if (me.rank == 0) {
        live_wait_for_life(1, DN_LEFT);
        require(live_first_other(me.llcm + DATA_AT, 30000, 7) == 30000);
        require(*live_u64(DATA_AT + 30000) == 5 && *live_u64(DATA_AT + 30008) == 6);
        live_sleep_ns(30 * LIVE_MS);
        for (int rank = 2; rank < me.size; rank++) {
            expect(dn_set_u64(me.node, live_place(rank, MESSAGE_AT), 9), 0);
        }
        expect(dn_quiet(me.node), 0);
    } else {
        expect(dn_wait_until_u64(me.node, live_u64(MESSAGE_AT), DN_EQ, 9, DN_FOREVER), 0);
    }
    require_deaths(0);
    expect(wait_never(5 * LIVE_MS), DN_ETIMEOUT);
    /* By packets node 0's word may come before the launcher's. */
    live_wait_for_life(1, DN_LEFT);
    require_gone(1, DN_LEFT);
    expect(wait_never(5 * LIVE_MS), DN_ETIMEOUT);
    make_file_when_all_are_there(path);
}

/* When all others are gone, an endless wait ends, however they went. */
static void last_one(void)
{
    live_barrier();
    if (me.rank != 0) {
        live_sleep_ns((uint64_t)me.rank * 10 * LIVE_MS);
        return;
    }
    size_t index;
    struct dn_condition condition = {live_u32(NEVER_AT), 4, DN_NE, 0};
    expect(wait_never(DN_FOREVER), DN_EPEER);
    for (int rank = 1; rank < me.size; rank++) {
        require(live_life_of(rank) == DN_LEFT);
    }
    expect(dn_wait_until_any(me.node, &condition, 1, DN_FOREVER, &index), DN_EPEER);
    expect(dn_wait_until_u32(me.node, live_u32(NEVER_AT), DN_EQ, 1, DN_FOREVER), DN_EPEER);
    expect(wait_never(5 * LIVE_MS), DN_ETIMEOUT);
    require_deaths(0);
    require_gone(1, DN_LEFT);
    /* It can still talk to itself. */
    uint64_t old;
    expect(dn_fetch_add_u64(me.node, live_place(0, 256), 3, &old), 0);
    expect(dn_wait_until_u64(me.node, live_u64(256), DN_EQ, 3, DN_FOREVER), 0);
}

/* ---- Exiting without leaving ------------------------------------------------- */

/* The exit status decides nothing: the process was attached, so it is dead. */
static void vanish(int status)
{
    live_barrier();
    if (me.rank == 1) {
        live_sleep_ns(5 * LIVE_MS);
        _exit(status);
    }
    expect(wait_never(DN_FOREVER), DN_EPEER);
    require_deaths(1);
    require_deaths(0);
    require_gone(1, DN_DEAD);
    if (me.size > 2) {
        expect(wait_never(5 * LIVE_MS), DN_ETIMEOUT);
    }
}

/* Leaves, and then is killed: that no longer counts as a death. */
static void killed_after_leaving(void)
{
    live_barrier();
    if (me.rank == 1) {
        expect(dn_detach(me.node), 0);
        (void)raise(SIGKILL);
    }
    live_wait_for_life(1, DN_LEFT);
    live_sleep_ns(50 * LIVE_MS);
    require_deaths(0);
    expect(wait_never(5 * LIVE_MS), DN_ETIMEOUT);
    require_gone(1, DN_LEFT);
}

/* ---- Never attaching --------------------------------------------------------- */

/* Its memory is there from the start, and an end without a fault is no death. */
static void never_attaches(const char *path)
{
    uint64_t value = 4;
    uint64_t read;
    require(live_life_of(1) == DN_STARTING);
    if (!live_shares_nothing()) { /* there it does not answer yet */
        expect(dn_botf(me.node, live_place(1, DATA_AT), &value, 8), 0);
        expect(dn_quiet(me.node), 0);
        expect(dn_read_u64(me.node, live_place(1, DATA_AT), &read), 0);
        require(read == 4);
    }
    expect(dn_barrier(dn_team_all(me.node), 5 * LIVE_MS), DN_ETIMEOUT);
    make_file_when_all_are_there(path);
    expect(dn_barrier(dn_team_all(me.node), DN_FOREVER), DN_EPEER);
    live_wait_for_life(1, DN_LEFT);
    require_deaths(0);
    require_gone(1, DN_LEFT);
}

static void dies_before_attaching(void)
{
    expect(wait_never(DN_FOREVER), DN_EPEER);
    require_deaths(1);
    require_gone(1, DN_DEAD);
}

/* ---- Stopping ---------------------------------------------------------------- */

static char state_of_process(uint64_t pid)
{
    char path[64];
    char text[512] = {0};
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    int fd = open(path, O_RDONLY);
    require(fd >= 0 && read(fd, text, sizeof text - 1) > 0 && close(fd) == 0);
    const char *end = strrchr(text, ')');
    require(end != NULL);
    return end[2];
}

static void stop_for_a_while(void)
{
    expect(dn_set_u64(me.node, live_place(0, PID_AT), (uint64_t)getpid()), 0);
    expect(dn_quiet(me.node), 0);
    (void)raise(SIGSTOP);
    live_barrier();
    live_wait_u64(MESSAGE_AT, DN_EQ, 8);
}

static void watch_the_stopped(void)
{
    live_wait_u64(PID_AT, DN_NE, 0);
    uint64_t pid = *live_u64(PID_AT);
    while (state_of_process(pid) != 'T') {
        live_sleep_ns(LIVE_MS);
    }
    uint64_t until_ns = live_now_ns() + 300 * LIVE_MS;
    for (uint64_t number = 1; live_now_ns() < until_ns; number++) {
        uint64_t old;
        expect(wait_never(20 * LIVE_MS), DN_ETIMEOUT);
        require(live_life_of(1) == DN_ATTACHED);
        require_deaths(0);
        /* Its memory answers without it, where it can be reached. */
        if (!live_shares_nothing()) {
            expect(dn_fetch_add_u64(me.node, live_place(1, DATA_AT), 1, &old), 0);
            require(old == number - 1);
        }
        expect(dn_barrier(dn_team_all(me.node), LIVE_MS), DN_ETIMEOUT);
    }
    uint64_t value = 8;
    expect(dn_botf(me.node, live_place(1, MESSAGE_AT), &value, 8), 0);
    if (!live_shares_nothing()) {
        expect(dn_quiet(me.node), 0);
    }
    require(kill((pid_t)pid, SIGCONT) == 0);
    live_barrier();
}

static void stopped(void)
{
    live_barrier();
    if (me.rank == 1) {
        stop_for_a_while();
    } else if (me.rank == 0) {
        watch_the_stopped();
    } else {
        /* In an endless barrier, asleep, all the time. */
        expect(dn_barrier(dn_team_all(me.node), DN_FOREVER), 0);
    }
    live_barrier();
}

/* ---- A launcher that is held up ---------------------------------------------- */

/* Node 0 writes more than is read, node 1 dies, and the others hear of it although the launcher
 * cannot get rid of its output. The file tells what node 2 heard. */
static void flooded(const char *path)
{
    static char line[4096];
    live_barrier();
    if (me.rank == 0) {
        memset(line, 'x', sizeof line - 1);
        line[sizeof line - 1] = '\n';
        while (write(STDOUT_FILENO, line, sizeof line) > 0) {
        }
    } else if (me.rank == 1) {
        live_sleep_ns(200 * LIVE_MS); /* everything is full by then */
        expect(dn_set_u64(me.node, live_place(2, MESSAGE_AT), live_now_ns()), 0);
        expect(dn_quiet(me.node), 0);
        (void)raise(SIGKILL);
    } else {
        expect(wait_never(DN_FOREVER), DN_EPEER);
        uint64_t took_ns = live_now_ns() - *live_u64(MESSAGE_AT);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        require(fd >= 0 && dprintf(fd, "%llu\n", (unsigned long long)took_ns / 1000000) > 0);
        require(close(fd) == 0);
    }
}

/* ---- Waiting for the launcher's end ------------------------------------------ */

static void wait_in_all_ways(void)
{
    live_barrier();
    (void)dprintf(STDOUT_FILENO, "waiting\n");
    switch (me.rank % 3) {
    case 0: (void)wait_never(DN_FOREVER); break;
    case 1: (void)dn_barrier(dn_team_all(me.node), DN_FOREVER); break;
    default: (void)sleep(100); break;
    }
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "";
    const char *rank = getenv("DIMMNET_RANK");
    bool is_one = rank && strcmp(rank, "1") == 0;
    me.check = scenario;
    const char *path = argc > 2 ? argv[2] : "";
    if (strcmp(scenario, "never_attaches") == 0 && is_one) {
        return wait_for_file(path);
    }
    if (strcmp(scenario, "dies_before_attaching") == 0 && is_one) {
        live_sleep_ns(20 * LIVE_MS);
        return raise(SIGKILL);
    }
    live_attach();
    if (strcmp(scenario, "leave") == 0) {
        leave(path);
    } else if (strcmp(scenario, "last_one") == 0) {
        last_one();
    } else if (strcmp(scenario, "exit_0") == 0) {
        vanish(0);
    } else if (strcmp(scenario, "exit_3") == 0) {
        vanish(3);
    } else if (strcmp(scenario, "killed_after_leaving") == 0) {
        killed_after_leaving();
    } else if (strcmp(scenario, "never_attaches") == 0) {
        never_attaches(path);
    } else if (strcmp(scenario, "dies_before_attaching") == 0) {
        dies_before_attaching();
    } else if (strcmp(scenario, "stopped") == 0) {
        stopped();
    } else if (strcmp(scenario, "flooded") == 0) {
        flooded(path);
    } else if (strcmp(scenario, "wait_in_all_ways") == 0) {
        wait_in_all_ways();
    } else {
        return 2;
    }
    if (dn_rank(me.node) >= 0) {
        expect(dn_detach(me.node), 0);
        (void)dprintf(STDOUT_FILENO, "stayed\n");
    }
    return 0;
}
