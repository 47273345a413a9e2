"""Senders as HPCC's simulator has them (alibaba-edu at 9f4be2a), for `hpcc_fabric.py`.

Written from what its `rdma-hw.cc` does, with the numbers of its `run.py`; a step of DCTCP is 1 Gb/s
at 100 Gb/s, its default.
"""

from __future__ import annotations

from dataclasses import dataclass

from hpcc_switch import Hop
from roce_switch import QueuePair, RoceSetting
from switch import PS, Transfer, World

NS = 1000
"""Picoseconds."""

US = 1_000_000


def sending(octets: int, rate_bps: float) -> int:
    """Return how long octets take at a rate: whole nanoseconds, in ps."""
    return int(octets * 8_000_000_000 / rate_bps) * NS


@dataclass(frozen=True)
class FieldAck:
    """What an acknowledgement tells: its octets, marks, when its packet was made, and telemetry."""

    octets: int
    echo: bool
    made: int
    hops: tuple[Hop, ...]


class FieldPair(QueuePair):
    """The sending end: a rate that counts from the next packet on, and no timeout."""

    LEAST = 1e9
    windowed = False
    network_rtt = 0
    """The longest base round-trip time of the network, ps."""

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.line = self.rate = float(setting.rate_bps)
        self.available = 0
        self.woken = 0
        self.last_octets = 0

    @property
    def window(self) -> float:
        """The window at line rate, octets."""
        return self.network_rtt * self.line / 8 / PS

    def ready(self) -> bool:
        flying = self.octets(self.una, self.next)
        free = not self.windowed or flying < max(int(int(self.window) * self.rate / self.line), 1)
        return free and super().ready()

    def take(self) -> int | None:
        if self.available > self.world.now:
            self.wake_at(self.available)
            return None
        number = super().take()
        if number is not None:
            self.last_octets = self.frame(number)
            self.available = self.world.now + sending(self.last_octets, self.rate)
        return number

    def wake_at(self, time: int) -> None:
        if self.woken != time:
            self.woken = time
            self.world.at(time, lambda: self.wake())

    def acked(self) -> int:
        return self.octets(0, self.una)

    def sent(self) -> int:
        return self.octets(0, self.next)

    def bound(self, rate: float) -> float:
        return min(max(rate, self.LEAST), self.line)

    def hear(self, ack: FieldAck) -> None:
        """Take what an acknowledgement tells."""

    def start_timer(self) -> None:
        """There is none."""


class FieldDcqcn(FieldPair):
    """Its DCQCN (mode 1) with the numbers of its `run.py`: steps of a 5000th, a 500th of the rate.

    A first echo sets alpha to 1 and starts both clocks. Each microsecond alpha moves; each 4 the
    rate is cut if an echo came, and was the target if it had climbed; 300 after a cut, and each 300
    on, it climbs.
    """

    G = 1 / 256

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.target = self.rate
        self.alpha = 1.0
        self.heard = False
        self.alpha_echo = self.cut_echo = False
        self.stage = 0
        self.climb_due = 0

    def hear(self, ack: FieldAck) -> None:
        if not ack.echo:
            return
        self.alpha_echo = self.cut_echo = True
        if not self.heard:
            self.heard = True
            self.alpha_echo = False
            self.world.at(self.world.now + US, self.move_alpha)
            self.world.at(self.world.now + 4 * US + NS, self.cut)
            self.target = self.rate

    def move_alpha(self) -> None:
        if self.result.done is None:
            self.alpha += self.G * (self.alpha_echo - self.alpha)
            self.alpha_echo = False
            self.world.at(self.world.now + US, self.move_alpha)

    def cut(self) -> None:
        if self.result.done is not None:
            return
        self.world.at(self.world.now + 4 * US, self.cut)
        if self.cut_echo:
            self.cut_echo = False
            if self.stage > 0:
                self.target = self.rate
            self.rate = max(self.LEAST, self.rate * (1 - self.alpha / 2))
            self.stage = 0
            self.wait()

    def wait(self) -> None:
        due = self.climb_due = self.world.now + 300 * US
        self.world.at(due, lambda: self.climb(due))

    def climb(self, due: int) -> None:
        if due == self.climb_due and self.result.done is None:
            self.wait()
            step = (0.0, self.line / 5000, self.line / 500)[min(self.stage, 2)]
            self.target = min(self.target + step, self.line)
            self.rate = (self.rate + self.target) / 2
            self.stage += 1


