"""Captures of runs: what they hold, as we and as tshark read them, and what cannot be captured."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import qcnlab
import qcnlab.dissector
from conftest import CommandLine, Done
from qcnlab.captures import Capture, CapturedFrame, frames, lines, run_captured
from typed_dicts import unlike

HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt10us"
SHORT = (
    "duration=6 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=5 ms",
    "record.tables=false",
)  # fmt: skip
PFC = """
title = "Two hosts into one, with PFC and congestion control"
duration = "3 ms"
[topology]
kind = "switch"
hosts = 3
rate = "10 Gb/s"
delay = "1 us"
[[switch]]
input_memory = "100 KB"
[[pause]]
kind = "priority"
priorities = "3"
[[traffic]]
arrivals = "saturated"
from = "host{1..2}"
to = "host3"
frame = "1500 B"
priority = 3
[feedback]
kind = "frames"
frame = "128 B"
priority = 6
[scheme]
name = "none"
"""

with_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is not installed (Debian: apt-get install --no-install-recommends tshark)",
)


def command(*words: str | Path) -> Done:
    return CommandLine(Path.cwd())(*map(str, words))


def captured(folder: Path, name: str, scenario: qcnlab.Scenario, ports: str = "*") -> Path:
    file = folder / f"{name}.pcapng"
    run_captured(scenario, Capture(ports, "all"), file, reps=1, progress=False)
    return file


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Captures of one run each: ideal feedback, feedback as frames, PFC, PAUSE, DCQCN, TCP."""
    folder = tmp_path_factory.mktemp("captures")
    hotspot = qcnlab.load(HOTSPOT).with_(*SHORT)
    pfc = qcnlab.Scenario.from_toml(PFC)
    pause = qcnlab.Scenario.from_toml(PFC.replace('"priority"\npriorities = "3"', '"link"'))
    tcp = {"traffic.0.transport": "tcp", "traffic.0.frame": "1500 B"}
    return {
        "ideal": captured(folder, "ideal", hotspot),
        "framed": captured(folder, "framed", hotspot.with_("feedback.kind=frames")),
        "pfc": captured(folder, "pfc", pfc),
        "pause": captured(folder, "pause", pause),
        "dcqcn": captured(
            folder, "dcqcn", hotspot.with_("scheme.name=dcqcn", "feedback.kind=frames")
        ),
        "tcp": captured(folder, "tcp", qcnlab.Scenario.from_toml(PFC).with_(tcp)),
    }


@pytest.mark.parametrize("seed", [0, 7])
def test_the_capture_is_of_the_first_of_several_runs_on_any_threads(
    tmp_path: Path, seed: int
) -> None:
    """Its seed is the one that is given, and all runs are those of `qcnlab.run`."""
    scenario = qcnlab.load(HOTSPOT).with_(*SHORT)
    plain = qcnlab.run(scenario, reps=3, seed=seed).summary.metrics
    files = {}
    for name, reps, jobs, of in (
        ("one thread", 3, 1, seed), ("two", 3, 2, seed), ("first", 1, None, seed),
        ("other", 1, None, seed + 1),
    ):  # fmt: skip
        files[name] = tmp_path / f"{name}.pcapng"
        result, _ = run_captured(
            scenario, Capture("*"), files[name], reps=reps, seed=of, jobs=jobs, progress=False
        )
        metrics = result.summary.metrics
        assert (metrics == plain) == (reps == 3), name
    octets = {name: file.read_bytes() for name, file in files.items()}
    assert octets["one thread"] == octets["two"] == octets["first"] != octets["other"]


def of_kind(file: Path, kind: str) -> list[Any]:
    return [frame for frame in frames(file) if frame["kind"] == kind]


