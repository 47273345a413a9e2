"""What the book's files say: decks, rows, cases, claims; read strictly."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qcnlab.book import hotspot, words
from qcnlab.book.cases import WINDOWS, Case, expand, matching
from qcnlab.book.measures import MEASURES, known
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.words import Word

__all__ = ["Book", "BookError", "Case", "Claim", "Deck", "Figure", "Reading", "Row", "load"]

NUMBER, ORDER, DRAWN, MISSED, UNRUN = (
    "number reproduced",
    "order reproduced",
    "drawn for comparison",
    "not reproduced",
    "not run yet",
)
VERDICTS = (NUMBER, ORDER, DRAWN, MISSED, UNRUN)
FORMS = ("queue", "queue-log", "throughput", "flows", "bars", "lines", "step")
UNITS = ("Gb/s", "MB/s")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
Window = str | tuple[float, float]


@dataclass(frozen=True)
class Claim:
    """One word of a slide about one case, or about a case in comparison with another."""

    entry: str
    """Where the claim was derived from the deck alone: deck, slide and letter."""
    word: Word
    of: str
    """The measure; empty where the word names its own."""
    case: str
    than: str | None
    """The case it is compared with, in paired replications."""
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
    """A figure in the deck's own form."""

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
    """The measure of a figure of bars or lines."""
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
    deck: str
    slide: str
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
    off_by: str
    """Of a number that does not lie between the quartiles of our runs: by how much."""
    holds_without_control: str
    """Why the row may hold under a control."""
    figure: Figure | None
    quick: bool
    """Whether it is in the quick subset."""

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of all cases that the row needs, in order."""
        names = list(self.claimed)
        names += [reading.case for reading in self.shown]
        names += [] if self.figure is None else self.figure.cases
        return tuple(dict.fromkeys(names))

    @property
    def claimed(self) -> tuple[str, ...]:
        """The names of the cases that its claims are about."""
        both = [name for claim in self.claims for name in (claim.case, claim.than) if name]
        return tuple(dict.fromkeys(both))


@dataclass(frozen=True)
class Deck:
    """One file of the book."""

    name: str
    title: str
    path: Path
    cases: dict[str, Case]
    rows: tuple[Row, ...]

    def digest(self, row: Row) -> str:
        """Return a fingerprint of a row's claims and of the cases they are about."""
        about = [(name, self.cases[name]) for name in row.claimed]
        return hashlib.sha256(repr((row.claims, about)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Book:
    """All decks, in order."""

    decks: tuple[Deck, ...]
    words: dict[str, Word]

    def only(self, wanted: tuple[str, ...], *, quick: bool = False) -> Book:
        """Keep the rows whose id or deck is wanted (all if none is).

        `quick`: only the quick ones, without what they show and draw. Raises `BookError` for a
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
        return replace(self, decks=tuple(deck for deck in keep if deck.rows))

    def without_control(self) -> Book:
        """Return the book with every scheme replaced by none, for its claims alone."""
        decks = [
            replace(
                deck,
                cases={name: case.without_control() for name, case in deck.cases.items()},
                rows=tuple(_bare(row) for row in deck.rows),
            )
            for deck in self.decks
        ]
        return replace(self, decks=tuple(decks))


def _bare(row: Row) -> Row:
    return replace(row, shown=(), figure=None)


def folder(named: Path | None = None) -> Path:
    """Return the book's folder: `named`, or `book` here, or the one beside the package's sources.

    Raises `BookError` if there is none.
    """
    folders = [named] if named else [Path("book"), Path(__file__).parents[3] / "book"]
    for each in folders:
        if any(each.glob("deck*.toml")):
            return each
    raise BookError(f"there is no book in '{folders[0]}'; name its folder with --book DIR")


def load(named: Path | None = None) -> Book:
    """Read all `deck*.toml` of a folder and its words. Raises `BookError`: file and row."""
    book_folder = folder(named)
    vocabulary = words.read(book_folder)
    paths = sorted(book_folder.glob("deck*.toml"))
    book = Book(tuple(_deck(path, vocabulary) for path in paths), vocabulary)
    seen: dict[str, Path] = {}
    for deck in book.decks:
        for row in deck.rows:
            if row.id in seen:
                raise BookError(f"{deck.path}: row {row.id} is in {seen[row.id]} already")
            seen[row.id] = deck.path
    return book


def _deck(path: Path, vocabulary: dict[str, Word]) -> Deck:
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    title = table.text("title")
    cases = expand(table.tables("cases"))
    fixed = table.table("fixed")
    own = None if fixed is None else _fixed(fixed)
    rows = tuple(_row(each, path.stem, cases, vocabulary, own) for each in table.array("row"))
    table.end()
    return Deck(path.stem, title, path, cases, rows)


def _row(
    table: TomlTable,
    deck: str,
    cases: dict[str, Case],
    vocabulary: dict[str, Word],
    deck_fixed: Fixed | None,
) -> Row:
    table.name(table.text("id"))
    fixed = table.table("fixed")
    if fixed is None and deck_fixed is None:
        table.refuse("a row, or its deck, says when its claims were fixed: 'fixed'")
    row = Row(
        id=table.text("id"),
        deck=deck,
        slide=table.text("slide"),
        what=table.text("what"),
        published=table.text("published"),
        reading=table.text("reading", ""),
        verdict=table.one_of("verdict", VERDICTS),
        fixed=_fixed(fixed) if fixed else deck_fixed,  # type: ignore[arg-type]
        changes=tuple(_change(each) for each in table.array("changes")),
        claims=tuple(c for each in table.array("claims") for c in _claims(each, cases, vocabulary)),
        because=table.text("because", ""),
        shown=tuple(r for each in table.array("shown") for r in _readings(each, cases)),
        remark=table.text("remark", ""),
        off_by=table.text("off_by", ""),
        holds_without_control=table.text("holds_without_control", ""),
        figure=_figure(table.table("figure"), cases),
        quick=table.flag("quick"),
    )
    table.end()
    if (row.verdict == DRAWN) == bool(row.claims):
        table.refuse(f"a row without claims, and no other, is '{DRAWN}'")
    if row.verdict == MISSED and not row.remark:
        table.refuse("a row that is not reproduced has a remark that says what we get")
    return row


def _fixed(table: TomlTable) -> Fixed:
    fixed = Fixed(_date(table), table.text("commit"), "")
    table.end()
    return fixed


def _change(table: TomlTable) -> Fixed:
    change = Fixed(_date(table), table.text("commit", ""), table.text("reason"))
    table.end()
    if not change.reason.strip():
        table.refuse("a change of a claim has its reason")
    return change


def _date(table: TomlTable) -> str:
    date = table.text("date")
    if not DATE.fullmatch(date):
        table.refuse(f"'date' is a day such as 2026-01-31, not '{date}'")
    return date


def _claims(table: TomlTable, cases: dict[str, Case], vocabulary: dict[str, Word]) -> list[Claim]:
    name = table.text("word")
    if name not in vocabulary:
        table.refuse(f"'{name}' is no word of the book; there are {', '.join(vocabulary)}")
    word = vocabulary[name]
    of = table.text("of", "")
    if word.composite == bool(of):
        table.refuse(f"'{name}' {'names its own measures' if of else 'needs a measure, of'}")
    if of and of not in hotspot.MEASURES and not known(of):
        table.refuse(f"there is no measure '{of}'; there are {', '.join(_measures())}")
    entry = table.text("entry")
    numbers = {key: table.number(key) for key in NUMBERS}
    during, flows = _window(table), table.text("flows", "")
    chosen = matching(table.words("case"), cases, table)
    than = table.text("than", "")
    table.end()
    _check_numbers(table, word, numbers)
    if (word.test in words.PAIRED) != bool(than):
        table.refuse(f"'{name}' {'does not compare' if than else 'compares: than'}")
    for case, _ in chosen:
        if (of in hotspot.MEASURES or word.composite) and cases[case].hot is None:
            table.refuse(f"case '{case}' has no 'hot', by which '{of or name}' is measured")
    return [
        Claim(
            entry,
            word,
            of,
            case,
            _fill(than, case, wildcards, cases, table),
            during,
            flows,
            numbers["limit"],
            _or(numbers["printed"], math.nan),
            _or(numbers["within"], 0.0),
            _or(numbers["above"], -math.inf),
            _or(numbers["below"], math.inf),
            _or(numbers["ratio"], word.ratio),
        )
        for case, wildcards in chosen
    ]


NUMBERS = ("limit", "printed", "within", "above", "below", "ratio")


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _check_numbers(table: TomlTable, word: Word, numbers: dict[str, float | None]) -> None:
    printed = word.test in words.OF_NUMBERS and word.of is None
    if printed != (numbers["printed"] is not None):
        table.refuse(f"'{word.name}' {'needs' if printed else 'takes no'} 'printed'")
    bounded = word.test in ("limit", "always")
    if bounded != (numbers["above"] is not None or numbers["below"] is not None):
        table.refuse(f"'{word.name}' {'needs' if bounded else 'takes no'} 'above' or 'below'")


def _measures() -> list[str]:
    return sorted({*hotspot.MEASURES, *MEASURES})


def _fill(
    than: str, case: str, wildcards: dict[str, str], cases: dict[str, Case], table: TomlTable
) -> str | None:
    if not than:
        return None
    name = than.format_map(wildcards)
    if name not in cases:
        table.refuse(f"there is no case '{name}' to compare '{case}' with")
    return name


def _window(table: TomlTable) -> Window | None:
    value = table.value("during")
    if value is None:
        return None
    if isinstance(value, str):
        return table.one_of("during", WINDOWS)
    return table.pair("during")


def _readings(table: TomlTable, cases: dict[str, Case]) -> list[Reading]:
    name, of = table.text("name"), table.text("of")
    if of not in hotspot.MEASURES and not known(of):
        table.refuse(f"there is no measure '{of}'; there are {', '.join(_measures())}")
    during, flows, limit = _window(table), table.text("flows", ""), table.number("limit")
    chosen = matching(table.words("case"), cases, table)
    table.end()
    return [
        Reading(_named(name, wildcards, table), of, case, during, flows, limit)
        for case, wildcards in chosen
    ]


SPOKEN = {
    "ecm": "ECM",
    "ecm00": "ECM with (0,0)",
    "adjusted": "ECM, adjusted",
    "qcn": "QCN",
    "sonar": "QCN-SONAR",
    "plus": "QCN+",
}
"""What the short names of schemes stand for in names of curves and of readings."""


def _named(template: str, wildcards: dict[str, str], table: TomlTable) -> str:
    try:
        return template.format_map({key: SPOKEN.get(name, name) for key, name in wildcards.items()})
    except KeyError as error:
        table.refuse(f"the name '{template}' has {error}, which its cases do not have")


def _figure(table: TomlTable | None, cases: dict[str, Case]) -> Figure | None:
    if table is None:
        return None
    chosen = matching(table.words("cases"), cases, table)
    names = table.words("names", [])
    if len(names) not in (1, len(chosen)):
        table.refuse(f"the figure has {len(chosen)} cases and {len(names)} names")
    if len(names) == 1 and len(chosen) > 1:
        names = [_named(names[0], wildcards, table) for _, wildcards in chosen]
    figure = Figure(
        form=table.one_of("form", FORMS),
        cases=tuple(case for case, _ in chosen),
        names=tuple(names),
        window=table.pair("window"),
        unit=table.one_of("unit", UNITS, UNITS[0]),
        flows=table.text("flows", ""),
        of=table.text("of", ""),
        ports=tuple(table.words("ports", [])),
        mark=table.number("mark"),
    )
    table.end()
    return figure


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row's words for JSON."""
    return {
        "id": row.id,
        "deck": row.deck,
        "slide": row.slide,
        "what": row.what,
        "published": row.published,
        "reading": row.reading,
        "fixed": {"date": row.fixed.date, "commit": row.fixed.commit},
        "because": row.because,
        "remark": row.remark,
    }
