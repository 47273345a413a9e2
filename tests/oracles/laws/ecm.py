"""BCN(0,0) in ECM, from decks 001 and 004 and the names of BCN's managed objects.

A port whose queue has reached Qsc answers a sampled frame with BCN(0,0): stop. The source stops,
waits a random time up to Tmax, and restarts at Rmin; each further BCN(0,0) during the wait doubles
the range, up to a largest one. Feedback counts 64-octet pages:
Fb > 0: R += Gi Fb Ru; Fb < 0: R *= 1 - Gd |Fb|, and one message takes at most half.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .common import FRAME, LINE_RATE, MS, US, Reference, Script, words
from .qcn import FIXED, queue_walk

PAGE = 64


@dataclass
class EcmPort:
    """ECM's congestion point, without jitter."""

    set_point: float
    w: float
    base: float
    severe_at: float
    stop_at: float | None
    tagged_only: bool = True
    q_old: float = 0.0

    def __post_init__(self) -> None:
        self.left = self.base

    def arrival(self, size: int, q: float, tag: int | None) -> str:
        """Count a frame; at a sample say what goes to its source."""
        self.left -= size
        if self.left >= 0:
            return "nothing"
        self.left = self.base
        offset, delta = self.set_point - q, q - self.q_old
        self.q_old = q
        if self.stop_at is not None and q >= self.stop_at:
            return "stop"
        if q >= self.severe_at:
            # Fb = offset - W delta = -(2 W + 1) set points.
            return "bcn " + words(offset=-self.set_point, delta=2 * self.set_point)
        if q <= self.set_point and (tag != 1 or not self.tagged_only):
            return "nothing"
        return "bcn " + words(offset=offset, delta=delta)


@dataclass
class Additive:
    """ECM's law on a rate."""

    gi: float = 0.53333
    gd: float = 0.00026667
    w: float = 2.0
    unit: float = 1e6
    min_rate: float = 1e6
    line: float = LINE_RATE
    rate: float = LINE_RATE

    def apply(self, offset: float, delta: float) -> None:
        """Change the rate by one message."""
        fb = (offset - self.w * delta) / PAGE
        if fb > 0:
            self.rate = min(self.rate + self.gi * fb * self.unit, self.line)
        else:
            self.rate = max(self.rate * max(1 - self.gd * -fb, 0.5), self.min_rate)


def port() -> Script:
    parameters = FIXED | {"cp.stop_threshold": "102400 B"}
    parameters.pop("rp.jitter_width")
    out = Script("ECM's port with ECM(0,0)", "ecm", "DECK001", parameters)
    ecm = EcmPort(24_000, 2, 18_000, 153_600, 102_400)
    dice, q = random.Random(51), 30_000
    for at in range(600):
        q = queue_walk(dice, q, FRAME, 149_500)
        tag = dice.choice((None, 1, 2))
        answer = ecm.arrival(FRAME * 2, q, tag)
        out.row(at * US, "arrival", words(size=FRAME * 2, queue=q, tag=tag), answer)
    return out


def stops() -> Script:
    """Stops, stops during the wait, restarts, and ordinary messages in between."""
    parameters = {"rp.drift_every": "0 s"}
    out = Script("ECM's source hears BCN(0,0)", "ecm", "DECK001", parameters)
    law, now = Additive(), 0.0

    def hear(offset: float, delta: float) -> None:
        nonlocal now
        now += 5 * US
        law.apply(offset, delta)
        arguments = words(offset=offset, delta=delta)
        out.row(now, "bcn", arguments, words(rate=law.rate, wake="never"))

    hear(-24_000, 0)
    hear(-10_000, 6000)
    hear(9000, -3000)
    for further in (0, 1, 2, 7, 0):
        now += 5 * US
        out.row(now, "bcn", "stop", words(rate=0, wake=f"{now:.0f}..{now + MS:.0f}"))
        longest = float(MS)
        for _ in range(further):
            # At the same instant, so that the wait is surely not over.
            longest = min(2 * longest, 64 * MS)
            out.row(now, "bcn", "stop", words(rate=0, wake=f"{now:.0f}..{now + longest:.0f}"))
        law.rate = law.min_rate
        out.row("asked", "wake", "", words(rate=law.rate, wake="never"))
        now += 70 * MS
        for _ in range(3):
            hear(24_000, -24_000)
        hear(-2000, 100)
    return out


REFERENCE = Reference(
    {"ecm": "BCN(0,0): when a port sends it, and what a source does; the law on ordinary messages"},
    "decks 001 and 004; names of BCN's managed objects",
    {"ecm_port_stop": port, "ecm_source_stop": stops},
)
