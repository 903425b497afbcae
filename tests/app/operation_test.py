"""What an administrator does with a node: doctor, certificates, reload, metrics, backup and restore, setup. Two real nodes on loopback
addresses, and the real binary."""

import errno
import fcntl
import getpass
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Network, free_port, node_host, wait_for  # noqa: E402
from terminal import on_terminal  # noqa: E402

counts = {True: 0, False: 0}
ADMINISTRATORS_TOKEN = "a-token-of-the-test"


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def run(network, *arguments, **options):
    return subprocess.run([network.binary, *map(str, arguments)], **{"capture_output": True, "text": True, "timeout": 60, **options})


def doctor(network, i):
    done = run(network, "doctor", "--json", "--config", network.config_file(i))
    report = json.loads(done.stdout)
    return done.returncode, report, {one["name"]: one for one in report["checks"]}


def certificate(network, host, names=None, days=5, issuer="ca"):
    """host.pem and host.key in the network's folder, made anew."""
    certs = network.directory / "certs"
    script = f"""set -e; cd {certs}; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out new.key
        openssl req -new -key new.key -subj /O=Test -out new.csr
        printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth' '{",".join("DNS:" + name for name in names or [host])}' > new.ext
        openssl x509 -req -in new.csr -CA {issuer}.pem -CAkey {issuer}.key -days {days} -set_serial 0x$(openssl rand -hex 8) -extfile new.ext -out new.pem
        mv new.key {host}.key; mv new.pem {host}.pem"""
    subprocess.run(["bash", "-c", script], check=True, capture_output=True)


def served(network, i):
    """The certificate that the node shows, and that it is the right one."""
    context = ssl.create_default_context(cafile=network.directory / "certs" / "ca.pem")
    with socket.create_connection((network.node_address(i), network.port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname=node_host(i)) as tls:
            return tls.getpeercert()["serialNumber"]


def get(network, i, path, headers=()):
    done = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", "--cacert", network.directory / "certs" / "ca.pem",
                           "--resolve", f"{node_host(i)}:{network.port}:{network.node_address(i)}",
                           *[part for header in headers for part in ("-H", header)], f"https://{node_host(i)}:{network.port}{path}"],
                          capture_output=True, text=True, timeout=30)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def replace(file, before, after):
    text = file.read_text()
    assert before in text, before
    file.write_text(text.replace(before, after))


def doctor_finds_what_is_wrong(network):
    code, report, checks = doctor(network, 1)
    check("doctor is content with a healthy node", code == 0 and report["ok"] is True, report)
    check("each check has name, ok, detail, what_to_do", all(set(one) == {"name", "ok", "detail", "what_to_do"} for one in report["checks"]))
    check("it looks everywhere", {"configuration", "certificate", "dns", "disk", "permissions", "rings", "reachable", "clock", "proxy", "database"} <= set(checks), list(checks))
    check("another node has reached this one", f"https://{node_host(0)}:{network.port} reached" in checks["reachable"]["detail"], checks["reachable"])
    check("it says where it has bound", checks["listen"]["detail"] == f"port {network.port} of {network.node_address(1)}", checks["listen"])
    shown = run(network, "doctor", "--config", network.config_file(1))
    check("for people, a line each", shown.returncode == 0 and shown.stdout.count("\n") >= len(checks) and "BAD" not in shown.stdout, shown.stdout)

    key = network.directory / "certs" / f"{node_host(1)}.key"
    key.chmod(0o644)
    code, report, checks = doctor(network, 1)
    check("a key that others can read", code == 1 and not report["ok"] and f"chmod 640 {key}" in checks["permissions"]["what_to_do"], checks["permissions"])
    key.chmod(0o600)

    certificate(network, node_host(1), names=["other.example"])
    code, report, checks = doctor(network, 1)
    check("a certificate for another name", code == 1 and "is for other.example, not for" in checks["certificate"]["detail"], checks["certificate"])
    certificate(network, node_host(1))

    # Both nodes were told where this one is by the same table; only its own is changed here.
    network.stop_node(1)
    code, report, checks = doctor(network, 1)
    certs = network.directory / "certs"
    right = key.read_bytes()
    key.write_bytes((certs / f"{node_host(0)}.key").read_bytes())
    _, _, wrong = doctor(network, 1)
    check("a key of another certificate", not wrong["certificate"]["ok"] and "listen.key" in wrong["certificate"]["what_to_do"], wrong["certificate"])
    key.write_bytes(right)
    check("a node that does not run", code == 1 and not checks["node"]["ok"] and "tagring run" in checks["node"]["what_to_do"] and checks["certificate"]["ok"], report)
    replace(network.config_file(1), f'address = "{network.node_address(1)}"', 'address = "127.9.9.9"')
    code, report, checks = doctor(network, 1)
    check("a name that leads elsewhere", not checks["dns"]["ok"] and "A record to 127.9.9.9" in checks["dns"]["what_to_do"], checks["dns"])
    replace(network.config_file(1), 'address = "127.9.9.9"', f'address = "{network.node_address(1)}"')
    broken = network.directory / "broken.toml"
    broken.write_text("[node]\nhots = 1\n")
    done = run(network, "doctor", "--json", "--config", broken)
    check("a configuration with a mistake", done.returncode == 1 and "node.hots" in json.loads(done.stdout)["checks"][0]["detail"], done.stdout)


def root_does_not_write_for_another(network):
    """Root had made the database of a packaged node, as doctor had said, and the node's own user could not open it."""
    if os.geteuid() != 0:
        return print("skipped: only root may give folders away")
    data = network.node_directory(1) / "data"
    shutil.chown(data, "nobody")
    done = run(network, "run", "--config", network.config_file(1))
    check("root does not run what belongs to another", done.returncode == 1 and f"runuser -u nobody -- tagring run --config {network.config_file(1)}" in done.stderr, done.stderr)
    done = run(network, "status", "--config", network.config_file(1))
    check("and is told whose command starts it", 'start it with "runuser -u nobody -- tagring run' in done.stderr, done.stderr)
    _, _, checks = doctor(network, 1)
    check("doctor sees what that user cannot open", not checks["permissions"]["ok"] and f"chown nobody: {data}/tagring.db" in checks["permissions"]["what_to_do"], checks["permissions"])
    token = network.directory / "roots_token"
    token.write_text(ADMINISTRATORS_TOKEN + "\n")
    token.chmod(0o600)
    text = network.config_file(1).read_text()
    replace(network.config_file(1), 'data = "data"', f'data = "data"\nadmin_token_file = "{token}"')
    _, _, checks = doctor(network, 1)
    check("and what it cannot read", f"nobody may not read {token}" in checks.get("readable", {}).get("detail", ""), checks)
    network.config_file(1).write_text(text)
    shutil.chown(data, "root")


