"""Attacks on a real node, while an honest user goes on asking it. After each: the user was served, memory grew by little while it lasted, what
attacks leave of it does not add up from one to the next, the database has grown by little, nobody else was asked more than a little, and the node
serves on after a restart: after each if the attacks are long, else after some of them (what these leave adds up in one process, if it does).

    python3 tests/abuse/abuse_test.py                                    a second each; no time is held against the node
    python3 tests/abuse/abuse_test.py --seconds 5 --json build/abuse.json    the same for longer, and how long the user waited counts too
    python3 tests/abuse/abuse_test.py --only slow_bodies,pings

The attacker would have a machine of its own, so here it gets what the others leave of this one. The user also asks a server beside, which nobody
attacks: how long that takes during the attack is this machine's doing. Where even that is too long, nothing is known of the node, and the attack
counts as failed: it is to be tried where there is less to do.

`rss_mb` is what the node had more than before at most, while the attack lasted, `rest_mb` what it kept, `at_rest_mb` all that it had then, and
`at_rest_max_mb` what that might be; null for the first ones of a process, which say so. `outgoing_requests` are those to the host that got most of
them. What is written as JSON: [{"attack", "attacker_bytes", "attacker_requests", "honest_p99_ms", "honest_p99_before_ms", "beside_p99_ms", "rss_mb",
"rest_mb", "at_rest_mb", "at_rest_max_mb", "database_mb", "outgoing_requests", "ok"}].
"""

import argparse
import contextlib
import http.client
import json
import os
import ssl
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import floods  # noqa: E402, F401: more attacks
from attacks import ATTACKS, Attack  # noqa: E402
from world import BESIDE, World, node_host, p99, wait_for  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RSS_MAX = 64  # MiB that an attack may take while it lasts (docs/security.md)
# What all attacks on a process after its first ones may leave together: what one may take, since the allocator keeps it for the next, and the cache
# of the database (src/sql/sqlite.cpp), which fills by and by. So a process is attacked often enough that this is exceeded where each leaves LEAK.
# With a process for each attack nothing is known of that.
FIRST = 3
REST_MAX = RSS_MAX + 64  # MiB
LEAK = 10  # MiB
REST_WAIT = 10  # s, for memory to come back
SAMPLE_EVERY = 0.1  # s
DATABASE_MAX = 4  # MiB of a domain
OUTGOING_A_MINUTE = 10
FACTOR = 5  # so many times as long as before the honest user may wait
WAIT_MAX = 100  # ms, or so long
RESTART_AFTER = FIRST + REST_MAX // LEAK + 1  # attacks that are short
QUIET = 0.3  # of the time that an attack takes: before it, to compare with
LESS = 5  # so much nicer is the attacker
MIB = 1 << 20


