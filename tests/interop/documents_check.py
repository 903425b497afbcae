"""Documents of other servers and of the specification, through the parsers of the inbox and of the fetcher; what becomes of
each is compared with documents.tsv, and the sums of each source with docs/interoperability.md.

    python3 tests/interop/documents_check.py               ends with "N passed, N failed"
    python3 tests/interop/documents_check.py --table       shows the table
    python3 tests/interop/documents_check.py --write       takes it as what is expected
    python3 tests/interop/documents_check.py --more DIR    the table of all documents below DIR, which is compared with nothing
"""

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "tests" / "fixtures" / "activitypub"
EXPECTED = Path(__file__).with_name("documents.tsv")
TOLD = ROOT / "docs" / "interoperability.md"
VERDICTS = [("inbox", "accepted"), ("inbox", "ignored"), ("inbox", "rejected"),
            ("fetcher", "accepted"), ("fetcher", "rejected"), ("fetcher", "nothing that is fetched")]
PROGRAM = ROOT / "build" / "release" / "tests" / "read_documents"
COLUMNS = ["document", "how many", "type", "inbox", "fetcher"]


def table(directory):
    """{(document, type, inbox, fetcher): how many}, in the order of the documents."""
    paths = sorted(p for p in directory.rglob("*") if p.suffix in (".json", ".jsonl"))
    done = subprocess.run([PROGRAM], input="".join(f"{p}\n" for p in paths), capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"BAD  the program ended with {done.returncode}: {done.stderr}\n0 passed, 1 failed")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return Counter((str(Path(path).relative_to(directory)), *verdict) for path, *verdict in rows)


def lines(rows):
    return ["\t".join([name, str(count), *verdict]) for (name, *verdict), count in rows.items()]


def verdict_counts(rows, column):
    counts = Counter()
    for row, count in rows.items():
        counts[row[column].split(":")[0]] += count
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def show(rows):
    widths = [max([len(row[i]) for row in rows]) for i in range(2)]
    for (name, kind, inbox, fetcher), count in rows.items():
        times = f" x {count}" if count > 1 else ""
        print(f"{name:{widths[0]}}  {kind:{widths[1]}}  {inbox} | {fetcher}{times}")


def summarise(rows):
    print(f"{sum(rows.values())} documents; inbox: {verdict_counts(rows, 2)}; fetcher: {verdict_counts(rows, 3)}")


def untold(rows):
    """[(source, row of its sums)] of those rows that are not in the document."""
    sums = defaultdict(Counter)
    for (name, _, inbox, fetcher), count in rows.items():
        source = sums[name.split("/")[0]]
        source.update({"all": count, ("inbox", inbox.split(":")[0]): count, ("fetcher", fetcher.split(":")[0]): count})
    told = TOLD.read_text()
    found = {source: f" ({of['all']}) | " + " | ".join(str(of[verdict]) for verdict in VERDICTS) + " |\n"
             for source, of in sums.items()}
    return [(source, row.strip()) for source, row in found.items() if row not in told]


def compare(rows):
    expected = EXPECTED.read_text().splitlines()[1:]
    found = lines(rows)
    for line in expected:
        if line not in found:
            print(f"BAD  no longer: {line}")
    for line in found:
        if line not in expected:
            print(f"BAD  now:       {line}")
    wrong = len(set(expected) ^ set(found))
    for source, row in untold(rows):
        print(f"BAD  not in {TOLD.name}: {source} {row}")
        wrong += 1
    print(f"{len(set(expected) & set(found))} passed, {wrong} failed")
    sys.exit(1 if wrong else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--more", type=Path)
    arguments = parser.parse_args()
    rows = table(arguments.more or DOCUMENTS)
    if arguments.table or arguments.more:
        show(rows)
    summarise(rows)
    if arguments.more:
        return
    if arguments.write:
        EXPECTED.write_text("\n".join(["\t".join(COLUMNS), *lines(rows)]) + "\n")
    compare(rows)


main()
