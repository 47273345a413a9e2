"""The book as text and as JSON."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from qcnlab.book.comparisons import UNDECIDED
from qcnlab.book.entries import VERDICTS, as_dict
from qcnlab.book.values import unit_of
from qcnlab.book.words import PAIRED
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.book.comparisons import Check
    from qcnlab.book.entries import Book, Claim, Reading
    from qcnlab.book.values import Values
    from qcnlab.book.verdicts import Judged, Shown

HEADER = (
    "row",
    "published",
    "word",
    "measure",
    "ours: median [quartiles]",
    "demanded",
    "decided by",
    "verdict",
)

SMALL = 1e-3
"""Below it a bound of an interval is written with one digit."""


def count(judged: Sequence[Judged]) -> dict[str, int]:
    """Count rows by the verdict of their runs, every verdict named."""
    return {word: sum(each.verdict == word for each in judged) for word in VERDICTS}


def counted(judged: Sequence[Judged]) -> str:
    """Write the count in one line."""
    words = ", ".join(f"{number} {word}" for word, number in count(judged).items() if number)
    return f"{text.counted(len(judged), 'row')}: {words}"


def text_tables(book: Book, judged: Sequence[Judged]) -> str:
    """Return a table per chapter, and the count."""
    parts = []
    for chapter in book.chapters:
        own = [each for each in judged if each.row.chapter == chapter.name]
        rows = [line for each in own for line in lines(each)]
        parts.append(f"{chapter.title}\n" + text.table(HEADER, rows, left=len(HEADER)))
    return "\n\n".join([*parts, counted(judged)])


def lines(judged: Judged) -> list[tuple[str, ...]]:
    """Return the lines of one row: one for each measure of each claim."""
    first = (judged.row.id, text_of(judged.row.published))
    verdict = text_of(judged.told, 22)
    if not judged.borne_out:
        verdict += f"\n(the row says: {judged.row.verdict})"
    if not judged.checks:
        return [(*first, "", "", "", "", "", verdict)]
    out: list[tuple[str, ...]] = []
    for index, check in enumerate(judged.checks):
        start = first if index == 0 else ("", "")
        said = verdict if index == 0 else ""
        mark = "" if check.holds else f" {check.verdict}"
        word = check.claim.word.name + (" (a limit of ours)" if check.claim.ours else "")
        by = (name_of(check), spread(check) + mark, demand(check), decided_by(check))
        out.append((*start, word, *by, said))
    return out


def text_of(words: str, most: int = 34) -> str:
    """Break `words` into lines of at most `most`."""
    return "\n".join(textwrap.wrap(words, most))


def name_of(check: Check) -> str:
    """Write what a check is about: measure, window, flows, cases."""
    claim = check.claim
    what = _of(check.of, claim)
    if claim.word.test == "gain":
        return f"{what}: {claim.than} less {claim.case}, less the same of {claim.over[0]}"
    case = claim.case if claim.than is None else f"{claim.case} / {claim.than}"
    return f"{what}: {case}"


def _of(of: str, about: Claim | Reading) -> str:
    when = about.during
    window = "" if when is None else f" ({when})" if isinstance(when, str) else _times(when)
    which = f" of {about.flows}" if about.flows else ""
    return of.replace("_", " ") + window + which


def _times(window: tuple[float, float]) -> str:
    return f" ({window[0]:g} to {window[1]:g} s)"


def spread(check: Check) -> str:
    """Write median and quartiles; of a comparison the paired ratio's or the gain's."""
    factor, unit = (1.0, "") if _of_ratio(check) else unit_of(check.of)
    return spread_of(check.values, factor, unit)


def _of_ratio(check: Check) -> bool:
    """Return whether its values are ratios of paired replications."""
    return check.claim.word.test in PAIRED and check.claim.word.test != "gain"


def shown(reading: Shown) -> str:
    """Write median and quartiles of a reading."""
    return spread_of(reading.values, *unit_of(reading.reading.of))


def spread_of(values: Values, factor: float, unit: str) -> str:
    """Write `median [first quartile..third] unit`."""
    each = (values.median, values.first_quartile, values.third_quartile)
    middle, low, high = (figure(value * factor) for value in each)
    body = middle if low == high else f"{middle} [{low}..{high}]"
    if not math.isfinite(values.median) and low == high:
        return body
    return f"{body} {unit}".rstrip()


def figure(value: float) -> str:
    """Write a number for a table."""
    if math.isnan(value):
        return "none"
    if value == math.inf:
        return "never"
    if value == -math.inf:
        return "-"
    return text.number(value, 3)


def demand(check: Check) -> str:
    """Write what the check demands of the values."""
    test = check.claim.word.test
    factor, unit = (1.0, "") if _of_ratio(check) else unit_of(check.of)
    if check.is_number:
        plus = "+" if test == "floor" else ""
        return f"{figure(check.claim.printed * factor)}{plus} {unit}".rstrip()
    low, high = (limit * factor for limit in check.limits)
    if low == high:
        words = figure(low)
    elif math.isinf(low):
        words = f"< {figure(high)}"
    elif math.isinf(high):
        words = f"> {figure(low)}"
    else:
        words = f"{figure(low)}..{figure(high)}"
    return f"{words} {unit}".rstrip()


def decided_by(check: Check) -> str:
    """Write the interval that decides, and of a printed number ratio and percentile."""
    words = _interval(check)
    if check.is_number:
        words = "; ".join(filter(None, [words, *beside(check)]))
    if check.verdict == UNDECIDED:
        words = "; ".join(filter(None, [words, more_runs(check)]))
    if check.elsewhere:
        levels = ", ".join(f"{verdict} at {share}" for share, verdict in check.elsewhere)
        words = "; ".join(filter(None, [words, f"{levels} of the level"]))
    return words


def beside(check: Check) -> list[str]:
    """Write our median by the printed number, and which percentile of our runs that is."""
    several = []
    if math.isfinite(check.ratio):
        several.append(f"ratio {text.number(check.ratio, 3)}")
    if check.interval is not None:
        several.append(f"percentile {check.percentile:.0f}")
    return several


def more_runs(check: Check) -> str:
    """Write how many runs would decide an undecided check."""
    if check.reversed:
        return "more runs would not decide"
    if check.interval is None:
        return "neither came in any run: longer runs may decide"
    if check.decide is None:
        return "more than 1000 runs would decide"
    return f"about {check.decide} runs would decide"


def _interval(check: Check) -> str:
    """Write the interval in the measure's unit."""
    if check.interval is None:
        return ""
    ratio = check.claim.word.test == "equivalence"
    factor, unit = (1.0, "") if ratio else unit_of(check.of)
    low, high = (figure_signed(value * factor) for value in check.interval)
    return f"{low}..{high} {unit}".rstrip()


