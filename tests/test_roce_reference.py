"""Messages over RoCE finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

import qcnlab
from qcnlab.captures import Capture, frames, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from roce_switch import Message, Network, Setting

HORIZON = 100_000_000_000
"""0.1 s, ps: each message has been acknowledged by then."""


def scenario(setting: Setting, messages: list[Message]) -> qcnlab.Scenario:
    """Return the same network and messages for the laboratory."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    rows = "\n".join(f"{m.source},{m.to},{m.size} B,{m.start} ps," for m in messages)
    window = "none" if setting.window_bytes is None else f"{setting.window_bytes} B"
    return qcnlab.Scenario.from_toml(f"""title = "RoCE through a switch"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
delay = "1 us"
{links}[switch]
output_buffer = "{setting.queue_bytes} B"
[[traffic]]
kind = "roce_list"
cn_tag = false
frame = "{setting.frame_bytes} B"
window_limit = "{window}"
rto = "{setting.rto} ps"
nack_interval = "{setting.nack_interval} ps"
flows = '''
from,to,size,start,class
{rows}
'''
[scheme]
name = "none"
""")


def drawn(seed: int, senders: int) -> tuple[dict[str, int], list[Message]]:
    """Draw links of unequal length, and a message from each host but the first to the first."""
    draw = random.Random(seed)
    delays = {f"host{i}": 1_000_000 + draw.randrange(1_000_000) for i in range(1, senders + 2)}
    messages = []
    for host in list(delays)[1:]:
        start = 1_000_000_000 + draw.randrange(100_000_000)
        messages.append(Message(host, "host1", draw.randrange(100_000, 300_000), start))
    return delays, messages


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window_bytes", [None, 30_000, 60_000])
def test_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, seed: int
) -> None:
    """Four senders' windows do not fit the queue: losses, and windows of packets sent again."""
    delays, messages = drawn(seed, 4)
    setting = Setting(delays, window_bytes=window_bytes)
    results = Network(setting, messages).run(HORIZON)
    table = qcnlab.run(scenario(setting, messages)).flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    ours = table.select("retransmitted_frames", "timeouts").rows()
    assert ours == [(result.retransmitted, result.timeouts) for result in results]
    assert sum(result.retransmitted for result in results) > 100


def test_a_capture_has_the_same_negative_acknowledgements(tmp_path: Path) -> None:
    """In RoCEv2 one says which packet is missing, and a positive one which was the last."""
    delays, messages = drawn(0, 4)
    setting = Setting(delays, window_bytes=60_000)
    network = Network(setting, messages)
    network.run(HORIZON)
    file = tmp_path / "roce.pcapng"
    run_captured(scenario(setting, messages), Capture("host1->switch", "headers"), file, reps=1)
    abouts = [str(frame["about"]) for frame in frames(file)]
    named = re.compile(r"queue pair 0xc(\w+) sequence (\d+) NAK sequence error")
    matches = [match for about in abouts if (match := named.search(about))]
    assert [(int(match[1], 16), int(match[2])) for match in matches] == network.nacks
    assert len(network.nacks) >= 10
