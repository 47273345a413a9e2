"""HPCC on queue pairs through one switch, once more, from the paper's algorithm 1.

A port of the switch writes on each packet when its transmission starts, what then stays behind, and
what the port has sent before. Acknowledgements carry it back. Senders set their windows from it,
and pace what they send. Readings where the paper leaves a choice are the laboratory's: a packet
goes while fewer octets than the window are in flight, the window is capped at its first value, and
a new rate counts for what is left of a wait. When a message ends depends on the last digit of every
number; `tests/test_roce_reference.py` says how close the two come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from roce_switch import Network, PacedPair, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World

HEADER = 42
"""Octets of telemetry on packets and acknowledgements."""


@dataclass(frozen=True)
class Hop:
    """What a port writes on a packet: its rate, ps, octets."""

    rate_bps: int
    at: int
    queue: int
    sent: int


@dataclass(frozen=True)
class Stamped(Packet):
    """A packet or an acknowledgement with telemetry."""

    hops: tuple[Hop, ...] = ()


def stamped(packet: Packet, hop: Hop) -> Stamped:
    """Return the packet with what one more port has written on it."""
    before = packet.hops if isinstance(packet, Stamped) else ()
    return Stamped(
        packet.flow, packet.to, packet.octets, packet.number, is_ack=False, hops=(*before, hop)
    )


@dataclass(frozen=True, kw_only=True)
class HpccSetting(RoceSetting):
    """Parameters of the algorithm; `base_rtt` in ps, `additive` in octets."""

    base_rtt: int
    additive: float
    eta: float = 0.95
    stages: int = 5


class StampingLink(Link):
    """A port that writes telemetry as a transmission starts."""

    sent = 0

    def begin(self) -> None:
        packet = self.queue[0]
        if not packet.is_ack:
            left = self.octets - packet.octets
            hop = Hop(self.rate_bps, self.world.now // 1000 * 1000, left, self.sent)
            self.queue[0] = stamped(packet, hop)
        self.sent += packet.octets
        super().begin()


class HpccPair(PacedPair):
    """The sending end with its window and its pace."""

    always = True

    def __init__(self, setting: HpccSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.h = setting
        self.first = setting.rate_bps * setting.base_rtt / (8 * PS)
        self.window = self.reference = self.first
        self.u = 1.0
        self.stage = 0
        self.heard: tuple[Hop, ...] = ()
        self.update_at = 0

    def frame(self, number: int) -> int:
        return super().frame(number) + HEADER

    def ready(self) -> bool:
        flying = self.octets(self.una, self.next)
        return flying < max(int(self.window), 1) and super().ready()

    def hear(self, number: int, hops: tuple[Hop, ...]) -> None:
        """Algorithm 1, NewAck."""
        old, anew = self.heard, number > self.update_at
        if old and self.measure(old, hops):
            self.window = self.compute(anew=anew)
            self.set_rate(int(self.line * self.window / self.first))
        if anew or not old:
            self.update_at = self.next
        self.heard = hops

    def measure(self, before: tuple[Hop, ...], hops: tuple[Hop, ...]) -> bool:
        """Take in the fullest hop; return whether any tells something new."""
        base, loads = self.h.base_rtt, []
        for old, hop in zip(before, hops, strict=True):
            octets_a_ps, passed = hop.rate_bps / (8 * PS), hop.at - old.at
            if passed > 0:
                u = min(hop.queue, old.queue) / (octets_a_ps * base)
                loads.append((u + (hop.sent - old.sent) / (octets_a_ps * passed), passed))
        if not loads:
            return False
        u, passed = max(loads, key=lambda load: load[0])
        part = min(passed / base, 1.0)
        self.u = (1 - part) * self.u + part * u
        return True

    def compute(self, *, anew: bool) -> float:
        over = self.u / self.h.eta
        multiplicative = over >= 1 or self.stage >= self.h.stages
        start = self.reference / over if multiplicative else self.reference
        window = min(start + self.h.additive, self.first)
        if anew:
            self.stage = 0 if multiplicative else self.stage + 1
            self.reference = window
        return window


class HpccEnds(Network):
    """Receivers that send telemetry back."""

    pair: Callable[..., QueuePair] = HpccPair
    hops: tuple[Hop, ...] = ()

    def arrive(self, packet: Packet) -> None:
        self.hops = packet.hops if isinstance(packet, Stamped) else ()
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, HpccPair) and self.hops:
            pair.hear(packet.number, self.hops)

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        octets = self.setting.ack_bytes + HEADER
        to, number = self.messages[index].source, self.expected[index]
        return Stamped(index, to, octets, number, is_ack=True, hops=self.hops)


class HpccNetwork(HpccEnds):
    """Hosts, the switch, and the queue pairs under HPCC."""

    def port(self, delay: int) -> Link:
        rate, room = self.setting.rate_bps, self.setting.queue_bytes
        return StampingLink(self.world, rate, delay, room, self.arrive)
