#!/usr/bin/env python3
"""Runs the fuzz targets of build/fuzz, each over fuzz/corpus/<target> first. The last line is "N passed, N failed".

    tools/fuzz.py [--seconds N] [--jobs N] [target]...      looks for inputs that break a parser, N seconds each (default 60)
    tools/fuzz.py --corpora [target]...                     only tries what is in fuzz/corpus, with build/debug

What a target finds is in build/fuzz/artifacts, as the input that shows it; new inputs gather in build/fuzz/corpus.
"""

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "fuzz"
BUILD = ROOT / "build" / "fuzz"
OPTIONS = ["-max_len=8192", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1", f"-dict={SOURCE}/words.dict"]


def corpus(target):
    """Whether every text of the corpus is taken without a complaint of the sanitizers, and what was printed."""
    texts = sorted((SOURCE / "corpus" / target).iterdir())
    done = subprocess.run([ROOT / "build" / "debug" / "targets" / target, *OPTIONS[:3], *texts], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    tried = len(re.findall(r"^Executed ", done.stdout, re.M))
    print(f"{target:20} {tried} of {len(texts)} texts", flush=True)
    return target, done.returncode == 0 and tried == len(texts) > 0, done.stdout


def command(target, seconds):
    program = BUILD / "targets" / target
    grown = BUILD / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    artifacts = BUILD / "artifacts"
    artifacts.mkdir(exist_ok=True)
    corpora = [SOURCE / "corpus" / target]
    # An own corpus first: libFuzzer writes to the first.
    return [str(part) for part in [program, *OPTIONS, f"-artifact_prefix={artifacts}/{target}-", f"-max_total_time={seconds}", grown, *corpora]]


def run(target, seconds):
    started = time.monotonic()
    done = subprocess.run(command(target, seconds), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    took = time.monotonic() - started

    def last(pattern):
        found = re.findall(pattern, done.stdout, re.M)
        return int(found[-1]) if found else 0
    runs = last(r"number_of_executed_units: (\d+)") or last(r"^#(\d+)")
    cover = last(r"cov: (\d+)")
    verdict = "ok" if done.returncode == 0 else "FINDING"
    print(f"{target:16} {runs:10}  {runs / took:9.0f}  {cover:6}  {took:6.1f} s  {verdict}", flush=True)
    return target, done.returncode == 0, done.stdout


def story(output):
    """What went wrong, without what libFuzzer says of its progress."""
    lines = [line for line in output.splitlines() if not re.match(r"\s*#\d+\s|\s*NEW_FUNC|INFO:|stat::", line)]
    return "\n".join(lines[-60:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpora", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    known = sorted(path.name for path in (SOURCE / "corpus").iterdir() if path.is_dir())
    targets = arguments.targets or known
    folder = ROOT / "build" / ("debug" if arguments.corpora else "fuzz") / "targets"
    missing = [target for target in targets if not (folder / target).exists()]
    if missing:
        sys.exit(f"not built, or no such target: {', '.join(missing)}")
    if arguments.corpora:
        results = [corpus(target) for target in targets]
    else:
        minutes = len(targets) * arguments.seconds / arguments.jobs / 60
        print(f"{len(targets)} targets, {arguments.jobs} at a time: {minutes:.1f} minutes")
        print(f"{'target':16} {'runs':>10}  {'runs/s':>9}  {'cover':>6}  {'time':>8}", flush=True)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(lambda target: run(target, arguments.seconds), targets))
    findings = [(target, output) for target, passed, output in results if not passed]
    for target, output in findings:
        print(f"\n{target}:\n{story(output)}")
    print(f"{len(results) - len(findings)} passed, {len(findings)} failed")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
