"""The commands that run many scenarios: `sweep`, `demo`, `analyse` and `validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab.cli import shell_words
from qcnlab.cli.options import Changes, File, Jobs, Json, On, Reps, Seed, keep, print_json
from qcnlab.printing import text
from qcnlab.runs import intervals
from qcnlab.values import MOST_REPS

if TYPE_CHECKING:
    from collections.abc import Mapping


def sweep(
    scenario: File,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="KEY=V,V,...",
            help="A key and its values, 2..5 for 2,3,4,5; repeat it for a grid.",
            autocompletion=shell_words.changes,
        ),
    ],
    changes: Changes = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="What is shown; the first is drawn. May be repeated.",
            autocompletion=shell_words.metrics,
        ),
    ] = None,
    seed: Seed = None,
    reps: Reps = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Folder; runs/sweep-<name>-<hash> if not given."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the runs that are in the folder.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all points, say what would run, and stop.")
    ] = False,
    with_intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Confidence intervals (95 %) in place of ranges."),
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="SHARE",
            help="Replications until the first --metric is known so well: 5%, '5% of mean'.",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most",
            min=2,
            max=MOST_REPS,
            help="With --precision: most replications of a point; 200. --reps has the least, 10.",
        ),
    ] = None,
    on: On = None,
    as_json: Json = False,
) -> None:
    """Run a scenario over a grid of values.

    The same command again runs what is missing. Exits with 1 if a run ended in a deadlock; its
    point is marked.
    """
    from qcnlab.sweeps import command

    options = command.Options(
        scenario,
        changes or [],
        vary,
        metric or [],
        reps,
        seed,
        jobs,
        out,
        fresh,
        dry_run,
        on,
        intervals.LEVEL if with_intervals else None,
        precision,
        most,
    )
    told = command.sweep(options)
    if as_json:
        print_json(told.summary())
    else:
        print(told.words)
    if told.deadlock:
        raise typer.Exit(1)


def demo(
    quick: Annotated[
        bool, typer.Option("--quick", help="A shorter scene and fewer replications.")
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder to write; runs/demo if not given."),
    ] = None,
    reps: Reps = None,
    as_json: Json = False,
) -> None:
    """Show QCN and ECM in a hotspot: table, figures, report."""
    from qcnlab.demo.running import run_cells, write_demo
    from qcnlab.files.folders import NewFolder

    folder = NewFolder.named("demo") if out is None else NewFolder(out)
    done, unwritten = keep(folder, lambda: run_cells(quick=quick, reps=reps, jobs=jobs), write_demo)
    written = None if unwritten else str(folder.final)
    if as_json:
        print_json({"folder": written, **done.summary})
    else:
        print(done.text(text.width()))
        if written:
            print(f"\nReport: {folder.final / 'report.html'}")
    if unwritten:
        raise unwritten


def analyse(
    scenario: File,
    changes: Changes = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Find the edge of stability over N and RTT.")
    ] = False,
    seed: Seed = None,
    reps: Annotated[
        int | None,
        typer.Option("--reps", min=1, max=MOST_REPS, help="With --sweep: runs per point; 3."),
    ] = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder to write; runs/analysis-<name>."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell whether theory finds a scenario stable, beside a run.

    Congestion control is a loop: a queue grows, senders hear of it a round trip later, and slow
    down. It tells how much more delay the loop stands before rates and queue swing without end, and
    draws the queue that theory expects over that of a run. With --sweep: for which numbers of
    senders and round trips that begins.
    """
    from qcnlab import api

    if reps is not None and not sweep:
        raise typer.BadParameter("--reps is for --sweep; the figure shows one run")
    ready = api.load(scenario).with_(*(changes or []))
    from qcnlab.analysis import command
    from qcnlab.files.folders import NewFolder

    summary: Mapping[str, object]
    folder = NewFolder.named(f"analysis-{ready.name}") if out is None else NewFolder(out)
    with folder:
        if sweep:
            summary, words = command.sweep(ready, folder.path, seed, reps, jobs)
        else:
            summary, words = command.analyse(ready, folder.path, seed)
    if as_json:
        print_json({"folder": str(folder.final), **summary})
        return
    print(f"{words}\n\n{folder.final}")


def validate(
    wanted: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ROW|DECK...]", help="Rows (1.5) or decks (deck001); all of them."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The quick rows, without what they show.")
    ] = False,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="Run the rows without congestion control and with equal cases, too; keep what "
            "came out in the book's evidence.json.",
        ),
    ] = False,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings",
            help="Run the rows with each other reading of the decks, too; writes readings.json.",
        ),
    ] = False,
    laws: Annotated[
        bool,
        typer.Option(
            "--laws",
            help="Run rows with each changed law, too, and see which notice; writes laws.json.",
        ),
    ] = False,
    state: Annotated[
        bool,
        typer.Option(
            "--state",
            help="State in the book's rows what the last runs with --controls gave; the verdicts "
            "before stay in them.",
        ),
    ] = False,
    finished: Annotated[
        bool,
        typer.Option("--finished", help="Run nothing: judge what has been run before."),
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Where finished cases are; runs/book."),
    ] = None,
    pages: Annotated[
        Path | None, typer.Option("--pages", metavar="DIR", help="Write pages and figures there.")
    ] = None,
    book: Annotated[
        Path | None, typer.Option("--book", metavar="DIR", help="The book's files; book.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the validation book.

    Exits with 1 if the runs do not bear out what a row says.
    """
    from qcnlab.book import command

    summary, words, holds = command.validate(
        wanted or [],
        quick=quick,
        controls=controls,
        readings=readings,
        laws=laws,
        state=state,
        finished=finished,
        jobs=jobs,
        cache=out,
        pages=pages,
        book=book,
    )
    if as_json:
        print_json(summary)
    else:
        print(words)
    if not holds:
        raise typer.Exit(1)
