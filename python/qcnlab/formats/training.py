"""`qcnlab import step`: a training step as messages that wait for computation and for each other.

A TOML file names the ranks, groups of them and the tasks of a step: computations and collectives.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from qcnlab import _core
from qcnlab.formats.fabrics import fabric
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import MOST_HOSTS, MOST_OCTETS, Setup, length, span
from qcnlab.formats.report import Report
from qcnlab.formats.schedules import collectives
from qcnlab.formats.schedules.messages import schedule
from qcnlab.formats.schedules.steps import Group, Step, Task, build, line_of
from qcnlab.formats.schedules.writing import files, tell, write
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from qcnlab.records import JsonObject

MOST_FILE = 10_000_000
MOST_TASKS, MOST_STEPS, MOST_OPERATIONS = 100_000, 10_000, 5_000_000
TASK_LINE = re.compile(r"\s*\[\[\s*task\s*\]\]")
TOP = ("ranks", "steps", "groups", "task")
COMPUTING = ("name", "compute", "overlap", "after")
COMMUNICATING = ("name", "collective", "size", "algorithm", "group", "overlap", "after")
EVERYONE = "all"
USUAL = {"ring": collectives.RING, "direct": collectives.DIRECT,
         "halving-doubling": collectives.HALVING}  # fmt: skip


class _Source(NamedTuple):
    """The file, and the line of each task."""

    path: Path
    lines: list[int]

    def fault(self, message: str, task: int | None = None) -> FormatError:
        known = task is not None and task < len(self.lines)
        at = f", line {self.lines[task]}" if known and task is not None else ""
        return FormatError(f"{self.path}{at}: {message}")


def read(path: Path) -> Step:
    """Read a training step.

    Raises
    ------
    FormatError
        If the file cannot be read, or says something that is no step.
    """
    try:
        if path.stat().st_size > MOST_FILE:
            raise FormatError(f"{path}: a step has {MOST_FILE} octets at most")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: it is no UTF-8 text") from None
    import tomllib

    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"{path}: {why}") from None
    lines = [at for at, line in enumerate(text.splitlines(), 1) if TASK_LINE.match(line)]
    return _step(tree, _Source(path, lines))


class _Common(TypedDict):
    """What computations and collectives have alike."""

    name: str
    overlap: bool
    after: tuple[int, ...]
    line: int | None


def _step(tree: JsonObject, source: _Source) -> Step:
    _known(tree, TOP, source)
    ranks = _whole(tree, "ranks", source, least=2, most=MOST_HOSTS)
    steps = _whole(tree, "steps", source, usual=1, most=MOST_STEPS)
    groups = _groups(tree.get("groups", {}), ranks, source)
    listed = tree.get("task")
    if not isinstance(listed, list) or not listed:
        raise source.fault("there is no [[task]]: write one for each computation and collective")
    if len(listed) > MOST_TASKS or len(listed) * steps * ranks > MOST_OPERATIONS:
        raise source.fault(
            f"{len(listed)} tasks, {steps} steps and {ranks} ranks are more than "
            f"{MOST_OPERATIONS} in their product: leave some out"
        )
    tasks: list[Task] = []
    names: dict[str, int] = {}
    for number, entry in enumerate(listed):
        if not isinstance(entry, dict):
            raise source.fault("task is no table: write [[task]]", number)
        task = _task(entry, names, groups, number, source)
        names[task.name] = number
        tasks.append(task)
    return Step(ranks, tasks, steps)


def _groups(tree: Any, ranks: int, source: _Source) -> dict[str, Group]:
    out = {EVERYONE: Group(ranks, 1)}
    for name, entry in (tree if isinstance(tree, dict) else {"": tree}).items():
        if not isinstance(entry, dict):
            raise source.fault("groups are tables: write [groups.NAME] with ranks and stride")
        _known(entry, ("ranks", "stride"), source, f"groups.{name}.")
        count = _whole(entry, "ranks", source, least=2, most=ranks)
        stride = _whole(entry, "stride", source, usual=1, most=ranks)
        if ranks % (count * stride):
            raise source.fault(
                f"groups.{name}: {count} ranks {stride} apart do not divide {ranks} ranks"
            )
        out[name] = Group(count, stride)
    return out


def _task(
    entry: JsonObject,
    names: dict[str, int],
    groups: dict[str, Group],
    number: int,
    source: _Source,
) -> Task:
    name = entry.get("name", f"task {number + 1}")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise source.fault("name is printable text", number)
    if name in names:
        raise source.fault(f"another task has the name '{name[:60]}', too", number)
    computes = "compute" in entry
    if computes == ("collective" in entry):
        raise source.fault(
            f"'{name[:60]}' has {'both' if computes else 'neither of'} compute and collective: "
            "write one of them",
            number,
        )
    _known(entry, COMPUTING if computes else COMMUNICATING, source, task=number)
    overlap = entry.get("overlap", False)
    if not isinstance(overlap, bool):
        raise source.fault("overlap is true or false", number)
    common: _Common = {
        "name": name,
        "overlap": overlap,
        "after": _after(entry.get("after", []), names, number, source),
        "line": source.lines[number] if number < len(source.lines) else None,
    }
    if computes:
        told = entry["compute"]
        if not isinstance(told, str):
            raise source.fault(f'compute is {told!r}: write a time, as in "2 ms"', number)
        try:
            return Task(compute=span("compute", told), **common)
        except FormatError as error:
            raise source.fault(str(error), number) from None
    kind = entry["collective"]
    if kind not in collectives.KINDS:
        raise source.fault(
            f"collective is {str(kind)[:40]!r}: there are {', '.join(collectives.KINDS)}", number
        )
    group = entry.get("group", EVERYONE)
    if not isinstance(group, str) or group not in groups:
        raise source.fault(
            f"no group is called {str(group)[:40]!r}: there are {', '.join(groups)}", number
        )
    return Task(
        kind=kind,
        octets=_size(entry.get("size"), number, source),
        algorithm=_algorithm(entry.get("algorithm"), kind, groups[group], number, source),
        group=groups[group],
        **common,
    )


def _after(told: Any, names: dict[str, int], number: int, source: _Source) -> tuple[int, ...]:
    listed = [told] if isinstance(told, str) else told
    if not isinstance(listed, list):
        raise source.fault("after has names of tasks", number)
    for each in listed:
        if each not in names:
            close = get_close_matches(str(each), names, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise source.fault(
                f"after: no task before this one is '{str(each)[:40]}'{hint}", number
            )
    return tuple(sorted({names[each] for each in listed}))


def _size(told: Any, number: int, source: _Source) -> int:
    known = _core.quantity(told) if isinstance(told, str) else None
    if known is None or known[1] != "B" or not 1 <= known[0] <= MOST_OCTETS:
        raise source.fault(f'size is {str(told)[:40]!r}: write octets, as in "64 MB"', number)
    return round(known[0])


def _algorithm(told: Any, kind: str, group: Group, number: int, source: _Source) -> str:
    if kind == collectives.ALL_TO_ALL:
        words = {"direct": collectives.DIRECT, "shift": collectives.RING}
        usual = "direct"
    else:
        words, usual = USUAL, "ring"
    word = usual if told is None else told
    if word not in words:
        raise source.fault(f"algorithm is {str(word)[:40]!r}: {', '.join(words)} are known", number)
    if words[word] == collectives.HALVING and group.ranks & (group.ranks - 1):
        raise source.fault(
            f"halving-doubling takes a power of two as the number of ranks, and the group has "
            f"{group.ranks}",
            number,
        )
    return words[word]


def _known(
    tree: JsonObject,
    keys: Collection[str],
    source: _Source,
    table: str = "",
    task: int | None = None,
) -> None:
    for key in tree:
        if key not in keys:
            close = get_close_matches(key, keys, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise source.fault(
                f"unknown key '{table}{key[:40]}': {hint}there are {', '.join(keys)}", task
            )


def _whole(
    tree: JsonObject,
    key: str,
    source: _Source,
    *,
    least: int = 1,
    most: int,
    usual: int | None = None,
) -> int:
    value = tree.get(key, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        told = "missing" if value is None else str(value)[:40]
        raise source.fault(f"{key} is {told}: write a whole number from {least} to {most}")
    return value


def convert(path: Path, out: Path, setup: Setup, network: str | None) -> Report:
    """Make a scenario of a training step.

    Parameters
    ----------
    path : Path
        The step, TOML.
    out : Path
        The scenario's file, which ends in ``.toml``; the list of messages goes beside it.
    setup : Setup
        How long the run lasts, the packets, and the network if no scenario says it.
    network : str, optional
        A scenario whose network, scheme and transport are taken.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no step.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    files(out)
    end = length(setup)
    step = read(path)
    built = build(step, path)
    plan = schedule(built.ranks)
    report = Report()
    report.read.append(
        (str(path), f"{counted(len(step.tasks), 'task')}, {step.ranks} ranks, "
                    f"{counted(step.steps, 'step')}")
    )  # fmt: skip
    where = fabric(step.ranks, setup, network, [path], "training steps")
    head = line_of(step, built, plan, where.hosts)
    write(built.ranks, plan, where, out, end, report, head)
    kinds = Counter((task.kind, task.group.ranks) for task in step.tasks if task.kind is not None)
    for (kind, ranks), count in kinds.items():
        report.mapped.append((f"{count} {kind} of {ranks} ranks", "sends and receives of ranks"))
    report.mapped.append(("tasks and what they wait for", "qcnlab step RUN has their times"))
    report.not_modelled += [
        ("links inside a server", "all messages cross the network"),
        ("channels and chunks of collectives", "each part is one message"),
        ("when a rank passes a part on", "once its own first is acknowledged, at the earliest"),
        ("computation that communication slows down", "it takes the time that it has alone"),
    ]
    if plan.idle:
        plan.idle = 0
        report.mapped.append(("computation after the last message", "qcnlab step RUN counts it"))
    tell(plan, report)
    return report
