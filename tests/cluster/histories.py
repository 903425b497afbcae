"""What clients did and saw while a network suffered, and whether it is what was promised.

A post has states: sets of hashtags, an empty one when it is removed. What was acknowledged is its state; what was answered otherwise, or
not at all, may have happened or not. From that follows under which hashtags it must be when all is over, and must not be; the rest is open.
"""

import threading
import time
from collections import defaultdict


class Post:
    def __init__(self):
        self.states = [frozenset()]  # that it may be in
        self.tried = set()  # hashtags that it may ever have had
        self.steps = 0  # acknowledged ones

    def did(self, tags, acknowledged):
        tags = frozenset(tags)
        self.states = [tags] if acknowledged else [*self.states, tags]
        self.tried |= tags
        self.steps += acknowledged


class History:
    """Many threads write to it. `operations`, in the order in which they ended, is for people."""

    def __init__(self):
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.posts = defaultdict(Post)
        self.operations = []
        self.feeds = defaultdict(list)  # node -> what it has shown of its feed: (sequence, "add" or "remove", hashtag, URI)
        self.pages = 0
        self.seen = defaultdict(set)  # hashtag -> what histories showed
        self.wrong = []  # what a reader was shown at once that must not be

    def note(self, started, **what):
        with self.lock:
            self.operations.append({"from": round(started - self.began, 2), "to": round(time.monotonic() - self.began, 2), **what})

    def wrote(self, uri, tags, acknowledged):
        """A post, or what became of it: no hashtags if it was removed."""
        with self.lock:
            self.posts[uri].did(tags, acknowledged)

    def showed(self, node, entries):
        """One more page of a node's feed, read from where the last one ended."""
        with self.lock:
            sequences = [entry[0] for entry in [*self.feeds[node][-1:], *entries]]
            if any(after <= before for before, after in zip(sequences, sequences[1:])):
                self.wrong.append(f"the feed of node {node} does not go on: {sequences}")
            self.feeds[node] += entries

    def read(self, node, tag, entries):
        """A page of a history: [(when published, URI)], newest first."""
        uris = [uri for _, uri in entries]
        times = [when for when, _ in entries]
        with self.lock:
            self.pages += 1
            self.seen[tag] |= set(uris)
            if len(uris) != len(set(uris)):
                self.wrong.append(f"node {node} showed posts under #{tag} twice on one page")
            if times != sorted(times, reverse=True):
                self.wrong.append(f"node {node} showed posts under #{tag} out of order")

    def acknowledged(self):
        """How many posts, edits and deletions."""
        return sum(post.steps for post in self.posts.values())


def some(uris):
    return f"{len(uris)}, such as {' '.join(sorted(uris)[:3])}"


class Checker:
    """When all is over. Each check says what is wrong."""

    def __init__(self, history, tags):
        self.history = history

        def those(condition):
            return {tag: {uri for uri, post in history.posts.items() if condition(tag, post)} for tag in tags}

        self.must_be = those(lambda tag, post: all(tag in state for state in post.states))
        self.may_be = those(lambda tag, post: any(tag in state for state in post.states))
        self.ever = those(lambda tag, post: tag in post.tried)

    def meanwhile(self):
        """What readers saw while it went on."""
        found = list(self.history.wrong)
        for tag, uris in self.history.seen.items():
            if invented := uris - self.ever[tag]:
                found.append(f"histories of #{tag}: nobody wrote {some(invented)}")
        return found

    def present(self, what, tag, uris):
        """All that is under a hashtag at the end."""
        shown = set(uris)
        rules = {"are there twice": [uri for uri in shown if uris.count(uri) > 1],
                 "that were acknowledged are missing": self.must_be[tag] - shown,
                 "nobody wrote": shown - self.ever[tag],
                 "that were removed are there": (shown & self.ever[tag]) - self.may_be[tag]}
        return [f"{what} #{tag}: {some(uris)}: {rule}" for rule, uris in rules.items() if uris]

    def feed(self, node, tags, feed):
        """A subscriber's, from its beginning: what it once showed it shows, and each post comes once, goes once, and does not come back."""
        shown = self.history.feeds[node]
        found = [] if feed[:len(shown)] == shown else [f"feed of node {node}: not what it was when {len(shown)} entries were read"]
        steps = defaultdict(list)
        for _, op, tag, uri in feed:
            steps[tag, uri].append(op)
        for tag in tags:
            of = {uri: ops for (other, uri), ops in steps.items() if other == tag}
            found += self.present(f"feed of node {node}", tag, [uri for uri, ops in of.items() if ops[-1] == "add"])
            if odd := {uri: ops for uri, ops in of.items() if ops not in (["add"], ["remove"], ["add", "remove"])}:
                found.append(f"feed of node {node} #{tag}: {some(odd)}: came or went more than once: {', '.join(next(iter(odd.values())))}")
            if invented := set(of) - self.ever[tag]:
                found.append(f"feed of node {node} #{tag}: {some(invented)}: nobody wrote")
        return found