class FieldHpcc(FieldPair):
    """Its HPCC (mode 3): one rate for all hops, no stage of additive increase, fast reaction."""

    ETA = 0.95
    windowed = True

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.reference, self.u = self.line, 1.0
        self.until = 0
        self.hops: tuple[Hop, ...] = ()

    def hear(self, ack: FieldAck) -> None:
        if self.until == 0:
            self.until, self.hops = self.sent(), ack.hops
            return
        fullest, passed = 0.0, 0
        for old, hop in zip(self.hops, ack.hops, strict=True):
            time = hop.at - old.at
            if time == 0:
                continue
            u = 8 * (hop.sent - old.sent) * PS / time / hop.rate_bps
            u += min(hop.queue, old.queue) * self.line / hop.rate_bps / int(self.window)
            if u > fullest:
                fullest, passed = u, time
        self.hops = ack.hops
        base = self.network_rtt
        passed = min(passed, base)
        self.u = (self.u * (base - passed) + fullest * passed) / base
        rate = self.bound(self.reference / (self.u / self.ETA) + self.line / 2500)
        self.change(rate)
        if ack.octets > self.until:
            self.reference, self.until = rate, self.sent()

    def change(self, rate: float) -> None:
        """Set the rate; the wait for the next packet changes as if it had been so before."""
        self.available += sending(self.last_octets, rate) - sending(self.last_octets, self.rate)
        self.rate = rate
        self.wake_at(max(self.available, self.world.now))


class FieldTimely(FieldPair):
    """Its TIMELY (mode 7): a decision each round trip, from the first acknowledgement in it."""

    LOW, HIGH, LEAST_RTT = 50 * US, 500 * US, 20 * US
    BETA = 0.8

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.until = self.last_rtt = self.stage = 0
        self.slope = 0.0

    def hear(self, ack: FieldAck) -> None:
        if ack.octets <= self.until:
            return
        rtt = self.world.now - ack.made
        if self.until > 0:
            self.slope = self.slope / 8 + (rtt - self.last_rtt) * 7 / 8
            self.decide(rtt, self.slope / self.LEAST_RTT)
        self.until, self.last_rtt = self.sent(), rtt

    def decide(self, rtt: int, gradient: float) -> None:
        if rtt < self.LOW or (rtt <= self.HIGH and gradient <= 0):
            step = self.line / 1000 if self.stage < 5 else self.line / 200
            self.rate = self.bound(self.rate + step)
            self.stage += 1
        else:
            late = 1 - self.HIGH / rtt if rtt > self.HIGH else gradient
            self.rate = self.bound(self.rate * max(1 - self.BETA * late, 0.0))
            self.stage = 0


class FieldDctcp(FieldPair):
    """Its DCTCP (mode 8): a rate with a window that follows it."""

    G = 1 / 16
    STEP_BPS = 615_000_000
    windowed = True

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.alpha = 1.0
        self.echoes = self.batch = self.until = self.high = 0
        self.reduced = False

    def hear(self, ack: FieldAck) -> None:
        self.echoes += ack.echo
        anew = ack.octets > self.until
        if anew:
            outstanding = self.sent()
            if self.until > 0:
                share = min(1.0, self.echoes / self.batch)
                self.alpha += self.G * (share - self.alpha)
                self.echoes = 0
                outstanding -= ack.octets
            self.batch = outstanding // self.payload + 1
            self.until = self.sent()
        if self.reduced and ack.octets > self.high:
            self.reduced = False
        if ack.echo and not self.reduced:
            self.rate = self.bound(self.rate * (1 - self.alpha / 2))
            self.reduced, self.high = True, self.sent()
        if anew and not self.reduced:
            self.rate = self.bound(self.rate + self.STEP_BPS)


FIELD_SCHEMES: dict[str, type[FieldPair]] = {
    "none": FieldPair,
    "dcqcn": FieldDcqcn,
    "hpcc": FieldHpcc,
    "timely": FieldTimely,
    "dctcp": FieldDctcp,
}
