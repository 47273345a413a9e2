"""`qcnlab advise`: options in, a folder and text out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qcnlab.cli import shell_words
from qcnlab.cli.options import Changes, File, Jobs, Json, On, Seed, print_json
from qcnlab.values import MOST_REPS


def advise(
    scenario: File,
    minimize: Annotated[
        str | None,
        typer.Option(
            "--minimize",
            metavar="METRIC",
            help="Make it small; slowdown_p99 if not given.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    maximize: Annotated[
        str | None,
        typer.Option(
            "--maximize",
            metavar="METRIC",
            help="Make it large instead.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="BOUND",
            help="drops=0, which is taken where PFC is on; or none. May be repeated.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=LOW..HIGH[:log]",
            help="Search these keys instead of thresholds, alpha and adapters. May be repeated.",
            autocompletion=shell_words.changes,
        ),
    ] = None,
    cases: Annotated[
        str,
        typer.Option("--cases", metavar="NAME,...", help="Which cases, in which settings do well."),
    ] = "own,incast,failed-link,slow-receiver",
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials in all.")] = 40,
    flatness: Annotated[
        bool,
        typer.Option(
            "--flatness/--no-flatness", help="Run each setting at its half and its double, too."
        ),
    ] = True,
    changes: Changes = None,
    seed: Seed = None,
    reps: Annotated[
        int, typer.Option("--reps", min=1, max=MOST_REPS, help="Replications of each case.")
    ] = 1,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder; runs/advise-<name> if not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Search settings that do well in traffic and in worst cases.

    Settings are thresholds, alpha and those of adapters. Worst cases are made of the scenario: an
    incast, a failed link, a slow receiver. The answer is the candidate whose regret, against each
    case's own best, is least where it is largest. The same command runs what is missing. Needs
    Optuna: pip install 'qcnlab[tune]'.
    """
    from qcnlab import api
    from qcnlab.advising.cases import NAMES
    from qcnlab.files.folders import ROOT

    chosen = tuple(dict.fromkeys(each.strip() for each in cases.split(",") if each.strip()))
    unknown = [each for each in chosen if each not in NAMES]
    if unknown or not chosen:
        raise typer.BadParameter(
            f"--cases '{cases}': {repr(unknown[0]) + ' is' if unknown else 'it has'} none of "
            f"{', '.join(NAMES)}"
        )
    space: dict[str, str] = {}
    for text in vary or []:
        key, equals, values = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"--vary '{text}': it is written KEY=LOW..HIGH or KEY=A,B,C")
        if key.strip() in space:
            raise typer.BadParameter(f"--vary '{text}': '{key.strip()}' is varied twice")
        space[key.strip()] = values
    base = api.load(scenario)
    from qcnlab.advising.searching import Options, search

    bounds = None if subject_to is None else tuple(each for each in subject_to if each != "none")
    options = Options(
        minimize, maximize, bounds, tuple(space.items()), chosen, trials, around=flatness
    )
    folder = out or ROOT / f"advise-{base.name}"
    try:
        told = search(
            base, scenario, changes or [], options, folder,
            reps=reps, seed=seed, jobs=jobs, on=on,
            say=lambda line: print(line, file=sys.stderr),
        )  # fmt: skip
    except (KeyboardInterrupt, SystemExit):
        print(
            f"trials that ended are kept in '{folder}'; the same command goes on", file=sys.stderr
        )
        raise
    if as_json:
        print_json(told.summary)
    else:
        print(f"{told.text()}\n\n{folder}")
