"""A switch whose memory is shared by dynamic thresholds, once more: queues, groups, headroom.

By the words of SAI and of Choudhury and Hahne: an input has its reserve, then a part of what is
free; so has an output queue of a class that nothing stops. What goes beyond at an input that is
stopped is headroom, of its own or from a pool that all draw on; what goes beyond at another is
lost. Each host sends one flow in one class, and an output sends the highest class first. The
laboratory must say the same (`tests/test_pause_reference.py`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pause_switch import Network, PauseSetting, SharedMemory
from switch import Link
from weights_switch import WeightedLink, WeightsSetting


@dataclass(frozen=True, kw_only=True)
class DynamicSetting(PauseSetting):
    """A shared memory with numbers of its own; an alpha is two to the power of an exponent."""

    shared_bytes: int | None = 300_000
    reserve: int = 2000
    headroom: int = 12_000
    pool: int | None = None
    """Headroom that all inputs draw on; `None` if each has its own."""
    xon: int = 0
    xon_offset: int = 5000
    exponent: int = 0
    queue_exponent: int | None = None
    cell: int = 1
    stopped: tuple[int, ...] = (0,)
    """Classes that the switch stops."""


class DynamicMemory(SharedMemory):
    """The memory; an input stands for a priority group, as each has one class."""

    def __init__(self, setting: DynamicSetting, classes: dict[str, int]) -> None:
        self.setting, self.classes = setting, classes
        self.RESERVE, self.XON_OFFSET = setting.reserve, setting.xon_offset
        delays = setting.delays
        self.room = {host: setting.headroom * self.may_stop(host) for host in delays}
        self.pool = setting.pool
        used = set(classes.values())
        stopped = len(used & set(setting.stopped))
        room = setting.headroom * stopped * len(delays)
        if stopped and self.pool is not None:
            room = self.pool
        kept = room + setting.reserve * len(used) * len(delays)
        self.shared = (setting.shared_bytes or 0) - kept
        self.used = 0
        self.own = dict.fromkeys(delays, 0)
        self.headroom = dict.fromkeys(delays, 0)
        self.queue: Counter[tuple[str, int]] = Counter()

    def may_stop(self, source: str) -> bool:
        return self.classes.get(source) in self.setting.stopped

    def cells(self, octets: int) -> int:
        """Return what octets take of the memory."""
        return -(-octets // self.setting.cell) * self.setting.cell

    def limit(self, source: str) -> int:
        return int((self.shared - self.used) * 2.0**self.setting.exponent)

    def fits_queue(self, source: str, octets: int, to: str) -> bool:
        exponent = self.setting.queue_exponent
        if exponent is None or self.may_stop(source):
            return True
        limit = (self.shared - self.used) * 2.0**exponent
        return self.queue[to, self.classes[source]] + octets <= limit

    def fits_headroom(self, source: str, octets: int) -> bool:
        if octets + self.headroom[source] > self.room[source]:
            return False
        return self.pool is None or octets + sum(self.headroom.values()) <= self.pool

    def take(self, source: str, octets: int, to: str) -> bool:
        octets = self.cells(octets)
        fits_queue = self.fits_queue(source, octets, to)
        beyond = max(self.own[source] + octets - self.RESERVE, 0)
        wanted = min(octets, beyond)
        if wanted == 0 or (
            fits_queue and beyond <= self.limit(source) and wanted <= self.shared - self.used
        ):
            self.own[source] += octets
            self.used += wanted
        elif not self.fits_headroom(source, octets):
            return False
        else:
            self.headroom[source] += octets
        self.queue[to, self.classes[source]] += octets
        return True

    def free(self, source: str, octets: int, to: str) -> None:
        octets = self.cells(octets)
        self.queue[to, self.classes[source]] -= octets
        super().free(source, octets, to)

    def stops(self, source: str) -> bool:
        return self.may_stop(source) and super().stops(source)

    def goes(self, source: str) -> bool:
        low = self.headroom[source] == 0 and self.beyond(source) <= self.setting.xon
        return low or super().goes(source)


class ToldWeightedLink(WeightedLink):
    """An output with a queue for each class that tells when a frame has left."""

    network: DynamicNetwork

    def end(self) -> None:
        packet = self.queue[0]
        super().end()
        self.network.leave(packet)


class DynamicNetwork(Network):
    """Hosts, the switch, and the flows."""

    setting: DynamicSetting

    def memory_of(self, setting: PauseSetting) -> DynamicMemory:
        return DynamicMemory(self.setting, {flow.source: flow.priority for flow in self.flows})

    def port(self, delay: int) -> Link:
        link = ToldWeightedLink(self.world, self.setting.rate_bps, delay, None, self.arrive)
        link.prepare(WeightsSetting(self.setting.delays), list(self.flows))
        link.network = self
        return link
