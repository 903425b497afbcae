"""Holds the tests of the whole node against deliberate bugs: each mutant in tests/mutants/node must fail the test that its
description names. The last line is "N passed, N failed".

    python3 tests/mutants/node.py [--jobs N] [--texts] [NAME…]      --texts: sees only whether each fits the code and names a test

A mutant has, before its text (mutate.py), the lines

    file: delivery/announcer.cpp
    killer: node RelayNode.AnnouncesToWhoWasAway        (binary of tests/, filter of GoogleTest)

Of the program only the mutated file is compiled, with those that the build compiles together with it; their object stands before
the libraries when the test is linked anew. Simulations are of the release build, other tests of the debug build. A killer must pass without the bug, or it proves nothing: that is tried, too.
"""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutate import parse

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 600  # seconds for one test


def link_command(build, test):
    """Of that test, as arguments for a shell, with {objects} before the libraries and {output}."""
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", f"tests/{test}"], capture_output=True, text=True, check=True)
    command = commands.stdout.strip().splitlines()[-1]
    command = command.replace(f" -o tests/{test} ", " {objects} -o {output} ", 1)
    if "{objects}" not in command:
        raise ValueError(f"the build's command for {test} is not understood")
    return command


def compile_command(build, source, mutated):
    """(command, its folder) that makes {made}; writes what is compiled together with the source beside the mutated one."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"])
        if file.resolve() == source.resolve():
            compiled = mutated
        elif file.parent.name == "Unity" and f'"{source}"' in file.read_text():
            compiled = mutated.with_name(file.name)
            compiled.write_text(file.read_text().replace(f'"{source}"', f'"{mutated}"'))
        else:
            continue
        command = re.sub(r"-o \S+\.o\b", "-o {made}", entry["command"])
        return command.replace(f"-c {entry['file']}", f"-I{source.parent} -c {compiled}"), entry["directory"]
    raise ValueError(f"{source} is not compiled")


def shell(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise ValueError((done.stdout + done.stderr).strip()[-2000:])


def run(binary, tests):
    """(the tests that were run, those that failed)"""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        try:
            code = subprocess.run([binary, "--gtest_brief=1", f"--gtest_filter={tests}", f"--gtest_output=json:{report.name}"], cwd=ROOT,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT).returncode
        except subprocess.TimeoutExpired:
            return 1, ["does not end"]
        try:
            ran = [test for suite in json.loads(Path(report.name).read_text())["testsuites"] for test in suite["testsuite"]]
        except ValueError:
            return 1, [f"ends with {code}"]
    return len(ran), [f"{test['classname']}.{test['name']}" for test in ran if test.get("failures")] or ([f"ends with {code}"] if code else [])


def is_test(folder, pattern):
    """Whether a test of that folder is called so; a pattern may stand for several, and end in a parameter."""
    known = {f"{suite}.{name}" for file in (ROOT / "tests" / folder).rglob("*.cpp")
             for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text(), re.M)}
    return any(fnmatch.fnmatchcase(test, one) or fnmatch.fnmatchcase(f"X/{test}/0", one)
               for one in pattern.split(":") for test in known)


def check(description, texts_only):
    """What is wrong with the test, or nothing."""
    head = description.read_text().split("\n=====\n")[0]
    named = re.search(r"^killer: *(\S+) +(\S+)$", head, re.M)
    if not named:
        return "names no killer"
    test, tests = f"{named.group(1)}_test", named.group(2)
    build = ROOT / "build" / ("release" if named.group(1) == "sim" else "debug")
    file, before, after = parse(description.read_text())
    source = ROOT / "src" / file
    text = source.read_text()
    if text.count(before) != 1:
        return f"its text occurs {text.count(before)} times in {file}"
    if texts_only:
        return None if is_test(named.group(1), tests) else f"no test is named {tests}"
    ran, failed = run(build / "tests" / test, tests)
    if ran == 0 or failed:
        return f"{tests}: {ran} ran, failed without the bug: {failed}"
    with tempfile.TemporaryDirectory() as folder:
        mutated, made, binary = Path(folder, source.name), Path(folder, "mutant.o"), Path(folder, test)
        mutated.write_text(text.replace(before, after))
        command, place = compile_command(build, source, mutated)
        shell(command.replace("{made}", str(made)), place)
        shell(link_command(build, test).format(objects=made, output=binary), build)
        ran, failed = run(binary, tests)
    return None if failed else "survives"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    descriptions = sorted(path for path in (HERE / "node").glob("*.mutant") if not arguments.names or path.stem in arguments.names)

    def judge(description):
        started = time.monotonic()
        try:
            wrong = check(description, arguments.texts)
        except ValueError as error:
            wrong = str(error)
        print(f"{'BAD' if wrong else 'ok '}  {description.stem:44} {wrong or ('fits' if arguments.texts else 'is killed')}  ({time.monotonic() - started:.0f} s)", flush=True)
        return wrong is None

    with ThreadPoolExecutor(arguments.jobs) as pool:
        fine = list(pool.map(judge, descriptions))
    print(f"{sum(fine)} passed, {len(fine) - sum(fine)} failed")
    sys.exit(0 if fine and all(fine) else 1)


main()
