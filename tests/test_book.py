"""The validation book: what it may say, how claims are judged, that a changed law is noticed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from conftest import HOTSPOT, ROOT, SHORT, CommandLine
from made_up_run import META, made_up_summary
from qcnlab import book
from qcnlab.book import (
    command,
    comparisons,
    evidence,
    hotspot,
    intervals,
    pages,
    provenance,
    runner,
    trials,
    variants,
    verdicts,
)
from qcnlab.book.cases import Hot
from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED
from qcnlab.book.entries import REPRODUCED, VERDICTS, Fixed
from qcnlab.book.evidence import RowEvidence
from qcnlab.book.intervals import mean_interval
from qcnlab.book.traces import Losses, Traces
from qcnlab.book.values import Values
from qcnlab.book.view import View
from qcnlab.book.words import Word
from qcnlab.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = {
    "deck000": 18,
    "deck001": 22,
    "deck002": 9,
    "deck003": 12,
    "deck004": 61,
    "paper005": 6,
    "paper006": 16,
    "paper007": 12,
    "paper008": 3,
}

WORDS = """
["less"]
meaning = "smaller"
test = "order"
side = "below"
ratio = 1.05

["beyond"]
meaning = "beyond the limit"
test = "limit"

["number"]
meaning = "the printed number"
test = "number"

["short"]
meaning = "a short queue"
test = "all"
parts = [{ of = "level", during = "hs", below = 5.0 }]
"""
HOT = "hot = {from=0.003, until=0.009, duration=0.01, set_point=33e3, rate=0.5, after=10}"
HEAD = f"""
title = "A deck"

[cases."{{kind}}"]
scenario = "{HOTSPOT}"
set = {json.dumps(list(SHORT))}
replications = 6
because = "short"
{HOT}
kind = {{ qcn = [], ecm = ["scheme.name=ecm"] }}
"""
ROW = """
[[row]]
id = "9.1"
slide = "1"
what = "a queue"
published = "short"
verdict = "reproduced"
fixed = { date = "2026-01-31", commit = "abc1234" }
changes = [{ date = "2026-02-01", reason = "a window was wrong" }]
claims = [
    { entry = "009-1-a", word = "short", case = "qcn" },
    { entry = "009-1-a", word = "beyond", of = "queue_mean_bytes", case = "qcn", below = 151e3 },
]
figures = [{ form = "queue", cases = ["{kind}"], names = ["{kind}"] }]
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / "words.toml").write_text(WORDS)
        (tmp_path / "book" / "deck009.toml").write_text(text)
        return tmp_path / "book"

    return put


@pytest.fixture(scope="session")
def whole() -> book.Book:
    return book.load(ROOT / "book")


def test_every_published_row_has_an_entry(whole: book.Book) -> None:
    assert {chapter.name: len(chapter.rows) for chapter in whole.chapters} == ROWS
    for chapter in whole.chapters:
        wanted = [
            f"{int(chapter.name[-3:])}.{number}" for number in range(1, ROWS[chapter.name] + 1)
        ]
        assert [row.id for row in chapter.rows] == wanted


def test_quick_rows_are_in_every_chapter(whole: book.Book) -> None:
    quick = whole.only((), quick=True)
    assert [chapter.name for chapter in quick.chapters] == list(ROWS)


