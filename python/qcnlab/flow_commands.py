"""The commands about completion times and several runs: `fct` and `compare`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcnlab.completion import SHARE

if TYPE_CHECKING:
    from qcnlab.api import Scenario


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
    """Print completion times and slowdowns of a run's flows by size or by traffic entry."""
    from qcnlab.results import open_run

    result = open_run(folder)
    completions = result.fct(by.value, buckets, base.value, percentile.value)
    shown(completions, as_csv, as_markdown, as_latex, as_json)
    if out is not None:
        drawn(completions, out)


def warn(scenario: Scenario) -> None:
    """Print on stderr what a reader of the results should know beforehand."""
    for warning in scenario.warnings():
        print(f"warning: {warning}", file=sys.stderr)


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
