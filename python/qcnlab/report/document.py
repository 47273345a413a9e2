"""What stands in a report of a run, of several runs, or of a sweep."""

from __future__ import annotations

import json
import shlex
from html import escape
from typing import TYPE_CHECKING, Any

from qcnlab import _core, catalogue
from qcnlab.errors import AnalysisError, Error
from qcnlab.figures.completion import completion_figure
from qcnlab.printing import text
from qcnlab.report import charts, page
from qcnlab.report.network import in_words, network_of, sketch
from qcnlab.report.settings import settings, watermarks
from qcnlab.report.stops import tree
from qcnlab.results import comparison, explanation_text, metrics_text
from qcnlab.results.explanation import explanation
from qcnlab.results.steps import has_steps
from qcnlab.runs import endings
from qcnlab.runs.facts import ended, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results.result import Result
    from qcnlab.runs.network import Network
    from qcnlab.sweeps.result import Sweep

LARGEST = 3_000_000
"""Octets of a report at most; curves are thinned further until it is so small."""
POINTS = 12_000
"""Points of a curve at most."""
TOOLS = """<div class="tools" role="toolbar" aria-label="window of time">
<button type="button" data-do="in" aria-label="zoom in">+</button>
<button type="button" data-do="out" aria-label="zoom out">&#8722;</button>
<button type="button" data-do="left" aria-label="earlier">&#8592;</button>
<button type="button" data-do="right" aria-label="later">&#8594;</button>
<button type="button" data-do="all">whole run</button><output></output></div>
<p class="note">All curves share one window of time. Drag over a curve to zoom, with Shift to move;
double click shows the whole run. With a curve in focus: + and &#8722;, arrows, 0; Ctrl with the
wheel. A click on a name hides its curve.</p>
<noscript><p class="warn">The curves are drawn by a script, which is switched off here; the tables
are whole.</p></noscript>"""
INVALID = "INVALID TIMING"
"""How the title of a live run begins whose own measurements lie outside the limits."""


def runs_page(results: Sequence[Result], sources: Sequence[str], command: str) -> str:
    """Return a report of one run, or of several with a comparison.

    Parameters
    ----------
    results : sequence of Result
        One or more.
    sources : sequence of str
        Where each was read from.
    command : str
        The command that makes the report.

    Returns
    -------
    str
        A whole page.
    """
    points = POINTS
    while True:
        html = _of_runs(results, sources, command, points)
        if len(html.encode()) <= LARGEST or points <= 250:
            return html
        points //= 2


def _of_runs(results: Sequence[Result], sources: Sequence[str], command: str, points: int) -> str:
    end_s = max(facts(result).duration_s for result in results)
    sheet = charts.Sheet(end_s, points)
    if len(results) == 1:
        title, under, body = _one(results[0], sheet)
    else:
        title, under, body = _several(results, sheet)
    body += _origin(results, sources, command)
    return page.shell(title, under, body, charts=json.dumps(sheet.as_json()))


def _one(result: Result, sheet: charts.Sheet) -> tuple[str, str, str]:
    known = network_of(result)
    parts = [
        _warnings([("", result)]),
        "<h2>What was run</h2>",
        _about(result),
        _network(result, known),
        _settings(result, known),
        "<h2>Key numbers</h2>",
        _numbers(result),
        *_over_time(sheet, [""], [result]),
        charts.rates(sheet, result),
        charts.windows(sheet, result),
        charts.events(sheet, [""], [result]),
        charts.pauses(sheet, result),
        tree(sheet, result),
        _steps(result),
        _happened(result),
        _flows([("", result)]),
        _definitions(row[0] for row in metrics_text.telling(result)),
    ]
    return str(result.summary.title or result.name), _under(result), "\n".join(parts)


def _several(results: Sequence[Result], sheet: charts.Sheet) -> tuple[str, str, str]:
    compared = comparison.compare(results)
    labels = compared.labels
    named = list(zip(labels, results, strict=True))
    header, rows = compared.difference_cells()
    differ = page.table(header, rows, left=len(header)) if rows else "<p>Nothing differs.</p>"
    numbers, cells = compared.cells()
    remarks = [each for each in compared.definitions() if not each.startswith(tuple(
        f"{name}: " for name in compared.metrics))]  # fmt: skip
    parts = [
        _warnings(named),
        "<h2>What differs</h2>",
        differ,
        "<h2>Key numbers</h2>",
        page.table(numbers, cells, left=2),
        "".join(f'<p class="note">{escape(each)}</p>' for each in remarks),
        *_over_time(sheet, labels, results),
        charts.events(sheet, labels, results),
    ]
    for label, result in named:
        parts.append(charts.pauses(sheet, result, f"Stopped links: {label}"))
        parts.append(tree(sheet, result))
        parts.append(_happened(result, label))
    parts.append(_flows(named))
    parts.append("<h2>What was run</h2>")
    for label, result in named:
        known = network_of(result)
        parts.append(
            f"<details><summary>{escape(label)}</summary>{_about(result)}"
            f"{_network(result, known)}{_settings(result, known)}</details>"
        )
    parts.append(_definitions(compared.metrics))
    under = f"{len(results)} runs side by side, by qcnlab {escape(_core.__version__)}."
    return f"{', '.join(labels[:-1])} and {labels[-1]}", under, "\n".join(parts)


