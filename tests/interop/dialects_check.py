"""The node as a relay, and its hashtag actors, towards servers that speak as Mastodon, Misskey, Pleroma and GoToSocial do
(dialects.mjs, on Fedify). Real processes, real TLS.

    python3 tests/interop/dialects_check.py        ends with "N passed, N failed"
"""

import re
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, free_port, node_host, wait_for  # noqa: E402
from tally import Tally, npm_version  # noqa: E402

PORT = free_port()
NODE = f"https://{node_host(0)}:{PORT}"
ACTOR = f"{NODE}/actor"
INBOX = f"{NODE}/inbox"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
SERVERS = ["mastodon", "misskey", "pleroma"]
REFUSALS = 10  # and Mastodon sends nothing for a minute (dialects.mjs)

tally = Tally()
expect = tally.expect


def bare(activity):
    return {key: value for key, value in activity.items() if key not in ("@context", "signature")}


def moment(document):
    return datetime.fromisoformat(document["published"])


def tag_actor(tag):
    return f"{NODE}/tag/{tag}"


def only(value):
    """ActivityPub's one value, in a list or not."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class Dialects:
    def __init__(self, network):
        self.network = network
        network.write_config(0)
        network.start_node(0)
        network.start_peer("dialects", ROOT / "tests" / "interop" / "dialects.mjs")
        wait_for("ring", lambda: network.is_settled(0))

    def tell(self, server, request, **body):
        return self.network.control("dialects", f"/{request}", {"server": server, "inbox": INBOX, **body})

    def instance(self, *arguments):
        return self.network.cli(0, "instance", *arguments)

    def subscribe(self, server, *tags):
        self.instance("subscribe", f"{server}.example", *tags)
        self.await_subscriptions()

    def all_is_sent(self):
        def waits():
            status = self.network.cli(0, "status")
            return [key for key in ["owed", "announcing"] if status[key]]

        wait_for("what waits to be sent", lambda: not waits())

    def await_subscriptions(self):
        wait_for("subscriptions", lambda: self.network.is_settled(0))

    def received(self, server, kind=None, about=None):
        """What a server was sent and found properly signed; of one type; about one post or follow."""
        entries = self.network.control("dialects", f"/received?server={server}")
        expect_signed(server, entries)
        activities = [entry["activity"] for entry in entries]
        return [a for a in activities if kind in (None, a["type"]) and about in (None, about_of(a))]

    def await_(self, server, kind, about, count=1):
        try:
            wait_for(f"{kind} at {server}", lambda: len(self.received(server, kind, about)) >= count)
        except Failure as failure:
            expect(f"{kind} of {about} at {server}", str(failure), "arrived")
        return self.received(server, kind, about)

    def post(self, server, text):
        answer = self.tell(server, "post", text=text)
        expect(f"{server} publishes {text}", (answer["status"], answer["answer"]), (202, ""))
        return answer["id"]

    def shown(self, server, post):
        """What readers of a server see of a post."""
        return re.sub(r"<[^>]*>", "", self.network.control("dialects", f"/shown?server={server}").get(post, "nothing"))

    def await_shown(self, server, post, text):
        wait_for(f"{text} at {server}", lambda: self.shown(server, post) == text)

    def in_history(self, post, tag):
        return post in [entry["uri"] for entry in self.network.history(0, tag)]

    # --- the handshakes ------------------------------------------------------------------------------------

    def add_relay(self, server):
        relay = {"relay": ACTOR} if server == "pleroma" else {}
        asked = self.tell(server, "follow-relay", **relay)
        expect(f"{server} asks for the relay", asked["status"], 202)
        follow = asked["sent"]
        waiting = [i for i in self.instance("list")["instances"] if i["host"] == f"{server}.example"]
        expect(f"{server} waits for the administrator", [link["accepted"] for link in waiting[0]["links"]], [False])
        expect(f"{server} has no answer yet", self.received(server), [])
        self.instance("allow", f"{server}.example")
        accepts = self.await_(server, "Accept", follow["id"])
        expect(f"{server} is accepted once, with the whole Follow", [bare(a["object"]) for a in accepts], [bare(follow)])
        expect(f"{server} is accepted by the relay", [a["actor"] for a in accepts], [ACTOR])
        return follow, accepts[0]

    def handshakes(self):
        self.add_relay("mastodon")
        # Mastodon takes announcements of an actor whose inbox is the URL that its administrator typed in.
        document = self.tell("mastodon", "fetch", url=ACTOR)
        expect("inbox of the relay", document["inbox"], INBOX)

        _, accept = self.add_relay("misskey")
        # Misskey wants its own Follow back, by this pattern, from an actor of its own.
        follow = accept["object"]
        expect("id that Misskey looks for", bool(re.search(r"/activities/follow-relay/(\w+)$", follow["id"])), True)
        expect("actor of Misskey", follow["actor"].startswith(f"https://misskey.example:{PORT}/"), True)

        self.add_relay("pleroma")
        relay = f"https://pleroma.example:{PORT}/relay"
        back = self.await_("pleroma", "Follow", relay)
        expect("Pleroma is followed back", [(f["actor"], f["object"]) for f in back], [(ACTOR, relay)])
        expect("Accept of Pleroma", self.tell("pleroma", "accept", follow=bare(back[0]))["status"], 202)

    # --- relaying ------------------------------------------------------------------------------------------

    def announced(self, post, author, receivers, tag_actor_of=None):
        """The post reaches these servers, once each, in the form of the relay, or of a hashtag actor."""
        by = tag_actor(tag_actor_of) if tag_actor_of else ACTOR
        for server in receivers:
            announces = self.await_(server, "Announce", post)
            expect(f"Announces of {author}'s post at {server}", [a["actor"] for a in announces], [by])
            if not announces:
                continue
            audience = PUBLIC if tag_actor_of else f"{ACTOR}/followers"
            expect("audience", only(announces[0]["to"]), audience)
            note = self.tell(server, "fetch", url=announces[0]["object"])
            expect(f"what {server} fetches", note["id"], post)
            expect("Announce is no older than the post", moment(announces[0]) >= moment(note), True)

    def relays(self):
        self.subscribe("mastodon", "cats")
        self.subscribe("misskey", "cats", "dogs")
        self.subscribe("pleroma", "cats")
        self.nobody_asked = self.post("mastodon", "Nobody here asked for #birds")
        self.of_mastodon = self.post("mastodon", "A #cat, one of many #cats, with #dogs")
        self.announced(self.of_mastodon, "mastodon", ["misskey", "pleroma"])
        self.of_dogs = self.post("mastodon", "Only #dogs")
        self.announced(self.of_dogs, "mastodon", ["misskey"])
        self.of_misskey = self.post("misskey", "Also #cats")
        self.announced(self.of_misskey, "misskey", ["mastodon", "pleroma"])
        self.of_pleroma = self.post("pleroma", "And #cats again")
        self.announced(self.of_pleroma, "pleroma", ["mastodon", "misskey"])

    def forgets(self):
        """A deletion undoes what was announced, by its id."""
        for server, post, receivers in [("mastodon", self.of_mastodon, ["misskey", "pleroma"]),
                                        ("misskey", self.of_misskey, ["mastodon", "pleroma"])]:
            answer = self.tell(server, "delete", id=post)
            expect(f"{server} deletes", (answer["status"], answer["answer"]), (202, ""))
            # The author's own words too, where they are understood: signed by her server, and checked by Fedify.
            for receiver in set(SERVERS) - {server, "pleroma"}:
                deletes = self.await_(receiver, "Delete", post)
                expect(f"Deletes at {receiver}", deletes, [answer["sent"]])
            expect("Deletes at pleroma", self.received("pleroma", "Delete"), [])
            for receiver in receivers:
                announce = self.received(receiver, "Announce", post)[0]
                undos = self.await_(receiver, "Undo", announce["id"])
                expect(f"Undos at {receiver}", [u["actor"] for u in undos], [ACTOR])
        for server, known in [("mastodon", {self.of_pleroma}), ("misskey", {self.of_dogs, self.of_pleroma}), ("pleroma", set())]:
            undone = {about_of(undo) for undo in self.received(server, "Undo")}
            left = {a["object"] for a in self.received(server, "Announce") if a["id"] not in undone}
            expect(f"left at {server}", left, known)

    # --- hashtag actors ------------------------------------------------------------------------------------

    def boosts(self):
        for server in SERVERS:
            asked = self.tell(server, "follow", object=tag_actor("foxes"))
            expect(f"somebody of {server} follows", asked["status"], 202)
            accepts = self.await_(server, "Accept", asked["sent"]["id"])
            expect(f"Accept at {server}", [(a["actor"], bare(a["object"])) for a in accepts], [(tag_actor("foxes"), bare(asked["sent"]))])
        self.await_subscriptions()
        post = self.post("mastodon", "Two #foxes")
        self.announced(post, "mastodon", ["misskey", "pleroma"], "foxes")
        post = self.post("misskey", "One of the #foxes")
        self.announced(post, "misskey", ["mastodon", "pleroma"], "foxes")
        # Whose server also gets one of the hashtags as from a relay has it once.
        post = self.post("pleroma", "#foxes and #cats")
        for server in ["mastodon", "misskey"]:
            announces = self.await_(server, "Announce", post)
            expect(f"Announces at {server}, which gets it in two ways", len(announces), 1)
        expect("to its own server", [a["object"] for a in self.received("pleroma", "Announce", post)], [])

    # --- what authors change -------------------------------------------------------------------------------

    def edits(self):
        """Mastodon answers with the first version for three minutes, so what counts is what it signed."""
        self.add_relay("elk")
        self.subscribe("elk", "otters")
        post = self.post("mastodon", "One of the #otters, and #dogs")
        for server in ["elk", "misskey"]:
            self.await_shown(server, post, "One of the #otters, and #dogs")
        sent = self.tell("mastodon", "edit", id=post, text="Two #otters, and #dogs")["sent"]
        self.await_shown("elk", post, "Two #otters, and #dogs")
        expect("Update at misskey", self.await_("misskey", "Update", post), [sent])
        expect("at misskey, which does not read it", self.shown("misskey", post), "One of the #otters, and #dogs")
        for tag in ["otters", "dogs"]:
            wait_for("history", lambda: self.in_history(post, tag))
        self.tell("mastodon", "edit", id=post, text="Three #otters")
        self.await_shown("elk", post, "Three #otters")
        self.await_shown("misskey", post, "nothing")
        wait_for("history without it", lambda: not self.in_history(post, "dogs"))
        expect("history with it", self.in_history(post, "otters"), True)
        self.tell("mastodon", "delete", id=post)
        self.await_shown("elk", post, "nothing")

    def out_of_order(self):
        """A Delete that comes before its Create."""
        held = self.tell("misskey", "post", text="Too quick, #cats", hold=True)["id"]
        self.tell("misskey", "delete", id=held, hold=True)
        expect("Delete and Create", self.tell("misskey", "release"), [202, 202])
        self.announced(self.post("misskey", "Afterwards, #cats"), "misskey", ["mastodon", "pleroma"])
        expect("announced, though deleted", [self.received(s, "Announce", held) for s in SERVERS], [[], [], []])

    def newcomers(self):
        """What cannot be verified, and is no fault of the sender, is not refused: or nobody's posts would be sent."""
        answers = [self.tell("mastodon", "post-as-newcomer", text="Hello #cats")["status"] for _ in range(REFUSALS)]
        expect("answers to accounts that are not there yet", answers, [202] * REFUSALS)
        self.announced(self.post("mastodon", "Here still, #cats"), "mastodon", ["misskey", "pleroma"])

    def withdraws(self):
        """A profile that says so counts at once too."""
        post = self.post("mastodon", "To be found, #cats")
        wait_for("history", lambda: self.in_history(post, "cats"))
        expect("Update of a profile", self.tell("mastodon", "profile", profile={"indexable": False})["status"], 202)
        wait_for("history without it", lambda: not self.in_history(post, "cats"))
        expect("Update of a profile", self.tell("mastodon", "profile", profile={"summary": "<p>#nobot</p>"})["status"], 202)
        silent = self.tell("mastodon", "post", text="Not for you, #cats")["id"]
        self.announced(self.post("misskey", "But this, #cats"), "misskey", ["mastodon", "pleroma"])
        expect("announced, though it must not be", [self.received(s, "Announce", silent) for s in SERVERS], [[], [], []])

    def breaker(self):
        """Mastodon 4.6 that could not fetch a key takes nobody new from that address for minutes: only those wait, and not for ever."""
        self.tell("elk", "break", on=True)
        asked = self.tell("elk", "follow", object=tag_actor("owls"))
        expect("somebody of elk follows", asked["status"], 202)
        wait_for("an actor that is turned away", lambda: [t for t in self.turned_away("elk") if t["key"].startswith(tag_actor("owls"))])
        self.await_("elk", "Announce", self.post("misskey", "While it lasts, #otters"))
        expect("Accept by an actor that cannot be checked", self.received("elk", "Accept", asked["sent"]["id"]), [])
        self.tell("elk", "break", on=False)
        expect("Accept afterwards", len(self.await_("elk", "Accept", asked["sent"]["id"])), 1)
        self.await_subscriptions()
        owl = self.post("misskey", "One of the #owls")
        expect("by whom", [a["actor"] for a in self.await_("elk", "Announce", owl)], [tag_actor("owls")])

    def alone(self):
        """GoToSocial: an inbox for each person, of which one is enough, and a limit, which is kept."""
        for name in ["alice", "bob"]:
            asked = self.tell("gotosocial", "follow", object=tag_actor("mice"), name=name)
            expect(f"{name} follows", asked["status"], 202)
            self.await_("gotosocial", "Accept", asked["sent"]["id"])
        self.await_subscriptions()
        self.tell("gotosocial", "limit", requests=2, seconds=4)
        posts = [self.post("misskey", f"Mouse {i} of the #mice") for i in range(8)]
        for post in posts:
            announces = self.await_("gotosocial", "Announce", post)
            expect("deliveries of one post", [a["actor"] for a in announces], [tag_actor("mice")])
        # What is under way already may be refused too; nothing is tried before the time that the server says.
        refused = len(self.turned_away("gotosocial"))
        expect(f"refusals ({refused}) are no more than may be under way at once", 1 <= refused <= 8, True)

    def turned_away(self, server):
        return self.network.control("dialects", f"/turned-away?server={server}")

    def ends(self):
        for server in ["misskey", "pleroma"]:
            expect(f"{server} unfollows", self.tell(server, "undo", object=tag_actor("foxes"))["status"], 202)
        expect("misskey leaves the relay", self.tell("misskey", "undo-relay")["status"], 202)
        before = {server: len(self.received(server, "Announce")) for server in SERVERS}
        fox = self.post("pleroma", "More #foxes")
        cat = self.post("pleroma", "More #cats")
        self.announced(fox, "pleroma", ["mastodon"], "foxes")
        self.announced(cat, "pleroma", ["mastodon"])
        expect("pleroma leaves the relay", self.tell("pleroma", "undo-relay")["status"], 202)
        self.await_("pleroma", "Undo", f"https://pleroma.example:{PORT}/relay")
        self.all_is_sent()  # or what must not come might come later
        expect("new at those who left", {s: len(self.received(s, "Announce")) - before[s] for s in SERVERS}, {"mastodon": 2, "misskey": 0, "pleroma": 0})
        expect("nobody got what nobody asked for", [self.received(s, "Announce", self.nobody_asked) for s in SERVERS], [[], [], []])
        self.returns()
        for server in SERVERS:
            posts = [a["object"] for a in self.received(server, "Announce")]
            expect(f"own posts sent back to {server}", [p for p in posts if p.startswith(f"https://{server}.")], [])
            expect(f"posts sent to {server} twice", sorted({p for p in posts if posts.count(p) > 1}), [])

    def returns(self):
        """Who removed the relay, and adds it again: at once, with the same hashtags, and no id that was there before."""
        for server in ["misskey", "pleroma"]:
            relay = {"relay": ACTOR} if server == "pleroma" else {}
            follow = self.tell(server, "follow-relay", **relay)["sent"]
            expect(f"Accept at {server}", [a["actor"] for a in self.await_(server, "Accept", follow["id"])][-1:], [ACTOR])
        back = self.await_("pleroma", "Follow", f"https://pleroma.example:{PORT}/relay", 2)
        expect("ids of follows back", len({follow["id"] for follow in back}), 2)
        expect("Accept of Pleroma", self.tell("pleroma", "accept", follow=bare(back[-1]))["status"], 202)
        self.announced(self.post("mastodon", "For all #cats"), "mastodon", ["misskey", "pleroma"])


