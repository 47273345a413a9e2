"""Messages over several switches as HPCC's simulator has it (alibaba-edu at 9f4be2a).

Written from what its `qbb-net-device.cc`, `switch-node.cc`, `switch-mmu.cc` and `rdma-hw.cc` do. It
differs from `fabric.py`, which is how the laboratory has it: time is whole nanoseconds, cut off; a
packet leaves a switch's memory as its transmission starts, and is marked then; pause frames have 46
octets and wait for the frame that is being sent; packets that come twice are not answered; nothing
times out; what is due at one instant happens in the order in which it was set.
`tests/test_hpcc_fabric_reference.py` says how close the laboratory comes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from fabric import Fabric, FabricSetting, Message, Port, Wire
from hpcc_senders import FIELD_SCHEMES, US, FieldAck, FieldPair, sending
from hpcc_switch import Hop
from marking import Ramp
from roce_switch import Nack, QueuePair
from switch import Packet, World


class FieldWorld(World):
    """Events of one instant in the order in which they were set."""

    def at(self, time: int, what: Callable[[], None], order: int = World.ARRIVAL) -> None:
        super().at(time, what, World.ARRIVAL)


@dataclass(frozen=True, kw_only=True)
class FieldSetting(FabricSetting):
    """Its packets; `scheme` is none (hosts send at their links' rate) or one of `FIELD_SCHEMES`."""

    frame_bytes: int = 1048
    header_bytes: int = 48
    ack_bytes: int = 60
    pause_bytes: int = 46
    nack_interval: int = 500 * US
    queue_bytes: int | None = None
    scheme: str = "none"
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


TELEMETRY = {"hpcc": (42, 28), "timely": (8, 0)}
"""Octets that a scheme adds to packets and to acknowledgements."""

RAMPS = {"dcqcn": (4, 16, 0.2), "dctcp": (3, 3, 1.0)}
"""Kmin and Kmax, kB for each Gb/s of a port, and Pmax."""


@dataclass(frozen=True)
class FieldPacket(Packet):
    """A packet or an acknowledgement, with what it brings."""

    made: int = 0
    hops: tuple[Hop, ...] = ()


@dataclass(frozen=True)
class FieldNack(Nack):
    """A negative acknowledgement, with what it brings."""

    made: int = 0
    hops: tuple[Hop, ...] = ()


class FieldFabric(Fabric):
    """Hosts, switches, and the queue pairs."""

    setting: FieldSetting

    def __init__(self, setting: FieldSetting, messages: list[Message]) -> None:
        kind = self.pair = FIELD_SCHEMES[setting.scheme]
        self.draw = random.Random(setting.seed)
        self.got: Packet | None = None
        data, ack = TELEMETRY.get(setting.scheme, (0, 0))
        sizes = {"frame_bytes": 1048 + data, "header_bytes": 48 + data, "ack_bytes": 60 + ack}
        super().__init__(replace(setting, **sizes), messages)  # type: ignore[arg-type]
        self.ring: dict[str, list[int]] = {host: [] for host in self.hosts}
        self.last = dict.fromkeys(self.hosts, 0)
        rtt = max(self.base_rtt(way) for way in set(self.ways))
        for pair in self.pairs:
            assert isinstance(pair, kind)
            pair.network_rtt = rtt

    def base_rtt(self, way: tuple[str, ...]) -> int:
        """Return delays there and back, and what the octets of a packet without headers take."""
        wires = [self.ports[ends].wire for ends in pairwise(way)]
        return sum(2 * wire.delay + sending(1000, wire.rate_bps) for wire in wires)

    def acks_pass(self, node: str) -> bool:
        return self.setting.acks_pass and node in self.hosts

    def new_world(self) -> World:
        return FieldWorld()

    def port_of(self, here: str, there: str, wire: Wire) -> Port:
        return FieldPort(self, here, there, wire)

    def mark(self, port: Port, packet: Packet) -> Packet:
        """Mark by what stays behind, and write telemetry; both as the transmission starts."""
        if port.here in self.hosts:
            return packet
        sent, port.sent = port.sent, port.sent + packet.octets
        if packet.is_ack:
            return packet
        if self.setting.scheme == "hpcc" and isinstance(packet, FieldPacket):
            # Units of 128 and 80 octets, times the hosts' rate by 25 Gb/s.
            unit = max(self.setting.rate_bps // 25_000_000_000, 1)
            queue, sent = (n // (k * unit) * k * unit for n, k in ((port.octets, 80), (sent, 128)))
            hop = Hop(port.wire.rate_bps, self.world.now, queue, sent)
            return replace(packet, hops=(*packet.hops, hop))
        if self.setting.scheme in RAMPS:
            low, high, p_max = RAMPS[self.setting.scheme]
            k_min, k_max = (port.wire.rate_bps * kb // 10**6 for kb in (low, high))
            if Ramp(k_min, k_max, p_max).hits(port.octets, self.draw):
                return replace(packet, mark=True)
        return packet

    def packet(self, index: int, number: int) -> Packet:
        octets, to = self.pairs[index].frame(number), self.messages[index].to
        return FieldPacket(index, to, octets, number, is_ack=False, made=self.world.now)

    def wake(self, index: int) -> None:
        self.out[self.messages[index].source].begin()

    def start(self, index: int) -> None:
        self.ring[self.messages[index].source].append(index)
        super().start(index)

    def next_packet(self, host: str) -> Packet | None:
        """Return the packet of the next queue pair after the last that sent one."""
        ring, last = self.ring[host], self.last[host]
        for step in range(1, len(ring) + 1):
            position = (last + step) % len(ring)
            number = self.pairs[ring[position]].take()
            if number is not None:
                self.last[host] = position
                return self.packet(ring[position], number)
        return None

    def arrive(self, packet: Packet) -> None:
        if not packet.is_ack and packet.number < self.expected[packet.flow]:
            return
        self.got = packet
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, FieldPair) and isinstance(packet, FieldPacket | FieldNack):
            octets = pair.octets(0, packet.number)
            pair.hear(FieldAck(octets, packet.mark, packet.made, packet.hops))
            if pair.result.done is not None:
                self.finish(packet.flow)

    def finish(self, index: int) -> None:
        """Take a queue pair that has ended out of its host's turns."""
        host = self.messages[index].source
        if index in self.ring[host]:
            position = self.ring[host].index(index)
            self.ring[host].remove(index)
            self.last[host] -= position <= self.last[host]

    def ack(self, index: int, kind: type[Packet]) -> Packet:
        got, to = self.got, self.messages[index].source
        assert isinstance(got, FieldPacket)
        made = FieldNack if kind is Nack else FieldPacket
        number, octets = self.expected[index], self.setting.ack_bytes
        return made(
            index, to, octets, number, is_ack=True, mark=got.mark, made=got.made, hops=got.hops
        )