def what_may_not_be_read(binary):
    """As the user of a node for whom certbot has made a certificate, which is root's."""
    if os.geteuid() != 0:
        return print("skipped: only root may be another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        tls = Path(folder) / "live"
        tls.mkdir(mode=0o700)
        for name in ["fullchain.pem", "privkey.pem"]:
            (tls / name).write_text("of root")
        config = Path(folder) / "tagring.toml"
        config.write_text(f'''[node]\nhost = "tags.example.org"\naddress = "2001:db8::1"\n[ring]\ncreate = true
[listen]\ncertificate = "{tls}/fullchain.pem"\nkey = "{tls}/privkey.pem"
[network]\nallow_private_addresses = true\n[network.hosts]\n"tags.example.org" = "2001:db8::1"\n''')

        def called(*words):
            return subprocess.run([binary, *words, "--config", config], capture_output=True, text=True, user="nobody", group="nogroup", extra_groups=[])

        def as_nobody():
            done = called("doctor", "--json")
            return {one["name"]: one for one in json.loads(done.stdout)["checks"]}

        found = as_nobody()["certificate"]
        check("a file that may not be read is not said to be missing", "may not be read by this user" in found["detail"] and "certbot-hook" in found["what_to_do"], found)
        done = called("run")
        check("a start without it fails, and not for what the configuration says", done.returncode == 1 and "may not be read by this user" in done.stderr, (done.returncode, done.stderr))
        config.chmod(0o600)
        found = as_nobody()["configuration"]
        check("who may not read the configuration need not correct it", "ask as root" in found["what_to_do"], found)


def not_reached(network):
    """The way in is shut: this node listens where nobody looks for it."""
    replace(network.config_file(1), "[listen]\n", f'[listen]\nport = {free_port()}\n')
    network._start("elm", [network.binary, "run", "--json", "--config", network.config_file(1)])
    wait_for("a member that nobody reaches", lambda: all(ring["member"] for ring in network.cli(1, "status")["rings"].values()))
    status = network.cli(1, "status")
    check("it does not say that it serves", not any(ring["serving"] for ring in status["rings"].values()) and not status["ready"], status["rings"])
    code, report, checks = doctor(network, 1)
    check("doctor says that nobody gets in", code == 1 and not checks["reachable"]["ok"] and "firewall" in checks["reachable"]["what_to_do"], checks["reachable"])
    network.stop_node(1)
    text = network.config_file(1).read_text().splitlines(keepends=True)
    at = text.index("[listen]\n")
    network.config_file(1).write_text("".join(text[:at + 1] + text[at + 2:]))


def wrong_certificates_end_the_start(network):
    host = node_host(1)
    for what, options, says in [("another name", {"names": ["other.example"]}, f"not for {host}"), ("expired", {"days": -1}, "expired on")]:
        certificate(network, host, **options)
        done = run(network, "run", "--config", network.config_file(1))
        check(f"the start ends: {what}", done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, (done.returncode, done.stderr))
    subprocess.run([ROOT / "demo" / "ca.sh", network.directory / "strangers", "x.example"], check=True)
    for end in ["pem", "key"]:
        shutil.copy(network.directory / "strangers" / f"ca.{end}", network.directory / "certs" / f"stranger.{end}")
    certificate(network, host, issuer="stranger")
    done = run(network, "run", "--config", network.config_file(1))
    check("the start ends: of an unknown authority", done.returncode == 2 and "network.ca_file" in done.stderr, done.stderr)
    certificate(network, host)


def reload(network):
    process = network.processes["oak"]
    before = served(network, 0)
    certificate(network, node_host(0))
    process.send_signal(signal.SIGHUP)
    wait_for("the end of what SIGHUP begins", lambda: "reloaded" in (network.directory / "oak.log").read_text())
    check("SIGHUP takes a certificate, and the node lives", served(network, 0) != before and process.poll() is None)
    before = served(network, 0)
    certificate(network, node_host(0))
    wait_for("the new certificate by itself", lambda: served(network, 0) != before)
    check("a renewed certificate is taken by itself", True)
    good = served(network, 0)
    certificate(network, node_host(0), names=["other.example"])
    done = run(network, "reload", "--config", network.config_file(0))
    check("a wrong one is refused, and the one before stays", done.returncode != 0 and "not for" in done.stderr and served(network, 0) == good, done.stderr)
    certificate(network, node_host(0))
    network.cli(0, "reload")
    until = network.cli(0, "status")["certificate_until"]
    key = network.directory / "certs" / f"{node_host(0)}.key"
    right = key.read_bytes()
    certificate(network, node_host(0), days=50)
    key.write_bytes(right)
    done = run(network, "reload", "--config", network.config_file(0))
    check("one without its key is refused", done.returncode != 0 and "private key" in done.stderr, done.stderr)
    check("and does not count as the node's", network.cli(0, "status")["certificate_until"] == until)
    certificate(network, node_host(0))
    network.cli(0, "reload")
    replace(network.config_file(0), str(key), str(network.directory / "certs" / f"{node_host(1)}.key"))
    code, _, checks = doctor(network, 0)
    check("doctor reads the file that the next start reads", code == 1 and checks["certificate"]["ok"] and "listen.key" in checks["next start"]["what_to_do"], checks)
    replace(network.config_file(0), str(network.directory / "certs" / f"{node_host(1)}.key"), str(key))

    file = network.config_file(0)
    text = file.read_text()
    certificate(network, "renamed.example")
    before = served(network, 0)
    replace(file, f'host = "{node_host(0)}"', 'host = "renamed.example"')
    replace(file, f"certs/{node_host(0)}.", "certs/renamed.example.")
    done = run(network, "reload", "--config", file)
    check("nobody is shown the certificate of a name that counts with the next start", done.returncode != 0 and "node.host is changed" in done.stderr and served(network, 0) == before, done.stderr)
    file.write_text(text)
    replace(file, "posts_an_hour = 1000000", "posts_an_hour = 7")
    replace(file, "vservers = 2", "vservers = 3")
    replace(file, 'data = "data"', 'data = "data"\nlog_level = "debug"')
    answer = network.cli(0, "reload")
    check("reload says what changed and what waits", set(answer["changed"]) == {"publish.posts_an_hour", "node.log_level"} and answer["restart"] == ["ring.vservers"], answer)
    settings = {one["key"]: one["value"] for one in network.cli(0, "show", "settings")["settings"]}
    check("what changed counts, the rest does not yet", settings["publish.posts_an_hour"] == 7 and settings["ring.vservers"] == 2)
    pretends = ["X-Forwarded-For: 203.0.113.9"]
    check("nobody is believed who else came", json.loads(get(network, 0, "/tagring/v1/reach", pretends)[1])["you"] != "203.0.113.9")
    replace(file, "[listen]\n", '[listen]\ntrusted_proxies = ["127.0.0.0/8"]\n')
    replace(file, 'instances = ["oak.example"]', 'instances = ["oak.example", "new.example"]')
    answer = network.cli(0, "reload")
    check("proxies and instances change with a reload", set(answer["changed"]) == {"listen.trusted_proxies", "publish.instances"}, answer)
    check("a proxy that is trusted is believed", json.loads(get(network, 0, "/tagring/v1/reach", pretends)[1])["you"] == "203.0.113.9")
    replace(file, "posts_an_hour = 7", "posts_an_hour = true")
    done = run(network, "reload", "--config", file)
    check("a mistake changes nothing", done.returncode == 2 and "publish.posts_an_hour" in done.stderr and process.poll() is None, done.stderr)
    file.write_text(text)
    replace(file, 'instances = ["oak.example"]', f'instances = ["oak.example", "{node_host(0)}"]')
    done = run(network, "reload", "--config", file)
    check("no reload lets another server have this node's name while followers are compared", done.returncode != 0 and "publish.instances names node.host" in done.stderr, done.stderr)
    file.write_text(text)
    network.cli(0, "reload")
    changes = network.cli(0, "show", "changes")["changes"]
    check("who had it read again is known", {"SIGHUP", f"local socket ({getpass.getuser()})"} <= {one["who"] for one in changes if one["does"] == "/reload"}, changes)
    run(network, "reload", "--config", file, env={**os.environ, "SUDO_USER": "anna"})
    check("so is who did it with sudo", network.cli(0, "show", "changes")["changes"][0]["who"] == "local socket (anna)")
    check("and what came of it", any("publish.posts_an_hour" in one["outcome"] and "ring.vservers" in one["outcome"] for one in changes), changes)
    log = (network.directory / "oak.log").read_text()
    check("the log has it too", re.search(r"event=admin who=SIGHUP does=/reload .*outcome=", log), log[-1000:])


HELD_AT_CONTROL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
/* Who opens the socket for control requests, the last one, stops there until it is told to go on. */
int bind(int socket, const unsigned short* family, unsigned size) {
  static int (*real)(int, const unsigned short*, unsigned);
  if (!real) real = (int (*)(int, const unsigned short*, unsigned)) dlsym(RTLD_NEXT, "bind");
  if (*family == 1) raise(SIGSTOP);
  return real(socket, family, size);
}
"""


def the_next_start_cannot_read(network):
    """Root wrote a new file for a packaged node, which runs on with what it read at its start."""
    if os.geteuid() != 0:
        return print("skipped: only root may give folders away")
    data = network.node_directory(0) / "data"
    token = network.directory / "roots_new_token"
    token.write_text(ADMINISTRATORS_TOKEN + "\n")
    token.chmod(0o600)
    text = network.config_file(0).read_text()
    replace(network.config_file(0), 'data = "data"', f'data = "data"\nadmin_token_file = "{token}"')
    shutil.chown(data, "nobody")
    code, _, checks = doctor(network, 0)
    shutil.chown(data, "root")
    network.config_file(0).write_text(text)
    check("doctor sees what the next start cannot read", code == 1 and "rings" in checks and f"nobody may not read {token}" in checks.get("readable", {}).get("detail", ""), checks)
    _, _, checks = doctor(network, 0)
    check("and says nothing of it where it can", "rings" in checks and "readable" not in checks, checks)


def renewed_while_the_node_starts(network):
    """After the server has read the certificate, and before the node runs."""
    before, until = served(network, 1), network.cli(1, "status")["certificate_until"]
    network.stop_node(1)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "held.c").write_text(HELD_AT_CONTROL)
        subprocess.run(["clang-19", "-shared", "-fPIC", "-o", f"{folder}/held.so", f"{folder}/held.c"], check=True)
        node = subprocess.Popen([network.binary, "run", "--json", "--config", network.config_file(1)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, env={**os.environ, "LD_PRELOAD": f"{folder}/held.so"})
        network.processes["elm"] = node
        _, status = os.waitpid(node.pid, os.WUNTRACED)
        check("the start is held", os.WIFSTOPPED(status), status)
        certificate(network, node_host(1), days=50)
        node.send_signal(signal.SIGCONT)
        node.stdout.readline()
        wait_for("the certificate that was renewed meanwhile", lambda: served(network, 1) != before)
        check("and the node knows until when it is good", network.cli(1, "status")["certificate_until"] > until + 40 * 86400)
    wait_for("the node that was held", lambda: network.is_settled(1))


def seen_by_machines(network):
    check("/livez", get(network, 0, "/livez") == (200, "ok\n"))
    status, body = get(network, 0, "/readyz")
    check("/readyz", status == 200 and json.loads(body)["ready"] is True, body)
    check("/metrics needs the token", get(network, 0, "/metrics")[0] == 401 and get(network, 0, "/metrics", ["Authorization: Bearer x"])[0] == 401)
    token = network.directory / "token"
    token.write_text(ADMINISTRATORS_TOKEN + "\n")
    token.chmod(0o600)
    replace(network.config_file(0), 'data = "data"', f'data = "data"\nadmin_token_file = "{token}"')
    network.cli(0, "reload")
    status, body = get(network, 0, "/metrics", [f"Authorization: Bearer {ADMINISTRATORS_TOKEN}"])
    check("/metrics with it", status == 200 and 'tagring_ring_member{ring="relay"} 1' in body and "tagring_ready 1" in body and "tagring_disk_free_bytes " in body and "\ntagring_certificate_late_seconds " in body, body)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True)
        check("promtool reads it", done.returncode == 0, done.stdout + done.stderr)
    else:
        print("missing: promtool (tools/setup installs it)")
        counts[False] += 1


SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
/* A disk that takes its time. */
ssize_t pread64(int file, void* to, size_t size, off64_t at) {
  static ssize_t (*real)(int, void*, size_t, off64_t);
  if (!real) real = (ssize_t (*)(int, void*, size_t, off64_t)) dlsym(RTLD_NEXT, "pread64");
  usleep(3000);
  return real(file, to, size, at);
}
"""


class Held:
    """As systemd does: somebody else holds the port and the socket of a proxy, and hands them to each process in turn."""

    def __init__(self, network, folder):
        self.network, self.path = network, folder / "http.sock"
        (folder / "slow.c").write_text(SLOW)
        subprocess.run(["clang-19", "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c"], check=True)
        self.environment = {**os.environ, "LD_PRELOAD": str(folder / "slow.so")}
        tcp, local = socket.socket(), socket.socket(socket.AF_UNIX)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((network.node_address(1), network.port))
        local.bind(str(self.path))
        for one in [tcp, local]:
            one.listen(128)
        self.sockets = [tcp, local]

    def start(self, sockets=None):
        # dup2 by the shell's redirections; the number of the process is known only after the fork.
        numbers = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 20) for one in sockets or self.sockets]
        redirections = " ".join(f"{3 + i}<&{number}" for i, number in enumerate(numbers))
        command = ["bash", "-c", f'exec {redirections}; LISTEN_FDS={len(numbers)} LISTEN_PID=$$ exec "$@"', "-", self.network.binary, "run", "--json", "--config", self.network.config_file(1)]
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=numbers, env=self.environment)
        for number in numbers:
            os.close(number)
        return process

    def ask(self, path, *options):
        host, port = node_host(1), self.network.port
        return subprocess.Popen([str(part) for part in ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "50", "--cacert", self.network.directory / "certs" / "ca.pem",
                                "--resolve", f"{host}:{port}:{self.network.node_address(1)}", *options, path if "://" in path else f"https://{host}:{port}{path}"]],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask_all(self):
        """What readers, servers and a proxy ask."""
        inside = f"http://{node_host(1)}:{self.network.port}/"
        return {"livez": (self.ask("/livez"), "200"), "a page": (self.ask("/"), "200"), "an inbox": (self.ask("/inbox", "-d", "{}"), "400"),
                "a page through a proxy": (self.ask(inside, "--unix-socket", self.path, "-H", f"Host: {node_host(1)}:{self.network.port}"), "200")}


