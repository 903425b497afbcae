#!/usr/bin/env python3
"""Runs the fuzz targets of build/fuzz, each over fuzz/corpus/<target> first. The last line is "N passed, N failed".

    tools/fuzz.py [--seconds N] [--exposed N] [--jobs N] [target]...

N seconds each (default 60); 0: the corpora only. --exposed: another number for the parsers of what strangers write most of.

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


EXPOSED = ["activity", "blocklist", "followers", "signature", "webfinger"]


def command(target, seconds):
    program = BUILD / "targets" / target
    grown = BUILD / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    artifacts = BUILD / "artifacts"
    artifacts.mkdir(exist_ok=True)
    corpora = [SOURCE / "corpus" / target]
    # An own corpus first: libFuzzer writes to the first.
    how = [f"-max_total_time={seconds}", grown] if seconds else ["-runs=0"]
    return [str(part) for part in [program, *OPTIONS, f"-artifact_prefix={artifacts}/{target}-", *how, *corpora]]


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
    parser.add_argument("--exposed", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    known = sorted(path.name for path in (SOURCE / "corpus").iterdir() if path.is_dir())
    targets = arguments.targets or known
    missing = [target for target in targets if not (BUILD / "targets" / target).exists()]
    if missing:
        sys.exit(f"not built, or no such target: {', '.join(missing)}")
    exposed = arguments.seconds if arguments.exposed is None else arguments.exposed
    seconds = {target: exposed if target in EXPOSED else arguments.seconds for target in targets}
    targets.sort(key=lambda target: -seconds[target])  # so that no long one is left alone at the end
    minutes = sum(seconds.values()) / arguments.jobs / 60
    print(f"{len(targets)} targets, {arguments.jobs} at a time: {minutes:.1f} minutes")
    print(f"{'target':16} {'runs':>10}  {'runs/s':>9}  {'cover':>6}  {'time':>8}", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda target: run(target, seconds[target]), targets))
    findings = [(target, output) for target, passed, output in results if not passed]
    for target, output in findings:
        print(f"\n{target}:\n{story(output)}")
    print(f"{len(results) - len(findings)} passed, {len(findings)} failed")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
