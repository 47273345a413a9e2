"""Replications until a metric is known to a stated precision.

A point gets replications in rounds: the least number, then half as many again, until the
confidence interval of its metric is narrow enough or the most are made. Whether a round is the last
one depends only on the values of its replications, so the number of runs is the same on any number
of threads, on a cluster, and after a stop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.errors import scenario_error
from qcnlab.printing import text
from qcnlab.runs import intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qcnlab.runs.intervals import Interval
    from qcnlab.sweeps.known import Manifest, PrecisionEntry

WRITTEN = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*%\s*(?:of\s+(?P<of>median|mean))?\s*")
LEAST, MOST = 10, 200
GROWTH = 2
"""A round adds one GROWTH-th of the replications that are there."""


@dataclass(frozen=True)
class Precision:
    """How well a metric is to be known at each point of a sweep.

    The interval of the metric's median or mean reaches at most `share` of that number to either
    side.

    Examples
    --------
    >>> import qcnlab
    >>> wanted = qcnlab.Precision("queue_mean_bytes", share=0.05, least=6, most=20)
    >>> print(wanted)
    5 % of the median of queue_mean_bytes at 95 %
    """

    metric: str
    """The metric; ``qcnlab list metrics`` has them."""
    share: float
    """Half of the interval's width, as a share of the number itself."""
    least: int = LEAST
    """Replications that each point gets."""
    most: int = MOST
    """Replications after which a point is left as it is."""
    level: float = intervals.LEVEL
    """The confidence level."""
    of: str = "median"
    """``"median"``, or ``"mean"`` with Student's interval."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be."""
        if not 0 < self.share < 1:
            raise scenario_error("a precision lies between 0 % and 100 %", hint="--precision 5%")
        if not 2 <= self.least <= self.most:
            raise scenario_error(
                f"at least {self.least} and at most {self.most} replications cannot be made",
                hint="a precision needs 2 replications or more, and --most is not below --reps",
            )
        if self.of not in ("median", "mean"):
            raise scenario_error(f"a precision is of the median or the mean, not of '{self.of}'")

    def __str__(self) -> str:
        """Return it in words: `5 % of the median of queue_mean_bytes at 95 %`."""
        return f"{100 * self.share:g} % of the {self.of} of {self.metric} at {100 * self.level:g} %"

    def interval(self, values: Sequence[float | None]) -> Interval:
        """Return the interval of the median or the mean of the values that are there.

        Parameters
        ----------
        values : sequence of float or None
            One for each replication.

        Returns
        -------
        Interval
            `median` has the mean if that is wanted.
        """
        law = intervals.mean_interval if self.of == "mean" else intervals.median_interval
        return law(values, self.level)

    def reached(self, values: Sequence[float | None]) -> bool:
        """Return whether these values are enough.

        Parameters
        ----------
        values : sequence of float or None
            One for each replication.

        Returns
        -------
        bool
            Never true of values without an interval.
        """
        known = self.interval(values)
        width = half_width(known)
        return width is not None and width <= self.share * abs(known.median or 0.0)

    def runs(self, values: Sequence[float | None]) -> int:
        """Return how many replications a point needs, of which these are the first.

        Parameters
        ----------
        values : sequence of float or None
            One for each replication that is there.

        Returns
        -------
        int
            More than there are if the point is not ended.
        """
        for count in self._rounds():
            if len(values) < count or self.reached(values[:count]):
                return count
        return self.most

    def _rounds(self) -> Iterator[int]:
        count = self.least
        while count < self.most:
            yield count
            count += max(1, count // GROWTH)
        yield self.most


def half_width(interval: Interval) -> float | None:
    """Return how far an interval reaches from its middle, on the wider side."""
    if interval.median is None or interval.low is None or interval.high is None:
        return None
    return max(interval.high - interval.median, interval.median - interval.low)


def read_precision(written: str, metric: str, least: int | None, most: int | None) -> Precision:
    """Read `5%`, `5% of median` or `5% of mean`, as the command line gives it.

    >>> read_precision("2.5% of mean", "drops", 6, None).share
    0.025
    """
    matched = WRITTEN.fullmatch(written)
    if matched is None:
        raise scenario_error(
            f"'{written}' is no precision", hint="--precision 5%, or --precision '5% of mean'"
        )
    least = least or LEAST
    share, of = float(matched["number"]) / 100, matched["of"] or "median"
    return Precision(metric, share, least, most or max(MOST, least), of=of)


def stated_precision(known: Manifest) -> Precision | None:
    """Return the precision that a manifest states, if it states one."""
    stated = known.get("precision")
    return Precision(**stated) if isinstance(stated, dict) else None


def to_manifest(precision: Precision) -> PrecisionEntry:
    """Return what `stated_precision` reads."""
    return {
        "metric": precision.metric,
        "share": precision.share,
        "least": precision.least,
        "most": precision.most,
        "level": precision.level,
        "of": precision.of,
    }


def told(precision: Precision, values: Sequence[float | None]) -> str:
    """Return the precision that a point has, in words: `3.2 %`, `8.1 %, not reached`."""
    known = precision.interval(values)
    width = half_width(known)
    if width is None:
        return "none, not reached"
    if not known.median:
        share = "0 %" if width == 0 else "none"
    else:
        share = f"{text.number(100 * width / abs(known.median), 2)} %"
    return share if precision.reached(values) else f"{share}, not reached"