class Asking:
    """Somebody who asks again and again, on a new connection each time; and what did not come of it."""

    def __init__(self, held):
        self.held, self.over, self.answered, self.failed = held, threading.Event(), 0, []

    def __enter__(self):
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()
        return self

    def ask(self):
        while not self.over.is_set():
            process = self.held.ask("/livez")
            status, errors = process.communicate(timeout=60)
            self.answered += status == "200"
            if status != "200":
                self.failed.append((status, errors))

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def restarts_refuse_nobody(network):
    network.stop_node(1)
    text = network.config_file(1).read_text()
    with tempfile.TemporaryDirectory() as folder:
        held = Held(network, Path(folder))
        network.config_file(1).write_text(text.replace("[listen]\n", f'[listen]\nsocket = "{held.path}"\n'))
        for turn in range(3):
            waiting = held.ask_all()  # while no node runs
            node = held.start()
            node.stdout.readline()
            for what, (process, expected) in waiting.items():
                status, errors = process.communicate(timeout=60)
                check(f"who asks for {what} while it restarts is answered, start {turn}", status == expected, (status, errors))
            if turn == 0:
                _, _, checks = doctor(network, 1)
                there = f"port {network.port} of {network.node_address(1)}, held by tagring.socket; {held.path}, held by tagring.socket"
                check("doctor says where it listens, and who holds that", checks["listen"]["ok"] and checks["listen"]["detail"] == there, checks["listen"])
            node.send_signal(signal.SIGTERM)
            node.communicate(timeout=60)
            check("the socket of the proxy stays", held.path.exists())
        with Asking(held) as asking:
            for _ in range(3):
                node = held.start()
                node.stdout.readline()
                time.sleep(1)  # so that it is asked before it stops
                node.send_signal(signal.SIGTERM)
                node.communicate(timeout=60)
            node = held.start()
            node.stdout.readline()
        check("nor anybody who asks while it stops and starts", not asking.failed and asking.answered > 3, (asking.answered, asking.failed))
        node.send_signal(signal.SIGTERM)
        node.communicate(timeout=60)
        with socket.socket() as other:
            other.bind((network.node_address(1), 0))
            other.listen(8)
            node = held.start([other])
            _, errors = node.communicate(timeout=60)
            check("a port that the configuration does not ask for ends the start", node.returncode == 2 and "systemctl edit tagring.socket" in errors and f"asks for port {network.port}" in errors, errors)
        network.config_file(1).write_text(text.replace("[listen]\n", '[listen]\naddress = "127.9.9.9"\n'))
        node = held.start(held.sockets[:1])
        node.stdout.readline()
        _, _, checks = doctor(network, 1)
        check("doctor sees an address that does not count", not checks["listen"]["ok"] and "listen.address, 127.9.9.9, does not count" in checks["listen"]["detail"], checks["listen"])
        node.send_signal(signal.SIGTERM)
        node.communicate(timeout=60)
        network.config_file(1).write_text(text + '[database]\npostgres = "host=/nonexistent"\nstandby = true\n')
        node = held.start(held.sockets[:1])
        _, errors = node.communicate(timeout=60)
        check("and so does any where a standby would have it", node.returncode == 2 and "disable --now tagring.socket" in errors, errors)
        for one in held.sockets:
            one.close()
    network.config_file(1).write_text(text)
    network.start_node(1)


