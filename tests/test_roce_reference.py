"""Messages over RoCE finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import pytest

import qcnlab
from qcnlab.captures import Capture, frames, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from bfc_switch import BfcNetwork, BfcSetting
from dcqcn_switch import DcqcnNetwork, DcqcnSetting
from dctcp_switch import DctcpNetwork, DctcpSetting
from hpcc_switch import HpccNetwork, HpccSetting
from irn_switch import IrnNetwork, IrnSetting
from laboratory import HORIZON
from marking import step
from nscc_switch import NsccNetwork, NsccPair, NsccSetting
from pcn_switch import PcnNetwork, PcnSetting
from pint_switch import PintNetwork, PintSetting
from power_switch import PowerNetwork, PowerSetting, ThetaNetwork
from rccc_switch import RcccNetwork, RcccSetting
from roce_switch import Network, RoceSetting
from swift_switch import SwiftNetwork, SwiftPair, SwiftSetting
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
        traffic=f"""arrivals = "list"\ntransport = "roce"
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


def compare(run: qcnlab.Result, results: list[Result]) -> None:
    """Hold when each message ended, what was sent again, and how often timers ran out."""
    assert finished(run) == [result.done for result in results]
    ours = run.flows.to_polars().select("retransmitted_frames", "timeouts").rows()
    assert ours == [(result.retransmitted, result.timeouts) for result in results]


SHOWN = 0
"""The seed at which other parameters are shown to give other times."""


def finished(run: qcnlab.Result) -> list[int]:
    """Return when each message ended, ps."""
    return [round(time * 1e12) for time in run.flows.to_polars()["finished_s"].to_list()]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window_bytes", [None, 30_000, 60_000])
def test_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, seed: int
) -> None:
    """Four senders' windows do not fit the queue: losses, and windows of packets sent again."""
    delays, messages = drawn(seed, 4)
    setting = RoceSetting(delays, window_bytes=window_bytes)
    results = Network(setting, messages).run(HORIZON)
    compare(qcnlab.run(scenario(setting, messages)), results)
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
    compare(qcnlab.run(scenario(setting, messages, more=more)), results)
    assert sum(result.retransmitted for result in results) > 50


SHARES = pytest.mark.parametrize("share", [None, 0.001, 0.1, 1])
WINDOWS = pytest.mark.parametrize("window_bytes", [None, 30_000])


@pytest.mark.parametrize("seed", range(2))
@SHARES
@WINDOWS
def test_with_trimming_every_message_finishes_at_the_same_picosecond(
    *, window_bytes: int | None, share: float | None, seed: int
) -> None:
    """A full queue cuts packets to their heads, and each that was cut is sent again at once."""
    trimmed(window_bytes, share, seed)


@pytest.mark.parametrize("seed", range(2, 4))
@SHARES
@WINDOWS
def test_with_trimming_messages_of_more_draws_finish_at_the_same_picosecond(
    *, window_bytes: int | None, share: float | None, seed: int
) -> None:
    trimmed(window_bytes, share, seed)


def trimmed(window_bytes: int | None, share: float | None, seed: int) -> None:
    """Hold a draw under trimming against its second implementation."""
    delays, messages = drawn(seed, 4)
    setting = TrimSetting(delays, window_bytes=window_bytes)
    switch = f'trim_to = "{setting.head_bytes} B"'
    if share is not None:
        setting = replace(setting, share=Fraction(str(share)))
        switch += f"\ntrim_share = {share}"
    network = TrimNetwork(setting, messages)
    results = network.run(HORIZON)
    more = 'recovery = "selective_repeat"'
    run = qcnlab.run(scenario(setting, messages, more=more, switch=switch))
    compare(run, results)
    ports = [port for port in network.down.values() if isinstance(port, CuttingLink)]
    assert (sum(port.kept_back for port in ports) > 50) == (share != 1)
    assert sum(result.timeouts for result in results) == 0
    cut = sum(port.trimmed for port in network.down.values() if isinstance(port, CuttingLink))
    assert run.metric("trimmed") == cut > 50


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
    scheme = laboratory.DCTCP.format(k=setting.ramp.k_min, base_rtt=setting.base_rtt)
    assert finished(qcnlab.run(scenario(setting, messages, scheme))) == [
        result.done for result in results
    ]


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
    scheme = laboratory.DCTCP.format(k=10**6, base_rtt=setting.base_rtt)
    switch = laboratory.wred(setting.ramp, ports="*->host1", priorities="0", mark_at=mark_at)
    assert finished(qcnlab.run(scenario(setting, messages, scheme, switch=switch))) == [
        result.done for result in results
    ]
    assert DctcpNetwork(other, messages).run(HORIZON) != results


