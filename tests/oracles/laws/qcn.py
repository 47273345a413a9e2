"""QCN's congestion point and reaction point, from the pseudo code's description.

Congestion point: Fb = (set point - q) - W (q - q at the last sample), clamped to the 2 W + 1 set
points that it can fall to, and quantized by rounding down. Every `base(Fb)` octets of admitted
frames is a sample, and each sample remembers the queue length.

Reaction point: a message cuts the rate by Gd a unit, and restarts stages and timer. Byte counter
and timer count stages; each end of a cycle is an increase.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import floor, inf

from .common import FRAME, LINE_RATE, MS, Reference, Script, words

DIVISORS = (1, 2, 3, 4, 5, 6)  # 150, 75, 50, 37.5, 30, 25 KB; the last two are printed.
LAST_TWO = (21_500 / 150_000, 18_500 / 150_000)


@dataclass
class Sampler:
    """The congestion point, without jitter."""

    set_point: float = 33_000
    w: float = 2.0
    base: float = 150_000
    bits: int = 6

    def __post_init__(self) -> None:
        self.q_old = 0.0
        self.left = self.base
        self.levels = (1 << self.bits) - 1
        self.fb_max = self.set_point * (2 * self.w + 1)

    def feedback(self, q: float) -> float:
        """Fb in octets; negative is congestion."""
        return (self.set_point - q) - self.w * (q - self.q_old)

    def quantized(self, q: float) -> int:
        """How bad congestion is, from 0."""
        fb = min(max(self.feedback(q), -self.fb_max), 0.0)
        return floor(-fb * self.levels / self.fb_max)

    def interval(self, quantized: int) -> float:
        """Octets to the next sample, by the table of 802.1Qau."""
        row = quantized * 8 // (self.levels + 1)
        share = 1 / DIVISORS[row] if row < 6 else LAST_TWO[row - 6]
        return self.base * share

    def arrival(self, size: int, q: float, admitted: bool = True) -> tuple[int, int, int] | None:
        """Count a frame; at a sample return Fb, offset and growth."""
        if not admitted:
            return None
        self.left -= size
        if self.left >= 0:
            return None
        fb = self.quantized(q)
        told = (fb, round(self.set_point - q), round(q - self.q_old))
        self.q_old = q
        self.left = self.interval(fb)
        return told


def told(message: tuple[int, int, int] | None) -> str:
    """The answer of a port that sends a message if the feedback is not zero."""
    if message is None or message[0] < 1:
        return "nothing"
    fb, offset, delta = message
    return "cnm " + words(fb=fb, offset=offset, delta=delta)


@dataclass
class Limiter:
    """The reaction point, without jitter."""

    clock: str = "both"
    time_reset: float = 15 * MS
    byte_reset: float = 150_000
    threshold: int = 5
    ai: float = 5e6
    hai: float = 50e6
    gd: float = 1 / 128
    min_rate: float = 10e6
    trr: bool = True
    cut_spacing: float = 0
    early_hai: bool = False
    short_cycles: bool = True
    line: float = LINE_RATE

    def __post_init__(self) -> None:
        self.limited = False
        self.deaf_until = -inf
        self.release()

    def release(self) -> None:
        """Stop limiting."""
        self.limited = False
        self.rate = self.target = self.line
        self.bytes_left = self.byte_reset
        self.byte_stage = self.time_stage = self.later = 0
        self.timer = inf
        self.deaf_until = -inf

    def cnm(self, now: float, fb: int, offset: float) -> None:
        """Hear a message: one cut."""
        if now < self.deaf_until:
            return
        if not self.limited:
            if fb == 0 or offset >= 0:
                return
            self.release()
            self.limited = True
        if fb == 0:
            return
        first = self.time_stage if self.clock == "timer" else self.byte_stage
        if first != 0:
            self.target = self.rate
            self.bytes_left = self.byte_reset
        self.byte_stage = self.time_stage = self.later = 0
        self.rate = max(self.rate * max(1 - self.gd * fb, 0.5), self.min_rate)
        self.deaf_until = now + self.cut_spacing
        if self.clock != "byte_counter":
            self.timer = now + self.time_reset

    def sent(self, size: int, backlog: int) -> None:
        """Count a frame that leaves."""
        if not self.limited:
            return
        if self.rate == self.line:
            # Reading: a limiter that waits for its release counts no octets.
            if backlog == 0:
                self.release()
            return
        if self.clock == "timer":
            return
        self.bytes_left -= size
        if self.bytes_left < 0:
            self.byte_stage += 1
            self.bytes_left = self.byte_reset * self.share(self.byte_stage)
            self.increase()

    def wake(self, now: float) -> None:
        """End a timer cycle."""
        self.time_stage += 1
        self.increase()
        self.timer = now + self.time_reset * self.share(self.time_stage)

    def share(self, stage: int) -> float:
        """The length of the cycle that starts at `stage`: half after fast recovery."""
        return 0.5 if self.short_cycles and stage >= self.threshold else 1.0

    def increase(self) -> None:
        """Raise the rate half the way to the target, and the target by the phase's step."""
        past = (self.byte_stage > self.threshold) + (self.time_stage > self.threshold)
        step = 0.0
        if past and self.early_hai:
            self.later += 1
            step = self.ai * self.later
        elif past == 1:
            step = self.ai
        elif past == 2:
            step = self.hai * (min(self.byte_stage, self.time_stage) - self.threshold)
        if self.trr and 1 in (self.byte_stage, self.time_stage) and self.target > 10 * self.rate:
            self.target /= 8
        else:
            self.target += step
        self.rate = min((self.rate + self.target) / 2, self.line)

    def shown(self) -> str:
        """What a reaction point shows after a call."""
        if not self.limited:
            return "free wake=never"
        wake = "never" if self.timer == inf else self.timer
        return words(rate=self.rate, target=self.target, wake=wake)


