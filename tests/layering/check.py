"""Holds src/ to its rules (tools/house), and shows first that each of them can be broken. Ends with "N passed, N failed"."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
loader = SourceFileLoader("house", str(ROOT / "tools" / "house"))
house = importlib.util.module_from_spec(importlib.util.spec_from_loader("house", loader))
sys.dont_write_bytecode = True
loader.exec_module(house)

# A small house that keeps every rule, and what breaks each.
GOOD = {"low/a.hpp": "namespace tagring::low {\nstruct A {};\n}\n",
        "high/b.hpp": '#include "low/a.hpp"\nnamespace tagring::high {\nclass B {\n public:\n  B(low::A& a, int n);\n};\n}\n',
        "high/b.cpp": '#include "high/b.hpp"\nnamespace tagring::high {\nB::B(low::A& a, int n) {}\n}\n'}
LINKS = {"low": [], "high": ["low"]}
BROKEN = {
    "against_the_order": ({"low/a.hpp": '#include "high/b.hpp"\n'}, LINKS),
    "unused_links": ({"high/b.hpp": "", "high/b.cpp": ""}, LINKS),
    "borrowed_includes": ({"high/b.hpp": "namespace tagring::high {\nlow::A* a;\n}\n"}, LINKS),
    "unit_cycles": ({"low/a.cpp": '#include "low/c.hpp"\n', "low/c.hpp": '#include "low/a.hpp"\n'}, LINKS),
    "too_large": ({f"low/u{i}.hpp": "" for i in range(house.UNITS_MAX)}, LINKS),
    "god_constructors": ({"low/a.hpp": f"class A {{\n public:\n  A({', '.join(f'int& x{i}' for i in range(house.ARGUMENTS_MAX + 1))});\n}};\n"},
                         LINKS),
    "banned_words": ({"low/a.hpp": "// Of the author, if he wishes it.\n"}, LINKS),
}


def main():
    passed = failed = 0

    def verdict(good, what):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"BAD  {what}")

    verdict(not list(house.House(GOOD, LINKS).complaints()), f"a good house is blamed: {list(house.House(GOOD, LINKS).complaints())}")
    verdict(set(BROKEN) == set(house.House.RULES), "a rule that is not shown to fail")
    verdict(bool(list(house.House({"low/a.hpp": "\n" * (house.LINES_MAX + 1)}, {"low": []}).too_large())), "too_large does not see lines")
    verdict(bool(list(house.House(GOOD, {"low": ["high"], "high": []}).against_the_order())), "against_the_order does not see links")
    for rule, (changes, links) in BROKEN.items():
        found = list(getattr(house.House({**GOOD, **changes}, links), rule)())
        verdict(bool(found), f"{rule} does not see what breaks it")
    checkout = house.House.of_checkout()
    for rule in house.House.RULES:
        found = list(getattr(checkout, rule)())
        verdict(not found, f"{rule}:\n  " + "\n  ".join(found))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
