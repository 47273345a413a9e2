"""Classes that take turns, and queues that drop early, do what a second implementation says."""

from __future__ import annotations

import itertools
import math
import random
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from laboratory import HORIZON
from marking import Ramp, step
from switch import Flow
from weights_switch import Network, WeightsSetting
from wred_switch import WredNetwork, WredSetting


def scenario(setting: WeightsSetting, flows: list[Flow], more: str = "") -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    # Ten octets a turn for each unit of weight.
    weights = ", ".join(
        f"{priority}: {octets // 10}" for priority, octets in setting.quanta.items()
    )
    switch = f'[switch]\nweights = "{weights}"\nquantum = "10 B"\n{more}'
    return laboratory.scenario(setting, flows, switch=switch, traffic=laboratory.frames)


@pytest.mark.parametrize("seed", range(6))
def test_every_flow_finishes_at_the_same_picosecond(seed: int) -> None:
    """Classes 1, 3 and 4 take turns by octets; 5 goes first, and comes and goes."""
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 11)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    quanta = {priority: draw.randrange(300, 6000, 10) for priority in (1, 3, 4)}
    flows = [
        Flow(
            host,
            "host1",
            draw.randrange(50_000, 300_000),
            10**9 + draw.randrange(3 * 10**8),
            priority,
            draw.randrange(64, 1500),
        )
        for host, priority in zip(hosts[1:], (1, 3, 4, 1, 3, 4, 5, 5, 1), strict=True)
    ]
    setting = WeightsSetting(delays, quanta=quanta)
    done = Network(setting, flows).run(HORIZON)
    table = qcnlab.run(scenario(setting, flows)).flows.to_polars()
    finished = [time / 1e12 for time in done if time is not None]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)


def early(seed: int, *, ramp: bool) -> WredNetwork:
    """Draw flows of three classes to two hosts, and thresholds for most of the six queues."""
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 10)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    flows = [
        Flow(
            host,
            draw.choice(hosts[:2]),
            draw.randrange(50_000, 300_000),
            10**9 + draw.randrange(10**8),
            priority,
            draw.randrange(64, 1500),
        )
        for host, priority in zip(hosts[2:], (1, 3, 1, 3, 1, 5, 5), strict=True)
    ]
    ramps = {}
    for queue in itertools.product(hosts[:2], (1, 3, 5)):
        k_min = draw.randrange(5000, 60_000)
        sloped = Ramp(k_min, k_min + draw.randrange(20_000, 80_000), draw.choice([0.05, 0.2, 1]))
        if draw.random() < 0.8:
            ramps[queue] = sloped if ramp else step(k_min)
    quanta = {priority: draw.randrange(300, 6000, 10) for priority in (1, 3)}
    return WredNetwork(WredSetting(delays, quanta=quanta, ramps=ramps), flows)


def thresholds(setting: WredSetting) -> str:
    """Return the tables of the ramps."""
    return "".join(
        laboratory.wred(ramp, ports=f"switch->{to}", priorities=f"{priority}")
        for (to, priority), ramp in setting.ramps.items()
    )


@pytest.mark.parametrize("seed", range(6))
def test_thresholds_drop_the_same_frames(seed: int) -> None:
    """Above one threshold all are dropped, so that nothing is drawn."""
    network = early(seed, ramp=False)
    done = network.run(HORIZON)
    setting = network.setting
    run = qcnlab.run(scenario(setting, list(network.flows), thresholds(setting)))
    table = run.flows.to_polars()
    assert (table["size_bytes"] - table["delivered_bytes"]).to_list() == network.left
    finished = [None if time is None else pytest.approx(time / 1e12, abs=1e-12) for time in done]
    assert table["finished_s"].to_list() == finished
    assert run.metric("drops") == network.drops > 200


@pytest.mark.parametrize("seed", [0, 3, 11])
def test_ramps_drop_as_many_frames(seed: int) -> None:
    """Between two thresholds a frame is drawn: means of 12 seeds differ by chance alone.

    By less than three of its standard deviations; without the ramp, as steps at `k_max`, by more.
    """
    network = early(seed, ramp=True)
    setting, flows = network.setting, list(network.flows)
    shown = scenario(setting, flows, thresholds(setting))
    ours = [qcnlab.run(shown.with_({"seed": each})).metric("drops") or 0 for each in range(12)]
    theirs: list[int] = []
    others: list[int] = []
    steps = {queue: step(ramp.k_max) for queue, ramp in setting.ramps.items()}
    for each in range(12):
        for law, drops in ((setting.ramps, theirs), (steps, others)):
            again = WredNetwork(replace(setting, seed=each, ramps=law), flows)
            again.run(HORIZON)
            drops.append(again.drops)
    spread = math.sqrt((stdev(theirs) ** 2 + stdev(ours) ** 2) / 12)
    assert abs(fmean(ours) - fmean(theirs)) < 3 * spread
    assert abs(fmean(ours) - fmean(others)) > 3 * spread
