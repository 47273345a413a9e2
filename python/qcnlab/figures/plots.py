"""Drawing: the parts all figures share, and the figure of one run."""

from __future__ import annotations

import math
import textwrap
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib import style as mpl_style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from qcnlab.figures.notebook import ShownFigure
from qcnlab.files.folders import whole
from qcnlab.printing import text
from qcnlab.runs.facts import Facts, facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from qcnlab.runs.recorded import Recorded

    Array = NDArray[np.float64]

Dashes = str | tuple[float, tuple[float, ...]]
"""How a line is dashed, as matplotlib takes it."""


class LineStyle(TypedDict, total=False):
    """Options of a line, as matplotlib takes them."""

    color: str
    ls: Dashes
    lw: float
    alpha: float
    label: str | None
    marker: str
    ms: float
    mec: str
    mew: float


class LegendOptions(TypedDict):
    """Options of a legend that say where it is and how wide."""

    loc: Literal["lower right"]
    bbox_to_anchor: tuple[float, float]
    ncols: int
    borderaxespad: float
    columnspacing: float


STYLE = Path(__file__).with_name("qcnlab.mplstyle")
SHADE, INK, FAINT = "#f1ede4", "#222222", "#8a8a8a"
SOURCES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1, 1, 1)))
MANY = 4
POINTS = 900
PNG_DPI = 160
PROGRAM = "qcnlab"
"""What figures say that they were drawn by; `outputs.FIGURE` looks for it."""
IN_MB = 10_000.0
"""An axis that ends above so many KB has MB."""
FEW_BINS = 100
"""So few bins are drawn as steps, so that nobody takes their mean for a course."""
LONG = 20
"""Characters of a label that leave room for its unit beside it."""
TITLE = 72
"""Characters in a line of a title."""


@contextmanager
def style() -> Iterator[None]:
    """Use the package's style in the body; the caller's settings come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl_style.use(STYLE)
        yield


def save(figure: Figure, path: Path) -> Path:
    """Write `figure` as SVG, PNG or PDF, whole; equal figures give equal bytes.

    The layout is computed once for all formats, and each format draws once; `Figure.savefig` would
    do both twice, which is most of the time a demonstration takes to draw.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure; its layout is fixed afterwards.
    path : Path
        The file; its suffix says the format.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with style(), whole(path) as partial, warnings.catch_warnings():
        # A character that no font here has is drawn as a box.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        if figure.get_layout_engine() is not None:
            figure.set_dpi(PNG_DPI)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        if path.suffix == ".svg":
            svg: Any = FigureCanvasSVG(figure)
            svg.print_svg(partial, metadata={"Date": None, "Creator": PROGRAM})
        elif path.suffix == ".png":
            figure.set_dpi(PNG_DPI)
            png: Any = FigureCanvasAgg(figure)
            png.print_png(partial, metadata={"Software": PROGRAM})
        else:
            figure.savefig(partial, metadata={"CreationDate": None, "Creator": PROGRAM})
    return path


def run_figure(result: Recorded, replication: int = 0) -> Figure:
    """Draw queue, throughput and rates of one replication, one above the other.

    Rates are left out where nothing ever limits a source.
    """
    count = result.summary.replications
    if not 0 <= replication < count:
        raise IndexError(f"no replication {replication}: there are {count}, numbered from 0")
    known = facts(result)
    rates = one(result.rates.to_polars(), replication)
    if rates["current_rate_bps"].n_unique() == 1:
        rates = rates.clear()
    with style():
        figure = ShownFigure(figsize=(7.2, 6.2 if len(rates) else 4.6), layout="constrained")
        axes = figure.subplots(3 if len(rates) else 2, 1, sharex=True)
        queues = one(result.queues.to_polars(), replication)
        draw_queue(axes[0], queues, known)
        _fit_queue(axes[0], queues, known)
        draw_throughput(axes[1], one(result.throughput.to_polars(), replication), known)
        if len(rates):
            draw_rates(axes[2], rates, known)
            axes[2].legend(**above(4))
        time_axis(axes[-1], known)
        label_hotspots(axes[0], known)
        summary = result.summary
        more = f", replication {replication} of {count}" if count > 1 else ""
        figure.suptitle(textwrap.fill(summary.title, TITLE), x=0.01, ha="left")
        axes[0].set_title(
            f"scheme {summary.scheme}"
            + (f" ({summary.preset})" if summary.preset else "")
            + f", seed {summary.seed}{more}",
            color=FAINT,
            pad=14,
        )
    return figure


def one(frame: pl.DataFrame, replication: int) -> pl.DataFrame:
    """Return the rows of one replication."""
    return frame.filter(pl.col("replication") == replication)


