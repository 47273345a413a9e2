"""The commands `qcnlab live ...`: doctor, run, up, compare."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab.cli.options import Changes, File, Json, Seed, print_json
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.live.running import Finding
    from qcnlab.runs.live_account import Paced, Timing

app = typer.Typer(
    help="Run scenarios on real frames, on Linux.\n\n"
    "Frames cross links between network namespaces of this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Scale = Annotated[
    int, typer.Option("--scale", min=1, max=100_000, help="Run so many times slower.")
]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="DIR", help="Folder; runs/live-... if not given."),
]


class TrafficSource(StrEnum):
    """Who makes the traffic of a live run."""

    own = "own"
    iperf3 = "iperf3"
    none = "none"


class LimiterKind(StrEnum):
    """Who paces the frames of a live run."""

    adapter = "adapter"
    htb = "htb"


@app.command()
def doctor(as_json: Json = False) -> None:
    """Tell what this machine can do of live runs.

    Also what to do about the rest.
    """
    from qcnlab.live.running import examine

    machine = examine()
    if as_json:
        print_json(machine.to_dict())
    else:
        print(doctor_text(machine.findings))
        can = "This machine can run scenarios live."
        print("\n" + (can if machine.able else "This machine cannot run scenarios live."))
    if not machine.able:
        raise typer.Exit(2)


def doctor_text(findings: Sequence[Finding]) -> str:
    """Return the findings as a table: what, whether it works, and what was said or what to do."""
    rows = []
    for each in findings:
        verdict = "yes" if each.works else ("NO" if each.needed else "no")
        said = each.said if each.works else f"{each.said}; {each.remedy}"
        rows.append((each.what, verdict, said))
    return text.table(("what", "works", "found"), rows, left=3)


@app.command()
def run(
    scenario: File,
    changes: Changes = None,
    scale: Scale = 100,
    traffic: Annotated[
        TrafficSource,
        typer.Option(
            "--traffic", help="The scenario's own senders, iperf3 in their place, or nobody."
        ),
    ] = TrafficSource.own,
    limiter: Annotated[
        LimiterKind,
        typer.Option(
            "--limiter", help="Who paces: the adapter in user space, or the kernel's shaper HTB."
        ),
    ] = LimiterKind.adapter,
    seed: Seed = None,
    out: Out = None,
    capture: Annotated[
        bool,
        typer.Option("--capture", help="Write all ports' frames: capture.pcapng in the folder."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a scenario live, print its metrics and write a run folder."""
    from qcnlab import api
    from qcnlab.files.folders import NewFolder
    from qcnlab.live import running
    from qcnlab.results.metrics_text import metrics_text

    ready = api.load(scenario).with_(*(changes or []))
    folder = NewFolder.named(f"live-{ready.name}-1to{scale}") if out is None else NewFolder(out)
    with folder:
        result = running.run(
            ready,
            scale=scale,
            traffic=traffic.value,
            limiter=limiter.value,
            seed=seed,
            capture=folder.path / running.CAPTURE if capture else None,
        )
        result.write_into(folder.path)
    timing = result.meta["live"]["timing"]
    if as_json:
        told = {"folder": str(folder.final), **result.summary.to_dict()}
        print_json({**told, "live": result.meta["live"]})
        return
    print(metrics_text(result))
    print("\n" + limiter_text(result.meta["live"]["limiter"]))
    print(timing_text(timing))
    print(f"\n{folder.final}")


@app.command()
def up(
    scenario: File,
    changes: Changes = None,
    scale: Scale = 100,
    traffic: Annotated[
        TrafficSource, typer.Option("--traffic", help="Who makes traffic beside what you start.")
    ] = TrafficSource.none,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Put before the name of each namespace.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON each second instead of the view.")
    ] = False,
) -> None:
    """Leave a scenario's network standing for programs of your own.

    It stands until Ctrl-C. Needs root.
    """
    from dataclasses import asdict

    from qcnlab import api
    from qcnlab.live import standing

    ready = api.load(scenario).with_(*(changes or []))

    def line(seen: standing.Seen) -> None:
        print(json.dumps(asdict(seen)), flush=True)

    tell = line if as_json else standing.Screen()
    standing.stand(ready, tell, scale=scale, traffic=traffic.value, prefix=prefix)
    print("The network is gone.", file=sys.stderr)


@app.command()
def compare(
    scenario: File,
    changes: Changes = None,
    scale: Scale = 100,
    seed: Seed = None,
    reps: Annotated[
        int, typer.Option("--reps", min=1, max=1000, help="Replications of the simulation.")
    ] = 30,
    live_reps: Annotated[
        int,
        typer.Option(
            "--live-reps",
            min=1,
            max=100,
            help="Live runs; one with INVALID TIMING is repeated once.",
        ),
    ] = 3,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run a scenario live and simulate it at the same scale.

    Both are in one table and one figure.
    """
    from qcnlab import api

    ready = api.load(scenario).with_(*(changes or []))
    from qcnlab.figures import plots
    from qcnlab.files.folders import NewFolder
    from qcnlab.live import comparing

    name = f"compare-live-{ready.name}-1to{scale}"
    folder = NewFolder.named(name) if out is None else NewFolder(out)
    with folder:
        both = comparing.compare(ready, scale=scale, seed=seed, reps=reps, live_reps=live_reps)
        runs = [(f"live-{number}", result) for number, result in enumerate(both.live, 1)]
        for part, result in (*runs, ("simulated", both.simulated)):
            (folder.path / part).mkdir()
            result.write_into(folder.path / part)
        plots.save(both.figure(), folder.path / "compare.svg")
        (folder.path / "compare.txt").write_text(both.table() + "\n", encoding="utf-8")
    timings = [result.meta["live"]["timing"] for result in both.live]
    if as_json:
        rows = {"folder": str(folder.final), "scale": scale, "rows": both.rows(), "timing": timings}
        print_json(rows)
        return
    print(both.table())
    for number, timing in enumerate(timings, 1):
        print(f"live run {number}: {timing_text(timing)}")
    print(f"\n{folder.final}")


def limiter_text(limiter: Paced) -> str:
    """Return who paced and how evenly, in words."""
    spacing = limiter["spacing"]
    if spacing is None:
        return f"limiter: {limiter['kind']}; no frame had to wait for it"
    at = spacing["percentiles"]
    return (
        f"limiter: {limiter['kind']}; {spacing['frames']:,} frames followed another at "
        f"{at[1]:.2f} to {at[99]:.2f} of the distance that the rate asks for (1 % to 99 %), "
        f"standard deviation {spacing['std']:.2f}"
    )


def timing_text(timing: Timing) -> str:
    """Return what a run measured of itself, in words, and what to do where that is INVALID."""
    late = timing["lateness"]
    words = f"timing: {timing['label'] or 'valid'}; scheduling {timing['scheduling']}; "
    if late["frames"] == 0:
        return words + "no frame was sent"
    words += (
        f"of {late['frames']:,} frames 1 % left more than {late['p99_us']:,} us late, "
        f"0.1 % more than {late['p999_us']:,} us, the latest {late['max_us']:,} us"
    )
    stopped = timing["clock_stopped"]
    if stopped["times"]:
        words += (
            f"; the machine stood still {text.counted(stopped['times'], 'time')}, "
            f"{stopped['total_ms']:.0f} ms in all, {stopped['longest_ms']:.1f} ms at most, "
            "and the run's clock with it"
        )
    lines = [words, *(f"  {reason}" for reason in timing["reasons"])]
    if timing["reasons"]:
        lines.append("  Run it again on a quieter machine, or with a larger --scale.")
    return "\n".join(lines)
