"""Writes a copy of a source file with one deliberate bug.

    mutate.py <mutant> <src folder> <output>

A mutant says in `file:` what it changes, and holds the text before and after the line "becomes". The text before must
stand in the file exactly once, so that a mutant that no longer fits the code fails the build instead of testing nothing."""

import sys
from pathlib import Path


def parse(text):
    """(file, before, after)"""
    head, before, after = text.split("\n=====\n")
    files = [line.removeprefix("file:").strip() for line in head.splitlines() if line.startswith("file:")]
    if len(files) != 1:
        raise ValueError("a mutant names one file")
    return files[0], before.strip("\n"), after.strip("\n")


def main():
    mutant, sources, output = map(Path, sys.argv[1:])
    file, before, after = parse(mutant.read_text())
    text = (sources / file).read_text()
    if text.count(before) != 1:
        sys.exit(f"{mutant}: its text occurs {text.count(before)} times in {file}")
    output.write_text(text.replace(before, after))


if __name__ == "__main__":
    main()
