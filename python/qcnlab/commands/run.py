"""`qcnlab run`: one scenario, its metrics, its run folder and its capture."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab import _core
from qcnlab.cli.options import Changes, File, Jobs, Json, Reps, Seed, keep, print_json, warn
from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.api import Scenario
    from qcnlab.captures import Capture, CaptureSummary
    from qcnlab.files.folders import NewFolder
    from qcnlab.results.result import Result

CAPTURE = "capture.pcapng"
"""The name of a capture in a run folder."""


class Kept(StrEnum):
    """How much of a frame a capture keeps."""

    headers = "headers"
    all = "all"


def run(
    scenario: File,
    changes: Changes = None,
    seed: Seed = None,
    reps: Reps = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Run folder; runs/<name>-<hash> if not given."
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Print every metric, also those without meaning here."),
    ] = False,
    as_json: Json = False,
    flow_level: Annotated[
        bool,
        typer.Option(
            "--flow-level",
            help="Run without packets: flows share links max-min fairly. Completion times alone.",
        ),
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print the work done and the engine's speed.")
    ] = False,
    capture: Annotated[
        str | None,
        typer.Option(
            "--capture",
            metavar="PORTS",
            help="Write what these ports send as pcapng, of the first replication: 'core->*'.",
        ),
    ] = None,
    capture_frames: Annotated[
        Kept, typer.Option("--capture-frames", help="Keep the headers of frames, or all octets.")
    ] = Kept.headers,
    capture_file: Annotated[
        Path | None,
        typer.Option(
            "--capture-file", metavar="FILE", help="capture.pcapng in the run folder if not given."
        ),
    ] = None,
    capture_count: Annotated[
        int | None, typer.Option("--capture-count", min=0, help="Capture so many frames at most.")
    ] = None,
    capture_size: Annotated[
        str | None,
        typer.Option("--capture-size", metavar="SIZE", help="The largest file: '100 MB'."),
    ] = None,
    capture_from: Annotated[
        str | None,
        typer.Option("--capture-from", metavar="TIME", help="Leave out frames before: '90 ms'."),
    ] = None,
    capture_until: Annotated[
        str | None,
        typer.Option("--capture-until", metavar="TIME", help="Leave out frames from: '110 ms'."),
    ] = None,
    capture_snap: Annotated[
        int | None,
        typer.Option("--capture-snap", min=1, help="Octets kept of a frame; all if not given."),
    ] = None,
) -> None:
    """Run a scenario, print its metrics and write a run folder.

    Exits with 1 after a deadlock.
    """
    from qcnlab import api

    ready = api.load(scenario).with_(*(changes or []))
    # Later than this, so that a scenario that cannot be run is refused at once.
    from qcnlab.files.folders import NewFolder
    from qcnlab.results.metrics_text import metrics_text
    from qcnlab.runs.flow_level import notes

    folder = NewFolder.named(f"{ready.name}-{ready.hash[:8]}") if out is None else NewFolder(out)
    _tell_of_frames(ready, captured=capture is not None)
    limits = (capture_file, capture_count, capture_size, capture_from, capture_until, capture_snap)
    wanted = None
    if flow_level and capture is not None:
        raise typer.BadParameter("--flow-level runs no packets, and --capture writes packets")
    if capture is not None:
        from qcnlab.captures import Capture

        wanted = Capture(
            capture,
            capture_frames.value,
            snap=capture_snap,
            most_frames=capture_count,
            most_octets=_octets("--capture-size", capture_size),
            from_s=_seconds("--capture-from", capture_from) or 0.0,
            until_s=_seconds("--capture-until", capture_until),
        )
    elif any(limit is not None for limit in limits) or capture_frames is not Kept.headers:
        raise typer.BadParameter("options of a capture go with --capture PORTS")
    if capture_file is not None:
        from qcnlab.files.outputs import CAPTURE as KIND
        from qcnlab.files.outputs import writable

        writable(capture_file, KIND)
    captured: list[CaptureSummary] = []
    warn(ready)

    def work() -> Result:
        if wanted is None:
            return api.run(ready, seed=seed, reps=reps, jobs=jobs, flow_level=flow_level)
        return _run_captured(ready, wanted, capture_file, folder, captured, seed, reps, jobs)

    result, unwritten = keep(folder, work, lambda result, path: result.write_into(path))
    written = None if unwritten else str(folder.final)
    file = str(capture_file or folder.final / CAPTURE)
    if as_json:
        extra = {"capture": {**captured[0], "file": file}} if captured else {}
        more = {"headrooms": ready.headrooms(), "profile": _profile(result), **extra}
        if flow_level:
            more["notes"] = notes(result.summary)
        print_json({"folder": written, **result.summary.to_dict(), **more})
    else:
        print(metrics_text(result, every=every))
        for line in ready.headrooms() if not flow_level else []:
            print(f"headroom at {line}")
        if profile:
            print("\n" + _profile_text(result))
        if captured:
            print("\n" + _capture_text(captured[0], file))
        if written:
            print(f"\n{written}")
    if unwritten:
        raise unwritten
    if captured and captured[0]["failure"]:
        from qcnlab.errors import Error

        raise Error(f"{file}: {captured[0]['failure']}; the results of the run are whole")
    if result.summary.deadlocked:
        raise typer.Exit(1)


def _tell_of_frames(scenario: Scenario, *, captured: bool) -> None:
    """Say on stderr if messages that become frames have no standard frame."""
    from qcnlab.catalogue import frame_note

    tree = scenario.to_dict()
    if captured or tree["feedback"]["kind"] == "frames":
        note = frame_note(tree["scheme"]["name"], tree["scheme"].get("cp", {}))
        if note:
            print(f"note: {note}", file=sys.stderr)


def _run_captured(
    scenario: Scenario,
    capture: Capture,
    file: Path | None,
    folder: NewFolder,
    captured: list[CaptureSummary],
    seed: int | None,
    reps: int | None,
    jobs: int | None,
) -> Result:
    """Run a scenario and capture it; what the capture came to is added to `captured`."""
    from qcnlab.captures import run_captured
    from qcnlab.files.folders import whole

    def run(path: Path) -> Result:
        result, summary = run_captured(scenario, capture, path, reps=reps, seed=seed, jobs=jobs)
        captured.append(summary)
        return result

    # What is no regular file, such as a pipe, is written as it is.
    if file is None or (file.exists() and not file.is_file()):
        return run(file or folder.path / CAPTURE)
    with whole(file) as path:
        return run(path)


def _capture_text(captured: CaptureSummary, file: str) -> str:
    ports = text.counted(len(captured["ports"]), "port")
    count = text.counted(captured["frames"], "frame")
    limit = captured["limit"]
    ended = f"; ended by the limit of {limit}" if limit else ""
    return f"{file}: {count} of {ports}, {text.octets(captured['octets'])}{ended}"


def _seconds(option: str, value: str | None) -> float | None:
    return _quantity(option, value, "s", "100 ms")


def _octets(option: str, value: str | None) -> int | None:
    octets = _quantity(option, value, "B", "100 MB")
    return None if octets is None else round(octets)


def _quantity(option: str, value: str | None, unit: str, example: str) -> float | None:
    if value is None:
        return None
    quantity = _core.quantity(value)
    if quantity is None or quantity[1] != unit:
        raise typer.BadParameter(f"{option} '{value}': it is written like '{example}'")
    return quantity[0]


def _profile(result: Result) -> dict[str, float]:
    counters = result.summary.counters
    cpu_s, wall_s = result.meta["cpu_s"], result.meta["wall_s"] or 0.0
    if counters.frame_hops is None:
        return {"events": counters.events, "cpu_s": cpu_s, "wall_s": wall_s}
    return {
        "frame_hops": counters.frame_hops,
        "events": counters.events,
        "cpu_s": cpu_s,
        "frame_hops_per_cpu_s": round(counters.frame_hops / cpu_s) if cpu_s else 0,
        "wall_s": wall_s,
    }


def _profile_text(result: Result) -> str:
    words = {
        "frame_hops": "frame-hops",
        "events": "events",
        "cpu_s": "engine, CPU seconds",
        "frame_hops_per_cpu_s": "frame-hops per CPU second",
        "wall_s": "wall seconds",
    }
    rows = [(words[key], text.number(value)) for key, value in _profile(result).items()]
    return text.table(("profile", "value"), rows)