def answers_to_mistakes(network):
    """What is typed wrong is answered with what is right."""
    config = ["--config", network.config_file(0)]
    for words, says in [(["instance", "lst"], 'did you mean "list"?'), (["block", "ad"], 'did you mean "add"?'), (["sim", "rng"], 'did you mean "ring"?'),
                        (["show", "qeues", *config], 'did you mean "queues"?'), (["query", "x", "--limt", "3", *config], 'did you mean "--limit"?'), (["block", "import", "x", "--source", "a", "--dry-run"], "see tagring block import --help"),
                        (["block", "add", "domian", "x.example", *config], 'did you mean "domain"?'), (["statsu"], 'did you mean "status"?'), (["block"], "needs a command: list, add"), (["nothinglikeit"], "see tagring --help"),
                        (["--versoin"], 'did you mean "--version"?'), (["-x"], 'no option "-x", did you mean "-h"?'), (["-v"], 'did you mean "--version"?'), (["-é"], 'no option "-é"'), (["block", "-x"], "see tagring block --help"),
                        (["status", "-x", *config], 'no option "-x"'), (["run", "--role", "coer"], 'did you mean "core"?'), (["sim", "attack", "--strategy", "sttic"], 'did you mean "static"?'),
                        (["sim", "attack", "--strategy", "sleepp"], "none of adaptive, invent, plain, static"), (["sim", "liars", "--role", "stroage"], 'did you mean "storage"?'), (["sim", "flash-crowd", "--burst", "40o2"], 'did you mean "40o20"?'),
                        (["status", "--config", Path("/")], "/ is a folder")]:
        done = run(network, *words)
        check(f"tagring {' '.join(map(str, words))}", done.returncode == 2 and says in done.stderr and done.stderr.count("\n") <= 2, done.stderr)
    for words, says in [(["status", "--config", "/dev/zero"], "/dev/zero has more than"), (["block", "import", "/dev/zero", "--source", "a", *config], "/dev/zero has more than"),
                        (["block", "import", "/", "--source", "a", *config], "/ is a folder"), (["audit", "--verify", "/dev/zero"], "/dev/zero has more than")]:
        done = run(network, *words)
        check(f"tagring {' '.join(map(str, words))}", done.returncode in (1, 2) and says in done.stderr, done.stderr)
    long = subprocess.run([network.binary, "block", "import", "-", "--source", "long", *config], capture_output=True, text=True, timeout=60,
                          input="domain,severity,public_comment\n" + "".join(f"domain-{i}.example,suspend,{'a reason of some length ' * 4}\n" for i in range(15000)))
    check("a list of 1.9 MB", long.returncode == 0 and "15000 new" in long.stdout, long.stdout[-300:] + long.stderr[-300:])
    check("and it is lifted", run(network, "block", "lift", "long", *config).returncode == 0)
    done = run(network, "query", "x", "--before", "xyz", *config)
    check("a cursor that is none", done.returncode == 2 and "'xyz' is no cursor" in done.stderr, done.stderr)
    for verb in ["subscribe", "unsubscribe"]:
        done = run(network, verb, "two words", *config)
        check(f"{verb} two words", done.returncode == 2 and "a hashtag is one word" in done.stderr, done.stdout + done.stderr)
    for words, says in [(["subscribe", "https://mastodon.social/tags/cats"], 'is an address, and no hashtag, did you mean "cats"?'), (["subscribe", "@cats@tags.oak.example"], 'is an account, and no hashtag, did you mean "cats"?'),
                        (["query", "cats,dogs"], 'did you mean "cats" "dogs"?'), (["block", "add", "tag", "a b"], "a hashtag is one word"), (["block", "remove", "tag", "a b"], "a hashtag is one word"),
                        (["owners", "c++"], 'did you mean "c"?'), (["audit", "c++"], 'did you mean "c"?'), (["feed", "--tag", "c++"], 'did you mean "c"?'), (["takedown", "c++", "https://x.example/1"], 'did you mean "c"?'),
                        (["instance", "subscribe", "x.example", "c++"], 'did you mean "c"?'), (["instance", "replay", "x.example", "c++"], 'did you mean "c"?'),
                        (["followers-check", "--server", "x.example", "--tag", "c++"], 'did you mean "c"?'), (["instance", "hashtags", "nope nope"], "'nope nope' is no host name")]:
        done = run(network, *words, *config)
        check(f"tagring {' '.join(words)} names what is wrong", done.returncode == 2 and says in done.stderr, (done.returncode, done.stdout + done.stderr))
    check("key of what is no hashtag", "a hashtag is one word" in run(network, "key", "a b").stderr)
    done = run(network, "subscribe", "cats", "1234", *config)
    check("which of several is no hashtag", done.returncode == 2 and "'1234' is no hashtag: it has no letter" in done.stderr, done.stdout + done.stderr)
    done = run(network, "unsubscribe", "neversubscribed", *config)
    check("what was not subscribed", done.returncode == 0 and done.stdout == "#neversubscribed was not subscribed\n", done.stdout + done.stderr)
    check("an empty list of blocks", run(network, "block", "list", *config).stdout == "nothing is blocked\n")
    with tempfile.TemporaryDirectory() as folder:
        done = run(network, "query", "x", cwd=folder)
        check("no configuration anywhere", done.returncode == 1 and "/etc/tagring/tagring.toml" in done.stderr and "--config" in done.stderr, done.stderr)
        shutil.copy(network.config_file(0), Path(folder) / "tagring.toml")
        replace(Path(folder) / "tagring.toml", 'data = "data"', f'data = "{network.node_directory(0)}/data"')
        check("one in this folder is found", run(network, "status", cwd=folder).returncode == 0)
        copy = network.node_directory(0) / "data" / "backup.db.part"
        copy.touch()
        second = run(network, "run", "--config", Path(folder) / "tagring.toml")
        check("a second node on the same data", second.returncode == 1 and "Does the node run already?" in second.stderr, second.stderr)
        check("which leaves alone the copy that the first is writing", copy.exists())
        copy.unlink(missing_ok=True)
    shown = run(network, "status", *config).stdout
    check("status is a page", shown.startswith(f"https://{node_host(0)}") and "Rings\n" in shown and "{" not in shown, shown)
    settings = run(network, "show", "settings", *config).stdout
    check("settings are lines of two kinds for programs", all(line.startswith(" " * 6) or " = " in line for line in settings.splitlines()) and "`" not in settings, settings[:1000])
    commands = all_commands(network)
    check("there are commands of commands", ["block", "separate"] in commands and len(commands) > 40, commands)
    for command in commands:
        text = run(network, *command, "--help").stdout
        check(f"{' '.join(command)} --help has an example", "Example" in text and f"tagring {' '.join(command)}" in text.split("Example")[-1], text)
        if "\nPositionals:\n" in text:
            done = run(network, *command, "", *config)
            check(f"{' '.join(command)} takes no empty word", done.returncode == 2, (done.returncode, done.stdout, done.stderr))


def all_commands(network, *words):
    """Of people who run a node; studies have options enough to try."""
    listed = run(network, *words, "--help").stdout.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  ([a-z-]+)", listed, re.M)
    found = [[*words, name] for name in names if name != "sim"]
    return found + [command for name in names if name != "sim" for command in all_commands(network, *words, name)]


LISTS = ["subscriptions", "followers", "queues", "storage", "receipts", "settings", "takedowns", "offenders", "changes"]


def on_terminals(network):
    config = ["--config", network.config_file(0)]
    piped = run(network, "status", *config).stdout
    _, seen = on_terminal(network.binary, "status", *config)
    check("status has colours on a terminal", re.search("\033\\[3[12]m(all is well|PROBLEM)\033\\[0m", seen) and "\033" not in piped, seen)
    _, plain = on_terminal(network.binary, "status", *config, NO_COLOR="1")
    check("and none with NO_COLOR", "Rings" in plain and "\033" not in plain, plain)
    long = run(network, "show", "changes", *config).stdout.splitlines()
    check("a list has a heading", long[0].split() == ["at", "who", "does", "about", "outcome"] and len(long) > 5, long[:3])
    _, seen = on_terminal(network.binary, "show", "changes", *config, columns=100)
    fitting = seen.replace("\033[1m", "").replace("\033[0m", "").splitlines()
    check("and has at least a line for each on a terminal", max(map(len, long)) > 100 and len(fitting) >= len(long), (max(map(len, long)), max(map(len, fitting))))
    check("with every word whole", set(" ".join(long).split()) <= set(" ".join(fitting).split()), fitting[:5])
    for words in [["doctor"], ["status"], *(["show", what] for what in LISTS)]:
        code, seen = on_terminal(network.binary, *words, *config, NO_COLOR="1")
        widest = max(seen.splitlines(), key=len)
        is_table = words[0] == "show" and words[1] != "settings"  # which long words make wider
        check(f"{' '.join(words)} fits the terminal", code in (0, 1) and (is_table or len(widest) <= 80), (code, widest))


