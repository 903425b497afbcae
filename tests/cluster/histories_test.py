"""The checker of histories finds each thing that it is there to find, and the schedule of faults is what its seed says.

    python3 tests/cluster/histories_test.py
"""

import sys

from histories import Checker, History
from schedule import LARGE, draw

counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}")


def history():
    """Acknowledged: a and b; b removed. Not acknowledged: c, and the removal of d. e went from #cats to #dogs."""
    made = History()
    for uri in ["a", "b", "d", "e"]:
        made.wrote(uri, ["cats"], True)
    made.wrote("b", [], True)
    made.wrote("c", ["cats"], False)
    made.wrote("d", [], False)
    made.wrote("e", ["dogs"], True)
    return made


def present(*uris, tag="cats"):
    return Checker(history(), ["cats", "dogs"]).present("history", tag, list(uris))


def feed(*steps):
    return Checker(history(), ["cats"]).feed(1, ["cats"], [(i, *step) for i, step in enumerate(steps)])


def add(uri, tag="cats"):
    return ("add", tag, uri)


def remove(uri, tag="cats"):
    return ("remove", tag, uri)


def says(found, *words):
    return len(found) == 1 and all(word in found[0] for word in words)


def histories():
    for uris in [("a",), ("a", "c"), ("a", "d"), ("a", "c", "d")]:
        check(f"{uris} may be", not present(*uris), present(*uris))
    check("an edited post is under its new hashtag", not present("e", tag="dogs"))
    check("and must be there", says(present(tag="dogs"), "missing"))
    check("and not under the old one", says(present("a", "e"), "removed"))
    check("what was acknowledged is missed", says(present("c"), "missing", " a"), present("c"))
    check("what was removed is noticed", says(present("a", "b"), "removed", " b"))
    check("what is there twice is noticed", says(present("a", "a"), "twice"))
    check("what nobody wrote is noticed", says(present("a", "x"), "nobody"))
    check("acknowledged steps are counted", history().acknowledged() == 6)


def feeds():
    check("a feed may have come and gone", not feed(add("a"), add("b"), remove("b"), remove("d"), add("e"), remove("e")))
    check("a post comes once", says(feed(add("a"), add("a")), "more than once"))
    check("what has gone does not come back", says(feed(add("a"), add("c"), remove("c"), add("c")), "more than once"))
    check("what was removed has gone", says(feed(add("a"), add("b")), "removed"))
    check("what was acknowledged is missed", says(feed(add("b"), remove("b")), "missing"))
    check("what nobody wrote is noticed, gone or not", says(feed(add("a"), add("x"), remove("x")), "nobody"))
    made = history()
    made.showed(1, [(1, *add("c"))])
    check("what was shown stays", says(Checker(made, ["cats"]).feed(1, ["cats"], [(2, *add("a"))]), "what it was"))
    check("and that is enough", not Checker(made, ["cats"]).feed(1, ["cats"], [(1, *add("c")), (2, *add("a"))]))


def meanwhile():
    def seen(read):
        made = history()
        read(made)
        return Checker(made, ["cats", "dogs"]).meanwhile()

    check("a reader may see what is removed, and not what is there", not seen(lambda h: h.read(1, "cats", [(2, "b"), (1, "c")])))
    check("pages are in order", says(seen(lambda h: h.read(1, "cats", [(1, "a"), (2, "c")])), "order"))
    check("nothing is twice on a page", says(seen(lambda h: h.read(1, "cats", [(1, "a"), (1, "a")])), "twice"))
    check("nothing is invented", says(seen(lambda h: h.read(1, "dogs", [(1, "a")])), "nobody"))

    def backwards(made):
        made.showed(1, [(5, *add("a"))])
        made.showed(1, [(5, *add("c"))])

    check("a feed goes on", says(seen(backwards), "go on"))


def schedules():
    drawn = {seed: draw(seed, 8, 120) for seed in range(100)}

    def of_all(what, condition):
        wrong = [seed for seed, faults in drawn.items() if not condition(faults)]
        check(what, not wrong, f"seeds {wrong}")

    def nobody_is_down_twice(faults):
        down = [fault for fault in faults if fault.kind in LARGE or fault.kind.startswith("down")]
        return all(a is b or a.until < b.at or b.until < a.at or not set(a.nodes) & set(b.nodes) for a in down for b in down)

    check("the seed decides", all(faults == draw(seed, 8, 120) for seed, faults in drawn.items()) and drawn[0] != drawn[1])
    of_all("each large fault is there twice", lambda faults: all(sum(fault.kind == kind for fault in faults) == 2 for kind in LARGE))
    of_all("all is over in time", lambda faults: all(0 < fault.at < fault.until <= 120 for fault in faults))
    of_all("nobody is down twice at a time", nobody_is_down_twice)
    of_all("three overlap", lambda faults: any(sum(other.at <= fault.at <= other.until for other in faults) >= 3 for fault in faults))


def main():
    for part in [histories, feeds, meanwhile, schedules]:
        part()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
