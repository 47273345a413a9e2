"""`qcnlab infer`: the space, the search by hand, its report; a paper whose truth is known."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from made_up_book import CASE, book, claim, row
from qcnlab.book import BookError, load, runner
from qcnlab.book.cases import Hot
from qcnlab.book.variants import Part
from qcnlab.infer import command, progress, scoring, space
from qcnlab.infer.report import Report, claim_name
from qcnlab.infer.searching import Outcome, Plan, Search, best
from qcnlab.infer.space import Dimension, Lengths, Set, Space, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import CommandLine
    from qcnlab.book.entries import Row

PAPER = ROOT / "examples" / "made-up-paper"
PLAN = Plan(2, 5, 1, 10, 2, 3)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """The made-up paper with the book's words."""
    folder = tmp_path / "paper"
    shutil.copytree(PAPER, folder)
    shutil.copy(ROOT / "book" / "words.toml", folder)
    return folder


def changed(paper: Path, old: str, new: str) -> None:
    path = paper / "readings.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_space_of_the_book_is_read_and_keeps_what_is_printed() -> None:
    whole = load(ROOT / "book")
    for chapter in whole.chapters:
        only = whole.only((chapter.name,))
        read = space.read(ROOT / "book", only)
        assert read.size > 1, chapter.name
        assert all(value.because for d in read.dimensions for value in d.values[1:])


def test_every_value_of_the_book_says_why_and_each_dimension_what_it_asks() -> None:
    tree = tomllib.loads((ROOT / "book" / "readings.toml").read_text(encoding="utf-8"))
    for dimension in tree["dimension"]:
        assert dimension["asks"].endswith("?"), dimension["name"]
        assert dimension["sources"], dimension["name"]


def test_a_single_row_has_the_dimensions_that_change_its_cases() -> None:
    whole = load(ROOT / "book")
    of_row, of_deck = (space.read(ROOT / "book", whole, [name]) for name in ("1.1", "deck001"))
    assert 1 < of_row.size < of_deck.size
    assert {d.name for d in of_row.dimensions} < {d.name for d in of_deck.dimensions}
    with pytest.raises(BookError, match=r"the space of 7\.1 is empty"):
        space.read(ROOT / "book", whole, ["7.1"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "scheme.cp.set_point=26 KB",
            "scheme.rp.ai_rate=26 Mb/s",
            "dimension 'set point', value '26 KB': scheme.rp.ai_rate of deck009/10us is printed: "
            "deck 009",
        ),
        (
            "scheme.cp.set_point=26 KB",
            "scheme.rp.hai_rate*2",
            "scheme.rp.hai_rate of deck009/10us is printed",
        ),
        ("scheme.cp.set_point=26 KB", "scheme.cp.set_point=33 KB", "it changes none of the cases"),
        ("scheme.cp.set_point=26 KB", "scheme.cp.set_pint=26 KB", "it changes none of the cases"),
        ('name = "50 KB"', 'name = "26 KB"', "two of its values have one name"),
        ('because = "a third of the buffer"', 'because = " "', "says why it is plausible"),
        ('name = "timer"', 'name = "set point"', "there are two dimensions 'set point'"),
        ('asks = "To which', 'ask = "To which', "'asks' is missing"),
    ],
)
def test_a_space_outside_of_what_is_printed_is_refused_in_one_line(
    paper: Path, cli: CommandLine, old: str, new: str, said: str
) -> None:
    changed(paper, old, new)
    done = cli("infer", "deck009", "--book", str(paper), "--dry-run")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_printed_range_allows_what_it_has(paper: Path) -> None:
    changed(
        paper, '"topology.buffer"]', '"topology.buffer", "scheme.cp.set_point"]\nallows = ["26 KB"]'
    )
    with pytest.raises(BookError, match=r"value '50 KB': scheme.cp.set_point .* printed \(26 KB\)"):
        space.read(paper, load(paper))
    changed(paper, 'allows = ["26 KB"]', 'allows = ["26 KB", "50 KB"]')
    assert space.read(paper, load(paper)).size == 36