def feed(network):
    """The newest first; of one hashtag; and on and on."""
    network.start_origins(1)
    network.cli(0, "subscribe", "hedgehog", "toad")
    wait_for("subscriptions", lambda: network.is_settled(0))

    def post(tag):
        uri = network.control("origins", "/post", {"domain": "oak.example", "text": f"A #{tag}"})["id"]
        wait_for("the post", lambda: any(entry["uri"] == uri for entry in network.cli(0, "feed")["entries"]))
        return uri

    posts = [post(tag) for tag in ["hedgehog", "toad", "hedgehog"]]
    in_order = [entry["uri"] for entry in network.cli(0, "feed")["entries"]]
    check("feed is newest first", in_order[:3] == posts[::-1], (in_order, posts))
    check("--limit takes the newest", [entry["uri"] for entry in network.cli(0, "feed", "--limit", 1)["entries"]] == posts[2:])
    check("--after goes forwards", [entry["uri"] for entry in network.cli(0, "feed", "--after", 0, "--limit", 2)["entries"]] == posts[:2])
    check("--tag takes one hashtag", [entry["uri"] for entry in network.cli(0, "feed", "--tag", "#Toad")["entries"]] == [posts[1]])
    follower = subprocess.Popen([network.binary, "feed", "--tag", "toad", "--follow", "--config", network.config_file(0)], stdout=subprocess.PIPE, text=True)
    first = follower.stdout.readline()
    post("hedgehog")
    new = post("toad")
    second = follower.stdout.readline()
    follower.terminate()
    follower.wait(10)
    check("--follow shows what is there, and what comes", posts[1] in first and new in second, (first, second))
    follower = subprocess.Popen([network.binary, "feed", "--tag", "toad", "--follow", "--config", network.config_file(0)], stdout=subprocess.PIPE, text=True)
    follower.stdout.readline()
    follower.stdout.close()
    check("and ends when nobody reads on, as after | head -1", follower.wait(10) == 0)
    with open("/dev/full", "w") as full:
        for words in [["status", "--json"], ["--help"], ["key", "caturday"]]:
            told = words if words[0] != "status" else [*words, "--config", str(network.config_file(0))]
            done = subprocess.run([network.binary, *told], stdout=full, stderr=subprocess.PIPE, text=True)
            check(f"what cannot be written is not well: {words}", done.returncode == 1 and "No space left" in done.stderr, done.stderr)
    text = network.config_file(0).read_text()
    network.config_file(0).write_text(text + "\n[publish]\nposts_an_houre = 7\n" if "[publish]" not in text else text.replace("[publish]", "[publish]\nposts_an_houre = 7"))
    check("a node that runs is asked whatever became of its file", network.cli(0, "status", codes=(0, 1))["origin"], "")
    refused = run(network, "reload", "--config", network.config_file(0))
    check("and says in which line it would not do", refused.returncode != 0 and re.search(r"line \d+: publish.posts_an_houre: unknown key", refused.stderr), refused.stderr)
    network.config_file(0).write_text(text)
    code, report, checks = doctor(network, 0)
    check("doctor knows of a post that owners took", any("took a post of it" in one["detail"] for name, one in checks.items() if name == "instance oak.example"), report)


def metrics_and_json_logs(network):
    """A listener of its own for the one, a line of JSON for each of the other."""
    network.stop_node(1)
    port = free_port()
    text = network.config_file(1).read_text()
    network.config_file(1).write_text(text.replace('data = "data"', 'data = "data"\nlog_format = "json"') + f"\n[metrics]\nport = {port}\n")
    log = network.directory / "elm.log"
    begin = log.stat().st_size
    network.start_node(1)
    wait_for("the node", lambda: network.is_settled(1))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        check("metrics.port needs no token", "tagring_ready 1" in answer.read().decode())
    for path, status in [("/readyz", 200), ("/livez", 200), ("/admin/status", 404), ("/", 404)]:
        try:
            found = urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30).status
        except urllib.error.HTTPError as error:
            found = error.code
        check(f"metrics.port answers {path} with {status}", found == status, found)
    network.stop_node(1)
    lines = [json.loads(line) for line in log.read_bytes()[begin:].decode().splitlines() if line.startswith("{")]
    lines = [line for line in lines if "ready" not in line]
    check("logs are lines of JSON", any(line.get("event") == "started" for line in lines) and all({"time", "level", "event"} <= set(line) for line in lines), lines[:3])
    check("and nothing else", all(line.startswith("{") for line in log.read_bytes()[begin:].decode().splitlines()))
    network.config_file(1).write_text(text)
    network.start_node(1)
    wait_for("the node again", lambda: network.is_settled(1))


def log_lines(network):
    """Each line has a time and a level, as logfmt or as JSON."""
    lines = [line for line in (network.directory / "oak.log").read_text().splitlines() if "level=" in line]
    check("logs have a time", lines and all(line.startswith("time=2") and " level=" in line for line in lines), lines[:3])


KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
/* Ends the process, as kill -9 does, before the n-th of the calls below. */
static void count(void) {
  static int calls;
  if (++calls == atoi(getenv("KILL_AT"))) kill(getpid(), SIGKILL);
}
#define COUNTED(name, parameters, arguments) \
  int name parameters { int (*real) parameters = (int (*) parameters) dlsym(RTLD_NEXT, #name); count(); return real arguments; }
COUNTED(rename, (const char* from, const char* to), (from, to))
COUNTED(link, (const char* from, const char* to), (from, to))
COUNTED(linkat, (int f, const char* from, int t, const char* to, int flags), (f, from, t, to, flags))
COUNTED(unlink, (const char* path), (path))
COUNTED(remove, (const char* path), (path))
COUNTED(fsync, (int file), (file))
COUNTED(chown, (const char* path, unsigned user, unsigned group), (path, user, group))
COUNTED(fchown, (int file, unsigned user, unsigned group), (file, user, group))
COUNTED(fchmodat, (int folder, const char* path, unsigned mode, int flags), (folder, path, mode, flags))
"""


def is_whole(database):
    with sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True) as opened:
        whole = opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        wants = {tag for tag, in opened.execute("SELECT tag FROM wants")}
    return whole and {"hedgehog"} <= wants


def killed_anywhere(network, folder, holds, *command):
    """Killed before each step that changes a name, or anything on the disk, until it gets to its end: how often, and how often holds() did not."""
    (folder / "killer.c").write_text(KILLER)
    subprocess.run(["clang-19", "-shared", "-fPIC", "-o", folder / "killer.so", folder / "killer.c"], check=True)
    kills = wrong = 0
    for at in range(1, 100):
        done = run(network, *command, "--config", network.config_file(0), env={**os.environ, "LD_PRELOAD": str(folder / "killer.so"), "KILL_AT": str(at)})
        wrong += not holds()
        if done.returncode == 0:
            return kills, wrong
        kills += done.returncode == -signal.SIGKILL
    return kills, done


def backup_killed_anywhere(network, folder):
    """To the same disk, and to another: there is nothing, or all of it."""
    data = network.node_directory(0) / "data"
    with tempfile.TemporaryDirectory(dir=network.directory) as same, tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        check("these are two disks", Path(same).stat().st_dev == data.stat().st_dev != Path(other).stat().st_dev)
        for what, to in [("the same disk", Path(same)), ("another disk", Path(other))]:
            def holds():
                left = list(to.iterdir())
                good = left == [] or (left == [to / "copy.db"] and is_whole(left[0]) and left[0].stat().st_mode & 0o77 == 0)
                for file in left:
                    file.unlink()
                return good

            kills, wrong = killed_anywhere(network, folder, holds, "backup", to / "copy.db")
            check(f"a backup to {what} that is killed leaves nothing or all", wrong == 0 and kills > 2, (wrong, kills))
    check("and nothing beside the data, once one was not killed", not list(data.glob("backup*")), list(data.iterdir()))


STOPPED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
/* Who gives a copy its rights stops there until it is told to go on. */
int fchmodat(int folder, const char* path, mode_t mode, int flags) {
  static int (*real)(int, const char*, mode_t, int);
  if (!real) real = (int (*)(int, const char*, mode_t, int)) dlsym(RTLD_NEXT, "fchmodat");
  raise(SIGSTOP);
  return real(folder, path, mode, flags);
}
"""


def start_of(network, i):
    """What becomes of a start that should be refused."""
    try:
        return run(network, "run", "--config", network.config_file(i), timeout=20)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], 0, "", "it runs")


