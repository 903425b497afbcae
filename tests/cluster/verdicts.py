"""What was promised of a node that is killed again and again, and was not kept. Each check is told what a test has collected, says what is
wrong, and takes a lack of what should have been collected as wrong, too (verdicts_test.py). Of posts and histories: histories.py.

Times are seconds since 1970.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from histories import some

# s: what was sent is known to whoever takes over if it was sent so long before; a node writes it down each second.
WRITTEN_DOWN_WITHIN = 5
BACK_WITHIN = 60  # s: that neighbours see a restarted node in all its places; ten, as a rule
UNTOLD = {"Undo", "Delete", "Reject"}  # what nobody may hear where nobody takes anything back


@dataclass
class Post:
    uri: str
    tags: set
    origin: int  # whose server it is
    begun: float  # when it was sent, and when that was answered for the last time
    ended: float
    acknowledged: bool


@dataclass
class Fault:
    kind: str
    at: float
    until: float = float("inf")
    restarts: bool = False  # then neighbours let the node go, and it joins again


def told(who, received, must, may, actors, faults):
    """Of an inbox that follows `actors`: [(when, activity)]. Each post that it must be told of is announced once. The same Announce may come
    again, since servers know it by its id, but only where a fault has kept the node from writing down that it was sent."""
    came = defaultdict(lambda: defaultdict(list))  # URI -> id of the Announce -> times
    found = [f"{who}: must be told of nothing"] if not must else []
    for when, activity in received:
        if activity["type"] in UNTOLD:
            found.append(f"{who}: was told {activity}")
        if activity["type"] != "Announce":
            continue
        came[activity["object"]][activity["id"]].append(when)
        if activity["actor"] not in actors:
            found.append(f"{who}: {activity['object']} was announced by {activity['actor']}")
    times = {id: sorted(times) for ids in came.values() for id, times in ids.items()}
    rules = {"was not told of": must - set(came),
             "was told more than once of": {uri for uri, ids in came.items() if len(ids) > 1},
             "was told what nobody sent, or not under what it follows": set(came) - may,
             "was sent again what no fault explains": {id for id, at in times.items() if not all(_is_explained(*pair, faults) for pair in zip(at, at[1:]))}}
    return found + [f"{who}: {rule} {some(what)} (of {len(must)})" for rule, what in rules.items() if what]


def _is_explained(first, again, faults):
    return any(fault.at - WRITTEN_DOWN_WITHIN <= first <= fault.until and fault.at <= again for fault in faults)


def load(posts, faults, kinds, on_their_way, acknowledged):
    """`posts`: those sent to the node itself. At each fault so many were on their way, and so many were acknowledged after each and before the
    first. `kinds`: of each fault how often it must have been."""
    counted = Counter(fault.kind for fault in faults)
    found = [f"{kind}: {counted[kind]} times, not {times}" for kind, times in kinds.items() if counted[kind] != times]
    for fault in faults:
        there = sum(post.begun < fault.at < post.ended for post in posts)
        if there < on_their_way:
            found.append(f"{fault.kind}: {there} posts were on their way, not {on_their_way}")
    ends = [0.0, *[fault.until for fault in faults]]
    for since, until in zip(ends, [*[fault.at for fault in faults], float("inf")]):
        between = sum(post.acknowledged and since < post.ended < until for post in posts)
        if between < acknowledged:
            found.append(f"from {since:.1f} to {until:.1f} {between} posts were acknowledged, not {acknowledged}")
    return found


def places(looks, own, neighbours, faults, least):
    """`looks`: [(when, neighbour, [place])], a neighbour's list of the node's places at that moment. None is there twice, nor one that the node
    does not have, and none is missing but from a restart until all neighbours see it again; each saw all of them that many times at least."""
    found = [] if own else ["the node has no places"]
    away = _away(looks, own, neighbours, faults)
    found += [f"neighbours had not seen all of it {BACK_WITHIN} s after {fault.kind}" for fault, back in away if back > fault.until + BACK_WITHIN]
    for neighbour in neighbours:
        seen = [(when, of) for when, who, of in looks if who == neighbour]
        odd = [of for _, of in seen if len(of) != len(set(of)) or not set(of) <= own]
        lacks = [(when, own - set(of)) for when, of in seen if own - set(of) and not any(fault.at <= when <= back for fault, back in away)]
        whole = sum(set(of) == own for _, of in seen)
        rules = {f"saw {odd[:2]}, of {own}": odd, f"missed it with no reason, at {lacks[:2]}": lacks, f"saw all of it {whole} times only": whole < least}
        found += [f"neighbour {neighbour} {what}" for what, is_wrong in rules.items() if is_wrong]
    return found


def _away(looks, own, neighbours, faults):
    """[(fault, when all saw it again, or when the next restart began)]"""
    found = []
    restarts = [fault for fault in faults if fault.restarts]
    for fault, following in zip(restarts, [*restarts[1:], None]):
        latest, back = {}, following.at if following else float("inf")
        for when, who, of in sorted(looks, key=lambda look: look[0]):
            if fault.until < when < back:
                latest[who] = set(of) == own
                if all(latest.get(neighbour) for neighbour in neighbours):
                    back = when
        found.append((fault, back))
    return found
