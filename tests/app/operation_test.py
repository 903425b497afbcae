"""What an administrator does with a node: doctor, certificates, reload, metrics, backup and restore, setup. Two real nodes on loopback
addresses, and the real binary."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Network, free_port, node_host, wait_for  # noqa: E402

counts = {True: 0, False: 0}
ADMINISTRATORS_TOKEN = "a-token-of-the-test"


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def run(network, *arguments, **options):
    return subprocess.run([network.binary, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


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
    check("a node that does not run", code == 1 and not checks["node"]["ok"] and "tagring run" in checks["node"]["what_to_do"] and checks["certificate"]["ok"], report)
    replace(network.config_file(1), f'address = "{network.node_address(1)}"', 'address = "127.9.9.9"')
    code, report, checks = doctor(network, 1)
    check("a name that leads elsewhere", not checks["dns"]["ok"] and "A record to 127.9.9.9" in checks["dns"]["what_to_do"], checks["dns"])
    replace(network.config_file(1), 'address = "127.9.9.9"', f'address = "{network.node_address(1)}"')
    broken = network.directory / "broken.toml"
    broken.write_text("[node]\nhots = 1\n")
    done = run(network, "doctor", "--json", "--config", broken)
    check("a configuration with a mistake", done.returncode == 1 and "node.hots" in json.loads(done.stdout)["checks"][0]["detail"], done.stdout)


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

    file = network.config_file(0)
    text = file.read_text()
    replace(file, "posts_an_hour = 1000000", "posts_an_hour = 7")
    replace(file, "vservers = 2", "vservers = 3")
    replace(file, 'data = "data"', 'data = "data"\nlog_level = "debug"')
    answer = network.cli(0, "reload")
    check("reload says what changed and what waits", set(answer["changed"]) == {"publish.posts_an_hour", "node.log_level"} and answer["restart"] == ["ring.vservers"], answer)
    settings = {one["key"]: one["value"] for one in network.cli(0, "show", "settings")["settings"]}
    check("what changed counts, the rest does not yet", settings["publish.posts_an_hour"] == 7 and settings["ring.vservers"] == 2)
    replace(file, "posts_an_hour = 7", "posts_an_hour = true")
    done = run(network, "reload", "--config", file)
    check("a mistake changes nothing", done.returncode == 2 and "publish.posts_an_hour" in done.stderr and process.poll() is None, done.stderr)
    file.write_text(text)
    network.cli(0, "reload")
    changes = network.cli(0, "show", "changes")["changes"]
    check("who had it read again is known", {"SIGHUP", "local socket"} <= {one["who"] for one in changes if one["does"] == "/reload"}, changes)
    check("and what came of it", any("publish.posts_an_hour" in one["outcome"] and "ring.vservers" in one["outcome"] for one in changes), changes)
    log = (network.directory / "oak.log").read_text()
    check("the log has it too", re.search(r"event=admin who=SIGHUP does=/reload .*outcome=", log), log[-1000:])


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
    check("/metrics with it", status == 200 and 'tagring_ring_member{ring="relay"} 1' in body and "tagring_ready 1" in body and "tagring_disk_free_bytes " in body, body)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True)
        check("promtool reads it", done.returncode == 0, done.stdout + done.stderr)
    else:
        print("skipped: there is no promtool (Debian's prometheus)")


def restarts_refuse_nobody(network):
    """As systemd does: somebody else holds the port, and hands it to each process in turn."""
    network.stop_node(1)
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((network.node_address(1), network.port))
        held.listen(128)
        # dup2 by the shell's redirection; the number of the process is known only after the fork.
        command = ["bash", "-c", f'exec 3<&{held.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "-", network.binary, "run", "--json", "--config", network.config_file(1)]
        failures, answers = [], []
        for turn in range(3):
            process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, pass_fds=[held.fileno()])
            if turn == 0:
                process.stdout.readline()
            else:  # what was asked while no node ran
                status, errors = waiting.communicate(timeout=60)
                (answers if status.endswith("200") else failures).append((status, errors))
            if turn == 2:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
                break
            process.stdout.readline() if turn else None
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            waiting = subprocess.Popen(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "50", "--cacert", network.directory / "certs" / "ca.pem",
                                        "--resolve", f"{node_host(1)}:{network.port}:{network.node_address(1)}", f"https://{node_host(1)}:{network.port}/livez"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(1)
        check("who comes while it restarts waits, and is answered", len(answers) == 2 and not failures, (answers, failures))
    network.start_node(1)


def answers_to_mistakes(network):
    """What is typed wrong is answered with what is right."""
    config = ["--config", network.config_file(0)]
    for words, says in [(["instance", "lst"], 'did you mean "list"?'), (["block", "ad"], 'did you mean "add"?'), (["sim", "rng"], 'did you mean "ring"?'),
                        (["statsu"], 'did you mean "status"?'), (["block"], "needs a command: list, add"), (["nothinglikeit"], "see tagring --help")]:
        done = run(network, *words)
        check(f"tagring {' '.join(words)}", done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    done = run(network, "query", "x", "--before", "xyz", *config)
    check("a cursor that is none", done.returncode == 2 and "'xyz' is no cursor" in done.stderr, done.stderr)
    for verb in ["subscribe", "unsubscribe"]:
        done = run(network, verb, "two words", *config)
        check(f"{verb} two words", done.returncode == 2 and "a hashtag is one word" in done.stderr, done.stdout + done.stderr)
    done = run(network, "unsubscribe", "neversubscribed", *config)
    check("what was not subscribed", done.returncode == 0 and done.stdout == "#neversubscribed was not subscribed\n", done.stdout + done.stderr)
    check("an empty list of blocks", run(network, "block", "list", *config).stdout == "nothing is blocked\n")
    with tempfile.TemporaryDirectory() as folder:
        done = run(network, "query", "x", cwd=folder)
        check("no configuration anywhere", done.returncode == 1 and "/etc/tagring/tagring.toml" in done.stderr and "--config" in done.stderr, done.stderr)
        shutil.copy(network.config_file(0), Path(folder) / "tagring.toml")
        replace(Path(folder) / "tagring.toml", 'data = "data"', f'data = "{network.node_directory(0)}/data"')
        check("one in this folder is found", run(network, "status", cwd=folder).returncode == 0)
        second = run(network, "run", "--config", Path(folder) / "tagring.toml")
        check("a second node on the same data", second.returncode == 1 and "does the node run already?" in second.stderr, second.stderr)
    shown = run(network, "status", *config).stdout
    check("status is a page", shown.startswith(f"https://{node_host(0)}") and "Rings\n" in shown and "{" not in shown, shown)
    settings = run(network, "show", "settings", *config).stdout
    check("settings fit the terminal", max(map(len, settings.splitlines())) <= 160 and "`" not in settings, max(settings.splitlines(), key=len))
    for command in ["status", "feed", "ring", "owners", "doctor", "reload", "backup", "restore", "upgrade", "setup"]:
        check(f"{command} --help has an example", f"tagring {command}" in run(network, command, "--help").stdout.split("Example:")[-1])


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
    code, report, checks = doctor(network, 0)
    check("doctor knows of a post that owners took", any("took a post of it" in one["detail"] for name, one in checks.items() if name == "instance oak.example"), report)


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
COUNTED(unlink, (const char* path), (path))
COUNTED(remove, (const char* path), (path))
COUNTED(fsync, (int file), (file))
COUNTED(fchmodat, (int folder, const char* path, unsigned mode, int flags), (folder, path, mode, flags))
"""


