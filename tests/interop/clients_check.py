"""Clients of Mastodon that others wrote, on a node: masto (npm), Mastodon.py and toot (Debian), the request of GetMoarFediverse. Real processes,
real TLS.

    python3 tests/interop/clients_check.py        ends with "N passed, N failed"
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import NODE_JS, Network, node_host, wait_for  # noqa: E402
from tally import Tally, debian_version, npm_version  # noqa: E402

HERE = Path(__file__).parent
POSTS = 25

# toot lives in the network of the test: names and certificates of its own.
TOOT = """
import json, os, socket
hosts = json.load(open(os.environ["WORLD"] + "/hosts.json"))
ask = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: ask(hosts.get(host, host), *rest, **more)
from toot.console import main
main()
"""


def toot(network, *arguments):
    certs = network.directory / "certs"
    environment = {**os.environ, "WORLD": str(network.directory), "REQUESTS_CA_BUNDLE": str(certs / "ca.pem"),
                   "XDG_CONFIG_HOME": str(network.directory / "toot")}
    command = ["/usr/bin/python3", "-c", TOOT, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=60)
    return done.stdout + done.stderr


def check_toot(network, tally):
    """What its output must have, of each command."""
    base = f"{node_host(0)}:{network.port}"
    # It does not search for who has no account, though the node would let it.
    reader = f"reader@{base}"
    settings = network.directory / "toot" / "toot" / "config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({
        "apps": {base: {"instance": base, "base_url": f"https://{base}", "client_id": "none", "client_secret": "none"}},
        "users": {reader: {"instance": base, "username": "reader", "access_token": "none"}}, "active_user": reader}))
    steps = [
        (["instance", base, "--no-color"], re.escape(f"tagring on {base}")),
        (["timeline", "--tag", "cats", "--instance", base, "--once", "--count", "3", "--no-color"], r"(?s)(post \d+ #cats.*){3}"),
        (["search", "#cats", "--no-color"], "#cats"),
    ]
    for arguments, pattern in steps:
        with tally.about("toot", debian_version("toot"), arguments[0]):
            output = toot(network, *arguments)
            if not re.search(pattern, output):
                tally.bad(f"toot {arguments[0]}: {output[-1500:]}")


def check_library(network, posts, tally, software, version, command):
    """A program that says "ok   WHAT" or "BAD  WHAT: why" of each thing that it tries."""
    certs = network.directory / "certs"
    ca = str(certs / "ca.pem")
    environment = {**os.environ, "NODE_EXTRA_CA_CERTS": ca, "REQUESTS_CA_BUNDLE": ca, "WORLD": str(network.directory),
                   "BASE": f"https://{node_host(0)}:{network.port}", "CONTROL": network.controls["origins"],
                   "POSTS": json.dumps(posts)}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, timeout=600)
    print(done.stdout.rsplit("\n", 2)[0])
    if not re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.M):
        tally.bad(f"{software} did not get to its end: {done.stderr[-3000:]}")
    for verdict, what in re.findall(r"^(ok  |BAD ) ([^:\n]+)", done.stdout, re.M):
        with tally.about(software, version, what):
            tally.failed += verdict == "BAD "


def main():
    with Tally() as tally, Network(ROOT / "run" / "clients_check", nodes=2) as network:
        network.start_node(0)
        network.start_node(1)
        network.start_origins(2)
        wait_for("ring", lambda: network.is_settled(0) and network.is_settled(1))
        network.cli(0, "subscribe", "cats")  # trends are of what a node sees
        wait_for("subscriptions", lambda: network.is_settled(0))
        posts = []
        for i in range(POSTS):
            more = " #dogs" if i % 10 == 0 else ""
            author = {"author": "alice"} if i % 2 else {}
            posts.append(network.control("origins", "/post", {"text": f"post {i} #cats{more}", **author})["id"])
        wait_for("history", lambda: len(network.history(0, "cats")) == POSTS)
        wait_for("the feed", lambda: {uri for _, _, tag, uri in network.feed(0) if tag == "cats"} == set(posts))
        wait_for("contents", lambda: set(network.timeline(0, "cats")) == set(posts))
        # Timelines order by the second, then by a hash.
        posts = network.timeline(0, "cats")[::-1]
        if shutil.which("toot"):
            check_toot(network, tally)
        else:
            tally.missing("toot")
        masto = [NODE_JS, "--import", HERE / "world.mjs", HERE / "clients" / "masto.mjs"]
        if Path("/usr/lib/python3/dist-packages/mastodon").exists():
            command = ["/usr/bin/python3", HERE / "clients" / "mastodon_py.py"]
            check_library(network, posts, tally, "Mastodon.py", debian_version("python3-mastodon"), command)
        else:
            tally.missing("python3-mastodon")
        # Last: it writes and deletes.
        check_library(network, posts, tally, "masto", npm_version("masto", "clients"), masto)


if __name__ == "__main__":
    main()
