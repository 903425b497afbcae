"""The web page of a node in a browser: readers, administrators, no JavaScript. Real nodes, real TLS, Debian's Chromium.

    python3 tests/page/page_test.py [--only PATTERN]      ends with "N passed, N failed"; pictures in build/screenshots/
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import NODE_JS, Network, node_host, wait_for  # noqa: E402

NODES = 5
TAGS = ["caturday", "猫", "قطط", "silentsunday"]
POSTS = 120
TAKEN_DOWN = "unwanted"  # a hashtag with two posts, of which one will be taken down


def write_posts(network):
    """Posts from five servers, in three scripts, with a warning, with an image, and of former days."""

    def post(i, text, **more):
        network.control("origins", "/post", {"domain": f"{['oak', 'elm', 'ash', 'fir', 'yew'][i % 5]}.example", "text": text, **more})

    post(0, "A #silentsunday of last spring", published="2026-04-12T09:30:00Z")
    post(1, "A #silentsunday of last summer, with a #bird", published="2026-07-19T09:30:00Z")
    for i in range(POSTS):
        post(i, f"Post number {i} about a cat on a mat. #caturday")
    post(1, "今日の猫です。とても眠そう。 #猫 #caturday")
    post(2, "قطتي الجميلة في الحديقة #قطط #caturday")
    post(3, "What I found under the bed #silentsunday", warning="Spiders")
    post(4, "Look at her! #silentsunday #caturday", image="A black cat asleep on a red chair")
    post(0, f"Buy it now! #{TAKEN_DOWN}")
    post(1, f"Who needs this? #{TAKEN_DOWN}")


def an_owner(network, tag):
    """A node that stores the hashtag."""
    owners = {owner["host"] for owner in network.cli(0, "owners", tag)["storage"]}
    return next(i for i in range(NODES) if node_host(i) in owners)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="run the tests whose names match")
    only = arguments.parse_args().only
    with Network(ROOT / "run" / "page_test", nodes=NODES) as network:
        for i in range(NODES):
            network.write_config(i, "[budget]\nreads_per_address = 10000\n")  # one address reads more here than people do
            network.start_node(i)
        network.start_origins(NODES)
        # Until then hashtags change their owners.
        wait_for("the rings", network.is_whole)
        network.cli(0, "subscribe", *TAGS)
        wait_for("subscriptions", lambda: network.is_settled(0))
        write_posts(network)
        wait_for("history", lambda: len(network.history(0, "caturday")) == POSTS + 3)
        wait_for("history", lambda: len(network.history(0, TAKEN_DOWN)) == 2)
        owner = an_owner(network, TAKEN_DOWN)
        wait_for("contents", lambda: len(network.timeline(0, "caturday")) == 40 and len(network.timeline(owner, TAKEN_DOWN)) == 2)

        def person(i):
            login = [str(network.binary), "login", "--json", "--config", str(network.config_file(i))]
            return {"node": f"https://{node_host(i)}:{network.port}", "login": login}

        world = {
            **person(0),
            "owner": person(owner),
            "auditor": person((owner + 1) % NODES),
            "taken_down": TAKEN_DOWN,
            "hosts": network.hosts,
            "origins": network.controls["origins"],
            "screenshots": str(ROOT / "build" / "screenshots"),
            "posts": POSTS + 3,
        }
        environment = {**os.environ, "PAGE_WORLD": json.dumps(world)}
        command = [sys.executable, ROOT / "tools" / "node_test.py", NODE_JS, ROOT / "ui" / "test" / "page.test.mjs"]
        return subprocess.run([*map(str, command), *([f"--test-name-pattern={only}"] if only else [])], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
