"""E2CM: ECM at the switch, and ECM's law on the sender's own queue along the path.

Readings: a source probes when it is limited first, and after each 30 KB from then on; the
destination returns the probe. Qp = octets sent during the round trip times 1 - shortest round trip
/ this one, in whole octets. The law on (Qp_eq - Qp) - W (Qp - Qp before) is ECM's. Probes sent
before a switch's cut are not heard; switches send no positive feedback.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import floor, inf

from .common import FRAME, LINE_RATE, US, Reference, Script, words
from .ecm import Additive, EcmPort
from .qcn import FIXED, queue_walk


@dataclass
class PathLaw(Additive):
    """ECM's limiter with probes."""

    gi: float = 0.1 * 10_000 / 1875 * 0.64
    gd: float = 0.5 / 1875 * 0.64
    path_set_point: float = 7500
    every: float = 30_000

    def __post_init__(self) -> None:
        self.limited = False
        self.sent_octets = self.since = 0.0
        self.base = inf
        self.q_path = 0
        self.cut_at = -inf

    def switch(self, now: float, offset: float, delta: float) -> bool:
        """Hear a switch; say whether a probe is due."""
        starts = not self.limited
        if starts:
            self.limited, self.rate = True, self.line
            self.since = 0.0
        self.cut_at = now
        self.apply(offset, delta)
        return starts

    def sent(self, size: int) -> bool:
        """Count a frame; say whether a probe is due."""
        self.sent_octets += size
        self.since += size
        if not self.limited or self.since < self.every:
            return False
        self.since = 0.0
        return True

    def returned(self, now: float, asked: float, sent: float) -> None:
        """A probe is back."""
        if not self.limited or asked < self.cut_at:
            return
        trip = now - asked
        self.base = min(self.base, trip)
        q = floor((self.sent_octets - sent) * (trip - self.base) / trip)
        self.apply(self.path_set_point - q, q - self.q_path)
        self.q_path = q


def source() -> Script:
    """A limited source; probes come back after 40 to 200 us."""
    out = Script("E2CM's source", "e2cm", "IBM_ZRL", {"rp.drift_every": "0 s"})
    law = PathLaw()
    dice, now = random.Random(61), 0.0
    pending: list[tuple[float, float, float]] = []
    for step in range(500):
        now += dice.randint(800, 6000)
        for back in sorted(entry for entry in pending if entry[0] <= now):
            pending.remove(back)
            law.returned(*back)
            out.row(back[0], "returned", words(asked=back[1], sent=back[2]), words(rate=law.rate))
        if step in (3, 120, 121, 300):
            offset, delta = -dice.randint(20, 100) * 1000, dice.randint(0, 20) * 1000
            due, call = law.switch(now, offset, delta), ("bcn", words(offset=offset, delta=delta))
        else:
            due, call = law.sent(FRAME), ("sent", words(size=FRAME, backlog=FRAME))
        shown = words(rate=law.rate) if law.limited else "free"
        if due:
            shown += " " + words(probe=True, asked=now, sent=law.sent_octets)
            pending.append((now + dice.randint(40_000, 200_000), now, law.sent_octets))
        out.row(now, *call, shown)
        if law.limited and law.rate >= LINE_RATE:
            break
    return out


def port() -> Script:
    out = Script(
        "E2CM's port: no positive feedback",
        "e2cm",
        "IBM_ZRL",
        {"cp.jitter_width": FIXED["cp.jitter_width"]},
    )
    ecm = EcmPort(37_500, 2, 150_000, 150_000, None)
    dice, q = random.Random(62), 30_000
    for at in range(600):
        q = queue_walk(dice, q, FRAME, 160_000)
        answer = ecm.arrival(9000, q, None)
        out.row(at * US, "arrival", words(size=9000, queue=q), answer)
    return out


REFERENCE = Reference(
    {"e2cm": "congestion point; reaction point with path probes"},
    "E2CM (2007): outline; the readings of the documents",
    {"e2cm_port": port, "e2cm_source": source},
)
