"""What a live run measured of itself: objects as JSON has them, in `meta["live"]`."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Lateness(TypedDict):
    """How late frames left, in us: 50, 99 and 99.9 % left no later; `None` without frames."""

    frames: int
    p50_us: int | None
    p99_us: int | None
    p999_us: int | None
    max_us: int


class LoopTiming(TypedDict):
    """The timing of one event loop."""

    name: str
    scheduling: str
    lateness: Lateness
    longest_gap_us: int
    longest_gap_at_s: float
    longest_gap_waited_us: int
    cpu_share: float
    passes: int
    receive_drops: int
    send_failures: int


class ClockStopped(TypedDict):
    """How often the machine stood still, and the run's clock with it."""

    times: int
    total_ms: float
    share: float
    longest_ms: float
    longest_at_s: float


class Timing(TypedDict):
    """Whether the timing of a run lies within the limits, what was measured, and why not."""

    valid: bool
    label: str
    reasons: list[str]
    scheduling: str
    memory_locked: bool
    lateness: Lateness
    cpu_share: float
    steal_share: float
    stack_drops: int
    clock_stopped: ClockStopped
    limits: dict[str, float]
    loops: list[LoopTiming]


class Spacing(TypedDict):
    """Distances between frames by those that the rate asks for; percentiles from 0 to 100."""

    frames: int
    mean: float
    std: float
    percentiles: list[float]


class Paced(TypedDict):
    """Who paced, and how evenly; `spacing` is `None` where no frame had to wait."""

    kind: str
    spacing: Spacing | None
    shapers: list[dict[str, object]]


class Account(TypedDict):
    """What a live run measured of itself."""

    scale: int
    limiter: Paced
    timing: Timing
    refused: dict[str, int]
    unaccounted_frames: int
    stream_octets_received: int
    stream_octets_wrong: int
    iperf3: list[dict[str, object]]
    datagrams_received: int
    frames_not_captured: int
    pauses_not_recorded: int
    defences: list[dict[str, object]]
    not_scaled: list[str]
    captured_frames: NotRequired[int]
