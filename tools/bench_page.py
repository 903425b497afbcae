"""The figures of tools/bench.py about the web page: a browser at a node with a year's posts of one hashtag."""

import http.client
import json
import os
import re
import ssl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from network import NODE_JS, Network, node_host, wait_for  # noqa: E402

NODES = 3
POSTS = 5000
TAG = "caturday"
READER = "127.0.8.1"  # not the address that the browser comes from: a node allows each so many requests


def read_all(network):
    """How many posts a reader finds who goes through all pages once."""
    context = ssl.create_default_context(cafile=str(network.directory / "certs" / "ca.pem"))
    context.check_hostname = False
    target = f"/api/v1/timelines/tag/{TAG}?limit=40"
    count = 0
    while target:
        connection = http.client.HTTPSConnection(network.node_address(0), network.port, timeout=60, context=context, source_address=(READER, 0))
        connection.request("GET", target)
        answer = connection.getresponse()
        posts = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{target}: {posts}")
        count += len(posts)
        older = re.search(r'<https://[^/]+(/[^>]+)>; rel="next"', answer.headers.get("Link") or "")
        target = older and older.group(1)
        connection.close()
    return count


def measure(directory):
    with Network(directory, nodes=NODES) as network:
        for i in range(NODES):
            network.start_node(i)
        network.start_origins(NODES)
        wait_for("the ring", lambda: all(map(network.is_settled, range(NODES))))
        network.control("origins", "/load", {"count": POSTS, "tags": 1, "seed": 1, "concurrency": 16, "retries": 20})
        wait_for("history", lambda: len(network.history(0, TAG)) == POSTS)
        # What its author's server does not answer in time is left out of a page, and remembered for the next reader.
        for _ in range(2):
            if read_all(network) == POSTS:
                break
        world = {"node": f"https://{node_host(0)}:{network.port}", "hosts": network.hosts, "tag": TAG}
        command = [NODE_JS, ROOT / "ui" / "test" / "measure.mjs"]
        done = subprocess.run(command, env={**os.environ, "PAGE_WORLD": json.dumps(world)}, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        found = json.loads(done.stdout.splitlines()[-1])
        if found["posts"] < POSTS:
            raise RuntimeError(f"only {found['posts']} of {POSTS} posts were shown")
        return found
