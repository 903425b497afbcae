"""One of eight nodes lies: as a relay, as a storage owner and as a keeper it says what is not so, in what it sends, signed with its key,
and in what it answers: in front of the program that ships stands another one that has key and certificate. Nobody misses a post, sees
one that is not, or another date; and it is found out. Real processes, real TLS.

    python3 tests/cluster/liar_test.py
"""

import base64
import hashlib
import http.client
import json
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, node_host, origin_host, wait_for  # noqa: E402

NODES = 8
ORIGINS = 2
POSTS = 24
SUBSCRIBERS = [2, 3, 4]


class Liar:
    """Node i, which has ended, and of which somebody else has the key and the database."""

    def __init__(self, network, i):
        self.network, self.i = network, i
        self.actor = f"https://{node_host(i)}:{network.port}/actor"
        self.context = ssl.create_default_context(cafile=str(network.directory / "certs" / "ca.pem"))
        self.key = network.directory / "liar.pem"
        with self.database() as database:
            self.key.write_bytes(database.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0])
        self.sent = 0

    @contextmanager
    def database(self):
        with closing(sqlite3.connect(self.network.node_directory(self.i) / "data" / "tagring.db")) as database, database:
            yield database

    def sign(self, text):
        command = ["openssl", "dgst", "-sha256", "-sign", self.key]
        return base64.b64encode(subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout).decode()

    def send(self, to, path, body):
        """Signed; the status."""
        host = f"{node_host(to)}:{self.network.port}"
        data = json.dumps(body).encode()
        date = formatdate(usegmt=True)
        digest = "SHA-256=" + base64.b64encode(hashlib.sha256(data).digest()).decode()
        text = f"(request-target): post {path}\nhost: {host}\ndate: {date}\ndigest: {digest}"
        headers = {"Host": host, "Date": date, "Digest": digest, "Content-Type": "application/activity+json",
                   "Signature": f'keyId="{self.actor}#main-key",algorithm="rsa-sha256",headers="(request-target) host date digest",'
                                f'signature="{self.sign(text)}"'}
        connection = http.client.HTTPSConnection(self.network.node_address(to), self.network.port, context=Named(self.context, node_host(to)), timeout=60)
        connection.request("POST", path, data, headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def batch(self, to, kind, target, items):
        self.sent += 1
        activity = {"@context": "https://www.w3.org/ns/activitystreams", "id": f"{self.actor}/lies/{self.sent}", "type": kind, "actor": self.actor,
                    "object": items}
        if target:
            activity["target"] = f"https://{node_host(to)}:{self.network.port}{target}"
        if kind == "Undo":
            activity["object"] = {"type": "Announce", "actor": self.actor, "object": items}
        return self.send(to, "/inbox", activity)


class Named:
    """A context for who is called by the address and has a name."""

    def __init__(self, context, name):
        self.context, self.name = context, name

    def wrap_socket(self, sock, **_):
        return self.context.wrap_socket(sock, server_hostname=self.name)

    def __getattr__(self, name):
        return getattr(self.context, name)


def item(uri, tag, author, published):
    return {"id": uri, "type": "Note", "attributedTo": author, "published": published, "tag": [{"type": "Hashtag", "name": f"#{tag}"}],
            "indexable": True}


def owned(network, tag, ring):
    hosts = {contact["host"] for contact in network.cli(0, "owners", tag)[ring]}
    return {i for i in range(NODES) if node_host(i) in hosts}


def choose(network):
    """A hashtag that one node relays and stores, which nobody here relies on, with honest owners of both kinds."""
    for n in range(200):
        tag = f"topic{n}"
        relays, stores = owned(network, tag, "relay"), owned(network, tag, "storage")
        both = [i for i in relays & stores if i > max(SUBSCRIBERS)]
        if both and len(relays) > 1 and len(stores) > 2:
            return tag, both[0], relays, stores
    raise Failure("no such hashtag")


class Front:
    """What others reach at the liar's address: the node behind it, but for what it has of that hashtag. There it says that half of the
    posts were removed and the others are of another date, that there is one that never was; and signs that it has none at all."""

    def __init__(self, network, liar, tag, invented):
        self.network, self.liar, self.tag, self.invented = network, liar, tag, invented
        self.socket = network.directory / "liar.sock"
        self.told = {"history": 0, "proof": 0}
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, headers, data = front.answer(self.command, self.path, self.headers, body, self.client_address[0])
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        certs = network.directory / "certs"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / f"{node_host(liar.i)}.pem", certs / f"{node_host(liar.i)}.key")
        self.server = Server((network.node_address(liar.i), network.port), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method, path, headers, body, peer):
        query = parse_qs(urlsplit(path).query)
        is_about_it = query.get("tag", [""])[0].lstrip("#").lower() == self.tag
        if is_about_it and urlsplit(path).path == "/tagring/v1/history/proof":
            self.told["proof"] += 1
            return 200, [("Content-Type", "application/json")], json.dumps(self.nothing(query)).encode()
        connection = Local(self.socket)
        connection.request(method, path, body, {**dict(headers.items()), "X-Forwarded-For": peer, "Connection": "close"})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        if is_about_it and urlsplit(path).path == "/tagring/v1/history" and response.status == 200:
            self.told["history"] += 1
            data = json.dumps(self.altered(json.loads(data))).encode()
        return response.status, response.getheaders(), data

    def altered(self, page):
        entries = [{**entry, **({"removed": True} if n % 2 else {"published": entry["published"] - 7_200_000})}
                   for n, entry in enumerate(page["entries"])]
        entries.append({"uri": self.invented["id"], "author": self.invented["attributedTo"], "published": int(time.time() * 1000)})
        page["entries"] = sorted(entries, key=lambda entry: (entry["published"], entry["uri"]), reverse=True)
        return page

    def nothing(self, query):
        hour, slot = int(query["hour"][0]), int(query.get("slot", ["0"])[0])
        head = {"network": "demo", "actor": self.liar.actor, "tag": self.tag, "hour": hour, "kept_from": 0, "at": int(time.time() * 1000), "size": 0,
                "root": hashlib.sha256(b"").hexdigest()}
        text = "\n".join(map(str, ["tagring head", head["network"], head["actor"], self.tag, hour, 0, 0, head["at"], 0, head["root"]]))
        ids = [one for one in query.get("id", [""])[0].split(",") if one]
        return {"head": {**head, "slot": slot, "signature": self.liar.sign(text)}, "proofs": [{} for _ in ids]}


