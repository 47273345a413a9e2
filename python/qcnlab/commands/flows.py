"""The commands about completion times and several runs: `fct`, `collective`, `step`, `compare`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcnlab.cli import shell_words
from qcnlab.cli.options import Drawing, Style, Styled, warn
from qcnlab.results.completion import SHARE
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qcnlab.api import Scenario
    from qcnlab.results.result import Result


class By(StrEnum):
    """How flows are grouped."""

    size = "size"
    entry = "entry"
    both = "size,entry"
    all = "all"


class Base(StrEnum):
    """What slowdowns are measured against."""

    alone = "alone"
    standalone = "standalone"
    standalone_floored = "standalone_floored"


class Rule(StrEnum):
    """How percentiles are taken."""

    rank = "rank"
    element = "element"


class Panel(StrEnum):
    """What a figure of completion times shows."""

    both = "both"
    cdf = "cdf"
    slowdown = "slowdown"


AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
AsMarkdown = Annotated[bool, typer.Option("--md", help="Print Markdown.")]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Buckets = Annotated[
    str,
    typer.Option(
        "--buckets",
        metavar="SHARE|SIZES",
        help="Groups by size: a share of the flows each, 5%, or sizes: '10 KB,100 KB,1 MB'.",
    ),
]
AgainstBase = Annotated[
    Base,
    typer.Option(
        "--base",
        help="What slowdowns are measured against: the time alone, or the HPCC simulator's "
        "standalone time, as it is or with slowdowns floored at 1.",
    ),
]
ByRule = Annotated[
    Rule,
    typer.Option(
        "--percentile", help="By rank, or the element floor(n p) that the HPCC simulator takes."
    ),
]


def fct(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run folders, or a folder that compare --keep wrote."
        ),
    ],
    by: Annotated[By, typer.Option("--by", help="How flows are grouped.")] = By.size,
    buckets: Buckets = SHARE,
    base: AgainstBase = Base.alone,
    percentile: ByRule = Rule.rank,
    as_csv: AsCsv = False,
    as_markdown: AsMarkdown = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
    style: Styled = Style.screen,
    panel: Annotated[
        Panel | None,
        typer.Option(
            "--panel",
            help="Of the figure: the distribution (cdf), slowdowns over size, or both; with "
            "--style paper the distribution if not given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Draw the figure: .svg, .png or .pdf."),
    ] = None,
) -> None:
    """Print completion times and slowdowns of the flows of runs.

    They are grouped by size, or by traffic entry. Several runs stand side by side, with percentiles
    of each replication, 95 % intervals of their medians, and paired differences.
    """
    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    else:
        _without_figure(style, panel)
    results, labels = _opened(folders)
    table: Any
    alone = style is Style.screen and panel in (None, Panel.both)
    if len(results) == 1 and by is not By.both and alone:
        table = results[0].fct(by.value, buckets, base.value, percentile.value)
    else:
        from qcnlab.results.completion_table import CompletionTable

        table = CompletionTable(results, labels, by.value, buckets, base.value, percentile.value)
    shown(table, as_csv, as_markdown, as_latex, as_json)
    if out is not None:
        chosen = panel or (Panel.cdf if style is Style.paper else Panel.both)
        draw = {Panel.cdf: "cdf", Panel.slowdown: "slowdowns", Panel.both: "plot"}[chosen]
        written(getattr(table, draw)(), out, style)


def _without_figure(style: Style, panel: Panel | None = None) -> None:
    """Refuse options of a figure where none is drawn."""
    if style is not Style.screen:
        raise typer.BadParameter("--style is for a figure: give -o FILE")
    if panel is not None:
        raise typer.BadParameter("--panel is for a figure: give -o FILE")


def collective(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    every: Annotated[
        bool, typer.Option("--all", help="Name all rounds, ranks and ports, however many.")
    ] = False,
    out: Drawing = None,
    as_json: AsJson = False,
) -> None:
    """Tell how long a run's collective operations took, and why.

    By operation, round and rank, with bandwidths, the lower bound for the schedule on this fabric,
    and the parts of the slowest rank's time. The figure has the chain of messages that the slowest
    rank of the longest operation waited for. Exits with 1 if an operation did not end.
    """
    from qcnlab.results.result import open_run

    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    table = open_run(folder).collectives()
    if out is not None:
        from qcnlab.figures.plots import save

        save(table.plot(), out)
    if as_json:
        print(json.dumps(table.summary(), indent=2))
    else:
        print(table.text(every=every))
    if any(record.completion_s is None for record in table.records()):
        raise typer.Exit(1)


def step(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Drawing = None,
    as_json: AsJson = False,
) -> None:
    """Tell how long a run's training steps took, and why.

    Of a scenario that qcnlab import step, simai or chakra made: iteration time, and when each task
    ran. The figure is a Gantt chart of ranks. Exits with 1 if a step did not end.
    """
    from qcnlab.results.result import open_run

    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    told = open_run(folder).steps()
    if out is not None:
        from qcnlab.figures.plots import save

        save(told.plot(), out)
    print(json.dumps(told.summary(), indent=2) if as_json else told.text())
    if any(record["iteration_s"] is None for record in told.records()):
        raise typer.Exit(1)


def _opened(folders: list[Path]) -> tuple[list[Result], list[str]]:
    """Read run folders, and the runs that a comparison kept, with its names of them."""
    from qcnlab.results.comparison import kept
    from qcnlab.results.result import open_run

    if len(folders) == 1 and (runs := kept(folders[0])):
        return [open_run(folders[0] / name) for name, _ in runs], [label for _, label in runs]
    return [open_run(folder) for folder in folders], []


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|SCENARIO...",
            help="Run folders; scenario files or names, which are run.",
            autocompletion=shell_words.scenarios_or_files,
        ),
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--set",
            metavar="KEY=V,V,...",
            help="Change a key of the scenarios; with several values each is run: "
            "scheme.name=none,qcn. May be repeated.",
            autocompletion=shell_words.changes,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="What is shown. May be repeated.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Seed of runs.")] = None,
    reps: Annotated[
        int | None, typer.Option("--reps", min=1, max=MOST_REPS, help="Replications of runs.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, max=MOST_JOBS, help="Threads.")
    ] = None,
    with_intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Confidence intervals (95 %) in place of ranges, and paired differences.",
        ),
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="DIR", help="Keep the runs: a run folder each, in a new folder."
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_markdown: AsMarkdown = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
    style: Styled = Style.screen,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Draw the figure: .svg, .png or .pdf."),
    ] = None,
) -> None:
    """Lay runs side by side: what differs, metrics, a figure.

    Exits with 1 if a run ended in a deadlock; it is named.
    """
    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    else:
        _without_figure(style)
    from qcnlab.files.folders import NewFolder
    from qcnlab.results import comparison
    from qcnlab.runs import intervals

    folder = NewFolder(keep, option="--keep") if keep is not None else None
    with folder or nullcontext():
        results = _results(runs, changes or [], seed, reps, jobs, with_intervals=with_intervals)
        level = intervals.LEVEL if with_intervals else None
        compared = comparison.compare(results, metrics=metric or [], level=level)
        if folder is not None:
            comparison.keep(compared, folder.path)
    if folder is not None:
        print(f"kept in {keep}", file=sys.stderr)
    shown(compared, as_csv, as_markdown, as_latex, as_json)
    if out is not None:
        written(compared.plot(), out, style)
    if any(result.summary.deadlocked for result in results):
        raise typer.Exit(1)


def _results(
    runs: list[str],
    changes: list[str],
    seed: int | None,
    reps: int | None,
    jobs: int | None,
    *,
    with_intervals: bool,
) -> list[Result]:
    """Read run folders, and run scenarios with each of the values that keys get."""
    from qcnlab import api
    from qcnlab.errors import AnalysisError
    from qcnlab.files.folders import is_folder
    from qcnlab.results.result import open_run
    from qcnlab.runs.intervals import too_few
    from qcnlab.sweeps.grid import read

    vary = read(changes, "-s")
    chosen = [[f"{key}={value}" for value in values] for key, values in vary.items()]
    folders = {run for run in runs if is_folder(Path(run))}
    if changes and len(folders) == len(runs):
        raise typer.BadParameter("-s is for scenarios, which are run; these are runs")
    scenarios: list[Scenario] = []
    slots: list[tuple[int, int] | str] = []
    for run in runs:
        if run in folders:
            slots.append(run)
            continue
        scenario = api.load(run)
        made = [scenario.with_(*each) for each in product(*chosen)]
        slots.append((len(scenarios), len(scenarios) + len(made)))
        scenarios += made
    count = sum(1 if isinstance(slot, str) else slot[1] - slot[0] for slot in slots)
    if count < 2:
        raise AnalysisError(
            "a comparison takes two runs or more: name another run or scenario, or give a key of "
            "the scenario several values, as in -s scheme.name=none,qcn"
        )
    for scenario in scenarios:
        warn(scenario)
    opened = {run: open_run(run) for run in folders}
    counts = [reps or scenario.replications for scenario in scenarios]
    counts += [result.summary.replications for result in opened.values()]
    if with_intervals and (words := too_few(min(counts))):
        print(f"qcnlab: {words}", file=sys.stderr)
    ran = api.run_many(scenarios, reps=reps, seed=seed, jobs=jobs) if scenarios else []
    results: list[Result] = []
    for slot in slots:
        results += [opened[slot]] if isinstance(slot, str) else ran[slot[0] : slot[1]]
    return results


def shown(table: Any, as_csv: bool, as_markdown: bool, as_latex: bool, as_json: bool) -> None:
    """Print a table in the format that was asked for; raise `BadParameter` for two."""
    if as_csv + as_markdown + as_latex + as_json > 1:
        raise typer.BadParameter("choose one of --csv, --md, --latex and --json")
    if as_csv:
        print(table.csv(), end="")
    elif as_markdown:
        print(table.markdown())
    elif as_latex:
        print(table.latex())
    elif as_json:
        print(json.dumps(table.summary(), indent=2))
    else:
        print(table.text())


def written(figure: Figure, path: Path, style: Style = Style.screen) -> None:
    """Write `figure` to `path`; raise `FolderError` if that cannot be."""
    from qcnlab.commands.redraw import printed
    from qcnlab.errors import FolderError
    from qcnlab.figures.plots import save
    from qcnlab.files.outputs import drawable

    printed(figure, style)
    try:
        save(figure, drawable(path))
    except OSError as error:
        raise FolderError(f"cannot write '{path}': {error.strerror}") from error
