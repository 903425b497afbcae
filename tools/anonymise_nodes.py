#!/usr/bin/env python3
"""Derives data/evaluation/nodes.tsv from a table of real instances.

Input: tab-separated with the columns registrable_domain, statuses and synthetic_ipv6. What the evaluation needs of it is
kept: who shares a domain, a /64 or a /48 with whom, and how large everybody is. Domains become numbers, addresses numbers
below the documentation prefix, sizes are rounded to three digits.

    tools/anonymise_nodes.py real_nodes.tsv > data/evaluation/nodes.tsv
"""
import csv
import ipaddress
import sys


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    rows.sort(key=lambda row: -int(row["statuses"]))
    domains: dict[str, int] = {}
    networks: dict[int, dict[int, int]] = {}
    print("domain\taddress\tweight")
    for row in rows:
        domain = domains.setdefault(row["registrable_domain"], len(domains) + 1)
        address = int(ipaddress.IPv6Address(row["synthetic_ipv6"]))
        subnets = networks.setdefault(address >> 80, {})
        subnet = subnets.setdefault(address >> 64, len(subnets) + 1)
        network = list(networks).index(address >> 80) + 1
        weight = float(f"{int(row['statuses']):.3g}")
        print(f"d{domain:04}.example\t2001:db8:{network:x}:{subnet:x}::1\t{weight:.0f}")
    return 0


sys.exit(main())
