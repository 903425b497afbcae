"""A node comes back at another address: the DNS has it, and nobody is told. Its neighbours learn it, its followers and its subscriptions
stay, and posts arrive from it and at it. Real processes, real TLS, names from the hosts file of the system.

    python3 tests/cluster/address_test.py
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, node_host, origin_host, wait_for  # noqa: E402

NODES = 4
MOVER = 2
BEFORE, AFTER = f"127.0.1.{MOVER + 1}", f"127.0.4.{MOVER + 1}"
PATIENCE = 90  # seconds
OTHERS = [i for i in range(NODES) if i != MOVER]
THEIRS, OWN = "caturday", "dogs"  # what the mover subscribes to, and another at it

NEW_HOSTS = 'mount --make-rprivate / && mount --bind "$0" /etc/hosts && exec "$@"'


class Named(Network):
    """Nodes find the mover in a hosts file, which changes while they run."""

    def __enter__(self):
        super().__enter__()
        self.name_mover(BEFORE)
        return self

    @property
    def hosts_file(self):
        return self.directory / "hosts"

    def name_mover(self, address):
        """In place, since they have mounted it."""
        with open(self.hosts_file, "w") as file:
            file.write(f"127.0.0.1 localhost\n{address} {node_host(MOVER)}\n")

    def move_for_instances(self, address):
        """They read a table, once."""
        origins = self.processes.pop("origins")
        origins.terminate()
        origins.wait(30)
        self.hosts[node_host(MOVER)] = address
        (self.directory / "hosts.json").write_text(json.dumps(self.hosts))
        self.start_origins(NODES)

    def before_node(self, i):
        return ["unshare", "-m", "sh", "-c", NEW_HOSTS, self.hosts_file]

    def write_config(self, i, *arguments, **options):
        super().write_config(i, *arguments, extra="[balance]\nenabled = false\n", **options)
        text = self.config_file(i).read_text()
        self.config_file(i).write_text(text.replace(f'"{node_host(MOVER)}" = "{self.hosts[node_host(MOVER)]}"\n', ""))


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def places(network, i, host):
    """The IDs, which are made of addresses, that node i has for the places of a host; its own, or those of a neighbour."""
    rings = network.cli(i, "ring")
    found = set()
    for vserver in [v for of in rings.values() if isinstance(of, list) for v in of]:
        for contact in [vserver["self"], vserver.get("predecessor"), *vserver["successors"]]:
            if contact and contact["host"] == host:
                found.add(contact["id"])
    return found


def main():
    if not can_mount():
        print("skipped: only root may give processes a hosts file of their own")
        print("0 passed, 0 failed")
        return 0
    failures, passed = [], 0

    def check(what, condition):
        nonlocal passed
        try:
            print(f"  ok    {what}: {wait_for(what, condition, seconds=PATIENCE):.0f} s")
            passed += 1
        except Failure as failure:
            print(f"  FAIL  {failure}")
            failures.append(what)

    def arrives(at, by, tag):
        uri = network.control("origins", "/post", {"domain": origin_host(by), "text": f"A #{tag} here"})["id"]
        return lambda: any(found == uri for _, _, _, found in network.feed(at))

    with Named(ROOT / "run" / "address_test", nodes=NODES) as network:
        for i in range(NODES):
            network.start_node(i)
        network.start_origins(NODES)
        check("the network is one", network.is_whole)
        network.cli(MOVER, "subscribe", THEIRS)
        network.cli(OTHERS[-1], "subscribe", OWN)
        check("subscriptions", lambda: network.is_settled(MOVER) and network.is_settled(OTHERS[-1]))
        check("a post arrives at it", arrives(MOVER, 0, THEIRS))

        former = places(network, MOVER, node_host(MOVER))
        network.stop_node(MOVER)
        done = subprocess.run([network.binary, "setup", "--change-address", AFTER, "--json", "--config", network.config_file(MOVER)], capture_output=True, text=True)
        check("the command changes the address", lambda: done.returncode == 0)
        config = network.config_file(MOVER)
        config.write_text(config.read_text().replace(f'source = "{BEFORE}"', f'source = "{AFTER}"'))
        network.name_mover(AFTER)
        network.move_for_instances(AFTER)
        network.start_node(MOVER)

        def has_learnt():
            known = set().union(*(places(network, i, node_host(MOVER)) for i in OTHERS))
            return known == places(network, MOVER, node_host(MOVER)) and not known & former

        check("the network is one again", network.is_whole)
        check("whoever has it on a list has it at the new address", has_learnt)
        check("what it subscribes to arrives at it", arrives(MOVER, 0, THEIRS))
        check("what its instance publishes arrives at others", arrives(OTHERS[-1], MOVER, OWN))
        check("another node reaches it there", lambda: any(
            c["name"] == "reachable" and c["ok"] and f"at {AFTER}" in c["detail"] for c in network.cli(MOVER, "doctor", codes=(0, 1))["checks"]))
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
