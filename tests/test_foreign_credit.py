"""Receiving hosts of a scheme in Python give credit: RCCC written once more gives RCCC's times."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import pytest

import qcnlab
from qcnlab.foreign import (
    Credit,
    CreditPoint,
    Dice,
    Endpoint,
    Flight,
    Grant,
    Reached,
    ReactionPoint,
    Scheme,
    Signal,
)

HERE = f"python:{__name__}"
PS = 10**12


def window(endpoint: Endpoint) -> int:
    """Return 1.5 bandwidth-delay products of the longest way, in whole octets."""
    product = endpoint.line_rate * endpoint.longest_rtt // (8 * PS)
    return max(int(1.5 * product), endpoint.mtu)


class Source(ReactionPoint):
    """Sends as much as it has credit for; what it takes for lost it sends again for nothing."""

    def __init__(self, line_rate: int, *, pull: int = 4) -> None:
        super().__init__(line_rate)

    def on_start(self, endpoint: Endpoint) -> None:
        self.told, self.repeated, self.mtu = window(endpoint), 0, endpoint.mtu

    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        assert isinstance(signal, Credit)
        self.told = max(self.told, signal.octets)

    def on_nack(self, now: int, flight: Flight, dice: Dice) -> None:
        lost = flight.sent - flight.acknowledged
        self.repeated += self.mtu if flight.in_flight else lost

    def on_loss(self, now: int, timeout: bool, flight: Flight, dice: Dice) -> None:
        lost = flight.sent - flight.acknowledged
        self.repeated += lost - flight.early if timeout else self.mtu

    def credit(self) -> int:
        return self.told + self.repeated


@dataclass
class Account:
    """Octets that a flow sends in all, was permitted, and has brought."""

    wanted: int
    granted: int
    came: int = 0
    waits: bool = False


class Pacer(CreditPoint):
    """Gives four packets at a time, in turn, at 0.99 of the link's rate with 64 octets a header."""

    def __init__(self, endpoint: Endpoint, *, pull: int = 4) -> None:
        super().__init__(endpoint)
        self.window, self.pull = window(endpoint), pull * endpoint.mtu
        self.rate = endpoint.line_rate * 99 // 100
        self.flows: dict[int, Account] = {}
        self.turn: deque[int] = deque()
        self.free = 0
        self.wake: int | None = None

    def on_packet(self, now: int, packet: Reached) -> None:
        assert packet.total is not None
        if packet.flow not in self.flows:
            self.flows[packet.flow] = Account(packet.total, min(self.window, packet.total))
        flow = self.flows[packet.flow]
        flow.came += packet.payload
        if packet.cut:
            flow.wanted += packet.payload
        if flow.granted < flow.wanted and not flow.waits:
            flow.waits = True
            self.turn.append(packet.flow)
        if self.turn and self.wake is None:
            self.wake = max(self.free, now)

    def on_whole(self, flow: int) -> None:
        self.flows.pop(flow, None)
        if flow in self.turn:
            self.turn.remove(flow)

    def next_wake(self) -> int | None:
        return self.wake

    def on_wake(self, now: int) -> Grant | None:
        if self.wake is None or now < self.wake:
            return None
        self.wake = None
        for _ in range(len(self.turn)):
            number = self.turn.popleft()
            flow = self.flows[number]
            octets = min(self.pull, flow.wanted - flow.granted)
            if flow.granted + octets > flow.came + self.window:
                self.turn.append(number)
                continue
            flow.granted += octets
            flow.waits = flow.granted < flow.wanted
            if flow.waits:
                self.turn.append(number)
            packets = -(-octets // self.endpoint.mtu)
            self.free = now - (-(octets + 64 * packets) * 8 * PS // self.rate)
            if self.turn:
                self.wake = self.free
            return Grant(number, flow.granted)
        return None


class Credits(Scheme):
    reaction_point = Source
    credit_point = Pacer


class Silent(Scheme):
    """Sources wait for credit that no host gives."""

    reaction_point = Source


def roce(scheme: str, *settings: str) -> qcnlab.Scenario:
    scenario = qcnlab.load("incast-16-to-1-100g")
    name = scheme if scheme == "rccc" else f"{HERE}:{scheme}"
    return scenario.with_(f"scheme.name={name}", "topology.sources=5", *settings)


def completed(scheme: str, *settings: str) -> list[float | None]:
    run = qcnlab.run(roce(scheme, "traffic.0.size=300 kB", "duration=20 ms", *settings))
    return run.flows.to_polars()["finished_s"].to_list()


@pytest.mark.parametrize("pull", [4, 9])
def test_rccc_in_python_gives_the_times_of_rccc(pull: int) -> None:
    """Five messages of 300 kB; a first window is 78 kB."""
    own = completed("Credits", f"scheme.rp.pull={pull}")
    assert own == completed("rccc", f"scheme.rp.pull={pull}")
    assert own != completed("rccc", f"scheme.rp.pull={pull + 30}")
    assert None not in own


def test_sources_wait_for_credit() -> None:
    """Each sends its first window, and no more: none completes."""
    run = qcnlab.run(roce("Silent", "traffic.0.size=300 kB", "duration=1 ms"))
    assert run.flows.to_polars()["finished_s"].null_count() == 5
    octets = window(Endpoint(10**11, 4_167_680, 1000, 4_167_680, 1))
    sent = run.flows.to_polars()["delivered_bytes"] / 1048 * 1000
    assert sent.is_between(octets - 1000, octets + 1000).all()


class GivesToOthers(Pacer):
    def on_wake(self, now: int) -> Grant | None:
        super().on_wake(now)
        return Grant(77, 1000)


class Sleepless(Pacer):
    def next_wake(self) -> int | None:
        return 5 if self.flows else None


class NoGrant(Pacer):
    def on_wake(self, now: int) -> Grant | None:
        super().on_wake(now)
        return (0, 1000)  # type: ignore[return-value]


class Fails(Pacer):
    def on_packet(self, now: int, packet: Reached) -> None:
        raise ValueError(f"flow {packet.flow} is not mine")


class Unspoken(Credits):
    hears: ClassVar = ()
    speaks: ClassVar = ()


class NoPoint(Credits):
    credit_point = Source  # type: ignore[assignment]


class Keyless(Credits):
    class credit_point(CreditPoint):  # noqa: N801
        """Takes no keys."""


def scheme_of(point: type[CreditPoint]) -> type[Scheme]:
    return type(f"Of{point.__name__}", (Credits,), {"credit_point": point})


OfGivesToOthers, OfSleepless, OfNoGrant, OfFails = map(
    scheme_of, (GivesToOthers, Sleepless, NoGrant, Fails)
)


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("OfGivesToOthers", "on_wake: gives credit to flow 77, of which no packet has come"),
        ("OfSleepless", "next_wake: after a wake-up at .* is asked for at .* which has passed"),
        ("OfNoGrant", r"NoGrant.on_wake: .*gave \(0, 1000\); it must be None or a Grant"),
        ("OfFails", "Fails.on_packet: .*flow . is not mine"),
        ("Unspoken", "on_wake: sends a credit, which it does not say it speaks"),
    ],
)
def test_a_point_that_breaks_its_role_ends_the_run(scheme: str, message: str) -> None:
    with pytest.raises(qcnlab.Error, match=message):
        completed(scheme)


@pytest.mark.parametrize(
    ("scheme", "settings", "message"),
    [
        ("NoPoint", (), "its credit_point is Source, not a subclass of .*CreditPoint"),
        ("Keyless", ("scheme.rp.pull=3",), r"\[scheme.rp\]: credit_point: .*'pull'"),
    ],
)
def test_a_point_that_cannot_be_made_is_refused(
    scheme: str, settings: tuple[str, ...], message: str
) -> None:
    with pytest.raises(qcnlab.ScenarioError, match=message):
        roce(scheme, *settings)
