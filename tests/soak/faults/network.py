"""What lies between the nodes of a round: memory, sockets, a bad relay, hosts, namespaces."""

import os
import pathlib
import random
import subprocess

RELAY_COUNTS = ("received", "lost", "duplicated", "reordered", "corrupted", "queue_full")


def free_ports(count, source):
    """The first of that many free UDP ports in a row."""
    while True:
        first = source.randrange(12000, 31000)
        taken = pathlib.Path("/proc/net/udp").read_text()
        if not any(f":{port:04X} " in taken for port in range(first, first + count)):
            return first


class Network:
    """Nodes in one memory, or on one host. Others add to this."""

    def __init__(self, world, plan, folder):
        self.world, self.plan, self.folder = world, plan, folder
        self.counts = {}  # of packets
        self.hosts = []   # the ranks of each host, where agents start them

    def prefix(self):
        """What stands before the command."""
        return []

    def options(self):
        """Of `dimmnet run`."""
        return [] if self.plan.fabric == "mem" else ["--fabric", "udp", "--peer-timeout",
                                                     str(int(self.world.timeout_s * 1000))]

    def start(self):
        """Before the group is."""

    def cut(self, pick):
        """Cuts a path; gives the ranks that are cut off, or None: there is none to cut."""
        del pick

    def join(self):
        """Undoes the cut."""

    def narrow(self, pick):
        """Narrows a path; gives whether there was one."""
        del pick
        return False

    def widen(self):
        """Undoes that."""

    def end(self):
        """Removes everything."""


class Relay(Network):
    """Every packet passes the tool `relay`, which harms it."""

    process = None

    def start(self):
        source = random.Random(self.plan.seed + os.getpid())
        for _ in range(20):
            self.ports = [free_ports(self.plan.nodes, source) for _ in range(2)]
            if abs(self.ports[0] - self.ports[1]) >= self.plan.nodes and self._begin():
                return
        raise RuntimeError("the relay does not start")

    def _begin(self):
        command = [self.world.tools / "relay", "--listen", str(self.ports[1]), "--to",
                   str(self.ports[0]), "--nodes", str(self.plan.nodes), "--seed",
                   str(self.plan.seed % 1000003), *self.plan.impairments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.STDOUT)
        self.world.helpers.add(self.process.pid)
        return "ready" in self.process.stdout.readline()

    def options(self):
        return [*super().options(), "--port", str(self.ports[0]), "--relay-port",
                str(self.ports[1])]

    def _stop(self):
        self.process.terminate()
        text, _ = self.process.communicate()
        self.world.helpers.discard(self.process.pid)
        for word in text.split():
            name, equals, number = word.partition("=")
            if equals and name in RELAY_COUNTS:
                self.counts[name] = self.counts.get(name, 0) + int(number)

    def cut(self, pick):
        """Nobody reaches anybody: packets find no socket."""
        self._stop()
        return list(range(self.plan.nodes))

    def join(self):
        if not self._begin():
            raise RuntimeError("the relay does not start again")

    def end(self):
        if self.process and self.process.poll() is None:
            self._stop()


