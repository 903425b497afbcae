"""Nodes are killed (SIGKILL) at random moments while posts flow, and started again. Afterwards every acknowledged post is at every
subscriber and in the history, exactly once for the reader; and each backup that was made meanwhile, on nodes that are killed, too, can be
restored, and has what its node had acknowledged before. Real processes, real TLS.

    python3 tests/cluster/kill_test.py [seed]
"""

import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, origin_host, wait_for  # noqa: E402

NODES = 6
ORIGINS = 3
POSTS = 1500
PART = 50
KILLS = 10
TAGS = ["caturday", "photography", "music"]


class Backups:
    """Of the nodes to whom the instances send, until it is over, whatever becomes of them."""

    def __init__(self, network, seed):
        self.network, self.rng = network, random.Random(seed)
        self.folder = network.directory / "backups"
        self.folder.mkdir()
        self.made = []  # which node's, the file, and what had been acknowledged before
        self.lost = 0

    def make(self, posts, over):
        while not over.wait(self.rng.uniform(0.2, 1.0)):
            node, known = self.rng.randrange(ORIGINS), [post["id"] for post in posts]
            file = self.folder / f"{len(self.made) + self.lost}.db"
            subprocess.run([self.network.program(node), "backup", file, "--config", self.network.config_file(node)], capture_output=True, timeout=120)
            if file.exists():  # also if the node was killed before it could say so
                self.made.append((node, file, [uri for uri in known if uri.startswith(f"https://{origin_host(node)}:")]))
            else:
                self.lost += 1

    def failures(self):
        if not any(acknowledged for _, _, acknowledged in self.made):
            yield "no backup was made after posts were acknowledged"
        for node, file, acknowledged in self.made:
            folder = self.folder / file.stem
            config = self.network.node_directory(node) / "restored.toml"  # its paths begin there
            config.write_text(re.sub(r"(?m)^data = .*$", f'data = "{folder}"', self.network.config_file(node).read_text()))
            done = subprocess.run([self.network.program(node), "restore", file, "--config", config], capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                yield f"a backup of {node} cannot be restored: {done.stderr}"
                continue
            database = sqlite3.connect(folder / "tagring.db")
            there = {uri for uri, in database.execute("SELECT uri FROM posts")}
            database.close()
            if missing := set(acknowledged) - there:
                yield f"a backup of {node} lacks {len(missing)} of {len(acknowledged)} posts that had been acknowledged"


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(f"seed {seed}")
    rng = random.Random(seed)
    with Network(ROOT / "run" / "kill_test", nodes=NODES) as network:
        for i in range(NODES):
            network.start_node(i)
        wait_for("rings", lambda: all(map(network.is_settled, range(NODES))))
        subscribers = [1, 3, 5]
        for i in subscribers:
            network.cli(i, "subscribe", *TAGS)
        wait_for("subscriptions", lambda: all(map(network.is_settled, subscribers)))
        network.start_origins(ORIGINS)

        over = threading.Event()
        posts = []  # that were acknowledged
        backups = Backups(network, seed)

        def load():
            """As long as nodes are killed, and no less than was said. How many were sent."""
            sent = 0
            while sent < POSTS or not over.is_set():
                body = {"count": PART, "tags": 20, "seed": seed * 1000 + sent // PART, "concurrency": 8, "retries": 100}
                answer = network.control("origins", "/load", body)
                sent += answer["sent"]
                posts.extend(answer["posts"])
            return sent

        with ThreadPoolExecutor(2) as pool:
            loader, copier = pool.submit(load), pool.submit(backups.make, posts, over)
            try:
                for _ in range(KILLS):
                    time.sleep(rng.uniform(0.05, 1.2))
                    victim = rng.randrange(NODES)
                    network.kill_node(victim)
                    time.sleep(rng.uniform(0.0, 1.5))
                    network.start_node(victim)
            finally:
                over.set()
            sent = loader.result()
            copier.result()
        print(f"{KILLS} kills, {len(posts)} of {sent} posts acknowledged, {len(backups.made)} backups, {backups.lost} that were killed")
        failures = list(backups.failures())
        if len(posts) != sent:
            failures.append(f"only {len(posts)} of {sent} posts were acknowledged")

        def expected(tag):
            return {p["id"] for p in posts if tag in [t.lower() for t in p["tags"]]}

        def wrong():
            found = []
            for i in subscribers:
                feed = network.feed(i)
                for tag in TAGS:
                    uris = [uri for _, op, t, uri in feed if t == tag and op == "add"]
                    if len(uris) != len(set(uris)) or set(uris) != expected(tag):
                        found.append(f"subscriber {i} #{tag}: {len(set(uris) & expected(tag))} of {len(expected(tag))}, {len(uris) - len(set(uris))} twice")
            for i in range(NODES):
                for tag in TAGS:
                    uris = [e["uri"] for e in network.history(i, tag)]
                    if len(uris) != len(set(uris)) or set(uris) != expected(tag):
                        found.append(f"history through {i} #{tag}: {len(set(uris) & expected(tag))} of {len(expected(tag))}, {len(uris) - len(set(uris))} twice")
            return found

        try:
            wait_for("everything delivered", lambda: not wrong(), 180)
        except Failure:
            failures += wrong()
    for failure in failures:
        print(failure)
    checks = len(TAGS) * (len(subscribers) + NODES) + 1 + len(backups.made)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
