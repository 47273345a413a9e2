"""Tables of the book's files, read key by key: keys that are left over are refused."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from qcnlab.errors import Error

if TYPE_CHECKING:
    from qcnlab.records import JsonObject

MISSING: Any = object()


class BookError(Error):
    """The book cannot be used; `str` tells file and row."""


class TomlTable:
    """One table. Each method reads a key; `end` refuses the keys that were not read."""

    def __init__(self, where: str, tree: JsonObject) -> None:
        self.where = where
        self._tree = tree
        self._read: set[str] = set()

    def name(self, name: str) -> None:
        """Name the row for messages."""
        self.where = f"{self.where.partition(', row')[0]}, row {name}"

    def refuse(self, why: str) -> NoReturn:
        """Raise `BookError` for this table."""
        raise BookError(f"{self.where}: {why}")

    def end(self) -> None:
        """Refuse the keys that were not read."""
        for key in self._tree:
            if key not in self._read:
                near = get_close_matches(key, sorted(self._read), n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                self.refuse(f"unknown key '{key}'{hint}")

    def names(self) -> list[str]:
        """Return the keys there are."""
        return list(self._tree)

    def value(self, key: str) -> Any:
        """Return what is there, of any kind, or `None`."""
        return self._take(key, None)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        value = self._take(key, MISSING if default is None else default)
        if not isinstance(value, str):
            self.refuse(f"'{key}' is a text, not {value!r}")
        return value

    def one_of(self, key: str, names: tuple[str, ...], default: str | None = None) -> str:
        """Return one of some words."""
        value = self.text(key, default)
        if value not in names:
            self.refuse(f"'{key}' is one of {', '.join(names)}, not '{value}'")
        return value

    def flag(self, key: str) -> bool:
        """Return a flag; false if it is not there."""
        value = self._take(key, False)
        if not isinstance(value, bool):
            self.refuse(f"'{key}' is true or false, not {value!r}")
        return value

    def number(self, key: str) -> float | None:
        """Return a number, or `None` if it is not there."""
        value = self._take(key, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.refuse(f"'{key}' is a number, not {value!r}")
        return None if value is None else float(value)

    def count(self, key: str) -> int:
        """Return a whole number above 0."""
        value = self._take(key, MISSING)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.refuse(f"'{key}' is a whole number above 0, not {value!r}")
        return value

    def pair(self, key: str) -> tuple[float, float] | None:
        """Return two numbers, the first not above the second, or `None` if it is not there."""
        value = self._take(key, None)
        if value is None:
            return None
        numbers = isinstance(value, list) and all(
            isinstance(each, int | float) and not isinstance(each, bool) for each in value
        )
        if not numbers or len(value) != 2 or math.isnan(sum(value)) or value[0] > value[1]:
            self.refuse(f"'{key}' is two numbers in order, not {value!r}")
        return float(value[0]), float(value[1])

    def words(self, key: str, default: list[str] | None = None) -> list[str]:
        """Return a text or a list of texts, as a list."""
        value = self._take(key, MISSING if default is None else default)
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            self.refuse(f"'{key}' is a text or a list of texts, not {value!r}")
        return listed

    def array(self, key: str) -> list[TomlTable]:
        """Return an array of tables; empty if it is not there."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.refuse(f"'{key}' is a list of tables")
        return [TomlTable(self.where, each) for each in value]

    def table(self, key: str) -> TomlTable | None:
        """Return a table, or `None` if it is not there."""
        value = self._take(key, None)
        if value is not None and not isinstance(value, dict):
            self.refuse(f"'{key}' is a table")
        return None if value is None else TomlTable(self.where, value)

    def tables(self, key: str) -> dict[str, TomlTable]:
        """Return a table of tables by name; empty if it is not there."""
        value = self._take(key, {})
        if not isinstance(value, dict) or not all(isinstance(e, dict) for e in value.values()):
            self.refuse(f"'{key}' is a table of tables")
        return {name: TomlTable(f"{self.where}, case {name}", e) for name, e in value.items()}

    def _take(self, key: str, default: Any) -> Any:
        self._read.add(key)
        value = self._tree.get(key, default)
        if value is MISSING:
            self.refuse(f"'{key}' is missing")
        return value
