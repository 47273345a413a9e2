"""The catalogues of the core: metrics, schemes, presets, scenarios, parameters, by name."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.catalogue.entries import (
    Choice,
    Entry,
    NamedSizes,
    Parameter,
    Preset,
    Scheme,
    Shipped,
    Word,
)
from qcnlab.errors import scenario_error
from qcnlab.metrics import Metric
from qcnlab.metrics import metrics as metrics
from qcnlab.printing.text import bold, paragraphs, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDEST = 96
STANDARD_BITS = 6
"""Bits of feedback in a CNM of 802.1Q."""


@cache
def schemes() -> tuple[Scheme, ...]:
    """Return every scheme with its presets and parameters."""
    return tuple(map(Scheme.of, json.loads(_core.schemes())))


@cache
def scenarios() -> tuple[Shipped, ...]:
    """Return every shipped scenario with its text."""
    return tuple(Shipped(**each) for each in json.loads(_core.scenarios()))


@cache
def parameters() -> tuple[Parameter, ...]:
    """Return every key a scenario file may have."""
    return tuple(map(Parameter.of, json.loads(_core.parameters())))


@cache
def presets() -> tuple[Preset, ...]:
    """Return every preset of every scheme."""
    return tuple(preset for scheme in schemes() for preset in scheme.presets)


def topologies() -> tuple[Choice, ...]:
    """Return every shape of a network."""
    return _kinds("topology.kind")


def arrivals() -> tuple[Choice, ...]:
    """Return every kind of arrivals, which say when traffic offers what."""
    return _kinds("traffic.arrivals")


def transports() -> tuple[Choice, ...]:
    """Return every transport of traffic."""
    return _kinds("traffic.transport")


@cache
def sizes() -> tuple[NamedSizes, ...]:
    """Return every named distribution of flow sizes."""
    return tuple(NamedSizes(**each) for each in json.loads(_core.sizes()))


@cache
def _kinds(key: str) -> tuple[Choice, ...]:
    [entry] = (entry for entry in parameters() if entry.key == key)
    return entry.choices or ()


def plain(entry: Entry) -> dict[str, object]:
    """Return an entry as values for JSON.

    Parameters
    ----------
    entry : Entry
        Of any kind.
    """
    return asdict(entry)


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
    list of Entry
        At least one.

    Raises
    ------
    ScenarioError
        If nothing is called so; it proposes what is near in meaning, then in spelling.
    """
    from qcnlab.catalogue.words import aliases, nearest, plain_form

    form = plain_form(name)
    # What a word of vendors means here goes before what only has a letter of its formula.
    meant = [entry for other in aliases().get(form, []) for entry in _called(other)]
    entries = meant + _called(name) or _choices().get(form, [])
    if not entries and form.endswith("s"):
        entries = _called(form.removesuffix("s"))
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
        if entry.key in ("scheme.name", "scheme.preset"):
            continue
        for choice in entry.choices or ():
            same = choices.setdefault(plain_form(choice.name), [])
            if choice not in same:
                same.append(choice)
    return choices


@cache
def _meanings() -> dict[str, list[str]]:
    """Return what `find` knows, by the name that is proposed: its names, and what it is last."""
    from qcnlab.catalogue.words import aliases

    meanings: dict[str, list[str]] = {}
    for called, entry in _index():
        about = entry.title if isinstance(entry, Shipped) else entry.about
        # A scenario's name is a sentence, which shares words with much.
        names = [] if isinstance(entry, Shipped) else sorted(called)
        meanings[entry.name] = [*names, *meanings.get(entry.name, [])[:-1], about]
    for alias, names in aliases().items():
        if names[0] in meanings:
            meanings[names[0]].insert(0, alias)
    return meanings


def explain(entries: Sequence[Entry], columns: int) -> str:
    """Return a text about entries, which `find` returned.

    Parameters
    ----------
    entries : sequence of Entry
        Of any kinds.
    columns : int
        Characters in a line at most.
    """
    columns = min(columns, WIDEST)
    same: dict[tuple[Any, ...], list[Parameter]] = {}
    parts: list[Entry | list[Parameter]] = []
    for entry in entries:
        if not isinstance(entry, Parameter):
            parts.append(entry)
            continue
        # Parameters that differ in scheme and default alone are one.
        alike = (entry.key, entry.about, entry.range, entry.type)
        if alike not in same:
            parts.append(same.setdefault(alike, []))
        same[alike].append(entry)
    return "\n\n".join(_told(part, columns) for part in parts)


