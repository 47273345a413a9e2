"""Flows through a switch that pauses its links finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from dynamic_switch import DynamicNetwork, DynamicSetting
from laboratory import HORIZON
from pause_switch import Network, PauseSetting
from switch import Flow


def drawn(seed: int, receivers: int) -> tuple[dict[str, int], list[Flow]]:
    """Draw links of unequal length, and a flow from each of six hosts to one of the receivers."""
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 7 + receivers)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    flows = []
    for index, source in enumerate(hosts[receivers:]):
        to, start = hosts[index % receivers], 1_000_000_000 + draw.randrange(100_000_000)
        flows.append(Flow(source, to, draw.randrange(100_000, 300_000), start))
    return delays, flows


def compare(network: Network) -> None:
    """Hold our run against the second implementation's: times, what is missing, pauses, drops."""
    done = network.run(HORIZON)
    result = qcnlab.run(laboratory.pausing(network.setting, list(network.flows)))
    ours = result.flows.to_polars()
    assert (ours["size_bytes"] - ours["delivered_bytes"]).to_list() == network.left
    finished = [None if time is None else pytest.approx(time / 1e12, abs=1e-12) for time in done]
    assert ours["finished_s"].to_list() == finished
    assert (result.metric("pause_frames") or 0) == network.pause_frames
    assert result.metric("drops") == network.drops


@pytest.mark.parametrize("exponent", [-3, -1, 1])
@pytest.mark.parametrize("seed", range(3))
def test_dynamic_thresholds_pause_and_lose_the_same(*, exponent: int, seed: int) -> None:
    """Alpha of 1/8, 1/2 and 2: with pauses nothing is lost, without them what is beyond."""
    delays, flows = drawn(seed, 2)
    for pauses in (True, False):
        stopped = (0,) if pauses else ()
        network = DynamicNetwork(DynamicSetting(delays, exponent=exponent, stopped=stopped), flows)
        compare(network)
        assert (network.pause_frames > 80, network.drops > 200) == (pauses, not pauses)


def mixed(seed: int, kind: str) -> DynamicNetwork:
    """Draw a memory with all that it can have, and flows of one class or of two."""
    draw = random.Random(f"{kind} {seed}")
    receivers = draw.choice([1, 2, 3])
    hosts = [f"host{i}" for i in range(1, draw.choice([5, 7, 9]) + receivers)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    classes = {"lost": [0, 2], "stopped": [3], "both": [3, 0]}[kind]
    flows = [
        Flow(
            host,
            draw.choice(hosts[:receivers]),
            draw.randrange(100_000, 300_000),
            10**9 + draw.randrange(10**8),
            draw.choice(classes),
            draw.choice([200, 500, 1000, 1500]),
        )
        for host in hosts[receivers:]
    ]
    setting = DynamicSetting(
        delays,
        shared_bytes=draw.choice([250_000, 400_000]),
        reserve=draw.choice([0, 2000, 4000]),
        headroom=draw.choice([6000, 12_000]),
        pool=draw.choice([20_000, 40_000]) if kind != "lost" else None,
        xon=draw.choice([0, 3000]),
        xon_offset=draw.choice([0, 3000, 5000]),
        exponent=draw.choice([-3, -1, 0, 1]),
        queue_exponent=draw.choice([-3, -2, -1, 0, 1]),
        cell=draw.choice([1, 208, 256]),
        stopped=(3,) if kind != "lost" else (),
    )
    return DynamicNetwork(setting, flows)


@pytest.mark.parametrize("kind", ["lost", "stopped", "both"])
@pytest.mark.parametrize("seed", range(6))
def test_thresholds_of_queues_and_pooled_headroom(*, kind: str, seed: int) -> None:
    """Cells, one headroom for all, and output queues that may hold a part of what is free.

    A class that is stopped shares the memory with one that loses what goes beyond.
    """
    network = mixed(seed, kind)
    compare(network)
    assert network.drops + network.pause_frames > 0


@pytest.mark.parametrize("shared_bytes", [None, 150_000, 450_000])
@pytest.mark.parametrize("receivers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_every_flow_finishes_at_the_same_picosecond(
    *, shared_bytes: int | None, receivers: int, seed: int
) -> None:
    """Six senders; which frames come next at a receiver depends on who is stopped when.

    Frames are long for these links, so that the headroom of the shared memory does not hold what
    comes behind a pause frame, and some are lost.
    """
    delays, flows = drawn(seed, receivers)
    network = Network(PauseSetting(delays, shared_bytes=shared_bytes), flows)
    compare(network)
    assert network.pause_frames > 40
    assert (network.drops > 0) == (shared_bytes is not None)
