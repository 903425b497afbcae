"""A post is followed through the logs of all nodes that it passes, from the instance where it was written to the one that subscribes to its
hashtag, by one mark that every node writes, as docs/runbook.md says. Real processes, real TLS.

    python3 tests/cluster/trace_test.py
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import NAMES, Failure, Network, node_host, origin_host, wait_for  # noqa: E402

NODES = 4
PUBLISHER, SUBSCRIBER = 0, 3
TAG = "caturday"


def steps_of(network, trace):
    """{node: {step: {with}}}, by its log alone, as an administrator would grep it."""
    found = defaultdict(lambda: defaultdict(set))
    for i in range(NODES):
        for line in (network.directory / f"{NAMES[i]}.log").read_text().splitlines():
            if f" trace={trace} " not in line:
                continue
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            found[i][fields["step"]].add(fields["with"].strip('"'))
    return found


def mark_of(network, i, uri):
    """The one in the lines of node i that name the post."""
    log = (network.directory / f"{NAMES[i]}.log").read_text()
    marks = {m for line in log.splitlines() if "event=post" in line and line.endswith(f"post={uri}") for m in re.findall(r" trace=([0-9a-f]{16}) ", line)}
    return marks.pop() if len(marks) == 1 else None


def owner_of(network, origin):
    return next(i for i in range(NODES) if origin == f"https://{node_host(i)}:{network.port}")


def main():
    failures, passed = [], 0

    def check(what, is_so, found=""):
        nonlocal passed
        print(f"  {'ok   ' if is_so else 'FAIL '} {what}{'' if is_so else f': {found}'}")
        passed += bool(is_so)
        if not is_so:
            failures.append(what)

    with Network(ROOT / "run" / "trace_test", nodes=NODES) as network:
        for i in range(NODES):
            network.write_config(i, extra="[balance]\nenabled = false\n")
            config = network.config_file(i)
            config.write_text(config.read_text().replace('data = "data"', 'data = "data"\nlog_level = "debug"'))
            network.start_node(i)
        network.start_origins(NODES)
        wait_for("the rings", network.is_whole)
        network.control("origins", "/subscribe", {"domain": origin_host(SUBSCRIBER)})
        wait_for("the instance", lambda: any(row["host"] == origin_host(SUBSCRIBER) for row in network.cli(SUBSCRIBER, "instance", "list")["instances"]))
        network.cli(SUBSCRIBER, "instance", "subscribe", origin_host(SUBSCRIBER), TAG)
        wait_for("the subscription", lambda: network.is_settled(SUBSCRIBER))

        uri = network.control("origins", "/post", {"domain": origin_host(PUBLISHER), "text": f"Where does this go? #{TAG}"})["id"]
        wait_for("the post", lambda: any(at == uri for _, _, _, at in network.feed(SUBSCRIBER)))
        inbox = f"https://{origin_host(SUBSCRIBER)}:{network.port}/"
        trace = None

        def has_arrived():
            nonlocal trace
            trace = mark_of(network, PUBLISHER, uri)
            return trace and any(w.startswith(inbox) for w in steps_of(network, trace)[SUBSCRIBER]["announced"])

        try:
            wait_for("the end of the way", has_arrived, seconds=60)
        except Failure as failure:
            check("the last step is in the log of the subscriber's node", False, failure)
        steps = steps_of(network, trace)
        check("the log of the node of its instance has one mark for it", trace is not None, uri)
        check("there it was published", "published" in steps[PUBLISHER], steps)
        relays = {owner_of(network, origin) for origin in steps[PUBLISHER]["relay"] if origin}
        check("and its relay owners are named, which answered", len(relays) > 0, steps)
        stores = {owner_of(network, origin) for i in range(NODES) for origin in steps[i]["storage"] if origin}
        check("and storage owners are named by who asked them", len(stores) > 0, steps)
        check("each relay owner has it under the same mark", all("entered" in steps[i] for i in relays), steps)
        ways = {with_ for i in relays for with_ in steps[i]["announced"]}
        check("one of them says that it announced it to the subscriber's node", SUBSCRIBER in relays or any(w.startswith(f"https://{node_host(SUBSCRIBER)}:") for w in ways), steps)
        check("which has it under the same mark", "entered" in steps[SUBSCRIBER], steps)
        check("and says that its instance took it", any(w.startswith(inbox) for w in steps[SUBSCRIBER]["announced"]), steps)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
