"""`qcnlab report`: one HTML file about a run, several runs or a sweep."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...|SWEEP", help="Run folders, or the folder of a sweep."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The page; report.html in the folder, or here for several runs, if not given.",
        ),
    ] = None,
) -> None:
    """Write one HTML file about runs or a sweep, and print its path.

    It opens offline. It shows what was run, numbers with their definitions, and curves that zoom
    together.
    """
    from qcnlab.errors import FolderError
    from qcnlab.files.folders import is_sweep, write_whole
    from qcnlab.files.outputs import REPORT, writable
    from qcnlab.results.result import open_run
    from qcnlab.runs.flow_level import require_packets

    path = out or (folders[0] if len(folders) == 1 else Path()) / "report.html"
    swept = [folder for folder in folders if is_sweep(folder)]
    if swept and len(folders) > 1:
        raise typer.BadParameter(f"'{swept[0]}' is a sweep: a sweep has a report of its own")
    words = ["qcnlab", "report", *map(str, folders), *(["-o", str(out)] if out else [])]
    if swept:
        from qcnlab.report import document
        from qcnlab.sweeps.running import open_sweep

        sweep = open_sweep(folders[0])
        writable(path, REPORT)
        html = document.sweep_page(sweep, str(folders[0]), shlex.join(words))
    else:
        results = [open_run(folder) for folder in folders]
        for result in results:
            require_packets(result.summary, "a report")
        writable(path, REPORT)
        from qcnlab.report import document

        html = document.runs_page(results, [str(each) for each in folders], shlex.join(words))
    try:
        write_whole(path, html.encode())
    except OSError as error:
        raise FolderError(f"cannot write '{path}': {error.strerror}") from error
    print(path)