def sweep_page(sweep: Sweep, source: str, command: str) -> str:
    """Return a report of a sweep from folder `source`: what varied, its table and its figures."""
    head, left, rows, notes = sweep.cells()
    names = [entry.name for entry in catalogue.metrics()]
    shown = [name for name in head[left:] if name in names]
    keys = [axis.key for axis in sweep.axes]
    changed = metrics_text.changed_words(sweep.name, sweep.first_tree, but=keys)
    parts = ["<h2>What was run</h2>", page.facts([
        ("scenario", sweep.name),
        *([("changed", changed)] if changed else []),
        *((f"varied: {axis.key}", ", ".join(axis.words)) for axis in sweep.axes),
    ])]  # fmt: skip
    parts += ["<h2>Medians and ranges</h2>", page.table(head, rows, left=left)]
    parts += [f'<p class="note">{escape(each)}</p>' for each in notes]
    if sweep.why_no_figure is None:
        parts.append("<h2>Figures</h2>")
        for name in dict.fromkeys([sweep.lead(), *shown[:3]]):
            parts.append(page.drawn(sweep.plot(name), f"sweep-{name}", name))
    parts.append(_definitions(dict.fromkeys([sweep.lead(), *shown])))
    parts.append("<h2>How each number is made</h2>")
    parts.append(page.facts([
        ("the sweep", sweep.command),
        ("this page", command),
        ("read from", source),
        ("seed", str(sweep.seed)),
        ("replications", sweep.replications_in_words),
        ("qcnlab", _core.__version__),
    ]))  # fmt: skip
    points = text.counted(len(sweep.runs), "point")
    under = f"A sweep of {points}, {sweep.replications_in_words} each."
    return page.shell(sweep.title or sweep.name, under, "\n".join(parts))


def _under(result: Result) -> str:
    summary = result.summary
    preset = f" ({summary.preset})" if summary.preset else ""
    return escape(
        f"Scheme {summary.scheme}{preset}, "
        f"{text.counted(summary.replications, 'replication')}, seed {summary.seed}; "
        f"qcnlab {result.meta['versions']['qcnlab']}, {result.meta['date'][:10]}."
    )


def _warnings(named: Sequence[tuple[str, Result]]) -> str:
    """Say what was left out of all numbers, or makes them doubtful."""
    said = []
    for label, result in named:
        lead = f"{label}: " if label else ""
        if result.summary.title.startswith(INVALID):
            said.append(
                f"{lead}{INVALID}: this live run's own measurements lie outside the limits; its "
                "numbers do not count."
            )
        said += [
            lead + each for each in ended(result) if "deadlock" in each or "not drained" in each
        ]
    return "".join(f'<p class="warn">{escape(each)}</p>' for each in said)


def _about(result: Result) -> str:
    tree_of = result.tree
    parts = [f'<p class="about">{escape(tree_of["about"])}</p>'] if tree_of.get("about") else []
    if tree_of.get("source"):
        parts.append(f'<p class="note">Source: {escape(tree_of["source"])}</p>')
    if changed := metrics_text.changed_words(result.name, result.tree):
        words = f"Title and text are those of the shipped scenario. Changed here: {changed}."
        parts.append(f'<p class="note">{escape(words)}</p>')
    return "".join(parts)


def _network(result: Result, known: Network | None) -> str:
    if known is None:
        return (
            '<p class="note">The network is not drawn: the scenario names a scheme or a file that '
            "is not there.</p>"
        )
    hot = result.summary.bottleneck
    buffer = hot.buffer_bytes
    holds = f", its queue holds {text.size(round(buffer))}" if buffer else ""
    pausing = any(node.watermarks for node in known.nodes)
    words = (
        f"{in_words(known)}. In colour: the bottleneck {hot.port}, "
        f"{text.rate(hot.rate_bps)}{holds}."
        + (" Dashed: stops the links into it when its memory fills." if pausing else "")
    )
    return (
        f'<div class="scene wide">{sketch(known, hot.port)}</div>'
        f'<p class="note">{escape(words)}</p>'
    )


def _settings(result: Result, known: Network | None) -> str:
    rows = settings(result)
    parts = [
        "<h3>Keys that differ from their defaults</h3>",
        page.table(("key", "value", "default", "what it is"), rows, left=4, wrapped=(1, 3)),
    ]
    derived = watermarks(known)
    if derived:
        parts += [
            "<h3>Watermarks that follow from them</h3>",
            '<p class="note">For each link into a node and each class that stops by itself: '
            "above high (xoff) the node stops the link, below low (xon) it lets it go on; headroom "
            "is the room for what still arrives.</p>",
            page.facts(derived),
        ]
    return "".join(parts) + _headrooms(result)


def _headrooms(result: Result) -> str:
    """Return what nodes keep for frames that still come after a pause, and what may come."""
    try:
        lines = _core.Scenario.parse(result.config).headrooms()
    except Error:
        return ""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h3>Headroom: what nodes keep for frames after a pause</h3><ul>{items}</ul>"


