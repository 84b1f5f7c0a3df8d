#!/usr/bin/env python3
"""No call of the library is a cancellation point.

usage: cancel_test.py BUILD_FOLDER

An object of the library names no function of the C library that is a cancellation point, unless the
table below says why a thread cannot be cancelled in it. What runs often calls the kernel directly.
"""

import pathlib
import subprocess
import sys

POINTS = set("""
accept accept4 aio_suspend clock_nanosleep close closedir connect copy_file_range creat creat64
dprintf epoll_pwait epoll_pwait2 epoll_wait fallocate fallocate64 fclose fcntl fcntl64 fdatasync
fflush fgetc fgets fopen fopen64 fprintf fputc fputs fread fscanf fsync fwrite getaddrinfo getdelim
__getdelim getline getrandom __isoc23_fscanf __isoc99_fscanf lockf lockf64 mq_receive mq_send
mq_timedreceive mq_timedsend msgrcv msgsnd msync nanosleep open open64 __open_2 __open64_2 openat
openat64 opendir pause pclose perror poll __poll_chk popen posix_fallocate posix_fallocate64 ppoll
__ppoll_chk pread pread64 __pread_chk __pread64_chk preadv preadv2 printf pselect
pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel putc
putchar puts pwrite pwrite64 pwritev pwritev2 read __read_chk readdir readv recv __recv_chk recvfrom
__recvfrom_chk recvmmsg recvmsg scanf select sem_clockwait sem_timedwait sem_wait send sendmmsg
sendmsg sendto sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice sync_file_range
syslog system tcdrain tee usleep vdprintf vfprintf vmsplice vprintf wait wait3 wait4 waitid waitpid
write writev __dprintf_chk __fprintf_chk __printf_chk __vfprintf_chk __vprintf_chk __vdprintf_chk
""".split())

ATTACHING = "in dn_attach and dn_detach, which hold cancellation off"
FORKED = "in a forked child, while cancellation is held off"
MOVING = "while memory is registered, which holds cancellation off"
OWN_THREAD = "in a thread of the library's own, which nobody can cancel, or in dn_detach"
SETTING_UP = "in the first call and the last one, which hold cancellation off"
LAST_WORDS = "before the process ends, which holds cancellation off"

HELD = {
    "api_memory.c": ({"fprintf"}, "the process aborts"),
    "fabric_relax_relax.c": ({"nanosleep", "pthread_cond_wait", "pthread_join"}, OWN_THREAD),
    "fabric_udp_roster.c": ({"close", "fcntl", "fcntl64", "pread", "pread64", "read", "write"},
                            ATTACHING),
    "fabric_udp_socket.c": ({"close", "connect", "fcntl", "fcntl64"}, ATTACHING),
    "fabric_udp_udp.c": ({"pthread_join"}, ATTACHING),
    "fabric_udp_vault.c": ({"close", "read", "pread", "pread64"}, ATTACHING),
    "fagus_check.c": ({"waitpid", "write"}, LAST_WORDS),
    "fagus_environment.c": ({"fprintf"}, SETTING_UP),
    "fagus_port.c": ({"pthread_cond_timedwait", "pthread_cond_wait", "pthread_join"},
                     "each of them holds cancellation off"),
    "fagus_report.c": ({"fprintf"}, SETTING_UP),
    "fagus_thread.c": ({"pthread_join"}, "it holds cancellation off"),
    "host_close_files.c": ({"close", "open", "open64"}, "in a process of its own"),
    "host_group.c": ({"close", "fcntl", "fcntl64", "pread", "pread64", "preadv2", "preadv64v2",
                      "read"}, ATTACHING + "; or in a launcher"),
    "host_job.c": ({"fflush", "send"}, LAST_WORDS),
    "host_join.c": ({"close", "connect", "poll", "pthread_join", "recv", "recvmsg", "send", "write"},
                    ATTACHING + "; or " + OWN_THREAD + "; or " + FORKED),
    "host_keeper.c": ({"accept4", "close", "fcntl", "fcntl64", "open", "open64", "poll", "recv",
                       "sendmsg", "waitpid"},
                      "in dn_attach, which holds cancellation off, or in a process of its own"),
    "host_killpoint.c": ({"dprintf"}, "the process is killed"),
    "host_mappings.c": ({"fopen", "fopen64", "fclose", "getline", "getdelim", "__getdelim"},
                        MOVING),
    "host_node.c": ({"close"}, ATTACHING + "; or " + FORKED),
    "host_pages.c": ({"open", "open64", "close", "pread", "pread64"}, MOVING),
    "host_threads.c": ({"open", "open64", "close", "read", "nanosleep"}, MOVING),
    "host_trace.c": ({"close", "fcntl", "fcntl64", "pwrite", "pwrite64"}, ATTACHING),
    "shmem_environment.c": ({"printf", "fflush", "puts", "putchar"}, SETTING_UP),
    "shmem_fortran_setup.c": ({"dprintf"}, LAST_WORDS),
    "shmem_setup.c": ({"fflush", "sleep"}, LAST_WORDS),
    "shmem_state.c": ({"dprintf"}, "it holds cancellation off"),
}

# What compilers and fortified headers make of these.
OTHER_NAMES = {f"__{name}_chk": name for name in ("dprintf", "fprintf", "printf", "pread", "pread64",
                                                  "read", "vfprintf")}


def needed(path):
    lines = subprocess.run(["nm", "--format=posix", "--undefined-only", path], check=True,
                           text=True, capture_output=True).stdout.splitlines()
    return {line.split()[0] for line in lines if len(line.split()) > 1}


def main():
    built = pathlib.Path(sys.argv[1]) / "src"
    checked = 0
    faults = []
    for library in ("core", "shmem_core", "shmem_fortran_core", "fagus_core"):
        for path in sorted((built / f"lib{library}.a.p").glob("*.o")):
            checked += 1
            held = HELD.get(path.name.removesuffix(".o"), (set(), ""))[0]
            for name in sorted(needed(path) & POINTS):
                if OTHER_NAMES.get(name, name) not in held:
                    faults.append(f"{path.name}: {name} is a cancellation point; see "
                                  "src/base/uncancelled.h")
    if checked == 0:
        faults.append(f"{built}: no object found")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
