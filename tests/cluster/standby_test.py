"""A node on PostgreSQL with two machines, behind a balancer, while posts flow: the process that runs is killed, paused, and robbed of its
session, again and again. The other takes over; nothing acknowledged is lost, and nothing is there twice; the neighbours see one node. At last
PostgreSQL itself refuses to write, dies, and its replica is promoted, and dies as well for a while.

    python3 tests/cluster/standby_test.py [seed]
"""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from balancer import Balancer  # noqa: E402
from network import Failure, Network, free_port, node_host, origin_host, wait_for  # noqa: E402
from postgres import Postgres, Replica, programs  # noqa: E402

NODES, ORIGINS = 3, 2
TWICE, READER = 0, 1  # the node of two machines, and a subscriber beside it
TAGS = ["caturday", "photography", "music"]
KILLS, LOST_SESSIONS = 4, 3
SUPERSEDED = 3  # exit code
TAKES_OVER_WITHIN = 10  # s: what docs/config.md says
LEASE = 10  # s without an answer of the server, after which a process ends
REST = 12  # s; silence of half of it costs a process its place
SLOW_MACHINE = 3  # times as long where others use the cores, too


class Machine:
    """A process of the node that has two, with what it said and when."""

    def __init__(self, network, number):
        self.network, self.number = network, number
        self.process = None

    def start(self):
        self.said = {}
        log = open(self.log_file(), "a")
        command = [self.network.binary, "run", "--json", "--config", self.network.machine_config(self.number)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.network.processes[f"machine{self.number}"] = self.process
        threading.Thread(target=self._listen, args=(self.process.stdout, self.said), daemon=True).start()

    @staticmethod
    def _listen(output, said):
        for line in output:
            said["serves" if json.loads(line)["ready"] else "stands by"] = time.monotonic()

    def log_file(self):
        return self.network.directory / f"machine{self.number}.log"

    def log(self):
        return self.log_file().read_text()

    def says(self, what, seconds=60):
        wait_for(f"machine {self.number} {what}", lambda: what in self.said or self._ended(), seconds)
        return self.said[what]

    def _ended(self):
        if self.process.poll() is not None:
            raise SystemExit(f"machine {self.number} ended with {self.process.returncode}: {self.log()[-2000:]}")


class TwoMachines(Network):
    """Its node TWICE has two machines; what is asked of the node is asked where it runs."""

    def __init__(self, directory):
        super().__init__(directory, nodes=NODES)
        self.active = 0
        self.livez = free_port()
        self.machines = [Machine(self, 0), Machine(self, 1)]

    @staticmethod
    def machine_address(machine):
        return f"127.0.4.{machine + 1}"

    def machine_config(self, machine):
        return self.node_directory(TWICE) / f"machine{machine}.toml"

    def config_file(self, i):
        return self.machine_config(self.active) if i == TWICE else super().config_file(i)

    def write_machines(self, database):
        for self.active in [1, 0]:
            address = self.machine_address(self.active)
            self.write_config(TWICE, extra=f'[database]\n{database}\n[metrics]\naddress = "{address}"\nport = {self.livez}\n',
                              listen=f'address = "{address}"\ntrusted_proxies = ["127.0.0.1"]\nproxy_protocol = true')
            file = self.machine_config(self.active)
            file.write_text(file.read_text().replace('data = "data"', f'data = "data{self.active}"'))

    def running(self):
        return list(range(NODES))


class Flow:
    """Posts at each instance, one after the other, from beginning to end, what somebody is told of them who follows a hashtag at the node of
    two machines, and what the neighbours think of that node meanwhile."""

    def __init__(self, network):
        self.network = network
        followed = network.control("origins", "/follow", {"domain": origin_host(TWICE), "actor": f"https://{node_host(TWICE)}:{network.port}/tag/{TAGS[0]}"})
        if not 200 <= followed["status"] < 300:
            raise Failure(f"a follow was answered {followed}")
        self.sent, self.acknowledged = {}, {}  # URI -> hashtags
        self.times = []  # when the node of two machines acknowledged
        self.places = self.own_places()
        self.wrong_places = []  # that a neighbour saw, with what it saw
        self.number = 0
        self.lock = threading.Lock()

    def __enter__(self):
        self.over = threading.Event()
        works = [lambda i=i: self._write(i) for i in range(ORIGINS)] + [self._look]
        self.threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _write(self, i):
        while not self.over.wait(0.05):
            with self.lock:
                self.number += 1
                number = self.number
            tags = {TAGS[number % len(TAGS)], TAGS[number // 3 % len(TAGS)]}
            text = f"Post {number} " + " ".join(f"#{tag}" for tag in sorted(tags))
            answer = self.network.control("origins", "/post", {"text": text, "domain": origin_host(i), "retries": 3 * (number % 2)})
            with self.lock:
                self.sent[answer["id"]] = tags
                if 200 <= answer["status"] < 300:
                    self.acknowledged[answer["id"]] = tags
                    if i == TWICE:
                        self.times.append(time.monotonic())

    def _look(self):
        """What a neighbour sees of the node: each place once, and no other than it had."""
        while not self.over.wait(0.5):
            for which, seen in self.seen().items():
                places = [(which, contact["id"]) for contact in seen]
                if len(places) != len(set(places)) or not set(places) <= self.places:
                    self.wrong_places.append(seen)

    def own_places(self):
        rings = self.network.cli(TWICE, "ring")
        return {(which, v["self"]["id"]) for which in ["relay", "storage"] for v in rings[which]}

    def seen(self):
        """{ring: contacts of the node in a neighbour's list of successors}"""
        try:
            rings = self.network.cli(READER, "ring")
        except Failure:
            return {}
        host = node_host(TWICE)
        return {which: max(([c for c in v["successors"] if c["host"] == host] for v in rings[which]), key=len, default=[])
                for which in ["relay", "storage"]}

    def is_one_node(self):
        if self.wrong_places or self.own_places() != self.places:
            raise Failure(f"it had {self.places}, has {self.own_places()}, and a neighbour saw {self.wrong_places[:2]}")
        return True

    def is_whole(self):
        wrong = self.wrong()
        if wrong:
            raise Failure("; ".join(wrong))
        return True

    def wrong(self):
        """Of what a subscriber and the histories have: what is not as it was acknowledged."""
        found = []
        for tag in TAGS:
            lists = {f"feed of {i}": [uri for _, op, t, uri in self.network.feed(i) if t == tag and op == "add"] for i in [TWICE, READER]}
            lists |= {f"history through {i}": [e["uri"] for e in self.network.history(i, tag)] for i in range(NODES)}
            must = {uri for uri, tags in self.acknowledged.items() if tag in tags}
            may = {uri for uri, tags in self.sent.items() if tag in tags}
            for what, uris in lists.items():
                lost, twice, strange = len(must - set(uris)), len(uris) - len(set(uris)), len(set(uris) - may)
                if lost or twice or strange:
                    found.append(f"{what} #{tag}: {lost} of {len(must)} are missing, {twice} are there twice, {strange} were never sent")
        return found + self.told_wrongly()

    def told_wrongly(self):
        """An Announce may come again, and servers know it by its id; another one of the same post they show once more."""
        announces = {}  # URI -> ids
        for entry in self.network.control("origins", f"/received?domain={origin_host(TWICE)}"):
            if entry["activity"]["type"] == "Announce":
                announces.setdefault(entry["activity"]["object"], set()).add(entry["activity"]["id"])
        twice = {uri: ids for uri, ids in announces.items() if len(ids) > 1}
        return ["who follows was told of nothing"] if not announces else [f"who follows was told twice of {uri}: {ids}" for uri, ids in twice.items()]


class Faults:
    """Each returns how long nobody served, by the process itself and by the next post that was acknowledged."""

    def __init__(self, network, flow, dsn, rng):
        self.network, self.flow, self.dsn, self.rng = network, flow, dsn, rng

    def sql(self, statement):
        done = subprocess.run([programs() / "psql", self.dsn, "-tAc", statement], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def term(self):
        return int(self.sql("SELECT value FROM counters WHERE name = 'node:term'"))

    def active(self):
        return self.network.machines[self.network.active]

    def standby(self):
        return self.network.machines[1 - self.network.active]

    def take_over(self, fault, kind):
        """(seconds, seconds): until the standby serves, and until a post is acknowledged."""
        self.standby().says("stands by")
        time.sleep(self.rng.uniform(0.5, 3))
        before, term = time.monotonic(), self.term()
        fault(self.active())
        served = self.standby().says("serves") - before
        self.network.active = 1 - self.network.active
        wait_for("a post", lambda: self.flow.times and self.flow.times[-1] > before + served)
        acknowledged = next(at for at in self.flow.times if at > before + served) - before
        print(f"  {kind}: the other serves {served:.1f} s later, and acknowledges a post {acknowledged:.1f} s later", flush=True)
        if self.term() != term + 1:
            raise Failure(f"the term went from {term} to {self.term()}")
        return served

    def kill(self):
        served = self.take_over(lambda machine: (machine.process.kill(), machine.process.wait()), "killed")
        self.standby().start()
        return served

    def pause(self):
        served = self.take_over(lambda machine: machine.process.send_signal(signal.SIGSTOP), "paused")
        slow = self.standby()
        slow.process.send_signal(signal.SIGCONT)
        wait_for("the end of who was replaced", lambda: slow.process.poll() is not None, 30)
        code = slow.process.returncode
        if code != SUPERSEDED or "event=superseded" not in slow.log():
            raise Failure(f"who was replaced ended with {code}: {slow.log()[-1000:]}")
        slow.start()
        return served

    def lose_session(self):
        """Which takes nobody's place."""
        self.standby().says("stands by")
        time.sleep(self.rng.uniform(0.5, 2))
        term, machine, before = self.term(), self.active(), time.monotonic()
        self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tagring, process {machine.process.pid}'")
        wait_for("a post", lambda: self.flow.times[-1] > before)
        time.sleep(4)
        if machine.process.poll() is not None or self.term() != term or "serves" in self.standby().said:
            raise Failure(f"a lost session cost a process its place: {machine.log()[-1000:]}")

    def refuse_writes(self, primary):
        """As a server does whose disk is full: who asks it has its answers, and keeps its place."""
        self.standby().says("stands by")
        term, machine = self.term(), self.active()
        noted = machine.log().count("event=cannot_write")
        primary.psql("ALTER SYSTEM SET default_transaction_read_only = on")
        primary.psql("SELECT pg_reload_conf()")
        time.sleep(LEASE + 5)
        primary.psql("ALTER SYSTEM RESET default_transaction_read_only")
        primary.psql("SELECT pg_reload_conf()")
        writable = time.monotonic()
        wait_for("a post", lambda: self.flow.times[-1] > writable)
        if machine.process.poll() is not None or self.term() != term or "serves" in self.standby().said:
            raise Failure(f"a server that refused to write cost a process its place: {machine.log()[-1000:]}")
        if machine.log().count("event=cannot_write") == noted:
            raise Failure(f"nothing was refused: {machine.log()[-1000:]}")

    def lose_server(self, primary, replica):
        """The process that runs goes on with the replica, or, if that was slow, the other does."""
        self.standby().says("stands by")
        before = time.monotonic()
        primary.stop()
        replica.promote()
        promoted = time.monotonic()
        wait_for("a post", lambda: self.flow.times[-1] > promoted)
        if self.active().process.poll() is not None:
            self.network.active = 1 - self.network.active
            self.standby().start()
        print(f"  the replica was promoted after {promoted - before:.1f} s, a post acknowledged {time.monotonic() - promoted:.1f} s later", flush=True)

    def lose_every_server(self, replica):
        """Then nobody can say who is the node: the process that runs ends, and when a server is back the one that waits goes on."""
        lost = self.active()
        self.standby().says("stands by")
        replica.stop()
        wait_for("the end of who had no server for ten seconds", lambda: lost.process.poll() is not None, 60)
        if lost.process.returncode != SUPERSEDED or "has not answered for ten seconds" not in lost.log():
            raise Failure(f"who had no server ended with {lost.process.returncode}: {lost.log()[-1000:]}")
        replica.start()
        served = self.standby().says("serves")
        self.network.active = 1 - self.network.active
        lost.start()
        wait_for("a post", lambda: self.flow.times[-1] > served)
        print("  without any server the process ended, and the other went on when there was one", flush=True)


def refuses_connections(network, machine):
    for port in [network.port, network.livez]:
        try:
            socket.create_connection((network.machine_address(machine), port), timeout=1).close()
            return False
        except ConnectionRefusedError:
            pass
    return True


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def __call__(self, what, condition, seconds=90):
        try:
            print(f"  ok    {what}: {wait_for(what, condition, seconds):.0f} s", flush=True)
            self.passed += 1
        except Failure as failure:
            print(f"  FAIL  {failure}", flush=True)
            self.failed += 1


def bring_up(network, check):
    """The ring, the node's first process, and its second one, which waits."""
    first, second = network.machines
    first.start()
    first.says("serves")
    for i in range(1, NODES):
        network.start_node(i)
    second.start()
    second.says("stands by")
    check("the network is one", network.is_whole)
    check("the standby has no port open", lambda: refuses_connections(network, 1))
    check("and says for whom it waits", lambda: f"tagring, process {first.process.pid}" in second.log())
    second.process.terminate()
    check("it ends when it is told to", lambda: second.process.wait(5) == 0)
    second.start()
    for i in [TWICE, READER]:
        network.cli(i, "subscribe", *TAGS)
    check("subscriptions", lambda: network.is_settled(TWICE) and network.is_settled(READER))
    time.sleep(REST)
    check("a node at rest is not taken for silent", lambda: "serves" not in second.said and first.process.poll() is None, 1)
    network.start_origins(ORIGINS)


def suffer(faults, rng, primary, replica):
    """How long each time nobody served, in seconds."""
    for _ in range(LOST_SESSIONS):
        faults.lose_session()
    print(f"  {LOST_SESSIONS} lost sessions were made again", flush=True)
    kinds = [faults.kill] * KILLS + [faults.pause] * 2
    rng.shuffle(kinds)
    times = [kind() for kind in kinds]
    faults.refuse_writes(primary)
    print("  a server that refused to write cost nobody its place", flush=True)
    faults.lose_server(primary, replica)
    faults.lose_every_server(replica)
    time.sleep(2)
    return times


def test(network, primary, replica, seed):
    check = Checks()
    rng = random.Random(seed)
    network.write_machines("standby = true")
    refused = subprocess.run([network.binary, "run", "--config", network.machine_config(0)], capture_output=True, text=True, timeout=60)
    check("on SQLite there is no standby", lambda: refused.returncode == 2 and "database.standby: is for PostgreSQL" in refused.stderr)
    primary.create("tagring")
    dsn = f"host={primary.directory},{replica.directory} user=admin dbname=tagring target_session_attrs=read-write"
    network.write_machines(f'postgres = "{dsn}"\nstandby = true')
    with Balancer(network.node_address(TWICE), network.port, [(network.machine_address(m), network.livez) for m in range(2)]):
        bring_up(network, check)
        flow = Flow(network)
        faults = Faults(network, flow, dsn, rng)
        try:
            with flow:
                times = suffer(faults, rng, primary, replica)
        except Failure as failure:
            print(f"  FAIL  {failure}", flush=True)
            check.failed += 1
            return check
        check(f"takes over within {TAKES_OVER_WITHIN} s", lambda: sorted(times)[len(times) // 2] < TAKES_OVER_WITHIN, 1)
        check("also on a slow machine", lambda: max(times) < TAKES_OVER_WITHIN * SLOW_MACHINE, 1)
        check("it is one node, also to its neighbours", flow.is_one_node)
        print(f"  {len(flow.acknowledged)} of {len(flow.sent)} posts were acknowledged")
        check("everything acknowledged is there, once", flow.is_whole, 180)
        restarted = faults.active()
        faults.standby().says("stands by")
        restarted.process.terminate()
        check("who is told to end ends", lambda: restarted.process.wait(30) == 0)
        restarted.start()
        check("the standby goes on, though that one starts again at once", lambda: faults.standby().says("serves") and "serves" not in restarted.said)
    return check


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    try:
        programs()
    except Failure:
        print("missing: PostgreSQL (tools/setup installs it)\n0 passed, 0 failed")
        return 0
    print(f"seed {seed}")
    with Postgres() as primary, Replica(primary) as replica, TwoMachines(ROOT / "run" / "standby_test") as network:
        check = test(network, primary, replica, seed)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
