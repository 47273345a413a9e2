"""What the commands share: their common options, JSON on stdout, work kept in a folder."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from qcnlab.cli import shell_words
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.api import Scenario
    from qcnlab.errors import FolderError
    from qcnlab.files.folders import NewFolder

T = TypeVar("T")


class Style(StrEnum):
    """What a figure is for."""

    screen = "screen"
    paper = "paper"
    paper_wide = "paper-wide"

    @property
    def columns(self) -> int:
        """Columns of a page that it takes; 0 for a screen."""
        return {Style.screen: 0, Style.paper: 1, Style.paper_wide: 2}[self]


Changes = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--set",
        metavar="KEY=VALUE",
        help="Change a key; may be repeated.",
        autocompletion=shell_words.changes,
    ),
]
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A scenario file, or a shipped scenario.",
        autocompletion=shell_words.scenarios_or_files,
    ),
]
Drawing = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="Draw the answer, too: .svg, .png or .pdf."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, max=MOST_JOBS, help="Threads; all cores if not given."),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on", metavar="CLUSTER", help="Run on dask or ray (this machine), or dask://HOST:PORT."
    ),
]
Reps = Annotated[
    int | None,
    typer.Option(
        "--reps", min=1, max=MOST_REPS, help="Replications; the scenario's own if not given."
    ),
]
Styled = Annotated[
    Style,
    typer.Option(
        "--style",
        help="Of the figure: for a screen, or for print without titles, 3.3 in wide (paper) or "
        "7 in (paper-wide).",
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, max=MOST_SEED, help="Seed; the scenario's own if not given.")
]


def _plain(value: Any) -> object:
    """Return a record as JSON holds it."""
    return value.to_dict()


def print_json(value: object) -> None:
    """Print `value`, with its records, as indented JSON, escaped where stdout has no Unicode."""
    unicode = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=not unicode, default=_plain))


def warn(scenario: Scenario) -> None:
    """Print on stderr what a reader of the results should know beforehand."""
    for warning in scenario.warnings():
        print(f"warning: {warning}", file=sys.stderr)


def keep(
    folder: NewFolder, work: Callable[[], T], write: Callable[[T, Path], object]
) -> tuple[T, FolderError | None]:
    """Do the work and write it into `folder`; the result survives a folder that cannot be written.

    Returns
    -------
    tuple
        What `work` returned, and the error if it could not be written.

    Raises
    ------
    FolderError
        If the folder cannot be written from the start: nothing was done.
    """
    from qcnlab.errors import FolderError

    done: list[T] = []
    try:
        with folder:
            done.append(work())
            write(done[0], folder.path)
    except FolderError as error:
        if not done:
            raise
        return done[0], error
    return done[0], None
