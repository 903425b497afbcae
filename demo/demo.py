"""make run: a network of eight nodes on this machine, with instances that publish, subscribers that follow, and checks.

    make run           stays up, shows posts arriving, and offers commands to try
    make run ONCE=1    drives the same scenario unattended, prints what it verified, writes build/run.json
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from network import NAMES, ROOT, Failure, Network, at_once, node_host, origin_host, wait_for  # noqa: E402

NODES = 8
LATE = 8  # the ninth node, which joins when all is over
READER = 4  # the node whose page is shown
ORIGINS = 5
POSTS = 1000
TAGS = 50
KILLED = 5
IS_TERMINAL = sys.stdout.isatty()


class Checks:
    """What was verified, in order."""

    def __init__(self):
        self.rows = []

    def add(self, name, ok, detail):
        self.rows.append({"name": name, "ok": bool(ok), "detail": detail})
        print(f"  {'ok  ' if ok else 'FAIL'}  {name:<42} {detail}", flush=True)

    @property
    def ok(self):
        return bool(self.rows) and all(row["ok"] for row in self.rows)

    def write(self, file):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"ok": self.ok, "checks": self.rows}, indent=1) + "\n")


def bar(what, done, total, width=30):
    """A progress bar on terminals, a line at the end elsewhere."""
    filled = int(width * done / total) if total else width
    if IS_TERMINAL:
        print(f"\r  {what:<34} [{'#' * filled}{'.' * (width - filled)}] {done}/{total} ", end="", flush=True)
        if done >= total:
            print()
    elif done >= total:
        print(f"  {what:<34} {done}/{total}", flush=True)


def wanted_tags(i, tags):
    """Each node subscribes to different tags; the popular ones have several subscribers."""
    chosen = random.Random(i)
    return sorted({tags[0], *chosen.sample(tags, 12)})


def bring_up(network):
    for i in range(NODES):
        bar("starting nodes", i, NODES)
        network.start_node(i)
    bar("starting nodes", NODES, NODES)
    settled = set()

    def all_settled():
        settled.update(i for i in range(NODES) if i not in settled and network.is_settled(i))
        bar("joining both rings", len(settled), NODES)
        return len(settled) == NODES

    wait_for("every node on both rings", all_settled)
    network.start_origins(ORIGINS)
    network.start_fedify()


def canonical(network, spelling):
    return json.loads(os.popen(f"{network.binary} key --json '{spelling}'").read())["canonical"]


class Scenario:
    def __init__(self, network, checks):
        self.network = network
        self.checks = checks
        self.acknowledged = []  # {"id", "tags"} with canonical tags
        self.wants = {}

    def expected(self, tag, without=()):
        return {p["id"] for p in self.acknowledged if tag in p["tags"] and p["id"] not in without}

    def subscribe(self, tags):
        def one(i):
            self.wants[i] = wanted_tags(i, tags)
            self.network.cli(i, "subscribe", *self.wants[i])

        at_once(one, range(NODES))
        seconds = wait_for("subscriptions", lambda: all(at_once(self.network.is_settled, range(NODES))))
        count = sum(len(w) for w in self.wants.values())
        self.checks.add("8 subscribers with different tags", True, f"{count} subscriptions in {seconds:.1f} s")

    def fedify_follows(self):
        host = f"{node_host(1)}:{self.network.port}"
        answer = self.network.control("fedify", "/follow", {"handle": f"@caturday@{host}"})
        wait_for("Accept at Fedify", lambda: self.network.control("fedify", "/received")["accepts"])
        wait_for("the node's own subscription", lambda: self.network.is_settled(1))
        self.checks.add("Fedify follows @caturday", answer["delivered"], f"@caturday@{host} accepted")

    def publish(self):
        """1,000 posts while one node is killed and comes back."""
        result = {}

        def load():
            result.update(self.network.control("origins", "/load", {"count": POSTS, "tags": TAGS, "seed": 1, "concurrency": 16, "retries": 60}))

        loader = threading.Thread(target=load)
        loader.start()
        time.sleep(0.5)
        self.network.kill_node(KILLED)
        time.sleep(4)
        self.network.start_node(KILLED)
        while loader.is_alive():
            done = sum(self.network.cli(i, "status")["published"] for i in range(ORIGINS))
            bar("publishing", min(done, POSTS), POSTS)
            loader.join(0.5)
        bar("publishing", len(result.get("posts", [])), POSTS)
        spelled = sorted({tag for post in result["posts"] for tag in post["tags"]})
        names = dict(zip(spelled, (canonical(self.network, tag) for tag in spelled)))
        self.acknowledged = [{"id": p["id"], "tags": {names[t] for t in p["tags"]}} for p in result["posts"]]
        self.checks.add("1,000 posts under 50 tags from 5 origins", result["acknowledged"] == POSTS and len(set(names.values())) == TAGS,
                        f"{result['acknowledged']} acknowledged under {len(set(names.values()))} tags in {result['seconds']:.1f} s")
        self.checks.add(f"{node_host(KILLED)} killed while posts flow", self.network.is_running(KILLED), "SIGKILL, restarted after 4 s")

    def subscribers_have_everything(self, name, without=()):
        """Every subscriber has every acknowledged post of its tags, once."""
        missing = twice = total = 0

        def look(i):
            live = {}
            for _, op, tag, uri in self.network.feed(i):
                live[(tag, uri)] = live.get((tag, uri), 0) + (1 if op == "add" else -1)
            lacking = repeated = count = 0
            for tag in self.wants[i]:
                for uri in self.expected(tag, without):
                    count += 1
                    lacking += live.get((tag, uri), 0) < 1
                    repeated += live.get((tag, uri), 0) > 1
                lacking += sum(live.get((tag, uri), 0) != 0 for uri in without)
            return lacking, repeated, count

        def complete():
            nonlocal missing, twice, total
            missing, twice, total = map(sum, zip(*at_once(look, self.wants)))
            return missing == 0

        try:
            seconds = wait_for(name, complete)
            self.checks.add(name, twice == 0, f"{total} of {total} deliveries, {twice} twice, after {seconds:.1f} s")
        except Failure:
            self.checks.add(name, False, f"{missing} of {total} deliveries are missing")

    def history_is_complete(self, name, nodes, without=()):
        """The history of the ten most used tags, read through each node page by page, is what was acknowledged."""
        tags = sorted({t for p in self.acknowledged for t in p["tags"]}, key=lambda t: -len(self.expected(t)))[:10]
        wrong = []

        def read(i):
            for tag in tags:
                uris = [entry["uri"] for entry in self.network.history(i, tag)]
                if len(uris) != len(set(uris)) or set(uris) != self.expected(tag, without):
                    return f"#{tag} through {NAMES[i]}: {len(uris)} posts, {len(self.expected(tag, without))} expected"
            return None

        def complete():
            wrong[:] = [w for w in at_once(read, nodes) if w]
            return not wrong

        try:
            seconds = wait_for(name, complete)
            self.checks.add(name, True, f"{len(tags)} tags through {len(nodes)} nodes, newest first, after {seconds:.1f} s")
        except Failure as failure:
            self.checks.add(name, False, wrong[0] if wrong else str(failure))

    def fedify_has_posts(self):
        expected = self.expected("caturday")

        def complete():
            return expected <= {a["object"] for a in self.network.control("fedify", "/received")["announces"]}

        try:
            wait_for("announces at Fedify", complete)
        except Failure:
            pass
        got = [a["object"] for a in self.network.control("fedify", "/received")["announces"]]
        self.checks.add("Fedify got every #caturday post", expected <= set(got), f"{len(expected & set(got))} of {len(expected)}, fetched from their origins")

    def fedify_publishes(self):
        answer = self.network.control("fedify", "/post", {"text": "A third-party server says hello to #caturday"})
        self.acknowledged.append({"id": answer["id"], "tags": {"caturday"}})
        try:
            wait_for("Fedify's post in history", lambda: answer["id"] in {e["uri"] for e in self.network.history(3, "caturday")})
            self.checks.add("Fedify's own post is in the history", True, answer["id"])
        except Failure as failure:
            self.checks.add("Fedify's own post is in the history", False, str(failure))

    def delete_one(self):
        victim = next(p["id"] for p in self.acknowledged if "caturday" in p["tags"] and "fedify" not in p["id"])
        self.network.control("origins", "/delete", {"id": victim, "domain": victim.split("/")[2].split(":")[0]})
        self.subscribers_have_everything("a deleted post is gone at every subscriber", {victim})
        self.history_is_complete("a deleted post is gone from the history", self.network.running(), {victim})

        def undone():
            received = self.network.control("fedify", "/received")
            boost = next((a["id"] for a in received["announces"] if a["object"] == victim), None)
            return boost is not None and boost in {u["object"] for u in received["undos"]}

        try:
            wait_for("Undo at Fedify", undone)
        except Failure:
            pass
        self.checks.add("Fedify was told to undo its boost", undone(), victim)
        return victim

    def late_joiner(self, deleted):
        self.network.start_node(LATE)
        seconds = wait_for("late joiner", lambda: self.network.is_settled(LATE))
        self.checks.add("a ninth node joins", True, f"serves its share after {seconds:.1f} s")
        self.history_is_complete("the late joiner reads the history", [LATE], {deleted})
        self.history_is_complete("so do all others, now that owners moved", self.network.running(), {deleted})

    def page_shows_posts(self):
        """What a reader without JavaScript gets; tests/page has the rest."""
        page = self.network.start_page(READER, 0)
        tag = max({t for p in self.acknowledged for t in p["tags"]}, key=lambda t: len(self.expected(t)))
        # What its author's server does not answer in time is left out.
        wait_for("a page of posts", lambda: len(self.network.timeline(READER, tag)) == 40)
        with urllib.request.urlopen(f"{page}/tags/{urllib.parse.quote(tag)}", timeout=30) as response:
            shown = response.read().decode().count('<article class="post"')
        self.checks.add("the web page shows posts", shown == 20, f"{shown} of #{tag} at {node_host(READER)}")

    def run(self, tags):
        self.subscribe(tags)
        self.fedify_follows()
        self.publish()
        self.subscribers_have_everything("every subscriber has every post, once")
        self.history_is_complete("every node reads the whole history", self.network.running())
        self.fedify_has_posts()
        self.fedify_publishes()
        deleted = self.delete_one()
        self.late_joiner(deleted)
        self.page_shows_posts()


def all_tags(network):
    """The load's tags, canonical, most used first."""
    source = (ROOT / "demo" / "lib" / "load.mjs").read_text()
    listed = source.split("TAGS = [")[1].split("]")[0]
    spelled = [word.strip().strip('"') for word in listed.replace("\n", " ").split(",") if word.strip()]
    return [canonical(network, tag) for tag in spelled][:TAGS]


