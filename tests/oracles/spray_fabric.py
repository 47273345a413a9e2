"""RoCE messages whose packets take several ways, once more: packets that overtake one another.

The network is that of `fabric.py`. A message's packets take its ways in turn, and each packet is
answered over its own way backwards, so that answers overtake one another, too. The ends are those
of `irn_switch.py`, or go-back-N with a receiver that keeps some packets out of order: it says what
it misses when one more finds no room, or when it has missed it for so long. A receiver counts the
packets that it had already. The laboratory must say the same
(`tests/test_reordering_reference.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric import Fabric, FabricSetting, Message
from irn_switch import IrnPair, IrnSetting, Selective
from roce_switch import Nack, QueuePair
from switch import Packet


@dataclass(frozen=True, kw_only=True)
class SpraySetting(FabricSetting, IrnSetting):
    """The network, IRN, and what a receiver of go-back-N keeps and how long it waits, ps."""

    kept: int = 0
    reorder_wait: int = 50_000_000


@dataclass(frozen=True)
class OnWay(Packet):
    """A packet with the nodes on its way."""

    way: tuple[str, ...] = ()


@dataclass(frozen=True)
class NackOnWay(OnWay, Nack):
    """A negative acknowledgement with its way."""


@dataclass(frozen=True)
class SelectiveOnWay(OnWay, Selective):
    """A negative acknowledgement that names what came, with its way."""


class SprayFabric(Fabric):
    """Packets take ways in turn, from a first one for each message."""

    setting: SpraySetting

    def __init__(
        self,
        setting: SpraySetting,
        messages: list[Message],
        ways: list[Sequence[tuple[str, ...]]],
        first: Sequence[int],
    ) -> None:
        super().__init__(setting, messages)
        self.several, self.next_way = ways, list(first)
        self.here: list[set[int]] = [set() for _ in messages]
        self.newest: dict[int, tuple[str, ...]] = {}
        self.missed_since: list[int | None] = [None] * len(messages)
        self.overdue = [False] * len(messages)
        self.duplicates, self.most_kept = [0] * len(messages), [0] * len(messages)

    def packet(self, index: int, number: int) -> Packet:
        ways = self.several[index]
        way = ways[self.next_way[index] % len(ways)]
        self.next_way[index] += 1
        octets = self.pairs[index].frame(number)
        return OnWay(index, self.messages[index].to, octets, number, is_ack=False, way=way)

    def way(self, packet: Packet) -> tuple[str, ...]:
        if not isinstance(packet, OnWay):
            raise TypeError(packet)
        return packet.way

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, IrnPair) and isinstance(packet, Selective):
            pair.on_selective(packet.came)

    def arrive(self, packet: Packet) -> None:
        index = packet.flow
        if packet.is_ack:
            super().arrive(packet)
            return
        self.newest[index] = self.way(packet)[::-1]
        if packet.number < self.expected[index]:
            self.duplicates[index] += 1
            self.say(index)
        elif packet.number == self.expected[index]:
            self.go_on(index)
        elif isinstance(self.pairs[index], IrnPair):
            self.keep(index, packet.number)
            self.say(index, came=packet.number)
        elif packet.number in self.here[index] or len(self.here[index]) < self.setting.kept:
            if not self.here[index]:
                self.miss(index)
            self.keep(index, packet.number)
            if self.overdue[index]:
                self.complain(index)
        else:
            self.complain(index)

    def go_on(self, index: int) -> None:
        here = self.here[index]
        here.add(self.expected[index])
        while self.expected[index] in here:
            here.remove(self.expected[index])
            self.expected[index] += 1
        self.nacked[index], self.missed_since[index], self.overdue[index] = None, None, False
        if here:
            self.miss(index)
        self.say(index)

    def keep(self, index: int, number: int) -> None:
        here = self.here[index]
        self.duplicates[index] += number in here
        here.add(number)
        self.most_kept[index] = max(self.most_kept[index], len(here))

    def miss(self, index: int) -> None:
        """Begin to wait for the expected packet."""
        since = self.missed_since[index] = self.world.now

        def complain() -> None:
            if self.missed_since[index] == since:
                self.missed_since[index] = None
                self.complain(index)

        if not isinstance(self.pairs[index], IrnPair):
            self.world.at(since + self.setting.reorder_wait, complain)

    def complain(self, index: int) -> None:
        """Say what is missing, unless that was just said; with the next packet if none is there."""
        self.overdue[index] = index not in self.newest
        if self.may_nack(index) and not self.overdue[index]:
            self.nacked[index] = (self.expected[index], self.world.now)
            self.say(index, negative=True)

    def say(self, index: int, *, came: int | None = None, negative: bool = False) -> None:
        """Answer over the way of the newest packet."""
        to, way = self.messages[index].source, self.newest.pop(index)
        octets, number = self.setting.ack_bytes, self.expected[index]
        answer = OnWay(index, to, octets, number, is_ack=True, way=way)
        if came is not None:
            answer = SelectiveOnWay(index, to, octets, number, is_ack=True, way=way, came=came)
        elif negative:
            answer = NackOnWay(index, to, octets, number, is_ack=True, way=way)
        self.out[self.messages[index].to].send(answer)


class IrnSprayFabric(SprayFabric):
    """The same with selective repeat."""

    pair = IrnPair
