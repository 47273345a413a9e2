"""TCP flows through a switch finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from laboratory import HORIZON
from switch import Result, Transfer
from tcp_switch import TcpSetting, run


def scenario(setting: TcpSetting, flows: list[Transfer]) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    return laboratory.scenario(
        setting,
        flows,
        switch=f'[switch]\noutput_buffer = "{setting.queue_bytes} B"',
        traffic=f"""arrivals = "list"\ntransport = "tcp"
flavour = "{setting.flavour}"
frame = "1500 B"
max_window = "{setting.most_bytes} B"
min_rto = "{setting.least_rto} ps"
initial_rto = "{setting.first_rto} ps"
delayed_ack = "{setting.ack_delay} ps"
""",
    )


def compare(setting: TcpSetting, flows: list[Transfer]) -> list[Result]:
    """Hold our flows against the second implementation's, and return its results."""
    results = run(setting, flows, HORIZON)
    table = qcnlab.run(scenario(setting, flows)).flows.to_polars()
    columns = ("finished_s", "retransmitted_frames", "timeouts")
    ours = [tuple(row[name] for name in columns) for row in table.iter_rows(named=True)]
    finished = [(r.done or 0) / 1e12 for r in results]
    assert [row[0] for row in ours] == pytest.approx(finished, abs=1e-12)
    assert [row[1:] for row in ours] == [(r.retransmitted, r.timeouts) for r in results]
    return results


@pytest.mark.parametrize("flavour", ["reno", "newreno"])
@pytest.mark.parametrize("ack_delay", [0, 200_000_000], ids=["each", "delayed"])
@pytest.mark.parametrize("incast", [False, True], ids=["apart", "incast"])
def test_every_flow_finishes_at_the_same_picosecond(
    *, flavour: str, ack_delay: int, incast: bool
) -> None:
    """Nine hosts with links of unequal length, so that only equal lengths could need a draw."""
    seed = f"{flavour == 'newreno'} {ack_delay} {incast}"
    draw = random.Random(seed)
    delays = {f"host{i}": 1_000_000 + draw.randrange(1_000_000) for i in range(1, 10)}
    setting = TcpSetting(delays, queue_bytes=30_000, ack_delay=ack_delay, flavour=flavour)
    flows = []
    for i in range(2, 10):
        start = 1_000_000_000 + (0 if incast else draw.randrange(1_000_000_000))
        flows.append(Transfer(f"host{i}", "host1", draw.randrange(50_000, 1_000_000), start))
    results = compare(setting, flows)
    assert sum(r.retransmitted for r in results) > 20, "the queue overflows"
    assert sum(r.timeouts for r in results) > 1, "and timers run out"


@pytest.mark.parametrize("queue_bytes", [300_000, 1_000_000])
@pytest.mark.parametrize(("senders", "seed"), [(2, 0), (3, 0), (3, 1)])
def test_under_bic_every_flow_finishes_at_the_same_picosecond(
    *, queue_bytes: int, senders: int, seed: int
) -> None:
    """Windows of some hundred segments: searches go the largest step first, end, and probe."""
    draw = random.Random(seed)
    delays = {f"host{i}": 1_000_000 + draw.randrange(20_000_000) for i in range(1, 5)}
    setting = TcpSetting(
        delays,
        queue_bytes=queue_bytes,
        flavour="bic",
        most_bytes=10_000_000,
        least_rto=1_000_000_000,
    )
    flows = []
    for i in range(2, 2 + senders):
        size = draw.randrange(30_000_000, 40_000_000)
        start = 1_000_000_000 + draw.randrange(1_000_000_000)
        flows.append(Transfer(f"host{i}", "host1", size, start))
    results = compare(setting, flows)
    assert sum(r.retransmitted for r in results) > 100, "the queue overflows"
