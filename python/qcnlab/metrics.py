"""What each metric declares of itself, and the values that replications have of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from qcnlab import _core
from qcnlab.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that each run has, with its one definition.

    Attributes
    ----------
    name : str
        In tables and files; it ends in its unit where it has one.
    title : str
        For people.
    unit : str
        Empty for a bare number.
    about, source : str
        The definition, and where it is from.
    facts : dict
        What it is about and where it is shown unasked. ``ending``, ``compared``, ``swept``,
        ``drawn``, ``advised`` and ``live`` have a rank from 1, ``at_least_if`` and ``never`` a
        text; others are there or not.
    """

    kind: ClassVar[str] = "metric"
    name: str
    title: str
    unit: str
    about: str
    source: str
    facts: dict[str, int | str | bool]


@dataclass(frozen=True, slots=True)
class MetricValues(Record):
    """A metric over replications.

    Attributes
    ----------
    unit : str
        Empty for a bare number.
    median, min, max : float, optional
        Over the replications that have a value; `None` where none has.
    values : tuple of float, optional
        One for each replication; `None` where it has none: it never recovered, there was no
        hotspot.

    Examples
    --------
    >>> MetricValues.of("ms", [4.0, None, 1.0])
    MetricValues(unit='ms', median=2.5, min=1.0, max=4.0, values=(4.0, None, 1.0))
    """

    unit: str
    median: float | None
    min: float | None
    max: float | None
    values: tuple[float | None, ...]

    @classmethod
    def of(cls, unit: str, values: Sequence[float | None]) -> MetricValues:
        """Return a metric of these values.

        Parameters
        ----------
        unit : str
            Of each of them.
        values : sequence of float, optional
            One for each replication.
        """
        from statistics import median

        known = [value for value in values if value is not None]
        middle = median(known) if known else None
        lowest, highest = min(known, default=None), max(known, default=None)
        return cls(unit, middle, lowest, highest, tuple(values))

    @property
    def known(self) -> list[float]:
        """The values of the replications that have one."""
        return [value for value in self.values if value is not None]

    @property
    def total(self) -> float:
        """The sum over the replications that have a value."""
        return sum(self.known)


@cache
def metrics() -> tuple[Metric, ...]:
    """Return every metric, in the order of tables."""
    return tuple(Metric(**each) for each in json.loads(_core.metrics()))


@cache
def having(fact: str) -> tuple[str, ...]:
    """Return the metrics that declare a fact, by their rank in it, or in the order of all.

    Parameters
    ----------
    fact : str
        Such as ``"compared"`` or ``"one_port"``.

    Examples
    --------
    >>> having("drawn")
    ('recovery_ms', 'slowdown_mean', 'queue_mean_bytes')
    >>> having("outside_hotspot")
    ('util_before', 'throughput_outside_gbps')
    """
    known = [(each.facts[fact], each.name) for each in metrics() if fact in each.facts]
    return tuple(name for _, name in sorted(known, key=lambda pair: int(pair[0])))


@cache
def texts(fact: str) -> dict[str, str]:
    """Return the text of a fact by the metrics that declare it.

    Parameters
    ----------
    fact : str
        ``"at_least_if"``: the metric that makes it a lower bound where that is above 0.
        ``"never"``: the words where a run has no value.

    Examples
    --------
    >>> texts("at_least_if")["slowdown_p99"], texts("never")["onset_ms"]
    ('unfinished', 'did not settle')
    """
    return {each.name: str(each.facts[fact]) for each in metrics() if fact in each.facts}


def never(name: str) -> str:
    """Return what is said of a metric that a run has no value of."""
    return texts("never").get(name, "none")


def remedy_for(name: str, known: Iterable[str]) -> str:
    """Return what to do about a metric that is not there: the one nearest in spelling, the list.

    Parameters
    ----------
    name : str
        As it was asked for.
    known : iterable of str
        Those that there are.

    Examples
    --------
    >>> remedy_for("dropz", ["jain", "drops"])
    'did you mean drops? `qcnlab list metrics` has them all'
    """
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{meant}`qcnlab list metrics` has them all"
