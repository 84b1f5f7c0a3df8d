"""Processes as /proc shows them, and what remains of a round."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
OUR_NAMES = re.compile(r"dimmnet|fagus|shmem|^dn[-_]")


def become_reaper():
    """Orphans of a group become this process's children, so that none escapes."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def state(pid):
    """R, S, T, Z, ...; empty: there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_there(pid):
    return state(pid) not in ("", "Z", "X")


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(
            errors="replace").strip()
    except OSError:
        return ""


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def children(pid):
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text().split()]
        except OSError:
            pass
    return found


def descendants(pid):
    found, queue = [], children(pid)
    while queue:
        child = queue.pop()
        found.append(child)
        queue += children(child)
    return found


def marked(mark):
    """Processes with this variable in their environment, this one left out."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if mark in pathlib.Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                pass
    return found


def remaining(mark, helpers):
    """What is still there of a group: our own descendants, and what carries the mark."""
    found = set()
    for pid in children(os.getpid()):
        if pid not in helpers:
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    found.add(pid)
            except ChildProcessError:
                pass
    found.update(pid for pid in marked(mark) if pid not in helpers and is_there(pid))
    return found


def end(pids):
    """The last resort of a round that went wrong."""
    for pid in pids:
        for number in (signal.SIGKILL, signal.SIGCONT):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
    time.sleep(0.1)


def files_of_ours():
    """Files with names like ours where such things are left."""
    return {f"{folder}/{name}" for folder in ("/dev/shm", "/tmp", "/run", "/dev/mqueue")
            if os.path.isdir(folder) for name in os.listdir(folder) if OUR_NAMES.search(name)}


def describe(pid):
    """Where a process stands: its threads' stacks if there is a debugger, else the kernel's view."""
    text = [f"== {pid} {state(pid)} {name_of(pid)}: {command_of(pid)}"]
    for path in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        try:
            text.append(f"thread {path.name}: {(path / 'wchan').read_text()} "
                        f"{(path / 'syscall').read_text().strip()}")
        except OSError:
            pass
    try:
        done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"],
                              check=False, capture_output=True, text=True, timeout=20)
        text.append(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        text.append(f"no stacks: {error}")
    return "\n".join(text)
