"""QCN through one switch whose messages travel back as frames, once more.

Hosts at one switch. Every port of the switch samples what is queued for its link, as IEEE 802.1Q
clause 30 has it, and answers a sample with a CNM. The CNM is a frame: it waits at the port towards
the source of the sampled frame behind what is queued there, or behind what is being sent if its
priority is above that of data, and crosses that link. The source hears it when its last octet is
there. The reading of a CNM's numbers is clause 33's: offset and growth in whole units of 64 octets,
rounded towards zero. Two readings are the laboratory's, taken from its code: how a
limiter takes a new rate in the midst of a wait; and that it is removed as it reaches the line rate,
because what a host has still to send waits in no queue behind it.

Nothing is drawn, and rates are whole bit/s, so that every instant is exact. The laboratory must say
the same (`tests/test_feedback_reference.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from switch import PS, Link, Packet, Setting, Transfer, World


@dataclass(frozen=True, kw_only=True)
class FeedbackSetting(Setting):
    """Parameters of QCN, as deck 001 has them but for shorter cycles. Times in ps."""

    cnm_first: bool
    count_discarded: bool = False
    """Whether frames that find a queue full count, and may be the sample."""
    frame_bytes: int = 1500
    cnm_bytes: int = 64
    set_point: int = 33_000
    sample_base: int = 30_000
    byte_reset: int = 30_000
    time_reset: int = 200_000_000
    threshold: int = 5
    additive_bps: int = 5_000_000
    hyper_bps: int = 50_000_000
    least_bps: int = 10_000_000


@dataclass(frozen=True)
class Cnm(Packet):
    """A congestion notification message: `number` is the feedback."""

    offset: int = 0


@dataclass(frozen=True)
class Message:
    """A CNM as its port makes it: ps, flow, feedback, offset and growth in octets."""

    at: int
    flow: int
    fb: int
    offset: int
    growth: int


def whole_units(octets: int) -> int:
    """Return what a CNM can say of a number of octets."""
    return octets // 64 * 64 if octets > 0 else -(-octets // 64 * 64)


SHARES = (150, 75, 50, 37.5, 30, 25, 21.5, 18.5)
"""Octets between samples, by the upper three bits of feedback, of 150."""


class Port(Link):
    """A port of the switch: its congestion point, and CNMs that may go before data."""

    cnm_first: bool
    left: float
    before: int = 0

    def send(self, packet: Packet) -> None:
        if not isinstance(packet, Cnm) or not self.cnm_first or len(self.queue) < 2:
            super().send(packet)
            return
        ahead = sum(isinstance(waiting, Cnm) for waiting in list(self.queue)[1:])
        self.queue.insert(1 + ahead, packet)
        self.octets += packet.octets

    def length(self) -> int:
        """Return the octets of the queue that data waits in."""
        other = sum(p.octets for p in self.queue if isinstance(p, Cnm)) if self.cnm_first else 0
        return self.octets - other

    def sample(self, s: FeedbackSetting, octets: int) -> tuple[int, int, int] | None:
        """Count a frame. At a sample return feedback, offset and growth of what is queued."""
        self.left -= octets
        if self.left >= 0:
            return None
        length = self.length()
        offset, growth = s.set_point - length, length - self.before
        self.before = length
        fb = min(63 * max(2 * growth - offset, 0) // (5 * s.set_point), 63)
        self.left = int(s.sample_base * SHARES[fb // 8] / 150)
        return fb, offset, growth


class Source:
    """A host's flow and its limiter."""

    def __init__(self, setting: FeedbackSetting, world: World, flow: Transfer, index: int) -> None:
        self.s, self.world, self.flow, self.index = setting, world, flow, index
        self.left = 0
        self.next = 0
        self.last: int | None = None
        self.limited = False
        self.rate = self.target = setting.rate_bps
        self.octets_left = 0
        self.byte_stage = self.time_stage = 0
        self.timer: int | None = None
        self.link: Link

    def start(self) -> None:
        self.left = self.flow.size
        self.serve()

    def wait(self, octets: int) -> int:
        """Return how long octets take at the rate, rounded up."""
        return -(-octets * 8 * PS // self.rate)

    def serve(self) -> None:
        """Send a frame, if the link is free and the limiter lets it pass."""
        if self.left == 0 or self.link.queue:
            return
        now = self.world.now
        if now < self.next:
            self.world.at(self.next, self.serve, World.SERVICE)
            return
        octets = min(self.left, self.s.frame_bytes)
        self.left -= octets
        self.last = now
        self.link.send(Packet(self.index, self.flow.to, octets, 0, is_ack=False))
        if self.limited:
            self.next = now + self.wait(octets)
            self.count(octets)

    def count(self, octets: int) -> None:
        """The byte counter."""
        self.octets_left -= octets
        if self.octets_left < 0:
            self.byte_stage += 1
            self.octets_left = self.s.byte_reset // self.shorter(self.byte_stage)
            self.increase()

    def shorter(self, stage: int) -> int:
        return 2 if stage >= self.s.threshold else 1

    def hear(self, fb: int, offset: int) -> None:
        """A CNM has arrived."""
        first = not self.limited
        if first:
            if offset >= 0:
                return
            self.limited = True
            self.octets_left = self.s.byte_reset
        if self.byte_stage != 0:
            self.target = self.rate
            self.octets_left = self.s.byte_reset
        self.byte_stage = self.time_stage = 0
        cut = self.rate * max(128 - fb, 64) // 128
        self.set_rate(max(cut, self.s.least_bps), first=first)
        self.start_timer(self.s.time_reset)

    def start_timer(self, after: int) -> None:
        due = self.timer = self.world.now + after
        self.world.at(due, lambda: self.on_timer(due))

    def on_timer(self, due: int) -> None:
        if due != self.timer:
            return
        self.time_stage += 1
        self.start_timer(self.s.time_reset // self.shorter(self.time_stage))
        self.increase()

    def increase(self) -> None:
        past = [stage - self.s.threshold for stage in (self.byte_stage, self.time_stage)]
        if 1 in (self.byte_stage, self.time_stage) and self.target > 10 * self.rate:
            self.target //= 8
        elif min(past) > 0:
            self.target += self.s.hyper_bps * min(past)
        elif max(past) > 0:
            self.target += self.s.additive_bps
        rate = (self.rate + self.target) // 2
        if rate < self.s.rate_bps:
            self.set_rate(rate)
        else:
            self.release()

    def release(self) -> None:
        """At line rate nothing is limited any more."""
        self.limited, self.timer = False, None
        self.rate = self.target = self.s.rate_bps
        self.byte_stage = self.time_stage = 0
        self.next = self.world.now
        self.serve()

    def set_rate(self, rate: int, *, first: bool = False) -> None:
        """What is left of a wait takes as many bits at the new rate."""
        now, old = self.world.now, self.rate
        self.rate = rate
        if first and self.last is not None:
            self.next = max(now, self.last + self.wait(self.s.frame_bytes))
        elif self.next > now:
            self.next = now - (-(self.next - now) * old // rate)
        self.serve()


class Network:
    """Hosts, the switch, and at most one flow from a host."""

    def __init__(self, setting: FeedbackSetting, flows: list[Transfer]) -> None:
        self.s, self.flows, self.world = setting, flows, World()
        self.messages: list[Message] = []
        self.drops = 0
        self.heard: list[tuple[int, int]] = []
        self.up: dict[str, Link] = {}
        self.down: dict[str, Port] = {}
        rate = setting.rate_bps
        for host, delay in setting.delays.items():
            self.up[host] = Link(self.world, rate, delay, None, self.forward)
            port = Port(self.world, rate, delay, setting.queue_bytes, self.arrive)
            port.cnm_first, port.left = setting.cnm_first, setting.sample_base
            self.down[host] = port
        self.sources = []
        self.missing = [flow.size for flow in flows]
        self.done: list[int | None] = [None for _ in flows]
        for index, flow in enumerate(flows):
            source = Source(setting, self.world, flow, index)
            source.link = self.up[flow.source]
            source.link.idle = source.serve
            self.sources.append(source)
            self.world.at(flow.start, source.start)

    def forward(self, packet: Packet) -> None:
        port = self.down[packet.to]
        before = port.octets
        port.send(packet)
        if port.octets == before:
            self.drops += 1
            if not self.s.count_discarded:
                return
        sample = port.sample(self.s, packet.octets)
        if sample is None or sample[0] == 0:
            return
        fb, offset, growth = sample[0], whole_units(sample[1]), whole_units(sample[2])
        self.messages.append(Message(self.world.now, packet.flow, fb, offset, growth))
        to = self.flows[packet.flow].source
        cnm = Cnm(packet.flow, to, self.s.cnm_bytes, fb, is_ack=True, offset=offset)
        self.down[to].send(cnm)

    def arrive(self, packet: Packet) -> None:
        flow = packet.flow
        if isinstance(packet, Cnm):
            self.heard.append((self.world.now, flow))
            self.sources[flow].hear(packet.number, packet.offset)
            return
        self.missing[flow] -= packet.octets
        if self.missing[flow] == 0:
            self.done[flow] = self.world.now

    def run(self, until: int) -> list[int | None]:
        """Return when the last octet of each flow arrived, ps."""
        self.world.run(until)
        return self.done
