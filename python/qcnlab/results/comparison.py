"""Several runs side by side: which keys differ, their metrics, and one figure.

A run is a run folder, or a scenario that is run here. Numbers are medians over a run's
replications; how many flows did not finish stands beside what depends on it.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypedDict

from qcnlab import _core, catalogue
from qcnlab.errors import AnalysisError, FolderError
from qcnlab.files.folders import read_json, write_json
from qcnlab.metrics import having, remedy_for
from qcnlab.printing import markup, text
from qcnlab.runs import applicable, endings, intervals
from qcnlab.runs.facts import ended
from qcnlab.runs.flow_level import notes, require_packets
from qcnlab.runs.intervals import least

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from qcnlab.records import JsonObject
    from qcnlab.results.result import Result
    from qcnlab.runs.intervals import Interval

LEFT_OUT = frozenset(("title", "about", "source", "name"))
"""Keys of a scenario that name it."""
KEPT = "comparison.json"
"""The file that lists the runs that a comparison kept."""
MOST_KEYS = 8
"""So many keys that differ name a run at most."""


class _Interval(TypedDict, total=False):
    """The interval of a median, and of its difference from the first run; there with a level."""

    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None


class ComparedMetric(_Interval):
    """A metric of one run of several: median, least and largest over its replications.

    `without` counts replications that have no value, and `at_least` says that the value is a lower
    bound, because `unfinished` of the `started` flows did not finish.
    """

    run: str
    metric: str
    unit: str
    median: float | None
    min: float | None
    max: float | None
    replications: int
    without: int
    at_least: bool
    started: int
    unfinished: int
    deadlocked: int


class ComparisonSummary(TypedDict):
    """Runs beside each other: what differs between them by key, and their metrics."""

    runs: list[str]
    scenarios: list[str]
    differences: dict[str, list[str | None]]
    definitions: list[str]
    metrics: list[ComparedMetric]


class Comparison:
    """Runs side by side.

    Comes from `qcnlab.compare`.

    Examples
    --------
    >>> import qcnlab
    >>> base = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> runs = qcnlab.run_many([base.with_(f"scheme.name={name}") for name in ("none", "qcn")])
    >>> qcnlab.compare(runs).labels
    ['none', 'qcn']
    """

    def __init__(
        self,
        results: Sequence[Result],
        labels: Sequence[str] = (),
        metrics: Sequence[str] = (),
        level: float | None = None,
    ) -> None:
        if len(results) < 2:
            raise AnalysisError("a comparison takes two runs or more")
        if labels and len(labels) != len(results):
            raise AnalysisError(f"{len(results)} runs have {len(labels)} names")
        self.results = list(results)
        self.level = level
        following = [followed(result) for result in results]
        self.differences = {
            key: values
            for key, values in differences([_settings(result) for result in results]).items()
            if any(own.get(key) != value for own, value in zip(following, values, strict=True))
        }
        self.labels = list(labels) or _labels(self.results, self.differences)
        for number, result in enumerate(results):
            if not labels and result.summary.flow_level:
                self.labels[number] += " (flow level)"
        self.metrics = list(metrics) or self._shown()
        known = {entry.name for entry in catalogue.metrics()}
        for name in self.metrics:
            if name not in known:
                raise AnalysisError(f"there is no metric '{name}'; {remedy_for(name, known)}")
            for label, result in zip(self.labels, self.results, strict=True):
                if metrics and name not in having("ending"):
                    require_packets(result.summary, f"metric {name}")
                if name not in result.summary.metrics:
                    raise AnalysisError(f"{label} was written without '{name}': run it again")

    results: list[Result]
    """The runs."""
    labels: list[str]
    """Their names."""
    differences: dict[str, list[str | None]]
    """The keys that differ, with the value of each run; `None` where it does not have the key."""
    metrics: list[str]
    """The metrics that are shown."""
    level: float | None
    """The confidence level of intervals in the tables; `None` for ranges."""

    def difference(self, run: int, metric: str, level: float | None = None) -> Interval:
        """Return by how much a run exceeds the first one, replication by replication.

        Parameters
        ----------
        run : int
            Which run, from 0.
        metric : str
            A metric.
        level : float, optional
            The confidence level; that of the comparison or 0.95 by default.

        Returns
        -------
        Interval
            Median and confidence interval of the differences of replications that meet the same
            random numbers.

        Raises
        ------
        AnalysisError
            If the runs have another seed or number of replications, so that there are no pairs.
        """
        first, other = self.results[0], self.results[run]
        if first.summary.seed != other.summary.seed:
            raise AnalysisError("runs of different seeds have no pairs of replications")
        one, base = (each.summary.metrics[metric].values for each in (other, first))
        levels = (level, self.level, intervals.LEVEL)
        return intervals.difference_interval(
            one, base, next(each for each in levels if each is not None)
        )

    def records(self) -> list[ComparedMetric]:
        """Return a row for each run and metric, with all replications' median, least and largest.

        Returns
        -------
        list of dict
            `run`, `metric`, `unit`, `median`, `min`, `max`, `replications`, `without` (those that
            have no value), `at_least` (the value is a lower bound), `started` and `unfinished`
            flows of a size, and `deadlocked` replications. With a level also the median's interval
            `low` and `high` and, where there are pairs, the `difference` from the first run with
            `difference_low` and `difference_high`.
        """
        rows: list[ComparedMetric] = []
        for run, (label, result) in enumerate(zip(self.labels, self.results, strict=True)):
            metrics = result.summary.metrics
            for name in self.metrics:
                metric = metrics[name]
                rows.append(
                    {
                        "run": label,
                        "metric": name,
                        "unit": metric.unit,
                        "median": metric.median,
                        "min": metric.min,
                        "max": metric.max,
                        "replications": len(metric.values),
                        "without": metric.values.count(None),
                        "at_least": endings.is_lower_bound(metrics, name),
                        "started": round(metrics["started"].total),
                        "unfinished": round(metrics["unfinished"].total),
                        "deadlocked": len(result.summary.deadlocked),
                        **self._interval_record(run, name),
                    }
                )
        return rows

    def _interval_record(self, run: int, name: str) -> _Interval:
        if self.level is None:
            return {}
        values = self.results[run].summary.metrics[name].values
        own = intervals.median_interval(values, self.level)
        apart = self.difference(run, name) if self._paired() else None
        return {
            "low": own.low,
            "high": own.high,
            "difference": apart.median if apart else None,
            "difference_low": apart.low if apart else None,
            "difference_high": apart.high if apart else None,
        }

    def _replications(self) -> set[int]:
        return {result.summary.replications for result in self.results}

    def _paired(self) -> bool:
        """Return whether all runs have the seed and the number of replications of the first."""
        pairs = {(each.summary.seed, each.summary.replications) for each in self.results}
        return len(pairs) == 1

    def paired_cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of the table of paired differences from the first run.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each metric; none without a level or pairs.
        """
        header = ["metric", "unit", *(f"{each} - {self.labels[0]}" for each in self.labels[1:])]
        if (
            self.level is None
            or not self._paired()
            or min(self._replications()) < least(self.level)
        ):
            return header, []
        rows = []
        for name in self.metrics:
            apart = [self.difference(run, name) for run in range(1, len(self.results))]
            cells = [f"{each}{' *' if each.excludes_zero else ''}" for each in apart]
            rows.append([name, self.results[0].summary.metrics[name].unit, *cells])
        return header, rows

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of a table for people: a row each metric.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each row.
        """
        header = ["metric", "unit", *self.labels]
        rows = []
        for name in self.metrics:
            values = [self._cell(result, name) for result in self.results]
            unit = self.results[0].summary.metrics[name].unit
            rows.append([name, unit, *values])
        return header, rows

    def difference_cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of the table of keys that differ.

        Parameters that have the value of their scheme's preset are left out where that differs.

        Returns
        -------
        tuple of list
            The heading, and a list of cells for each row.
        """
        rows = [
            [key, *("-" if value is None else value for value in values)]
            for key, values in self._told().items()
        ]
        return ["key", *self.labels], rows

    def _told(self) -> dict[str, list[str | None]]:
        """Return what differs, without the parameters that follow from schemes and presets."""
        if not {"scheme.name", "scheme.preset"} & self.differences.keys():
            return self.differences
        presets = [preset_of(result) for result in self.results]

        def follows(key: str, values: list[str | None]) -> bool:
            own = [preset.get(key) for preset in presets]
            return key.startswith(("scheme.cp.", "scheme.rp.")) and own == values

        each = self.differences.items()
        return {key: values for key, values in each if not follows(key, values)}

    def definitions(self) -> list[str]:
        """Return what the numbers mean: a sentence or more for each metric and each mark.

        Returns
        -------
        list of str
            A sentence or more each.
        """
        known = {entry.name: entry for entry in catalogue.metrics()}
        said = [
            f"{label}: {words}"
            for label, result in zip(self.labels, self.results, strict=True)
            for words in self._remarks(result)
        ]
        said += dict.fromkeys(note for result in self.results for note in notes(result.summary))
        reps = self._replications()
        ranges = "median [least..largest] over the replications of a run"
        if self.level is not None and max(reps) >= least(self.level):
            of = f"median [its confidence interval, {100 * self.level:g} %] of so many runs"
            said.append(f"Values: {of}.")
            if min(reps) < least(self.level):
                said.append(f"Of fewer than {least(self.level)} replications: {ranges}.")
            said.append(
                "Differences: of replications with the same random numbers; * marks an interval "
                "without 0."
                if self._paired()
                else "No differences: the runs have different seeds or numbers of replications."
            )
        elif reps != {1}:
            said.append(f"Values: {ranges}.")
        if self.level is not None and max(reps) < least(self.level):
            said.append(
                f"No intervals of {100 * self.level:g} %, and no differences: they take "
                f"{least(self.level)} replications or more."
            )
        return said + [f"{name}: {known[name].about}" for name in self.metrics]

    def text(self) -> str:
        """Return the tables for people, with definitions.

        Returns
        -------
        str
            Several lines.
        """
        parts = []
        if self.differences:
            header, rows = self.difference_cells()
            parts.append("What differs:\n\n" + text.table(header, rows, left=len(header)))
        else:
            parts.append("Nothing differs in the scenarios.")
        header, rows = self.cells()
        parts.append(text.table(header, rows, left=2))
        header, rows = self.paired_cells()
        parts += [text.table(header, rows, left=2)] if rows else []
        columns = min(text.width(), catalogue.WIDEST)
        parts.append("\n".join(text.paragraphs(line, columns) for line in self.definitions()))
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """Return the tables as Markdown, with definitions.

        Returns
        -------
        str
            Several lines.
        """
        parts = []
        if self.differences:
            header, rows = self.difference_cells()
            parts.append(markup.markdown(header, rows, left=len(header)))
        header, rows = self.cells()
        parts.append(markup.markdown(header, rows, left=2))
        header, rows = self.paired_cells()
        parts += [markup.markdown(header, rows, left=2)] if rows else []
        parts.append("\n".join(f"* {line}" for line in self.definitions()))
        return "\n\n".join(parts)

    def latex(self) -> str:
        """Return the tables as LaTeX; what differs and the definitions are their captions.

        Returns
        -------
        str
            A table that takes the package booktabs.
        """
        header, rows = self.cells()
        said = [
            f"{key}: {', '.join('-' if value is None else value for value in values)}"
            for key, values in self._told().items()
        ]
        caption = "What differs: " + "; ".join(said) + ". " if said else ""
        return markup.latex(header, rows, caption + " ".join(self.definitions()), left=2)

    def csv(self) -> str:
        """Return `records` as CSV.

        Returns
        -------
        str
            With a header line.
        """
        records = self.records()
        return markup.csv(list(records[0]), [list(record.values()) for record in records])

    def summary(self) -> ComparisonSummary:
        """Return all of it as JSON holds it.

        Returns
        -------
        dict
            Values that JSON has.
        """
        return {
            "runs": self.labels,
            "scenarios": [result.name for result in self.results],
            "differences": self.differences,
            "definitions": self.definitions(),
            "metrics": self.records(),
        }

    def plot(self) -> Figure:
        """Draw the runs over each other: queue, throughput and, of flows of a size, slowdowns.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.
        """
        from qcnlab.figures.comparison import comparison_figure

        runs = zip(self.labels, self.results, strict=True)
        completions = [
            (label, result.fct()) for label, result in runs if result.summary.has_sized_flows
        ]
        return comparison_figure(self.labels, self.results, completions)

    def _cell(self, result: Result, name: str) -> str:
        metrics = result.summary.metrics
        if self.level is not None and result.summary.replications >= least(self.level):
            own = str(intervals.median_interval(metrics[name].values, self.level))
            own = f">= {own}" if endings.is_lower_bound(metrics, name) else own
            return "-" if own.endswith("none") else own
        cell = text.spread(metrics[name], name, at_least=endings.is_lower_bound(metrics, name))
        return "-" if cell == "none" else cell

    def _remarks(self, result: Result) -> list[str]:
        own = result.summary.metrics
        said = ended(result)
        if flows := endings.flows(own).replace("\n", " "):
            said.append(flows)
        written = {name for each in self.results for name in each.summary.metrics}
        if lacking := [name for name in having("compared") if name in written and name not in own]:
            said.append(f"written without {', '.join(lacking)}, left out of the comparison.")
        return said

    def _shown(self) -> list[str]:
        all_metrics = [result.summary.metrics for result in self.results]

        def values(name: str) -> list[float | None]:
            return [metrics[name].max for metrics in all_metrics]

        # A run folder has the metrics that there were when it was written.
        wanted = having("compared")
        silent = {*having("silent_at_zero"), *having("silent_at_zero_beside")}
        common = [name for name in wanted if all(name in metrics for metrics in all_metrics)]
        without = [applicable.without_meaning(result) for result in self.results]
        shown = [
            name
            for name in common
            if any(value is not None for value in values(name))
            and (name not in silent or any(values(name)))
            and not all(name in each for each in without)
        ]
        # Where flows end, their completion comes first.
        first = [name for name in having("ending") if name in shown]
        return first + [name for name in shown if name not in first]

    def __repr__(self) -> str:
        """Return the names of the runs."""
        return f"<Comparison of {', '.join(self.labels)}>"


