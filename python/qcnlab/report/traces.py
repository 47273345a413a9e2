"""Series of a report's curves: thinned to the least and the most of each pixel, packed as text."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Traces:
    """Several series over the same times.

    Attributes
    ----------
    time : numpy.ndarray
        Times, s.
    values : dict
        An array for each name, as long; NaN where a series has no value.
    samples : int
        How many times there were before they were thinned.
    bin_s : float
        Of how long, in s, the least and the most are drawn; 0 where every sample is.
    """

    time: Array
    values: dict[str, Array] = field(default_factory=dict)
    samples: int = 0
    bin_s: float = 0.0


def thinned(frame: pl.DataFrame, value: str, name: str, points: int) -> Traces:
    """Return the series of a frame with at most `points` times.

    Where there are more times than that, each bin of time has two points for each series: its least
    and its most, in the order in which they came.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `time_s`, `name` and `value`.
    value, name : str
        The column that is drawn, and the column that tells series apart.
    points : int
        Two or more.

    Returns
    -------
    Traces
        Names in the order in which they first stand in the frame.

    Examples
    --------
    >>> frame = pl.DataFrame(
    ...     {"time_s": [0.0, 1.0, 2.0, 3.0], "port": ["a"] * 4, "queue": [5, 9, 1, 2]}
    ... )
    >>> thinned(frame, "queue", "port", 4).values["a"].tolist()
    [5.0, 9.0, 1.0, 2.0]
    >>> thinned(frame, "queue", "port", 2).values["a"].tolist()
    [9.0, 1.0]
    """
    plain = frame.select("time_s", pl.col(name).cast(pl.String), pl.col(value).cast(pl.Float64))
    names = plain[name].unique(maintain_order=True).to_list()
    samples = plain["time_s"].n_unique()
    if samples <= points:
        wide = plain.unique(["time_s", name], keep="last").pivot(name, index="time_s", values=value)
        wide = wide.sort("time_s")
        values = {each: _floats(wide[each]) for each in names}
        return Traces(_floats(wide["time_s"]), values, samples)
    bins = max(points // 2, 1)
    start, end = float(plain["time_s"].min() or 0), float(plain["time_s"].max() or 0)  # type: ignore[arg-type]
    width = (end - start) / bins
    extremes = (
        plain.with_columns(
            ((pl.col("time_s") - start) / width).floor().clip(0, bins - 1).cast(pl.Int64).alias("b")
        )
        .group_by(name, "b")
        .agg(
            pl.col(value).min().alias("low"),
            pl.col(value).max().alias("high"),
            (pl.col(value).arg_min() <= pl.col(value).arg_max()).alias("rises"),
        )
    )
    values = {}
    for (each,), part in extremes.group_by(name):
        pair = np.full((bins, 2), np.nan)
        low, high = _floats(part["low"]), _floats(part["high"])
        rises = part["rises"].to_numpy().astype(bool)
        at = part["b"].to_numpy()
        pair[at, 0] = np.where(rises, low, high)
        pair[at, 1] = np.where(rises, high, low)
        values[str(each)] = pair.ravel()
    time = start + np.arange(2 * bins, dtype=np.float64) * (width / 2)
    return Traces(time, {each: values[each] for each in names}, samples, width)


def _floats(column: pl.Series) -> Array:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def packed(values: Array, kind: str = "<f4") -> str:
    """Return numbers as base64 of little-endian floats of 4 octets, or of another kind."""
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode()


def merged(start: Array, end: Array, gap: float) -> tuple[Array, Array]:
    """Return intervals with those joined that lie no further apart than `gap`.

    Examples
    --------
    >>> [each.tolist() for each in merged(np.array([0.0, 2.0, 9.0]), np.array([1.0, 3.0, 9.5]), 1)]
    [[0.0, 9.0], [3.0, 9.5]]
    """
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[True], start[1:] > end[:-1] + gap])
    last = np.concatenate([first[1:], [True]])
    return start[first], end[last]


def covered(start: Array, end: Array, edges: Array) -> Array:
    """Return how much of each bin intervals cover, from 0 to 1; they may not overlap.

    Examples
    --------
    >>> covered(np.array([0.5, 2.0]), np.array([1.5, 3.0]), np.array([0.0, 1.0, 2.0, 3.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    if not len(start):
        return np.zeros(len(edges) - 1)
    lasted = np.concatenate([[0.0], np.cumsum(end - start)])
    index = np.searchsorted(start, edges, side="right")
    # Of the last interval that began before an edge, what lies beyond the edge does not count.
    beyond = np.where(index > 0, np.maximum(end[np.maximum(index - 1, 0)] - edges, 0), 0)
    upto = lasted[index] - beyond
    share: Array = np.diff(upto) / np.diff(edges)
    return np.clip(share, 0, 1)


def nice(value: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is not below `value`.

    >>> nice(0.0013), nice(0.002), nice(7)
    (0.002, 0.002, 10.0)
    """
    power = 10.0 ** np.floor(np.log10(value))
    for step in (1, 2, 5, 10):
        if value <= step * power * (1 + 1e-9):
            return float(f"{step * power:.6g}")
    raise AssertionError("a number lies below ten times its power of ten")


def counts(frame: pl.DataFrame, by: str, bin_s: float, end_s: float, weight: str = "") -> Traces:
    """Return how many rows, or how much of `weight`, each bin of time has, for each value of `by`.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `time_s`, `by` and `weight`.
    by : str
        The column that tells series apart.
    bin_s, end_s : float
        The length of a bin and of the run, s.
    weight : str, optional
        A column to add up in place of rows.

    Returns
    -------
    Traces
        Times are starts of bins, and the end.
    """
    bins = max(int(np.ceil(end_s / bin_s - 1e-9)), 1)
    values: dict[str, Array] = {}
    for (each,), part in frame.group_by(by, maintain_order=True):
        at = np.clip((part["time_s"].to_numpy() / bin_s).astype(int), 0, bins - 1)
        added = np.bincount(at, part[weight].to_numpy() if weight else None, bins).astype(float)
        values[str(each)] = np.concatenate([added, [0.0]])
    return Traces(np.arange(bins + 1, dtype=np.float64) * bin_s, values, len(frame), bin_s)
