"""Messages over RoCE in captures, as tshark and a reader of this folder see their packets."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import qcnlab
from qcnlab.captures import Capture, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from pcapng import read

with_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is not installed (Debian: apt-get install --no-install-recommends tshark)",
)

FIRST, MIDDLE, LAST, ONLY, ACKNOWLEDGE = 0, 1, 2, 4, 17
MTU = 2048
SIZES = [1, MTU - 1, MTU, MTU + 1, 2 * MTU, 2 * MTU + 1, 300 * MTU - 7, 300 * MTU]
"""Octets of each message: sources 1 and up send one each."""

# Octets of a frame without tags but 802.1Q's: addresses, tag, EtherType, IPv4, UDP; then the
# base header: opcode, flags, partition, FECN and BECN, queue pair, request, number.
UDP = 12 + 4 + 2 + 20
BTH = UDP + 8
CONGESTION = BTH + 4
BECN = 0x40


def of_messages(recovery: str, queue: str) -> qcnlab.Scenario:
    """One message from each of eight hosts to the ninth, at a switch whose queues hold few."""
    traffic = "".join(
        f"""
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "host{source}"
to = "host9"
size = "{size} B"
frame = "{MTU + 52} B"
headers = "52 B"
recovery = "{recovery}"
rto = "200 us"
ack_every = 3
ack_delay = "100 us"
cn_tag = false
"""
        for source, size in enumerate(SIZES, start=1)
    )
    return qcnlab.Scenario.from_toml(f"""
title = "Messages of eight sizes"
duration = "20 ms"
[topology]
kind = "switch"
hosts = 9
rate = "10 Gb/s"
delay = "1 us"
[switch]
output_buffer = "{queue}"
{traffic}
[scheme]
name = "none"
""")


def incast(scheme: str, ack_every: int) -> qcnlab.Scenario:
    """Four messages at once over links of 10 Gb/s, into a queue that marks from 30 KB on."""
    return qcnlab.Scenario.from_toml(f"""
title = "Four senders whose packets are marked"
duration = "3 ms"
[topology]
kind = "star"
sources = 4
rate = "10 Gb/s"
rtt = "4 us"
sink_delay = "1 us"
buffer = "4 MB"
[[traffic]]
arrivals = "saturated"
transport = "roce"
size = "400 kB"
frame = "1048 B"
headers = "48 B"
ack_every = {ack_every}
cn_tag = false
[feedback]
kind = "frames"
frame = "64 B"
priority = 6
[scheme]
{scheme}
""")


def filtered(file: Path, chosen: str, *fields: str) -> list[str]:
    """Return what tshark shows of these fields, a line for each frame that a filter lets pass."""
    words = [word for field in fields for word in ("-e", field)]
    return subprocess.run(
        ["tshark", "-r", str(file), "-T", "fields", *words, "-Y", chosen],
        capture_output=True, text=True, timeout=300, check=True,
    ).stdout.splitlines()  # fmt: skip


def bth_rows(file: Path, at: str) -> dict[int, list[tuple[int, int]]]:
    """Return what tshark reads of the data that ports send: by queue pair opcode and number."""
    fields = ["infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn"]
    chosen = f'frame.interface_name matches "{at}" && infiniband.bth.opcode < 5'
    rows = defaultdict(list)
    for line in filtered(file, chosen, *fields):
        pair, opcode, number = line.split("\t")
        rows[int(pair, 0)].append((int(opcode), int(number)))
    return rows


def expected(number: int, packets: int) -> int:
    """Return the opcode of a SEND's packet: IBTA volume 1, table of opcodes."""
    if packets == 1:
        return ONLY
    return {0: FIRST, packets - 1: LAST}.get(number, MIDDLE)


