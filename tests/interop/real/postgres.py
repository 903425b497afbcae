"""A PostgreSQL of its own, which listens on a socket in a temporary directory and nowhere else."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "demo"))
from network import Failure, wait_for  # noqa: E402


def programs():
    """The newest that Debian has."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        raise Failure("there is no PostgreSQL")
    return found[-1]


class Postgres:
    """Use as a context manager. The user is "admin"; whoever reaches the socket is let in. `durable`: what is committed is on the disk."""

    def __init__(self, durable=False):
        self.settings = [] if durable else ["-F"]

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="postgres")
        # It refuses to run as root.
        self.who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.who:
            shutil.chown(self.directory, "postgres")
        self.data = f"{self.directory}/data"
        with open(f"{self.directory}/log", "w") as log:
            self.make(log)
        self.start()
        return self

    def make(self, log):
        initdb = [programs() / "initdb", "-D", self.data, "-A", "trust", "-U", "admin", "--no-sync"]
        subprocess.run(initdb, check=True, cwd="/", stdout=log, stderr=log, **self.who)

    def start(self):
        with open(f"{self.directory}/log", "a") as log:
            self.process = subprocess.Popen([programs() / "postgres", "-D", self.data, "-k", self.directory, "-c", "listen_addresses=", *self.settings],
                                            cwd="/", stdout=log, stderr=log, **self.who)
        wait_for("PostgreSQL", self.answers)

    def stop(self):
        """As if its machine lost power."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def answers(self):
        if self.process.poll() is not None:
            sys.exit(f"PostgreSQL ended: {Path(self.directory, 'log').read_text()[-2000:]}")
        return self.psql("SELECT 1", check=False).returncode == 0

    def psql(self, statement, check=True):
        command = [programs() / "psql", "-h", self.directory, "-U", "admin", "-d", "postgres", "-c", statement]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def value(self, query):
        command = [programs() / "psql", "-h", self.directory, "-U", "admin", "-d", "postgres", "-tAc", query]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def create(self, name):
        """A new database; its URL."""
        self.psql(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0")
        return f"postgres://admin@localhost/{name}?host={self.directory}"


class Replica(Postgres):
    """Another server that has all that `primary` has: that one's commits wait for it from here on. Use as a context manager."""

    def __init__(self, primary):
        super().__init__()
        self.primary = primary

    def make(self, log):
        copy = [programs() / "pg_basebackup", "-D", self.data, "-h", self.primary.directory, "-U", "admin", "-R", "--no-sync", "-c", "fast"]
        subprocess.run(copy, check=True, cwd="/", stdout=log, stderr=log, **self.who)

    def __enter__(self):
        super().__enter__()
        self.primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.psql("SELECT pg_reload_conf()")
        wait_for("the replica", lambda: " sync" in self.primary.psql("SELECT sync_state FROM pg_stat_replication").stdout)
        return self

    def promote(self):
        subprocess.run([programs() / "pg_ctl", "promote", "-D", self.data, "-t", "120"], check=True, cwd="/", stdout=subprocess.DEVNULL, **self.who)

    @contextmanager
    def silent(self):
        """Meanwhile it takes nothing from the primary, so that nothing can be committed there."""
        receiver = int(self.value("SELECT pid FROM pg_stat_wal_receiver"))
        os.kill(receiver, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(receiver, signal.SIGCONT)
