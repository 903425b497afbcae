"""Holds the ring's tests against deliberate bugs: each mutant must fail one of them. First that which its description names in
`killer:`; if it passes, all. (That the code that ships passes them is a suite of its own.) The last line is "N passed, N failed".

    python3 tests/mutants/check.py [--record] [build folder]      --record: tries all tests and writes what fails first
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 240  # seconds for one binary; running longer is a failure of the suite, as any other


def first_failure(binary, tests):
    """The name of a test that fails, or nothing."""
    command = [binary, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={tests}"]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode == 0:
        return None
    failed = re.search(r"^\[  FAILED  \] (\w+\.\w+)", done.stdout, re.M)
    return failed.group(1) if failed else done.stdout.strip().splitlines()[-1][:120]


def killer_of(description):
    named = re.search(r"^killer: *(\S+)", description.read_text(), re.M)
    return named.group(1) if named else None


def record(description, killer):
    text = re.sub(r"^killer:.*\n", "", description.read_text(), flags=re.M)
    description.write_text(re.sub(r"^(file:.*\n)", rf"\1killer: {killer}\n", text, count=1, flags=re.M))


def check(description, build, is_recording):
    """Whether a test fails."""
    binary = build / "tests" / "mutants" / f"mutant_{description.stem}"
    if not binary.exists():
        print(f"BAD  {description.stem:36} not built", flush=True)
        return False
    started = time.monotonic()
    killer = None if is_recording else killer_of(description)
    failed = first_failure(binary, killer) if killer else None
    note = ""
    if not failed:
        failed = first_failure(binary, "-*Slow*")
        note = f"; {killer} passes" if killer else ""
    if is_recording and failed and "." in failed:
        record(description, failed)
    verdict = f"fails: {failed}" if failed else "passes"
    print(f"{'ok ' if failed else 'BAD'}  {description.stem:36} {verdict}  ({time.monotonic() - started:.1f} s{note})", flush=True)
    return failed is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    jobs = os.cpu_count() if arguments.record else 1
    with ThreadPoolExecutor(jobs) as pool:
        fine = list(pool.map(lambda description: check(description, arguments.build, arguments.record), sorted(HERE.glob("*.mutant"))))
    print(f"{sum(fine)} passed, {len(fine) - sum(fine)} failed")
    sys.exit(0 if fine and all(fine) else 1)


main()
