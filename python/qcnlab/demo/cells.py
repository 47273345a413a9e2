"""What the demonstration runs, and its table: six schemes at two round-trip times."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from qcnlab.metrics import MetricValues, never
from qcnlab.printing import text
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.results.result import Result

RTTS = {
    "10 us": "og-hotspot-2src-10g-to-500m-rtt10us",
    "200 us": "og-hotspot-2src-10g-to-500m-rtt200us",
}
QUICK = (
    "warmup=200 ms",
    "hotspot.0.from=300 ms",
    "hotspot.0.until=480 ms",
    "duration=730 ms",
)


@dataclass(frozen=True)
class Row:
    """One way to control the hotspot, and the recovery times deck 001 prints for it."""

    key: str
    label: str
    scheme: str
    preset: str | None
    published_ms: dict[str, float]

    @property
    def changes(self) -> list[str]:
        """The overrides that turn a shipped scenario into this row."""
        preset = [] if self.preset is None else [f"scheme.preset={self.preset}"]
        return [f"scheme.name={self.scheme}", *preset]


ROWS = (
    Row("none", "no control", "none", None, {}),
    Row("ecm", "ECM, Gi 0.53333", "ecm", "DECK001", {"10 us": 3}),
    Row(
        "ecm-adjusted",
        "ECM, Gi 0.0053333",
        "ecm",
        "DECK001_STABILITY_ADJUSTED",
        {"200 us": 214},
    ),
    Row("qcn-byte-counter", "QCN, byte counter", "qcn_byte_counter", "DECK001", {}),
    Row("qcn-timer", "QCN, timer", "qcn_timer", "DECK001", {}),
    Row("qcn", "QCN, final form", "qcn", "DECK001", {"10 us": 94, "200 us": 108}),
)


@dataclass(frozen=True)
class Cell:
    """One row at one round-trip time."""

    row: Row
    rtt: str
    result: Result

    @property
    def folder(self) -> str:
        """The name of its run folder inside the demo's."""
        return f"rtt{self.rtt.replace(' ', '')}-{self.row.key}"

    @property
    def metrics(self) -> Mapping[str, MetricValues]:
        """The metrics of its summary."""
        return self.result.summary.metrics

    @property
    def published_ms(self) -> float | None:
        """The recovery time that the deck prints for it; `None` if it prints none."""
        return self.row.published_ms.get(self.rtt)

    @property
    def command(self) -> str:
        """The command that reproduces its numbers."""
        summary = self.result.summary
        words = ["qcnlab", "run", self.result.name]
        for change in self._changes():
            words += ["-s", change]
        words += ["--seed", str(summary.seed), "--reps", str(summary.replications)]
        return shlex.join(words)

    def _changes(self) -> list[str]:
        return [*(QUICK if self.result.meta.get("quick") else ()), *self.row.changes]


@dataclass(frozen=True)
class Demo:
    """All cells, by round-trip time and then by row."""

    cells: Sequence[Cell]

    @property
    def rtts(self) -> list[str]:
        """The round-trip times, in order."""
        return list(dict.fromkeys(cell.rtt for cell in self.cells))

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return [cell.row for cell in self.cells if cell.rtt == self.cells[0].rtt]

    def cell(self, row: Row, rtt: str) -> Cell:
        """Return the cell of `row` at `rtt`."""
        return next(cell for cell in self.cells if cell.row == row and cell.rtt == rtt)

    @property
    def note(self) -> str:
        """The note above the table: what its columns leave out."""
        known = facts(self.cells[0].result)
        rest_ms = (known.duration_s - known.hotspots[-1].end_s) * 1e3
        return (
            "Queue, empty and Jain are taken outside the hotspot and its recovery;\n"
            f'"did not recover" is: not in the {rest_ms:.4g} ms to the end of the run.'
        )

    @property
    def summary(self) -> dict[str, object]:
        """Every cell's summary with its labels and published value."""
        return {
            "cells": [
                {
                    "rtt": cell.rtt,
                    "row": cell.row.key,
                    "label": cell.row.label,
                    "published_recovery_ms": cell.published_ms,
                    "folder": cell.folder,
                    "command": cell.command,
                    **cell.result.summary.to_dict(),
                }
                for cell in self.cells
            ]
        }

    def text(self, columns: int) -> str:
        """Return one table per round-trip time, at most `columns` wide where that is possible."""
        first = self.cells[0].result.summary
        many = text.counted(first.replications, "replication")
        parts = [
            "Two sources, a 10 Gb/s link that drops to 0.5 Gb/s and comes back;\n"
            f"medians over {many}, seed {first.seed}.\n" + self.note
        ]
        for rtt, cells in groupby(self.cells, key=lambda cell: cell.rtt):
            rows = [table_row(cell) for cell in cells]
            parts.append(f"RTT {rtt}\n" + text.fitted_table(HEADER, rows, columns))
        return "\n\n".join(parts)


HEADER = (
    "\nscheme",
    "recovery, ms\nmedian [range]",
    "deck\n001",
    "settling\nms",
    "used, %\nduring",
    "used, %\nafter",
    "queue, KB\nmean (std)",
    "empty\n%",
    "drops\nframes",
    "mes-\nsages",
    "Jain\nindex",
)


def table_row(cell: Cell) -> tuple[str, ...]:
    """Return the cells of one row of the table, in the order of `HEADER`."""
    metrics = cell.metrics

    def median(name: str, scale: float = 1, digits: int = 3) -> str:
        value = metrics[name].median
        return never(name) if value is None else text.number(value * scale, digits)

    published = cell.published_ms
    return (
        cell.row.label,
        recovery(cell),
        "" if published is None else text.number(published),
        median("onset_ms").replace("did not settle", "never"),
        median("util_during", 100),
        median("util_after", 100),
        f"{median('queue_mean_bytes', 1e-3)} ({median('queue_std_bytes', 1e-3)})",
        median("queue_empty_frac", 100, 2),
        median("drops"),
        median("messages"),
        median("jain"),
    )


def recovery(cell: Cell) -> str:
    """Return median and range of the recovery time, and how many replications had none."""
    metric = cell.metrics["recovery_ms"]
    missing = metric.values.count(None)
    if missing in (0, len(metric.values)):
        return text.spread(metric, "recovery_ms", 3)
    recovered = MetricValues.of(metric.unit, metric.known)
    spread = text.spread(recovered, "recovery_ms", 3)
    return f"{spread}\n{missing} of {len(metric.values)} did not"