def restore_killed_anywhere(network, file, folder):
    """Killed before each step that changes a name, or anything on the disk: the node has its database, the former or the restored."""
    (folder / "killer.c").write_text(KILLER)
    subprocess.run(["clang-19", "-shared", "-fPIC", "-o", folder / "killer.so", folder / "killer.c"], check=True)
    database = network.node_directory(0) / "data" / "tagring.db"

    def found():
        with sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True) as opened:
            whole = opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            wants = {tag for tag, in opened.execute("SELECT tag FROM wants")}
        return whole and {"hedgehog"} <= wants

    kills = wrong = 0
    for at in range(1, 100):
        done = run(network, "restore", file, "--config", network.config_file(0), env={**os.environ, "LD_PRELOAD": str(folder / "killer.so"), "KILL_AT": str(at)})
        wrong += not database.exists() or not found()
        if done.returncode == 0:
            break
        kills += done.returncode == -signal.SIGKILL
    check("a restore that is killed leaves one of the two", wrong == 0 and done.returncode == 0 and kills > 4, (wrong, kills, done))


def backup(network):
    network.cli(0, "subscribe", "hedgehog")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "copy.db"
        answer = network.cli(0, "backup", file)
        check("a copy while it runs", answer["octets"] == file.stat().st_size > 0 and file.stat().st_mode & 0o77 == 0, answer)
        again = run(network, "backup", file, "--config", network.config_file(0))
        check("no copy is overwritten", again.returncode == 2 and "is there already" in again.stderr, again.stderr)
        running = run(network, "restore", file, "--config", network.config_file(0))
        check("nothing is restored under a node that runs", running.returncode != 0 and "stop the node" in running.stderr, running.stderr)
        network.cli(0, "subscribe", "newt")
        network.stop_node(0)
        cut = Path(folder) / "cut.db"
        cut.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
        refused = run(network, "restore", cut, "--config", network.config_file(0))
        check("half a copy is refused", refused.returncode != 0 and "no whole backup" in refused.stderr, refused.stderr)
        restore_killed_anywhere(network, file, Path(folder))
        done = run(network, "restore", file, "--config", network.config_file(0))
        check("a whole one is restored", done.returncode == 0, done.stderr)
        database = network.node_directory(0) / "data" / "tagring.db"
        database.write_bytes(b"damaged" * 1000)
        done = run(network, "restore", file, "--config", network.config_file(0))
        check("in the place of a damaged one, too", done.returncode == 0, done.stderr)
        database.parent.chmod(0o755)
        network.start_node(0)
        wait_for("the restored node", lambda: network.is_settled(0))
        check("nobody else may look into its folder", database.parent.stat().st_mode & 0o77 == 0 and database.stat().st_mode & 0o77 == 0, oct(database.parent.stat().st_mode))
        wanted = json.dumps(network.cli(0, "show", "subscriptions"))
        check("it has what the copy had", "hedgehog" in wanted and "newt" not in wanted, wanted)


