"""The commands: they read options, print data on stdout and messages on stderr."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from qcnlab import _core, conform, endings, flow_commands, mib, text
from qcnlab.api import MOST_JOBS, MOST_REPS, MOST_SEED
from qcnlab.live import command as live

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.api import Scenario
    from qcnlab.captures import Capture
    from qcnlab.errors import FolderError
    from qcnlab.folders import NewFolder
    from qcnlab.results import Result

T = TypeVar("T")

app = typer.Typer(
    help="A congestion-management laboratory for Ethernet fabrics: QCN, ECM and their family.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(live.app, name="live")

Changes = Annotated[
    list[str] | None,
    typer.Option("-s", "--set", metavar="KEY=VALUE", help="Change a key; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, max=MOST_JOBS, help="Threads; all cores if not given."),
]
Reps = Annotated[
    int | None,
    typer.Option(
        "--reps", min=1, max=MOST_REPS, help="Replications; the scenario's own if not given."
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, max=MOST_SEED, help="Seed; the scenario's own if not given.")
]

app.add_typer(conform.app, name="conform")

CAPTURE = "capture.pcapng"
"""The name of a capture in a run folder."""


class Kept(StrEnum):
    """How much of a frame a capture keeps."""

    headers = "headers"
    all = "all"


class Kind(StrEnum):
    """The kinds of entries that `list` prints."""

    schemes = "schemes"
    scenarios = "scenarios"
    metrics = "metrics"
    parameters = "parameters"


def _version(asked: bool) -> None:
    if asked:
        print(f"qcnlab {_core.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


app.command(name="mib")(mib.mib)


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A scenario file, or a shipped scenario.")
    ],
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
    as_json: Json = False,
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
    """Run a scenario, print its metrics and write a run folder; exit with 1 after a deadlock."""
    from qcnlab import api
    from qcnlab.folders import NewFolder
    from qcnlab.metrics_text import metrics_text

    ready = api.load(scenario).with_(*(changes or []))
    folder = NewFolder.named(f"{ready.name}-{ready.hash[:8]}") if out is None else NewFolder(out)
    _tell_of_frames(ready, captured=capture is not None)
    limits = (capture_file, capture_count, capture_size, capture_from, capture_until, capture_snap)
    wanted = None
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
    captured: dict[str, Any] = {}
    flow_commands.warn(ready)

    def work() -> Result:
        if wanted is None:
            return api.run(ready, seed=seed, reps=reps, jobs=jobs)
        return _run_captured(ready, wanted, capture_file, folder, captured, seed, reps, jobs)

    result, unwritten = _keep(folder, work, lambda result, path: result.write_into(path))
    written = None if unwritten else str(folder.final)
    if captured:
        captured["file"] = str(capture_file or folder.final / CAPTURE)
    if as_json:
        extra = {"capture": captured} if captured else {}
        _print_json({"folder": written, **result.summary, "profile": _profile(result), **extra})
    else:
        print(metrics_text(result))
        if profile:
            print("\n" + _profile_text(result))
        if captured:
            print("\n" + _capture_text(captured))
        if written:
            print(f"\n{written}")
    if unwritten:
        raise unwritten
    if captured and captured["failure"]:
        from qcnlab.errors import Error

        raise Error(f"{captured['file']}: {captured['failure']}; the results of the run are whole")
    if endings.deadlocked(result.summary):
        raise typer.Exit(1)


def _tell_of_frames(scenario: Scenario, *, captured: bool) -> None:
    """Say on stderr if messages that become frames have no standard frame."""
    from qcnlab.catalogue import frame_note

    tree = scenario.to_dict()
    if captured or tree["feedback"]["kind"] == "frames":
        note = frame_note(tree["scheme"]["name"], tree["scheme"].get("cp", {}))
        if note:
            print(f"note: {note}", file=sys.stderr)


@app.command()
def sweep(
    scenario: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A scenario file, or a shipped scenario.")
    ],
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="KEY=V,V,...",
            help="A key and its values, 2..5 for 2,3,4,5; repeat it for a grid.",
        ),
    ],
    changes: Changes = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="What is shown; the first is drawn. May be repeated."
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
    as_json: Json = False,
) -> None:
    """Run a scenario over a grid of values; the same command again runs what is missing.

    Exits with 1 if a run ended in a deadlock; its point is marked.
    """
    from qcnlab.sweeps import command

    options = command.Options(
        scenario, changes or [], vary, metric or [], reps, seed, jobs, out, fresh, dry_run
    )
    summary, words = command.sweep(options)
    if as_json:
        _print_json(summary)
    else:
        print(words)
    if command.has_deadlock(summary):
        raise typer.Exit(1)


app.command()(flow_commands.fct)
app.command()(flow_commands.compare)


@app.command()
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
    from qcnlab.folders import NewFolder

    folder = NewFolder.named("demo") if out is None else NewFolder(out)
    done, unwritten = _keep(
        folder, lambda: run_cells(quick=quick, reps=reps, jobs=jobs), write_demo
    )
    written = None if unwritten else str(folder.final)
    if as_json:
        _print_json({"folder": written, **done.summary})
    else:
        print(done.text(text.width()))
        if written:
            print(f"\nReport: {folder.final / 'report.html'}")
    if unwritten:
        raise unwritten


@app.command()
def analyse(
    scenario: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A scenario file, or a shipped scenario.")
    ],
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
    """Lay control theory beside a scenario's packets."""
    from qcnlab import api
    from qcnlab.analysis import command
    from qcnlab.folders import NewFolder

    if reps is not None and not sweep:
        raise typer.BadParameter("--reps is for --sweep; the figure shows one run")
    ready = api.load(scenario).with_(*(changes or []))
    folder = NewFolder.named(f"analysis-{ready.name}") if out is None else NewFolder(out)
    with folder:
        if sweep:
            summary, words = command.sweep(ready, folder.path, seed, reps, jobs)
        else:
            summary, words = command.analyse(ready, folder.path, seed)
    if as_json:
        _print_json({"folder": str(folder.final), **summary})
        return
    print(f"{words}\n\n{folder.final}")


