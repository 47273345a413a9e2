"""Captures held against the law: `qcnlab conform rp` and `qcnlab conform cp`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, overload

import typer

from qcnlab import _core
from qcnlab.cli.options import Json
from qcnlab.printing import text
from qcnlab.records import read
from qcnlab.runs.conformance import PortReport, SendersReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qcnlab.runs.conformance import Forgiven, Interval, Loss, ReactionPointReport, Sample

CONFORMS, BREAKS = "conforms", "breaks the law"
"""Verdicts; the third is "not decidable"."""
BROKEN = 1
"""Exit code when the law is broken."""
MOST_PPM = 10_000.0
MOST_JITTER = 1.9
MOST_ROWS = 4096
MOST_SECONDS = 1.0
MOST_OCTETS = 2**40
MOST_BPS = 10**15


@dataclass(frozen=True)
class Tolerances:
    """What a verdict forgives, each with its reason.

    Parameters
    ----------
    stamps_s : float, default 20e-9
        How far a stamp may be off beside its resolution: stamps of hardware have steps of some
        nanoseconds.
    clock_ppm : float, optional
        How far two clocks drift apart, parts per million; 100, which Ethernet allows a clock, or 0
        for captures of qcnlab, in which there is one clock.
    pacing_bytes : int, default 0
        Octets that a limiter may send before or after their time, because it serves in bursts or
        ticks. The law's limiter releases each frame at its time.
    reaction_s : float, default 0
        How long a sender may take to act on a CNM.
    jitter : float, optional
        Full width of the random spread of every cycle or sampling interval; by default what the
        parameters say, where the first cycle after a cut has none.
    queue_bytes : int, default 0
        Octets by which a queue may differ from the reconstructed one.
    uncaptured_bytes : int, optional
        Octets of a frame that the capture does not show and a device counts: 4 for the FCS, or 0
        for captures of qcnlab, whose frames have none.
    """

    stamps_s: float = 20e-9
    clock_ppm: float | None = None
    pacing_bytes: int = 0
    reaction_s: float = 0.0
    jitter: float | None = None
    queue_bytes: int = 0
    uncaptured_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no tolerance can be.

        Raises
        ------
        ValueError
            For a value out of range.
        """
        bounds = {
            "stamps_s": MOST_SECONDS, "clock_ppm": MOST_PPM, "pacing_bytes": MOST_OCTETS,
            "reaction_s": MOST_SECONDS, "jitter": MOST_JITTER, "queue_bytes": MOST_OCTETS,
            "uncaptured_bytes": 1000,
        }  # fmt: skip
        for name, most in bounds.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value <= most:
                raise ValueError(f"{name} is {value}; it must lie between 0 and {most}")


