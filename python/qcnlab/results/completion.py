"""How long flows of a size took: completion times and slowdowns by size or by traffic entry.

A flow that did not finish counts. Its completion time is at least the time from its start to the
end of the run, and what it would have taken alone, so a percentile lies between two values: the one
where such flows end as early as they can, and the one where they never do. Where both are equal the
percentile is exact; otherwise the first is given, as a lower bound.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, TypedDict

from qcnlab.errors import AnalysisError
from qcnlab.printing import text
from qcnlab.runs.facts import base as in_base_unit
from qcnlab.runs.flow_level import notes
from qcnlab.runs.percentiles import RULES, Bound, Group, percentile

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.records import JsonObject
    from qcnlab.runs.recorded import Recorded

BY = {"size": "size", "entry": "traffic entry", "all": "flows"}
"""How flows may be put into groups, and the heading of the groups."""
BASES = {
    "alone": (
        "alone_s",
        "the time that the flow would take alone: store and forward over its path at the links' "
        "rates, over RoCE with the way back of the last acknowledgement, over TCP without its "
        "windows",
        "time alone",
    ),
    "standalone": (
        "standalone_s",
        "the HPCC simulator's standalone time: base round trip and octets with headers at the rate "
        "of the slowest link",
        "HPCC's standalone time",
    ),
    "standalone_floored": (
        "standalone_s",
        "the HPCC simulator's standalone time (base round trip and octets with headers at the rate "
        "of the slowest link), and at least 1",
        "HPCC's standalone time, at least 1",
    ),
}
"""What slowdowns may be measured against: the column, the definition, and a few words."""
PERCENTILES = (50, 95, 99)
SHARE = "5%"
"""The field's groups: 5 % of the flows each, in order of size."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


Value = str | int | float | bool | None
"""A cell of a group's record."""


class CompletionSummary(TypedDict):
    """Completion times of a run's flows; `groups` have the columns of `Completions.to_polars`."""

    scenario: str
    by: str
    buckets: str | None
    base: str
    percentile: str
    flows: int
    finished: int
    definitions: list[str]
    groups: list[dict[str, Value]]


