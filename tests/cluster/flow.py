"""Posts that flow while a node suffers, what its followers are told of them, and what its neighbours think of it meanwhile."""

import json
import ssl
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
import verdicts  # noqa: E402
from histories import Checker, History  # noqa: E402
from network import Failure, node_host, origin_host, wait_for  # noqa: E402
from workers import Workers  # noqa: E402

NODES, ORIGINS = 3, 3
TWICE, READER = 0, 1  # the node of several processes, and a subscriber beside it
TAGS = ["caturday", "photography", "music"]
WRITERS = {TWICE: 3, READER: 1}  # at a time, at the instance of each
# s between two of a writer's posts. An inbox that follows several hashtags may be told again of a post of which it was told 1000 posts ago
# when another of them comes late (protocol.md 9, "the last 1000 posts of each inbox"), so there are fewer in all.
PAUSES = {TWICE: 0.3, READER: 0.5}
FOLLOWS = {0: TAGS[:1], 1: TAGS[1:2], 2: TAGS}  # whose people, which hashtags of the node of several processes; one writes nothing itself
ON_THEIR_WAY, ACKNOWLEDGED = 2, 5  # posts, when something fails, and before that
EACH_FRONT_GETS_POSTS = ["--requests", "10"]  # of origins, for a node of several fronts
SEEN = 10  # times by each neighbour in all its places


