"""One row on one screen: what was printed, what our runs give, and how the verdict follows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from qcnlab.book import tables
from qcnlab.book.comparisons import HOLDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.book.comparisons import Check
    from qcnlab.book.verdicts import Judged

WIDTH = 100
INDENT = " " * 4
MOST_CHECKS = 12
"""Of more checks than these only those that do not hold are written out."""


def row_text(judged: Judged) -> str:
    """Return a row's claims with their verdicts, for a terminal."""
    row = judged.row
    parts = [_wrapped(f"Row {row.id}: {row.what} ({row.location})")]
    parts.append(_wrapped(f"Published: {row.published}"))
    said = f"Verdict: {judged.told}"
    if not judged.borne_out:
        said += f" (the row says: {row.verdict})"
    parts.append(said)
    parts += _checks(judged)
    for words in (row.reading, row.because, row.remark):
        if words:
            parts.append(_wrapped(words))
    if row.earlier:
        parts.append(_wrapped("Earlier verdicts: " + "; ".join(row.earlier)))
    return "\n".join(parts)


def _checks(judged: Judged) -> Iterator[str]:
    said = [check for check in judged.checks if not check.claim.ours]
    ours = [check for check in judged.checks if check.claim.ours]
    listed = said if len(said) <= MOST_CHECKS else [c for c in said if c.of_claim != HOLDS]
    yield ""
    for check in listed[:MOST_CHECKS]:
        yield _check(check)
    kept = min(len(listed), MOST_CHECKS)
    if kept < len(said):
        yield f"{INDENT}and {len(said) - kept} more checks, which --json and the book's page list"
    if ours:
        yield ""
        yield "Limits of ours, which decide nothing:"
        for check in ours[:MOST_CHECKS]:
            yield _check(check)
            yield _wrapped(check.claim.ours, INDENT * 2)
    yield ""


def _check(check: Check) -> str:
    word = check.claim.word.name
    printed = f"printed {tables.demand(check)}" if check.is_number else tables.demand(check)
    first = f"{check.verdict}: {word}, {tables.name_of(check)}"
    ours = f"ours {tables.spread(check)}"
    by = tables.decided_by(check)
    if check.interval is not None:
        by = f"{'central 95 % of runs' if check.is_number else 'interval'} {by}"
    second = "; ".join(filter(None, [printed, ours, by]))
    return f"{_wrapped(first, INDENT)}\n{_wrapped(second, INDENT * 2)}"


def _wrapped(words: str, indent: str = "") -> str:
    return textwrap.fill(words, WIDTH, initial_indent=indent, subsequent_indent=indent)
