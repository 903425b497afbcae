"""Runs one node:test file and reports "N passed, N failed" from its TAP summary, and a line "skipped: …" for each test that did not run."""

import re
import subprocess
import sys

done = subprocess.run([sys.argv[1], "--test", "--test-reporter=tap", *sys.argv[3:], sys.argv[2]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
passed = re.findall(r"^# pass (\d+)", done.stdout, re.M)
failed = re.findall(r"^# fail (\d+)", done.stdout, re.M)
print(done.stdout)
for name, why in re.findall(r"^\s*ok \d+ - (.*?) # (?:SKIP|TODO) ?(.*)$", done.stdout, re.M):
    print(f"skipped: {name} {why}".rstrip())
print(f"{passed[-1] if passed else 0} passed, {failed[-1] if failed else 1} failed")
sys.exit(done.returncode)
