"""Nodes are killed (SIGKILL) at random moments while posts flow, and started again. Afterwards every acknowledged post is at every
subscriber and in the history, exactly once for the reader. Real processes, real TLS.

    python3 tests/cluster/kill_test.py [seed]
"""

import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, wait_for  # noqa: E402

NODES = 6
ORIGINS = 3
POSTS = 1500
PART = 300
KILLS = 10
TAGS = ["caturday", "photography", "music"]


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

        def load():
            """As long as nodes are killed, and no less than was said. What was sent, and what was acknowledged."""
            sent, posts = 0, []
            while sent < POSTS or not over.is_set():
                body = {"count": PART, "tags": 20, "seed": seed * 1000 + sent // PART, "concurrency": 8, "retries": 100}
                answer = network.control("origins", "/load", body)
                sent += answer["sent"]
                posts += answer["posts"]
            return sent, posts

        with ThreadPoolExecutor(1) as pool:
            loader = pool.submit(load)
            try:
                for _ in range(KILLS):
                    time.sleep(rng.uniform(0.05, 1.2))
                    victim = rng.randrange(NODES)
                    network.kill_node(victim)
                    time.sleep(rng.uniform(0.0, 1.5))
                    network.start_node(victim)
            finally:
                over.set()
            sent, posts = loader.result()
        print(f"{KILLS} kills, {len(posts)} of {sent} posts acknowledged")
        failures = []
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
    checks = len(TAGS) * (len(subscribers) + NODES) + 1
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
