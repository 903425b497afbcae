#!/usr/bin/env python3
"""Configures a preset if need be, builds targets of it, and says how far it is.

    tools/build.py PRESET TARGET...

On a terminal one line that changes; elsewhere a line every ten seconds. Warnings and errors are shown as they are.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVERY = 10  # seconds


def configure(preset, folder):
    made = folder / "build.ninja"
    if made.exists() and made.stat().st_mtime >= (ROOT / "CMakePresets.json").stat().st_mtime:  # CMake looks at all else by itself
        return 0
    done = subprocess.run(["cmake", "--preset", preset], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
    return done.returncode


def build(preset, folder, targets):
    command = ["ninja", "-C", str(folder), "-j", os.environ.get("JOBS") or str(os.cpu_count()), *targets]
    ninja = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             env={**os.environ, "NINJA_STATUS": "[%f/%t] "})
    is_terminal = sys.stdout.isatty()
    started = shown = time.monotonic()
    done = total = 0
    for line in ninja.stdout:
        step = re.match(r"\[(\d+)/(\d+)\] ", line)
        if not step:
            if not line.startswith(("ninja: Entering", "ninja: no work", "ninja: build stopped", "-- ")):  # of CMake, which runs again when files came or went
                print(line, end="", flush=True)
            continue
        done, total = map(int, step.groups())
        if time.monotonic() - shown >= (0.2 if is_terminal else EVERY):
            shown = time.monotonic()
            print(f"\r  {preset}: compiled {done} of {total} files " if is_terminal else f"  {preset}: compiled {done} of {total} files",
                  end="" if is_terminal else "\n", flush=True)
    status = ninja.wait()
    if status == 0 and total > 1:
        print(f"{chr(13) if is_terminal else ''}  {preset}: compiled {done} of {total} files, in {time.monotonic() - started:.0f} s", flush=True)
    elif status != 0:
        print(f"  {preset}: could not be built", flush=True)
    return status


def main():
    preset, targets = sys.argv[1], sys.argv[2:]
    folder = ROOT / "build" / preset
    sys.exit(configure(preset, folder) or build(preset, folder, targets))


if __name__ == "__main__":
    main()