def test_every_word_is_used_or_named_by_another(whole: book.Book) -> None:
    rows = [row for chapter in whole.chapters for row in chapter.rows]
    used = {claim.word.name for row in rows for claim in row.claims}
    named = {other.name for word in whole.words.values() for other in word.words}
    assert set(whole.words) == used | named


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("published", "pubished", "row 9.1: 'published' is missing"),
        ('slide = "1"', 'slide = "1"\nslid = "2"', "unknown key 'slid'; did you mean 'slide'?"),
        ("queue_mean_bytes", "queue_men_bytes", "there is no measure 'queue_men_bytes'"),
        ('case = "qcn"', 'case = "qcm"', "there is no case 'qcm'"),
        ("below = 151e3", "blow = 150e3", "unknown key 'blow'; did you mean 'below'?"),
        ('word = "short"', 'word = "stout"', "'stout' is no word of the book"),
        ('word = "short"', 'word = "short", of = "level"', "'short' names its own measures"),
        ('word = "beyond"', 'word = "less"', "'less' takes no 'above' or 'below'"),
        ('"reproduced"', '"drawn for comparison"', "a row without claims of its source"),
        ('"reproduced"', '"not reproduced"', "has a remark that says what we get"),
        ('"reproduced"', '"matches"', "'verdict' is one of reproduced"),
        ("fixed = {", "fixd = {", "says when its claims were fixed"),
        ('date = "2026-01-31"', 'date = "last week"', "'date' is a day such as 2026-01-31"),
        ('reason = "a window was wrong"', 'reason = " "', "a change of a claim has its reason"),
        (', reason = "a window was wrong"', "", "'reason' is missing"),
        ('names = ["{kind}"]', 'names = ["{sort}"]', "which its cases do not have"),
        (HOTSPOT, "no-such-scenario", "case 'qcn' cannot be built"),
        ("warmup=2 ms", "warmup=2 m", "case 'qcn' cannot be built"),
        ("replications = 6", "replications = 0", "a whole number above 0"),
        ('slide = "1"', 'slide = "1"\nfigure = "2"', "by one of slide, figure, section"),
        ('slide = "1"', "", "by one of slide, figure, section"),
        ('word = "short"', 'word = "short", than = "ecm"', "'short' does not compare"),
        ('word = "beyond", of', 'word = "less", than = "qcm", of', "'less' takes no 'above'"),
        (', case = "qcn", below = 151e3', ', case = "qcn"', "'beyond' needs 'above' or 'below'"),
        ("below = 151e3", "below = 151e3, printed = 3", "'beyond' takes no 'printed'"),
        ('"beyond"', '"number"', "'number' needs 'printed'"),
        ("below = 151e3", 'below = 151e3, over = ["qcn"]', "takes no two cases, over"),
        ('word = "short"', 'word = "short", over = ["qcn", "ecm"]', "takes no two cases, over"),
        ('of = "queue_mean_bytes", ', "", "'beyond' needs a measure, of"),
        ('names = ["{kind}"]', 'names = ["a", "b", "c"]', "the figure has 2 cases and 3 names"),
        ('form = "queue"', 'form = "cake"', "'form' is one of queue"),
        ("below = 151e3", 'below = 151e3, during = "now"', "'during' is one of pre"),
        ("below = 151e3", "below = 151e3, during = [2, 1]", "'during' is two numbers in order"),
        (HOT, "", "case 'qcn' has no 'hot', by which 'short' is measured"),
        (
            'word = "beyond", of = "queue_mean_bytes"',
            'word = "beyond", of = "regain_ms"',
            "'regain_ms' is measured over a window, during",
        ),
        (
            'of = "queue_mean_bytes"',
            'of = "messages", during = [0, 1]',
            "'messages' cannot be measured over a window, during",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_row(
    write: Callable[[str], Path], old: str, new: str, said: str
) -> None:
    text = HEAD + ROW
    assert old in text
    with pytest.raises(book.BookError) as error:
        book.load(write(text.replace(old, new)))
    assert "deck009.toml" in str(error.value)
    assert said in str(error.value)


def test_a_window_of_a_hotspot_needs_one(write: Callable[[str], Path]) -> None:
    """It would be the whole run."""
    head, rest = ROW.replace("reproduced", "drawn for comparison").split("claims = [")
    shown = 'shown = [{ name = "fair", of = "jain", case = "qcn", during = "hs" }]\n'
    text = head + shown + rest[rest.index("figures") :]
    book.load(write(HEAD + text))
    with pytest.raises(book.BookError, match="'qcn' has no 'hot', by which 'jain' is measured"):
        book.load(write(HEAD.replace(HOT, "") + text))


def test_a_row_is_read_key_by_key(write: Callable[[str], Path]) -> None:
    row = """
[[row]]
id = "9.2"
figure = "7"
what = "w"
published = "p"
reading = "r"
verdict = "not reproduced"
remark = "m"
earlier = ["not reproduced until 2026-01-31, commit 0123abc"]
because = "b"
holds_without_control = "h"
quick = true
fixed = { date = "2026-01-31", commit = "abc1234" }
changes = [{ date = "2026-02-01", commit = "def5678", reason = "x" }]

[[row.shown]]
name = "{kind} now"
of = "jain"
case = "{kind}"
during = [0.5, 1]
flows = "h*"
limit = 3

[[row.claims]]
entry = "009-1-a"
word = "less"
of = "level"
case = "{kind}"
than = "qcn"
ratio = 1.5
either = "{kind}"

[[row.claims]]
entry = "009-1-b"
word = "number"
of = "jain"
case = "qcn"
printed = 0.5
within = 0.25
during = "rec"

[[row.claims]]
entry = "009-1-c"
word = "beyond"
of = "drops"
case = "qcn"
above = 2
flows = "a b"
limit = 4

[[row.figures]]
form = "throughput"
cases = "qcn"
names = "Q"
window = [1, 2]
unit = "MB/s"
flows = "h*"
mark = 6
ports = ["p"]
"""
    (chapter,) = book.load(write(HEAD + ROW + row)).chapters
    _, of = chapter.rows
    assert (of.location, of.reading, of.remark) == ("Figure 7", "r", "m")
    assert of.earlier == ("not reproduced until 2026-01-31, commit 0123abc",)
    assert (of.because, of.holds_without_control, of.quick) == ("b", "h", True)
    assert of.changes == (Fixed("2026-02-01", "def5678", "x"),)
    shown = [(one.name, one.case, one.during, one.flows, one.limit) for one in of.shown]
    assert shown == [
        ("QCN now", "qcn", (0.5, 1.0), "h*", 3.0),
        ("ECM now", "ecm", (0.5, 1.0), "h*", 3.0),
    ]
    same, ecm, number, beyond = of.claims
    assert (same.case, same.than, same.either, same.ratio) == ("qcn", "qcn", "qcn", 1.5)
    assert (ecm.case, ecm.than, ecm.either) == ("ecm", "qcn", "ecm")
    assert (number.printed, number.within, number.during) == (0.5, 0.25, "rec")
    assert (number.above, number.below, number.than) == (-math.inf, math.inf, None)
    assert (beyond.above, beyond.below, beyond.flows, beyond.limit) == (2, math.inf, "a b", 4)
    assert math.isnan(beyond.printed)
    assert (beyond.within, beyond.ratio, beyond.over, beyond.either) == (0, 1, ("", ""), "")
    (figure,) = of.figures
    assert (figure.cases, figure.names, figure.window) == (("qcn",), ("Q",), (1, 2))
    assert (figure.unit, figure.flows, figure.mark, figure.ports) == ("MB/s", "h*", 6, ("p",))
    # The word's own ratio, unless the claim has one; the chapter's rows before this one.
    plain = chapter.rows[0]
    assert (plain.quick, plain.changes[0].commit, plain.location) == (False, "", "Slide 1")
    assert plain.figures[0].unit == "Gb/s"
    assert plain.figures[0].names == ("QCN", "ECM")


def claim(test: str, **changes: Any) -> book.Claim:
    word = Word("w", "", test, **{k: changes.pop(k) for k in ("side", "ratios") if k in changes})
    numbers: dict[str, Any] = {
        "printed": math.nan,
        "within": 0.0,
        "above": -math.inf,
        "below": math.inf,
    }
    numbers |= {"ratio": 1.0} | changes
    than = "b" if test in ("order", "equivalence", "gain") else None
    over = ("c", "d") if test == "gain" else ("", "")
    return book.Claim("e", word, "rec95_ms", "a", than, over, None, "", None, **numbers)


def case_of(values: list[float | None]) -> runner.CaseResult:
    config = (
        'duration = "1 s"\nscheme = {}\n[record]\nqueue_every = "1 ms"\nthroughput_bin = "1 ms"'
    )
    ends = [1.0] * len(values)
    summary = made_up_summary(ends=ends, metrics={"rec95_ms": values})
    result = Result(config, summary, META, lambda name: pytest.fail(name))
    return runner.CaseResult(book.Case("a", "", (), 1, "", "", ()), result, {})


def judged(
    of: book.Claim, ours: list[Any], theirs: list[Any] | None = None, *, same: bool = False
) -> str:
    case_results = {"a": case_of(ours), "b": case_of(theirs or [])}
    rules = verdicts._Rules(same, 1, verdicts.LEAST, few=False)
    verdict, _ = verdicts._claim(of, case_results, rules)
    return verdict


def test_a_printed_number_is_held_against_single_runs() -> None:
    of = claim("number", printed=28.0, within=0.5)
    spread = [20.0 + step for step in range(16)]  # 20 to 35, the median 27.5
    assert judged(of, [*spread, 26, 27, 28, 29]) == HOLDS
    assert judged(of, spread) == UNDECIDED  # sixteen runs of the twenty that it takes
    assert judged(of, [29.4, 29.4, 29.4]) == HOLDS  # 5 % off, and nothing varies
    assert judged(of, [29.5, 29.5, 29.5]) == FAILS
    assert judged(of, [None] * 4) == FAILS


def test_a_number_with_a_plus_is_a_floor() -> None:
    of = claim("floor", printed=350.0)
    assert judged(of, [*[340] * 10, *[360] * 10]) == HOLDS
    assert judged(of, [*[270] * 10, 360, *[270] * 10]) == FAILS  # the median is not 80 % of it
    assert judged(of, [340] * 20) == FAILS
    assert judged(of, [None, None, None]) == UNDECIDED


def test_limits_are_strict() -> None:
    assert judged(claim("limit", below=2.0), [2.0, 2.0, 2.0]) == FAILS
    assert judged(claim("limit", below=2.0), [1.9, 1.9, 1.9]) == HOLDS
    assert judged(claim("limit", below=2.0), [1.0, 1.9, 2.5, 2.5, 1.9, 1.8]) == UNDECIDED
    assert judged(claim("always", above=0.0), [0.0, 1.0]) == FAILS


def test_an_order_is_decided_by_its_interval() -> None:
    less = claim("order", side="below")
    assert judged(less, [10, 11, 12, 13], [20, 21, 22, 24]) == HOLDS
    assert judged(less, [10, 11, 12, 13], [10.1, 11.1, 12.1, 13.1]) == HOLDS  # 1 % in each pair
    assert judged(less, [10, 30, 10, 30], [30, 11, 30, 50]) == UNDECIDED
    assert judged(less, [20, 21, 22], [10, 11, 12]) == FAILS
    assert judged(less, [10, 10, 10], [20, 20, 20]) == HOLDS  # no variance
    assert judged(less, [10, 11, 12], [None, None, None]) == HOLDS  # never: 1 s, the run's length
    assert judged(less, [10, 10], [10, 10]) == FAILS
    assert judged(less, [2000, 2001], [4000, 4002]) == HOLDS  # counts beyond the run's 1000 ms
    half = claim("order", side="below", ratio=2.0)
    assert judged(half, [10, 11, 12, 13], [22, 25, 26, 29]) == HOLDS
    assert judged(half, [10, 11, 12, 13], [18, 19, 22, 23]) == FAILS


def test_sameness_is_an_interval_inside_the_ratios() -> None:
    same = claim("equivalence", ratios=(0.8, 1.25))
    assert judged(same, [100, 101, 99], [100, 100, 100]) == HOLDS
    assert judged(same, [100, 150, 60], [100, 100, 100]) == UNDECIDED
    assert judged(same, [200, 201, 199], [100, 100, 100]) == FAILS


def test_a_gain_is_compared_with_another_gain() -> None:
    of = claim("gain")
    # From 40 to 10 is a gain of 30, from 20 to 15 one of 5: 25 more.
    results = {
        "a": case_of([10.0, 11.0, 10.0]),
        "b": case_of([40.0, 41.0, 40.0]),
        "c": case_of([15.0, 15.0, 15.0]),
        "d": case_of([20.0, 20.0, 21.0]),
    }
    check = comparisons.paired(of, results, same=False)
    assert check.values.each == (25.0, 25.0, 24.0)
    assert check.verdict == HOLDS
    turned = {"a": results["c"], "b": results["d"], "c": results["a"], "d": results["b"]}
    assert comparisons.paired(of, turned, same=False).verdict == FAILS


def test_one_of_several_orders_needs_a_wider_interval() -> None:
    # Mean 1, deviation 0.5 over 4: at 95 % 1 +- 0.8, at 1 - 0.05 / 5 = 99 % 1 +- 1.46.
    of = claim("order", side="above")
    results = {"a": case_of([1.5, 2.5, 1.5, 2.5]), "b": case_of([1.0, 1.0, 1.0, 1.0])}
    assert comparisons.paired(of, results, same=False).verdict == HOLDS
    assert comparisons.paired(of, results, same=False, several=5).verdict == UNDECIDED


def test_equal_cases_have_no_order() -> None:
    of = claim("order", side="below")
    values = [10.0, 12.0, 11.0, 13.0, 12.0, 10.0, 13.0, 11.0]
    assert judged(of, [1.0] * 8, values) == HOLDS
    assert judged(of, [1.0] * 8, values, same=True) == UNDECIDED


def test_values_equal_but_for_rounding_have_their_mean_as_interval() -> None:
    # pytest makes a warning of scipy's, that it cannot tell these apart, an error.
    values = np.array([0.3, 0.1 + 0.2, 0.3, 0.3])
    assert np.ptp(values) > 0
    assert mean_interval(values, 0.95) == pytest.approx((0.3, 0.3), abs=1e-15)


def test_a_confidence_interval_is_the_t_interval_of_the_mean() -> None:
    # Mean 2, deviation 1 over 3: t(0.975, 2) = 4.3027, so 2 +- 4.3027 / sqrt(3) = 2 +- 2.4841.
    low, high = mean_interval(np.array([1.0, 2.0, 3.0]), 0.95)
    assert low == pytest.approx(-0.4841, abs=1e-4)
    assert high == pytest.approx(4.4841, abs=1e-4)
    assert mean_interval(np.array([1.0]), 0.95) == (-math.inf, math.inf)


def test_values_are_summed_up_with_those_that_never_came() -> None:
    assert Values.of([3.0, 1.0, math.inf]).median == 3.0
    assert Values.of([1.0, math.inf]).median == math.inf
    assert math.isnan(Values.of([1.0, math.nan]).median)
    assert Values.of([1.0, 2.0, 3.0, 4.0, 5.0]).third_quartile == 4.0


def view(queue: list[float], rate: list[float]) -> View:
    times = np.arange(len(queue), dtype=np.float64) * 1e-3
    traces = Traces(
        times,
        np.array(queue) * 10.0,
        np.arange(len(rate), dtype=np.float64) * 1e-3,
        {"x": np.array(rate)},
        Losses(np.zeros(0), np.zeros(0), np.zeros(0)),
        Losses(np.zeros(0), np.zeros(0), np.zeros(0)),
    )
    hot = Hot(0.0, 0.1, 0.1, 10.0, 100.0, "", 1.0, 10.0)
    return View(traces, hot, (0.0, 0.1), 1.0, 1.0, "", None)


def test_measures_of_the_words() -> None:
    of = {name: shape.of for name, shape in hotspot.MEASURES.items()}
    swing = view([0.0, 4.0] * 50, [1.0] * 100)
    assert of["level"](swing) == 2.0
    assert of["deviation"](swing) == 2.0
    assert of["span"](swing) == 4.0
    assert of["jitter"](swing) == 4.0
    assert of["empty_share"](swing) == 0.5
    assert of["alternations"](swing) == 50.0
    assert of["growth"](swing) == 1.0
    assert of["ninety"](swing) == 4.0
    # Half of the rate from 10 ms on; the first 10 ms do not count.
    assert of["underrun"](view([0.0] * 100, [1.0] * 10 + [0.5] * 90)) == pytest.approx(0.5)
    # 9 of 10 Gb/s from the fifth bin on, 9.6 from the 20th.
    ramp = view([0.0] * 100, [0.0] * 5 + [9.0] * 15 + [9.6] * 80)
    assert [of[name](ramp) for name in ("recovery_90", "recovery", "recovery_99")] == [
        5.0,
        20.0,
        math.inf,
    ]
    # One bin at the level does not last 10 ms.
    assert of["recovery"](view([0.0] * 100, [0.0] * 5 + [10.0] + [0.0] * 94)) == math.inf
    # Five set points for 30 ms, then the level.
    assert of["transient"](view([5.0] * 30 + [0.0] * 70, [1.0] * 100)) == 30.0
    assert of["reaction"](view([1.0, 2.0, 3.0, 2.9, 2.0] + [0.0] * 95, [1.0])) == 3.0
    assert of["silence"](view([0.0] * 9, [1.0, 0.0, 0.0, 1.0, 0.0])) == 2.0


def test_finished_cases_are_kept_and_halves_are_not(
    write: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = book.load(write(HEAD + ROW))
    cache = tmp_path / "cache"
    first = runner.results(rows, folder=cache)
    assert len(list(cache.iterdir())) == 2
    half = next(cache.iterdir())
    (half / "meta.json").unlink()
    ran: list[int] = []
    run = runner._together

    def watched(batch: list[runner._Task], *rest: object) -> object:
        ran.append(len(batch))
        return run(batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "_together", watched)
    again = runner.results(rows, folder=cache)
    assert ran == [1]
    for name, own in first["deck009"].items():
        other = again["deck009"][name].result
        assert own.result is not None and other is not None
        assert own.result.summary == other.summary


def test_validate_prints_a_table_writes_pages_and_runs_controls(
    write: Callable[[str], Path], cli: CommandLine
) -> None:
    book_folder = str(write(HEAD + ROW))
    done = cli("validate", "--book", book_folder, "--controls", "--pages", "pages")
    assert "Verdict: reproduced" in done.stdout, done.stderr
    # 150 KB is the buffer: a queue below it and below 5 set points of 33 KB is one without
    # control, too, so the row cannot fail.
    assert done.returncode == 1
    assert "row 9.1: it holds without congestion control, and does not say why" in done.stdout
    assert "![a queue](img/9-1.png)" in (cli.folder / "pages" / "deck009.md").read_text()
    assert (cli.folder / "pages" / "img" / "9-1.png").stat().st_size < 60_000
    assert "| reproduced | 1 |" in (cli.folder / "pages" / "README.md").read_text()
    told = json.loads(cli("validate", "9.1", "--book", book_folder, "--json").stdout)
    assert told["rows"][0]["checks"][0]["verdict"] == "holds"


def test_validate_fails_if_a_verdict_is_not_borne_out(
    write: Callable[[str], Path], cli: CommandLine
) -> None:
    book_folder = str(write(HEAD + ROW.replace("below = 151e3", "above = 151e3")))
    done = cli("validate", "--book", book_folder)
    assert done.returncode == 1
    assert "partly reproduced: 1 of 2 claims" in done.stdout
    assert "(the row says: reproduced)" in " ".join(done.stdout.split())
    assert cli("validate", "9.9", "--book", book_folder).returncode == 2


def test_validate_runs_all_rows_and_writes_nothing_unless_asked(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def results(chosen: book.Book, **how: Any) -> dict[str, dict[str, Any]]:
        asked.append(([row.id for row in chosen.chapters[0].rows], how))
        return {chapter.name: {} for chapter in chosen.chapters}

    monkeypatch.setattr(command, "results", results)
    folder = write(HEAD + ROW)
    answer, words, fine = command.validate([], book=folder)
    told: Any = answer
    # The row states a verdict, which nothing that was run bears out.
    assert (told["count"]["not run yet"], fine) == (1, False)
    assert "Verdict: not run yet (the row says: reproduced)" in words
    plain = {"quick": False, "jobs": None, "folder": runner.CACHE, "finished": False}
    assert asked == [(["9.1"], plain)]
    command.validate([], book=folder, finished=True, jobs=2, cache=folder / "kept")
    assert asked[1][1] == {"quick": False, "jobs": 2, "folder": folder / "kept", "finished": True}
    assert sorted(path.name for path in folder.iterdir()) == ["deck009.toml", "words.toml"]


def test_the_first_page_is_of_the_whole_book_and_the_others_of_what_is_asked_for(
    write: Callable[[str], Path], tmp_path: Path
) -> None:
    """Of decks 009 and 010 the first is asked for; each has a row, and a law touches both."""
    book_folder = write(HEAD + ROW)
    other = (HEAD + ROW).replace("A deck", "Another").replace('id = "9.1"', 'id = "10.1"')
    (book_folder / "deck010.toml").write_text(other)
    (book_folder / "laws.toml").write_text('[[law]]\nname = "none"\nchanges = "scheme.name=none"\n')
    both = book.load(book_folder)
    nine, ten = (chapter.rows[0] for chapter in both.chapters)
    said = RowEvidence(both.chapters[0].digest(nine), REPRODUCED, True, None, "3 KB", "< 5 KB")
    build = evidence.Run("2026-02-01", "abc1234", "0123", {"9.1": said})
    (book_folder / "evidence.json").write_text(json.dumps([build.tree()]))
    lost = trials.Outcome("", (HOLDS, HOLDS), (FAILS, HOLDS), "", ())
    trials._write(
        book_folder / "laws.json",
        {"none": trials.Trial((provenance.Run("2026-02-01", "abc1234", "0123", {"9.1": lost}),))},
    )
    judged = [verdicts.Judged(row, (), (), ()) for row in (ten, nine)]
    folder = tmp_path / "a" / "b"
    # The folder and those above it are made; what is there already is written anew.
    for _ in range(2):
        paths = pages.write(both.only(("9.1",)), judged, {"deck009": {}}, folder, book_folder)
        assert paths == [folder / "README.md", folder / "not-given.md", folder / "deck009.md"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "deck009.md", "img", "not-given.md",
    ]  # fmt: skip
    first, _, page = (path.read_text(encoding="utf-8") for path in paths)
    assert "| [A deck](deck009.md) | 1 | 0 | 0 | 0 | 0 | 0 |" in first
    assert "| [Another](deck010.md) | 0 | 0 | 0 | 0 | 0 | 1 |" in first
    # Row 9.1 holds without control, and the one law that was run makes one of its claims fail.
    row = "[9.1](deck009.md#row-9-1)"
    assert f"| {row} | short | 3 KB | < 5 KB | without control | 1 of 1 |" in first
    assert f"| {row} | reproduced | 1/2 |" in first
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# A deck", "## Row 9-1",
    ]  # fmt: skip


def test_evidence_refuses_what_cannot_fail_and_what_was_not_run(
    write: Callable[[str], Path],
) -> None:
    rows = book.load(write(HEAD + ROW))
    digest = rows.chapters[0].digest(rows.chapters[0].rows[0])

    def said(row: RowEvidence) -> str:
        return " ".join(
            evidence.faults(rows, evidence.Evidence((evidence.Run("", "", "", {"9.1": row}),)))
        )

    assert said(RowEvidence(digest, "reproduced", False, None, "", "")) == ""
    assert "does not say why" in said(RowEvidence(digest, "reproduced", True, None, "", ""))
    assert "made equal" in said(RowEvidence(digest, "reproduced", False, True, "", ""))
    assert "its runs 'not reproduced'" in said(
        RowEvidence(digest, "not reproduced", False, None, "", "")
    )
    assert "have not been run" in said(RowEvidence("0", "reproduced", False, None, "", ""))
    reason = ROW.replace("changes =", 'holds_without_control = "an invariant"\nchanges =')
    rows = book.load(write(HEAD + reason))
    assert said(RowEvidence(digest, "reproduced", True, None, "", "")) == ""
    assert rows.chapters[0].rows[0].fixed == Fixed("2026-01-31", "abc1234", "")


def test_no_row_holds_without_control_or_says_what_its_runs_do_not(whole: book.Book) -> None:
    recorded = evidence.read(ROOT / "book")
    unrun = {
        row.id for chapter in whole.chapters for row in chapter.rows if row.verdict == "not run yet"
    }
    assert not unrun & set(recorded.rows)
    faults = evidence.faults(whole, recorded)
    assert [fault for fault in faults if fault.split()[1].rstrip(":") not in unrun] == []


def test_the_first_page_counts_what_the_rows_say(whole: book.Book) -> None:
    page = (ROOT / "docs/book/README.md").read_text()
    stated = [row.verdict for chapter in whole.chapters for row in chapter.rows]
    for verdict in set(stated):
        assert f"| {verdict} | {stated.count(verdict)} |" in page
    readme = " ".join((ROOT / "README.md").read_text().split())
    reproduced, partly, missed, undecided, drawn = (stated.count(each) for each in VERDICTS[:5])
    assert (
        f"Of {len(stated)} rows {reproduced} are reproduced, {partly} partly, {missed} not, "
        f"{undecided} are undecided, and {drawn} are drawn for comparison."
    ) in readme


def test_every_claim_names_an_entry_that_was_derived_from_its_source(whole: book.Book) -> None:
    for chapter in whole.chapters:
        entries = (ROOT / "book" / "claims" / f"{chapter.name}.md").read_text()
        for row in chapter.rows:
            for one in row.claims:
                assert f"### {one.entry} " in entries, (row.id, one.entry)


FLAGSHIP = ("deck000", "deck001", "deck002")
"""Decks whose printed numbers are held against 40 runs; others' against 20."""


def test_a_claim_rests_on_ten_replications_and_a_printed_number_on_twenty_or_forty(
    whole: book.Book,
) -> None:
    def least(chapter: str, one: book.Claim) -> int:
        if one.word.test not in ("number", "floor"):
            return 10
        return 40 if chapter in FLAGSHIP else 20

    few = {
        (row.id, name)
        for chapter in whole.chapters
        for row in chapter.rows
        for one in row.said
        for name in one.cases
        if not chapter.cases[name].model
        and chapter.cases[name].replications < least(chapter.name, one)
    }
    assert few == set()


def test_what_verdicts_ask_for_is_what_the_rules_say() -> None:
    rules = (verdicts.NEAR, verdicts.EXACT, verdicts.LEAST, verdicts.LEAST_QUICK)
    assert rules == (0.20, 0.05, 20, 10)
    assert intervals.LEVEL == 0.95


def test_one_of_several_claims_is_enough_where_they_share_a_name(whole: book.Book) -> None:
    (chapter,) = whole.only(("1.22",)).chapters
    alone = replace(chapter.rows[0].claims[0], either="")
    three = replace(alone, either="a"), replace(alone, either="a"), alone
    row = replace(chapter.rows[0], claims=three)
    assert verdicts._verdicts(row, [FAILS, HOLDS, FAILS]) == (FAILS, HOLDS)
    assert verdicts._verdicts(row, [FAILS, UNDECIDED, HOLDS]) == (HOLDS, UNDECIDED)


def test_a_variant_changes_what_it_names_and_a_product_is_worked_out(whole: book.Book) -> None:
    rows = whole.only(("1.5",))
    twice = variants.Variant("x", (variants.Part(("deck001/qcn-*",), (), ("scheme.rp.gd*2",)),))
    other = variants.changed(rows, twice, shown=False)
    # QCN's Gd is 1/128 on the slide.
    assert other.chapters[0].cases["qcn-10us"].changes[-1] == "scheme.rp.gd=0.015625"
    assert other.chapters[0].cases["qcn-10us"].replications == 4
    assert other.chapters[0].cases["ecm-10us"] == rows.chapters[0].cases["ecm-10us"]
    longer = variants.Variant("x", (variants.Part(("*",), (), ("scheme.rp.time_reset*2",)),))
    changed = variants.changed(rows, longer, shown=False).chapters[0].cases["qcn-10us"]
    assert changed.build().to_dict()["scheme"]["rp"]["time_reset"] == "30 ms"
    nothing = variants.Variant("x", (variants.Part(("*",), (), ("scheme.rp.time_reset*1",)),))
    assert variants.changed(rows, nothing, shown=False).chapters == ()


def test_every_reading_and_law_touches_a_row(whole: book.Book) -> None:
    for kind in (trials.READINGS, trials.LAWS):
        for variant in variants.read(ROOT / "book" / kind.listed, kind.key):
            for part in variant.parts:
                alone = variants.Variant(variant.name, (part,))
                assert variants.changed(whole, alone, shown=True).chapters, (variant.name, part)


def test_a_changed_law_is_noticed(
    write: Callable[[str], Path], tmp_path: Path, cli: CommandLine
) -> None:
    """A set point of 140 KB lets the queue be longer than the row claims."""
    book_folder = write(HEAD + ROW.replace("151e3", "60e3") + "quick = true\n")
    (book_folder / "laws.toml").write_text(
        '[[law]]\nname = "no set point"\nof = "deck009/qcn"\n'
        'changes = "scheme.cp.set_point=140 KB"\n'
    )
    done = cli("validate", "--book", str(book_folder), "--laws")
    assert done.returncode in (0, 1), done.stderr
    noticed = trials.read(trials.LAWS, book_folder)["no set point"].rows["9.1"]
    assert noticed.before == ("holds", "holds")
    assert noticed.lost >= 1
