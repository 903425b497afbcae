"""What counts tests, and what looks for seeds, must count nothing as passed that was not: both are held against programs that do not run,
abort, hang or test nothing."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import run_tests  # noqa: E402
import soak  # noqa: E402

failures = checks = 0


def check(what, holds, detail=""):
    global failures, checks
    checks += 1
    if not holds:
        failures += 1
        print(f"FAILED: {what} {detail}")


def program(folder, name, text):
    path = Path(folder, name)
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\nseed = sys.argv[sys.argv.index('--seed') + 1] if '--seed' in sys.argv else ''\n{text}\n")
    path.chmod(0o755)
    return path


# Of 100 seeds one world fails, one aborts after it has said what is wrong, one hangs, one prints nothing, and one ring fails.
WORLDS = """
if sys.argv[2] == "ring":
    print("{}"); sys.exit(int(seed == "150"))
if seed == "111":
    print(json.dumps({"seed": 111, "what": "lost a post"})); print("{}"); sys.exit(1)
if seed == "112":
    print(json.dumps({"seed": 112, "what": "lost another"}), flush=True); print("assertion", file=sys.stderr, flush=True); os.abort()
if seed == "113":
    time.sleep(60)
if seed != "114":
    print(json.dumps({"sim_hours": 0.5}))