class Local(http.client.HTTPConnection):
    """To a socket that is a file."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def lie(network, liar, tag, posts, relays, stores):
    """Everything that it could send, to everybody whom it concerns. How much."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    authors = {post: post.rsplit("/", 1)[0] for post in posts}
    true = [item(uri, tag, author, posts[uri]) for uri, author in authors.items()]
    author = next(iter(authors.values()))
    invented = [item(f"https://{origin_host(n % 5)}:{network.port}/users/nobody/{n}", tag, f"https://{origin_host(n % 5)}:{network.port}/users/nobody", now)
                for n in range(10)]
    redated = [{**one, "published": "2001-01-01T00:00:00Z"} for one in true]
    stolen = [{**one, "attributedTo": author + "0"} for one in true]
    statuses = []
    for to in (stores | relays) - {liar.i}:
        for target in ["/storage", "/relay"]:
            statuses += [liar.batch(to, "Remove", target, true)] + [liar.batch(to, "Add", target, lies) for lies in [invented, redated, stolen]]
    for to in SUBSCRIBERS:
        statuses += [liar.batch(to, "Undo", None, true)] + [liar.batch(to, "Announce", None, lies) for lies in [invented, redated]]
    for to in stores - {liar.i}:
        statuses.append(liar.send(to, "/tagring/v1/stores", {"action": "set", "tag": tag, "version": 1 << 53, "replicas": 256, "reach": 256,
                                                             "at": int(time.time() * 1000), "nonce": 1}))
    return statuses