class Flow(Workers):
    """From entering it to leaving it, posts at two instances. `faults` are noted in it, since they explain what is sent again."""

    def __init__(self, network):
        super().__init__()
        self.network, self.history = network, History()
        self.lock = threading.Lock()
        self.number, self.on_their_way = 0, 0
        self.posts, self.faults = [], []
        self.times = []  # when the node of several processes acknowledged, by time.monotonic()
        self.looks = []  # verdicts.places
        self.works = [(self._write, i) for i, writers in WRITERS.items() for _ in range(writers)] + [(self._look,), (self._read,)]
        self.own, self.own_key = self.own_places(), self.key()
        self._follow()

    @staticmethod
    def actor(network, tag):
        return f"https://{node_host(TWICE)}:{network.port}/tag/{tag}"

    def _follow(self):
        for origin, tags in FOLLOWS.items():
            for tag in tags:
                answer = self.network.control("origins", "/follow", {"domain": origin_host(origin), "actor": self.actor(self.network, tag)})
                if not 200 <= answer["status"] < 300:
                    raise Failure(f"a follow was answered {answer}")
        wait_for("Accepts", lambda: all(sum(activity["type"] == "Accept" for _, activity in self.received(i)) == len(tags) for i, tags in FOLLOWS.items()))

    def received(self, origin):
        """[(when, activity)] in the inboxes there."""
        entries = self.network.control("origins", f"/received?domain={origin_host(origin)}")
        return [(datetime.fromisoformat(entry["at"]).timestamp(), entry["activity"]) for entry in entries]

    # --- posts -----------------------------------------------------------------------------------------------

    def _write(self, i):
        while not self.over.wait(PAUSES[i]):
            with self.lock:
                self.number += 1
                number = self.number
                self.on_their_way += i == TWICE
                begun = time.time()
            tags = {TAGS[number % len(TAGS)], TAGS[number // 3 % len(TAGS)]}
            text = f"Post {number} " + " ".join(f"#{tag}" for tag in sorted(tags))
            answer = self.network.control("origins", "/post", {"text": text, "domain": origin_host(i), "retries": 3 * (number % 2)})
            good = 200 <= answer["status"] < 300
            self.history.wrote(answer["id"], tags, good)
            with self.lock:
                self.on_their_way -= i == TWICE
                self.posts.append(verdicts.Post(answer["id"], tags, i, begun, time.time(), good))
                if good and i == TWICE:
                    self.times.append(time.monotonic())

    def acknowledged_since(self, when):
        with self.lock:
            return sum(post.origin == TWICE and post.acknowledged and post.ended > when for post in self.posts)

    @contextmanager
    def fault(self, kind, restarts=False):
        """What is done within it is done while posts are on their way, and when some were acknowledged since the last fault. Gives it."""
        since = self.faults[-1].until if self.faults else 0
        wait_for(f"{ACKNOWLEDGED} posts", lambda: self.acknowledged_since(since) >= ACKNOWLEDGED)
        fault = verdicts.Fault(kind, self._moment(), restarts=restarts)
        self.faults.append(fault)
        yield fault
        fault.until = time.time()

    def _moment(self):
        """When enough are on their way."""
        for _ in range(30_000):
            with self.lock:
                if self.on_their_way >= ON_THEIR_WAY:
                    return time.time()
            time.sleep(0.001)
        raise Failure(f"there were never {ON_THEIR_WAY} posts on their way")

    # --- what others see -------------------------------------------------------------------------------------

    def _look(self):
        """What neighbours see of the node."""
        while not self.over.wait(0.5):
            for neighbour in range(1, NODES):
                with suppress(Failure):
                    self.looks.append((time.time(), neighbour, self.seen(neighbour)))

    def _read(self):
        """What its feed shows. A process that is paused is waited for."""
        last = 0
        while not self.over.wait(0.5):
            with suppress(Failure):
                entries = self.network.feed(TWICE, after=last)
                self.history.showed(TWICE, entries)
                last = entries[-1][0] if entries else last

    @staticmethod
    def _place(which, contact):
        return (which, *[contact[field] for field in ["id", "host", "address", "port", "vserver"]])

    def own_places(self):
        rings = self.network.cli(TWICE, "ring")
        return {self._place(which, v["self"]) for which in ["relay", "storage"] for v in rings[which]}

    def seen(self, neighbour):
        """The node's places in the neighbour's lists of successors; of each ring the list with most of them."""
        rings, host = self.network.cli(neighbour, "ring"), node_host(TWICE)
        lists = {which: [[c for c in v["successors"] if c["host"] == host] for v in rings[which]] for which in ["relay", "storage"]}
        return [self._place(which, contact) for which, of in lists.items() for contact in max(of, key=len, default=[])]

    def is_seen(self):
        """All of it, by all neighbours."""
        return all(set(self.seen(neighbour)) == self.own for neighbour in range(1, NODES))

    def comes_back(self):
        """The end, when neighbours have had a look."""
        wait_for("neighbours", self.is_seen)
        time.sleep(2)

    def key(self):
        """By which the world knows the node."""
        context = ssl.create_default_context(cafile=str(self.network.directory / "certs" / "ca.pem"))
        context.check_hostname = False  # called by its address
        request = urllib.request.Request(f"https://{self.network.node_address(TWICE)}:{self.network.port}/actor", headers={"Accept": "application/activity+json"})
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                return json.load(answer)["publicKey"]
        except OSError as error:
            raise Failure(f"its actor: {error}") from error

    # --- when all is over ------------------------------------------------------------------------------------

    def check(self, check, kinds):
        """`kinds`: how often each fault was to be."""
        print(f"  {self.acknowledged_since(0)} posts were acknowledged by it, {self.history.acknowledged()} of {len(self.posts)} by all", flush=True)
        print(f"  neighbours saw all its places in {sum(set(seen) == self.own for _, _, seen in self.looks)} of {len(self.looks)} looks", flush=True)
        self._write_down()
        check("there were posts whenever something failed", lambda: self.was_real(kinds), 1)
        check("it is one node, also to its neighbours", self.is_one_node)
        check("everything acknowledged is there, and was told, once", self.is_whole, 180)

    def _write_down(self):
        """For people, what is judged."""
        what = {"faults": [vars(fault) for fault in self.faults], "posts": [vars(post) | {"tags": sorted(post.tags)} for post in self.posts], "looks": self.looks}
        (self.network.directory / "flow.json").write_text(json.dumps(what))

    def is_one_node(self):
        wrong = verdicts.places(self.looks, self.own, range(1, NODES), self.faults, SEEN)
        now = {f"neighbour {i}": set(self.seen(i)) for i in range(1, NODES)} | {"itself": self.own_places()}
        wrong += [f"{who} now has {places}, not {self.own}" for who, places in now.items() if places != self.own]
        wrong += [] if self.key() == self.own_key else ["its key is another one"]
        return self._is_nothing(wrong)

    def was_real(self, kinds):
        posts = [post for post in self.posts if post.origin == TWICE]
        return self._is_nothing(self.failures + verdicts.load(posts, self.faults, kinds, ON_THEIR_WAY, ACKNOWLEDGED))

    def is_whole(self):
        return self._is_nothing(self.wrong())

    @staticmethod
    def _is_nothing(wrong):
        if wrong:
            raise Failure("; ".join(wrong[:20]))
        return True

    def wrong(self):
        """Of what subscribers, followers and the histories have: what is not as it was acknowledged."""
        checker = Checker(self.history, TAGS)
        found = checker.meanwhile()
        if not self.history.feeds[TWICE]:
            found.append("the feed showed nothing meanwhile")
        for i in [TWICE, READER]:
            found += checker.feed(i, TAGS, self.network.feed(i))
        for i in range(NODES):
            for tag in TAGS:
                found += checker.present(f"history through node {i}", tag, [e["uri"] for e in self.network.history(i, tag)])
        for origin, tags in FOLLOWS.items():
            # A server is not told of its own posts.
            may = [post for post in self.posts if post.origin != origin and post.tags & set(tags)]
            must = {post.uri for post in may if post.acknowledged}
            found += verdicts.told(f"who follows at {origin_host(origin)}", self.received(origin), must, {post.uri for post in may},
                                   {self.actor(self.network, tag) for tag in tags}, self.faults)
        return found
