"""What the book's files say: decks, rows, cases, claims; read strictly."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qcnlab.book.cases import Case, expand, matching
from qcnlab.book.given import BookError, Given
from qcnlab.book.measures import MEASURES, known

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
    """Time axis in s; the whole run if not given."""
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


def folder(given: Path | None = None) -> Path:
    """Find the book: `given`, or `book` here, or the one beside the package's sources.

    Raises `BookError` if there is none.
    """
    places = [given] if given else [Path("book"), Path(__file__).parents[3] / "book"]
    for place in places:
        if any(place.glob("deck*.toml")):
            return place
    raise BookError(f"there is no book in '{places[0]}'; name its folder with --book DIR")


def load(place: Path | None = None) -> Book:
    """Read all `deck*.toml` of a folder. Raises `BookError`, which tells file and row."""
    found = sorted(folder(place).glob("deck*.toml"))
    book = Book(tuple(_deck(path) for path in found))
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
    given = Given(str(path), tree)
    title = given.text("title")
    cases = expand(given.tables("cases"))
    rows = tuple(_row(each, path.stem, cases) for each in given.array("row"))
    given.end()
    return Deck(path.stem, title, path, cases, rows)


def _row(given: Given, deck: str, cases: dict[str, Case]) -> Row:
    given.name(given.text("id"))
    row = Row(
        id=given.text("id"),
        deck=deck,
        slide=given.text("slide"),
        what=given.text("what"),
        published=given.text("published"),
        kind=given.one_of("kind", tuple(KINDS)),
        status=given.one_of("status", STATUSES),
        claims=tuple(c for each in given.array("claims") for c in _claims(each, cases)),
        because=given.text("because", ""),
        readings=tuple(_reading(each, cases) for each in given.array("readings")),
        remark=given.text("remark", ""),
        figure=_figure(given.table("figure"), cases),
        quick=given.flag("quick"),
    )
    given.end()
    if row.status == "open" and row.claims:
        given.refuse("an open row has no claims")
    if row.status != "open" and not row.claims and row.kind != "plot":
        given.refuse("a row that is not open has a claim")
    if row.status != "holds" and not row.remark:
        given.refuse("a row that does not hold has a remark that says why")
    if row.claims and not row.because:
        given.refuse("a row with claims says why in 'because'")
    return row


def _claims(given: Given, cases: dict[str, Case]) -> list[Claim]:
    of = _measure(given)
    during = given.pair("during")
    limit = given.number("limit")
    flows = given.text("flows", "")
    band = _band(given)
    runs = given.pair("runs") or band
    over = given.text("over", "")
    found = matching(given.words("case"), cases, given)
    given.end()
    measure = MEASURES.get(of)
    if during is None and (flows or limit is not None) and (measure is None or measure.core):
        given.refuse(f"'{of}' without 'during' is of the whole run and takes no flows or limit")
    if during is not None and measure is None:
        given.refuse(f"'{of}' cannot be taken over a window")
    others = [_fill(over, case, places, cases, given) for case, places in found]
    return [
        Claim(of, case, other, band, runs, during, flows, limit)
        for (case, _), other in zip(found, others, strict=True)
    ]


def _fill(
    over: str, case: str, places: dict[str, str], cases: dict[str, Case], given: Given
) -> str | None:
    if not over:
        return None
    name = over.format_map(places)
    if name not in cases:
        given.refuse(f"there is no case '{name}' to compare '{case}' with")
    return name


def _band(given: Given) -> tuple[float, float]:
    band = given.pair("in")
    above, below = given.number("above"), given.number("below")
    if (band is None) == (above is None and below is None):
        given.refuse("a claim has either 'in' or one or both of 'above' and 'below'")
    if band is not None:
        return band
    return (-math.inf if above is None else above, math.inf if below is None else below)


def _measure(given: Given) -> str:
    of = given.text("of")
    if not known(of):
        given.refuse(f"there is no measure '{of}'; there are {', '.join(sorted(MEASURES))}")
    return of


def _reading(given: Given, cases: dict[str, Case]) -> Reading:
    reading = Reading(
        name=given.text("name"),
        of=_measure(given),
        case=given.text("case"),
        during=given.pair("during"),
        flows=given.text("flows", ""),
        limit=given.number("limit"),
    )
    given.end()
    if reading.case not in cases:
        given.refuse(f"there is no case '{reading.case}'")
    return reading


def _figure(given: Given | None, cases: dict[str, Case]) -> Figure | None:
    if given is None:
        return None
    figure = Figure(
        form=given.one_of("form", FORMS),
        cases=tuple(case for case, _ in matching(given.words("cases"), cases, given)),
        window=given.pair("window"),
        unit=given.one_of("unit", UNITS, UNITS[0]),
        flows=given.text("flows", ""),
        of=given.text("of", ""),
    )
    given.end()
    return figure


def as_dict(row: Row) -> dict[str, Any]:
    """Give what a reader of JSON wants to know of a row."""
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
