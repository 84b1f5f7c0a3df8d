#!/usr/bin/env python3
"""doc/fidelity.md covers the papers and names only what exists.

1. Each paper has one table. Its rows have the section, what the paper has there, where it is in the
   tree, and a verdict that begins with "as in the paper", or with "differs: " or "missing: " and a
   reason.
2. Every numbered section, table and figure of every paper is in a row. (EXPECTED lists them; a row
   for "5.2" does not stand for "5.2.1".)
3. A row that is not missing names a file, folder or command. tests/structure/readme_test.py sees
   that files and folders exist.
4. A command, in backquotes and beginning with "dimmnet " or "make ", is one that there is: its
   subcommands and options have an entry in the man page (which tests/live/launch/help_pages.sh
   keeps equal to --help); a machine, table, program or study that it names is in the sources; and
   the value of any other option is a number or one of the words that its entry has.
5. Commands with a slip are found (SLIPS).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "doc" / "fidelity.md"
HEAD = ["section", "the paper", "here", "verdict"]
PATH = re.compile(r"`(?:bench|doc|examples|include|man|scripts|src|tests)/[^`]+`")


def count(word, last):
    return [f"{word} {number}" for number in range(1, last + 1)]


EXPECTED = {
    "000": ["1", "2.1", "2.2", "2.3", "3", "3.1", "3.2", "3.3", "3.4", "4.1", "4.2", "5.1", "5.2.1",
            "5.2.2", "5.2.3", "5.2.4", "5.3.1", "5.3.2", "5.3.3", "5.4.1", "5.4.2", "5.4.3", "6", "7",
            "A.1", "A.2", "A.3"] + count("Table", 9) + count("Figure", 7),
    "001": ["1", "2", "3", "4.1", "4.2", "5.1", "5.2", "5.3", "6"] + count("Table", 3) +
           count("Figure", 2),
    "002": ["1", "2.1", "2.2", "3.1", "3.2", "4.1", "4.2", "4.3", "5.1", "5.2", "6",
            "Equation 1", "Equation 2"] + count("Table", 2) + count("Figure", 6),
    "003": ["1", "2.1", "2.2", "3.1.1", "3.1.2", "3.1.3", "3.2", "3.3", "4.1", "4.2", "4.3.1",
            "4.3.2", "4.3.3", "4.3.4", "5.1", "5.2.1", "5.2.2", "5.3", "5.4.1", "5.4.2", "5.4.3",
            "5.4.4", "6"] + count("Table", 3) + count("Figure", 12),
    "004": ["1", "2.1", "2.2", "2.2.1", "3", "3.1", "3.2", "4", "4.1", "4.2", "4.3", "5", "5.1", "5.2",
            "5.3.1", "5.3.2", "5.3.3", "5.3.4", "5.3.5", "5.4", "6"] + count("Figure", 3),
}


def tables(text):
    """{paper: rows}: the cells of the one table below each heading "Paper NNN"."""
    found = {}
    for paper, part in re.findall(r"^## Paper (\d{3})\b(.*?)(?=^## |\Z)", text, re.M | re.S):
        found[paper] = [[cell.strip() for cell in line.strip().strip("|").split(" | ")]
                        for line in part.splitlines() if line.startswith("|")]
    return found


def row_faults(row):
    if len(row) != len(HEAD):
        yield f"{len(row)} cells in place of {len(HEAD)}"
        return
    section, paper, here, verdict = row
    if not section or not paper:
        yield "an empty cell"
    if not re.match(r"as in the paper\b|(differs|missing): \S.{10}", verdict):
        yield f'the verdict "{verdict[:40]}"'
    if not verdict.startswith("missing: ") and not PATH.search(here) and \
            not re.search(r"`(?:dimmnet|make) [^`]+`", here):
        yield "no file and no command"


def coverage_faults(paper, rows):
    told = ", ".join(row[0] for row in rows)
    for name in EXPECTED[paper]:
        if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", told):
            yield f"nothing is said of {name}"


def man_section(page, name):
    """The part of a man page below .Ss name, or all of it."""
    text = (ROOT / "man" / page).read_text()
    if not name:
        return text
    part = re.search(rf"^\.Ss {name}$(.*?)(?=^\.S[hs] |\Z)", text, re.M | re.S)
    return part[1] if part else None


SLIPS = ["make runs", "dimmnet simulate", "dimmnet sim walk", "dimmnet sim run pong",
         "dimmnet sim show dimmnet1-Q", "dimmnet sim study bank", "dimmnet perf barriers",
         "dimmnet sim net examples/sim/ring-9.ini", "dimmnet sim run ping --machine dimmnet1-Q",
         "dimmnet sim papers --map dimmnet1-Q", "dimmnet sim papers --table 000/10",
         "dimmnet sim run loop --topology loop-inner", "dimmnet sim run lock --lock chains",
         "dimmnet sim run message --resend request-both", "dimmnet sim study barrier --topology ring",
         "dimmnet sim run ping --nodes many", "dimmnet sim run ping --back 5", "dimmnet board --port x",
         "dimmnet sim run ping --json yes"]
NUMBERS = {"N", "R", "B", "J", "s", "ns", "ppm", "cycle", "port"}
ANYTHING = {"file", "folder"}


def option_entry(text, option):
    """(what the option takes: "", "Ar name" or "Cm word | word"; its description), or None."""
    found = re.search(rf"^\.It (?:.* , )?Fl {re.escape(option[1:])}(?![\w-])([^,\n]*)[^\n]*\n(.*?)"
                      r"(?=^\.It |^\.El|\Z)", text, re.M | re.S)
    return (found[1].replace("Op ", "").strip(), found[2]) if found else None


def option_fault(entry, option, value):
    """Whether an option takes the value."""
    takes, description = entry
    kind, _, names = takes.partition(" ")
    if kind == "Ar" and names in {"machine", "table"} | ANYTHING:
        return named_fault(names, value)
    if kind == "Ar" and names in NUMBERS:
        return None if re.fullmatch(r"[\d.]+", value) else f"{option} takes a number, not {value}"
    words = names.split(" | ") if kind == "Cm" else \
        re.findall(r"^\.(?:Pq )?Cm (\S+)", description, re.M)
    return None if value in words else f"{option} takes {', '.join(words)}, not {value}"


def named_fault(what, value):
    """A machine or a table, where the sources have its name."""
    if what == "machine" and "/" not in value:
        if not (ROOT / "src" / "sim" / "machines" / f"{value}.ini").exists():
            return f"there is no machine {value}"
    if what == "table":
        paper, _, table = value.partition("/")
        source = ROOT / "src" / "sim" / "papers" / f"tables_{paper}.c"
        if not source.exists() or not re.search(rf'"{paper}",\s*"{table}"', source.read_text()):
            return f"there is no table {value}"
    return None


def word_fault(command, value):
    """What a command works on, where the sources have its name."""
    names = {"sim study": (r'\.name = "{}"', "src/sim/studies/*.c"),
             "sim run": (r'\.name = "{}"', "src/sim/trial/*.c"),
             "sim show": (None, "src/sim/machines/{}.ini"),
             "sim net": (None, "{}"),
             "perf": (r"^\.It Cm (?:.*, )?{}\b", "man/dimmnet-perf.1")}.get(command)
    if names:
        pattern, files = names
        found = [path.read_text() for path in ROOT.glob(files.format(value))]
        if not found or (pattern and not any(
                re.search(pattern.format(re.escape(value)), text, re.M) for text in found)):
            return f'"dimmnet {command}" knows no {value}'
    return None


def command_faults(command):
    words = command.split()
    if words[0] == "make":
        if not re.search(rf"^{re.escape(words[1])}:", (ROOT / "Makefile").read_text(), re.M):
            yield "there is no such target"
        return
    name, rest = words[1], words[2:]
    page = f"dimmnet-{name}.1"
    section = rest.pop(0) if name == "sim" and rest else ""
    text = man_section(page, section) if (ROOT / "man" / page).exists() else None
    if text is None:
        yield "there is no such subcommand"
        return
    known = f"{name} {section}".strip()
    while rest:
        word, fault = rest.pop(0), None
        if not word.startswith("-"):
            fault = word_fault(known, word)
        else:
            entry = option_entry(text, word)
            if not entry:
                fault = f"there is no option {word}"
            elif entry[0] and rest and not rest[0].startswith("-"):
                fault = option_fault(entry, word, rest.pop(0))
        if fault:
            yield fault


def faults():
    text = PAGE.read_text()
    found = tables(text)
    for paper in EXPECTED:
        rows = found.get(paper, [])
        if len(rows) < 3 or rows[0] != HEAD:
            yield f"paper {paper}: no table with the columns {', '.join(HEAD)}"
            continue
        for row in rows[2:]:
            yield from (f"paper {paper}, {row[0]}: {fault}" for fault in row_faults(row))
        yield from (f"paper {paper}: {fault}" for fault in coverage_faults(paper, rows[2:]))
    for command in sorted(set(re.findall(r"`((?:dimmnet|make) [^`]+)`", text))):
        yield from (f"`{command}`: {fault}" for fault in command_faults(command))
    yield from (f"this test does not see what is wrong with `{command}`"
                for command in SLIPS if not list(command_faults(command)))


def main():
    found = [f"doc/fidelity.md: {fault}" for fault in faults()]
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
