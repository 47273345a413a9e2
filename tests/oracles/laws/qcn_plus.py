"""QCN+: QCN with probes, and gains tuned by the round trip (deck 004, Gain Tuning r1.01).

While limited, a source asks the congestion point of its last message, one question at a time, each
1 ms or round trip; the answer has offset, growth and the port's rate. With the round trip RTT:

* one cut in each RTT, as it was known at the cut;
* cycles of the byte counter of max(150 KB, 2 RTT rate), by the rate at the last answer or message,
  before the cut or after the raise;
* N = port's rate / current rate, W = min(32, 2 + factor RTT / N), and Fb = offset - W growth;
* positive feedback adds Gi Fb C, half of it for each millisecond of RTT.

Readings: whatever W, feedback has 255 steps of the port's own full scale, five set points, either
way, and more counts as that; cycles have one length, as in the deck's runs of QCN. Until the round
trip is known, a message counts as the port computed it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import floor, inf

from .common import FRAME, LINE_RATE, MS, US, Reference, Script, words
from .qcn import FIXED, Limiter, Sampler, queue_walk, told

SET_POINT = 37_500
ANSWER_LIMIT = 10 * MS


@dataclass
class Tuned(Limiter):
    """QCN's limiter with the byte counter, and the loop around it."""

    clock: str = "byte_counter"
    ai: float = 12e6
    gd: float = 0.5 / 255
    min_rate: float = 1e6
    trr: bool = False
    short_cycles: bool = False
    gi: float = 0.1 / 255
    path: bool = False

    def release(self) -> None:
        """Stop limiting, and forget the path."""
        super().release()
        self.rtt: float | None = None
        self.capacity = self.line
        self.asked: float | None = None
        self.ask_at = inf

    def feedback(self, offset: float, delta: float) -> int:
        """Fb of this source: positive where there is room."""
        assert self.rtt is not None
        n = self.capacity / self.rate
        w = min(32.0, 2 + 2 * self.rtt / (100 * US) / n)
        fb = (offset - w * delta) * 255 / (5 * SET_POINT)
        return max(-255, min(255, floor(fb) if fb > 0 else -floor(-fb)))

    def tune(self) -> None:
        """The lengths that follow from the round trip."""
        self.cut_spacing = self.rtt or 0
        octets = 0 if self.rtt is None else 2 * self.rtt * 1e-9 * self.rate / 8
        self.byte_reset = max(150_000.0, octets)

    def cnm_plus(self, now: float, fb: int, offset: float, delta: float) -> bool:
        """Hear a message; say whether a question goes now."""
        starts = not self.limited
        if self.limited and self.rtt is not None:
            fb = -min(self.feedback(offset, delta), 0)
        self.tune()
        self.cnm(now, fb, offset)
        return starts and self.limited and self.ask(now)

    def ask(self, now: float) -> bool:
        """Send a question."""
        self.asked, self.ask_at = now, inf
        return True

    def heard_back(self, now: float) -> None:
        """Know the round trip, and ask next a period or a round trip after the question."""
        assert self.asked is not None
        self.rtt = now - self.asked
        self.ask_at = self.asked + max(MS, self.rtt)
        self.asked = None

    def answer(self, now: float, offset: float, delta: float, capacity: float) -> None:
        """Hear the answer to the question."""
        self.heard_back(now)
        self.capacity = capacity
        fb = self.feedback(offset, delta)
        if fb < 0:
            self.tune()
            self.cnm(now, -fb, -1)
        else:
            self.climb(fb)

    def returned(self, now: float) -> None:
        """Hear a question that came back from the destination: room on the whole path."""
        self.heard_back(now)
        self.climb(1)

    def climb(self, fb: int) -> None:
        """Raise the rate."""
        assert self.rtt is not None
        self.rate = min(self.rate + self.gi * fb * self.line * 0.5 ** (self.rtt / MS), self.line)
        self.target = max(self.target, self.rate)
        self.tune()

    def wakes(self) -> float:
        """When to be woken: the next question, or the end of patience."""
        return self.ask_at if self.asked is None else self.asked + ANSWER_LIMIT

    def wake(self, now: float) -> None:
        """Ask; a question without an answer leaves the round trip unknown."""
        if self.asked is not None:
            self.rtt = None
            self.tune()
        self.ask(now)

    def plus(self, asks: float | None = None) -> str:
        """What the reaction point shows."""
        if not self.limited:
            return "free"
        to = None if self.path or asks is None else 1
        probe = None if asks is None else True
        return words(
            rate=self.rate, target=self.target, wake=self.wakes(), probe=probe, to=to, asked=asks
        )