@with_tshark
@pytest.mark.parametrize("recovery", ["go_back_n", "selective_repeat"])
@pytest.mark.parametrize("queue", ["4 MB", "6300 B"])
def test_packets_are_first_middle_last_or_only(
    tmp_path: Path, *, recovery: str, queue: str
) -> None:
    """Each number has its opcode whenever it is sent, and new ones follow one another."""
    file = tmp_path / "messages.pcapng"
    capture = Capture("host*->switch", "headers")
    run, _ = run_captured(of_messages(recovery, queue), capture, file, progress=False)
    lossless = queue == "4 MB"
    again = run.flows.to_polars()["retransmitted_frames"].to_list()
    assert (sum(again) == 0) == lossless
    rows = bth_rows(file, "^host[1-8]->switch$")
    for (pair, sent), size, repeated in zip(sorted(rows.items()), SIZES, again, strict=True):
        packets = -(-size // MTU)
        assert all(opcode == expected(number, packets) for opcode, number in sent), (pair, sent)
        new = list(dict.fromkeys(number for _, number in sent))
        assert new == list(range(packets)), size
        assert len(sent) == packets + repeated, size
    if not lossless:
        assert sum(repeated > 10 for repeated in again) >= 1


def test_acknowledgements_say_how_far_messages_are(tmp_path: Path) -> None:
    """Where nothing is lost: the number of the last packet, and one message at its end."""
    file = tmp_path / "answers.pcapng"
    run_captured(of_messages("go_back_n", "4 MB"), Capture("host9->switch"), file, progress=False)
    answers = defaultdict(list)
    for frame in read(file):
        bth = frame.octets[BTH:]
        if frame.octets[UDP + 2 : UDP + 4] == bytes([0x12, 0xB7]):
            assert bth[0] == ACKNOWLEDGE
            pair, number = (int.from_bytes(bth[at : at + 3]) for at in (5, 9))
            # 31 credits: none are counted. Then the number of messages.
            assert bth[12] == 31
            answers[pair].append((number, int.from_bytes(bth[13:16])))
    for (_, told), size in zip(sorted(answers.items()), SIZES, strict=True):
        last = -(-size // MTU) - 1
        every_third = sorted({*range(2, last, 3), last})
        assert told == [(number, int(number == last)) for number in every_third]


ECHOED = 'preset = "HPCC_SIMULATOR"\n[scheme.cp]\nk_min = "300 KB"\nk_max = "900 KB"\np_max = 0.3'
"""Thresholds for 100 Gb/s: at 10 Gb/s a tenth."""


@with_tshark
@pytest.mark.parametrize("ack_every", [1, 4])
@pytest.mark.parametrize(
    ("scheme", "echoes"),
    [
        (f'name = "dcqcn"\n{ECHOED}', True),
        ('name = "dctcp"\n[scheme.cp]\nthreshold = "30 KB"', True),
        ('name = "dcqcn"\n[scheme.cp]\nk_min = "30 KB"\np_max = 0.3', False),
    ],
    ids=["dcqcn", "dctcp", "cnps"],
)
def test_marks_are_echoed_in_acknowledgements(
    tmp_path: Path, *, scheme: str, echoes: bool, ack_every: int
) -> None:
    """An acknowledgement has BECN where one of the packets that it answers was marked.

    With CNPs the marks come back in these, and no acknowledgement has BECN.
    """
    file = tmp_path / "echoes.pcapng"
    capture = Capture("switch->sink,sink->switch", "headers")
    run_captured(incast(scheme, ack_every), capture, file, progress=False)
    marked: dict[int, dict[int, bool]] = defaultdict(dict)
    first_new: dict[int, int] = defaultdict(int)
    told, wanted, cnps = [], [], 0
    for frame in read(file):
        if frame.octets[UDP + 2 : UDP + 4] != bytes([0x12, 0xB7]):
            continue
        opcode, pair = frame.octets[BTH], int.from_bytes(frame.octets[CONGESTION + 1 : BTH + 8])
        number = int.from_bytes(frame.octets[BTH + 9 : BTH + 12])
        if frame.port == "switch->sink":
            ecn = frame.octets[19] & 3
            assert ecn in {2, 3}
            assert frame.octets[CONGESTION] == 0
            marked[pair][number] = ecn == 3
        elif opcode == ACKNOWLEDGE:
            answered = range(first_new[pair], number + 1)
            first_new[pair] = number + 1
            told.append(frame.octets[CONGESTION])
            wanted.append(BECN if echoes and any(marked[pair][n] for n in answered) else 0)
        else:
            assert opcode == 0x81
            cnps += frame.direction == "sent"
    assert told == wanted
    assert set(first_new.values()) == {400}
    assert any(mark for marks in marked.values() for mark in marks.values())
    assert (told.count(BECN) > 20, told.count(0) > 20) == (echoes, True)
    assert (cnps > 0) != echoes
    shown = filtered(file, "infiniband.bth.opcode == 17 && udp.payload[4] & 0x40", "frame.number")
    assert len(shown) == told.count(BECN)


@with_tshark
def test_heads_of_packets_that_were_cut_keep_their_opcodes(tmp_path: Path) -> None:
    """A switch cuts packets to 70 octets; what leaves it has number and opcode all the same."""
    file = tmp_path / "heads.pcapng"
    scenario = of_messages("selective_repeat", "6300 B").with_("switch.trim_to=70 B")
    run, _ = run_captured(scenario, Capture("switch->host9", "headers"), file, progress=False)
    assert (run.metric("trimmed") or 0) > 100
    assert filtered(file, "_ws.malformed", "frame.number") == []
    assert len(filtered(file, "frame.len == 70", "frame.number")) == run.metric("trimmed")
    rows = bth_rows(file, "^switch->host9$")
    for (_, sent), size in zip(sorted(rows.items()), SIZES, strict=True):
        packets = -(-size // MTU)
        assert all(opcode == expected(number, packets) for opcode, number in sent)
        assert {number for _, number in sent} == set(range(packets))
