"""What is searched: ranges of numbers and quantities, and choices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import ScenarioError, scenario_error
from qcnlab.sweeps.grid import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>.+?)(?P<log>:log)?")
DIGITS = 4
"""Significant digits of the values that are tried."""
WRITTEN = {"s": (1e6, "us"), "bit/s": (1e-6, "Mb/s"), "B": (1.0, "B"), "": (1.0, "")}
"""By base unit: the factor to the unit in which values are written, and that unit."""


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, in base units; whole numbers if `whole`."""

    key: str
    low: float
    high: float
    unit: str
    log: bool
    whole: bool

    def suggest(self, trial: Any) -> str:
        """Return the value that a trial of Optuna gets, with its unit."""
        if self.whole:
            return str(trial.suggest_int(self.key, int(self.low), int(self.high), log=self.log))
        return self.written(trial.suggest_float(self.key, self.low, self.high, log=self.log))

    def written(self, value: float) -> str:
        """Return a number in base units as a scenario has it.

        >>> Range("scheme.rp.ai_rate", 1e6, 1e8, "bit/s", True, False).written(12345678.9)
        '12.35 Mb/s'
        """
        factor, unit = WRITTEN[self.unit]
        rounded = float(f"{value:.{DIGITS}g}")
        text = str(round(rounded)) if self.unit == "B" else f"{rounded * factor:.10g}"
        return f"{text} {unit}".strip()

    def ends(self) -> tuple[str, str]:
        """Return the lowest and the highest value."""
        if self.whole:
            return str(int(self.low)), str(int(self.high))
        return self.written(self.low), self.written(self.high)


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    key: str
    values: tuple[str, ...]

    def suggest(self, trial: Any) -> str:
        """Return the value that a trial of Optuna gets."""
        return str(trial.suggest_categorical(self.key, list(self.values)))

    def ends(self) -> tuple[str, ...]:
        """Return all values."""
        return self.values


Dimension = Range | Choice


def read_space(vary: Mapping[str, str]) -> list[Dimension]:
    """Read, by key, `LOW..HIGH`, `LOW..HIGH:log` or `A,B,C`; raises `ScenarioError`.

    >>> [space] = read_space({"scheme.rp.ai_rate": "1 Mb/s..100 Mb/s:log"})
    >>> space.low, space.high, space.unit, space.log
    (1000000.0, 100000000.0, 'bit/s', True)
    """
    if not vary:
        raise scenario_error("nothing is searched", hint='--vary "KEY=LOW..HIGH" names a key')
    return [_dimension(key, str(text).strip()) for key, text in vary.items()]


def in_words(vary: Mapping[str, str]) -> str:
    """Return what is searched as people say it.

    >>> in_words({"scheme.cp.w": "0.5..8", "scheme.rp.ai_rate": "1 Mb/s..9 Mb/s:log", "k": "a,b"})
    'scheme.cp.w from 0.5 to 8; scheme.rp.ai_rate from 1 Mb/s to 9 Mb/s, by factors; k a,b'
    """
    told = []
    for key, text in vary.items():
        matched = RANGE.fullmatch(text.strip())
        words = text if matched is None else f"from {matched['low']} to {matched['high']}"
        told.append(f"{key} {words}{', by factors' if matched and matched['log'] else ''}")
    return "; ".join(told)


NOT_SEARCHED = {
    "seed": "--seed gives all trials the same random numbers",
    "replications": "--reps gives each trial as many",
}


def check_keys(searched: Iterable[str], changes: Iterable[str], over: Iterable[str]) -> None:
    """Raise `ScenarioError` for keys that cannot be searched, or are set or a condition, too."""
    fixed = {change.partition("=")[0].strip() for change in changes}
    for key in over:
        if key in NOT_SEARCHED:
            raise scenario_error(f"'{key}' cannot be a condition", hint=NOT_SEARCHED[key])
        if key in fixed:
            raise scenario_error(f"'{key}' is both set and a condition")
    for key in searched:
        if key in NOT_SEARCHED:
            raise scenario_error(f"'{key}' cannot be searched", hint=NOT_SEARCHED[key])
        if key in fixed:
            raise scenario_error(f"'{key}' is both set and searched")
        if key in set(over):
            raise scenario_error(f"'{key}' is both searched and a condition")


def _dimension(key: str, text: str) -> Dimension:
    matched = RANGE.fullmatch(text)
    if matched is None:
        values = tuple(read([f"{key}={text}"])[key])
        if len(values) < 2:
            raise _refusal(key, text, "one value leaves nothing to search")
        return Choice(key, values)
    first, last = (_core.quantity(matched[end]) or _number(matched[end]) for end in ("low", "high"))
    if first is None or last is None or first[1] != last[1]:
        raise _refusal(key, text, "both ends are numbers, or quantities of one kind")
    (low, unit), (high, _) = first, last
    log = matched["log"] is not None
    if not low < high:
        raise _refusal(key, text, "a range rises")
    if log and low <= 0:
        raise _refusal(key, text, "a logarithmic range lies above 0")
    whole = not unit and all(matched[end].strip().isdecimal() for end in ("low", "high"))
    return Range(key, low, high, unit, log, whole)


def _number(text: str) -> tuple[float, str] | None:
    try:
        return float(text), ""
    except ValueError:
        return None


def _refusal(key: str, text: str, message: str) -> ScenarioError:
    return scenario_error(
        message,
        hint='a range is "1 Mb/s..100 Mb/s", with :log if factors count; choices are "a,b,c"',
        argument=f'in --vary "{key}={text}"',
    )
