"""DCTCP on queue pairs through one switch, once more, from RFC 8257 and its paper.

A port marks by a ramp (`marking.py`), which in DCTCP is a step at K, and as packets arrive.
Acknowledgements echo the marks.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from marking import MarksArriving, MarksLeaving, Ramp
from roce_switch import Network, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class DctcpSetting(RoceSetting):
    """Parameters of the algorithm; `base_rtt` in ps."""

    base_rtt: int
    ramp: Ramp
    leaving: bool = False
    """Whether packets are marked as they leave."""
    g: float = 1 / 16
    seed: int = 0


class DctcpPair(QueuePair):
    """The sending end with its window."""

    def __init__(self, setting: DctcpSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.d = setting
        self.window = setting.rate_bps * setting.base_rtt // (8 * PS)
        self.counted = 0
        self.ssthresh = self.window
        self.alpha = 1.0
        self.acked = self.marked = 0
        self.window_end = 0
        self.cut_end = 0

    def ready(self) -> bool:
        return self.octets(self.una, self.next) < self.window and super().ready()

    def hear(self, octets: int, *, mark: bool) -> None:
        self.acked += octets
        self.marked += octets * mark
        if self.una > self.window_end:
            share = self.marked / self.acked
            self.alpha += self.d.g * (share - self.alpha)
            self.acked = self.marked = 0
            self.window_end = self.next
        if mark and self.una > self.cut_end:
            self.window = max(int(self.window * (1 - self.alpha / 2)), 2 * self.payload)
            self.ssthresh, self.counted = self.window, 0
            self.cut_end = self.next
        if self.una > self.cut_end:
            self.grow(octets)

    def grow(self, octets: int) -> None:
        if self.window < self.ssthresh:
            self.window += octets
            return
        self.counted += octets
        if self.counted >= self.window:
            self.counted -= self.window
            self.window += self.payload


class DctcpEnds(Network):
    """Receivers that echo marks."""

    pair = DctcpPair
    echo = False

    def __init__(self, setting: DctcpSetting, messages: Sequence[Transfer]) -> None:
        self.d, self.draw = setting, random.Random(setting.seed)
        super().__init__(setting, messages)

    def arrive(self, packet: Packet) -> None:
        self.echo = packet.mark
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        before = pair.una
        super().hear(pair, packet)
        if isinstance(pair, DctcpPair):
            pair.hear(pair.octets(before, pair.una), mark=self.echo)

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        return replace(super().ack(index, kind), mark=self.echo)


class DctcpNetwork(DctcpEnds):
    """Hosts, the switch, and the queue pairs under DCTCP."""

    def port(self, delay: int) -> Link:
        rate, room = self.setting.rate_bps, self.setting.queue_bytes
        kind = MarksLeaving if self.d.leaving else MarksArriving
        link = kind(self.world, rate, delay, room, self.arrive)
        link.ramp, link.draw = self.d.ramp, self.draw
        return link