FIXED = {"cp.jitter_width": "0", "rp.jitter_width": "0"}


def queue_walk(dice: random.Random, start: int, low: int, high: int) -> int:
    """Let a queue grow or shrink by a few frames."""
    return min(max(start + FRAME * dice.randint(-6, 7), low), high)


def play(script: Script, limiter: Limiter, seed: int, rows: int, messages: float) -> Script:
    """Random messages, frames and due timers; a frame of 60 octets to 30 KB each."""
    dice = random.Random(seed)
    now = 0.0
    for _ in range(rows):
        now = round(now + dice.randint(1, 2 * MS))
        while limiter.timer <= now:
            at = limiter.timer
            limiter.wake(at)
            script.row("asked", "wake", "", limiter.shown())
        if dice.random() < messages:
            fb = dice.choice((1, 2, 7, 20, 63))
            offset = dice.choice((-1, -40_000)) if fb % 2 else -FRAME
            limiter.cnm(now, fb, offset)
            script.row(now, "cnm", words(fb=fb, offset=offset, delta=100), limiter.shown())
        else:
            size, backlog = dice.choice((60, 1500, 9000, 30_000)), dice.choice((0, 1500))
            limiter.sent(size, backlog)
            script.row(now, "sent", words(size=size, backlog=backlog), limiter.shown())
    return script


def port() -> Script:
    script = Script("QCN's congestion point", "qcn", "DECK001", FIXED)
    sampler, dice, q = Sampler(), random.Random(1), 20_000
    for at in range(700):
        q = queue_walk(dice, q, FRAME, 149_000)
        size, lost = dice.choice((64, 1500, 9000)), dice.random() < 0.05
        answer = told(sampler.arrival(size, q, not lost))
        script.row(at * 1200, "arrival", words(size=size, queue=q, discarded=lost), answer)
    return script


def limiter_both() -> Script:
    script = Script("QCN's reaction point with both clocks", "qcn", "DECK001", FIXED)
    return play(script, Limiter(), 2, 600, 0.02)


def early_hai() -> Script:
    parameters = FIXED | {"rp.early_hai": "true"}
    script = Script("early_hai: TR += R_i times the count", "qcn", "DECK001", parameters)
    return play(script, Limiter(early_hai=True), 3, 600, 0.015)


def early_hai_bytes() -> Script:
    parameters = FIXED | {"rp.early_hai": "true", "rp.target_rate_reduction": "true"}
    parameters |= {"rp.ai_rate": "5 Mb/s"}
    script = Script(
        "early_hai with the byte counter alone", "qcn_byte_counter", "DECK000", parameters
    )
    limiter = Limiter(clock="byte_counter", early_hai=True)
    return play(script, limiter, 4, 500, 0.015)


def cut_spacing() -> Script:
    parameters = FIXED | {"rp.cut_spacing": "5 ms"}
    script = Script("cut_spacing: one cut in each 5 ms", "qcn", "DECK001", parameters)
    return play(script, Limiter(cut_spacing=5 * MS), 5, 500, 0.3)


def burst() -> Script:
    """The reaction point only says what its limiter may do."""
    parameters = FIXED | {"rp.burst": "15 KB", "rp.rate_accounting": "wire"}
    script = Script("burst and accounting, as the limiter is told", "qcn", "DECK001", parameters)
    limiter = Limiter()
    limiter.cnm(0, 20, -FRAME)
    shown = f"{limiter.shown()} burst=15000 overhead=20"
    for at in range(4):
        script.row(
            at,
            *(
                ("cnm", words(fb=20, offset=-FRAME, delta=0))
                if at == 0
                else ("sent", words(size=FRAME, backlog=FRAME))
            ),
            shown,
        )
    return script


REFERENCE = Reference(
    {
        "qcn": "congestion point; reaction point; `early_hai`, `cut_spacing`",
        "qcn_byte_counter": "reaction point with `early_hai`",
    },
    "decks 000 and 001",
    {
        "qcn_port": port,
        "qcn_limiter": limiter_both,
        "qcn_early_hai": early_hai,
        "qcn_early_hai_byte_counter": early_hai_bytes,
        "qcn_cut_spacing": cut_spacing,
        "qcn_burst": burst,
    },
)
