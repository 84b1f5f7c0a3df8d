#!/usr/bin/env python3
"""Dependencies point one way, and protocol code has no hands.

usage: layering_test.py BUILD_FOLDER

1. No file includes a header of a higher layer, or of a neighbour of its own height. Fagus and
   OpenSHMEM include nothing but their own headers, public ones, src/base and api/inner.h, and
   name nothing else of what that one includes.
2. The objects of wire, group, nic, swif and board need nothing from outside but src/base, each other
   where the layers allow it, copying functions and the compiler's helpers: no sockets,
   clocks, threads, malloc, getenv, stdio or system calls.
3. The library holds no protocol code that only the simulator runs.
4. Every source file is in the build.
"""

import pathlib
import re
import subprocess
import sys

LAYERS = [["base"], ["wire", "group"], ["nic", "swif"], ["board"], ["fabric", "sim"], ["host"],
          ["lock", "message", "team"], ["api"], ["fagus", "shmem"], ["cli"]]
HEIGHT = {folder: height for height, folders in enumerate(LAYERS) for folder in folders}

# A public header belongs to the layer that implements it; dimmnet.h holds the words
# (error codes, addresses) that all layers speak.
PUBLIC_HEADERS = {"dimmnet.h": "base", "fagus.h": "fagus", "shmem.h": "shmem",
                  "shmemx.h": "shmem"}

# The libraries above, and the one header through which they see the layers below.
ABOVE = ["fagus", "shmem"]
INNER_HEADER = "api/inner.h"
NAME_BELOW = re.compile(r"\b(api|group|nic|swif|board|fabric|direct|udp|host|lock|message|team)_\w+"
                        r"|\b(GROUP|NIC|SWIF|FABRIC|UDP|HOST|LOCK|MESSAGE|TEAM)_\w+"
                        r"|->(process|view|ops)\b|[.>]lane\.")

HANDLESS = ["wire", "group", "nic", "swif", "board"]
ALLOWED_SYMBOLS = re.compile(
    r"(memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_"
    r"|__stack_chk_fail|__mem(cpy|move|set)_chk"
    r"|__(asan|ubsan|tsan)_\w+|__popcount\w+"
    r"|__aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)\w+"
    r"|__(start|stop)_dn_killpoints)$")
ALLOWED_HEADERS = {"limits.h", "stdalign.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
                   "string.h"}


def include_faults(source):
    """Every #include under src/ that points up, sideways or outside."""
    for path in sorted(source.rglob("*.[ch]")):
        folder = path.relative_to(source).parts[0]
        if folder not in HEIGHT:
            yield f"{path}: the folder is in no layer"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            kind, name = match.groups()
            where = f"{path}:{number}: {line.strip()}"
            if kind == "<":
                if folder in HANDLESS and name not in ALLOWED_HEADERS:
                    yield f"{where}: protocol code has no hands"
                continue
            target = PUBLIC_HEADERS.get(name, name.split("/")[0])
            if target not in HEIGHT:
                yield f"{where}: name it by its folder under src/"
            elif target != folder and HEIGHT[target] >= HEIGHT[folder]:
                yield f"{where}: {target} is not below {folder}"
            elif folder in ABOVE and target not in (folder, "base") and name != INNER_HEADER:
                yield f"{where}: {folder} sees what is below through {INNER_HEADER} alone"


def name_faults(source):
    """Every name of a lower layer in the code of the libraries above."""
    for folder in ABOVE:
        for path in sorted((source / folder).glob("*.[ch]")):
            code = re.sub(r"/\*.*?\*/", lambda text: "\n" * text[0].count("\n"), path.read_text(),
                          flags=re.DOTALL)
            for number, line in enumerate(code.splitlines(), 1):
                match = not re.match(r"#include|SHMEM_ALIAS", line) and NAME_BELOW.search(line)
                if match:
                    yield f"{path}:{number}: {match[0]} is not in {INNER_HEADER}"


def symbols(path, option):
    """The names that nm lists for one object."""
    lines = subprocess.run(["nm", "--format=posix", option, path], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return {line.split()[0] for line in lines if len(line.split()) > 1}


def symbol_faults(objects):
    """Every name that a protocol object takes from where it may not."""
    by_folder = {folder: [] for folder in HEIGHT}
    for path in sorted(path for folder in objects for path in folder.glob("*.o")):
        by_folder[path.name.split("_")[0]].append(path)
    defined = {folder: set().union(*(symbols(path, "--defined-only") for path in paths))
               for folder, paths in by_folder.items()}
    checked = 0
    for folder in HANDLESS:
        below = set().union(*(defined[other] for other in HEIGHT
                              if other == folder or HEIGHT[other] < HEIGHT[folder]))
        for path in by_folder[folder]:
            checked += 1
            for name in sorted(symbols(path, "--undefined-only") - below):
                if not ALLOWED_SYMBOLS.match(name):
                    yield f"{path.name}: needs {name}"
    if checked == 0:
        yield f"{objects[0]}: no object of {', '.join(HANDLESS)} found"


def unused_faults(objects):
    """Every protocol object of the library that no other object of it needs: it belongs to those
    who do, src/meson.build's machine_parts_sources."""
    paths = sorted(objects.glob("*.o"))
    needed = {path: symbols(path, "--undefined-only") for path in paths}
    for path in paths:
        own = symbols(path, "--defined-only")
        if path.name.split("_")[0] in HANDLESS and not any(
                own & names for other, names in needed.items() if other != path):
            yield f"{path.name}: nothing in the library needs it"


def build_faults(source):
    """Every .c file that src/meson.build does not name."""
    listed = set(re.findall(r"'([^']+\.c)'", (source / "meson.build").read_text()))
    for path in sorted(source.rglob("*.c")):
        if str(path.relative_to(source)) not in listed:
            yield f"{path}: not in src/meson.build"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    built = pathlib.Path(sys.argv[1]) / "src"
    objects = [built / "libcore.a.p", built / "libmachine_parts.a.p"]
    faults = [*include_faults(root / "src"), *name_faults(root / "src"), *symbol_faults(objects),
              *unused_faults(objects[0]),
              *build_faults(root / "src")]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