def compare(
    results: Sequence[Result],
    *,
    labels: Sequence[str] = (),
    metrics: Sequence[str] = (),
    level: float | None = None,
) -> Comparison:
    """Lay several runs side by side.

    Parameters
    ----------
    results : sequence of Result
        Two or more, from `qcnlab.run`, `run_many` or `open_run`.
    labels : sequence of str, optional
        A name for each; by default what differs, or the scenarios' names.
    metrics : sequence of str, optional
        What is shown; by default the usual metrics that some run has.
    level : float, optional
        Show confidence intervals of this level, such as 0.95, in place of ranges, and the paired
        differences from the first run. Needs scipy.

    Returns
    -------
    Comparison
        One table and one figure, with what differs between the scenarios.

    Raises
    ------
    AnalysisError
        For fewer than two runs, or a metric that does not exist.

    Examples
    --------
    >>> import qcnlab
    >>> base = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> runs = qcnlab.run_many([base, base.with_("topology.rtt=40 us")], reps=1)
    >>> qcnlab.compare(runs).differences["topology.rtt"]
    ['10 us', '40 us']
    """
    return Comparison(results, labels, metrics, level)


def differences(settings: Sequence[Mapping[str, str]]) -> dict[str, list[str | None]]:
    """Return the keys whose values are not the same everywhere, with the values.

    Examples
    --------
    >>> differences([{"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}])
    {'b': ['2', '3'], 'c': [None, '4']}
    """
    keys = dict.fromkeys(key for each in settings for key in each)
    every = {key: [each.get(key) for each in settings] for key in keys}
    return {key: values for key, values in every.items() if len(set(values)) > 1}


