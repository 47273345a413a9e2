"""HPCC on queue pairs through one switch, once more, from the paper's algorithm 1.

A port of the switch writes on each packet when its transmission starts, what then stays behind, and
what the port has sent before. Acknowledgements carry it back. Senders set their windows from it,
and pace what they send. Readings where the paper leaves a choice are the laboratory's: a packet
goes while fewer octets than the window are in flight, the window is capped at its first value, and
a new rate counts for what is left of a wait. When a message ends depends on the last digit of every
number; `tests/test_roce_reference.py` says how close the two come.
"""

from __future__ import annotations

from dataclasses import dataclass

from roce_switch import Network, PacedPair, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World

HEADER = 42
"""Octets of telemetry on packets and acknowledgements."""


@dataclass(frozen=True)
class Hop:
    """What a port writes on a packet: ps, octets."""

    at: int
    queue: int
    sent: int


@dataclass(frozen=True)
class Stamped(Packet):
    """A packet or an acknowledgement with telemetry."""

    hop: Hop | None = None


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
            flow, to, octets, number = packet.flow, packet.to, packet.octets, packet.number
            hop = Hop(self.world.now // 1000 * 1000, self.octets - octets, self.sent)
            self.queue[0] = Stamped(flow, to, octets, number, is_ack=False, hop=hop)
        self.sent += packet.octets
        super().begin()


class HpccPair(PacedPair):
    """The sending end with its window and its pace."""

    def __init__(self, setting: HpccSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.h = setting
        self.first = setting.rate_bps * setting.base_rtt / (8 * PS)
        self.window = self.reference = self.first
        self.u = 1.0
        self.stage = 0
        self.last: Hop | None = None
        self.update_at = 0

    def frame(self, number: int) -> int:
        return super().frame(number) + HEADER

    def take(self) -> int | None:
        if self.octets(self.una, self.next) >= self.window:
            return None
        return super().take()

    def hear(self, number: int, hop: Hop) -> None:
        """Algorithm 1, NewAck."""
        old = self.last
        if old is None:
            self.update_at = self.next
        else:
            self.measure(old, hop)
            anew = number > self.update_at
            self.window = min(self.compute(anew=anew), self.first)
            self.set_rate(self.window / self.h.base_rtt * 8 * PS)
            if anew:
                self.update_at = self.next
        self.last = hop

    def measure(self, old: Hop, hop: Hop) -> None:
        bandwidth, base = self.h.rate_bps / 8 / PS, self.h.base_rtt
        passed = hop.at - old.at
        u = min(hop.queue, old.queue) / (bandwidth * base)
        u += (hop.sent - old.sent) / passed / bandwidth
        tau = min(passed, base)
        self.u = (1 - tau / base) * self.u + tau / base * u

    def compute(self, *, anew: bool) -> float:
        if self.u >= self.h.eta or self.stage >= self.h.stages:
            window = self.reference / (self.u / self.h.eta) + self.h.additive
            if anew:
                self.stage, self.reference = 0, window
        else:
            window = self.reference + self.h.additive
            if anew:
                self.stage, self.reference = self.stage + 1, window
        return window


class HpccNetwork(Network):
    """Hosts, the switch, and the queue pairs under HPCC."""

    pair = HpccPair

    def port(self, delay: int) -> Link:
        rate, room = self.setting.rate_bps, self.setting.queue_bytes
        return StampingLink(self.world, rate, delay, room, self.arrive)

    def arrive(self, packet: Packet) -> None:
        self.hop = packet.hop if isinstance(packet, Stamped) else None
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, HpccPair) and self.hop is not None:
            pair.hear(packet.number, self.hop)

    def answer(self, index: int, kind: type[Packet]) -> None:
        to, number = self.messages[index].source, self.expected[index]
        octets = self.setting.ack_bytes + HEADER
        answer = Stamped(index, to, octets, number, is_ack=True, hop=self.hop)
        self.up[self.messages[index].to].send(answer)
