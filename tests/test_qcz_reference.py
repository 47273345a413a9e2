"""Flows that two switches isolate finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from laboratory import HORIZON
from qcz_switch import CONGESTING, MONITORED, QczNetwork, QczSetting
from switch import Flow

SCHEME = """name = "qcz"
cp.threshold = "{s.threshold} B"
cp.max_cim_tx = {s.most_told}
cp.cim_interval = "{s.interval} ps"
cp.cim_size = "{s.message_bytes} B"
cp.max_streams = {s.most_streams}
cp.max_flow_life = "{s.told_life} ps"
cp.local_flow_life = "{s.local_life} ps"
"""


def scenario(setting: QczSetting, flows: list[Flow], scheme: str | None = None) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "{setting.at[host]}"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    return qcnlab.Scenario.from_toml(f"""title = "Two switches"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
{links}[[link]]
from = "s"
to = "t"
rate = "{setting.trunk_bps} b/s"
delay = "{setting.trunk_delay} ps"
[switch]
input_memory = "10 MB"
[pause]
kind = "priority"
priorities = "{MONITORED}"
high = "{setting.high_bytes} B"
low = "{setting.low_bytes} B"
[[traffic]]
arrivals = "list"
priority = {MONITORED}
frame = "1500 B"
{laboratory.table(flows)}[scheme]
{scheme or SCHEME.format(s=setting)}
""")


def drawn(seed: int) -> tuple[QczSetting, list[Flow]]:
    """Draw links of unequal length, and flows to two hosts at the second switch.

    Five come from the first switch, two from hosts beside the receivers, and most meet at the
    first receiver. Flows come twice, so that some are isolated anew.
    """
    draw = random.Random(seed)
    far, near, sinks = [f"a{i}" for i in range(5)], ["b0", "b1"], ["z0", "z1"]
    hosts = [*far, *near, *sinks]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    at = {host: "s" if host in far else "t" for host in hosts}
    flows = [
        Flow(
            source,
            "z1" if source == "a4" else "z0",
            draw.randrange(60_000, 200_000),
            10**9 + again * 1_500_000_000 + draw.randrange(100_000_000),
            MONITORED,
        )
        for again in range(2)
        for source in [*far, *near]
    ]
    return QczSetting(delays, at=at), flows


def times(run: qcnlab.Result) -> list[int | None]:
    """Return when flows had arrived, ps."""
    finished = run.flows.to_polars()["finished_s"].to_list()
    return [None if time is None else round(time * 1e12) for time in finished]


CHANGES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "watermarks": {"high_bytes": 30_000, "low_bytes": 20_000},
    "low watermarks, slow trunk": {
        "high_bytes": 12_000,
        "low_bytes": 6000,
        "trunk_bps": 16_000_000_000,
    },
    "told once": {"most_told": 1, "interval": 3_000_000, "message_bytes": 300},
    "never told": {"most_told": 0, "high_bytes": 30_000, "low_bytes": 20_000},
    "two streams": {"most_streams": 2, "threshold": 4000},
    "short lives": {"local_life": 5_000_000, "told_life": 20_000_000, "threshold": 6000},
    "switches far apart": {"trunk_delay": 20_000_000, "interval": 4_000_000},
    "slow trunk": {"trunk_bps": 10_000_000_000, "local_life": 1, "threshold": 9000},
}
"""Parameters away from their defaults."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(3))
def test_every_flow_finishes_at_the_same_picosecond(*, change: str, seed: int) -> None:
    """Messages and pause frames are as many, and no frame is lost."""
    setting, flows = drawn(seed)
    setting = replace(setting, **CHANGES[change])
    network = QczNetwork(setting, flows)
    theirs = network.run(HORIZON)
    run = qcnlab.run(scenario(setting, flows))
    assert times(run) == theirs
    assert run.metric("messages") == network.messages
    assert run.metric("pause_frames") == network.pause_frames
    assert run.metric("drops") == 0
    assert (network.messages > 0) == (change != "never told")
    assert (network.pause_frames > 0) == (setting.high_bytes < 1_000_000)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 21_000},
        {"most_told": 1},
        {"interval": 3_000_000},
        {"message_bytes": 1000},
        {"most_streams": 1},
        {"told_life": 1_000_000},
        {"local_life": 1_000_000},
    ],
)
def test_each_parameter_shows(change: dict[str, Any]) -> None:
    """With another value a flow finishes at another time, or messages are more or fewer."""
    setting, flows = drawn(1)
    setting = replace(setting, high_bytes=30_000, low_bytes=20_000, told_life=300_000_000)
    setting = replace(setting, interval=1_000_000)

    def outcome(setting: QczSetting) -> tuple[list[int | None], int]:
        network = QczNetwork(setting, flows)
        return network.run(HORIZON), network.messages

    assert outcome(setting) != outcome(replace(setting, **change))


def test_a_victim_passes_those_that_wait() -> None:
    """The flow from a4 to z1 shares the trunk with four flows to z0, which PFC stops there.

    Without isolation it waits with them; with it, PFC stops their class alone.
    """
    setting, flows = drawn(0)
    setting = replace(setting, high_bytes=30_000, low_bytes=20_000, threshold=15_000)
    flows = flows[:7]
    victim = flows[4]
    alone = times(qcnlab.run(scenario(setting, [victim])))[0]
    isolated, plain = (
        times(qcnlab.run(scenario(setting, flows, scheme)))[4] for scheme in (None, 'name = "none"')
    )
    assert alone is not None
    assert isolated is not None
    assert plain is not None
    assert isolated - alone < (plain - alone) / 3


def test_classes_are_the_two_that_pfc_stops() -> None:
    """The table of pauses has the link between the switches in both classes, and in no other."""
    setting, flows = drawn(0)
    setting = replace(setting, high_bytes=12_000, low_bytes=6000, threshold=6000)
    pauses = qcnlab.run(scenario(setting, flows)).pauses.to_polars()
    trunk = pauses.filter(pauses["port"] == "s->t")["priority"].to_list()
    assert set(trunk) == {MONITORED, CONGESTING}


def test_a_host_that_reads_slowly_stops_congesting_flows_alone() -> None:
    """Its port inside the host isolates nothing: frames of both classes wait there in one queue.

    It pauses the class that they had on its link, which is soon the congesting one alone.
    """
    scenario = qcnlab.load("slow-receiver-leaf-spine-100g")
    run = qcnlab.run(scenario.with_("scheme.name=qcz", "duration=4 ms"))
    pauses = run.pauses.to_polars()
    late = pauses.filter((pauses["port"] == "leaf2->host9") & (pauses["time_s"] > 1e-3))
    assert len(late) > 100
    assert set(late["priority"].to_list()) == {CONGESTING}
    assert run.metric("drops") == 0
