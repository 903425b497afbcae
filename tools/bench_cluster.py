#!/usr/bin/env python3
"""How much a node of several processes does (docs/scaling.md); prints a table, writes build/cluster.json.

    tools/bench_cluster.py [--seconds 10] [--fronts 1,2,4]

A core and so many fronts on PostgreSQL, each held to a share of one core of this machine by cgroups. PostgreSQL, and whoever makes the load,
may use what is left. Beside it one process on SQLite that has all of their shares together. Checks nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from network import Failure, Network, node_host, origin_host, wait_for  # noqa: E402
from postgres import Postgres  # noqa: E402

PROGRAM = ROOT / "build" / "release" / "bench" / "cluster_bench"
FRONT, CORE = 0.1, 0.4  # shares of a core of this machine
PERIOD_US = 10_000  # short: what a process may not use now it may soon
READERS = 20
PARTS = {"posts": "verified and stored/s", "deliveries": "deliveries/s", "pages": "pages/s"}
# The load comes from one address, and what strangers may cost is not what is measured.
NO_LIMITS = "[relay]\ndeliveries_per_second = 100000000\n[budget]\n" + "\n".join(
    f"{name} = 1000000000000"
    for names, of in [(["connections", "handshakes", "body_octets", "loop_us", "database_us", "reads"], ["", "_per_address", "_per_48"]),
                      (["arrivals"], ["_per_address", "_per_48"]),
                      (["handshakes"], ["_in_20_ms"]),
                      (["key_fetches"], ["_a_minute", "_per_address", "_per_48"]),
                      (["key_requests"], ["_a_minute", "_per_host", "_per_domain"])]
    for name in [name + end for name in names for end in of])


class Share:
    """A control group that has so much of a core. Use as a context manager."""

    def __init__(self, name, cores):
        one = Path("/sys/fs/cgroup/cpu")
        self.is_first = one.is_dir()
        self.directory = (one if self.is_first else Path("/sys/fs/cgroup")) / f"tagring-{os.getpid()}-{name}"
        self.cores = cores

    def __enter__(self):
        quota = int(self.cores * PERIOD_US)
        try:
            self.directory.mkdir()
            if self.is_first:
                (self.directory / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (self.directory / "cpu.cfs_quota_us").write_text(str(quota))
            else:
                (self.directory / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        except OSError as error:
            raise Failure(f"no control group can be made ({error}): run this as root, where cgroups have the CPU controller") from error
        return self

    def __exit__(self, *_):
        wait_for("the end of a process", self._removed, 20)

    def _removed(self):
        try:
            self.directory.rmdir()
        except OSError:
            return False
        return True

    def take(self, process):
        (self.directory / "cgroup.procs").write_text(str(process.pid))


def cpu_seconds(pid):
    """Of each thread of a process, and of each process that it started: {number: seconds}."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for entry in [*Path("/proc").glob("[0-9]*"), *Path(f"/proc/{pid}/task").iterdir()]:
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if entry.parent.name == "task" or pid == int(fields[1]):
            found[int(entry.name)] = sum(map(int, fields[11:13])) / tick
    return found


class Cost:
    """What one of `done` took of a role, in ms of CPU: in all, and of the thread (of PostgreSQL: process) that had most to do. A thread is on one
    core at a time, so 1000 / `busiest` is what there can be in a second, however large the machine."""

    def __init__(self, before, after, done):
        used = [1000 * (after[one] - before.get(one, 0)) / done for one in after]
        self.whole, self.busiest = sum(used), max(used)


