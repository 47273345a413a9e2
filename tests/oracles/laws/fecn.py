"""FECN, from its outline and default constants.

A port divides its offer r by rho = arrived / (T C f(q)) at the end of each interval T, averages it
with the one before, and limits its rise while the queue is shorter than the set point. f is a
hyperbola: a with an empty queue, 1 at the set point, less above it, at least c. A source starts at
C / N0, asks with its first frame and then each T while it sends, and takes the rate that comes
back, unless a later question has been answered. A port that has seen no frame lowers no probe; its
intervals follow each other from the first frame.

Reading: the queue at the end of an interval is the one that the next frame or probe finds, without
that frame.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import inf

from .common import FRAME, LINE_RATE, MS, US, Reference, Script, words


@dataclass
class FecnPort:
    """The rate that a port offers."""

    set_point: float = 24_000
    every: float = MS
    flows: float = 200
    a: float = 1.1
    b: float = 1.002
    c: float = 0.1
    alpha: float = 0.5
    max_rise: float = 0.1
    after_idle: str = "start"
    offer: float | None = None
    arrived: float = 0.0
    capacity: float = LINE_RATE

    ends: float = inf

    def wanted(self, q: float) -> float:
        """f(q): the share of the capacity to share out."""
        if q <= self.set_point:
            return self.a * self.set_point / ((self.a - 1) * q + self.set_point)
        return max(self.c, self.b * self.set_point / ((self.b - 1) * q + self.set_point))

    def advertised(self) -> float:
        """The offer now."""
        return inf if self.offer is None else self.offer

    def measure(self, q: float) -> None:
        """End an interval."""
        assert self.offer is not None
        old = self.offer
        if self.arrived == 0:
            if self.after_idle == "start":
                self.offer = self.capacity / self.flows
            elif q == 0:
                self.offer = self.capacity
            return
        seconds = self.every * 1e-9
        rho = self.arrived * 8 / (seconds * self.capacity * self.wanted(q))
        new = self.alpha * min(self.capacity, old / rho) + (1 - self.alpha) * old
        if q < self.set_point:
            new = min(new, old + self.max_rise * self.capacity)
        self.offer = new
        self.arrived = 0.0

    def until(self, now: float, q: float) -> None:
        """End the intervals that are over."""
        while now >= self.ends:
            self.measure(q)
            self.ends += self.every

    def arrival(self, now: float, size: int, q: float) -> None:
        """Count a frame, discarded or not; `q` is the queue that it finds."""
        self.until(now, q)
        if self.offer is None:
            self.offer, self.ends = self.capacity / self.flows, now + self.every
        self.arrived += size


def ports(about: str, port: FecnPort, parameters: dict[str, str], loads: list[float]) -> Script:
    """Frames at each load of the link for 3 ms; a served queue; a probe now and then."""
    out = Script(about, "fecn", "FECN2007", parameters)
    dice, now, q = random.Random(31), 0.0, 0
    for number, load in enumerate(loads):
        end = (number + 1) * 3 * MS
        while now < end:
            now += 40 * US + dice.randint(1, 900)
            if dice.random() < load:
                size, lost = 9000 * dice.randint(1, 5), q > 90_000
                port.arrival(now, size, q)
                q += 0 if lost else size
                out.row(now, "arrival", words(size=size, queue=q, discarded=lost), "nothing")
            elif q:
                q = max(q - 9000 * dice.randint(1, 6), 0)
            if dice.random() < 0.15:
                now += 100
                port.until(now, q)
                rate = dice.choice((LINE_RATE, 300e6))
                answer = "pass " + words(rate=min(rate, port.advertised()))
                out.row(now, "probe", words(rate=rate, queue=q), answer)
    return out


def port_defaults() -> Script:
    about = "FECN's port, from idle to full and back"
    return ports(about, FecnPort(), {}, [0.1, 0.3, 0.9, 0.9, 0.5, 0.0, 0.3])


def port_shape() -> Script:
    parameters = {"cp.a": "1.5", "cp.b": "1.3", "cp.c": "0.7", "cp.alpha": "0.25"}
    parameters |= {"cp.max_rise": "0.02", "cp.after_idle": "capacity", "cp.start_flows": "20"}
    port = FecnPort(a=1.5, b=1.3, c=0.7, alpha=0.25, max_rise=0.02, flows=20, after_idle="capacity")
    about = "FECN's port with other constants, and the line rate after an idle interval"
    return ports(about, port, parameters, [0.05, 0.05, 0.1, 0.9, 0.5, 0.0, 0.3])


def limiter() -> Script:
    """A source that sends, pauses for 5 ms and sends; answers in and out of order."""
    out = Script("FECN's source", "fecn", "FECN2007", {})
    rate, asks_at, taken, idle, sends = LINE_RATE / 200, inf, -inf, True, False
    pending: list[tuple[float, float, float]] = []
    dice, now = random.Random(32), 0.0

    def ask(at: float) -> str:
        nonlocal asks_at
        asks_at = at + MS
        pending.append((at + dice.randint(1, 3 * MS), at, dice.choice((100e3, 40e6, 900e6, 9e9))))
        return words(rate=rate, probe=True, asked=at)

    for step in range(400):
        now += 5 * MS if step == 200 else dice.randint(10_000, 90_000)
        while True:
            back = min(pending, default=(inf, 0.0, 0.0))
            due = inf if idle else asks_at
            if min(back[0], due) > now:
                break
            if back[0] < due:
                pending.remove(back)
                if back[1] >= taken:
                    rate, taken = max(back[2], 1e6), back[1]
                out.row(back[0], "returned", words(asked=back[1], rate=back[2]), words(rate=rate))
            else:
                # The next question, if a frame has left since the last.
                idle, sends = not sends, False
                out.row(due, "wake", "", words(rate=rate) if idle else ask(due))
        out.row(now, "sent", words(size=FRAME), ask(now) if idle else words(rate=rate))
        idle, sends = False, True
    return out


def destination() -> Script:
    out = Script("FECN's destination sends a probe back as it came", "fecn", "FECN2007", {})
    for at in range(4):
        rate = 1e9 + at
        out.row(
            at,
            "destination",
            words(rate=rate, asked=0, sent=7),
            words(returned=True, sent=7, rate=rate),
        )
    return out


REFERENCE = Reference(
    {"fecn": "congestion point, reaction point, notification point"},
    "FECN (2007): outline and constants",
    {
        "fecn_port": port_defaults,
        "fecn_port_shape": port_shape,
        "fecn_source": limiter,
        "fecn_destination": destination,
    },
)
