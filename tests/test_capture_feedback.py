"""Feedback of other than 6 bits in captures: what CNMs carry of it, and how they are judged.

A CNM has 6 bits for it. Of more it carries the first 6, fewer stand in the last.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import qcnlab
import qcnlab.dissector
from qcnlab.captures import Capture, run_captured
from qcnlab.conform import conform
from qcnlab.errors import Error

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import pcapng
from others import Form, write

SET_POINT, W = 24_000, 1.5
GD = {3: 0.5 / 7, 6: 0.5 / 63, 7: 0.5 / 127, 8: 0.5 / 255}
"""The largest feedback halves the rate."""
CNM = b"\x22\xe9", b"\x22\xe7"
HEAD = 12 + 4 + 4 + 2
"""Octets before the head of a CNM: addresses, tag, CN-TAG, EtherType."""


def law(bits: int) -> tuple[str, ...]:
    return (
        f"cp.fb_bits={bits}", f"cp.set_point={SET_POINT} B", f"cp.w={W}", f"rp.gd={GD[bits]}",
    )  # fmt: skip


@pytest.fixture(scope="module", params=GD)
def captured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, Path]:
    """The bits, and a run whose feedback has them."""
    bits = request.param
    file = tmp_path_factory.mktemp("feedback") / f"{bits}.pcapng"
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
        "duration=60 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms",
        "record.tables=false", *(f"scheme.{change}" for change in law(bits)),
    )  # fmt: skip
    run_captured(scenario, Capture("*", "headers"), file, reps=1, progress=False)
    return bits, file


def is_cnm(octets: bytes) -> bool:
    return (octets[16:18], octets[20:22]) == CNM


def messages(file: Path) -> Iterator[tuple[bytes, str]]:
    """Yield the head and the comment of each CNM where it starts."""
    for frame in pcapng.read(file):
        if is_cnm(frame.octets) and frame.direction == "sent":
            yield frame.octets[HEAD:], frame.comment


def feedback(offset: int, growth: int, bits: int) -> int:
    """Return what a congestion point sends: Fb, scaled to the levels there are, cut off."""
    largest = SET_POINT * (2 * W + 1)
    fb = min(W * growth - offset, largest)
    return int(fb * (2**bits - 1) / largest) if fb > 0 else 0


def possible(head: bytes, bits: int) -> tuple[int, int]:
    """Return the least and the most feedback for offset and growth, which were cut to 64 octets."""
    ranges = []
    for at in (10, 12):
        units = int.from_bytes(head[at : at + 2], "big", signed=True)
        below, above = (63 if units <= 0 else 0), (63 if units >= 0 else 0)
        ranges.append((units * 64 - below, units * 64 + above))
    (offsets, growths) = ranges
    return feedback(offsets[1], growths[0], bits), feedback(offsets[0], growths[1], bits)


def test_a_cnm_carries_the_first_bits(captured: tuple[int, Path]) -> None:
    """The field has 6 bits of what the comment has whole, and reserved bits stay 0."""
    bits, file = captured
    told = re.compile(r"; Fb (\d+) of (\d) bits, of which the frame has the first 6$")
    carried = set()
    for head, comment in messages(file):
        field = int.from_bytes(head[:2])
        assert field < 64
        carried.add(field)
        whole = field
        if bits > 6:
            said = told.search(comment)
            assert said is not None, comment
            whole = int(said[1])
            assert int(said[2]) == bits
            assert whole >> (bits - 6) == field
        else:
            assert "bits" not in comment
        least, most = possible(head, bits)
        assert least <= whole <= most
        assert 1 <= whole < 2**bits
    assert len(carried) > (3 if bits == 3 else 10)
    assert max(carried) <= 2 ** min(bits, 6) - 1


@pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is not installed (Debian: apt-get install --no-install-recommends tshark)",
)
def test_tshark_reads_the_same_bits(captured: tuple[int, Path], tmp_path: Path) -> None:
    _, file = captured
    lua = qcnlab.dissector.install(tmp_path / "plugins")
    words = ["-X", f"lua_script:{lua}", "-r", str(file), "-T", "fields"]
    words += [word for field in ("cnm.fb", "cnm.reserved") for word in ("-e", field)]
    shown = subprocess.run(
        ["tshark", *words, "-Y", "cnm && frame.packet_flags_direction == 2"],
        capture_output=True, text=True, timeout=300, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert shown == [f"{head[1]}\t0x0000" for head, _ in messages(file)]


def judged(of: Literal["rp", "cp"], file: Path, *changes: str) -> Any:
    return conform(file, of, "DECK001", changes=changes)


@pytest.mark.parametrize("of", ["rp", "cp"])
def test_a_run_conforms_to_its_own_bits_alone(
    captured: tuple[int, Path], *, of: Literal["rp", "cp"]
) -> None:
    bits, file = captured
    own = judged(of, file, *law(bits))
    assert own.verdict == "conforms", own
    if of == "rp":
        assert all(p.limited_frames > 500 for p in own.reaction_points)
        assert all(p.limited_frames == p.on_time_frames for p in own.reaction_points)
    else:
        assert own.checked_cnms > 40
    # The first 6 bits of 7 and of 8 differ in one of some hundred samples.
    alike = {7, 8} if of == "cp" and bits > 6 else {bits}
    others = GD.keys() - alike
    for other in others:
        assert judged(of, file, *law(other)).verdict == "breaks the law", other


def test_a_wrong_gain_is_told(captured: tuple[int, Path]) -> None:
    """Of 8 bits a CNM leaves two open; a Gd that is 5 % off is no other feedback."""
    bits, file = captured
    for factor in (1.05, 0.95):
        changed = (*law(bits)[:-1], f"rp.gd={GD[bits] * factor}")
        report = judged("rp", file, *changed)
        assert report.verdict == "breaks the law", factor


@pytest.mark.parametrize("by", [1, -1])
def test_a_wrong_feedback_is_told(captured: tuple[int, Path], tmp_path: Path, *, by: int) -> None:
    """One CNM of many says one level more, or less, in the bits that it carries."""
    bits, file = captured
    frames, cnms = list(pcapng.read(file)), 0
    for index, frame in enumerate(frames):
        if is_cnm(frame.octets) and frame.direction == "sent":
            cnms += 1
            fb = frame.octets[HEAD + 1] + by
            head = frame.octets[HEAD:]
            span = {whole >> max(bits - 6, 0) for whole in possible(head, bits)}
            if cnms >= 8 and 1 <= fb < 2 ** min(bits, 6) and len(span) == 1:
                octets = frame.octets[: HEAD + 1] + bytes([fb]) + frame.octets[HEAD + 2 :]
                frames[index] = replace(frame, octets=octets)
                break
    wrong = tmp_path / "wrong.pcapng"
    rates = {frame.port: 10**10 for frame in frames}
    write(wrong, frames, Form(of_interface=0, of_frame=0, snap=128), rates)
    changes = law(bits)
    report = conform(
        wrong, "cp", "DECK001", changes=changes, delay_s=5e-6, interface="switch->sink",
        tolerances=qcnlab.conform.Tolerances(uncaptured_bytes=0),
    )  # fmt: skip
    assert report.verdict == "breaks the law"
    assert report.first_violation is not None
    assert report.first_violation.kind == "quantized feedback", report.why


def test_the_deck_that_has_8_bits(tmp_path: Path) -> None:
    """Its ports are judged; its reaction points where they do not drift, which is not followed."""
    file, still = tmp_path / "zrl.pcapng", tmp_path / "still.pcapng"
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
        "duration=60 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms",
        "record.tables=false", "scheme.name=qcn_byte_counter", "scheme.preset=IBM_ZRL",
    )  # fmt: skip
    changes = ("rp.drift_every=0 s",)
    run_captured(scenario, Capture("*", "headers"), file, reps=1, progress=False)
    without = scenario.with_(*(f"scheme.{change}" for change in changes))
    run_captured(without, Capture("*", "headers"), still, reps=1, progress=False)
    report = conform(file, "cp", "IBM_ZRL", scheme="qcn_byte_counter")
    assert report.verdict == "conforms", report.why
    assert report.checked_cnms > 40
    assert conform(file, "cp", "DECK001").best_fit == "qcn_byte_counter IBM_ZRL"
    with pytest.raises(Error, match="drift timer"):
        conform(file, "rp", "IBM_ZRL", scheme="qcn_byte_counter")
    verdicts = [
        conform(each, "rp", "IBM_ZRL", scheme="qcn_byte_counter", changes=changes).verdict
        for each in (file, still)
    ]
    assert verdicts == ["breaks the law", "conforms"]
