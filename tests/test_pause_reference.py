"""Flows through a switch that pauses its links finish when a second implementation says."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from pause_switch import Flow, Network, Setting

HORIZON = 100_000_000_000
"""0.1 s, ps: each flow has arrived by then."""


def scenario(setting: Setting, flows: list[Flow]) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    rows = "\n".join(f"{f.source},{f.to},{f.size} B,{f.start} ps," for f in flows)
    return qcnlab.Scenario.from_toml(f"""title = "PAUSE"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
delay = "1 us"
{links}[switch]
input_memory = "100 KB"
[pause]
kind = "link"
high = "{setting.high_bytes} B"
low = "{setting.low_bytes} B"
[[traffic]]
kind = "list"
frame = "{setting.frame_bytes} B"
flows = '''
from,to,size,start,class
{rows}
'''
[scheme]
name = "none"
""")


@pytest.mark.parametrize("receivers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_every_flow_finishes_at_the_same_picosecond(*, receivers: int, seed: int) -> None:
    """Six senders; which frames come next at a receiver depends on who is stopped when."""
    draw = random.Random(seed)
    hosts = [f"host{i}" for i in range(1, 7 + receivers)]
    delays = {host: 1_000_000 + draw.randrange(1_000_000) for host in hosts}
    flows = []
    for index, source in enumerate(hosts[receivers:]):
        to, start = hosts[index % receivers], 1_000_000_000 + draw.randrange(100_000_000)
        flows.append(Flow(source, to, draw.randrange(100_000, 300_000), start))
    setting = Setting(delays)
    network = Network(setting, flows)
    finished = [(done or 0) / 1e12 for done in network.run(HORIZON)]
    result = qcnlab.run(scenario(setting, flows))
    ours = result.flows.to_polars()["finished_s"].to_list()
    assert ours == pytest.approx(finished, abs=1e-12)
    assert result.metric("pause_frames") == network.pause_frames
    assert network.pause_frames > 40