@app.command()
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
    """Run the validation book; exit with 1 if the runs do not bear out what a row says."""
    from qcnlab.book import command

    summary, words, holds = command.validate(
        wanted or [],
        quick=quick,
        controls=controls,
        finished=finished,
        jobs=jobs,
        cache=out,
        pages=pages,
        book=book,
    )
    if as_json:
        _print_json(summary)
    else:
        print(words)
    if not holds:
        raise typer.Exit(1)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    as_json: Json = False,
) -> None:
    """Check scenario files; exit with 2 if one cannot be run."""
    verdicts = [_verdict(file) for file in files]
    if as_json:
        _print_json(verdicts)
    for verdict in verdicts:
        for warning in verdict.get("warnings", []):
            print(f"warning: {verdict['file']}: {warning}", file=sys.stderr)
        if not verdict["ok"]:
            sys.stdout.flush()
            print(verdict["text"], file=sys.stderr)
        elif not as_json:
            memory = text.octets(verdict["memory_bytes"])
            title = f", {verdict['title']}" if verdict["title"] else ""
            print(f"{verdict['file']}: ok{title}; takes about {memory} of memory")
    if not all(verdict["ok"] for verdict in verdicts):
        raise typer.Exit(2)


@app.command(name="list")
def list_(
    kind: Annotated[Kind, typer.Argument(metavar="schemes|scenarios|metrics|parameters")],
    as_json: Json = False,
) -> None:
    """List what there is."""
    from qcnlab import catalogue

    entries = getattr(catalogue, kind.value)()
    if as_json:
        _print_json(entries)
        return
    print(catalogue.listing(kind.value, entries))


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="A metric, scheme, preset, scenario, or parameter (key, last part, alias)."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Tell what a name means."""
    from qcnlab import catalogue

    entries = catalogue.find(name)
    if as_json:
        _print_json(entries)
        return
    print(catalogue.explain(entries, text.width()))


@app.command()
def plot(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder `run`, `sweep` or `demo` wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="A file (.svg, .png, .pdf) for a run, a new folder for a demo; DIR if not given.",
        ),
    ] = None,
) -> None:
    """Draw the figures of a run folder again; print the paths."""
    from qcnlab.redraw import redraw

    for path in redraw(folder, out):
        print(path)


@app.command()
def frames(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A capture, pcapng or pcap, of any program.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only such frames: CNM, PFC. May be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the frames of a capture: time, port, kind, Fb, CPID, RPID, offset, delta, quanta."""
    from qcnlab import captures

    kinds = frozenset(name.lower() for name in kind or [])
    if not as_json:
        for line in captures.lines(file, kinds):
            print(line)
        return
    separator = "["
    for frame in captures.frames(file):
        if not kinds or frame["kind"].lower() in kinds:
            print(separator, json.dumps(frame), sep="\n", end="")
            separator = ","
    print("\n]" if separator == "," else "[]")


