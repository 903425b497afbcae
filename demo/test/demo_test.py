"""The demonstration leaves no process behind, however and whenever it is told to end, and says so if one of its servers ends by itself.

    python3 demo/test/demo_test.py
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import Ended, Network, free_port  # noqa: E402

ALL = 10  # processes: enough to have nodes, and the servers of instances


def processes(mark):
    """Those that have the mark in their environment; they inherit it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass  # has ended
    return found


def wait_until(condition, seconds):
    """Whether it came to be so. It need not stay so."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def ends_all(how, enough, options):
    mark = f"TAGRING_DEMO_TEST={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    command = [sys.executable, ROOT / "demo" / "demo.py", "--directory", ROOT / "run" / "demo_test", "--port", str(free_port()), *options]
    demo = subprocess.Popen([str(part) for part in command], env={**os.environ, name: value}, stdout=subprocess.DEVNULL)
    started = wait_until(lambda: len(processes(mark)) >= enough, 120)
    demo.send_signal(how)
    try:
        demo.wait(120)
    except subprocess.TimeoutExpired:
        demo.kill()
    left = [] if wait_until(lambda: not processes(mark), 60) else processes(mark)
    ok = started and not left
    print(f"{'ok  ' if ok else 'FAIL'}  {how.name} {' '.join(options)} with {enough} processes: {left or 'all ended' if started else 'did not start'}", flush=True)
    return ok


class Stubborn:
    """A process that does not end, and for which somebody is told not to wait."""

    killed = False

    def send_signal(self, _):
        pass

    def wait(self, _):
        raise KeyboardInterrupt

    def kill(self):
        self.killed = True


def kills_all_when_told_again():
    network = Network(ROOT / "run" / "demo_test", nodes=0)
    network.processes = {i: Stubborn() for i in range(3)}
    stubborn = list(network.processes.values())
    try:
        network.__exit__()
        ok = False
    except KeyboardInterrupt:
        ok = all(process.killed for process in stubborn)
    print(f"{'ok  ' if ok else 'FAIL'}  a second signal while it waits for processes: {sum(process.killed for process in stubborn)} of 3 killed", flush=True)
    return ok


def tells_of_a_server_that_has_ended():
    with Network(ROOT / "run" / "demo_test", nodes=1) as network:
        network.start_origins(1)
        alive = network.ended_peers()
        with open(network.directory / "origins.log", "a") as log:
            log.write("its last words\n")
        network.processes["origins"].kill()
        try:
            network.control("origins", "/")
            told = ""
        except Ended as ended:
            told = str(ended)
        ok = not alive and network.ended_peers() == [told] and "with -9" in told and "its last words" in told
    print(f"{'ok  ' if ok else 'FAIL'}  a server that is killed: {told or 'nothing was said'}", flush=True)
    return ok


def main():
    results = [kills_all_when_told_again(), tells_of_a_server_that_has_ended()]
    results += [ends_all(how, enough, options) for how in [signal.SIGTERM, signal.SIGINT] for enough, options in [(3, ["--once"]), (ALL, ["--once"]), (ALL, [])]]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
