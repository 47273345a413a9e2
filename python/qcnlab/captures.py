"""Captures: runs whose frames are written as pcapng, and captures read frame by frame."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from qcnlab import _core
from qcnlab.errors import Error
from qcnlab.printing import text
from qcnlab.printing.progress import Bar
from qcnlab.results.result import Result, from_outcome
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.api import Scenario
    from qcnlab.runs.replayed import ReplayedCapture

KEPT = ("headers", "all")
"""How much of a frame a capture keeps."""
BATCH = 512
"""Frames read at a time."""
MOST_HOSTS = 4
"""Addresses of a replayed capture that are printed with their hosts."""


class CaptureSummary(TypedDict):
    """What became of a capture.

    Attributes
    ----------
    ports : list of str
        What was captured.
    frames, octets : int
        How much of it.
    limit : str, optional
        What ended it before the run: ``"frames"`` or ``"size"``.
    failure : str, optional
        Why it could not be written to its end.
    """

    ports: list[str]
    frames: int
    octets: int
    limit: str | None
    failure: str | None


class CapturedFrame(TypedDict):
    """A frame of a capture; `None` for what it does not have.

    A frame that breaks its format has neither addresses nor what follows them. Priorities that LLDP
    announces (`cnpv`, `ready`, `pfc`) are bits, priority 0 the lowest; `pause_s` is in s.
    """

    frame: int
    time_s: float | None
    time_ns: int | None
    port: str
    direction: str | None
    kind: str
    octets: int
    source: str | None
    destination: str | None
    vlan: int | None
    priority: int | None
    rpid: int | None
    ecn: str | None
    fb: int | None
    cpid: str | None
    offset_bytes: int | None
    delta_bytes: int | None
    quanta: int | dict[str, int] | None
    about: str
    comment: str | None
    rate_bps: NotRequired[int]
    credit_bytes: NotRequired[int]
    pause_s: NotRequired[float]
    cnpv: NotRequired[int]
    ready: NotRequired[int]
    pfc: NotRequired[int]


@dataclass(frozen=True)
class Capture:
    """What a run writes into a capture.

    Parameters
    ----------
    ports : str
        Names of ports with wildcards, such as ``"core->*"``; several with commas.
    frames : {'headers', 'all'}, default 'headers'
        How much of a data frame is kept. Frames of congestion management are kept whole.
    snap : int, optional
        Octets kept of any frame; it must leave the headers whole.
    most_frames : int, optional
        The capture ends after so many frames; the run goes on.
    most_octets : int, optional
        The capture ends before its file is larger; the run goes on.
    from_s, until_s : float, optional
        The window, in seconds of the run.
    """

    ports: str
    frames: str = "headers"
    snap: int | None = None
    most_frames: int | None = None
    most_octets: int | None = None
    from_s: float = 0.0
    until_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no capture can be.

        Raises
        ------
        ValueError
            For a value out of range.
        """
        if self.frames not in KEPT:
            raise ValueError(f"frames is {self.frames!r}; it must be one of {', '.join(KEPT)}")
        within("snap", self.snap, 1, 2**32 - 1)
        within("most_frames", self.most_frames, 0, 2**63)
        within("most_octets", self.most_octets, 0, 2**63)
        if self.from_s < 0 or (self.until_s is not None and self.until_s < 0):
            raise ValueError("times of a capture are not negative")

    def _core(self, file: Path) -> _core.Capture:
        return _core.Capture(
            os.fspath(file),
            self.ports,
            whole=self.frames == "all",
            snap_len=self.snap,
            max_frames=self.most_frames,
            max_size=self.most_octets,
            from_s=self.from_s,
            until_s=self.until_s,
        )

    def size(self, scenario: Scenario, seed: int | None = None) -> int:
        """Estimate the octets that a capture of `scenario` takes; most captures are smaller.

        Parameters
        ----------
        scenario : Scenario
            What will run.
        seed : int, optional
            Seed of the run; the scenario's own by default.

        Returns
        -------
        int
            Octets, from the rates that flows offer and ports have.

        Raises
        ------
        Error
            When no port has such a name.

        Examples
        --------
        >>> import qcnlab
        >>> from qcnlab.captures import Capture
        >>> base = qcnlab.load("one-source-into-9g-rtt10us")
        >>> scenario = base.with_("warmup=1 ms", "duration=10 ms")
        >>> Capture("switch->sink").size(scenario) < 1_200_000
        True
        """
        return self._core(Path(os.devnull)).size(scenario._core, seed)


