"""An owner is restored from a backup that is older than most of what its subscriber follows there, and one ordinary post repairs it
(FEP-8fcf). Real processes, real TLS.

    python3 tests/cluster/repair_test.py
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, wait_for  # noqa: E402

NODES = 4
SUBSCRIBER = 3
EARLY = [f"early{i}" for i in range(24)]  # followed when the backup was made
LATE = [f"late{i}" for i in range(120)]  # and since


def settings(network, i):
    # One owner for each hashtag, so that nobody else makes up for what it lost, always the same one; and no grace, which is ten minutes.
    network.write_config(i, extra="[followers]\ngrace_minutes = 0\n[balance]\nenabled = false\n", ring="relay_replicas = 1")


def owned_by(network, host, tags):
    return [tag for tag in tags if network.cli(0, "owners", tag)["relay"][0]["host"] == host]


def main():
    failures, passed = [], 0

    def check(what, ok):
        nonlocal passed
        print(f"  {'ok  ' if ok else 'FAIL'}  {what}")
        if ok:
            passed += 1
        else:
            failures.append(what)

    with Network(ROOT / "run" / "repair_test", nodes=NODES, stabilise_ms=2000) as network:
        for i in range(NODES):
            settings(network, i)
            network.start_node(i)
        wait_for("the ring", lambda: network.is_whole())
        network.start_origins(1)

        def owner_of_most():
            hosts = [network.cli(0, "owners", tag)["relay"][0]["host"] for tag in EARLY]
            mine = network.cli(SUBSCRIBER, "status")["origin"].split("/")[2].split(":")[0]
            return max(set(hosts) - {mine}, key=hosts.count)

        host = owner_of_most()
        owner = next(i for i in range(NODES) if host in network.config_file(i).read_text().split("[listen]")[0])
        network.cli(SUBSCRIBER, "subscribe", *EARLY)
        wait_for("early subscriptions", lambda: network.is_settled(SUBSCRIBER))

        database = network.node_directory(owner) / "data"
        backup = network.directory / "backup"
        network.stop_node(owner)
        shutil.copytree(database, backup)
        network.start_node(owner)
        wait_for("the ring", lambda: network.is_whole())

        network.cli(SUBSCRIBER, "subscribe", *LATE)
        wait_for("late subscriptions", lambda: network.is_settled(SUBSCRIBER))
        early, late = owned_by(network, host, EARLY), owned_by(network, host, LATE)
        # Followed at this owner, wherever it was before the restart.
        wait_for("the owner's followers", lambda: network.cli(owner, "status")["followers"] >= len(early + late))
        check(f"{host} has {len(early)} early and {len(late)} late hashtags", len(early) > 0 and len(late) > 0)

        # Both were down, as after a power cut: else the subscriber would see that the owner has started anew, and follow it again.
        network.kill_node(SUBSCRIBER)
        network.kill_node(owner)
        shutil.rmtree(database)
        shutil.copytree(backup, database)
        network.start_node(owner)
        wait_for("the ring without the subscriber", lambda: network.is_whole([i for i in range(NODES) if i != SUBSCRIBER]))
        network.start_node(SUBSCRIBER)
        wait_for("the ring", lambda: network.is_whole())

        def compare():
            return network.cli(SUBSCRIBER, "followers-check", f"https://{host}:{network.port}/actor", codes=(0, 1))

        lost, gone = len(compare()["remove"]), late[0]
        check(f"after the restore {lost} subscriptions are lost", lost == len(late))
        before = network.cli(SUBSCRIBER, "status")
        network.control("origins", "/post", {"text": f"One ordinary post #{early[0]}"})
        try:
            removed = before["followers_sync"]["removed"] + lost
            seconds = wait_for("the repair", lambda: network.cli(SUBSCRIBER, "status")["followers_sync"]["removed"] >= removed)
            wait_for("subscriptions", lambda: network.is_settled(SUBSCRIBER))
            check(f"one post repaired it, after {seconds:.0f} s", True)
        except Failure as failure:
            check(str(failure), False)
        after = network.cli(SUBSCRIBER, "status")
        check("the two sides agree", compare()["agree"])
        sync = {key: after["followers_sync"][key] - before["followers_sync"][key] for key in after["followers_sync"]}
        follows = after["subscription_messages"] - before["subscription_messages"]
        check(f"it took {sync['lists']} list and {follows} Follow", sync["lists"] == 1 and follows <= 2)

        network.control("origins", "/post", {"text": f"And one under a hashtag that was lost #{gone}"})
        try:
            wait_for("the post", lambda: any(tag == gone for _, _, tag, _ in network.feed(SUBSCRIBER)))
            check(f"a post under #{gone} arrives again", True)
        except Failure as failure:
            check(str(failure), False)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
