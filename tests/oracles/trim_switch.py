"""Messages whose packets are cut to their heads where a queue is full, once more.

Above IRN (`irn_switch.py`), by the words of the scenario guide: the head goes before what waits
while heads have had no more than their share of the link, the receiver asks for the packet at once,
and the sender sends that packet before anything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from irn_switch import IrnNetwork, IrnPair, IrnSetting
from roce_switch import QueuePair
from switch import PS, Link, Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class TrimSetting(IrnSetting):
    """Octets of a head, and the share of a link that heads have while packets wait."""

    head_bytes: int = 64
    share: Fraction = Fraction(1, 4)


@dataclass(frozen=True)
class Head(Packet):
    """What is left of a packet."""


@dataclass(frozen=True)
class Wanted(Packet):
    """An acknowledgement that asks for a packet of which only the head came."""

    came: int = 0


class CuttingLink(Link):
    """A port that cuts what finds no room, and sends heads first up to their share."""

    head_bytes = 0
    share = Fraction(1)
    trimmed = 0
    kept_back = 0
    """How often a packet went before a head that waited."""

    def prepare(self, head_bytes: int, share: Fraction) -> None:
        self.head_bytes, self.share = head_bytes, share
        self.of_heads, self.of_both = 0, 0
        self.heads: deque[Packet] = deque()
        self.sending: Packet | None = None

    def send(self, packet: Packet) -> None:
        if self.room is not None and self.octets + packet.octets > self.room:
            if packet.is_ack:
                return
            self.trimmed += 1
            self.heads.append(
                Head(packet.flow, packet.to, self.head_bytes, packet.number, is_ack=False)
            )
        else:
            self.queue.append(packet)
            self.octets += packet.octets
        if self.sending is None:
            self.begin()

    def begin(self) -> None:
        if not (self.heads and self.queue):
            self.of_heads, self.of_both = 0, 0
            first = self.heads or self.queue
        elif self.of_heads <= self.share * self.of_both:
            first = self.heads
            self.of_heads += first[0].octets
            self.of_both += first[0].octets
        else:
            first = self.queue
            self.of_both += first[0].octets
            self.kept_back += 1
        if first:
            packet = self.sending = first.popleft()
            time = packet.octets * 8 * PS // self.rate_bps
            self.world.at(self.world.now + time, self.end, World.END)

    def end(self) -> None:
        packet, self.sending = self.sending, None
        assert packet is not None
        if not isinstance(packet, Head):
            self.octets -= packet.octets
        self.world.at(self.world.now + self.delay, lambda: self.deliver(packet))
        self.begin()


class TrimPair(IrnPair):
    """The sending end: packets that were cut go first, and are not missing besides."""

    def __init__(self, setting: TrimSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.cut: deque[int] = deque()
        self.asked: set[int] = set()

    def settled(self, number: int) -> bool:
        return number in self.asked or super().settled(number)

    def take(self) -> int | None:
        while self.cut:
            number = self.cut.popleft()
            if number >= self.una:
                self.result.retransmitted += 1
                return number
        return super().take()

    def on_timer(self, due: int) -> None:
        if self.alarm == due:
            self.cut.clear()
            self.asked.clear()
        super().on_timer(due)

    def on_wanted(self, number: int) -> None:
        if number >= self.una and number not in self.came:
            self.cut.append(number)
            self.asked.add(number)


class TrimNetwork(IrnNetwork):
    """Hosts, the switch, and the queue pairs."""

    pair: Callable[..., TrimPair] = TrimPair
    setting: TrimSetting

    def port(self, delay: int) -> Link:
        link = CuttingLink(
            self.world, self.setting.rate_bps, delay, self.setting.queue_bytes, self.arrive
        )
        link.prepare(self.setting.head_bytes, self.setting.share)
        return link

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, TrimPair) and isinstance(packet, Wanted):
            pair.on_wanted(packet.came)

    def arrive(self, packet: Packet) -> None:
        if not isinstance(packet, Head):
            super().arrive(packet)
            return
        index, to = packet.flow, self.messages[packet.flow].source
        expected, octets = self.expected[index], self.setting.ack_bytes
        here = packet.number < expected or packet.number in self.here[index]
        self.up[self.messages[index].to].send(
            Packet(index, to, octets, expected, is_ack=True)
            if here
            else Wanted(index, to, octets, expected, is_ack=True, came=packet.number)
        )
