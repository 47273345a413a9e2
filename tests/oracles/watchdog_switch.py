"""The PFC watchdog of a switch, once more, and hosts that pause their links for no reason.

By SONiC's words: a queue that has been paused for the detection time without a break, and in which
frames wait, is in a storm. Action `drop` discards what waits there and what comes, `forward` sends
as if nothing were paused. When no pause has held for the restoration time, the storm is over. The
switch looks at whole multiples of the polling time. A host in a storm sends XOFF again after half
of the longest pause, and XON at its end. The laboratory must say the same
(`tests/test_watchdog_reference.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from dynamic_switch import DynamicNetwork, DynamicSetting, ToldWeightedLink
from switch import PS, Flow, Link, Packet
from weights_switch import WeightsSetting


@dataclass(frozen=True)
class Storm:
    """A host that pauses a class from one time until another, ps."""

    host: str
    priority: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class WatchdogSetting(DynamicSetting):
    """What the watchdog is told, ps."""

    storms: tuple[Storm, ...] = ()
    detect_after: int
    restore_after: int
    poll: int
    drops: bool = True


class GuardedLink(ToldWeightedLink):
    """An output whose classes can be stopped, and which the watchdog looks at."""

    network: WatchdogNetwork

    def guard(self) -> None:
        self.stopped: set[int] = set()
        self.storm: set[int] = set()
        self.stopped_since: dict[int, int] = {}
        self.free_since: dict[int, int] = {}

    def choose(self) -> int | None:
        for priority in sorted(self.waiting, reverse=True):
            passes = priority in self.storm and not self.network.w.drops
            if self.waiting[priority] and (priority not in self.stopped or passes):
                return priority
        return None

    def stop(self, priority: int) -> None:
        if priority not in self.stopped:
            self.stopped.add(priority)
            self.stopped_since[priority] = self.world.now

    def go(self, priority: int) -> None:
        self.stopped.discard(priority)
        self.free_since[priority] = self.world.now
        self.wake()

    def wake(self) -> None:
        if self.sending is None:
            self.begin()

    def poll(self) -> None:
        """Do what the watchdog does each polling time."""
        now, w = self.world.now, self.network.w
        for priority, waiting in self.waiting.items():
            stopped = priority in self.stopped
            if priority in self.storm:
                if not stopped and now - self.free_since[priority] >= w.restore_after:
                    self.storm.remove(priority)
            elif stopped and waiting and now - self.stopped_since[priority] >= w.detect_after:
                self.storm.add(priority)
                self.network.storms += 1
                while w.drops and waiting:
                    self.network.discard(waiting.popleft())
        self.wake()


class WatchdogNetwork(DynamicNetwork):
    """Hosts, the switch, and the flows."""

    def __init__(self, setting: WatchdogSetting, flows: Sequence[Flow]) -> None:
        self.w = setting
        self.guarded: list[GuardedLink] = []
        self.paused_at: dict[str, int] = {}
        super().__init__(setting, flows)
        self.discarded = self.storms = self.storm_frames = 0
        self.world.at(setting.poll, self.poll)
        for storm in setting.storms:
            self.world.at(storm.start, partial(self.storm_of, storm))

    def port(self, delay: int) -> Link:
        link = GuardedLink(self.world, self.w.rate_bps, delay, None, self.arrive)
        link.prepare(WeightsSetting(self.w.delays), list(self.flows))
        link.network = self
        link.guard()
        self.guarded.append(link)
        return link

    @property
    def refresh(self) -> int:
        """Half of the longest pause, ps."""
        return 65_535 * 512 * PS // self.w.rate_bps // 2

    def pause(self, host: str, what: Callable[[], None]) -> None:
        super().pause(host, what)
        stop = self.paused_at[host] = self.world.now
        if self.paused[host]:
            self.world.at(stop + self.refresh, partial(self.pause_again, host, what, stop))

    def pause_again(self, host: str, what: Callable[[], None], stop: int) -> None:
        if self.paused_at[host] == stop:
            self.pause(host, what)

    def storm_of(self, storm: Storm) -> None:
        """Send a pause frame of a storm."""
        port, now = self.down[storm.host], self.world.now
        assert isinstance(port, GuardedLink)
        crossing = self.w.pause_bytes * 8 * PS // self.w.rate_bps + self.w.delays[storm.host]
        over = now >= storm.end
        what = partial(port.go if over else port.stop, storm.priority)
        self.world.at(now + crossing, what)
        self.storm_frames += 1
        if not over:
            self.world.at(min(now + self.refresh, storm.end), partial(self.storm_of, storm))

    def poll(self) -> None:
        for link in self.guarded:
            link.poll()
        self.world.at(self.world.now + self.w.poll, self.poll)

    def forward(self, packet: Packet) -> None:
        port, priority = self.down[packet.to], self.flows[packet.flow].priority
        assert isinstance(port, GuardedLink)
        if self.w.drops and priority in port.storm:
            self.discarded += 1
        else:
            super().forward(packet)

    def discard(self, packet: Packet) -> None:
        self.discarded += 1
        self.leave(packet)