"""


def test_soak(folder):
    report = Path(folder, "soak.json")
    look = soak.Soak(101, 3600, program(folder, "worlds", WORLDS), report, limit=3)
    jobs = [look.next() for _ in range(100)]
    look.next = lambda: jobs.pop(0) if jobs else None
    look.work()
    found = json.loads(report.read_text())
    said = {failure["command"]: failure["what"] for failure in found["failures"]}
    world = "tagring sim world --seed {} --seeds 1".format
    check("worlds and rings are counted apart", (found["worlds"], found["rings"]) == (98, 2), found)
    check("so are those that failed", (found["failed_worlds"], found["failed_rings"]) == (4, 1), found)
    check("a failure is told with its seed", "lost a post" in said.get(world(111), ""), said)
    check("an abort is not hidden by what was said before", "signal 6" in said.get(world(112), "") and "assertion" in said[world(112)], said)
    check("a world that does not end is a failure", "does not end" in said.get(world(113), ""), said)
    check("and so is one that prints nothing", world(114) in said, said)
    check("a ring's command repeats it", any(command.startswith("tagring sim ring --seed 150 ") for command in said), said)
    look.note("processes", "python3 x.py --seed 101", soak.suffer([program(folder, "nodes", 'print("lost all"); sys.exit(1)')], 60))
    look.note("processes", "python3 y.py --seed 101", soak.suffer([program(folder, "well", "print('1 passed, 0 failed')")], 60))
    look.note("processes", "python3 z.py --seed 101", soak.suffer([program(folder, "slow", "time.sleep(60)")], 1))
    nodes = json.loads(report.read_text())
    check("real nodes are counted", (nodes["processes"], nodes["failed_processes"], nodes["failed_worlds"]) == (3, 2, 4), nodes)
    check("and what they did is told", {"command": "python3 x.py --seed 101", "what": "lost all"} in nodes["failures"], nodes)
    check("others count", found["sim_hours"] == 0.5 * 94, found)


REPORT = 'open(sys.argv[1].split(":", 1)[1], "w").write(json.dumps({"testsuites": [{"testsuite": TESTS}]}))'


def test_counting(folder):
    def counted(name, tests):
        return run_tests.gtest(program(folder, name, f"TESTS = {tests!r}\n{REPORT}"), 60)

    one = counted("one", [{"name": "a", "result": "COMPLETED"}])
    check("a test that passed counts", (one.passed, one.failed) == (1, 0), one)
    none = counted("none", [])
    check("a binary that tests nothing fails", (none.passed, none.failed) == (0, 1), none)
    skips = counted("skips", [{"name": "a", "result": "SKIPPED"}])
    check("what was skipped is neither", (skips.passed, skips.failed, skips.skipped) == (0, 0, 1) and "skipped: a" in skips.output, skips)
    dies = run_tests.gtest(program(folder, "dies", "print('[ RUN      ] A.b\\n[       OK ] A.b\\n[ RUN      ] A.c\\nassertion failed'); sys.exit(6)"), 60)
    check("who ends in the middle says in which test", dies.failed == 1 and dies.output.endswith("in A.c") and "assertion" in dies.output, dies)
    for words, status in [(["--help"], 0), (["fats"], 2)]:
        asked = subprocess.run([sys.executable, run_tests.__file__, *words], capture_output=True, text=True, timeout=10)
        check(f"{words} runs nothing", asked.returncode == status and "{fast,all,night}" in asked.stdout + asked.stderr, asked)
    os.environ["TAGRING_SEED"] = "7"
    asks = program(folder, "asks", "sys.exit('TAGRING_SEED' in os.environ)")
    check("fixed seeds stay fixed", run_tests.execute([asks], 60)[0] == 0)
    check("but who looks for new ones is told", run_tests.execute([asks], 60, {"TAGRING_SEED": "7"})[0] == 1)


def test_what_is_missing(folder):
    for counted in [1, 0]:
        said = f"print('skipped: only root may\\nmissing: toot\\n3 passed, {counted} failed'); sys.exit({counted})"
        result = run_tests.script([program(folder, f"misses{counted}", said)], 60)
        whose = "once, if the suite has counted it" if counted else "also if the suite has not"
        check(f"what should be installed and is not is a failure, {whose}", (result.passed, result.failed, result.skipped) == (3, 1, 1), result)
        check("and is told", "missing: toot" in result.output, result)


def test_seeds():
    commands, python = {}, run_tests.python

    def note(name, *command, **_):
        commands[name] = [str(part) for part in command]
        return run_tests.Suite(name, None)

    run_tests.python = note
    try:
        list(run_tests.process_suites())
    finally:
        run_tests.python = python
    new = {name for name, command in commands.items() if command[1:] == ["--seed", str(run_tests.fresh_seed())]}
    check("a new seed for those tests of processes that take one", new == run_tests.SEEDED, new)


def test_slack():
    now, idle = [0.0], [0]
    slack = run_tests.Slack(10, lambda: (idle[0], int(now[0] * 200)), lambda: now[0])
    answers = []
    for seconds, idle_percent in [(5, 100), (5, 100), (1, 100), (9, 20), (10, 50)]:
        now[0] += seconds
        idle[0] += int(seconds * 200 * idle_percent / 100)
        answers.append(slack.is_there())
    check("more is begun only where ten seconds have shown room", answers == [False, True, False, False, True], answers)


# What `node --test --test-reporter=tap` prints.
TAP = r"""print("TAP version 13\nok 1 - opens the page\nok 2 - in Firefox # SKIP there is none\n# pass 1\n# fail 0\n# skipped 1")"""


def test_node_tests(folder):
    result = run_tests.script([sys.executable, "tools/node_test.py", program(folder, "node", TAP), "x.mjs"], 60)
    check("a skipped test of Node.js is told", (result.passed, result.failed, result.skipped) == (1, 0, 1), result)
    check("with its name", "skipped: in Firefox there is none" in result.output, result)


def test_words_of_the_fuzzer():
    """Without a key's name libFuzzer hardly ever comes upon it."""
    words = (ROOT / "fuzz" / "words.dict").read_text()
    page = (ROOT / "docs" / "config.md").read_text()  # which a unit test compares with the keys that the node reads
    missing = [key for key in re.findall(r"^\| `(\w+)`", page, re.M) if f'"{key} = "' not in words]
    missing += [section for section in re.findall(r"^## \[([\w.]+)\]$", page, re.M) if f'"[{section}]' not in words]
    check("the fuzzer has a word for each key of the configuration", not missing, missing)


def main():
    test_words_of_the_fuzzer()
    test_slack()
    test_seeds()
    with tempfile.TemporaryDirectory() as folder:
        test_soak(folder)
        test_counting(folder)
        test_what_is_missing(folder)
        test_node_tests(folder)
    print(f"{checks - failures} passed, {failures} failed")
    return 1 if failures else 0


sys.exit(main())
