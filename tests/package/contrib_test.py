"""Dashboard, alerts and runbook are about the figures that there are, and promtool agrees."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)


def expressions(dashboard):
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def understood(queries):
    """As rules, with what Grafana puts in the place of its variables: what promtool says of those that are wrong."""
    def filled_in(query):
        return re.sub(r"\$\{?__\w+\}?", "5m", query).replace("$instance", ".*")

    rules = [{"record": f"panel:{i}", "expr": filled_in(query)} for i, query in enumerate(queries)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # which is YAML, too
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
    return done.returncode == 0 and f"{len(rules)} rules found" in done.stdout, done.stdout + done.stderr


def main():
    source = (ROOT / "src/health/metrics.cpp").read_text()
    known = {f"tagring_{name}" for name in re.findall(r'Metric\{"(\w+)"', source)} | {"tagring_info"}
    check("there are figures", len(known) > 30)
    named = set(re.findall(r"`(tagring_\w+)`", (ROOT / "docs/scaling.md").read_text()))
    check("what the documents name is there", named and named <= known, named - known)
    of_fronts = {name for name in known if name.startswith("tagring_front")}
    check("and what there is of fronts is named", of_fronts and of_fronts <= named, of_fronts - named)
    alerts = (ROOT / "contrib/prometheus-alerts.yml").read_text()
    dashboard = json.loads((ROOT / "contrib/grafana-dashboard.json").read_text())
    queries = expressions(dashboard)
    shown = " ".join(queries)
    variables = {name for query in queries for name in re.findall(r"\$\{?(\w+)", query) if not name.startswith("__")}
    check("the dashboard's variables are there", variables and variables <= {one["name"] for one in dashboard["templating"]["list"]}, variables)
    for name, text in [("alerts", " ".join(re.findall(r"expr: (.*)", alerts))), ("dashboard", shown)]:
        used = set(re.findall(r"tagring_\w+", text))
        check(f"{name} use figures that there are", used and used <= known, used - known)
    headings = re.findall(r"^## (\w+)$", (ROOT / "docs/runbook.md").read_text(), re.M)
    names = re.findall(r"alert: (\w+)", alerts)
    check("the runbook has each alert, and no other", headings == names, (headings, names))
    check("each alert leads there", re.findall(r"runbook.md#(\w+)", alerts) == [name.lower() for name in names])
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.cpp")]
    stops = [found for path in texts for found in re.findall(r"systemctl (?:stop|disable --now)((?:\s+tagring[\w.@-]*)+)", path.read_text())]
    check("what stops the node stops its socket, too, which would start it again", stops and all("tagring.socket" in units.split() for units in stops), stops)
    if not shutil.which("promtool"):
        print("missing: promtool (tools/setup installs it)")
        counts[False] += 1
    else:
        for command in [["check", "rules", "contrib/prometheus-alerts.yml"], ["test", "rules", "contrib/prometheus-alerts-test.yml"]]:
            done = subprocess.run(["promtool", *command], cwd=ROOT, capture_output=True, text=True)
            check("promtool " + " ".join(command), done.returncode == 0, done.stdout + done.stderr)
        ok, said = understood(queries)
        check("promtool takes all that the dashboard asks", ok and len(queries) > 30, said)
        ok, said = understood([*queries, 'rate(tagring_posts_published_total{instance=~"$instance"}[5m'])
        check("and would not take what Prometheus does not", not ok and "parse error" in said, said)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
