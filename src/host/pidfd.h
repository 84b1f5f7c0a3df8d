/* Process descriptors. glibc has had these calls since 2.36 only. */
#ifndef HOST_PIDFD_H
#define HOST_PIDFD_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Close-on-exec; readable once the process has ended. -1: errno says why. */
static inline int host_pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int host_pidfd_kill(int process, int signal_number)
{
    return (int)syscall(SYS_pidfd_send_signal, process, signal_number, NULL, 0);
}

#endif
