"""Draw the figures of a folder again."""

from __future__ import annotations

from pathlib import Path

from qcnlab.demo import INDEX, draw, open_demo
from qcnlab.errors import FolderError
from qcnlab.folders import NewFolder
from qcnlab.plots import run_figure, save
from qcnlab.results import open_run
from qcnlab.tree import tree_figure

FORMATS = (".svg", ".png", ".pdf")


def redraw(folder: Path, out: Path | None) -> list[Path]:
    """Draw a run's figures, or all of a demo's and its report; give the paths.

    A run with pauses gets its congestion tree, too, unless `out` names one file.

    Raises `FolderError` if `folder` is neither, or `out` cannot be written.
    """
    if (folder / INDEX).exists():
        return _demo(folder, out)
    result = open_run(folder)
    paths = [folder / "run.svg", folder / "run.png"] if out is None else [out]
    if paths[0].suffix not in FORMATS:
        raise FolderError(f"cannot draw '{paths[0]}': its name must end in {', '.join(FORMATS)}")
    try:
        drawn = [save(run_figure(result), path) for path in paths]
        if out is None and len(result.pauses):
            figure = tree_figure(result)
            drawn += [save(figure, folder / f"tree{suffix}") for suffix in (".svg", ".png")]
        return drawn
    except OSError as error:
        raise FolderError(f"cannot write '{paths[0]}': {error.strerror}") from error


def _demo(folder: Path, out: Path | None) -> list[Path]:
    demo = open_demo(folder)
    if out is not None:
        with NewFolder(out) as new:
            drawn = draw(demo, new.path)
        return [out / path.relative_to(new.path) for path in drawn]
    try:
        return draw(demo, folder)
    except OSError as error:
        raise FolderError(f"cannot write into '{folder}': {error.strerror}") from error
