"""Clients of a network that write, edit, remove and read all the time, and what everybody must be shown when they have ended."""

import contextlib
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from network import Failure, at_once, origin_host  # noqa: E402
from rest import unsettled  # noqa: E402
from workers import Workers  # noqa: E402

TAGS = ["caturday", "photography", "music", "haiku", "bread", "rain"]
ORIGINS, WRITERS = 4, 2  # at each
READERS = 2
# Four servers with all the posts of a network, a third of them changed: what is looked at of each is as much as otherwise of many.
BUDGET = "[budget]\nchecks_per_host = 600\nchecks_per_domain = 600\n"


class Clients(Workers):
    """What they do while it is entered goes into the history. A client that does not get on with its work ends the test."""

    def __init__(self, network, history, seed, subscribers):
        super().__init__()
        self.network, self.history, self.subscribers = network, history, subscribers
        works = [(self.write, i, origin) for origin in range(ORIGINS) for i in range(WRITERS)]
        works += [(self.read, i) for i in range(READERS)] + [(self.follow, i) for i in subscribers]
        self.works = [(work, random.Random(f"{seed} {number}"), *arguments) for number, (work, *arguments) in enumerate(works)]
        self.number = 0

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


def wrong_at_the_end(network, checker, subscribers, nodes=None):
    """What the network shows, or has not done yet."""
    nodes = range(network.count) if nodes is None else nodes

    def feed(i):
        return checker.feed(i, TAGS, network.feed(i))

    def history(i):
        return [wrong for tag in TAGS for wrong in checker.present(f"history through node {i}", tag, [e["uri"] for e in network.history(i, tag)])]

    return unsettled(network, nodes) or sum(at_once(feed, subscribers) + at_once(history, nodes), [])
