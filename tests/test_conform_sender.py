"""A card's byte counter and timer, in captures of others: a wrong one is told, a right one is not.

The captures are made by a second implementation of the law, with a clock of its own and stamps
that are off by some nanoseconds. They have no comments, no statistics and no numbers of frames.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from qcnlab.conform import Tolerances, conform
from qcnlab.runs.conformance import ReactionPointReport, Violation

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from others import Form, write
from sender import PORT, Card, Spread

RATE_BPS = 1_000_000_000
CLASSIC = Form(classic=True)


def capture(
    folder: Path, seed: int, *, form: Form = CLASSIC, clock_ppm: float = 40, **limiter: Any
) -> Path:
    """Capture a second of a card whose limiter differs from the law's by these."""
    dice = random.Random(f"cycles of {seed}")
    card = Card(
        Spread(line=RATE_BPS, dice=dice, **limiter), seed, rate_bps=RATE_BPS, clock_ppm=clock_ppm
    )
    frames = sorted(card.frames(1.0), key=lambda frame: frame.time_ns)
    file = folder / "card.pcap"
    write(file, frames, form, {PORT: RATE_BPS})
    return file


def judged(file: Path, **tolerances: Any) -> ReactionPointReport:
    """Return the verdict on the only reaction point, after what can be said of any."""
    forgiven = Tolerances(**tolerances)
    report = conform(file, "rp", "DECK001", rate_bps=RATE_BPS, tolerances=forgiven)
    (point,) = report.reaction_points
    assert report.verdict == point.verdict
    assert point.cnms > 30
    return point


@pytest.mark.parametrize("clock_ppm", [-90, 90])
@pytest.mark.parametrize("seed", range(4))
def test_a_card_by_the_law_conforms(tmp_path: Path, *, seed: int, clock_ppm: float) -> None:
    form = [CLASSIC, Form(), Form(has_fcs=True, of_interface=4), Form(of_interface=0)][seed]
    point = judged(capture(tmp_path, seed, form=form, clock_ppm=clock_ppm))
    assert point.verdict == "conforms", point.why
    assert point.limited_frames == point.on_time_frames > 20_000


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("byte_reset", "kind", "octets"),
    [(120_000, "rise too soon", "120.0 KB"), (180_000, "no rise", "180.0 KB")],
)
def test_a_threshold_that_is_off_by_a_fifth_is_told(
    tmp_path: Path, *, byte_reset: int, kind: str, octets: str, seed: int
) -> None:
    """Also where a spread of 15 % either way is forgiven of every cycle."""
    file = capture(tmp_path, seed, byte_reset=byte_reset)
    point = judged(file)
    assert point.verdict == "breaks the law"
    assert isinstance(point.first_violation, Violation), point.why
    assert point.first_violation.kind == kind, point.why
    assert f"byte_reset is {octets} instead of 150.0 KB" in point.explained_by
    assert judged(file, jitter=0.3).verdict == "breaks the law"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [0, 0.1])
def test_a_spread_that_is_missing_or_too_narrow_is_told(
    tmp_path: Path, *, width: float, seed: int
) -> None:
    """No cycle alone breaks the law. A user who forgives the law's spread asks for none."""
    file = capture(tmp_path, seed, width=width)
    point = judged(file)
    assert point.verdict == "breaks the law"
    assert isinstance(point.first_violation, Violation), point.why
    assert point.first_violation.kind == "spread of cycles", point.why
    assert point.explained_by[0].startswith(f"cycles are spread over {width} instead of 0.3")
    assert judged(file, jitter=0.3).verdict == "conforms"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [0.4, 0.6])
def test_a_spread_that_is_too_wide_is_told(tmp_path: Path, *, width: float, seed: int) -> None:
    """A cycle is too short or too long."""
    file = capture(tmp_path, seed, width=width)
    point = judged(file)
    assert point.verdict == "breaks the law"
    words = f"cycles are spread over {width} instead of 0.3 (jitter_width)"
    assert words in point.explained_by
    assert judged(file, jitter=width).verdict == "conforms"