@overload
def conform(
    file: str | Path,
    of: Literal["rp"],
    preset: str = ...,
    *,
    scheme: str = ...,
    changes: tuple[str, ...] = ...,
    tolerances: Tolerances | None = ...,
    rate_bps: int | None = ...,
    interface: str | None = ...,
    backlogged: bool = ...,
    starts_free: bool = ...,
    delay_s: float | None = ...,
    buffer_bytes: int | None = ...,
) -> SendersReport: ...
@overload
def conform(
    file: str | Path,
    of: Literal["cp"],
    preset: str = ...,
    *,
    scheme: str = ...,
    changes: tuple[str, ...] = ...,
    tolerances: Tolerances | None = ...,
    rate_bps: int | None = ...,
    interface: str | None = ...,
    backlogged: bool = ...,
    starts_free: bool = ...,
    delay_s: float | None = ...,
    buffer_bytes: int | None = ...,
) -> PortReport: ...
def conform(
    file: str | Path,
    of: Literal["rp", "cp"],
    preset: str = "IEEE_8021Q",
    *,
    scheme: str = "qcn",
    changes: tuple[str, ...] = (),
    tolerances: Tolerances | None = None,
    rate_bps: int | None = None,
    interface: str | None = None,
    backlogged: bool = False,
    starts_free: bool = False,
    delay_s: float | None = None,
    buffer_bytes: int | None = None,
) -> SendersReport | PortReport:
    """Hold a capture against the law, with the schemes' own machines as the model.

    Parameters
    ----------
    file : str or Path
        The capture, pcapng or pcap, of any program. It is read more than once.
    of : {'rp', 'cp'}
        Whom to judge: the senders (reaction points) or a port (congestion point).
    preset : str, default 'IEEE_8021Q'
        The parameter set.
    scheme : {'qcn', 'qcn_byte_counter', 'qcn_timer'}, default 'qcn'
        The scheme.
    changes : tuple of str, optional
        Changes to the set, such as ``"rp.ai_rate=20 Mb/s"``.
    tolerances : Tolerances, optional
        What is forgiven.
    rate_bps : int, optional
        Rate of the sender's link, or of the port where no frame that leaves it is captured; what
        the capture says by default.
    interface : str, optional
        The interface beside the sender or behind the congestion point, by name or number.
    backlogged : bool, default False
        Whether senders always had a frame to send, so that a late one breaks the law.
    starts_free : bool, default False
        Whether no limiter was installed when the capture began.
    delay_s : float, optional
        Time from the captured end of a frame to its arrival at the port's queue.
    buffer_bytes : int, optional
        Octets that the queue holds, where departures are computed from `rate_bps`.

    Returns
    -------
    SendersReport or PortReport
        `verdict` (``"conforms"``, ``"breaks the law"`` or ``"not decidable"``), the `law`, the
        `tolerances`, and of each reaction point or of the congestion point `why`,
        `first_violation`, what it is `explained_by`, how other sets fit, and every interval or
        sample.

    Raises
    ------
    Error
        When the file is no capture, or does not say what a verdict takes.
    """
    forgiven = tolerances or Tolerances()
    report = json.loads(
        _core.conform(
            os.fspath(file),
            of,
            scheme=scheme,
            preset=preset,
            set=list(changes),
            stamps_s=forgiven.stamps_s,
            clock_ppm=forgiven.clock_ppm,
            pacing_bytes=forgiven.pacing_bytes,
            reaction_s=forgiven.reaction_s,
            jitter=forgiven.jitter,
            queue_bytes=forgiven.queue_bytes,
            uncaptured_bytes=forgiven.uncaptured_bytes,
            rate_bps=rate_bps,
            interface=interface,
            backlogged=backlogged,
            starts_free=starts_free,
            delay_s=delay_s,
            buffer_bytes=buffer_bytes,
        )
    )
    if of == "rp":
        return read(SendersReport, report, "the core's report")
    return read(PortReport, report, "the core's report")


def lines(report: SendersReport | PortReport, rows: int = 12) -> list[str]:
    """Return a report as text, with so many intervals or samples of each part."""
    words = [f"{report.verdict}: {report.law}, {report.frames:,} frames"]
    words.append(_tolerances(report.tolerances))
    words += _loss(report.loss)
    if isinstance(report, SendersReport):
        for point in report.reaction_points:
            words += ["", *_reaction_point(point, rows)]
        words += ["", *report.notes] if report.notes else []
    else:
        words += ["", *_congestion_point(report, rows)]
    return words


def _tolerances(forgiven: Forgiven) -> str:
    jitter = "as the law's" if forgiven.jitter is None else f"{forgiven.jitter:g}"
    return (
        f"forgiven: stamps {forgiven.stamps_s * 1e9:g} ns and their step of "
        f"{forgiven.resolution_s * 1e9:g} ns, clocks {forgiven.clock_ppm:g} ppm, pacing "
        f"{forgiven.pacing_bytes} B, reaction {forgiven.reaction_s * 1e6:g} us, jitter "
        f"{jitter}, queue {forgiven.queue_bytes} B; a frame has {forgiven.uncaptured_bytes} "
        "octets that the capture does not show"
    )