FIXED_PLUS = FIXED | {"rp.drift_every": "0 s"}


def source(about: str, law: Tuned, parameters: dict[str, str], seed: int, trip: float) -> Script:
    """Messages, frames, and answers after about `trip`; one answer in twelve is lost."""
    out = Script(about, "qcn_plus", "IBM_ZRL", FIXED_PLUS | parameters)
    dice, now = random.Random(seed), 0.0
    answer_at = inf

    def asked(asks: bool, at: float) -> str:
        nonlocal answer_at
        if asks:
            lost = dice.random() < 1 / 12
            answer_at = inf if lost else at + round(trip * dice.uniform(0.8, 1.3))
        return law.plus(at if asks else None)

    for _ in range(500):
        now += dice.randint(1000, 150_000)
        while law.limited and min(answer_at, law.wakes()) <= now:
            at = min(answer_at, law.wakes())
            if at == answer_at:
                answer_at, question = inf, law.asked
                if law.path and dice.random() < 0.6:
                    law.returned(at)
                    out.row(at, "returned", words(asked=question, rate=0), law.plus())
                    continue
                offset, delta = dice.randint(-60, 37) * 1000, dice.randint(-20, 20) * 500
                law.answer(at, offset, delta, dice.choice((10e9, 10e9, 500e6)))
                told = words(asked=question, offset=offset, delta=delta, capacity=law.capacity)
                out.row(at, "answer", told, law.plus())
            else:
                law.wake(at)
                out.row(at, "wake", "", asked(True, at))
        if dice.random() < 0.06:
            fb, offset, delta = (
                dice.randint(1, 90),
                -dice.randint(1, 80) * 1000,
                dice.randint(-9, 9) * 1000,
            )
            asks = law.cnm_plus(now, fb, offset, delta)
            out.row(now, "cnm", words(fb=fb, offset=offset, delta=delta), asked(asks, now))
        else:
            size = dice.choice((1500, 9000, 30_000, 60_000))
            law.sent(size, FRAME)
            out.row(now, "sent", words(size=size, backlog=FRAME), law.plus())
    return out


def near() -> Script:
    return source("QCN+: a round trip of 50 us", Tuned(), {}, 71, 50 * US)


def far() -> Script:
    return source("QCN+: a round trip of 2 ms", Tuned(), {}, 72, 2 * MS)


def path() -> Script:
    about = "QCN+: path probes, a round trip of 500 us"
    return source(about, Tuned(path=True), {"rp.probing": "path"}, 73, 500 * US)


def port() -> Script:
    """Messages as QCN's; directed questions to this port and another; path questions."""
    parameters = {"cp.jitter_width": "0"}
    out = Script("QCN+: what a port answers", "qcn_plus", "IBM_ZRL", parameters)
    sampler = Sampler(set_point=SET_POINT, bits=8)
    dice, q = random.Random(74), 20_000
    for at in range(500):
        q = queue_walk(dice, q, 1500, 149_000)
        out.row(at * 2000, "arrival", words(size=9000, queue=q), told(sampler.arrival(9000, q)))
        if at % 3 == 0:
            to = dice.choice((None, 1, 2))
            offset, delta = SET_POINT - q, q - sampler.q_old
            answers = to == 1 or (to is None and sampler.quantized(q) > 0)
            answer = "answer " + words(offset=offset, delta=delta, capacity=LINE_RATE)
            passes = "pass " + words(rate=5)
            out.row(
                at * 2000 + 1, "probe", words(queue=q, to=to, rate=5), answer if answers else passes
            )
    return out


REFERENCE = Reference(
    {"qcn_plus": "congestion point and its answers; reaction point with directed and path probes"},
    "deck 004, Gain Tuning r1.01 and Mandatory and Optional Behavioral Spec; readings",
    {"qcn_plus_near": near, "qcn_plus_far": far, "qcn_plus_path": path, "qcn_plus_port": port},
)
