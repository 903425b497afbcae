#!/usr/bin/env python3
"""Derives data/evaluation/outages.tsv and stream.tsv from a trace of real instances and a stream of real posts.

    tools/derive_dynamics.py outages EVENTS.tsv.gz SIZES.tsv START_UNIX > data/evaluation/outages.tsv
    tools/derive_dynamics.py stream POSTS.tsv.gz > data/evaluation/stream.tsv

EVENTS: unix_time, event (join or leave), domain. SIZES: domain, monthly_users. POSTS: unix_time, user, tags (by spaces).
Both outputs cover 46 days. No domain, hashtag or user is kept: instances become their rank by size, hashtags their rank by
posts before the window, times hours since its start.
"""
import collections
import csv
import gzip
import sys

DAYS = 46
NODES = 1020
POSTS_MIN = 5  # of a hashtag in the window, to be listed by itself


def outages(events: str, sizes: str, start: int) -> None:
    with open(sizes, encoding="utf-8") as file:
        users = {row["domain"]: int(row["monthly_users"] or 0) for row in csv.DictReader(file, delimiter="\t")}
    end = start + DAYS * 86400
    up: set[str] = set()
    changes = []
    with gzip.open(events, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            time = int(row["unix_time"])
            if time < start:
                (up.add if row["event"] == "join" else up.discard)(row["domain"])
            elif time < end:
                changes.append((time, row["event"], row["domain"]))
    everybody = up | {domain for _, _, domain in changes}
    ranked = sorted(everybody, key=lambda domain: (-users.get(domain, 0), domain))[:NODES]
    down_since = {domain: start for domain in everybody - up}
    rows = []
    rank = {domain: index + 1 for index, domain in enumerate(ranked)}

    def note(domain: str, since: int, until: int) -> None:
        if domain in rank:
            rows.append((rank[domain], (since - start) / 3600, (until - start) / 3600))

    for time, event, domain in changes:
        if event == "leave":
            down_since.setdefault(domain, time)
        elif domain in down_since:
            note(domain, down_since.pop(domain), time)
    for domain, since in down_since.items():
        note(domain, since, end)
    print("rank\tdown\tup")
    for who, down, back in sorted(rows):
        print(f"{who}\t{down:.1f}\t{back:.1f}")


def stream(posts: str) -> None:
    rows = []
    with gzip.open(posts, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rows.append((int(row["unix_time"]), row["tags"].split()))
    of_day = collections.Counter()
    for time, tags in rows:
        of_day[time // 86400] += len(tags)
    days = range(min(of_day), max(of_day) - DAYS + 2)
    start = max(days, key=lambda day: sum(of_day[day + i] for i in range(DAYS))) * 86400
    before = collections.Counter()
    by_hour = collections.Counter()
    by_day: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for time, tags in rows:
        hour = (time - start) // 3600
        if hour < 0:
            before.update(tags)
        elif hour < DAYS * 24:
            by_hour[hour] += len(tags)
            for tag in tags:
                by_day[tag][hour // 24] += 1
    rank = {tag: index + 1 for index, (tag, _) in enumerate(before.most_common())}
    listed = [tag for tag, counts in by_day.items() if counts.total() >= POSTS_MIN]
    print("rank_before\tposts")
    print("all\t" + " ".join(f"{hour}:{by_hour[hour]}" for hour in sorted(by_hour)))
    for who, counts in sorted((rank.get(tag, 0), sorted(by_day[tag].items())) for tag in listed):
        print(f"{who}\t" + " ".join(f"{day}:{count}" for day, count in counts))


def main() -> int:
    if sys.argv[1:2] == ["outages"] and len(sys.argv) == 5:
        outages(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif sys.argv[1:2] == ["stream"] and len(sys.argv) == 3:
        stream(sys.argv[2])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


sys.exit(main())
