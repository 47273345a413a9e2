"""CNMs that travel as frames are made, arrive and act when a second implementation says."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import qcnlab
from qcnlab.captures import Capture, frames, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from feedback_switch import FeedbackSetting, Network
from laboratory import HORIZON
from switch import Transfer

DATA = 3
"""Priority of data; CNMs have the same, or one above it."""


def scenario(setting: FeedbackSetting, flows: list[Transfer]) -> qcnlab.Scenario:
    """Return the same network and flows for the laboratory."""
    s = setting
    return laboratory.scenario(
        s,
        flows,
        switch=f"""[switch]
output_buffer = "{s.queue_bytes} B"
[feedback]
kind = "frames"
frame = "{s.cnm_bytes} B"
priority = {DATA + s.cnm_first}
""",
        traffic=f'arrivals = "list"\nframe = "{s.frame_bytes} B"\npriority = {DATA}',
        scheme=f"""name = "qcn"
preset = "DECK001"
cp.jitter_width = 0
cp.sample_base = "{s.sample_base} B"
cp.count_discarded = {str(s.count_discarded).lower()}
rp.jitter_width = 0
rp.byte_reset = "{s.byte_reset} B"
rp.time_reset = "{s.time_reset} ps"
""",
    )


def told(ours: qcnlab.Result) -> list[tuple[object, ...]]:
    """Return the laboratory's messages, times in ps."""
    columns = ("time_s", "source", "fb", "q_off_bytes", "q_delta_bytes")
    rows = ours.messages.to_polars().select(columns).rows()
    return [(round(at * 1e12), *rest) for at, *rest in rows]


def as_told(network: Network) -> list[tuple[object, ...]]:
    """Return the messages of the second implementation."""
    name = [f"{flow.source}->{flow.to}" for flow in network.flows]
    messages = sorted(network.messages, key=lambda message: message.at)
    return [(m.at, name[m.flow], -m.fb, m.offset, m.growth) for m in messages]


def drawn(seed: int) -> tuple[dict[str, int], list[Transfer]]:
    """Four hosts send to the first; two more send to two of the four, against their CNMs."""
    draw = random.Random(seed)
    delays = {f"host{i}": 1_000_000 + draw.randrange(1_000_000) for i in range(1, 8)}
    flows = []
    for source, to in ((2, 1), (3, 1), (4, 1), (5, 1), (6, 2), (7, 3)):
        start = 1_000_000_000 + draw.randrange(100_000_000)
        flows.append(
            Transfer(f"host{source}", f"host{to}", draw.randrange(10**6, 3 * 10**6), start)
        )
    return delays, flows


CLASSES = pytest.mark.parametrize("cnm_first", [False, True], ids=["with-data", "before-data"])
OCTETS = pytest.mark.parametrize(
    ("cnm_bytes", "queue_bytes"), [(64, 10**7), (128, 10**7), (64, 45_000)]
)


@CLASSES
@OCTETS
def test_messages_and_flows_are_the_same_to_the_picosecond(
    *, cnm_first: bool, cnm_bytes: int, queue_bytes: int, tmp_path: Path
) -> None:
    hold(cnm_first, cnm_bytes, queue_bytes, 1, tmp_path / "cnms.pcapng")


@pytest.mark.parametrize("seed", [0, 2])
@CLASSES
@OCTETS
def test_messages_and_flows_of_more_draws_are_the_same_to_the_picosecond(
    *, cnm_first: bool, cnm_bytes: int, queue_bytes: int, seed: int, tmp_path: Path
) -> None:
    hold(cnm_first, cnm_bytes, queue_bytes, seed, tmp_path / "cnms.pcapng")


def hold(cnm_first: bool, cnm_bytes: int, queue_bytes: int, seed: int, file: Path) -> None:
    """Hold a draw against the second implementation.

    A capture has nanoseconds; that of the hosts says when each CNM has arrived.
    """
    delays, flows = drawn(seed)
    setting = FeedbackSetting(
        delays, cnm_first=cnm_first, cnm_bytes=cnm_bytes, queue_bytes=queue_bytes
    )
    network = Network(setting, flows)
    done = network.run(HORIZON)
    captured = scenario(setting, flows)
    ours = run_captured(captured, Capture("host*"), file, reps=1, progress=False)[0]
    assert told(ours) == as_told(network)
    cnms = [frame for frame in frames(file) if frame["kind"] == "CNM"]
    assert {frame["octets"] for frame in cnms} == {cnm_bytes}
    heard = [(frame["time_ns"], frame["port"].partition("->")[0]) for frame in cnms]
    assert heard == [(at // 1000, flows[flow].source) for at, flow in network.heard]
    finished = ours.flows.to_polars()["finished_s"].to_list()
    assert [at and round(at * 1e12) for at in finished] == done
    assert len(network.messages) > 50
    assert ours.metric("drops") == network.drops
    assert (network.drops > 0) == (queue_bytes < 10**7)


@pytest.mark.parametrize(("queue_bytes", "counted"), [(45_000, 5), (150_000, 4), (1_000_000, 3)])
def test_samples_of_discarded_frames_are_the_same_to_the_picosecond(
    queue_bytes: int, counted: int
) -> None:
    """Nine senders of 100 Gb/s overflow a queue for a round trip of 294 us.

    Where discarded frames count there are more than `counted` times as many messages, and fewer
    drops: the sources slow down sooner, and have sent all before they overflow the queue again.
    """
    draw = random.Random(5)
    delays = {f"host{i}": 73_500_000 + draw.randrange(10**6) for i in range(1, 11)}
    flows = [
        Transfer(f"host{i}", "host1", 3 * 10**6 + draw.randrange(10**6), draw.randrange(10**8))
        for i in range(2, 11)
    ]
    messages, drops = [], []
    for count_discarded in (False, True):
        setting = FeedbackSetting(
            delays,
            rate_bps=100 * 10**9,
            cnm_first=True,
            queue_bytes=queue_bytes,
            count_discarded=count_discarded,
        )
        network = Network(setting, flows)
        done = network.run(HORIZON)
        ours = qcnlab.run(scenario(setting, flows), reps=1, progress=False)
        assert told(ours) == as_told(network)
        assert ours.metric("drops") == network.drops
        finished = ours.flows.to_polars()["finished_s"].to_list()
        assert [at and round(at * 1e12) for at in finished] == done
        messages.append(len(network.messages))
        drops.append(network.drops)
    assert messages[1] > counted * messages[0]
    assert drops[1] < drops[0]
