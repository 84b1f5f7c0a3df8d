"""The board of board.h, and the machine's own stalls."""

import mmap
import os
import pathlib
import struct
import subprocess
import threading
import time

NODES_MAX = 16
SLOTS_AT, SLOT_BYTES, KNOWN_AT, CALL_AT = 152, 216, 48, 176
SECOND = 1_000_000_000


def now_ns():
    """CLOCK_MONOTONIC, as the nodes have it."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Slot:
    """What a node shows at this moment."""

    def __init__(self, data):
        (self.pid, self.steps, self.checks, self.since_ns, self.ended,
         self.members) = struct.unpack_from("6Q", data)
        self.known_ns = struct.unpack_from(f"{NODES_MAX}Q", data, KNOWN_AT)
        self.call = data[CALL_AT:].split(b"\0")[0].decode(errors="replace")


class Board:
    """The mapped file; the driver's side."""

    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(SLOTS_AT + NODES_MAX * SLOT_BYTES)
            self.map = mmap.mmap(file.fileno(), 0)

    def _set(self, index):
        struct.pack_into("Q", self.map, 8 * index, 1)

    def finish(self):
        self._set(0)

    def expect_silence(self):
        self._set(1)

    def expect_scarcity(self):
        self._set(2)

    def doom(self, rank):
        self._set(3 + rank)

    def slot(self, rank):
        at = SLOTS_AT + rank * SLOT_BYTES
        return Slot(self.map[at:at + SLOT_BYTES])


class Heartbeat:
    """The tool of that name, whose gaps are the machine's own stalls."""

    def __init__(self, tools):
        # A pipe's reader is a thread here; the tool ends with the thread that starts it.
        self.process = subprocess.Popen([tools / "heartbeat"], stdout=subprocess.PIPE, text=True)
        self.is_first = self.process.stdout.readline().strip().endswith("real time")
        self.gaps = []  # (begin, end), of any core, joined where they overlap
        self.begin_ns = now_ns()
        self.steal_before = self._steal_ns()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            _, _, begin, end = line.split()
            begin, end = int(begin), int(end)
            while self.gaps and self.gaps[-1][1] >= begin:
                before = self.gaps.pop()
                begin, end = min(begin, before[0]), max(end, before[1])
            self.gaps.append((begin, end))

    @staticmethod
    def _steal_ns():
        ticks = int(pathlib.Path("/proc/stat").read_text().split()[8])
        return ticks * SECOND // os.sysconf("SC_CLK_TCK")

    def steal_s(self):
        """CPU time that the hypervisor gave to others since the start."""
        return (self._steal_ns() - self.steal_before) / SECOND

    def stalled_ns(self, begin, end):
        """How much of that time was a stall."""
        return sum(max(0, min(end, gap[1]) - max(begin, gap[0])) for gap in self.gaps)

    def end(self):
        self.process.terminate()
        self.process.wait()
