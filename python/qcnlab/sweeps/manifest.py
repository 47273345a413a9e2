"""The manifest of a sweep: what identifies it, and in what two sweeps differ."""

from __future__ import annotations

import hashlib
import json
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import ScenarioError
from qcnlab.files.folders import MANIFEST, core_digest, read_json
from qcnlab.sweeps.grid import word
from qcnlab.sweeps.precision import Precision, stated_precision, to_manifest
from qcnlab.sweeps.runs import rows_in_a_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from qcnlab.records import JsonObject
    from qcnlab.sweeps.grid import Grid
    from qcnlab.sweeps.known import Manifest, Stated

FORMAT, IN_PARTS = 1, 2
"""Versions of the folder's layout, kept in the manifest: one table, and a table in parts."""
MOST_TOLD = 6
"""So many differences between sweeps are printed."""


def manifest(
    grid: Grid,
    replications: int | Precision,
    seed: int | None,
    metrics: Sequence[str],
    command: str,
) -> Manifest:
    """Return what identifies a sweep, and the command that continues it.

    With a precision `replications` is the most that a point can get.
    """
    first = grid.scenario(0)
    stated: Stated = {}
    if isinstance(replications, Precision):
        stated = {"precision": to_manifest(replications)}
        replications = replications.most
    rows = rows_in_a_part(len(grid), replications, whole_points=bool(stated))
    divided: Stated = {} if rows is None else {"rows_in_a_part": rows}
    return {
        "format": FORMAT if rows is None else IN_PARTS,
        "qcnlab": _core.__version__,
        "core": core_digest()[:16],
        "scenario": first.name,
        "title": first.title,
        "vary": {axis.key: list(axis.values) for axis in grid.axes},
        "replications": replications,
        **stated,
        "seed": first.seed if seed is None else seed,
        "metrics": list(metrics),
        "first_point": first.to_toml(),
        "points": grid.digest,
        **divided,
        "command": command,
    }


def name_of(known: Manifest) -> str:
    """Return a short name of its own for a sweep; every build of qcnlab returns the same."""
    keys = ("vary", "replications", "precision", "seed", "points")
    whole: Mapping[str, object] = known
    own = {key: whole[key] for key in keys if key in whole}
    return f"sweep-{known['scenario']}-{_digest(own)[:8]}"


def is_in_parts(known: Manifest) -> bool:
    """Return whether the table of a sweep is in parts."""
    return "rows_in_a_part" in known


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, `None` if there is none that is whole."""
    try:
        value = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return None
    if not _is_manifest(value) or value.pop("sum", None) != _digest(value):
        return None
    manifest: Manifest = value
    return manifest


def _is_manifest(value: Any) -> bool:
    """Return whether `value` has the keys of a manifest that are read, with the right types."""
    if not isinstance(value, dict):
        return False
    texts = ("scenario", "title", "points", "command")
    counts = ("replications", "seed", "format")
    vary, metrics = value.get("vary"), value.get("metrics")
    return (
        all(isinstance(value.get(key), str) for key in texts)
        and all(type(value.get(key)) is int for key in counts)
        and value["replications"] > 0
        and isinstance(metrics, list)
        and all(isinstance(name, str) for name in metrics)
        and isinstance(vary, dict)
        and all(isinstance(values, list) and values for values in vary.values())
        and type(value.get("rows_in_a_part", 1)) is int
        and value.get("rows_in_a_part", 1) > 0
        and _is_precision(value)
    )


def _is_precision(value: Any) -> bool:
    """Return whether a manifest states no precision, or one that can be."""
    if "precision" not in value:
        return True
    try:
        stated = stated_precision(value)
    except (TypeError, ScenarioError):
        return False
    return stated is not None and stated.metric in value["metrics"]


def to_json(known: Manifest) -> bytes:
    """Return the text of the manifest's file, with its checksum."""
    value = {**known, "sum": _digest(known)}
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def identity(known: Manifest) -> str:
    """Return what all runs of the same sweep have in common, as a short digest."""
    return _digest({key: value for key, value in known.items() if key != "command"})[:16]


def is_of_a_layout(known: Manifest) -> bool:
    """Return whether this version of qcnlab reads the folder of a manifest."""
    return bool(known["format"] == (IN_PARTS if is_in_parts(known) else FORMAT))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def differences(there: Manifest, here: Manifest) -> list[str]:
    """Return the differences of two sweeps in words."""
    told = []
    wholes: tuple[Mapping[str, object], ...] = (there, here)
    if there.get("scenario") != here["scenario"]:
        told.append(f"scenario: there {there.get('scenario')}, here {here['scenario']}")
    keys = dict.fromkeys([*there["vary"], *here["vary"]])
    for key in keys:
        old, new = (_varied(known["vary"], key) for known in (there, here))
        if old != new:
            told.append(f"{key}: there {old}, here {new}")
    if list(there["vary"]) != list(here["vary"]) and not told:
        told.append("the order of what varies")
    for key in ("replications", "precision", "seed", "qcnlab"):
        was, now = (known.get(key, "none") for known in wholes)
        if was != now:
            told.append(f"{key}: there {was}, here {now}")
    old_keys, new_keys = (_flat(known) for known in (there, here))
    for key in dict.fromkeys([*old_keys, *new_keys]):
        old, new = old_keys.get(key, "nothing"), new_keys.get(key, "nothing")
        if old != new and key not in keys:
            told.append(f"{key}: there {old}, here {new}")
    if there.get("core") != here["core"]:
        told.append("the build of qcnlab: results of two builds are not put together")
    if not told:
        told.append("what the points resolve to")
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], f"and {more} more"]


def first_tree(known: Manifest) -> JsonObject:
    """Return the resolved scenario of the first point as values.

    Raises `ValueError` if the manifest has none.
    """
    return tomllib.loads(str(known.get("first_point", "")))


def _varied(vary: Mapping[str, list[Any]], key: str) -> str:
    return ", ".join(word(value) for value in vary[key]) if key in vary else "not varied"


def _flat(known: Manifest) -> dict[str, str]:
    """Return the values of the first point as text, by their dotted keys."""
    values: dict[str, str] = {}

    def walk(at: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                walk(f"{at}.{key}" if at else key, below)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, below in enumerate(value):
                walk(f"{at}.{number}", below)
        else:
            values[at] = word(value)

    with suppress(ValueError):
        walk("", first_tree(known))
    values.pop("seed", None)
    values.pop("replications", None)
    return values
