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
        # Functions that nobody can set late: const, on their way to a constructor, or gone with the call.
        "low/hooks.hpp": "namespace tagring::low {\nstruct Hooks {\n  std::function<void()> told;\n};\nclass Told {\n"
                         "  Told() { std::function<void()> here = {}; }\n  struct Options {\n    Hooks hooks;\n  };\n"
                         "  using Tell = std::function<void()>;\n  const Tell told_;\n  const Options options_;\n"
                         "  void tell(Tell told);\n};\n}\n",
        "high/b.cpp": '#include "high/b.hpp"\nnamespace tagring::high {\nB::B(low::A& a, int n) {}\n}\n',
        # Words that are banned, but not here: another's own, of the wire, of the database.
        "low/kept.cpp": '#include <asio/cancellation_slot.hpp>\nauto slot;\n// {"octets"}\nauto sql = R"sql(\n octets INTEGER)sql";\n'}
LINKS = {"low": [], "high": ["low"]}
HEADER = "namespace tagring::high {\nclass B {\n public:\n  B(low::A& a, int n);\n  void more();\n};\n}\n"
BROKEN = {
    "odd_places": [
        ({"low/deep/a.hpp": ""}, LINKS),
        ({"low/a.inc": ""}, LINKS),
        ({"high/b.cpp": '#include "b.hpp"\n'}, LINKS),
        ({"high/b.cpp": '#include "../low/a.hpp"\n'}, LINKS),
        ({"high/b.cpp": "#include <low/a.hpp>\n"}, LINKS),
        ({"high/b.cpp": '#include "high/c.cpp"\n', "high/c.cpp": ""}, LINKS),
        ({"high/b.cpp": "#include HEADER\n"}, LINKS),
    ],
    "against_the_order": [
        ({"low/a.hpp": '#include "high/b.hpp"\n'}, LINKS),
        ({"low/a.hpp": "#include <high/b.hpp>\n"}, LINKS),
        ({"low/a.hpp": '# include "../high/b.hpp"\n'}, LINKS),
        ({"aside/c.cpp": ""}, LINKS),
        ({}, {"low": ["high"], "high": []}),
    ],
    "unused_links": [({"high/b.hpp": "", "high/b.cpp": ""}, LINKS)],
    "borrowed_includes": [({"high/b.hpp": "namespace tagring::high {\nlow::A* a;\n}\n"}, LINKS)],
    "unit_cycles": [
        ({"low/a.cpp": '#include "low/c.hpp"\n', "low/c.hpp": '#include "low/a.hpp"\n'}, LINKS),
        ({"low/a.cpp": "#include <low/c.hpp>\n", "low/c.hpp": '#include "a.hpp"\n'}, LINKS),
        # The source of another name is B's as well.
        ({"high/b.hpp": '#include "low/a.hpp"\n' + HEADER, "high/c.hpp": '#include "high/b.hpp"\n',
          "high/b_more.cpp": '#include "high/b.hpp"\n#include "high/c.hpp"\nnamespace tagring::high {\nvoid B::more() {}\n}\n'}, LINKS),
    ],
    "too_large": [
        ({f"low/u{i}.hpp": "" for i in range(house.UNITS_MAX)}, LINKS),
        ({f"low/u{i}.cpp": "" for i in range(house.UNITS_MAX)}, LINKS),
        ({"low/a.hpp": "\n" * (house.LINES_MAX + 1)}, LINKS),
    ],
    "god_constructors": [
        ({"low/a.hpp": f"class A {{\n public:\n  A({', '.join(f'int& x{i}' for i in range(house.ARGUMENTS_MAX + 1))});\n}};\n"}, LINKS),
    ],
    "late_hooks": [
        ({"low/a.hpp": f"class A {{\n{member}}};\n"}, LINKS) for member in (
            "  std::function<void()> told_;\n",
            " public:\n  std::function<void(int times)> told = [](int) {};\n",
            "  using Tell = std::function<void()>;\n  Tell told_;\n",
            "  struct Hooks {\n    std::function<void()> told;\n  };\n  Hooks hooks_;\n",
            "  struct Inner {\n    char open = '{';\n  };\n  std::function<bool(int a,\n                     int b)>\n      told_ = nullptr;\n")
    ] + [
        ({"low/a.hpp": "using Tell = std::function<void()>;\n",
          "high/b.hpp": '#include "low/a.hpp"\nclass B final : public A {\n  low::Tell told_;\n};\n'}, LINKS),
    ],
    "bare_draws": [
        ({"low/a.hpp": line}, LINKS) for line in
        ("auto id = rng_.next();\n", "A() : id_(runtime.rng.fork(\"id\").next()) {}\n", "const auto id = fmt::format(\"{:x}\", rng.next());\n")
    ],
    "banned_words": [
        ({"low/a.hpp": "// Of the author, if he wishes it.\n"}, LINKS),
        ({"low/a.hpp": "int junk_count;\n"}, LINKS),
        ({"low/a.hpp": "class OldCourier;\n"}, LINKS),
        ({"low/knocks.hpp": ""}, LINKS),
        ({"low/a.hpp": "std::size_t octets_max;\n"}, LINKS),
        ({"low/a.hpp": "constexpr int kOctet = 8;\n"}, LINKS),
        ({"low/a.hpp": "// On all shelves of the hashtag.\n"}, LINKS),
        ({"low/a.hpp": "std::string shelf;\n"}, LINKS),
        ({"low/a.hpp": "unsigned slot_of(int post);\n"}, LINKS),
    ],
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
    for rule, ways in BROKEN.items():
        for changes, links in ways:
            found = list(getattr(house.House({**GOOD, **changes}, links), rule)())
            verdict(bool(found), f"{rule} does not see {changes or links}")
    checkout = house.House.of_checkout()
    for rule in house.House.RULES:
        found = list(getattr(checkout, rule)())
        verdict(not found, f"{rule}:\n  " + "\n  ".join(found))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
