"""Fb-hat's reaction point: QCN's byte counter with cycles that shrink while little is heard.

Readings: Fb-hat is a mean of the feedback heard, from that of the message that starts a limiter,
with a zero for each cycle in which no message came; a message after the first cycle starts a cycle.
A cycle is BC_LIMIT max(1/4, min(1, Fb-hat / reference)) long, and half of that after fast recovery.
"""

from __future__ import annotations

from dataclasses import dataclass

from .common import Reference, Script
from .qcn import FIXED, Limiter, play


@dataclass
class Remembering(Limiter):
    """The limiter of QCN with the byte counter alone and a memory."""

    clock: str = "byte_counter"
    trr: bool = False
    ai: float = 12e6
    g: float = 0.25
    reference: float = 8.0
    shortest: float = 0.25
    fb_hat: float = 0.0
    heard: bool = False

    def length(self) -> float:
        """Octets of a cycle now."""
        return 150_000 * max(self.shortest, min(1.0, self.fb_hat / self.reference))

    def cnm(self, now: float, fb: int, offset: float) -> None:
        """Remember, then cut; a message in a first cycle leaves that cycle as long as it was."""
        if fb == 0 or not (self.limited or offset < 0):
            return
        starts = not self.limited
        self.heard = self.limited and self.byte_stage == 0
        self.fb_hat = fb if starts else self.fb_hat + self.g * (fb - self.fb_hat)
        self.byte_reset = self.length()
        super().cnm(now, fb, offset)

    def sent(self, size: int, backlog: int) -> None:
        """Count; forget a little at the end of a cycle without a message."""
        ends = self.limited and self.bytes_left < size
        if ends and self.rate < self.line:
            if not self.heard:
                self.fb_hat -= self.g * self.fb_hat
            self.heard = False
            self.byte_reset = self.length()
        super().sent(size, backlog)


def few() -> Script:
    script = Script("Fb-hat: few messages", "qcn_fb_hat", "DECK000", FIXED)
    return play(script, Remembering(), 21, 600, 0.015)


def many() -> Script:
    script = Script("Fb-hat: many messages", "qcn_fb_hat", "DECK000", FIXED)
    return play(script, Remembering(), 22, 400, 0.15)


def slow() -> Script:
    parameters = FIXED | {"rp.g": "0.125", "rp.reference": "20", "rp.shortest": "0.1"}
    script = Script("Fb-hat: a longer memory", "qcn_fb_hat", "DECK000", parameters)
    return play(script, Remembering(g=0.125, reference=20, shortest=0.1), 23, 500, 0.03)


REFERENCE = Reference(
    {"qcn_fb_hat": "reaction point: the mean and the length of cycles"},
    "named in decks 000 and 004; the readings of the documents",
    {"fb_hat_few": few, "fb_hat_many": many, "fb_hat_slow": slow},
)
