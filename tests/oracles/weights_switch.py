"""Classes that take turns at a switch's outputs, once more: deficit round robin.

Written from the paper (Shreedhar and Varghese, SIGCOMM 1995): a class whose turn comes adds its
quantum to its deficit and sends what fits; one that has sent all has no deficit. Classes without a
quantum go first, the highest first. The paper has a list of classes that wait, where one that comes
back is last; here classes have a fixed order, the highest first, as in the laboratory, which must
say the same (`tests/test_scheduling_reference.py`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial

from switch import Flow, FlowNetwork, Link, Packet, Setting


@dataclass(frozen=True, kw_only=True)
class WeightsSetting(Setting):
    """Octets that a turn adds, by class."""

    queue_bytes: int | None = None
    quanta: dict[int, int] = field(default_factory=dict)


class WeightedLink(Link):
    """An output with a queue for each class."""

    setting: WeightsSetting
    flows: list[Flow]

    def prepare(self, setting: WeightsSetting, flows: list[Flow]) -> None:
        self.quanta, self.flows = setting.quanta, flows
        self.waiting: dict[int, deque[Packet]] = {flow.priority: deque() for flow in flows}
        self.order = deque(sorted(self.quanta, reverse=True))
        self.deficit = dict.fromkeys(self.quanta, 0)
        self.granted = False
        self.sending: int | None = None

    def send(self, packet: Packet) -> None:
        priority = self.flows[packet.flow].priority
        self.waiting[priority].append(packet)
        if self.sending is None:
            self.begin()

    def octets_of(self, priority: int) -> int:
        """Return the octets of a class, the frame that is being sent included."""
        return sum(packet.octets for packet in self.waiting[priority])

    def choose(self) -> int | None:
        """Return the class that sends its first frame."""
        for priority in sorted(self.waiting, reverse=True):
            if priority not in self.quanta and self.waiting[priority]:
                return priority
        while any(self.waiting[priority] for priority in self.order):
            priority = self.order[0]
            if not self.waiting[priority]:
                self.pass_on()
                continue
            if not self.granted:
                self.deficit[priority] += self.quanta[priority]
                self.granted = True
            if self.waiting[priority][0].octets <= self.deficit[priority]:
                self.deficit[priority] -= self.waiting[priority][0].octets
                return priority
            self.pass_on()
        return None

    def pass_on(self) -> None:
        self.order.rotate(-1)
        self.granted = False

    def begin(self) -> None:
        self.sending = self.choose()
        if self.sending is not None:
            self.queue.append(self.waiting[self.sending][0])
            super().begin()

    def end(self) -> None:
        priority = self.sending
        assert priority is not None
        packet = self.queue.popleft()
        self.waiting[priority].popleft()
        if priority in self.quanta and not self.waiting[priority]:
            self.deficit[priority] = 0
            self.pass_on()
        self.world.at(self.world.now + self.delay, partial(self.deliver, packet))
        self.begin()


class Network(FlowNetwork):
    """Hosts at a switch; at most one flow from a host."""

    def __init__(self, setting: WeightsSetting, flows: list[Flow]) -> None:
        super().__init__(flows)
        self.up: dict[str, Link] = {}
        self.down: dict[str, WeightedLink] = {}
        for host, delay in setting.delays.items():
            self.up[host] = Link(self.world, setting.rate_bps, delay, None, self.forward)
            self.down[host] = WeightedLink(self.world, setting.rate_bps, delay, None, self.arrive)
            self.down[host].prepare(setting, flows)

    def forward(self, packet: Packet) -> None:
        self.down[packet.to].send(packet)
