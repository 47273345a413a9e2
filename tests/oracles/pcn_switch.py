"""PCN on queue pairs through one switch and through several, once more, from an account of it.

A port marks a packet that leaves others behind, unless it stood in the queue while that was
stopped. A receiver measures a flow from one packet to the first that comes a period later; if
nearly all was marked it tells the sender what rate it saw. The sender goes a little below that, and
climbs back to the rate of its link in steps that grow. Readings where the account leaves a choice
are the laboratory's: no threshold, 95 of 100 packets, periods of the sender that begin with the
first message that slows it down.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor

from fabric import Fabric, FabricSetting, Port, Wire
from marking import MarksLeaving, step
from roce_switch import Network, PacedPair, RoceSetting
from switch import PS, Link, Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class PcnSetting(RoceSetting):
    """Parameters of the algorithm; times in ps."""

    period: int = 50_000_000
    share: float = 0.95
    w_min: float = 1 / 128
    w_max: float = 0.5
    least_bps: int = 1_000_000


class PcnPair(PacedPair):
    """The sending end: a rate, and the weight of the next step."""

    def __init__(self, setting: PcnSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.p = setting
        self.weight = setting.w_min
        self.ticking = self.told = False

    def on_rate(self, seen: int) -> None:
        self.weight, self.told = self.p.w_min, True
        if self.rate <= seen:
            return
        below = max(floor(seen * (1 - self.p.w_min)), self.p.least_bps)
        self.set_rate(min(self.rate, below))
        if not self.ticking:
            self.ticking = True
            self.world.at(self.world.now + self.p.period, self.tick)

    def tick(self) -> None:
        silent, self.told = not self.told, False
        if silent:
            w = self.weight
            self.weight = w * (1 - w) + self.p.w_max * w
            self.set_rate(min(ceil(self.rate * (1 - w) + self.line * w), self.line))
        self.ticking = self.rate < self.line
        if self.ticking:
            self.world.at(self.world.now + self.p.period, self.tick)


@dataclass
class Seen:
    """What a receiver saw of a flow since a packet."""

    since: int
    octets: int = 0
    packets: int = 0
    marks: int = 0


class PcnEnds(Network):
    """Receivers that measure."""

    pair = PcnPair

    def __init__(self, setting: PcnSetting, messages: Sequence[Transfer]) -> None:
        self.p = setting
        super().__init__(setting, messages)
        self.seen: list[Seen | None] = [None] * len(messages)
        self.cnps = 0

    def way_back(self, index: int) -> int:
        """Return how long a message to the sender travels, ps."""
        message, delays = self.messages[index], self.setting.delays
        return delays[message.to] + delays[message.source]

    def arrive(self, packet: Packet) -> None:
        super().arrive(packet)
        if packet.is_ack:
            return
        index, now = packet.flow, self.world.now
        seen = self.seen[index]
        if seen is None:
            self.seen[index] = Seen(now)
            return
        seen.octets += packet.octets
        seen.packets += 1
        seen.marks += packet.mark
        if now - seen.since < self.p.period:
            return
        self.seen[index] = Seen(now)
        pair = self.pairs[index]
        if seen.marks >= self.p.share * seen.packets and isinstance(pair, PcnPair):
            self.cnps += 1
            rate = 8 * seen.octets * PS // (now - seen.since)
            self.world.at(now + self.way_back(index), lambda: pair.on_rate(rate))


class PcnNetwork(PcnEnds):
    """Hosts and a switch, where nothing is paused."""

    def port(self, delay: int) -> Link:
        link = MarksLeaving(self.world, self.p.rate_bps, delay, self.p.queue_bytes, self.arrive)
        link.ramp, link.draw = step(0), random.Random()
        return link


@dataclass(frozen=True, kw_only=True)
class PcnFabricSetting(FabricSetting, PcnSetting):
    """The network and PCN."""


class PardoningPort(Port):
    """A port that knows how many packets stood in its queue when it could go on."""

    pardoned = pardons = 0

    def pause(self, *, stop: bool) -> None:
        if not stop and self.stopped:
            self.pardoned = sum(not packet.is_ack for packet, _ in self.queue)
        super().pause(stop=stop)


class PcnFabric(PcnEnds, Fabric):
    """Several switches, which pause each other."""

    def port_of(self, here: str, there: str, wire: Wire) -> Port:
        return PardoningPort(self, here, there, wire)

    def mark(self, port: Port, packet: Packet) -> Packet:
        if packet.is_ack or port.here in self.hosts:
            return packet
        assert isinstance(port, PardoningPort)
        if port.pardoned:
            port.pardoned -= 1
            port.pardons += port.octets > 0
            return packet
        return replace(packet, mark=True) if port.octets > 0 else packet

    def way_back(self, index: int) -> int:
        way = self.ways[index]
        return sum(self.ports[ends].wire.delay for ends in pairwise(way))
