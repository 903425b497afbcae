"""The figures of tools/bench.py that need a network of real processes: demo/network.py describes it."""

import http.client
import json
import random
import signal
import socket
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from network import NAMES, Network, node_host, origin_host, wait_for  # noqa: E402

POSTS = 150
ROUNDS = 15  # of stabilising, one a second, until lists of successors are complete: before, look-ups fail now and then
TAGS_WANTED = 100_000
TAGS_PER_REQUEST = 25_000


class Control:
    """A node's control socket, kept open: a process for each question would take longer than the answer."""

    def __init__(self, network, i):
        self.connection = http.client.HTTPConnection("localhost", timeout=600)
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(str(network.node_directory(i) / "data" / "control.sock"))

    def ask(self, method, target, body=None):
        self.connection.request(method, target, None if body is None else json.dumps(body))
        response = self.connection.getresponse()
        answer = json.load(response)
        if response.status != 200:
            raise RuntimeError(f"{target}: HTTP {response.status}: {answer}")
        return answer


def start(network):
    for i in range(network.count):
        network.start_node(i)
    wait_for("the rings", network.is_whole)


def subscribe(control, tags):
    for first in range(0, len(tags), TAGS_PER_REQUEST):
        control.ask("POST", "/subscribe", {"tags": tags[first : first + TAGS_PER_REQUEST]})


def until_settled(control, wanted):
    def settled():
        status = control.ask("GET", "/status")
        return status["wanted"] >= wanted and status["subscriptions"] >= wanted and status["subscriptions_settled"]

    wait_for("subscriptions", settled, 600)


# --- latency -----------------------------------------------------------------------------------------------


def tags_of_others(control, count):
    """Tags that this node is no relay owner of: what comes of them has gone all the way."""
    host = control.ask("GET", "/status")["origin"].split("//")[1].split(":")[0]
    tags = []
    number = 0
    while len(tags) < count:
        tag = f"idle{number}"
        number += 1
        if all(owner["host"] != host for owner in control.ask("GET", f"/owners?tag={tag}")["relay"]):
            tags.append(tag)
    return tags


def time_one_post(network, control, publisher, tag, after):
    """Milliseconds from asking the instance to post until the post is in the subscriber's feed; its place there."""
    body = {"domain": origin_host(publisher), "text": f"a post about #{tag}"}
    post = threading.Thread(target=network.control, args=("origins", "/post", body))
    begun = time.monotonic()
    post.start()
    while True:
        entries = control.ask("GET", f"/feed?after={after}&limit=10")["entries"]
        if entries:
            break
        if time.monotonic() - begun > 60:
            raise RuntimeError(f"a post about #{tag} did not arrive")
        time.sleep(0.002)
    took = (time.monotonic() - begun) * 1000
    post.join()
    return took, entries[-1]["seq"]


def latencies(directory):
    """Sorted, in milliseconds: posts one at a time, from the instances of three nodes to the fourth."""
    with Network(directory, nodes=4) as network:
        start(network)
        network.start_origins(4)
        time.sleep(ROUNDS)
        control = Control(network, 3)
        tags = tags_of_others(control, 12)
        subscribe(control, tags)
        until_settled(control, len(tags))
        after = 0
        times = []
        for i in range(POSTS + 10):  # the first few open connections and fetch keys
            took, after = time_one_post(network, control, i % 3, tags[i % len(tags)], after)
            if i >= 10:
                times.append(took)
            time.sleep(0.05 + random.random() / 20)
        return sorted(times)


# --- deliveries --------------------------------------------------------------------------------------------

READERS = 20
DELIVERED = 60  # posts of each part


def reader_host(i):
    return f"reader{i}.example"


def arrivals(network, hosts):
    """By post, when each of these servers got it: seconds since 1970."""
    found = {}
    for host in hosts:
        for entry in network.control("readers", f"/received?domain={host}"):
            if entry["activity"]["type"] == "Announce":
                found.setdefault(entry["activity"]["object"], []).append(datetime.fromisoformat(entry["at"]).timestamp())
    return found


def post_and_wait(network, tag, hosts, count):
    """When each post was asked for, and when these servers got it."""
    begun = {}
    for _ in range(count):
        at = time.time()
        begun[network.control("origins", "/post", {"domain": origin_host(0), "text": f"a post about #{tag}"})["id"]] = at
        time.sleep(0.2 + random.random() / 5)

    def complete():
        got = arrivals(network, hosts)
        return all(len(got.get(post, [])) == len(hosts) for post in begun)

    wait_for("deliveries", complete)
    got = arrivals(network, hosts)
    return [(at, got[post]) for post, at in begun.items()]


def time_deliveries(network, tag, hosts):
    """Sorted, in milliseconds: from asking the instance for a post until each of these servers has its announcement."""
    post_and_wait(network, tag, hosts, 5)  # the first few open connections and fetch keys
    measured = post_and_wait(network, tag, hosts, DELIVERED)
    return sorted((at - begun) * 1000 for begun, got in measured for at in got)


def deliveries(directory):
    """To one server, to READERS of them, and to these while one more takes connections and answers nothing."""
    hosts = [reader_host(i) for i in range(READERS + 1)]
    with Network(directory, nodes=1, peers={host: f"127.0.9.{i + 1}" for i, host in enumerate(hosts)}) as network:
        start(network)
        network.start_origins(1)
        node = f"https://{node_host(0)}:{network.port}"
        for name, served in (("readers", hosts[:READERS]), ("stuck", hosts[READERS:])):
            options = [option for host in served for option in ("--domain", host)]
            network.start_peer(name, ROOT / "demo" / "origin.mjs", "--authors", "reader", "--node", node, *options)

        def follow(name, tag, host):
            network.control(name, "/follow", {"domain": host, "author": "reader", "actor": f"{node}/tag/{tag}"})

        follow("readers", "one", hosts[0])
        for host in hosts[:READERS]:
            follow("readers", "many", host)
            follow("readers", "stuck", host)
        follow("stuck", "stuck", hosts[READERS])
        time.sleep(3)  # until the node has subscribed to them
        one = time_deliveries(network, "one", hosts[:1])
        many = time_deliveries(network, "many", hosts[:READERS])
        network.processes["stuck"].send_signal(signal.SIGSTOP)
        return {"one": one, "many": many, "stuck": time_deliveries(network, "stuck", hosts[:READERS])}


# --- subscriptions -----------------------------------------------------------------------------------------


def resident_mb(network, i):
    pid = network.processes[NAMES[i]].pid
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("no VmRSS")


def messages(status):
    return status["subscription_messages"] + status["rings"]["relay"]["lookup_calls"]


def many_subscriptions(directory):
    with Network(directory, nodes=8) as network:
        start(network)
        subscriber = network.count - 1
        control = Control(network, subscriber)
        before = messages(control.ask("GET", "/status"))
        mb_before = resident_mb(network, subscriber)
        begun = time.monotonic()
        subscribe(control, [f"wanted{i}" for i in range(TAGS_WANTED)])
        until_settled(control, TAGS_WANTED)
        seconds = time.monotonic() - begun
        status = control.ask("GET", "/status")
        return {
            "mb": resident_mb(network, subscriber),
            "mb_before": mb_before,
            "messages": messages(status) - before,
            "seconds": seconds,
            "subscriptions": status["subscriptions"],
            "vservers": network.count * network.vservers,
        }
