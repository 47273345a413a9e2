"""Which names a pattern of a scenario file selects."""

from __future__ import annotations

import re
from functools import lru_cache

RANGE = re.compile(r"\{(\d+)\.\.(\d+)(?:\.\.(\d+))?\}")
MOST = 65_536


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    out = []
    for part in pattern.split(","):
        text, last = "", 0
        word = part.strip()
        for at in RANGE.finditer(word):
            first, end, step = int(at[1]), int(at[2]), int(at[3] or 1)
            numbers = "|".join(map(str, range(first, end + 1, step)[:MOST]))
            text += _literal(word[last : at.start()]) + f"(?:{numbers})"
            last = at.end()
        out.append(text + _literal(word[last:]))
    return re.compile("|".join(f"(?:{each})" for each in out))


def _literal(text: str) -> str:
    return ".*".join(re.escape(part) for part in text.split("*"))


def selects(pattern: str, name: str) -> bool:
    """Return whether a pattern selects a name.

    Parameters
    ----------
    pattern : str
        As scenario files have it: `*`, `{2..5}`, `{1..9..2}`, alternatives between commas.
    name : str
        A node, or a port as from->to.

    Examples
    --------
    >>> selects("leaf{1..3}, spine*", "leaf2"), selects("leaf{1..3..2}", "leaf2")
    (True, False)
    >>> selects("leaf1->*", "leaf1->host3"), selects("leaf1", "leaf11")
    (True, False)
    """
    return _expression(pattern).fullmatch(name) is not None
