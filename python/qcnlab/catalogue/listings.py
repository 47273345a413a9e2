"""The tables of `qcnlab list`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qcnlab import catalogue
from qcnlab.printing.text import bold, number, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qcnlab.catalogue.entries import Choice, Parameter, Scheme

KINDS = {
    "topologies": "Written as topology.kind; `qcnlab list parameters` has the keys of each.",
    "arrivals": "Written as traffic.arrivals; `qcnlab list parameters` has the keys of each.",
    "transports": "Written as traffic.transport; `qcnlab list parameters` has the keys of each.",
}
"""Lists of kinds, and where a scenario names one."""
SCHEMES = "Written as scheme.name; `qcnlab explain NAME` has its rules, `list presets` its presets."
SIZES = "Written as traffic.sizes; a CSV file with the columns size and part takes its place."


def listing(kind: str) -> str:
    """Return a table of all entries of one kind, which is a name of `catalogue`'s lists.

    Parameters
    ----------
    kind : str
        Such as ``"schemes"``.
    """
    match kind:
        case "schemes":
            return _schemes()
        case "scenarios":
            rows = [(entry.name, entry.folder, entry.title) for entry in catalogue.scenarios()]
            return table(("scenario", "folder", "title"), rows, left=3)
        case "metrics":
            rows = [(entry.name, entry.unit, entry.title) for entry in catalogue.metrics()]
            return table(("metric", "unit", "meaning"), rows, left=3)
        case "presets":
            rows = [(each.name, each.scheme, sentence(each.about)) for each in catalogue.presets()]
            return table(("preset", "scheme", "from"), rows, left=3)
        case "sizes":
            rows = [
                (entry.name, number(entry.mean_bytes, 3), entry.about.partition(":")[0])
                for entry in catalogue.sizes()
            ]
            return f"{table(('sizes', 'mean, B', 'what it is'), rows, left=3)}\n\n{SIZES}"
        case "parameters":
            return _parameters()
    kinds: tuple[Choice, ...] = getattr(catalogue, kind)()
    named = [(entry.name, sentence(entry.about)) for entry in kinds]
    return f"{table((kind, 'what it is'), named, left=2)}\n\n{KINDS[kind]}"


def _schemes() -> str:
    """Return a table for each generation, oldest first."""
    header = ("scheme", "title", "status", "hears", "source")
    parts = []
    for heading, schemes in generations(catalogue.schemes()).items():
        rows = [
            (entry.name, entry.title, entry.status, _all(entry.hears), entry.source)
            for entry in schemes
        ]
        parts.append(f"{bold(heading)}\n\n{table(header, rows, left=5)}")
    return "\n\n".join([*parts, SCHEMES])


def generations(schemes: Iterable[Scheme]) -> dict[str, list[Scheme]]:
    """Return schemes by their generation as a heading, in the order of the first of each."""
    groups: dict[str, list[Scheme]] = {}
    for entry in schemes:
        heading = entry.generation[:1].upper() + entry.generation[1:]
        groups.setdefault(heading, []).append(entry)
    return groups


def sentence(about: str) -> str:
    """Return the first sentence of a text."""
    return re.split(r"(?<=[.:;])\s", about, maxsplit=1)[0].rstrip(".:;")


def _parameters() -> str:
    """Return a table for each kind of parameter; what several schemes share stands there once."""
    groups: dict[str, dict[tuple[str, str, str, str], list[str]]] = {}
    for entry in catalogue.parameters():
        known = groups.setdefault(_group(entry), {})
        row = (entry.key, entry.type, entry.default_in_words, entry.aliases or "")
        known.setdefault(row, []).extend([entry.scheme] if entry.scheme else [])
    parts = []
    for name, known in groups.items():
        of_schemes = any(known.values())
        last = ("of schemes",) if of_schemes else ()
        rows = [
            (*row, *([", ".join(of)] if of_schemes else []))
            for row, of in (sorted(known.items()) if of_schemes else known.items())
        ]
        header = ("parameter", "type", "default", "also called", *last)
        parts.append(f"{bold(name)}\n\n{table(header, rows, left=5)}")
    return "\n\n".join(parts)


def _group(entry: Parameter) -> str:
    """Return what a parameter is about: its table, and the kind that alone has it."""
    names = {"": "The run", "scheme.cp": "Congestion points", "scheme.rp": "Reaction points"}
    section = entry.key.rpartition(".")[0]
    kind = re.search(r"\b(Kinds?|With arrivals|With transport) ([a-z_, ]+) only\.", entry.about)
    word = kind[1].rpartition(" ")[2].lower().rstrip("s") if kind else ""
    key = "arrivals" if word == "arrival" else word
    only = f", {key} {kind[2]}" if kind and section in ("topology", "traffic") else ""
    return names.get(section, f"[{section}]") + only


def _all(values: Sequence[str]) -> str:
    return ", ".join(values) or "nothing"
