"""Flows through one switch that pauses its links by watermarks, once more: IEEE 802.3x.

Hosts at one switch. The switch counts the octets that it holds of each input. Above the high
watermark it sends PAUSE over the input's link, at or below the low one it sends a PAUSE of no time.
A pause frame is the next to go, takes its time on the link, and stops the host once the frame that
it sends has ended. It says when the last octet of each flow has arrived, and how many pause frames
went out. The laboratory must say the same (`tests/test_pause_reference.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from switch import PS, Link, Packet, World


@dataclass(frozen=True)
class Setting:
    """A switch with links of one rate, and its watermarks. Times in ps."""

    delays: dict[str, int]
    """Of each host's link, one way."""
    rate_bps: int = 10_000_000_000
    frame_bytes: int = 1500
    pause_bytes: int = 64
    high_bytes: int = 30_000
    low_bytes: int = 20_000


@dataclass(frozen=True)
class Flow:
    """Octets from one host to another, at most one flow from a host."""

    source: str
    to: str
    size: int
    start: int


class Stoppable(Link):
    """A link that its far end can stop between two frames."""

    stopped = False

    def begin(self) -> None:
        if not self.stopped:
            super().begin()

    def stop(self) -> None:
        self.stopped = True

    def go(self) -> None:
        if self.stopped:
            self.stopped = False
            if self.queue:
                self.begin()


class Told(Link):
    """A link that tells when a frame has left."""

    tell: Callable[[Packet], None]

    def end(self) -> None:
        packet = self.queue[0]
        super().end()
        self.tell(packet)


@dataclass
class Network:
    """Hosts, the switch, and the flows."""

    setting: Setting
    flows: list[Flow]
    world: World = field(default_factory=World)
    pause_frames: int = 0

    def __post_init__(self) -> None:
        s = self.setting
        self.up = {
            host: Stoppable(self.world, s.rate_bps, delay, None, self.forward)
            for host, delay in s.delays.items()
        }
        self.down = {
            host: Told(self.world, s.rate_bps, delay, None, self.arrive)
            for host, delay in s.delays.items()
        }
        for link in self.down.values():
            link.tell = self.leave
        self.held = dict.fromkeys(s.delays, 0)
        self.paused = dict.fromkeys(s.delays, False)
        self.left = [flow.size for flow in self.flows]
        self.done: list[int | None] = [None for _ in self.flows]
        for index, flow in enumerate(self.flows):
            self.world.at(flow.start, partial(self.send, index, flow))

    def send(self, index: int, flow: Flow) -> None:
        left = flow.size
        while left > 0:
            octets = min(left, self.setting.frame_bytes)
            left -= octets
            self.up[flow.source].send(Packet(index, flow.to, octets, 0, is_ack=False))

    def forward(self, packet: Packet) -> None:
        source = self.flows[packet.flow].source
        self.held[source] += packet.octets
        self.down[packet.to].send(packet)
        if self.held[source] > self.setting.high_bytes and not self.paused[source]:
            self.paused[source] = True
            self.pause(source, self.up[source].stop)

    def leave(self, packet: Packet) -> None:
        source = self.flows[packet.flow].source
        self.held[source] -= packet.octets
        if self.held[source] <= self.setting.low_bytes and self.paused[source]:
            self.paused[source] = False
            self.pause(source, self.up[source].go)

    def pause(self, host: str, what: Callable[[], None]) -> None:
        self.pause_frames += 1
        crossing = self.setting.pause_bytes * 8 * PS // self.setting.rate_bps
        self.world.at(self.world.now + crossing + self.setting.delays[host], what, World.END)

    def arrive(self, packet: Packet) -> None:
        self.left[packet.flow] -= packet.octets
        if self.left[packet.flow] == 0:
            self.done[packet.flow] = self.world.now

    def run(self, until: int) -> list[int | None]:
        """Return when the last octet of each flow arrived, ps."""
        self.world.run(until)
        return self.done