def run_captured(
    scenario: Scenario,
    capture: Capture,
    file: Path,
    *,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[Result, CaptureSummary]:
    """Run all replications of a scenario, and capture the first.

    The results are those of `qcnlab.run`; only the count of the engine's events differs.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    capture : Capture
        What to capture.
    file : Path
        The capture, pcapng.
    reps, seed, jobs, progress
        As in `qcnlab.run`.

    Returns
    -------
    tuple
        The result, and of the capture: `ports`, `frames`, `octets`, the `limit` that ended it
        (``"frames"`` or ``"size"``, or `None`) and the `failure` that did, as text or `None`.
        After a failure the frames before it are in the file, and the result is whole.

    Raises
    ------
    Error
        When the capture cannot be started: no such port, a file that cannot be written, headers
        that are cut, more octets than the disk has free.
    """
    reps = within("reps", reps, 1, MOST_REPS)
    jobs = within("jobs", jobs, 1, MOST_JOBS)
    seed = within("seed", seed, 0, MOST_SEED)
    _check_room(capture.size(scenario, seed), file)
    started = time.perf_counter()
    with Bar(scenario.name, progress) as bar:
        outcome, summary = _core.run_captured(
            scenario._core,
            capture._core(file),
            seed=seed,
            replications=reps,
            jobs=jobs,
            progress=bar,
        )
    result = from_outcome(outcome, time.perf_counter() - started)
    ports, count, octets, limit, failure = summary
    return result, {
        "ports": ports,
        "frames": count,
        "octets": octets,
        "limit": limit,
        "failure": failure,
    }


def frames(file: str | Path) -> Iterator[CapturedFrame]:
    """Read the frames of a capture, pcapng or pcap, as a stream.

    Parameters
    ----------
    file : str or Path
        The capture, of any program.

    Yields
    ------
    dict
        `frame` (its number, from 1), `time_s`, `time_ns`, `port`, `direction`, `kind`, `octets`,
        `source`, `destination`, `vlan`, `priority`, `rpid`, `fb`, `cpid`, `offset_bytes`,
        `delta_bytes`, `quanta` (of PFC a mapping of priority to quanta), `about` and `comment`;
        `None` for what a frame does not have. A frame that breaks its format is of kind
        ``"malformed"``.

    Raises
    ------
    Error
        When the file is no capture, or damaged; the frames before the damage have come by then.
    """
    for row in _rows(file):
        yield json.loads(row)


def _rows(file: str | Path) -> Iterator[str]:
    """Yield each frame as JSON text."""
    reader = _core.Frames(os.fspath(file))
    while True:
        rows, fault = reader.read(BATCH)
        yield from rows
        if fault is not None:
            raise Error(f"{os.fspath(file)}: {fault}")
        if not rows:
            return


def _check_room(needed: int, file: Path) -> None:
    try:
        free = shutil.disk_usage(file.parent).free
    except OSError:
        return  # Creating the file tells more.
    if needed > free:
        raise Error(
            f"the capture may take {text.octets(needed)}, and {text.octets(free)} are free at "
            f"'{file.parent}'; limit it by --capture-size, --capture-count or --capture-until"
        )


COLUMNS = (
    ("time", 14), ("port", 18), ("kind", 8), ("Fb", 4), ("CPID", 16), ("RPID", 6), ("offset", 9),
    ("delta", 9), ("quanta", 12),
)  # fmt: skip
"""The columns of `lines`, each with its width; the rest of a line is about the frame."""


def lines(file: str | Path, kinds: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a table of the frames of a capture, line by line.

    Parameters
    ----------
    file : str or Path
        The capture.
    kinds : frozenset of str, optional
        Only frames of these kinds, in lower case; all by default.
    """
    head = "  ".join(f"{name:<{width}}" for name, width in COLUMNS)
    yield f"{head}  about"
    for frame in frames(file):
        if not kinds or frame["kind"].lower() in kinds:
            yield _line(frame)


def _line(frame: CapturedFrame) -> str:
    time_ns = frame["time_ns"]
    cells = (
        "-" if time_ns is None else f"{time_ns // 10**9}.{time_ns % 10**9:09d}",
        frame["port"],
        frame["kind"],
        _cell(frame.get("fb")),
        _cell(frame.get("cpid")),
        _cell(frame.get("rpid")),
        _cell(frame.get("offset_bytes")),
        _cell(frame.get("delta_bytes")),
        _quanta(frame.get("quanta")),
    )
    padded = (f"{cell:<{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
    return f"{'  '.join(padded)}  {frame['about']}"


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _quanta(quanta: int | dict[str, int] | None) -> str:
    if isinstance(quanta, dict):
        return " ".join(f"{priority}:{time}" for priority, time in quanta.items())
    return _cell(quanta)


def held(capture: ReplayedCapture, hosts: int = MOST_HOSTS) -> list[str]:
    """Return as lines what a capture holds that is replayed, with so many addresses.

    Parameters
    ----------
    capture : ReplayedCapture
        One of `Scenario.captures`.
    hosts : int, optional
        How many addresses are told with their hosts.

    Returns
    -------
    list of str
        The lines, the first one with the file.
    """
    flows, frames = text.counted(capture.flows, "flow"), text.counted(capture.frames, "frame")
    octets, lasts = text.octets(capture.octets), text.duration(capture.duration_s)
    words = [f"{flows}, {frames}, {octets} in {lasts}"]
    if capture.beyond_run:
        ends = text.duration(capture.ends_s)
        words.append(f"the last frame would be sent at {ends}, after the end of the run")
    if capture.passed_over:
        reasons = ", ".join(capture.passed_over)
        words.append(f"of {capture.frames_read:,} frames in the file, not sent: {reasons}")
    if capture.out_of_order:
        late = text.counted(capture.out_of_order, "frame")
        most = text.duration(capture.out_of_order_s)
        words.append(f"{late} out of order by {most} at most, sent with the frame before")
    known = [f"{row.address} is {row.host}" for row in capture.hosts]
    more = f" and {len(known) - hosts} more" if len(known) > hosts else ""
    words.append(", ".join(known[:hosts]) + more)
    words.append(f"sha256 {capture.sha256}")
    replays = f"traffic.{capture.entry} replays {capture.file}"
    return [replays, *(f"  {line}" for line in words)]