@app.command()
def dissector(
    install: Annotated[
        bool, typer.Option("--install", help="Write it into Wireshark's personal folder.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="With --install: another folder."),
    ] = None,
) -> None:
    """Print the Lua dissector that teaches Wireshark CN-TAG and CNM, or install it."""
    import qcnlab.dissector

    if install:
        print(qcnlab.dissector.install(folder))
    elif folder is not None:
        raise typer.BadParameter("--folder goes with --install")
    else:
        print(qcnlab.dissector.source(), end="")


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario file."""
    print(json.dumps(json.loads(_core.schema()), indent=2))


def _run_captured(
    scenario: Scenario,
    capture: Capture,
    file: Path | None,
    folder: NewFolder,
    captured: dict[str, Any],
    seed: int | None,
    reps: int | None,
    jobs: int | None,
) -> Result:
    """Run a scenario and capture it; what the capture came to is put into `captured`."""
    from qcnlab.captures import run_captured
    from qcnlab.folders import whole

    def run(path: Path) -> Result:
        result, summary = run_captured(scenario, capture, path, reps=reps, seed=seed, jobs=jobs)
        captured.update(summary)
        return result

    # What is no regular file, such as a pipe, is written as it is.
    if file is None or (file.exists() and not file.is_file()):
        return run(file or folder.path / CAPTURE)
    with whole(file) as path:
        return run(path)


def _capture_text(captured: dict[str, Any]) -> str:
    ports = text.counted(len(captured["ports"]), "port")
    count = text.counted(captured["frames"], "frame")
    limit = captured["limit"]
    ended = f"; ended by the limit of {limit}" if limit else ""
    return f"{captured['file']}: {count} of {ports}, {text.octets(captured['octets'])}{ended}"


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


def _keep(
    folder: NewFolder, work: Callable[[], T], write: Callable[[T, Path], object]
) -> tuple[T, FolderError | None]:
    """Do the work and write it into `folder`; the result survives a folder that cannot be written.

    Returns
    -------
    tuple
        What `work` returned, and the error if it could not be written.

    Raises
    ------
    FolderError
        If the folder cannot be written from the start: nothing was done.
    """
    from qcnlab.errors import FolderError

    done: list[T] = []
    try:
        with folder:
            done.append(work())
            write(done[0], folder.path)
    except FolderError as error:
        if not done:
            raise
        return done[0], error
    return done[0], None


def _verdict(file: Path) -> dict[str, Any]:
    """Return whether a scenario file can be run: its name and memory, or what is wrong with it."""
    from qcnlab import api
    from qcnlab.errors import ScenarioError, rendered

    try:
        scenario = api.load(file)
    except ScenarioError as error:
        return {
            "file": str(file),
            "ok": False,
            "line": error.line,
            "column": error.column,
            "message": error.message,
            "hint": error.hint,
            "text": rendered(error),
        }
    memory = scenario.memory()
    return {
        "file": str(file),
        "ok": True,
        "name": scenario.name,
        "title": scenario.title,
        "hash": scenario.hash,
        "warnings": scenario.warnings(),
        "memory_bytes": sum(memory.values()),
        "memory": memory,
    }


def _print_json(value: object) -> None:
    unicode = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def _profile(result: Result) -> dict[str, float]:
    counters = result.summary["counters"]
    cpu_s = result.meta["cpu_s"]
    return {
        "frame_hops": counters["frame_hops"],
        "events": counters["events"],
        "cpu_s": cpu_s,
        "frame_hops_per_cpu_s": round(counters["frame_hops"] / cpu_s) if cpu_s else 0,
        "wall_s": result.meta["wall_s"],
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