def test_an_empty_space_and_unknown_names_are_refused_in_one_line(
    paper: Path, cli: CommandLine
) -> None:
    for words, said in (
        (("--dimension", "set pint"), "no dimension 'set pint'; did you mean 'set point'?"),
        (("--hold", "set point=40 KB"), "dimension 'set point' has no value '40 KB'"),
        (("--hold", "set point"), "'set point' sets nothing: write DIMENSION=VALUE"),
        (("--on", "dusk"), "'dusk' is no cluster"),
    ):
        done = cli("infer", "deck009", "--book", str(paper), "--dry-run", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr
    text = (paper / "readings.toml").read_text(encoding="utf-8")
    (paper / "readings.toml").write_text(text.replace('"deck009/*"', '"deck010/*"'))
    done = cli("infer", "deck009", "--book", str(paper), "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the space of deck009 is empty" in done.stderr


def test_a_dry_run_counts_the_runs_of_the_first_pass(paper: Path, cli: CommandLine) -> None:
    done = cli("infer", "deck009", "--book", str(paper), "--dry-run", "--reps", "3", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # The stated set and six other values, all of which change both cases: 7 sets, 2 cases, 3 runs.
    assert told["first_pass"]["sets"] == 7
    assert told["first_pass"]["runs"] == 42
    assert told["sets"] == 36
    assert not told["timed"]
    held = cli(
        "infer", "deck009", "--book", str(paper), "--dry-run", "--json", "--reps", "3",
        "--hold", "set point=50 KB", "--dimension", "set point", "--dimension", "timer",
    )  # fmt: skip
    # Three timers with one set point.
    first = json.loads(held.stdout)["first_pass"]
    assert (first["sets"], first["runs"]) == (3, 18)


def test_a_set_changes_cases_value_by_value_and_may_move_the_windows() -> None:
    hot = Hot(0.01, 0.025, 0.04, 33e3, 150e3, "", 0.5, 10)
    case = replace(CASE, hot=hot)
    gain = Dimension(
        "gain", "?", "", Part(("deck009/a",), (), ()),
        (Value("as it is", "", ()), Value("half", "x", (Part(("*",), (), ("scheme.rp.gd*0.5",)),))),
    )  # fmt: skip
    longer = (Part(("*",), (), ("duration=60 ms",)),)
    length = Dimension(
        "length", "?", "", Part(("*",), (), ()),
        (Value("short", "", ()), Value("long", "x", longer, Lengths(duration_s=0.06))),
    )  # fmt: skip
    both = Space((gain, length))
    assert both.size == 4
    assert both.changed("deck009", case, (0, 0)) is case
    other = both.changed("deck009", case, (1, 1))
    assert other.changes[-2:] == ("scheme.rp.gd=0.00390625", "duration=60 ms")
    assert other.hot == replace(hot, duration_s=0.06)
    elsewhere = replace(case, name="b")
    assert both.touching("deck009", case) == (0, 1)
    assert both.touching("deck009", elsewhere) == (1,)


class ByHand:
    """A judge of a function of sets, by row."""

    def __init__(self, sizes: Sequence[int], table: dict[str, Any]) -> None:
        part = (Part(("*",), (), ("a=1",)),)
        self.space = Space(
            tuple(
                Dimension(
                    f"d{index}", "?", "", Part(("*",), (), ()),
                    tuple(Value(f"v{value}", "x", part) for value in range(size)),
                )
                for index, size in enumerate(sizes)
            )
        )  # fmt: skip
        self.table = table
        self.rows: list[Row] = [row(name, claim(entry=name)) for name in table]
        self.asked: list[tuple[Set, int]] = []

    def dimensions_of(self, row: Row) -> set[int]:
        return set(range(len(self.space.dimensions)))

    def score(self, sets: Sequence[Set], replications: int) -> list[scoring.Scores]:
        self.asked += [(chosen, replications) for chosen in sets]
        return [{name: rule(chosen) for name, rule in self.table.items()} for chosen in sets]


def said(holds: bool) -> tuple[str, ...]:
    return ("holds",) if holds else ("fails",)


def search(judge: ByHand, plan: Plan = PLAN, held: dict[int, int] | None = None) -> Outcome:
    return Search(judge, plan, held or {}, lambda _: None).run()


def test_one_dimension_at_a_time_finds_what_adds_up() -> None:
    judge = ByHand((3, 2, 2), {"9.1": lambda s: said(s[0] == 2), "9.2": lambda s: said(s[1] == 1)})
    outcome = search(judge, replace(PLAN, starts=0, pairs=0))
    # The third dimension decides nothing, and stays as it is stated.
    assert outcome.best == (2, 1, 0)
    # The same with its other value is as good, and is judged with as many replications.
    assert (2, 1, 1) in outcome.finals
    assert ((2, 1, 1), 5) in judge.asked
    report = Report(["deck009"], judge, outcome, 12)
    assert report.as_good == [(2, 1, 1)]
    assert "d2: v1 (no claim differs)" in report.text()
    assert report.tree()["departing"] == 2
    assert report.tree()["claims_decided"] == 2
    assert [each.verdicts for each in report.left_out] == [("fails",), ("fails",)]
    assert "gets 0 of 2 rows whole; the fit gets 2, the stated set 0." in report.text()
    # Each value serves the one row that chose it: the stated set stays, and what differs is named.
    assert outcome.reading == (0, 0, 0)
    assert (
        "The reading stays the stated set. This set is 2 ahead, but by rows that took part in the "
        "choice: sets that were chosen without a row have 0.0 of 2 rows, the stated set 0.0. The "
        "two differ on 9.1 short drops of a, 9.2 short drops of a."
    ) in report.text()


def test_a_set_becomes_the_reading_if_rows_that_did_not_choose_it_are_served_better() -> None:
    """By hand, in quarters of a row: the stated set has 2 in each, the other what is said."""
    for other, unseen, chosen in (
        # 2 ahead. Without any one row it is ahead still: it has each row by itself.
        ((3, 3, 2), 8, (1,)),
        # 1 ahead by the first row alone. Without it the two are equal, and the stated is chosen.
        ((3, 2, 2), 6, (0,)),
        # 2 ahead. Without the first row it is equal, so that row has 2; the others have 1 and 3.
        ((4, 1, 3), 6, (0,)),
        # 1 ahead, with two rows better: without either of them the two are equal.
        ((3, 3, 1), 5, (0,)),
        # 2 ahead by three rows, a claim lost in the last: without any of them it is still ahead.
        ((3, 3, 3, 1), 10, (1,)),
    ):
        judge = ByHand(
            (2,),
            {
                f"9.{index + 1}": lambda s, n=holding: (
                    ("holds",) * (n if s[0] else 2) + ("fails",) * (4 - (n if s[0] else 2))
                )
                for index, holding in enumerate(other)
            },
        )
        outcome = search(judge, replace(PLAN, starts=0, pairs=0))
        assert outcome.best == (1,)
        assert outcome.unseen == Fraction(unseen, 4), other
        assert outcome.reading == chosen, other


def test_sets_that_are_chosen_without_a_row_are_judged_again_as_the_best_is() -> None:
    """The last value is best without row 9.1, and third of all: it would be no finalist of two."""
    shares = {"9.1": (1, 4, 3, 0), "9.2": (1, 1, 1, 3)}
    judge = ByHand(
        (4,),
        {
            name: lambda s, of=several: ("holds",) * of[s[0]] + ("fails",) * (4 - of[s[0]])
            for name, several in shares.items()
        },
    )
    outcome = search(judge, replace(PLAN, starts=0, pairs=0, finalists=2))
    assert set(outcome.finals) == {(0,), (1,), (2,), (3,)}
    assert ((3,), 5) in judge.asked
    # Without 9.1 the last is chosen, which has none of it; without 9.2 the second, which has 1.
    assert outcome.unseen == Fraction(1, 4)
    assert outcome.reading == (0,)


def test_a_row_with_all_its_replications_is_judged_as_the_book_judges_it(
    paper: Path, tmp_path: Path
) -> None:
    """Ten runs do for a printed number of a quick row, and are too few for another."""
    deck = paper / "deck009.toml"
    truth: Set = (2, 1, 1, 0)
    quick = scoring.Judge(load(paper), space.read(paper, load(paper)), tmp_path / "a")
    assert [each["9.1"] for each in quick.score([truth], 10)] == [("holds",)]
    deck.write_text(deck.read_text(encoding="utf-8").replace("quick = true\n", ""))
    slow = scoring.Judge(load(paper), space.read(paper, load(paper)), tmp_path / "a")
    assert [each["9.1"] for each in slow.score([truth], 10)] == [("undecided",)]
    # With fewer than the book has, medians decide.
    assert [each["9.1"] for each in slow.score([truth], 9)] == [("holds",)]


def test_pairs_find_what_no_single_value_shows() -> None:
    judge = ByHand((2, 3), {"9.1": lambda s: said(s == (1, 2)), "9.2": lambda s: said(s[0] < 2)})
    assert search(judge, replace(PLAN, starts=0, pairs=0)).best == (0, 0)
    outcome = search(judge, replace(PLAN, starts=0, pairs=2))
    assert outcome.best == (1, 2)
    assert (outcome.pairs_tried, outcome.pairs_left) == (2, 0)
    one = search(judge, replace(PLAN, starts=0, pairs=1))
    assert (one.pairs_tried, one.pairs_left) == (1, 1)
    assert "1 pairs, 1 pairs were not" in Report(["x"], judge, one, 1).text()


def test_what_is_held_stays_and_starts_follow_the_seed() -> None:
    judge = ByHand((2, 2, 2, 2), {"9.1": lambda s: said(s[0] == 1), "9.2": lambda s: said(True)})
    outcome = search(judge, held={0: 0, 2: 1})
    assert {chosen[0] for chosen in outcome.searched} == {0}
    assert {chosen[2] for chosen in outcome.searched} == {1}
    assert outcome.best == (0, 0, 1, 0)
    again = search(judge, held={0: 0, 2: 1})
    assert list(again.searched) == list(outcome.searched)
    report = Report(["x"], judge, outcome, 1)
    assert "held" in report.text()
    assert report.tree()["departing"] == 0


def test_a_row_counts_once_and_one_left_out_does_not() -> None:
    a: Set = (0,)
    b: Set = (1,)
    scored: dict[Set, scoring.Scores] = {
        a: {"9.1": ("holds", "fails", "undecided"), "9.2": ("holds",)},
        b: {"9.1": ("holds", "holds", "holds"), "9.2": ("fails",)},
    }
    assert scoring.total(scored[a]) == Fraction(4, 3)
    assert best(scored) == a
    assert best(scored, but="9.2") == b
    assert best(scored, but="9.1") == a
    assert scoring.share(()) == 0
    # Of two that score the same the one that departs less is preferred.
    assert best({b: scored[a], a: scored[a]}) == a


def test_claims_are_named_as_they_are_judged() -> None:
    two = row("9.1", claim(either="x"), claim(of="drops"), claim(either="x"))
    assert [claim_name(two, index) for index in range(3)] == [
        "9.1 short drops of a", "9.1 one of 'x'", "9.1 claim 3",
    ]  # fmt: skip


def test_the_made_up_paper_gives_its_reading_away(
    paper: Path, tmp_path: Path, cli: CommandLine
) -> None:
    """Stopped and called again it runs nothing twice; the page has what the text has."""
    page, out = tmp_path / "page.md", tmp_path / "kept"
    words = ("infer", "deck009", "--book", str(paper), "-o", str(out), "--page", str(page))
    done = cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["set"] == {
        "set point": "50 KB",
        "discarded frames": "yes",
        "timer": "10 ms",
        "margin of randomness": "yes",
    }
    assert told["score"] == 4
    assert (told["unseen_score"], told["stated_score"]) == (3, 0)
    assert told["reading"] == told["set"]
    assert told["runs"] > 0
    journal = (out / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    # As when it is killed: a line that is not whole, and verdicts that are not there.
    (out / "journal.jsonl").write_text("\n".join([*journal[:-6], journal[-6][:20]]))
    again = json.loads(cli(*words, "--json").stdout)
    assert again["runs"] == 0, "the runs of the verdicts that were lost are there"
    assert {**again, "runs": 0} == {**told, "runs": 0}
    text = page.read_text(encoding="utf-8")
    assert "| discarded frames | yes | no |" in text
    assert (
        "qcnlab infer deck009 --reps 4 --final-reps 10 --starts 1 --pairs 40 --finalists 4" in text
    )


def test_each_option_is_what_it_says(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[command.Options] = []

    def infer(options: command.Options) -> tuple[dict[str, Any], str]:
        asked.append(options)
        return {}, ""

    monkeypatch.setattr(command, "infer", infer)
    words = "--dimension a --dimension b --hold c=1 --reps 2 --final-reps 3 --starts 5 --pairs 7"
    more = "--finalists 11 --seed 0 --jobs 13 --on threads --out o --page p --book k"
    done = cli("infer", "deck009", "9.1", *words.split(), *more.split())
    assert done.returncode == 0, done.stderr
    plan = Plan(replications=2, final=3, starts=5, pairs=7, finalists=11, seed=0)
    assert asked == [
        command.Options(
            wanted=["deck009", "9.1"], dimensions=["a", "b"], held=["c=1"], plan=plan, jobs=13,
            on="threads", dry_run=False, out=Path("o"), page=Path("p"), book=Path("k"),
        )
    ]  # fmt: skip


def test_a_cluster_gives_the_same(paper: Path, tmp_path: Path) -> None:
    """Cases that an executor runs give the same verdicts."""
    from concurrent.futures import ThreadPoolExecutor

    from qcnlab.sweeps.executors import executor

    chosen = load(paper)
    of = space.read(paper, chosen)
    with ThreadPoolExecutor(2) as pool, executor(pool, None) as crew:
        there = scoring.Judge(chosen, of, tmp_path / "there", crew=crew).score([(2, 1, 1, 0)], 2)
    here = scoring.Judge(chosen, of, tmp_path / "here", jobs=1).score([(2, 1, 1, 0)], 2)
    assert there == here


def test_rows_share_what_does_not_change_them(paper: Path, tmp_path: Path) -> None:
    judge = scoring.Judge(load(paper), space.read(paper, load(paper)), tmp_path)
    runs, seconds = judge.missing([(0, 0, 0, 0)], 3)
    assert (runs, round(seconds, 9)) == (6, round(6 * 0.2 * scoring.SECONDS, 9))
    judge.score([(0, 0, 0, 0)], 1)
    assert judge.runs == 2
    # Thousands of cases with their traces would fill the memory.
    assert runner._opened.cache_info().currsize == 0
    assert judge.missing([(0, 0, 0, 0)], 1)[0] == 0
    judge.score([(0, 0, 0, 0), (0, 0, 0, 1)], 1)
    assert judge.runs == 4


def test_a_made_up_book_without_claims_infers_nothing(paper: Path, cli: CommandLine) -> None:
    done = cli("infer", "9.9", "--book", str(paper), "--dry-run")
    assert done.returncode == 2
    assert "no row or chapter '9.9'" in done.stderr
    assert book(row("9.1")).chapters[0].rows[0].claims == ()


def test_progress_is_one_line_on_a_terminal_and_a_line_a_minute_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("qcnlab.infer.progress.time.monotonic", lambda: now[0])
    with progress.Line(terminal=False) as line:
        line.said("first")
        now[0] = 130.0
        line.moved(5)
        line.done(0.25)
        now[0] = 165.0
        line.moved(9)
        line.moved(10)
        line.said("second")
    # 65 s are a quarter: three times that is left.
    assert capsys.readouterr().err.splitlines() == [
        "0 s, 0 runs: first",
        "65 s, 9 runs: first, about 3 min left",
        "65 s, 10 runs: second, about 3 min left",
    ]
    # A tenth of the runs is more than the steps tell.
    with progress.Line(terminal=False) as line:
        line.expect(100)
        line.done(0.01)
        now[0] = 226.0
        line.moved(10)
    assert capsys.readouterr().err == "61 s, 10 runs: , about 9 min left\n"
    now[0] = 165.0
    with progress.Line(terminal=True) as line:
        line.said("first")
        now[0] = 167.0
        line.done(0.5)
        line.moved(5)
    assert capsys.readouterr().err == (
        "\r\033[K0 s, 0 runs: first\r\033[K2 s, 5 runs: first, about 2 s left\r\033[K"
    )


def test_the_share_that_is_done_grows() -> None:
    shares: list[float] = []
    judge = ByHand((3, 2, 2), {"9.1": lambda s: said(s == (2, 1, 0))})
    Search(judge, PLAN, {}, lambda _: None, shares.append).run()
    assert shares == sorted(shares)
    # Three dimensions, two climbs of two rounds, ten pairs, three finalists at half a round.
    assert shares[0] == 1 / (3 * 5 + 10 + 4.5)
    assert shares[-1] <= 0.99


def test_a_dry_run_tells_time_as_it_was_timed(
    paper: Path, tmp_path: Path, cli: CommandLine
) -> None:
    """A journal that says 10 simulated seconds took 20: 7 sets, 2 cases, 2 runs of 0.2 s."""
    (tmp_path / "journal.jsonl").write_text('{"simulated": 10.0, "took": 20.0}\n{"simul')
    words = ("infer", "deck009", "--book", str(paper), "--dry-run", "--reps", "2", "--jobs", "1")
    done = cli(*words, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "7 sets, 28 runs, about 11 s on 1 worker (as timed here)" in done.stdout
