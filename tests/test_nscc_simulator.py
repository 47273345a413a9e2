"""NSCC and RCCC beside what the simulator of their consortium gives: stored outputs of uet-htsim.

Its fabrics have 16 hosts at 100 Gb/s; delays of links and lengths of queues are ours, by the 12 us
and the one product of rate and delay that its parameters are for.
"""

from __future__ import annotations

import pytest

import qcnlab

FABRIC = """title = "A fat-tree of 16 hosts that cuts packets"
duration = "20 ms"
drain = true
[topology]
kind = "fat_tree"
k = 4
rate = "100 Gb/s"
delay = "1 us"
[routing]
multipath = "round_robin"
[[switch]]
trim_to = "64 B"
trim_share = 0.5
output_buffer = "150 KB"
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "{senders}"
to = "{receivers}"
spread = "{spread}"
size = "2 MB"
recovery = "selective_repeat"
reordering_threshold = 100000
rto = "2 ms"
frame = "4160 B"
headers = "64 B"
ack_frame = "64 B"
cn_tag = false
[scheme]
name = "nscc"
preset = "UET_HTSIM"
"""
"""Links of 1 us, queues of one product of 100 Gb/s and 12 us, packets of 4096 octets."""


def finished(senders: str, receivers: str, *changes: str, spread: str = "each") -> list[float]:
    """Return when the messages of 2 MB ended, us, in order."""
    text = FABRIC.format(senders=senders, receivers=receivers, spread=spread)
    if spread == "each":
        text = text.replace('spread = "each"\n', "")
    run = qcnlab.run(qcnlab.Scenario.from_toml(text).with_(*changes), reps=1)
    assert run.metric("timeouts") == run.metric("spurious_repeats") == 0
    return sorted(time * 1e6 for time in run.flows.to_polars()["finished_s"].to_list())


RCCC = ("scheme.name=rccc", "scheme.preset=UET_HTSIM")


def test_under_rccc_an_incast_of_fifteen_ends_as_late_and_less_evenly() -> None:
    """2464 us there: credit of 0.99 of the link takes 2438 us / 0.99.

    The last takes 1.04 times as long as the first there, 1.11 here: there, what goes without credit
    ends with the first answer; here a whole window does, and more of it finds room from near hosts.
    """
    ended = finished("host{2..16}", "host1", *RCCC)
    assert len(ended) == 15
    assert ended[-1] == pytest.approx(2464, rel=0.005)
    assert ended[-1] / ended[0] == pytest.approx(1.108, rel=0.01)


def test_a_message_alone_takes_as_long() -> None:
    """176.2 us there. 162.5 us of a link, 12 links of 1 us, and five times a packet of 0.33 us."""
    assert finished("host1", "host9") == [pytest.approx(176.2, abs=0.05)]


def test_an_incast_of_fifteen_ends_as_late_and_as_unevenly() -> None:
    """2478 us there, 1.95 times the first; 15 times 2 MB with headers are 2438 us of the link."""
    ended = finished("host{2..16}", "host1")
    assert len(ended) == 15
    assert ended[-1] == pytest.approx(2478, rel=0.002)
    assert ended[-1] / ended[0] == pytest.approx(1.95, rel=0.03)


def test_a_permutation_over_all_ways_ends_sooner_than_there() -> None:
    """194 us there, where packets draw one of 128 values; here they take all ways in turn."""
    ended = finished("host{1..8}", "host{9..16}", spread="paired")
    assert 176 < ended[0] <= ended[-1] < 180
