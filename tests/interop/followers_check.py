"""FEP-8fcf with Fedify as the sender: a person on Fedify follows a node, which follows back; then her server's list of
followers is changed behind the node's back, and her next post repairs what differs. Real processes, real TLS.

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
STRANGERS = [f"{NODE}/tag/stranger{i}" for i in range(5)]

tally = Tally()
expect = tally.expect


class Run:
    def __init__(self, network, options):
        self.network = network
        network.write_config(0, people=True)
        network.start_node(0)
        network.start_fedify(0, *options)
        wait_for("ring", lambda: network.is_settled(0))

    def fedify(self, path, body=None):
        return self.network.control("fedify", path, body)

    def followers(self):
        return sorted(self.fedify("/followers")["followers"])

    def counter(self, name):
        return self.network.cli(0, "status")["followers_sync"][name]

    def post(self):
        """Something to her followers; how the header was taken."""
        before = {name: self.counter(name) for name in ["equal", "different", "headers_ignored"]}
        self.fedify("/post-to-followers", {"text": "to those who follow me"})
        wait_for("header", lambda: any(self.counter(name) > count for name, count in before.items()))
        return [name for name, count in before.items() if self.counter(name) > count]

    def check(self, *codes):
        return self.network.cli(0, "followers-check", ALICE, codes=codes or (0, 1))

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
    expect("header when they differ", run.post(), ["different"])
    wait_for("list", lambda: run.counter("lists") > 0)
    pages = [url for url in run.fedify("/followers")["lists"] if "cursor=" in url]
    expect("pages asked for", bool(pages), "--followers-page" in options)
    expect("undone", run.counter("undone"), 0)
    run.fedify("/followers", {"ids": [ACTOR]})
    expect("agreement", run.check(0)["agree"], True)
    expect("header afterwards", run.post(), ["equal"])
    own = network.cli(0, "followers-check", "--server", f"fedify.example:{PORT}")
    expect("who of her server follows the node", own["followers"], [ALICE])

    # It lost the node's follow, which is too young to be forgotten here.
    run.fedify("/followers", {"ids": []})
    report = run.check(1)
    expect("young follow", (report["remove"], report["too_young"]), ([], 1))
    return run


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
            ("whole", "is repaired", converges, DRAFT),
            ("paged", "is repaired by pages", converges, [*DRAFT, "--followers-page", "2"]),
            ("made-up-follow", "ends a follow that was never made", undoes, DRAFT),
            ("lost-accept", "brings a lost Accept", accepts, DRAFT),
            ("rfc9421", "is ignored where the signature does not cover it", is_not_covered, ["--first-knock", "rfc9421"]),
        ]:
            try:
                with tally.about("Fedify", version, f"FEP-8fcf {what}"), Network(ROOT / "run" / "followers_check" / name, nodes=1, port=PORT) as network:
                    scenario(network, options)
            except Failure as failure:
                tally.bad(f"{name}: {failure}")


main()
