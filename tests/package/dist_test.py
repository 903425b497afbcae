"""The archive of the sources and the list of parts (tools/dist): the same bytes each time, whatever is installed; and all that is in it."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout


def pack(into, path):
    done = subprocess.run([sys.executable, ROOT / "tools/dist", "--into", into], capture_output=True, text=True, env={**os.environ, "PATH": path})
    check("it packs", done.returncode == 0, done.stderr)
    return [Path(line) for line in done.stdout.splitlines()]


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # Where nothing is installed: git is all that there is.
        (folder / "bare").mkdir()
        (folder / "bare/git").symlink_to(subprocess.run(["sh", "-c", "command -v git"], capture_output=True, text=True).stdout.strip())
        first = pack(folder / "first", os.environ["PATH"])
        again = pack(folder / "again", str(folder / "bare"))
        check("two files", len(first) == len(again) == 2, (first, again))
        for one, other in zip(first, again):
            check(f"{one.name}: the same bytes each time", hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest())
        with tarfile.open(first[0]) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        missing = set(git("ls-tree", "-r", "--name-only", "HEAD").splitlines()) - names
        check("all files of the commit are in it", not missing, missing)
        bill = json.loads(first[1].read_text())
        parts = {part["name"]: part for part in bill["components"]}
        check("the list names the commit", {"name": "git:commit", "value": git("rev-parse", "HEAD").strip()} in bill["metadata"]["component"]["properties"], bill["metadata"])
        check("libraries, the page's, and what is compiled in", {"libboost-json1.81-dev", "preact", "public_suffix_list.dat"} <= set(parts), sorted(parts))
        text = (ROOT / "data/public_suffix_list/public_suffix_list.dat").read_bytes()
        check("which public suffix list it is", hashlib.sha256(text).hexdigest() in json.dumps(parts["public_suffix_list.dat"]), parts["public_suffix_list.dat"])
        with tempfile.TemporaryDirectory() as unpacked, tarfile.open(first[0]) as archive:
            archive.extractall(unpacked)
            code = subprocess.run(["cmake", "--list-presets"], cwd=next(Path(unpacked).iterdir()), capture_output=True, text=True)
            check("it can be configured", "release" in code.stdout, code.stdout + code.stderr)
            # Where there is no git, nor a binary of which to say more.
            deb = next(Path(unpacked).iterdir()) / "tools/deb"
            code = subprocess.run([sys.executable, "-c", deb.read_text().rpartition("\nmain()")[0].replace("__file__", repr(str(deb))) + "\nprint(commit_time())"],
                                  capture_output=True, text=True, env={"PATH": "/nonexistent"})
            check("the package of it has the time of the commit", code.stdout.strip() == git("log", "-1", "--format=%ct").strip(), code.stdout + code.stderr)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
