"""What an explanation of a run holds: objects as JSON has them, times in s, rates in bit/s.

`qcnlab.results.explanation.explanation` makes one of a run, and says what its parts mean.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Crossing = Literal["yes", "no", "maybe"]
"""Whether a flow goes through a port: `maybe` where it may take several ways."""
TimePart = Literal["sending_s", "paused_s", "limited_s", "rest_s"]
"""A part of the time that a flow lasted."""
TimeOfFlow = Literal["lasted_s", "sending_s", "paused_s", "limited_s", "rest_s"]
"""How long a flow lasted, and its parts."""


class FirstPause(TypedDict):
    """The first pause: when, the port whose queue began it, the port that it stopped, its class."""

    time_s: float
    port: str
    stopped: str
    priority: int | None


class FirstEvent(TypedDict):
    """The first drop or message: when, at which port, and of which flow."""

    time_s: float
    port: str
    source: str


class FirstCut(TypedDict):
    """The first sender whose rate fell, and by when it had."""

    time_s: float
    source: str


class Firsts(TypedDict):
    """What happened first of each kind; `None` of what never did."""

    pause: FirstPause | None
    drop: FirstEvent | None
    signal: FirstEvent | None
    cut: FirstCut | None


class Root(TypedDict):
    """A port where congestion began, and the links that were stopped because of it."""

    port: str
    first_s: float
    stopped_s: float
    links: list[str]
    by_itself: bool


class StoppedFlow(TypedDict):
    """A flow whose own link was stopped, for how long, and because of which port."""

    flow: str
    priority: int | None
    paused_s: float
    share: float | None
    root: str
    crosses: Crossing


class CutSender(TypedDict):
    """A sender whose rate fell between two samples."""

    source: str
    falls: int
    first_s: float
    least_rate_bps: float
    mean_rate_bps: float
    signals: int | None


class SlowFlow(TypedDict):
    """A flow that was slow, and where its time went."""

    flow: str
    priority: int | None
    size_bytes: int | None
    finished: bool | None
    lasted_s: float
    slowdown: float | None
    sending_s: float
    paused_s: float
    limited_s: float | None
    rest_s: float
    over_s: float
    retransmitted_frames: int | None


class Explanation(TypedDict):
    """What happened in a replication of a run."""

    run: str
    replication: int
    end_s: float
    first: Firsts
    pauses: int
    drops: int
    roots: list[Root]
    stopped: list[StoppedFlow]
    stopped_flows: int
    unstopped_flows: int
    cut: list[CutSender]
    cut_flows: int
    signals: int
    slow: list[SlowFlow]
    left_out: list[str]
