"""What a capture that was held against QCN's law came to, as records of the core's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qcnlab.records import Record

Verdict = Literal["conforms", "breaks the law", "not decidable"]


@dataclass(frozen=True, slots=True)
class Forgiven(Record):
    """The tolerances that a verdict was given with."""

    stamps_s: float
    resolution_s: float
    """The step of the capture's stamps."""
    clock_ppm: float
    pacing_bytes: int
    reaction_s: float
    jitter: float | None
    """`None` for the law's own."""
    queue_bytes: int
    uncaptured_bytes: int


@dataclass(frozen=True, slots=True)
class Loss(Record):
    """What a capture shows of frames that it lacks."""

    numbered_frames: int
    missing_frames: int
    unmatched_frames: int
    dropped_frames: int
    unmatched_cnms: int
    """CNMs that their senders heard and the capture does not have at the port."""
    repeated_frames: int
    """Frames that it has once more than they were sent."""
    share: float


@dataclass(frozen=True, slots=True)
class Violation(Record):
    """The first frame that breaks the law."""

    frame: int
    time_s: float
    kind: str


@dataclass(frozen=True, slots=True)
class Fit(Record):
    """How a parameter set fits; `frame` and `time_s` say where it does not."""

    law: str
    verdict: Verdict
    frame: int | None
    time_s: float | None


@dataclass(frozen=True, slots=True)
class Interval(Record):
    """What a sender sent from one CNM to the next, and what the law allows."""

    from_s: float
    to_s: float
    from_frame: int
    to_frame: int
    cnm_frame: int | None
    """`None` before the first."""
    fb: int | None
    frames: int
    octets: float
    allowed_least: float
    """Octets that the law lets it send in that time, at least."""
    allowed_most: float
    """The same at most."""
    late_frames: int
    within: bool


@dataclass(frozen=True, slots=True)
class ReactionPointReport(Record):
    """A sender held against the law of the reaction point."""

    sender: str
    priority: int
    rpid: int | None
    interface: str
    verdict: Verdict
    why: str | None
    first_violation: Violation | None
    explained_by: tuple[str, ...]
    frames: int
    cnms: int
    limited_frames: int
    on_time_frames: int
    late_frames: int
    judged_frames: int
    missing_frames: int
    missing_cnms: int
    fits: tuple[Fit, ...]
    best_fit: str | None
    intervals: tuple[Interval, ...]
    intervals_left_out: int


@dataclass(frozen=True, slots=True)
class SendersReport(Record):
    """The senders of a capture held against the law."""

    of: Literal["rp"]
    law: str
    verdict: Verdict
    frames: int
    tolerances: Forgiven
    loss: Loss
    reaction_points: tuple[ReactionPointReport, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedField(Record):
    """A field of a CNM, and what it was held against; `None` where it is not judged."""

    field: str
    held_against: str | None


@dataclass(frozen=True, slots=True)
class Sample(Record):
    """A CNM, the frame that it samples, and what the law has there; queues, intervals in octets."""

    cnm_frame: int
    time_s: float
    sampled_frame: int
    to: str
    fb: int
    fb_law_least: int
    fb_law_most: int
    queue_told: int
    queue_least: int
    queue_most: int
    octets_since: int | None
    interval_least: float | None
    interval_most: float | None
    within: bool


@dataclass(frozen=True, slots=True)
class PortReport(Record):
    """A port of a switch held against the law of the congestion point."""

    of: Literal["cp"]
    law: str
    verdict: Verdict
    why: str | None
    first_violation: Violation | None
    explained_by: tuple[str, ...]
    interface: str
    arrivals_from: tuple[str, ...]
    cpid: str | None
    frames: int
    cnms: int
    checked_cnms: int
    unlocated_cnms: int
    other_cnms: int
    loss: Loss
    missing_cnms: int
    lost_frames: int
    unmatched_frames: int
    tolerances: Forgiven
    fits: tuple[Fit, ...]
    best_fit: str | None
    fields: tuple[JudgedField, ...]
    samples: tuple[Sample, ...]
    samples_left_out: int
