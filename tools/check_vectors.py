#!/usr/bin/env python3
"""Checks docs/vectors with Python's own SHA-3, Punycode and address parsing, independently of the C++ code.

What it cannot check is how a spelling becomes its canonical form and a host its registered domain; the tests of
src/hashtag and src/ring do that from the same files.

Usage: tools/check_vectors.py    (exit code 0 if every vector holds)
"""

import hashlib
import ipaddress
import json
import pathlib
import sys
from urllib.parse import quote

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "vectors"


def prefix64(text):
    """The /64 of an address; for IPv4 that of its 6to4 network."""
    address = ipaddress.ip_address(text)
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.version == 4:
        return b"\x20\x02" + address.packed + b"\0\0"
    return address.packed[:8]


def paper_id(address, domain, vserver):
    """hn of the paper's section 5.2: scheme "paper"."""
    number = bytes([vserver])
    subnet = hashlib.shake_128(prefix64(address) + number).digest(16)
    name = hashlib.shake_128(domain.encode("ascii") + number).digest(16)
    return (subnet[:8] + name + subnet[8:]).hex()


def spread_id(address, domain, vserver):
    """Scheme "spread": one hash over the /48, the vserver and the domain."""
    return hashlib.sha3_256(prefix64(address)[:6] + bytes([vserver]) + domain.encode("ascii")).hexdigest()


def actor_name(canonical):
    return canonical if canonical.isascii() else "xn--" + canonical.encode("punycode").decode("ascii")


def digest_of(ids):
    """FEP-8fcf: SHA-256 of each id, all XORed together."""
    total = 0
    for follower in set(ids):
        total ^= int(hashlib.sha256(follower.encode("utf-8")).hexdigest(), 16)
    return f"{total:064x}"


def check():
    tags = json.loads((VECTORS / "tags.json").read_text(encoding="utf-8"))["tags"]
    uris = json.loads((VECTORS / "hashtag_uris.json").read_text(encoding="utf-8"))["uris"]
    ids = json.loads((VECTORS / "node_ids.json").read_text(encoding="utf-8"))["ids"]
    for tag in tags:
        canonical = tag["canonical"]
        yield "key of " + canonical, tag["key"], hashlib.sha3_256(canonical.encode("utf-8")).hexdigest()
        yield "actor of " + canonical, tag["actor"], actor_name(canonical)
    for uri in uris:
        yield "URI of " + uri["tag"], uri["canonical"], "hashtag:" + quote(uri["tag"], safe="-._~")
    followers = json.loads((VECTORS / "followers.json").read_text(encoding="utf-8"))
    for case in followers["digests"]:
        yield "digest of {}".format(case["ids"]), case["digest"], digest_of(case["ids"])
    for case in ids:
        of = case["address"], case["domain"], case["vserver"]
        for scheme, expected in (("paper", paper_id(*of)), ("spread", spread_id(*of))):
            yield "{} ID of {} {} {}".format(scheme, *of), case[scheme], expected


def main():
    checks = list(check())
    wrong = [(what, given, expected) for what, given, expected in checks if given != expected]
    for what, given, expected in wrong:
        print(f"{what}: is {given}, must be {expected}", file=sys.stderr)
    print(f"{len(checks) - len(wrong)} of {len(checks)} values hold")
    return 1 if wrong or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
