"""What judges a node that was killed finds each thing that it is there to find, and is not content with nothing.

    python3 tests/cluster/verdicts_test.py
"""

import contextlib
import sys

import verdicts
from flow import FOLLOWS, NODES, ORIGINS, READER, SEEN, TAGS, TWICE, Flow
from network import Failure, node_host, origin_host
from verdicts import Fault, Post

counts = {True: 0, False: 0}
ACTORS = {"https://a.example/tag/cats"}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}")


def says(found, *words):
    return len(found) == 1 and all(word in found[0] for word in words)


# --- what followers are told ---------------------------------------------------------------------------------


def announce(when, uri, id=None, actor="https://a.example/tag/cats", type="Announce"):
    return when, {"type": type, "id": id or f"id of {uri}", "actor": actor, "object": uri}


def told(*received, must=("a", "b"), may=("a", "b", "c"), faults=()):
    return verdicts.told("who follows", list(received), set(must), set(may), ACTORS, faults)


def followers():
    right = [announce(10, "a"), announce(11, "b")]
    check("what is right", not told(*right, (5, {"type": "Accept"})))
    check("who was not acknowledged may be told of", not told(*right, announce(12, "c")))
    check("what is missing", says(told(right[0]), "not told of 1", " b"))
    check("all of it", says(told(), "not told of 2"))
    check("nothing that could be", says(told(must=()), "nothing"))
    check("another Announce of the same", says(told(*right, announce(12, "a", "other")), "more than once", " a"))
    check("also near a fault", says(told(*right, announce(12, "a", "other"), faults=[Fault("killed", 10, 12)]), "more than once"))
    check("what nobody sent", says(told(*right, announce(12, "x")), "nobody sent", " x"))
    check("what is taken back", says(told(*right, announce(12, "a", type="Undo")), "Undo"))
    check("by whom nobody follows", says(told(*right, announce(12, "c", actor="https://a.example/tag/dogs")), "dogs"))


def sent_again():
    def again(first, second, *faults):
        return told(announce(first, "a"), announce(second, "a"), announce(11, "b"), faults=faults)

    killed = Fault("killed", 100, 103)
    check("without a fault nothing is sent again", says(again(10, 12), "no fault explains", "id of a"))
    check("with one it may be", not again(99, 104, killed) and not again(101, 104, killed))
    check("but not what was sent long before", says(again(80, 104, killed), "no fault explains"))
    check("nor after it", says(again(104, 105, killed), "no fault explains"))
    check("nor before it", says(again(98, 99, killed), "no fault explains"))
    check("each time needs one", says(told(announce(99, "a"), announce(104, "a"), announce(110, "a"), announce(11, "b"), faults=[killed]), "no fault"))


# --- whether there was a load --------------------------------------------------------------------------------


def posts(*spans, acknowledged=True):
    return [Post(f"post {begun}", {"cats"}, TWICE, begun, ended, acknowledged) for begun, ended in spans]


def loads():
    faults = [Fault("killed", 10, 13), Fault("paused", 20, 27)]
    kinds = {"killed": 1, "paused": 1}
    calm = posts((1, 2), (3, 4), (14, 15), (15, 16), (28, 29), (29, 30))
    struck = posts((9.9, 12), (9.8, 13.5), acknowledged=False) + posts((19.8, 26), (19.9, 26.5), acknowledged=False)

    def load(posts, faults=faults):
        return verdicts.load(posts, faults, kinds, 2, 2)

    check("a real load", not load(calm + struck), load(calm + struck))
    check("nothing at all", len(load([], [])) == 3)
    check("none on their way", says(load(calm + struck[:2]), "paused", "0 posts were on their way"))
    check("too few on their way", says(load(calm + struck[1:]), "killed", "1 posts were on their way"))
    check("none before the first", says(load(calm[2:] + struck), "from 0.0 to 10.0 0 posts"))
    check("too few between", says(load(calm[:3] + calm[4:] + struck), "from 13.0 to 20.0 1 posts"))
    check("none after the last", says(load(calm[:4] + struck), "from 27.0 to inf 0 posts"))
    refused = posts((14, 15), (15, 16), acknowledged=False)
    check("what is refused does not count", says(load(calm[:2] + refused + calm[4:] + struck), "from 13.0 to 20.0 0 posts"))
    check("a fault that was left out", any("paused: 0 times" in one for one in load(calm + struck, faults[:1])))


