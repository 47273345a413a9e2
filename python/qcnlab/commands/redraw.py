"""Draw the figures of a folder again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab.cli.options import Style
from qcnlab.demo import INDEX
from qcnlab.errors import FolderError
from qcnlab.files.folders import NewFolder, is_sweep, is_there
from qcnlab.files.outputs import drawable
from qcnlab.results.result import open_run
from qcnlab.runs.flow_level import require_packets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def redraw(folder: Path, out: Path | None, style: Style = Style.screen) -> list[Path]:
    """Draw a run's figures, a sweep's, or all of a demo's and its report.

    A run with pauses gets its congestion tree, too, and one with flows of a size their completion
    times, unless `out` names one file.

    Parameters
    ----------
    folder : Path
        The folder of a run, a sweep or a demo.
    out : Path or None
        A file for a run or a sweep, a new folder for a demo; by default `folder`.
    style : Style, default Style.screen
        What the figures are for; those of a demo are for a screen.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    FolderError
        If `folder` is none of these, or `out` cannot be written.
    """
    if is_there(folder / INDEX):
        if style.columns:
            raise FolderError(f"'{folder}' is a demonstration's, whose figures are for a screen")
        return _demo(folder, out)
    if is_sweep(folder):
        return _sweep(folder, out, style)
    result = open_run(folder)
    require_packets(result.summary, "the figure of queues and rates")
    from qcnlab.figures.plots import run_figure, save
    from qcnlab.figures.tree import tree_figure

    paths = [folder / "run.svg", folder / "run.png"] if out is None else [drawable(out)]
    try:
        figure = run_figure(result)
        printed(figure, style)
        drawn = [save(figure, path) for path in paths]
        if out is None and len(result.pauses):
            figure = tree_figure(result)
            printed(figure, style)
            drawn += [save(figure, folder / f"tree{suffix}") for suffix in (".svg", ".png")]
        if out is None and result.summary.has_sized_flows:
            figure = result.fct().plot()
            printed(figure, style)
            drawn += [save(figure, folder / f"fct{suffix}") for suffix in (".svg", ".png")]
        return drawn
    except OSError as error:
        raise FolderError(f"cannot write '{paths[0]}': {error.strerror}") from error


def printed(figure: Figure, style: Style) -> None:
    """Change a figure to what it is for; on stderr stands what its caption has to say then."""
    if style.columns:
        from qcnlab.figures.paper import for_paper

        caption = for_paper(figure, style.columns)
        if caption:
            print(f"for the caption: {caption}", file=sys.stderr)


def _sweep(folder: Path, out: Path | None, style: Style) -> list[Path]:
    from qcnlab.figures.plots import save
    from qcnlab.sweeps.result import write_figure
    from qcnlab.sweeps.running import open_sweep

    figure = open_sweep(folder).plot()
    printed(figure, style)
    try:
        return write_figure(figure, folder) if out is None else [save(figure, drawable(out))]
    except OSError as error:
        raise FolderError(f"cannot write '{out or folder}': {error.strerror}") from error


def _demo(folder: Path, out: Path | None) -> list[Path]:
    from qcnlab.demo.running import draw, open_demo

    demo = open_demo(folder)
    if out is not None:
        with NewFolder(out) as new:
            drawn = draw(demo, new.path)
        return [out / path.relative_to(new.path) for path in drawn]
    try:
        return draw(demo, folder)
    except OSError as error:
        raise FolderError(f"cannot write into '{folder}': {error.strerror}") from error
