#!/usr/bin/env python3
"""Unit tests mirror the sources of api, fagus and shmem.

src/FOLDER/NAME.c has tests/unit/FOLDER/NAME_test.c with at least one test in it, and no test is
left of a source that is gone. What needs several processes is in tests/live besides.
"""

import pathlib
import sys

FOLDERS = ["api", "fagus", "shmem", "shmem/fortran"]


def faults(root):
    """Every source without its test, and every test without its source or without a test."""
    for folder in FOLDERS:
        sources = {path.stem for path in (root / "src" / folder).glob("*.c")}
        tests = {path.stem.removesuffix("_test"): path
                 for path in (root / "tests" / "unit" / folder).glob("*_test.c")}
        for name in sorted(sources - tests.keys()):
            yield f"src/{folder}/{name}.c: tests/unit/{folder}/{name}_test.c is missing"
        for name in sorted(tests.keys() - sources):
            yield f"{tests[name].relative_to(root)}: there is no src/{folder}/{name}.c"
        for name, path in sorted(tests.items()):
            if "cmocka_unit_test" not in path.read_text():
                yield f"{path.relative_to(root)}: it tests nothing"


def main():
    found = list(faults(pathlib.Path(__file__).resolve().parents[2]))
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
