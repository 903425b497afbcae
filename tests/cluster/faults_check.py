"""Real nodes in namespaces of their own suffer faults that overlap, drawn from a seed (schedule.py): killed and stopped, alone, with all whom
newcomers ask, or all at once; paused; not heard, or not called, by some of the others; with slow disks and wrong clocks. Meanwhile clients
publish, edit, remove and read. When all faults are over the network must come to rest, and what everybody was shown, then and meanwhile, be
what it promised (histories.py).

    python3 tests/cluster/faults_check.py [--seconds 60] [--nodes 8] [--seed N]

The seed, TAGRING_SEED or a new one, decides about faults and what clients intend; what processes make of it differs from run to run.
Of a failure everything that was done is in run/faults_NODES_SEED/history.jsonl, and what the nodes said beside it.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import sys
import time

from clients import BUDGET, ORIGINS, TAGS, Clients, wrong_at_the_end
from histories import Checker, History
from namespaces import FAKETIME, ROOT, NamespaceNetwork, enter
from network import NAMES, Failure, at_once, wait_for
from rest import unsettled
from schedule import LARGE, draw

SETTLE = 600  # seconds until all is at rest again; some twenty, as a rule


class Faults:
    """Carries out a schedule."""

    def __init__(self, network, history):
        self.network, self.history = network, history
        self.ended = []  # who has, by itself

    def have_ended(self):
        """Nodes by themselves, or what is no node, without which nothing comes to rest."""
        return self.ended + self.network.ended_peers()

    def perform(self, faults):
        steps = []
        for number, fault in enumerate(faults):
            steps += [(fault.at, number, True, fault), (fault.until, number, False, fault)]
        began = time.monotonic()
        for at, _, begins, fault in sorted(steps, key=lambda step: step[:3]):
            time.sleep(max(0, began + at - time.monotonic()))
            if self.have_ended():
                return
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


def bring_up(network, subscribers):
    started = time.monotonic()
    for i in range(network.count):
        network.write_config(i, extra=BUDGET)
        network.launch_node(i)
    wait_for("rings", lambda: not unsettled(network), SETTLE)
    at_once(lambda i: network.cli(i, "subscribe", *TAGS), subscribers)
    wait_for("subscriptions", lambda: not unsettled(network), SETTLE)
    network.start_origins(ORIGINS)
    print(f"{network.count} nodes after {time.monotonic() - started:.0f} s", flush=True)


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
            took = wait_for("all is well", lambda: faults.have_ended() or not wrong_at_the_end(network, checker, subscribers), SETTLE)
            print(f"over after another {took:.0f} s")
        except Failure as failure:
            found += [str(failure), *wrong_at_the_end(network, checker, subscribers)]
        return faults.have_ended() + found
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
        print("missing: libfaketime, for wrong clocks (tools/setup installs it)")
    nodes = range(arguments.nodes)
    directory = ROOT / "run" / f"faults_{arguments.nodes}_{arguments.seed}"
    with NamespaceNetwork(directory, arguments.nodes, far=(), clocks=nodes, slow_disks=True) as network:
        found = suffer(network, arguments.seed, arguments.seconds)
    for wrong in found[:40]:
        print(f"  FAIL  {wrong}")
    if not found:
        shutil.rmtree(directory)
    failed = bool(found) + (not FAKETIME)
    print(f"{0 if found else 1} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
