"""The commands of README.md, as they stand there, in a network as `make run` starts it. Those that cannot be run here are named, with the
reason. Those that README.md and docs/ only name are there, with their options."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, Network, wait_for  # noqa: E402

# Beginnings of commands: why they are not run here.
ELSEWHERE = {
    "make ": "builds or tests; `make run` is a test of its own",
    "alias tagring=": "the binary of this test takes its place",
    "ORIGINS=": "the port is that of this network",
    **dict.fromkeys(["sudo apt install", "sudo tagring setup", "sudo systemctl enable", "sudo tagring doctor"], "tests/package/deb_test.py, in a fresh Debian"),
    "tagring instance follow": "needs a Lemmy; tests/app/client_test.py",
    "tagring fasp register": "needs a Mastodon that knows FASPs; tests/app/client_test.py",
    "tagring block import": "the list is the reader's own; tests/node/moderation_test.cpp",
}
# What stands in docs/ like a command, and is none.
NO_COMMANDS = {
    **dict.fromkeys(["receipt", "head", "take-down", "overload"], "the first line of what is signed"),
    "is in use by another process": "a message",
    "sim bound": "of an older commit, which is named there",
}
# What waits for something that takes a while elsewhere in the network.
EVENTUAL = ("tagring query", "tagring feed", "tagring owners", "tagring status", "tagring instance subscribe", "tagring instance replay", "tagring takedown")
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def commands():
    """Without their comments, in the order of the page."""
    text = (ROOT / "README.md").read_text()
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ") and not line.startswith("     ")]
    return [re.sub(r"\s{2,}# .*$|\s+# .*$", "", line).strip() for line in lines]


def named_in(text):
    """What stands behind "tagring" in code between words, and on lines of code."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    lines = re.findall(r"(?m)^ {4,}(?:sudo )?tagring ([^#|;&>\n]*)", text)
    return [" ".join(command.split()) for command in lines + re.findall(r"`(?:sudo )?tagring ([^`#|;&>]+)", re.sub(r"(?m)^ {4,}.*$", "", text))]


@cache
def commands_and_options(binary, words):
    text = subprocess.run([binary, *words, "--help"], capture_output=True, text=True, check=True).stdout
    commands = text.partition("\nSubcommands:\n")[2]
    return set(re.findall(r"(?m)^  ([\w-]+)(?: |$)", commands)), set(re.findall(r"(?<![\w-])--?[\w-]+", text))


def unknown_in(binary, command):
    """Words of it that the program does not know: commands and options."""
    words, rest = (), command.split()
    while rest and rest[0] in commands_and_options(binary, words)[0]:
        words += (rest.pop(0),)
    commands, options = commands_and_options(binary, words)
    unknown = rest[:1] if commands and rest and not rest[0].startswith("-") else []
    return unknown + [word for word in (word.lstrip("[").partition("=")[0].rstrip("],.") for word in rest) if re.match(r"--?\w", word) and word not in options]


def named_commands_exist(binary):
    named = {(document.name, command) for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")] for command in named_in(document.read_text())}
    check("commands are named", len(named) > 100, len(named))
    check("and what is none stands there", not (gone := set(NO_COMMANDS) - {command for _, command in named}), gone)
    for name, command in sorted(named):
        unknown = unknown_in(binary, command) if command not in NO_COMMANDS else []
        check(f"{name}: tagring {command}", not unknown, unknown)
    for command, unknown in [("bakcup FILE", ["bakcup"]), ("instance lst", ["lst"]), ("backup FILE --jsn", ["--jsn"]), ("backup FILE --json", []), ("upgrade [--dryrun]", ["--dryrun"])]:
        check(f"of {command} it is seen", unknown_in(binary, command) == unknown, unknown_in(binary, command))


class Reader:
    """Who types them in a terminal, in the folder of the clone."""

    def __init__(self, network, folder):
        self.network, self.post, self.background = network, None, []
        self.caturday = network.control("origins", "/post", {"domain": "oak.example", "text": "A #caturday"})["id"]
        (folder / "bin").mkdir()
        (folder / "bin/tagring").symlink_to(network.binary)
        self.environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "ORIGINS": network.controls["origins"]}

    def here(self, command):
        """With the names of this network for what stands for the reader's own."""
        command = command.replace("run/", f"{self.network.directory.relative_to(ROOT)}/").replace("social.example", "oak.example")
        return command.replace('"id": "…"', f'"id": "{self.post}"').replace(" URL ", f" {self.caturday} ")

    def type(self, command):
        # Where no node is named, it is that of the folder.
        folder = ROOT if "run/" in command or "curl" in command else self.network.node_directory(0)
        if command.endswith("&"):
            words = self.here(command).removesuffix("&").split()
            self.background.append(subprocess.Popen([self.network.binary, *words[1:]], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            return True, ""
        done = subprocess.run(["bash", "-c", self.here(command)], cwd=folder, env=self.environment, capture_output=True, text=True, timeout=120)
        if "/post" in command and done.returncode == 0:
            self.post = json.loads(done.stdout)["id"]
        return done.returncode == 0, done.stdout + done.stderr

    def try_out(self, command):
        said = ""

        def works():
            nonlocal said
            ok, said = self.type(command)
            return ok and (said.strip() != "" or not command.startswith("tagring"))

        try:
            ok = works() or (command.startswith(EVENTUAL) and wait_for(command, works, seconds=90) is not None)
        except Failure:
            ok = False
        if command.endswith("&"):
            ok = self.background[-1].poll() is None
        check(command, ok, said)

    def leave(self):
        for process in self.background:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def main():
    all_commands = commands()
    check("README has commands", len(all_commands) > 30, all_commands)
    of_debian, of_client = ((ROOT / "tests" / name).read_text() for name in ("package/deb_test.py", "app/client_test.py"))
    for start, reason in ELSEWHERE.items():
        check(f"{start} is run where it is said to be", "deb_test.py" not in reason or f'readme("{start}")' in of_debian)
        as_words = ", ".join(f'"{word}"' for word in start.split()[1:])
        check(f"{start} is asked for where it is said to be", "client_test.py" not in reason or as_words in of_client)
    unused = set(ELSEWHERE)
    with Network(ROOT / "run" / "readme_test", nodes=8) as network, tempfile.TemporaryDirectory() as folder:
        named_commands_exist(network.binary)
        for i in range(8):
            network.start_node(i)
        network.start_origins(5)
        wait_for("the network", network.is_whole)
        network.cli(0, "subscribe", "caturday")
        network.control("origins", "/subscribe", {"domain": "oak.example"})  # adds the node as a relay
        reader = Reader(network, Path(folder))
        try:
            for command in all_commands:
                elsewhere = next((start for start in ELSEWHERE if command.startswith(start)), None)
                if elsewhere:
                    unused.discard(elsewhere)
                else:
                    reader.try_out(command)
            # Of a node whose configuration was named as README does, from where it was started.
            ok, said = reader.type(f"tagring backup {folder}/copy.db --config run/fir/tagring.toml")
            check("that node can be copied", ok and "bytes" in said, said)
        finally:
            reader.leave()
    for start, reason in ELSEWHERE.items():
        print(f"not run here: {start.strip()} …: {reason}")
    check("what is not run here stands in README", not unused, unused)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
