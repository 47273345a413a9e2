"""What sets of readings are worth: the claims of each row that hold, row by row.

A row depends on the dimensions that touch its cases and on no others, so it is judged once for each
of their combinations. Verdicts are kept in a journal, and runs in the cache of cases: a search that
was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import book as book_package
from qcnlab.book import runner
from qcnlab.book.comparisons import HOLDS
from qcnlab.book.entries import Book
from qcnlab.book.verdicts import judge
from qcnlab.files.folders import core_digest
from qcnlab.infer.space import Set, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qcnlab.book.cases import Case
    from qcnlab.book.entries import Chapter, Row
    from qcnlab.sweeps.clusters import Crew

    Progress = Callable[[int], None]
    """Told the runs made."""

KEPT_CASES = 1500
"""So many finished cases stay in the cache; of the others their rows' verdicts stay."""
SECONDS = 0.5
"""A guess at what a second of a simulated run takes one core, before any was timed: the mean of the
book. It is 0.06 for deck 001, 0.3 for deck 000, 1.3 for deck 004, and 9 for paper 005's fabric."""

Verdicts = tuple[str, ...]
Scores = dict[str, Verdicts]
"""What came out for each claim of each row."""


def share(verdicts: Verdicts) -> Fraction:
    """Return the share of a row's claims that hold."""
    return Fraction(verdicts.count(HOLDS), len(verdicts)) if verdicts else Fraction(0)


def total(scores: Scores) -> Fraction:
    """Return the score of a set: the sum of its rows' shares."""
    return sum(map(share, scores.values()), Fraction(0))


