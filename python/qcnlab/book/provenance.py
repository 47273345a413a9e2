"""Which build runs: the commit and the compiled core. A tree with changes is refused.

Evidence that a run writes names the build that ran. Nobody writes a commit by hand. Rows that are
not run again keep the build that ran them.
"""

from __future__ import annotations

import subprocess
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

from qcnlab import _core
from qcnlab.book.toml_table import BookError
from qcnlab.files.folders import core_digest
from qcnlab.records import read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

WRITTEN = (":(exclude)book/*.json", ":(exclude)docs/book")
"""What a run writes itself."""
SOURCES = ("crates", "scenarios", "Cargo.toml", "Cargo.lock")
"""What the core is built from."""
UNKNOWN = "unknown"
Said = TypeVar("Said")
"""What a run says of one row."""


@dataclass(frozen=True)
class Build:
    """A commit and the core that was built from it."""

    commit: str
    """Abbreviated; "unknown" outside a repository."""
    core: str
    """The first digits of the core's SHA-256."""


class WrittenRun(TypedDict):
    """A run as files keep it."""

    date: str
    commit: str
    core: str
    rows: dict[str, object]


@dataclass(frozen=True)
class Run(Generic[Said]):
    """Rows of the book that one build ran."""

    date: str
    commit: str
    core: str
    """As those of `Build`."""
    rows: dict[str, Said]

    def tree(self) -> WrittenRun:
        """Return what files keep, the rows in the order of their numbers."""
        rows = sorted(self.rows.items(), key=lambda each: _by_number(each[0]))
        written: dict[str, object] = {name: asdict(row) for name, row in rows}  # type: ignore[call-overload]
        return {"date": self.date, "commit": self.commit, "core": self.core, "rows": written}


def read_run(kind: type[Said], tree: WrittenRun) -> Run[Said]:
    """Return the run that a file keeps; raises `ValueError` where a row is none of `kind`."""
    rows = {name: read(kind, row, f"row {name}") for name, row in tree["rows"].items()}
    return Run(tree["date"], tree["commit"], tree["core"], rows)


@dataclass(frozen=True)
class Runs(Generic[Said]):
    """What every row gave when it was last run, the oldest run first."""

    runs: tuple[Run[Said], ...] = ()

    @property
    def rows(self) -> dict[str, Said]:
        """The rows of all runs, in the order of their numbers."""
        rows = {name: row for run in self.runs for name, row in run.rows.items()}
        return dict(sorted(rows.items(), key=lambda each: _by_number(each[0])))

    def with_today(
        self, build: Build, rows: Mapping[str, Said], instead: Collection[str] = ()
    ) -> Runs[Said]:
        """Return them with what `build` has run, in place of the same rows and of `instead`."""
        now = Run(datetime.now(UTC).date().isoformat(), build.commit, build.core, dict(rows))
        gone = {*rows, *instead}
        runs = []
        for run in self.runs:
            others = {name: row for name, row in run.rows.items() if name not in gone}
            if (run.commit, run.core) == (now.commit, now.core):
                now.rows.update(others)
            elif others:
                runs.append(replace(run, rows=others))
        return Runs((*runs, now) if now.rows else tuple(runs))

    def only(self, keep: Callable[[str, Said], bool]) -> Runs[Said]:
        """Return them with the rows that `keep` holds for; a run without rows is left out."""
        runs = (
            replace(run, rows={name: row for name, row in run.rows.items() if keep(name, row)})
            for run in self.runs
        )
        return Runs(tuple(run for run in runs if run.rows))


def _by_number(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))


def build(folder: Path) -> Build:
    """Return the build that runs, by the repository of `folder`.

    Raises `BookError` if the repository's files differ from its commit, or if the core is older
    than the sources.
    """
    core = core_digest()[:12]
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return Build(UNKNOWN, core)
    root = Path(top)
    differing = _git(root, "status", "--porcelain", "--", ".", *WRITTEN)
    if differing:
        first = differing.splitlines()[0][3:]
        raise BookError(
            f"'{first}' is not as it was committed: evidence names a commit, so commit first"
        )
    _refuse_old_core(root)
    return Build(_git(root, "rev-parse", "--short", "HEAD") or UNKNOWN, core)


def _refuse_old_core(root: Path) -> None:
    core = Path(str(_core.__file__)).resolve()
    if not core.is_relative_to(root.resolve()):
        return
    newest = max(
        (path for name in SOURCES for path in _files(root / name)),
        key=lambda path: path.stat().st_mtime,
    )
    if newest.stat().st_mtime > core.stat().st_mtime:
        raise BookError(f"'{newest.relative_to(root)}' is newer than the core: build first (make)")


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]


def _git(folder: Path, *words: str) -> str | None:
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")