def fetch(world, i, path):
    network = world.network
    connection = http.client.HTTPSConnection(network.node_address(i), network.port, timeout=20, context=world.loose)
    try:
        connection.request("GET", path, headers={"Host": f"{node_host(i)}:{network.port}"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


class Rest:
    """The memory of one process after each attack, when it does not shrink any more."""

    def __init__(self):
        self.after = []  # bytes

    def most(self):
        """None: these are the first."""
        return max(self.after[:FIRST]) + REST_MAX * MIB if len(self.after) >= FIRST else None

    def settled(self, world):
        most, least, ends = self.most(), world.rss(), time.monotonic() + REST_WAIT
        while time.monotonic() < ends and (most is None or least > most):
            time.sleep(0.5)
            now = world.rss()
            if most is None and now > least - MIB:
                break
            least = min(least, now)
        self.after.append(least)
        return least

    def figures(self):
        return " ".join(f"{size / MIB:.0f}" for size in self.after)


class Peak:
    """The most memory that the node has until the end, looked at again and again."""

    def __init__(self, world):
        self.world, self.most, self.over = world, world.rss(), threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self.over.wait(SAMPLE_EVERY):
            with contextlib.suppress(OSError, StopIteration):  # the process is gone, or has no memory any more
                self.most = max(self.most, self.world.rss())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def attack_with(name, attack):
    """All threads and processes that it starts are as nice."""
    failed = []

    def go():
        os.nice(LESS)  # this thread
        try:
            ATTACKS[name](attack)
        except Exception as error:  # noqa: BLE001: raised again below
            failed.append(error)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def run(world, name, seconds, rest):
    world.info, world.neighbour_info = (fetch(world, i, "/nodeinfo/2.1") for i in (0, 1))  # a restart changes it
    quiet_from = time.monotonic()
    time.sleep(QUIET * seconds)
    world.wait_for_a_request_after(time.monotonic())
    started = time.monotonic()
    before, _ = world.waits(quiet_from, started, world.host)
    rss, database, outgoing = world.rss(), world.database(), world.servers.counts()
    attack = Attack(world, seconds, list(ATTACKS).index(name))
    with Peak(world) as peak:
        attack_with(name, attack)
        time.sleep(max(0, attack.ends - time.monotonic()))
        ended = time.monotonic()
        world.wait_for_a_request_after(ended)  # so that those before it have been answered
    during, failures = world.waits(started, ended, world.host)
    beside, _ = world.waits(started, ended, BESIDE)
    attack.close()
    most, at_rest = rest.most(), rest.settled(world)
    row = {"attack": name, "attacker_bytes": attack.bytes, "attacker_requests": attack.requests, "honest_p99_ms": round(p99(during), 1),
           "honest_p99_before_ms": round(p99(before), 1), "beside_p99_ms": round(p99(beside), 1), "rss_mb": round((peak.most - rss) / MIB, 1),
           "rest_mb": round((at_rest - rss) / MIB, 1), "at_rest_mb": round(at_rest / MIB, 1), "at_rest_max_mb": most and round(most / MIB, 1),
           "database_mb": round((world.database() - database) / MIB, 2),
           "outgoing_requests": max(count - outgoing[host] for host, count in world.servers.counts().items())}
    minutes = max(1.0, (time.monotonic() - started) / 60)
    row["wrong"] = [what for what, wrong in {
        "the honest user was not served": failures > 0 or not during,
        "memory while it lasted": row["rss_mb"] > RSS_MAX,
        "what attacks leave in memory adds up": most is not None and at_rest > most,
        "database": row["database_mb"] > DATABASE_MAX * attack.domains,
        "requests to others": row["outgoing_requests"] > OUTGOING_A_MINUTE * minutes,
    }.items() if wrong and not attack.skipped] + attack.wrong
    row["skipped"] = attack.skipped
    return row


def restart(world):
    """Whether the node serves on, after whatever it still waited for."""
    world.honest_away.set()
    world.network.stop_node(0)
    world.network.start_node(0)
    wait_for("the node after a restart", world.network.is_whole)
    world.honest_away.clear()
    return "tagring" in fetch(world, 0, "/nodeinfo/2.1")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if unknown := set(options.only.split(",") if options.only else []) - set(ATTACKS):
        parser.error(f"no attack is called {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    chosen = [name for name in ATTACKS if not options.only or name in options.only.split(",")]
    rows, rests = [], [Rest()]
    with World(ROOT / "run" / "abuse_test") as world:
        world.loose = ssl.create_default_context(cafile=world.network.directory / "certs" / "ca.pem")
        world.loose.check_hostname = False  # called by its address
        for number, name in enumerate(chosen, 1):
            row = run(world, name, options.seconds, rests[-1])
            most = max(FACTOR * row["honest_p99_before_ms"], WAIT_MAX)
            if options.json and row["beside_p99_ms"] > most:
                row["wrong"].append("this machine was too slow to say how long the honest user waited")
            elif options.json and row["honest_p99_ms"] > most:
                row["wrong"].append("the honest user waited")
            if options.json or number % RESTART_AFTER == 0 or number == len(chosen):
                if not restart(world):
                    row["wrong"].append("after a restart it does not serve")
                rests.append(Rest())
            wrong, skipped = row.pop("wrong"), row.pop("skipped")
            row["ok"] = not wrong
            if not skipped or wrong:
                rows.append(row)
            print(f"{name:38} {row['attacker_bytes'] / MIB:8.1f} MiB {row['attacker_requests']:7} requests | p99 {row['honest_p99_before_ms']:6.1f} → "
                  f"{row['honest_p99_ms']:7.1f} ms ({row['beside_p99_ms']:.1f} beside), memory {row['rss_mb']:+6.1f} → "
                  f"{row['rest_mb']:+6.1f} MiB ({row['at_rest_mb']:.1f} of {row['at_rest_max_mb'] or 'any'}), database {row['database_mb']:+5.2f} MiB, "
                  f"{row['outgoing_requests']:3} requests{'' if row['ok'] else '  BAD: ' + ', '.join(wrong)}", flush=True)
            if skipped:
                print(f"skipped: {name}: {skipped}", flush=True)
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    for rest in rests:
        if len(rest.after) > FIRST:
            print(f"MiB at rest after each attack on one process: {rest.figures()}")
    failed = sum(not row["ok"] for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
