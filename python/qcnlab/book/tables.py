"""The book as text and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from qcnlab import text
from qcnlab.book.entries import KINDS, as_dict
from qcnlab.book.verdicts import Check, Judged, Shown, Values, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.book.entries import Book, Claim

VERDICTS = (*dict.fromkeys(KINDS.values()), "not reproduced", "open")
HEADER = ("row", "published", "measure", "ours: median [range]", "band", "verdict")


def count(judged: Sequence[Judged]) -> dict[str, int]:
    """Count rows by verdict, every verdict named."""
    return {word: sum(each.verdict == word for each in judged) for word in VERDICTS}


def counted(judged: Sequence[Judged]) -> str:
    """Write the count in one line."""
    words = ", ".join(f"{number} {word}" for word, number in count(judged).items() if number)
    return f"{text.counted(len(judged), 'row')}: {words}"


def text_tables(book: Book, judged: Sequence[Judged]) -> str:
    """Return a table per deck, and the count."""
    parts = []
    for deck in book.decks:
        own = [each for each in judged if each.row.deck == deck.name]
        rows = [line for each in own for line in lines(each)]
        parts.append(f"{deck.title}\n" + text.table(HEADER, rows, left=6))
    return "\n\n".join([*parts, counted(judged)])


def lines(judged: Judged) -> list[tuple[str, ...]]:
    """Return the lines of one row: one for each claim."""
    first = (judged.row.id, text_of(judged.row.published))
    verdict = judged.verdict + (" (expected to hold)" if judged.failed else "")
    if judged.surprise:
        verdict = "not reproduced, but holds now"
    if not judged.checks:
        return [(*first, "", "", "", verdict)]
    out: list[tuple[str, ...]] = []
    for index, check in enumerate(judged.checks):
        start = first if index == 0 else ("", "")
        said = verdict if index == 0 else ""
        mark = "" if check.holds else " *"
        out.append((*start, name_of(check.claim), spread(check) + mark, band(check.claim), said))
    return out


def text_of(words: str, most: int = 34) -> str:
    """Break `words` into lines of at most `most`."""
    import textwrap

    return "\n".join(textwrap.wrap(words, most))


def name_of(claim: Claim) -> str:
    """Write what a claim looks at: measure, window, flows, case."""
    when = "" if claim.during is None else f" {claim.during[0]:g}..{claim.during[1]:g} s"
    which = f" {claim.flows}" if claim.flows else ""
    what = claim.of if claim.limit is None else f"{claim.of}({claim.limit:g})"
    case = claim.case if claim.over is None else f"{claim.case} / {claim.over}"
    return f"{what}{when}{which}: {case}"


def spread(check: Check | Shown) -> str:
    """Write median and range of what was found, in the measure's unit."""
    factor, unit = _unit(check)
    return spread_of(check.found, factor, unit)


def spread_of(found: Values, factor: float, unit: str) -> str:
    """Write `median [low..high] unit`."""
    middle, low, high = (figure(v * factor) for v in (found.median, found.low, found.high))
    body = middle if low == high else f"{middle} [{low}..{high}]"
    return f"{body} {unit}".rstrip()


def figure(value: float) -> str:
    """Write a number for a table."""
    if math.isnan(value):
        return "none"
    if math.isinf(value):
        return "never" if value > 0 else "-"
    return text.number(value, 3)


def band(claim: Claim) -> str:
    """Write the band of the median, and in brackets the one of nine runs in ten."""
    factor, unit = unit_of(claim)
    inner = _interval(claim.band, factor)
    if claim.runs != claim.band:
        inner += f" ({_interval(claim.runs, factor)})"
    return f"{inner} {unit}".rstrip()


def _interval(pair: tuple[float, float], factor: float) -> str:
    low, high = (value * factor for value in pair)
    if math.isinf(low):
        return f"<= {figure(high)}"
    if math.isinf(high):
        return f">= {figure(low)}"
    return figure(low) if low == high else f"{figure(low)}..{figure(high)}"


def _unit(check: Check | Shown) -> tuple[float, str]:
    if isinstance(check, Check):
        return unit_of(check.claim)
    from qcnlab.book.measures import MEASURES

    measure = MEASURES[check.reading.of]
    return measure.scale, measure.shown or measure.unit


def as_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return everything that was found, in base units."""
    return {
        "count": count(judged),
        "rows": [
            {
                **as_dict(each.row),
                "verdict": each.verdict,
                "checks": [_check(check) for check in each.checks],
                "readings": [
                    {"name": shown.reading.name, "of": shown.reading.of, **_values(shown.found)}
                    for shown in each.readings
                ],
            }
            for each in judged
        ],
    }


def _check(check: Check) -> dict[str, Any]:
    claim = check.claim
    return {
        "of": claim.of,
        "case": claim.case,
        "over": claim.over,
        "during_s": claim.during,
        "flows": claim.flows,
        "limit": claim.limit,
        "band": [_finite(value) for value in claim.band],
        "runs": [_finite(value) for value in claim.runs],
        "holds": check.holds,
        **_values(check.found),
    }


def _values(found: Values) -> dict[str, Any]:
    named = {"median": found.median, "min": found.low, "max": found.high}
    numbers = {key: _finite(value) for key, value in named.items()}
    return {**numbers, "values": [_finite(value) for value in found.each]}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
