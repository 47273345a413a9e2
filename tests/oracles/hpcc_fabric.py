"""Messages over several switches as HPCC's simulator has it (alibaba-edu at 9f4be2a).

Written from what its `qbb-net-device.cc`, `switch-node.cc`, `switch-mmu.cc` and `rdma-hw.cc` do. It
differs from `fabric.py`, which is how the laboratory has it: time is whole nanoseconds, cut off; a
packet leaves a switch's memory as its transmission starts, and is marked then; pause frames have 46
octets and wait for the frame that is being sent; packets that come twice are not answered; nothing
times out; what is due at one instant happens in the order in which it was set.
`tests/test_fabric_reference.py` says how close the laboratory comes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from fabric import Fabric, FabricSetting, Message, Port, Wire
from roce_switch import QueuePair, RoceSetting
from switch import Packet, Transfer, World

NS = 1000
"""Picoseconds."""

US = 1_000_000


def sending(octets: int, rate_bps: float) -> int:
    """Return how long octets take at a rate: whole nanoseconds, in ps."""
    return int(octets * 8_000_000_000 / rate_bps) * NS


class FieldWorld(World):
    """Events of one instant in the order in which they were set."""

    def at(self, time: int, what: Callable[[], None], order: int = World.ARRIVAL) -> None:
        super().at(time, what, World.ARRIVAL)


@dataclass(frozen=True, kw_only=True)
class FieldSetting(FabricSetting):
    """Its packets; `dcqcn` for its DCQCN, else hosts send at their links' rate."""

    frame_bytes: int = 1048
    header_bytes: int = 48
    ack_bytes: int = 60
    pause_bytes: int = 46
    nack_interval: int = 500 * US
    queue_bytes: int | None = None
    dcqcn: bool = False
    acks_pass: bool = False
    """Whether hosts send acknowledgements while their link is paused (its `ACK_HIGH_PRIO`)."""
    seed: int = 1


class FieldPort(Port):
    """An output that frees memory as a transmission starts."""

    fabric: FieldFabric

    def begin(self) -> None:
        if self.busy:
            return
        packet: Packet | None = None
        if self.pauses:
            packet = self.pauses.popleft()
        elif self.queue and (not self.stopped or self.fabric.acks_pass(self.here)):
            packet, came_from = self.queue.popleft()
            self.octets -= packet.octets
            packet = self.fabric.mark(self, packet)
            self.fabric.leave(self.here, self.there, came_from, packet)
        elif not self.stopped and self.pull is not None:
            packet = self.pull()
        if packet is not None:
            self.busy = True
            time = self.world.now + sending(packet.octets, self.wire.rate_bps)
            self.world.at(time, self.go_on)
            there = partial(self.fabric.reach, self.there, self.here, packet)
            self.world.at(time + self.wire.delay, there)

    def go_on(self) -> None:
        self.busy = False
        self.begin()


class FieldPair(QueuePair):
    """The sending end: a rate that counts from the next packet on, and no timeout."""

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.line = self.rate = float(setting.rate_bps)
        self.available = 0
        self.woken = 0

    def take(self) -> int | None:
        if self.available > self.world.now:
            if self.woken < self.available:
                self.woken = self.available
                self.world.at(self.available, lambda: self.wake())
            return None
        number = super().take()
        if number is not None:
            self.available = self.world.now + sending(self.frame(number), self.rate)
        return number

    def start_timer(self) -> None:
        """There is none."""


class FieldDcqcn(FieldPair):
    """Its DCQCN (mode 1) with the numbers of its `run.py`: steps of a 5000th, a 500th of the rate.

    A first echo sets alpha to 1 and starts both clocks. Each microsecond alpha moves; each 4 the
    rate is cut if an echo came, and was the target if it had climbed; 300 after a cut, and each 300
    on, it climbs.
    """

    G = 1 / 256
    LEAST = 1e9

    def __init__(self, setting: RoceSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.target = self.rate
        self.alpha = 1.0
        self.heard = False
        self.alpha_echo = self.cut_echo = False
        self.stage = 0
        self.climb_due = 0

    def echo(self) -> None:
        self.alpha_echo = self.cut_echo = True
        if not self.heard:
            self.heard = True
            self.alpha_echo = False
            self.world.at(self.world.now + US, self.move_alpha)
            self.world.at(self.world.now + 4 * US + NS, self.cut)
            self.target = self.rate

    def move_alpha(self) -> None:
        if self.result.done is None:
            self.alpha += self.G * (self.alpha_echo - self.alpha)
            self.alpha_echo = False
            self.world.at(self.world.now + US, self.move_alpha)

    def cut(self) -> None:
        if self.result.done is not None:
            return
        self.world.at(self.world.now + 4 * US, self.cut)
        if self.cut_echo:
            self.cut_echo = False
            if self.stage > 0:
                self.target = self.rate
            self.rate = max(self.LEAST, self.rate * (1 - self.alpha / 2))
            self.stage = 0
            self.wait()

    def wait(self) -> None:
        due = self.climb_due = self.world.now + 300 * US
        self.world.at(due, lambda: self.climb(due))

    def climb(self, due: int) -> None:
        if due == self.climb_due and self.result.done is None:
            self.wait()
            step = (0.0, self.line / 5000, self.line / 500)[min(self.stage, 2)]
            self.target = min(self.target + step, self.line)
            self.rate = (self.rate + self.target) / 2
            self.stage += 1


class FieldFabric(Fabric):
    """Hosts, switches, and the queue pairs."""

    setting: FieldSetting

    def __init__(self, setting: FieldSetting, messages: list[Message]) -> None:
        self.pair = FieldDcqcn if setting.dcqcn else FieldPair
        self.draw = random.Random(setting.seed)
        super().__init__(setting, messages)
        for index, each in enumerate(messages):
            self.turn[each.source].append(index)

    def acks_pass(self, node: str) -> bool:
        return self.setting.acks_pass and node in self.hosts

    def new_world(self) -> World:
        return FieldWorld()

    def port_of(self, here: str, there: str, wire: Wire) -> Port:
        return FieldPort(self, here, there, wire)

    def mark(self, port: Port, packet: Packet) -> Packet:
        """Mark by what stays behind: from 4 kB a Gb/s on, 20 % at 16 kB a Gb/s, all above."""
        if not self.setting.dcqcn or packet.is_ack or port.here in self.hosts:
            return packet
        k_min, k_max = (port.wire.rate_bps * kb // 10**6 for kb in (4, 16))
        if port.octets > k_max or (
            port.octets > k_min
            and self.draw.random() < 0.2 * (port.octets - k_min) / (k_max - k_min)
        ):
            return replace(packet, mark=True)
        return packet

    def wake(self, index: int) -> None:
        self.out[self.messages[index].source].begin()

    def next_packet(self, host: str) -> Packet | None:
        """Return the packet of the next queue pair after the last that sent one."""
        turn = self.turn[host]
        for _ in range(len(turn)):
            turn.rotate(-1)
            index = turn[-1]
            number = self.pairs[index].take()
            if number is not None:
                return self.packet(index, number)
        return None

    def arrive(self, packet: Packet) -> None:
        if not packet.is_ack and packet.number < self.expected[packet.flow]:
            return
        self.echo = packet.mark
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if packet.mark and isinstance(pair, FieldDcqcn):
            pair.echo()

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        return replace(super().ack(index, kind), mark=self.echo)