def no_node_starts_while_one_is_restored(network, folder, file, database):
    (folder / "stopped.c").write_text(STOPPED)
    subprocess.run(["clang-19", "-shared", "-fPIC", "-o", folder / "stopped.so", folder / "stopped.c"], check=True)
    former = database.with_name("former.db")
    for what in ["one", "none"]:
        if what == "none":
            database.rename(former)
        restore = subprocess.Popen([network.binary, "restore", file, "--config", network.config_file(0)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "LD_PRELOAD": str(folder / "stopped.so")})
        _, status = os.waitpid(restore.pid, os.WUNTRACED)
        check("the copy is there", os.WIFSTOPPED(status) and Path(f"{database}.restored").exists(), status)
        if what == "one":
            started = start_of(network, 0)
            check("no node starts while another is put in its place", started.returncode != 0 and "in use by another process" in started.stderr, started.stderr)
        else:
            network.start_node(0)
            wait_for("a node that begins anew", lambda: network.is_listening(0))
        restore.send_signal(signal.SIGCONT)
        _, complaint = restore.communicate(timeout=60)
        if what == "one":
            check("and it is put there", restore.returncode == 0, complaint)
        else:
            check("where a node has begun meanwhile, nothing is", restore.returncode != 0 and "Was the node started?" in complaint and not Path(f"{database}.restored").exists(), complaint)
            network.stop_node(0)
            former.rename(database)


def backup(network):
    network.cli(0, "subscribe", "hedgehog")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "copy.db"
        backup_killed_anywhere(network, Path(folder))
        answer = network.cli(0, "backup", file)
        check("a copy while it runs", answer["octets"] == file.stat().st_size > 0 and file.stat().st_mode & 0o77 == 0, answer)
        with sqlite3.connect(file) as copied:
            copied.execute("INSERT INTO subscriptions(tag, owner, follow_id, accepted) VALUES('hedgehog', 'https://gone.example', 'https://a.example/1', 1)")
        copied.close()
        again = run(network, "backup", file, "--config", network.config_file(0))
        check("no copy is overwritten", again.returncode == 2 and "is there already" in again.stderr, again.stderr)
        running = run(network, "restore", file, "--config", network.config_file(0))
        check("nothing is restored under a node that runs", running.returncode != 0 and "Stop it first" in running.stderr, running.stderr)
        network.cli(0, "subscribe", "newt")
        network.stop_node(0)
        cut = Path(folder) / "cut.db"
        cut.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
        refused = run(network, "restore", cut, "--config", network.config_file(0))
        check("half a copy is refused", refused.returncode != 0 and "no whole backup" in refused.stderr, refused.stderr)
        database = network.node_directory(0) / "data" / "tagring.db"
        no_node_starts_while_one_is_restored(network, Path(folder), file, database)
        kills, wrong = killed_anywhere(network, Path(folder), lambda: database.exists() and is_whole(database), "restore", file)
        check("a restore that is killed leaves one of the two", wrong == 0 and kills > 4, (wrong, kills))
        done = run(network, "restore", file, "--config", network.config_file(0))
        check("a whole one is restored", done.returncode == 0, done.stderr)
        with sqlite3.connect(database) as restored:
            settled = restored.execute("SELECT tag FROM subscriptions WHERE accepted = 1").fetchall()
            changes = restored.execute("SELECT who, does, about, outcome FROM changes ORDER BY id DESC").fetchall()
        restored.close()
        check("owners are asked again for what they took since", not settled, settled)
        check("who restored it is noted", changes[0][0].startswith("local socket") and changes[0][1:] == ("/restore", f"file={file}", "done") and "/subscribe" in [does for _, does, _, _ in changes], changes)
        check("it says where the former is", re.search(rf"{database}\.before-restore\S*: remove it", done.stdout), done.stdout)
        for name, spoil, why in [("bare", "DROP TABLE posts", "lacks the table posts"), ("keyless", "DELETE FROM meta WHERE name = 'key'", "no key"),
                                 ("garbage", "UPDATE meta SET value = CAST('garbage' AS BLOB) WHERE name = 'key'", "PEM")]:
            other = Path(folder) / f"{name}.db"
            shutil.copy(file, other)
            with sqlite3.connect(other) as spoilt:
                spoilt.execute(spoil)
            spoilt.close()
            before = database.read_bytes()
            refused = run(network, "restore", other, "--config", network.config_file(0))
            check(f"a copy that is {name} is refused, and changes nothing", refused.returncode != 0 and why in refused.stderr and database.read_bytes() == before, refused.stderr)
        with sqlite3.connect(database) as marked:
            marked.execute("INSERT INTO meta(name, value) VALUES('mark', CAST('here' AS BLOB))")
        marked.close()
        for _ in range(2):
            run(network, "restore", file, "--config", network.config_file(0))
        aside = [path for path in database.parent.glob("tagring.db.before-restore*") if b"mark" in path.read_bytes()]
        check("what was there is kept, however often one restores", len(aside) == 1, aside)
        restored_where_nothing_can_be_given_away(network, Path(folder), file, database)
        database.write_bytes(b"damaged" * 1000)
        done = run(network, "restore", file, "--config", network.config_file(0))
        check("in the place of a damaged one, too", done.returncode == 0, done.stderr)
        database.parent.chmod(0o755)
        network.start_node(0)
        wait_for("the restored node", lambda: network.is_settled(0))
        check("nobody else may look into its folder", database.parent.stat().st_mode & 0o77 == 0 and database.stat().st_mode & 0o77 == 0, oct(database.parent.stat().st_mode))
        _, _, checks = doctor(network, 0)
        check("the doctor tells of what was there before", "tagring.db.before-restore, from before a restore" in checks["disk"]["detail"], checks["disk"])
        wanted = json.dumps(network.cli(0, "show", "subscriptions"))
        check("it has what the copy had", "hedgehog" in wanted and "newt" not in wanted, wanted)
        restored_from_the_disk_of_a_killed_node(network, Path(folder), database)


def restored_where_nothing_can_be_given_away(network, folder, file, database):
    """As on a disk of the network that knows no root."""
    if os.geteuid() != 0:
        return print("skipped: only root gives what it restores to the node's user")
    (folder / "chown.c").write_text("#include <errno.h>\nint chown(const char* path, unsigned user, unsigned group) { return errno = EPERM, -1; }\n")
    subprocess.run(["clang-19", "-shared", "-fPIC", "-o", folder / "chown.so", folder / "chown.c"], check=True)
    shutil.chown(database.parent, "nobody")
    refused = run(network, "restore", file, "--config", network.config_file(0), env={**os.environ, "LD_PRELOAD": str(folder / "chown.so")})
    check("a copy that cannot be the node's is refused, and does not stay", refused.returncode != 0 and "cannot own" in refused.stderr and not Path(f"{database}.restored").exists(), refused.stderr)
    shutil.chown(database.parent, "root")


def restored_from_the_disk_of_a_killed_node(network, folder, database):
    """What it had written last is beside its database only."""
    network.cli(0, "subscribe", "otter")
    network.kill_node(0)
    disk = folder / "disk"
    disk.mkdir()
    for file in database.parent.glob("tagring.db*"):
        shutil.move(file, disk / file.name)
    check("there is a file beside it", (disk / "tagring.db-wal").stat().st_size > 0, list(disk.iterdir()))
    done = run(network, "restore", disk / "tagring.db", "--config", network.config_file(0))
    check("what a killed node had is restored from its disk", done.returncode == 0, done.stderr)
    network.start_node(0)
    wait_for("the node from that disk", lambda: network.is_settled(0))
    wanted = json.dumps(network.cli(0, "show", "subscriptions"))
    check("with what it had acknowledged last", "hedgehog" in wanted and "otter" in wanted, wanted)


