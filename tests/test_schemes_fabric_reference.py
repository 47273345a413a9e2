"""Schemes over several switches: messages finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from math import ceil, floor
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from fabric import Fabric, Message
from laboratory import HORIZON
from marking import step
from pcn_switch import PardoningPort, PcnFabric, PcnFabricSetting
from schemes_fabric import (
    DcqcnFabric,
    DcqcnFabricSetting,
    DctcpFabric,
    DctcpFabricSetting,
    HpccFabric,
    HpccFabricSetting,
)

from qcnlab.foreign import (
    CongestionPoint,
    Delivered,
    Dice,
    NotificationPoint,
    Queue,
    ReactionPoint,
    ReceivedRate,
    Scheme,
    Signal,
)
from test_fabric_reference import FABRICS, MEMORIES, Links

K = 30_000
US = 1_000_000


def dcqcn(links: Links, memory: str, messages: list[Message]) -> tuple[Fabric, str]:
    """Return the network under DCQCN with one threshold, and the laboratory's scheme.

    With an alpha of 1 rates are halved, and two queue pairs of a host fall due at one picosecond.
    """
    setting = DcqcnFabricSetting(links=links, threshold=K, alpha=0.9, **MEMORIES[memory])  # type: ignore[arg-type]
    scheme = laboratory.DCQCN.format(k=K, byte_reset=setting.byte_counter, alpha=setting.alpha)
    return DcqcnFabric(setting, messages), scheme


def hpcc(links: Links, memory: str, messages: list[Message]) -> tuple[Fabric, str]:
    """Return the network under HPCC with its window, and the scheme."""
    setting = HpccFabricSetting(links=links, base_rtt=20 * US, additive=100, **MEMORIES[memory])  # type: ignore[arg-type]
    scheme = laboratory.HPCC.format(base_rtt=setting.base_rtt, additive=setting.additive)
    return HpccFabric(setting, messages), scheme


def dctcp(links: Links, memory: str, messages: list[Message]) -> tuple[Fabric, str]:
    """Return the network under DCTCP, and the scheme."""
    setting = DctcpFabricSetting(links=links, base_rtt=40 * US, ramp=step(K), **MEMORIES[memory])  # type: ignore[arg-type]
    scheme = laboratory.DCTCP.format(k=K, base_rtt=setting.base_rtt)
    return DctcpFabric(setting, messages), scheme


def pcn(links: Links, memory: str, messages: list[Message]) -> tuple[Fabric, str]:
    """Return the network under PCN, and the scheme."""
    setting = PcnFabricSetting(links=links, period=20 * US, **MEMORIES[memory])  # type: ignore[arg-type]
    return PcnFabric(setting, messages), laboratory.PCN.format(period=setting.period)


LOSSLESS = [
    (law, memory) for law in (hpcc, dctcp, pcn) for memory in ("watermarks", "shared memory")
]
CASES = [(dcqcn, memory) for memory in MEMORIES] + LOSSLESS


@pytest.mark.parametrize(("law", "memory"), CASES, ids=lambda case: getattr(case, "__name__", case))
@pytest.mark.parametrize("name", ["row", "leaf-spine", "dumbbell"])
def test_every_message_finishes_at_the_same_picosecond(law, memory: str, name: str) -> None:  # type: ignore[no-untyped-def]
    """Marks, CNPs and telemetry of two and three switches, with PFC and a memory that is shared."""
    links, messages = FABRICS[name](random.Random(f"{name} 1"))
    messages = [replace(message, size=3 * message.size) for message in messages]
    network, scheme = law(links, memory, messages)
    results = network.run(HORIZON)
    run = qcnlab.run(laboratory.fabric(network.setting, messages, scheme=scheme))
    finished = [(result.done or 0) / 1e12 for result in results]
    table = run.flows.to_polars()
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    assert (run.metric("pause_frames") or 0) == network.pause_frames
    assert (run.metric("drops") or 0) == network.drops
    if isinstance(network, DcqcnFabric):
        assert run.metric("messages") == network.cnps > 5
    if isinstance(network, PcnFabric):
        assert run.metric("messages") == network.cnps > 5
        ports = [port for port in network.ports.values() if isinstance(port, PardoningPort)]
        waited = sum(port.pardons for port in ports)
        assert (waited > 0) == (name != "dumbbell"), "its pauses reach hosts alone"


class Pardoning(CongestionPoint):
    """PCN's port in Python."""

    waited = 0

    def on_pause(self, now: int, paused: bool, frames: int) -> None:
        if not paused:
            self.waited = frames

    def departure_mark(self, now: int, controlled: bool, queue: Queue, dice: Dice) -> int:
        if self.waited:
            self.waited -= 1
            return 0
        return int(controlled and queue.length > 0)


class Measuring(NotificationPoint):
    """PCN's receiver in Python."""

    def __init__(self) -> None:
        self.since: int | None = None
        self.octets = self.frames = self.marks = 0

    def on_frame(self, now: int, frame: Delivered) -> Signal | None:
        if self.since is not None:
            self.octets += frame.size
            self.frames += 1
            self.marks += frame.mark > 0
            if now - self.since < 20 * US:
                return None
        since, octets, congested = self.since, self.octets, self.marks >= 0.95 * self.frames
        self.since, self.octets, self.frames, self.marks = now, 0, 0, 0
        if since is None or not congested:
            return None
        return ReceivedRate(8 * octets * 10**12 // (now - since))


class Following(ReactionPoint):
    """PCN's sender in Python."""

    def __init__(self, line_rate: int) -> None:
        super().__init__(line_rate)
        self.rate, self.weight, self.heard = line_rate, 1 / 128, False
        self.ends: int | None = None

    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        assert isinstance(signal, ReceivedRate)
        self.weight, self.heard = 1 / 128, True
        if self.rate > signal.rate:
            self.rate = min(self.rate, max(floor(signal.rate * 127 / 128), 1_000_000))
            self.ends = self.ends or now + 20 * US

    def on_wake(self, now: int, dice: Dice) -> None:
        if not self.heard:
            w = self.weight
            self.rate = min(ceil(self.rate * (1 - w) + self.line_rate * w), self.line_rate)
            self.weight = w * (1 - w) + w / 2
        self.heard = False
        self.ends = now + 20 * US if self.rate < self.line_rate else None

    def next_wake(self) -> int | None:
        return self.ends

    def limit(self) -> float | None:
        return self.rate if self.rate < self.line_rate else None


class Pcn(Scheme):
    congestion_point, reaction_point, notification_point = Pardoning, Following, Measuring
    hears = speaks = (ReceivedRate,)


def test_a_scheme_in_python_hears_of_pauses_and_of_rates() -> None:
    """PCN through the door for schemes in Python, held to the same picoseconds."""
    links, messages = FABRICS["row"](random.Random("row 1"))
    messages = [replace(message, size=3 * message.size) for message in messages]
    network, _ = pcn(links, "watermarks", messages)
    finished = [(result.done or 0) / 1e12 for result in network.run(HORIZON)]
    scheme = f'name = "python:{__name__}:Pcn"'
    run = qcnlab.run(laboratory.fabric(network.setting, messages, scheme=scheme))
    assert run.flows.to_polars()["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
