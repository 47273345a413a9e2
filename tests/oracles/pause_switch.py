"""Flows through one switch that pauses its links, once more: PAUSE and PFC of one class.

Hosts at one switch, which counts the octets that it holds of each input: between a high and a low
watermark, or in a memory that all inputs share as the switches of HPCC's simulator have it
(`switch-mmu.cc`). A pause frame crosses the link beside what is sent there, and stops the host once
the frame that it sends has ended. It says when the last octet of each flow has arrived, how many
frames were lost, and how many pause frames went out. The laboratory must say the same
(`tests/test_pause_reference.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from switch import PS, Flow, FlowNetwork, Link, Packet, Setting, World


@dataclass(frozen=True, kw_only=True)
class PauseSetting(Setting):
    """When the switch pauses."""

    pause_bytes: int = 64
    high_bytes: int = 30_000
    low_bytes: int = 20_000
    shared_bytes: int | None = None
    """Octets of a shared memory, in the place of the watermarks."""
    rates: dict[str, int] = field(default_factory=dict)
    """Rates of links that have another than `rate_bps`, that of hosts."""

    def rate(self, source: str) -> int:
        """Return the rate of a link."""
        return self.rates.get(source, self.rate_bps)


class Watermarks:
    """Octets of each input between two marks."""

    def __init__(self, setting: PauseSetting) -> None:
        self.setting = setting
        self.held = dict.fromkeys(setting.delays, 0)

    def take(self, source: str, octets: int, to: str) -> bool:
        self.held[source] += octets
        return True

    def free(self, source: str, octets: int, to: str) -> None:
        self.held[source] -= octets

    def stops(self, source: str) -> bool:
        return self.held[source] > self.setting.high_bytes

    def goes(self, source: str) -> bool:
        return self.held[source] <= self.setting.low_bytes


def doublings(rate: int, of: int) -> int:
    """Return by how many doublings, at most 3, a rate is above another, a part for a whole."""
    return next(n for n in range(4) if n == 3 or rate <= of << n)


class SharedMemory:
    """The memory of the switches of HPCC's simulator: reserves, what all share, and headroom."""

    RESERVE = 4096
    XON_OFFSET = 3072

    def __init__(self, setting: PauseSetting) -> None:
        delays = setting.delays.items()
        self.room = {host: 3 * (setting.rate(host) * delay // (8 * PS)) for host, delay in delays}
        self.shift = {
            host: 3 - doublings(setting.rate(host), setting.rate_bps) for host, _ in delays
        }
        kept = sum(self.room.values()) + self.RESERVE * len(setting.delays)
        self.shared = (setting.shared_bytes or 0) - kept
        self.used = 0
        self.own = dict.fromkeys(setting.delays, 0)
        self.headroom = dict.fromkeys(setting.delays, 0)

    def limit(self, source: str) -> int:
        return (self.shared - self.used) >> self.shift[source]

    def beyond(self, source: str) -> int:
        return max(self.own[source] - self.RESERVE, 0)

    def take(self, source: str, octets: int, to: str) -> bool:
        full = octets + self.headroom[source] > self.room[source]
        if full and octets + self.beyond(source) > self.limit(source):
            return False
        new = self.own[source] + octets - self.RESERVE
        if new > 0 and new > self.limit(source):
            self.headroom[source] += octets
            return True
        self.own[source] += octets
        self.used += max(min(octets, new), 0)
        return True

    def free(self, source: str, octets: int, to: str) -> None:
        of_headroom = min(self.headroom[source], octets)
        self.headroom[source] -= of_headroom
        rest = octets - of_headroom
        self.used -= min(rest, self.beyond(source))
        self.own[source] -= rest

    def stops(self, source: str) -> bool:
        return self.headroom[source] > 0 or self.beyond(source) >= self.limit(source)

    def goes(self, source: str) -> bool:
        if self.headroom[source] > 0:
            return False
        beyond = self.beyond(source)
        return beyond == 0 or beyond + self.XON_OFFSET <= self.limit(source)


class Stoppable(Link):
    """A link that its far end can stop between two frames."""

    stopped = busy = False

    def begin(self) -> None:
        if not self.stopped and not self.busy:
            self.busy = True
            super().begin()

    def end(self) -> None:
        self.busy = False
        super().end()

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


class Network(FlowNetwork):
    """Hosts, the switch, and the flows."""

    def __init__(self, setting: PauseSetting, flows: Sequence[Flow]) -> None:
        super().__init__(flows)
        self.setting = setting
        self.pause_frames = self.drops = 0
        self.up: dict[str, Stoppable] = {
            host: Stoppable(self.world, setting.rate_bps, delay, None, self.forward)
            for host, delay in setting.delays.items()
        }
        self.down = {host: self.port(delay) for host, delay in setting.delays.items()}
        self.memory = self.memory_of(setting)
        self.paused = dict.fromkeys(setting.delays, False)
        self.pause_sent = dict.fromkeys(setting.delays, 0)

    def port(self, delay: int) -> Link:
        """Return a port of the switch with the link behind it."""
        link = Told(self.world, self.setting.rate_bps, delay, None, self.arrive)
        link.tell = self.leave
        return link

    def memory_of(self, setting: PauseSetting) -> Watermarks | SharedMemory:
        return Watermarks(setting) if setting.shared_bytes is None else SharedMemory(setting)

    def forward(self, packet: Packet) -> None:
        source = self.flows[packet.flow].source
        if not self.memory.take(source, packet.octets, packet.to):
            self.drops += 1
            return
        self.down[packet.to].send(packet)
        if not self.paused[source] and self.memory.stops(source):
            self.paused[source] = True
            self.pause(source, self.up[source].stop)

    def leave(self, packet: Packet) -> None:
        source = self.flows[packet.flow].source
        self.memory.free(source, packet.octets, packet.to)
        if self.paused[source] and self.memory.goes(source):
            self.paused[source] = False
            self.pause(source, self.up[source].go)

    def pause(self, host: str, what: Callable[[], None]) -> None:
        self.pause_frames += 1
        takes = self.setting.pause_bytes * 8 * PS // self.setting.rate_bps
        sent = self.pause_sent[host] = max(self.world.now, self.pause_sent[host]) + takes
        self.world.at(sent + self.setting.delays[host], what, World.END)
