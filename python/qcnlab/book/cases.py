"""Cases: a scenario with some keys changed, or a model with parameters, under a name.

A name with braces stands for a family: `[cases."og-{scheme}-{rtt}us"]` has a table for each brace,
from its values to lists of changes, and gives one case for each combination.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from qcnlab.api import Scenario, load
from qcnlab.book.models import CHECKS, MODELS
from qcnlab.errors import ScenarioError

if TYPE_CHECKING:
    from qcnlab.book.toml_table import TomlTable

SEED = 1
"""The seed of all cases."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Hot:
    """The hotspot of a case: what the words of `book/words.toml` are measured by."""

    start_s: float
    end_s: float
    duration_s: float
    set_point: float
    """B."""
    full: float
    """B: the limit of the hot queue; infinite if it has none."""
    flows: str
    """Patterns of the flows that cross the hot link."""
    rate: float
    """What the hot link serves during the hotspot, Gb/s."""
    after: float
    """What link and offered load allow after it, Gb/s."""

    def window(self, name: str) -> tuple[float, float]:
        """Return a window by its name in `WINDOWS`, s."""
        middle = (self.start_s + self.end_s) / 2
        return {
            "pre": (self.start_s / 2, self.start_s),
            "hs": (self.start_s, self.end_s),
            "down": (self.start_s, middle),
            "hss": (middle, self.end_s),
            "rec": (self.end_s, self.duration_s),
            "end": ((self.end_s + self.duration_s) / 2, self.duration_s),
        }[name]


WINDOWS = ("pre", "hs", "down", "hss", "rec", "end")
"""Second half of the time before the hotspot; the hotspot; its halves; the time after it and the
second half of that."""
OFF_REPLICATIONS = 2
KEPT = ("messages", "rates", "flows")
"""Tables that a case may keep."""


@dataclass(frozen=True)
class Case:
    """A scenario that is run once, or a model that is asked once."""

    name: str
    scenario: str
    """A shipped scenario's name or a file; of a model: empty."""
    changes: tuple[str, ...]
    """Overrides, as `-s` takes them; of a model: its parameters."""
    replications: int
    because: str
    """Why so many replications."""
    model: str
    """A name of `MODELS`, or empty."""
    keep: tuple[str, ...]
    """Tables that are kept for a measure, beside those that every case keeps."""
    hot: Hot | None = None

    def without_control(self) -> Case:
        """Return the same scenario without congestion control; a model stays as it is."""
        if self.model:
            return self
        kept = tuple(change for change in self.changes if not change.startswith("scheme."))
        return replace(
            self,
            name=self.name + " without control",
            changes=(*kept, "scheme.name=none"),
            replications=min(self.replications, OFF_REPLICATIONS),
        )

    def build(self) -> Scenario:
        """Return the scenario; raises `ScenarioError`."""
        return load(self.scenario).with_(*self.changes)

    @property
    def command(self) -> str:
        """The command that runs it."""
        words = ["qcnlab", "run", self.scenario]
        for change in self.changes:
            words += ["-s", f"'{change}'" if " " in change else change]
        return " ".join([*words, "--seed", str(SEED), "--reps", str(self.replications)])


def expand(tables: dict[str, TomlTable]) -> dict[str, Case]:
    """Return all cases by name."""
    cases: dict[str, Case] = {}
    for pattern, table in tables.items():
        for case in _family(pattern, table):
            if case.name in cases:
                table.refuse(f"there are two cases '{case.name}'")
            cases[case.name] = case
    return cases


def _family(pattern: str, table: TomlTable) -> list[Case]:
    axes = PLACEHOLDER.findall(pattern)
    scenario, model = table.text("scenario", ""), table.text("model", "")
    if bool(scenario) == bool(model):
        table.refuse("a case has either a scenario or a model")
    if model and model not in MODELS:
        table.refuse(f"there is no model '{model}'; there are {', '.join(sorted(MODELS))}")
    fixed = table.words("set", [])
    replications = 1 if model else table.count("replications")
    because = "" if model else table.text("because")
    keep = tuple(table.words("keep", []))
    for each in keep:
        if each not in KEPT:
            table.refuse(f"'keep' names tables of {', '.join(KEPT)}, not '{each}'")
    hot = _hot(table.table("hot"))
    values = [_axis(axis, table) for axis in axes]
    table.end()
    cases = []
    for chosen in product(*(axis.items() for axis in values)):
        filled = dict(zip(axes, (name for name, _ in chosen), strict=True))
        changes = [*fixed, *(change for _, changes in chosen for change in changes)]
        name = pattern.format_map(filled)
        source = scenario.format_map(filled)
        case = Case(name, source, tuple(changes), replications, because, model, keep, hot)
        _check(case, table)
        cases.append(case)
    return cases


def _hot(table: TomlTable | None) -> Hot | None:
    if table is None:
        return None

    def number(key: str, default: float | None = None) -> float:
        value = table.number(key)
        if value is None:
            value = default
        if value is None:
            table.refuse(f"'{key}' is missing in 'hot'")
        return value

    hot = Hot(
        number("from"),
        number("until"),
        number("duration"),
        number("set_point"),
        number("full", math.inf),
        table.text("flows", ""),
        number("rate"),
        number("after", math.nan),
    )
    table.end()
    return hot


def _axis(axis: str, case: TomlTable) -> dict[str, list[str]]:
    table = case.table(axis)
    if table is None:
        case.refuse(f"the name has {{{axis}}}, so there must be a table '{axis}'")
    return {name: table.words(name) for name in table.names()}


def _check(case: Case, table: TomlTable) -> None:
    try:
        if case.model:
            CHECKS.get(case.model, MODELS[case.model])(case.changes)
        else:
            case.build()
    except (ScenarioError, ValueError) as error:
        table.refuse(f"case '{case.name}' cannot be built: {error}")


def matching(
    patterns: list[str], cases: dict[str, Case], table: TomlTable
) -> list[tuple[str, dict[str, str]]]:
    """Return names of cases that match, each with what its braces stood for.

    `{scheme}` in a pattern stands for letters, digits and `_`; each pattern must match a case.
    """
    matches: dict[str, dict[str, str]] = {}
    for pattern in patterns:
        parts = PLACEHOLDER.split(pattern)
        regex = "".join(
            f"(?P<{part}>\\w+)" if index % 2 else re.escape(part)
            for index, part in enumerate(parts)
        )
        hits = {name: m.groupdict() for name in cases if (m := re.fullmatch(regex, name))}
        if not hits:
            table.refuse(f"there is no case '{pattern}'")
        matches |= hits
    return list(matches.items())
