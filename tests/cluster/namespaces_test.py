"""16 nodes in network namespaces of their own, with an address in a /64 each, live through one fault after the other while posts flow:
killed, paused, cut off, behind slow and lossy wires, with full disks and wrong clocks. After each: every acknowledged post is at every
subscriber, exactly once, and in the history through every node; there is one ring; and no node has ended by itself.

    python3 tests/cluster/namespaces_test.py [PHASE...]
"""

import sys
import threading
import time
from pathlib import Path

from namespaces import FAKETIME, ROOT, NamespaceNetwork, enter
from network import NAMES, Failure, at_once, origin_host, wait_for
from rest import unsettled

NODES = 16
ORIGINS = 4
FAR = {2, 3, 5, 6, 7, 12}  # of the instances' nodes, two
SUBSCRIBERS = [1, 3, 6, 9, 14]
TAGS = ["caturday", "photography", "music", "haiku"]
FULL = [1, 9, 10, 12]  # an instance's node and a subscriber, another subscriber, and two more
AHEAD, BEHIND, CORRECTED = 3, 14, 9
KILLED = [3, 4, 9, 12, 15]
PAUSED = [2, 6, 8, 13]
WITHIN = 300


class Flow:
    """Posts that are written while it is entered, at every instance one after the other."""

    def __init__(self, network):
        self.network = network
        self.acknowledged = {}  # URI -> hashtags
        self.refused = {}  # instance -> answers
        self.number = 0
        self.lock = threading.Lock()

    def __enter__(self):
        self.stopping = threading.Event()
        self.before = len(self.acknowledged)
        self.threads = [threading.Thread(target=self._write, args=(i,), daemon=True) for i in range(ORIGINS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def count(self):
        return len(self.acknowledged) - self.before

    def post(self, i):
        """One at instance i; its answer."""
        with self.lock:
            self.number += 1
            number = self.number
        tags = {TAGS[number % len(TAGS)], TAGS[number // 3 % len(TAGS)]}
        text = f"Post {number} " + " ".join(f"#{tag}" for tag in sorted(tags))
        answer = self.network.control("origins", "/post", {"text": text, "domain": origin_host(i), "retries": 0})
        with self.lock:
            if 200 <= answer["status"] < 300:
                self.acknowledged[answer["id"]] = tags
            else:
                self.refused.setdefault(i, []).append(answer)
        return answer

    def _write(self, i):
        while not self.stopping.wait(0.3):
            self.post(i)

    def expected(self, tag):
        return {uri for uri, tags in self.acknowledged.items() if tag in tags}


class Promises:
    """What must hold when a fault is over."""

    def __init__(self, network, flow):
        self.network = network
        self.flow = flow

    def wrong(self):
        """Why not. Those that are quickly seen first: what they hide is looked at when they are well."""
        def of(check, nodes):
            return sum(at_once(check, nodes), [])

        return unsettled(self.network) or of(self._feed, SUBSCRIBERS) or of(self._history, range(NODES))

    def _compare(self, what, uris, tag):
        expected = self.flow.expected(tag)
        lacking, twice = len(expected - set(uris)), len(uris) - len(set(uris))
        return [f"{what} #{tag}: {lacking} of {len(expected)} are missing, {twice} are there twice"] if lacking or twice else []

    def _feed(self, i):
        feed = self.network.feed(i)
        return sum((self._compare(f"subscriber {NAMES[i]}", [uri for _, op, t, uri in feed if t == tag and op == "add"], tag) for tag in TAGS), [])

    def _history(self, i):
        return sum((self._compare(f"history through {NAMES[i]}", [e["uri"] for e in self.network.history(i, tag)], tag) for tag in TAGS), [])


class Phases:
    """Each method is a fault, from its beginning until it is over. What it returns is told."""

    def __init__(self, network, flow):
        self.network = network
        self.flow = flow

    def kill(self):
        for victim in KILLED:
            self.network.kill_node(victim)
            time.sleep(0.7)
            self.network.start_node(victim)
        return f"{len(KILLED)} nodes by SIGKILL, one after the other"

    def pause(self):
        for i in PAUSED:
            self.network.pause(i)
        time.sleep(8)
        for i in PAUSED:
            self.network.resume(i)
        return f"{len(PAUSED)} nodes for 8 s, calls time out after 3 s"

    def cut(self):
        self.network.cut(True)
        time.sleep(10)
        self.network.cut(False)
        return f"{len(FAR)} nodes off the others for 10 s"

    def delay(self):
        by = self.network.impair(delay_ms=120, jitter_ms=60)
        time.sleep(8)
        self.network.repair_wires()
        return f"every frame late by 120 ± 60 ms, by {by}"

    def lose(self):
        by = self.network.impair(lose=0.1)
        time.sleep(8)
        self.network.repair_wires()
        return f"every tenth frame lost, by {by}"

    def full(self):
        publisher, subscriber = FULL[:2]  # who have something to write for certain
        for i in FULL:
            self.network.fill_disk(i)
        before = len(self.flow.refused.get(publisher, []))
        # There is room where the log of a database began anew: until that is used up, what is acknowledged is kept.
        answers = []
        until = time.monotonic() + WITHIN
        while not (all(self._says_full(i) for i in [publisher, subscriber]) and self._refused(answers[-10:])):
            if time.monotonic() > until:
                raise Failure(f"nodes with full disks go on as if they had room: {len(answers)} posts at one of them")
            answers.append(self.flow.post(publisher))
            self.flow.post(0)
        time.sleep(4)
        for i in FULL:
            self.network.free_disk(i)
        return f"the disks of {len(FULL)} nodes, {len(self.flow.refused[publisher]) - before} posts refused there"

    def _says_full(self, i):
        return "disk is full" in (self.network.directory / f"{NAMES[i]}.log").read_text()

    @staticmethod
    def _refused(answers):
        return len(answers) == 10 and not any(200 <= answer["status"] < 300 for answer in answers)

    def clocks(self):
        self.network.set_clock(AHEAD, 3600)
        self.network.set_clock(BEHIND, -3600)
        self.network.stop_node(CORRECTED)
        self.network.set_clock(CORRECTED, 3600)
        self.network.start_node(CORRECTED)
        time.sleep(8)
        for i, hours in [(AHEAD, 1), (BEHIND, -1), (CORRECTED, 1)]:
            wrong = self.network.clock(i) - time.time()
            if abs(wrong - 3600 * hours) > 60:
                raise Failure(f"the clock of {NAMES[i]} is wrong by {wrong:.0f} s, not by {hours} h")
        for i in [AHEAD, BEHIND, CORRECTED]:
            self.network.set_clock(i, 0)
        return "two nodes an hour ahead, one started so, and one an hour behind"


def bring_up(network):
    for i in range(NODES):
        network.start_node(i)
    wait_for("rings", lambda: all(at_once(network.is_settled, range(NODES))), WITHIN)
    at_once(lambda i: network.cli(i, "subscribe", *TAGS), SUBSCRIBERS)
    wait_for("subscriptions", lambda: all(at_once(network.is_settled, SUBSCRIBERS)), WITHIN)
    network.start_origins(ORIGINS)


def main():
    why_not = enter()
    if why_not is not None:
        print(f"skipped: no namespaces here: {why_not}")
        return 0
    names = sys.argv[1:] or ["kill", "pause", "cut", "delay", "lose", "full", "clocks"]
    passed = failed = 0
    if not FAKETIME and "clocks" in names:
        print("missing: libfaketime, for clocks (tools/setup installs it)")
        failed += 1
        names.remove("clocks")
    started = time.monotonic()
    with NamespaceNetwork(ROOT / "run" / "namespaces_test", NODES, FAR, clocks=[AHEAD, BEHIND, CORRECTED]) as network:
        bring_up(network)
        print(f"{NODES} nodes on both rings after {time.monotonic() - started:.0f} s", flush=True)
        flow = Flow(network)
        promises, phases = Promises(network, flow), Phases(network, flow)
        for name in names:
            fault = ""
            try:
                with flow:
                    time.sleep(1)
                    fault = getattr(phases, name)()
                    time.sleep(1)
                seconds = wait_for(name, lambda: not promises.wrong(), WITHIN)
                print(f"  ok    {name:8} {fault}: {flow.count()} posts, all well {seconds:.0f} s later", flush=True)
                passed += 1
            except Failure as failure:
                print(f"  FAIL  {name:8} {fault}: {failure}", *promises.wrong()[:20], sep="\n        ", flush=True)
                failed += 1
                break
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
