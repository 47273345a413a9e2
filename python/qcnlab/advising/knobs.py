"""What is searched: thresholds, alpha, parameters of adapters, in steps that devices can have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from qcnlab.errors import scenario_error
from qcnlab.runs.facts import base, tables_of
from qcnlab.runs.network import Network
from qcnlab.tuning.space import Choice, Range, read_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcnlab.api import Scenario
    from qcnlab.records import JsonObject

DIGITS = 3
"""Significant digits of whole numbers that are tried."""
PUBLISHED = (0.125e3, 8e3)
"""Kmin in octets for each Gb/s: the range is at least this; DCQCN's paper has the lower end."""
MOST_RATIO = 32.0
ALPHAS = range(-8, 8)
"""Exponents of alpha that devices have."""
AWAY = 3
"""Exponents on either side of the present one."""
MEGA, MICRO, PERCENT, OF_1024 = 10**6, 1e-6, 100, 1024
FACTOR = 2
"""A neighbour has twice or half the value."""


@dataclass(frozen=True)
class Knob:
    """A whole number that is searched.

    Attributes
    ----------
    key : str
        Its name, with the unit.
    low, high : int
        The range.
    log : bool
        Whether factors count.
    present : float, optional
        What the scenario has now.
    """

    key: str
    low: int
    high: int
    log: bool
    present: float | None

    def suggest(self, trial: Any) -> str:
        """Return the value that a trial of Optuna gets."""
        return self.written(trial.suggest_int(self.key, self.low, self.high, log=self.log))

    def written(self, value: float) -> str:
        """Return a value as it is set: whole, with three significant digits.

        >>> Knob("Kmin (B)", 12_500, 800_000, True, 1e6).written(123_456)
        '123000'
        """
        return str(round(float(f"{value:.{DIGITS}g}")))

    def ends(self) -> tuple[str, str]:
        """Return the lowest and the highest value."""
        return str(self.low), str(self.high)

    def beside(self, value: float) -> list[str]:
        """Return the neighbours of a value: half and double of it, or one less and one more."""
        near = [value / FACTOR, value * FACTOR] if self.log else [value - 1, value + 1]
        least = 1 if self.log else ALPHAS[0]
        most = {PMAX: PERCENT, ALPHA: ALPHAS[-1]}.get(self.key, math.inf)
        words = [self.written(each) for each in near if least <= each <= most]
        return [each for each in words if float(each) != value]


RATIO, KMIN, KMAX = "Kmax / Kmin", "Kmin (B)", "Kmax (B)"
PMAX, ALPHA = "Pmax (%)", "alpha (2^n)"
NIC = {
    "AI rate (Mb/s)": ("scheme.rp.ai_rate", 1, 1000),
    "time reset (us)": ("scheme.rp.time_reset", 10, 600),
    "CNP interval (us)": ("scheme.rp.cnp_interval", 1, 64),
    "g (of 1024)": ("scheme.rp.g", 1, 64),
}
"""Parameters of adapters: the key of each, and a range that is searched at least."""
BASE = {"ai_rate": MEGA, "time_reset": MICRO, "cnp_interval": MICRO, "g": 1 / OF_1024}


