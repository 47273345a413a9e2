"""The curves of a report: what is drawn over time, of one run or of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import polars as pl

from qcnlab.figures.plots import natural, one
from qcnlab.printing import text
from qcnlab.report.traces import Traces, counts, merged, nice, packed, thinned
from qcnlab.runs.facts import Facts, facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.results.result import Result

MOST_LINES = 6
"""So many series a figure has at most; of more the range and the median are drawn."""
MOST_ROWS = 16
"""So many stopped links have a row."""
COLORS = 6
LOST = "frames that the network dropped"
REFUSED = "frames that found the queue of their source full and were never sent"


class SeriesStyle(TypedDict, total=False):
    """How the script draws a series: numbers of its colour and dashes, and its width."""

    color: int
    dash: int
    width: float


@dataclass
class Sheet:
    """The curves of a report, as its script reads them, with the places that they are put into."""

    end_s: float
    points: int
    """Points of a series at most."""
    charts: list[dict[str, object]] = field(default_factory=list)
    trees: list[dict[str, object]] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """Return what the script reads."""
        return {"end": self.end_s, "charts": self.charts, "trees": self.trees}

    def add(self, title: str, note: str, spec: dict[str, object]) -> str:
        """Keep a figure; return the HTML of its place."""
        spec["id"] = f"chart{len(self.charts)}"
        self.charts.append(spec)
        return (
            f'<section class="chart" id="{spec["id"]}"><h3>{escape(title)}</h3>'
            f'<p class="note">{escape(note)}</p><div class="plot" role="img" '
            f'aria-label="{escape(title)}"></div></section>'
        )

    def lines(
        self,
        title: str,
        note: str,
        unit: str,
        traces: Traces,
        scale: float,
        *,
        styles: Mapping[str, SeriesStyle] | None = None,
        bands: Sequence[tuple[float, float]] = (),
        levels: Sequence[tuple[float, str]] = (),
        least_top: float = 0.0,
        log: bool = False,
        steps: bool = False,
    ) -> str:
        """Add curves of `traces`, divided by `scale`; return the HTML of their place."""
        values = {name: series / scale for name, series in traces.values.items()}
        most = max(
            (float(np.nanmax(v)) for v in values.values() if not np.isnan(v).all()), default=0
        )
        top = max([most, least_top / scale, *(at / scale for at, _ in levels)])
        how = f"{traces.samples:,} samples" if not steps else ""
        if traces.bin_s and not steps:
            how += f"; drawn are the least and the most of each {text.duration(traces.bin_s, 3)}"
        spec: dict[str, object] = {
            "kind": "lines",
            "unit": unit,
            "short": unit[unit.rfind("(") + 1 : -1] if unit.endswith(")") else "",
            "x": packed(traces.time, "<f8"),
            "y": [packed(each) for each in values.values()],
            "top": (top or 1) * 1.06,
            "log": log,
            "steps": steps,
            "bands": list(bands),
            "levels": [{"at": at / scale, "label": label} for at, label in levels],
            "series": [
                {
                    "label": name,
                    "color": index % COLORS,
                    "dash": index // COLORS % 4,
                    **(styles or {}).get(name, {}),
                }
                for index, name in enumerate(values)
            ],
        }
        if log:
            positive = [v[v > 0] for v in values.values()]
            lowest = min((float(v.min()) for v in positive if len(v)), default=0.1)
            low, high = np.floor(np.log10(lowest)), np.ceil(np.log10(max(most, lowest)))
            spec["range"] = [10.0**low, 10.0 ** max(high, low + 1)]
        return self.add(title, ". ".join(each for each in (note, how) if each) + ".", spec)


def bands(known: Facts) -> list[tuple[float, float]]:
    """Return the hotspots as pairs of times."""
    return [(hot.start_s, hot.end_s) for hot in known.hotspots]


def size_unit(most: float) -> tuple[float, str]:
    """Return what octets are divided by, and the unit."""
    return (1e6, "MB") if most >= 10e6 else (1e3, "KB")


def rate_unit(most: float) -> tuple[float, str]:
    """Return what bit/s are divided by, and the unit."""
    return (1e9, "Gb/s") if most >= 0.2e9 else (1e6, "Mb/s")


def queues(sheet: Sheet, labels: Sequence[str], results: Sequence[Result]) -> str:
    """Draw the queues of one run, or the bottleneck's queue of several."""
    known = facts(results[0])
    ports = [result.summary.bottleneck.port for result in results]
    frames = []
    for label, result, port in zip(labels, results, ports, strict=True):
        frame = one(result.queues.to_polars(), 0).with_columns(pl.col("port").cast(pl.String))
        if len(results) > 1:
            frame = frame.filter(pl.col("port") == port).with_columns(port=pl.lit(label))
        frames.append(frame)
    frame = pl.concat(frames)
    if not len(frame):
        return ""
    longest = (
        frame.group_by("port")
        .agg(pl.col("queue_bytes").max())
        .sort(["queue_bytes", "port"], descending=[True, False])
    )
    shown = longest["port"].head(MOST_LINES).to_list()
    if len(results) == 1 and ports[0] in longest["port"].to_list() and ports[0] not in shown:
        shown[-1] = ports[0]
    order = [name for name in frame["port"].unique(maintain_order=True) if name in shown]
    frame = frame.filter(pl.col("port").is_in(shown))
    most = float(longest["queue_bytes"].max() or 0)  # type: ignore[arg-type]
    scale, unit = size_unit(most)
    traces = _ordered(thinned(frame, "queue_bytes", "port", sheet.points), order)
    points = dict.fromkeys(each.set_point_bytes for each in map(facts, results))
    levels = [
        (point, f"set point {point / scale:g} {unit}") for point in points if point is not None
    ]
    note = f"Length of the queue at {', '.join(dict.fromkeys(ports))}"
    if len(results) == 1:
        note = f"Length of {text.counted(len(order), 'recorded queue')}"
        if len(longest) > len(order):
            note += f", the longest of {len(longest)}"
        note += f"; the bottleneck is {ports[0]}"
    return sheet.lines(
        "Queue", note, f"queue ({unit})", traces, scale, bands=bands(known), levels=levels
    )


