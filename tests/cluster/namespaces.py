"""A network whose nodes are in network namespaces of their own: each with an address in a /64 of its own, on one of two bridges, near
and far, in one more namespace. The instances are in the namespace of the test, on both bridges.

`enter()` puts the test itself into namespaces (mounts, processes, network), with all that it starts and mounts. They go with it,
however it ends, and nothing of it is seen outside. Where user namespaces are allowed it needs not be root.
"""

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from network import NAMES, Failure, Network  # noqa: E402

INSIDE = "TAGRING_TEST_NAMESPACES"
SWITCH = "switch"
WIRE = Path(__file__).resolve().parent / "slow_wire.py"
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
SLOW_DISK = Path(__file__).resolve().parent / "slow_disk.c"
NOWHERE = "02:00:00:00:00:00"  # no interface has this address
# What libfaketime leaves in /dev/shm when its process is killed goes away with the test.
PREPARE = "mount -t tmpfs tmpfs /run && mkdir /run/netns && mount -t tmpfs tmpfs /dev/shm && ip link set lo up"
PROBE = f"{PREPARE} && ip netns add a && ip netns add b && ip -n a link add name bridge0 type bridge && ip -n a link add name one type veth peer name two netns b"


def enter():
    """Runs the program again inside of namespaces and does not return; there, returns None. If there can be none: why not."""
    if INSIDE in os.environ:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return None
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    if not shutil.which("ip"):
        print("missing: ip (tools/setup installs it)\n0 passed, 1 failed")
        sys.exit(1)
    try:
        probe = subprocess.run([*unshare, "sh", "-c", PROBE], capture_output=True, text=True)
    except FileNotFoundError as error:
        return str(error)
    if probe.returncode != 0:
        return probe.stderr.strip()
    sys.stdout.flush()
    os.environ[INSIDE] = "1"
    os.execvp(unshare[0], [*unshare, "sh", "-c", PREPARE + ' && exec "$@"', "sh", sys.executable, *sys.argv])


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def ip(namespace, text):
    run("ip", "-n", namespace, *text.split())