class Space:
    """The knobs of a scenario, and what their values set.

    Parameters
    ----------
    scenario : Scenario
        What is searched.
    vary : mapping of str to str, optional
        Keys to ranges or choices, as `tune` has them, instead of the knobs.

    Raises
    ------
    ScenarioError
        If there is nothing to search, or `vary` names no keys.
    """

    def __init__(self, scenario: Scenario, vary: Mapping[str, str] | None = None) -> None:
        tree = scenario.to_dict()
        self._tree = tree
        self.kept: list[tuple[str, str]] = []
        """What is not searched, and why."""
        self._thresholds = _thresholds(tree)
        self._alphas = _alphas(tree)
        self.dimensions: list[Knob | Range | Choice] = []
        """What is searched."""
        if vary:
            if own := sorted(vary.keys() & {KMIN, KMAX, RATIO, PMAX, ALPHA, *NIC}):
                raise scenario_error(
                    f"'{own[0]}' is no key of a scenario, but what advise searches by itself",
                    hint="--vary KEY=LOW..HIGH names a key, such as scheme.cp.k_min",
                )
            self.dimensions += read_space(vary)
        else:
            self._marking(_fastest(scenario))
            self._sharing()
            self._adapters()
        if not self.dimensions:
            raise scenario_error(
                "advise has nothing to search: "
                + "; ".join(f"{what}: {why}" for what, why in self.kept),
                hint="--vary KEY=LOW..HIGH names a key",
            )

    def _marking(self, gbps: float) -> None:
        if not self._thresholds:
            name = self._tree["scheme"]["name"]
            self.kept.append(("Kmin, Kmax, Pmax", f"scheme {name} marks by no such thresholds"))
            return
        k_min, k_max, p_max = self._present()
        low = min(k_min / 4, PUBLISHED[0] * gbps)
        high = max(k_min * 4, PUBLISHED[1] * gbps)
        ratio = max(MOST_RATIO, k_max / max(k_min, 1.0))
        self.dimensions += [
            Knob(KMIN, max(1, round(low)), round(high), True, k_min),
            Range(RATIO, 1.0, float(f"{ratio:.3g}"), "", True, False),
            Knob(PMAX, 1, 100, True, p_max * PERCENT),
        ]
        if self._tree.get("wred"):
            self.kept.append(("scheme.cp", "[[wred]] has the thresholds of its queues"))

    def _sharing(self) -> None:
        if not self._alphas:
            self.kept.append(("alpha", "no [[shared_buffer]] with pg_alpha"))
            return
        present = log2(self._alphas[0][1])
        low, high = max(ALPHAS[0], round(present) - AWAY), min(ALPHAS[-1], round(present) + AWAY)
        self.dimensions.append(Knob(ALPHA, low, high, False, present))

    def _adapters(self) -> None:
        rp = self._tree["scheme"].get("rp", {})
        if self._tree["scheme"]["name"] != "dcqcn":
            name = self._tree["scheme"]["name"]
            self.kept.append(("adapters", f"scheme {name} has other parameters than DCQCN"))
            return
        for name, (key, low, high) in NIC.items():
            word = key.rpartition(".")[2]
            if rp.get(word) in (None, "none"):
                self.kept.append((name, f"{key} is not set"))
                continue
            known = rp[word]
            present = (base(known) if isinstance(known, str) else float(known)) / BASE[word]
            ends = min(low, max(1, round(present / 4))), max(high, round(present * 4))
            self.dimensions.append(Knob(name, *ends, True, present))

    def _present(self) -> tuple[float, float, float]:
        return self._thresholds[0][1:]

    @property
    def present(self) -> dict[str, str]:
        """What the scenario has now, by the names of `words`."""
        out: dict[str, str] = {}
        if not any(isinstance(each, Knob) for each in self.dimensions):
            return self._set_now()
        if self._thresholds:
            k_min, k_max, p_max = self._present()
            out |= {KMIN: f"{k_min:.0f}", KMAX: f"{k_max:.0f}", PMAX: f"{p_max * PERCENT:.4g}"}
        for each in self.dimensions:
            if isinstance(each, Knob) and each.key not in out and each.present is not None:
                out[each.key] = f"{each.present:.4g}"
        return out

    def _set_now(self) -> dict[str, str]:
        out = {}
        for each in self.dimensions:
            part: Any = self._tree
            for word in each.key.split("."):
                part = part[int(word)] if isinstance(part, list) else part.get(word, "none")
            out[each.key] = str(part)
        return out

    def words(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return what a candidate sets, Kmax instead of its ratio; what it leaves out is as now."""
        out = self.present | {key: value for key, value in values.items() if key != RATIO}
        if KMIN in values or RATIO in values:
            k_min, k_max = self._pair(values)
            out |= {KMIN: str(k_min), KMAX: str(k_max)}
        return {key: out[key] for key in self.present}

    def _pair(self, values: Mapping[str, str]) -> tuple[int, int]:
        present, most, _ = self._present()
        k_min = float(values.get(KMIN, present))
        ratio = float(values.get(RATIO, most / max(present, 1.0)))
        return round(k_min), max(round(k_min), round(float(f"{k_min * ratio:.{DIGITS}g}")))

    def changes(self, values: Mapping[str, str]) -> list[str]:
        """Return what `-s` sets for a candidate.

        Where several tables have thresholds or alphas of their own, each keeps its ratio to that of
        the first.

        Parameters
        ----------
        values : mapping of str to str
            By the keys of `dimensions`; what is not in it stays as it is.
        """
        out = []
        if KMIN in values or RATIO in values:
            own_min, own_max, _ = self._present()
            k_min, k_max = self._pair(values)
            for key, low, high, _ in self._thresholds:
                ends = round(k_min * low / own_min), round(k_max * high / own_max)
                out += [f"{key}.k_min={ends[0]} B", f"{key}.k_max={max(ends)} B"]
        if PMAX in values:
            out += [f"{each[0]}.p_max={int(values[PMAX]) / PERCENT:g}" for each in self._thresholds]
        if ALPHA in values:
            first = self._alphas[0][1]
            alpha = 2.0 ** int(values[ALPHA])
            out += [f"{key}={alpha * own / first:.10g}" for key, own in self._alphas]
        rp = self._tree["scheme"].get("rp", {})
        for name, (key, _, _) in NIC.items():
            if name not in values:
                continue
            value = int(values[name])
            if name.startswith("g "):
                out.append(f"{key}={value / OF_1024:.10g}")
                continue
            unit = "Mb/s" if "rate" in key else "us"
            out.append(f"{key}={value} {unit}")
            if key.endswith("ai_rate") and isinstance(rp.get("hai_rate"), str):
                steps = base(rp["hai_rate"]) / max(base(rp["ai_rate"]), 1.0)
                out.append(f"scheme.rp.hai_rate={max(1, round(value * steps))} Mb/s")
        known = {each.key for each in self.dimensions if not isinstance(each, Knob)} - {RATIO}
        return out + [f"{key}={values[key]}" for key in values if key in known]

    def beside(self, values: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
        """Return the neighbours of a candidate: one key at a time, half and double."""
        out: list[tuple[str, dict[str, str]]] = []
        for each in self.dimensions:
            if isinstance(each, Choice):
                others = [value for value in each.values if value != values.get(each.key)]
                words = others[:FACTOR]
            elif isinstance(each, Knob):
                now = values.get(each.key, each.present)
                words = [] if now is None else each.beside(float(now))
            else:
                words = self._around(each, values)
            out += [(each.key, {**values, each.key: word}) for word in words]
        return out

    def _around(self, each: Range, values: Mapping[str, str]) -> list[str]:
        text = values.get(each.key)
        if text is None and each.key == RATIO:
            k_min, k_max, _ = self._present()
            text = f"{k_max / max(k_min, 1.0):.4g}"
        now = None if text is None else _number(text)
        if now is None:
            return []
        near = [now / FACTOR, now * FACTOR]
        lowest = 1.0 if each.key == RATIO else each.low
        inside = [value for value in near if lowest <= value <= max(each.high, lowest)]
        return [str(round(v)) if each.whole else each.written(v) for v in inside]


def _number(text: str) -> float | None:
    try:
        return base(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def _thresholds(tree: JsonObject) -> list[tuple[str, float, float, float]]:
    """Return each table of thresholds: its key, Kmin and Kmax in octets, Pmax."""
    tables: list[tuple[str, JsonObject]] = _entries(tree, "wred")
    if not tables:
        tables = [("scheme.cp", tree["scheme"].get("cp", {}))]
    out = []
    for key, table in tables:
        if all(word in table for word in ("k_min", "k_max", "p_max")):
            low, high = base(table["k_min"]), base(table["k_max"])
            out.append((key, max(low, 1.0), max(high, 1.0), float(table["p_max"])))
    return out


def _alphas(tree: JsonObject) -> list[tuple[str, float]]:
    out = []
    for key, table in _entries(tree, "shared_buffer"):
        alpha = table.get("pg_alpha")
        if isinstance(alpha, int | float) and alpha > 0:
            out.append((f"{key}.pg_alpha", float(alpha)))
    return out


def _entries(tree: JsonObject, name: str) -> list[tuple[str, JsonObject]]:
    known = tables_of(tree, name)
    if isinstance(tree.get(name), list):
        return [(f"{name}.{index}", table) for index, table in enumerate(known)]
    return [(name, table) for table in known]


def _fastest(scenario: Scenario) -> float:
    """Return the rate of the fastest host's link in Gb/s."""
    known = Network.of(scenario._core)
    hosts = {node.name for node in known.hosts}
    rates = [link.rate_bps for link in known.links if {link.a, link.b} & hosts]
    return max(map(float, rates), default=1e10) / 1e9
