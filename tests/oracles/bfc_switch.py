"""BFC on queue pairs through one switch, once more, from an account of another simulator's.

The port to the receiver has a queue for each flow. A packet that finds its queue longer than what
the link carries in a round trip of its hop, divided by the queues that have packets, is tagged; the
first tag of a flow stops its host, and when its last tagged packet leaves the queue the host goes
on. Queues take turns by deficit round robin. Messages to hosts have 64 octets and go before what
waits for their link. A flow without packets keeps its queue for two round trips of its hop. There
are as many queues as flows: what is drawn where there are fewer is not compared.
`tests/test_roce_reference.py` says that the two agree to the picosecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from roce_switch import Network, QueuePair, RoceSetting
from switch import PS, Link, Packet, Transfer, World

MESSAGE = 64
"""Octets."""


@dataclass(frozen=True, kw_only=True)
class BfcSetting(RoceSetting):
    """Parameters: products of a hop, round trips of a hop, octets."""

    queue_bytes: int | None = None
    threshold: float = 1.0
    sticky: float = 2.0
    quantum: int = 1500


@dataclass(frozen=True)
class Message(Packet):
    """Tells a host to stop a flow, or to go on."""

    stops: bool = False


class StoppedPair(QueuePair):
    """The sending end, which the switch may stop."""

    stopped = False

    def ready(self) -> bool:
        return not self.stopped and super().ready()

    def on_message(self, *, stops: bool) -> None:
        self.stopped = stops
        self.wake()


class MessageLink(Link):
    """A link on which messages overtake what waits; one that is still to go is replaced."""

    pending: Message | None = None

    def tell(self, message: Message) -> None:
        self.pending = message
        if not self.queue:
            self.world.at(self.world.now, self.start, World.END)

    def start(self) -> None:
        if self.pending is not None and not self.queue:
            self.queue.append(self.pending)
            self.octets += self.pending.octets
            self.pending = None
            self.begin()

    def end(self) -> None:
        if self.pending is not None:
            self.queue.insert(1, self.pending)
            self.octets += self.pending.octets
            self.pending = None
        super().end()


@dataclass
class Slot:
    """A flow's queue at the port: its number, its packets with their tags, and what is tagged."""

    number: int
    packets: deque[tuple[Packet, bool]]
    octets: int = 0
    tagged: int = 0
    until: int | None = None


class ApartLink(Link):
    """An output with a queue for each flow."""

    def prepare(self, network: BfcNetwork) -> None:
        self.network, self.b = network, network.b
        self.slots: dict[int, Slot] = {}
        self.deficit = [0] * len(network.messages)
        self.turn, self.granted, self.sending = 0, False, False
        self.stops = 0

    def hop(self, flow: int) -> int:
        """Return the round-trip time of a flow's first hop, ps."""
        return 2 * self.b.delays[self.network.messages[flow].source]

    def slot(self, flow: int) -> Slot:
        now = self.world.now
        over = [key for key, each in self.slots.items() if each.until is not None]
        for key in over:
            if (self.slots[key].until or 0) < now:
                del self.slots[key]
        if flow not in self.slots:
            taken = {each.number for each in self.slots.values()}
            number = next(n for n in range(len(self.deficit)) if n not in taken)
            self.slots[flow] = Slot(number, deque())
        return self.slots[flow]

    def send(self, packet: Packet) -> None:
        slot = self.slot(packet.flow)
        slot.until = None
        slot.octets += packet.octets
        waiting = sum(1 for each in self.slots.values() if each.packets)
        active = waiting + (not slot.packets)
        product = self.rate_bps * self.hop(packet.flow) // PS // 8
        tag = slot.octets > max(1, int(self.b.threshold * product / active))
        slot.packets.append((packet, tag))
        if tag:
            slot.tagged += 1
            if slot.tagged == 1:
                self.stops += 1
                self.network.tell(packet.flow, stops=True)
        if not self.sending:
            self.begin()

    def choose(self) -> tuple[int, Slot]:
        """Return the flow whose first packet goes."""
        while True:
            flow = next((f for f, each in self.slots.items() if each.number == self.turn), None)
            slot = None if flow is None else self.slots[flow]
            if flow is None or slot is None or not slot.packets:
                self.deficit[self.turn] = 0
                self.pass_on()
                continue
            if not self.granted:
                self.deficit[self.turn] += self.b.quantum
                self.granted = True
            octets = slot.packets[0][0].octets
            if octets <= self.deficit[self.turn]:
                self.deficit[self.turn] -= octets
                return flow, slot
            self.pass_on()

    def pass_on(self) -> None:
        self.turn, self.granted = (self.turn + 1) % len(self.deficit), False

    def begin(self) -> None:
        if not any(each.packets for each in self.slots.values()):
            return
        flow, slot = self.choose()
        packet, tag = slot.packets.popleft()
        slot.octets -= packet.octets
        if not slot.packets:
            slot.until = self.world.now + int(self.b.sticky * self.hop(flow))
            self.deficit[slot.number] = 0
            self.pass_on()
        if tag:
            slot.tagged -= 1
            if slot.tagged == 0:
                self.network.tell(flow, stops=False)
        self.sending = True
        due = self.world.now + packet.octets * 8 * PS // self.rate_bps
        self.world.at(due, partial(self.sent, packet), World.END)

    def sent(self, packet: Packet) -> None:
        self.sending = False
        self.world.at(self.world.now + self.delay, lambda: self.deliver(packet))
        self.begin()


class BfcNetwork(Network):
    """Hosts, the switch, and the queue pairs; all messages end at one host."""

    pair = StoppedPair

    def __init__(self, setting: BfcSetting, messages: Sequence[Transfer]) -> None:
        self.b = setting
        super().__init__(setting, messages)
        world, rate, (sink,) = self.world, setting.rate_bps, {message.to for message in messages}
        for host, delay in setting.delays.items():
            self.down[host] = MessageLink(world, rate, delay, None, self.arrive)
        self.apart = ApartLink(world, rate, setting.delays[sink], None, self.arrive)
        self.apart.prepare(self)
        self.down[sink] = self.apart

    def tell(self, flow: int, *, stops: bool) -> None:
        link = self.down[self.messages[flow].source]
        if isinstance(link, MessageLink):
            to = self.messages[flow].source
            link.tell(Message(flow, to, MESSAGE, 0, is_ack=False, stops=stops))

    def arrive(self, packet: Packet) -> None:
        if isinstance(packet, Message):
            pair = self.pairs[packet.flow]
            if isinstance(pair, StoppedPair):
                pair.on_message(stops=packet.stops)
            return
        super().arrive(packet)
