"""Messages over several switches, once more: PFC that spreads, small buffers, loss.

A message takes the way that it is given, and its acknowledgements take it backwards, or another
that is given, too. A switch counts what it holds of each input, as in `pause_switch.py`; it stops a
link by a pause frame, and drops what finds no room. A host sends acknowledgements first, then its
queue pairs (`roce_switch.py`) in turn. The laboratory must say the same
(`tests/test_fabric_reference.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pause_switch import PauseSetting, SharedMemory, Watermarks
from roce_switch import Network, RoceSetting
from switch import PS, Packet, Transfer, World


@dataclass(frozen=True)
class Wire:
    """A link: its delay one way, ps, and its rate each way."""

    delay: int
    rate_bps: int


@dataclass(frozen=True, kw_only=True)
class FabricSetting(RoceSetting):
    """Links by their two ends, and what each switch has: watermarks, a shared memory or neither."""

    delays: dict[str, int] = field(default_factory=dict)
    links: dict[tuple[str, str], Wire]
    pause_bytes: int = 64
    high_bytes: int | None = None
    low_bytes: int = 20_000
    shared_bytes: int | None = None

    def memory(self, node: str) -> Watermarks | SharedMemory | None:
        """Return the memory of a switch."""
        if self.high_bytes is None and self.shared_bytes is None:
            return None
        wires = {
            a if b == node else b: wire for (a, b), wire in self.links.items() if node in (a, b)
        }
        setting = PauseSetting(
            delays={there: wire.delay for there, wire in wires.items()},
            rates={there: wire.rate_bps for there, wire in wires.items()},
            rate_bps=self.rate_bps,
            high_bytes=self.high_bytes or 0,
            low_bytes=self.low_bytes,
            shared_bytes=self.shared_bytes,
        )
        return Watermarks(setting) if self.shared_bytes is None else SharedMemory(setting)


@dataclass(frozen=True)
class Pause(Packet):
    """A pause frame."""

    stop: bool = False


@dataclass(frozen=True)
class Message(Transfer):
    """A transfer, the nodes on its way, both ends included, and those on its acknowledgements' way.

    Without the second they take the first backwards.
    """

    way: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


def message(way: tuple[str, ...], size: int, start: int) -> Message:
    """Return the message over a way."""
    return Message(way[0], way[-1], size, start, way)


class Port:
    """An output and the link behind it: pause frames, then a queue or what a host has to send."""

    def __init__(self, fabric: Fabric, here: str, there: str, wire: Wire) -> None:
        self.fabric, self.world, self.wire = fabric, fabric.world, wire
        self.here, self.there = here, there
        self.pauses: deque[Pause] = deque()
        self.queue: deque[tuple[Packet, str]] = deque()
        self.octets = self.peak = self.sent = 0
        self.busy = self.stopped = False
        self.stops: list[int] = []
        self.pull: Callable[[], Packet | None] | None = None

    def send(self, packet: Packet, came_from: str = "") -> None:
        self.queue.append((packet, came_from))
        self.octets += packet.octets
        self.peak = max(self.peak, self.octets)
        self.begin()

    def send_pause(self, pause: Pause) -> None:
        self.pauses.append(pause)
        self.begin()

    def begin(self) -> None:
        """Send the next frame, if there is one and nothing is in the way."""
        if self.busy:
            return
        if self.pauses:
            pause = self.pauses.popleft()
            self.transmit(pause.octets, partial(self.end_pause, pause))
        elif not self.stopped:
            if not self.queue and self.pull is not None:
                self.busy = True
                packet = self.pull()
                self.busy = False
                if packet is not None:
                    self.queue.append((packet, ""))
                    self.octets += packet.octets
            if self.queue:
                packet, came_from = self.queue[0]
                self.queue[0] = self.fabric.begin(self, packet), came_from
                self.transmit(packet.octets, self.end)

    def transmit(self, octets: int, end: Callable[[], None]) -> None:
        self.busy = True
        self.world.at(self.world.now + 8 * octets * PS // self.wire.rate_bps, end, World.END)

    def end(self) -> None:
        packet, came_from = self.queue.popleft()
        self.octets -= packet.octets
        packet = self.fabric.mark(self, packet)
        self.deliver(packet)
        self.fabric.leave(self.here, self.there, came_from, packet)
        self.go_on()

    def end_pause(self, pause: Pause) -> None:
        self.deliver(pause)
        self.go_on()

    def go_on(self) -> None:
        self.busy = False
        if self.queue or self.pauses:
            self.begin()
        else:
            self.world.at(self.world.now, self.begin, World.SERVICE)

    def deliver(self, packet: Packet) -> None:
        there = partial(self.fabric.reach, self.there, self.here, packet)
        self.world.at(self.world.now + self.wire.delay, there)

    def pause(self, *, stop: bool) -> None:
        """Take the pause frame that came from the far end."""
        if stop:
            self.stops.append(self.world.now)
        self.stopped = stop
        self.begin()


class Fabric(Network):
    """Hosts, switches, and the queue pairs; any number of messages from a host."""

    setting: FabricSetting

    def __init__(self, setting: FabricSetting, messages: list[Message]) -> None:
        self.setting, self.world = setting, self.new_world()
        self.messages: list[Transfer] = list(messages)
        self.ways = [message.way for message in messages]
        self.backs = [message.back or message.way[::-1] for message in messages]
        self.hosts = {node for way in self.ways for node in (way[0], way[-1])}
        self.ports: dict[tuple[str, str], Port] = {}
        for (a, b), wire in setting.links.items():
            self.ports[a, b], self.ports[b, a] = self.port_of(a, b, wire), self.port_of(b, a, wire)
        switches = {node for ends in setting.links for node in ends} - self.hosts
        self.memory = {node: setting.memory(node) for node in switches}
        self.paused: set[tuple[str, str]] = set()
        self.pause_frames = self.drops = self.acks_lost = 0
        self.pairs = [self.pair(setting, self.world, message) for message in messages]
        self.expected = [0] * len(messages)
        self.nacked: list[tuple[int, int] | None] = [None] * len(messages)
        self.nacks: list[tuple[int, int]] = []
        self.out: dict[str, Port] = {
            here: port for (here, _), port in self.ports.items() if here in self.hosts
        }
        self.turn: dict[str, deque[int]] = {host: deque() for host in self.hosts}
        for host, port in self.out.items():
            port.pull = partial(self.next_packet, host)
        for index, each in enumerate(messages):
            self.pairs[index].wake = partial(self.wake, index)
            self.world.at(each.start, partial(self.start, index))

    def port_of(self, here: str, there: str, wire: Wire) -> Port:
        return Port(self, here, there, wire)

    def new_world(self) -> World:
        return World()

    def enter(self, port: Port, packet: Packet) -> Packet:
        """Return the packet as it enters the queue of a switch."""
        return packet

    def begin(self, port: Port, packet: Packet) -> Packet:
        """Return the packet as its transmission begins."""
        return packet

    def mark(self, port: Port, packet: Packet) -> Packet:
        """Return the packet as it leaves a port, which has what stays behind."""
        return packet

    def start(self, index: int) -> None:
        self.pairs[index].started = True
        self.wake(index)

    def wake(self, index: int) -> None:
        """Line up a queue pair that may have something to send."""
        turn = self.turn[self.messages[index].source]
        if index not in turn and self.pairs[index].ready():
            turn.append(index)
        self.out[self.messages[index].source].begin()

    def next_packet(self, host: str) -> Packet | None:
        """Return the packet of the queue pair whose turn it is; it lines up again at once."""
        turn = self.turn[host]
        while turn:
            index = turn.popleft()
            number = self.pairs[index].take()
            if number is not None:
                if self.pairs[index].ready():
                    turn.append(index)
                return self.packet(index, number)
        return None

    def packet(self, index: int, number: int) -> Packet:
        octets = self.pairs[index].frame(number)
        return Packet(index, self.messages[index].to, octets, number, is_ack=False)

    def way(self, packet: Packet) -> tuple[str, ...]:
        """Return the nodes on a packet's way, both ends included."""
        return self.backs[packet.flow] if packet.is_ack else self.ways[packet.flow]

    def reach(self, node: str, came_from: str, packet: Packet) -> None:
        """Take a packet whose last octet has come to a node."""
        if isinstance(packet, Pause):
            self.ports[node, came_from].pause(stop=packet.stop)
            return
        if node in self.hosts:
            self.arrive(packet)
            return
        way = self.way(packet)
        port = self.ports[node, way[way.index(node) + 1]]
        memory, room = self.memory[node], self.setting.queue_bytes
        full = room is not None and port.octets + packet.octets > room
        if full or (memory is not None and not memory.take(came_from, packet.octets, port.there)):
            self.drops += not packet.is_ack
            self.acks_lost += packet.is_ack
            return
        port.send(self.enter(port, packet), came_from)
        if memory is not None and (node, came_from) not in self.paused and memory.stops(came_from):
            self.paused.add((node, came_from))
            self.pause(node, came_from, stop=True)

    def leave(self, node: str, there: str, came_from: str, packet: Packet) -> None:
        """Take back the room of a packet that has left a switch."""
        memory = self.memory.get(node)
        if memory is None:
            return
        memory.free(came_from, packet.octets, there)
        if (node, came_from) in self.paused and memory.goes(came_from):
            self.paused.remove((node, came_from))
            self.pause(node, came_from, stop=False)

    def pause(self, node: str, neighbour: str, *, stop: bool) -> None:
        """Send a pause frame: it waits for the frame that is being sent, and for nothing else."""
        self.pause_frames += 1
        octets = self.setting.pause_bytes
        self.ports[node, neighbour].send_pause(
            Pause(-1, neighbour, octets, 0, is_ack=False, stop=stop)
        )

    def answer(self, index: int, kind: type[Packet]) -> None:
        self.out[self.messages[index].to].send(self.ack(index, kind))
