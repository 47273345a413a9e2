"""What a script is, and how its rows are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MS = 1_000_000
US = 1_000
LINE_RATE = 10e9
FRAME = 1500


def number(value: float | int) -> str:
    """Write a number shortly: whole octets, bit/s and nanoseconds."""
    return str(round(value))


def words(**pairs: object) -> str:
    """`key=value` for each pair that is not None, a bare key for True."""
    out = []
    for key, value in pairs.items():
        if value is True:
            out.append(key)
        elif value is not None and value is not False:
            text = number(value) if isinstance(value, float | int) else str(value)
            out.append(f"{key.rstrip('_')}={text}")
    return " ".join(out)


@dataclass
class Script:
    """Calls in their order, with the answers of the reference."""

    about: str
    scheme: str
    preset: str
    parameters: Mapping[str, str]
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def row(self, at: float | str, call: str, arguments: str, answer: str) -> None:
        """Append a row; `at` is in nanoseconds."""
        self.rows.append((at if isinstance(at, str) else number(at), call, arguments, answer))

    def text(self) -> str:
        """Return the file."""
        head = [f"# {self.about}", f"# scheme: {self.scheme}", f"# preset: {self.preset}"]
        head += [f"# {key}: {value}" for key, value in self.parameters.items()]
        body = [",".join(row) for row in self.rows]
        return "\n".join([*head, "at,call,arguments,answer", *body]) + "\n"


@dataclass(frozen=True)
class Reference:
    """A second implementation: what it covers of which schemes, its source, and its scripts."""

    covers: Mapping[str, str]
    source: str
    scripts: Mapping[str, Callable[[], Script]]