def longer(seed: int, senders: int) -> tuple[dict[str, int], list[Transfer]]:
    """Draw as `drawn`, messages of twice the size."""
    delays, messages = drawn(seed, senders)
    return delays, [replace(message, size=2 * message.size) for message in messages]


@pytest.mark.parametrize("senders", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_under_hpcc_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Windows and rates are whole octets and bit/s; another eta or number of stages shows."""
    delays, messages = longer(seed, senders)
    setting = HpccSetting(delays, queue_bytes=10_000_000, base_rtt=10_000_000, additive=100)
    scheme = laboratory.HPCC.format(base_rtt=setting.base_rtt, additive=setting.additive)
    ours = finished(qcnlab.run(scenario(setting, messages, scheme)))
    assert ours == [result.done for result in HpccNetwork(setting, messages).run(HORIZON)]
    others = [replace(setting, eta=0.94)] + [replace(setting, stages=0)] * (senders > 1)
    for other in others if seed == SHOWN else ():
        assert ours != [result.done for result in HpccNetwork(other, messages).run(HORIZON)]


@pytest.mark.parametrize("senders", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_under_dcqcn_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Marks are certain above one threshold; another step or length of recovery shows."""
    delays, messages = longer(seed, senders)
    setting = DcqcnSetting(delays, queue_bytes=10_000_000, threshold=30_000)
    network = DcqcnNetwork(setting, messages)
    scheme = laboratory.DCQCN.format(k=setting.threshold, byte_reset=setting.byte_counter, alpha=1)
    run = qcnlab.run(scenario(setting, messages, scheme))
    ours = finished(run)
    assert ours == [result.done for result in network.run(HORIZON)]
    assert (run.metric("messages") or 0) == network.cnps
    assert (network.cnps > 3) == (senders > 1)
    if seed != SHOWN:
        return
    other = replace(setting, additive_bps=44_000_000, fast_recovery=4)
    same = ours == [result.done for result in DcqcnNetwork(other, messages).run(HORIZON)]
    assert same == (senders == 1)


@pytest.mark.parametrize("senders", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(3))
def test_under_pcn_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Receivers measure the same rates; another period or weight shows."""
    delays, messages = longer(seed, senders)
    setting = PcnSetting(delays, queue_bytes=10_000_000, period=20_000_000)
    network = PcnNetwork(setting, messages)
    run = qcnlab.run(scenario(setting, messages, laboratory.PCN.format(period=setting.period)))
    ours = finished(run)
    assert ours == [result.done for result in network.run(HORIZON)]
    assert (run.metric("messages") or 0) == network.cnps
    assert (network.cnps > 3) == (senders > 1)
    if seed != SHOWN:
        return
    for change in ({"period": 21_000_000}, {"w_min": 1 / 64}, {"w_max": 0.4}, {"share": 1.1}):
        other = PcnNetwork(replace(setting, **change), messages).run(HORIZON)
        assert (ours == [result.done for result in other]) == (senders == 1), change


@pytest.mark.parametrize("senders", [1, 2, 3, 24])
@pytest.mark.parametrize("seed", range(3))
def test_under_bfc_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Hosts stop and go on as often and at the same times; other parameters show."""
    delays, messages = drawn(seed, senders)
    setting = BfcSetting(delays)
    network = BfcNetwork(setting, messages)
    words = scenario(replace(setting, queue_bytes=10_000_000), messages, 'name = "bfc"')
    run = qcnlab.run(words)
    ours = finished(run)
    assert ours == [result.done for result in network.run(HORIZON)]
    assert run.metric("drops") == 0
    assert (network.apart.stops > 10) == (senders > 1)
    if seed != SHOWN:
        return
    for change in ({"threshold": 20.0}, {"quantum": 3000}):
        other = BfcNetwork(replace(setting, **change), messages).run(HORIZON)
        assert (ours == [result.done for result in other]) == (senders == 1), change


@pytest.mark.parametrize("share", [1, 0.0625])
def test_under_hpcc_with_pint_messages_take_as_long_in_the_mean(share: float) -> None:
    """Roundings and samples are drawn: means over ten draws agree within 1 %, sums of octets too.

    Another eta is seen: 0.9 takes 4 % longer.
    """
    delays, messages = longer(0, 3)
    setting = PintSetting(delays, queue_bytes=10_000_000, base_rtt=10_000_000, share=share)
    scheme = laboratory.PINT.format(base_rtt=setting.base_rtt, share=share)
    run = qcnlab.run(scenario(setting, messages, scheme), reps=10)
    ours = [time * 1e12 for time in run.flows.to_polars()["finished_s"].to_list()]
    starts = [message.start for message in messages]

    def theirs(setting: PintSetting) -> float:
        runs = [PintNetwork(replace(setting, seed=n), messages).run(HORIZON) for n in range(10)]
        done = [result.done or 0 for results in runs for result in results]
        return fmean(time - start for time, start in zip(done, starts * 10, strict=True))

    mean = fmean(time - start for time, start in zip(ours, starts * 10, strict=True))
    assert mean == pytest.approx(theirs(setting), rel=0.01)
    assert mean < 0.98 * theirs(replace(setting, eta=0.9))


POWERS = {
    "powertcp NSDI2022": PowerNetwork,
    "powertcp POWERTCP_LINUX": PowerNetwork,
    "theta_powertcp NSDI2022": ThetaNetwork,
    "theta_powertcp POWERTCP_LINUX": ThetaNetwork,
}
"""Schemes by the power of a path with their presets, and their second implementations."""


@pytest.mark.parametrize("scheme", POWERS)
@pytest.mark.parametrize("senders", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_under_powertcp_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int, scheme: str
) -> None:
    """With telemetry and without; another gamma, beta or rhythm shows."""
    delays, messages = longer(seed, senders)
    (name, preset), network = scheme.split(), POWERS[scheme]
    linux = preset == "POWERTCP_LINUX"
    setting = PowerSetting(delays, queue_bytes=10_000_000, tau=10_000_000, beta=1250, linux=linux)
    words = laboratory.POWER.format(name=name, preset=preset, tau=setting.tau, beta=setting.beta)
    ours = finished(qcnlab.run(scenario(setting, messages, words)))
    assert ours == [result.done for result in network(setting, messages).run(HORIZON)]
    if seed != SHOWN:
        return
    changes = ({"gamma": 0.8}, {"beta": 1300}, {"linux": not linux})
    for other in (replace(setting, **change) for change in changes):
        same = ours == [result.done for result in network(other, messages).run(HORIZON)]
        assert same == (senders == 1), "alone, a window stays at its cap"


@pytest.mark.parametrize("senders", [1, 4, 24])
@pytest.mark.parametrize("seed", range(3))
def test_under_swift_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Windows of many packets, and of less than one with a gap; other parameters show."""
    delays, messages = drawn(seed, senders)
    setting = SwiftSetting(delays, queue_bytes=10_000_000, base=7_000_000, scaling=9_000_000)
    scheme = laboratory.SWIFT.format(base=setting.base, scaling=setting.scaling)
    ours = finished(qcnlab.run(scenario(setting, messages, scheme)))
    network = SwiftNetwork(setting, messages)
    assert ours == [result.done for result in network.run(HORIZON)]
    least = min(pair.window for pair in network.pairs if isinstance(pair, SwiftPair))
    assert (least < 1) == (senders == 24)
    if seed != SHOWN:
        return
    changes = (
        {"per_hop": 0},
        {"scaling": 8_000_000},
        {"mdf": 0.7},
        {"step": 0.9},
        {"most_cut": 0.4},
    )
    for other in (replace(setting, **change) for change in changes):
        same = ours == [result.done for result in SwiftNetwork(other, messages).run(HORIZON)]
        assert not same or senders == 1, other


@pytest.mark.parametrize(("senders", "seed"), [(1, 0), (4, 1), (16, 0), (16, 2)])
def test_under_rccc_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """As much credit is given at the same times, for what came cut, too; other parameters show."""
    delays, messages = drawn(seed, senders)
    setting = RcccSetting(
        delays, queue_bytes=60_000, network_rtt=20_000_000, threshold=1_000_000, rto=10**11
    )
    scheme = laboratory.RCCC.format(network_rtt=setting.network_rtt)
    more = 'recovery = "selective_repeat"\nreordering_threshold = 1000000'
    switch = f'trim_to = "{setting.head_bytes} B"'
    run = qcnlab.run(scenario(setting, messages, scheme, more=more, switch=switch))
    network = RcccNetwork(setting, messages)
    compare(run, network.run(HORIZON))
    assert run.metric("messages") == network.credits > 10
    cut = sum(port.trimmed for port in network.down.values() if isinstance(port, CuttingLink))
    assert run.metric("trimmed") == cut
    assert (cut > 0) == (senders > 1)
    if seed == 2:
        return
    ours = finished(run)
    for change in ({"window": 1.4}, {"pull": 3}, {"pace": 0.98}, {"counted": 0}):
        other = RcccNetwork(replace(setting, **change), messages).run(HORIZON)
        assert senders == 1 or ours != [result.done for result in other], change


@pytest.mark.parametrize(("senders", "seed"), [(1, 0), (4, 1), (16, 0), (16, 2)])
def test_under_nscc_every_message_finishes_at_the_same_picosecond(
    *, senders: int, seed: int
) -> None:
    """Windows that stay, marks, and with sixteen senders cut packets and quick adapt."""
    delays, messages = drawn(seed, senders)
    setting = NsccSetting(
        delays,
        queue_bytes=60_000,
        ramp=step(20_000),
        network_rtt=20_000_000,
        threshold=1_000_000,
    )
    scheme = laboratory.NSCC.format(k=setting.ramp.k_min, network_rtt=setting.network_rtt)
    more = 'recovery = "selective_repeat"\nreordering_threshold = 1000000'
    switch = f'trim_to = "{setting.head_bytes} B"'
    run = qcnlab.run(scenario(setting, messages, scheme, more=more, switch=switch))
    network = NsccNetwork(setting, messages)
    compare(run, network.run(HORIZON))
    cut = sum(port.trimmed for port in network.down.values() if isinstance(port, CuttingLink))
    assert run.metric("trimmed") == cut
    pairs = [pair for pair in network.pairs if isinstance(pair, NsccPair)]
    assert [cut > 0, any(pair.acted for pair in pairs)] == [senders == 16] * 2
    if (senders, seed) != (16, 0):
        return
    changes = (
        {"target": 0.7},
        {"alpha": 3.0},
        {"fair": 9.0},
        {"eta": 0.3},
        {"gamma": 0.7},
        {"mean_share": 0.02},
        {"adjust_packets": 4.0},
        {"gate": 1},
    )
    ours = finished(run)
    for other in (replace(setting, **change) for change in changes):
        assert ours != [each.done for each in NsccNetwork(other, messages).run(HORIZON)], other
