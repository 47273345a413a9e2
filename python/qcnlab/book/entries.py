"""What the book holds: chapters, rows, claims, readings, figures."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qcnlab.book.toml_table import BookError

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.book.cases import Case
    from qcnlab.book.words import Word

REPRODUCED, PARTLY, MISSED, OPEN, DRAWN, UNRUN = (
    "reproduced",
    "partly reproduced",
    "not reproduced",
    "undecided",
    "drawn for comparison",
    "not run yet",
)
VERDICTS = (REPRODUCED, PARTLY, MISSED, OPEN, DRAWN, UNRUN)
RULES = "2026-11-23"
"""When the rules of verdicts were last changed: what was judged by others is judged again."""
LEVELS = "2026-11-24"
"""The same of the rule for orders of recovery times, which asks for more levels than one."""
FORMS = ("queue", "queue-log", "throughput", "flows", "bars", "step")
UNITS = ("Gb/s", "MB/s")
Window = str | tuple[float, float]


@dataclass(frozen=True)
class Claim:
    """One word of a slide about one case, or about a case in comparison with another."""

    entry: str
    """Where it was derived from the deck or paper alone: number, slide or figure, letter."""
    word: Word
    of: str
    """The measure; empty where the word names its own."""
    case: str
    than: str | None
    """The case it is compared with, in paired replications."""
    over: tuple[str, str]
    """Of a gain: the two cases between which the other gain lies; else empty names."""
    during: Window | None
    """A window of the hotspot by name, or times in s; `None`: the measure's own."""
    flows: str
    """Globs of the flows that the measure counts; empty: those that cross the hot link."""
    limit: float | None
    """The measure's own argument, where it has one."""
    printed: float
    within: float
    """Half of the last printed digit's unit."""
    above: float
    below: float
    ratio: float
    either: str = ""
    """Claims of a row that share this name stand for "at least one of them"."""
    about: tuple[str, ...] = field(default=(), repr=False)
    """Counts of events without which there is nothing to claim, such as `pause_frames`."""
    phases: tuple[str, ...] = field(default=(), repr=False)
    """Of a word with measures of its own: the windows that the slide draws; empty: the word's."""
    ours: str = field(default="", repr=False)
    """Why it is a limit of ours, which is shown and decides nothing; empty: the source says it."""

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that it is about."""
        return tuple(name for name in (self.case, self.than, *self.over) if name)

    @property
    def prints_number(self) -> bool:
        """Whether the slide prints a number for it."""
        return not math.isnan(self.printed)

    @property
    def orders_recovery(self) -> bool:
        """Whether it is an order of recovery times, whose level no source prints."""
        return (self.of, self.word.test) == ("recovery", "order")


@dataclass(frozen=True)
class Reading:
    """A number shown beside a row without a claim: a plot's, or another reading's."""

    name: str
    of: str
    case: str
    during: Window | None
    flows: str
    limit: float | None


@dataclass(frozen=True)
class Figure:
    """A figure in the form of the published one."""

    form: str
    """One of `FORMS`."""
    cases: tuple[str, ...]
    names: tuple[str, ...]
    """What each case is called in the figure."""
    window: tuple[float, float] | None
    """Time axis in s; the whole run by default."""
    unit: str
    """Of throughput: "Gb/s" or "MB/s"."""
    flows: str
    """Globs of the flows of a throughput; empty: all."""
    of: str
    """The measure of a figure of bars."""
    ports: tuple[str, ...]
    """The ports whose queues are drawn; empty: the bottleneck's."""
    mark: float | None
    """The published value, in the figure's own unit (ms after the end of the hotspot in traces)."""


@dataclass(frozen=True)
class Fixed:
    """When a claim was fixed, or why it was changed later."""

    date: str
    commit: str
    reason: str