def _told(part: Entry | list[Parameter], columns: int) -> str:
    match part:
        case list():
            return _parameter(part, columns)
        case Metric():
            return _metric(part, columns)
        case Scheme():
            return _scheme(part, columns)
        case Preset():
            return _preset(part, columns)
        case Shipped():
            return _scenario(part, columns)
        case Word():
            return _word(part, columns)
        case NamedSizes():
            return _sizes(part, columns)
        case Choice():
            return _choice(part, columns)
        case Parameter():
            return _parameter([part], columns)


@cache
def _index() -> list[tuple[set[str], Entry]]:
    from qcnlab.catalogue.words import words as field_words

    index: list[tuple[set[str], Entry]] = []
    index += [({entry.name, entry.title.lower()}, entry) for entry in metrics()]
    for scheme in schemes():
        index.append(({scheme.name}, scheme))
        index += [({preset.name.lower()}, preset) for preset in scheme.presets]
    index += [({entry.name}, entry) for entry in scenarios()]
    index += [({entry.name}, entry) for entry in sizes()]
    for word in field_words():
        names = (word.name, *word.also, *word.covers)
        index.append(({each.lower() for each in names}, word))
    index += [(_parameter_names(entry), entry) for entry in parameters()]
    return index


def _parameter_names(entry: Parameter) -> set[str]:
    key = entry.key.lower()
    aliases = [alias.strip().lower() for alias in (entry.aliases or "").split(",")]
    # Names in a formula, such as dce_tcp_g in 1 - dce_tcp_g / 1024.
    named = re.findall(r"[a-z]\w*_\w+", " ".join(aliases))
    last = key.rsplit(".", 1)[-1]
    return {key, last, key.removeprefix("scheme."), *filter(None, aliases), *named}


def _head(kind: str, name: str, rest: str = "") -> str:
    return bold(name) + f"  ({kind}{', ' + rest if rest else ''})"


def _metric(entry: Metric, columns: int) -> str:
    lines = [_head("metric", entry.name, f"in {entry.unit}" if entry.unit else "")]
    lines.append(paragraphs(f"{entry.title}: {entry.about}", columns, "  "))
    if entry.source:
        lines.append(paragraphs(f"Source: {entry.source}", columns, "  "))
    return "\n".join(lines)


def _scheme(entry: Scheme, columns: int) -> str:
    lines = [
        _head("scheme", entry.name, entry.status),
        paragraphs(entry.title, columns, "  "),
        "",
        paragraphs(entry.about, columns, "  "),
        "",
        f"  hears {_words(entry.hears)}, speaks {_words(entry.speaks)}",
    ]
    if entry.source:
        lines.append(paragraphs(f"Source: {entry.source}", columns, "  "))
    for preset in entry.presets:
        lines += ["", f"  preset {bold(preset.name)}"]
        lines.append(paragraphs(about(entry.name, preset), columns, "    "))
    if entry.parameters:
        rows = [
            (
                "  " + parameter.key,
                parameter.default_in_words or f"unset ({parameter.type})",
                parameter.aliases or "",
            )
            for parameter in entry.parameters
        ]
        lines += ["", table(("  parameter", "default", "also called"), rows, left=3)]
    readings = [each for each in entry.parameters if each.type in ("choice", "boolean")]
    if readings:
        lines += ["", "  Readings: where the sources leave a choice."]
    for reading in readings:
        words = f"{reading.key} = {reading.default_in_words}: {reading.about}"
        lines.append(paragraphs(words, columns, "  "))
        lines += [
            paragraphs(f"{choice.name}: {choice.about}", columns, "    ")
            for choice in reading.choices or []
        ]
    return "\n".join(lines)


def about(scheme: str, preset: Preset) -> str:
    """Return what a preset of a scheme is, and that its messages have no standard frame."""
    words = preset.about
    note = frame_note(scheme, preset.cp)
    return words if not note or "no standard frame" in words else f"{words} {note}"