def draw_queue(
    axes: Axes, frame: pl.DataFrame, known: Facts, color: str = INK, *, name_set_point: bool = True
) -> None:
    """Draw the queue length in KB, the set point as a dashed line."""
    shade(axes, known)
    ports = frame["port"].unique(maintain_order=True)
    for index, port in enumerate(ports.head(MANY)):
        part = frame.filter(pl.col("port") == port)
        time, queue = envelope(part["time_s"].to_numpy(), part["queue_bytes"].to_numpy() / 1e3)
        line_style: LineStyle = {"color": color} if len(ports) == 1 else source_style(index)
        axes.plot(time, queue, lw=0.7, label=port, **line_style)
    if len(ports) > 1:
        axes.legend(**above(MANY))
    if known.set_point_bytes is not None:
        level = known.set_point_bytes / 1e3
        axes.axhline(level, color=INK, lw=0.8, ls=(0, (4, 2)))
        if name_set_point:
            note(axes, 0.995, level, f"set point {level:g} KB", va="bottom")
    at = f" at {ports[0]}" if len(ports) == 1 and name_set_point else ""
    axes.set_ylabel(f"queue{at} (KB)" if len(at) < LONG else f"queue{at}\n(KB)")
    axes.set_ylim(0, None if known.buffer_bytes is None else known.buffer_bytes / 1e3 * 1.06)
    axes.margins(x=0)


def _fit_queue(axes: Axes, frame: pl.DataFrame, known: Facts) -> None:
    """End the axis above the queue where that is far below the limit of the buffer; name MB."""
    longest = float(frame["queue_bytes"].to_numpy().max(initial=0))
    most = max(longest, known.set_point_bytes or 0.0)
    if known.buffer_bytes is not None and 0 < most < known.buffer_bytes / 2:
        axes.set_ylim(0, most / 1e3 * 1.25)
    if axes.get_ylim()[1] >= IN_MB:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e3:g}"))
        axes.set_ylabel(axes.get_ylabel().replace("(KB)", "(MB)"))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))


def draw_throughput(
    axes: Axes, frame: pl.DataFrame, known: Facts, color: str = INK, *, each: bool = True
) -> None:
    """Draw the throughput of the last link in Gb/s: the sum and, of few sources, each one."""
    shade(axes, known)
    sources = sorted(frame["source"].unique(), key=natural)
    total = frame.group_by("time_s").agg(pl.col("rate_bps").sum()).sort("time_s")
    time, rate = envelope(total["time_s"].to_numpy(), total["rate_bps"].to_numpy() / 1e9)
    few = each and 0 < len(total) <= FEW_BINS
    if few:
        note(axes, 0.995, 0, f"bins of {text.duration(known.throughput_bin_s)}", va="bottom")
    steps = "steps-post" if few else "default"

    def draw(time: Array, rate: Array, **style: Any) -> None:
        if few:
            time = np.append(time, time[-1] + known.throughput_bin_s)
            rate = np.append(rate, rate[-1])
        axes.plot(time, rate, drawstyle=steps, **style)

    draw(time, rate, color=color, lw=1.0, label="all sources")
    if each and 1 < len(sources) <= MANY:
        for index, source in enumerate(sources):
            part = frame.filter(pl.col("source") == source)
            time, rate = envelope(part["time_s"].to_numpy(), part["rate_bps"].to_numpy() / 1e9)
            draw(time, rate, **source_style(index), lw=0.8, label=source)
        axes.legend(**above(1 + len(sources)))
    axes.set_ylabel("throughput (Gb/s)")
    highest = float(total["rate_bps"].to_numpy().max(initial=0.0))
    beyond = highest > known.rate_bps * 1.06
    axes.set_ylim(0, (highest if beyond else known.rate_bps) / 1e9 * 1.06)
    axes.margins(x=0)


def draw_rates(axes: Axes, frame: pl.DataFrame, known: Facts) -> None:
    """Draw current rate (solid) and target rate (dotted) on a logarithmic axis.

    Up to four sources one by one; of more, the range and the median.
    """
    shade(axes, known)
    sources = sorted(frame["source"].unique(), key=natural)
    if len(sources) <= MANY:
        for index, source in enumerate(sources):
            part = frame.filter(pl.col("source") == source)
            _rate_pair(axes, part, source, source_style(index)["color"])
    else:
        _rate_band(axes, frame, len(sources))
    axes.set_yscale("log")
    _whole_decades(axes)
    axes.yaxis.set_major_locator(LogLocator(10))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylabel("rate (Gb/s)")
    axes.margins(x=0)


def _whole_decades(axes: Axes) -> None:
    low, high = axes.dataLim.minposy, axes.dataLim.y1
    bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))
    axes.set_ylim(10.0**bottom, 10.0 ** max(top, bottom + 1))