def once(network):
    checks = Checks()
    try:
        bring_up(network)
        Scenario(network, checks).run(all_tags(network))
    except Failure as failure:
        checks.add("scenario", False, str(failure))
    checks.write(ROOT / "build" / "run.json")
    passed = sum(row["ok"] for row in checks.rows)
    print(f"\n  build/run.json has the checks\n{passed} passed, {len(checks.rows) - passed} failed")
    return 0 if checks.ok else 1


HELP = """
  Open in a browser:

    {page}/                   the page of {subscriber}: what is used now, and posts as they arrive from five servers
    {page}/tags/caturday      a hashtag: its posts, newest first, and how many there were on each day
    {admin}
                                              its administrator's page: the ring with this node on it, live (see "Ring")
  A network is running: eight nodes as eight processes, each with its own domain, address, certificate and database.
  Posts from five instances appear below as the subscriber {subscriber} receives them. Ctrl-C ends everything.
  Meanwhile try, in another terminal:

    read a tag's history through any node    {program} query '#caturday' --config {config:plum}
    publish a post of your own               curl -d '{{"text": "My cat, on a #caturday"}}' {origins}/post
    subscribe a node to more tags            {program} subscribe music '#猫' --config {config:elm}
    who relays and stores a tag              {program} owners '#caturday' --config {config:elm}
    a node's place on the rings              {program} ring --config {config:elm}
    what a node does, in numbers             {program} status --config {config:elm}
    kill a node, and watch the others        kill -9 {pid}      (that is {victim}; the rings heal in seconds)
    what a third-party server received       curl {fedify}/received
"""


