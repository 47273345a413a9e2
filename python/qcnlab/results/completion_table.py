"""Completion times of several runs side by side: percentiles by group, intervals, differences.

A percentile is taken of each replication, and the median over the replications stands in the
table. Its interval and the paired differences say how far replications agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, TypedDict

from qcnlab.errors import AnalysisError
from qcnlab.printing import markup, text
from qcnlab.results.comparison import Comparison
from qcnlab.results.completion import BASES, Completions, size_edges
from qcnlab.runs import intervals
from qcnlab.runs.intervals import LEAST
from qcnlab.runs.percentiles import RULES, Bound, percentile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.results.result import Result
    from qcnlab.runs.intervals import Interval

PERCENTS = (50.0, 95.0, 99.0, 99.9)
"""The percentiles of the table."""
MANY = 1000
"""So many flows have a percentile of 99.9 that is not their largest value."""
VALUES = {"slowdown": "slowdown", "fct": "took_s"}
"""What percentiles are taken of, and the column that has it."""


@dataclass(frozen=True)
class Percentile:
    """A percentile of every replication of a run, and what they say together."""

    values: tuple[Bound | None, ...]
    """Of each replication; `None` where no flow of the group started in it."""
    median: Bound
    """The median over the replications that have one."""
    low: float | None
    """The lower end of its interval; `None` with too few replications."""
    high: float | None
    """The upper end; infinite where flows that did not finish leave it open."""

    def words(self) -> str:
        """Return the median, and its interval where there is one."""
        if self.low is None or self.high is None:
            return self.median.words()
        high = text.number(self.high) if math.isfinite(self.high) else ""
        return f"{self.median.words()} [{text.number(self.low)}..{high}]"


@dataclass(frozen=True)
class Row:
    """A group of flows of a run."""

    run: int
    group: str
    flows: int
    finished: int
    never_started: int
    replications: int
    """Those in which a flow of the group started."""
    percentiles: dict[str, dict[float, Percentile]]
    """By `VALUES` and `PERCENTS`; empty where no flow of the group started."""


class CompletionRecord(TypedDict):
    """A percentile of a group's slowdowns or completion times in one run.

    `value` is ``slowdown`` or ``fct``; `low` and `high` bound the median over replications, and
    `difference` is from the first run. `None` where there is no such number.
    """

    group: str
    run: str
    flows: int
    finished: int
    never_started: int
    replications: int
    value: str
    unit: str
    percentile: float
    median: float | None
    at_least: bool | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None


class CompletionTableSummary(TypedDict):
    """Completion times of several runs beside each other."""

    runs: list[str]
    by: str
    buckets: str | None
    base: str
    percentile: str
    definitions: list[str]
    groups: list[CompletionRecord]


class CompletionTable:
    """Completion times and slowdowns of several runs, grouped alike.

    Parameters
    ----------
    results : sequence of Result
        One run or more, with flows of a size.
    labels : sequence of str, optional
        Their names; by default what differs.
    by : str, default "size"
        ``size``, ``entry`` (of traffic), ``size,entry`` or ``all``.
    buckets : str, default "5%"
        As in `Result.fct`; a share is one of the flows of all runs together.
    base : str, default "alone"
        As in `Result.fct`.
    percentile : str, default "rank"
        As in `Result.fct`.
    """

    def __init__(
        self,
        results: Sequence[Result],
        labels: Sequence[str] = (),
        by: str = "size",
        buckets: str = "5%",
        base: str = "alone",
        percentile: str = "rank",
    ) -> None:
        if not results:
            raise AnalysisError("a table of completion times takes one run or more")
        if labels and len(labels) != len(results):
            raise AnalysisError(f"{len(results)} runs have {len(labels)} names")
        if by != "size,entry" and by not in ("size", "entry", "all"):
            raise AnalysisError(
                f"flows are grouped by size, entry, 'size,entry' or all, not '{by}'"
            )
        self.by, self.buckets, self.rule = by, buckets, percentile
        grouped = "size" if by == "size,entry" else by
        self.completions = [each.fct(grouped, buckets, base, percentile) for each in results]
        self.base = base
        if len(results) > 1:
            self.labels = list(labels) or Comparison(results).labels
        else:
            self.labels = list(labels) or [results[0].summary.scheme]
        self.replications = [len(each.summary.ends) for each in results]
        self._seeds = [each.summary.seed for each in results]
        self._notes = list(dict.fromkeys(note for each in self.completions for note in each.notes))
        self.rows = list(self._rows())

    completions: list[Completions]
    """The flows of each run."""
    labels: list[str]
    """The names of the runs."""
    replications: list[int]
    """The number of replications of each run."""
    rows: list[Row]
    """A row for each group and run; groups of which no run has a flow are left out."""

    @property
    def paired(self) -> bool:
        """Whether replication k of all runs met the same random numbers."""
        return len(set(zip(self._seeds, self.replications, strict=True))) == 1

    def difference(self, row: Row, of: str, percent: float) -> Interval | None:
        """Return by how much a row exceeds the first run's of its group, by replication.

        Parameters
        ----------
        row : Row
            A row of another run than the first.
        of : str
            ``slowdown`` or ``fct`` (s).
        percent : float
            One of `PERCENTS`.

        Returns
        -------
        Interval or None
            The median of the differences and its interval; `None` without pairs, and where a
            percentile is but a lower bound, because a difference of bounds bounds nothing.
        """
        first = next(each for each in self.rows if (each.run, each.group) == (0, row.group))
        if not self.paired or not row.percentiles or not first.percentiles:
            return None
        pair = [each.percentiles[of][percent].values for each in (row, first)]
        if any(value is not None and value.at_least for values in pair for value in values):
            return None
        one, base = ([None if each is None else each.value for each in values] for values in pair)
        return intervals.difference_interval(one, base)

    def records(self) -> list[CompletionRecord]:
        """Return a row for each group, run, value and percentile.

        Returns
        -------
        list of dict
            `group`, `run`, `flows`, `finished`, `never_started`, `replications` (in which a flow of
            the group started), `value` (``slowdown`` or ``fct``), `unit`, `percentile`, `median`,
            `at_least`, `low`, `high` (`None` where it is open), `difference` from the first run
            with `difference_low` and `difference_high`.
        """
        records: list[CompletionRecord] = []
        for row in self.rows:
            for of, unit in (("slowdown", ""), ("fct", "s")):
                for percent in PERCENTS:
                    value = row.percentiles[of][percent] if row.percentiles else None
                    apart = self.difference(row, of, percent) if row.run else None
                    open_ = value is None or value.high is None or math.isinf(value.high)
                    records.append(
                        {
                            "group": row.group,
                            "run": self.labels[row.run],
                            "flows": row.flows,
                            "finished": row.finished,
                            "never_started": row.never_started,
                            "replications": row.replications,
                            "value": of,
                            "unit": unit,
                            "percentile": percent,
                            "median": value.median.value if value else None,
                            "at_least": value.median.at_least if value else None,
                            "low": value.low if value else None,
                            "high": None if open_ or value is None else value.high,
                            "difference": apart.median if apart else None,
                            "difference_low": apart.low if apart else None,
                            "difference_high": apart.high if apart else None,
                        }
                    )
        return records

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of the table of slowdowns.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each group and run.
        """
        header = ["flows of", "run", "flows", "unfinished", "never started"]
        header += [f"slowdown p{percent:g}" for percent in PERCENTS]
        rows = []
        for row in self.rows:
            told = row.percentiles.get("slowdown", {})
            cells = [told[each].words() if told else "-" for each in PERCENTS]
            counts = (row.flows, row.flows - row.finished, row.never_started)
            rows.append(
                [row.group, self.labels[row.run], *(f"{each:,}" for each in counts), *cells]
            )
        return header, rows

    def paired_cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of the paired differences of slowdowns.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each group and run but the first; none where the
            runs have no pairs or too few for an interval.
        """
        header = ["flows of", "difference", *(f"slowdown p{each:g}" for each in PERCENTS)]
        if not self.paired or min(self.replications) < LEAST:
            return header, []
        rows = []
        for row in self.rows:
            if row.run:
                apart = [self.difference(row, "slowdown", percent) for percent in PERCENTS]
                name = f"{self.labels[row.run]} - {self.labels[0]}"
                rows.append([row.group, name, *map(_difference_words, apart)])
        return header, rows

    def definitions(self) -> list[str]:
        """Return what the numbers mean, a sentence or more each.

        Returns
        -------
        list of str
            A sentence or more each.
        """
        said = [
            f"Slowdown: completion time divided by {BASES[self.base][1]}.",
            f"Percentile: {RULES[self.rule]}; of the flows that started, in each replication.",
        ]
        if max(self.replications) >= LEAST:
            said.append("Values: the median over the replications [its 95 % interval].")
        elif max(self.replications) > 1:
            said.append("Values: the median over the replications.")
        if min(self.replications) < LEAST:
            whose = "" if max(self.replications) < LEAST else " where a run has fewer"
            said.append(f"No intervals of 95 %{whose}: they take {LEAST} replications or more.")
        if any(0 < row.flows < MANY * row.replications for row in self.rows):
            said.append(
                "In a group of fewer than 20, 100 or 1,000 flows in a replication, p95, p99 or "
                "p99.9 is the largest value."
            )
        missing = [row for row in self.rows if row.replications < self.replications[row.run]]
        if missing:
            said.append(
                "A row leaves out replications in which no flow of its group started; with fewer "
                f"than {LEAST} left it has no interval."
            )
        said += self._notes
        if len(self.labels) > 1:
            said.append(
                "Differences: of replications with the same random numbers; * marks an interval "
                "without 0, - a percentile that is a lower bound."
                if self.paired
                else "No differences: the runs have different seeds or numbers of replications."
            )
        if any(row.finished < row.flows for row in self.rows):
            said.append(
                "A flow that did not finish counts with its time up to the end of the run, or the "
                "time alone if that is more: values after >= are lower bounds, and an interval "
                "without an upper end is open."
            )
        if any(row.never_started for row in self.rows):
            said.append("Flows that never started are counted, and are in no percentile.")
        return said

    def text(self) -> str:
        """Return the tables for people, with definitions.

        Returns
        -------
        str
            Several lines.
        """
        header, rows = self.cells()
        parts = [text.table(header, rows, left=2)]
        header, rows = self.paired_cells()
        parts += [text.table(header, rows, left=2)] if rows else []
        return "\n\n".join([*parts, "\n".join(self.definitions())])

    def markdown(self) -> str:
        """Return the tables as Markdown, with definitions.

        Returns
        -------
        str
            Several lines.
        """
        header, rows = self.cells()
        parts = [markup.markdown(header, rows, left=2)]
        header, rows = self.paired_cells()
        parts += [markup.markdown(header, rows, left=2)] if rows else []
        return "\n\n".join([*parts, "\n".join(f"* {line}" for line in self.definitions())])

    def latex(self) -> str:
        """Return the tables as LaTeX, with the definitions as their captions.

        Returns
        -------
        str
            Tables that take the package booktabs: percentiles, and paired differences if there are
            any.
        """
        said = self.definitions()
        of_pairs = [line for line in said if line.startswith("Differences")]
        header, rows = self.cells()
        words = " ".join(line for line in said if line not in of_pairs)
        parts = [markup.latex(header, rows, words, left=2)]
        header, rows = self.paired_cells()
        parts += [markup.latex(header, rows, " ".join(of_pairs), left=2)] if rows else []
        return "\n\n".join(parts)

    def csv(self) -> str:
        """Return `records` as CSV.

        Returns
        -------
        str
            With a header line.
        """
        records = self.records()
        return markup.csv(list(records[0]), [list(record.values()) for record in records])

    def summary(self) -> CompletionTableSummary:
        """Return all of it as JSON holds it.

        Returns
        -------
        dict
            Values that JSON has.
        """
        return {
            "runs": self.labels,
            "by": self.by,
            "buckets": self.buckets if "size" in self.by else None,
            "base": self.base,
            "percentile": self.rule,
            "definitions": self.definitions(),
            "groups": self.records(),
        }

    def slowdowns(self) -> Figure:
        """Draw the slowdowns over the size of flows for print.

        Returns
        -------
        matplotlib.figure.Figure
            One column wide, 3.3 in, in type of 8 pt, without a title; sizes are on a logarithmic
            axis. Its axes are `figure.axes[0]`.
        """
        from qcnlab.figures.completion import slowdown_figure

        return slowdown_figure(list(zip(self.labels, self.completions, strict=True)))

    def plot(self) -> Figure:
        """Draw the slowdowns by group, and the distribution of completion times.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.
        """
        from qcnlab.figures.completion import completion_figure

        return completion_figure(list(zip(self.labels, self.completions, strict=True)))

    def cdf(self) -> Figure:
        """Draw the distribution of completion times for print.

        Returns
        -------
        matplotlib.figure.Figure
            One column wide, 3.3 in, in type of 8 pt, without a title; its axes are
            `figure.axes[0]`.
        """
        from qcnlab.figures.completion import cdf_figure

        return cdf_figure(list(zip(self.labels, self.completions, strict=True)))

    def _rows(self) -> Iterator[Row]:
        import polars as pl

        started = [each.flows for each in self.completions]
        waiting = [each.waiting for each in self.completions]
        for label, chosen in self._groups(pl.concat([*started, *waiting], how="diagonal_relaxed")):
            for run, replications in enumerate(self.replications):
                yield self._row(
                    run,
                    label,
                    started[run].filter(chosen),
                    waiting[run].filter(chosen),
                    replications,
                )

    def _groups(self, flows: pl.DataFrame) -> list[tuple[str, pl.Expr]]:
        """Return the name of each group and which flows it has, of the flows of all runs."""
        import polars as pl

        sizes: list[tuple[str, pl.Expr]] = [("all flows", pl.lit(value=True))]
        if "size" in self.by:
            sizes, below = [], 0
            edges = size_edges(flows["size_bytes"].sort(), self.buckets)
            largest = int(flows["size_bytes"].max())  # type: ignore[arg-type]
            for edge in dict.fromkeys([*(each for each in edges if each < largest), largest]):
                of = pl.col("size_bytes")
                name = f"up to {text.size(edge)}"
                name = f"above {text.size(below)}, to {text.size(edge)}" if below else name
                sizes.append((name, (of > below) & (of <= edge)))
                below = edge
        entries: list[tuple[str, pl.Expr]] = [("", pl.lit(value=True))]
        if "entry" in self.by:
            names: dict[int, str] = {}
            for each in self.completions:
                for number, name in enumerate(each.entries):
                    names.setdefault(number, name)
            entries = [(name, pl.col("traffic") == number) for number, name in names.items()]
        groups = []
        for entry, of_entry in entries:
            for size, of_size in sizes:
                label = {"entry": entry, "size,entry": f"{entry}, {size}"}.get(self.by, size)
                if len(flows.filter(of_entry & of_size)):
                    groups.append((label, of_entry & of_size))
        return groups

    def _row(
        self, run: int, label: str, flows: pl.DataFrame, waiting: pl.DataFrame, replications: int
    ) -> Row:
        import polars as pl

        parts = [flows.filter(pl.col("replication") == number) for number in range(replications)]
        told = {
            of: {
                percent: _percentile([_bound(part, column, percent, self.rule) for part in parts])
                for percent in PERCENTS
            }
            for of, column in VALUES.items()
            if len(flows)
        }
        return Row(
            run,
            label,
            len(flows),
            int(flows["finished"].sum()),
            len(waiting),
            sum(bool(len(part)) for part in parts),
            told,
        )

    def __repr__(self) -> str:
        """Return the runs and the number of rows."""
        return f"<CompletionTable {', '.join(self.labels)}: {len(self.rows)} rows>"


def _bound(part: pl.DataFrame, column: str, percent: float, rule: str) -> Bound | None:
    if not len(part):
        return None
    return percentile(part[column].to_list(), part["finished"].to_list(), percent, rule)


def _percentile(values: list[Bound | None]) -> Percentile:
    """Return what percentiles of replications say together; a lower bound may be any more."""
    known = [each for each in values if each is not None]
    lowest = [each.value for each in known]
    highest = [math.inf if each.at_least else each.value for each in known]
    middle = median(lowest)
    low = high = None
    if len(known) >= LEAST:
        low, high = intervals.median_interval(lowest).low, intervals.median_interval(highest).high
        high = math.inf if low is not None and high is None else high
    return Percentile(tuple(values), Bound(middle, middle != median(highest)), low, high)


def _difference_words(apart: Interval | None) -> str:
    if apart is None or apart.median is None:
        return "-"
    if apart.low is None or apart.high is None:
        return text.number(apart.median)
    ends = f"[{text.number(apart.low)}..{text.number(apart.high)}]"
    return f"{text.number(apart.median)} {ends}{' *' if apart.excludes_zero else ''}"
