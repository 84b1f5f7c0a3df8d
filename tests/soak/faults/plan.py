"""What happens in a round; all of it follows from the run's seed and the round's number."""

import dataclasses
import random

TIMEOUT_S = 2.0  # --peer-timeout
LINK_S = 5.0     # so long a launcher and its agents may be silent (src/cli/remote/pulse.h)

FABRICS = {"mem": 34, "udp": 14, "relay": 24, "hosts": 10, "namespaces": 18}
PROGRAMS = {"dn": 6, "shmem": 3, "fagus": 3}

# How likely each fault is, by fabric.
COMMON = {"kill node": 10, "stop node": 5, "kill launcher": 1, "stop launcher": 1.5,
          "terminate launcher": 0.7, "kill guardian": 1, "stop guardian": 0.5}
FAULTS = {
    "mem": COMMON,
    "udp": COMMON,
    "relay": {**COMMON, "cut": 2},
    "hosts": {**COMMON, "kill agent": 4, "stop agent": 2},
    "namespaces": {**COMMON, "kill agent": 3, "stop agent": 1, "cut": 7, "narrow": 4},
}

# What a group stands while it starts: a lost agent ends it, and Fagus's calls need all nodes.
EARLY = ("kill node", "stop node", "kill launcher", "stop launcher", "terminate launcher")

# What the relay does to packets: option, and the most per cent.
IMPAIRMENTS = {"--loss": 10, "--duplicate": 30, "--reorder": 20, "--corrupt": 5}


@dataclasses.dataclass
class Fault:
    """One fault; pick chooses among those that it can hit."""
    kind: str
    after_s: float
    pick: int
    seconds: float


@dataclasses.dataclass
class Plan:
    """One round."""
    number: int
    seed: int
    fabric: str
    program: str
    nodes: int
    faults: list
    environment: dict
    impairments: list  # the relay's options
    loss: int          # per cent that the router between namespaces drops
    keep_going: bool
    busy: int          # processes that compute beside it
    scarce: str        # what is, or nothing
    limit: int         # of what is scarce
    early_s: float = None  # so soon after the launcher's start comes the first fault; None: later

    def title(self):
        faults = ", ".join(f"{fault.kind} after {fault.after_s:.2f} s" +
                           (f" for {fault.seconds:.2f} s" if fault.seconds else "")
                           for fault in self.faults) or "no fault"
        extra = [*self.impairments, *(f"{key}={value}" for key, value in self.environment.items())]
        extra += [f"loss {self.loss} %"] if self.loss else []
        extra += [f"{self.busy} busy processes"] if self.busy else []
        extra += [f"{self.limit} of {self.scarce}"] if self.scarce else []
        extra += [] if self.keep_going else ["not --keep-going"]
        extra += [f"the first fault {self.early_s} s after the start"] if self.early_s else []
        return (f"round {self.number}: {self.program} on {self.fabric}, {self.nodes} nodes: "
                f"{faults}; {' '.join(extra)}")

    def may_lose_links(self):
        """Whether a launcher and its agents may give each other up."""
        return self.fabric in ("hosts", "namespaces") and any(
            fault.kind in ("stop launcher", "stop agent") and fault.seconds > 0.9 * LINK_S
            for fault in self.faults)

    def may_be_silent(self):
        """Whether nodes may be taken for dead that are not."""
        long = any(fault.kind in ("stop node", "cut", "narrow") and fault.seconds > 0.4 * TIMEOUT_S
                   for fault in self.faults)
        return self.fabric != "mem" and (long or self.busy > 0 or self.may_lose_links())


def choose(source, weights):
    return source.choices(list(weights), list(weights.values()))[0]


def duration_s(source, kind):
    """Shorter and longer than the peer time-out; long ones are rare, as they take their time."""
    if not kind.startswith(("stop", "cut", "narrow")):
        return 0.0
    least, most = (1.0, 30.0) if kind == "cut" else (0.05, 15.0)
    if source.random() < 0.1:
        return round(source.uniform(0.95, 1.15) * TIMEOUT_S, 3)  # some give it up, others do not
    upper = source.choices([1.5, 2 * TIMEOUT_S, most], [6, 3, 0.6])[0]
    return round(source.uniform(least, max(least, upper)), 3)


def make_scarce(source, plan):
    plan.program = "dn"
    plan.scarce = source.choice(["memory", "descriptors of nodes", "descriptors of the launcher",
                                 "memory later", "memory later", "descriptors later"])
    if plan.scarce == "memory":
        plan.limit = source.choice([8 << 10, 64 << 10, 1 << 20, 64 << 20, 256 << 20])  # KiB
    elif plan.scarce == "memory later":
        plan.limit = source.choice([0, 64, 1024, 16384])  # KiB more than the node has
    elif plan.scarce == "descriptors of the launcher":
        plan.limit = source.randrange(3, 100)
    elif plan.scarce == "descriptors of nodes":
        plan.limit = source.randrange(3, 30)
    if plan.scarce.endswith("later"):
        plan.faults.append(Fault("take " + plan.scarce.split()[0], 0.05, source.randrange(1 << 30),
                                 0.0))


def make(seed, number, longest_s):
    """The plan of a round. No fault lasts longer than longest_s."""
    source = random.Random(f"{seed}:{number}")
    fabric = choose(source, FABRICS)
    plan = Plan(number=number, seed=source.randrange(1, 1 << 40), fabric=fabric,
                program=choose(source, PROGRAMS), nodes=source.randrange(2, 7), faults=[],
                environment={}, impairments=[], loss=0, keep_going=True, busy=0, scarce="", limit=0)
    if plan.program == "fagus":
        plan.nodes = max(plan.nodes, 3)
    if fabric == "mem":
        plan.environment["DN_RELAX"] = str(int(source.random() < 0.2))
        if plan.program == "fagus":
            plan.environment["FAGUS_FORCE_REMOTE"] = str(int(source.random() < 0.5))
    plan.environment["SOAK_WATCH"] = str(int(source.random() < 0.5))
    if fabric == "relay":
        for option in source.sample(list(IMPAIRMENTS), source.randrange(1, 5)):
            plan.impairments += [option, str(source.randrange(1, IMPAIRMENTS[option] + 1))]
        if source.random() < 0.3:
            plan.impairments += ["--delay-ms", str(source.randrange(1, 5))]
        if source.random() < 0.2:
            plan.impairments += ["--rate", "10000000", "--queue", "100000"]
    if fabric == "namespaces" and source.random() < 0.5:
        plan.loss = source.randrange(1, 11)
    if source.random() < 0.06:
        make_scarce(source, plan)
    for _ in range(source.choices([0, 1, 2, 3], [1, 8, 5, 2])[0]):
        kind = choose(source, FAULTS[fabric])
        plan.faults.append(Fault(kind, round(source.uniform(0, 0.5) ** 2 * 2, 3),
                                 source.randrange(1 << 30), min(longest_s,
                                                                duration_s(source, kind))))
    if plan.program == "dn" and source.random() < 0.12:
        plan.keep_going = False
    if source.random() < 0.08:
        plan.busy = source.randrange(2, 7)
    if (plan.faults and plan.faults[0].kind in EARLY and plan.program != "fagus"
            and source.random() < 0.2):
        plan.early_s = round(source.uniform(0.001, 0.1), 3)
    return plan
