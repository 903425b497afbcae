"""Real nodes in namespaces of their own suffer faults that overlap, drawn from a seed (schedule.py): killed and stopped, alone, with all whom
newcomers ask, or all at once; paused; not heard, or not called, by some of the others; with slow disks and wrong clocks. Meanwhile clients
publish, edit, remove and read. When all faults are over the network must come to rest, and what everybody was shown, then and meanwhile, be
what it promised (histories.py).

    python3 tests/cluster/faults_check.py [--seconds 60] [--nodes 8] [--seed N]

The seed, TAGRING_SEED or a new one, decides about faults and what clients intend; what processes make of it differs from run to run.
Of a failure everything that was done is in run/faults_NODES_SEED/history.jsonl, and what the nodes said beside it.
"""

import argparse
import contextlib
import json
import os
import random
import secrets
import shutil
import signal
import sys
import threading
import time

from histories import Checker, History
from namespaces import FAKETIME, ROOT, NamespaceNetwork, enter
from network import NAMES, Failure, at_once, origin_host, wait_for
from schedule import LARGE, draw

TAGS = ["caturday", "photography", "music", "haiku", "bread", "rain"]
ORIGINS, WRITERS = 4, 2  # at each
READERS = 2
# Four servers with all the posts of a network, a third of them changed: what is looked at of each is as much as otherwise of many.
BUDGET = "[budget]\nchecks_per_host = 600\nchecks_per_domain = 600\n"
SETTLE = 600  # seconds until all is at rest again; some twenty, as a rule


class Faults:
    """Carries out a schedule."""

    def __init__(self, network, history):
        self.network, self.history = network, history
        self.ended = []  # who has, by itself

    def perform(self, faults):
        steps = []
        for number, fault in enumerate(faults):
            steps += [(fault.at, number, True, fault), (fault.until, number, False, fault)]
        began = time.monotonic()
        for at, _, begins, fault in sorted(steps, key=lambda step: step[:3]):
            time.sleep(max(0, began + at - time.monotonic()))
            started = time.monotonic()
            self._of(fault.kind)(fault, begins)
            self.history.note(started, who="faults", does=f"{'begin' if begins else 'end'}: {fault.kind}", nodes=fault.nodes, detail=fault.detail)

    def _of(self, kind):
        return self._down if kind in LARGE else getattr(self, "_" + kind.replace(" ", "_"))

    def _end(self, i, was_asked_to=False):
        code = self.network.processes[NAMES[i]].poll()
        if code is not None and not (was_asked_to and code in (0, -signal.SIGTERM)):  # the latter while it was starting
            self.ended.append(f"{NAMES[i]} has ended by itself, with {code}")
        self.network.kill_node(i)

    def _down(self, fault, begins):
        for i in fault.nodes:
            self._end(i) if begins else self.network.launch_node(i)

    _down_killed = _down

    def _down_stopped(self, fault, begins):
        for i in fault.nodes:
            if begins:
                self.network.processes[NAMES[i]].terminate()
            else:
                self._end(i, was_asked_to=True)  # or it is made to
                self.network.launch_node(i)

    def _paused(self, fault, begins):
        for i in fault.nodes:
            if self.network.is_running(i):
                self.network.pause(i) if begins else self.network.resume(i)

    def _deaf(self, fault, begins):
        self.network.deafen(*fault.nodes, fault.detail, begins)

    def _deaf_to_calls(self, fault, begins):
        self.network.deafen(*fault.nodes, fault.detail, begins, to_calls_only=True)

    def _slow_disk(self, fault, begins):
        self.network.slow_disk(*fault.nodes, fault.detail if begins else 0)

    def _wrong_clock(self, fault, begins):
        if fault.nodes[0] in self.network.clocks:
            self.network.set_clock(*fault.nodes, fault.detail if begins else 0)


