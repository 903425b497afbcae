"""What held beside other software: counted, told if it did not hold, and noted in build/interop.json, a list of
{"software", "version", "what", "ok"}. Suites run at the same time and alone: each replaces what it noted before.

    with Tally() as tally:                          prints "N passed, N failed" in the end, and exits
        with tally.about("Fedify", "2.3.6", "FEP-8fcf"):
            tally.expect("header", found, wanted)

    python3 tests/interop/tally.py < LIST           notes what others than Python saw
"""

import fcntl
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure  # noqa: E402

NOTES = ROOT / "build" / "interop.json"


def npm_version(package, folder="."):
    """The version that is installed in a folder beside this file."""
    return json.loads((Path(__file__).parent / folder / "node_modules" / package / "package.json").read_text())["version"]


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True)
    return done.stdout


def note(seen):
    """Adds to the file; of one software and thing, the last counts."""
    NOTES.parent.mkdir(exist_ok=True)
    with open(NOTES.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(NOTES.read_text()) if NOTES.exists() else []
        entries = {(entry["software"], entry["what"]): entry for entry in [*known, *seen]}
        fresh = NOTES.with_suffix(".new")
        fresh.write_text(json.dumps([entries[key] for key in sorted(entries)], indent=1, ensure_ascii=False) + "\n")
        os.replace(fresh, NOTES)


class Tally:
    def __init__(self):
        self.passed = self.failed = 0
        self.seen = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, Failure):
            self.bad(error)
        note([{"software": software, "version": version, "what": what, "ok": ok} for (software, version, what), ok in self.seen.items()])
        if kind is not None and not isinstance(error, Failure):
            return
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)

    def bad(self, what):
        self.failed += 1
        print(f"BAD  {what}")

    def missing(self, program):
        self.failed += 1
        print(f"missing: {program} (tools/setup installs it)")

    def expect(self, what, found, wanted):
        if found == wanted:
            self.passed += 1
        else:
            self.bad(f"{what}: {found!r}, not {wanted!r}")

    @contextmanager
    def about(self, software, version, what):
        """What is expected inside is one thing that was seen with that software, or was not."""
        before, ok = self.failed, False
        try:
            yield
            ok = self.failed == before
        finally:
            key = (software, version, what)
            self.seen[key] = self.seen.get(key, True) and ok
            self.passed += ok


if __name__ == "__main__":
    note(json.load(sys.stdin))