class Hosts(Network):
    """Agents on loopback: the remote shell just drops the host's name."""

    def _slots(self):
        """The ranks of up to three hosts, as even as can be."""
        count = min(3, self.plan.nodes)
        bounds = [self.plan.nodes * i // count for i in range(count + 1)]
        return [list(range(bounds[i], bounds[i + 1])) for i in range(count)]

    def _write(self, lines, shell):
        (self.folder / "hosts").write_text("".join(line + "\n" for line in lines))
        (self.folder / "rsh").write_text("#!/bin/sh\n" + shell)
        (self.folder / "rsh").chmod(0o755)

    def start(self):
        self.hosts = self._slots()
        self._write([f"h{i} slots={len(ranks)} address=127.0.0.1"
                     for i, ranks in enumerate(self.hosts)], 'shift\nexec "$@"\n')

    def options(self):
        return [*super().options(), "--hosts", str(self.folder / "hosts"), "--rsh",
                str(self.folder / "rsh")]


class Namespaces(Hosts):
    """Hosts that are network namespaces behind a router; the launcher is in the first one.

        0 10.78.0.2 ---+
        1 10.78.1.2 ---+--- router, 10.78.N.1
        2 10.78.2.2 ---+
    """

    def _name(self, host):
        return f"{self.world.prefix}-{host}"

    def _ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def _in_router(self, *words, text=None):
        return subprocess.run(["ip", "netns", "exec", self._name("router"), *words], check=True,
                              capture_output=True, text=True, input=text).stdout

    is_made = False

    def start(self):
        self.hosts = self._slots()
        self.is_down = self.is_narrow = None
        router = self._name("router")
        self._ip("netns", "add", router)
        for host in range(len(self.hosts)):
            name = self._name(host)
            self._ip("netns", "add", name)
            self._ip("-n", name, "link", "set", "lo", "up")
            self._ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name",
                     f"to_{host}", "netns", router)
            self._ip("-n", router, "address", "add", f"10.78.{host}.1/24", "dev", f"to_{host}")
            self._ip("-n", router, "link", "set", f"to_{host}", "up")
            self._ip("-n", name, "address", "add", f"10.78.{host}.2/24", "dev", "eth0")
            self._ip("-n", name, "link", "set", "eth0", "up")
            self._ip("-n", name, "route", "add", "default", "via", f"10.78.{host}.1")
        self._in_router("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        if self.plan.loss:
            self._in_router("nft", "-f", "-", text=(
                "table inet faults {\nchain passing {\ntype filter hook forward priority 0;\n"
                f"meta l4proto udp numgen random mod 100 < {self.plan.loss} counter drop\n}}\n}}\n"))
        self.is_made = True
        self._write([f"{i} slots={len(ranks)} address=10.78.{i}.2"
                     for i, ranks in enumerate(self.hosts)],
                    'host=$1\nshift\nexec ip netns exec "' + self.world.prefix +
                    '-$host" sh -c "exec $*"\n')

    def prefix(self):
        return ["ip", "netns", "exec", self._name(0)]

    def cut(self, pick):
        if self.is_down is not None:
            return None
        self.is_down = pick % len(self.hosts)
        self._ip("-n", self._name("router"), "link", "set", f"to_{self.is_down}", "down")
        return self.hosts[self.is_down]

    def join(self):
        self._ip("-n", self._name("router"), "link", "set", f"to_{self.is_down}", "up")
        self.is_down = None

    def narrow(self, pick):
        if self.is_narrow is not None:
            return False
        host = pick % len(self.hosts)
        self.is_narrow = ((self._name("router"), f"to_{host}") if pick & 64
                          else (self._name(host), "eth0"))
        self._set_mtu(1300)
        return True

    def widen(self):
        self._set_mtu(1500)
        self.is_narrow = None

    def _set_mtu(self, mtu):
        namespace, device = self.is_narrow
        self._ip("-n", namespace, "link", "set", device, "mtu", str(mtu))

    def end(self):
        if self.plan.loss and self.is_made:
            rules = self._in_router("nft", "list", "ruleset").split()
            dropped = int(rules[rules.index("packets") + 1]) if "packets" in rules else 0
            self.counts["lost"] = self.counts.get("lost", 0) + dropped
        remove(self.world.prefix)


def remove(prefix):
    """Removes the namespaces of this run; what still runs there is ours alone."""
    if not pathlib.Path("/run/netns").is_dir():
        return
    for name in sorted(os.listdir("/run/netns")):
        if name.startswith(prefix + "-"):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def can_have_namespaces(prefix):
    """An empty word, or why not."""
    if os.geteuid() != 0:
        return "they need root"
    for command in ("ip", "nft"):
        if subprocess.run(["sh", "-c", f"command -v {command}"], check=False,
                          capture_output=True).returncode != 0:
            return f"there is no command {command}"
    tried = subprocess.run(["ip", "netns", "add", f"{prefix}-try"], check=False,
                           capture_output=True, text=True)
    if tried.returncode == 0:
        tried = subprocess.run(["ip", "link", "add", "a0", "netns", f"{prefix}-try", "type", "veth",
                                "peer", "name", "a1", "netns", f"{prefix}-try"], check=False,
                               capture_output=True, text=True)
    remove(prefix)
    return tried.stderr.strip() if tried.returncode else ""


KINDS = {"mem": Network, "udp": Network, "relay": Relay, "hosts": Hosts, "namespaces": Namespaces}
