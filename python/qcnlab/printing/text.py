"""Plain text for people: numbers, ranges, aligned tables, wrapped paragraphs."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from qcnlab.metrics import never

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.metrics import MetricValues

WIDTH_OF_A_PIPE = 120
GAP = 2
"""Spaces between two columns."""
UNSEEN = dict.fromkeys(map(ord, "\a\b\v\f\r"))
"""Characters that would move what stands behind them out of its column."""


def width() -> int:
    """Return the columns of the terminal on stdout; 120 where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_A_PIPE


def bold(text: str) -> str:
    """Return `text` in bold type if stdout is a terminal and `NO_COLOR` is not set."""
    return f"\x1b[1m{text}\x1b[0m" if _styled() else text


def number(value: float, digits: int = 4) -> str:
    """Return `value` with `digits` significant digits, thousands apart, no exponent below 1e15.

    >>> number(41567), number(94.318), number(0.00012345), number(0), number(-1e-12)
    ('41,567', '94.32', '0.0001234', '0', '0')
    """
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    if "e" in text:
        text = f"{value:.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def octets(count: int) -> str:
    """Return a number of octets with a unit, to two digits or more.

    >>> [octets(count) for count in (999, 1000, 9950, 12_345_678)]
    ['999 B', '1.0 KB', '10 KB', '12 MB']
    """
    value, units = float(count), ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.{int(value < 9.95 and units[0] != 'B')}f} {units[0]}"


def size(count: int) -> str:
    """Return a number of octets with a unit, to three digits.

    >>> [size(count) for count in (999, 1460, 999_600, 12_345_678)]
    ['999 B', '1.46 KB', '1 MB', '12.3 MB']
    """
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= 0.9995 * scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


def duration(seconds: float, digits: int = 6) -> str:
    """Return a time with the unit that fits it.

    >>> duration(0.0127), duration(1.5e-6), duration(2), duration(0)
    ('12.7 ms', '1.5 us', '2 s', '0 s')
    """
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds / 1e-9:.{digits}g} ns" if seconds else "0 s"


def rate(bps: float) -> str:
    """Return a rate with the unit that fits it.

    >>> rate(10_000_000_000), rate(500_000_000), rate(1.5e3), rate(0)
    ('10 Gb/s', '500 Mb/s', '1.5 kb/s', '0 b/s')
    """
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= scale:
            return f"{bps / scale:.6g} {unit}"
    return f"{bps:.6g} b/s"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 replication`, `5 replications`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def spread(
    metric: MetricValues,
    name: str,
    digits: int = 4,
    scale: float = 1.0,
    *,
    at_least: bool = False,
) -> str:
    """Return `median [min..max]` of a metric of a summary, and in words how many have none.

    After `>=` if it is a lower bound.
    """
    if metric.median is None or metric.min is None or metric.max is None:
        return never(name)
    ends = (metric.min, metric.median, metric.max)
    low, middle, high = (number(value * scale, digits) for value in ends)
    text = middle if low == high else f"{middle} [{low}..{high}]"
    text = f">= {text}" if at_least else text
    missing = metric.values.count(None)
    return text if not missing else f"{text}, {missing} of {len(metric.values)} {never(name)}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return `rows` aligned under `header`, plain enough for a pipe.

    Parameters
    ----------
    header : sequence of str
        A word or several lines for each column.
    rows : sequence of sequence of str
        Cells, of one line or several.
    left : int, default 1
        So many columns, from the first, are aligned to the left, the others to the right.

    Returns
    -------
    str
        Lines without spaces at their ends; lines are never wrapped.
    """
    return _aligned(header, rows, left, range(len(header)))


def table_width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the columns that `table` needs."""
    widths = _widths([header, *rows], range(len(header)))
    return sum(widths) + GAP * (len(widths) - 1)


def fitted_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> str:
    """Return what `table` returns, split into blocks that each fit `columns` wide.

    Every block repeats the first column.
    """
    blocks: list[list[int]] = [[0]]
    for index in range(1, len(header)):
        widths = _widths([header, *rows], [*blocks[-1], index])
        if len(blocks[-1]) > 1 and sum(widths) + GAP * (len(widths) - 1) > columns:
            blocks.append([0, index])
        else:
            blocks[-1].append(index)
    return "\n\n".join(_aligned(header, rows, 1, block) for block in blocks)


def paragraphs(text: str, columns: int, indent: str = "") -> str:
    """Return `text` with its paragraphs wrapped; indented lines (diagrams) stay as they are."""
    import textwrap

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


def _aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: int, columns: Sequence[int]
) -> str:
    widths = _widths([header, *rows], columns)
    sides = [index < left for index in columns]
    above = _row([_lines(header[index]) for index in columns], widths, sides, bottom=True)
    lines = [bold(line) if line else line for line in above]
    lines.append((" " * GAP).join("-" * width for width in widths))
    for row in rows:
        lines += _row([_lines(row[index]) for index in columns], widths, sides)
    return "\n".join(lines)


def _row(
    cells: list[list[str]], widths: list[int], sides: list[bool], *, bottom: bool = False
) -> list[str]:
    """Return the lines of a row; short cells have blank lines below, or with `bottom` above."""
    height = max(map(len, cells))
    padded = []
    for cell, width, at_left in zip(cells, widths, sides, strict=True):
        blank = [""] * (height - len(cell))
        padded.append(
            [_padded(line, width, at_left) for line in (blank + cell if bottom else cell + blank)]
        )
    return [(" " * GAP).join(line).rstrip() for line in zip(*padded, strict=True)]


def _padded(line: str, width: int, at_left: bool) -> str:
    line = line if at_left else line.rstrip()
    spaces = " " * (width - _cells(line))
    return line + spaces if at_left else spaces + line


def _widths(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> list[int]:
    """Return how wide each column is: as its widest line, and at least 1."""
    return [
        max(1, *(_cells(line) for row in rows for line in _lines(row[index]))) for index in columns
    ]


def _lines(cell: str) -> list[str]:
    return cell.translate(UNSEEN).expandtabs().split("\n")


def _cells(line: str) -> int:
    """Return the columns of a terminal that `line` takes; some characters take two, or none."""
    if line.isascii():
        return len(line)
    from rich.cells import cell_len

    return cell_len(line)


def _styled() -> bool:
    """Return whether bold type shows: stdout is a terminal and `NO_COLOR` is not set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain
