#!/usr/bin/env python3
"""The front pages are true and alike, and no page names a file that is gone.

1. README.md has at most 150 lines.
2. README.ja.md has the same headings (as many, at the same levels), the same commands and programs,
   the same links and the same figures.
3. The C program is examples/hello.c, and the table holds what doc/rivals.csv says.
4. doc/rivals.svg is what scripts/chart draws.
5. Every file and folder of the tree that a page names is there, and every page that it links to.
   A name may be a pattern (`src/fabric/udp/*.c`); NAME in it stands for any.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES_MAX = 150
PAGES = ["README.md", "README.ja.md", "CONTRIBUTING.md", "bench/README.md", "doc/*.md"]
FOLDERS = "bench|doc|examples|include|man|scripts|src|tests|tools"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/(?:[\w./*-]|\[\w+\])*")


def blocks(text):
    """The fenced blocks; of command blocks only the commands, without what is said beside them."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if language == "":
            yield [re.split(r"\s{2,}", line)[0] for line in block.splitlines()]
        else:
            yield block.splitlines()


def headings(text):
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [len(level) for level in re.findall(r"^(#+) ", outside, re.M)]


def links(text):
    return re.findall(r"\]\(([^)]+)\)", text)


def figures(text):
    """The columns of the table of results that no language changes."""
    return [row[1:] for row in re.findall(r"^\| ([^|]+) \| ([\d.]+ \S+) \| ([\d.]+ \S+) \| ([^|]+) \|$",
                                          text, re.M)]


def chart():
    loader = importlib.machinery.SourceFileLoader("chart", str(ROOT / "scripts" / "chart"))
    spec = importlib.util.spec_from_loader("chart", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def path_faults():
    """Every name of a file, folder or page that leads nowhere."""
    for page in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        text = page.read_text()
        for name in sorted(set(PATH.findall(text))):
            if not any(ROOT.glob(name.rstrip("./").replace("NAME", "*"))):
                yield f"{page.relative_to(ROOT)}: there is no {name}"
        for link in links(text):
            if "://" not in link and not (page.parent / link.split("#")[0]).exists():
                yield f"{page.relative_to(ROOT)}: there is no {link}"


def faults():
    english = (ROOT / "README.md").read_text()
    japanese = (ROOT / "README.ja.md").read_text()
    if len(english.splitlines()) > LINES_MAX:
        yield f"README.md has more than {LINES_MAX} lines"
    yield from path_faults()
    for what, of in (("headings", headings), ("links", links), ("figures", figures),
                     ("commands and programs", lambda text: list(blocks(text)))):
        if of(english) != of(japanese):
            yield f"README.md and README.ja.md: their {what} differ"
    program = (ROOT / "examples" / "hello.c").read_text()
    if not any("\n".join(block) in program for block in blocks(english) if "int main(void)" in block):
        yield "README.md: the program is not examples/hello.c"
    drawer = chart()
    rows = drawer.read_rows(ROOT / "doc" / "rivals.csv")
    shown = [(f"{row['ours']} {row['unit']}", f"{row['theirs']} {row['unit']}", row["rival"])
             for row in rows]
    if figures(english) != shown:
        yield "README.md: the table is not that of doc/rivals.csv"
    if (ROOT / "doc" / "rivals.svg").read_text() != drawer.draw(rows):
        yield "doc/rivals.svg is old: run scripts/chart"


def main():
    found = list(faults())
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
