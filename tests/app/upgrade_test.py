"""The database of an older version: how far its upgrade is, what a rehearsal says and leaves alone, and what is left when it is killed."""

import hashlib
import json
import lzma
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Network, wait_for  # noqa: E402

TAGS, POSTS = 2_000, 300_000  # in all
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def migrations():
    """SQL, by version, as it was released."""
    source = (ROOT / "src" / "migrations" / "migrations.cpp").read_text()
    return {int(number): script for number, script in re.findall(r'kVersion(\d+) = R"sql\((.*?)\)sql"', source, re.S)}


def write_version_1(file):
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript("CREATE TABLE migrations(version INTEGER PRIMARY KEY) STRICT;" + migrations()[1])
        database.execute("INSERT INTO migrations VALUES(1)")
        database.executemany("INSERT INTO history_tags(id, tag, key) VALUES(?, ?, ?)",
                             [(i, f"tag{i}", hashlib.sha256(f"tag{i}".encode()).digest()) for i in range(TAGS)])
        database.execute("""INSERT INTO history(tag, published, tie, author, form, tail, removed)
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
            SELECT i % ?, i, 'https://a.example/' || i, 1, 0, NULL, 0 FROM n""", (POSTS, TAGS))
    database.close()


def state(file):
    """(version, whole, each hashtag has as many posts as it says); the last is true where nothing says so yet."""
    database = sqlite3.connect(file)
    version, = database.execute("SELECT max(version) FROM migrations").fetchone()
    whole = database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    counted = version < 2 or database.execute("SELECT count(*) FROM history_tags WHERE posts = ?", (POSTS // TAGS,)).fetchone() == (TAGS,)
    database.close()
    return version, whole, counted


def run(network, *arguments, **options):
    return subprocess.run([network.binary, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def upgrade(network, *arguments):
    return run(network, "upgrade", *arguments)


def rehearsed(network, old):
    before = hashlib.sha256(old.read_bytes()).hexdigest()
    done = upgrade(network, "--dry-run", "--json", old)
    check("a rehearsal succeeds", done.returncode == 0, done.stderr)
    said = json.loads(done.stdout)
    newest = max(migrations())
    check("it says from where to where, and each step with its time and rows",
          (said["from"], said["to"], said["dry_run"], len(said["steps"])) == (1, newest, True, newest - 1) and all(set(step) == {"does", "rows", "ms"} for step in said["steps"]), said)
    check("what it would write is counted", said["steps"][0]["rows"] >= TAGS, said["steps"][0])
    check("nothing has changed", hashlib.sha256(old.read_bytes()).hexdigest() == before and list(old.parent.iterdir()) == [old], list(old.parent.iterdir()))
    shown = upgrade(network, "--dry-run", old).stdout
    check("for people, how far it is and that nothing was changed", f"step 1 of {newest - 1}: " in shown and "Nothing was changed" in shown, shown)


def killed(network, old, folder):
    """Killed as soon as each of its lines is there: whatever it was at, the database is whole, and the next try goes on."""
    file = folder / "killed.db"
    shutil.copy(old, file)
    lines = kills = 0
    while state(file)[0] < max(migrations()):
        process = subprocess.Popen([network.binary, "upgrade", file], stdout=subprocess.PIPE, text=True)
        said = [process.stdout.readline() for _ in range(lines % 3 + 1)]
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        lines += 1
        found = state(file)
        check(f"whole after a kill at {said[-1].strip()!r}", found[1] and found[2], found)
        if lines > 60:
            break
    check("killed several times, it comes to its end", state(file) == (max(migrations()), True, True) and kills > 0, (state(file), kills))


def at_the_start(network, old):
    data = network.node_directory(0) / "data"
    data.mkdir(mode=0o700)
    shutil.copy(old, data / "tagring.db")
    network.start_node(0)
    log = (network.directory / "oak.log").read_text()
    steps = max(migrations()) - 1
    check("a node that starts says how far it is", all(f"event={event} step={i} of={steps} " in log for event in ["upgrading", "upgraded"] for i in range(1, steps + 1)), log)
    check("and of how many rows, where they are many", f"rows_written={TAGS + 1} rows_to_write={TAGS + 1}" in log, log)
    wait_for("the node", lambda: network.is_settled(0))
    refused = upgrade(network, "--config", network.config_file(0))
    check("a database that is used is left alone", refused.returncode != 0 and "Stop it first" in refused.stderr, refused.stderr)
    network.stop_node(0)
    done = upgrade(network, "--config", network.config_file(0))
    check("there is nothing to do twice", done.returncode == 0 and "nothing to do" in done.stdout, done.stdout + done.stderr)
    check("and all is there", state(data / "tagring.db") == (max(migrations()), True, True))


def refuses(network, folder):
    other = folder / "other.db"
    sqlite3.connect(other).executescript("CREATE TABLE t(a)")
    text = folder / "passwd"
    text.write_text("root:x:0:0:root:/root:/bin/bash\n")
    for what, file, says in [("no file", folder / "none.db", "no such file"), ("another program's database", other, "no database of tagring"),
                             ("another program's file", text, "no database of tagring")]:
        before = file.exists() and (file.chmod(0o644), file.read_bytes())
        done = upgrade(network, "--dry-run", file)
        check(what, done.returncode != 0 and says in done.stderr, done.stderr)
        check("which is left as it is", not before or (file.read_bytes() == before[1] and file.stat().st_mode & 0o777 == 0o644))
    empty = folder / "empty.db"
    empty.touch()
    for command in (["upgrade", "--dry-run", empty], ["upgrade", empty], ["migrate-database", "--from", empty, "--to", folder / "new.db"]):
        done = run(network, *command)
        check(f"an empty file stays empty: {command[0]}", done.returncode == 2 and "nothing is in it" in done.stderr and empty.stat().st_size == 0, done.stderr)
    check("and nothing is made beside it", not list(folder.glob("*.db-*")) and not (folder / "new.db").exists(), list(folder.iterdir()))


def damaged_versions(network, old, folder):
    """A cast of what no version can be ended the program, or had it take one for another."""
    for version in ("-5", "99999999999999999999", "'abc'"):
        file = folder / "damaged.db"
        shutil.copy(old, file)
        with sqlite3.connect(file) as database:
            database.executescript("PRAGMA journal_mode = DELETE; DROP TABLE migrations; CREATE TABLE migrations(version)")
            database.execute(f"INSERT INTO migrations VALUES({version})")
        database.close()
        for command in (["upgrade", file], ["upgrade", "--dry-run", file], ["restore", file, "--config", network.config_file(0)]):
            done = run(network, *command)
            check(f"{command[0]} says of version {version} that it is none", done.returncode == 1 and "its version, '" in done.stderr and done.stderr.count("\n") == 1, (done.returncode, done.stderr))
        file.unlink()


def rows(file):
    """Of each table."""
    database = sqlite3.connect(file)
    names = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    found = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    whole = database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return found, whole


def written_by_older_programs(network, folder):
    """Not what the steps of today make of nothing, but what a node of that version left on the disk."""
    files = sorted((ROOT / "tests" / "db" / "older").glob("version_*.db.xz"))
    check("there are some", files)
    for packed in files:
        version = int(re.search(r"\d+", packed.name)[0])
        file = folder / packed.stem
        file.write_bytes(lzma.decompress(packed.read_bytes()))
        before, _ = rows(file)
        done = upgrade(network, "--json", file)
        check(f"version {version} is upgraded", done.returncode == 0 and json.loads(done.stdout)["from"] == version, done.stdout + done.stderr)
        after, whole = rows(file)
        missing = {name: (count, after.get(name)) for name, count in before.items() if name != "migrations" and after.get(name) != count}
        check("has every row that it had, and is whole", whole and sum(before.values()) > 100 and not missing, missing)
        file.unlink()


def unreadable(network, old, folder):
    """As somebody who may not read it: it is not said to be damaged."""
    if os.geteuid() != 0:
        return print("skipped: only root can be somebody else")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        file = Path(name) / "copy.db"
        shutil.copy(old, file)
        file.chmod(0o600)
        config = Path(name) / "tagring.toml"
        config.write_text('[node]\nhost = "tags.example.net"\naddress = "192.0.2.1"\n[listen]\nsocket = "http.sock"\n[ring]\ncreate = true\n')
        config.chmod(0o644)
        done = run(network, "restore", file, "--config", config, user="nobody")
        check("what may not be read is not called damaged", done.returncode == 1 and f"cannot read {file}: Permission denied" in done.stderr, done.stderr)


def main():
    with Network(ROOT / "run" / "upgrade_test", nodes=1) as network, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "old").mkdir()
        old = folder / "old" / "tagring.db"
        write_version_1(old)
        rehearsed(network, old)
        killed(network, old, folder)
        refuses(network, folder)
        damaged_versions(network, old, folder)
        unreadable(network, old, folder)
        written_by_older_programs(network, folder)
        at_the_start(network, old)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
