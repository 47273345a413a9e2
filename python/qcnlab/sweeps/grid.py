"""What varies in a sweep, and the scenario at each point of the grid."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import ScenarioError, scenario_error
from qcnlab.printing.progress import Bar
from qcnlab.values import several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qcnlab.api import Scenario

MOST_POINTS = 100_000
POLL_S = 0.2
"""About how often Ctrl-C is looked for while points are checked."""
FIRST = 256
"""So many points are checked before the first look at Ctrl-C."""
LONG = 1000
"""A longer axis is identified by its values, a shorter one by the hashes of its scenarios."""
MOST_TOLD = 12
"""So many faults are printed in full."""
RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?")
WHOLE = re.compile(r"0|[1-9]\d*")
SUFFIX = {"s": ("_s", "s"), "bit/s": ("_bps", "bit/s"), "B": ("_bytes", "B")}
"""By the unit of a quantity: the suffix of its column, and the unit of the numbers in it."""
NO_TABLES = "record.tables=false"


@dataclass(frozen=True)
class Axis:
    """A key that varies, with its values as the resolved scenario has them."""

    key: str
    values: tuple[Any, ...]

    @property
    def words(self) -> list[str]:
        """The values as a person writes them: `200 us`, `5`, `qcn`."""
        return [word(value) for value in self.values]

    @property
    def column(self) -> str:
        """The column's name; ends in the unit of its numbers where it has one."""
        return self.key + self._unit()[0]

    @property
    def unit(self) -> str:
        """The unit of the column's numbers, or empty."""
        return self._unit()[1]

    def numbers(self) -> list[Any]:
        """Return the values of the column: quantities in s, bit/s or B, others as they are.

        Values of several kinds become text.
        """
        quantities = [quantity(value) for value in self.values]
        if self._unit()[0]:
            return [number for number, _ in filter(None, quantities)]
        kinds = {type(value) for value in self.values}
        if kinds == {int, float}:
            return [float(value) for value in self.values]
        return list(self.values) if len(kinds) == 1 and not kinds & {list, dict} else self.words

    def _unit(self) -> tuple[str, str]:
        units = {known[1] if known else "" for known in map(quantity, self.values)}
        return SUFFIX.get(units.pop(), ("", "")) if len(units) == 1 else ("", "")


@dataclass(frozen=True)
class Grid:
    """The axes, and the scenario at each point, made when it is asked for.

    Points are counted from 0; the last axis varies fastest.
    """

    axes: tuple[Axis, ...]
    base: Scenario
    changes: tuple[str, ...]
    """What is set at every point."""
    assignments: tuple[tuple[str, ...], ...]
    """By axis, what sets each of its values."""
    digest: str
    """SHA-256 over the hashes of the points at which one value at a time varies, in hex.

    Of a long axis it is over its values.
    """
    simulated_s: float
    """Simulated time of one run at each point."""

    def __len__(self) -> int:
        """Return the number of points."""
        return prod(len(values) for values in self.assignments)

    def scenario(self, point: int) -> Scenario:
        """Return the scenario at a point, without tables."""
        return self.base.with_(*self.changes_at(point))

    def changes_at(self, point: int) -> list[str]:
        """Return the assignments that make the scenario at a point of `base`."""
        return [*self.changes, *_assignments_at(self.assignments, point), NO_TABLES]

    def label(self, point: int) -> str:
        """Return the name of a point: `topology.sources=5, topology.rtt=40 us`."""
        return label(self.axes, point)

    def sources(self) -> tuple[tuple[str, str], ...]:
        """Return name and text of the scenarios that points change; workers get them once."""
        return (self.base._core.source(),)

    def source_at(self, point: int) -> int:
        """Return which of `sources` a point changes."""
        del point
        return 0


@dataclass(frozen=True)
class Cases(Grid):
    """Scenarios beside each other, each with the same changes: a point is a case."""

    scenarios: tuple[Scenario, ...]

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.scenarios)

    def scenario(self, point: int) -> Scenario:
        """Return a case with its changes, without tables."""
        return self.scenarios[point].with_(*self.changes_at(point))

    def changes_at(self, point: int) -> list[str]:
        """Return what is set in a case."""
        del point
        return [*self.changes, NO_TABLES]

    def sources(self) -> tuple[tuple[str, str], ...]:
        """Return name and text of each case."""
        return tuple(each._core.source() for each in self.scenarios)

    def source_at(self, point: int) -> int:
        """Return the case itself."""
        return point