def figure_signed(value: float) -> str:
    """Write a number that may be negative or have no end."""
    return f"{value:.1g}" if 0 < abs(value) < SMALL else text.number(value, 3)


def as_json(judged: Sequence[Judged]) -> dict[str, object]:
    """Return everything that was found, in base units."""
    return {
        "count": count(judged),
        "rows": [
            {
                **as_dict(each.row),
                "stated": each.row.verdict,
                "verdict": each.verdict,
                "claims": {
                    "hold": each.held,
                    "undecided": each.verdicts.count(UNDECIDED),
                    "of": len(each.verdicts),
                },
                "checks": [_check(check) for check in each.checks],
                "shown": [
                    {"name": one.reading.name, "of": one.reading.of, **_values(one.values)}
                    for one in each.shown
                ],
            }
            for each in judged
        ],
    }


def _check(check: Check) -> dict[str, object]:
    claim = check.claim
    return {
        "entry": claim.entry,
        "word": claim.word.name,
        "of": check.of,
        "case": claim.case,
        "than": claim.than,
        "during": claim.during,
        "flows": claim.flows,
        "limits": [_finite(value) for value in check.limits],
        "interval": None if check.interval is None else [_finite(v) for v in check.interval],
        "verdict": check.verdict,
        "printed": _finite(claim.printed),
        "ratio": _finite(check.ratio) if check.is_number else None,
        "percentile": _finite(check.percentile) if check.is_number else None,
        "runs_that_decide": check.decide,
        "limit_of_ours": claim.ours or None,
        **_values(check.values),
    }


def _values(values: Values) -> dict[str, object]:
    named = {
        "median": values.median,
        "first_quartile": values.first_quartile,
        "third_quartile": values.third_quartile,
        "min": values.low,
        "max": values.high,
    }
    numbers = {key: _finite(value) for key, value in named.items()}
    return {**numbers, "values": [_finite(value) for value in values.each]}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