def main():
    failures, passed = [], 0

    def check(what, ok):
        nonlocal passed
        print(f"  {'ok  ' if ok else 'FAIL'}  {what}")
        if ok:
            passed += 1
        else:
            failures.append(what)

    with Network(ROOT / "run" / "liar_test", nodes=NODES) as network:
        for i in range(NODES):
            network.write_config(i, extra="[balance]\nenabled = false\n")
            network.start_node(i)
        wait_for("the ring", lambda: network.is_whole())
        network.start_origins(ORIGINS)
        tag, number, relays, stores = choose(network)
        print(f"node {number} of #{tag} lies; relays {sorted(relays)}, storage owners {sorted(stores)}")
        for i in SUBSCRIBERS:
            network.cli(i, "subscribe", tag)
        wait_for("subscriptions", lambda: all(map(network.is_settled, SUBSCRIBERS)))
        ids = {network.control("origins", "/post", {"text": f"Post {n} #{tag}"})["id"] for n in range(POSTS)}
        posts = {post["id"]: post["published"] for post in network.control("origins", "/posts") if post["id"] in ids}
        honest = [i for i in range(NODES) if i != number]

        def wrong():
            """Who sees anything else than what was published."""
            found = []
            for i in honest:
                entries = network.history(i, tag)
                seen = {entry["uri"]: entry["published"] for entry in entries}
                if len(seen) != len(entries) or seen.keys() != posts.keys():
                    found.append(f"the history through {i}: {len(posts.keys() - seen.keys())} missing, {len(seen.keys() - posts.keys())} invented")
                elif any(seen[uri] // 1000 != moment(posts[uri]) for uri in posts):
                    found.append(f"the history through {i} has other dates")
            for i in SUBSCRIBERS:
                feed = [(op, uri) for _, op, of, uri in network.feed(i) if of == tag]
                if sorted(uri for op, uri in feed if op == "add") != sorted(posts) or any(op != "add" for op, _ in feed):
                    found.append(f"the feed of {i}: {len(feed)} for {len(posts)} posts")
            return found

        wait_for("the posts everywhere", lambda: not wrong())
        receipts = wait_for("receipts", lambda: network.cli(0, "audit", tag, codes=(0, 1))["receipts"] >= POSTS)
        check(f"nothing is missing before it lies (receipts after {receipts:.0f} s)", not network.cli(0, "audit", tag)["findings"])
        network.stop_node(number)
        liar = Liar(network, number)
        host = f"https://{origin_host(0)}:{network.port}/users"
        front = Front(network, liar, tag, item(f"{host}/nobody/1", tag, f"{host}/nobody", ""))
        certificate = network.config_file(number).read_text().split("[listen]")[1].split("[ring]")[0]
        network.config_file(number).write_text(network.config_file(number).read_text().replace(certificate, f'\nsocket = "{front.socket}"\n\n'))
        network.start_node(number)
        wait_for("the ring", lambda: network.is_whole())
        for _ in range(2):
            statuses = lie(network, liar, tag, posts, relays, stores)
            found = wrong()
            check(f"{len(statuses)} requests of lies, of which {statuses.count(200)} are answered item by item, change nothing"
                  f"{': ' + '; '.join(found) if found else ''}", not found and statuses.count(200) > len(statuses) // 2)
        check(f"it told them {front.told}", front.told["history"] > 0)
        check("no version of a set was taken", not any(network.cli(i, "status")["storage_sets"] for i in honest))

        # Who published the posts audits; the proof is handed to the others.
        name = f"https://{node_host(number)}:{network.port}"
        evidence = network.directory / "evidence"
        report = network.cli(0, "audit", tag, "--out", evidence, codes=(1,))
        named = {finding["owner"] for finding in report["findings"]}
        proved = sum("evidence" in finding for finding in report["findings"])
        check(f"an audit names it alone, and proves {proved} omissions", named == {name} and proved > 0)
        before = {file: file.read_bytes() for file in evidence.glob("omission-*.json")}
        network.cli(0, "audit", tag, "--out", evidence, codes=(0, 1))
        check("another audit overwrites none of the proofs", len(before) == proved and all(file.read_bytes() == text for file, text in before.items()))
        check("which prove it still", all(network.cli(0, "audit", "--verify", file)["proved"] for file in list(before)[:3]))
        offenders = lambda i: [one["owner"] for one in network.cli(i, "show", "offenders")["offenders"]]  # noqa: E731
        told = (relays | stores) - {number}
        try:
            wait_for("the others have the proof", lambda: all(offenders(i) == [name] for i in told | {0}), 60)
            check(f"{len(told)} owners have the proof", True)
        except Failure as failure:
            check(str(failure), False)
        check("it was told, too, and believes nothing of others", network.cli(number, "status")["audits"]["accused"] > 0 and not offenders(number))
        found = wrong()
        check(f"nobody misses or sees anything else after all that{': ' + '; '.join(found) if found else ''}", not found)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


def moment(text):
    """Seconds since 1970."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() // 1


if __name__ == "__main__":
    sys.exit(main())
