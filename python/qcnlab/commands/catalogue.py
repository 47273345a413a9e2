"""The commands that run nothing and tell what there is: `check`, `list`, `explain`, `schema`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import typer

from qcnlab import _core
from qcnlab.cli import shell_words
from qcnlab.cli.options import Changes, Json, print_json
from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.runs.replayed import ReplayedCapture


class Kind(StrEnum):
    """The kinds of entries that `list` prints."""

    schemes = "schemes"
    presets = "presets"
    scenarios = "scenarios"
    topologies = "topologies"
    traffic = "traffic"
    arrivals = "arrivals"
    transports = "transports"
    sizes = "sizes"
    metrics = "metrics"
    parameters = "parameters"


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|NAME...",
            help="Scenario files, or shipped scenarios.",
            autocompletion=shell_words.scenarios_or_files,
        ),
    ],
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Check scenario files; exit with 2 if one cannot be run."""
    from qcnlab import captures

    verdicts = [_verdict(file, changes or []) for file in files]
    if as_json:
        print_json(verdicts)
    for verdict in verdicts:
        if verdict["ok"] is False:
            sys.stdout.flush()
            print(verdict["text"], file=sys.stderr)
            continue
        for warning in verdict["warnings"]:
            print(f"warning: {verdict['file']}: {warning}", file=sys.stderr)
        if not as_json:
            memory = text.octets(verdict["memory_bytes"])
            title = f", {verdict['title']}" if verdict["title"] else ""
            print(f"{verdict['file']}: ok{title}; takes about {memory} of memory")
            for line in verdict["thresholds"]:
                print(f"  part of the free buffer at {line}")
            for line in verdict["headrooms"]:
                print(f"  headroom at {line}")
            for capture in verdict["captures"]:
                print("\n".join(f"  {line}" for line in captures.held(capture)))
    if not all(verdict["ok"] for verdict in verdicts):
        raise typer.Exit(2)


def list_(
    kind: Annotated[Kind, typer.Argument(metavar="WHAT", help=f"One of {', '.join(Kind)}.")],
    as_json: Json = False,
) -> None:
    """List what there is."""
    from qcnlab import catalogue
    from qcnlab.catalogue import listings

    # Traffic is arrivals and what carries them.
    kinds = [Kind.arrivals, Kind.transports] if kind is Kind.traffic else [kind]
    if as_json:
        lists = [getattr(catalogue, each.value)() for each in kinds]
        print_json([catalogue.plain(entry) for entries in lists for entry in entries])
        return
    print("\n\n".join(listings.listing(each.value) for each in kinds))


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="A word of the field, metric, scheme, preset, scenario, distribution of sizes, or "
            "parameter (key, last part, alias, choice).",
            autocompletion=shell_words.known_names,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Tell what a name means."""
    from qcnlab import catalogue

    entries = catalogue.find(name)
    if as_json:
        print_json([{"kind": each.kind, **catalogue.plain(each)} for each in entries])
        return
    print(catalogue.explain(entries, text.width()))


def schema() -> None:
    """Print the JSON Schema of a scenario file."""
    print(_core.schema(), end="")


class Faulty(TypedDict):
    """A scenario that cannot be run, with what is wrong, where, and what to do."""

    file: str
    ok: Literal[False]
    line: int | None
    column: int | None
    message: str
    hint: str | None
    text: str


class Sound(TypedDict):
    """A scenario that can be run; its memory in octets, by part."""

    file: str
    ok: Literal[True]
    name: str
    title: str
    hash: str
    warnings: list[str]
    thresholds: list[str]
    headrooms: list[str]
    captures: tuple[ReplayedCapture, ...]
    memory_bytes: int
    memory: dict[str, int]


def _verdict(file: str, changes: list[str]) -> Sound | Faulty:
    """Return whether a scenario can be run: its name and memory, or what is wrong with it."""
    from qcnlab import api
    from qcnlab.commands import deadlock
    from qcnlab.errors import ScenarioError, rendered
    from qcnlab.files.folders import is_there

    try:
        scenario = api.load(Path(file) if is_there(Path(file)) else file).with_(*changes)
    except ScenarioError as error:
        return {
            "file": file,
            "ok": False,
            "line": error.line,
            "column": error.column,
            "message": error.message,
            "hint": error.hint,
            "text": rendered(error),
        }
    memory = scenario.memory()
    return {
        "file": file,
        "ok": True,
        "name": scenario.name,
        "title": scenario.title,
        "hash": scenario.hash,
        "warnings": [*scenario.warnings(), *deadlock.warnings(scenario)],
        "thresholds": scenario.thresholds(),
        "headrooms": scenario.headrooms(),
        "captures": scenario.captures(),
        "memory_bytes": sum(memory.values()),
        "memory": memory,
    }
