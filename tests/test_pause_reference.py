"""Flows through a switch that pauses its links finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from laboratory import HORIZON
from pause_switch import Network, PauseSetting
from switch import Transfer


def scenario(setting: PauseSetting, flows: list[Transfer]) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    watermarks = f"""[switch]
input_memory = "100 KB"
[pause]
kind = "link"
high = "{setting.high_bytes} B"
low = "{setting.low_bytes} B"
"""
    shared = f"""[shared_buffer]
kind = "hpcc_simulator"
size = "{setting.shared_bytes} B"
[pause]
kind = "priority"
priorities = "0"
rule = "dynamic"
"""
    switch = watermarks if setting.shared_bytes is None else shared
    traffic = f'kind = "list"\nframe = "{setting.frame_bytes} B"'
    return laboratory.scenario(setting, flows, switch=switch, traffic=traffic)


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
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 7 + receivers)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    flows = []
    for index, source in enumerate(hosts[receivers:]):
        to, start = hosts[index % receivers], 1_000_000_000 + draw.randrange(100_000_000)
        flows.append(Transfer(source, to, draw.randrange(100_000, 300_000), start))
    network = Network(PauseSetting(delays, shared_bytes=shared_bytes), flows)
    finished = [None if done is None else done / 1e12 for done in network.run(HORIZON)]
    result = qcnlab.run(scenario(network.setting, flows))
    ours = result.flows.to_polars()["finished_s"].to_list()
    assert ours == [None if done is None else pytest.approx(done, abs=1e-12) for done in finished]
    assert result.metric("pause_frames") == network.pause_frames
    assert result.metric("drops") == network.drops
    assert network.pause_frames > 40
    assert (network.drops > 0) == (shared_bytes is not None)