def frame_note(scheme: str, cp: Mapping[str, Any]) -> str:
    """Return why messages have no standard frame; empty where they have one, or are no CNMs.

    Parameters
    ----------
    scheme : str
        A scheme's name.
    cp : dict
        Parameters of its congestion points.
    """
    bits = cp.get("fb_bits", STANDARD_BITS)
    speaks = {entry.name: entry.speaks for entry in schemes()}.get(scheme, ())
    if bits <= STANDARD_BITS or "CNM" not in speaks:
        return ""
    return (
        f"Feedback of {bits} bits has no standard frame: a CNM of 802.1Q carries {STANDARD_BITS}, "
        f"and a capture shows the first {STANDARD_BITS}."
    )


def _words(values: Sequence[str]) -> str:
    return ", ".join(values) or "nothing"


def _word(entry: Word, columns: int) -> str:
    lines = [_head("word", entry.name)]
    lines.append(paragraphs(entry.about, columns, "  "))
    if entry.also:
        lines.append(paragraphs(f"Also called {', '.join(entry.also)}.", columns, "  "))
    if entry.unit:
        lines.append(paragraphs(f"Unit: {entry.unit}.", columns, "  "))
    if entry.here:
        lines.append(paragraphs(f"Here: {', '.join(entry.here)}.", columns, "  "))
    if not entry.modelled:
        lines.append("  qcnlab does not model it.")
    if entry.see:
        lines.append(paragraphs(f"See also {', '.join(entry.see)}.", columns, "  "))
    return "\n".join(lines)


def _preset(entry: Preset, columns: int) -> str:
    lines = [_head("preset", entry.name, f"of scheme {entry.scheme}")]
    lines.append(paragraphs(about(entry.scheme, entry), columns, "  "))
    for role, own in (("cp", entry.cp), ("rp", entry.rp)):
        for key, value in own.items():
            shown = str(value).lower() if isinstance(value, bool) else value
            lines.append(f"  scheme.{role}.{key} = {shown}")
    return "\n".join(lines)


def _scenario(entry: Shipped, columns: int) -> str:
    lines = [_head("scenario", entry.name, entry.folder)]
    lines.append(paragraphs(entry.title, columns, "  "))
    if entry.about:
        lines += ["", paragraphs(entry.about, columns, "  ")]
    if entry.source:
        lines.append(paragraphs(f"Source: {entry.source}", columns, "  "))
    return "\n".join([*lines, "", entry.text.rstrip("\n")])


def _sizes(entry: NamedSizes, columns: int) -> str:
    lines = [_head("sizes of flows", entry.name)]
    lines.append(paragraphs(f"{entry.about}.", columns, "  "))
    lines.append(f"  Mean: {entry.mean_bytes:,.0f} B.")
    lines.append(f"  Here: traffic.sizes = '{entry.name}'.")
    return "\n".join(lines)


def _choice(entry: Choice, columns: int) -> str:
    head = _head(f"choice of {entry.key}", entry.name)
    return "\n".join([head, paragraphs(entry.about, columns, "  ")])


def _parameter(entries: list[Parameter], columns: int) -> str:
    """Return a text about a parameter, which several schemes may have with other defaults."""
    entry = entries[0]
    defaults: dict[str, list[str]] = {}
    for each in entries:
        of = defaults.setdefault(each.default_in_words, [])
        of += [each.scheme] if each.scheme else []
    kind = entry.type + (f", {entry.range}" if entry.range else "")
    lines = [_head("parameter", entry.key, kind), paragraphs(entry.about, columns, "  ")]
    if entry.aliases:
        lines.append(paragraphs(f"Also called {entry.aliases}.", columns, "  "))
    for choice in entry.choices or ():
        lines.append(paragraphs(f"{choice.name}: {choice.about}", columns, "    "))
    for default, of in defaults.items():
        value = default if default == "required" else f"default {default or 'none'}"
        where = f"  (scheme{'s' if len(of) > 1 else ''} {', '.join(of)})" if of else ""
        lines.append(f"  {value}{where}")
    return "\n".join(lines)