class Completions:
    """Completion times and slowdowns of a run's flows of a size, in groups.

    Comes from `Result.fct`. All replications count together.

    Examples
    --------
    >>> import qcnlab
    >>> base = qcnlab.load("one-source-into-9g-rtt10us")
    >>> scenario = base.with_("duration=3 ms", "warmup=0 s", "traffic.size=1 MB")
    >>> fct = qcnlab.run(scenario, reps=1).fct(by="all")
    >>> [(group.flows, group.finished) for group in fct.groups]
    [(1, 1)]
    """

    def __init__(self, result: Recorded, by: str, buckets: str, base: str, percentile: str) -> None:
        for value, known, what in (
            (by, BY, "flows are grouped by"),
            (base, BASES, "slowdowns are measured against"),
            (percentile, RULES, "percentiles are taken by"),
        ):
            if value not in known:
                raise AnalysisError(f"{what} one of {', '.join(known)}, not '{value}'")
        self.by, self.base, self.percentile = by, base, percentile
        self.name = result.name
        self.notes = notes(result.summary)
        self.buckets = buckets
        self.entries = _entries(result)
        self.replications = len(result.summary.ends)
        self.flows = _flows(result, base)
        self.waiting = _waiting(result)
        self.never_started = len(self.waiting)
        if not len(self.flows):
            raise AnalysisError(
                f"'{result.name}' has no completion times: no flow of a size started in it"
            )
        self.groups = [
            _group(label, part, percentile) for label, part in self._parts() if len(part)
        ]

    notes: list[str]
    """What a reader of a run without packets should know, a sentence or more each."""
    flows: pl.DataFrame
    """A row for each flow of a size that started: `replication`, `source`, `traffic`,
    `size_bytes`, `took_s` (at least, if it did not finish), `finished` and `slowdown`."""
    waiting: pl.DataFrame
    """A row for each flow of a size that never started: `replication`, `traffic`, `size_bytes`."""
    entries: list[str]
    """The name of each entry of traffic."""
    replications: int
    """The number of replications, whose flows are pooled."""
    groups: list[Group]
    """The groups that have flows."""
    never_started: int
    """The number of flows of a size that never started, which no group has."""

    @property
    def heading(self) -> str:
        """What the groups are of: size, traffic entry or flows."""
        return BY[self.by]

    @property
    def base_words(self) -> str:
        """What slowdowns are measured against, in a few words."""
        return BASES[self.base][2]

    @property
    def started(self) -> int:
        """The number of flows of a size that started."""
        return len(self.flows)

    @property
    def finished(self) -> int:
        """The number of those that finished."""
        return int(self.flows["finished"].sum())

    def definitions(self) -> list[str]:
        """Return what the numbers mean, a sentence each.

        Returns
        -------
        list of str
            A sentence or more each.
        """
        what = [
            f"{self.finished:,} of {self.started:,} flows of a size finished.",
            "Completion time: from a flow's start to the delivery of its last octet, over RoCE to "
            "its acknowledgement.",
            f"Slowdown: completion time by {BASES[self.base][1]}.",
            f"Percentile: {RULES[self.percentile]}, over all flows that started.",
        ]
        if self.replications > 1:
            what.append(
                f"Percentiles are of the flows of {self.replications} replications, pooled."
            )
        if self.never_started:
            what.insert(1, f"{self.never_started:,} more never started, and count nowhere.")
        if self.by == "size" and share(self.buckets):
            what.append(f"Groups: {self.buckets} of the flows each, in order of size.")
        if self.finished < self.started:
            what.append(
                "A flow that did not finish counts with its time up to the end of the run, or the "
                "time alone if that is more: values after >= are lower bounds, all others are what "
                "they are whenever it finishes."
            )
        return what + self.notes

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each group.

        Returns
        -------
        polars.DataFrame
            `group`, `smallest_bytes`, `largest_bytes`, `flows`, `finished`, and for each
            percentile `fct_p50_s`, `fct_p50_at_least`, `slowdown_p50`, `slowdown_p50_at_least`.
        """
        import polars as pl

        return pl.DataFrame(self.records())

    def records(self) -> list[dict[str, Value]]:
        """Return what `to_polars` returns as dictionaries.

        Returns
        -------
        list of dict
            With the keys of the columns.
        """
        return [_record(group) for group in self.groups]

    def csv(self) -> str:
        """Return the groups as CSV, with the columns of `to_polars`.

        Returns
        -------
        str
            With a header line.
        """
        records = self.records()
        from qcnlab.printing import markup

        return markup.csv(list(records[0]), [list(record.values()) for record in records])

    def text(self) -> str:
        """Return the groups as a table for people, with the definitions.

        Returns
        -------
        str
            Several lines.
        """
        header, rows = self.cells()
        return text.table(header, rows) + "\n\n" + "\n".join(self.definitions())

    def markdown(self) -> str:
        """Return the groups as Markdown, with the definitions.

        Returns
        -------
        str
            Several lines.
        """
        header, rows = self.cells()
        from qcnlab.printing import markup

        return markup.markdown(header, rows) + "\n\n" + "\n".join(self.definitions())

    def latex(self) -> str:
        """Return the groups as a LaTeX table, with the definitions as its caption.

        Returns
        -------
        str
            A table that takes the package booktabs.
        """
        header, rows = self.cells()
        from qcnlab.printing import markup

        return markup.latex(header, rows, f"{self.name}. " + " ".join(self.definitions()))

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of a table for people.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each row.
        """
        longest = max(group.fct_s[50].value for group in self.groups)
        scale, unit = next((each for each in UNITS if longest >= each[0]), UNITS[-1])
        header = [self.heading, "flows", "unfinished"]
        header += [f"FCT p{p} ({unit})" for p in PERCENTILES]
        header += [f"slowdown p{p}" for p in PERCENTILES]
        rows = [
            [
                group.label,
                f"{group.flows:,}",
                f"{group.flows - group.finished:,}",
                *(group.fct_s[p].words(scale) for p in PERCENTILES),
                *(group.slowdown[p].words() for p in PERCENTILES),
            ]
            for group in self.groups
        ]
        return header, rows

    def summary(self) -> CompletionSummary:
        """Return all of it as JSON holds it.

        Returns
        -------
        dict
            Values that JSON has.
        """
        return {
            "scenario": self.name,
            "by": self.by,
            "buckets": self.buckets if self.by == "size" else None,
            "base": self.base,
            "percentile": self.percentile,
            "flows": self.started,
            "finished": self.finished,
            "definitions": self.definitions(),
            "groups": self.records(),
        }

    def plot(self) -> Figure:
        """Draw slowdowns over size, and the distribution of completion times.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.
        """
        from qcnlab.figures.completion import completion_figure

        return completion_figure([("", self)])

    def _parts(self) -> list[tuple[str, pl.DataFrame]]:
        import polars as pl

        if self.by == "all":
            return [("all flows", self.flows)]
        if self.by == "entry":
            numbers = sorted(self.flows["traffic"].unique())
            return [
                (self.entries[number], self.flows.filter(pl.col("traffic") == number))
                for number in numbers
            ]
        part = share(self.buckets)
        ordered = self.flows.sort("size_bytes", maintain_order=True)
        if part is not None:
            return _shares(ordered, part)
        return _between(ordered, _edges(self.buckets))

    def __repr__(self) -> str:
        """Return scenario, number of flows and how many finished."""
        return f"<Completions {self.name}: {self.finished} of {self.started} flows finished>"


