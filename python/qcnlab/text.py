"""Plain text for people: numbers, ranges, aligned tables, wrapped paragraphs."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH_OF_A_PIPE = 120
GAP = "  "
NEVER = {
    "recovery_ms": "did not recover",
    "rec95_ms": "did not recover",
    "rec95s_ms": "did not recover",
    "onset_ms": "did not settle",
}


def width() -> int:
    """Give the columns of the terminal on stdout; 120 where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_A_PIPE


def bold(text: str) -> str:
    """Make `text` bold where that shows: a terminal on stdout and no `NO_COLOR`."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        return f"\x1b[1m{text}\x1b[0m"
    return text


def number(value: float, digits: int = 4) -> str:
    """Write `value` with `digits` significant digits, thousands apart, no exponent below 1e15.

    >>> number(41567), number(94.318), number(0.00012345), number(0)
    ('41,567', '94.32', '0.0001234', '0')
    """
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.10f}".rstrip("0")


def octets(count: int) -> str:
    """Write a number of octets with a unit, to two digits or more.

    >>> [octets(count) for count in (999, 1000, 9950, 12_345_678)]
    ['999 B', '1.0 KB', '10 KB', '12 MB']
    """
    value, units = float(count), ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.{int(value < 9.95 and units[0] != 'B')}f} {units[0]}"


def counted(count: int, noun: str) -> str:
    """Write `1 replication`, `5 replications`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def spread(metric: dict[str, Any], name: str, digits: int = 4, scale: float = 1.0) -> str:
    """Write `median [min..max]` of a metric of a summary; say in words how many have none."""
    values = metric["values"]
    known = [value for value in values if value is not None]
    if not known:
        return NEVER.get(name, "none")
    low, middle, high = (number(metric[key] * scale, digits) for key in ("min", "median", "max"))
    text = middle if low == high else f"{middle} [{low}..{high}]"
    missing = len(values) - len(known)
    return text if not missing else f"{text}, {missing} of {len(values)} {NEVER.get(name, 'none')}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align `rows` under `header`; the first `left` columns to the left, the others to the right.

    Cells and headers may have several lines.
    """
    return "\n".join(_block(header, rows, left, range(len(header))))


def fitted_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> str:
    """Align as `table` does, and split into blocks that each fit `columns` wide.

    Every block repeats the first column.
    """
    widths = _widths(header, rows)
    blocks: list[list[int]] = [[0]]
    used = widths[0]
    for index in range(1, len(header)):
        used += len(GAP) + widths[index]
        if used > columns and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0] + len(GAP) + widths[index]
        blocks[-1].append(index)
    return "\n\n".join("\n".join(_block(header, rows, 1, block)) for block in blocks)


def paragraphs(text: str, columns: int, indent: str = "") -> str:
    """Wrap paragraphs; lines that are indented (diagrams, tables) stay as they are."""
    out: list[str] = []
    for block in text.strip("\n").split("\n\n"):
        if any(line[:1].isspace() for line in block.splitlines()):
            out.append(textwrap.indent(block, indent))
        else:
            flow = " ".join(block.split())
            out.append(
                textwrap.fill(flow, columns, initial_indent=indent, subsequent_indent=indent)
            )
    return "\n\n".join(out)


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(line) for row in (header, *rows) for line in row[index].split("\n"))
        for index in range(len(header))
    ]


def _block(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int,
    columns: Sequence[int],
) -> list[str]:
    widths = _widths(header, rows)
    lines = [bold(line) for line in _lines(header, widths, left, columns, bottom=True)]
    lines.append(GAP.join("-" * widths[index] for index in columns))
    for row in rows:
        lines += _lines(row, widths, left, columns, bottom=False)
    return lines


def _lines(
    row: Sequence[str],
    widths: Sequence[int],
    left: int,
    columns: Sequence[int],
    *,
    bottom: bool,
) -> list[str]:
    cells = [row[index].split("\n") for index in columns]
    height = max(len(cell) for cell in cells)
    padded = [
        [""] * (height - len(cell)) + cell if bottom else cell + [""] * (height - len(cell))
        for cell in cells
    ]
    return [
        GAP.join(
            cell[line].ljust(widths[index]) if index < left else cell[line].rjust(widths[index])
            for index, cell in zip(columns, padded, strict=True)
        ).rstrip()
        for line in range(height)
    ]
