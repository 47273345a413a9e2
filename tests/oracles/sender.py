"""A card that sends at full rate under QCN's law, seen on its link: frames, and CNMs to it.

The law is that of `laws/qcn.py`; here stand its random cycles, its pace, and a clock of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from laws.qcn import Limiter
from pcapng import CapturedFrame

if TYPE_CHECKING:
    from collections.abc import Iterator

PS = 1_000_000_000_000
PORT = "link"
SENDER, SWITCH, SINK = (
    bytes.fromhex(text) for text in ("02aa0000c001", "02aa0000d001", "02aa0000e001")
)
PRIORITY_TAG, CN_TAG = bytes.fromhex("8100 6001"), bytes.fromhex("22e9 0007")
CPID = SWITCH + b"\x00\x05"
FCS, GAP = 4, 20


@dataclass
class Spread(Limiter):
    """The law's limiter, whose cycles but the first after a message are spread at random."""

    time_reset: float = 15e9
    width: float = 0.3
    time_width: float | None = None
    """Of the timer's cycles, where it is another than the byte counter's."""
    first_too: bool = False
    """Whether the first cycle after a message is spread, too, which the law does not."""
    dice: random.Random = field(default_factory=random.Random)

    def drawn(self) -> float:
        """Return a factor whose mean is 1."""
        return 1 + self.width * (self.dice.random() - 0.5)

    def share(self, stage: int) -> float:
        """Return the length of the cycle that begins at a stage, of a full one."""
        return super().share(stage) * self.drawn()

    def wake(self, now: float) -> None:
        """End a timer cycle; the next one has the timer's spread."""
        width = self.width
        self.width = width if self.time_width is None else self.time_width
        super().wake(now)
        self.width = width

    def cnm(self, now: float, fb: int, offset: float) -> None:
        """Hear a message; the byte counter begins anew where the law lets it."""
        before = self.bytes_left
        super().cnm(now, fb, offset)
        if self.first_too and self.bytes_left != before:
            self.bytes_left *= self.drawn()


@dataclass
class Card:
    """A card on a link, and how it is captured: the size of frames without FCS."""

    limiter: Spread
    seed: int
    captured_bytes: int = 1400
    rate_bps: int = 10_000_000_000
    clock_ppm: float = 40
    """By how much its clock is fast."""
    stamp_ns: float = 12
    """How far a stamp may be off either way."""
    messages_s: float = 0.012
    """The mean time between messages."""

    def frames(self, duration_s: float) -> Iterator[CapturedFrame]:
        """Yield what the link shows, from a card that waits for nothing but its limiter."""
        dice = random.Random(self.seed)
        counted = self.captured_bytes + FCS
        ideal = self.data(self.captured_bytes)
        limiter, now, end = self.limiter, 0.0, duration_s * PS
        message = 3e9
        while now < end:
            # Time until the next frame: its predecessor is served at the rates there are by then.
            left = counted * 8.0 * PS
            if not limiter.limited:
                left = (counted + GAP) * 8.0 * PS
            while True:
                rate = limiter.rate if limiter.limited else self.rate_bps
                due = now + left / rate
                event = min(message, limiter.timer)
                if event >= due:
                    break
                left -= (event - now) * rate
                now = event
                if event == limiter.timer:
                    limiter.wake(event)
                    continue
                fb = dice.randint(6, 40) if limiter.limited else 63
                yield self.captured(now, self.cnm(fb), dice)
                limiter.cnm(now, fb, -40_000)
                message = now + dice.expovariate(1 / self.messages_s) * PS
            now = due
            on_the_link = self.captured_bytes * 8 / self.rate_bps * PS
            yield self.captured(now + on_the_link, ideal, dice)
            limiter.sent(counted, counted)

    def captured(self, at: float, octets: bytes, dice: random.Random) -> CapturedFrame:
        """Return a frame with the stamp of a clock that is not the card's."""
        ns = at / 1000 * (1 - self.clock_ppm * 1e-6) + dice.uniform(-self.stamp_ns, self.stamp_ns)
        return CapturedFrame(PORT, 10**15 + round(ns), octets, len(octets), "", "")

    def data(self, length: int) -> bytes:
        """Return a frame of UDP, without a number that would tell of loss."""
        head = SINK + SENDER + PRIORITY_TAG + CN_TAG + b"\x08\x00"
        payload = length - len(head)
        ip = bytes.fromhex("4500") + payload.to_bytes(2) + bytes.fromhex("00004000 40110000")
        ip += bytes([192, 0, 2, 1, 192, 0, 2, 9])
        udp = bytes.fromhex("c3501389") + (payload - 20).to_bytes(2) + b"\x00\x00"
        return (head + ip + udp).ljust(length, b"\x55")

    def cnm(self, fb: int) -> bytes:
        """Return a message to it; the queue is 40 000 octets above its set point."""
        head = SENDER + SWITCH + bytes.fromhex("8100 c001") + CN_TAG + b"\x22\xe7"
        body = fb.to_bytes(2) + CPID + (-625).to_bytes(2, signed=True) + b"\x00\x20"
        quoted = self.data(self.captured_bytes)[20:84]
        return head + body + b"\x60\x00" + SINK + len(quoted).to_bytes(2) + quoted
