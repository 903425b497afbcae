"""A certificate as an administrator gets one, by certbot and the package's hook, from a real ACME server (Debian's pebble, which looks whether
the name is ours as Let's Encrypt does); and its renewal, which a running node takes by itself."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TAGRING_BINARY") or ROOT / "build" / "release" / "tagring")
HOST = "tags.example.org"
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return False


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Authority:
    """pebble, and a DNS that has 127.0.0.1 for every name."""

    def __init__(self, folder):
        self.folder, self.port, self.management, self.http = folder, free_port(), free_port(), free_port()
        self.names = free_port()
        subprocess.run([ROOT / "demo/ca.sh", folder / "own", "localhost"], check=True)
        (folder / "pebble.json").write_text(json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.management}", "certificate": str(folder / "own/localhost.pem"),
            "privateKey": str(folder / "own/localhost.key"), "httpPort": self.http, "tlsPort": free_port(), "ocspResponderURL": "", "externalAccountBindingRequired": False}}))
        log = open(folder / "pebble.log", "w")
        environment = {**os.environ, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"}
        self.processes = [
            subprocess.Popen(["pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{self.names}", "-http01", "", "-https01", "", "-tlsalpn01", "",
                              "-management", f"127.0.0.1:{free_port()}"], stdout=log, stderr=log),
            subprocess.Popen(["pebble", "-config", folder / "pebble.json", "-dnsserver", f"127.0.0.1:{self.names}"], stdout=log, stderr=log, env=environment)]

    def is_up(self):
        return is_open(self.port) and is_open(self.management)

    def root(self):
        done = subprocess.run(["curl", "-sS", "--cacert", self.folder / "own/ca.pem", f"https://localhost:{self.management}/roots/0"], capture_output=True, text=True, check=True)
        return done.stdout

    def certbot(self, *arguments):
        folders = [part for what in ["config", "work", "logs"] for part in (f"--{what}-dir", self.folder / f"certbot-{what}")]
        environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(self.folder / "own/ca.pem"), "TAGRING_TLS": str(self.folder / "tls"), "TAGRING_GROUP": "root"}
        return subprocess.run([str(part) for part in ["certbot", *arguments, "--non-interactive", "--server", f"https://localhost:{self.port}/dir", "--standalone", "--http-01-port", self.http, *folders]],
                              capture_output=True, text=True, env=environment, timeout=300)

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait(20)


def served(folder, port):
    """The number of the certificate that the node shows, which must be a good one."""
    context = ssl.create_default_context(cafile=folder / "root.pem")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, context.wrap_socket(plain, server_hostname=HOST) as tls:
            return tls.getpeercert()["serialNumber"]
    except OSError as error:
        return f"none: {error}"


def node_takes_what_it_gets(folder, authority):
    (folder / "root.pem").write_text(authority.root())
    port = free_port()
    (folder / "tagring.toml").write_text(f"""[node]
host = "{HOST}"
port = {port}
address = "127.0.0.1"
data = "data"
[listen]
certificate = "tls/fullchain.pem"
key = "tls/privkey.pem"
[ring]
create = true
[network]
allow_private_addresses = true
ca_file = "root.pem"
[network.hosts]
"{HOST}" = "127.0.0.1"
""")
    with open(folder / "node.log", "w") as log:
        node = subprocess.Popen([BINARY, "run", "--json", "--config", folder / "tagring.toml"], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        if not check("the node starts with it", "ready" in node.stdout.readline(), (folder / "node.log").read_text()):
            return
        first = served(folder, port)
        check("and others take it", not first.startswith("none"), first)
        done = authority.certbot("renew", "--force-renewal", "--no-random-sleep-on-renew")
        check("it is renewed", done.returncode == 0, done.stdout + done.stderr)
        taken = wait_for(lambda: served(folder, port) != first)
        check("the node takes the new one by itself, and others take that", taken and not served(folder, port).startswith("none"), (first, served(folder, port)))
    finally:
        node.send_signal(signal.SIGTERM)
        node.wait(60)


def main():
    missing = [name for name in ["pebble", "pebble-challtestsrv", "certbot"] if not shutil.which(name)]
    if missing:
        print(f"missing: {', '.join(missing)} (tools/setup installs it)\n0 passed, 1 failed")
        sys.exit(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = Authority(folder)
        try:
            if check("the authority is up", wait_for(authority.is_up), (folder / "pebble.log").read_text()):
                done = authority.certbot("certonly", "-d", HOST, "--agree-tos", "--register-unsafely-without-email", "--deploy-hook", ROOT / "packaging/certbot-hook")
                files = sorted(file.name for file in (folder / "tls").glob("*"))
                if check("certbot gets a certificate, and the hook hands it over", done.returncode == 0 and files == ["fullchain.pem", "privkey.pem"], done.stdout + done.stderr):
                    node_takes_what_it_gets(folder, authority)
        finally:
            authority.end()
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
