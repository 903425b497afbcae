"""A node on PostgreSQL with two machines, behind a balancer, while posts flow: the process that runs is killed, also while it waits for the
replica, paused, and robbed of its session, again and again. The other takes over; nothing acknowledged is lost, in histories, at subscribers and
at who follows, and nothing is there twice; the neighbours see one node. At last PostgreSQL itself refuses to write, dies, and its replica is
promoted, and dies as well for a while.

    python3 tests/cluster/standby_test.py [--seed N]

The seed, TAGRING_SEED or a new one, decides when what fails; what processes make of it differs from run to run.
"""

import argparse
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from balancer import Balancer  # noqa: E402
from flow import EACH_FRONT_GETS_POSTS, NODES, ORIGINS, READER, TAGS, TWICE, Flow  # noqa: E402
from network import Failure, Network, free_port, wait_for  # noqa: E402
from postgres import Postgres, Replica, programs  # noqa: E402

KINDS = {"killed": 3, "killed while the replica was silent": 1, "paused": 2}  # in any order
LOST_SESSIONS = 3
ALL_KINDS = KINDS | {"session lost": LOST_SESSIONS, "writes refused": 1, "server lost": 1, "every server lost": 1}
ANSWERED_WITHIN = 2  # s: what is committed
SILENT = 2  # s more; five without an answer of the server, and a process is not ready
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

    def kill(self):
        self.process.kill()
        self.process.wait()

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


class Faults:
    """Each returns how long nobody served, by the process itself, if somebody had to take over."""

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

    @contextmanager
    def fault(self, kind, restarts=False):
        """At a time that the seed decides: when neighbours see the node again, or soon after the last one."""
        self.standby().says("stands by")
        if self.rng.random() < 1 / 3:
            wait_for("neighbours", self.flow.is_seen)
        time.sleep(self.rng.uniform(0, 2))
        with self.flow.fault(kind, restarts) as fault:
            yield fault

    def acknowledges_nothing(self, seconds, why):
        """From soon on: what is in the database by now is answered."""
        time.sleep(ANSWERED_WITHIN)
        since = time.monotonic()
        time.sleep(seconds)
        if late := [at for at in self.flow.times if at > since]:
            raise Failure(f"{len(late)} posts were acknowledged, though {why}")

    def take_over(self, strike, kind):
        term = self.term()
        strike(self.active())
        before = time.monotonic()
        served = self.standby().says("serves") - before
        self.network.active = 1 - self.network.active
        wait_for("a post", lambda: self.flow.times[-1] > before + served)
        acknowledged = next(at for at in self.flow.times if at > before + served) - before
        print(f"  {kind}: the other serves {served:.1f} s later, and acknowledges a post {acknowledged:.1f} s later", flush=True)
        if self.term() != term + 1:
            raise Failure(f"the term went from {term} to {self.term()}")
        return served

    def kill(self):
        with self.fault("killed", restarts=True):
            served = self.take_over(Machine.kill, "killed")
        self.standby().start()
        return served

    def kill_unconfirmed(self, machine, replica):
        """While nothing that it commits comes to the replica, so that it may have acknowledged nothing of that."""
        with replica.silent():
            self.acknowledges_nothing(SILENT, "the replica did not have them")
            machine.kill()

    def kill_silent(self, replica):
        kind = "killed while the replica was silent"
        with self.fault(kind, restarts=True):
            served = self.take_over(lambda machine: self.kill_unconfirmed(machine, replica), kind)
        self.standby().start()
        return served

    def pause(self):
        with self.fault("paused", restarts=True):
            served = self.take_over(lambda machine: machine.process.send_signal(signal.SIGSTOP), "paused")
            slow = self.standby()
            slow.process.send_signal(signal.SIGCONT)
            wait_for("the end of who was replaced", lambda: slow.process.poll() is not None, 30)
        code = slow.process.returncode
        if code != SUPERSEDED or "event=superseded" not in slow.log():
            raise Failure(f"who was replaced ended with {code}: {slow.log()[-1000:]}")
        slow.start()
        return served

    def keeps_its_place(self, machine, term, what):
        if machine.process.poll() is not None or self.term() != term or "serves" in self.standby().said:
            raise Failure(f"{what} cost a process its place: {machine.log()[-1000:]}")

    def lose_session(self):
        """Which takes nobody's place."""
        with self.fault("session lost"):
            term, machine, before = self.term(), self.active(), time.monotonic()
            self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tagring, process {machine.process.pid}'")
            wait_for("a post", lambda: self.flow.times[-1] > before)
        time.sleep(4)
        self.keeps_its_place(machine, term, "a lost session")

    def refuse_writes(self, primary):
        """As a server does whose disk is full: who asks it has its answers, and keeps its place."""
        with self.fault("writes refused"):
            term, machine = self.term(), self.active()
            noted = machine.log().count("event=cannot_write")
            primary.psql("ALTER SYSTEM SET default_transaction_read_only = on")
            primary.psql("SELECT pg_reload_conf()")
            self.acknowledges_nothing(LEASE + 5 - ANSWERED_WITHIN, "nothing could be written")
            primary.psql("ALTER SYSTEM RESET default_transaction_read_only")
            primary.psql("SELECT pg_reload_conf()")
            writable = time.monotonic()
            wait_for("a post", lambda: self.flow.times[-1] > writable)
        self.keeps_its_place(machine, term, "a server that refused to write")
        if machine.log().count("event=cannot_write") == noted:
            raise Failure(f"nothing was refused: {machine.log()[-1000:]}")

    def lose_server(self, primary, replica):
        """The process that runs goes on with the replica, or, if that was slow, the other does."""
        with self.fault("server lost") as fault:
            before = time.monotonic()
            primary.stop()
            replica.promote()
            promoted = time.monotonic()
            wait_for("a post", lambda: self.flow.times[-1] > promoted)
            fault.restarts = self.active().process.poll() is not None
        if fault.restarts:
            self.network.active = 1 - self.network.active
            self.standby().start()
        print(f"  the replica was promoted after {promoted - before:.1f} s, a post acknowledged {time.monotonic() - promoted:.1f} s later", flush=True)

    def lose_every_server(self, replica):
        """Then nobody can say who is the node: the process that runs ends, and when a server is back the one that waits goes on."""
        with self.fault("every server lost", restarts=True):
            lost = self.active()
            replica.stop()
            self.acknowledges_nothing(LEASE / 2, "there was no database")
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
    network.start_origins(ORIGINS, *EACH_FRONT_GETS_POSTS)


