"""What an attack needs: a node with a neighbour, an honest user whose waiting is measured, and an attacker who has addresses, servers and
keys of their own. Everything is on the loopback interface; who comes from 127.0.7.1 and who from 127.20.x.x and beyond is told apart by address.
"""

import base64
import ctypes
import ctypes.util
import hashlib
import http.client
import json
import multiprocessing
import os
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, node_host, origin_host, wait_for  # noqa: E402

HONEST = "127.0.7.1"
BESIDE = "beside.example"  # a server that nobody attacks: what the honest user waits for it is this machine's doing
EVIL = "evil.attacker.example"
VICTIM = "victim.example"  # a third party that the attacker aims at
TARPIT = "tarpit.attacker.example"
DOMAINS = [f"attacker{i}.example" for i in range(12)]  # registered one by one
SERVERS = {EVIL: "127.0.6.1", VICTIM: "127.0.6.2", TARPIT: "127.0.6.3", **{host: f"127.0.6.{10 + i}" for i, host in enumerate(DOMAINS)}}
OWN = origin_host(0)  # the node's own instance
PROXY = "127.0.8.1"  # says for whom it connects, so that there are IPv6 addresses without a network of them
NAME_SERVER = "127.0.5.1"  # takes questions, and answers none
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"


class Signer:
    """A key, and signatures by it (draft-cavage)."""

    def __init__(self, directory):
        file = directory / "attacker.key"
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", file], check=True,
                       capture_output=True)
        self.pem = subprocess.run(["openssl", "pkey", "-in", file, "-pubout"], check=True, capture_output=True, text=True).stdout
        self.crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))  # a process for each signature would be a weak attacker
        for name in ["BIO_new_mem_buf", "PEM_read_bio_PrivateKey", "EVP_MD_CTX_new", "EVP_sha256"]:
            getattr(self.crypto, name).restype = ctypes.c_void_p
        private = file.read_bytes()
        text = ctypes.c_void_p(self.crypto.BIO_new_mem_buf(private, len(private)))
        self.key = ctypes.c_void_p(self.crypto.PEM_read_bio_PrivateKey(text, None, None, None))
        self.hash = ctypes.c_void_p(self.crypto.EVP_sha256())

    def sign(self, text):
        context = ctypes.c_void_p(self.crypto.EVP_MD_CTX_new())
        signature, size = ctypes.create_string_buffer(512), ctypes.c_size_t(512)
        if (self.crypto.EVP_DigestSignInit(context, None, self.hash, None, self.key) != 1
                or self.crypto.EVP_DigestSign(context, signature, ctypes.byref(size), text, ctypes.c_size_t(len(text))) != 1):
            raise Failure("libcrypto does not sign")
        self.crypto.EVP_MD_CTX_free(context)
        return signature.raw[:size.value]

    def headers(self, host, path, body, key_id, genuine=True):
        date = formatdate(usegmt=True)
        digest = "SHA-256=" + base64.b64encode(hashlib.sha256(body).digest()).decode()
        text = f"(request-target): post {path}\nhost: {host}\ndate: {date}\ndigest: {digest}"
        signature = self.sign(text.encode()) if genuine else os.urandom(256)
        value = base64.b64encode(signature).decode()
        return {"Host": host, "Date": date, "Digest": digest, "Content-Type": "application/activity+json",
                "Signature": f'keyId="{key_id}",algorithm="rsa-sha256",headers="(request-target) host date digest",signature="{value}"'}


