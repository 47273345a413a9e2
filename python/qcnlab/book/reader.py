"""The reader of the book's files: `deck*.toml` and `paper*.toml`, key by key and strictly."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from qcnlab.book import hotspot, words
from qcnlab.book.cases import WINDOWS, Case, expand, matching
from qcnlab.book.entries import (
    DRAWN,
    FORMS,
    MISSED,
    UNITS,
    VERDICTS,
    Book,
    Chapter,
    Claim,
    Figure,
    Fixed,
    Reading,
    Row,
    Window,
)
from qcnlab.book.measures import MEASURES, known
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.words import Word

CHAPTERS = ("deck", "paper")
"""What the names of chapters' files begin with, in the order of the book."""
LOCATIONS = {"slide": "Slide", "figure": "Figure", "section": "Section"}
"""Keys that say where a result stands."""
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def folder(named: Path | None = None) -> Path:
    """Return the book's folder: `named`, or `book` here, or the one beside the package's sources.

    Raises `BookError` if there is none.
    """
    folders = [named] if named else [Path("book"), Path(__file__).parents[3] / "book"]
    for each in folders:
        if _paths(each):
            return each
    raise BookError(f"there is no book in '{folders[0]}'; name its folder with --book DIR")


def _paths(book_folder: Path) -> list[Path]:
    """Return the chapters' files: decks, then papers."""
    return [path for kind in CHAPTERS for path in sorted(book_folder.glob(f"{kind}*.toml"))]


def load(named: Path | None = None) -> Book:
    """Read all chapters of a folder and its words. Raises `BookError`: file and row."""
    book_folder = folder(named)
    vocabulary = words.read(book_folder)
    paths = _paths(book_folder)
    book = Book(tuple(_chapter(path, vocabulary) for path in paths), vocabulary)
    seen: dict[str, Path] = {}
    for chapter in book.chapters:
        for row in chapter.rows:
            if row.id in seen:
                raise BookError(f"{chapter.path}: row {row.id} is in {seen[row.id]} already")
            seen[row.id] = chapter.path
    return book


def _chapter(path: Path, vocabulary: dict[str, Word]) -> Chapter:
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    title, chosen = table.text("title"), table.text("chosen", "")
    cases = expand(table.tables("cases"))
    fixed = table.table("fixed")
    own = None if fixed is None else _fixed(fixed)
    rows = tuple(_row(each, path.stem, cases, vocabulary, own) for each in table.array("row"))
    table.end()
    return Chapter(path.stem, title, path, cases, rows, chosen)


def _row(
    table: TomlTable,
    chapter: str,
    cases: dict[str, Case],
    vocabulary: dict[str, Word],
    chapter_fixed: Fixed | None,
) -> Row:
    table.name(table.text("id"))
    fixed = table.table("fixed")
    if fixed is None and chapter_fixed is None:
        table.refuse("a row, or its chapter, says when its claims were fixed: 'fixed'")
    row = Row(
        id=table.text("id"),
        chapter=chapter,
        location=_location(table),
        what=table.text("what"),
        published=table.text("published"),
        reading=table.text("reading", ""),
        verdict=table.one_of("verdict", VERDICTS),
        fixed=_fixed(fixed) if fixed else chapter_fixed,  # type: ignore[arg-type]
        changes=tuple(_change(each) for each in table.array("changes")),
        claims=tuple(c for each in table.array("claims") for c in _claims(each, cases, vocabulary)),
        because=table.text("because", ""),
        shown=tuple(r for each in table.array("shown") for r in _readings(each, cases)),
        remark=table.text("remark", ""),
        holds_without_control=table.text("holds_without_control", ""),
        figures=tuple(_figure(each, cases) for each in table.array("figures")),
        quick=table.flag("quick"),
        earlier=tuple(table.words("earlier", [])),
    )
    table.end()
    if (row.verdict == DRAWN) == bool(row.said):
        table.refuse(f"a row without claims of its source, and no other, is '{DRAWN}'")
    if row.verdict == MISSED and not row.remark:
        table.refuse("a row that is not reproduced has a remark that says what we get")
    return row


