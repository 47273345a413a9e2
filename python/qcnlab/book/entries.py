"""The book's files: decks, rows, cases and claims, read strictly."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qcnlab.book.cases import Case, expand, matching
from qcnlab.book.measures import MEASURES, known
from qcnlab.book.toml_table import BookError, TomlTable

__all__ = ["Book", "BookError", "Case", "Claim", "Deck", "Figure", "Reading", "Row", "load"]

KINDS = {
    "number": "matches",
    "invariant": "matches",
    "verdict": "order holds",
    "plot": "drawn again",
}
"""What a row is in its source, and the verdict when all its claims hold."""
STATUSES = ("holds", "fails", "open")
FORMS = ("queue", "queue-log", "throughput", "flows", "drops", "bars", "lines", "step")
UNITS = ("Gb/s", "MB/s")


@dataclass(frozen=True)
class Claim:
    """One comparison: a measure of a case, alone or by that of another case, with a band.

    It holds if the median over the replications lies in `band` and at least nine runs in ten lie
    in `runs`. With `over` both are of the ratios of paired replications, which meet the same
    random numbers.
    """

    of: str
    """The measure."""
    case: str
    """The case's name."""
    over: str | None
    """The case whose measure it is divided by."""
    band: tuple[float, float]
    """For the median, ends included."""
    runs: tuple[float, float]
    """For nine runs in ten, ends included."""
    during: tuple[float, float] | None
    """Time window in s; without one the measure is the laboratory's metric of the whole run."""
    flows: str
    """Globs of the flows that the measure looks at; empty: all."""
    limit: float | None
    """The measure's own argument, where it has one."""


@dataclass(frozen=True)
class Reading:
    """Another reading of the source, shown beside a row without a claim."""

    name: str
    of: str
    case: str
    during: tuple[float, float] | None
    flows: str
    limit: float | None


@dataclass(frozen=True)
class Figure:
    """A figure in the deck's own form."""

    form: str
    """One of `FORMS`."""
    cases: tuple[str, ...]
    window: tuple[float, float] | None
    """Time axis in s; the whole run without one."""
    unit: str
    """Of throughput: "Gb/s" or "MB/s"."""
    flows: str
    """Globs of the flows of a throughput; empty: all."""
    of: str
    """The measure of a figure of bars or lines."""