# --- whether it is one node ----------------------------------------------------------------------------------


def neighbours():
    own = {("relay", "1"), ("storage", "2")}
    here, there = sorted(own), [("relay", "1")]

    def places(looks, own=own, faults=(Fault("killed", 2.5, 3.5, restarts=True),), least=1):
        return verdicts.places([(when, *look) for when, look in enumerate(looks)], own, [1, 2], faults, least)

    start = [(1, here), (2, here)]  # at 0 and 1; at 3 it is down
    check("all see it", not places(start + start + start))
    check("it may be away after a restart", not places([*start, (1, here), (1, []), (2, []), (1, there), (2, here), (1, here), (2, here)]))
    check("but not for ever", says(places([*start, (1, here), (1, []), (2, here), (2, here)]), "had not seen all of it"))
    check("nor without a restart", len(places([*start, (1, []), (2, there)], faults=[])) == 2)
    front = [Fault("front killed", 1.5, 10)]
    check("nor while something else fails", says(places([*start, (2, there)], faults=front), "neighbour 2 missed it", "storage"))
    back = [*start, (1, here), (1, []), *start]
    check("nor once all have seen it again", says(places([*back, (2, [])]), "neighbour 2 missed it", "(6, "), places([*back, (2, [])]))
    check("nor before", says(places([(1, []), *start, *start, *start]), "neighbour 1 missed it", "(0, "))
    late = [(1, here), (2, here), (1, here), (1, [])] + [(1, there)] * 70 + start
    check("nor for a long time", any("had not seen all of it" in one for one in places(late)))
    check("a second restart begins anew", not places([*start, (1, here), (1, []), (1, here), (2, []), (1, here), (2, here)],
                                                     faults=[Fault("killed", 2.5, 2.8, restarts=True), Fault("paused", 4.5, 5.5, restarts=True)]))
    check("nobody looked", len(places([], faults=[])) == 2)
    check("one did not look", says(places([(1, here)], faults=[]), "neighbour 2 saw all of it 0 times"))
    check("too seldom", len(places(start, faults=[], least=2)) == 2)
    check("a place that it has not", says(places([*start, *start, (2, [*here, ("relay", "9")]), *start]), "neighbour 2 saw", "9"))
    check("a place twice", says(places([*start, *start, (1, [*here, here[0]]), *start]), "neighbour 1 saw"))
    check("a node without places", any("no places" in one for one in places([(1, []), (2, [])], own=set(), faults=[])))


# --- what is asked of whom ------------------------------------------------------------------------------------


class FakeNetwork:
    """Has three posts, one with two hashtags, and all have what they should."""

    port = 8443

    def __init__(self):
        self.inboxes = {origin_host(i): [(1, {"type": "Accept"}) for _ in FOLLOWS[i]] for i in range(ORIGINS)}
        self.shown = [(0, TAGS[0]), (1, TAGS[0]), (1, TAGS[1]), (1, TAGS[2]), (2, TAGS[1]), (2, TAGS[2])]
        self.feeds = {i: [(seq, "add", tag, f"post {post}") for seq, (post, tag) in enumerate(self.shown)] for i in [TWICE, READER]}
        self.histories = {(i, tag): [{"uri": f"post {post}"} for post, other in self.shown if other == tag] for i in range(NODES) for tag in TAGS}
        self.places = {i: f"{i}" for i in range(NODES)}

    def control(self, peer, path, body=None):
        if body is not None:
            return {"status": 202}
        return [{"at": f"2026-01-01T00:00:{when:02}.000Z", "activity": activity} for when, activity in self.inboxes[path.split("=")[1]]]

    def contact(self, i):
        return {"id": self.places[i], "host": node_host(i), "address": f"127.0.1.{i}", "port": 1, "vserver": 0}

    def cli(self, i, what):
        others = [self.contact(other) for other in range(NODES) if other != i]
        return {ring: [{"self": self.contact(i), "successors": others}] for ring in ["relay", "storage"]}

    def feed(self, i, after=0):
        return self.feeds[i]

    def history(self, i, tag):
        return self.histories[i, tag]


