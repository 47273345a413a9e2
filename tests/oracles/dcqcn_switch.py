"""DCQCN on queue pairs through one switch, once more, from its paper.

A port marks each packet that leaves more than a threshold behind. The receiver answers a marked
packet with a CNP, at most one in 50 us; it takes the propagation delay back. CNPs cut the sender's
rate; a timer and a byte counter raise it. Readings where the paper leaves a choice are the
laboratory's: each CNP sets the target, fast recovery ends at the fifth event, and the byte counter
begins each cycle at zero.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from marking import MarksLeaving, step
from roce_switch import Network, PacedPair, RoceSetting
from switch import Link, Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class DcqcnSetting(RoceSetting):
    """Parameters of the algorithm; times in ps."""

    threshold: int
    cnp_interval: int = 50_000_000
    alpha_period: int = 55_000_000
    timer: int = 55_000_000
    byte_counter: int = 100_000
    fast_recovery: int = 5
    g: float = 1 / 256
    alpha: float = 1.0
    """What alpha begins with."""
    additive_bps: int = 40_000_000
    hyper_bps: int = 200_000_000
    least_bps: int = 100_000_000


class DcqcnPair(PacedPair):
    """The sending end with its timer, byte counter and alpha."""

    def __init__(self, setting: DcqcnSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.d = setting
        self.target = self.rate
        self.alpha = setting.alpha
        self.ticks = self.cycles = self.counted = 0
        self.timer_due = self.alpha_due = 0

    def take(self) -> int | None:
        number = super().take()
        if number is not None and self.limited:
            self.counted += self.frame(number)
            if self.counted >= self.d.byte_counter:
                self.counted = 0
                self.cycles += 1
                self.increase()
        return number

    def set_rate(self, rate: int) -> None:
        super().set_rate(max(min(rate, self.line), self.d.least_bps))

    def on_cnp(self) -> None:
        self.target = self.rate
        self.set_rate(int(self.rate * (1 - self.alpha / 2)))
        self.alpha = (1 - self.d.g) * self.alpha + self.d.g
        self.ticks = self.cycles = self.counted = 0
        self.start_ticks()
        self.start_alpha()

    def start_ticks(self) -> None:
        due = self.timer_due = self.world.now + self.d.timer
        self.world.at(due, lambda: self.on_tick(due))

    def start_alpha(self) -> None:
        due = self.alpha_due = self.world.now + self.d.alpha_period
        self.world.at(due, lambda: self.on_alpha(due))

    def on_tick(self, due: int) -> None:
        if due == self.timer_due and self.limited:
            self.ticks += 1
            self.start_ticks()
            self.increase()

    def on_alpha(self, due: int) -> None:
        if due == self.alpha_due:
            self.alpha *= 1 - self.d.g
            self.start_alpha()

    def increase(self) -> None:
        most, least = max(self.ticks, self.cycles), min(self.ticks, self.cycles)
        if least > self.d.fast_recovery:
            self.target += self.d.hyper_bps * (least - self.d.fast_recovery)
        elif most >= self.d.fast_recovery:
            self.target += self.d.additive_bps
        self.set_rate((self.rate + self.target) // 2)


class DcqcnEnds(Network):
    """Receivers that tell senders of marks."""

    pair = DcqcnPair

    def __init__(self, setting: DcqcnSetting, messages: Sequence[Transfer]) -> None:
        self.d = setting
        super().__init__(setting, messages)
        self.told: list[int | None] = [None] * len(messages)
        self.cnps = 0

    def way_back(self, index: int) -> int:
        """Return how long a CNP travels, ps."""
        message, delays = self.messages[index], self.setting.delays
        return delays[message.to] + delays[message.source]

    def arrive(self, packet: Packet) -> None:
        super().arrive(packet)
        if packet.mark:
            index = packet.flow
            last = self.told[index]
            if last is None or self.world.now >= last + self.d.cnp_interval:
                self.told[index] = self.world.now
                self.cnps += 1
                pair = self.pairs[index]
                if isinstance(pair, DcqcnPair):
                    self.world.at(self.world.now + self.way_back(index), pair.on_cnp)


class DcqcnNetwork(DcqcnEnds):
    """Hosts, the switch, and the queue pairs under DCQCN."""

    def port(self, delay: int) -> Link:
        link = MarksLeaving(self.world, self.d.rate_bps, delay, self.d.queue_bytes, self.arrive)
        link.ramp, link.draw = step(self.d.threshold), random.Random()
        return link
