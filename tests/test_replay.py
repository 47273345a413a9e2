"""Captures that are replayed, from the command line and from Python."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab import captures

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/guide/replay.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n(qcnlab .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
[SCENARIO] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the capture and the scenario of the guide's page."""
    folder = tmp_path_factory.mktemp("replay")
    made = CommandLine(folder)(*shlex.split(COMMANDS[0])[1:])
    assert made.returncode == 0, made.stderr
    (folder / "replay.toml").write_text(SCENARIO, encoding="utf-8")
    return folder


def test_check_prints_what_the_page_shows(replayed: Path, cli: CommandLine) -> None:
    done = cli("check", f"{replayed}/replay.toml")
    assert done.returncode == 0, done.stderr
    shown = re.sub(r"sha256 \w{64}", "sha256 ...", done.stdout.replace(f"{replayed}/", ""))
    blocks = re.findall(r"^```text\n(replay.toml: ok.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [shown] == blocks


def test_a_run_says_which_capture_it_was_and_can_be_run_again(
    replayed: Path, cli: CommandLine, tmp_path: Path
) -> None:
    first = cli("run", f"{replayed}/replay.toml", "-o", f"{tmp_path}/first", "--json")
    assert first.returncode == 0, first.stderr
    config = (tmp_path / "first/config.toml").read_text(encoding="utf-8")
    [held] = json.loads(cli("check", f"{replayed}/replay.toml", "--json").stdout)[0]["captures"]
    assert f'sha256 = "{held["sha256"]}"' in config
    again = cli("run", f"{tmp_path}/first/config.toml", "-o", f"{tmp_path}/again", "--json")
    assert again.returncode == 0, again.stderr
    metrics = [json.loads(done.stdout)["metrics"] for done in (first, again)]
    assert metrics[0] == metrics[1]


def test_a_sweep_over_a_replay(replayed: Path, cli: CommandLine, tmp_path: Path) -> None:
    vary = ["--vary", "scheme.name=none,qcn", "--vary", "traffic.time_scale=1,2"]
    done = cli("sweep", f"{replayed}/replay.toml", *vary, "-o", f"{tmp_path}/sweep", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["points"]) == 4


def test_what_a_capture_holds(replayed: Path) -> None:
    scenario = qcnlab.load(replayed / "replay.toml")
    [held] = scenario.captures()
    assert held.file == str(replayed / "runs/hotspot/capture.pcapng")
    assert held.flows == 2
    assert [row.host for row in held.hosts] == ["source1", "sink", "source2"]
    first, second, third = (f"{row.address} is {row.host}" for row in held.hosts)
    told = {count: captures.held(held, count)[-2] for count in (1, 2, 3)}
    assert told == {
        1: f"  {first} and 2 more",
        2: f"  {first}, {second} and 1 more",
        3: f"  {first}, {second}, {third}",
    }
    assert qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").captures() == ()


def test_a_capture_that_ends_with_the_run_or_after_it_is_told(replayed: Path) -> None:
    """The last frame is sent at 19.999959 ms: one picosecond earlier the run is over."""
    scenario = qcnlab.load(replayed / "replay.toml")
    for duration, beyond in (("19999959 ns", True), ("19999959001 ps", False), ("5 ms", True)):
        [held] = scenario.with_(f"duration={duration}").captures()
        assert (held.beyond_run, held.ends_s) == (beyond, 0.019999959), duration
        line = "  the last frame would be sent at 20 ms, after the end of the run"
        assert (line in captures.held(held)) == beyond, captures.held(held)


def test_a_capture_that_is_cut_is_refused(replayed: Path, cli: CommandLine, tmp_path: Path) -> None:
    whole = (replayed / "runs/hotspot/capture.pcapng").read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[: len(whole) // 2])
    file = tmp_path / "cut.toml"
    file.write_text(SCENARIO.replace("runs/hotspot/capture.pcapng", "cut.pcapng"), "utf-8")
    done = cli("check", str(file))
    assert done.returncode == 2
    assert re.search(r"'cut.pcapng': the capture is cut after frame \d+", done.stderr), done.stderr
    [until] = re.findall(r"can be replayed with window_end = \"(.*?)\"", done.stderr)
    mended = file.read_text("utf-8").replace("cut.pcapng", f'cut.pcapng"\nwindow_end = "{until}')
    file.write_text(mended, "utf-8")
    assert cli("check", str(file)).returncode == 0


def test_captures_of_others_are_replayed(cli: CommandLine, tmp_path: Path) -> None:
    """A classic pcap, big-endian, in us: three frames of UDP, one of 54 octets as a host saw it."""
    head = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
    packet = bytes.fromhex("4500001c00000000401100000a0000010a000002c0000009")
    octets = head + packet + bytes(60 - len(head) - len(packet))
    rows = [(1_000_000, 1514), (1_000_010, 54), (1_000_020, 1514)]
    frames = b"".join(
        (us // 1_000_000).to_bytes(4) + (us % 1_000_000).to_bytes(4)
        + min(len(octets), length).to_bytes(4) + length.to_bytes(4) + octets[:length]
        for us, length in rows
    )  # fmt: skip
    header = bytes.fromhex("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001")
    (tmp_path / "other.pcap").write_bytes(header + frames)
    file = tmp_path / "other.toml"
    text = SCENARIO.replace("runs/hotspot/capture.pcapng", "other.pcap").replace("1500 B", "1518 B")
    file.write_text(text.replace('frame = "1518 B"', 'frame = "1518 B"\nfcs = "4 B"'), "utf-8")
    done = cli("check", str(file), "--json")
    assert done.returncode == 0, done.stderr
    [held] = json.loads(done.stdout)[0]["captures"]
    # 1518 twice, and 64, to which the card pads the short one; 20 us from first to last.
    assert (held["frames"], held["octets"]) == (3, 3100)
    assert held["duration_s"] == pytest.approx(20e-6)


@pytest.mark.parametrize(
    ("keys", "priorities"),
    [
        ("", [0, 0]),
        ('flows_by = "addresses"', [0]),
        ("keep_priority = true", [0, 5]),
        ('flows_by = "addresses"\nkeep_priority = true', [0, 5]),
    ],
)
def test_what_tells_flows_apart_and_their_priority(
    tmp_path: Path, keys: str, priorities: list[int]
) -> None:
    """Two frames of UDP between the same hosts, from ports 1000 and 1001, the second with PCP 5."""
    ends = bytes.fromhex("020000000002020000000001")
    packet = bytes.fromhex("4500001c00000000401100000a0000010a000002")
    frames = b""
    for us, port, tag in ((0, 1000, b""), (10, 1001, bytes.fromhex("8100a000"))):
        udp = port.to_bytes(2) + bytes.fromhex("07d000080000")
        octets = (ends + tag + b"\x08\x00" + packet + udp).ljust(60, b"\0")
        head = ((1).to_bytes(4), us.to_bytes(4), len(octets).to_bytes(4), (1000).to_bytes(4))
        frames += b"".join(head) + octets
    header = bytes.fromhex("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001")
    (tmp_path / "two.pcap").write_bytes(header + frames)
    text = SCENARIO.replace("runs/hotspot/capture.pcapng", "two.pcap")
    file = tmp_path / "two.toml"
    file.write_text(text.replace('frame = "1500 B"', f'frame = "1500 B"\n{keys}'), "utf-8")
    table = qcnlab.run(qcnlab.load(file), reps=1, progress=False).flows.to_polars()
    assert table["priority"].to_list() == priorities
    assert sum(table["sent_frames"]) == 2


@pytest.mark.parametrize(
    ("direction", "lengths"), [("both", [700, 800, 900]), ("received", [700]), ("sent", [800])]
)
def test_frames_of_a_direction(tmp_path: Path, direction: str, lengths: list[int]) -> None:
    """A pcapng file with a frame received, a frame sent, and one of which nobody says it."""

    def block(kind: int, body: bytes) -> bytes:
        length = (12 + len(body)).to_bytes(4, "little")
        return kind.to_bytes(4, "little") + length + body + length

    head = bytes.fromhex("0200000000020200000000010800")
    packet = bytes.fromhex("4500001c00000000401100000a0000010a000002")
    octets = (head + packet).ljust(60, b"\0")
    blocks = block(0x0A0D0D0A, bytes.fromhex("4d3c2b1a01000000ffffffffffffffff"))
    blocks += block(1, bytes.fromhex("0100000000000000"))
    for us, (length, flags) in enumerate([(700, 1), (800, 2), (900, None)]):
        at = bytes(8) + us.to_bytes(4, "little")
        body = at + (60).to_bytes(4, "little") + length.to_bytes(4, "little") + octets
        if flags is not None:
            body += bytes.fromhex("02000400") + flags.to_bytes(4, "little") + bytes(4)
        blocks += block(6, body)
    (tmp_path / "ways.pcapng").write_bytes(blocks)
    text = SCENARIO.replace("runs/hotspot/capture.pcapng", "ways.pcapng")
    file = tmp_path / "ways.toml"
    keys = f'frame = "1500 B"\ndirection = "{direction}"'
    file.write_text(text.replace('frame = "1500 B"', keys), "utf-8")
    table = qcnlab.run(qcnlab.load(file), reps=1, progress=False).flows.to_polars()
    assert table["sent_frames"].to_list() == [len(lengths)]
    assert table["delivered_bytes"].to_list() == [sum(lengths)]