def _loss(loss: Loss) -> list[str]:
    """Return what the capture shows of frames that it lacks or has twice, where there are any."""
    twice = []
    if loss.repeated_frames:
        count = text.counted(loss.repeated_frames, "frame")
        twice = [f"the capture has {count} more than once; each counts once"]
    if not loss.share:
        return twice
    parts = []
    if loss.missing_frames:
        parts.append(
            f"{text.counted(loss.missing_frames, 'frame')} missing by the numbers of others"
        )
    if loss.unmatched_frames:
        parts.append(
            f"{text.counted(loss.unmatched_frames, 'frame')} on one side of the port alone"
        )
    if loss.unmatched_cnms:
        parts.append(f"{text.counted(loss.unmatched_cnms, 'CNM')} heard by senders alone")
    if loss.dropped_frames:
        parts.append(f"{text.counted(loss.dropped_frames, 'frame')} dropped by its statistics")
    return [*twice, f"the capture lacks frames: {', '.join(parts)}; {loss.share:.2%} of all"]


def _missing(part: ReactionPointReport) -> list[str]:
    """Return what was put in for frames that the capture lacks, and how much was judged."""
    frames, cnms = part.missing_frames, part.missing_cnms
    if not frames and not cnms:
        return []
    put = f"{text.counted(frames, 'frame')} and {text.counted(cnms, 'CNM')}"
    return [
        f"  put in where the law has them: {put}; {part.judged_frames} of "
        f"{text.counted(part.limited_frames, 'frame')} under a limiter judged"
    ]


def _verdict(part: ReactionPointReport | PortReport) -> list[str]:
    words = []
    if part.first_violation is not None:
        at = part.first_violation
        words.append(f"  frame {at.frame}, {at.time_s:.9f} s, {at.kind}: {part.why}")
        explained = part.explained_by
        if explained:
            words.append(f"  the whole capture conforms if {'; or '.join(explained)}")
    elif part.why is not None:
        words.append(f"  {part.why}")
    if part.best_fit is not None:
        words.append(f"  fits best: {part.best_fit}")
    for fit in part.fits:
        until = "" if fit.frame is None else f" at frame {fit.frame}, {fit.time_s:.6f} s"
        words.append(f"    {fit.law}: {fit.verdict}{until}")
    return words


def _reaction_point(point: ReactionPointReport, rows: int) -> list[str]:
    rpid = "" if point.rpid is None else f", RPID {point.rpid}"
    words = [
        f"{point.sender}, priority {point.priority}{rpid}, at {point.interface}: {point.verdict}",
        f"  {text.counted(point.frames, 'frame')}, {text.counted(point.cnms, 'CNM')}; under "
        f"a limiter {text.counted(point.limited_frames, 'frame')}, of which "
        f"{point.on_time_frames} left when the law says; {point.late_frames} left later",
        *_missing(point),
        *_verdict(point),
    ]
    header = (
        f"  {'from, s':>12}{'to, s':>14}{'CNM':>9}{'Fb':>4}{'frames':>8}{'octets':>12}"
        f"{'allowed':>12}{'to':>12}  "
    )
    return words + _table(
        header, _interval, point.intervals, (point.intervals_left_out, "interval"), rows
    )


def _interval(row: Interval) -> str:
    cnm = "-" if row.cnm_frame is None else row.cnm_frame
    fb = "-" if row.fb is None else row.fb
    return (
        f"  {row.from_s:>12.6f}{row.to_s:>14.6f}{cnm:>9}{fb:>4}{row.frames:>8}"
        f"{row.octets:>12,.0f}{row.allowed_least:>12,.0f}{row.allowed_most:>12,.0f}"
    )


def _congestion_point(report: PortReport, rows: int) -> list[str]:
    words = [
        f"port {report.interface}, CPID {report.cpid}, frames from "
        f"{', '.join(report.arrivals_from) or 'nowhere'}: {report.verdict}",
        f"  {text.counted(report.cnms, 'CNM')}, {report.checked_cnms} checked, "
        f"{report.unlocated_cnms} quote a frame that did not come, or had not left at the end; "
        f"{text.counted(report.lost_frames, 'frame')} lost",
        *(
            [f"  {text.counted(report.other_cnms, 'CNM')} of other ports, not judged"]
            if report.other_cnms
            else []
        ),
        *(
            [f"  {text.counted(report.missing_cnms, 'CNM')} missing where a sample was due"]
            if report.missing_cnms
            else []
        ),
        *_verdict(report),
        f"  fields not judged: {_not_judged(report)}",
    ]
    header = (
        f"  {'time, s':>12}{'CNM':>9}  {'to':<18}{'Fb':>4}{'law':>8}{'queue':>10}"
        f"{'reconstructed':>18}{'octets since':>14}{'interval':>20}"
    )
    return words + _table(
        header, _sample, report.samples, (report.samples_left_out, "sample"), rows
    )


