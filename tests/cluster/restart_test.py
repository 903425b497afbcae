"""The founder of a network is restarted; all nodes lose power and come back in the wrong order; every configured node is gone. Each time
there must be one network again within a minute. Set up as the README says. Real processes, real TLS.

    python3 tests/cluster/restart_test.py
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, node_host, wait_for  # noqa: E402

NODES = 4
FOUNDER = 0
PATIENCE = 75  # seconds: a minute, and what a busy machine takes to start processes
TAG = "caturday"


def main():
    failures, passed = [], 0

    def check(what, condition):
        nonlocal passed
        try:
            seconds = wait_for(what, condition, seconds=PATIENCE)
            print(f"  ok    {what}: {seconds:.0f} s")
            passed += 1
        except Failure as failure:
            print(f"  FAIL  {failure}")
            failures.append(what)

    with Network(ROOT / "run" / "restart_test", nodes=NODES) as network:
        origin = f"https://{node_host(FOUNDER)}:{network.port}"

        def knows(i, bootstrap):
            network.write_config(i, bootstrap=bootstrap, extra="[balance]\nenabled = false\n")

        for i in range(NODES):
            knows(i, [] if i == FOUNDER else [origin])
            network.start_node(i)
        check("the network is one", network.is_whole)
        network.start_origins(1)
        network.cli(3, "subscribe", TAG)
        check("a subscription", lambda: network.is_settled(3))
        time.sleep(6)  # until everybody has written down whom it has met

        network.kill_node(FOUNDER)
        network.start_node(FOUNDER)
        check("the founder, killed and started, is back in its network", network.is_whole)

        network.stop_node(FOUNDER)
        time.sleep(20)
        network.start_node(FOUNDER)
        check("the founder, away for a while, is back in its network", network.is_whole)

        for i in range(NODES):
            network.kill_node(i)
        for i in reversed(range(NODES)):
            network.start_node(i)
        check("after a power cut the network is one", network.is_whole)

        for i in range(NODES):
            network.kill_node(i)
        rest = [i for i in range(NODES) if i != FOUNDER]
        for i in rest:
            network.start_node(i)
        check("so it is without the founder, whom all have configured", lambda: network.is_whole(rest))

        for i in rest:
            network.kill_node(i)
            knows(i, ["https://gone.example:1"])
            network.start_node(i)
            time.sleep(2)
        check("a node whose configured nodes are all gone finds its way", lambda: network.is_whole(rest))

        network.start_node(FOUNDER)
        check("the founder is taken back", network.is_whole)
        network.control("origins", "/post", {"text": f"After all that #{TAG}"})
        check("a post arrives", lambda: any(tag == TAG for _, _, tag, _ in network.feed(3)))
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
