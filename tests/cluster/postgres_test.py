"""A node whose database is PostgreSQL: it publishes, is killed and started again, loses the server for some seconds, moves to SQLite, and is
upgraded.

    python3 tests/cluster/postgres_test.py
"""

import os
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from network import Failure, Network, node_host, wait_for  # noqa: E402
from postgres import Postgres, programs  # noqa: E402

ON_POSTGRES, ON_SQLITE = 0, 1
TAG = "caturday"


def get(network, path):
    """(status, how long to wait) of the node on PostgreSQL."""
    context = ssl.create_default_context(cafile=str(network.directory / "certs" / "ca.pem"))
    context.check_hostname = False  # called by its address
    url = f"https://{network.node_address(ON_POSTGRES)}:{network.port}{path}"
    try:
        with urllib.request.urlopen(url, context=context, timeout=30) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"]
    except OSError as error:
        raise Failure(f"{url}: {error}") from error


def main():
    failures, passed = [], 0

    def check(what, condition):
        nonlocal passed
        try:
            print(f"  ok    {what}: {wait_for(what, condition, seconds=90):.0f} s")
            passed += 1
        except Failure as failure:
            print(f"  FAIL  {failure}")
            failures.append(what)

    try:
        programs()
    except Failure:
        print("missing: PostgreSQL (tools/setup installs it)\n0 passed, 1 failed")
        return 1
    with Postgres() as server, Network(ROOT / "run" / "postgres_test", nodes=2) as network:
        dsn = server.create("tagring")
        refused = f"{programs()}"  # where nobody listens
        network.write_config(ON_POSTGRES, extra=f'[database]\npostgres = "host={refused} dbname=tagring"\n')
        command = [network.binary, "run", "--config", network.config_file(ON_POSTGRES)]
        no_server = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check("without a server it says so, and ends", lambda: no_server.returncode != 0 and "PostgreSQL cannot be reached" in no_server.stderr)

        network.write_config(ON_POSTGRES, extra=f'[database]\npostgres = "{dsn}"\n')
        for i in range(2):
            network.start_node(i)
        check("the network is one", network.is_whole)
        kinds = [network.cli(i, "status")["database"] for i in range(2)]
        check("status says which database it is", lambda: kinds == ["postgresql", "sqlite"])
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check("a second process on it is refused", lambda: second.returncode != 0 and "in use by another process" in second.stderr)

        network.start_origins(2)
        network.cli(ON_SQLITE, "subscribe", TAG)
        network.cli(ON_POSTGRES, "subscribe", TAG)
        check("subscriptions", lambda: network.is_settled(ON_SQLITE) and network.is_settled(ON_POSTGRES))

        def has(i, count):
            return lambda: len({uri for _, _, tag, uri in network.feed(i) if tag == TAG}) == count and len(network.history(i, TAG)) == count

        network.control("origins", "/post", {"text": f"First #{TAG}"})
        check("a post is there", has(ON_POSTGRES, 1))
        network.kill_node(ON_POSTGRES)
        network.start_node(ON_POSTGRES)
        check("killed and started, it is back", network.is_whole)
        check("with what it had", has(ON_POSTGRES, 1))

        process = network.processes["oak"]
        server.stop()
        check("without its server it is not ready", lambda: get(network, "/readyz")[0] == 503)
        check("who reads is asked to wait", lambda: get(network, f"/tagring/v1/history?tag={TAG}") == (503, "10"))
        refused = network.control("origins", "/post", {"text": f"Lost #{TAG}", "retries": 0})
        check("a post is refused, and may come later", lambda: refused["status"] == 503)
        with ThreadPoolExecutor(1) as beside:
            delivery = beside.submit(network.control, "origins", "/post", {"text": f"Second #{TAG}", "retries": 50})
            server.start()
            check("a server that tries again is heard", lambda: delivery.result()["status"] < 300)
        check("it comes back with the server", lambda: get(network, "/readyz")[0] == 200)
        check("and is the same process", lambda: process.poll() is None)
        check("what was posted meanwhile is there", has(ON_POSTGRES, 2))
        check("and on the other", has(ON_SQLITE, 2))

        network.stop_node(ON_POSTGRES)
        file = network.node_directory(ON_POSTGRES) / "data" / "tagring.db"
        copied = subprocess.run([network.binary, "migrate-database", "--from", dsn, "--to", file], capture_output=True, text=True, timeout=120)
        check("it is copied to SQLite", lambda: copied.returncode == 0)
        network.write_config(ON_POSTGRES)
        network.start_node(ON_POSTGRES)
        check("and is the same node there", network.is_whole)
        check("with the same history", has(ON_POSTGRES, 2))
        network.stop_node(ON_POSTGRES)

        former = f"https://{node_host(ON_POSTGRES)}:{network.port}"
        server.psql("CREATE DATABASE copied TEMPLATE tagring")

        def ask(query):
            return subprocess.run([programs() / "psql", "-h", server.directory, "-U", "admin", "-d", "copied", "-Atc", query], capture_output=True, text=True, check=True).stdout

        ask("INSERT INTO followers(tag, actor, inbox, follow_id, via, since) VALUES('owls', 'https://a.example/a', 'https://a.example/in', 'f', 0, 0)")
        key = ask("SELECT value FROM meta WHERE name = 'key'")
        network.write_config(ON_POSTGRES, extra=f'[database]\npostgres = "{dsn.replace("/tagring", "/copied")}"\n')
        config = network.config_file(ON_POSTGRES)
        text = config.read_text().replace(f'host = "{node_host(ON_POSTGRES)}"', 'host = "fedify.example"').replace(f"certs/{node_host(ON_POSTGRES)}.", "certs/fedify.example.")
        config.write_text(text)
        taken = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check("another node does not start on a copy", lambda: taken.returncode == 2 and f'put moved_from = "{former}"' in taken.stderr)
        config.write_text(text.replace('data = "data"', f'data = "other"\nmoved_from = "{former}"'))
        network.start_node(ON_POSTGRES)
        check("but the one that goes on for it", lambda: network.is_listening(ON_POSTGRES))
        check("whose followers and key it has not", lambda: ask("SELECT count(*) FROM followers WHERE tag = 'owls'") == "0\n" and ask("SELECT value FROM meta WHERE name = 'key'") not in ("", key))
        network.stop_node(ON_POSTGRES)

        ask("DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations)")
        told = network.directory / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(str(told))
            systemd.settimeout(60)
            upgrading = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": str(told)})
            said = systemd.recv(1000).decode()
            upgrading.kill()
            upgrading.wait()
        check("an upgrade has as long as its steps take", lambda: said.startswith(f"EXTEND_TIMEOUT_USEC={5 * 60 * 1_000_000}\n") and "\nSTATUS=upgrading the database, step 1 of 1, " in said)

        empty = server.create("empty")
        network.write_config(ON_POSTGRES, extra=f'[database]\npostgres = "{empty}"\n')
        fresh = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check("it does not become another node on a new database", lambda: fresh.returncode != 0 and "migrate-database" in fresh.stderr)
        # As the documents say, once it runs on PostgreSQL. Another role or schema leads to an empty database, too.
        file.rename(network.directory / "former.db")
        fresh = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check("nor when only PostgreSQL ever had it", lambda: fresh.returncode != 0 and "in-postgresql" in fresh.stderr)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
