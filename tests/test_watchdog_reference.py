"""Storms of pauses and the watchdog do to flows what a second implementation says."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from switch import Flow
from watchdog_switch import Storm, WatchdogNetwork, WatchdogSetting

US = 1_000_000
HORIZON = 20_000 * US


def drawn(seed: int, *, drops: bool) -> WatchdogNetwork:
    """Draw one to three storms of a host, and flows to it and to others."""
    draw = random.Random(seed)
    receivers = draw.choice([1, 2])
    hosts = [f"host{i}" for i in range(1, 5 + receivers)]
    delays = {host: US + draw.randrange(US) for host in hosts}
    flows = [
        Flow(
            host,
            draw.choice(hosts[:receivers]),
            draw.randrange(500_000, 1_500_000),
            1000 * US + draw.randrange(1000 * US),
            draw.choice([3, 3, 0]),
            draw.choice([1000, 1500]),
        )
        for host in hosts[receivers + 1 :]
    ]
    flows.append(Flow(hosts[receivers], "host1", 1_000_000, 1000 * US + 1, 3))
    storms = []
    time = 900 * US
    for _ in range(draw.choice([1, 2, 3])):
        start = time + draw.randrange(50 * US, 1000 * US)
        time = start + draw.randrange(200 * US, 3000 * US)
        storms.append(Storm("host1", 3, start, time))
    setting = WatchdogSetting(
        delays,
        shared_bytes=draw.choice([300_000, 1_000_000]),
        exponent=draw.choice([-1, 0]),
        stopped=(3,),
        storms=tuple(storms),
        detect_after=draw.randrange(200 * US, 1000 * US),
        restore_after=draw.randrange(100 * US, 1000 * US),
        poll=draw.randrange(50 * US, 250 * US),
        drops=drops,
    )
    return WatchdogNetwork(setting, flows)


def tables(setting: WatchdogSetting) -> str:
    """Return the storms and the watchdog."""
    storms = "".join(
        f'[[pause_storm]]\nhost = "{storm.host}"\npriorities = "{storm.priority}"\n'
        f'from = "{storm.start} ps"\nuntil = "{storm.end} ps"\n'
        for storm in setting.storms
    )
    return f"""[[watchdog]]
detect_after = "{setting.detect_after} ps"
restore_after = "{setting.restore_after} ps"
poll = "{setting.poll} ps"
action = "{"drop" if setting.drops else "forward"}"
{storms}"""


@pytest.mark.parametrize("drops", [True, False], ids=["drop", "forward"])
@pytest.mark.parametrize("seed", range(6))
def test_storms_end_as_the_watchdog_has_it(*, seed: int, drops: bool) -> None:
    """Times of flows, what each lost, pause frames of the switch and of the storms, and drops."""
    network = drawn(seed, drops=drops)
    done = network.run(HORIZON)
    shown = laboratory.pausing(network.w, network.flows, tables(network.w))
    result = qcnlab.run(shown.with_({"duration": f"{HORIZON} ps"}))
    flows = result.flows.to_polars()
    assert (flows["size_bytes"] - flows["delivered_bytes"]).to_list() == network.left
    finished = [None if time is None else pytest.approx(time / 1e12, abs=1e-12) for time in done]
    assert flows["finished_s"].to_list() == finished
    ours = [result.metric(name) or 0 for name in ("storm_frames", "pause_frames", "drops")]
    frames = network.storm_frames
    pauses, lost = network.pause_frames + frames, network.drops + network.discarded
    assert ours == [frames, pauses, lost]
    assert (result.metric("watchdog_drops") or 0) == network.discarded
    assert (network.discarded > 0) == (drops and network.storms > 0)
