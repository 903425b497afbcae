"""The actors of a node by the rules of ActivityPub, as the program activitypub-testing checks them. Real processes, real TLS.

    python3 tests/interop/actors_check.py        ends with "N passed, N failed"
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import NODE_JS, Failure, Network, node_host, wait_for  # noqa: E402
from tally import Tally, npm_version  # noqa: E402

HERE = Path(__file__).parent
PROGRAM = HERE / "actors" / "node_modules" / "activitypub-testing" / "src" / "cli.js"
ACTORS = ["/actor", "/tag/cats", "/tag/xn--z7x"]

# What must pass; and what does not apply, with the reason.
RULES = {
    "actor-must-serve-as2-object-to-get": "passed",
    "actor-objects-must-have-inbox-outbox-properties": "passed",
    "followers-collection-must-be-a-collection": "passed",
    "following-collection-must-be-a-collection": "passed",
    "outbox-must-be-an-orderedcollection": "passed",
    "inbox-must-be-an-orderedcollection": "the inbox is not shown",
    "liked-collection-must-be-a-collection": "nothing is liked",
    "likes-collection-must-be-a-collection": "nothing is liked",
    "shares-collection-must-be-a-collection": "is about posts",
    "outbox-post-servers-must-return-a-201-created-http-code": "no client posts to the outbox",
    "outbox-post-must-accept-non-activity-object": "the same",
    "outbox-wraps-object-with-create-checked-using-get-location": "the same",
    "post-outbox-server-overwrites-id-property": "the same",
    "outbox-post-server-adds-to-outbox-collection-checked-by-outbox-get": "the same",
    "create-then-update-modifies-object-checked-by-get": "the same",
}


def verdicts(network, actor):
    """{rule: (outcome, what the program says)}"""
    certs = network.directory / "certs"
    environment = {**os.environ, "NODE_EXTRA_CA_CERTS": str(certs / "ca.pem"), "WORLD": str(network.directory)}
    command = [NODE_JS, "--import", HERE / "world.mjs", PROGRAM, "test", "actor", actor, "--output=json-seq"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, timeout=120)
    records = [json.loads(record) for record in done.stdout.split("\x1e") if record.strip()]
    if not records:
        raise Failure(f"{actor}: {done.stderr[-2000:]}")
    return {r["test"]["slug"]: (r["result"]["outcome"], r["result"].get("info", "")) for r in records}


def main():
    version = npm_version("activitypub-testing", "actors")
    with Tally() as tally, Network(ROOT / "run" / "actors_check", nodes=1) as network:
        network.start_node(0)
        wait_for("ring", lambda: network.is_settled(0))
        for path in ACTORS:
            with tally.about("activitypub-testing", version, f"rules of actors: {path}"):
                found = verdicts(network, f"https://{node_host(0)}:{network.port}{path}")
                for rule in sorted(RULES.keys() | found.keys()):
                    wanted = "passed" if RULES.get(rule) == "passed" else "inapplicable" if rule in RULES else "unknown"
                    outcome, info = found.get(rule, ("not run", ""))
                    tally.expect(f"{path}: {rule} ({info})", outcome, wanted)


if __name__ == "__main__":
    main()