class Cluster(Network):
    """A node of a core and `fronts` on the database, or of one process on SQLite, which has as much of a core as they together."""

    def __init__(self, directory, fronts, database=None):
        self.readers = [f"reader{i}.example" for i in range(READERS)]
        super().__init__(directory, nodes=1, peers={host: f"127.0.9.{i + 1}" for i, host in enumerate(self.readers)})
        self.database = database
        self.roles = {"core": ["core"], "front": [f"front{i + 1}" for i in range(fronts)]} if database else {"all": ["all"]}
        self.cores = {"core": CORE, "front": FRONT, "all": CORE + fronts * FRONT}
        self.doors = [f"127.0.4.{i + 1}" for i in range(fronts)] if database else [self.node_address(0)]
        self.core_address = "127.0.4.200"  # where nobody asks it
        self.shares = []

    def __exit__(self, *error):
        super().__exit__(*error)
        for share in self.shares:
            share.__exit__(*error)

    def start(self):
        for role, names in self.roles.items():
            for number, name in enumerate(names):
                self.start_process(role, number, name)
        wait_for("a node that is settled", lambda: self.is_settled(0))
        world = {"node": f"https://{node_host(0)}:{self.port}", "certificates": str(self.directory / "certs"), "authors": origin_host(0),
                 "readers": self.readers, "hosts": self.hosts, "port": self.port, "doors": self.doors}
        (self.directory / "world.json").write_text(json.dumps(world))

    def start_process(self, role, number, name):
        """In a share of its own, from its first instruction that counts."""
        database = f'[database]\npostgres = "{self.database}"\n' if self.database else ""
        address = self.core_address if role == "core" else self.doors[number]
        self.write_config(0, extra=f"{NO_LIMITS}\n{database}", listen=f'address = "{address}"')
        file = self.config_file(0)
        if role == "front":
            file = file.rename(file.with_name(f"{name}.toml"))
        place = f"127.0.5.{10 * (role == 'front') + number + 1}:7946"
        self._start(name, [self.binary, "run", "--json", *(["--role", role, "--inside", place] if self.database else []), "--config", file])
        share = Share(name, self.cores[role])
        self.shares.append(share.__enter__())
        share.take(self.processes[name])
        if role == "front":
            self.write_config(0)  # for who asks the core

    def cpu(self, server):
        used = {role: {one: spent for name in names for one, spent in cpu_seconds(self.processes[name].pid).items()} for role, names in self.roles.items()}
        return {**used, "database": cpu_seconds(server.process.pid)} if self.database else used

    def rest(self, server):
        """Until the node has done what it has to after the last answer: what each process used by then, but for the two seconds that show it."""
        after = self.cpu(server)
        for _ in range(30):
            before = after
            time.sleep(2)
            after = self.cpu(server)
            if all(sum(after[role].values()) - sum(before[role].values()) < 0.1 for role in after):
                return before
        raise Failure("the node has much to do for a minute after the last answer")

    def measure(self, seconds, server):
        """By part, what is done a second, and the cost of one for each role, with what is left to do when it was answered."""
        command = [PROGRAM, self.directory / "world.json", str(seconds)]
        found = {}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
            for part in PARTS:
                before = self.rest(server)
                print(part, file=load.stdin, flush=True)
                line = load.stdout.readline()
                if not line:
                    raise Failure(f"{part}: the load ended")
                done, after = json.loads(line), self.rest(server)
                found[part] = done["value"], {role: Cost(before[role], after[role], done["done"]) for role in after}
        return found


def measure(fronts, seconds, server=None):
    """By part, what a node does, and what that costs."""
    name = f"node{fronts}{'' if server else 'sqlite'}"
    database = f"host={server.directory} user=admin dbname={name}" if server else None
    if server:
        server.create(name)
    with Cluster(ROOT / "run" / "bench_cluster", fronts, database) as cluster:
        cluster.start()
        return cluster.measure(seconds, server)


def show(fronts, part, rate, cost, sqlite):
    costs = "  ".join(f"{role} {of_role.whole:.2f} ({of_role.busiest:.2f})" for role, of_role in cost.items())
    print(f"{part:12} {fronts:>6} {rate:>10.0f} {sqlite:>12.0f} {rate / sqlite:>6.2f}  {costs}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of posts and of pages")
    parser.add_argument("--fronts", default="1,2,4", help="how many there are, one run after the other")
    options = parser.parse_args()
    print(f"each front has {FRONT:.0%} of a core of this machine, the core {CORE:.0%}; SQLite in one process all of that\n")
    print(f"{'a second':12} {'fronts':>6} {'PostgreSQL':>10} {'SQLite':>12} {'ratio':>6}  ms of CPU for one (of the busiest thread)")
    figures = []
    with Postgres(durable=True) as server:
        for fronts in map(int, options.fronts.split(",")):
            alone = measure(fronts, options.seconds)
            several = measure(fronts, options.seconds, server)
            for part, unit in PARTS.items():
                (rate, cost), (sqlite, sqlite_cost) = several[part], alone[part]
                show(fronts, part, rate, cost, sqlite)
                figures.append({"name": part, "fronts": fronts, "value": rate, "unit": unit, "sqlite_value": sqlite})
                for name, of in [("cpu", lambda one: one.whole), ("busiest", lambda one: one.busiest)]:
                    figures += [{"name": f"{part}_{name}_{role}", "fronts": fronts, "value": of(of_role), "unit": "ms of CPU for one",
                                 "sqlite_value": of(sqlite_cost["all"])} for role, of_role in cost.items()]
    output = ROOT / "build" / "cluster.json"
    output.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))
