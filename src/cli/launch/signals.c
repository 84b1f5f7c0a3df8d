/* Taking signals over and giving them back. */
#define _GNU_SOURCE
#include "cli/launch/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "host/clock.h"

static const int taken[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                            SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool launch_signals_take(struct signals *signals)
{
    sigset_t read_here;
    sigset_t blocked;
    (void)sigemptyset(&read_here);
    (void)sigaddset(&read_here, SIGCHLD);
    for (unsigned i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        /* A blocked signal arrives even if it is ignored. */
        if (!is_ignored(taken[i])) {
            (void)sigaddset(&read_here, taken[i]);
        }
    }
    /* Writing to a closed pipe or reading a terminal in the background gives an error instead. */
    blocked = read_here;
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGTTIN);

    /* With SIGCHLD ignored the kernel would reap the nodes itself. */
    struct sigaction child = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    if (sigaction(SIGCHLD, &child, &signals->old_child) != 0 ||
        sigprocmask(SIG_BLOCK, &blocked, &signals->old_mask) != 0) {
        return false;
    }
    signals->fd = signalfd(-1, &read_here, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0) {
        (void)sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
        (void)sigaction(SIGCHLD, &signals->old_child, NULL);
    }
    return signals->fd >= 0;
}

void launch_signals_give_back(struct signals *signals)
{
    if (signals->fd < 0) {
        return;
    }
    /* Pending signals have been acted on, or were meant for a group that is no more. */
    while (launch_signals_next(signals) != 0) {
    }
    const struct timespec at_once = {0};
    sigset_t pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    while (!sigismember(&signals->old_mask, SIGPIPE) &&
           sigtimedwait(&pipe_only, NULL, &at_once) > 0) {
    }
    (void)close(signals->fd);
    signals->fd = -1;
    (void)sigaction(SIGCHLD, &signals->old_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}

void launch_signals_clear_in_child(void)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int launch_signals_next(const struct signals *signals)
{
    struct signalfd_siginfo info;
    if (read(signals->fd, &info, sizeof info) != sizeof info) {
        return 0;
    }
    return (int)info.ssi_signo;
}

void launch_signals_send(pid_t child, int signal_number)
{
    (void)kill(-child, signal_number);
    if (getpgid(child) != child) {
        (void)kill(child, signal_number);
    }
}

uint64_t launch_signals_stop_here(void)
{
    sigset_t stop_only;
    uint64_t before_ns = host_now_ns();
    (void)sigemptyset(&stop_only);
    (void)sigaddset(&stop_only, SIGTSTP);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop_only, NULL);
    (void)sigprocmask(SIG_BLOCK, &stop_only, NULL);
    return host_now_ns() - before_ns;
}
