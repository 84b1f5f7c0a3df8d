"""One round: a group that works, the faults that meet it, and the judgement."""

import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import network
import processes
from board import SECOND, Board, now_ns

LOOK_S = 0.004     # between two looks at the board
START_S = 20       # a group has begun to work after that
GRACE_S = 1.0      # beyond the time-out
DEATH_NS = 100_000_000
STEP_BOUNDS = 8    # a step of the work may take so many bounds of a wait

KILLED = r"dimmnet run: node \d+ \(pid \d+( on \S+)?\) was killed by SIGKILL"
SILENT = r"dimmnet run: node {} is held for dead: "
LOST = r"dimmnet run: lost the agent on host "
SILENT_LINK = (r"dimmnet run: host \S+: it has been silent for too long|"
               r"dimmnet run on \S+: the launcher has been silent for")
PE_DIED = r"PE \d+: \S+: .* has died"


class Happened:
    """A fault that really happened."""

    def __init__(self, kind, ranks, begin_ns):
        self.kind, self.ranks = kind, ranks
        self.begin_ns, self.end_ns = begin_ns, None  # None: it lasts

    def until_ns(self):
        return now_ns() if self.end_ns is None else self.end_ns


class Failed(Exception):
    """Something is wrong: a kind of it, and a sentence."""

    def __init__(self, kind, sentence):
        super().__init__(sentence)
        self.kind = kind


