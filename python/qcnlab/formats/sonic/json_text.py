"""JSON whose values know their lines."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from qcnlab.formats.lines import FormatError, refuse_packed, shown
from qcnlab.formats.sonic.values import Value, octets

if TYPE_CHECKING:
    from pathlib import Path

MOST_OCTETS = 1 << 26
"""The most octets of a configuration, an allowance: a large switch has about 2 MB."""
TOKEN = re.compile(r'(\n)|("(?:[^"\\]|\\.)*")|([\[\]{},:])|([^\s\[\]{},:"]+)')

Item: TypeAlias = "Object | list[Item] | Value"
"""What JSON holds: objects, lists, and single values as text."""
Object: TypeAlias = "dict[str, tuple[Value, Item]]"
"""An object: by the text of its keys, each key with its line, and what it says."""


def content(path: Path) -> str:
    """Return a file's text, which is UTF-8 and not too long.

    Raises
    ------
    FormatError
        If it cannot be read, is longer than `MOST_OCTETS`, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_OCTETS + 1)
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error
    refuse_packed(path, data)
    if len(data) > MOST_OCTETS:
        raise FormatError(f"{path}: more than {MOST_OCTETS} octets: it is no configuration")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}, line {line}: it is not UTF-8: save it as UTF-8") from None


def objects(path: Path, text: str) -> list[Object]:
    """Read the objects of a file, one after the other.

    Parameters
    ----------
    path : Path
        The file, for errors.
    text : str
        What it holds.

    Returns
    -------
    list of dict
        Keys and values know their lines. Numbers, `true`, `false` and `null` are text as written.

    Raises
    ------
    FormatError
        For text that is no JSON, for a key that stands twice in an object, and for anything but
        objects.
    """
    _check(path, text)
    top: list[Item] = []
    stack: list[tuple[Object | list[Item], Value | None]] = []
    here: Object | list[Item] = top
    key: Value | None = None
    number = 1
    for match in TOKEN.finditer(text):
        newline, string, mark, word = match.groups()
        if newline:
            number += 1
        elif mark in ("{", "["):
            inner: Object | list[Item] = {} if mark == "{" else []
            _put(here, key, inner)
            stack.append((here, None))
            here, key = inner, None
        elif mark in ("}", "]"):
            here, key = stack.pop()
        elif mark == ",":
            key = None
        elif string or word:
            value = Value(json.loads(string).strip() if string else word, path, number)
            if isinstance(here, dict) and key is None:
                if value.text in here:
                    raise value.fault(f"{value.shown()} stands twice in one object: keep one")
                key = value
            else:
                _put(here, key, value)
    out = [entry for entry in top if isinstance(entry, dict)]
    if len(out) != len(top):
        raise FormatError(f"{path}: it holds JSON, but no object of tables or settings")
    return out


def _put(here: Object | list[Item], key: Value | None, item: Item) -> None:
    if isinstance(here, list):
        here.append(item)
    elif key is not None:
        here[key.text] = (key, item)


def _check(path: Path, text: str) -> None:
    decoder = json.JSONDecoder(parse_constant=_refuse)
    end = len(text.rstrip())
    at = len(text) - len(text.lstrip())
    try:
        while at < end:
            at = decoder.raw_decode(text, at)[1]
            while at < end and text[at].isspace():
                at += 1
    except json.JSONDecodeError as error:
        # Some of the parser's messages end in "at" themselves.
        what = error.msg.lower().removesuffix(" at")
        raise FormatError(
            f"{path}, line {error.lineno}: no JSON: {what} at {_near(text, error.pos)}"
        ) from None
    except RecursionError:
        raise FormatError(f"{path}: objects stand in objects, too deep to read") from None
    except _NoNumber as error:
        raise FormatError(f"{path}: '{error}' is no number of JSON") from None
    except ValueError:
        raise FormatError(f"{path}: a number has too many digits") from None


def _near(text: str, position: int) -> str:
    words = text[position : position + 60].split("\n")[0]
    return shown(octets(words)) if words else "the end of the line"


class _NoNumber(Exception):
    pass


def _refuse(word: str) -> None:
    raise _NoNumber(word)