def setup():
    binary = os.environ.get("TAGRING_BINARY", ROOT / "build" / "release" / "tagring")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tagring.toml"
        options = ["setup", "--config", file, "--host", "tags.example.org", "--address", "2001:db8::1", "--instance", "example.org", "--join", "https://tags.example.net"]
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("setup says what to type into each server", done.returncode == 0 and all(name in done.stdout for name in ["Mastodon", "Misskey", "Pleroma", "Akkoma", "https://tags.example.org/inbox", "https://tags.example.org/actor"]), done.stdout + done.stderr)
        check("what it writes has comments and rights", file.read_text().count("\n#") > 8 and file.stat().st_mode & 0o27 == 0)
        report = subprocess.run([binary, "doctor", "--json", "--config", file], capture_output=True, text=True)
        check("and is a configuration", json.loads(report.stdout)["checks"][0]["ok"], report.stdout)
        done = subprocess.run([binary, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("it overwrites nothing", done.returncode == 2 and "--force" in done.stderr, done.stderr)
        done = subprocess.run([binary, "setup", "--config", file, "--force", "--host", "tags.example.org"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("it says which option is missing", done.returncode == 2 and "--address" in done.stderr, done.stderr)
        done = subprocess.run([binary, "setup", "--config", file, "--force", "--host", "co.uk", "--address", "2001:db8::1", "--instance", "x.org", "--create"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check("what cannot be is refused, and nothing written", done.returncode == 2 and "node.host" in done.stderr and "tags.example.org" in file.read_text(), done.stderr)


def main():
    setup()
    with Network(ROOT / "run" / "operation_test", nodes=2) as network:
        for i in range(2):
            network.start_node(i)
        wait_for("two nodes", lambda: network.is_whole())
        doctor_finds_what_is_wrong(network)
        wrong_certificates_end_the_start(network)
        not_reached(network)
        network.start_node(1)
        wait_for("two nodes again", lambda: network.is_settled(1))
        reload(network)
        seen_by_machines(network)
        answers_to_mistakes(network)
        feed(network)
        backup(network)
        restarts_refuse_nobody(network)
        log_lines(network)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
