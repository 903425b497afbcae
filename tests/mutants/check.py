"""Holds the ring's tests against deliberate bugs: the suite must pass on the code that ships and fail on every mutant, in
bounded time. The last line is "N passed, N failed".

    python3 tests/mutants/check.py [build folder]
"""

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120  # seconds for one binary; running longer is a failure of the suite, as any other


def run(binary):
    """(passed, what failed first, seconds)"""
    command = [binary, "--gtest_fail_fast", "--gtest_brief=1", "--gtest_filter=-*Slow*"]
    started = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False, "does not end", LIMIT
    seconds = time.monotonic() - started
    if done.returncode == 0:
        return True, "", seconds
    failed = re.search(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    return False, failed.group(1) if failed else done.stdout.strip().splitlines()[-1][:120], seconds


def main():
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.mutant"))
    good = bad = 0
    for name in ["", *names]:
        binary = build / "tests" / (f"mutants/mutant_{name}" if name else "ring_sim_test")
        if not binary.exists():
            verdict, fine = "not built", False
        else:
            passed, first, seconds = run(binary)
            fine = passed == (name == "")
            verdict = f"{'passes' if passed else 'fails: ' + first}  ({seconds:.1f} s)"
        good, bad = good + fine, bad + (not fine)
        print(f"{'ok ' if fine else 'BAD'}  {name or 'the code that ships':36} {verdict}", flush=True)
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)


main()