@dataclass
class Judge:
    """Judges sets over the rows of a book.

    Attributes
    ----------
    runs : int
        Replications that were made since the search began.
    """

    book: Book
    space: Space
    folder: Path
    jobs: int | None = None
    crew: Crew | None = None
    progress: Progress | None = None
    runs: int = 0
    _known: dict[str, Verdicts] = field(default_factory=dict)
    _timed: tuple[float, float] = (0.0, 0.0)
    """Simulated seconds that were run, and the seconds that they took."""

    def __post_init__(self) -> None:
        """Read what the journal has."""
        self._rows = [
            (chapter, replace(row, shown=(), figures=()))
            for chapter in self.book.chapters
            for row in chapter.rows
            if row.said
        ]
        claimed = {
            (chapter.name, name): chapter.cases[name]
            for chapter, row in self._rows
            for name in row.claimed
        }
        self._touching = {key: self.space.touching(key[0], case) for key, case in claimed.items()}
        self._changed: dict[tuple[str, str, Set], Case] = {}
        self._read_journal()

    @property
    def rows(self) -> list[Row]:
        """The rows with claims."""
        return [row for _, row in self._rows]

    def dimensions_of(self, row: Row) -> set[int]:
        """Return the dimensions that touch a row's cases."""
        return {index for name in row.claimed for index in self._touching[row.chapter, name]}

    def score(self, sets: Sequence[Set], replications: int) -> list[Scores]:
        """Return what came out for each set, with at most so many replications of each case."""
        while wanted := self._wanted(sets, replications):
            self._judge(wanted[: self._at_once(wanted)], replications)
            if self.progress:
                self.progress(self.runs)
        return [
            {
                row.id: self._known[self._key(chapter, row, chosen, replications)]
                for chapter, row in self._rows
            }
            for chosen in sets
        ]

    def missing(self, sets: Iterable[Set], replications: int) -> tuple[int, float]:
        """Return the runs that the sets lack, and how long they take one core, s, about."""
        cases: dict[str, Case] = {}
        for chapter, row, chosen in self._wanted(list(sets), replications):
            for name in row.claimed:
                case = self._case(chapter, name, chosen)
                cases[_digest(case)] = case
        runs, simulated = 0, 0.0
        for case in cases.values():
            count = 0 if case.model else min(case.replications, replications)
            runs += count
            simulated += count * _length(case)
        return runs, simulated * self.pace

    @property
    def _workers(self) -> int:
        if self.crew is not None:
            return max(1, self.crew.workers())
        return self.jobs or os.cpu_count() or 1

    @property
    def pace(self) -> float:
        """Seconds of one core for a simulated second, as timed so far."""
        simulated, took = self._timed
        return took / simulated if simulated >= 1 else SECONDS

    @property
    def timed(self) -> bool:
        """Whether `pace` was timed."""
        return self._timed[0] >= 1

    def _wanted(self, sets: Sequence[Set], replications: int) -> list[tuple[Chapter, Row, Set]]:
        """Return the rows that were not judged with one of the sets, each combination once."""
        seen: dict[str, tuple[Chapter, Row, Set]] = {}
        for chosen in sets:
            for chapter, row in self._rows:
                key = self._key(chapter, row, chosen, replications)
                if key not in self._known:
                    seen.setdefault(key, (chapter, row, chosen))
        return list(seen.values())

    def _at_once(self, wanted: Sequence[tuple[Chapter, Row, Set]]) -> int:
        """Judge the rows of a few sets at a time, so that little is lost when it is stopped."""
        last = wanted[0][2]
        sets = 1
        for index, (_, _, chosen) in enumerate(wanted):
            if chosen != last:
                sets, last = sets + 1, chosen
                if sets > 4:
                    return index
        return len(wanted)

    def _judge(self, wanted: Sequence[tuple[Chapter, Row, Set]], replications: int) -> None:
        parts: dict[tuple[str, Set], list[Row]] = {}
        chapters = {chapter.name: chapter for chapter, _, _ in wanted}
        for chapter, row, chosen in wanted:
            parts.setdefault((chapter.name, chosen), []).append(row)
        several = []
        for number, ((name, chosen), rows) in enumerate(parts.items()):
            base = chapters[name]
            names = dict.fromkeys(case for row in rows for case in row.claimed)
            cases = {}
            for each in names:
                case = self._case(base, each, chosen)
                cases[each] = replace(case, replications=min(case.replications, replications))
            several.append(replace(base, name=f"{name} {number}", cases=cases, rows=tuple(rows)))
        made = Book(tuple(several), self.book.words)
        before = _cases_of(made)
        lacking = [case for case in before if not _finished(case, self.folder)]
        simulated = sum(case.replications * _length(case) for case in lacking)
        started = time.monotonic()
        results = runner.results(
            made, jobs=self.jobs, folder=self.folder / "cases", progress=False, crew=self.crew
        )
        took = time.monotonic() - started
        count = sum(case.replications for case in lacking)
        self.runs += count
        took *= self._workers
        self._timed = (self._timed[0] + simulated, self._timed[1] + took)
        whole = [
            self._whole(chapters[name], row, replications)
            for (name, _), rows in parts.items()
            for row in rows
        ]
        judged = iter(judge(made, results, few=[not each for each in whole]))
        with self._journal.open("a", encoding="utf-8") as journal:
            for (name, chosen), rows in parts.items():
                for row in rows:
                    verdicts = tuple(next(judged).verdicts)
                    key = self._key(chapters[name], row, chosen, replications)
                    self._known[key] = verdicts
                    line = {"key": key, "row": row.id, "verdicts": verdicts}
                    journal.write(json.dumps(line) + "\n")
            journal.write(json.dumps({"simulated": simulated, "took": took}) + "\n")
        runner.forget()
        _prune(self.folder / "cases")

    def _whole(self, chapter: Chapter, row: Row, replications: int) -> bool:
        """Return whether a row has all replications of the book, so that its verdicts decide."""
        cases = (chapter.cases[name] for name in row.claimed)
        return all(case.model or case.replications <= replications for case in cases)

    def _case(self, chapter: Chapter, name: str, chosen: Set) -> Case:
        touching = self._touching[chapter.name, name]
        only = tuple(value if i in touching else 0 for i, value in enumerate(chosen))
        key = (chapter.name, name, only)
        if key not in self._changed:
            self._changed[key] = self.space.changed(chapter.name, chapter.cases[name], only)
        return self._changed[key]

    def _key(self, chapter: Chapter, row: Row, chosen: Set, replications: int) -> str:
        digest = hashlib.sha256(f"{_rules()} {core_digest()} {replications}".encode())
        digest.update(f"{row.quick} {row.claims!r}".encode())
        for name in row.claimed:
            case = self._case(chapter, name, chosen)
            digest.update(f"{name} {min(case.replications, replications)} {_digest(case)}".encode())
        return digest.hexdigest()[:24]

    @property
    def _journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def _read_journal(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._journal.exists():
            return
        simulated = took = 0.0
        for line in self._journal.read_text(encoding="utf-8").splitlines():
            try:
                tree = json.loads(line)
                if "key" in tree:
                    self._known[tree["key"]] = tuple(tree["verdicts"])
                else:
                    simulated, took = simulated + tree["simulated"], took + tree["took"]
            except (ValueError, KeyError, TypeError):
                # The last line of a search that was stopped: its rows are judged again.
                continue
        self._timed = (simulated, took)


def _cases_of(made: Book) -> list[Case]:
    """Return the scenarios of a book, each once."""
    cases = {
        (_digest(case), case.replications): case
        for chapter in made.chapters
        for case in chapter.cases.values()
        if not case.model
    }
    return list(cases.values())


def _finished(case: Case, folder: Path) -> bool:
    return runner.is_kept(case, folder / "cases")


@lru_cache(maxsize=65536)
def _digest(case: Case) -> str:
    """Return what decides a case's numbers: its scenario, or its model, and its hotspot."""
    what = f"{case.model} {case.changes}" if case.model else case.build().hash
    return hashlib.sha256(f"{what} {case.hot} {case.keep}".encode()).hexdigest()[:16]


@lru_cache(maxsize=65536)
def _length(case: Case) -> float:
    """Return the simulated seconds of a run."""
    if case.model:
        return 0.0
    core = case.build()._core
    return float(core.duration_s)


@lru_cache(maxsize=1)
def _rules() -> str:
    """Return a fingerprint of the code that judges: verdicts of other rules are not used."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(str(book_package.__file__)).parent.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _prune(cases: Path) -> None:
    """Remove the oldest cases beyond `KEPT_CASES`."""
    folders = sorted(cases.iterdir(), key=lambda each: each.stat().st_mtime)
    for old in folders[: max(0, len(folders) - KEPT_CASES)]:
        shutil.rmtree(old, ignore_errors=True)