def _rate_pair(axes: Axes, part: pl.DataFrame, source: str, color: str) -> None:
    time = part["time_s"].to_numpy()
    lines = (
        ("target", "target_rate_bps", 0.8, (0, (1, 1))),
        ("current", "current_rate_bps", 1, "-"),
    )
    for word, column, lw, ls in lines:
        at, rate = envelope(time, part[column].to_numpy() / 1e9)
        axes.plot(at, rate, color=color, lw=lw, ls=ls, label=f"{source} {word}")


def _rate_band(axes: Axes, frame: pl.DataFrame, count: int) -> None:
    rate = pl.col("current_rate_bps") / 1e9
    band = (
        frame.group_by("time_s")
        .agg(rate.min().alias("low"), rate.median().alias("mid"), rate.max().alias("high"))
        .sort("time_s")
    )
    time, low, mid, high = (band[name].to_numpy() for name in ("time_s", "low", "mid", "high"))
    axes.fill_between(
        time, low, high, color=SOURCES[0], alpha=0.25, label=f"{count} sources, range"
    )
    axes.plot(time, mid, color=SOURCES[0], label="median current rate")


def source_style(index: int) -> LineStyle:
    """Return colour and dashes of the source at `index`."""
    return {"color": SOURCES[index % len(SOURCES)], "ls": DASHES[index % len(DASHES)]}


def shade(axes: Axes, known: Facts) -> None:
    """Shade the hotspots."""
    for hotspot in known.hotspots:
        axes.axvspan(hotspot.start_s, hotspot.end_s, color=SHADE, zorder=0)


def label_hotspots(axes: Axes, known: Facts) -> None:
    """Name the hotspots above `axes`, if they are few."""
    if len(known.hotspots) > MANY:
        return
    for hotspot in known.hotspots:
        axes.annotate(
            f"hotspot: link serves {hotspot.rate_bps / 1e9:g} Gb/s",
            ((hotspot.start_s + hotspot.end_s) / 2, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            color="#6b5b3a",
        )


def name_hotspot(axes: Axes, known: Facts, y: float) -> None:
    """Write the service rate of the first hotspot into its shade, at height `y` of `axes`."""
    for hotspot in known.hotspots[:1]:
        axes.text(
            (hotspot.start_s + hotspot.end_s) / 2,
            y,
            f"hotspot: {hotspot.rate_bps / 1e9:g} Gb/s",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="center",
            fontsize=7.5,
            color="#6b5b3a",
        )


def note(axes: Axes, x: float, y: float, words: str, **text_style: Any) -> None:
    """Write `words` over the lines at `x` (fraction of the axes) and `y` (data)."""
    axes.annotate(
        words,
        (x, y),
        xycoords=("axes fraction", "data"),
        xytext=(0, 1),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        color=INK,
        bbox={"boxstyle": "square,pad=0.1", "fc": "white", "alpha": 0.75},
        **text_style,
    )


def above(columns: int) -> LegendOptions:
    """Return the options of a legend in a row above the axes, clear of the data."""
    return {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 0.98),
        "ncols": columns,
        "borderaxespad": 0.2,
        "columnspacing": 1.2,
    }


def time_axis(axes: Axes, known: Facts) -> None:
    """Label the time axis from 0 to the end of the run, in the unit that fits it."""
    scale, unit = time_unit(known.duration_s)
    axes.set_xlim(0, known.duration_s)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:.6g}"))
    axes.set_xlabel(f"time ({unit})")


def time_unit(duration_s: float) -> tuple[float, str]:
    """Return what times of a run are divided by, and the unit.

    >>> time_unit(2.5), time_unit(0.06), time_unit(40e-6)
    ((1.0, 's'), (0.001, 'ms'), (1e-06, 'us'))
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if duration_s >= 0.5 * scale:
            return scale, unit
    return 1e-6, "us"


def envelope(time: Array, value: Array, points: int = POINTS) -> tuple[Array, Array]:
    """Return a series thinned to about `points`, with its ends and the extremes of each bin."""
    size = len(time)
    if size <= points:
        return time, value
    width = -(-size * 2 // points)
    bins = size // width
    body = value[: bins * width].reshape(bins, width)
    start = np.arange(bins) * width
    picks = np.sort(np.stack([start + body.argmin(1), start + body.argmax(1)], axis=1), axis=1)
    index = np.unique(np.concatenate([[0], picks.ravel(), [size - 1]]))
    return time[index], value[index]


def natural(name: str) -> tuple[str, int]:
    """Return a key that sorts `source2` before `source10`."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else -1


def panels(figure: Figure, rows: int, columns: int, **share: Any) -> Sequence[Sequence[Axes]]:
    """Return a grid of axes, always two-dimensional."""
    grid: Any = figure.subplots(rows, columns, squeeze=False, **share)
    return [list(row) for row in grid]
