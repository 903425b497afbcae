"""A ring of nodes of an older program becomes one of this program: node by node they are restarted with it, as administrators do, while
clients publish, edit, remove and read. In between both are in one ring; one of the older leaves it, one of the newer joins it, and of each
one is killed. What was acknowledged before, meanwhile and afterwards must be there at the end (histories.py).

    python3 tests/cluster/versions_check.py [--commit COMMIT | --older PROGRAM] [--seed N]

The older program is built of the commit before this one, into build/previous.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from clients import BUDGET, ORIGINS, TAGS, Clients, wrong_at_the_end  # noqa: E402
from histories import Checker, History  # noqa: E402
from network import BINARY, Failure, Network, wait_for  # noqa: E402
from rest import ended, rings  # noqa: E402

NODES = 6
NEWCOMER, LEAVER = 5, 4
SUBSCRIBERS = [1, 2]
WITHIN = 600  # seconds; a minute at most, as a rule


class Versions(Network):
    """Each node has a program of its own, for its commands too."""

    def __init__(self, directory, older):
        super().__init__(directory, nodes=NODES)
        self.programs = [older] * NODES

    def program(self, i):
        return self.programs[i]

    def upgrade(self, i):
        self.stop_node(i)
        self.programs[i] = BINARY
        self.start_node(i)


def build(commit):
    """The program of that commit."""
    name = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    folder = ROOT / "build" / "previous" / name[:12]
    program = folder / "build" / "release" / "tagring"
    if not program.exists():
        print(f"building {name[:12]}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["git", "archive", name], cwd=ROOT, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "x", "-C", folder], stdin=archive.stdout, check=True)
        subprocess.run([sys.executable, folder / "tools" / "build.py", "release", "tagring"], check=True)
    return program


def is_a_ring(network, nodes):
    wait_for("a ring", lambda: not (ended(network, nodes) or rings(network, nodes)), WITHIN)


def one_by_one(network):
    """From a ring of the older to one of the newer. Each waits until the ring is whole, as administrators do."""
    nodes = [i for i in range(NODES) if i != NEWCOMER]
    for step, i in enumerate(nodes[:-1]):
        network.upgrade(i)
        is_a_ring(network, nodes)
        print(f"  {step + 1} newer of {len(nodes)}", flush=True)
        if step == 1:
            for other in [i, nodes[-1]]:  # one of each
                network.kill_node(other)
                network.start_node(other)
            is_a_ring(network, nodes)
            network.programs[NEWCOMER] = BINARY
            network.start_node(NEWCOMER)
            nodes.append(NEWCOMER)
            is_a_ring(network, nodes)
            print("  one of each was killed, and a newer one has joined", flush=True)
    network.cli(LEAVER, "leave")
    network.stop_node(LEAVER)
    nodes.remove(LEAVER)
    is_a_ring(network, nodes)
    print("  the last of the older has left", flush=True)
    return nodes


def upgrade_a_ring(network, seed):
    """What went wrong."""
    history = History()
    nodes = [i for i in range(NODES) if i != NEWCOMER]
    for i in range(NODES):
        network.write_config(i, extra=BUDGET)
    for i in nodes:
        network.start_node(i)
    is_a_ring(network, nodes)
    for i in SUBSCRIBERS:
        network.cli(i, "subscribe", *TAGS)
    wait_for("subscriptions", lambda: all(map(network.is_settled, SUBSCRIBERS)), WITHIN)
    network.start_origins(ORIGINS)
    with Clients(network, history, seed, SUBSCRIBERS) as clients:
        time.sleep(5)  # of what the older alone had
        nodes = one_by_one(network)
        time.sleep(5)
    checker = Checker(history, TAGS)
    print(f"{history.acknowledged()} posts, edits and deletions acknowledged of {len(history.posts)} posts, {history.pages} pages of history read meanwhile")
    found = clients.failures + checker.meanwhile()
    if not history.acknowledged() or not history.pages:
        found.append("nothing was acknowledged, or nothing could be read")
    try:
        wait_for("all is well", lambda: not wrong_at_the_end(network, checker, SUBSCRIBERS, nodes), WITHIN)
    except Failure as failure:
        found += [str(failure), *wrong_at_the_end(network, checker, SUBSCRIBERS, nodes)]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", default="HEAD^")
    parser.add_argument("--older", type=Path)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAGRING_SEED") or secrets.randbelow(10**9)))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    older = arguments.older or build(arguments.commit)
    with Versions(ROOT / "run" / "versions", older) as network:
        try:
            found = upgrade_a_ring(network, arguments.seed)
        except Failure as failure:
            found = [str(failure)]
    for wrong in found[:40]:
        print(f"  FAIL  {wrong}")
    print(f"{0 if found else 1} passed, {1 if found else 0} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
