"""The runs of a sweep that have ended, as columns of numbers, and their table.

Runs are numbered point by point: `point * replications + replication`. A sweep of many runs keeps
them in parts of so many numbers. A part is in memory until its runs have ended, and then a file.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from qcnlab import catalogue
from qcnlab.sweeps.grid import Axis
from qcnlab.sweeps.precision import stated_precision

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from qcnlab.sweeps.known import Manifest
    from qcnlab.sweeps.precision import Precision

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]

ROWS_IN_A_PART = 100_000
"""A sweep that can have more runs is kept in parts of so many rows."""

Run = tuple[int, int]
"""A point and a replication."""
Values = list[float | None]
"""The metrics of a run, in the order of the manifest."""


def rows_in_a_part(points: int, replications: int, *, whole_points: bool) -> int | None:
    """Return how many runs a part has, `None` for a sweep that is not divided.

    `whole_points`: all runs of a point are in one part.

    >>> rows_in_a_part(100_000, 10, whole_points=False), rows_in_a_part(10, 10, whole_points=False)
    (100000, None)
    >>> rows_in_a_part(100_000, 33, whole_points=True)
    99990
    """
    if points * replications <= ROWS_IN_A_PART:
        return None
    if whole_points:
        return replications * max(1, ROWS_IN_A_PART // replications)
    return ROWS_IN_A_PART


class _Part:
    """A part in memory: a row for each run, and which rows are there; a missing metric is NaN."""

    __slots__ = ("there", "values")

    def __init__(self, rows: int, metrics: int) -> None:
        import numpy as np

        self.values: Floats = np.empty((rows, metrics))
        self.there = np.zeros(rows, dtype=bool)


class Runs:
    """The runs of a sweep that have ended.

    `known` is the manifest of the sweep.
    """

    def __init__(self, known: Manifest) -> None:
        import numpy as np

        self._axes = tuple(Axis(key, tuple(values)) for key, values in known["vary"].items())
        self._metrics: list[str] = known["metrics"]
        self._precision = stated_precision(known)
        self.points = prod(len(axis.values) for axis in self._axes)
        self.replications: int = known["replications"]
        self._all = self.points * self.replications
        self._size: int = known.get("rows_in_a_part") or self._all
        self._open: dict[int, _Part] = {}
        self._files: dict[int, Path] = {}
        self._counts = np.zeros(self.points, dtype=np.int64)

    def __len__(self) -> int:
        """Return the number of runs that are there."""
        return int(self._counts.sum())

    def __contains__(self, run: Run) -> bool:
        """Return whether a run is there."""
        index, row = self._at(run)
        part = self._open.get(index)
        return index in self._files or (part is not None and bool(part.there[row]))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What varies."""
        return self._axes

    @property
    def parts(self) -> range:
        """The indices of the parts."""
        return range(-(-self._all // self._size))

    @property
    def counts(self) -> Numbers:
        """The number of runs that are there, by point."""
        return self._counts

    @property
    def files(self) -> list[Path]:
        """The files of parts, in their order."""
        return [self._files[part] for part in sorted(self._files)]

    @property
    def in_memory_count(self) -> int:
        """The number of runs that are in no file."""
        return sum(int(part.there.sum()) for part in self._open.values())

    def units(self) -> dict[str, str]:
        """Return the units of the table's columns, by their names."""
        own = {axis.column: axis.unit for axis in self._axes if axis.unit}
        return own | {each.name: each.unit for each in catalogue.metrics() if each.unit}

    @property
    def stretches(self) -> list[range]:
        """Parts whose runs can be made together; a stretch is made after the one before.

        With a precision it is one part, so that no more than one is in memory.
        """
        if self._precision is None:
            return [self.parts]
        return [range(part, part + 1) for part in self.parts]

    def add(self, run: Run, values: Values) -> int:
        """Take a run that has ended, unless it is there; return the index of its part."""
        index, row = self._at(run)
        if index in self._files:
            return index
        part = self._open.get(index)
        if part is None:
            part = self._open[index] = _Part(len(self._range(index)), len(self._metrics))
        if not part.there[row]:
            part.values[row] = values
            part.there[row] = True
            self._counts[run[0]] += 1
        return index

    def is_open(self, part: int) -> bool:
        """Return whether a part is no file."""
        return part not in self._files

    def is_full(self, part: int) -> bool:
        """Return whether every number of a part is there."""
        known = self._open.get(part)
        return known is not None and bool(known.there.all())

    def keep_in(self, part: int, path: Path) -> None:
        """Leave a part whose runs have ended to its file, which holds them."""
        if self._open.pop(part, None) is None:
            import numpy as np
            import polars as pl

            points = pl.read_parquet(path, columns=["point"])["point"].to_numpy()
            self._counts += np.bincount(points, minlength=self.points)
        self._files[part] = path

    def missing(self, parts: range) -> tuple[int, Iterator[Run]]:
        """Return how many runs of parts are wanted next, and these by point and replication.

        With a precision there may be more when these have ended.
        """
        still = [part for part in parts if part not in self._files]
        if (precision := self._precision) is not None:
            wanted = [run for part in still for run in self._wanted(part, precision)]
            return len(wanted), iter(wanted)
        count = sum(len(self._range(part)) for part in still)
        count -= sum(int(known.there.sum()) for part in still if (known := self._open.get(part)))
        return count, (run for part in still for run in self._lacking(part))

    def _lacking(self, index: int) -> Iterator[Run]:
        """Yield the runs of a part that are not there."""
        import numpy as np

        numbers, part = self._range(index), self._open.get(index)
        rows = range(len(numbers)) if part is None else np.flatnonzero(~part.there).tolist()
        for row in rows:
            yield divmod(numbers[row], self.replications)

    def _wanted(self, index: int, precision: Precision) -> Iterator[Run]:
        """Yield the runs that bring each point of a part nearer to a precision."""
        import numpy as np

        numbers, part = self._range(index), self._open.get(index)
        metric = self._metrics.index(precision.metric)
        for start in range(0, len(numbers), self.replications):
            point = numbers[start] // self.replications
            there = np.zeros(1, dtype=bool)
            if part is not None:
                there = part.there[start : start + self.replications]
            # Those from the first on without a gap.
            first = int(np.argmin(there)) if not there.all() else len(there)
            values = [] if part is None else _some(part.values[start : start + first, metric])
            for replication in range(precision.runs(values)):
                if replication >= len(there) or not there[replication]:
                    yield point, replication

    def column(self, metric: str) -> Floats:
        """Return a metric of all runs that are there, in their order; NaN where a run has none."""
        import numpy as np
        import polars as pl

        index = self._metrics.index(metric)
        columns = []
        for number in self.parts:
            if number in self._files:
                frame = pl.read_parquet(self._files[number], columns=[metric])
                columns.append(frame[metric].to_numpy())
            elif (part := self._open.get(number)) is not None:
                columns.append(part.values[:, index][part.there])
        return np.concatenate(columns) if columns else np.empty(0)

    def in_memory(self) -> Iterator[tuple[Run, Values]]:
        """Yield the runs that are in no file, in their order."""
        import numpy as np

        for index in sorted(self._open):
            numbers, part = self._range(index), self._open[index]
            for row in np.flatnonzero(part.there).tolist():
                yield divmod(numbers[row], self.replications), _some(part.values[row])

    def frame(self, parts: Sequence[int] | None = None) -> pl.DataFrame:
        """Return the table of the runs of parts, all by default: a row for each run.

        `point`, a column for each key that varies, `replication`, and the metrics.
        """
        import polars as pl

        chosen = [self._frame(part) for part in (self.parts if parts is None else parts)]
        return pl.concat(chosen, rechunk=True) if len(chosen) != 1 else chosen[0]

    def _frame(self, index: int) -> pl.DataFrame:
        import numpy as np
        import polars as pl

        if index in self._files:
            return pl.read_parquet(self._files[index])
        numbers, part = self._range(index), self._open.get(index) or _Part(0, len(self._metrics))
        rows = np.flatnonzero(part.there)
        points, replications = np.divmod(rows + numbers.start, self.replications)
        columns = [pl.Series("point", points, pl.UInt32)]
        stride = self.points
        for axis in self._axes:
            stride //= len(axis.values)
            at = points // stride % len(axis.values)
            columns.append(pl.Series(axis.column, axis.numbers()).gather(at))
        columns.append(pl.Series("replication", replications, pl.UInt32))
        for number, name in enumerate(self._metrics):
            values = pl.Series(name, part.values[rows, number], pl.Float64, nan_to_null=True)
            columns.append(values)
        return pl.DataFrame(columns)

    def _at(self, run: Run) -> tuple[int, int]:
        return divmod(run[0] * self.replications + run[1], self._size)

    def _range(self, part: int) -> range:
        return range(part * self._size, min((part + 1) * self._size, self._all))


def _some(values: Floats) -> Values:
    """Return numbers as a list, with `None` for NaN."""
    return [None if value != value else value for value in values.tolist()]