class FakeFlow(Flow):
    public_key = "its key"

    def key(self):
        return self.public_key


def finished():
    """A flow that is over, and all is well: 0 and 1 are posts of the node's instance, 2 of the other."""
    network = FakeNetwork()
    flow = FakeFlow(network)
    for post, origin in [(0, 0), (1, 0), (2, 1)]:
        tags = {tag for other, tag in network.shown if other == post}
        flow.posts.append(Post(f"post {post}", tags, origin, 1, 2, True))
        flow.history.wrote(f"post {post}", tags, True)
        for follower, followed in FOLLOWS.items():
            under = sorted(tags & set(followed))
            if under and follower != origin:
                network.inboxes[origin_host(follower)].append(announce(3, f"post {post}", actor=flow.actor(network, under[0])))
    # Who follows the first hashtag at the node's own instance has a post of the other, too.
    flow.posts.append(Post("post 3", {TAGS[0]}, 1, 1, 2, True))
    flow.history.wrote("post 3", {TAGS[0]}, True)
    for i in [TWICE, READER]:
        network.feeds[i].append((9, "add", TAGS[0], "post 3"))
    for i in range(NODES):
        network.histories[i, TAGS[0]].append({"uri": "post 3"})
    for follower in [0, 2]:
        network.inboxes[origin_host(follower)].append(announce(3, "post 3", actor=flow.actor(network, TAGS[0])))
    flow.history.showed(TWICE, network.feeds[TWICE][:3])
    flow.looks = [(i, i, flow.seen(i)) for i in range(1, NODES)] * SEEN
    return network, flow


def wholes():
    def wrong(change):
        network, flow = finished()
        change(network, flow)
        return flow.wrong()

    check("all is there", not wrong(lambda *_: None), wrong(lambda *_: None))
    for i in range(ORIGINS):
        inbox = origin_host(i)
        check(f"{inbox} was not told", says(wrong(lambda n, _, inbox=inbox: n.inboxes[inbox].pop()), inbox, "not told of 1"))
        check(f"{inbox} was told twice", says(wrong(lambda n, _, inbox=inbox: n.inboxes[inbox].append((4, {**n.inboxes[inbox][-1][1], "id": "other"}))), inbox, "more than once"))
    for i in [TWICE, READER]:
        check(f"the feed of {i} lacks one", says(wrong(lambda n, _, i=i: n.feeds[i].pop()), f"feed of node {i}", "missing", "post 3"))
    for i in range(NODES):
        check(f"a history through {i} lacks one", says(wrong(lambda n, _, i=i: n.histories[i, TAGS[1]].pop()), f"history through node {i} #{TAGS[1]}", "missing", "post 2"))
        check(f"a history through {i} has one twice", says(wrong(lambda n, _, i=i: n.histories[i, TAGS[1]].append({"uri": "post 2"})), f"history through node {i}", "twice"))
    check("a feed that does not show what it showed", says(wrong(lambda n, _: n.feeds[TWICE].insert(0, n.feeds[TWICE].pop(1))), "feed of node 0", "not what it was"))
    check("a feed that nobody has read", says(wrong(lambda _, f: f.history.feeds.pop(TWICE)), "showed nothing"))
    found = wrong(lambda _, f: f.posts.clear())
    check("nothing that was sent", sum("nothing" in one for one in found) == ORIGINS, found)


def ones():
    def fails(change):
        network, flow = finished()
        change(network, flow)
        with contextlib.suppress(Failure):
            return not flow.is_one_node()
        return True

    check("it is one node", not fails(lambda *_: None))
    check("it has another place", fails(lambda n, _: n.places.update({TWICE: "9"})))
    check("it had another place", fails(lambda _, f: f.looks.append((3, 1, [("relay", "9", node_host(TWICE), "127.0.1.0", 1, 0)]))))
    check("it has another key", fails(lambda _, f: setattr(f, "public_key", "another")))
    check("nobody looked", fails(lambda _, f: f.looks.clear()))


def main():
    for part in [followers, sent_again, loads, neighbours, wholes, ones]:
        part()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
