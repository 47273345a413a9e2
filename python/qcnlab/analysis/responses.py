"""Results of an analysis: columns of one length with their units, as a table or a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qcnlab._core import AnalysisError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """Columns of shape (rows,), each with a unit; the base of every response.

    Examples
    --------
    >>> response = Response("queue", {"time_s": np.arange(3.0)}, {"time_s": "s"})
    >>> response["time_s"], response.units["time_s"], len(response)
    (array([0., 1., 2.]), 's', 3)
    """

    title: str
    """One line for people."""
    columns: dict[str, Array]
    """Name to values; the first column is the axis."""
    units: dict[str, str]
    """Name to unit; columns without a unit are left out."""

    def __getitem__(self, name: str) -> Array:
        """Return a column; raises `KeyError` with the names there are."""
        try:
            return self.columns[name]
        except KeyError:
            names = ", ".join(self.columns)
            raise KeyError(f"no column is named {name!r}; there are {names}") from None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def to_polars(self) -> pl.DataFrame:
        """Return a `polars.DataFrame` of shape (rows, columns)."""
        import polars as pl

        return pl.DataFrame(self.columns)

    def plot(self) -> Figure:
        """Return a `matplotlib.figure.Figure` that belongs to no window."""
        from qcnlab.analysis import draw

        return draw.columns(self, list(self.columns)[1:])


@dataclass(frozen=True)
class Bode(Response):
    """`frequency_rad_per_s`, `gain` (a ratio), `phase_deg` (unwrapped, 0 at most at the left)."""

    def plot(self) -> Figure:
        """Return a figure of gain and phase over frequency."""
        from qcnlab.analysis import draw

        return draw.bode(self)


@dataclass(frozen=True)
class Nyquist(Response):
    """`frequency_rad_per_s`, `real`, `imaginary` of L(jw), w > 0."""

    def plot(self) -> Figure:
        """Return a figure of L(jw) near -1."""
        from qcnlab.analysis import draw

        return draw.nyquist_plane(self)


@dataclass(frozen=True)
class Step(Response):
    """`time_s`, `output`: the closed loop L / (1 + L) after a unit step of its set point."""

    settles_at: float | None
    """The last value of a stable loop; `None` if the loop is unstable."""

    @property
    def final(self) -> float:
        """The last value; raises `AnalysisError` if the loop is unstable and has none."""
        if self.settles_at is None:
            raise AnalysisError(f"{self.title}: the loop is unstable, its step has no final value")
        return self.settles_at

    @property
    def overshoot(self) -> float:
        """The highest output above `final`, as a share of it, at least 0.

        Raises `AnalysisError` if the loop is unstable.
        """
        return max(0.0, float(self["output"].max()) / self.final - 1.0)

    def plot(self) -> Figure:
        """Return a figure of the output over time."""
        from qcnlab.analysis import draw

        return draw.step(self)


@dataclass(frozen=True)
class Trajectory(Response):
    """`time_s` and the columns of a fluid model."""

    model: str
    """The model's name in `qcnlab.analysis.fluid_models()`."""
    unbounded_s: float | None = None
    """When a value passed 10^15 frames or frames/s, s: the model without its clamps is unstable, or
    the step too long. The rows end before. `None` if the solution reaches its end."""

    def after(self, start_s: float) -> Trajectory:
        """Return the rows at `start_s` and later."""
        keep = self["time_s"] >= start_s
        columns = {name: values[keep] for name, values in self.columns.items()}
        return Trajectory(self.title, columns, self.units, self.model, self.unbounded_s)

    def plot(self) -> Figure:
        """Return a figure of the queue and the summed rate over time."""
        from qcnlab.analysis import draw

        rest = list(self.columns)[1:]
        return draw.columns(self, [n for n in rest if n in ("queue_bytes", "rate_bps")] or rest)