class Clients:
    """What they do while it is entered goes into the history. A client that does not get on with its work ends the test."""

    def __init__(self, network, history, seed, subscribers):
        self.network, self.history, self.subscribers = network, history, subscribers
        works = [(self.write, i, origin) for origin in range(ORIGINS) for i in range(WRITERS)]
        works += [(self.read, i) for i in range(READERS)] + [(self.follow, i) for i in subscribers]
        self.threads = [threading.Thread(target=self._work, args=(random.Random(f"{seed} {number}"), *work)) for number, work in enumerate(works)]
        self.number = 0
        self.over = threading.Event()
        self.failures = []

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _work(self, rng, work, *arguments):
        try:
            work(rng, *arguments)
        except Exception as failure:  # of the test: told at its end
            self.failures.append(f"a client gave up: {failure!r}")

    def write(self, rng, i, origin):
        """One author's posts, one after the other; what was acknowledged may be changed, once more each time."""
        mine = {}  # URI -> hashtags that it has had; the last of them are its own
        while not self.over.wait(rng.uniform(0.5, 2.5)):
            tags = rng.sample(TAGS, rng.randint(1, 2))
            uri = rng.choice(sorted(mine)) if mine and rng.random() < 0.3 else None
            fresh = [tag for tag in TAGS if uri and tag not in mine[uri]]
            if uri is None:
                uri, good = self._ask("post", tags, {"domain": origin_host(origin), "retries": rng.randint(0, 2)})
            elif fresh and rng.random() < 0.5:
                # Not one that it had before: what is removed under a hashtag is so for ever.
                tags = rng.sample(fresh, 1)
                uri, good = self._ask("edit", tags, {"id": uri, "retries": 1})
            else:
                tags = []
                uri, good = self._ask("delete", tags, {"id": uri, "retries": 1})
            had = mine.pop(uri, [])
            if good and tags:
                mine[uri] = had + tags  # else it is not known, and left alone

    def _ask(self, what, tags, body):
        started = time.monotonic()
        with self.history.lock:
            self.number += 1
            text = f"Post {self.number} " + " ".join(f"#{tag}" for tag in tags)
        answer = self.network.control("origins", f"/{what}", {"text": text, **body})
        good = 200 <= answer["status"] < 300
        self.history.wrote(answer["id"], tags, good)
        self.history.note(started, who="writer", does=what, uri=answer["id"], tags=tags, status=answer["status"])
        return answer["id"], good

    def read(self, rng, i):
        """Histories through any node. Who gets no answer asks another."""
        while not self.over.wait(rng.uniform(0.2, 1)):
            node, tag = rng.randrange(self.network.count), rng.choice(TAGS)
            started, entries = time.monotonic(), None
            with contextlib.suppress(Failure):
                entries = self.network.cli(node, "query", tag, "--limit", 40)["entries"]
                self.history.read(node, tag, [(e["published"], e["uri"]) for e in entries])
            self.history.note(started, who="reader", node=node, tag=tag, found=None if entries is None else len(entries))

    def follow(self, rng, node):
        """A subscriber's feed, as it comes."""
        last = 0
        while not self.over.wait(rng.uniform(0.2, 1)):
            started, entries = time.monotonic(), None
            with contextlib.suppress(Failure):
                entries = self.network.feed(node, after=last)
                self.history.showed(node, entries)
                last = entries[-1][0] if entries else last
            self.history.note(started, who="subscriber", node=node, found=None if entries is None else len(entries))


def bring_up(network, subscribers):
    started = time.monotonic()
    for i in range(network.count):
        network.write_config(i, extra=BUDGET)
        network.launch_node(i)
    wait_for("rings", lambda: not network.unsettled(), SETTLE)
    at_once(lambda i: network.cli(i, "subscribe", *TAGS), subscribers)
    wait_for("subscriptions", lambda: not network.unsettled(), SETTLE)
    network.start_origins(ORIGINS)
    print(f"{network.count} nodes after {time.monotonic() - started:.0f} s", flush=True)


def wrong_at_the_end(network, checker, subscribers):
    def feed(i):
        return checker.feed(i, TAGS, network.feed(i))

    def history(i):
        return [wrong for tag in TAGS for wrong in checker.present(f"history through node {i}", tag, [e["uri"] for e in network.history(i, tag)])]

    return network.unsettled() or [wrong for check, nodes in [(feed, subscribers), (history, range(network.count))]
                                   for found in at_once(check, nodes) for wrong in found]


def suffer(network, seed, seconds):
    """What went wrong."""
    history = History()
    subscribers = range(1, network.count, max(2, network.count // 6))
    bring_up(network, subscribers)
    schedule = draw(seed, network.count, seconds)
    faults = Faults(network, history)
    try:
        with Clients(network, history, seed, subscribers) as clients:
            faults.perform(schedule)
        checker = Checker(history, TAGS)
        print(f"{len(schedule)} faults in {seconds} s; {history.acknowledged()} posts, edits and deletions acknowledged of {len(history.posts)} posts, "
              f"{history.pages} pages of history and {sum(map(len, history.feeds.values()))} entries of feeds read meanwhile", flush=True)
        found = clients.failures + checker.meanwhile()
        if not history.acknowledged() or not history.pages:
            found.append("nothing was acknowledged, or nothing could be read")
        try:
            took = wait_for("all is well", lambda: faults.ended or not wrong_at_the_end(network, checker, subscribers), SETTLE)
            print(f"over after another {took:.0f} s")
        except Failure as failure:
            found += [str(failure), *wrong_at_the_end(network, checker, subscribers)]
        return faults.ended + found
    finally:
        with open(network.directory / "history.jsonl", "w") as file:
            for line in [*({"fault": str(fault)} for fault in schedule), *history.operations]:
                file.write(json.dumps(line) + "\n")


def main():
    why_not = enter()
    if why_not is not None:
        print(f"skipped: no namespaces here: {why_not}")
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAGRING_SEED") or secrets.randbelow(10**9)))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}; to repeat it: --seconds {arguments.seconds} --nodes {arguments.nodes} --seed {arguments.seed}", flush=True)
    if not FAKETIME:
        print("skipped: wrong clocks: there is no libfaketime")
    nodes = range(arguments.nodes)
    directory = ROOT / "run" / f"faults_{arguments.nodes}_{arguments.seed}"
    with NamespaceNetwork(directory, arguments.nodes, far=(), clocks=nodes, slow_disks=True) as network:
        found = suffer(network, arguments.seed, arguments.seconds)
    for wrong in found[:40]:
        print(f"  FAIL  {wrong}")
    if not found:
        shutil.rmtree(directory)
    print(f"{0 if found else 1} passed, {1 if found else 0} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