def test_a_cnm_carries_what_the_congestion_point_said(runs: dict[str, Path]) -> None:
    cnms = of_kind(runs["framed"], "CNM")
    assert cnms
    for cnm in cnms:
        assert 1 <= cnm["fb"] <= 63
        assert cnm["offset_bytes"] % 64 == 0
        assert cnm["delta_bytes"] % 64 == 0
        assert cnm["priority"] == 7
        assert cnm["rpid"] == 1
        # Node 3 of the scenario is the switch: its address and the congestion point's number, 1.
        assert cnm["cpid"] == "0200000000030001"
        assert cnm["octets"] == 64
    sent = {cnm["port"] for cnm in cnms if cnm["direction"] == "sent"}
    assert sent <= {"switch->source1", "switch->source2"}
    heard = {cnm["port"] for cnm in cnms if cnm["direction"] == "received"}
    assert heard <= {"source1->switch", "source2->switch"}


def test_a_cut_frame_tells_what_it_carried(tmp_path: Path) -> None:
    """Frames have 1500 octets: 12 + 4 + 4 + 2 of Ethernet, 20 of IPv4, 8 of UDP, 1450."""
    file = tmp_path / "cut.pcapng"
    scenario = qcnlab.load(HOTSPOT).with_(*SHORT)
    run_captured(scenario, Capture("switch->sink", "headers"), file, reps=1, progress=False)
    data = next(frame for frame in frames(file) if frame["kind"] == "UDP")
    assert data["octets"] == 1500
    assert data["about"].endswith(", 1450 octets")


def test_ideal_feedback_is_captured_where_it_starts_and_where_it_is_heard(
    runs: dict[str, Path],
) -> None:
    cnms = of_kind(runs["ideal"], "CNM")
    start = next(cnm for cnm in cnms if cnm["direction"] == "sent")
    assert start["port"] == "switch->sink"
    # 12 addresses, 4 802.1Q, 4 CN-TAG, 2 EtherType, 24 header, 64 octets of the frame: 110.
    assert start["octets"] == 110
    assert start["comment"] == "sampled at switch->sink; ideal feedback: it crosses no link"
    same = ("fb", "cpid", "rpid", "offset_bytes", "delta_bytes", "destination")
    heard = next(
        cnm
        for cnm in cnms
        if cnm["direction"] == "received" and all(cnm[key] == start[key] for key in same)
    )
    # The sources' links take half of the round-trip time of 10 us.
    assert heard["time_ns"] - start["time_ns"] == 5000


def test_pause_frames(runs: dict[str, Path]) -> None:
    pfc = of_kind(runs["pfc"], "PFC")
    assert pfc
    assert all(set(frame["quanta"]) == {"3"} for frame in pfc)
    pause = of_kind(runs["pause"], "PAUSE")
    assert pause
    assert all(0 <= frame["quanta"] <= 65_535 for frame in pause)
    assert {frame["destination"] for frame in pfc + pause} == {"01:80:c2:00:00:01"}


def test_marks_are_ecn_and_answers_are_cnps(runs: dict[str, Path]) -> None:
    data = of_kind(runs["dcqcn"], "RoCEv2")
    assert {frame["ecn"] for frame in data} == {"ECT(0)", "CE"}
    cnps = [frame for frame in of_kind(runs["dcqcn"], "CNP") if frame["direction"] == "sent"]
    assert cnps
    # A CNP answers a marked frame: there is one before it.
    first_mark = next(frame["time_ns"] for frame in data if frame["ecn"] == "CE")
    assert first_mark < cnps[0]["time_ns"]


SHORT_MESSAGE = """title = "One octet"
duration = "100 us"
[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "4 us"
buffer = "150 KB"
[[traffic]]
arrivals = "list"
transport = "roce"
frame = "1000 B"
{keys}
flows = '''
from,to,size,start
source1,sink,{size} B,0 s
'''
[scheme]
name = "none"
[record]
throughput_bin = "100 us"
"""