def another_name(network):
    """What another node has, copied by PostgreSQL's tools or by hand."""
    network.stop_node(1)
    config = network.config_file(1)
    text = config.read_text()
    database = network.node_directory(1) / "data" / "tagring.db"
    with sqlite3.connect(database) as copied:
        copied.execute("UPDATE meta SET value = CAST('https://old.example' AS BLOB) WHERE name = 'origin'")
        copied.execute("INSERT INTO followers(tag, actor, inbox, follow_id, via, since) VALUES('owls', 'https://a.example/a', 'https://a.example/in', 'f', 0, 0)")
        key = copied.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    copied.close()
    refused = start_of(network, 1)
    check("a node does not go on as another", refused.returncode == 2 and 'put moved_from = "https://old.example"' in refused.stderr, refused.stderr)
    check("and it is said first how to go back", refused.stderr.index("set it back to old.example") < refused.stderr.index("put moved_from"), refused.stderr)
    copy = network.node_directory(1) / "old.db"
    shutil.copy(database, copy)
    replace(config, 'data = "data"', 'data = "data"\nmoved_from = "https://old.example"')
    with sqlite3.connect(database) as stuck:
        stuck.execute("CREATE TRIGGER stuck BEFORE DELETE ON followers BEGIN SELECT RAISE(ABORT, 'stuck'); END")
    stuck.close()
    refused = start_of(network, 1)
    check("a start that cannot take the database over leaves no copy of it", refused.returncode != 0 and "stuck" in refused.stderr and not list(database.parent.glob("*.before-new-name*")), refused.stderr)
    with sqlite3.connect(database) as loosened:
        loosened.execute("DROP TRIGGER stuck")
    loosened.close()
    network.start_node(1)
    wait_for("the node of another name", lambda: network.is_listening(1))
    network.stop_node(1)
    with sqlite3.connect(database) as taken:
        check("unless it is the one that moves there: who follows that one stays with it", taken.execute("SELECT count(*) FROM followers WHERE tag = 'owls'").fetchone() == (0,))
        now = dict(taken.execute("SELECT name, CAST(value AS TEXT) FROM meta WHERE name IN ('key', 'origin')").fetchall())
    taken.close()
    check("and its key, too", now["key"] != (key[0].decode() if isinstance(key[0], bytes) else key[0]) and now["origin"] == f"https://{node_host(1)}:{network.port}", now["origin"])

    with sqlite3.connect(f"{database}.before-new-name") as former:
        check("what was taken out is beside it", former.execute("SELECT count(*) FROM followers WHERE tag = 'owls'").fetchone() == (1,))
        check("with the key of that one", former.execute("SELECT value FROM meta WHERE name = 'key'").fetchone() == key)
    former.close()

    def kept():
        with sqlite3.connect(database) as there:
            rows = there.execute("SELECT name, value FROM meta WHERE name IN ('key', 'origin') ORDER BY name").fetchall()
        there.close()
        return rows

    own = kept()
    done = run(network, "restore", copy, "--config", config)
    check("what it has of its own is not thrown away for that of the old one", done.returncode == 2 and "this node has run already" in done.stderr, done.stdout + done.stderr)
    check("and is as it was", kept() == own and not Path(f"{database}.restored").exists(), own)
    config.write_text(text)


