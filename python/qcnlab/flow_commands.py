"""The commands about completion times and several runs: `fct` and `compare`."""

from __future__ import annotations

import json
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcnlab import shell_words
from qcnlab.completion import SHARE
from qcnlab.options import warn
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED

if TYPE_CHECKING:
    from qcnlab.api import Scenario
    from qcnlab.results import Result


class By(StrEnum):
    """How flows are grouped."""

    size = "size"
    entry = "entry"
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
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    by: Annotated[By, typer.Option("--by", help="How flows are grouped.")] = By.size,
    buckets: Buckets = SHARE,
    base: AgainstBase = Base.alone,
    percentile: ByRule = Rule.rank,
    as_csv: AsCsv = False,
    as_markdown: AsMarkdown = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Draw the figure: .svg, .png or .pdf."),
    ] = None,
) -> None:
    """Print completion times and slowdowns of a run's flows.

    They are grouped by size, or by traffic entry.
    """
    from qcnlab.results import open_run

    if out is not None:
        from qcnlab.redraw import drawable

        drawable(out)
    result = open_run(folder)
    completions = result.fct(by.value, buckets, base.value, percentile.value)
    shown(completions, as_csv, as_markdown, as_latex, as_json)
    if out is not None:
        drawn(completions, out)


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
    as_csv: AsCsv = False,
    as_markdown: AsMarkdown = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Draw the figure: .svg, .png or .pdf."),
    ] = None,
) -> None:
    """Lay runs side by side: what differs, metrics, a figure.

    Exits with 1 if a run ended in a deadlock; it is named.
    """
    from qcnlab import intervals

    if out is not None:
        from qcnlab.redraw import drawable

        drawable(out)
    results = _results(runs, changes or [], seed, reps, jobs)
    from qcnlab import comparison, endings

    level = intervals.LEVEL if with_intervals else None
    compared = comparison.compare(results, metrics=metric or [], level=level)
    shown(compared, as_csv, as_markdown, as_latex, as_json)
    if out is not None:
        drawn(compared, out)
    if any(endings.deadlocked(result.summary) for result in results):
        raise typer.Exit(1)


def _results(
    runs: list[str], changes: list[str], seed: int | None, reps: int | None, jobs: int | None
) -> list[Result]:
    """Read run folders, and run scenarios with each of the values that keys get."""
    from qcnlab import api
    from qcnlab.errors import AnalysisError
    from qcnlab.folders import is_folder
    from qcnlab.results import open_run
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
    ran = api.run_many(scenarios, reps=reps, seed=seed, jobs=jobs) if scenarios else []
    results: list[Result] = []
    for slot in slots:
        results += [open_run(slot)] if isinstance(slot, str) else ran[slot[0] : slot[1]]
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


def drawn(table: Any, path: Path) -> None:
    """Write the figure of `table` to `path`; raise `FolderError` if that cannot be."""
    from qcnlab.errors import FolderError
    from qcnlab.plots import save
    from qcnlab.redraw import drawable

    try:
        save(table.plot(), drawable(path))
    except OSError as error:
        raise FolderError(f"cannot write '{path}': {error.strerror}") from error
