#!/usr/bin/env python3
"""The seam between the services and the fabrics holds.

usage: seam_test.py

1. No file outside src/fabric/NAME/ names the fabric NAME: it includes nothing of that folder, uses
   no identifier of it (NAME_..., is_NAME, on_NAME) and has its name in no string. Comments may.
   Nothing is included from the folder of a layer (relax) either.
2. Few places outside src/fabric ask for the road to a peer: those of ASKS, each as often as it
   says there, ASKS_MAX in all. A service asks when it is opened and then works through its way.
"""

import collections
import pathlib
import re
import sys

# Where a fabric may be named besides its own folder.
TABLE = {"fabric/fabrics.h", "fabric/fabrics.c",
         "cli/board/board.c",  # the command of a thing that only one fabric has
         "cli/sim/program.c"}  # the simulator that stands behind one fabric

ASKS_MAX = 15
ASKING = re.compile(r"\b(fabric_road|fabric_all_in_place|inner_in_place|inner_all_in_place)\s*\(")
ASKS = {
    "api/inner.c": 4,  # the two questions, for Fagus and OpenSHMEM
    "api/inner.h": 2,  # their declarations
    "fagus/space.c": 1,  # whether there is one heap for all
    "host/wait.c": 2,  # who waits drives, and sleeps where the news comes
    "lock/lock.c": 1,  # the lock's way
    "message/message_context.c": 1,  # the peer's way
    "shmem/team.c": 1,  # who is in SHMEM_TEAM_SHARED
    "team/team.c": 1,  # the team's way
    "team/team_by_packets.c": 1,  # members of a mixed team
}

TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")""", re.S)


def without_comments(text):
    """The text with every comment blanked, its lines kept."""
    def blank(match):
        comment = match.group("comment")
        return match.group(0) if comment is None else re.sub(r"[^\n]", " ", comment)
    return TOKEN.sub(blank, text)


def naming(source):
    """For each folder of src/fabric, what names it in a line without comments."""
    table = re.search(r"#define FABRICS\(fabric\)(.*)", (source / "fabric/fabrics.h").read_text())
    fabrics = set(re.findall(r"fabric\((\w+)\)", table.group(1)))
    folders = {path.name for path in (source / "fabric").iterdir() if path.is_dir()}
    if not fabrics or not fabrics <= folders:
        sys.exit(f"src/fabric/fabrics.h names {sorted(fabrics)}, folders are {sorted(folders)}")
    patterns = {}
    for name in folders:
        pattern = rf'"fabric/{name}/'
        if name in fabrics:
            pattern += rf'|\b{name}_\w|\b(?:is|on)_{name}\b|"[^"]*\b{name}\b[^"]*"'
        patterns[name] = re.compile(pattern)
    return patterns


def name_faults(source):
    """Every line that names a fabric where it may not."""
    patterns = naming(source)
    for path in sorted(source.rglob("*.[ch]")):
        where = str(path.relative_to(source))
        if where in TABLE:
            continue
        lines = without_comments(path.read_text()).splitlines()
        for name, pattern in patterns.items():
            if where.startswith(f"fabric/{name}/"):
                continue
            for number, line in enumerate(lines, 1):
                if pattern.search(line):
                    yield f"src/{where}:{number}: names the fabric {name}: {line.strip()}"


def road_faults(source):
    """Every file that asks for the road otherwise than ASKS says."""
    asked = collections.Counter()
    for path in source.rglob("*.[ch]"):
        where = str(path.relative_to(source))
        if not where.startswith("fabric/"):
            asked[where] += len(ASKING.findall(without_comments(path.read_text())))
    for where in sorted(set(asked) | set(ASKS)):
        if asked[where] != ASKS.get(where, 0):
            yield f"src/{where}: asks for the road {asked[where]} times, not {ASKS.get(where, 0)}"
    if sum(asked.values()) > ASKS_MAX:
        yield f"the road is asked for in {sum(asked.values())} places, at most {ASKS_MAX}"


def main():
    """Prints the faults; the exit status says whether there are any."""
    source = pathlib.Path(__file__).resolve().parents[2] / "src"
    faults = [*name_faults(source), *road_faults(source)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
