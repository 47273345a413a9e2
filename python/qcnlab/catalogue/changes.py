"""In what a scenario differs from the shipped one of its name.

Title and text of a scenario are those of its file, whatever was changed since.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from qcnlab import _core, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.records import JsonObject

FOLLOWS = re.compile(r"(?:as|half of) (\w+)")
LEFT_OUT = frozenset(("title", "about", "source", "seed", "replications", "record"))
"""What is told elsewhere, or changes nothing in the network."""


def differences_from_shipped(name: str, own: JsonObject) -> list[str]:
    """Return the keys of a resolved scenario that differ, as `key=value`.

    Parameters
    ----------
    name : str
        The scenario's name; of one that is not shipped nothing is told.
    own : dict
        The resolved scenario.

    Examples
    --------
    >>> import qcnlab
    >>> name = "one-source-into-9g-rtt10us"
    >>> changed = qcnlab.load(name).with_("duration=3 s", "topology.rtt=1 ms")
    >>> differences_from_shipped(name, changed.to_dict())
    ['duration=3 s', 'topology.rtt=1 ms']
    """
    shipped = _shipped(name)
    if shipped is None:
        return []
    scheme, other = own["scheme"], shipped["scheme"]
    if (scheme["name"], scheme.get("preset")) != (other["name"], other.get("preset")):
        # Of another scheme or preset those parameters are told that its preset has not.
        named = {"name": other["name"]}
        if scheme["name"] == other["name"]:
            named["preset"] = other.get("preset")
        shipped = shipped | {"scheme": {**scheme, **_of_preset(scheme), **named}}
    told = [
        each
        for key in own
        if key not in LEFT_OUT
        for each in _differing(key, own[key], shipped.get(key))
    ]
    changed = {each.partition("=")[0] for each in told}
    return [each for each in told if _leader(each.partition("=")[0]) not in changed]


def _of_preset(scheme: JsonObject) -> JsonObject:
    """Return the parameters that a scheme has as its preset, the others as None.

    Of a scheme without presets, one from outside, nothing.
    """
    wanted = (str(scheme["name"]), str(scheme.get("preset")))
    known = {(each.scheme, each.name): each for each in catalogue.presets()}
    preset = known.get(wanted)
    if preset is None:
        return {}
    return {
        part: {
            key: value if _text(value) == _text(own.get(key)) else None
            for key, value in scheme[part].items()
        }
        for part, own in (("cp", preset.cp), ("rp", preset.rp))
        if part in scheme
    }


def _text(value: object) -> str:
    return str(value).lower()


def _leader(key: str) -> str | None:
    """Return the key that a key follows which is left out, if it follows one."""
    for entry in catalogue.parameters():
        if entry.key == key and (led := FOLLOWS.fullmatch(str(entry.default))):
            return f"{key.rpartition('.')[0]}.{led[1]}"
    return None


@cache
def _shipped(name: str) -> JsonObject | None:
    if name not in {entry.name for entry in catalogue.scenarios()}:
        return None
    shipped: JsonObject = json.loads(_core.Scenario.shipped(name).to_json())
    return shipped


def _differing(key: str, own: Any, other: Any) -> Iterator[str]:
    if isinstance(own, dict):
        for each, value in own.items():
            under = other.get(each) if isinstance(other, dict) else None
            yield from _differing(f"{key}.{each}", value, under)
    elif isinstance(own, list):
        for number, value in enumerate(own):
            there = isinstance(other, list) and number < len(other)
            at = key if len(own) == 1 else f"{key}.{number}"
            yield from _differing(at, value, other[number] if there else None)
    elif own != other:
        yield f"{key}={_text(own) if isinstance(own, bool) else own}"
