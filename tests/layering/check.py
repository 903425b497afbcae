"""A module may include only itself and the modules it is declared to link (CMakeLists.txt), transitively; those stand
above it in the list. Fails with file:line for each include that points the other way."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def declared_modules():
    """Name → direct dependencies, in the order of CMakeLists.txt."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = re.findall(r"^tagring_module\((\w+)\s+LINK ([^)]*)\)", text, re.M)
    names = [name for name, _ in found]
    modules = {name: [d for d in links.split() if d in names] for name, links in found}
    modules["app"] = names
    return modules


def closure(modules):
    reach = {}
    for name, direct in modules.items():
        reach[name] = {name}
        for dependency in direct:
            if dependency not in reach:
                sys.exit(f"CMakeLists.txt: {name} links {dependency}, which stands below it")
            reach[name] |= reach[dependency]
    return reach


def violations(sources, reach):
    """sources: (path, text) pairs below src/."""
    for path, text in sources:
        module = path.parts[0]
        if module not in reach:
            yield f"src/{path}: folder {module} is not a module of CMakeLists.txt"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            include = re.match(r'\s*#include "([a-z_]+)/', line)
            if include and include.group(1) not in reach[module]:
                yield f"src/{path}:{number}: {module} must not use {include.group(1)}"


def main():
    reach = closure(declared_modules())
    # The check itself must be able to fail.
    assert list(violations([(Path("base/x.hpp"), '#include "ring/contact.hpp"')], reach))
    assert list(violations([(Path("common/x.hpp"), "")], reach))
    sources = [(p.relative_to(ROOT / "src"), p.read_text()) for p in sorted((ROOT / "src").rglob("*.?pp"))]
    found = list(violations(sources, reach))
    print("\n".join(found))
    print(f"{len(sources)} source files")
    sys.exit(1 if found else 0)


main()
