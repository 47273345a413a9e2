"""Captures held against the law, from the command line: verdicts, exit codes, bad input."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import qcnlab
from conftest import CommandLine, Done
from qcnlab.captures import Capture, run_captured
from qcnlab.conform import Tolerances, conform, lines
from qcnlab.errors import Error

ROOT = Path(__file__).parents[1]
SHORT = (
    "duration=60 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms",
    "record.tables=false",
)  # fmt: skip


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("conform") / "hotspot.pcapng"
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(*SHORT)
    run_captured(scenario, Capture("*"), file, reps=1, progress=False)
    return file


def command(*words: str | Path) -> Done:
    return CommandLine(Path.cwd())("conform", *map(str, words))


def test_a_run_conforms_to_its_own_law_and_not_to_another(capture: Path) -> None:
    for of in ("rp", "cp"):
        fine = command(of, capture, "--preset", "DECK001", "--json")
        assert fine.returncode == 0, fine.stderr
        assert json.loads(fine.stdout)["verdict"] == "conforms"
        broken = command(of, capture, "--preset", "IEEE_8021Q")
        assert broken.returncode == 1
        assert broken.stdout.startswith("breaks the law: qcn IEEE_8021Q")
        assert "fits best: qcn DECK001" in broken.stdout


def test_a_change_of_the_law_is_told(capture: Path) -> None:
    changed = command("rp", capture, "--preset", "DECK001", "-s", "rp.gd=0.015625", "--rows", "0")
    assert changed.returncode == 1
    assert "size of a cut" in changed.stdout
    assert "gd is 1/128.0000 instead of 1/64.0000" in changed.stdout


def test_every_interval_has_its_octets(capture: Path) -> None:
    report = conform(capture, "rp", "DECK001")
    for point in report.reaction_points:
        assert sum(row.frames for row in point.intervals) == point.frames
        limited = [row for row in point.intervals if row.cnm_frame is not None]
        # A frame goes at the start of an interval, and what the rate allows follows.
        assert all(row.octets <= row.allowed_most + 1501 for row in limited)
    assert lines(report)[0].startswith("conforms: qcn DECK001")


def test_from_python_bad_values_are_refused(capture: Path) -> None:
    with pytest.raises(ValueError, match=r"jitter is 3; it must lie between 0 and 1\.9"):
        Tolerances(jitter=3)
    with pytest.raises(Error, match="drift timer"):
        conform(capture, "rp", "DECK001", changes=("rp.drift_every=20 ms",))


BAD = {
    "another scheme": (("--scheme", "ecm"), "conform knows qcn, qcn_byte_counter and qcn_timer"),
    "no scheme": (("--scheme", "qnc"), "there is no scheme qnc"),
    "no preset": (("--preset", "DECK01"), "DECK001, IEEE_8021Q"),
    "each frame sampled": (("-s", "cp.sampling=each_frame"), "conform follows sampling by octets"),
    "a key that is none": (("-s", "rp.gdd=1"), "gd"),
    "no interface": (("--interface", "core"), "there are source1->switch, source2->switch"),
    "octets for bits": (("--rate", "10 GB/s"), "write it as in '10 Gb/s'"),
    "no rate": (("--rate", "0 b/s"), "a link has a rate above 0"),
    "no unit": (("--stamps", "20"), "write it as in '20 ns'"),
    "a jitter of 3": (("--jitter", "3"), "it must be 1.9 or less"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("of", ["rp", "cp"])
def test_bad_use(of: str, name: str, capture: Path) -> None:
    words, said = BAD[name]
    refused = command(of, capture, *words)
    assert refused.returncode == 2, refused.stdout
    assert said in " ".join(refused.stderr.split()), refused.stderr


def bad_files(capture: Path) -> dict[str, tuple[bytes, str]]:
    whole = capture.read_bytes()
    frame = bytes(60)
    record = struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    wrong_type = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 105) + record
    cut_frame = struct.pack("<IIII", 0, 0, 14, 1514) + bytes(12) + b"\x81\x00"
    short_snap = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 14, 1) + cut_frame
    section = whole[: struct.unpack("<I", whole[4:8])[0]]
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    return {
        "empty": (b"", "the capture is empty"),
        "text": (b"not a capture", "this is no capture"),
        "cut": (whole[:50_001], "the capture is cut after frame"),
        "damaged": (whole[:5_000] + bytes(64) + whole[5_064:], "after frame"),
        "wrong link type": (wrong_type, "frame 1 is of link type 105, not Ethernet"),
        "snap length": (
            short_snap,
            "frame 1 is cut: 14 of its octets were kept, and its addresses and tags take 18",
        ),
        "a million interfaces": (section + interface * 1_000_000, "more than 65536 interfaces"),
    }


def test_files_that_cannot_be_judged(tmp_path: Path, capture: Path) -> None:
    for name, (octets, said) in bad_files(capture).items():
        file = tmp_path / "bad.pcapng"
        file.write_bytes(octets)
        for of in ("rp", "cp"):
            refused = command(of, file)
            assert refused.returncode == 2, f"{name}: {refused.stdout}"
            assert said in refused.stderr, f"{name}: {refused.stderr}"
            assert refused.stdout == "", name
    missing = command("rp", tmp_path / "none.pcapng")
    assert missing.returncode == 2
    assert "No such file" in missing.stderr
    device = command("rp", os.devnull)
    assert "it is no regular file" in device.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk(capture: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        refused = subprocess.run(
            [sys.executable, "-m", "qcnlab", "conform", "rp", str(capture), "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert refused.returncode == 2
    assert "No space left on device" in refused.stderr


def test_the_captures_of_the_guide_give_what_its_table_says(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "examples/captures/make.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    captures = {Path(line).stem: Path(line) for line in made.stdout.splitlines()}
    table = re.findall(
        r"^\| `([a-z][a-z-]+)` \| (conforms|breaks the law) \| (.*) \|$",
        (ROOT / "docs/guide/conform.md").read_text(),
        re.MULTILINE,
    )
    assert [name for name, _, _ in table] == list(captures)
    assert len(captures) == 10
    for name, verdict, told in table:
        report = conform(captures[name], "cp", "IEEE_8021Q")
        words = "\n".join(lines(report))
        assert report.verdict == verdict, name
        assert told.startswith('"') or f"{report.checked_cnms} of {report.cnms}" in told, name
        assert not told.startswith('"') or told.strip('"') in words, f"{name}: {words}"
        assert captures[name].stat().st_size < 100_000