def suffer(faults, rng, primary, replica):
    """How long each time nobody served, in seconds."""
    for _ in range(LOST_SESSIONS):
        faults.lose_session()
    print(f"  {LOST_SESSIONS} lost sessions were made again", flush=True)
    hows = dict(zip(KINDS, [faults.kill, lambda: faults.kill_silent(replica), faults.pause]))
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    rng.shuffle(kinds)
    times = [hows[kind]() for kind in kinds]
    faults.refuse_writes(primary)
    print("  a server that refused to write cost nobody its place", flush=True)
    faults.lose_server(primary, replica)
    faults.lose_every_server(replica)
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
                flow.comes_back()
        except Failure as failure:
            print(f"  FAIL  {failure}", flush=True)
            check.failed += 1
            return check
        check(f"takes over within {TAKES_OVER_WITHIN} s", lambda: sorted(times)[len(times) // 2] < TAKES_OVER_WITHIN, 1)
        check("also on a slow machine", lambda: max(times) < TAKES_OVER_WITHIN * SLOW_MACHINE, 1)
        flow.check(check, ALL_KINDS)
        restarted = faults.active()
        faults.standby().says("stands by")
        restarted.process.terminate()
        check("who is told to end ends", lambda: restarted.process.wait(30) == 0)
        restarted.start()
        check("the standby goes on, though that one starts again at once", lambda: faults.standby().says("serves") and "serves" not in restarted.said)
    return check


def asked_seed(about):
    """What the command line says, or a new one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAGRING_SEED") or secrets.randbelow(10**9)))
    seed = parser.parse_args().seed
    print(f"seed {seed}; to repeat it: --seed {seed}", flush=True)
    return seed


def main(about, network_of, test):
    """`network_of`: of TwoMachines; `test`: (network, primary, replica, seed) -> Checks."""
    seed = asked_seed(about)
    try:
        programs()
    except Failure:
        print("missing: PostgreSQL (tools/setup installs it)\n0 passed, 1 failed")
        return 1
    with Postgres() as primary, Replica(primary) as replica, network_of() as network:
        check = test(network, primary, replica, seed)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(__doc__, lambda: TwoMachines(ROOT / "run" / "standby_test"), test))
