"""Installs the library of src/followers as another project would, and uses it from there: its headers stand alone, the code in
docs/followers.md compiles, and the example builds and does what it does in our own build. With g++ too, where there is one."""

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


def main():
    example_works("example in our build", RELEASE / "examples" / "followers" / "followers_example")
    with tempfile.TemporaryDirectory() as temporary:
        prefix = Path(temporary) / "prefix"
        check("install", *run("cmake", "--install", RELEASE, "--component", "followers", "--prefix", prefix))
        for compiler in ["clang++-19", "g++"]:
            if shutil.which(compiler):
                use(compiler, prefix, Path(temporary) / compiler)
            else:
                print(f"skipped: there is no {compiler}")
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
