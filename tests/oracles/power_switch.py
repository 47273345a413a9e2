"""PowerTCP and theta-PowerTCP on queue pairs through one switch, once more, from the paper's law.

Power is current times voltage: what arrives at a port in a second, times what a base round trip of
its link and its queue hold. Without the help of switches, the round-trip time and its slope stand
for both. Each window is divided by it. The readings where the paper leaves a choice are the
laboratory's: the window at which a packet was sent is divided, or one that is noted with the first
acknowledgement of what was sent after the last note; the first power that is measured starts the
smoothed one; without switches the window moves with those acknowledgements alone.
`tests/test_roce_reference.py` says how close the two come.
"""

from __future__ import annotations

from dataclasses import dataclass

from hpcc_switch import HpccEnds, Stamped, StampingLink
from roce_switch import Network, PacedPair, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World

HEADER = 42
"""Octets of telemetry on packets and acknowledgements."""


@dataclass(frozen=True, kw_only=True)
class PowerSetting(RoceSetting):
    """Parameters of the law; `tau` in ps, `beta` in octets."""

    tau: int
    beta: int
    gamma: float = 0.9
    linux: bool = False
    """As on Linux: the old window is noted once a round trip, without switches power is measured
    then alone, and nothing may arrive; else at least half of what the link carries does."""


class PowerPair(PacedPair):
    """The sending end: a window, and the pace that follows it."""

    always = True
    extra = HEADER

    def __init__(self, setting: PowerSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.p = setting
        self.first = setting.rate_bps * setting.tau / (8 * PS)
        self.window = self.old = self.first
        self.smooth: float | None = None
        self.marked = 0

    def frame(self, number: int) -> int:
        return super().frame(number) + self.extra

    def ready(self) -> bool:
        flying = self.octets(self.una, self.next)
        return flying < max(int(self.window), 1) and super().ready()

    def average(self, power: float, passed: int) -> float:
        """Return the power, smoothed over tau."""
        tau, passed = self.p.tau, min(passed, self.p.tau)
        if self.smooth is None:
            return power
        return (self.smooth * (tau - passed) + power * passed) / tau

    def divide(self) -> None:
        """Set the window by the smoothed power, and the pace by the window."""
        assert self.smooth is not None
        gamma = self.p.gamma
        least = self.first * min(10_000_000 / self.line, 1)
        over = self.old / self.smooth if self.smooth > 0 else float("inf")
        window = gamma * (over + self.p.beta) + (1 - gamma) * self.window
        self.window = min(max(window, least), self.first)
        self.set_rate(int(self.line * self.window / self.first))

    def note(self, number: int) -> None:
        """Note the window once a round trip."""
        if number > self.marked:
            self.old, self.marked = self.window, self.next


class StampedPair(PowerPair):
    """PowerTCP: with what switches have written."""

    def __init__(self, setting: PowerSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.told: Stamped | None = None
        self.windows: list[float] = []

    def take(self) -> int | None:
        number = super().take()
        if number is not None:
            self.windows.append(self.window)
        return number

    def hear(self, packet: Stamped) -> None:
        powers = []
        if not self.p.linux:
            self.old = self.windows[packet.number - 1]
        for old, new in zip(self.told.hops if self.told else (), packet.hops, strict=False):
            rate, passed = new.rate_bps / (8 * PS), new.at - old.at
            if passed > 0:
                current = (new.queue - old.queue + new.sent - old.sent) / passed
                current = max(current, 0.0 if self.p.linux else rate / 2)
                voltage = new.queue + rate * self.p.tau
                powers.append((current * voltage / (rate * rate * self.p.tau), passed))
        self.told = packet
        if powers:
            self.smooth = self.average(*max(powers, key=lambda power: power[0]))
            self.divide()
        self.note(packet.number)


class PowerNetwork(HpccEnds):
    """Hosts, the switch that writes telemetry, and the queue pairs under PowerTCP."""

    pair = StampedPair

    def port(self, delay: int) -> Link:
        rate, room = self.setting.rate_bps, self.setting.queue_bytes
        return StampingLink(self.world, rate, delay, room, self.arrive)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        Network.hear(self, pair, packet)
        assert isinstance(pair, StampedPair)
        assert isinstance(packet, Stamped)
        pair.hear(packet)


class ThetaPair(PowerPair):
    """theta-PowerTCP: with the times of its own packets."""

    extra = 0

    def __init__(self, setting: PowerSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.gone: list[int] = []
        self.before: tuple[int, int] | None = None

    def take(self) -> int | None:
        number = super().take()
        if number is not None:
            self.gone.append(self.world.now)
        return number

    def hear(self, number: int) -> None:
        """Measure and, where a round trip is over, move; nothing is lost, so numbers count."""
        now, anew = self.world.now, number > self.marked
        rtt = now - self.gone[number - 1]
        if anew or not self.p.linux:
            if self.before is None:
                self.before = (rtt, now)
            elif now > self.before[1]:
                passed = now - self.before[1]
                slope = (rtt - self.before[0]) / passed
                arrived = max(slope + 1, 0.0 if self.p.linux else 0.5)
                self.smooth = self.average(arrived * rtt / self.p.tau, passed)
                self.before = (rtt, now)
                if anew:
                    self.divide()
        self.note(number)


class ThetaNetwork(Network):
    """Hosts, the switch, and the queue pairs under theta-PowerTCP."""

    pair = ThetaPair

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        assert isinstance(pair, ThetaPair)
        pair.hear(packet.number)