def quantity(value: object) -> tuple[float, str] | None:
    """Return the number, in s, bit/s or B, and the unit of resolved text such as `200 us`.

    >>> quantity("200 us"), quantity("33 KB"), quantity("qcn")
    ((0.0002, 's'), (33000.0, 'B'), None)
    """
    return _core.quantity(value) if isinstance(value, str) else None


def word(value: object) -> str:
    """Return a value as a person writes it; lists and booleans as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def position(axes: Sequence[Axis], point: int) -> list[int]:
    """Return the indices of a point's values on the axes."""
    at = []
    for axis in reversed(axes):
        point, index = divmod(point, len(axis.values))
        at.append(index)
    return at[::-1]


def label(axes: Sequence[Axis], point: int) -> str:
    """Return the name of a point: `topology.sources=5, topology.rtt=40 us`."""
    at = position(axes, point)
    return ", ".join(f"{axis.key}={axis.words[i]}" for axis, i in zip(axes, at, strict=True))


def read(texts: Iterable[str], option: str = "--vary") -> dict[str, list[str]]:
    """Read `KEY=VALUE,VALUE,...` as an option of the command line gives it.

    Commas in quotes and brackets do not divide. `2..5` stands for 2,3,4,5 and `2..10..4` for
    2,6,10. Raises `ScenarioError` that names `option`.
    """
    vary: dict[str, list[str]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not key or not equals:
            raise _refusal(option, text, "keys and values are given as KEY=VALUE,VALUE,...")
        if key in vary:
            raise _refusal(option, text, f"'{key}' is varied twice")
        vary[key] = [each for part in _parts(values) for each in _expanded(part, option, text)]
    return vary


def build(
    base: Scenario,
    changes: Sequence[str],
    vary: Mapping[str, Iterable[object]],
    *,
    seeded: bool,
    single: bool = False,
    progress: bool | None = None,
) -> Grid:
    """Build and check every point: `base`, changed by `changes` and by one value of each key.

    `seeded`: a seed is given, so that the key `seed` cannot vary. `single`: nothing need vary, and
    there is one point then. `progress` as in `run`. Raises
    `ScenarioError` that tells of all points that cannot be.
    """
    if not isinstance(vary, Mapping):
        raise scenario_error(
            f"{vary!r} does not say what varies", hint='write {"key": [value, ...]}'
        )
    texts = {
        key: [_assignment(key, value) for value in several(key, values)]
        for key, values in vary.items()
    }
    if not texts and not single:
        raise scenario_error("nothing varies", hint="--vary KEY=VALUE,VALUE,... names a key")
    _check_keys(texts, changes, seeded=seeded)
    count = prod(len(values) for values in texts.values())
    if count > MOST_POINTS:
        raise scenario_error(f"the grid has {count:,} points; at most {MOST_POINTS:,} can be run")
    points = _core.Grid(base._core, list(changes), list(texts.values()), [NO_TABLES])
    simulated_s = _check(points, texts, count, progress)
    assignments = tuple(tuple(values) for values in texts.values())
    grid = Grid((), base, tuple(changes), assignments, "", simulated_s)
    digest = hashlib.sha256(grid.scenario(0).hash.encode())
    axes = _axes(points, texts, grid, digest.update)
    return replace(grid, axes=axes, digest=digest.hexdigest())


def cases(scenarios: Mapping[str, Scenario], changes: Sequence[str]) -> Cases:
    """Put scenarios beside each other, by their names, each with `changes`, and check them.

    Raises `ScenarioError` for the first that cannot be.
    """
    bases = tuple(scenarios.values())
    axis = Axis("case", tuple(scenarios))
    grid = Cases((axis,), bases[0], tuple(changes), (), "", 0.0, bases)
    made = [grid.scenario(point) for point in range(len(bases))]
    digest = hashlib.sha256("".join(each.hash for each in made).encode()).hexdigest()
    simulated_s = sum(known[0] for each in made if (known := quantity(each.to_dict()["duration"])))
    return replace(grid, digest=digest, simulated_s=simulated_s)


def _check(
    points: _core.Grid, texts: Mapping[str, list[str]], count: int, progress: bool | None
) -> float:
    """Check all points; return the simulated time of a run at each."""
    simulated_ps, refused, done, size = 0, 0, 0, FIRST
    with Bar(f"checking {count:,} points", progress) as bar:
        while done < count:
            begun = time.monotonic()
            more_ps, more_refused, _ = points.check(done, done + size)
            simulated_ps, refused = simulated_ps + more_ps, refused + more_refused
            done = min(done + size, count)
            bar(done / count)
            size = 2 * size if time.monotonic() - begun < POLL_S / 2 else max(1, size // 2)
    if refused:
        raise _refused(points, texts, refused, count)
    return simulated_ps / 1e12


def _check_keys(texts: Mapping[str, list[str]], changes: Sequence[str], *, seeded: bool) -> None:
    if "replications" in texts:
        raise scenario_error("replications cannot vary", hint="--reps gives each point as many")
    if "record.tables" in texts:
        raise scenario_error("record.tables cannot vary: a sweep keeps no tables")
    if "seed" in texts and seeded:
        raise scenario_error("'seed' is varied, so --seed cannot be given")
    fixed = {change.partition("=")[0].strip() for change in changes}
    for key, values in texts.items():
        if not values:
            raise scenario_error(f"'{key}' is varied over no values")
        if key in fixed:
            raise scenario_error(f"'{key}' is both set and varied")


def _axes(
    points: _core.Grid,
    texts: Mapping[str, list[str]],
    grid: Grid,
    seen: Callable[[bytes], object],
) -> tuple[Axis, ...]:
    """Return what varies; `seen` gets the hash of each point at which one value varies.

    Of an axis longer than `LONG` it gets the values.
    """
    axes = []
    stride = len(grid)
    for number, (key, values) in enumerate(texts.items()):
        stride //= len(values)
        assigned = [text.partition("=")[2].strip() for text in values]
        long = len(values) > LONG
        if long and _are_whole(key, assigned, grid, stride):
            axis, words = Axis(key, tuple(map(int, assigned))), assigned
        else:
            own = points.along(number, key, not long)
            resolved = [None if value is None else json.loads(value) for value, _ in own]
            pairs = zip(resolved, assigned, strict=True)
            axis = Axis(key, tuple(text if value is None else value for value, text in pairs))
            words = axis.words
            for hash_ in (hash_ for _, hash_ in own if hash_ is not None):
                seen(hash_.encode())
        if long:
            seen(",".join(words).encode())
        (most, times), *_ = Counter(words).most_common(1)
        if times > 1:
            raise scenario_error(
                f"'{key}' is varied over {most} twice",
                hint="a value is given twice, or another key sets it, too",
            )
        axes.append(axis)
    return tuple(axes)


def _are_whole(key: str, assigned: list[str], grid: Grid, stride: int) -> bool:
    """Return whether texts are whole numbers that a scenario has as they are written."""
    if not all(map(WHOLE.fullmatch, assigned)):
        return False
    ends = (0, len(assigned) - 1)
    return all(grid.scenario(i * stride)._core.value(key) == assigned[i] for i in ends)


def _assignments_at(axes: Sequence[Sequence[str]], point: int) -> list[str]:
    """Return the assignment of each axis at a point."""
    chosen: list[str] = []
    for values in reversed(axes):
        point, index = divmod(point, len(values))
        chosen.append(values[index])
    return chosen[::-1]


def _assignment(key: str, value: object) -> str:
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def _parts(text: str) -> list[str]:
    """Return the parts between commas that stand outside quotes and brackets."""
    parts, depth, quote, start = [], 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in (*parts, text[start:])]


def _expanded(part: str, option: str, text: str) -> list[str]:
    if not part:
        raise _refusal(option, text, "a value is missing", "values are separated by single commas")
    match = RANGE.fullmatch(part)
    if match is None:
        return [part]
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if first > last or step < 1:
        raise _refusal(
            option, text, f"'{part}' is no range", "ranges rise: 2..5, or 2..10..4 by fours"
        )
    if (last - first) // step >= MOST_POINTS:
        raise _refusal(option, text, f"'{part}' has more than {MOST_POINTS:,} values")
    return [str(value) for value in range(first, last + 1, step)]


def _refusal(option: str, text: str, message: str, hint: str | None = None) -> ScenarioError:
    return scenario_error(message, hint=hint, argument=f'in {option} "{text}"')


def _refused(
    points: _core.Grid, texts: Mapping[str, list[str]], bad: int, count: int
) -> ScenarioError:
    reasons, told = points.refusals(MOST_TOLD)
    lines = [f"error: {bad} of {count} points of the sweep cannot be run"]
    for first, members, error in told:
        if not isinstance(error, ScenarioError):
            raise error
        more = f" and {members - 1} more" if members > 1 else ""
        at = ", ".join(_assignments_at(list(texts.values()), first))
        lines += ["", f"at {at}{more}:", str(error).rstrip("\n")]
    if reasons > len(told):
        lines += ["", f"and {reasons - len(told)} other faults"]
    refusal = ScenarioError("\n".join(lines))
    refusal.file, refusal.line, refusal.column = None, None, None
    refusal.message, refusal.hint = lines[0].removeprefix("error: "), None
    return refusal
