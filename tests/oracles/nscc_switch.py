"""NSCC of Ultra Ethernet on queue pairs through a switch that cuts packets, once more.

By the words of the specification as others quote them, and by the numbers of the consortium's
simulator: a window that a mark with a long delay cuts, that all else lets grow, and that becomes
what arrived where hardly anything does. Above `trim_switch.py`, which cuts packets that find no
room, with marks by a ramp as packets leave. No packet is taken for lost because others overtook it.
Readings where the sources leave a choice are the laboratory's. `tests/test_roce_reference.py` says
how close the two come.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor

from marking import Ramp
from roce_switch import QueuePair
from switch import PS, Link, Packet, Transfer, World
from trim_switch import CuttingLink, Head, TrimNetwork, TrimPair, TrimSetting, Wanted


@dataclass(frozen=True, kw_only=True)
class NsccSetting(TrimSetting):
    """Parameters: times in ps, shares as the specification has them."""

    ramp: Ramp
    network_rtt: int
    target: float = 0.75
    largest: float = 1.5
    alpha: float = 4.0
    fair: float = 5.0
    eta: float = 0.15
    fast: float = 0.25
    no_delay: int = 1_000_000
    gamma: float = 0.8
    max_md: float = 0.5
    mean_share: float = 0.0125
    adjust_packets: float = 8.0
    gate: int = 3
    threshold_targets: float = 4.0


class MarkingCutter(CuttingLink):
    """A port that cuts, and marks what leaves by what stays behind."""

    ramp: Ramp
    draw: random.Random

    def end(self) -> None:
        packet = self.sending
        assert packet is not None
        carries_marks = not isinstance(packet, Head) and not packet.is_ack
        if carries_marks and self.ramp.hits(self.octets - packet.octets, self.draw):
            self.sending = replace(packet, mark=True)
        super().end()


class NsccPair(TrimPair):
    """The sending end."""

    def __init__(self, setting: NsccSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.n = setting
        rate = setting.rate_bps
        ends = setting.delays[message.source] + setting.delays[message.to]
        # What the sender begins with leaves the octets of acknowledgements out.
        self.base = 2 * (8 * PS * setting.frame_bytes // rate + ends)
        network = rate * setting.network_rtt // (8 * PS)
        self.scale = network / 150_000
        self.late = setting.target * setting.network_rtt
        self.window = self.cap()
        self.mean = self.gain = 0.0
        self.since = self.seen = 0
        self.adjusted: int | None = None
        self.undelayed = 0
        self.fast = False
        self.cut_at: int | None = None
        self.judged_at: int | None = None
        self.achieved = 0
        self.lost_any = False
        self.pardon = self.pardoned = 0
        self.sent_at: dict[int, int] = {}
        self.acted = 0
        """How often quick adapt set the window."""

    def cap(self) -> float:
        bdp = self.n.rate_bps * self.base // (8 * PS)
        return max(self.n.largest * bdp, self.payload)

    def beyond(self) -> int:
        """Return the octets that came beyond the first missing packet."""
        return sum(self.octets(number, number + 1) for number in self.came if number > self.una)

    def flying(self) -> int:
        return self.octets(self.una, self.next) - self.beyond()

    def ready(self) -> bool:
        if self.recovery is not None and self.missing() is not None:
            return True
        fits = self.flying() <= floor(self.window - self.payload)
        return fits and QueuePair.ready(self)

    def take(self) -> int | None:
        number = super().take()
        if number is not None:
            self.sent_at[number] = self.world.now
        return number

    def clip(self) -> None:
        self.window = min(max(self.window, self.payload), self.cap())

    def news(self) -> int:
        """Return the octets that came since the last time."""
        total = self.octets(0, self.una) + self.beyond()
        new, self.seen = total - self.seen, total
        return new

    def heard(self, number: int, *, mark: bool) -> None:
        """Take the acknowledgement that answers a packet."""
        new, rtt = self.news(), self.world.now - self.sent_at[number]
        self.base = min(self.base, rtt)
        delay = rtt - self.base
        sample = 0.25 * self.base if delay > self.late and not mark else delay
        self.mean += self.n.mean_share * (sample - self.mean)
        self.since += new
        self.achieved += new
        self.pardoned += new
        if self.adapted(delay, bad=mark):
            return
        if not mark:
            self.grow(delay, new)
        elif delay >= self.late:
            self.shrink()
        self.clip()
        self.settle_gain()
        self.clip()

    def grow(self, delay: int, new: int) -> None:
        per_octet = self.payload * self.scale
        if delay >= self.late:
            self.gain += self.n.fair * per_octet * new
            return
        self.undelayed = self.undelayed + new if delay < self.n.no_delay else 0
        undelayed = delay < self.n.no_delay
        self.fast = undelayed and (self.fast or self.undelayed > self.window)
        if self.fast:
            self.window += self.n.fast * self.scale * new
        else:
            self.gain += self.n.alpha * per_octet / 12e6 * new * (self.late - delay)

    def shrink(self) -> None:
        self.undelayed, self.fast = 0, False
        rested = self.cut_at is None or self.world.now - self.cut_at > self.base
        if self.mean > self.late and rested:
            excess = (self.mean - self.late) / self.mean
            self.window *= max(1 - self.n.gamma * excess, self.n.max_md)
            self.cut_at = self.world.now

    def settle_gain(self) -> None:
        passed = None if self.adjusted is None else self.world.now - self.adjusted
        if self.since <= self.n.adjust_packets * self.payload and not (
            passed is None or passed > self.n.network_rtt
        ):
            return
        self.window += self.gain / self.window
        if passed is None or passed >= self.n.network_rtt:
            self.window += self.n.eta * self.payload * self.scale
            self.adjusted = self.world.now
        self.gain, self.since = 0.0, 0

    def adapted(self, delay: int, *, bad: bool) -> bool:
        """Judge what arrived, if it is time; return whether it was too little or is pardoned."""
        acts = self.pardoned < self.pardon and bad
        if not acts and (self.judged_at is None or self.world.now > self.judged_at):
            cause = self.lost_any or delay > self.n.threshold_targets * self.late
            little = self.achieved < self.cap() / 2**self.n.gate
            if self.judged_at is not None and cause and little:
                acts, self.lost_any = True, False
                self.acted += 1
                self.window = self.achieved
                self.clip()
                self.pardon, self.pardoned = self.flying(), 0
            self.achieved = 0
            self.judged_at = self.world.now + self.base + int(self.late)
        if acts:
            self.gain, self.since = 0.0, 0
        return acts

    def was_cut(self, number: int) -> None:
        """Take the word that only the head of a packet came."""
        self.news()
        octets = self.octets(number, number + 1)
        self.pardoned += octets
        self.mean += self.n.mean_share * (self.n.network_rtt - self.mean)
        self.lost_any = True
        if not self.adapted(0, bad=True):
            self.window -= octets
            self.clip()


class NsccNetwork(TrimNetwork):
    """Hosts, the switch, and the queue pairs under NSCC."""

    pair = NsccPair
    setting: NsccSetting

    def __init__(self, setting: NsccSetting, messages: Sequence[Transfer]) -> None:
        self.draw = random.Random(0)
        self.answered: list[deque[tuple[int, bool]]] = [deque() for _ in messages]
        super().__init__(setting, list(messages))

    def port(self, delay: int) -> Link:
        link = MarkingCutter(
            self.world, self.setting.rate_bps, delay, self.setting.queue_bytes, self.arrive
        )
        link.prepare(self.setting.head_bytes, self.setting.share)
        link.ramp, link.draw = self.setting.ramp, self.draw
        return link

    def arrive(self, packet: Packet) -> None:
        if not packet.is_ack:
            # Acknowledgements of a message come back in the order in which they were made.
            number = -1 if isinstance(packet, Head) else packet.number
            self.answered[packet.flow].append((number, packet.mark))
        super().arrive(packet)

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        assert isinstance(pair, NsccPair)
        number, mark = self.answered[packet.flow].popleft()
        if isinstance(packet, Wanted):
            pair.was_cut(packet.came)
        elif number >= 0:
            pair.heard(number, mark=mark)
