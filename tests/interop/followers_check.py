"""FEP-8fcf with Fedify as the sender: a person on Fedify follows a node, which follows back; then her server's list of
followers is changed behind the node's back, and her next post, or a check that is told to, repairs what differs. Real
processes, real TLS.

    python3 tests/interop/followers_check.py        ends with "N passed, N failed"
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, free_port, node_host, wait_for  # noqa: E402
from tally import Tally, npm_version  # noqa: E402

PORT = free_port()
NODE = f"https://{node_host(0)}:{PORT}"
ACTOR = f"{NODE}/actor"
ALICE = f"https://fedify.example:{PORT}/users/alice"
DRAFT = ["--first-knock", "draft-cavage-http-signatures-12"]
RFC9421 = ["--first-knock", "rfc9421"]  # with which Fedify does not sign the header
STRANGERS = [f"{NODE}/tag/stranger{i}" for i in range(5)]

tally = Tally()
expect = tally.expect


class Run:
    def __init__(self, network, options, extra=""):
        self.network = network
        network.write_config(0, people=True, extra=extra)
        network.start_node(0)
        network.start_fedify(0, *options)
        wait_for("ring", lambda: network.is_settled(0))

    def fedify(self, path, body=None):
        return self.network.control("fedify", path, body)

    def followers(self):
        return sorted(self.fedify("/followers")["followers"])

    def pages(self):
        """Of her server's lists of followers, those that were asked for."""
        return sum("cursor=" in url for url in self.fedify("/followers")["lists"])

    def counter(self, name):
        return self.network.cli(0, "status")["followers_sync"][name]

    def post(self):
        """Something to her followers; how the header was taken."""
        before = {name: self.counter(name) for name in ["equal", "different", "headers_ignored"]}
        self.fedify("/post-to-followers", {"text": "to those who follow me"})
        wait_for("header", lambda: any(self.counter(name) > count for name, count in before.items()))
        return [name for name, count in before.items() if self.counter(name) > count]

    def check(self, *codes, apply=False):
        return self.network.cli(0, "followers-check", ALICE, *(["--apply"] if apply else []), codes=codes or (0, 1))

    def handshake(self):
        self.fedify("/follow", {"actor": ACTOR})
        wait_for("follow back", lambda: self.followers() == [ACTOR])


def converges(network, options):
    run = Run(network, options)
    run.handshake()
    wait_for("header when both agree", lambda: run.post() == ["equal"])
    expect("lists fetched", run.counter("lists"), 0)

    # Anybody can make up hashtags: that her server believes in their follows is of no consequence.
    run.fedify("/followers", {"ids": [ACTOR, *STRANGERS]})
    report = run.check(1)
    expect("what would be undone", report["undo"], [])
    expect("why nothing is removed", report["doubt"], "foreign")
    # The check has fetched the list, too: only what comes afterwards is the header's.
    lists, pages = run.counter("lists"), run.pages()
    expect("header when they differ", run.post(), ["different"])
    wait_for("list", lambda: run.counter("lists") > lists)
    wait_for("doubt", lambda: run.counter("doubts") == 1)
    expect("pages asked for", run.pages() > pages, "--followers-page" in options)
    expect("repairs", [run.counter(name) for name in ["removed", "accepted", "undone"]], [0, 0, 0])
    expect("who is in the list still", run.followers(), sorted([ACTOR, *STRANGERS]))
    run.fedify("/followers", {"ids": [ACTOR]})
    expect("agreement", run.check(0)["agree"], True)
    expect("header afterwards", run.post(), ["equal"])
    own = network.cli(0, "followers-check", "--server", f"fedify.example:{PORT}")
    expect("who of her server follows the node", own["followers"], [ALICE])

    # It lost the node's follow, and a moment ago it signed that it has it.
    run.fedify("/followers", {"ids": []})
    report = run.check(1)
    expect("what a list may do that was signed otherwise", (report["remove"], report["doubt"]), ([], "other_digest"))


def loses(run):
    """Her server has lost the node's follow. (Fedify sends nothing where nobody follows, so no header says so: the node
    has to be told to look. Where it finds the list it knows from a header, which must not say what the list was.)"""
    run.handshake()
    wait_for("accept", lambda: run.check()["known"]["accepted"] == 1)
    expect("header when its signature does not cover it", run.post(), ["headers_ignored"])
    run.fedify("/followers", {"ids": []})


def forgets(network, options):
    run = Run(network, options, extra="[followers]\ngrace_minutes = 0\n")
    loses(run)
    report = run.check(0, apply=True)
    expect("what is removed", report["remove"], [ACTOR])
    expect("removed", run.counter("removed"), 1)
    wait_for("follow back", lambda: run.followers() == [ACTOR])
    wait_for("agreement", lambda: run.check()["agree"])


def is_too_young(network, options):
    """The same, a moment after the follow."""
    run = Run(network, options)
    loses(run)
    report = run.check(1, apply=True)
    expect("young follow", (report["remove"], report["too_young"]), ([], 1))
    expect("removed", run.counter("removed"), 0)


def undoes(network, options):
    """Her server believes that the node's actor follows her, and it does not."""
    run = Run(network, options)
    run.fedify("/followers", {"ids": [ACTOR]})
    expect("header", run.post(), ["different"])
    wait_for("repair", lambda: run.followers() == [])
    expect("undone", run.counter("undone"), 1)


def accepts(network, options):
    """The Accept was lost: the list says it."""
    run = Run(network, options)
    run.fedify("/quiet", {})
    run.handshake()
    expect("header", run.post(), ["different"])
    expect("pending", run.check()["known"]["pending"], 1)
    wait_for("repair", lambda: run.counter("accepted") == 1)
    wait_for("agreement", lambda: run.check()["agree"])  # it is counted before it is on the disk


def is_not_covered(network, options):
    """With RFC 9421, Fedify does not sign the header."""
    run = Run(network, options)
    run.handshake()
    expect("header when its signature does not cover it", run.post(), ["headers_ignored"])
    expect("why", run.check()["header"]["ignored"], "not_signed")


def main():
    version = npm_version("@fedify/fedify", "../../demo")
    with tally:
        for name, what, scenario, options in [
            ("whole", "is compared", converges, DRAFT),
            ("paged", "is compared by pages", converges, [*DRAFT, "--followers-page", "2"]),
            ("lost-follow", "brings back a follow that was lost", forgets, RFC9421),
            ("young-follow", "keeps a follow of a moment ago", is_too_young, RFC9421),
            ("made-up-follow", "ends a follow that was never made", undoes, DRAFT),
            ("lost-accept", "brings a lost Accept", accepts, DRAFT),
            ("rfc9421", "is ignored where the signature does not cover it", is_not_covered, RFC9421),
        ]:
            try:
                with tally.about("Fedify", version, f"FEP-8fcf {what}"), Network(ROOT / "run" / "followers_check" / name, nodes=1, port=PORT) as network:
                    scenario(network, options)
            except Failure as failure:
                tally.bad(f"{name}: {failure}")


main()
