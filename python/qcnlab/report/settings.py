"""What a scenario sets: the keys whose values are not the defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qcnlab import _core, catalogue
from qcnlab.results import comparison

if TYPE_CHECKING:
    from qcnlab.catalogue.entries import Parameter
    from qcnlab.results.result import Result
    from qcnlab.runs.network import Network

WORDS = re.compile(r"^(title|about|source)$")


def settings(result: Result) -> list[tuple[str, str, str, str]]:
    """Return the keys of a run that differ from their defaults, or have none.

    Returns
    -------
    list of tuple
        Key, value, the default in words, and the first sentence of what the key means. Parameters
        of a scheme are held against its preset, which stands among the keys.
    """
    preset = comparison.preset_of(result)
    scheme = str(result.summary.scheme)
    followed = comparison.followed(result)
    rows = []
    for key, value in comparison.flat(result.tree).items():
        if WORDS.match(key):
            continue
        plain = re.sub(r"\.\d+(?=\.|$)", "", key)
        entry = _entry(plain, scheme, key)
        if key in preset:
            default, known = preset[key], f"{preset[key]} (preset)"
        else:
            default = str(entry.default) if entry and entry.default is not None else ""
            known = default or ("required" if entry and entry.required else "left out")
        if not _same(value, followed.get(key, default)):
            about = str(entry.about).split(". ")[0].rstrip(".") if entry else ""
            rows.append((key, value, known, about))
    return rows


def _entry(key: str, scheme: str, whole: str) -> Parameter | None:
    named = [each for each in catalogue.parameters() if each.key == key]
    own = [each for each in named if each.scheme in (None, scheme)]
    return next(iter(own or named), None)


def _same(value: str, default: str) -> bool:
    if value == default:
        return True
    one, other = _core.quantity(value), _core.quantity(default)
    if one is not None and one == other:
        return True
    try:
        return float(value) == float(default)
    except ValueError:
        return False


def watermarks(known: Network | None) -> list[tuple[str, str]]:
    """Return the watermarks that follow from a scenario, with the nodes that have them."""
    levels: dict[str, list[str]] = {}
    for node in known.nodes if known else ():
        if node.watermarks:
            levels.setdefault(node.watermarks, []).append(node.name)
    return [(", ".join(nodes), level) for level, nodes in levels.items()]
