#!/usr/bin/env python3
"""The fault run: groups of nodes work while everything happens to them that can happen.

Nodes, agents, launchers and guardians are killed and stopped at random, some while the group
starts; launchers are asked to end; packets are lost, doubled, reordered and damaged; paths are
narrowed and cut; memory and descriptors are scarce; other processes want the cores. The nodes run
`work_dn.c`, `work_shmem.c` and `work_fagus.c` on `mem`, on `udp`, through a bad relay, under
agents, and between network namespaces (as root). Every survivor must end or go on within a second
of the peer time-out, its results must be right, and nothing may remain. The machine's own stalls,
which a heartbeat sees, are counted apart.

Everything follows from the seed, up to the timing: --seed with --round repeats a round.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree stays clean

import network
import plan as planning
import processes
from board import SECOND, Heartbeat, now_ns
from round import DEATH_NS, Round

PACKETS = {"received": "packets through the relay", "lost": "packets lost",
           "duplicated": "packets doubled", "reordered": "packets reordered",
           "corrupted": "packets damaged", "queue_full": "packets that found a full queue"}
LONGEST_S = 30.0
WRONG = {"hang": "hangs", "wrong": "wrong results", "leftover": "leftovers"}


class World:
    """What all rounds share."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.build = pathlib.Path(arguments.build).resolve()
        self.tools = self.build / "tests" / "tools"
        self.timeout_s = planning.TIMEOUT_S
        self.prefix = f"soak{os.getpid()}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="soak-faults-"))
        self.logs = self.build / "logs" / f"soak-faults-{arguments.seed}"
        self.helpers = set()  # processes of this run that belong to no group
        self.files_before = processes.files_of_ours()
        self.latest_nap_ns = 0
        self.heartbeat = Heartbeat(self.tools)
        self.helpers.add(self.heartbeat.process.pid)
        self.no_namespaces = (network.can_have_namespaces(self.prefix)
                              if not arguments.no_namespaces else "not wanted")

    def nap(self, seconds):
        """Sleeps, and notes how late an ordinary process wakes here, the machine's stalls apart."""
        begin_ns = now_ns()
        time.sleep(seconds)
        end_ns = now_ns()
        late_ns = (end_ns - begin_ns - int(seconds * SECOND)
                   - self.heartbeat.stalled_ns(begin_ns, end_ns))
        self.latest_nap_ns = max(self.latest_nap_ns, late_ns)

    def repeat(self, number):
        """The command that repeats a round. What bounds a plan belongs to it."""
        arguments = self.arguments
        command = f"make soak-faults SEED={arguments.seed} ROUND={number}"
        if arguments.longest != LONGEST_S or arguments.no_namespaces:
            command = (f"tests/soak/faults/run.py {arguments.build} --seed {arguments.seed} "
                       f"--round {number} --longest {arguments.longest:g}" +
                       (" --no-namespaces" if arguments.no_namespaces else ""))
        return command

    def end(self):
        self.heartbeat.end()
        network.remove(self.prefix)
        shutil.rmtree(self.folder, ignore_errors=True)