class Servers:
    """The attacker's own, and that of the victim. Actors are at /users/…, keys in them; whatever is asked for is counted."""

    def __init__(self, world):
        self.world = world
        self.asked = {host: 0 for host in SERVERS}
        self.lock = threading.Lock()
        self.notes = {}  # of the node's own instance, by their paths
        self.all = [self._start(host, address) for host, address in [*SERVERS.items(), (OWN, world.network.origin_address(0))]]

    def _start(self, host, address):
        servers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802
                with servers.lock:
                    servers.asked[host] = servers.asked.get(host, 0) + 1
                if host == TARPIT:
                    time.sleep(30)
                body = servers.document(host, self.path)
                self.answer(200 if body else 404, body)

            def do_POST(self):  # noqa: N802
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/tagring/v1/ring":
                    with servers.lock:
                        servers.asked[host] = servers.asked.get(host, 0) + 1
                self.answer(202 if host in DOMAINS else 503, b"")

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/activity+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        server = Server((address, self.world.network.port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certs = self.world.network.directory / "certs"
        context.load_cert_chain(certs / f"{host}.pem", certs / f"{host}.key")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def document(self, host, path):
        if host == OWN and path in self.notes:
            return json.dumps(self.notes[path]).encode()
        if host in (VICTIM, TARPIT) or not path.startswith("/users/"):
            return b""
        origin = self.world.origin_of(host)
        actor = origin + path.split("?")[0]
        return json.dumps({"@context": "https://www.w3.org/ns/activitystreams", "id": actor, "type": "Person", "inbox": actor + "/inbox",
                           "preferredUsername": actor.rsplit("/", 1)[-1], "indexable": True, "discoverable": True,
                           "publicKey": {"id": actor + "#main-key", "owner": actor, "publicKeyPem": self.world.signer.pem}}).encode()

    def counts(self):
        """How often each that the attacker may choose was asked."""
        with self.lock:
            return {host: self.asked[host] for host in SERVERS}

    def stop(self):
        for server in self.all:
            server.shutdown()
            server.server_close()


class Honest:
    """Asks a server, waits, asks again; how long each answer took goes to `times`: (server, start, seconds), -1: there was none."""

    # With what is sent: that is no call, which is the answer if it is read.
    ASKED = [("/actor", None), ("/.well-known/nodeinfo", None), ("/tagring/v1/ring", b"{}"), ("/tagring/v1/history?tag=cats&limit=5", None)]

    def __init__(self, host, address, port, context, times):
        self.host, self.address, self.port, self.context, self.times = host, address, port, context, times
        self.connection, self.turn = None, 0

    def ask(self):
        started = time.monotonic()
        path, sent = self.ASKED[self.turn % len(self.ASKED)]
        try:
            status, body, will_close = self._ask(path, sent)
            is_right = status == 400 if sent else status < 400
            wrong = "" if is_right else f"{status} for {path} ({body[:200]!r})"
            if will_close or self.turn % 20 == 19:  # newcomers must get in as well
                self.leave()
        except (OSError, http.client.HTTPException) as error:
            wrong = repr(error)
            self.connection = None
        took = time.monotonic() - started
        if wrong:
            print(f"the honest user got {wrong} of {self.host} after {took:.1f} s", flush=True)
        self.times.put((self.host, started, -1.0 if wrong else took))
        self.turn += 1

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def _ask(self, path, body):
        if self.connection is None:
            raw = socket.create_connection((self.address, self.port), timeout=30, source_address=(HONEST, 0))
            self.connection = http.client.HTTPConnection(self.host, self.port)
            self.connection.sock = self.context.wrap_socket(raw, server_hostname=self.host)
        self.connection.request("POST" if body else "GET", path, body, headers={"Host": f"{self.host}:{self.port}"})
        response = self.connection.getresponse()
        body = response.read()
        return response.status, body, response.will_close


def be_honest(servers, port, ca, stop, away, times):
    """Runs in a process of its own. `servers`: (host, address)."""
    context = ssl.create_default_context(cafile=ca)
    users = [Honest(host, address, port, context, times) for host, address in servers]
    while not stop.is_set():
        for user in users:
            user.leave() if away.is_set() else user.ask()
        time.sleep(0.02)


def serve_beside(address, port, certs):
    """Runs in a process of its own: answers anything."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):  # noqa: N802
            self._answer(200)

        def do_POST(self):  # noqa: N802
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(400)

        def _answer(self, status):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((address, port), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / f"{BESIDE}.pem", certs / f"{BESIDE}.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


class AbusedNetwork(Network):
    """The first node has the silent name server, where this process may mount one; the third is the attacker's."""

    IN_MOUNTS = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"']

    def __enter__(self):
        super().__enter__()
        self.resolv_conf = self.directory / "resolv.conf"
        self.resolv_conf.write_text(f"nameserver {NAME_SERVER}\n")
        self.names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.names.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # of another test at the same time
            self.names.bind((NAME_SERVER, 53))
            tried = subprocess.run([*self.IN_MOUNTS, self.resolv_conf, "true"], capture_output=True, text=True)
            self.why_no_names = tried.stderr.strip() if tried.returncode != 0 else ""
        except OSError as error:
            self.why_no_names = str(error)
        self.write_config(0, listen=f'trusted_proxies = ["{PROXY}"]\nproxy_protocol = true')
        return self

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.names.close()

    def before_node(self, i):
        return [*self.IN_MOUNTS, self.resolv_conf] if i == 0 and not self.why_no_names else []


class World:
    large = "large"  # a hashtag of 300,000 posts in ten years, at the first node

    def __init__(self, directory):
        self.network = AbusedNetwork(directory, nodes=3, peers={**SERVERS, BESIDE: "127.0.7.2"})

    def __enter__(self):
        self.network.__enter__()
        self.network.start_node(0)
        self.network.start_node(1)
        wait_for("rings", self.network.is_whole)
        self.network.stop_node(0)
        self.fill()
        self.network.start_node(0)
        wait_for("rings", self.network.is_whole)  # while places are taken, "busy" is the right answer, and no attack's doing
        self.signer = Signer(self.network.directory)
        self.servers = Servers(self)
        self.host, self.address, self.port = node_host(0), self.network.node_address(0), self.network.port
        self.context = ssl.create_default_context(cafile=self.network.directory / "certs" / "ca.pem")
        self.stop_honest, self.honest_away = multiprocessing.Event(), multiprocessing.Event()
        self.times = multiprocessing.Queue()
        certs, beside = self.network.directory / "certs", self.network.peers[BESIDE]
        asked = [(self.host, self.address), (BESIDE, beside)]
        self.others = [multiprocessing.Process(target=serve_beside, args=(beside, self.port, certs), daemon=True),
                       multiprocessing.Process(target=be_honest, daemon=True, args=(
                           asked, self.port, str(certs / "ca.pem"), self.stop_honest, self.honest_away, self.times))]
        for process in self.others:
            process.start()
        self.seen = []
        return self

    def __exit__(self, *_):
        self.stop_honest.set()
        self.others[-1].join(5)
        for process in self.others:
            process.terminate()
        self.servers.stop()
        self.network.__exit__()

    def fill(self):
        """Puts the posts of the large hashtag into the database of the first node, which does not run."""
        database = sqlite3.connect(self.network.node_directory(0) / "data" / "tagring.db")
        count, day = 300_000, 86_400_000
        start = int(time.time() * 1000) - 3600 * day
        database.execute("INSERT INTO history_tags(id, tag, key, posts) VALUES(900, ?, ?, ?)",
                         (self.large, hashlib.sha3_256(self.large.encode()).digest(), count))
        database.execute("INSERT INTO history_strings(id, text) VALUES(900, 'https://large.example/')")
        database.executemany("INSERT INTO history_authors(id, prefix, name) VALUES(?, 900, ?)", ((1000 + i, f"u{i}") for i in range(5000)))
        database.executemany("INSERT INTO history(tag, published, tie, author, form, tail, removed) VALUES(900, ?, '', ?, 900, ?, 0)",
                             ((start + i * (3590 * day // count), 1000 + i * 7919 % 5000, i) for i in range(count)))
        database.commit()
        database.close()

    def origin_of(self, host):
        return f"https://{host}:{self.network.port}"

    @property
    def authority(self):
        return f"{self.host}:{self.port}"

    # --- the attacker --------------------------------------------------------------------------------------

    def raw(self, source, timeout=10):
        """A TCP connection to the node."""
        return socket.create_connection((self.address, self.port), timeout=timeout, source_address=(source, 0))

    def open(self, source, timeout=10):
        """The same with TLS."""
        return self.context.wrap_socket(self.raw(source, timeout), server_hostname=self.host)

    def open_as(self, client, timeout=10):
        """The same, for an IPv6 address."""
        raw = self.raw(PROXY, timeout)
        raw.sendall(f"PROXY TCP6 {client} 2001:db8::1 40000 {self.port}\r\n".encode())
        return self.context.wrap_socket(raw, server_hostname=self.host)

    def signed(self, body, actor=None, path="/inbox", genuine=True, key_id=None):
        """A whole request, signed by the attacker."""
        actor = actor or self.actor("1")
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = self.signer.headers(self.authority, path, data, key_id or actor + "#main-key", genuine)
        return self.post(path, data, headers)

    def post(self, path, data, headers=None):
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {"Host": self.authority, **(headers or {})}.items()),
                 f"Content-Length: {len(data)}", "", ""]
        return "\r\n".join(lines).encode() + data

    def get(self, path, **headers):
        lines = [f"GET {path} HTTP/1.1", f"Host: {self.authority}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    def actor(self, name, host=EVIL):
        return f"{self.origin_of(host)}/users/{name}"

    # --- what it costs -------------------------------------------------------------------------------------

    def rss(self):
        """Bytes."""
        text = Path(f"/proc/{self.network.processes['oak'].pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024

    def database(self):
        """Bytes of all that is in it. The node has it to itself, so this is read from the log: the last transaction says how large it has
        become. The log does not count: it is emptied whenever it has 32 MiB."""
        file = self.network.node_directory(0) / "data" / "tagring.db"
        log = file.with_name("tagring.db-wal")
        data = log.read_bytes() if log.exists() else b""
        size = int.from_bytes(data[8:12], "big")  # of a page
        frames = range(32, len(data) - 24 - size + 1, 24 + size) if size else range(0)
        for at in reversed(frames):
            pages = int.from_bytes(data[at + 4:at + 8], "big")  # 0: the transaction goes on
            if pages and data[at + 8:at + 16] == data[16:24]:  # it is of this log, and not left over in the file
                return pages * size
        return file.stat().st_size

    def wait_for_a_request_after(self, moment):
        """Of the honest user, who makes one after the other."""
        while not any(host == self.host and started >= moment for host, started, _ in self.seen):
            self.seen.append(self.times.get(timeout=60))

    def waits(self, since, until, host):
        """How long the honest user waited for that server then, in seconds, sorted; and how often in vain."""
        while not self.times.empty():
            self.seen.append(self.times.get())
        those = [took for server, started, took in self.seen if server == host and since <= started < until]
        return sorted(took for took in those if took >= 0), sum(took < 0 for took in those)


def p99(waits):
    return 1000 * waits[min(len(waits) - 1, int(0.99 * len(waits)))] if waits else 0.0
