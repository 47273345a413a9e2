"""The field's words that no catalogue of the core has, for `qcnlab explain`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("words.toml")


@cache
def words() -> list[dict[str, Any]]:
    """Return the field's words.

    Returns
    -------
    list of dict
        `name`, `also` (other names), `about`, and `see` (what else `explain` knows of it).
    """
    entries: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["word"]
    return [{"also": [], "see": [], **entry} for entry in entries]
