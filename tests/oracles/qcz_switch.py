"""Congestion isolation over two switches, once more (IEEE 802.1Qcz).

Hosts stand at two switches, and nothing repairs what is lost. Each output of a switch has a
monitored queue and behind it a congesting one, which is another traffic class. A frame that makes
its queue longer than a threshold has its flow isolated: what comes of it later joins the congesting
queue, where a frame waits until those of its flow have left the monitored one. The switch tells the
other switch, if the frame came from there and out of the monitored queue; that isolates the flow,
too. Each switch pauses its inputs by class, between two watermarks. When the congesting queue has
been empty for a time, its flows are as others. Written from the managed objects of the standard and
the readings that the scheme's page names; `tests/test_qcz_reference.py` says that both agree to the
picosecond.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pause_switch import Stoppable
from switch import PS, Flow, FlowNetwork, Link, Packet, Setting, World

MONITORED, CONGESTING = 3, 2
PAUSE = 64
"""Octets of a pause frame."""
OTHER = {"s": "t", "t": "s"}


@dataclass(frozen=True, kw_only=True)
class QczSetting(Setting):
    """Times in ps; watermarks as high as this pause nothing."""

    queue_bytes: int | None = None
    at: dict[str, str] = field(default_factory=dict)
    """The switch of each host: s or t."""
    trunk_bps: int = 40_000_000_000
    trunk_delay: int = 1_500_000
    threshold: int = 20_000
    most_told: int = 3
    interval: int = 10_000_000
    message_bytes: int = 96
    most_streams: int = 1024
    told_life: int = PS
    local_life: int = 100_000_000
    high_bytes: int = 1_000_000
    low_bytes: int = 900_000


@dataclass(frozen=True)
class Classed(Packet):
    """A frame with its class on the link that it came over, and that link's name at the node."""

    tc: int = MONITORED
    via: str = ""


@dataclass
class Stream:
    """An isolated flow."""

    created: int
    local: bool = False
    told_of: bool = False
    told: int = 0
    last_told: int | None = None


class Streams:
    """The isolated flows of a port, each with a timer while the congesting queue is empty."""

    def __init__(self, setting: QczSetting, world: World) -> None:
        self.s, self.world = setting, world
        self.table: dict[int, Stream] = {}
        self.empty_since: int | None = 0

    def isolate(self, flow: int, *, local: bool) -> None:
        if flow not in self.table:
            if len(self.table) >= self.s.most_streams:
                return
            self.table[flow] = Stream(self.world.now)
        stream = self.table[flow]
        stream.local |= local
        stream.told_of |= not local
        self.arm(flow)

    def on_filled(self) -> None:
        self.empty_since = None

    def on_empty(self) -> None:
        self.empty_since = self.world.now
        for flow in self.table:
            self.arm(flow)

    def due(self, flow: int) -> int | None:
        stream = self.table.get(flow)
        if stream is None or self.empty_since is None:
            return None
        life = self.s.told_life if stream.told_of else self.s.local_life
        return max(self.empty_since, stream.created) + life

    def arm(self, flow: int) -> None:
        due = self.due(flow)
        if due is not None:
            self.world.at(due, partial(self.on_timer, flow, due), World.END)

    def on_timer(self, flow: int, due: int) -> None:
        if self.due(flow) == due:
            del self.table[flow]

    def tells(self, flow: int) -> bool:
        stream, now = self.table.get(flow), self.world.now
        if stream is None or not stream.local or stream.told >= self.s.most_told:
            return False
        if stream.last_told is not None and now < stream.last_told + self.s.interval:
            return False
        stream.told += 1
        stream.last_told = now
        return True


