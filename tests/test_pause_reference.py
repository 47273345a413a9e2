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
from pause_switch import DynamicSetting, Network, PauseSetting
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
    if isinstance(setting, DynamicSetting):
        switch = dynamic(setting)
    traffic = f'kind = "list"\nframe = "{setting.frame_bytes} B"'
    return laboratory.scenario(setting, flows, switch=switch, traffic=traffic)


def dynamic(setting: DynamicSetting) -> str:
    """Return the table of a shared memory with numbers of its own."""
    alpha = {-3: "1/8", -1: "1/2", 1: "2"}[setting.exponent]
    lines = f"""[shared_buffer]
size = "{setting.shared_bytes} B"
reserve = "{setting.reserve} B"
pg_alpha = "{alpha}"
"""
    stops = f"""headroom = "{setting.headroom} B"
xon_offset = "{setting.xon_offset} B"
[pause]
kind = "priority"
priorities = "0"
rule = "dynamic"
"""
    return lines + stops if setting.pauses else lines


def drawn(seed: int, receivers: int) -> tuple[dict[str, int], list[Transfer]]:
    """Draw links of unequal length, and a flow from each of six hosts to one of the receivers."""
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 7 + receivers)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    flows = []
    for index, source in enumerate(hosts[receivers:]):
        to, start = hosts[index % receivers], 1_000_000_000 + draw.randrange(100_000_000)
        flows.append(Transfer(source, to, draw.randrange(100_000, 300_000), start))
    return delays, flows


@pytest.mark.parametrize("exponent", [-3, -1, 1])
@pytest.mark.parametrize("seed", range(3))
def test_dynamic_thresholds_pause_and_lose_the_same(*, exponent: int, seed: int) -> None:
    """Alpha of 1/8, 1/2 and 2: with pauses nothing is lost, without them what is beyond."""
    delays, flows = drawn(seed, 2)
    for pauses in (True, False):
        network = Network(DynamicSetting(delays, exponent=exponent, pauses=pauses), flows)
        done = network.run(HORIZON)
        result = qcnlab.run(scenario(network.setting, flows))
        ours = result.flows.to_polars()
        left = (ours["size_bytes"] - ours["delivered_bytes"]).to_list()
        assert left == network.left
        if pauses:
            finished = [(time or 0) / 1e12 for time in done]
            assert ours["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
        assert result.metric("pause_frames") == network.pause_frames
        assert result.metric("drops") == network.drops
        assert (network.pause_frames > 80, network.drops > 200) == (pauses, not pauses)


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
    finished = [None if done is None else done / 1e12 for done in network.run(HORIZON)]
    result = qcnlab.run(scenario(network.setting, flows))
    ours = result.flows.to_polars()["finished_s"].to_list()
    assert ours == [None if done is None else pytest.approx(done, abs=1e-12) for done in finished]
    assert result.metric("pause_frames") == network.pause_frames
    assert result.metric("drops") == network.drops
    assert network.pause_frames > 40
    assert (network.drops > 0) == (shared_bytes is not None)
