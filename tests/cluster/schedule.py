"""Faults that overlap, drawn from a seed: the same seed, number of nodes and seconds give the same faults, at the same times."""

import random
from dataclasses import dataclass

FOUNDER, BOOTSTRAP = (0,), (0, 1, 2)
MINUTE = 60
# Each once a minute: who is down.
LARGE = {"founder": FOUNDER, "bootstrap": BOOTSTRAP, "power cut": None}
# kind -> the most seconds that one lasts. Of those that share a word before the space a node has one at a time.
SMALL = {"down killed": 8, "down stopped": 8, "paused": 15, "deaf": 15, "deaf to calls": 15, "slow disk": 15, "wrong clock": 15}
CLOCKS = [-3600, -600, -30, 30, 600, 3600]  # seconds
DELAYS = [20, 100, 400]  # milliseconds


@dataclass(frozen=True)
class Fault:
    at: float  # seconds after the beginning
    until: float
    kind: str
    nodes: tuple
    detail: object = None

    def __str__(self):
        detail = "" if self.detail is None else f" ({self.detail})"
        return f"{self.at:6.1f} to {self.until:5.1f}: {self.kind}{detail}: {' '.join(map(str, self.nodes))}"


class Drawing:
    def __init__(self, seed, nodes, seconds):
        self.rng = random.Random(seed)
        self.nodes, self.seconds = nodes, seconds
        self.faults = []

    def draw(self):
        for minute in range(0, self.seconds, MINUTE):
            part = MINUTE / len(LARGE)
            for place, kind in enumerate(self.rng.sample(sorted(LARGE), len(LARGE))):
                self._large(kind, minute + part * place + self.rng.uniform(2, part - 9))
        now = 1.0
        while now < self.seconds:
            self._small(now)
            now += self.rng.expovariate(0.08 * self.nodes)
        return sorted(self.faults, key=lambda fault: (fault.at, fault.kind))

    def _large(self, kind, at):
        nodes = LARGE[kind] or tuple(self.rng.sample(range(self.nodes), self.nodes))
        # A restart in this order.
        self._add(Fault(at, at + self.rng.uniform(0.2, 6), kind, nodes))

    def _small(self, at):
        kind = self.rng.choice(sorted(SMALL))
        node = self.rng.randrange(self.nodes)
        fault = Fault(at, at + self.rng.uniform(0.2, SMALL[kind]), kind, (node,), self._detail(kind, node))
        if not any(self._collide(fault, other) for other in self.faults):
            self._add(fault)

    def _detail(self, kind, node):
        if kind == "slow disk":
            return self.rng.choice(DELAYS)
        if kind == "wrong clock":
            return self.rng.choice(CLOCKS)
        if kind.startswith("deaf"):
            others = [i for i in range(self.nodes) if i != node]
            return tuple(sorted(self.rng.sample(others, self.rng.randint(1, len(others)))))
        return None

    def _add(self, fault):
        if fault.until <= self.seconds:
            self.faults.append(fault)

    @staticmethod
    def _collide(fault, other):
        def sort(kind):
            return "down" if kind in LARGE else kind.split()[0]

        return sort(fault.kind) == sort(other.kind) and set(fault.nodes) & set(other.nodes) and fault.at <= other.until and other.at <= fault.until


def draw(seed, nodes, seconds):
    return Drawing(seed, nodes, seconds).draw()
