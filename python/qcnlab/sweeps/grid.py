"""What varies in a sweep, and the scenario at each point of the grid."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import ScenarioError, scenario_error
from qcnlab.progress import Bar
from qcnlab.values import several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qcnlab.api import Scenario

MOST_POINTS = 100_000
CHUNK = 2000
"""So many points are checked between two looks at Ctrl-C."""
LONG = 1000
"""More whole numbers than these on an axis are not looked up in a scenario each."""
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

    Of a long axis of whole numbers it is over these.
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
        chosen: list[str] = []
        for values in reversed(self.assignments):
            point, index = divmod(point, len(values))
            chosen.append(values[index])
        return [*self.changes, *reversed(chosen), NO_TABLES]

    def label(self, point: int) -> str:
        """Return the name of a point: `topology.sources=5, topology.rtt=40 us`."""
        return label(self.axes, point)


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
    simulated_s = _checked(base, changes, texts, count, progress)
    assignments = tuple(tuple(values) for values in texts.values())
    grid = Grid((), base, tuple(changes), assignments, "", simulated_s)
    digest = hashlib.sha256(grid.scenario(0).hash.encode())
    axes = _axes(texts, grid, digest.update)
    return replace(grid, axes=axes, digest=digest.hexdigest())


def _checked(
    base: Scenario,
    changes: Sequence[str],
    texts: Mapping[str, list[str]],
    count: int,
    progress: bool | None,
) -> float:
    """Check all points; return the simulated time of a run at each."""
    # Points that differ in the scheme or the seed alone share most of the work if they are checked
    # one after the other.
    simulated_s, faults = _check(base, changes, texts, sorted(texts, key=_is_light), progress)
    if faults:
        _, faults = _check(base, changes, texts, list(texts), progress)
        raise _refused(faults, count)
    return simulated_s


def _is_light(key: str) -> bool:
    return key == "seed" or key.startswith("scheme.")


def _check(
    base: Scenario,
    changes: Sequence[str],
    texts: Mapping[str, list[str]],
    order: list[str],
    progress: bool | None,
) -> tuple[float, dict[str, list[str]]]:
    """Check all points, the last key of `order` varying fastest.

    Return the simulated time of a run at each, and the points that cannot be by what is wrong.
    """
    simulated_s, done = 0.0, 0
    faults: dict[str, list[str]] = {}
    back = [order.index(key) for key in texts]
    count = prod(len(values) for values in texts.values())
    points = product(*(texts[key] for key in order))
    with Bar(f"checking {count:,} points", progress) as bar:
        while chunk := list(islice(points, CHUNK)):
            changed = [[*changes, *(chosen[i] for i in back), NO_TABLES] for chosen in chunk]
            for point, checked in zip(changed, base._core.check_points(changed), strict=True):
                if isinstance(checked, ScenarioError):
                    words = ", ".join(point[len(changes) : -1])
                    faults.setdefault(str(checked).rstrip("\n"), []).append(words)
                else:
                    simulated_s += checked
            done += len(chunk)
            bar(done / count)
    return simulated_s, faults


def _check_keys(texts: Mapping[str, list[str]], changes: Sequence[str], *, seeded: bool) -> None:
    if "replications" in texts:
        raise scenario_error("replications cannot vary", hint="--reps gives each point as many")
    if "seed" in texts and seeded:
        raise scenario_error("'seed' is varied, so --seed cannot be given")
    fixed = {change.partition("=")[0].strip() for change in changes}
    for key, values in texts.items():
        if not values:
            raise scenario_error(f"'{key}' is varied over no values")
        if key in fixed:
            raise scenario_error(f"'{key}' is both set and varied")


def _axes(
    texts: Mapping[str, list[str]], grid: Grid, seen: Callable[[bytes], object]
) -> tuple[Axis, ...]:
    """Return what varies; `seen` gets the hash of each point at which one value varies."""
    axes = []
    stride = len(grid)
    for key, values in texts.items():
        stride //= len(values)
        assigned = [text.partition("=")[2].strip() for text in values]

        if len(values) > LONG and _are_whole(key, assigned, grid, stride):
            axis, words = Axis(key, tuple(map(int, assigned))), assigned
            seen(",".join(assigned).encode())
        else:
            scenarios = [grid.scenario(index * stride) for index in range(len(values))]
            for scenario in scenarios:
                seen(scenario.hash.encode())
            resolved = [_value(scenario, key) for scenario in scenarios]
            pairs = zip(resolved, assigned, strict=True)
            axis = Axis(key, tuple(text if own is None else own for own, text in pairs))
            words = axis.words
        (most, times), *_ = Counter(words).most_common(1)
        if times > 1:
            raise scenario_error(f"'{key}' is varied over {most} twice")
        axes.append(axis)
    return tuple(axes)


def _are_whole(key: str, assigned: list[str], grid: Grid, stride: int) -> bool:
    """Return whether texts are whole numbers that a scenario has as they are written."""
    if not all(map(WHOLE.fullmatch, assigned)):
        return False
    ends = (0, len(assigned) - 1)
    owns = [_value(grid.scenario(index * stride), key) for index in ends]
    return all(
        type(own) is int and own == int(assigned[i]) for own, i in zip(owns, ends, strict=True)
    )


def _value(scenario: Scenario, key: str) -> Any:
    """Return what a scenario has under a dotted key, `None` if it has nothing there."""
    return _at(scenario.to_dict(), key.split("."))


def _at(tree: Any, steps: list[str]) -> Any:
    """Return the value under a dotted key; in a list of one its number may be left out."""
    for number, step in enumerate(steps):
        if isinstance(tree, list):
            if step.isdecimal() and int(step) < len(tree):
                tree = tree[int(step)]
                continue
            return _at(tree[0], steps[number:]) if len(tree) == 1 else None
        if not isinstance(tree, dict) or step not in tree:
            return None
        tree = tree[step]
    return tree


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


def _refused(faults: Mapping[str, list[str]], count: int) -> ScenarioError:
    bad = sum(len(points) for points in faults.values())
    lines = [f"error: {bad} of {count} points of the sweep cannot be run"]
    for fault, points in list(faults.items())[:MOST_TOLD]:
        more = f" and {len(points) - 1} more" if len(points) > 1 else ""
        lines += ["", f"at {points[0]}{more}:", fault]
    if len(faults) > MOST_TOLD:
        lines += ["", f"and {len(faults) - MOST_TOLD} other faults"]
    error = ScenarioError("\n".join(lines))
    error.file, error.line, error.column = None, None, None
    error.message, error.hint = lines[0].removeprefix("error: "), None
    return error
