"""RCCC of Ultra Ethernet on queue pairs through a switch that cuts packets, once more.

By an account of what the consortium's simulator does: a host gives credit to the messages that end
there, some packets at a time and in turn, a little slower than its link. What came cut is asked
for, and given credit for, anew. Above `trim_switch.py`; credit takes the propagation delay back. No
packet is taken for lost because others overtook it. `tests/test_roce_reference.py` says how close
the two come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from switch import PS, Packet, Transfer, World
from trim_switch import Head, TrimNetwork, TrimPair, TrimSetting


@dataclass(frozen=True, kw_only=True)
class RcccSetting(TrimSetting):
    """Parameters: the round-trip time of the network in ps, shares, packets, octets."""

    network_rtt: int
    window: float = 1.5
    pull: int = 4
    pace: float = 0.99
    counted: int = 62

    def first(self) -> int:
        """Return the octets that go without credit."""
        return int(self.window * (self.rate_bps * self.network_rtt // (8 * PS)))


class CreditPair(TrimPair):
    """The sending end: each packet, also one that goes again, is paid for."""

    def __init__(self, setting: RcccSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.credit = max(setting.first(), self.payload)
        self.paid = 0

    def ready(self) -> bool:
        return self.paid < self.credit and super().ready()

    def take(self) -> int | None:
        if self.paid >= self.credit:
            return None
        number = super().take()
        if number is not None:
            self.paid += self.octets(number, number + 1)
        return number

    def on_credit(self, credit: int) -> None:
        self.credit = max(self.credit, credit)
        self.wake()


@dataclass
class Account:
    """What a message needs in all, was given, and what of it came; octets."""

    wanted: int
    granted: int
    came: int = 0


class Giver:
    """A host that gives credit."""

    def __init__(self, network: RcccNetwork) -> None:
        self.network, self.s, self.world = network, network.r, network.world
        self.accounts: dict[int, Account] = {}
        self.turn: deque[int] = deque()
        self.free = 0
        self.due: int | None = None

    def note(self, index: int, octets: int, *, cut: bool) -> None:
        size = self.network.messages[index].size
        account = self.accounts.setdefault(index, Account(size, min(self.s.first(), size)))
        account.came += octets
        account.wanted += octets if cut else 0
        if account.granted < account.wanted and index not in self.turn:
            self.turn.append(index)
        if self.turn and self.due is None:
            self.start(max(self.free, self.world.now))

    def close(self, index: int) -> None:
        self.accounts.pop(index, None)
        if index in self.turn:
            self.turn.remove(index)

    def start(self, due: int) -> None:
        self.due = due
        self.world.at(due, self.give)

    def give(self) -> None:
        self.due = None
        payload = self.network.pairs[0].payload
        for _ in range(len(self.turn)):
            index = self.turn.popleft()
            account = self.accounts[index]
            octets = min(self.s.pull * payload, account.wanted - account.granted)
            if account.granted + octets > account.came + self.s.first():
                self.turn.append(index)
                continue
            account.granted += octets
            if account.granted < account.wanted:
                self.turn.append(index)
            whole = octets + -(-octets // payload) * self.s.counted
            self.free = self.world.now - (-8 * whole * PS // int(self.s.rate_bps * self.s.pace))
            if self.turn:
                self.start(self.free)
            self.network.send_credit(index, account.granted)
            return


class RcccNetwork(TrimNetwork):
    """Hosts, the switch, and the queue pairs under RCCC."""

    pair = CreditPair

    def __init__(self, setting: RcccSetting, messages: Sequence[Transfer]) -> None:
        self.r = setting
        super().__init__(setting, list(messages))
        self.givers = {message.to: Giver(self) for message in messages}
        self.credits = 0

    def send_credit(self, index: int, credit: int) -> None:
        pair, message = self.pairs[index], self.messages[index]
        if pair.una < pair.packets and isinstance(pair, CreditPair):
            self.credits += 1
            way = self.r.delays[message.to] + self.r.delays[message.source]
            self.world.at(self.world.now + way, partial(pair.on_credit, credit))

    def arrive(self, packet: Packet) -> None:
        if packet.is_ack:
            super().arrive(packet)
            return
        index, pair = packet.flow, self.pairs[packet.flow]
        giver = self.givers[packet.to]
        octets = pair.octets(packet.number, packet.number + 1)
        super().arrive(packet)
        if self.expected[index] == pair.packets:
            giver.close(index)
        else:
            giver.note(index, octets, cut=isinstance(packet, Head))