@pytest.mark.parametrize("seed", range(3))
def test_a_first_cycle_that_is_spread_is_told(tmp_path: Path, *, seed: int) -> None:
    """The law has none there, and says so by `--jitter` if it shall."""
    file = capture(tmp_path, seed, first_too=True)
    assert judged(file).verdict == "breaks the law"
    assert judged(file, jitter=0.3).verdict == "conforms"


SLOW_COUNTER = "3 MB"
CLOCKS = ["timer", "both"]


def timed(
    folder: Path,
    clock: str,
    seed: int = 0,
    *,
    seconds: float = 1.0,
    clock_ppm: float = 40,
    **timer: Any,
) -> Path:
    """Capture a card with a timer alone, or beside a byte counter that seldom ends a cycle."""
    dice = random.Random(f"timer of {seed}")
    limiter = Spread(line=RATE_BPS, clock=clock, byte_reset=3e6, dice=dice, **timer)
    card = Card(limiter, seed, rate_bps=RATE_BPS, clock_ppm=clock_ppm, messages_s=0.045)
    frames = sorted(card.frames(seconds), key=lambda frame: frame.time_ns)
    file = folder / "card.pcap"
    write(file, frames, CLASSIC, {PORT: RATE_BPS})
    return file


def timer_judged(file: Path, clock: str, **tolerances: Any) -> ReactionPointReport:
    scheme, changes = {
        "timer": ("qcn_timer", ()),
        "both": ("qcn", (f"rp.byte_reset={SLOW_COUNTER}",)),
    }[clock]
    report = conform(
        file, "rp", "DECK001", scheme=scheme, changes=changes,
        rate_bps=RATE_BPS, tolerances=Tolerances(**tolerances),
    )  # fmt: skip
    (point,) = report.reaction_points
    assert point.cnms > 10
    return point


@pytest.mark.parametrize("clock_ppm", [-90, 90])
@pytest.mark.parametrize("clock", CLOCKS)
def test_a_timer_by_the_law_conforms(tmp_path: Path, *, clock: str, clock_ppm: float) -> None:
    point = timer_judged(timed(tmp_path, clock, 3, clock_ppm=clock_ppm), clock)
    assert point.verdict == "conforms", point.why
    assert point.limited_frames == point.on_time_frames > 20_000


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("time_reset", "kind", "ms"),
    [(12e9, "rise too soon", "12.000 ms"), (18e9, "no rise", "18.000 ms")],
)
def test_a_timer_that_is_off_by_a_fifth_is_told(
    tmp_path: Path, *, clock: str, time_reset: float, kind: str, ms: str
) -> None:
    """Also where a spread of 15 % either way is forgiven of every cycle."""
    file = timed(tmp_path, clock, time_reset=time_reset)
    point = timer_judged(file, clock)
    assert point.verdict == "breaks the law"
    assert isinstance(point.first_violation, Violation), point.why
    assert point.first_violation.kind == kind, point.why
    assert f"time_reset is {ms} instead of 15.000 ms" in point.explained_by
    assert timer_judged(file, clock, jitter=0.3).verdict == "breaks the law"


@pytest.mark.parametrize(("clock", "width"), [("timer", 0.05), ("both", 0)])
def test_a_timer_without_the_spread_of_the_law_is_told(
    tmp_path: Path, *, clock: str, width: float
) -> None:
    """No cycle alone breaks the law; the byte counter, where there is one, keeps it."""
    file = timed(tmp_path, clock, 1, seconds=2.0, time_width=width)
    point = timer_judged(file, clock)
    assert point.verdict == "breaks the law"
    assert isinstance(point.first_violation, Violation), point.why
    assert point.first_violation.kind == "spread of cycles", point.why
    assert " timer cycles behind the first of a message ended after " in str(point.why)
    assert ("cycles of the timer are not spread" in point.explained_by) is (width == 0)
    assert not any("over 0.4" in each or "over 1 " in each for each in point.explained_by)
    assert timer_judged(file, clock, jitter=0.3).verdict == "conforms"


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_timer_whose_spread_is_too_wide_is_told(tmp_path: Path, *, clock: str) -> None:
    file = timed(tmp_path, clock, 2, time_width=0.6)
    assert timer_judged(file, clock).verdict == "breaks the law"
    assert timer_judged(file, clock, jitter=0.6).verdict == "conforms"