def about_of(activity):
    """The post of an Announce; of an answer and of an Undo, the id of what it is about, or the actor that was followed."""
    thing = activity["object"]
    if isinstance(thing, dict) and activity["type"] == "Undo" and thing.get("type") == "Follow":
        return thing["object"]
    return thing["id"] if isinstance(thing, dict) else thing


def expect_signed(server, entries):
    for entry in entries:
        if entry["status"] >= 300:
            expect(f"what {server} says to a delivery", (entry["status"], entry["activity"]), "202")


def main():
    peers = {f"{server}.example": f"127.0.3.{i + 2}" for i, server in enumerate([*SERVERS, "elk", "gotosocial"])}
    version = npm_version("@fedify/fedify")
    with tally, Network(ROOT / "run" / "dialects_check", nodes=1, port=PORT, peers=peers) as network:
        dialects = Dialects(network)
        for what, check in [("is accepted as a relay's client", dialects.handshakes), ("publishes, and is sent posts by relays", dialects.relays),
                            ("is told of deletions", dialects.forgets), ("is sent boosts by hashtag actors", dialects.boosts),
                            ("is brought what Mastodon signs: edits", dialects.edits),
                            ("could not fetch a key lately", dialects.breaker), ("has an inbox for each person, and a limit", dialects.alone),
                            ("deletes before it publishes", dialects.out_of_order), ("has accounts that wait for approval", dialects.newcomers),
                            ("unfollows hashtag actors, removes the relay, adds it again", dialects.ends),
                            ("withdraws consent", dialects.withdraws)]:
            with tally.about("Fedify", version, f"{what} (in the words of Mastodon, Misskey, Pleroma, GoToSocial)"):
                check()


if __name__ == "__main__":
    main()