class IsolatingLink(Link):
    """An output with two queues."""

    def prepare(self, setting: QczSetting, name: str, network: QczNetwork) -> None:
        self.setting, self.name, self.network = setting, name, network
        self.streams = Streams(setting, self.world)
        self.waiting: dict[int, deque[Classed]] = {MONITORED: deque(), CONGESTING: deque()}
        self.sending: int | None = None
        self.stopped: set[int] = set()

    def send(self, packet: Packet) -> None:
        assert isinstance(packet, Classed)
        flow = packet.flow
        tc = CONGESTING if flow in self.streams.table else MONITORED
        queue = self.waiting[tc]
        if tc == CONGESTING:
            self.streams.on_filled()
        queue.append(packet)
        if sum(each.octets for each in queue) > self.setting.threshold:
            self.streams.isolate(flow, local=True)
        peer = OTHER[self.name[0]]
        if packet.via == peer and packet.tc == MONITORED and self.streams.tells(flow):
            self.network.tell(self.name[0], flow)
        if self.sending is None:
            self.begin()

    def choose(self) -> int | None:
        """Return the class that sends its first frame."""
        for tc in (MONITORED, CONGESTING):
            queue = self.waiting[tc]
            if not queue or tc in self.stopped:
                continue
            earlier = self.waiting[MONITORED] if tc == CONGESTING else ()
            if all(each.flow != queue[0].flow for each in earlier):
                return tc
        return None

    def begin(self) -> None:
        self.sending = self.choose()
        if self.sending is None:
            return
        queue = self.waiting[self.sending]
        if self.sending == CONGESTING and len(queue) == 1:
            self.streams.on_empty()
        took = queue[0].octets * 8 * PS // self.rate_bps
        self.world.at(self.world.now + took, self.end, World.END)

    def end(self) -> None:
        assert self.sending is not None
        packet = self.waiting[self.sending].popleft()
        onward = replace(packet, tc=self.sending, via=self.name[0])
        self.world.at(self.world.now + self.delay, partial(self.deliver, onward))
        self.network.free(self.name[0], packet)
        self.begin()

    def stop(self, tc: int) -> None:
        self.stopped.add(tc)

    def go(self, tc: int) -> None:
        self.stopped.discard(tc)
        if self.sending is None:
            self.begin()


class QczNetwork(FlowNetwork):
    """Hosts, two switches, and flows that all have one class."""

    up: dict[str, Stoppable]

    def __init__(self, setting: QczSetting, flows: Sequence[Flow]) -> None:
        super().__init__(flows)
        self.setting = setting
        self.messages = self.pause_frames = 0
        self.up = {}
        self.outputs: dict[str, IsolatingLink] = {}
        for host, delay in setting.delays.items():
            at = setting.at[host]
            enter = partial(self.from_host, host, at)
            self.up[host] = Stoppable(self.world, setting.rate_bps, delay, None, enter)
            down = IsolatingLink(self.world, setting.rate_bps, delay, None, self.arrive)
            down.prepare(setting, f"{at}->{host}", self)
            self.outputs[host] = down
        for switch, other in OTHER.items():
            enter = partial(self.enter, other)
            trunk = IsolatingLink(self.world, setting.trunk_bps, setting.trunk_delay, None, enter)
            trunk.prepare(setting, f"{switch}->{other}", self)
            self.outputs[other] = trunk
        self.held: Counter[tuple[str, str, int]] = Counter()
        self.stopped: set[tuple[str, str, int]] = set()
        self.beside: dict[tuple[str, str], int] = {}

    def from_host(self, host: str, at: str, packet: Packet) -> None:
        p = packet
        self.enter(at, Classed(p.flow, p.to, p.octets, p.number, is_ack=False, via=host))

    def enter(self, switch: str, packet: Packet) -> None:
        """Take a frame that has come to a switch."""
        assert isinstance(packet, Classed)
        own = switch, packet.via, packet.tc
        self.held[own] += packet.octets
        if self.held[own] > self.setting.high_bytes and own not in self.stopped:
            self.stopped.add(own)
            self.pause(own, stops=True)
        at = self.setting.at[packet.to]
        self.outputs[packet.to if at == switch else at].send(packet)

    def free(self, switch: str, packet: Classed) -> None:
        own = switch, packet.via, packet.tc
        self.held[own] -= packet.octets
        if own in self.stopped and self.held[own] <= self.setting.low_bytes:
            self.stopped.discard(own)
            self.pause(own, stops=False)

    def pause(self, group: tuple[str, str, int], *, stops: bool) -> None:
        switch, source, tc = group
        self.pause_frames += 1
        if source in OTHER:
            link = self.outputs[switch]
            self.before_all(switch, source, PAUSE, partial(link.stop if stops else link.go, tc))
        else:
            up = self.up[source]
            self.before_all(switch, source, PAUSE, up.stop if stops else up.go)

    def tell(self, switch: str, flow: int) -> None:
        """Tell the other switch of a congesting flow."""
        self.messages += 1
        told = partial(self.outputs[switch].streams.isolate, flow, local=False)
        self.before_all(switch, OTHER[switch], self.setting.message_bytes, told)

    def before_all(self, switch: str, to: str, octets: int, what: Callable[[], None]) -> None:
        """Do what a frame says that goes before all data over a link on which there is none."""
        trunk = to in OTHER
        rate = self.setting.trunk_bps if trunk else self.setting.rate_bps
        delay = self.setting.trunk_delay if trunk else self.setting.delays[to]
        free = max(self.world.now, self.beside.get((switch, to), 0))
        sent = self.beside[switch, to] = free + octets * 8 * PS // rate
        self.world.at(sent + delay, what, World.END)
