"""The catalogues of the core: metrics, schemes, presets, scenarios, parameters, by name."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from qcnlab import _core
from qcnlab.errors import scenario_error
from qcnlab.metrics import metrics as metrics
from qcnlab.printing.text import bold, paragraphs, table

Entry = dict[str, Any]

WIDEST = 96
STANDARD_BITS = 6
"""Bits of feedback in a CNM of 802.1Q."""


@cache
def schemes() -> list[Entry]:
    """Return every scheme with its presets and parameters."""
    entries: list[Entry] = json.loads(_core.schemes())
    return entries


@cache
def scenarios() -> list[Entry]:
    """Return every shipped scenario with its text."""
    entries: list[Entry] = json.loads(_core.scenarios())
    return entries


@cache
def parameters() -> list[Entry]:
    """Return every key a scenario file may have."""
    entries: list[Entry] = json.loads(_core.parameters())
    return entries


@cache
def presets() -> list[Entry]:
    """Return every preset, each with its `scheme`."""
    return [
        {"scheme": scheme["name"], **preset} for scheme in schemes() for preset in scheme["presets"]
    ]


def topologies() -> list[Entry]:
    """Return every shape of a network: `name` and `about`."""
    return _kinds("topology.kind")


def arrivals() -> list[Entry]:
    """Return every kind of arrivals, which say when traffic offers what: `name` and `about`."""
    return _kinds("traffic.arrivals")


def transports() -> list[Entry]:
    """Return every transport of traffic: `name` and `about`."""
    return _kinds("traffic.transport")


@cache
def sizes() -> list[Entry]:
    """Return every named distribution of flow sizes: `name`, `about` and `mean_bytes`."""
    entries: list[Entry] = json.loads(_core.sizes())
    return entries


@cache
def _kinds(key: str) -> list[Entry]:
    [entry] = (entry for entry in parameters() if entry["key"] == key)
    return list(entry["choices"])


def find(name: str) -> list[Entry]:
    """Return all entries called `name`, each with its `kind`.

    Parameters
    ----------
    name : str
        A metric, scheme, preset, scenario or distribution of sizes; a parameter by its whole key,
        by its last part, or by one of its aliases, or a name in one; a word of the field; or what
        a parameter can be, such as ``halving_doubling``. Case does not matter, nor do hyphens and
        blanks.

    Returns
    -------
    list of dict
        At least one.

    Raises
    ------
    ScenarioError
        If nothing is called so; it proposes what is near in meaning, then in spelling.
    """
    from qcnlab.catalogue.words import aliases, nearest, plain_form

    form = plain_form(name)
    entries = _called(name) + [
        entry for other in aliases().get(form, []) for entry in _called(other)
    ]
    entries = entries or _choices().get(form, [])
    if entries:
        return list({id(entry): entry for entry in entries}.values())
    near = nearest(name, _meanings())
    raise scenario_error(
        f"nothing is called '{name}'",
        hint=f"did you mean {', '.join(near)}?"
        if near
        else "`qcnlab list ...` shows what there is",
    )


def _called(name: str) -> list[Entry]:
    """Return what has exactly this name, or where nothing has, the same but for its form."""
    from qcnlab.catalogue.words import plain_form

    wanted, form = name.strip().lower(), plain_form(name)
    exact = [entry for called, entry in _index() if wanted in called]
    return exact or [entry for called, entry in _index() if form in map(plain_form, called)]


@cache
def _choices() -> dict[str, list[Entry]]:
    """Return what parameters can be by its plain form, other than schemes and presets."""
    from qcnlab.catalogue.words import plain_form

    choices: dict[str, list[Entry]] = {}
    for entry in parameters():
        if entry["key"] in ("scheme.name", "scheme.preset"):
            continue
        for choice in entry["choices"] or []:
            one = {"kind": "choice", "key": entry["key"], **choice}
            same = choices.setdefault(plain_form(choice["name"]), [])
            if one not in same:
                same.append(one)
    return choices


@cache
def _meanings() -> dict[str, list[str]]:
    """Return what `find` knows, by the name that is proposed: its names, and what it is last."""
    from qcnlab.catalogue.words import aliases

    meanings: dict[str, list[str]] = {}
    for called, entry in _index():
        proposal = entry["key"] if entry["kind"] == "parameter" else entry["name"]
        about = entry["title"] if entry["kind"] == "scenario" else entry["about"]
        # A scenario's name is a sentence, which shares words with much.
        names = [] if entry["kind"] == "scenario" else sorted(called)
        meanings[proposal] = [*names, *meanings.get(proposal, [])[:-1], about]
    for alias, names in aliases().items():
        if names[0] in meanings:
            meanings[names[0]].insert(0, alias)
    return meanings


def explain(entries: list[Entry], columns: int) -> str:
    """Return a text about `entries`, which `find` returned, at most `columns` wide."""
    columns = min(columns, WIDEST)
    tell = {
        "metric": _metric,
        "scheme": _scheme,
        "preset": _preset,
        "scenario": _scenario,
        "parameter": _parameter,
        "word": _word,
        "sizes": _sizes,
        "choice": _choice,
    }
    return "\n\n".join(tell[entry["kind"]](entry, columns) for entry in _merged(entries))


def default_of(entry: Entry) -> str:
    """Return the default of a parameter in words."""
    return "required" if entry["required"] else str(entry["default"] or "")


@cache
def _index() -> list[tuple[set[str], Entry]]:
    from qcnlab.catalogue.words import words as field_words

    index: list[tuple[set[str], Entry]] = []
    for entry in metrics():
        called = {entry["name"], entry["title"].lower()}
        index.append((called, {"kind": "metric", **entry}))
    for entry in schemes():
        index.append(({entry["name"]}, {"kind": "scheme", **entry}))
        for preset in entry["presets"]:
            called = {preset["name"].lower()}
            index.append((called, {"kind": "preset", "scheme": entry["name"], **preset}))
    for entry in scenarios():
        index.append(({entry["name"]}, {"kind": "scenario", **entry}))
    for entry in sizes():
        index.append(({entry["name"]}, {"kind": "sizes", **entry}))
    for entry in field_words():
        called = {word.lower() for word in (entry["name"], *entry["also"])}
        index.append((called, {"kind": "word", **entry}))
    for entry in parameters():
        index.append((_parameter_names(entry), {"kind": "parameter", **entry}))
    return index


def _parameter_names(entry: Entry) -> set[str]:
    key = entry["key"].lower()
    aliases = [alias.strip().lower() for alias in (entry["aliases"] or "").split(",")]
    # Names in a formula, such as dce_tcp_g in 1 - dce_tcp_g / 1024.
    named = re.findall(r"[a-z]\w*_\w+", " ".join(aliases))
    last = key.rsplit(".", 1)[-1]
    return {key, last, key.removeprefix("scheme."), *filter(None, aliases), *named}


def _merged(entries: list[Entry]) -> list[Entry]:
    """Return the entries with parameters joined that differ in scheme and default alone."""
    merged: dict[tuple[Any, ...], Entry] = {}
    for position, entry in enumerate(entries):
        if entry["kind"] != "parameter":
            merged[(position,)] = entry
            continue
        same = (entry["key"], entry["about"], entry["range"], entry["type"])
        first = merged.setdefault(same, {**entry, "defaults": {}})
        of = first["defaults"].setdefault(default_of(entry), [])
        if entry["scheme"]:
            of.append(entry["scheme"])
    return list(merged.values())


def _head(kind: str, name: str, rest: str = "") -> str:
    return bold(name) + f"  ({kind}{', ' + rest if rest else ''})"


def _metric(entry: Entry, columns: int) -> str:
    lines = [_head("metric", entry["name"], f"in {entry['unit']}" if entry["unit"] else "")]
    lines.append(paragraphs(f"{entry['title']}: {entry['about']}", columns, "  "))
    if entry["source"]:
        lines.append(paragraphs(f"Source: {entry['source']}", columns, "  "))
    return "\n".join(lines)


def _scheme(entry: Entry, columns: int) -> str:
    lines = [
        _head("scheme", entry["name"], entry["status"]),
        paragraphs(entry["title"], columns, "  "),
        "",
        paragraphs(entry["about"], columns, "  "),
        "",
        f"  hears {_words(entry['hears'])}, speaks {_words(entry['speaks'])}",
    ]
    if entry["source"]:
        lines.append(paragraphs(f"Source: {entry['source']}", columns, "  "))
    for preset in entry["presets"]:
        lines += ["", f"  preset {bold(preset['name'])}"]
        lines.append(paragraphs(about(entry["name"], preset), columns, "    "))
    if entry["parameters"]:
        rows = [
            (
                "  " + parameter["key"],
                default_of(parameter) or f"unset ({parameter['type']})",
                parameter["aliases"] or "",
            )
            for parameter in entry["parameters"]
        ]
        lines += ["", table(("  parameter", "default", "also called"), rows, left=3)]
    readings = [each for each in entry["parameters"] if each["type"] in ("choice", "boolean")]
    if readings:
        lines += ["", "  Readings: where the sources leave a choice."]
    for reading in readings:
        words = f"{reading['key']} = {default_of(reading)}: {reading['about']}"
        lines.append(paragraphs(words, columns, "  "))
        lines += [
            paragraphs(f"{choice['name']}: {choice['about']}", columns, "    ")
            for choice in reading["choices"] or []
        ]
    return "\n".join(lines)


def about(scheme: str, preset: Entry) -> str:
    """Return what a preset of a scheme is, and that its messages have no standard frame."""
    words = str(preset["about"])
    note = frame_note(scheme, preset.get("cp", {}))
    return words if not note or "no standard frame" in words else f"{words} {note}"


def frame_note(scheme: str, cp: Entry) -> str:
    """Return why messages have no standard frame; empty where they have one, or are no CNMs.

    Parameters
    ----------
    scheme : str
        A scheme's name.
    cp : dict
        Parameters of its congestion points.
    """
    bits = cp.get("fb_bits", STANDARD_BITS)
    speaks = {entry["name"]: entry["speaks"] for entry in schemes()}.get(scheme, [])
    if bits <= STANDARD_BITS or "CNM" not in speaks:
        return ""
    return (
        f"Feedback of {bits} bits has no standard frame: a CNM of 802.1Q carries {STANDARD_BITS}, "
        f"and a capture shows the first {STANDARD_BITS}."
    )


def _words(values: list[str]) -> str:
    return ", ".join(values) or "nothing"


def _word(entry: Entry, columns: int) -> str:
    lines = [_head("word", entry["name"])]
    lines.append(paragraphs(entry["about"], columns, "  "))
    if entry["also"]:
        lines.append(paragraphs(f"Also called {', '.join(entry['also'])}.", columns, "  "))
    if entry["unit"]:
        lines.append(paragraphs(f"Unit: {entry['unit']}.", columns, "  "))
    if entry["here"]:
        lines.append(paragraphs(f"Here: {', '.join(entry['here'])}.", columns, "  "))
    if not entry["modelled"]:
        lines.append("  qcnlab does not model it.")
    if entry["see"]:
        lines.append(paragraphs(f"See also {', '.join(entry['see'])}.", columns, "  "))
    return "\n".join(lines)


def _preset(entry: Entry, columns: int) -> str:
    lines = [_head("preset", entry["name"], f"of scheme {entry['scheme']}")]
    lines.append(paragraphs(about(entry["scheme"], entry), columns, "  "))
    for role in ("cp", "rp"):
        for key, value in entry.get(role, {}).items():
            shown = str(value).lower() if isinstance(value, bool) else value
            lines.append(f"  scheme.{role}.{key} = {shown}")
    return "\n".join(lines)


def _scenario(entry: Entry, columns: int) -> str:
    lines = [_head("scenario", entry["name"], entry["folder"])]
    lines.append(paragraphs(entry["title"], columns, "  "))
    if entry["about"]:
        lines += ["", paragraphs(entry["about"], columns, "  ")]
    if entry["source"]:
        lines.append(paragraphs(f"Source: {entry['source']}", columns, "  "))
    return "\n".join([*lines, "", entry["text"].rstrip("\n")])


def _sizes(entry: Entry, columns: int) -> str:
    lines = [_head("sizes of flows", entry["name"])]
    lines.append(paragraphs(f"{entry['about']}.", columns, "  "))
    lines.append(f"  Mean: {entry['mean_bytes']:,.0f} B.")
    lines.append(f"  Here: traffic.sizes = '{entry['name']}'.")
    return "\n".join(lines)


def _choice(entry: Entry, columns: int) -> str:
    head = _head(f"choice of {entry['key']}", entry["name"])
    return "\n".join([head, paragraphs(entry["about"], columns, "  ")])


def _parameter(entry: Entry, columns: int) -> str:
    kind = entry["type"] + (f", {entry['range']}" if entry["range"] else "")
    lines = [_head("parameter", entry["key"], kind), paragraphs(entry["about"], columns, "  ")]
    if entry["aliases"]:
        lines.append(paragraphs(f"Also called {entry['aliases']}.", columns, "  "))
    for choice in entry["choices"] or []:
        lines.append(paragraphs(f"{choice['name']}: {choice['about']}", columns, "    "))
    for default, of in entry["defaults"].items():
        value = default if default == "required" else f"default {default or 'none'}"
        where = f"  (scheme{'s' if len(of) > 1 else ''} {', '.join(of)})" if of else ""
        lines.append(f"  {value}{where}")
    return "\n".join(lines)
