"""Captures as others write them, held against the law: what they say of the FCS, or do not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import qcnlab
from qcnlab.captures import Capture, run_captured
from qcnlab.conform import Tolerances, conform

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import pcapng
from others import Form, without_fcs, write

FORMS = {
    "says nothing": Form(),
    "says none": Form(of_interface=0),
    "has it": Form(has_fcs=True, of_interface=4),
    "has it, whole frames": Form(has_fcs=True, of_interface=4, snap=None),
    "has it, in bits": Form(has_fcs=True, of_interface=32),
    "each frame says so": Form(has_fcs=True, of_frame=4),
    "each frame says other than its interface": Form(has_fcs=True, of_frame=4, of_interface=0),
}
CLASSIC = {
    "classic": Form(classic=True),
    "classic, says none": Form(classic=True, of_interface=0),
    "classic, has it": Form(classic=True, has_fcs=True, of_interface=4),
}
SENDER = "source1->switch"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose frames of 1004 octets, and CNMs of 128, count a FCS, as devices do."""
    file = tmp_path_factory.mktemp("others") / "run.pcapng"
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
        "duration=60 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms",
        "record.tables=false", "traffic.0.frame=1004 B", "feedback.kind=frames",
        "feedback.frame=128 B",
    )  # fmt: skip
    run_captured(scenario, Capture("*", "headers"), file, reps=1, progress=False)
    return file


def others(run: Path, folder: Path, form: Form, ports: set[str] | None = None) -> Path:
    """Write the frames of a run as another program would, without announcements."""
    frames = [
        without_fcs(frame)
        for frame in pcapng.read(run)
        if frame.octets[12:14] != b"\x88\xcc" and (ports is None or frame.port in ports)
    ]
    rates = {frame.port: 10_000_000_000 for frame in frames}
    file = folder / "others.pcap"
    write(file, frames, form, rates)
    return file


def judged(of: Literal["rp", "cp"], file: Path, **tolerances: Any) -> Any:
    """Judge with the delay of the links from the sources, half of the round trip."""
    forgiven = Tolerances(**tolerances)
    delay_s = 5e-6 if of == "cp" else None
    return conform(
        file, of, "DECK001", tolerances=forgiven, rate_bps=10_000_000_000, delay_s=delay_s
    )


@pytest.mark.parametrize("name", [*FORMS, *CLASSIC])
def test_a_sender_is_judged_by_the_octets_it_counts(
    tmp_path: Path, run: Path, *, name: str
) -> None:
    """1004 octets a frame, of which captures count 1000, and the FCS of some is captured, too."""
    form = {**FORMS, **CLASSIC}[name]
    file = others(run, tmp_path, form, {SENDER})
    report = judged("rp", file)
    assert report.tolerances.uncaptured_bytes == 4
    (point,) = report.reaction_points
    assert point.verdict == "conforms", point.why
    assert point.limited_frames == point.on_time_frames > 1000
    assert sum(row.octets for row in point.intervals) == 1004 * point.frames
    wrong = judged("rp", file, uncaptured_bytes=0)
    assert wrong.verdict == "breaks the law"
    assert wrong.reaction_points[0].frames == point.frames


@pytest.mark.parametrize("name", FORMS)
def test_a_port_is_judged_by_the_octets_it_counts(tmp_path: Path, run: Path, *, name: str) -> None:
    """Without those 4 octets a frame, queue and samples are not the law's."""
    file = others(run, tmp_path, FORMS[name])
    report = judged("cp", file)
    assert report.tolerances.uncaptured_bytes == 4
    assert report.verdict == "conforms", report.why
    assert report.checked_cnms > 40
    sure = {row.queue_least for row in report.samples if row.queue_least == row.queue_most}
    assert len(sure) > 5
    assert {octets % 1004 for octets in sure} == {0}
    wrong = judged("cp", file, uncaptured_bytes=0)
    assert wrong.verdict == "breaks the law"


@pytest.mark.parametrize("of", ["rp", "cp"])
def test_a_check_sequence_that_nobody_tells_stands_behind_the_packet(
    tmp_path: Path, run: Path, *, of: Literal["rp", "cp"]
) -> None:
    """Frames with a FCS in a capture that says nothing of it: 4 octets behind each IPv4 packet."""
    file = others(run, tmp_path, Form(has_fcs=True))
    report = judged(of, file)
    assert report.verdict == "conforms" and report.tolerances.uncaptured_bytes == 0
    assert judged(of, file, uncaptured_bytes=4).verdict == "breaks the law"


@pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is not installed (Debian: apt-get install --no-install-recommends tshark)",
)
@pytest.mark.parametrize("name", [*FORMS, *CLASSIC])
def test_tshark_reads_the_same_check_sequences(tmp_path: Path, run: Path, *, name: str) -> None:
    """Whole frames, each with a right FCS or none. Bits instead of octets it does not know."""
    form = replace({**FORMS, **CLASSIC}[name], snap=None)
    if form.of_interface == 32:
        pytest.skip("tshark takes octets alone")
    file = others(run, tmp_path, form, {SENDER})
    words = ["-o", "eth.check_fcs:TRUE", "-c", "500", "-r", str(file), "-Y", "eth.fcs.status == 1"]
    shown = subprocess.run(
        ["tshark", *words], capture_output=True, text=True, timeout=120, check=True
    )
    assert len(shown.stdout.splitlines()) == (500 if form.has_fcs else 0)