class NamespaceNetwork(Network):
    """`far`: the nodes on the second bridge. Every node has a disk of its own, of `disk_mib` MiB. `clocks`: nodes whose wall clock can be set
    wrong. `slow_disks`: whether disks can be made slow. Nodes call each other from another address than that at which they are called."""

    def __init__(self, directory, nodes, far, clocks=(), disk_mib=48, slow_disks=False, **options):
        super().__init__(directory, nodes, **options)
        self.far = set(far)
        self.disk_mib = disk_mib
        self.clocks = clocks if FAKETIME else ()
        self.slow_disks = slow_disks

    def __enter__(self):
        super().__enter__()
        self._make_switch()
        if self.slow_disks:
            run("clang-19", "-O1", "-shared", "-fPIC", "-o", self._slow_disk(), SLOW_DISK, "-ldl")
        for i in range(self.count):
            self._make_namespace(i)
            self.data(i).mkdir()
            run("mount", "-t", "tmpfs", "-o", f"size={self.disk_mib}m", "tmpfs", self.data(i))
            self.slow_disk(i, 0)
        for i in self.clocks:
            self.set_clock(i, 0)
        return self

    def __exit__(self, *_):
        super().__exit__()
        for i in range(self.count):
            run("umount", "--lazy", self.data(i))

    # --- what Network asks for -----------------------------------------------------------------------------

    def node_address(self, i):
        return f"fd00:7a67:0:{i + 1:x}::1"

    def calling_address(self, i):
        """From which it calls others."""
        return f"fd00:7a67:0:{i + 1:x}::2"

    def origin_address(self, i):
        return f"fd00:7a67:1:{i + 1:x}::1"

    def before_node(self, i):
        libraries, environment = [], []
        if i in self.clocks:
            libraries.append(str(FAKETIME[0]))
            environment += [f"FAKETIME_TIMESTAMP_FILE={self._clock(i)}", "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
        if self.slow_disks:
            libraries.append(str(self._slow_disk()))
            environment.append(f"SLOW_DISK={self._disk_delay(i)}")
        return ["ip", "netns", "exec", NAMES[i], "env", f"LD_PRELOAD={':'.join(libraries)}", *environment]

    def before_ca(self):
        # Certificates that are valid for those as well whose clocks are slow.
        return ["faketime", "-f", "-1d"] if FAKETIME else []

    # --- nodes ---------------------------------------------------------------------------------------------

    def launch_node(self, i):
        """Starts it and does not wait for it: it may be at odds with what keeps it from getting ready."""
        name = NAMES[i]
        with open(self.directory / f"{name}.log", "a") as log, open(self.directory / f"{name}.out", "a") as out:
            command = [*self.before_node(i), self.program(i), "run", "--json", "--config", self.config_file(i)]
            self.processes[name] = subprocess.Popen([str(c) for c in command], stdout=out, stderr=log)

    # --- faults --------------------------------------------------------------------------------------------

    def data(self, i):
        return self.node_directory(i) / "data"

    def cut(self, is_cut):
        """The far bridge from the near one."""
        ip(SWITCH, f"link set uplink {'down' if is_cut else 'up'}")

    def impair(self, delay_ms=0, jitter_ms=0, lose=0.0):
        """Every frame to a node is late, or lost with a probability: by netem if the kernel has it, otherwise by a process in place of the
        bridges. Which of these."""
        ports = [f"to-{NAMES[i]}" for i in range(self.count)]
        try:
            for port in ports:
                run("tc", "-n", SWITCH, "qdisc", "add", "dev", port, "root", "netem", "limit", 100000, "delay", f"{delay_ms}ms", f"{jitter_ms}ms",
                    "loss", f"{100 * lose}%")
            return "netem"
        except Failure:
            ports += ["to-near", "to-far"]
            for port in ports:
                ip(SWITCH, f"link set {port} nomaster")
            self._start("wire", ["ip", "netns", "exec", SWITCH, sys.executable, WIRE, delay_ms, jitter_ms, lose, *ports])
            return "a process"

    def repair_wires(self):
        wire = self.processes.pop("wire", None)
        if wire is None:
            for i in range(self.count):
                run("tc", "-n", SWITCH, "qdisc", "del", "dev", f"to-{NAMES[i]}", "root")
            return
        wire.terminate()
        wire.wait()
        for name, bridge in self._ports():
            ip(SWITCH, f"link set to-{name} master {bridge}")

    def deafen(self, i, others, is_deaf, to_calls_only=False):
        """Whether what `others` send to node i is lost on the way, without a word: all of it, or (`to_calls_only`) what they send to the address
        at which it is called, so that it calls them, and they cannot call it. What it sends arrives."""
        addresses = [self.node_address(i)] + ([] if to_calls_only else [self.calling_address(i)])
        for other in others:
            for address in addresses:
                if is_deaf:
                    ip(NAMES[other], f"neighbour replace {address} lladdr {NOWHERE} dev eth0 nud permanent")
                else:
                    ip(NAMES[other], f"neighbour delete {address} dev eth0")

    def slow_disk(self, i, milliseconds):
        """How much longer the node waits for its disk whenever it waits for it."""
        with open(self._disk_delay(i), "r+b" if self._disk_delay(i).exists() else "wb") as file:
            file.write(milliseconds.to_bytes(4, sys.byteorder))

    def fill_disk(self, i):
        block = bytes(4096)
        with open(self.data(i) / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(block) == len(block):
                    pass
            except OSError:
                pass

    def free_disk(self, i):
        (self.data(i) / "filler").unlink()

    def set_clock(self, i, seconds):
        """How much the wall clock of node i is ahead. It notices within a second."""
        new = self._clock(i).with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self._clock(i))

    def clock(self, i):
        """What time it is for node i, by its answers: seconds since 1970."""
        context = ssl.create_default_context(cafile=self.directory / "certs" / "ca.pem")
        context.check_hostname = False  # called by its address
        connection = http.client.HTTPSConnection(self.node_address(i), self.port, timeout=10, context=context)
        try:
            connection.request("GET", "/.well-known/nodeinfo")
            return parsedate_to_datetime(connection.getresponse().headers["Date"]).timestamp()
        except OSError as error:
            raise Failure(f"{NAMES[i]}: {error}") from error
        finally:
            connection.close()

    # --- the network ---------------------------------------------------------------------------------------

    def _clock(self, i):
        return self.node_directory(i) / "clock"

    def _disk_delay(self, i):
        return self.node_directory(i) / "disk_delay"

    def _slow_disk(self):
        return self.directory / "slow_disk.so"

    def _ports(self):
        yield from ((NAMES[i], "far" if i in self.far else "near") for i in range(self.count))
        yield from (("near", "near"), ("far", "far"))

    def _make_switch(self):
        run("ip", "netns", "add", SWITCH)
        run("ip", "netns", "exec", SWITCH, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        for bridge in ["near", "far"]:
            ip(SWITCH, f"link add name {bridge} type bridge mcast_snooping 0")
            ip(SWITCH, f"link set {bridge} up")
            # The test's own end of it, where the instances are.
            run("ip", "link", "add", "name", bridge, "type", "veth", "peer", "name", f"to-{bridge}", "netns", SWITCH)
            run("ip", "link", "set", bridge, "up")
            ip(SWITCH, f"link set to-{bridge} master {bridge} up")
        ip(SWITCH, "link add name uplink type veth peer name downlink")
        ip(SWITCH, "link set uplink master near up")
        ip(SWITCH, "link set downlink master far up")

    def _make_namespace(self, i):
        name = NAMES[i]
        bridge = "far" if i in self.far else "near"
        run("ip", "netns", "add", name)
        ip(SWITCH, f"link add name to-{name} type veth peer name eth0 netns {name}")
        ip(SWITCH, f"link set to-{name} master {bridge} up")
        ip(name, "link set lo up")
        ip(name, "link set eth0 up")
        ip(name, f"address add {self.node_address(i)}/64 dev eth0 nodad")
        ip(name, f"address add {self.calling_address(i)}/64 dev eth0 nodad")
        ip(name, f"route add fd00:7a67::/32 dev eth0 src {self.calling_address(i)}")
        run("ip", "address", "add", f"{self.origin_address(i)}/64", "dev", bridge, "nodad")
        run("ip", "route", "add", f"fd00:7a67:0:{i + 1:x}::/64", "dev", bridge)
