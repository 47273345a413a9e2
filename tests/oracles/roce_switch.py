"""Messages over RoCE queue pairs through one switch, once more: go-back-N.

Hosts at one switch with a drop-tail queue at each port. A queue pair sends its message in packets,
as fast as its link takes them while a window permits. The receiver acknowledges each packet that it
expects, and answers one beyond it with a negative acknowledgement, upon which the sender goes back.
When nothing new is acknowledged for the timeout, it goes back by itself. It says when the last
octet of each message is acknowledged. The laboratory must say the same
(`tests/test_roce_reference.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from switch import PS, Link, Packet, Result, Setting, Transfer, World


@dataclass(frozen=True, kw_only=True)
class RoceSetting(Setting):
    """What queue pairs are told. Times in ps."""

    frame_bytes: int = 1062
    header_bytes: int = 62
    ack_bytes: int = 66
    window_bytes: int | None = None
    rto: int = 1_000_000_000
    nack_interval: int = 50_000_000


@dataclass(frozen=True)
class Nack(Packet):
    """A negative acknowledgement: this number is missing."""


class QueuePair:
    """The sending end."""

    def __init__(self, setting: RoceSetting, world: World, message: Transfer):
        self.s, self.world, self.message = setting, world, message
        self.result = Result()
        self.payload = setting.frame_bytes - setting.header_bytes
        self.packets = -(-message.size // self.payload)
        self.una = self.next = self.highest = 0
        self.started = False
        self.alarm: int | None = None

    def octets(self, first: int, end: int) -> int:
        size = self.message.size
        return min(end * self.payload, size) - min(first * self.payload, size)

    def frame(self, number: int) -> int:
        """Return the octets of a packet's frame."""
        return self.octets(number, number + 1) + self.s.header_bytes

    def ready(self) -> bool:
        """Return whether a packet may go now."""
        if not self.started or self.next >= self.packets:
            return False
        window = self.s.window_bytes
        return window is None or self.octets(self.una, self.next) < window

    def take(self) -> int | None:
        """Return the number of the packet that goes now, if one may."""
        if not self.ready():
            return None
        number = self.next
        self.next += 1
        self.result.retransmitted += number < self.highest
        self.highest = max(self.highest, self.next)
        if self.alarm is None:
            self.start_timer()
        return number

    def start_timer(self) -> None:
        due = self.alarm = self.world.now + self.s.rto
        self.world.at(due, lambda: self.on_timer(due))

    def on_timer(self, due: int) -> None:
        if self.alarm != due:
            return
        self.result.timeouts += 1
        self.next = self.una
        self.start_timer()
        self.wake()

    def on_ack(self, number: int, *, negative: bool) -> None:
        if number > self.una:
            self.una = number
            self.next = max(self.next, number)
            self.alarm = None
            if self.una < self.packets:
                self.start_timer()
            else:
                self.result.done = self.world.now
        if negative and number == self.una:
            self.next = number

    wake: Callable[[], None]


class PacedPair(QueuePair):
    """The sending end with a rate: after a packet it waits until its bits have passed at it.

    Rates are whole bit/s, waits whole picoseconds, rounded up.
    """

    always = False
    """Whether it waits at line rate, too."""

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.line = self.rate = setting.rate_bps
        self.limited = self.always
        self.due = 0
        self.last: tuple[int, int] | None = None

    def ready(self) -> bool:
        return self.due <= self.world.now and super().ready()

    def take(self) -> int | None:
        number = super().take()
        if number is not None:
            self.last = self.world.now, self.frame(number)
            if self.limited:
                self.wait(self.world.now + self.passing(self.frame(number)))
        return number

    def passing(self, octets: int) -> int:
        """Return how long octets take at the rate."""
        return -(-8 * octets * PS // self.rate)

    def wait(self, due: int) -> None:
        self.due = due
        self.world.at(due, lambda: self.release(due), World.SERVICE)

    def release(self, due: int) -> None:
        if due == self.due:
            self.wake()

    def set_rate(self, rate: int) -> None:
        """Set the rate, also for what is left of a wait; at line rate nothing is left of it."""
        now, old, first = self.world.now, self.rate, not self.limited
        self.rate, self.limited = rate, self.always or rate < self.line
        if not self.limited:
            self.due = now
            self.wake()
        elif first and self.last is not None:
            sent, octets = self.last
            self.wait(max(now, sent + self.passing(octets)))
        elif self.due > now:
            self.wait(now - (-(self.due - now) * old // rate))


class Network:
    """Hosts, the switch, and the queue pairs; at most one message from a host."""

    pair: Callable[..., QueuePair] = QueuePair

    def __init__(self, setting: RoceSetting, messages: Sequence[Transfer]) -> None:
        self.setting, self.messages, self.world = setting, messages, World()
        self.up: dict[str, Link] = {}
        self.down: dict[str, Link] = {}
        for host, delay in setting.delays.items():
            self.up[host] = Link(self.world, setting.rate_bps, delay, None, self.forward)
            self.down[host] = self.port(delay)
        self.pairs = [self.pair(setting, self.world, message) for message in messages]
        self.expected = [0] * len(messages)
        self.nacked: list[tuple[int, int] | None] = [None] * len(messages)
        self.nacks: list[tuple[int, int]] = []
        for index, message in enumerate(messages):
            serve = partial(self.serve, index)
            self.pairs[index].wake = serve
            self.up[message.source].idle = serve
            self.world.at(message.start, partial(self.start, index))

    def port(self, delay: int) -> Link:
        """Return a port of the switch with the link behind it."""
        rate, room = self.setting.rate_bps, self.setting.queue_bytes
        return Link(self.world, rate, delay, room, self.arrive)

    def start(self, index: int) -> None:
        self.pairs[index].started = True
        self.serve(index)

    def serve(self, index: int) -> None:
        """Send the next packet, if the link is free and the queue pair has one."""
        message, pair = self.messages[index], self.pairs[index]
        link = self.up[message.source]
        if link.queue:
            return
        number = pair.take()
        if number is not None:
            link.send(Packet(index, message.to, pair.frame(number), number, is_ack=False))

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        """Take an acknowledgement."""
        pair.on_ack(packet.number, negative=isinstance(packet, Nack))

    def forward(self, packet: Packet) -> None:
        self.down[packet.to].send(packet)

    def arrive(self, packet: Packet) -> None:
        index = packet.flow
        if packet.is_ack:
            self.hear(self.pairs[index], packet)
            self.pairs[index].wake()
            return
        expected = self.expected[index]
        if packet.number <= expected:
            self.expected[index] += packet.number == expected
            self.answer(index, Packet)
        elif self.may_nack(index):
            self.nacked[index] = (expected, self.world.now)
            self.nacks.append((index, expected))
            self.answer(index, Nack)

    def may_nack(self, index: int) -> bool:
        last = self.nacked[index]
        if last is None or last[0] != self.expected[index]:
            return True
        return self.world.now >= last[1] + self.setting.nack_interval

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        """Return an acknowledgement of what came of a message."""
        to, number = self.messages[index].source, self.expected[index]
        return kind(index, to, self.setting.ack_bytes, number, is_ack=True)

    def answer(self, index: int, kind: type[Packet]) -> None:
        self.up[self.messages[index].to].send(self.ack(index, kind))

    def run(self, until: int) -> list[Result]:
        """Return what became of each message by `until`, ps."""
        self.world.run(until)
        return [pair.result for pair in self.pairs]
