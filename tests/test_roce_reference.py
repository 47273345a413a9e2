"""Messages over RoCE finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

import qcnlab
from qcnlab.captures import Capture, frames, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from dcqcn_switch import DcqcnNetwork, DcqcnSetting
from dctcp_switch import DctcpNetwork, DctcpSetting
from hpcc_switch import HpccNetwork, HpccSetting
from irn_switch import IrnNetwork, IrnSetting
from laboratory import HORIZON
from marking import step
from roce_switch import Network, RoceSetting
from switch import Result, Transfer
from trim_switch import CuttingLink, TrimNetwork, TrimSetting


def scenario(
    setting: RoceSetting,
    messages: list[Transfer],
    scheme: str = 'name = "none"',
    *,
    more: str = "",
    switch: str = "",
) -> qcnlab.Scenario:
    """Return the same network and messages for the laboratory.

    `more` is of the table of the traffic, `switch` of that of the switch.
    """
    window = "none" if setting.window_bytes is None else f"{setting.window_bytes} B"
    return laboratory.scenario(
        setting,
        messages,
        switch=f'[switch]\noutput_buffer = "{setting.queue_bytes} B"\n{switch}',
        traffic=f"""kind = "roce_list"
cn_tag = false
frame = "{setting.frame_bytes} B"
window_limit = "{window}"
rto = "{setting.rto} ps"
nack_interval = "{setting.nack_interval} ps"
{more}
""",
        scheme=scheme,
    )


def drawn(seed: int, senders: int) -> tuple[dict[str, int], list[Transfer]]:
    """Draw links of unequal length, and a message from each host but the first to the first."""
    draw = random.Random(seed)
    delays = {f"host{i}": 1_000_000 + draw.randrange(1_000_000) for i in range(1, senders + 2)}
    messages = []
    for host in list(delays)[1:]:
        start = 1_000_000_000 + draw.randrange(100_000_000)
        messages.append(Transfer(host, "host1", draw.randrange(100_000, 300_000), start))
    return delays, messages


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window_bytes", [None, 30_000, 60_000])
def test_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, seed: int
) -> None:
    """Four senders' windows do not fit the queue: losses, and windows of packets sent again."""
    delays, messages = drawn(seed, 4)
    setting = RoceSetting(delays, window_bytes=window_bytes)
    results = Network(setting, messages).run(HORIZON)
    table = qcnlab.run(scenario(setting, messages)).flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    ours = table.select("retransmitted_frames", "timeouts").rows()
    assert ours == [(result.retransmitted, result.timeouts) for result in results]
    assert sum(result.retransmitted for result in results) > 100


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("few", [0, 3])
@pytest.mark.parametrize("window_bytes", [None, 30_000, 60_000])
def test_with_selective_repeat_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, few: int, seed: int
) -> None:
    """IRN: the same losses are repaired at the same times, by acknowledgements and by timeouts."""
    delays, messages = drawn(seed, 4)
    setting = IrnSetting(delays, window_bytes=window_bytes, few=few)
    results = IrnNetwork(setting, messages).run(HORIZON)
    more = f"""recovery = "selective_repeat"
rto_low = "{setting.rto_low} ps"
rto_low_packets = {few}
"""
    table = qcnlab.run(scenario(setting, messages, more=more)).flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    ours = table.select("retransmitted_frames", "timeouts").rows()
    assert ours == [(result.retransmitted, result.timeouts) for result in results]
    assert sum(result.retransmitted for result in results) > 50


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window_bytes", [None, 30_000])
def test_with_trimming_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, seed: int
) -> None:
    """A full queue cuts packets to their heads, and each that was cut is sent again at once."""
    delays, messages = drawn(seed, 4)
    setting = TrimSetting(delays, window_bytes=window_bytes)
    network = TrimNetwork(setting, messages)
    results = network.run(HORIZON)
    more, switch = 'recovery = "selective_repeat"', f'trim_to = "{setting.head_bytes} B"'
    run = qcnlab.run(scenario(setting, messages, more=more, switch=switch))
    table = run.flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    assert table["retransmitted_frames"].to_list() == [r.retransmitted for r in results]
    assert table["timeouts"].sum() == 0
    cut = sum(port.trimmed for port in network.down.values() if isinstance(port, CuttingLink))
    assert run.metric("trimmed") == cut > 500


def test_a_capture_has_the_same_negative_acknowledgements(tmp_path: Path) -> None:
    """In RoCEv2 one says which packet is missing, and a positive one which was the last."""
    delays, messages = drawn(0, 4)
    setting = RoceSetting(delays, window_bytes=60_000)
    network = Network(setting, messages)
    network.run(HORIZON)
    file = tmp_path / "roce.pcapng"
    run_captured(scenario(setting, messages), Capture("host1->switch", "headers"), file, reps=1)
    abouts = [str(frame["about"]) for frame in frames(file)]
    named = re.compile(r"queue pair 0xc(\w+) sequence (\d+) NAK sequence error")
    matches = [match for about in abouts if (match := named.search(about))]
    assert [(int(match[1], 16), int(match[2])) for match in matches] == network.nacks
    assert len(network.nacks) >= 10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("senders", [1, 4, 8])
