"""Beside servers of @evanp/activitypub-bot, the engine of tags.pub, as the package is: relays of both kinds, hashtag actors, what
is written, edited and deleted. Each has a node of its own; posts travel through the ring. Real processes, real TLS.

    python3 tests/interop/bots_check.py        ends with "N passed, N failed"
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
sys.path[:0] = [str(ROOT / "demo"), str(HERE / "real")]
from network import Network, node_host, wait_for  # noqa: E402
from postgres import Postgres  # noqa: E402
from tally import Tally, npm_version  # noqa: E402

WRITERS, READERS = "writers.example", "readers.example"
HOSTS = {WRITERS: "127.0.3.2", READERS: "127.0.3.3"}
ERROR = 50  # in the logs of pino


class Bots:
    """Two servers: Alice writes beside node 0, and at node 1 somebody reads."""

    def __init__(self, tally, network, database):
        self.tally = tally
        self.network = network
        self.urls = {host: database.create(host) for host in HOSTS}
        for node in range(2):
            network.write_config(node, people=True)
            network.start_node(node)
        wait_for("ring", lambda: network.is_settled(0) and network.is_settled(1))
        self.start(WRITERS, "--litepub", self.actor(0))
        self.start(READERS, "--relay", self.actor(1))

    def about(self, what):
        return self.tally.about("activitypub-bot", npm_version("@evanp/activitypub-bot", "real"), what)

    def origin(self, host):
        return f"https://{host}:{self.network.port}"

    def actor(self, node, path="/actor"):
        return self.origin(node_host(node)) + path

    def start(self, host, *options):
        self.network.start_peer(host, HERE / "real" / "bots.mjs", "--host", host, "--database", self.urls[host], *options)

    def stop(self, host):
        process = self.network.processes.pop(host)
        process.terminate()
        process.wait(30)

    def writer(self, request, **body):
        return self.network.control(WRITERS, f"/{request}", body or None)

    def reader(self, request, **body):
        return self.network.control(READERS, f"/{request}", body or None)

    def links(self, node, host):
        for instance in self.network.cli(node, "instance", "list")["instances"]:
            if instance["host"] == host:
                return sorted((link["style"], link["accepted"]) for link in instance["links"])
        return []

    def received(self, kind, actor):
        """What the reader got of one type by one actor: the posts of an Announce, the Announces of an Undo."""
        found = [a for a in self.reader("received") if (a["type"], a["actor"]) == (kind, actor)]
        return [a["object"]["id"] if isinstance(a["object"], dict) else a["object"] for a in found]

    def write(self, text):
        """By its relay: what its person sends to followers has only the id of the post in it."""
        post = self.writer("write", text=text)["id"]
        self.writer("announce", id=post)
        return post

    # --- what must hold ------------------------------------------------------------------------------------

    def handshakes(self):
        for node, host, style in [(0, WRITERS, "litepub"), (1, READERS, "mastodon")]:
            with self.about(f"is accepted as a relay's client ({style})"):
                wait_for(f"{host} asks for the relay", lambda: self.links(node, host) == [(style, False)])
                self.network.cli(node, "instance", "allow", host)
                self.tally.expect(f"{host} is accepted", self.links(node, host), [(style, True)])
        self.network.cli(1, "instance", "subscribe", READERS, "cats")
        with self.about("is followed back"):
            self.writer("follow", actor=self.actor(0))
            wait_for("the person is followed back", lambda: self.writer("followers") == [self.actor(0)])
        with self.about("follows hashtag actors"):
            self.reader("follow", actor=self.actor(1, "/tag/dogs"))
            wait_for("the hashtag actor accepts", lambda: self.reader("following") == [self.actor(1, "/tag/dogs")])
        wait_for("subscriptions", lambda: self.network.is_settled(1))

    def posts(self):
        with self.about("publishes by its relay"):
            self.cat = self.write("A #cat among #cats")
            wait_for("a post by the relay", lambda: self.received("Announce", self.actor(1)) == [self.cat])
        with self.about("is sent boosts by hashtag actors"):
            self.dog = self.write("One of the #Dogs")
            wait_for("a boost", lambda: self.received("Announce", self.actor(1, "/tag/dogs")) == [self.dog])

    def edits(self):
        """They have only the id of the post in them. What must hold is that nobody takes offence."""
        with self.about("edits are taken without complaint"):
            self.writer("edit", id=self.dog, text="One of the #Dogs, and more")
            update = f'"activity":"{self.origin(WRITERS)}/user/alice/update/'
            log = self.network.directory / f"{WRITERS}.log"
            wait_for("delivery of the Update", lambda: any(update in line and "Delivered" in line for line in log.read_text().splitlines()))

    def deletions(self):
        with self.about("is told of deletions"):
            for post, actor in [(self.cat, self.actor(1)), (self.dog, self.actor(1, "/tag/dogs"))]:
                announces = [a["id"] for a in self.reader("received") if a["type"] == "Announce" and a["object"] == post]
                self.writer("delete", id=post)
                wait_for("an Undo", lambda: self.received("Undo", actor) == announces)

    def clearing_up(self):
        """More than a server may be asked about in a minute because of what others name."""
        with self.about("is told of many deletions at once"):
            posts = [self.write(f"Number {i} of the #cats and #dogs") for i in range(12)]
            announces = {}  # by ID, the post

            def announced():
                announces.update({a["id"]: a["object"] for a in self.reader("received") if a["type"] == "Announce" and a["object"] in posts})
                return set(announces.values()) == set(posts)

            wait_for("all posts", announced)
            for post in posts:
                self.writer("delete", id=post)
            wait_for("all Undos", lambda: announced() and {a["object"]["id"] for a in self.reader("received") if a["type"] == "Undo"} >= set(announces))

    def comes_and_goes(self):
        followers = self.network.cli(1, "status")["followers"]
        with self.about("unfollows hashtag actors"):
            self.reader("unfollow", actor=self.actor(1, "/tag/dogs"))
            wait_for("one follower less", lambda: self.network.cli(1, "status")["followers"] == followers - 1)
        with self.about("removes the relay, and adds it again"):
            self.stop(READERS)
            self.start(READERS)
            wait_for("the relay is removed", lambda: self.links(1, READERS) == [])
            self.stop(READERS)
            self.start(READERS, "--relay", self.actor(1))
            wait_for("the relay is there again", lambda: self.links(1, READERS) == [("mastodon", True)])
            wait_for("subscriptions", lambda: self.network.is_settled(1))
            dog = self.write("A second one of the #dogs")
            cat = self.write("A second one of the #cats")
            wait_for("what the relay brings, as before", lambda: self.received("Announce", self.actor(1)) == [cat])
            self.tally.expect("what nobody follows any more", [a for a in self.reader("received") if a["object"] == dog], [])

    def logs(self):
        with self.about("finds nothing wrong"):
            for host in HOSTS:
                lines = (self.network.directory / f"{host}.log").read_text().splitlines()
                errors = [line for line in lines if not line.startswith("{") or json.loads(line)["level"] >= ERROR]
                self.tally.expect(f"errors in the log of {host}", errors, [])
            for node in range(2):
                self.tally.expect(f"refused by node {node}", self.network.cli(node, "status")["inbox"]["refused"], {})

    def run(self):
        self.handshakes()
        self.posts()
        self.edits()
        self.deletions()
        self.clearing_up()
        self.comes_and_goes()
        self.logs()


def main():
    with Tally() as tally, Postgres() as database, Network(ROOT / "run" / "bots_check", nodes=2, peers=HOSTS) as network:
        Bots(tally, network, database).run()


if __name__ == "__main__":
    main()
