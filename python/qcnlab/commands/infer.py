"""`qcnlab infer`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qcnlab.cli.options import Jobs, Json, On, print_json
from qcnlab.values import MOST_REPS, MOST_SEED


def infer(
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="DECK...", help="Decks or papers of the book, or single rows."),
    ],
    dimension: Annotated[
        list[str] | None,
        typer.Option("--dimension", metavar="NAME", help="Search this one; may be repeated."),
    ] = None,
    hold: Annotated[
        list[str] | None,
        typer.Option(
            "--hold", metavar="NAME=VALUE", help="Keep a dimension at a value; may be repeated."
        ),
    ] = None,
    reps: Annotated[
        int,
        typer.Option(
            "--reps", min=1, max=MOST_REPS, help="Replications of a case while searching."
        ),
    ] = 4,
    final_reps: Annotated[
        int,
        typer.Option(
            "--final-reps", min=1, max=MOST_REPS, help="Replications of a case with the best sets."
        ),
    ] = 10,
    starts: Annotated[
        int, typer.Option("--starts", min=0, max=1000, help="Random starts beside the stated set.")
    ] = 1,
    pairs: Annotated[
        int,
        typer.Option(
            "--pairs", min=0, max=100_000, help="Pairs of values that are tried, at most."
        ),
    ] = 40,
    finalists: Annotated[
        int, typer.Option("--finalists", min=1, max=1000, help="Sets that are judged again.")
    ] = 4,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=MOST_SEED, help="Seed of the random starts.")
    ] = 1,
    jobs: Jobs = None,
    on: On = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many runs and how long, and stop.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="What was judged; runs/infer/<decks>."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write a Markdown page there.")
    ] = None,
    book: Annotated[
        Path | None, typer.Option("--book", metavar="DIR", help="The book's files; book.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Search what a source leaves open for the best reading.

    That is the one set of values with which most of the source's printed claims hold.

    The space is in the book's readings.toml. The same command again goes on where it was stopped.
    """
    from qcnlab.infer import command
    from qcnlab.infer.searching import Plan

    options = command.Options(
        wanted,
        dimension or [],
        hold or [],
        Plan(reps, final_reps, starts, pairs, finalists, seed),
        jobs,
        on,
        dry_run,
        out,
        page,
        book,
    )
    summary, words = command.infer(options)
    if as_json:
        print_json(summary)
    else:
        print(words)
