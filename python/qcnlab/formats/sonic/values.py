"""Values of configuration files, each with its file and line, and the numbers that they say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError, shown
from qcnlab.formats.numbers import MOST_DIGITS, NumberFault, whole

if TYPE_CHECKING:
    from pathlib import Path

CABLE = re.compile(r"([0-9]{1,7})m")
SIGNED = re.compile(r"-?[0-9]{1,4}")
NAMED = re.compile(r"[A-Za-z_ ]+\((\d+)\)")
"""`True(1)` and `ECN(0)`, as mlxconfig prints them."""
YES = frozenset({"1", "true", "on", "yes", "enable", "enabled"})
NO = frozenset({"0", "false", "off", "no", "disable", "disabled"})
MOST_OCTETS = 10**13
MOST_CABLE = 200_000


@dataclass(frozen=True)
class Value:
    """A value as a file has it.

    Attributes
    ----------
    text : str
        Without blanks around it.
    path : Path
        The file.
    line : int
        Counted from 1.
    """

    text: str
    path: Path
    line: int

    @property
    def where(self) -> str:
        """File and line, as compilers print them."""
        return f"{self.path}:{self.line}"

    def fault(self, message: str) -> FormatError:
        """Return the error that names file and line."""
        return FormatError(f"{self.path}, line {self.line}: {message}")

    def shown(self) -> str:
        """Return the text as an error repeats it: printable and short."""
        return shown(octets(self.text))

    def whole(self, what: str, most: int, least: int = 0) -> int:
        """Return a whole number from `least` to `most`; raise `FormatError` for any other text."""
        try:
            return whole(octets(self.text), what, most, least)
        except NumberFault as fault:
            raise self.fault(str(fault)) from None

    def octets(self, what: str) -> int:
        """Return a number of octets; raise `FormatError` for any other text."""
        return self.whole(f"{what} in octets", MOST_OCTETS)

    def signed(self, what: str, least: int, most: int) -> int:
        """Return a whole number that may be below 0."""
        number = int(self.text) if SIGNED.fullmatch(self.text) else None
        if number is None or not least <= number <= most:
            raise self.fault(f"{what}: {self.shown()} is no whole number from {least} to {most}")
        return number

    def metres(self, what: str = "cable") -> int:
        """Return a length in metres, written `40m`."""
        parts = CABLE.fullmatch(self.text)
        if parts is None or int(parts[1]) > MOST_CABLE:
            raise self.fault(
                f"{what}: {self.shown()} is no length in metres up to {MOST_CABLE}m, such as 40m"
            )
        return int(parts[1])

    def flag(self, what: str) -> bool:
        """Return whether it says yes: `1`, `true`, `on`, `enable`, `True(1)`."""
        word = bare(self.text).casefold()
        if word not in YES | NO:
            raise self.fault(f"{what}: {self.shown()} is neither true nor false")
        return word in YES

    def numbers(self, what: str, most: int) -> list[int]:
        """Return whole numbers of a list such as `3,4`, or of a range such as `3-4`."""
        out: list[int] = []
        for part in self.text.split(","):
            if not part.strip():
                continue
            first, dash, last = part.strip().partition("-")
            one = Value(first, self.path, self.line).whole(what, most)
            end = Value(last, self.path, self.line).whole(what, most, one) if dash else one
            out += range(one, end + 1)
        return sorted(set(out))


def bare(text: str) -> str:
    """Return the number of `True(1)`; other text as it is.

    >>> bare("True(1)"), bare("300")
    ('1', '300')
    """
    named = NAMED.fullmatch(text)
    return named[1][:MOST_DIGITS] if named else text


def octets(text: str) -> bytes:
    """Return text as bytes, also where it has halves of characters."""
    return text.encode("utf-8", "backslashreplace")


def reference(text: str) -> str:
    """Return the name that a reference to another row has, with or without brackets.

    >>> reference("[BUFFER_POOL|ingress_lossless_pool]"), reference("AZURE")
    ('ingress_lossless_pool', 'AZURE')
    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        return inner[1:-1].rpartition("|")[2].strip()
    return inner