def _ordered(traces: Traces, names: Sequence[str]) -> Traces:
    values = {name: traces.values[name] for name in names if name in traces.values}
    return Traces(traces.time, values, traces.samples, traces.bin_s)


def throughput(sheet: Sheet, labels: Sequence[str], results: Sequence[Result]) -> str:
    """Draw the throughput of all flows together and, of few flows of one run, of each."""
    known = [facts(result) for result in results]
    frames = []
    for label, result in zip(labels, results, strict=True):
        frame = one(result.throughput.to_polars(), 0).with_columns(pl.col("source").cast(pl.String))
        sources = frame["source"].n_unique()
        total = frame.group_by("time_s").agg(pl.col("rate_bps").sum())
        name = label if len(results) > 1 else "all flows"
        frames.append(total.select("time_s", "rate_bps", source=pl.lit(name)))
        if len(results) == 1 and 1 < sources < MOST_LINES:
            frames.append(frame.select("time_s", "rate_bps", "source"))
    frame = pl.concat(frames)
    if not len(frame):
        return ""
    order = sorted(frame["source"].unique(), key=lambda name: (name != "all flows", natural(name)))
    order = list(labels) if len(results) > 1 else order
    most = float(frame["rate_bps"].max() or 0)  # type: ignore[arg-type]
    scale, unit = rate_unit(most)
    bins = ", ".join(dict.fromkeys(text.duration(each.throughput_bin_s) for each in known))
    traces = _ordered(thinned(frame.sort("time_s"), "rate_bps", "source", sheet.points), order)
    note = f"What leaves the last link of the flows, in bins of {bins}"
    return sheet.lines(
        "Throughput", note, f"throughput ({unit})", traces, scale, bands=bands(known[0]),
        styles={"all flows": {"width": 1.6}},
    )  # fmt: skip


