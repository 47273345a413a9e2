"""Parts of a book made up for tests: a case, claims, rows, chapters, and checks of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from conftest import HOTSPOT, SHORT
from qcnlab.book.cases import Case
from qcnlab.book.comparisons import HOLDS, Check
from qcnlab.book.entries import REPRODUCED, Book, Chapter, Claim, Fixed, Row
from qcnlab.book.values import Values
from qcnlab.book.verdicts import Judged
from qcnlab.book.words import Word

INF = math.inf
CASE = Case("a", HOTSPOT, SHORT, 10, "", "", ())


def claim(test: str = "limit", **changes: Any) -> Claim:
    base = Claim(
        "009-1-a", Word("short", "", test), "drops", "a", None, ("", ""), None, "", None, math.nan,
        0.0, -INF, INF, 1.0,
    )  # fmt: skip
    return replace(base, **changes)


def row(number: str, *claims: Claim, **changes: Any) -> Row:
    base = Row(
        number, "deck009", "Slide 3", "what", "said", "", REPRODUCED,
        Fixed("2026-01-31", "abc1234", ""), (), claims, "", (), "", "", (), False,
    )  # fmt: skip
    return replace(base, **changes)


def chapter(*rows: Row, **cases: Case) -> Chapter:
    return Chapter("deck009", "Nine", Path("deck009.toml"), cases or {"a": CASE}, rows)


def book(*rows: Row, **cases: Case) -> Book:
    return Book((chapter(*rows, **cases),), {})


def check(of: Claim, verdict: str = HOLDS, of_claim: str = HOLDS, each: float = 3.0) -> Check:
    return Check(of, of.of, (-INF, 5.0), Values.of([each]), None, verdict, of_claim)


def judged(of: Row, *checks: Check) -> Judged:
    return Judged(of, checks, tuple(one.of_claim for one in checks), ())
