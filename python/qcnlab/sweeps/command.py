"""`qcnlab sweep`: options in, folder and text out."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qcnlab.api import load
from qcnlab.errors import scenario_error
from qcnlab.files.folders import ROOT
from qcnlab.printing import text
from qcnlab.runs.intervals import too_few
from qcnlab.sweeps.executors import check_on
from qcnlab.sweeps.grid import build, read, word
from qcnlab.sweeps.manifest import name_of
from qcnlab.sweeps.precision import Precision, read_precision, stated_precision
from qcnlab.sweeps.result import check_metric, write_figure
from qcnlab.sweeps.running import describe, perform
from qcnlab.sweeps.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.sweeps.known import Manifest


MOST_LISTED = 100
"""So many values of an axis are printed before the runs."""


@dataclass(frozen=True)
class Options:
    """The options of `qcnlab sweep`."""

    scenario: str
    changes: list[str]
    vary: list[str]
    metrics: list[str]
    reps: int | None
    seed: int | None
    jobs: int | None
    out: Path | None
    fresh: bool
    dry_run: bool
    on: str | None = None
    level: float | None = None
    precision: str | None = None
    most: int | None = None

    def wanted(self) -> Precision | None:
        """Return the precision that is stated, if one is."""
        if self.precision is None:
            if self.most is not None:
                raise scenario_error("--most goes with --precision")
            return None
        if not self.metrics:
            raise scenario_error(
                "a precision is of a metric", hint="--metric queue_mean_bytes; of several the first"
            )
        return read_precision(self.precision, self.metrics[0], self.reps, self.most)

    def command(self, folder: Path) -> str:
        """Return the command that continues this sweep in `folder`."""
        words = ["qcnlab", "sweep", self.scenario]
        options = (("-s", self.changes), ("--vary", self.vary), ("--metric", self.metrics))
        for flag, values in options:
            words += [word for value in values for word in (flag, value)]
        for flag, value in (
            ("--reps", self.reps),
            ("--precision", self.precision),
            ("--most", self.most),
            ("--seed", self.seed),
            ("--on", self.on),
        ):
            words += [] if value is None else [flag, str(value)]
        return shlex.join(words if self.out is None else [*words, "-o", str(folder)])


class Told(NamedTuple):
    """What `qcnlab sweep` says."""

    words: str
    summary: Callable[[], dict[str, object]]
    """Return the same for JSON: of a large sweep it is larger than all else."""
    deadlock: bool
    """Whether a run ended in a deadlock."""


def sweep(options: Options) -> Told:
    """Run what is missing of a sweep. When interrupted, print on stderr how to continue.

    Returns
    -------
    Told
        The result in words and for JSON.

    Raises
    ------
    ScenarioError
        For points that cannot be run, and metrics that do not exist.
    FolderError
        If the folder is another sweep's, or cannot be written.
    """
    for name in options.metrics:
        check_metric(name)
    check_on(options.on)
    grid = build(
        load(options.scenario),
        options.changes,
        read(options.vary),
        seeded=options.seed is not None,
    )
    known = describe(grid, options.wanted() or options.reps, options.seed, "")
    folder = options.out or ROOT / name_of(known)
    known["command"] = options.command(folder)
    store = Store(folder, known, fresh=options.fresh)
    if options.dry_run:
        return _planned(store, len(grid), grid.simulated_s)
    have = store.peek()
    total = _at_most(known, len(grid))
    if have:
        print(f"{have} of {total} runs are in '{folder}' already", file=sys.stderr)
    for note in store.notes:
        print(f"'{folder}': {note}", file=sys.stderr)
    if options.level is not None and (words := too_few(known["replications"])):
        print(f"qcnlab: {words}", file=sys.stderr)
    for warning in grid.scenario(0).warnings():
        print(f"warning: at {grid.label(0)}: {warning}", file=sys.stderr)
    try:
        result = perform(
            grid, known, options.seed, store, jobs=options.jobs, progress=None, on=options.on
        )
    except (KeyboardInterrupt, SystemExit):
        print(
            f"{len(store.runs)} of {total} runs are done and kept in '{folder}'; to go on:\n"
            f"  {known['command']}",
            file=sys.stderr,
        )
        raise
    if options.metrics and result.why_no_figure is None:
        write_figure(result.plot(options.metrics[0]), folder)
    words = result.text(text.width(), options.metrics, options.level)
    if result.why_no_figure is not None:
        words += f"\n\nNo figure: {result.why_no_figure}."
    return Told(
        f"{words}\n\n{folder}",
        lambda: {"folder": str(folder), **result.summary()},
        result.has("deadlock_ms"),
    )


def _listed(values: list[Any]) -> str:
    """Return the values of an axis in words; of many the first and the last."""
    if len(values) <= MOST_LISTED:
        return ", ".join(map(word, values))
    first = ", ".join(map(word, values[:3]))
    return f"{first}, ..., {word(values[-1])} ({len(values):,} values)"


def _at_most(known: Manifest, points: int) -> str:
    """Return how many runs there can be, in words."""
    most = "at most " if "precision" in known else ""
    return f"{most}{points * known['replications']}"


def _planned(store: Store, points: int, simulated_s: float) -> Told:
    have = store.peek()
    known = store.known
    total = points * known["replications"]
    simulated_s *= known["replications"]
    precision = stated_precision(known)
    least = [] if precision is None else [text.counted(precision.least * points, "run")]
    reps = text.counted(known["replications"], "replication")
    each = f"{reps} each" if precision is None else f"{precision.least} to {reps} each"
    summary = {
        "folder": str(store.folder),
        "scenario": known["scenario"],
        "vary": known["vary"],
        "points": points,
        "replications": known["replications"],
        "runs": total,
        **({} if precision is None else {"precision": known["precision"]}),
        "done": have,
        "simulated_s": simulated_s,
    }
    rows = [(key, _listed(values)) for key, values in known["vary"].items()]
    lines = [
        known["title"],
        "",
        text.table(("varied", "values"), rows, left=2),
        "",
        f"{text.counted(points, 'point')}, {each}: "
        f"{' to '.join([*least, text.counted(total, 'run')])}, "
        f"{'up to ' if least else ''}{text.number(simulated_s)} s of simulated time",
        f"{store.folder}" + (f": {have} runs are there already" if have else ""),
    ]
    return Told("\n".join(lines), lambda: summary, deadlock=False)
