#!/usr/bin/env python3
"""Where a group's secret is. usage:

    secret.py tap FILE PROGRAM ARGUMENT...   as a node: writes the secret to FILE, puts it back, and
                                             becomes the program
    secret.py search FILE PID...             searches the memory of these processes for it; a line
                                             "PID FLAGS NAME" for each place
    secret.py echoes PID...                  what is in a node's memory for secrets and, 16 bytes of
                                             it, elsewhere in that node; a line for each place
    secret.py descriptors FILE PID...        searches what their descriptors give
"""
import os
import re
import resource
import sys

SECRET_BYTES = 32
# As long as what a vector register holds: of AES a round key, or a power of the hash key.
PIECE_BYTES = 16
# What the kernel says of memory for secrets: not in core files, not in forked children, and locked
# where this user may lock a few pages.
VAULT_FLAGS = {"dd", "dc"}
if os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] >= 1 << 16:
    VAULT_FLAGS.add("lo")


def tap(path, argv):
    fd = int(os.environ["DIMMNET_SECRET_FD"])
    secret = os.read(fd, 2 * SECRET_BYTES)
    assert len(secret) == SECRET_BYTES and len(set(secret)) > 8, "this is no secret"
    with open(path, "wb") as file:
        file.write(secret)
    ends = os.pipe()
    os.write(ends[1], secret)
    os.close(ends[1])
    os.dup2(ends[0], fd)
    os.close(ends[0])
    os.execvp(argv[0], argv)


def mappings(pid):
    """(start, end, permissions, name, flags) of each mapping."""
    found = []
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            if head:
                found.append([int(head[1], 16), int(head[2], 16), head[3], head[4], set()])
            elif line.startswith("VmFlags:"):
                found[-1][4] = set(line.split()[1:])
    return found


def pieces(memory, start, end, overlap):
    """A mapping's bytes, some at a time, with their addresses; holes and what cannot be read are
    left out."""
    step = 1 << 24
    for at in range(start, end, step):
        try:
            memory.seek(at)
            yield at, memory.read(min(step + overlap, end - at))
        except (OSError, ValueError, OverflowError):
            continue


def is_lazy(start, end):
    """A large layout of which most was never touched: only what is there is searched."""
    return end - start > 1 << 26


def present(pid, start, end):
    """The runs of pages that are in memory or swapped out."""
    page = os.sysconf("SC_PAGESIZE")
    with open(f"/proc/{pid}/pagemap", "rb") as file:
        run = None
        for at in range(start, end, page << 15):
            file.seek(at // page * 8)
            words = file.read(min(page << 15, end - at) // page * 8)
            if words.count(0) == len(words) and run is None:
                continue
            for i in range(0, len(words), 8):
                here = at + i // 8 * page
                if words[i + 7] & 0xC0:
                    run = here if run is None else run
                elif run is not None:
                    yield run, here
                    run = None
        if run is not None:
            yield run, end


def places(pid, needles):
    """The mappings of a process that hold one of these, with the address and the needle."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, permissions, name, flags in mappings(pid):
            if permissions[0] != "r" or name in ("[vvar]", "[vsyscall]"):
                continue
            runs = present(pid, start, end) if is_lazy(start, end) else [(start, end)]
            for first, last in runs:
                for at, text in pieces(memory, first, last, SECRET_BYTES - 1):
                    for needle in needles:
                        place = text.find(needle)
                        while place >= 0:
                            yield at + place, name or "[anonymous]", flags, needle
                            place = text.find(needle, place + 1)


def search(path, pids):
    with open(path, "rb") as file:
        secret = file.read()
    for pid in pids:
        for _, name, flags, _ in places(pid, [secret]):
            kind = "vault" if VAULT_FLAGS <= flags else "open"
            print(pid, kind, name)


def echoes(pids):
    for pid in pids:
        needles = set()
        count = 0
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for start, end, permissions, _, flags in mappings(pid):
                if permissions[0] == "r" and VAULT_FLAGS <= flags:
                    for _, text in pieces(memory, start, end, 0):
                        for i in range(0, len(text), PIECE_BYTES):
                            piece = text[i:i + PIECE_BYTES]
                            if len(set(piece)) > 8:
                                needles.add(piece)
        for at, name, flags, _ in places(pid, needles):
            if VAULT_FLAGS <= flags:
                count += 1
            else:
                print(f"{pid} {name} {at:x}")
        print(pid, "has", "keys" if count > 4 else "none")


def descriptors(path, pids):
    with open(path, "rb") as file:
        secret = file.read()
    for pid in pids:
        for name in os.listdir(f"/proc/{pid}/fd"):
            where = f"/proc/{pid}/fd/{name}"
            try:
                link = os.readlink(where)
                if not link.startswith("/memfd:") and not link.startswith("pipe:"):
                    continue
                fd = os.open(where, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                text = os.read(fd, 1 << 20)
            except OSError:
                text = b""
            os.close(fd)
            if secret in text:
                print(pid, link)


def main():
    what, words = sys.argv[1], sys.argv[2:]
    if what == "tap":
        tap(words[0], words[1:])
    elif what == "search":
        search(words[0], words[1:])
    elif what == "echoes":
        echoes(words)
    elif what == "descriptors":
        descriptors(words[0], words[1:])
    else:
        sys.exit(__doc__)


main()
