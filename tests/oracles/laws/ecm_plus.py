"""ECM+'s reaction point: QCN with the timer alone, and a timer that adapts.

Deck 001, Timer-only QCN = ECM+: when the timer runs out the next one is T c or T - a; dinged before
it runs out, T d or T + b. Readings: T stays within bounds; a burst of messages stretches once, the
first after the timer ran out and then one each timer period.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from .common import MS, Reference, Script
from .qcn import FIXED, Limiter, play


@dataclass
class Adaptive(Limiter):
    """The limiter of QCN with the timer alone; `time_reset` moves."""

    clock: str = "timer"
    additive: bool = False
    every_message: bool = False
    shortest: float = MS
    longest: float = 60 * MS

    def release(self) -> None:
        """Stop limiting; the next limiter starts with the first timer."""
        super().release()
        self.time_reset = 15 * MS
        self.stretched_at = -inf

    def bounded(self, timer: float) -> float:
        """T within its bounds."""
        return min(max(timer, self.shortest), self.longest)

    def cnm(self, now: float, fb: int, offset: float) -> None:
        """Stretch the timer if it runs, then cut."""
        dinged = self.limited and fb > 0
        if dinged and (self.every_message or now - self.stretched_at >= self.time_reset):
            longer = self.time_reset + MS if self.additive else self.time_reset * 1.1
            self.time_reset = self.bounded(longer)
            self.stretched_at = now
        super().cnm(now, fb, offset)

    def wake(self, now: float) -> None:
        """Shrink the timer, then end the cycle."""
        shorter = self.time_reset - MS if self.additive else self.time_reset * 0.9
        self.time_reset = self.bounded(shorter)
        self.stretched_at = -inf
        super().wake(now)


def multiplicative() -> Script:
    script = Script("ECM+: T c and T d", "ecm_plus", "DECK001_MULTIPLICATIVE", FIXED)
    return play(script, Adaptive(), 11, 400, 0.03)


def dinged() -> Script:
    script = Script("ECM+: bursts of messages", "ecm_plus", "DECK001_MULTIPLICATIVE", FIXED)
    return play(script, Adaptive(), 12, 300, 0.5)


def additive() -> Script:
    script = Script("ECM+: T - a and T + b", "ecm_plus", "DECK001_ADDITIVE", FIXED)
    return play(script, Adaptive(additive=True), 13, 400, 0.06)


def every_message() -> Script:
    parameters = FIXED | {"rp.stretching": "every_message"}
    script = Script(
        "ECM+: each message stretches", "ecm_plus", "DECK001_MULTIPLICATIVE", parameters
    )
    return play(script, Adaptive(every_message=True), 14, 300, 0.1)


REFERENCE = Reference(
    {"ecm_plus": "reaction point: both forms of the timer, its bounds, both readings of a burst"},
    "deck 001, Timer-only QCN = ECM+",
    {
        "ecm_plus_multiplicative": multiplicative,
        "ecm_plus_bursts": dinged,
        "ecm_plus_additive": additive,
        "ecm_plus_every_message": every_message,
    },
)