def _not_judged(report: PortReport) -> str:
    fields = report.fields
    return ", ".join(each.field for each in fields if each.held_against is None) or "none"


def _sample(row: Sample) -> str:
    law = _range(row.fb_law_least, row.fb_law_most)
    queue = _range(row.queue_least, row.queue_most)
    since = "-" if row.octets_since is None else f"{row.octets_since:,}"
    least, most = row.interval_least, row.interval_most
    interval = "-" if least is None else f"{least:,.0f}..{most:,.0f}"
    return (
        f"  {row.time_s:>12.6f}{row.cnm_frame:>9}  {row.to:<18}{row.fb:>4}{law:>8}"
        f"{row.queue_told:>10,}{queue:>18}{since:>14}{interval:>20}"
    )


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,}..{most:,}"


Row = TypeVar("Row", bound="Interval | Sample")


def _table(
    header: str,
    line: Callable[[Row], str],
    rows: Sequence[Row],
    left_out: tuple[int, str],
    most: int,
) -> list[str]:
    """Return the first intervals or samples of a part, and the one that is broken, as lines."""
    if not most or not rows:
        return []
    shown: list[Row] = [*rows[:most], *(row for row in rows[most:] if not row.within)]
    words = [header, *(f"{line(row)}{'' if row.within else '  broken'}" for row in shown)]
    count, noun = left_out
    more = len(rows) - len(shown) + count
    return [*words, f"  and {text.counted(more, noun)} more (--rows, --json)"] if more else words


app = typer.Typer(
    help="Tell whether captured devices behave as QCN's standard asks.\n\n"
    "rp: did a sender slow down at each message, and speed up again, as it must? cp: did a switch "
    "send each message when it must, with the right number in it? The first frame that breaks the "
    "rules is named, with the reason, and what setting would explain it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[
    Path, typer.Argument(metavar="CAPTURE", help="A capture, pcapng or pcap, of any program.")
]
Preset = Annotated[str, typer.Option("--preset", metavar="NAME", help="The parameter set.")]
Scheme = Annotated[str, typer.Option("--scheme", help="qcn, qcn_byte_counter or qcn_timer.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "-s", "--set", metavar="KEY=VALUE", help="Change the set: rp.ai_rate='20 Mb/s'. Repeatable."
    ),
]
Interface = Annotated[
    str | None,
    typer.Option("--interface", metavar="NAME", help="The interface, by name or number."),
]
Rate = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Rate of the link or port: '10 Gb/s'. The capture's own."),
]
Stamps = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Error of stamps beside their resolution: steps of the clock."
    ),
]
Clock = Annotated[
    float | None,
    typer.Option(
        "--clock-ppm",
        min=0.0,
        max=MOST_PPM,
        help="Drift between two clocks. 100, which Ethernet allows; 0 for captures of qcnlab.",
    ),
]
Jitter = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=MOST_JITTER,
        help="Full width of the random spread of every cycle or sample: 0.3. As the law's.",
    ),
]
Uncaptured = Annotated[
    int | None,
    typer.Option(
        min=0, max=1000,
        help="Octets of a frame that are not captured: 4 for the FCS; 0 for captures of qcnlab.",
    ),
]  # fmt: skip
Rows = Annotated[
    int, typer.Option(min=0, max=MOST_ROWS, help="Intervals or samples printed of each part.")
]
Backlogged = Annotated[
    bool, typer.Option("--backlogged", help="Senders always have a frame to send.")
]
StartsFree = Annotated[
    bool, typer.Option("--starts-free", help="No limiter was installed at the beginning.")
]