@pytest.mark.parametrize(
    ("size", "keys", "octets", "ack"),
    [
        # Headers of 62 octets and one of data.
        (1, "", 63, 66),
        (13, 'headers = "48 B"\nack_frame = "60 B"', 61, 60),
        (700, "", 762, 66),
    ],
)
def test_a_short_packet_counts_its_own_octets_and_is_captured_whole(
    size: int, keys: str, octets: int, ack: int, tmp_path: Path
) -> None:
    """On links and in counts a packet has its headers and its data, below 64 octets too.

    In a capture it has all its headers: Ethernet 14, two tags 8, IPv4 20, UDP 8, BTH 12 and ICRC 4
    are 66 octets, whatever the scenario counts for them.
    """
    scenario = qcnlab.Scenario.from_toml(SHORT_MESSAGE.format(size=size, keys=keys))
    file = tmp_path / "short.pcapng"
    result, _ = run_captured(scenario, Capture("*"), file, reps=1, progress=False)
    # Two links of 10 Gb/s and 2 us, there and back.
    (flow,) = result.flows.to_polars().to_dicts()
    took_ps = round(flow["completion_s"] * 1e12)
    assert took_ps == 2 * 800 * octets + 2 * 800 * ack + 4_000_000 * 2
    assert (flow["size_bytes"], flow["delivered_bytes"]) == (size, octets)
    (rate,) = result.throughput.to_polars()["rate_bps"].to_list()
    assert rate == pytest.approx(octets * 8 / 100e-6)
    data, *rest = (frame for frame in frames(file) if frame["kind"] == "RoCEv2")
    assert (data["octets"], data["time_ns"]) == (max(octets, 66), octets * 8 // 10)
    assert [frame["octets"] for frame in rest[-2:]] == [66, 66]


def test_every_run_announces_its_ports(runs: dict[str, Path]) -> None:
    announced = of_kind(runs["pfc"], "LLDP")
    assert {frame["time_ns"] for frame in announced} == {0}
    assert {(frame["cnpv"], frame["ready"]) for frame in announced} == {(8, 8)}
    switch = next(frame for frame in announced if frame["port"].startswith("switch->"))
    assert switch["pfc"] == 8


# tshark


def tshark(file: Path, *arguments: str, lua: Path | None = None) -> list[str]:
    script = ["-X", f"lua_script:{lua}"] if lua else []
    checks = [
        word for layer in ("ip", "tcp", "udp") for word in ("-o", f"{layer}.check_checksum:TRUE")
    ]
    shown = subprocess.run(
        ["tshark", *script, *checks, "-r", str(file), *arguments],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert "Lua" not in shown.stderr, shown.stderr
    return shown.stdout.splitlines()


@pytest.fixture
def lua(tmp_path: Path) -> Path:
    return qcnlab.dissector.install(tmp_path / "plugins")


@with_tshark
@pytest.mark.parametrize("name", ["ideal", "framed", "pfc", "pause", "dcqcn", "tcp"])
def test_tshark_finds_nothing_malformed(runs: dict[str, Path], lua: Path, name: str) -> None:
    bad = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
    assert tshark(runs[name], "-Y", bad, lua=lua) == []


@with_tshark
@pytest.mark.parametrize("name", ["framed", "pfc", "pause", "dcqcn", "tcp"])
def test_tshark_counts_the_same_frames(runs: dict[str, Path], lua: Path, name: str) -> None:
    """Kinds by protocol and opcode, of one reading: a frame with a CN-TAG has two protocols."""
    fields = ["frame.protocols", "macc.opcode", "infiniband.bth.opcode"]
    shown = tshark(
        runs[name], "-T", "fields", *(word for field in fields for word in ("-e", field)), lua=lua
    )
    rows = [row.split("\t") for row in shown]
    numbers = [[int(word, 0) if word else None for word in row[1:]] for row in rows]
    theirs = {
        kind: sum(protocol in row[0].split(":") for row in rows)
        for kind, protocol in {"CNM": "cnm", "LLDP": "lldp", "TCP": "tcp"}.items()
    } | {
        "PAUSE": sum(mac == 1 for mac, _ in numbers),
        "PFC": sum(mac == 0x0101 for mac, _ in numbers),
        "CNP": sum(opcode == 129 for _, opcode in numbers),
    }
    ours = [frame["kind"] for frame in frames(runs[name])]
    assert theirs == {kind: ours.count(kind) for kind in theirs}
    assert len(rows) == len(ours)


@with_tshark
def test_tshark_reads_every_cnm_as_we_do(runs: dict[str, Path], lua: Path) -> None:
    names = ["frame.time_epoch", "cnm.fb", "cnm.cpid", "cnm.offset", "cnm.delta", "cntag.rpid"]
    fields = [word for name in names for word in ("-e", name)]
    shown = tshark(runs["framed"], "-Y", "cnm", "-T", "fields", *fields, lua=lua)
    cnms = of_kind(runs["framed"], "CNM")
    assert len(shown) == len(cnms)
    for row, cnm in zip(shown, cnms, strict=True):
        time, fb, cpid, offset, delta, rpid = row.split("\t")
        assert round(float(time) * 1e9) == cnm["time_ns"]
        assert int(fb) == cnm["fb"]
        assert cpid.replace(":", "").removeprefix("0x") == cnm["cpid"]
        assert int(offset) * 64 == cnm["offset_bytes"]
        assert int(delta) * 64 == cnm["delta_bytes"]
        assert int(rpid.split(",")[0], 0) == cnm["rpid"]


@with_tshark
def test_tshark_follows_the_tcp_stream(runs: dict[str, Path], lua: Path) -> None:
    """Sequence numbers leave no gap where nothing is lost, and no acknowledgement is ahead."""
    at_the_sender = 'frame.interface_name == "host1->switch"'
    gaps = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"
    assert tshark(runs["tcp"], "-Y", f"{at_the_sender} && ({gaps})", lua=lua) == []
    assert len(tshark(runs["tcp"], "-Y", f"{at_the_sender} && tcp.len > 0", lua=lua)) > 20


# Reading captures, also those of others


def block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link_type: int = 1) -> bytes:
    return block(1, struct.pack("<HHI", link_type, 0, 0))


def test_a_classic_pcap_of_somebody_else_is_read(tmp_path: Path) -> None:
    pause = bytes.fromhex("0180c2000001 020000000001 8808 0001 00ff".replace(" ", ""))
    header = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)
    record = struct.pack(">IIII", 7, 250_000, len(pause), 60) + pause
    file = tmp_path / "other.pcap"
    file.write_bytes(header + record)
    shown = command("frames", file)
    assert shown.returncode == 0, shown.stderr
    head, line = shown.stdout.splitlines()
    assert head.split()[:3] == ["time", "port", "kind"]
    assert line.split() == [
        "7.250000000", "0", "PAUSE", "-", "-", "-", "-", "-", "255", "PAUSE", "255", "quanta",
    ]  # fmt: skip