PLAIN_FILES = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
/* A file system without hard links that always replaces what is there, where a mount cannot be replaced. */
int link(const char* from, const char* to) { return errno = EPERM, -1; }
int renameat2(int of, const char* from, int at, const char* to, unsigned flags) { return errno = EINVAL, -1; }
int renameat(int of, const char* from, int at, const char* to);
int rename(const char* from, const char* to) {
  return getenv("IS_MOUNT") ? (errno = EBUSY, -1) : renameat(-100, from, -100, to);
}
"""


def setup_on_plain_files(binary, options):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plain.c").write_text(PLAIN_FILES)
        subprocess.run(["clang-19", "-shared", "-fPIC", "-o", f"{folder}/plain.so", f"{folder}/plain.c"], check=True)
        place = Path(folder) / "etc"
        place.mkdir()
        file = place / "tagring.toml"

        def write(*more, **environment):
            return subprocess.run([binary, "setup", "--config", file, *options, *more], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "LD_PRELOAD": f"{folder}/plain.so", **environment})

        done = write()
        written = file.read_text() if file.exists() else ""
        check("a file system needs no hard links", done.returncode == 0 and 'host = "tags.example.org"' in written, done.stderr)
        done = write()
        check("nothing is overwritten there either", done.returncode == 2 and "--force" in done.stderr and file.read_text() == written, done.stderr)
        file.write_text("# " + "former\n" * 2000)
        before = file.stat().st_ino
        done = write("--force", IS_MOUNT="1")
        check("a file that is a mount is written where it is", done.returncode == 0 and (file.read_text(), file.stat().st_ino) == (written, before), done.stderr)
        check("and nothing is left beside it", [path.name for path in place.iterdir()] == [file.name])


def another_address(binary, options):
    """And another name: a command on each side."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tagring.toml"

        def type_in(*words):
            return subprocess.run([binary, "setup", "--config", file, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)

        for origin, says in [("https://tags.example.org", "its former one"), ("old", "is no address of a node")]:
            done = type_in(*options, "--moved-from", origin)
            check(f"no node moves here from {origin}", done.returncode == 2 and says in done.stderr and not file.exists(), done.stderr)
        done = type_in(*options, "--moved-from", "old.example.net/")
        check("setup writes what the node was called before", done.returncode == 0 and '\nmoved_from = "https://old.example.net"\n' in file.read_text(), done.stderr)
        check("and says what comes next", "tagring move https://tags.example.org\n" in done.stdout and "tagring restore FILE" in done.stdout, done.stdout)
        for text, before in [(file.read_text() + "\n[metrics]\naddress = '127.0.0.1' # not this one\n", "2001:db8::1"),
                             ('# address = "192.0.2.9"\n[listen]\naddress = "192.0.2.7"\nsocket = "s"\n[node] # ours\nhost = "tags.example.org"\n  address\t=  \'192.0.2.7\'# here\n[ring]\ncreate = true\n', "192.0.2.7"),
                             ('node = {host = "tags.example.org", address = "192.0.2.7"}\nlisten.socket = "s"\nring.create = true\n', "192.0.2.7")]:
            file.write_text(text)
            file.chmod(0o640)
            for wrong, says in [("10.0.0.1", "is private"), ("x", "is no IPv6 or IPv4 address"), (before, "already")]:
                done = type_in("--change-address", wrong)
                check(f"an address that cannot be changes nothing: {wrong}", done.returncode == 2 and says in done.stderr and file.read_text() == text, done.stderr)
            done = type_in("--change-address", "198.51.100.7")
            changed = file.read_text()
            lines = [(old, new) for old, new in zip(text.split("\n"), changed.split("\n")) if old != new]
            check("another address is written in its place, and nothing else", len(lines) == 1 and lines[0][0].replace(before, "198.51.100.7") == lines[0][1], (done.stderr, lines))
            check("with the rights of the file", file.stat().st_mode & 0o777 == 0o640 and [path.name for path in Path(folder).iterdir()] == [file.name])
            check("and the DNS and the restart are said", all(words in done.stdout for words in ["tags.example.org has A 198.51.100.7", before, "systemctl restart tagring"]), done.stdout)
            check("and an address to listen at that is another matter", ("listen.address is 192.0.2.7" in done.stdout) == ("[listen]\naddress" in text), done.stdout)
            done = type_in("--change-address", "2001:db8::2", "--json")
            check("for programs", done.returncode == 0 and json.loads(done.stdout) == {"file": str(file), "address": "2001:db8::2", "before": "198.51.100.7"}, done.stdout + done.stderr)
        done = type_in("--change-address", "2001:db8::3", "--host", "tags.example.com")
        check("one thing at a time", done.returncode == 2 and "excludes" in done.stderr, done.stderr)
        file.unlink()
        done = type_in("--change-address", "2001:db8::3")
        check("what is not there is not changed", done.returncode == 1 and "tagring setup" in done.stderr and not file.exists(), done.stderr)


def setup():
    binary = os.environ.get("TAGRING_BINARY", ROOT / "build" / "release" / "tagring")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tagring.toml"
        options = ["setup", "--config", file, "--host", "tags.example.org", "--address", "2001:db8::1", "--instance", "example.org", "--join", "https://tags.example.net"]
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("setup says what to type into each server", done.returncode == 0 and all(name in done.stdout for name in ["Mastodon", "Misskey", "Pleroma", "Akkoma", "https://tags.example.org/inbox", "https://tags.example.org/actor"]), done.stdout + done.stderr)
        check("what it writes has comments and rights", file.read_text().count("\n#") > 8 and file.stat().st_mode & 0o27 == 0)
        report = subprocess.run([binary, "doctor", "--json", "--config", file], capture_output=True, text=True)
        former, mode = file.read_text(), file.stat().st_mode
        full = subprocess.run([binary, *options, "--force"], capture_output=True, text=True, stdin=subprocess.DEVNULL, restore_signals=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)))
        check("where the disk is full, what was there stays whole", full.returncode == 1 and file.read_text() == former, (full.returncode, full.stderr))
        check("and it says why, and leaves nothing", os.strerror(errno.EFBIG) in full.stderr and [path.name for path in Path(folder).iterdir()] == [file.name], full.stderr)
        file.chmod(0o600)
        again = subprocess.run([binary, *options, "--force"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("what takes its place has its rights", again.returncode == 0 and file.stat().st_mode & 0o777 == 0o600, (again.stderr, oct(file.stat().st_mode)))
        file.chmod(mode)
        check("and is a configuration", json.loads(report.stdout)["checks"][0]["ok"], report.stdout)
        asked = Path(folder) / "asked.toml"
        # Name, instance (as proposed), address (the DNS has none), network, whom to join, certificate and key (as proposed).
        # What will not do is asked again.
        typed = "https://tags.x\ntags.setup.invalid\n\n10.0.0.1\n2001:db8::1\nmeadow\nfoo\ntags.example.net/ https://tags.example.com\n\n\n"
        code, seen = on_terminal(binary, "setup", "--config", asked, typed=typed)
        written = asked.read_text() if asked.exists() else ""
        check("setup asks for what is not given", code == 0 and seen.count("]: ") == 6 and "Name of the network" in seen, seen)
        check("and writes the answers", all(line in written for line in ['host = "tags.setup.invalid"', 'address = "2001:db8::1"', 'network = "meadow"', 'bootstrap = ["https://tags.example.net", "https://tags.example.com"]', 'instances = ["setup.invalid"]']), written)
        check("and says why it asks again", all(why in seen for why in ["10.0.0.1 cannot be reached", "'foo' is no address of a node"]), seen)
        before = asked.read_text()
        code, refused = on_terminal(binary, "setup", "--config", asked, typed="")
        endless = subprocess.run([binary, "setup", "--config", "/dev/zero", *options[3:]], capture_output=True, text=True, timeout=10)
        check("a file without an end is not read to it", endless.returncode == 2 and "is there already" in endless.stderr, endless.stderr)
        check("nobody is asked in vain", code == 2 and "is there already" in refused and "Name of the node" not in refused and asked.read_text() == before, refused)
        check("and what it proposed", 'certificate = "/etc/tagring/tls/fullchain.pem"' in written and 'key = "/etc/tagring/tls/privkey.pem"' in written, written)
        check("it says how to get the certificate there", "certbot certonly -d tags.setup.invalid --deploy-hook /usr/share/tagring/certbot-hook" in seen, seen)
        check("and starts the socket as well", "systemctl enable --now tagring.socket tagring " in seen, seen)
        code, refused = on_terminal(binary, "setup", "--config", Path(folder) / "moved.toml", "--moved-from", "old", typed="")
        check("nobody is asked in vain where a former name will not do", code == 2 and "--moved-from: 'old' is no address" in refused and "Name of the node" not in refused, refused)
        code, seen = on_terminal(binary, "setup", "--config", Path(folder) / "proxy.toml", "--socket", "/run/tagring/http.sock", *options[3:], typed="\n")
        check("which it does not behind a proxy, that has port 443", code == 0 and "systemctl enable --now tagring " in seen and "certbot" not in seen, seen)
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("the unit can write to the proposed folder", "ReadWritePaths" not in seen)
        done = subprocess.run([binary, *options, "--force", "--data", "/srv/tagring"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("and to another one after what setup says", all(step in done.stdout for step in ["install -d -m 700 -o tagring -g tagring /srv/tagring\n", "ReadWritePaths=/srv/tagring\n"]), done.stdout)
        done = subprocess.run([binary, *options, "--force", "--data", "/var/lib/tagring/"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("the proposed folder is known with a slash, too", done.returncode == 0 and "ReadWritePaths" not in done.stdout, done.stdout)
        here = Path(folder) / "here"
        here.mkdir()
        (here / "chain.pem").touch()
        elsewhere = Path(folder) / "elsewhere" / "tagring.toml"
        done = subprocess.run([binary, "setup", "--config", elsewhere, *options[3:], "--certificate", "chain.pem", "--key", "./key.pem", "--data", "data"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=here)
        written = elsewhere.read_text() if elsewhere.exists() else ""
        check("a path counts from where it is typed", all(line in written for line in [f'certificate = "{here}/chain.pem"', f'key = "{here}/key.pem"', f'data = "{here}/data"']), (done.stderr, written))
        check("for systemd as well", f"ReadWritePaths={here}/data\n" in done.stdout and "get a certificate" not in done.stdout, done.stdout)
        shutil.rmtree(here)
        shutil.rmtree(elsewhere.parent, ignore_errors=True)
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        comma = Path(folder) / "comma.toml"
        for arguments in [["--instance", ",", "--create"], ["--instance", "example.org", "--join", ","]]:
            done = subprocess.run([binary, "setup", "--config", comma, *options[3:7], *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            check("what has no name in it names nothing", done.returncode == 2 and "',' has no name in it" in done.stderr and not comma.exists(), (done.returncode, done.stderr))
        code, seen = on_terminal(binary, "setup", "--config", comma, *options[3:7], typed=",\n")
        check("nor where it is asked for", code == 2 and "',' has no name in it" in seen and not comma.exists(), (code, seen))
        if os.geteuid() == 0:
            Path(folder).chmod(0o755)
            placeholder = Path(folder) / "placeholder.toml"
            placeholder.write_text("# tagring is not set up yet\n")
            placeholder.chmod(0o600)
            done = subprocess.run([binary, "setup", "--config", placeholder, *options[3:]], capture_output=True, text=True, stdin=subprocess.DEVNULL, user="nobody")
            check("who may not write is told so, and not to overwrite", done.returncode != 0 and "Permission denied" in done.stderr and "--force" not in done.stderr, done.stderr)
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("it overwrites nothing", done.returncode == 2 and "--force" in done.stderr, done.stderr)
        done = subprocess.run([binary, "setup", "--config", file, "--force", "--host", "tags.example.org"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("it says which option is missing", done.returncode == 2 and "--address" in done.stderr, done.stderr)
        done = subprocess.run([binary, "setup", "--config", file, "--force", "--host", "co.uk", "--address", "2001:db8::1", "--instance", "x.org", "--create"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("what cannot be is refused, and nothing written", done.returncode == 2 and "--host: " in done.stderr and "tags.example.org" in file.read_text(), done.stderr)
        for instance, wrong in [("https://Example.org/", ""), ("exa mple.org; rm", "rm"), ("*", "*"), ("1.2.3.4", "1.2.3.4"), ("co.uk", "co.uk"), ("example.org:8443", "8443"), ("tags.example.org", "its own")]:
            many = Path(folder) / "instances.toml"
            done = subprocess.run([binary, "setup", "--config", many, *options[3:7], "--instance", instance, "other.org", "--create"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            written = 'instances = ["example.org", "other.org"]' in (many.read_text() if many.exists() else "")
            check(f"an instance is the name of a server: {instance}", (done.returncode == 0) == written == (wrong == ""), done.stderr)
            many.unlink(missing_ok=True)
        done = subprocess.run([binary, "setup", "--config", Path(folder) / "idn.toml", "--host", "tags.bücher.example", *options[5:], "--force"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        setup_on_plain_files(binary, options[3:])
        another_address(binary, options[3:])
        check("names are printed as servers and certbot take them", "certonly -d tags.xn--bcher-kva.example" in done.stdout and "https://tags.xn--bcher-kva.example/inbox" in done.stdout, done.stdout + done.stderr)


def main():
    setup()
    what_may_not_be_read(os.environ.get("TAGRING_BINARY", ROOT / "build" / "release" / "tagring"))
    with Network(ROOT / "run" / "operation_test", nodes=2) as network:
        for i in range(2):
            network.start_node(i)
        wait_for("two nodes", lambda: network.is_whole())
        doctor_finds_what_is_wrong(network)
        wrong_certificates_end_the_start(network)
        root_does_not_write_for_another(network)
        not_reached(network)
        network.start_node(1)
        wait_for("two nodes again", lambda: network.is_settled(1))
        reload(network)
        the_next_start_cannot_read(network)
        renewed_while_the_node_starts(network)
        seen_by_machines(network)
        answers_to_mistakes(network)
        feed(network)
        on_terminals(network)
        metrics_and_json_logs(network)
        backup(network)
        restarts_refuse_nobody(network)
        log_lines(network)
        another_name(network)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
