"""Installs the library of src/followers as another project would, and uses it from there: its headers stand alone, the code in
docs/followers.md compiles, and the example builds and does what it does in our own build. With g++ too, where there is one.
The C header is C, and the shared library does what docs/vectors/followers.json says, through its binding for Python."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
EXPECTED = """\
home: GET https://origin.example/users/olga/followers_synchronization
home: https://home.example/users/ben does not follow any more
home: https://home.example/users/cat is accepted
home: https://home.example/users/dan sends Undo Follow
home: we agree about 2 followers
"""
counts = {True: 0, False: 0}


def check(name, ok, output=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {name}\n{output}")
    return ok


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def example_works(name, binary):
    ok, output = run(binary)
    home = "".join(line + "\n" for line in output.splitlines() if line.startswith("home: "))
    check(name, ok and home == EXPECTED, output)


def use(compiler, prefix, directory):
    directory.mkdir()
    compile_only = [compiler, "-std=c++23", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", prefix / "include" / "tagring"]
    headers = sorted((prefix / "include" / "tagring").rglob("*.hpp"))
    check("there are headers", headers)
    for header in headers:
        source = directory / "alone.cpp"
        source.write_text(f'#include "{header.relative_to(prefix / "include" / "tagring")}"\n')
        check(f"{compiler}: {header.name} alone", *run(*compile_only, source))

    code = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "docs" / "followers.md").read_text(), re.M | re.S)
    check("docs/followers.md has code", len(code) == 1)
    documented = directory / "documented.cpp"
    documented.write_text('#include "followers_server.hpp"\n\n' + "".join(code))
    check(f"{compiler}: docs/followers.md", *run(*compile_only, "-I", Path(__file__).parent, documented))

    build = directory / "build"
    configured = run("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "followers", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                     f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release")
    if check(f"{compiler}: find_package", *configured) and check(f"{compiler}: build", *run("cmake", "--build", build)):
        example_works(f"{compiler}: installed example", build / "followers_example")


def binding_at(prefix):
    path = prefix / "share" / "doc" / "tagring-followers" / "tagring_followers.py"
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("tagring_followers", path))
    sys.dont_write_bytecode = True
    module.__spec__.loader.exec_module(module)
    found = [*prefix.glob("lib/**/libtagring-followers.so")]
    return module, module.Followers(str(found[0]))


def why_ignored(module, action):
    try:
        action()
    except module.Ignored as ignored:
        return str(ignored)
    return None


def headers_hold(module, library, vectors):
    for row in vectors["written"]:
        value = library.write_header(row["collection_id"], row["url"], module.Digest.from_hex(row["digest"]))
        check("binding: written", value == row["value"], f"{row}\n{value}")
    for row in vectors["read"]:
        why = why_ignored(module, lambda: library.read_header(row["value"]))
        check("binding: ignored or not", why == row.get("ignored"), f"{row}\n{why}")
        if why is None:
            header = library.read_header(row["value"])
            read = [header.collection_id.decode(), header.url.decode(), header.digest.hex()]
            check("binding: read", read == [row["collection_id"], row["url"], row["digest"]], f"{row}\n{read}")
    for row in vectors["checked"]:
        header = library.read_header(row["value"])
        terms = {name: row[name] for name in ["actor", "followers", "covers_header", "origin", "require_coverage"]}
        why = why_ignored(module, lambda: library.check_header(header, **terms))
        check("binding: checked", why == row["ignored"], f"{row}\n{why}")


def vectors_hold(prefix):
    vectors = json.loads((ROOT / "docs" / "vectors" / "followers.json").read_text())
    module, library = binding_at(prefix)
    for row in vectors["digests"]:
        check("binding: digest", library.digest(row["ids"]).hex() == row["digest"], row)
    headers_hold(module, library, vectors)
    for row in vectors["plans"]:
        own = row.get("own_actors")
        plan = library.plan({f["follower"]: f["since"] for f in row["accepted"]}, row["pending"],
                            row["listed"] if row["list_is_complete"] else None, module.Digest.from_hex(row["digest"]), row["origin"],
                            row["now"], row["grace"], row["undo_max"], own and own.__contains__)
        check(f"binding: {row['about']}", plan == {name: row[name] for name in plan}, plan)


def main():
    example_works("example in our build", RELEASE / "examples" / "followers" / "followers_example")
    with tempfile.TemporaryDirectory() as temporary:
        prefix = Path(temporary) / "prefix"
        check("install", *run("cmake", "--install", RELEASE, "--component", "followers", "--prefix", prefix))
        source = Path(temporary) / "header.c"
        source.write_text('#include "followers/tagring_followers.h"\nint main(void) { tagring_digest none = {{0}}; return none.bytes[0]; }\n')
        for compiler in ["clang-19", "gcc"]:
            if shutil.which(compiler):  # who has none is told below
                check(f"{compiler}: the C header", *run(compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I",
                                                        prefix / "include" / "tagring", source))
        vectors_hold(prefix)
        for compiler in ["clang++-19", "g++"]:
            if shutil.which(compiler):
                use(compiler, prefix, Path(temporary) / compiler)
            else:
                print(f"skipped: there is no {compiler}")
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