def share(buckets: str) -> float | None:
    """Return the share that `buckets` names, 0.05 of `5%`; `None` if it names sizes.

    >>> share("5%"), share("1 KB,1 MB")
    (0.05, None)
    """
    if not buckets.strip().endswith("%"):
        return None
    try:
        part = float(buckets.strip()[:-1])
    except ValueError:
        part = 0.0
    if not 0 < part <= 100:
        raise AnalysisError(
            f"buckets '{buckets}': a share is written like 5%, above 0 and at most 100"
        )
    return part / 100


def _sized(result: Recorded) -> pl.DataFrame:
    import polars as pl

    ends = [end.end_s for end in result.summary.ends]
    ended = pl.DataFrame({"replication": range(len(ends)), "end_s": ends}).with_columns(
        pl.col("replication").cast(pl.UInt32)
    )
    frame = result.flows.to_polars().filter(pl.col("size_bytes").is_not_null())
    return frame.join(ended, on="replication", how="left", maintain_order="left")


def _waiting(result: Recorded) -> pl.DataFrame:
    import polars as pl

    started = (pl.col("start_s") < pl.col("end_s")).fill_null(value=False)
    return _sized(result).filter(~started).select("replication", "traffic", "size_bytes")


def _flows(result: Recorded, base: str) -> pl.DataFrame:
    import polars as pl

    frame = _sized(result).filter(pl.col("start_s") < pl.col("end_s"))
    so_far = pl.col("end_s") - pl.col("start_s")
    slowdown = pl.col("took_s") / pl.col(BASES[base][0])
    if base.endswith("floored"):
        slowdown = pl.max_horizontal(slowdown, pl.lit(1.0))
    return frame.with_columns(
        pl.col("completion_s").is_not_null().alias("finished"),
        pl.coalesce("completion_s", pl.max_horizontal(so_far, "alone_s")).alias("took_s"),
    ).select(
        "replication",
        pl.col("source").cast(pl.String),
        "traffic",
        "size_bytes",
        "took_s",
        "finished",
        slowdown.alias("slowdown"),
    )


def _group(label: str, part: pl.DataFrame, rule: str) -> Group:
    finished = part["finished"].to_list()

    def percentiles(column: str) -> dict[int, Bound]:
        values = part[column].to_list()
        return {p: percentile(values, finished, p, rule) for p in PERCENTILES}

    sizes = part["size_bytes"].to_list()
    return Group(
        label,
        min(sizes),
        max(sizes),
        len(part),
        sum(finished),
        percentiles("took_s"),
        percentiles("slowdown"),
    )


