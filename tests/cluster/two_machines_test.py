"""A node that has no more than two machines, with a core and a front on each, of which one core waits: both of a machine have the same address and
the same configuration. The machine of the core that runs dies, and the other one goes on by itself.

    python3 tests/cluster/two_machines_test.py
"""

import json
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
sys.path.insert(0, str(ROOT / "tests" / "interop" / "real"))
from fronts_test import INSIDE, ManyMachines, Process  # noqa: E402
from network import Failure, Network, free_port, node_host  # noqa: E402
from postgres import Postgres, programs  # noqa: E402
from standby_test import TWICE, Checks  # noqa: E402

MACHINES = [0, 1]


class OfPair(Process):
    """Its number is that of its machine, and two more for a front."""

    def inside(self):
        return f"{self.network.machine_address(self.number)}:{INSIDE + (self.role() == 'front')}"


class Pair(ManyMachines):
    def __init__(self, directory):
        Network.__init__(self, directory, nodes=1)
        self.active, self.livez, self.of_cores = 0, free_port(), free_port()
        self.cores = [OfPair(self, machine) for machine in MACHINES]
        self.fronts = [OfPair(self, machine + 2) for machine in MACHINES]

    @staticmethod
    def machine_address(number):
        return f"127.0.4.{number % 2 + 1}"

    def machine_config(self, number):
        return self.node_directory(TWICE) / f"machine{number % 2}.toml"

    def write_machines(self, database):
        for self.active in reversed(MACHINES):
            address = self.machine_address(self.active)
            of_cores = f"core_port = {self.of_cores}\n" if self.active == 0 else ""
            self.write_config(TWICE, extra=f'[database]\n{database}\n[metrics]\naddress = "{address}"\nport = {self.livez}\n{of_cores}', listen=f'address = "{address}"')
            file = self.machine_config(self.active)
            file.write_text(file.read_text().replace('data = "data"', f'data = "data{self.active}"'))

    def answers(self, machine):
        """Who asks there for what only a core has."""
        context = ssl.create_default_context(cafile=str(self.directory / "certs" / "ca.pem"))
        context.check_hostname = False  # called by its address
        request = urllib.request.Request(f"https://{self.machine_address(machine)}:{self.port}/actor",
                                         headers={"Host": f"{node_host(TWICE)}:{self.port}", "Accept": "application/activity+json"})
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                return json.load(answer)["id"].endswith("/actor")
        except OSError as error:
            raise Failure(f"machine {machine}: {error}") from error


def test(network, check):
    for machine in MACHINES:
        network.cores[machine].start()
        network.cores[machine].says("stands by" if machine else "serves")
        network.fronts[machine].start()
        network.fronts[machine].says("serves")
    check("each machine answers", lambda: all(map(network.answers, MACHINES)))

    def metrics(machine):
        found = network.doctor(network.cores[machine])
        return found["metrics"]["detail"] if "metrics" in found else ""

    check("a core has a port of its own for metrics", lambda: 'role="core"' in network.cores[0].get(network.of_cores, "/metrics")[1] and not metrics(0))
    check("beside that of its front", lambda: 'role="front"' in network.fronts[0].get(network.livez, "/metrics")[1])
    # A core shows no certificate; the front has one from before.
    (network.directory / "certs" / f"{node_host(TWICE)}.pem").write_text("spoilt")
    for process in [network.cores[0], network.fronts[0]]:
        process.kill()
    network.cores[1].says("serves")
    network.active = 1
    check("the other machine answers by itself, though there is no good certificate for its next start", lambda: network.answers(1))
    network.cores[0].start()
    network.cores[0].says("stands by")
    check("a core starts without: it is fronts that show it", lambda: network.cores[0].process.poll() is None)
    check("also where nobody has thought of the metrics, which is said", lambda: f"port {network.livez}" in metrics(1))


def main():
    check = Checks()
    try:
        programs()
    except Failure:
        print("missing: PostgreSQL (tools/setup installs it)\n0 passed, 1 failed")
        return 1
    with Postgres() as server, Pair(ROOT / "run" / "two_machines_test") as network:
        network.write_machines(f'postgres = "{server.create("tagring")}"\nstandby = true')
        test(network, check)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