@dataclass(frozen=True)
class Row:
    """One published result."""

    id: str
    chapter: str
    location: str
    """Where it stands: slide, figure or section."""
    what: str
    """Scenario, scheme and metric in a few words."""
    published: str
    """The slide's own words or numbers."""
    reading: str
    """What we take a plot to show, where the slide has no words."""
    verdict: str
    """One of `VERDICTS`: what the page says, and what the runs must bear out."""
    fixed: Fixed
    changes: tuple[Fixed, ...]
    claims: tuple[Claim, ...]
    because: str
    """How the words became claims, where the words' meanings do not say it."""
    shown: tuple[Reading, ...]
    remark: str
    """What is worth knowing, and what was tried where the row does not reproduce."""
    holds_without_control: str
    """Why the row may hold under a control."""
    figures: tuple[Figure, ...]
    quick: bool
    """Whether it is in the quick subset."""
    earlier: tuple[str, ...] = ()
    """Verdicts that it had before, each with date and commit."""

    @property
    def said(self) -> tuple[Claim, ...]:
        """The claims that its source makes: those that decide."""
        return tuple(claim for claim in self.claims if not claim.ours)

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of all cases that the row needs, in order."""
        names = list(self.claimed)
        names += [reading.case for reading in self.shown]
        names += [name for figure in self.figures for name in figure.cases]
        return tuple(dict.fromkeys(names))

    @property
    def claimed(self) -> tuple[str, ...]:
        """The names of the cases that its claims are about."""
        return tuple(dict.fromkeys(name for claim in self.claims for name in claim.cases))


@dataclass(frozen=True)
class Chapter:
    """One file of the book: a deck or a paper."""

    name: str
    title: str
    path: Path
    cases: dict[str, Case]
    rows: tuple[Row, ...]
    chosen: str = ""
    """What we take where the source prints nothing, and by what, in a few sentences."""

    def digest(self, row: Row) -> str:
        """Return a fingerprint of a row's claims, of their cases, and of the rules of verdicts."""
        about = [(name, self.cases[name]) for name in row.claimed]
        more = [
            (one.about, one.phases, bool(one.ours), *((LEVELS,) if one.orders_recovery else ()))
            for one in row.claims
        ]
        return hashlib.sha256(repr((RULES, row.claims, about, more)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Book:
    """All chapters, in order: decks, then papers."""

    chapters: tuple[Chapter, ...]
    words: dict[str, Word]

    def only(self, wanted: tuple[str, ...], *, quick: bool = False) -> Book:
        """Keep the rows whose id or chapter is wanted (all if none is).

        `quick`: only the quick ones, without what they show and draw. Raises `BookError` for a
        name that is neither a row nor a chapter.
        """
        names = {chapter.name for chapter in self.chapters} | {
            r.id for d in self.chapters for r in d.rows
        }
        for name in wanted:
            if name not in names:
                raise BookError(
                    f"the book has no row or chapter '{name}'; rows are numbers such as 1.5, "
                    "chapters " + ", ".join(chapter.name for chapter in self.chapters)
                )

        def kept(row: Row) -> bool:
            asked = not wanted or row.id in wanted or row.chapter in wanted
            return asked and (row.quick or not quick)

        keep = [
            replace(
                chapter,
                rows=tuple(_bare(row) if quick else row for row in chapter.rows if kept(row)),
            )
            for chapter in self.chapters
        ]
        return replace(self, chapters=tuple(chapter for chapter in keep if chapter.rows))

    def without_control(self) -> Book:
        """Return the book with every scheme replaced by none, for its claims alone."""
        chapters = [
            replace(
                chapter,
                cases={name: case.without_control() for name, case in chapter.cases.items()},
                rows=tuple(_bare(row) for row in chapter.rows),
            )
            for chapter in self.chapters
        ]
        return replace(self, chapters=tuple(chapters))


def _bare(row: Row) -> Row:
    return replace(row, shown=(), figures=())


def as_dict(row: Row) -> dict[str, object]:
    """Return a row's words for JSON."""
    return {
        "id": row.id,
        "chapter": row.chapter,
        "location": row.location,
        "what": row.what,
        "published": row.published,
        "reading": row.reading,
        "fixed": {"date": row.fixed.date, "commit": row.fixed.commit},
        "because": row.because,
        "remark": row.remark,
        "earlier": list(row.earlier),
    }