@app.command()
def rp(
    file: File,
    preset: Preset = "IEEE_8021Q",
    scheme: Scheme = "qcn",
    changes: Changes = None,
    interface: Interface = None,
    rate: Rate = None,
    stamps: Stamps = "20 ns",
    clock_ppm: Clock = None,
    pacing: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Octets early or late: a limiter that serves in bursts or ticks."
        ),
    ] = "0 B",
    reaction: Annotated[
        str, typer.Option(metavar="TIME", help="How long a sender may take to act on a CNM.")
    ] = "0 s",
    jitter: Jitter = None,
    uncaptured: Uncaptured = None,
    backlogged: Backlogged = False,
    starts_free: StartsFree = False,
    rows: Rows = 12,
    as_json: Json = False,
) -> None:
    """Tell whether senders slowed down and sped up as they must. Exit 1 if one did not.

    The capture is taken beside the senders: their data frames, and the CNMs that they receive.
    """
    report = conform(
        file,
        "rp",
        preset,
        scheme=scheme,
        changes=tuple(changes or ()),
        tolerances=Tolerances(
            stamps_s=_quantity("--stamps", stamps, "s"),
            clock_ppm=clock_ppm,
            pacing_bytes=round(_quantity("--pacing", pacing, "B")),
            reaction_s=_quantity("--reaction", reaction, "s"),
            jitter=jitter,
            uncaptured_bytes=uncaptured,
        ),
        rate_bps=_rate(rate),
        interface=interface,
        backlogged=backlogged,
        starts_free=starts_free,
    )
    _print(report, rows, as_json)


@app.command()
def cp(
    file: File,
    preset: Preset = "IEEE_8021Q",
    scheme: Scheme = "qcn",
    changes: Changes = None,
    interface: Interface = None,
    rate: Rate = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="From the captured end of a frame to the port's queue."),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="What the queue holds, where departures are computed."),
    ] = None,
    stamps: Stamps = "20 ns",
    queue: Annotated[
        str, typer.Option(metavar="SIZE", help="How far a queue may differ from ours.")
    ] = "0 B",
    jitter: Jitter = None,
    uncaptured: Uncaptured = None,
    rows: Rows = 12,
    as_json: Json = False,
) -> None:
    """Tell whether a switch's port sent the messages that it must. Exit 1 if it did not.

    The capture has the frames that come to the port, those that leave it, and its CNMs. Without
    those that leave, give the port's rate.
    """
    report = conform(
        file,
        "cp",
        preset,
        scheme=scheme,
        changes=tuple(changes or ()),
        tolerances=Tolerances(
            stamps_s=_quantity("--stamps", stamps, "s"),
            queue_bytes=round(_quantity("--queue", queue, "B")),
            jitter=jitter,
            uncaptured_bytes=uncaptured,
        ),
        rate_bps=_rate(rate),
        interface=interface,
        delay_s=None if delay is None else _quantity("--delay", delay, "s"),
        buffer_bytes=None if buffer is None else round(_quantity("--buffer", buffer, "B")),
    )
    _print(report, rows, as_json)


def _print(report: SendersReport | PortReport, rows: int, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        print("\n".join(lines(report, rows)))
    if report.verdict == BREAKS:
        raise typer.Exit(BROKEN)


EXAMPLES = {"s": "20 ns", "B": "1500 B", "bit/s": "10 Gb/s"}


def _quantity(option: str, value: str, unit: str) -> float:
    known = _core.quantity(value)
    if known is None or known[1] != unit:
        raise typer.BadParameter(f"{option} is {value!r}; write it as in '{EXAMPLES[unit]}'")
    most = {"s": MOST_SECONDS, "B": MOST_OCTETS, "bit/s": MOST_BPS}[unit]
    if not 0 <= known[0] <= most:
        raise typer.BadParameter(f"{option} is {value!r}; that is more than anything has")
    return known[0]


def _rate(value: str | None) -> int | None:
    if value is None:
        return None
    rate = round(_quantity("--rate", value, "bit/s"))
    if rate == 0:
        raise typer.BadParameter("--rate is 0; a link has a rate above 0")
    return rate