@dataclass(frozen=True)
class Row:
    """One published result."""

    id: str
    deck: str
    slide: str
    what: str
    """Scenario, scheme and metric in a few words."""
    published: str
    """The number or verdict of the source, in a few words."""
    kind: str
    """One of `KINDS`."""
    status: str
    """What the book expects: "holds", "fails" (known, see the remark) or "open"."""
    claims: tuple[Claim, ...]
    because: str
    """How words became numbers, and why the bands are what they are."""
    readings: tuple[Reading, ...]
    remark: str
    """What was tried where the row does not reproduce, and what is worth knowing."""
    figure: Figure | None
    quick: bool
    """Whether it is in the quick subset."""

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of all cases that the row needs, in order."""
        names: list[str] = []
        for claim in self.claims:
            names += [claim.case] if claim.over is None else [claim.case, claim.over]
        names += [reading.case for reading in self.readings]
        names += [] if self.figure is None else self.figure.cases
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Deck:
    """One file of the book."""

    name: str
    title: str
    path: Path
    cases: dict[str, Case]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Book:
    """All decks, in order."""

    decks: tuple[Deck, ...]

    def only(self, wanted: tuple[str, ...], *, quick: bool = False) -> Book:
        """Keep the rows whose id or deck is wanted (all if none is).

        `quick`: only the quick ones, without their readings and figures. Raises `BookError` for a
        name that is neither a row nor a deck.
        """
        names = {deck.name for deck in self.decks} | {r.id for d in self.decks for r in d.rows}
        for name in wanted:
            if name not in names:
                raise BookError(
                    f"the book has no row or deck '{name}'; rows are numbers such as 1.5, decks "
                    + ", ".join(deck.name for deck in self.decks)
                )

        def kept(row: Row) -> bool:
            asked = not wanted or row.id in wanted or row.deck in wanted
            return asked and (row.quick or not quick)

        keep = [
            replace(
                deck, rows=tuple(_bare(row) if quick else row for row in deck.rows if kept(row))
            )
            for deck in self.decks
        ]
        return Book(tuple(deck for deck in keep if deck.rows))


def _bare(row: Row) -> Row:
    return replace(row, readings=(), figure=None)


def locate(folder: Path | None = None) -> Path:
    """Return the book's folder: `folder`, or `book` here, or the one beside the sources.

    Raises
    ------
    BookError
        None of them has a deck.
    """
    candidates = [folder] if folder else [Path("book"), Path(__file__).parents[3] / "book"]
    for candidate in candidates:
        if any(candidate.glob("deck*.toml")):
            return candidate
    raise BookError(f"there is no book in '{candidates[0]}'; name its folder with --book DIR")


def load(folder: Path | None = None) -> Book:
    """Return all decks of a folder. Raises `BookError`, which tells file and row."""
    paths = sorted(locate(folder).glob("deck*.toml"))
    book = Book(tuple(_deck(path) for path in paths))
    seen: dict[str, Path] = {}
    for deck in book.decks:
        for row in deck.rows:
            if row.id in seen:
                raise BookError(f"{deck.path}: row {row.id} is in {seen[row.id]} already")
            seen[row.id] = deck.path
    return book


def _deck(path: Path) -> Deck:
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    title = table.text("title")
    cases = expand(table.tables("cases"))
    rows = tuple(_row(each, path.stem, cases) for each in table.array("row"))
    table.end()
    return Deck(path.stem, title, path, cases, rows)


def _row(table: TomlTable, deck: str, cases: dict[str, Case]) -> Row:
    table.name(table.text("id"))
    row = Row(
        id=table.text("id"),
        deck=deck,
        slide=table.text("slide"),
        what=table.text("what"),
        published=table.text("published"),
        kind=table.one_of("kind", tuple(KINDS)),
        status=table.one_of("status", STATUSES),
        claims=tuple(c for each in table.array("claims") for c in _claims(each, cases)),
        because=table.text("because", ""),
        readings=tuple(_reading(each, cases) for each in table.array("readings")),
        remark=table.text("remark", ""),
        figure=_figure(table.table("figure"), cases),
        quick=table.flag("quick"),
    )
    table.end()
    if row.status == "open" and row.claims:
        table.refuse("an open row has no claims")
    if row.status != "open" and not row.claims and row.kind != "plot":
        table.refuse("a row that is not open has a claim")
    if row.status != "holds" and not row.remark:
        table.refuse("a row that does not hold has a remark that says why")
    if row.claims and not row.because:
        table.refuse("a row with claims says why in 'because'")
    return row


def _claims(table: TomlTable, cases: dict[str, Case]) -> list[Claim]:
    of = _measure(table)
    during = table.pair("during")
    limit = table.number("limit")
    flows = table.text("flows", "")
    band = _band(table)
    runs = table.pair("runs") or band
    over = table.text("over", "")
    matches = matching(table.words("case"), cases, table)
    table.end()
    measure = MEASURES.get(of)
    if during is None and (flows or limit is not None) and (measure is None or measure.core):
        table.refuse(f"'{of}' without 'during' is of the whole run and takes no flows or limit")
    if during is not None and (measure is None or not measure.windowed):
        table.refuse(f"'{of}' cannot be taken over a window")
    if during is None and measure is not None and not measure.core:
        table.refuse(f"'{of}' needs a window: 'during'")
    others = [_fill(over, case, filled, cases, table) for case, filled in matches]
    return [
        Claim(of, case, other, band, runs, during, flows, limit)
        for (case, _), other in zip(matches, others, strict=True)
    ]


def _fill(
    over: str, case: str, filled: dict[str, str], cases: dict[str, Case], table: TomlTable
) -> str | None:
    if not over:
        return None
    name = over.format_map(filled)
    if name not in cases:
        table.refuse(f"there is no case '{name}' to compare '{case}' with")
    return name


def _band(table: TomlTable) -> tuple[float, float]:
    band = table.pair("in")
    above, below = table.number("above"), table.number("below")
    if (band is None) == (above is None and below is None):
        table.refuse("a claim has either 'in' or one or both of 'above' and 'below'")
    if band is not None:
        return band
    return (-math.inf if above is None else above, math.inf if below is None else below)


def _measure(table: TomlTable) -> str:
    of = table.text("of")
    if not known(of):
        table.refuse(f"there is no measure '{of}'; there are {', '.join(sorted(MEASURES))}")
    return of


def _reading(table: TomlTable, cases: dict[str, Case]) -> Reading:
    reading = Reading(
        name=table.text("name"),
        of=_measure(table),
        case=table.text("case"),
        during=table.pair("during"),
        flows=table.text("flows", ""),
        limit=table.number("limit"),
    )
    table.end()
    if reading.case not in cases:
        table.refuse(f"there is no case '{reading.case}'")
    return reading


def _figure(table: TomlTable | None, cases: dict[str, Case]) -> Figure | None:
    if table is None:
        return None
    figure = Figure(
        form=table.one_of("form", FORMS),
        cases=tuple(case for case, _ in matching(table.words("cases"), cases, table)),
        window=table.pair("window"),
        unit=table.one_of("unit", UNITS, UNITS[0]),
        flows=table.text("flows", ""),
        of=table.text("of", ""),
    )
    table.end()
    return figure


def as_dict(row: Row) -> dict[str, Any]:
    """Return what a reader of JSON wants to know of a row."""
    return {
        "id": row.id,
        "deck": row.deck,
        "slide": row.slide,
        "what": row.what,
        "published": row.published,
        "kind": row.kind,
        "status": row.status,
        "because": row.because,
        "remark": row.remark,
    }
