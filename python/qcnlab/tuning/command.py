"""`qcnlab tune`: options in, a folder and text out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qcnlab.cli import shell_words
from qcnlab.cli.options import Changes, File, Jobs, Json, On, Reps, Seed, print_json


def tune(
    scenario: File,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="KEY=LOW..HIGH[:log]",
            help="What is searched, a range or choices a,b,c. May be repeated.",
            autocompletion=shell_words.changes,
        ),
    ],
    minimize: Annotated[
        list[str] | None,
        typer.Option(
            "--minimize",
            metavar="METRIC",
            help="Make it small. May be repeated.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    maximize: Annotated[
        list[str] | None,
        typer.Option(
            "--maximize",
            metavar="METRIC",
            help="Make it large. May be repeated.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to", metavar="BOUND", help="drops=0, 'jain>=0.9'. May be repeated."
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=V,V,...",
            help="Conditions of each trial. May be repeated.",
            autocompletion=shell_words.changes,
        ),
    ] = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="Score the mean of the conditions, not the worst.")
    ] = False,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials in all.")] = 50,
    changes: Changes = None,
    seed: Seed = None,
    reps: Reps = None,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder; runs/tune-<name> if not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Search for the values of keys that make metrics small or large.

    The same command runs what is missing. Needs Optuna: pip install 'qcnlab[tune]'.
    """
    from qcnlab import api
    from qcnlab.files.folders import ROOT
    from qcnlab.sweeps.grid import read
    from qcnlab.tuning.searching import search

    base = api.load(scenario)
    folder = out or ROOT / f"tune-{base.name}"
    goals = {
        "minimize": minimize or [],
        "maximize": maximize or [],
        "subject_to": subject_to or [],
    }
    space: dict[str, str] = {}
    for key, values in map(_split, vary):
        if key in space:
            raise typer.BadParameter(f"--vary '{key}={values}': '{key}' is varied twice")
        space[key] = values
    try:
        tuned = search(
            base, scenario, changes or [], space, goals, read(over or [], "--over"),
            mean=mean, trials=trials, reps=reps, seed=seed, jobs=jobs,
            folder=folder, progress=None, on=on,
        )  # fmt: skip
    except (KeyboardInterrupt, SystemExit):
        print(
            f"trials that ended are kept in '{folder}'; the same command goes on", file=sys.stderr
        )
        raise
    if as_json:
        print_json({"folder": str(folder), "trials": tuned.to_polars().to_dicts()})
    else:
        print(f"{tuned.text()}\n\n{folder}")


def _split(text: str) -> tuple[str, str]:
    key, equals, values = text.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"--vary '{text}': it is written KEY=LOW..HIGH or KEY=A,B,C")
    return key.strip(), values