def _location(table: TomlTable) -> str:
    said = {key: table.text(key, "") for key in LOCATIONS}
    named = [f"{LOCATIONS[key]} {value}" for key, value in said.items() if value]
    if len(named) != 1:
        table.refuse(f"a row says where its result stands, by one of {', '.join(LOCATIONS)}")
    return named[0]


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
    entry = table.text("entry")
    numbers = {key: table.number(key) for key in NUMBERS}
    during, flows = _window(table, of), table.text("flows", "")
    either = table.text("either", "")
    about, phases, ours = _about(table), _phases(table, word), table.text("ours", "")
    chosen = matching(table.words("case"), cases, table)
    than = table.text("than", "")
    over = table.words("over", [])
    table.end()
    if len(over) != (2 if word.test == "gain" else 0):
        table.refuse(f"'{name}' {'needs' if word.test == 'gain' else 'takes no'} two cases, over")
    _check_numbers(table, word, numbers)
    if (word.test in words.PAIRED) != bool(than):
        table.refuse(f"'{name}' {'does not compare' if than else 'compares: than'}")
    by_hot = word.composite or _by_hot(of, during)
    _check_hot(table, of or name, [cases[case] for case, _ in chosen] if by_hot else [])
    for case, _ in chosen if phases else ():
        _check_phases(table, phases, cases[case])
    return [
        Claim(
            entry,
            word,
            of,
            case,
            _fill(than, case, wildcards, cases, table) if than else None,
            _both(tuple(_fill(each, case, wildcards, cases, table) for each in over)),
            during,
            flows,
            numbers["limit"],
            _or(numbers["printed"], math.nan),
            _or(numbers["within"], 0.0),
            _or(numbers["above"], -math.inf),
            _or(numbers["below"], math.inf),
            _or(numbers["ratio"], word.ratio),
            either.format_map(wildcards),
            about,
            phases,
            ours,
        )
        for case, wildcards in chosen
    ]


def _about(table: TomlTable) -> tuple[str, ...]:
    about = table.words("about", [])
    for of in about:
        if of not in MEASURES or not MEASURES[of].core:
            table.refuse(f"'about' names counts of the whole run, such as messages, not '{of}'")
    return tuple(about)


def _phases(table: TomlTable, word: Word) -> tuple[str, ...]:
    phases = tuple(table.words("phases", []))
    for phase in phases:
        if phase not in WINDOWS:
            table.refuse(f"'phases' names windows of {', '.join(WINDOWS)}, not '{phase}'")
    if phases and not word.composite:
        table.refuse("'phases' are of a word that names its own measures; a measure has 'during'")
    return phases


def _check_phases(table: TomlTable, phases: tuple[str, ...], case: Case) -> None:
    """Refuse phases that a case does not have, or in which its link's share is not known."""
    for phase in phases:
        low, high = case.hot.window(phase) if case.hot else (0.0, 0.0)
        if low >= high:
            table.refuse(f"case '{case.name}' has no '{phase}'")
        if phase in ("pre", "rec", "end") and case.hot and math.isnan(case.hot.after):
            table.refuse(f"case '{case.name}' has no 'after', of which '{phase}' takes its share")


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


def _both(names: tuple[str, ...]) -> tuple[str, str]:
    return (names[0], names[1]) if names else ("", "")


def _fill(
    than: str, case: str, wildcards: dict[str, str], cases: dict[str, Case], table: TomlTable
) -> str:
    name = than.format_map(wildcards)
    if name not in cases:
        table.refuse(f"there is no case '{name}' to compare '{case}' with")
    return name


def _window(table: TomlTable, of: str) -> Window | None:
    """Return the window over which a claim or a reading measures `of`, if that can be."""
    value, during = table.value("during"), None
    if value is not None:
        during = table.one_of("during", WINDOWS) if isinstance(value, str) else table.pair("during")
    if not of or of in hotspot.MEASURES:
        return during
    if not known(of):
        table.refuse(f"there is no measure '{of}'; there are {', '.join(_measures())}")
    if during is None and not MEASURES[of].core:
        table.refuse(f"'{of}' is measured over a window, during")
    if during is not None and not MEASURES[of].windowed:
        table.refuse(f"'{of}' cannot be measured over a window, during")
    return during


def _by_hot(of: str, during: Window | None) -> bool:
    """Return whether a measure over a window asks for the case's hotspot."""
    return of in hotspot.MEASURES or isinstance(during, str)


def _check_hot(table: TomlTable, of: str, chosen: Sequence[Case]) -> None:
    """Refuse cases without the hotspot by which `of` is measured."""
    for case in chosen:
        if case.hot is None:
            table.refuse(f"case '{case.name}' has no 'hot', by which '{of}' is measured")


def _readings(table: TomlTable, cases: dict[str, Case]) -> list[Reading]:
    name, of = table.text("name"), table.text("of")
    during, flows, limit = _window(table, of), table.text("flows", ""), table.number("limit")
    chosen = matching(table.words("case"), cases, table)
    table.end()
    _check_hot(table, of, [cases[case] for case, _ in chosen] if _by_hot(of, during) else [])
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


def _figure(table: TomlTable, cases: dict[str, Case]) -> Figure:
    chosen = matching(table.words("cases"), cases, table)
    names = table.words("names", [])
    if len(names) not in (1, len(chosen)):
        table.refuse(f"the figure has {len(chosen)} cases and {len(names)} names")
    if len(names) == 1:
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