def _settings(result: Result) -> dict[str, str]:
    """Return every key of a run's resolved scenario with its value as text, and its seed."""
    values = flat(result.tree)
    for key in LEFT_OUT:
        values.pop(key, None)
    values["seed"] = str(result.summary.seed)
    values["replications"] = str(result.summary.replications)
    return values


def followed(result: Result) -> dict[str, str]:
    """Return what keys that follow others are where a file leaves them out."""
    tree = deepcopy(result.tree)
    following = [key for key in flat(tree) if _is_rule(key)]
    for key in following:
        table, _, last = key.rpartition(".")
        del tree[table][last]
    try:
        plain = _core.Scenario.from_json(json.dumps(tree))
    except _core.ScenarioError:
        # A scheme from outside, or a file, that is not there.
        return {}
    known = flat(json.loads(plain.to_json()))
    return {key: known[key] for key in following}


def _is_rule(key: str) -> bool:
    """Whether a key that is left out follows other keys, so that its default is no value."""
    return any(
        each.default and _core.quantity(each.default) is None
        for each in catalogue.parameters()
        if each.key == key and each.type in ("size", "rate", "time")
    )


def preset_of(result: Result) -> dict[str, str]:
    """Return the parameters of a run's scheme in its preset, by their keys."""
    for scheme in catalogue.schemes():
        for preset in scheme.presets if scheme.name == result.summary.scheme else []:
            if preset.name == result.summary.preset:
                return flat({"scheme": {"cp": preset.cp, "rp": preset.rp}})
    return {}


