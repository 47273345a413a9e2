"""Classes that take turns finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from laboratory import HORIZON
from weights_switch import Flow, Network, WeightsSetting


def scenario(setting: WeightsSetting, flows: list[Flow]) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    traffic = "".join(
        f"""[[traffic]]
kind = "list"
frame = "{flow.frame_bytes} B"
flows = '''
from,to,size,start,class
{flow.source},{flow.to},{flow.size} B,{flow.start} ps,{flow.priority}
'''
"""
        for flow in flows
    )
    # Ten octets a turn for each unit of weight.
    weights = ", ".join(
        f"{priority}: {octets // 10}" for priority, octets in setting.quanta.items()
    )
    return qcnlab.Scenario.from_toml(f"""title = "Classes that take turns"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
delay = "1 us"
{links}[switch]
weights = "{weights}"
quantum = "10 B"
{traffic}
[scheme]
name = "none"
""")


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