def _numbers(result: Result) -> str:
    rows = [
        (name, meaning, unit, value, left_out(result, name))
        for name, meaning, unit, value in metrics_text.telling(result)
    ]
    value = metrics_text.header(result)[3]
    header = ("metric", "meaning", "unit", value, "what is left out of it")
    flows = endings.flows(result.summary.metrics).replace("\n", " ")
    note = f'<p class="note">{escape(flows)}</p>' if flows else ""
    return note + page.table(header, rows, left=3, wrapped=(4,))


def left_out(result: Result, name: str) -> str:
    """Return in words what a metric of a run does not count; empty where it counts everything.

    Parameters
    ----------
    result : Result
        The run.
    name : str
        A metric.
    """
    metrics = result.summary.metrics
    said = []
    if endings.is_lower_bound(metrics, name):
        left, started = (round(metrics[key].total) for key in ("unfinished", "started"))
        said.append(f"{left:,} of {started:,} flows did not finish")
        never = round(metrics["never_started"].total) if "never_started" in metrics else 0
        said += [f"{never:,} more never started"] * bool(never)
    values = metrics[name].values
    lacking = values.count(None)
    if 0 < lacking < len(values):
        said.append(f"{lacking} of {len(values)} replications have no value")
    if result.summary.deadlocked:
        said.append("the time after a deadlock")
    dropped = round(metrics["drops"].total) if "drops" in metrics else 0
    if dropped and name in ("fct_mean_ms", "fct_p99_ms", "slowdown_mean", "slowdown_p99"):
        said.append(f"{dropped:,} frames were dropped")
    if result.summary.title.startswith(INVALID):
        said.append(INVALID)
    return "; ".join(said)


def _over_time(sheet: charts.Sheet, labels: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Return the heading of the curves, their window, and queues and throughput."""
    many = max(result.summary.replications for result in results)
    first = f'<p class="note">Curves show the first of {many} replications.</p>'
    return [
        "<h2>Over time</h2>",
        first if many > 1 else "",
        TOOLS,
        charts.queues(sheet, labels, results),
        charts.throughput(sheet, labels, results),
    ]


def _steps(result: Result) -> str:
    """Return the times of training steps, with their figure, where the run has any."""
    if not has_steps(result):
        return ""
    told = result.steps()
    parts = ["<h2>Training step</h2>"]
    if any(each for row in told.timelines[0].tasks for each in row):
        parts.append(page.drawn(told.plot(), "step", "when each rank computed and communicated"))
    return "\n".join([*parts, f"<pre>{escape(told.text())}</pre>"])


def _happened(result: Result, label: str = "") -> str:
    """Return what `qcnlab explain-run` tells of the first replication."""
    try:
        told = explanation(result)
    except Error:
        return ""
    lead = f": {escape(label)}" if label else ""
    parts = [f"<h2>What happened{lead}</h2>"]
    parts += [f"<p>{escape(' '.join(explanation_text.sentences(told)))}</p>"]
    for table in explanation_text.tables(told):
        parts.append(page.table(table.header, table.rows))
        parts.append(f'<p class="note">{escape(" ".join(table.notes))}</p>' if table.notes else "")
    if told["left_out"]:
        parts.append(f'<p class="note">Left out: {escape(", ".join(told["left_out"]))}</p>')
    return "".join(parts)


def _flows(named: Sequence[tuple[str, Result]]) -> str:
    runs = [(label, result.fct()) for label, result in named if result.summary.has_sized_flows]
    if not runs:
        return ""
    parts = ["<h2>Flows by size</h2>"]
    try:
        figure = completion_figure(runs)
        parts.append(page.drawn(figure, "flows", "Slowdown over size, and completion times"))
    except AnalysisError as error:
        parts.append(f'<p class="note">No figure: {escape(str(error))}</p>')
    for label, completions in runs:
        header, rows = completions.cells()
        title = f"<h3>{escape(label)}</h3>" if label else ""
        parts.append(title + page.table(header, rows))
    parts += [f'<p class="note">{escape(each)}</p>' for each in runs[0][1].definitions()]
    return "".join(parts)


def _definitions(names: Any) -> str:
    return f'<h2 id="definitions">Definitions</h2><dl>{page.definitions(names)}</dl>'


def _origin(results: Sequence[Result], sources: Sequence[str], command: str) -> str:
    rows = [("this page", command)]
    for source, result in zip(sources, results, strict=True):
        meta = result.meta
        took = "" if meta["wall_s"] is None else f"; {meta['wall_s']:.2f} s wall"
        rows += [
            (source, shlex.join(meta["command"])),
            ("hash", result.summary.hash),
            ("seed", f"{meta['seed']}, {text.counted(meta['replications'], 'replication')}"),
            ("made", f"{meta['date']}, {page.versions(meta)}{took}"),
        ]
    settled = "".join(
        f"<details><summary>config.toml of {escape(source)}: every key</summary>"
        f"<pre>{escape(result.config)}</pre></details>"
        for source, result in zip(sources, results, strict=True)
    )
    return f"<h2>How each number is made</h2>{page.facts(rows)}{settled}"
