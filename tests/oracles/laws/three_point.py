"""3-point QCN: ports write the worst feedback on frames, destinations reflect it.

Readings: a sampled frame, and one that a port before has marked, gets this port's feedback of
either sign if it is worse than what is there. Negative feedback cuts as in QCN. From the third
reflection with room in a row on, each is an increase event with R_HAI times its count.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import floor

from .common import FRAME, MS, US, Reference, Script, words
from .qcn import FIXED, Limiter, Sampler, queue_walk


@dataclass
class MarkingPort:
    """A port that writes feedback from -63 to 63."""

    qcn: Sampler = field(default_factory=Sampler)

    def signed(self, q: float) -> int:
        """Feedback on the scale of the negative side; the fraction is dropped on both sides."""
        fb = self.qcn.feedback(q) * 63 / self.qcn.fb_max
        return max(-63, min(63, floor(fb) if fb > 0 else -floor(-fb)))

    def arrival(self, size: int, q: float, carried: int | None) -> int | None:
        """Return the feedback that the frame leaves with."""
        mine = self.signed(q)
        sampled = self.qcn.arrival(size, q) is not None
        if carried is not None:
            return min(carried, mine)
        return mine if sampled else None


def two_ports() -> Script:
    """Frames pass port 1, and some of them then port 2."""
    out = Script("3-point QCN: two ports on a path", "qcn_three_point", "DECK001", FIXED)
    first, second = MarkingPort(), MarkingPort()
    dice, now, q1, q2 = random.Random(41), 0.0, 20_000, 50_000
    for _ in range(400):
        now += 7 * US
        q1 = queue_walk(dice, q1, 1500, 149_000)
        q2 = queue_walk(dice, q2, 1500, 149_000)
        carried = first.arrival(9000, q1, None)
        shown = "nothing" if carried is None else "reflection " + words(fb=carried)
        out.row(now, "arrival", words(size=9000, queue=q1, port=1), shown)
        if carried is not None or dice.random() < 0.3:
            left = second.arrival(9000, q2, carried)
            shown = "nothing" if left is None else "reflection " + words(fb=left)
            arguments = words(size=9000, queue=q2, port=2, marked=carried is not None)
            out.row(now + 1000, "arrival", arguments, shown)
    return out


@dataclass
class Hopeful(Limiter):
    """QCN's limiter that also hears of room."""

    good_news: int = 3
    scaled: bool = True
    row: int = 0
    raises: int = 0

    def reflection(self, now: float, fb: int) -> None:
        """Hear feedback of either sign."""
        if fb < 0:
            self.row = self.raises = 0
            self.cnm(now, -fb, -1)
        elif fb == 0:
            self.row = self.raises = 0
        elif self.limited:
            self.row += 1
            if self.good_news and self.row >= self.good_news:
                self.raises += 1
                self.target += self.hai * (self.raises if self.scaled else 1)
                self.rate = min((self.rate + self.target) / 2, self.line)


def reflections(limiter: Hopeful, parameters: dict[str, str], seed: int, good: float) -> Script:
    """Random reflections, frames and due timers."""
    out = Script("3-point QCN's source", "qcn_three_point", "DECK001", FIXED | parameters)
    dice, now = random.Random(seed), 0.0
    for _ in range(400):
        now = round(now + dice.randint(1, 3 * MS))
        while limiter.timer <= now:
            limiter.wake(limiter.timer)
            out.row("asked", "wake", "", limiter.shown())
        if dice.random() < 0.3:
            fb = (
                dice.choice((1, 12, 25, 25, 25, 0))
                if dice.random() < good
                else -dice.choice((1, 9, 20))
            )
            limiter.reflection(now, fb)
            out.row(now, "reflection", words(fb=fb), limiter.shown())
        else:
            size = dice.choice((60, 1500, 9000, 30_000))
            limiter.sent(size, FRAME)
            out.row(now, "sent", words(size=size, backlog=FRAME), limiter.shown())
    return out


def source() -> Script:
    return reflections(Hopeful(), {}, 42, 0.75)


def source_constant() -> Script:
    parameters = {"rp.good_news": "2", "rp.hai_step": "constant"}
    return reflections(Hopeful(good_news=2, scaled=False), parameters, 43, 0.7)


REFERENCE = Reference(
    {"qcn_three_point": "congestion points in a row, notification point, reaction point"},
    "named in deck 001; the readings of the documents",
    {
        "three_point_ports": two_ports,
        "three_point_source": source,
        "three_point_source_constant": source_constant,
    },
)