def part(ordered, fraction):
    """The value that this fraction of them does not exceed."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


class Report:
    """The table."""

    def __init__(self, world):
        self.world = world
        self.begin_ns = now_ns()
        self.rounds = collections.Counter()
        self.faults = collections.Counter()
        self.packets = collections.Counter()
        self.wrong = collections.Counter()
        self.deaths = {"": [], " with busy neighbours": []}
        self.ends = []
        self.checks = 0
        self.worst = (0, "", 0)

    def add(self, done):
        plan = done.plan
        self.rounds[plan.fabric, plan.program] += 1
        # What was taken from nobody who wanted it is no fault.
        self.faults.update(happened.kind for happened in done.happened
                           if done.is_felt or not happened.kind.startswith("take"))
        if done.is_felt and not plan.scarce.endswith("later"):
            self.faults["scarce " + plan.scarce] += 1
        if plan.busy:
            self.faults["busy neighbours"] += 1
        self.packets.update(done.packets)
        self.wrong.update({kind for kind, _ in done.failures})
        self.deaths[" with busy neighbours" if plan.busy else ""] += done.deaths
        self.ends += done.ends
        self.checks += done.checks
        self.worst = max(self.worst, (done.worst_ns, done.worst_wait, plan.number))

    def is_late(self):
        """Whether one death in a thousand or more was known too late, if there are as many."""
        took = sorted(took - stalled for took, stalled in self.deaths[""])
        return len(took) >= 1000 and part(took, 0.999) > DEATH_NS

    def total(self):
        return sum(self.rounds.values())

    def line(self):
        """For the screen, while it runs."""
        seconds = (now_ns() - self.begin_ns) // SECOND
        wrong = ", ".join(f"{self.wrong[kind]} {name}" for kind, name in WRONG.items())
        return (f"{seconds // 60}:{seconds % 60:02} {self.total()} rounds, "
                f"{sum(self.faults.values())} faults, {wrong}")

    def _times(self, name, values):
        if not values:
            return [f"{name}: none"]
        ordered = sorted(values)
        late = sum(value > DEATH_NS for value in ordered)
        parts = ", ".join(f"{text} {part(ordered, fraction) / 1e6:.1f}" for text, fraction in
                          (("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999)))
        return [f"{name}: {len(ordered)}; {parts}, worst {ordered[-1] / 1e6:.1f} ms; "
                f"{late} above {DEATH_NS // 1_000_000} ms"]

    def lines(self):
        programs = list(planning.PROGRAMS)
        yield f"seed {self.world.arguments.seed}, {self.line()}, {self.checks} results compared"
        yield ""
        yield "rounds          " + "".join(f"{program:>8}" for program in programs)
        for fabric in planning.FABRICS:
            row = "".join(f"{self.rounds[fabric, program]:8}" for program in programs)
            yield f"  {fabric:14}{row}"
        if self.world.no_namespaces:
            yield f"  (no namespaces: {self.world.no_namespaces}; agents on loopback instead)"
        yield "faults that happened"
        for kind, count in sorted(self.faults.items()):
            yield f"  {kind:36} {count:10}"
        for name, text in PACKETS.items():
            yield f"  {text:36} {self.packets[name]:10}"
        yield from self._stalls()
        yield "deaths known after"
        for name, deaths in self.deaths.items():
            yield from self._times(f"  as measured{name}", [took for took, _ in deaths])
            yield from self._times(f"  without stalls{name}",
                                   [took - stalled for took, stalled in deaths])
        yield from self._times("  groups that had to end, ended after", self.ends)
        over_ns, call, number = self.worst
        yield (f"worst wait beyond its fault: {over_ns / SECOND:.2f} s" +
               (f", {call}, round {number}" if over_ns else "") +
               f"; the bound is {self.world.timeout_s + 1:.0f} s")
        yield ", ".join(f"{name} {self.wrong[kind]}" for kind, name in WRONG.items())

    def _stalls(self):
        beat = self.world.heartbeat
        longest = max((end - begin for begin, end in beat.gaps), default=0)
        yield (f"the machine's own stalls above 20 ms: {len(beat.gaps)}, the longest "
               f"{longest / 1e6:.0f} ms; {beat.steal_s():.1f} s of CPU stolen" +
               ("" if beat.is_first else " (ordinary priority: load counts as well)"))
        yield (f"this driver's naps ended at most {self.world.latest_nap_ns / 1e6:.0f} ms late, "
               "the stalls apart")


def say(report, is_last=False):
    if sys.stdout.isatty():
        print("\r\033[K" + report.line(), end="\n" if is_last else "", flush=True)


def run(world, report):
    """Rounds until the time is up."""
    arguments = world.arguments
    end_ns = now_ns() + int(arguments.minutes * 60 * SECOND)
    numbers = ([arguments.round] * arguments.times if arguments.round is not None
               else range(1 << 30))
    told_ns = now_ns()
    for number in numbers:
        if arguments.round is None and now_ns() >= end_ns:
            return
        plan = planning.make(arguments.seed, number, arguments.longest)
        for name in ("fabric", "program"):
            if getattr(arguments, name) and getattr(plan, name) != getattr(arguments, name):
                break
        else:
            if plan.fabric == "namespaces" and world.no_namespaces:
                plan.fabric = "hosts"
                plan.faults = [fault for fault in plan.faults
                               if fault.kind in planning.FAULTS["hosts"]]
            done = Round(world, plan)
            if arguments.verbose:
                print(plan.title(), flush=True)
            done.run()
            report.add(done)
            for kind, sentence in done.failures[:2]:
                print(f"\r\033[K{kind}: {plan.title()}\n    {sentence}" if sys.stdout.isatty()
                      else f"{kind}: {plan.title()}\n    {sentence}")
            for sentence in done.late:
                print(f"late: {plan.title()}\n    {sentence}")
            if done.failures or done.late:
                print(f"    {world.logs}/round-{number}; again: {world.repeat(number)}", flush=True)
            say(report)
            if not sys.stdout.isatty() and now_ns() - told_ns > 60 * SECOND:
                told_ns = now_ns()
                print(report.line(), flush=True)


def interrupted(*_):
    raise KeyboardInterrupt


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="the build folder")
    parser.add_argument("--minutes", type=float, default=10, help="how long (10)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31),
                        help="of all plans; random unless given")
    parser.add_argument("--round", type=int, help="only this one")
    parser.add_argument("--times", type=int, default=1, help="how often, with --round")
    parser.add_argument("--fabric", choices=list(planning.FABRICS), help="only rounds on this one")
    parser.add_argument("--program", choices=list(planning.PROGRAMS), help="only rounds of this one")
    parser.add_argument("--longest", type=float, default=LONGEST_S, metavar="SECONDS",
                        help=f"no stop and no cut lasts longer ({LONGEST_S:g})")
    parser.add_argument("--no-namespaces", action="store_true", help="also as root")
    parser.add_argument("--verbose", action="store_true", help="tell the plan of each round")
    return parser.parse_args()


def main():
    arguments = parse()
    if not (pathlib.Path(arguments.build) / "tests" / "soak_dn").exists():
        sys.exit(f"{arguments.build} has no tests/soak_dn: build it first, with the tests")
    processes.become_reaper()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    world = World(arguments)
    report = Report(world)
    print(f"seed {arguments.seed}, peer time-out {world.timeout_s:.0f} s", flush=True)
    try:
        run(world, report)
    except KeyboardInterrupt:
        print("\nended early")
    finally:
        say(report, is_last=True)
        table = "\n".join(report.lines())
        print(table, flush=True)
        if report.wrong:
            world.logs.mkdir(parents=True, exist_ok=True)
            (world.logs / "table").write_text(table + "\n")
        world.end()
    return 1 if report.wrong or report.is_late() or not report.total() else 0


if __name__ == "__main__":
    sys.exit(main())
