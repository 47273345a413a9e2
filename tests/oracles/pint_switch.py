"""HPCC with PINT on queue pairs through one switch, once more, from what HPCC's simulator does.

A port of the switch keeps a mean of its load and writes it on each packet when its transmission
starts, as the logarithm to the base 1.05, rounded up or down at random. A sender takes the load as
HPCC does that of the fullest hop, once smoothed. Rates are the simulator's mode 10 with a window
that follows the rate. What is rounded is drawn, so that two implementations agree in the mean:
`tests/test_roce_reference.py` says how close they come.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log

from roce_switch import Network, PacedPair, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World

BASE, FIRST = 1.05, 0.001
"""The ratio of neighbouring loads that can be written, and the least."""


@dataclass(frozen=True, kw_only=True)
class PintSetting(RoceSetting):
    """Parameters: times in ps, rates in bit/s."""

    base_rtt: int
    eta: float = 0.95
    step_bps: int = 4_000_000
    least_bps: int = 1_000_000_000
    share: float = 1.0
    octets: int = 1
    """What a packet and an acknowledgement carry for it."""
    seed: int = 1


@dataclass(frozen=True)
class Written(Packet):
    """A packet or an acknowledgement with a load on it."""

    power: int = 0


def power_of(load: float, draw: random.Random) -> int:
    """Return the number that is written for a load: 1 for the least, 0 for less."""
    exact = 1 + log(load / FIRST, BASE) if load > 0 else 0
    low = floor(exact)
    return min(max(low + (draw.random() < exact - low), 0), 255) if exact > 0 else 0


def load_of(power: int) -> float:
    """Return the load that a number stands for."""
    return FIRST * BASE ** (power - 1) if power else 0.0


class MeasuringLink(Link):
    """A port with a mean of its load."""

    base: int
    draw: random.Random
    load = 0.0
    measured = sent = counted = 0

    def begin(self) -> None:
        packet = self.queue[0]
        if not packet.is_ack:
            full = self.rate_bps * self.base / (8 * PS)
            time = min(self.world.now - self.measured, self.base)
            self.load *= (self.base - time) / self.base
            self.load += (self.octets - packet.octets) * time / (self.base * full)
            self.load += (self.sent - self.counted) / full
            self.measured, self.counted = self.world.now, self.sent
            power = power_of(self.load, self.draw)
            fields = (packet.flow, packet.to, packet.octets, packet.number)
            self.queue[0] = Written(*fields, is_ack=False, mark=packet.mark, power=power)
        self.sent += packet.octets
        super().begin()


class PintPair(PacedPair):
    """The sending end: a rate, and a window that follows it."""

    always = True

    def __init__(self, setting: PintSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.p = setting
        self.now_bps = self.reference = float(self.line)
        self.until = 0
        self.draw = random.Random(f"{message.source} {setting.seed}")

    def frame(self, number: int) -> int:
        return super().frame(number) + self.p.octets

    def ready(self) -> bool:
        whole = self.line * self.p.base_rtt // (8 * PS)
        return (
            self.octets(self.una, self.next) < max(int(whole * self.rate / self.line), 1)
            and super().ready()
        )

    def hear(self, load: float) -> None:
        """Take the load that an acknowledgement brings."""
        if self.draw.random() >= self.p.share:
            return
        anew = self.una > self.until
        if self.until:
            over = load / self.p.eta
            wanted = self.reference / over + self.p.step_bps if over else float(self.line)
            self.now_bps = min(max(wanted, self.p.least_bps), self.line)
            if anew:
                self.reference = self.now_bps
            self.set_rate(int(self.now_bps))
        if anew:
            self.until = self.next


class PintNetwork(Network):
    """Hosts, the switch, and the queue pairs under HPCC with PINT."""

    pair = PintPair

    def __init__(self, setting: PintSetting, messages: Sequence[Transfer]) -> None:
        self.p = setting
        self.draw = random.Random(setting.seed)
        self.power = 0
        super().__init__(setting, messages)

    def port(self, delay: int) -> Link:
        link = MeasuringLink(self.world, self.p.rate_bps, delay, self.p.queue_bytes, self.arrive)
        link.base, link.draw = self.p.base_rtt, self.draw
        return link

    def arrive(self, packet: Packet) -> None:
        self.power = packet.power if isinstance(packet, Written) else 0
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        assert isinstance(pair, PintPair)
        pair.hear(load_of(self.power))

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        plain = super().ack(index, kind)
        octets = plain.octets + self.p.octets
        if kind is not Packet:
            return replace(plain, octets=octets)
        fields = (plain.flow, plain.to, octets, plain.number)
        return Written(*fields, is_ack=True, power=self.power)
