#!/usr/bin/env python3
"""Looks for seeds on which the network does not keep its word, for hours, on all cores.

    tools/soak.py --hours 8 [--seed N]

Whole worlds (`tagring sim world`) and the ring alone (`tagring sim ring`), from a seed that is new each time unless it is given. Each seed
has a process of its own, so that one that aborts, or does not end, is known and takes no other with it. Beside them real nodes suffer
(PROCESSES), again and again. Says how far it is, and leaves build/soak.json: the range of seeds that ran, and for each failure the command
that repeats it. Exits with 1 if there was one.
"""

import argparse
import itertools
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAGRING = ROOT / "build" / "release" / "tagring"
REPORT = ROOT / "build" / "soak.json"
RING_EVERY = 50  # one seed in so many is for the ring alone
LIMIT = 1200  # seconds for one seed; most take less than ten
FAULTS = ["tests/cluster/faults_check.py", "--seconds", "600"]
PROCESSES = [["tests/cluster/versions_check.py"], FAULTS, [*FAULTS, "--nodes", "60"]]
PROCESSES_LIMIT = 3600


def run(command, limit):
    """(what went wrong, or nothing; the figures)"""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return f"does not end within {limit} s", {}
    try:
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    except ValueError:
        lines = []
    said = [line["what"] for line in lines if "what" in line]
    if done.returncode < 0:
        said.append(f"ended by signal {-done.returncode}")
    if done.returncode != 0 or said:
        return "; ".join([*said, done.stderr[-2000:].strip()]).strip("; ") or f"exit code {done.returncode}", {}
    return (None, lines[-1]) if lines else ("printed no figures", {})


def suffer(command, limit):
    """What went wrong with real nodes, or nothing."""
    try:
        done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return f"does not end within {limit} s"
    return done.stdout[-2000:].strip() or f"exit code {done.returncode}" if done.returncode else None


class Soak:
    def __init__(self, seed, seconds, binary=TAGRING, report=REPORT, limit=LIMIT):
        self.lock = threading.Lock()
        self.binary, self.report, self.limit = binary, report, limit
        self.seed, self.first = seed, seed
        self.seconds = seconds
        self.end = time.monotonic() + seconds
        self.done = {"world": 0, "ring": 0, "processes": 0}
        self.failed = dict.fromkeys(self.done, 0)
        self.sim_hours = 0.0
        self.failures = []

    def next(self):
        """(kind, arguments)"""
        with self.lock:
            if time.monotonic() >= self.end:
                return None
            seed, self.seed = self.seed, self.seed + 1
        if (seed - self.first + 1) % RING_EVERY == 0:
            return "ring", ["sim", "ring", "--seed", str(seed), "--nodes", "24", "--events", "200000"]
        return "world", ["sim", "world", "--seed", str(seed), "--seeds", "1"]

    def work(self):
        while job := self.next():
            kind, arguments = job
            wrong, figures = run([self.binary, *arguments], self.limit)
            self.note(kind, " ".join(["tagring", *arguments]), wrong, figures.get("sim_hours", 0))

    def suffer(self):
        """Real nodes, as often as there is time."""
        for seed in itertools.count(self.first):
            for script in PROCESSES:
                if time.monotonic() >= self.end:
                    return
                command = [*script, "--seed", str(seed)]
                self.note("processes", " ".join(["python3", *command]), suffer(command, PROCESSES_LIMIT))

    def note(self, kind, command, wrong, sim_hours=0.0):
        with self.lock:
            self.done[kind] += 1
            self.sim_hours += sim_hours
            if wrong:
                self.failed[kind] += 1
                self.failures.append({"command": command, "what": wrong})
                print(f"\nFAIL  {command}\n      {wrong}", flush=True)
            self.write()

    def write(self):
        report = {"first_seed": self.first, "next_seed": self.seed, "worlds": self.done["world"], "rings": self.done["ring"],
                  "processes": self.done["processes"], "sim_hours": self.sim_hours, "failed_worlds": self.failed["world"],
                  "failed_rings": self.failed["ring"], "failed_processes": self.failed["processes"], "failures": self.failures}
        self.report.write_text(json.dumps(report, indent=1) + "\n")

    def show(self):
        left = max(0, self.end - time.monotonic())
        part = 1 - left / self.seconds
        line = (f"  {'#' * int(part * 30):30} {left / 60:5.0f} min left: {self.done['world']} worlds ({self.sim_hours:.0f} h in them), "
                f"{self.done['ring']} rings, {self.done['processes']} times real nodes, {len(self.failures)} failed")
        print(f"\r{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    arguments = parser.parse_args()
    soak = Soak(arguments.seed, arguments.hours * 3600)
    print(f"from seed {arguments.seed}, for {arguments.hours} h on {os.cpu_count()} cores")
    workers = [threading.Thread(target=soak.work) for _ in range(os.cpu_count() or 2)]
    workers.append(threading.Thread(target=soak.suffer))
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        soak.show()
        for _ in range(1 if sys.stdout.isatty() else 30):
            time.sleep(1)
            if not any(worker.is_alive() for worker in workers):
                break
    soak.show()
    print(f"\n{sum(soak.done.values()) - len(soak.failures)} passed, {len(soak.failures)} failed; build/soak.json")
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