def _record(group: Group) -> dict[str, Value]:
    record: dict[str, Value] = {
        "group": group.label,
        "smallest_bytes": group.smallest_bytes,
        "largest_bytes": group.largest_bytes,
        "flows": group.flows,
        "finished": group.finished,
    }
    for p in PERCENTILES:
        record[f"fct_p{p}_s"] = group.fct_s[p].value
        record[f"fct_p{p}_at_least"] = group.fct_s[p].at_least
    for p in PERCENTILES:
        record[f"slowdown_p{p}"] = group.slowdown[p].value
        record[f"slowdown_p{p}_at_least"] = group.slowdown[p].at_least
    return record


def _shares(ordered: pl.DataFrame, part_of: float) -> list[tuple[str, pl.DataFrame]]:
    """Cut flows into groups of a share of their number each, the last of what is left.

    Flows that are all of one size are one group.
    """
    count = len(ordered)
    if ordered["size_bytes"].n_unique() == 1:
        return [(_range(ordered), ordered)]
    cuts = [math.floor(round(i * part_of * count, 9)) for i in range(math.ceil(1 / part_of))] + [
        count
    ]
    parts = [ordered[low:high] for low, high in itertools.pairwise(cuts)]
    return [(_range(part), part) for part in parts if len(part)]


def _range(part: pl.DataFrame) -> str:
    low, high = int(part["size_bytes"][0]), int(part["size_bytes"][-1])
    return text.size(high) if low == high else f"{text.size(low)} to {text.size(high)}"


def size_edges(sizes: pl.Series, buckets: str) -> list[int]:
    """Return the largest size of each group but the last, of sizes that rise.

    A share is rounded to whole sizes: flows of one size are in one group.

    >>> import polars as pl
    >>> size_edges(pl.Series([10, 20, 30, 40]), "50%"), size_edges(pl.Series([10]), "1 KB,1 MB")
    ([20], [1000, 1000000])
    """
    part = share(buckets)
    if part is None:
        return _edges(buckets)
    count = len(sizes)
    cuts = [math.floor(round(i * part * count, 9)) for i in range(1, math.ceil(1 / part))]
    return sorted({int(sizes[cut - 1]) for cut in cuts if cut})


def _edges(buckets: str) -> list[int]:
    example = "write 5%, or sizes such as 10 KB,100 KB,1 MB"
    try:
        edges = [round(in_base_unit(edge.strip())) for edge in buckets.split(",")]
    except ValueError:
        raise AnalysisError(f"buckets '{buckets}': {example}") from None
    if edges != sorted(set(edges)) or edges[0] <= 0:
        raise AnalysisError(f"buckets '{buckets}': sizes must rise; {example}")
    return edges


def _between(ordered: pl.DataFrame, edges: list[int]) -> list[tuple[str, pl.DataFrame]]:
    import polars as pl

    of = pl.col("size_bytes")
    parts = [(f"up to {text.size(edges[0])}", ordered.filter(of <= edges[0]))]
    for low, high in itertools.pairwise(edges):
        parts.append(
            (
                f"above {text.size(low)}, to {text.size(high)}",
                ordered.filter((of > low) & (of <= high)),
            )
        )
    return [*parts, (f"above {text.size(edges[-1])}", ordered.filter(of > edges[-1]))]


def _entries(result: Recorded) -> list[str]:
    """Return a name for each entry of traffic: `traffic.0 (flows over roce)`."""
    entries = result.tree["traffic"]
    return [f"traffic.{number} ({_offered(entry)})" for number, entry in enumerate(entries)]


def _offered(entry: JsonObject) -> str:
    """Return what an entry offers and what carries it; of an older run, its one word for both."""
    arrivals: str = entry.get("arrivals") or entry["kind"]
    transport = entry.get("transport", "none")
    return arrivals if transport == "none" else f"{arrivals} over {transport}"