def keep(comparison: Comparison, folder: Path) -> None:
    """Write each run of `comparison` as a run folder into `folder`, and `comparison.json`.

    The file has the runs' folders and names, in order.
    """
    runs = []
    for number, (label, result) in enumerate(
        zip(comparison.labels, comparison.results, strict=True), 1
    ):
        words = re.sub(r"[^\w.-]+", "-", label, flags=re.ASCII).strip("-.")[:40]
        name = f"{number}-{words}" if words else str(number)
        (folder / name).mkdir()
        result.write_into(folder / name)
        runs.append({"folder": name, "label": label})
    write_json(folder / KEPT, {"runs": runs})


def kept(folder: Path) -> list[tuple[str, str]]:
    """Return the folder and the name of each run that `keep` wrote; empty if it wrote none.

    Raises
    ------
    FolderError
        If its list cannot be read.
    """
    path = folder / KEPT
    if not path.exists():
        return []
    tree = read_json(path)
    try:
        runs = [(each["folder"], each["label"]) for each in tree["runs"]]
    except (KeyError, TypeError):
        runs = []
    if not runs or not all(isinstance(word, str) for run in runs for word in run):
        raise FolderError(f"'{path}' has no list of runs; the folders beside it are runs")
    return runs


def flat(tree: JsonObject) -> dict[str, str]:
    """Return the values of nested tables as text, by their dotted keys."""
    values: dict[str, str] = {}

    def walk(at: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                walk(f"{at}.{key}" if at else key, below)
        elif isinstance(value, list):
            for number, below in enumerate(value):
                walk(f"{at}.{number}", below)
        else:
            values[at] = value if isinstance(value, str) else str(value).lower()

    walk("", tree)
    return values


def _labels(results: Sequence[Result], differ: Mapping[str, list[str | None]]) -> list[str]:
    """Name runs by their schemes, by a key that differs, or by their scenarios and numbers."""
    names = [str(result.summary.scheme) for result in results]
    candidates = [names]
    candidates.append([f"{result.summary.scheme} {result.summary.preset}" for result in results])
    few = [key for key in differ if not key.startswith("scheme.") or key == "scheme.name"]
    few = few or list(differ)
    if len(few) <= MOST_KEYS:
        short = {key: key.rpartition(".")[-1] for key in few}
        candidates += [[f"{short[key]} {value}" for value in differ[key]] for key in few]
        together = zip(*(differ[key] for key in few), strict=True)
        candidates.append(
            [", ".join("-" if v is None else v for v in values) for values in together]
        )
    candidates.append([result.name for result in results])
    for candidate in candidates:
        if len(set(candidate)) == len(results):
            return candidate
    return [f"{result.name} ({number})" for number, result in enumerate(results, 1)]
