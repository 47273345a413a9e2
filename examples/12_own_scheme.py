"""Write a scheme of your own and put it into a shipped scenario.

Halve on a message, climb a step each millisecond:

    port: every 100th frame, queue above the set point --Cnm--> limiter: rate / 2
    limiter: each ms, rate + step; back at the rate of the link, no limit

Run it with `python examples/12_own_scheme.py`. In a file of its own, my_aimd.py say, the scheme is
named `python:my_aimd:Aimd`: `qcnlab run SCENARIO -s scheme.name=python:my_aimd:Aimd`.
"""

import qcnlab
from qcnlab.foreign import (
    Arrival,
    Cnm,
    CongestionPoint,
    Dice,
    Queue,
    ReactionPoint,
    Scheme,
    Signal,
)

MS = 1_000_000_000  # picoseconds


class Port(CongestionPoint):
    def __init__(self, cp: int, *, set_point: int = 33_000, every: int = 100) -> None:
        super().__init__(cp)
        self.set_point, self.every, self.frames = set_point, every, 0

    def on_arrival(self, now: int, frame: Arrival, queue: Queue, dice: Dice) -> Signal | None:
        self.frames += frame.controlled
        if frame.controlled and self.frames % self.every == 0 and queue.length > self.set_point:
            return Cnm(self.cp, quantized_fb=1, q_offset=self.set_point - queue.length)
        return None


class Limiter(ReactionPoint):
    def __init__(self, line_rate: int, *, step: int = 20_000_000, least: int = 10_000_000) -> None:
        super().__init__(line_rate)
        self.step, self.least = step, least
        self.rate: int | None = None
        self.wake: int | None = None

    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        self.rate = max(self.least, (self.rate or self.line_rate) // 2)
        self.wake = now + MS

    def on_wake(self, now: int, dice: Dice) -> None:
        if self.rate is None or self.wake is None or now < self.wake:
            return
        self.rate += self.step
        self.wake = now + MS
        if self.rate >= self.line_rate:
            self.rate = self.wake = None

    def limit(self) -> float | None:
        return self.rate

    def next_wake(self) -> int | None:
        return self.wake


class Aimd(Scheme):
    congestion_point = Port
    reaction_point = Limiter


# Twenty milliseconds, with the hotspot in the second half.
short = ("duration=20 ms", "warmup=1 ms", "hotspot.from=10 ms", "hotspot.until=18 ms")
hotspot = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(*short)
own = hotspot.with_(f"scheme.name=python:{__name__}:Aimd", "scheme.rp.step=50 Mb/s")
first, again, none = (
    qcnlab.run(own, reps=2, jobs=1),
    qcnlab.run(own, reps=2, jobs=2),
    qcnlab.run(hotspot.with_("scheme.name=none"), reps=2),
)

drops = {}
for name, result in (("own", first), ("none", none)):
    drops[name] = result.metric("drops") or 0.0
    print(f"{name:>5}: {drops[name]:7.0f} drops")
assert drops["own"] < 0.2 * drops["none"]
assert first.summary.metrics == again.summary.metrics, "threads change nothing"

# What a scheme raises comes back with its traceback.
try:
    hotspot.with_(f"scheme.name=python:{__name__}:Aimd", "scheme.rp.stepp=50 Mb/s")
except qcnlab.ScenarioError as error:
    print(error)
else:
    raise AssertionError("a key that no class knows was taken")
