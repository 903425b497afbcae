"""tagring followers-digest, the real binary."""

import json
import subprocess
import unittest
from pathlib import Path

BINARY = Path(__file__).resolve().parents[2] / "build" / "release" / "tagring"
FIRST = "https://testing.example.org/users/1"
SECOND = "https://testing.example.org/users/2"
# From FEP-8fcf.
BOTH = "c33f48cd341ef046a206b8a72ec97af65079f9a3a9b90eef79c5920dce45c61f"


def digest(text, *options):
    return subprocess.run([BINARY, "followers-digest", *options], input=text, capture_output=True, text=True)


class FollowersDigest(unittest.TestCase):
    def test_fep_example_in_any_order(self):
        for text in (f"{FIRST}\n{SECOND}\n", f"{SECOND}\n{FIRST}"):
            done = digest(text)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, BOTH + "\n", ""))

    def test_ids_count_once_and_blank_lines_not_at_all(self):
        done = digest(f"\n{FIRST}\r\n  \n{SECOND} \n{FIRST}\n\n")
        self.assertEqual((done.returncode, done.stdout), (0, BOTH + "\n"))

    def test_nobody_is_zero(self):
        done = digest("")
        self.assertEqual((done.returncode, done.stdout), (0, "0" * 64 + "\n"))

    def test_an_instance_actor_without_a_path_counts(self):
        done = digest("https://example.org/users/alice\nhttps://example.org/users/bob\nhttps://example.org\n")
        self.assertEqual(done.stdout, "20aecbe774b3d61c25094370baf370012b9271c5b172ecedb05caff8d79ef0c7\n")

    def test_json(self):
        done = digest(f"{FIRST}\n{SECOND}\n{SECOND}\n", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"digest": BOTH, "followers": 2})

    def test_what_is_no_url_is_named_with_its_line(self):
        for bad in ("@alice@example.org", "ftp://example.org/u", "https://", "https://a.test/u v"):
            done = digest(f"{FIRST}\n\n{bad}\n")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f'tagring: line 3: "{bad}" is no http(s) URL\n')

    def test_help_explains_with_an_example_that_is_true(self):
        shown = digest("", "--help")
        self.assertEqual(shown.returncode, 0)
        example = shown.stdout[shown.stdout.index("Example:") + len("Example:"):].strip()
        self.assertTrue(example.endswith("tagring followers-digest"), example)
        done = subprocess.run(["sh", "-c", f'PATH="{BINARY.parent}:$PATH"; {example}'], capture_output=True, text=True)
        self.assertEqual(done.stdout, BOTH + "\n")


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    failed = len(program.result.failures) + len(program.result.errors)
    print(f"{program.result.testsRun - failed} passed, {failed} failed", flush=True)
    raise SystemExit(1 if failed else 0)
