#!/usr/bin/env python3
"""Measures, prints a table, and writes build/bench.json. Checks nothing: a goal that is missed is shown.

    tools/bench.py [part]...      parts: lookups relays history antientropy ingest fanout followers latency deliveries subscriptions page; default all
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "release" / "bench"
RUN = ROOT / "build" / "bench"
sys.path.insert(0, str(ROOT / "tools"))

import bench_network  # noqa: E402
import bench_page  # noqa: E402


def figure(name, value, unit, reference=None, reference_is=None):
    return {"name": name, "value": value, "unit": unit, "reference": reference, "reference_is": reference_is}


def program(name, *arguments):
    """The figures that a measuring program prints, one JSON object a line; what else it has to say goes to stderr."""
    command = [str(PROGRAMS / name), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):
                found = json.loads(line)
                yield figure(found["name"], found["value"], found["unit"], found.get("reference"), found.get("reference_is"))
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")


def lookups():
    yield from program("lookup_bench", 100, 1000, 10000)


def relays():
    yield from program("relay_load_bench")


def history():
    directory = RUN / "db"
    directory.mkdir(parents=True, exist_ok=True)
    yield from program("db_bench", directory)


def ingest():
    yield from program("ingest_bench", RUN / "ingest")


def fanout():
    yield from program("fanout_bench", RUN / "fanout")


def followers():
    yield from program("followers_bench", RUN / "followers")


def latency():
    times = bench_network.latencies(RUN / "latency")
    yield figure("latency_idle_p50", times[len(times) // 2], "ms", 50, "goal")
    yield figure("latency_idle_p99", times[len(times) * 99 // 100], "ms", 250, "goal")


def deliveries():
    times = bench_network.deliveries(RUN / "deliveries")
    for what, against, to in (("20", "one", "to one server"), ("20_and_a_stuck_one", "many", "to 20 that all answer")):
        measured = times["many" if what == "20" else "stuck"]
        for name, at in (("p50", 50), ("p99", 99)):
            value, reference = (of[len(of) * at // 100] for of in (measured, times[against]))
            yield figure(f"deliver_{what}_{name}", value, "ms", reference, f"{to}, just before")


def subscriptions():
    found = bench_network.many_subscriptions(RUN / "subscriptions")
    yield figure("subscriptions_100k_mb", found["mb"] - found["mb_before"], "MB more", 100, "goal")
    yield figure("subscriptions_100k_rss_mb", found["mb"], "MB", found["mb_before"], "before")
    yield figure("subscriptions_100k_messages", found["messages"], "messages", found["vservers"], "vservers of the ring")
    yield figure("subscriptions_100k_seconds", found["seconds"], "s")


def antientropy():
    yield from program("reconcile_bench", RUN / "reconcile")


def page():
    found = bench_page.measure(RUN / "page")
    yield figure("page_bytes_compressed", found["bytes"], "bytes", 150_000, "goal")
    yield figure("page_first_content_ms", found["paint"], "ms")
    yield figure("page_memory_5000", found["after"], "MB", found["before"], "with the first 40 posts")


PARTS = {
    "lookups": lookups,
    "relays": relays,
    "history": history,
    "antientropy": antientropy,
    "ingest": ingest,
    "fanout": fanout,
    "followers": followers,
    "latency": latency,
    "deliveries": deliveries,
    "subscriptions": subscriptions,
    "page": page,
}


def row(cells):
    return f"{cells[0]:28} {cells[1]:>12} {cells[2]:14} {cells[3]:>12} {cells[4]:>7}  {cells[5]}"


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main():
    parts = sys.argv[1:] or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        sys.exit(f"no such part: {unknown[0]}; there are {', '.join(PARTS)}")
    print(row(["figure", "value", "unit", "reference", "ratio", "reference is"]), flush=True)
    figures = []
    failed = False
    for part in parts:
        started = time.monotonic()
        try:
            for f in PARTS[part]():
                f["ratio"] = f["value"] / f["reference"] if f["reference"] else None
                figures.append(f)
                print(row([f["name"], number(f["value"]), f["unit"], number(f["reference"]), number(f["ratio"]), f["reference_is"] or ""]), flush=True)
        except Exception as error:  # the other parts are still worth measuring
            failed = True
            print(f"{part}: {error}", file=sys.stderr)
        print(f"({part}: {time.monotonic() - started:.0f} s)", file=sys.stderr)
    output = ROOT / "build" / "bench.json"
    known = json.loads(output.read_text()) if output.exists() and len(parts) < len(PARTS) else []
    names = {f["name"] for f in figures}
    output.write_text(json.dumps([f for f in known if f["name"] not in names] + figures, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
