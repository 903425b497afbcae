#!/usr/bin/env python3
"""Looks for seeds on which the network does not keep its word, for hours, on all cores.

    tools/soak.py --hours 8 [--seed N]

Whole worlds (`tagring sim world`) and the ring alone (`tagring sim ring`), from a seed that is new each time unless it is given. Says how
far it is, and leaves build/soak.json: the ranges of seeds that ran, and for each failure the command that repeats it. Exits with 1 if there
was one.
"""

import argparse
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
WORLDS = 20  # of a process, so that a failure is known soon
RING_EVERY = 10  # one process in so many looks at the ring alone


class Soak:
    def __init__(self, seed, hours):
        self.lock = threading.Lock()
        self.seed, self.first = seed, seed
        self.end = time.monotonic() + hours * 3600
        self.seconds = hours * 3600
        self.worlds = self.rings = self.batches = 0
        self.sim_hours = 0.0
        self.failures = []

    def next(self):
        with self.lock:
            if time.monotonic() >= self.end:
                return None
            self.batches += 1
            seed = self.seed
            is_ring = self.batches % RING_EVERY == 0
            self.seed += 1 if is_ring else WORLDS
        if is_ring:
            return seed, 1, [TAGRING, "sim", "ring", "--seed", str(seed), "--nodes", "24", "--events", "200000", "--json", "-"]
        return seed, WORLDS, [TAGRING, "sim", "world", "--seed", str(seed), "--seeds", str(WORLDS), "--json", "-"]

    def work(self):
        while job := self.next():
            seed, count, command = job
            done = subprocess.run(command, capture_output=True, text=True)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            is_ring = "ring" in command
            failed = [{"command": f"tagring sim world --seed {line['seed']} --seeds 1 --log", **line} for line in lines if "what" in line]
            if done.returncode != 0 and not failed:
                failed = [{"command": " ".join(["tagring", *map(str, command[1:])]), "what": (done.stderr or done.stdout)[-2000:]}]
            with self.lock:
                self.failures += failed
                if is_ring:
                    self.rings += 1
                else:
                    self.worlds += count
                    self.sim_hours += lines[-1].get("sim_hours", 0) if lines else 0
                for failure in failed:
                    print(f"\nFAIL  {failure['command']}\n      {failure['what']}", flush=True)
                self.write()

    def write(self):
        report = {"first_seed": self.first, "next_seed": self.seed, "worlds": self.worlds, "rings": self.rings, "sim_hours": self.sim_hours,
                  "failed": len(self.failures), "failures": self.failures}
        (ROOT / "build" / "soak.json").write_text(json.dumps(report, indent=1) + "\n")

    def show(self):
        left = max(0, self.end - time.monotonic())
        part = 1 - left / self.seconds
        line = (f"  {'#' * int(part * 30):30} {left / 60:5.0f} min left: {self.worlds} worlds ({self.sim_hours:.0f} h in them), "
                f"{self.rings} rings, {len(self.failures)} failed")
        print(f"\r{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    arguments = parser.parse_args()
    soak = Soak(arguments.seed, arguments.hours)
    print(f"from seed {arguments.seed}, for {arguments.hours} h on {os.cpu_count()} cores")
    workers = [threading.Thread(target=soak.work) for _ in range(os.cpu_count() or 2)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        soak.show()
        for _ in range(1 if sys.stdout.isatty() else 30):
            time.sleep(1)
            if not any(worker.is_alive() for worker in workers):
                break
    soak.show()
    print(f"\n{soak.worlds + soak.rings - len(soak.failures)} passed, {len(soak.failures)} failed; build/soak.json")
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
