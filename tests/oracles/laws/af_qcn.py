"""AF-QCN's congestion point, from its two formulas.

f_i = W_i / sum W * sum r, and Fb = (1 - alpha) Fb_QCN + alpha full scale [1 - f_i / r_i]+. Flow i's
rate r_i is what arrived in an interval, averaged over intervals. Readings: a port sends where QCN
would, if the mean rounds to 1 or more; discarded frames count as arrivals.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import floor

from .common import MS, US, Reference, Script, words
from .qcn import FIXED, Sampler, queue_walk, told


@dataclass
class FairPort:
    """QCN's port with fairness feedback."""

    alpha: float = 0.5
    every: float = MS
    gain: float = 0.25
    heavy: int = 0
    weight: float = 1.0
    qcn: Sampler = field(default_factory=Sampler)
    counted: dict[int, float] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)
    ends: float = 0.0

    def __post_init__(self) -> None:
        self.ends = self.every

    def measure(self) -> None:
        """End an interval."""
        for flow in self.counted.keys() | self.rates.keys():
            new = self.counted.get(flow, 0.0) * 8 / self.every
            self.rates[flow] = (1 - self.gain) * self.rates.get(flow, 0.0) + self.gain * new
        self.counted = {}

    def unfairness(self, flow: int) -> float:
        """[1 - f_i / r_i]+, zero for a flow without a rate."""
        mine = self.rates.get(flow, 0.0)
        if mine <= 0:
            return 0.0
        weights = {
            f: self.weight if f < self.heavy else 1.0 for f, r in self.rates.items() if r > 0
        }
        share = weights[flow] / sum(weights.values()) * sum(self.rates.values())
        return max(1 - share / mine, 0.0)

    def arrival(self, now: float, flow: int, size: int, q: float, admitted: bool) -> str:
        """Count a frame; at a sample return the message."""
        while now >= self.ends:
            self.measure()
            self.ends += self.every
        self.counted[flow] = self.counted.get(flow, 0.0) + size
        message = self.qcn.arrival(size, q, admitted)
        if message is None or message[0] == 0:
            return "nothing"
        mean = (1 - self.alpha) * message[0] + self.alpha * 63 * self.unfairness(flow)
        return told((floor(mean + 0.5), *message[1:]))


def script(about: str, port: FairPort, parameters: dict[str, str], pattern: list[int]) -> Script:
    """Frames of the flows in `pattern`, by lot, while the queue walks about."""
    out = Script(about, "af_qcn", "DECK001", FIXED | parameters)
    dice, q, now = random.Random(7), 40_000, 0.0
    for _ in range(450):
        now += 34 * US + dice.randint(0, 500)
        q = queue_walk(dice, q, 20_000, 149_000)
        flow, lost = dice.choice(pattern), dice.random() < 0.1
        answer = port.arrival(now, flow, 9000, q, not lost)
        arguments = words(flow=flow, size=9000, queue=q, discarded=lost)
        out.row(now, "arrival", arguments, answer)
    return out


def equal() -> Script:
    about = "AF-QCN: three flows; the first sends as much as the two others together"
    return script(about, FairPort(), {}, [0, 0, 1, 2])


def weighted() -> Script:
    about = "AF-QCN: alpha 3/4; the first of three flows weighs 4"
    parameters = {"cp.alpha": "0.75", "cp.weighted_flows": "1", "cp.weight": "4"}
    return script(about, FairPort(alpha=0.75, heavy=1, weight=4), parameters, [0, 1, 1, 2])


def plain() -> Script:
    return script("AF-QCN: alpha 0 is QCN", FairPort(alpha=0), {"cp.alpha": "0"}, [0, 0, 0, 1])


def late() -> Script:
    """A second flow starts in the eleventh interval and the first stops in the twentieth."""
    out = Script("AF-QCN: a flow comes, another goes", "af_qcn", "DECK001", FIXED)
    port, dice, q, now = FairPort(), random.Random(8), 60_000, 0.0
    for step in range(450):
        now += 60 * US + dice.randint(0, 500)
        q = queue_walk(dice, q, 50_000, 149_000)
        flow = 0 if step < 165 else dice.choice((0, 1, 1)) if step < 300 else 1
        out.row(
            now,
            "arrival",
            words(flow=flow, size=9000, queue=q),
            port.arrival(now, flow, 9000, q, True),
        )
    return out


REFERENCE = Reference(
    {"af_qcn": "congestion point: measured rates, shares by weight, mean of both feedbacks"},
    "AF-QCN (2010), the two formulas",
    {
        "af_qcn_equal": equal,
        "af_qcn_weighted": weighted,
        "af_qcn_plain": plain,
        "af_qcn_late": late,
    },
)
