"""TCP flows of finite size through one switch, once more, from RFC 5681, 6298 and 6582, and BIC.

Hosts at one switch with a drop-tail queue at each port; every segment and every acknowledgement is
a frame. It says when the last octet of each flow is there in order, how often a
sender retransmitted, and how often its timer ran out. The laboratory must say the same
(`tests/test_tcp_reference.py`).

Readings where the RFCs leave a choice are the laboratory's: octets are counted in congestion
avoidance, a window beyond the receiver's does not grow, a fast retransmission starts the timer
anew, a round trip is timed from the hand-over to the network card, nothing keeps a second recovery
from following the first, timeouts are whole multiples of the timer's granularity, and there is no
limited transmit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from switch import PS, Link, Packet, Result, Setting, Transfer, World


@dataclass(frozen=True, kw_only=True)
class TcpSetting(Setting):
    """What the ends of connections are told. Times in ps."""

    frame_bytes: int = 1500
    header_bytes: int = 40
    ack_bytes: int = 64
    first_window: int = 3
    most_bytes: int = 65_536
    first_rto: int = 5_000_000_000
    least_rto: int = 5_000_000_000
    most_rto: int = 60 * PS
    granularity: int = 1_000_000_000
    ack_delay: int = 0
    flavour: str = "reno"


@dataclass
class Receiver:
    """RFC 5681, 4.2; numbers count segments."""

    segments: int
    here: set[int] = field(default_factory=set)
    expected: int = 0
    held: int | None = None

    def take(self, number: int) -> bool:
        """Take a segment. Return whether it must be acknowledged at once."""
        in_order = number == self.expected
        gap = any(n > self.expected for n in self.here)
        self.here.add(number)
        while self.expected in self.here:
            self.here.discard(self.expected)
            self.expected += 1
        return not in_order or gap


class Sender:
    """Slow start, congestion avoidance, fast retransmit, fast recovery, and the timer."""

    def __init__(
        self, setting: TcpSetting, world: World, flow: Transfer, send: Callable[[int], None]
    ):
        self.s, self.world, self.flow, self.send = setting, world, flow, send
        self.result = Result()
        self.mss = setting.frame_bytes - setting.header_bytes
        self.segments = -(-flow.size // self.mss)
        self.una = self.next = self.highest = 0
        self.cwnd = setting.first_window * self.mss
        self.ssthresh: float = float("inf")
        self.expired: int | None = None
        self.duplicates = 0
        self.recovering = False
        self.counted = 0
        self.srtt: int | None = None
        self.rttvar = 0
        self.rto = setting.first_rto
        self.timed: tuple[int, int] | None = None
        self.alarm: int | None = None

    def octets(self, first: int, end: int) -> int:
        """Return the octets of segments `first` to `end` - 1."""
        size = self.flow.size
        return min(end * self.mss, size) - min(first * self.mss, size)

    def flight(self) -> int:
        return self.octets(self.una, self.next)

    def halve(self) -> None:
        self.ssthresh = max(self.flight() // 2, 2 * self.mss)
        self.counted = 0

    def transmit(self, number: int) -> None:
        if number < self.highest:
            self.result.retransmitted += 1
            if self.timed is not None and self.timed[0] >= number:
                self.timed = None  # Karn: what was sent again is not timed.
        elif self.timed is None:
            self.timed = (number, self.world.now)
        self.highest = max(self.highest, number + 1)
        if self.alarm is None:
            self.start_timer()
        self.send(number)

    def fill(self) -> None:
        window = min(self.cwnd, self.s.most_bytes)
        while self.next < self.segments and self.octets(self.una, self.next + 1) <= window:
            self.next += 1
            self.transmit(self.next - 1)

    def start_timer(self) -> None:
        due = self.alarm = self.world.now + self.rto
        self.world.at(due, lambda: self.on_timer(due))

    def on_timer(self, due: int) -> None:
        if self.alarm != due:
            return
        self.result.timeouts += 1
        if self.expired != self.una:  # RFC 5681, 3.1: held constant when the same segment expires.
            self.halve()
        self.expired = self.una
        self.cwnd = self.mss
        self.rto = min(2 * self.rto, self.s.most_rto)
        self.next = self.una
        self.duplicates, self.recovering = 0, False
        self.timed = self.alarm = None
        self.fill()

    def on_ack(self, number: int) -> None:
        if number > self.una:
            self.on_new(number)
        elif self.next > self.una:
            self.on_duplicate()
        self.fill()

    def on_new(self, number: int) -> None:
        if self.timed is not None and number > self.timed[0]:
            self.measure(self.world.now - self.timed[1])
            self.timed = None
        octets = self.octets(self.una, number)
        self.una = number
        self.next = max(self.next, number)
        self.duplicates = 0
        if self.recovering:
            if self.repair(number, octets):
                return
            self.recovering = False
        else:
            self.cwnd = min(self.grown(octets), max(self.cwnd, self.s.most_bytes))
        self.alarm = None
        if self.una < self.next:
            self.start_timer()

    def repair(self, number: int, octets: int) -> bool:
        """Take a new acknowledgement in recovery. Return whether recovery goes on."""
        self.cwnd = int(self.ssthresh)
        return False

    def grown(self, octets: int) -> int:
        if self.cwnd < self.ssthresh:
            return self.cwnd + min(octets, self.mss)
        self.counted += octets
        if self.counted < self.cwnd:
            return self.cwnd
        self.counted -= self.cwnd
        return self.cwnd + self.mss

    def on_duplicate(self) -> None:
        self.duplicates += 1
        if self.recovering:
            self.cwnd += self.mss
        elif self.duplicates == 3 and self.may_recover():
            self.halve()
            self.recovering = True
            self.start_timer()
            self.transmit(self.una)
            self.cwnd = int(self.ssthresh) + 3 * self.mss

    def may_recover(self) -> bool:
        return True

    def measure(self, rtt: int) -> None:
        if self.srtt is None:
            self.srtt, self.rttvar = rtt, rtt // 2
        else:
            self.rttvar = (3 * self.rttvar + abs(self.srtt - rtt)) // 4
            self.srtt = (7 * self.srtt + rtt) // 8
        rto = self.srtt + max(self.s.granularity, 4 * self.rttvar)
        rto = -(-max(rto, self.s.least_rto) // self.s.granularity) * self.s.granularity
        self.rto = min(rto, self.s.most_rto)


class NewReno(Sender):
    """RFC 6582: recovery lasts until everything sent before it has arrived."""

    def __init__(
        self, setting: TcpSetting, world: World, flow: Transfer, send: Callable[[int], None]
    ):
        super().__init__(setting, world, flow, send)
        self.recover = -1
        self.first_partial = True

    def on_timer(self, due: int) -> None:
        if self.alarm == due:
            self.recover = self.highest
        super().on_timer(due)

    def may_recover(self) -> bool:
        if self.una <= self.recover:
            return False
        self.recover, self.first_partial = self.highest, True
        return True

    def repair(self, number: int, octets: int) -> bool:
        if number >= self.recover:
            self.cwnd = int(min(self.ssthresh, max(self.flight(), self.mss) + self.mss))
            return False
        self.transmit(self.una)
        self.cwnd = max(self.cwnd - octets, 0) + self.mss
        if self.first_partial:
            self.start_timer()
        self.first_partial = False
        return True


class Bic(NewReno):
    """Binary increase: Xu, Harfoush, Rhee, INFOCOM 2004, from its pseudo code.

    Windows are segments here. Readings are the laboratory's: slow start comes first, an
    acknowledgement of part of a segment counts as that part of one, a search goes S_min at least,
    and a loss counts as earlier than the last one if its window is smaller (the pseudo code has put
    a default maximum in the place of that of the last loss by the time that a window is larger).
    """

    S_MAX = 32.0
    S_MIN = 0.01
    BETA = 0.125
    LOW_WINDOW = 14

    def __init__(
        self, setting: TcpSetting, world: World, flow: Transfer, send: Callable[[int], None]
    ):
        super().__init__(setting, world, flow, send)
        self.max_win: float | None = None
        self.slow_start: tuple[float, float] | None = None
        self.fraction = 0.0

    def halve(self) -> None:
        super().halve()
        self.slow_start, self.fraction = None, 0.0
        window = self.cwnd / self.mss
        if window < self.LOW_WINDOW:
            return
        earlier = self.max_win is not None and window < self.max_win
        self.ssthresh = self.cwnd * (1 - self.BETA)
        self.max_win = window * (2 - self.BETA) / 2 if earlier else window

    def grown(self, octets: int) -> int:
        if self.cwnd < max(self.ssthresh, self.LOW_WINDOW * self.mss):
            return super().grown(octets)
        cwnd = (self.cwnd + self.fraction) / self.mss
        cwnd += self.step(cwnd) * octets / self.mss / cwnd
        if self.max_win is not None and cwnd >= self.max_win:
            self.probe(cwnd)
        whole = int(cwnd * self.mss)
        self.fraction = cwnd * self.mss - whole
        return whole

    def step(self, cwnd: float) -> float:
        """Return how far the window goes in a round trip: S_max where no maximum is known."""
        if self.slow_start is not None:
            return self.slow_start[0]
        if self.max_win is None:
            return self.S_MAX
        return min(max((self.max_win - cwnd) / 2, self.S_MIN), self.S_MAX)

    def probe(self, cwnd: float) -> None:
        """Beyond the maximum: a segment in a round trip, then two, four and so on up to S_max."""
        if self.slow_start is None:
            self.slow_start = (1.0, cwnd + 1.0)
        elif cwnd >= self.slow_start[1]:
            step = min(2 * self.slow_start[0], self.S_MAX)
            self.slow_start = (step, cwnd + step)


FLAVOURS = {"reno": Sender, "newreno": NewReno, "bic": Bic}


class Network:
    """Hosts, the switch, and the connections between the hosts."""

    def __init__(self, setting: TcpSetting, flows: list[Transfer]) -> None:
        self.setting, self.flows, self.world = setting, flows, World()
        rate, room = setting.rate_bps, setting.queue_bytes
        self.up: dict[str, Link] = {}
        self.down: dict[str, Link] = {}
        for host, delay in setting.delays.items():
            self.up[host] = Link(self.world, rate, delay, None, self.forward)
            self.down[host] = Link(self.world, rate, delay, room, self.arrive)
        self.senders: list[Sender] = []
        self.receivers: list[Receiver] = []
        for index, flow in enumerate(flows):
            sender = FLAVOURS[setting.flavour](
                setting, self.world, flow, partial(self.segment, index)
            )
            self.senders.append(sender)
            self.receivers.append(Receiver(sender.segments))
            self.world.at(flow.start, sender.fill)

    def forward(self, packet: Packet) -> None:
        self.down[packet.to].send(packet)

    def segment(self, index: int, number: int) -> None:
        flow, mss = self.flows[index], self.senders[index].mss
        payload = min(mss, flow.size - number * mss)
        octets = payload + self.setting.header_bytes
        self.up[flow.source].send(Packet(index, flow.to, octets, number, is_ack=False))

    def acknowledge(self, index: int) -> None:
        flow, receiver = self.flows[index], self.receivers[index]
        receiver.held = None
        octets, number = self.setting.ack_bytes, receiver.expected
        self.up[flow.to].send(Packet(index, flow.source, octets, number, is_ack=True))

    def arrive(self, packet: Packet) -> None:
        index = packet.flow
        if packet.is_ack:
            self.senders[index].on_ack(packet.number)
            return
        receiver, result = self.receivers[index], self.senders[index].result
        at_once = receiver.take(packet.number)
        if receiver.expected == receiver.segments and result.done is None:
            result.done = self.world.now
        if at_once or self.setting.ack_delay == 0 or receiver.held is not None:
            self.acknowledge(index)
        else:
            due = receiver.held = self.world.now + self.setting.ack_delay
            self.world.at(due, lambda: self.acknowledge(index) if receiver.held == due else None)


def run(setting: TcpSetting, flows: list[Transfer], until: int) -> list[Result]:
    """Return what became of each flow by `until`, ps."""
    network = Network(setting, flows)
    network.world.run(until)
    return [sender.result for sender in network.senders]
