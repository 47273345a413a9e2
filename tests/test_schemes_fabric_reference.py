"""Schemes over several switches: messages finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from fabric import Fabric, Message
from laboratory import HORIZON
from marking import step
from schemes_fabric import (
    DcqcnFabric,
    DcqcnFabricSetting,
    DctcpFabric,
    DctcpFabricSetting,
    HpccFabric,
    HpccFabricSetting,
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


LOSSLESS = [(law, memory) for law in (hpcc, dctcp) for memory in ("watermarks", "shared memory")]
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
