"""A node of several processes on PostgreSQL: fronts that speak with the world, behind a balancer, a core, and one that waits. While posts
flow, fronts and cores are killed again and again, and PostgreSQL's primary once, whose replica is promoted. Nothing acknowledged is lost, nothing
is there twice, and the neighbours see one node.

    python3 tests/cluster/fronts_test.py [--seed N]

The seed is what it is in standby_test.py.
"""

import http.client
import json
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from balancer import Balancer  # noqa: E402
from flow import EACH_FRONT_GETS_POSTS, NODES, ORIGINS, READER, TAGS, TWICE, Flow  # noqa: E402
from liar_test import Named  # noqa: E402
from network import Failure, node_host, wait_for  # noqa: E402
from standby_test import Checks, Faults, Machine, TwoMachines, main  # noqa: E402

CORES, FRONTS = [0, 1], [2, 3]
INSIDE = 7946
KINDS = {"front killed": 4, "core killed": 1, "core killed while the replica was silent": 1, "server lost": 1}


class Process(Machine):
    """One of the node's processes, on a machine of its own."""

    def role(self):
        return "core" if self.number in CORES else "front"

    def inside(self):
        return f"{self.network.machine_address(self.number)}:{INSIDE}"

    def command(self):
        return [self.network.binary, "run", "--json", "--role", self.role(), "--inside", self.inside(), "--config",
                self.network.machine_config(self.number)]

    def start(self):
        self.said = {}
        log = open(self.log_file(), "a")
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log, text=True)
        self.network.processes[f"machine{self.number}"] = self.process
        threading.Thread(target=self._listen, args=(self.process.stdout, self.said), daemon=True).start()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def get(self, port, path, headers=None):
        connection = http.client.HTTPConnection(self.network.machine_address(self.number), port, timeout=10)
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class ManyMachines(TwoMachines):
    def __init__(self, directory):
        super().__init__(directory)
        self.machines = [Process(self, i) for i in CORES + FRONTS]

    def write_machines(self, database):
        for self.active in [*FRONTS, 1, 0]:
            address = self.machine_address(self.active)
            proxies = 'trusted_proxies = ["127.0.0.1"]\nproxy_protocol = true' if self.active in FRONTS else ""
            self.write_config(TWICE, extra=f'[database]\n{database}\n[metrics]\naddress = "{address}"\nport = {self.livez}\n',
                              listen=f'address = "{address}"\n{proxies}')
            file = self.machine_config(self.active)
            file.write_text(file.read_text().replace('data = "data"', f'data = "data{self.active}"'))

    def doctor(self, machine):
        """What it says on the machine of that process: {name: check}."""
        done = subprocess.run([self.binary, "doctor", "--json", "--config", self.machine_config(machine.number)], capture_output=True, text=True, timeout=120)
        return {one["name"]: one for one in json.loads(done.stdout)["checks"]}

    def outside(self, path, headers=None, body=None):
        """A connection by which somebody in the world has asked the node for that, or told it `body`."""
        trusted = ssl.create_default_context(cafile=str(self.directory / "certs" / "ca.pem"))
        connection = http.client.HTTPSConnection(self.node_address(TWICE), self.port, context=Named(trusted, node_host(TWICE)), timeout=30)
        connection.request("GET" if body is None else "POST", path, body, headers={"Host": f"{node_host(TWICE)}:{self.port}", **(headers or {})})
        return connection

    def fronts(self):
        return {front["at"]: front for front in self.cli(TWICE, "status").get("fronts", [])}


