"""Comparisons as text, Markdown, LaTeX, CSV and JSON, whole, and what follows other keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import qcnlab
from made_up_run import META
from qcnlab import catalogue
from qcnlab.results import comparison
from qcnlab.runs.intervals import Interval
from test_comparison_by_hand import EIGHT, made

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest.importorskip("scipy")

DROPS = next(each.about for each in catalogue.metrics() if each.name == "drops")
RANGES = "Values: median [least..largest] over the replications of a run."


@pytest.fixture
def compared() -> comparison.Comparison:
    """Of 1, 3, 2 and 40, 40, 40 frames the medians are 2 and 40; the keys differ in one."""
    results = made(drops=[1, 3, 2]), made(drops=[40, 40, 40], rtt="20 us")
    return qcnlab.compare(results, metrics=["drops"], labels=["a", "bcd"])


def test_as_text(compared: comparison.Comparison) -> None:
    # Words stand at the left, numbers at the right. All of what differs are words.
    assert compared.text().splitlines()[:9] == [
        "What differs:",
        "",
        "key           a      bcd",
        "------------  -----  -----",
        "topology.rtt  10 us  20 us",
        "",
        "metric  unit           a  bcd",
        "------  ------  --------  ---",
        "drops   frames  2 [1..3]   40",
    ]
    said = compared.text().split("\n\n")[-1]
    assert said.splitlines()[0] == RANGES
    assert " ".join(said.split()) == f"{RANGES} drops: {' '.join(DROPS.split())}"
    assert max(map(len, said.splitlines())) <= 96


def test_as_text_with_intervals(compared: comparison.Comparison) -> None:
    """Three values: first and last miss the median with 2 / 2^3 = 25 %, so they hold it at 50 %.

    The differences are 39, 37 and 38.
    """
    known = qcnlab.compare(compared.results, metrics=["drops"], labels=compared.labels, level=0.5)
    assert known.text().split("\n\n")[2:4] == [
        "metric  unit                a               bcd\n"
        "------  ------  -------------  ----------------\n"
        "drops   frames  2 [1..3] of 3  40 [40..40] of 3",
        "metric  unit               bcd - a\n"
        "------  ------  ------------------\n"
        "drops   frames  38 [37..39] of 3 *",
    ]
    assert known.markdown().split("\n\n")[2] == (
        "| metric | unit | bcd - a |\n|---|---|---:|\n| drops | frames | 38 [37..39] of 3 * |"
    )
    # The level of the comparison, or another one: of three at 95 % there is none.
    assert known.difference(1, "drops") == Interval(38.0, 37.0, 39.0, 3)
    assert known.difference(1, "drops", 0.95) == Interval(38.0, None, None, 3)
    assert compared.difference(1, "drops") == Interval(38.0, None, None, 3)


def test_as_markdown(compared: comparison.Comparison) -> None:
    assert compared.markdown() == (
        "| key | a | bcd |\n|---|---|---|\n| topology.rtt | 10 us | 20 us |\n\n"
        "| metric | unit | a | bcd |\n|---|---|---:|---:|\n| drops | frames | 2 [1..3] | 40 |\n\n"
        f"* {RANGES}\n* drops: {DROPS}"
    )


def test_as_latex(compared: comparison.Comparison) -> None:
    lines = compared.latex().splitlines()
    assert lines[2:7] == [
        r"\centering",
        r"\begin{tabular}{llrr}",
        r"\toprule metric & unit & a & bcd \\",
        r"\midrule",
        r"drops & frames & 2 [1..3] & 40 \\",
    ]
    assert lines[-2].startswith(rf"\caption{{What differs: topology.rtt: 10 us, 20 us. {RANGES}")
    same = qcnlab.compare([compared.results[0]] * 2, metrics=["drops"])
    assert same.latex().splitlines()[-2].startswith(rf"\caption{{{RANGES}")


def test_as_csv_and_json(compared: comparison.Comparison) -> None:
    assert compared.csv() == (
        "run,metric,unit,median,min,max,replications,without,at_least,started,unfinished,deadlocked"
        "\na,drops,frames,2,1,3,3,0,false,0,0,0"
        "\nbcd,drops,frames,40,40,40,3,0,false,0,0,0\n"
    )
    told = compared.summary()
    assert (told["runs"], told["scenarios"]) == (["a", "bcd"], ["s", "s"])
    assert told["differences"] == {"topology.rtt": ["10 us", "20 us"]}
    assert told["definitions"] == [RANGES, f"drops: {DROPS}"]
    assert [each["median"] for each in told["metrics"]] == [2, 40]


def test_equal_runs_have_nothing_that_differs() -> None:
    same = qcnlab.compare([made(drops=EIGHT)] * 2, metrics=["drops"])
    assert same.text().startswith("Nothing differs in the scenarios.\n\nmetric  unit")
    assert same.markdown().startswith("| metric | unit |")


def test_a_lower_bound_is_marked_with_its_interval() -> None:
    """Eight flows, one of them unfinished: the mean of the completion times is a lower bound."""
    one = made(fct_mean_ms=EIGHT, started=[8.0] * 8, unfinished=[1.0] + [0.0] * 7)
    other = made(fct_mean_ms=EIGHT, started=[8.0] * 8)
    for level, cells in (
        (None, [">= 4.5 [1..8]", "4.5 [1..8]"]),
        (0.95, [">= 4.5 [1..8] of 8", "4.5 [1..8] of 8"]),
    ):
        compared = qcnlab.compare([one, other], metrics=["fct_mean_ms"], level=level)
        assert compared.cells()[1][0][2:] == cells
        assert [each["at_least"] for each in compared.records()] == [True, False]
        # 64 flows of which one, or none, did not finish.
        assert compared.definitions()[0].startswith("s (1): 63 of 64 flows of a size finished. ")
        assert compared.definitions()[1] == "s (2): 64 of 64 flows of a size finished."
    nothing = made(fct_mean_ms=[None] * 8, unfinished=[1.0] * 8)
    for level in (None, 0.95):
        bare = qcnlab.compare([nothing, other], metrics=["fct_mean_ms"], level=level)
        assert bare.cells()[1][0][2] == "-"


def resolved(*changes: str) -> qcnlab.Result:
    """Return a result of a scenario that the core reads, as if it had run."""
    scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("warmup=0 s", *changes)
    return qcnlab.Result(scenario.to_toml(), made().summary, META, lambda table: pytest.fail(table))


def differing(*runs: Sequence[str]) -> dict[str, list[str | None]]:
    return qcnlab.compare([resolved(*changes) for changes in runs]).differences


def test_a_key_that_follows_another_is_no_difference() -> None:
    # The way from the switch to the sink is half of the round trip where a file leaves it out.
    follows = comparison.followed(resolved("topology.rtt=20 us"))
    assert follows["topology.sink_delay"] == "10 us"
    assert "topology.rtt" not in follows
    assert differing((), ("topology.rtt=20 us",)) == {"topology.rtt": ["10 us", "20 us"]}
    # One that was given is told, and what it is in the other run.
    assert differing(("topology.sink_delay=3 us",), ("topology.rtt=20 us",)) == {
        "topology.rtt": ["10 us", "20 us"],
        "topology.sink_delay": ["3 us", "10 us"],
    }
    rules = ("topology.sink_delay", "record.rates_every", "topology.bottleneck_rate")
    assert all(comparison._is_rule(key) for key in rules)
    # A default that is a value, one that is no quantity, and none.
    plain = ("topology.rtt", "record.queue_every", "ties", "title", "duration", "no.such.key")
    assert not any(comparison._is_rule(key) for key in plain)


def test_what_the_core_does_not_read_follows_nothing() -> None:
    assert comparison.followed(made()) == {}


def test_the_preset_of_a_run() -> None:
    known = comparison.preset_of(made(scheme="qcn", preset="DECK001"))
    assert (known["scheme.cp.w"], known["scheme.cp.set_point"]) == ("2", "33 KB")
    assert known["scheme.rp.short_cycles"] == "true"
    assert comparison.preset_of(made(scheme="qcn", preset="DECK000")) == {}
    assert comparison.preset_of(made(scheme="none")) == {}


def test_nested_values_have_dotted_keys() -> None:
    tree = {"a": {"b": [1, {"c": True}]}, "d": "X", "e": 0.5}
    assert comparison.flat(tree) == {"a.b.0": "1", "a.b.1.c": "true", "d": "X", "e": "0.5"}


def test_values_that_are_the_same_everywhere_do_not_differ() -> None:
    assert comparison.differences([{"a": "1"}, {"a": "1"}, {"a": "2"}]) == {"a": ["1", "1", "2"]}
    assert comparison.differences([{"a": "1"}, {"a": "1"}]) == {}


def test_the_last_part_of_a_key_names_a_run() -> None:
    one, two = made(), made()
    differ: dict[str, list[str | None]] = {"a.b.c": ["1", "2"]}
    assert comparison._labels([one, two], differ) == ["c 1", "c 2"]
    assert comparison._labels([one, two], {"rtt": ["1", "2"]}) == ["rtt 1", "rtt 2"]
    both: dict[str, list[str | None]] = {"a.b": ["1", "1", "2"], "c": [None, "3", "3"]}
    assert comparison._labels([one, two, one], both) == ["1, -", "1, 3", "2, 3"]
