"""Links of a switch and its hosts, once more: events, first-come queues, transmission, delay."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

PS = 1_000_000_000_000


@dataclass(frozen=True)
class Setting:
    """Hosts at a switch: the delay of each host's link one way, ps, and the rate of all."""

    delays: dict[str, int]
    rate_bps: int = 10_000_000_000
    queue_bytes: int | None = 60_000
    """Octets that the queue of a port holds; any number if `None`."""


@dataclass(frozen=True)
class Transfer:
    """Octets from one host to another, from a time on, ps."""

    source: str
    to: str
    size: int
    start: int


@dataclass(frozen=True)
class Flow(Transfer):
    """A transfer in a class, in frames of a length."""

    priority: int = 0
    frame_bytes: int = 1500


@dataclass
class Result:
    """When a transfer ended, ps, and what it took."""

    done: int | None = None
    retransmitted: int = 0
    timeouts: int = 0


@dataclass(frozen=True)
class Packet:
    """A segment or an acknowledgement of a flow."""

    flow: int
    to: str
    octets: int
    number: int
    is_ack: bool
    mark: bool = False


class World:
    """Events in the order of time; of one instant in the order below."""

    END, ARRIVAL, SERVICE = range(3)
    """A transmission ends; a frame arrives, or anything else; a network card looks for a packet."""

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, int, Callable[[], None]]] = []
        self.count = 0

    def at(self, time: int, what: Callable[[], None], order: int = ARRIVAL) -> None:
        self.count += 1
        heapq.heappush(self.heap, (time, order, self.count, what))

    def run(self, until: int) -> None:
        while self.heap and self.heap[0][0] <= until:
            self.now, _, _, what = heapq.heappop(self.heap)
            what()


class Link:
    """One direction: a first-come queue, transmission and propagation."""

    def __init__(
        self,
        world: World,
        rate_bps: int,
        delay: int,
        room: int | None,
        deliver: Callable[[Packet], None],
    ) -> None:
        self.world, self.rate_bps, self.delay = world, rate_bps, delay
        self.room, self.deliver = room, deliver
        self.queue: deque[Packet] = deque()
        self.octets = 0
        self.idle: Callable[[], None] | None = None

    def send(self, packet: Packet) -> None:
        if self.room is not None and self.octets + packet.octets > self.room:
            return
        self.queue.append(packet)
        self.octets += packet.octets
        if len(self.queue) == 1:
            self.begin()

    def begin(self) -> None:
        bits = self.queue[0].octets * 8
        self.world.at(self.world.now + bits * PS // self.rate_bps, self.end, World.END)

    def end(self) -> None:
        packet = self.queue.popleft()
        self.octets -= packet.octets
        self.world.at(self.world.now + self.delay, lambda: self.deliver(packet))
        if self.queue:
            self.begin()
        elif self.idle is not None:
            self.world.at(self.world.now, self.idle, World.SERVICE)


class FlowNetwork:
    """Flows that hosts send as fast as their links take them, and that nothing repairs."""

    up: Mapping[str, Link]

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.world, self.flows = World(), flows
        self.left = [flow.size for flow in flows]
        self.done: list[int | None] = [None for _ in flows]
        for index, flow in enumerate(flows):
            self.world.at(flow.start, partial(self.send, index, flow))

    def send(self, index: int, flow: Flow) -> None:
        left = flow.size
        while left > 0:
            octets = min(left, flow.frame_bytes)
            left -= octets
            self.up[flow.source].send(Packet(index, flow.to, octets, 0, is_ack=False))

    def arrive(self, packet: Packet) -> None:
        self.left[packet.flow] -= packet.octets
        if self.left[packet.flow] == 0:
            self.done[packet.flow] = self.world.now

    def run(self, until: int) -> list[int | None]:
        """Return when the last octet of each flow arrived, ps."""
        self.world.run(until)
        return self.done