class Paths:
    """{config:name} in HELP."""

    def __init__(self, network):
        self.network = network

    def __format__(self, name):
        return os.path.relpath(self.network.config_file(NAMES.index(name)), ROOT)


def stay(network):
    bring_up(network)
    tags = all_tags(network)
    network.cli(READER, "subscribe", *tags)
    network.control("fedify", "/follow", {"handle": f"@caturday@{node_host(1)}:{network.port}"})
    wait_for("subscriptions", lambda: network.is_settled(READER))
    page = network.start_page(READER)
    admin = page + "/admin" + network.cli(READER, "login")["url"].partition("/admin")[2]
    print(HELP.format(program=os.path.relpath(network.binary, ROOT), page=page, admin=admin, subscriber=node_host(READER), config=Paths(network), origins=network.controls["origins"],
                      fedify=network.controls["fedify"], pid=network.processes[NAMES[6]].pid, victim=node_host(6)))
    print("  first, a year of posts in ten languages …", flush=True)
    network.control("origins", "/feed", {})
    seen, seed = 0, 1
    while True:
        network.control("origins", "/load", {"count": 3, "tags": TAGS, "seed": seed, "concurrency": 3, "retries": 10})
        seed += 1
        for entry in network.cli(READER, "feed", "--after", seen, "--limit", 10000)["entries"]:
            seen = entry["seq"]
            print(f"  {time.strftime('%H:%M:%S')}  {'+' if entry['op'] == 'add' else '-'} #{entry['tag']:<22} {entry['uri']}", flush=True)
        time.sleep(3)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--once", action="store_true", help="unattended: verify and exit")
    arguments.add_argument("--directory", type=Path, help="where the nodes live (default: run, or run/once)")
    arguments.add_argument("--port", type=int, help="of every server (default: 8443; with --once, a free one)")
    options = arguments.parse_args()
    once_only = options.once
    directory = options.directory or ROOT / "run" / ("once" if once_only else "")
    # However it is ended, leaving the network ends its processes.
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, signal.default_int_handler)
    try:
        with Network(directory, nodes=NODES + 1, port=options.port or (0 if once_only else 8443)) as network:
            return once(network) if once_only else stay(network)
    except KeyboardInterrupt:
        print("\n  stopped")
        return 1 if once_only else 0
    except Failure as failure:
        print(f"\n  {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
