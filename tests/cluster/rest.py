"""Whether a network has come to rest. Says what is missing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from network import NAMES, at_once  # noqa: E402


def unsettled(network, nodes=None):
    """Which nodes have ended; if none, which are not between their neighbours on the rings; if none, which have work left."""
    nodes = range(network.count) if nodes is None else nodes
    return ended(network, nodes) or rings(network, nodes) or sum(at_once(lambda i: rest(network, i), nodes), [])


def ended(network, nodes):
    return [f"{NAMES[i]} has ended by itself" for i in nodes if network.processes[NAMES[i]].poll() is not None]


def rest(network, i):
    status = network.cli(i, "status")
    waiting = [f"{key}: {status[key]}" for key in ["owed", "announcing"] if status[key]]
    if not status["subscriptions_settled"]:
        waiting.append("subscriptions")
    return [f"{NAMES[i]} is not at rest: {', '.join(waiting)}"] if waiting else []


def rings(network, nodes):
    answers = at_once(lambda i: network.cli(i, "ring"), nodes)
    found = []
    for ring in ["relay", "storage"]:
        places = {v["self"]["id"]: v for answer in answers for v in answer[ring]}
        order = sorted(places)
        for before, place, after in zip(order[-1:] + order, order, order[1:] + order[:1]):
            v = places[place]
            ok = v["member"] and v.get("predecessor", {}).get("id") == before and [s["id"] for s in v["successors"][:1]] == [after]
            if not ok or "serving" not in v:
                found.append(f"{ring} ring: {v['self']['host']} at {place[:8]} is not between its neighbours, or does not serve")
    return found
