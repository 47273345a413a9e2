"""Swift on queue pairs through a switch, once more, by Falcon's words and its simulator's numbers.

The round-trip time of each packet is held against a target: a base, something for each switch, and
more the smaller the window is. A shorter one adds a packet a window, a longer one takes a share of
its excess off, once a round trip. Below one packet in flight, packets leave with a gap. Readings
where the sources leave a choice are the laboratory's: whole packets of the window are in flight,
one at least, and a gap counts from the start of a packet with the window of that time. Nothing is
lost here. `tests/test_roce_reference.py` says how close the two come.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from roce_switch import Network, QueuePair, RoceSetting
from switch import Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class SwiftSetting(RoceSetting):
    """Parameters: times in ps, windows in packets."""

    base: int = 25_000_000
    per_hop: int = 1_000_000
    scaling: int = 100_000_000
    ranging: tuple[float, float] = (0.1, 256.0)
    step: float = 1.0
    mdf: float = 0.8
    most_cut: float = 0.5
    bounds: tuple[float, float] = (0.01, 256.0)
    first: float = 32.0


class SwiftPair(QueuePair):
    """The sending end."""

    def __init__(self, setting: SwiftSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.w = setting
        self.window = setting.first
        self.gone: list[int] = []
        self.cut_at: int | None = None
        self.free_at = 0
        self.rtt = 0

    def ready(self) -> bool:
        flying = self.octets(self.una, self.next)
        free = self.world.now >= self.free_at
        return free and flying < max(int(self.window), 1) * self.payload and super().ready()

    def take(self) -> int | None:
        number = super().take()
        if number is not None:
            self.gone.append(self.world.now)
            if self.window < 1:
                self.free_at = self.world.now + int(self.rtt / self.window)
                self.world.at(self.free_at, lambda: self.wake(), World.SERVICE)
        return number

    def target(self) -> float:
        """Return the target delay of one switch and the window, ps."""
        low, high = self.w.ranging
        alpha = self.w.scaling / (1 / sqrt(low) - 1 / sqrt(high))
        more = alpha / sqrt(self.window) - alpha / sqrt(high)
        return self.w.base + self.w.per_hop + min(max(more, 0), self.w.scaling)

    def hear(self, number: int) -> None:
        """Take the acknowledgement of the packet before a number."""
        now = self.world.now
        delay = self.rtt = now - self.gone[number - 1]
        target, window = self.target(), self.window
        if delay < target:
            window += self.w.step / window if window >= 1 else self.w.step
        elif self.cut_at is None or now - self.cut_at >= delay:
            self.cut_at = now
            window *= 1 - min(self.w.mdf * (delay - target) / delay, self.w.most_cut)
        self.window = min(max(window, self.w.bounds[0]), self.w.bounds[1])


class SwiftNetwork(Network):
    """Hosts, the switch, and the queue pairs under Swift."""

    pair = SwiftPair

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        assert isinstance(pair, SwiftPair)
        pair.hear(packet.number)