def rates(sheet: Sheet, result: Result) -> str:
    """Draw current and target rates of few sources, or the range and median of many."""
    frame = one(result.rates.to_polars(), 0).with_columns(pl.col("source").cast(pl.String))
    if not len(frame) or frame["current_rate_bps"].n_unique() == 1:
        return ""
    sources = sorted(frame["source"].unique(), key=natural)
    pieces = []
    styles: dict[str, SeriesStyle] = {}
    if len(sources) <= MOST_LINES // 2:
        for index, source in enumerate(sources):
            part = frame.filter(pl.col("source") == source)
            for word, column in (("current", "current_rate_bps"), ("target", "target_rate_bps")):
                name = f"{source}, {word}"
                pieces.append(part.select("time_s", pl.col(column).cast(pl.Float64).alias("rate"),
                                          name=pl.lit(name)))  # fmt: skip
                styles[name] = {"color": index, "dash": 0 if word == "current" else 2}
        note = "Current rate (solid) and target rate (dotted) of each rate limiter"
    elif len(sources) <= MOST_LINES:
        pieces = [frame.select("time_s", pl.col("current_rate_bps").cast(pl.Float64).alias("rate"),
                               name=pl.col("source"))]  # fmt: skip
        styles = {source: {"color": index} for index, source in enumerate(sources)}
        note = "Current rate of each rate limiter"
    else:
        rate = pl.col("current_rate_bps").cast(pl.Float64)
        band = frame.group_by("time_s").agg(
            rate.max().alias("highest"), rate.median().alias("median"), rate.min().alias("lowest")
        )
        names = ("highest", "median", "lowest")
        pieces = [band.select("time_s", pl.col(n).alias("rate"), name=pl.lit(n)) for n in names]
        styles = {n: {"color": 0, "dash": int(n != "median") * 2} for n in names}
        note = f"Current rates of {len(sources)} rate limiters: highest, median and lowest"
    frame = pl.concat(pieces).sort("time_s")
    scale, unit = rate_unit(float(frame["rate"].max() or 0))  # type: ignore[arg-type]
    traces = _ordered(thinned(frame, "rate", "name", sheet.points), list(styles))
    return sheet.lines(
        "Rates of the senders", note + "; logarithmic", f"rate ({unit})", traces, scale,
        bands=bands(facts(result)), styles=styles, log=True,
    )  # fmt: skip


def windows(sheet: Sheet, result: Result) -> str:
    """Draw congestion windows of few connections."""
    frame = one(result.windows.to_polars(), 0).with_columns(pl.col("source").cast(pl.String))
    if not len(frame):
        return ""
    sources = sorted(frame["source"].unique(), key=natural)
    note = "Congestion window of each connection"
    if len(sources) > MOST_LINES:
        note = f"Congestion windows of {MOST_LINES} of {len(sources)} connections"
    shown = sources[:MOST_LINES]
    frame = frame.filter(pl.col("source").is_in(shown))
    scale, unit = size_unit(float(frame["window_bytes"].max() or 0))  # type: ignore[arg-type]
    traces = _ordered(thinned(frame, "window_bytes", "source", sheet.points), shown)
    return sheet.lines(
        "Windows", note, f"window ({unit})", traces, scale, bands=bands(facts(result))
    )


def events(sheet: Sheet, labels: Sequence[str], results: Sequence[Result]) -> str:
    """Draw how many messages were sent and frames dropped in each bin of time."""
    known = facts(results[0])
    width = nice(sheet.end_s / 400)
    parts = []
    for title, table, kind, by, weight, what in (
        ("Messages", "messages", "", "kind", "", "messages that congestion points sent"),
        ("Frames lost in the network", "drops", "dropped", "port", "frames", LOST),
        ("Frames refused at sources", "drops", "refused", "port", "frames", REFUSED),
    ):
        own = width
        if table == "drops":
            own = max(width, nice(max(facts(each).throughput_bin_s for each in results)))
        frames = []
        for label, result in zip(labels, results, strict=True):
            frame = one(result.table(table).to_polars(), 0)
            if kind:
                frame = frame.filter(pl.col("kind").cast(pl.String) == kind)
            frame = frame.with_columns(pl.col(by).cast(pl.String))
            if len(results) > 1:
                frame = frame.with_columns(pl.lit(label).alias(by))
            frames.append(frame)
        frame = pl.concat(frames)
        if not len(frame):
            continue
        most = frame.group_by(by).agg(
            (pl.col(weight).sum() if weight else pl.len()).alias("n")
        ).sort(["n", by], descending=[True, False])  # fmt: skip
        shown = most[by].head(MOST_LINES).to_list()
        total = int(most["n"].sum())
        frame = frame.filter(pl.col(by).is_in(shown))
        traces = _ordered(counts(frame, by, own, sheet.end_s, weight), shown)
        note = f"{total:,} {what}, counted in bins of {text.duration(own)}"
        if len(most) > len(shown):
            note += f"; the {len(shown)} with most of {len(most)}"
        unit = f"{'frames' if weight else 'messages'} in {text.duration(own)}"
        styles: dict[str, SeriesStyle] = {
            label: {"color": number % COLORS} for number, label in enumerate(labels)
        }
        parts.append(
            sheet.lines(
                title, note, unit, traces, 1.0, bands=bands(known), steps=True, styles=styles
            )
        )
    return "".join(parts)


def pauses(sheet: Sheet, result: Result, title: str = "Stopped links") -> str:
    """Draw when each link was stopped, coloured by the queue that stopped it."""
    frame = one(result.pauses.to_polars(), 0)
    if not len(frame):
        return ""
    frame = frame.with_columns(
        pl.col("port").cast(pl.String),
        pl.col("because").cast(pl.String),
        (pl.col("until_s") - pl.col("time_s")).alias("lasted"),
    )
    by_port = (
        frame.group_by("port")
        .agg(pl.col("lasted").sum(), pl.len().alias("stops"))
        .sort(["lasted", "port"], descending=[True, False])
    )
    causes = (
        frame.group_by("because").agg(pl.col("lasted").sum())
        .sort(["lasted", "because"], descending=[True, False])["because"].to_list()
    )  # fmt: skip
    color = {cause: index % COLORS for index, cause in enumerate(causes)}
    gap = sheet.end_s / sheet.points
    rows = []
    for row in by_port.head(MOST_ROWS).iter_rows(named=True):
        parts = []
        for (cause,), part in frame.filter(pl.col("port") == row["port"]).group_by("because"):
            start, end = merged(part["time_s"].to_numpy(), part["until_s"].to_numpy(), gap)
            parts.append({"color": color[str(cause)], "from": packed(start, "<f8"),
                          "until": packed(end, "<f8")})  # fmt: skip
        rows.append({"label": f"{row['port']}", "parts": parts})
    stops = int(by_port["stops"].sum())
    note = (
        f"{text.counted(len(by_port), 'link')} stopped {stops:,} times by PAUSE or PFC, those that "
        "were stopped longest first"
    )
    if len(by_port) > MOST_ROWS:
        note += f"; {len(by_port) - MOST_ROWS} with shorter stops have no row"
    note += f". Gaps below {text.duration(gap, 2)} are drawn closed"
    legend = "".join(
        f'<span style="color:var(--c{color[cause]})">&#9632;</span> {escape(cause)} &nbsp; '
        for cause in causes[:COLORS]
    )
    more = f"and {len(causes) - COLORS} more in the same colours" if len(causes) > COLORS else ""
    drawn = sheet.add(
        title, note + ".", {"kind": "pauses", "rows": rows, "bands": bands(facts(result))}
    )
    return drawn + f'<p class="note">Stopped because of the queue at: {legend}{more}</p>'