class Round:
    """Runs a plan; run() leaves what happened in the attributes."""

    def __init__(self, world, plan):
        self.world, self.plan = world, plan
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"round{plan.number}-",
                                                    dir=world.folder))
        self.mark = f"SOAK_MARK={world.prefix}-{plan.number}"
        self.happened = []
        self.deaths = []          # (latency, of it stalls, was anything stopped meanwhile)
        self.ends = []            # from a kill until an OpenSHMEM job, or all, had ended
        self.worst_ns = 0         # wait beyond what the faults explain
        self.worst_wait = ""
        self.packets = collections.Counter()
        self.failures = []        # (kind, sentence)
        self.late = []            # sentences about deaths that were known late
        self.checks = 0
        self.is_felt = False      # what is scarce was refused to somebody
        self.busy = []
        self.launcher = None
        self.steps = [(0, now_ns())] * plan.nodes  # of each node, and since when

    # ---- Starting ------------------------------------------------------------------------------

    def _environment(self):
        name, value = self.mark.split("=")
        return {**os.environ, **self.plan.environment, name: value,
                "SOAK_BOARD": str(self.folder / "board"), "SOAK_WAITS": str(self.folder / "waits"),
                "DN_TEST_SEED": str(self.plan.seed), "TMPDIR": str(self.folder / "tmp")}

    def _command(self):
        plan = self.plan
        program = [str(self.world.build / "tests" / f"soak_{plan.program}")]
        if plan.scarce in ("memory", "descriptors of nodes"):
            letter = "v" if plan.scarce == "memory" else "n"
            program = ["sh", "-c", f'ulimit -{letter} {plan.limit} && exec "$0"', *program]
        keeps_going = ["--keep-going"] if plan.keep_going and plan.program != "shmem" else []
        names = [f"-x{name}" for name in ("SOAK_BOARD", "SOAK_WAITS", "SOAK_WATCH", "TMPDIR",
                                          self.mark.split("=")[0])]
        return [*self.net.prefix(), str(self.world.build / "dimmnet"), "run", "-n",
                str(plan.nodes), *self.net.options(), *keeps_going, *names, *program]

    def _limit_launcher(self):
        if self.plan.scarce == "descriptors of the launcher":
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.plan.limit, self.plan.limit))

    def _start(self):
        (self.folder / "tmp").mkdir()
        (self.folder / "waits").touch()
        self.board = Board(self.folder / "board")
        if self.plan.may_be_silent():
            self.board.expect_silence()
        if self.plan.scarce:
            self.board.expect_scarcity()
        self.net.start()
        for _ in range(self.plan.busy):
            process = subprocess.Popen([self.world.tools / "heartbeat", "--busy", "1"])
            self.busy.append(process)
            self.world.helpers.add(process.pid)
        command = self._command()
        (self.folder / "command").write_text(" ".join(command) + "\n")
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                             stderr=err, env=self._environment(),
                                             process_group=0,
                                             preexec_fn=self._limit_launcher)
        # Not in a session of its own: with automatic groups (sched(7)) the kernel may leave other
        # sessions without a core for seconds while nodes sleep and wake often, and this driver is
        # one. preexec_fn is safe here: the only other threads read pipes.
        self.world.helpers.add(self.launcher.pid)

    def _has_begun(self):
        killed = {rank for happened in self.happened if happened.kind.startswith("kill")
                  for rank in happened.ranks}
        return all(self.board.slot(rank).steps for rank in range(self.plan.nodes)
                   if rank not in killed)

    def _wait_for_begin(self):
        """True: it works. False: it has ended already."""
        begin_ns = now_ns()
        while not self._has_begun():
            self._end_faults()
            if self.launcher.poll() is not None:
                return False
            begin_ns = max([begin_ns, *(happened.until_ns() for happened in self.happened)])
            if now_ns() > (begin_ns + START_S * SECOND
                           + self.world.heartbeat.stalled_ns(begin_ns, now_ns())):
                raise Failed("hang", f"after {START_S} s not all nodes have begun")
            self.world.nap(LOOK_S)
        return True

    # ---- Faults --------------------------------------------------------------------------------

    def _living(self):
        """Nodes that work, by rank: they can be hit."""
        found = {}
        for rank in range(self.plan.nodes):
            slot = self.board.slot(rank)
            if slot.pid and not slot.ended and processes.is_there(slot.pid):
                found[rank] = slot.pid
        return found

    def _agents(self):
        """By host, in the order of the launcher's children."""
        found = [pid for pid in sorted(processes.descendants(self.launcher.pid))
                 if re.search(r"dimmnet agent *$", processes.command_of(pid))
                 and processes.name_of(pid) != "dimmnet-guard"]
        return found if len(found) == len(self.net.hosts) else []

    def _host_of(self, agent):
        """The ranks that descend from this agent."""
        below = set(processes.descendants(agent))
        return [rank for rank, pid in self._living().items() if pid in below]

    def _target(self, kind, pick):
        """(pid, ranks) of what a fault hits, or None."""
        what = kind.split()[1]
        if what == "node" or kind.startswith("take"):
            living = self._living()
            # Somebody survives, so that there is something to see.
            if not living or (kind == "kill node" and len(living) < 2):
                return None
            rank = sorted(living)[pick % len(living)]
            return living[rank], [rank]
        if what == "launcher":
            return (self.launcher.pid, []) if processes.is_there(self.launcher.pid) else None
        if what == "guardian":
            guardians = [pid for pid in processes.descendants(self.launcher.pid)
                         if processes.name_of(pid) == "dimmnet-guard"]
            return (guardians[pick % len(guardians)], []) if guardians else None
        agents = self._agents()
        if not agents:
            return None
        agent = agents[pick % len(agents)]
        return agent, self._host_of(agent)

    def _signal(self, fault):
        target = self._target(fault.kind, fault.pick)
        if not target:
            return None
        pid, ranks = target
        if fault.kind.startswith("kill"):
            for rank in ranks:
                self.board.doom(rank)
        happened = Happened(fault.kind, ranks, now_ns())
        signals = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "stop": signal.SIGSTOP}
        try:
            os.kill(pid, signals[fault.kind.split()[0]])
        except ProcessLookupError:
            return None
        if not fault.kind.startswith("stop"):
            happened.end_ns = happened.begin_ns
            return happened
        self._stopped.append((now_ns() + int(fault.seconds * SECOND), pid, happened))
        return happened

    def _take(self, fault):
        """From now on a node gets no more memory, or no more descriptors."""
        target = self._target(fault.kind, fault.pick)
        if not target:
            return None
        pid, ranks = target
        what, has = resource.RLIMIT_NOFILE, 0
        try:
            if fault.kind == "take memory":
                what = resource.RLIMIT_AS
                pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
                has = pages * resource.getpagesize() + (self.plan.limit << 10)
            resource.prlimit(pid, what, (has, has))
        except (OSError, ValueError):
            return None
        happened = Happened(fault.kind, ranks, now_ns())
        happened.end_ns = happened.begin_ns
        return happened

    def _strike(self, fault):
        """Gives what happened, or None."""
        if fault.kind.startswith("take"):
            return self._take(fault)
        if fault.kind not in ("cut", "narrow"):
            return self._signal(fault)
        if any(undo for _, undo, _ in self._undo):
            return None
        begin_ns = now_ns()
        if fault.kind == "cut":
            ranks = self.net.cut(fault.pick)
            undo = self.net.join
        else:
            ranks = [] if self.net.narrow(fault.pick) else None
            undo = self.net.widen
        if ranks is None:
            return None
        happened = Happened(fault.kind, ranks, begin_ns)
        self._undo.append((now_ns() + int(fault.seconds * SECOND), undo, happened))
        return happened

    def _end_faults(self, is_over=False):
        """Ends those whose time is up, or all."""
        for due_ns, pid, happened in list(self._stopped):
            if is_over or now_ns() >= due_ns:
                if processes.state(pid) not in ("", "Z"):
                    os.kill(pid, signal.SIGCONT)
                happened.end_ns = now_ns()
                self._stopped.remove((due_ns, pid, happened))
        for due_ns, undo, happened in list(self._undo):
            if is_over or now_ns() >= due_ns:
                undo()
                happened.end_ns = now_ns()
                self._undo.remove((due_ns, undo, happened))

    def _group_must_end(self):
        """Whether the faults so far end the whole group."""
        return bool(self._kinds() & self._fatal())

    def _fatal(self):
        """The kinds of faults that end it."""
        of_nodes = self.plan.program == "shmem" or not self.plan.keep_going
        return {"kill launcher", "terminate launcher",
                *(("kill node", "kill agent") if of_nodes else ())}

    def _may_end_itself(self):
        """Whether it may end before anybody wishes it, without a fault that ends it for certain."""
        plan = self.plan
        return (plan.scarce or plan.may_lose_links()
                or (plan.program == "shmem" and plan.may_be_silent()))

    # ---- Looking -------------------------------------------------------------------------------

    def _excuse_ns(self, rank, until_ns):
        """Until when the faults explain that this node does not go on by itself. By packets, those
        who wait for a node that is stopped or cut off give it up after the time-out."""
        excuse = 0
        for happened in self.happened:
            if happened.begin_ns > until_ns:
                continue
            is_short = happened.until_ns() - happened.begin_ns < self.world.timeout_s * SECOND
            lasts = (self.plan.fabric == "mem" or rank in happened.ranks or is_short
                     or happened.kind in ("stop launcher", "stop agent"))
            excuse = max(excuse, min(happened.until_ns(), until_ns) if lasts
                         else happened.begin_ns)
        return excuse

    def _over_ns(self, rank, begin_ns, end_ns):
        """How long a wait lasted beyond what faults and stalls explain."""
        begin_ns = max(begin_ns, self._excuse_ns(rank, end_ns))
        return end_ns - begin_ns - self.world.heartbeat.stalled_ns(begin_ns, end_ns)

    def _bound_ns(self):
        return int((self.world.timeout_s + GRACE_S) * SECOND)

    def _look(self):
        """Raises Failed when a node hangs."""
        for rank, _ in self._living().items():
            slot = self.board.slot(rank)
            if slot.steps != self.steps[rank][0]:
                self.steps[rank] = (slot.steps, now_ns())
            over_ns = self._over_ns(rank, slot.since_ns, now_ns()) if slot.since_ns else 0
            if over_ns > self._bound_ns():
                raise Failed("hang", f"node {rank} is in {slot.call} for {over_ns / SECOND:.1f} s")
            # A step is many calls, each of which may wait.
            over_ns = self._over_ns(rank, self.steps[rank][1], now_ns())
            if over_ns > STEP_BOUNDS * self._bound_ns():
                raise Failed("hang", f"node {rank} makes calls but no step for "
                                     f"{over_ns / SECOND:.1f} s, now {slot.call}")

    def _go_on(self, seconds):
        """Lets the group work for a while; false: it has ended."""
        end_ns = now_ns() + int(seconds * SECOND)
        while now_ns() < end_ns:
            self._end_faults()
            if self.launcher.poll() is not None:
                return False
            self._look()
            self.world.nap(LOOK_S)
        return True

    def _wait_for_end(self, what):
        """The launcher ends in time, and everything with it."""
        begin_ns = now_ns()
        while self.launcher.poll() is None or self._remaining():
            self._end_faults()
            self._look()
            stuck = max([begin_ns, *(happened.until_ns() for happened in self.happened),
                         *(since_ns for _, since_ns in self.steps)])
            over_ns = now_ns() - stuck - self.world.heartbeat.stalled_ns(stuck, now_ns())
            if over_ns > self._bound_ns():
                if self.launcher.poll() is not None:
                    left = ", ".join(f"{pid} {processes.name_of(pid)}"
                                     for pid in sorted(self._remaining()))
                    raise Failed("leftover", f"processes remain after {what}: {left}")
                raise Failed("hang", f"the group has not ended {over_ns / SECOND:.1f} s after "
                                     f"{what}")
            self.world.nap(LOOK_S)
        self.ended_ns = now_ns()

    def _remaining(self):
        return processes.remaining(self.mark.encode(), self.world.helpers)

    # ---- Judging -------------------------------------------------------------------------------

    def _kinds(self):
        return {happened.kind for happened in self.happened}

    def _judge_status(self):
        status, kinds, plan = self.launcher.returncode, self._kinds(), self.plan
        allowed = set()
        if "kill launcher" in kinds:
            allowed = {-9}
        else:
            if "kill node" in kinds:
                allowed.add(137)
            if "terminate launcher" in kinds:
                allowed |= {143} if plan.early_s is None else {143, -15}  # it had not begun
            if ("kill agent" in kinds or plan.may_lose_links()
                    or (plan.program == "shmem" and plan.may_be_silent())):
                allowed.add(1)
            if not allowed or plan.may_be_silent():
                allowed.add(0)
        if plan.scarce:
            self.is_felt = status not in allowed
            allowed |= {0, 1, 2, 3, 127}  # the last when the program could not be loaded
            if self.is_felt and not (self.folder / "err").stat().st_size:
                self.failures.append(("wrong", f"exit status {status} without a word"))
        if status not in allowed:
            self.failures.append(("wrong", f"exit status {status}, not one of {sorted(allowed)}"))

    def _judge_words(self):
        kinds = self._kinds()
        out = (self.folder / "out").read_text(errors="replace").splitlines()
        err = (self.folder / "err").read_text(errors="replace").splitlines()
        patterns = [KILLED] if {"kill node", "kill agent"} & kinds else []
        patterns += [LOST] if "kill agent" in kinds or self.plan.may_lose_links() else []
        patterns += [SILENT_LINK] if self.plan.may_lose_links() else []
        patterns += [SILENT.format(r"\d+")] if self.plan.may_be_silent() else []
        # A node that was killed is silent, too, if whoever is to tell of it is stopped.
        if {"stop agent", "stop launcher"} & kinds:
            patterns += [SILENT.format(rank) for happened in self.happened
                         if happened.kind.startswith("kill") for rank in happened.ranks]
        if self.plan.program == "shmem" and (self._group_must_end() or self.plan.may_be_silent()):
            patterns += [PE_DIED, r"dimmnet run: node \d+ .* exited with status 1"]
        if self.plan.scarce:
            patterns += [r"dimmnet run: ", r"dimmnet: ", r"sh: ",
                         r".*: error while loading shared libraries: "]
            self.is_felt = self.is_felt or any(line.startswith("scarce: ") for line in out)
            out = [line for line in out if not line.startswith("scarce: ")]
        for line in [*out, *(line for line in err
                             if not any(re.match(pattern, line) for pattern in patterns))]:
            self.failures.append(("wrong", f"said: {line}"))

    def _judge_deaths(self):
        """How long the survivors took to learn of each death."""
        kills = [happened for happened in self.happened
                 if happened.kind in ("kill node", "kill agent")]
        if self.plan.program == "fagus":
            kills = kills[:1]  # its calls tell of a death, not of whose
        for happened in kills:
            for dead in happened.ranks:
                for rank in range(self.plan.nodes):
                    slot = self.board.slot(rank)
                    # One that ended and never knew has known it too late by all this time.
                    known_ns = slot.known_ns[dead] or (self.ended_ns if slot.ended else 0)
                    # Before it was killed it may have been given up by silence.
                    if dead != rank and known_ns > happened.begin_ns:
                        self._note_death(rank, dead, happened.begin_ns, known_ns)

    def _note_death(self, rank, dead, begin_ns, known_ns):
        """Whoever was stopped, or could not be told by a launcher that was, does not count."""
        stood = any(other.kind.startswith("stop") and other.kind != "stop guardian"
                    and other.begin_ns < known_ns and other.until_ns() > begin_ns
                    and (not other.kind.endswith("node") or rank in other.ranks)
                    for other in self.happened)
        stalled_ns = self.world.heartbeat.stalled_ns(begin_ns, known_ns)
        if not stood:
            took_ns = known_ns - begin_ns
            self.deaths.append((took_ns, stalled_ns))
            if took_ns - stalled_ns > DEATH_NS:
                self.late.append(f"node {rank} learnt after {took_ns / 1e6:.0f} ms that node "
                                 f"{dead} was dead, or never")

    def _judge_waits(self):
        for line in (self.folder / "waits").read_text().splitlines():
            rank, begin, end, call = line.split(" ", 3)
            over_ns = self._over_ns(int(rank), int(begin), int(end))
            if over_ns > self.worst_ns:
                self.worst_ns = over_ns
                self.worst_wait = call
            if over_ns > self._bound_ns():
                self.failures.append(("hang", f"node {rank}: {call} took {over_ns / SECOND:.1f} s"))

    def _judge_files(self):
        left = processes.files_of_ours() - self.world.files_before
        left |= {str(path) for path in (self.folder / "tmp").iterdir()}
        if left:
            self.failures.append(("leftover", "files remain: " + " ".join(sorted(left))))

    def _judge(self):
        self._judge_status()
        self._judge_words()
        self._judge_deaths()
        self._judge_waits()
        self._judge_files()
        self.checks = sum(self.board.slot(rank).checks for rank in range(self.plan.nodes))
        if self._group_must_end():
            first = min(happened.begin_ns for happened in self.happened
                        if happened.kind in self._fatal())
            last = max(happened.until_ns() for happened in self.happened)
            if first >= last:
                self.ends.append(self.ended_ns - last
                                 - self.world.heartbeat.stalled_ns(last, self.ended_ns))

    # ---- All of it ---------------------------------------------------------------------------------

    def _work(self):
        faults = list(self.plan.faults)
        if self.plan.early_s is not None:
            time.sleep(self.plan.early_s)
            happened = self._strike(faults[0])
            if happened:
                self.happened.append(happened)
                del faults[0]
        works = self._group_must_end() or self._wait_for_begin()
        if not works and not self._may_end_itself():
            self.failures.append(("wrong", "the group ended before it had begun"))
        for fault in faults:
            works = works and self._go_on(fault.after_s)
            happened = self._strike(fault) if works and not self._group_must_end() else None
            if happened:
                self.happened.append(happened)
        while works and (self._stopped or self._undo) and not self._group_must_end():
            works = self._go_on(0.02)
        if self._group_must_end():
            self._end_faults(is_over=True)
            self._wait_for_end("the fault that ends it")
            return
        if works and self._go_on(0.1 if self.plan.fabric == "mem" else 0.3):
            self.board.finish()
            self._wait_for_end("the wish to end")
        else:
            self._wait_for_end("its own end")
            if not self._may_end_itself() and self.launcher.returncode == 0:
                self.failures.append(("wrong", "the group ended well before anybody wished it"))

    def run(self):
        """Runs the round; self.failures tells what was wrong."""
        self._stopped, self._undo = [], []
        self.net = network.KINDS[self.plan.fabric](self.world, self.plan, self.folder)
        try:
            self._start()
            self._work()
            self._judge()
        except Failed as failed:
            self.failures.append((failed.kind, str(failed)))
            self._describe()
        finally:
            self._clean_up()
        if self.failures or self.late:
            self._keep()
        shutil.rmtree(self.folder)

    def _describe(self):
        pids = {self.launcher.pid, *processes.descendants(self.launcher.pid), *self._remaining()}
        info = [subprocess.run([self.world.build / "dimmnet", "info", str(pid)], check=False,
                               capture_output=True, text=True).stdout
                for pid in [self.launcher.pid, *self._agents()] for _ in range(2)]
        text = "\n".join(processes.describe(pid) for pid in sorted(pids) if processes.state(pid))
        (self.folder / "info").write_text("\n".join(info))
        (self.folder / "stacks").write_text(text)

    def _clean_up(self):
        if self.launcher and self.launcher.poll() is None:
            processes.end([self.launcher.pid])
            self.launcher.wait()
        self.world.helpers.discard(self.launcher.pid if self.launcher else 0)
        left = self._remaining()
        if left:
            processes.end(left)
            self._remaining()
        for process in self.busy:
            process.kill()
            process.wait()
            self.world.helpers.discard(process.pid)
        self.net.end()
        self.packets.update(self.net.counts)

    def _keep(self):
        """The round's files, with what happened, go where they can be read."""
        folder = self.world.logs / f"round-{self.plan.number}"
        shutil.rmtree(folder, ignore_errors=True)
        base = self.happened[0].begin_ns if self.happened else now_ns()
        lines = [self.plan.title(), f"status {self.launcher.returncode}", ""]
        lines += [f"{kind}: {sentence}" for kind, sentence in self.failures]
        lines += self.late
        lines += ["", "times in s, from the first fault:"]
        lines += [f"{(happened.begin_ns - base) / SECOND:8.3f} {happened.kind} {happened.ranks}, "
                  f"over {(happened.until_ns() - base) / SECOND:.3f}" for happened in self.happened]
        for rank in range(self.plan.nodes):
            slot = self.board.slot(rank)
            known = {dead: round((at - base) / SECOND, 3)
                     for dead, at in enumerate(slot.known_ns) if at}
            since = f"{(slot.since_ns - base) / SECOND:.3f}" if slot.since_ns else "-"
            lines.append(f"node {rank}: pid {slot.pid}, {slot.steps} steps, with {slot.members}, "
                         f"ended {slot.ended}, in {slot.call} since {since}, knows {known}")
        lines += ["", f"again: {self.world.repeat(self.plan.number)}", ""]
        (self.folder / "told").write_text("\n".join(lines))
        shutil.copytree(self.folder, folder)