def refusals(network, check):
    """What cannot be is said, and changes nothing."""
    binary, config = network.binary, network.machine_config(0)

    def says(arguments, text):
        done = subprocess.run([binary, "run", *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode == 2 and text in done.stderr

    check("--inside without a role", lambda: says(["--config", config, "--inside", "127.0.0.1:7946"], "a node in one process is alone"))
    check("a role without --inside", lambda: says(["--config", config, "--role", "core"], "--inside is missing"))
    check("no place", lambda: says(["--config", config, "--role", "front", "--inside", "here"], "no address of one machine with a port"))
    check("no machine in particular", lambda: says(["--config", config, "--role", "core", "--inside", "0.0.0.0:7946"], "no address of one machine"))
    check("a front before there is a core",
          lambda: says(["--config", config, "--role", "front", "--inside", "127.0.4.9:7946"],
                       'has no core yet: start "tagring run --role core" first'))


SOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


class Reader:
    """Reads a hashtag live, by the name of the node, in a thread of its own: as server-sent events, or on a WebSocket."""

    def __init__(self, network, tag, on_socket):
        self.heard, self.is_over = b"", False
        path = "/api/v1/streaming" if on_socket else f"/api/v1/streaming/hashtag?tag={tag}"
        self.connection = network.outside(path, SOCKET if on_socket else None)
        self.wish = json.dumps({"type": "subscribe", "stream": "hashtag", "tag": tag}).encode() if on_socket else b""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while piece := self.connection.sock.recv(65536):
                self.heard += piece
                if self.wish and b"\r\n\r\n" in self.heard:
                    self.connection.sock.sendall(bytes([0x81, 0x80 | len(self.wish), 0, 0, 0, 0]) + self.wish)  # masked with zeros
                    self.wish = b""
        except OSError:
            pass
        self.is_over = True

    def has_post(self):
        if self.is_over:
            raise Failure(f"it ended after {self.heard[-300:]}")
        return b'"event":"update"' in self.heard or b"event: update\n" in self.heard


def kill_front(network, flow, rng):
    """One that has requests and deliveries."""
    machine = network.machines[rng.choice(FRONTS)]
    wait_for("both fronts", lambda: len(network.fronts()) == len(FRONTS))
    wait_for("its share of them", lambda: all(network.fronts()[machine.inside()][what] > 0 for what in ["brought", "sent"]))
    with flow.fault("front killed"):
        machine.kill()
        time.sleep(rng.uniform(0, 1))
        machine.start()
        machine.says("serves")


def kill_core(network, flow, check, kind, strike):
    """How long after that a post was acknowledged."""
    killed, other = network.machines[network.active], network.machines[1 - network.active]
    other.says("stands by")
    readers = [Reader(network, TAGS[0], on_socket) for on_socket in [False, True]]
    check("streams bring posts that flow", lambda: all(reader.has_post() for reader in readers), 30)
    with flow.fault(kind, restarts=True):
        strike(killed)
        before = time.monotonic()
        check("and end with the core", lambda: all(reader.is_over for reader in readers), 5)
        served = other.says("serves")
        network.active = 1 - network.active
        wait_for("a post", lambda: flow.times[-1] > served)
    took = next(at for at in flow.times if at > served) - before
    print(f"  {kind}: a post was acknowledged {took:.1f} s later", flush=True)
    killed.start()
    return took


def suffer(network, faults, replica, lose_server, rng, check):
    """What dies, in any order. How long after the end of each core a post was acknowledged."""
    times, flow = [], faults.flow

    def core(kind, strike):
        return lambda: times.append(kill_core(network, flow, check, kind, strike))

    hows = dict(zip(KINDS, [lambda: kill_front(network, flow, rng), core("core killed", Machine.kill),
                            core("core killed while the replica was silent", lambda machine: faults.kill_unconfirmed(machine, replica)), lose_server]))
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    rng.shuffle(kinds)
    silent, lost = (kinds.index(kind) for kind in ["core killed while the replica was silent", "server lost"])
    if lost < silent:  # then there would be no replica any more
        kinds[lost], kinds[silent] = kinds[silent], kinds[lost]
    for kind in kinds:
        if rng.random() < 0.5:
            wait_for("neighbours", flow.is_seen)
        time.sleep(rng.uniform(0.5, 2))
        hows[kind]()
        wait_for("both fronts", lambda: len(network.fronts()) == len(FRONTS))
    return times


def strangers(network, check):
    core = network.machines[network.active]
    check("who is no front is told nothing", lambda: core.get(INSIDE, "/actor")[0] == 403)
    check("nor by a front who is no core", lambda: network.machines[FRONTS[0]].get(INSIDE, "/cluster/send")[0] == 403)
    probe = network.machines[FRONTS[0]]
    check("a front is ready", lambda: probe.get(network.livez, "/readyz")[0] == 200)

    def get(path, headers):
        return network.outside(path, headers).getresponse().status

    def post(path, body):
        connection = network.outside(path, {"Content-Type": "application/json"}, json.dumps(body))
        return connection.getresponse().status

    check("from outside nobody vouches for a signature", lambda: get("/actor", {"Tagring-Checked": "ab"}) == 400)
    document = {"Accept": "application/activity+json"}
    check("who offers another protocol is answered", lambda: get("/actor", {**document, "Connection": "Upgrade", "Upgrade": "h2c"}) == 200)
    check("what is long is brought, too", lambda: get("/actor?" + "a" * 4000, document) == 200)
    check("a stream that there is not is refused", lambda: get("/api/v1/streaming/user", {}) == 404)
    check("nobody outside is taken for a front", lambda: post("/cluster/front", {"at": "192.0.2.66:80"}) in (404, 405) and len(network.fronts()) == len(FRONTS))
    check("what the node refuses is no sign of its end", lambda: get("/metrics", {}) in (401, 403) and "core_lost" not in probe.log())
    check("and counts", lambda: "tagring_front_brought_total" in probe.get(network.livez, "/metrics")[1])


def is_looked_after(network, check):
    """What an administrator is told of all processes, on each machine."""
    core, waits = network.machines[network.active], network.machines[1 - network.active]
    front, other = (network.machines[i] for i in FRONTS)
    waits.says("stands by")

    def finds(machine, name, ok, text):
        found = network.doctor(machine).get(name)
        return found is not None and found["ok"] == ok and text in found["detail"] + found["what_to_do"]

    for one in [front, other]:
        check(f"the core's doctor has looked at {one.inside()}", lambda one=one: finds(core, f"front {one.inside()}", True, "is reached from it"))
    check("and at who waits", lambda: finds(core, "standby", True, f"to take over waits tagring, process {waits.process.pid} "))
    check("which says there for whom", lambda: finds(waits, "standby", True, f"is tagring, process {core.process.pid} ") and finds(waits, "node", True, "another process is the node"))
    check("a front's doctor says of its core", lambda: finds(front, "front", True, f"runs here at {front.inside()}") and finds(front, "front", True, f"reaches its core at {core.inside()}"))
    check("and misses nothing that a front has not", lambda: not {"node", "disk", "standby"} & set(network.doctor(front)))

    def says(machine, text):
        done = subprocess.run([network.binary, "status", "--config", network.machine_config(machine.number)], capture_output=True, text=True, timeout=60)
        return done.returncode == 1 and text in done.stderr

    check("where a front runs status says where to ask", lambda: says(front, f"what runs here is a front, at {front.inside()}: ask on the machine of its core, {core.inside()}\n"))
    check("and where one stands by", lambda: says(waits, "if it stands by here, ask on the other machine"))

    def counts(machine, *texts):
        figures = machine.get(network.livez, "/metrics")[1]
        return all(text in figures for text in texts)

    brought = [f'\ntagring_front_brought_total{{front="{one.inside()}"}} ' for one in [front, other]]
    check("the core counts for each front", lambda: counts(core, 'role="core"} 1\n', "\ntagring_fronts 2\n", *brought))
    check("a front counts for itself", lambda: counts(front, 'role="front"} 1\n', "\ntagring_front_core_answers 1\n", '\ntagring_budget_refused_total{resource="connections"} ', "\ntagring_certificate_expiry_seconds ", "\ntagring_certificate_late_seconds "))

    front.stop()
    check("who leaves is not missed", lambda: f"front {front.inside()}" not in network.doctor(core) and "event=front_left" in core.log())
    front.start()
    wait_for("both fronts", lambda: len(network.fronts()) == len(FRONTS))
    front.kill()
    check("who is killed is missed", lambda: finds(core, f"front {front.inside()}", False, "has been silent for"))
    front.start()
    wait_for("both fronts", lambda: len(network.fronts()) == len(FRONTS))
    check("who is back is well", lambda: finds(core, f"front {front.inside()}", True, "is reached from it"))


def changes_its_limits(network, check):
    """A front that reads its configuration again."""
    front = network.machines[FRONTS[0]]
    file = network.machine_config(front.number)
    text = file.read_text()

    def refused():
        return int(front.get(network.livez, "/metrics")[1].split("\ntagring_connections_refused_total ")[1].split()[0])

    def is_refused():
        with ExitStack() as held:  # one that it lets in, and another one
            for _ in range(2):
                connection = held.enter_context(socket.create_connection((network.machine_address(FRONTS[0]), network.port), timeout=5))
                connection.sendall(f"PROXY TCP4 127.0.0.1 {network.node_address(TWICE)} 4000 {network.port}\r\n".encode())
            return refused() > before

    before = refused()
    file.write_text(text.replace("[metrics]", "[budget]\nconnections = 1\n[metrics]"))
    front.process.send_signal(signal.SIGHUP)
    check("a front says what it has read anew", lambda: "budget.connections" in front.log())
    check("and lets others have no more than that", is_refused)
    file.write_text(text)
    front.process.send_signal(signal.SIGHUP)
    check("until it reads again", lambda: front.log().count("event=reloaded") == 2)


def is_missed(network, check):
    """One after the other ends, and those that are left say so."""
    core, waits = network.machines[network.active], network.machines[1 - network.active]
    front, other = (network.machines[i] for i in FRONTS)

    def bad(machine, name):
        found = network.doctor(machine).get(name, {"ok": True})
        return "" if found["ok"] else found["detail"]

    waits.kill()
    check("nobody waits to take over", lambda: "no other process waits" in bad(core, "standby"))
    front.kill()
    other.stop()
    check("no front", lambda: "none is there" in bad(core, "fronts"))
    front.start()
    check("a front", lambda: not bad(core, "fronts"))
    core.kill()
    check("no core", lambda: f"its core at {core.inside()} does not answer" in bad(front, "front"))
    check("nobody", lambda: "no process is the node" in bad(core, "standby"))
    check("and the node is missed there", lambda: bad(core, "node") == "it could not be asked")


def test(network, primary, replica, seed):
    check = Checks()
    rng = random.Random(seed)
    primary.create("tagring")
    dsn = f"host={primary.directory},{replica.directory} user=admin dbname=tagring target_session_attrs=read-write"
    network.write_machines(f'postgres = "{dsn}"\nstandby = true')
    refusals(network, check)
    places = [(network.machine_address(m), network.livez) for m in FRONTS]
    with Balancer(network.node_address(TWICE), network.port, places) as balancer:
        network.machines[0].start()
        network.machines[0].says("serves")
        for machine in network.machines[1:]:
            machine.start()
        for front in FRONTS:
            network.machines[front].says("serves")
        for i in range(1, NODES):
            network.start_node(i)
        check("the network is one", network.is_whole)
        check("the core knows its fronts", lambda: len(network.fronts()) == len(FRONTS))
        for i in [TWICE, READER]:
            network.cli(i, "subscribe", *TAGS)
        check("subscriptions", lambda: network.is_settled(TWICE) and network.is_settled(READER))
        network.start_origins(ORIGINS, *EACH_FRONT_GETS_POSTS)
        strangers(network, check)
        is_looked_after(network, check)
        changes_its_limits(network, check)
        flow = Flow(network)
        faults = Faults(network, flow, dsn, rng)
        try:
            with flow:
                times = suffer(network, faults, replica, lambda: faults.lose_server(primary, replica), rng, check)
                flow.comes_back()
        except Failure as failure:
            print(f"  FAIL  {failure}", flush=True)
            check.failed += 1
            return check
        print(f"  {[round(t, 1) for t in times]} s without a core", flush=True)
        check(f"the fronts share what comes: {balancer.given}", lambda: 3 * min(balancer.given) > max(balancer.given))
        flow.check(check, KINDS)
        is_missed(network, check)
    return check


if __name__ == "__main__":
    sys.exit(main(__doc__, lambda: ManyMachines(ROOT / "run" / "fronts_test"), test))
