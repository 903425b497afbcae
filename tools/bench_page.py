"""The figures of tools/bench.py about the web page: a browser at a node with a year's posts of one hashtag."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from network import NODE_JS, Network, node_host, wait_for  # noqa: E402

NODES = 3
PORT = 9447
POSTS = 5000
TAG = "caturday"


def measure(directory):
    with Network(directory, nodes=NODES, port=PORT) as network:
        for i in range(NODES):
            network.start_node(i)
        network.start_origins(NODES)
        wait_for("the ring", lambda: all(map(network.is_settled, range(NODES))))
        network.control("origins", "/load", {"count": POSTS, "tags": 1, "seed": 1, "concurrency": 16, "retries": 20})
        wait_for("history", lambda: len(network.history(0, TAG)) == POSTS)
        world = {"node": f"https://{node_host(0)}:{PORT}", "hosts": network.hosts, "tag": TAG}
        command = [NODE_JS, ROOT / "ui" / "test" / "measure.mjs"]
        done = subprocess.run(command, env={**os.environ, "PAGE_WORLD": json.dumps(world)}, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        found = json.loads(done.stdout.splitlines()[-1])
        if found["posts"] < POSTS:
            raise RuntimeError(f"only {found['posts']} of {POSTS} posts were shown")
        return found
