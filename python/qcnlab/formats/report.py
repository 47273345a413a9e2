"""What an import or export tells: what it read, what became of it, what it could not say."""

from __future__ import annotations

from dataclasses import dataclass, field

from qcnlab.printing import text

SHOWN = 3
"""Devices that a row names."""


@dataclass
class Report:
    """Every part of the files read is in one of its lists.

    Attributes
    ----------
    read : list
        Each file, and what it holds.
    mapped : list
        What a file says, and what says it now.
    not_modelled : list
        What a file says that nothing says now, and why.
    written : list
        Each file that was written, and what it holds.
    """

    read: list[tuple[str, str]] = field(default_factory=list)
    mapped: list[tuple[str, str]] = field(default_factory=list)
    not_modelled: list[tuple[str, str]] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        """Return the report as values for JSON."""
        return {
            "read": [{"file": file, "what": what} for file, what in self.read],
            "mapped": [{"from": before, "to": now} for before, now in self.mapped],
            "not_modelled": [{"what": what, "why": why} for what, why in self.not_modelled],
            "written": [{"file": file, "what": what} for file, what in self.written],
        }

    def text(self) -> str:
        """Return the report as tables, a part that is empty left out."""
        parts = (
            ("read", "holds", self.read),
            ("there", "here", self.mapped),
            ("not modelled", "why, and what instead", self.not_modelled),
            ("written", "holds", self.written),
        )
        tables = [
            text.table((left, right), [list(row) for row in rows], left=2)
            for left, right, rows in parts
            if rows
        ]
        return "\n\n".join(tables)


def together(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return rows with what is so of several devices in one."""
    devices: dict[tuple[str, str], list[str]] = {}
    for left, right in rows:
        name, colon, rest = left.partition(": ")
        devices.setdefault((rest, right) if colon else (left, right), []).append(
            name if colon else ""
        )
    out = []
    for (left, right), names in devices.items():
        known = [name for name in names if name]
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        out.append((f"{', '.join(known[:SHOWN])}{more}: {left}" if known else left, right))
    return out
