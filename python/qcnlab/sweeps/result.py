"""The results of a sweep: a table of metrics, summaries, a figure."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypedDict

from qcnlab import catalogue
from qcnlab.errors import AnalysisError, scenario_error
from qcnlab.files.folders import write_sums, write_whole
from qcnlab.metrics import MetricValues, having, texts
from qcnlab.printing import text
from qcnlab.runs import intervals
from qcnlab.runs.tables import Table
from qcnlab.sweeps.grid import label, position
from qcnlab.sweeps.manifest import first_tree, is_in_parts
from qcnlab.sweeps.precision import stated_precision, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.records import JsonObject
    from qcnlab.runs.intervals import Interval
    from qcnlab.sweeps.grid import Axis
    from qcnlab.sweeps.known import Manifest, PrecisionEntry
    from qcnlab.sweeps.precision import Precision
    from qcnlab.sweeps.runs import Floats, Runs

MOST_NAMED = 6
"""So many points that did not reach a precision are named."""
MOST_SHOWN = 1000
"""So many points are in a table of text."""
MOST_DRAWN, MOST_LINES = 10_000, 50
"""So many points and lines a figure has at most."""

WIDE = 140
"""Letters in a line of a table that is not for a terminal."""
NOTES = {
    "unfinished": (
        "unfinished: flows of a size that did not finish. They count with their time up to the\n"
        "end of the run, or alone if that is more: values after >= are lower bounds."
    ),
    "precision": (
        "precision: how far the confidence interval reaches to its wider side, as a share of the\n"
        "number, and of how many runs."
    ),
    "deadlock": (
        "deadlock: when links stopped by PFC or PAUSE were found to wait in a circle, each for\n"
        "the next. Metrics there are of the time before; `qcnlab run` at such a point names it."
    ),
}
"""What the columns mean that a table has only where they are needed."""


class SweptPoint(TypedDict):
    """A point: the value of each key, how many runs it has, and its metrics over these."""

    values: dict[str, str | float | bool]
    runs: int
    metrics: dict[str, dict[str, object]]


class _Stated(TypedDict, total=False):
    precision: PrecisionEntry


class SweepSummary(_Stated):
    """What varies and what each point gave; `precision` is there where it was asked for."""

    scenario: str
    title: str
    vary: dict[str, list[Any]]
    replications: int
    seed: int
    points: list[SweptPoint]


class Sweep:
    """All runs of a sweep, in the order of points and replications.

    Comes from `qcnlab.sweep` or, read back from a folder, from `qcnlab.open_sweep`. Any library
    that reads the Arrow PyCapsule interface takes it directly: `polars.DataFrame(sweep)`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> swept = qcnlab.sweep(scenario, vary={"topology.rtt": ["10 us", "40 us"]}, reps=2)
    >>> swept
    <Sweep one-source-into-9g-rtt10us: topology.rtt (2), 4 runs>
    >>> swept.to_polars()["topology.rtt_s"].to_list()
    [1e-05, 1e-05, 4e-05, 4e-05]
    >>> swept.over(1, "drops").median
    0.0
    """

    def __init__(self, known: Manifest, runs: Runs) -> None:
        self._known = known
        self._ended = runs
        self._axes = runs.axes
        self._columns: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self._known["scenario"])

    @property
    def title(self) -> str:
        """The scenario's title, one line."""
        return str(self._known["title"])

    @property
    def first_point(self) -> str:
        """The resolved scenario of the first point, as TOML."""
        return str(self._known["first_point"])

    @cached_property
    def first_tree(self) -> JsonObject:
        """The resolved scenario of the first point as values."""
        return first_tree(self._known)

    @property
    def command(self) -> str:
        """The command that runs what is missing, empty for a sweep without a folder."""
        return str(self._known["command"])

    @property
    def vary(self) -> dict[str, list[Any]]:
        """The keys that vary with their values as resolved, quantities as text with a unit."""
        return {axis.key: list(axis.values) for axis in self._axes}

    @property
    def replications(self) -> int:
        """The number of runs at each point; with a precision, the most that a point can get."""
        return int(self._known["replications"])

    @cached_property
    def runs(self) -> list[int]:
        """The number of runs at each point, in the order of points."""
        return [int(count) for count in self._ended.counts]

    @cached_property
    def _starts(self) -> list[int]:
        """The row of each point's first run, and the number of rows."""
        return list(accumulate(self.runs, initial=0))

    def _column(self, metric: str) -> Floats:
        """Return a metric of all runs; NaN where a run has none."""
        if metric not in self._columns:
            self._columns[metric] = self._ended.column(metric)
        return self._columns[metric]

    @property
    def precision(self) -> Precision | None:
        """How well a metric was to be known at each point, if that was stated."""
        return stated_precision(self._known)

    @property
    def seed(self) -> int:
        """The seed of all runs, unless the key `seed` varies."""
        return int(self._known["seed"])

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What varies, with `key`, `values`, `words`, `column` and `unit` of each."""
        return self._axes

    @cached_property
    def metrics(self) -> Table:
        """One row for each run, by point and replication.

        `point` (from 0, the last key varying fastest), a column for each key that varies, in s,
        bit/s or B where it has a unit (`topology.rtt_s`), `replication`, and a column for each
        metric under its own name; missing where a run has none.
        """
        frame = self._ended.frame()
        return Table("metrics", frame, frame.columns, self._ended.units(), len(frame))

    def to_polars(self) -> pl.DataFrame:
        """Return `metrics` as a data frame of polars.

        Returns
        -------
        polars.DataFrame
            A row for each run.
        """
        return self.metrics.to_polars()

    def scan(self) -> pl.LazyFrame:
        """Return `metrics` as a lazy frame of polars.

        Of a sweep whose table is in parts only what is asked for is read.

        Returns
        -------
        polars.LazyFrame
            A row for each run.
        """
        import polars as pl

        if self._ended.in_memory_count:
            return self.to_polars().lazy()
        return pl.scan_parquet(self._ended.files)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return `metrics` as an Arrow C stream capsule, without copying."""
        return self.metrics.__arrow_c_stream__(requested_schema)

    def summary(self) -> SweepSummary:
        """Return what varies and, for each point, its values and metrics over its replications.

        Returns
        -------
        dict
            `["points"][i]["metrics"][name]` has `unit`, `median`, `min`, `max` and `values` as a
            run's summary has.
        """
        stated: _Stated = {"precision": self._known["precision"]} if self.precision else {}
        return {
            "scenario": self.name,
            "title": self.title,
            "vary": self.vary,
            "replications": self.replications,
            **stated,
            "seed": self.seed,
            "points": [
                {
                    "values": dict(zip(self.vary, values, strict=True)),
                    "runs": self.runs[point],
                    "metrics": {
                        name: self.over(point, name).to_dict() for name in self._known["metrics"]
                    },
                }
                for point, values in self._points()
            ],
        }

    def over(self, point: int, metric: str) -> MetricValues:
        """Return a metric at a point, over its replications.

        Parameters
        ----------
        point : int
            Counted from 0; the last key varies fastest.
        metric : str
            A metric; ``qcnlab list metrics`` has them.

        Returns
        -------
        MetricValues
            `unit`, `median`, `min`, `max` and `values`, one for each replication; `None` where
            there is none.

        Raises
        ------
        IndexError
            If there is no such point.
        ScenarioError
            If there is no such metric.
        """
        index = self._index(metric)
        count = self._ended.points
        if not 0 <= point < count:
            raise IndexError(f"there is no point {point} among {count}")
        column = self._column(metric)[self._starts[point] : self._starts[point + 1]].tolist()
        values = [None if value != value else value for value in column]
        return MetricValues.of(catalogue.metrics()[index].unit, values)

    def interval(self, point: int, metric: str, level: float = intervals.LEVEL) -> Interval:
        """Return the confidence interval of a metric's median at a point.

        Parameters
        ----------
        point : int
            Counted from 0; the last key varies fastest.
        metric : str
            A metric.
        level : float, default 0.95
            The confidence level.

        Returns
        -------
        Interval
            `median`, `low`, `high` and `runs`; without bounds where there are too few runs.

        Raises
        ------
        MissingPackage
            Without scipy.
        """
        return intervals.median_interval(self.over(point, metric).values, level)

    def difference(
        self, point: int, base: int, metric: str, level: float = intervals.LEVEL
    ) -> Interval:
        """Return by how much a metric at a point exceeds that at another, pair by pair.

        Parameters
        ----------
        point, base : int
            Counted from 0; the last key varies fastest.
        metric : str
            A metric.
        level : float, default 0.95
            The confidence level.

        Returns
        -------
        Interval
            Of the differences of replications, which meet the same random numbers at all points.

        Raises
        ------
        AnalysisError
            If the key `seed` varies, so that there are no pairs.
        MissingPackage
            Without scipy.
        """
        if "seed" in self.vary:
            raise AnalysisError("points of different seeds have no pairs of replications")
        one, other = (self.over(each, metric).values for each in (point, base))
        pairs = min(len(one), len(other))
        return intervals.difference_interval(one[:pairs], other[:pairs], level)

    def lead(self) -> str:
        """Return the metric that is drawn when none is named.

        Returns
        -------
        str
            The first of recovery time, mean slowdown and mean queue that some run has.
        """
        leads = having("drawn")
        return next((name for name in leads if self.has(name)), leads[-1])

    def plot(self, metric: str | None = None) -> Figure:
        """Draw a metric over the first key that varies, with a line for each value of the second.

        Medians with the range over the replications.

        Parameters
        ----------
        metric : str, optional
            What is drawn; `lead()` by default.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.

        Raises
        ------
        ScenarioError
            For an unknown metric, or for more keys, lines or points than a figure shows.
        """
        from qcnlab.sweeps.figure import sweep_figure

        if (reason := self.why_no_figure) is not None:
            raise scenario_error(reason, hint="to_polars() has them all, for a figure of your own")
        return sweep_figure(self, self._checked(metric) if metric else self.lead())

    @property
    def why_no_figure(self) -> str | None:
        """Why a figure of this sweep cannot be drawn; `None` if it can."""
        if len(self._axes) > 2:
            return f"{len(self._axes)} keys vary; a figure shows one or two"
        lines = len(self._axes[1].values) if len(self._axes) == 2 else 1
        if lines > MOST_LINES:
            return f"{self._axes[1].key} has {lines:,} values; a figure shows {MOST_LINES} lines"
        if self._ended.points > MOST_DRAWN:
            return f"there are {self._ended.points:,} points; a figure shows {MOST_DRAWN:,}"
        return None

    def text(self, columns: int, metrics: Sequence[str] = (), level: float | None = None) -> str:
        """Return a table of medians and ranges, or confidence intervals, at each point.

        Parameters
        ----------
        columns : int
            Width of the terminal; of the usual metrics as many are shown as fit.
        metrics : sequence of str, optional
            Show these instead, whether they fit or not.
        level : float, optional
            Show confidence intervals of this level in place of ranges.

        Returns
        -------
        str
            A heading and the table.

        Raises
        ------
        ScenarioError
            For a metric that is not there.
        """
        head, left, rows, notes = self._table(metrics, columns, level)
        if level is not None and max(self.runs) >= intervals.least(level):
            about = f"Median [its confidence interval, {100 * level:g} %] of so many runs."
            notes = [about, *notes]
        if level is not None and min(self.runs) < intervals.least(level):
            few = f"fewer than {intervals.least(level)} runs"
            about = f"Median [least..largest] where there are {few}."
            notes = [about, *notes]
        if self.precision is not None:
            notes = [*notes, self._reached(self.precision)]
        meaning = "".join(f"\n\n{note}" for note in notes)
        return f"{self._head()}\n\n{text.table(head, rows, left=left)}{meaning}"

    def cells(
        self, columns: int = WIDE, metrics: Sequence[str] = (), level: float | None = None
    ) -> tuple[list[str], int, list[list[str]], list[str]]:
        """Return the table as cells.

        Parameters
        ----------
        columns : int, default 140
            Letters in a line; of the usual metrics as many are shown as fit.
        metrics : sequence of str, optional
            Show these instead, whether they fit or not.
        level : float, optional
            Show confidence intervals of this level in place of ranges.

        Returns
        -------
        tuple
            The heading, how many columns are keys, the rows, and notes in words.
        """
        return self._table(metrics, columns, level)

    def _reached(self, precision: Precision) -> str:
        """Return in words where the stated precision was not reached."""
        values = [self.over(point, precision.metric).values for point in range(len(self.runs))]
        short = [point for point, each in enumerate(values) if not precision.reached(each)]
        wanted = f"{precision}, with {precision.least} to {precision.most} replications"
        if not short:
            return f"Stated: {wanted}. All points reached it, with {sum(self.runs)} runs."
        named = "; ".join(label(self._axes, point) for point in short[:MOST_NAMED])
        more = len(short) - MOST_NAMED
        named += f"; and {more} more" if more > 0 else ""
        return f"Stated: {wanted}. {len(short)} of {len(values)} points did not reach it: {named}."

    def _head(self) -> str:
        """Return what varies, and how many points and replications there are."""
        seed = "" if "seed" in self.vary else f", seed {self.seed}"
        points = text.counted(self._ended.points, "point")
        varied = ", ".join(axis.key for axis in self._axes)
        return f"{self.name}, varied: {varied}\n{points}, {self.replications_in_words} each{seed}"

    @property
    def replications_in_words(self) -> str:
        """The number of runs at each point in words: `5 replications`, `10 to 33 replications`."""
        least, most = min(self.runs), max(self.runs)
        words = text.counted(most, "replication")
        return words if least == most else f"{least} to {words}"

    def _table(
        self, metrics: Sequence[str], columns: int, level: float | None = None
    ) -> tuple[list[str], int, list[list[str]], list[str]]:
        """Return header, number of key columns, rows and notes of a table of `columns` letters."""
        names = [self._checked(name) for name in metrics]
        keys = _short([axis.key for axis in self._axes])
        words = [axis.words for axis in self._axes]
        shown = min(self._ended.points, MOST_SHOWN)
        heads = [
            [words[axis][value] for axis, value in enumerate(position(self._axes, point))]
            for point in range(shown)
        ]
        wanted = names or [name for name in having("swept") if self.has(name)]
        cells = [[self._cell(point, name, level) for name in wanted] for point in range(len(heads))]
        notes = self._notes(wanted, shown)
        last = [name for name, cells_of in notes.items() if any(cells_of)]
        count = len(wanted)
        while True:
            head = [*keys, *wanted[:count], *last]
            rows = [
                [*at, *row[:count], *(notes[name][point] for name in last)]
                for point, (at, row) in enumerate(zip(heads, cells, strict=True))
            ]
            if names or count <= 1 or text.table_width(head, rows) <= columns:
                about = [NOTES[name] for name in last]
                if shown < self._ended.points:
                    about.append(f"These are the first {shown:,} of {self._ended.points:,} points.")
                return head, len(keys), rows, about
            count -= 1

    def deadlocks(self, point: int) -> list[int]:
        """Return the replications of a point that ended in a deadlock.

        Parameters
        ----------
        point : int
            Counted from 0; the last key varies fastest.

        Returns
        -------
        list of int
            Counted from 0.

        Raises
        ------
        IndexError
            If there is no such point.
        """
        values = self.over(point, "deadlock_ms").values
        return [replication for replication, value in enumerate(values) if value is not None]

    def is_lower_bound(self, point: int, metric: str) -> bool:
        """Return whether a metric at a point is a lower bound, because flows did not finish.

        Parameters
        ----------
        point : int
            Counted from 0; the last key varies fastest.
        metric : str
            A metric.

        Returns
        -------
        bool
            True of completion times and slowdowns where `unfinished` is above 0.

        Raises
        ------
        IndexError
            If there is no such point.
        """
        count = texts("at_least_if").get(metric)
        return count is not None and bool(self.over(point, count).max)

    def _cell(self, point: int, name: str, level: float | None = None) -> str:
        at_least = self.is_lower_bound(point, name)
        if level is not None and self.runs[point] >= intervals.least(level):
            return ">= " * at_least + str(self.interval(point, name, level))
        return text.spread(self.over(point, name), name, at_least=at_least)

    def _notes(self, shown: Sequence[str], points: int) -> dict[str, list[str]]:
        """Return, of the first points, how many flows did not finish and how they ended."""
        unfinished, deadlock = [], []
        bounded = any(name in texts("at_least_if") for name in shown)
        for point in range(points):
            left, stood = self.over(point, "unfinished"), self.deadlocks(point)
            some = bounded and "unfinished" not in shown and left.max
            unfinished.append(text.spread(left, "unfinished") if some else "")
            many = f"{len(stood)} of {self.runs[point]}, " if self.runs[point] > 1 else ""
            first = self.over(point, "deadlock_ms").min
            deadlock.append("" if first is None else f"{many}at {text.number(first)} ms")
        precision = self.precision
        reached = [""] * points
        if precision is not None:
            values = [self.over(point, precision.metric).values for point in range(points)]
            reached = [f"{told(precision, each)} of {len(each)}" for each in values]
        return {"unfinished": unfinished, "deadlock": deadlock, "precision": reached}

    def write_into(self, folder: Path) -> None:
        """Write `metrics.parquet`, `metrics.csv` and, where one can be drawn, the figure.

        Each is there whole or as it was before. A table in parts is there already.

        Parameters
        ----------
        folder : Path
            The folder; it must exist.

        Raises
        ------
        OSError
            If a file cannot be written.
        """
        from qcnlab.runs.run_files import parquet

        if not is_in_parts(self._known):
            write_whole(folder / "metrics.parquet", parquet(self.metrics))
            write_whole(folder / "metrics.csv", self.to_polars().write_csv().encode())
            write_sums(folder, ("metrics.parquet", "metrics.csv"))
        if self.why_no_figure is None:
            write_figure(self.plot(), folder)

    def _points(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield each point with its values."""
        for point in range(self._ended.points):
            at = position(self._axes, point)
            yield point, [axis.values[i] for axis, i in zip(self._axes, at, strict=True)]

    def has(self, metric: str) -> bool:
        """Return whether some run has a metric.

        Parameters
        ----------
        metric : str
            A metric.

        Returns
        -------
        bool
            False of recovery times, for example, where no run recovered.

        Raises
        ------
        ScenarioError
            If there is no such metric.
        """
        import numpy as np

        return not bool(np.isnan(self._column(self._checked(metric))).all())

    def _index(self, metric: str) -> int:
        return int(self._known["metrics"].index(self._checked(metric)))

    def _checked(self, metric: str) -> str:
        if metric not in self._known["metrics"]:
            check_metric(metric)
            raise scenario_error(f"this sweep has no metric '{metric}'")
        return metric

    def _repr_html_(self) -> str:
        """Return what a notebook shows: medians and ranges, and the figure of one or two keys."""
        from qcnlab.figures import notebook

        head, left, rows, notes = self._table((), notebook.COLUMNS)
        blocks = [notebook.table(head, rows, left=left), *map(notebook.words, notes)]
        if self.why_no_figure is None:
            blocks.append(notebook.image(self.plot()))
        return notebook.part(self.title or self.name, self._head(), *blocks)

    def __repr__(self) -> str:
        """Return scenario, what varies and the number of runs."""
        varied = ", ".join(f"{axis.key} ({len(axis.values)})" for axis in self._axes)
        return f"<Sweep {self.name}: {varied}, {len(self._ended)} runs>"


def check_metric(name: str) -> None:
    """Raise `ScenarioError` if no metric has this name."""
    from difflib import get_close_matches

    names = [entry.name for entry in catalogue.metrics()]
    if name not in names:
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        raise scenario_error(
            f"there is no metric '{name}'",
            hint=f"did you mean {', '.join(near)}?"
            if near
            else "`qcnlab list metrics` shows them all",
        )


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write `sweep.svg` and `sweep.png`, each whole; return the paths. Raises `OSError`."""
    from qcnlab.figures.plots import save

    return [save(figure, folder / f"sweep{suffix}") for suffix in (".svg", ".png")]


def _short(keys: list[str]) -> list[str]:
    """Return the last parts of keys, or the whole keys if two last parts are equal."""
    short = [key.rsplit(".", 1)[-1] for key in keys]
    return short if len(set(short)) == len(short) else keys