BAD = {
    "text": (b"time,port\n1,2\n", "this is no capture: it starts with"),
    "empty": (b"", "the capture is empty"),
    "wifi": (
        SECTION + interface(105) + block(6, struct.pack("<IIIII", 0, 0, 0, 4, 4) + b"abcd"),
        "frame 1 is of link type 105, not Ethernet (1)",
    ),
    "interfaces": (SECTION + interface() * 1_000_000, "more than 65536 interfaces"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_capture_is_refused(tmp_path: Path, name: str) -> None:
    octets, words = BAD[name]
    file = tmp_path / "bad.pcapng"
    file.write_bytes(octets)
    shown = command("frames", file)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert str(file) in shown.stderr


def test_the_frames_before_a_cut_are_printed(runs: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "cut.pcapng"
    file.write_bytes(runs["ideal"].read_bytes()[:10_000])
    shown = command("frames", file)
    assert shown.returncode == 2
    assert len(shown.stdout.splitlines()) > 5
    assert "the capture is cut after frame" in shown.stderr


def test_a_capture_that_is_not_there(tmp_path: Path) -> None:
    shown = command("frames", tmp_path / "none.pcapng")
    assert shown.returncode == 2
    assert "it cannot be opened: No such file" in shown.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_that_goes_early_is_no_error(runs: dict[str, Path]) -> None:
    words = f"{sys.executable} -m qcnlab frames {runs['ideal']}"
    script = f"set -o pipefail; {words} | head -n 3"
    shown = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert (shown.returncode, len(shown.stdout.splitlines()), shown.stderr) == (0, 3, "")


def test_json_and_table_have_the_same_frames(runs: dict[str, Path]) -> None:
    shown = command("frames", runs["framed"], "--json", "--kind", "CNM")
    assert json.loads(shown.stdout) == of_kind(runs["framed"], "CNM")
    assert len(list(lines(runs["framed"], frozenset({"cnm"})))) == 1 + len(
        of_kind(runs["framed"], "CNM")
    )
    assert json.loads(command("frames", runs["ideal"], "--json", "--kind", "x").stdout) == []
    every = [frame for file in runs.values() for frame in frames(file)]
    assert unlike(every, list[CapturedFrame]) == []


# The command line


def short(*more: str) -> list[str]:
    return [HOTSPOT, *(word for change in (*SHORT, *more) for word in ("-s", change))]


def test_run_writes_the_capture_into_its_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ("--capture", "switch->*", "--capture-count", "50", "-o", str(out))
    shown = command("run", *short(), *words)
    assert shown.returncode == 0, shown.stderr
    file = out / "capture.pcapng"
    assert f"{file}: 50 frames of 1 port" in shown.stdout
    assert "ended by the limit of frames" in shown.stdout
    assert len(list(frames(file))) == 50


def test_a_capture_changes_no_file_of_the_run(tmp_path: Path) -> None:
    for name, words in (("with", ("--capture", "*")), ("without", ())):
        assert command("run", *short(), *words, "-o", str(tmp_path / name)).returncode == 0
    ours, theirs = (qcnlab.open_run(tmp_path / name).summary for name in ("with", "without"))
    counters = replace(ours.counters, events=theirs.counters.events)
    assert replace(ours, counters=counters) == theirs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--capture", "core->*"], "no port has such a name; there are source1->switch"),
        (["--capture", "*", "--capture-snap", "30"], "cuts the headers"),
        (["--capture", "*", "--capture-size", "10 ms"], "it is written like '100 MB'"),
        (["--capture-count", "5"], "go with --capture PORTS"),
        (
            ["--capture", "*", "--capture-from", "3 ms", "--capture-until", "2 ms"],
            "ends at 0.002000 s, before it begins at 0.003000 s",
        ),
        (
            ["--capture", "*", "--capture-file", "/nowhere/x.pcapng"],
            "there is no folder '/nowhere'",
        ),
    ],
)
def test_what_cannot_be_captured_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    shown = command("run", *short(), *words, "-o", str(tmp_path / "run"))
    assert shown.returncode == 2
    assert said in " ".join(shown.stderr.replace("│", " ").split())
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_the_results(tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = command(
        "run", *short(), "--capture", "*", "--capture-file", "/dev/full", "-o", str(out)
    )
    assert shown.returncode == 2
    assert "No space left on device" in shown.stderr
    assert "the results of the run are whole" in shown.stderr
    assert qcnlab.open_run(out).summary.counters.frames_sent > 0


def test_a_capture_larger_than_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(qcnlab.Error, match=r"the capture may take .* and 1.0 KB are free"):
        run_captured(qcnlab.load(HOTSPOT), Capture("*"), tmp_path / "x.pcapng")


def test_the_dissector_is_printed_and_installed(tmp_path: Path) -> None:
    assert command("dissector").stdout == qcnlab.dissector.source()
    shown = command("dissector", "--install", "--folder", tmp_path / "plugins")
    assert shown.stdout.strip() == str(tmp_path / "plugins" / "qcnlab.lua")
    assert Path(shown.stdout.strip()).read_text(encoding="utf-8") == qcnlab.dissector.source()
    assert command("dissector", "--folder", tmp_path).returncode == 2
