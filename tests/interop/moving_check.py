"""A node gets another name: its followers on servers that do with a Move what Mastodon, Misskey and Pleroma do (dialects.mjs, on Fedify)
follow the new one, which is another process; a neighbour goes on publishing. Then the new one gets another address. Real processes, real TLS.

    python3 tests/interop/moving_check.py        ends with "N passed, N failed"
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, node_host, origin_host, wait_for  # noqa: E402
from tally import Tally, npm_version  # noqa: E402

OLD, OTHER, NEW = range(3)
SERVERS = ["mastodon", "misskey", "pleroma"]


class Moving:
    def __init__(self, tally, network):
        self.tally = tally
        self.network = network
        for node in [OLD, OTHER]:
            network.write_config(node, bootstrap=[self.origin(OLD)] if node != OLD else [])
            network.start_node(node)
        network.start_origins(2)
        network.start_peer("dialects", ROOT / "tests" / "interop" / "dialects.mjs")
        wait_for("ring", lambda: network.is_whole())

    def origin(self, node):
        return f"https://{node_host(node)}:{self.network.port}"

    def tag_actor(self, node):
        return f"{self.origin(node)}/tag/cats"

    def tell(self, server, request, **body):
        return self.network.control("dialects", f"/{request}", {"server": server, **body})

    def received(self, server, kind):
        """[(actor, object, HTTP status)] of what a server was sent; 2xx if Fedify found it properly signed."""
        entries = self.network.control("dialects", f"/received?server={server}")
        return [(e["activity"]["actor"], e["activity"]["object"], e["status"] < 300) for e in entries if e["activity"]["type"] == kind]

    def configure_new(self, moved_from):
        config = self.network.config_file(NEW)
        self.network.write_config(NEW, bootstrap=[self.origin(OLD), self.origin(OTHER)])
        if moved_from:
            config.write_text(config.read_text().replace("\ndata =", f'\nmoved_from = "{moved_from}"\ndata =', 1))

    def people(self, node):
        return self.network.cli(node, "status")["followers_people"]

    # --- what must hold ------------------------------------------------------------------------------------

    def before(self):
        for server in SERVERS:
            self.tell(server, "follow", inbox=f"{self.tag_actor(OLD)}/inbox", object=self.tag_actor(OLD))
        wait_for("followers", lambda: self.people(OLD) == len(SERVERS))
        self.tell("mastodon", "follow-relay", inbox=f"{self.origin(OLD)}/inbox")
        wait_for("subscriptions", lambda: self.network.is_settled(OLD))

    def refuses_who_does_not_name_it(self):
        self.configure_new(moved_from="")
        self.network.start_node(NEW)
        try:
            self.network.cli(OLD, "move", self.origin(NEW))
            self.tally.bad("a node that does not name the old one is moved to")
        except Failure as failure:
            self.tally.expect("what to do is said", f'moved_from = "{self.origin(OLD)}" under [node]' in str(failure), True)
        self.network.stop_node(NEW)

    def moves(self):
        """The new node begins with a copy of what the old one has. That dies before anybody is told; what it was told to do holds."""
        copy = self.network.directory / "old.db"
        self.network.cli(OLD, "backup", copy)
        self.configure_new(moved_from=self.origin(OLD))
        self.takes_no_copy_over_what_it_has(copy)
        self.tally.expect("whose copy it is", self.network.cli(NEW, "restore", copy)["taken_over_from"], self.origin(OLD))
        self.network.start_node(NEW)
        self.tally.expect("followers of the new node before the move", self.people(NEW), 0)
        self.tally.expect("its relays", [i["host"] for i in self.network.cli(NEW, "instance", "list")["instances"] if i["links"]], [])
        done = self.network.cli(OLD, "move", self.origin(NEW))
        self.network.kill_node(OLD)
        self.network.start_node(OLD)
        self.tally.expect("what the administrator of a relay is to do", [(i["host"], i["add"]) for i in done["instances"]], [("mastodon.example", f"{self.origin(NEW)}/inbox")])
        for server in SERVERS:
            with self.tally.about("Fedify", npm_version("@fedify/fedify"), f"Move, as {server} reads it"):
                wait_for(f"Move at {server}", lambda: self.received(server, "Move"))
                moved = (self.tag_actor(OLD), self.tag_actor(OLD), True)
                self.tally.expect(f"{server} is sent one Move", set(self.received(server, "Move")), {moved})
        wait_for("all follow the new actor", lambda: self.people(NEW) == len(SERVERS))
        wait_for("nobody follows the old one", lambda: self.people(OLD) == 0)
        for server in SERVERS:
            accepted = [actor for actor, _, _ in self.received(server, "Accept") if actor == self.tag_actor(NEW)]
            self.tally.expect(f"{server} is accepted by the new actor", accepted, [self.tag_actor(NEW)])

    def takes_no_copy_over_what_it_has(self, copy):
        """The new node was started once. As the message says, its administrator moves that database away."""
        database = self.network.config_file(NEW).parent / "data" / "tagring.db"
        before = database.read_bytes()
        try:
            self.network.cli(NEW, "restore", copy)
            self.tally.bad("a copy of another node replaces what a node has")
        except Failure as failure:
            self.tally.expect("which file is in the way", f"{database} has its own key and followers" in str(failure), True)
        self.tally.expect("what the refusal leaves", database.read_bytes() == before, True)
        for file in [database, Path(f"{database}-wal"), Path(f"{database}-shm")]:
            if file.exists():
                file.rename(f"{file}.former")

    def nothing_is_lost_or_twice(self, text):
        wait_for("rings", lambda: self.network.is_whole())
        post = self.network.control("origins", "/post", {"domain": origin_host(OTHER), "text": text})["id"]
        for server in SERVERS:
            announces = lambda server=server: [(actor, found) for actor, found, _ in self.received(server, "Announce") if found == post]  # noqa: E731
            wait_for(f"the post at {server}", announces)
        for node in [OLD, NEW]:
            wait_for("all is sent", lambda node=node: self.network.cli(node, "status")["announcing"] == 0)
        for server in SERVERS:
            found = [actor for actor, about, _ in self.received(server, "Announce") if about == post]
            self.tally.expect(f"{server} gets the post once", found, [self.tag_actor(NEW)])

    def the_old_one_sends_on(self):
        document = self.tell("misskey", "fetch", url=self.tag_actor(OLD))
        self.tally.expect("the old actor says where it is", document["movedTo"], self.tag_actor(NEW))
        self.tell("gotosocial", "follow", inbox=f"{self.tag_actor(OLD)}/inbox", object=self.tag_actor(OLD))
        wait_for("Reject", lambda: self.received("gotosocial", "Reject"))
        self.tally.expect("followers of the old actor", self.people(OLD), 0)
        self.tally.expect("where the node has moved", self.network.cli(OLD, "status")["moved"]["to"], self.origin(NEW))


    def another_address(self):
        """The name stays, and so do followers: the node is a new member elsewhere on the rings. What the DNS says is in all configurations."""
        before = self.network.cli(NEW, "ring")["relay"]
        self.network.hosts[node_host(NEW)] = "127.0.1.99"
        for node in [NEW, OLD, OTHER]:
            self.network.stop_node(node)
        self.network.write_config(OLD, bootstrap=[])
        self.network.write_config(OTHER, bootstrap=[self.origin(OLD)])
        self.configure_new(moved_from=self.origin(OLD))
        for node in [OLD, OTHER, NEW]:
            self.network.start_node(node)
        wait_for("rings", lambda: self.network.is_whole())
        places = lambda ring: {vserver["self"]["id"] for vserver in ring}  # noqa: E731
        self.tally.expect("places kept on the ring", places(before) & places(self.network.cli(NEW, "ring")["relay"]), set())
        self.tally.expect("followers after that", self.people(NEW), len(SERVERS))


def main():
    peers = {f"{name}.example": f"127.0.3.{2 + i}" for i, name in enumerate([*SERVERS, "gotosocial", "elk"])}
    with Tally() as tally, Network(ROOT / "run" / "moving_check", nodes=3, peers=peers) as network:
        moving = Moving(tally, network)
        moving.before()
        moving.refuses_who_does_not_name_it()
        moving.moves()
        moving.nothing_is_lost_or_twice("A #cats of afterwards")
        moving.the_old_one_sends_on()
        moving.another_address()
        moving.nothing_is_lost_or_twice("A #cats of another address")


if __name__ == "__main__":
    main()