def test_under_dctcp_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """DCTCP draws nothing, and all its numbers but alpha are whole."""
    delays, messages = drawn(seed, senders)
    setting = DctcpSetting(delays, queue_bytes=10_000_000, base_rtt=20_000_000, ramp=step(30_000))
    results = DctcpNetwork(setting, messages).run(HORIZON)
    scheme = f"""name = "dctcp"
preset = "SIGCOMM2010"
cp.threshold = "{setting.ramp.k_min} B"
rp.base_rtt = "{setting.base_rtt} ps"
"""
    table = qcnlab.run(scenario(setting, messages, scheme)).flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)


@pytest.mark.parametrize("mark_at", ["arrival", "departure"])
@pytest.mark.parametrize("seed", range(3))
def test_thresholds_of_a_queue_mark_the_same_packets(*, mark_at: str, seed: int) -> None:
    """DCTCP with thresholds of the switch in the place of its own: what arrives or what leaves."""
    delays, messages = drawn(seed, 3)
    setting = DctcpSetting(
        delays,
        queue_bytes=10_000_000,
        base_rtt=20_000_000,
        ramp=step(10_000 + 20_000 * seed),
        leaving=mark_at == "departure",
    )
    results = DctcpNetwork(setting, messages).run(HORIZON)
    other = replace(setting, leaving=not setting.leaving)
    scheme = f"""name = "dctcp"
preset = "SIGCOMM2010"
cp.threshold = "1 MB"
rp.base_rtt = "{setting.base_rtt} ps"
"""
    switch = laboratory.wred(setting.ramp, ports="*->host1", priorities="0", mark_at=mark_at)
    table = qcnlab.run(scenario(setting, messages, scheme, switch=switch)).flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    assert DctcpNetwork(other, messages).run(HORIZON) != results


def apart(ours: list[float], results: list[Result], messages: list[Transfer]) -> list[float]:
    """Return by which share the times of messages differ from those of a second implementation."""
    theirs = [((r.done or 0) - m.start) / 1e12 for r, m in zip(results, messages, strict=True)]
    return [abs(a / b - 1) for a, b in zip(ours, theirs, strict=True)]


def under_hpcc(seed: int, senders: int, law: dict[str, float]) -> list[float]:
    """Return `apart` of HPCC; the second implementation has what `law` changes."""
    delays, messages = drawn(seed, senders)
    messages = [replace(message, size=2 * message.size) for message in messages]
    setting = HpccSetting(delays, queue_bytes=10_000_000, base_rtt=10_000_000, additive=100)
    results = HpccNetwork(replace(setting, **law), messages).run(HORIZON)  # type: ignore[arg-type]
    scheme = f"""name = "hpcc"
preset = "SIGCOMM2019"
rp.base_rtt = "{setting.base_rtt} ps"
rp.additive_window = "{setting.additive} B"
"""
    flows = qcnlab.run(scenario(setting, messages, scheme)).flows.to_polars()
    return apart(flows["completion_s"].to_list(), results, messages)


def test_under_hpcc_a_message_alone_takes_as_long() -> None:
    """Only the last digits of rates and times differ: within a millionth part of 0.1 ms."""
    assert max(under_hpcc(0, 1, {})) < 1e-5


@pytest.mark.parametrize("law", [{}, {"eta": 0.94}, {"stages": 0}], ids=str)
def test_under_hpcc_two_messages_take_as_long(law: dict[str, float]) -> None:
    """They share the link, and the last digits of every number decide where each rate settles.

    Times differ by less than 0.5 % on average, and by more than 1 % where the law is another.
    """
    mean = fmean(share for seed in range(20) for share in under_hpcc(seed, 2, law))
    assert (mean > 0.01) if law else (mean < 0.005)


@pytest.mark.parametrize("law", [{}, {"additive_bps": 44e6}, {"fast_recovery": 4}], ids=str)
def test_under_dcqcn_two_messages_take_as_long(law: dict[str, float]) -> None:
    """Marks are certain above one threshold; rates are whole numbers in the laboratory alone.

    Times differ by less than 0.15 % on average, and by more than 0.2 % where the law is another.
    """
    shares = []
    for seed in range(20):
        delays, messages = drawn(seed, 2)
        messages = [replace(message, size=2 * message.size) for message in messages]
        setting = DcqcnSetting(delays, queue_bytes=10_000_000, threshold=30_000)
        network = DcqcnNetwork(replace(setting, **law), messages)  # type: ignore[arg-type]
        results = network.run(HORIZON)
        scheme = f"""name = "dcqcn"
preset = "SIGCOMM2015"
cp.k_min = "{setting.threshold} B"
cp.k_max = "{setting.threshold} B"
cp.p_max = 1
rp.byte_reset = "{setting.byte_counter} B"
"""
        result = qcnlab.run(scenario(setting, messages, scheme))
        if not law:
            assert result.metric("messages") == network.cnps
        shares += apart(result.flows.to_polars()["completion_s"].to_list(), results, messages)
    assert (fmean(shares) > 0.002) if law else (fmean(shares) < 0.0015)
