"""Run the demonstration into a folder, read it back, draw it."""

from __future__ import annotations

from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from qcnlab.api import load, run_many
from qcnlab.demo import INDEX
from qcnlab.demo.cells import QUICK, ROWS, RTTS, Cell, Demo
from qcnlab.errors import FolderError
from qcnlab.files.folders import read_json, write_json
from qcnlab.results.result import open_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPS, QUICK_REPS = 10, 2


def run_cells(*, quick: bool = False, reps: int | None = None, jobs: int | None = None) -> Demo:
    """Run every row at every round-trip time.

    Parameters
    ----------
    quick : bool, default False
        Run a shorter hotspot with fewer replications.
    reps, jobs : int, optional
        As in `qcnlab.run`; 10 replications by default, 2 of a quick demo.

    Returns
    -------
    Demo
        All cells, in memory.
    """
    changes = QUICK if quick else ()
    plan = [(row, rtt, name) for rtt, name in RTTS.items() for row in ROWS]
    scenarios = [load(name).with_(*changes, *row.changes) for row, _, name in plan]
    count = reps or (QUICK_REPS if quick else REPS)
    # The engine leaves the interpreter free: what drawing needs is imported meanwhile.
    drawing = Thread(target=import_module, args=("qcnlab.demo.figures",), daemon=True)
    drawing.start()
    results = run_many(scenarios, reps=count, jobs=jobs)
    drawing.join()
    cells = [Cell(row, rtt, result) for (row, rtt, _), result in zip(plan, results, strict=True)]
    for cell in cells:
        cell.result.meta["quick"] = quick
    return Demo(cells)


def write_demo(demo: Demo, folder: Path) -> None:
    """Write run folders, figures and report into `folder`; raise `OSError` if that fails."""
    for cell in demo.cells:
        (folder / cell.folder).mkdir()
        cell.result.write_into(folder / cell.folder)
    index = [{"rtt": c.rtt, "row": c.row.key, "folder": c.folder} for c in demo.cells]
    write_json(folder / INDEX, index)
    # The page needs no PNG, and drawing one takes as long as the SVG: `qcnlab plot` writes them.
    draw(demo, folder, [".svg"])


def open_demo(folder: Path) -> Demo:
    """Read a demo back from its folder; raises `FolderError` if it is not one."""
    rows = {row.key: row for row in ROWS}
    try:
        index = read_json(folder / INDEX)
        cells = [
            Cell(rows[entry["row"]], entry["rtt"], open_run(folder / entry["folder"]))
            for entry in index
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FolderError(f"'{folder}' is not a demo's folder: {error}") from error
    return Demo(cells)


def draw(demo: Demo, folder: Path, suffixes: Sequence[str] = (".svg", ".png")) -> list[Path]:
    """Write the figures, in each format, and the report into `folder`; return the paths."""
    from qcnlab.demo.figures import draw_all
    from qcnlab.demo.report import page

    drawn = draw_all(demo, folder, suffixes)
    report = folder / "report.html"
    report.write_text(page(demo, folder), encoding="utf-8")
    return [*drawn, report]
