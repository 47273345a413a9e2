"""Comparisons of results made by hand: names, pairs, intervals, and what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import qcnlab
from made_up_run import META, made_up_summary
from qcnlab.errors import AnalysisError
from qcnlab.metrics import having
from qcnlab.records import ByName
from qcnlab.results import comparison
from qcnlab.results.comparison import ComparedMetric
from qcnlab.runs.intervals import Interval, difference_interval, mean_interval, median_interval
from qcnlab.runs.summary import Ending, Summary
from typed_dicts import unlike

pytest.importorskip("scipy")

CONFIG = """
title = "by hand"
duration = "{duration}"
[topology]
rtt = "{rtt}"
[scheme]
name = "{scheme}"
[record]
queue_every = "10 us"
throughput_bin = "1 ms"
"""
EIGHT = [8.0, 3.0, 6.0, 1.0, 7.0, 2.0, 5.0, 4.0]


def made(
    name: str = "s",
    *,
    scheme: str = "qcn",
    preset: str = "",
    seed: int = 1,
    duration: str = "1 ms",
    rtt: str = "10 us",
    **metrics: Sequence[float | None],
) -> qcnlab.Result:
    """Return a result with these metrics; a scenario that the core refuses follows no rule."""
    count = len(next(iter(metrics.values()), [0.0]))
    none = {each: [None] * count for each in having("compared")}
    silent = (*having("silent_at_zero"), *having("silent_at_zero_beside"))
    zero = {each: [0.0] * count for each in silent}
    every: dict[str, Sequence[float | None]] = {**none, **zero, **metrics}
    summary = made_up_summary(
        scenario=name,
        scheme=scheme,
        preset=preset,
        seed=seed,
        ends=[1e-3] * count,
        metrics=every,
    )
    config = CONFIG.format(duration=duration, rtt=rtt, scheme=scheme)
    return qcnlab.Result(config, summary, META, lambda table: pytest.fail(table))


def with_summary(result: qcnlab.Result, summary: Summary) -> qcnlab.Result:
    return qcnlab.Result(result.config, summary, META, lambda table: pytest.fail(table))


def names(*results: qcnlab.Result) -> list[str]:
    return qcnlab.compare(results).labels


def test_runs_are_named_by_the_first_thing_that_tells_them_apart() -> None:
    # Schemes; their presets; one key; all that differ; the scenarios; numbers.
    assert names(made(), made(scheme="ecm", duration="2 ms")) == ["qcn", "ecm"]
    presets = names(made(preset="a"), made(preset="b", duration="2 ms"))
    assert presets == ["qcn a", "qcn b"]
    assert names(made(), made(rtt="20 us"), made(rtt="30 us")) == [
        "rtt 10 us", "rtt 20 us", "rtt 30 us",
    ]  # fmt: skip
    four = [made(rtt=rtt, duration=long) for rtt in ("1 us", "2 us") for long in ("1 s", "2 s")]
    assert names(*four) == ["1 s, 1 us", "2 s, 1 us", "1 s, 2 us", "2 s, 2 us"]
    assert names(made("one"), made("two")) == ["one", "two"]
    assert names(made("one"), made("one")) == ["one (1)", "one (2)"]
    assert repr(qcnlab.compare([made("one"), made("two")])) == "<Comparison of one, two>"
    assert names(made(), made(seed=2)) == ["seed 1", "seed 2"]


def test_eight_keys_name_a_run_and_nine_do_not() -> None:
    results = [made("one"), made("two")]
    for count, named in ((8, ["k0 a", "k0 b"]), (9, ["one", "two"])):
        differ: dict[str, list[str | None]] = {f"table.k{i}": ["a", "b"] for i in range(count)}
        assert comparison._labels(results, differ) == named
    # Parameters of a scheme name runs where nothing else differs.
    of_scheme: dict[str, list[str | None]] = {"scheme.cp.w": ["2", "4"]}
    assert comparison._labels(results, of_scheme) == ["w 2", "w 4"]
    assert comparison._labels(results, {**of_scheme, "rtt": [None, "1 s"]}) == [
        "rtt None",
        "rtt 1 s",
    ]


def test_parameters_that_follow_from_a_preset_are_not_told_as_differences() -> None:
    # The preset DECK001 of QCN has w = 2 and 33 KB, that of ECM 2 and 24 KB.
    def with_cp(scheme: str, **cp: str) -> qcnlab.Result:
        base = made(scheme=scheme, preset="DECK001")
        table = "".join(f'{key} = "{value}"\n' for key, value in cp.items())
        config = f"{base.config}[scheme.cp]\n{table}"
        return qcnlab.Result(config, base.summary, META, lambda table: pytest.fail(table))

    plain = with_cp("qcn", w="2", set_point="33 KB"), with_cp("ecm", w="2", set_point="24 KB")
    compared = qcnlab.compare(plain)
    assert compared.differences == {
        "scheme.name": ["qcn", "ecm"],
        "scheme.cp.set_point": ["33 KB", "24 KB"],
    }
    assert compared.difference_cells() == (["key", "qcn", "ecm"], [["scheme.name", "qcn", "ecm"]])
    # What one of them has otherwise is told, with both values.
    changed = qcnlab.compare([plain[0], with_cp("ecm", w="4", set_point="24 KB")])
    assert changed.difference_cells()[1] == [
        ["scheme.name", "qcn", "ecm"],
        ["scheme.cp.w", "2", "4"],
    ]
    # With one scheme everything is told; what a run does not have is a dash.
    own = qcnlab.compare([plain[0], with_cp("qcn", w="4")])
    told = {row[0]: row[1:] for row in own.difference_cells()[1]}
    assert told == {"scheme.cp.w": ["2", "4"], "scheme.cp.set_point": ["33 KB", "-"]}


def test_names_belong_to_as_many_runs() -> None:
    with pytest.raises(AnalysisError, match="2 runs have 1 names"):
        qcnlab.compare([made(), made()], labels=["one"])


def test_what_no_run_has_or_is_zero_in_all_is_not_shown() -> None:
    one = made(queue_mean_bytes=[5.0], drops=[0.0])
    assert qcnlab.compare([one, made(drops=[0.0])]).metrics == ["queue_mean_bytes"]
    both = qcnlab.compare([one, made(drops=[3.0])])
    assert both.metrics == ["queue_mean_bytes", "drops"]
    assert both.cells()[1] == [["queue_mean_bytes", "B", "5", "-"], ["drops", "frames", "0", "3"]]


def test_what_an_older_run_folder_lacks_is_not_shown_but_told() -> None:
    whole, newer = made(drops=[1.0]), made(drops=[3.0], never_started=[2.0])
    kept = {name: each for name, each in whole.summary.metrics.items() if name != "never_started"}
    older = with_summary(whole, replace(whole.summary, metrics=ByName(kept)))
    assert qcnlab.compare([newer, newer]).metrics == ["never_started", "drops"]
    both = qcnlab.compare([older, newer])
    assert both.metrics == ["drops"]
    assert both.cells()[1] == [["drops", "frames", "1", "3"]]
    lacking = "written without never_started, left out of the comparison."
    told = [line for line in both.definitions() if lacking in line]
    assert told == [f"{both.labels[0]}: {lacking}"]
    with pytest.raises(AnalysisError, match="was written without 'never_started': run it again"):
        qcnlab.compare([newer, older], metrics=["never_started"])


def test_records_count_what_is_missing() -> None:
    one = made(drops=[4.0, None, 1.0], started=[2.0, 2.0, 3.0], unfinished=[0.0, 1.0, 1.0])
    first, second = qcnlab.compare([one, made(drops=[1.0])], metrics=["drops"]).records()
    # Of 4, nothing and 1 the median is 2.5; 2 + 2 + 3 flows, and 0 + 1 + 1 of them unfinished.
    assert [first[key] for key in ("median", "min", "max")] == [2.5, 1.0, 4.0]
    assert (first["replications"], first["without"]) == (3, 1)
    assert (first["started"], first["unfinished"], first["deadlocked"]) == (7, 2, 0)
    assert (second["replications"], second["without"], second["run"]) == (1, 0, "replications 1")
    assert "low" not in first
    assert unlike([first, second], list[ComparedMetric]) == []


@pytest.mark.parametrize("stood_still", [[0, 0, 1], [2, 0, 1], [0, 3, 0]])
def test_records_count_the_deadlocks_of_each_run(stood_still: list[int]) -> None:
    runs = []
    for number, count in enumerate(stood_still):
        run = made(drops=[1.0] * 3, rtt=f"{number + 1}0 us")
        stood = Ending(1e-3, "deadlock", ("a->b", "b->a"), 0.5e-3)
        ends = [Ending(1e-3, "duration")] * (3 - count) + [stood] * count
        runs.append(with_summary(run, replace(run.summary, ends=tuple(ends))))
    records = qcnlab.compare(runs, metrics=["drops"]).records()
    assert [record["deadlocked"] for record in records] == stood_still


def test_pairs_are_of_runs_with_one_seed_and_as_many_replications() -> None:
    one, other = made(drops=EIGHT), made(drops=[each + 2 for each in EIGHT], rtt="20 us")
    compared = qcnlab.compare([one, other], metrics=["drops"], level=0.95)
    assert compared.difference(1, "drops") == Interval(2.0, 2.0, 2.0, 8)
    header, rows = compared.paired_cells()
    assert header == ["metric", "unit", "rtt 20 us - rtt 10 us"]
    assert rows == [["drops", "frames", "2 [2..2] of 8 *"]]
    first, second = compared.records()
    assert unlike([first, second], list[ComparedMetric]) == []
    assert (first["difference"], first["difference_low"], first["difference_high"]) == (0, 0, 0)
    assert (second["difference"], second["difference_low"]) == (2, 2)
    # Of eight values the first and the last bound the median: 2 / 2^8 = 0.8 %; the second and
    # the last but one miss it with 18 / 256 = 7.0 %.
    assert (first["low"], first["high"]) == (1.0, 8.0)
    assert compared.cells()[1] == [["drops", "frames", "4.5 [1..8] of 8", "6.5 [3..10] of 8"]]
    said = " ".join(compared.definitions())
    assert "median [its confidence interval, 95 %] of so many runs" in said
    assert "* marks an interval without 0" in said
    for other_run in (made(drops=EIGHT, seed=2), made(drops=EIGHT[:7])):
        alone = qcnlab.compare([one, other_run], metrics=["drops"], level=0.95)
        assert alone.paired_cells()[1] == []
        assert alone.records()[0]["difference"] is None
        assert "No differences: the runs have different seeds" in " ".join(alone.definitions())
        with pytest.raises(AnalysisError, match="have no pairs"):
            alone.difference(1, "drops")
    plain = qcnlab.compare([one, other], metrics=["drops"])
    assert plain.paired_cells()[1] == []
    assert plain.difference(1, "drops").median == 2.0
    assert median_interval(EIGHT, 0.9) == Interval(4.5, 2.0, 7.0, 8)


def test_ranges_are_named_where_there_are_several_replications() -> None:
    ranges = "Values: median [least..largest] over the replications of a run."
    assert ranges in qcnlab.compare([made(drops=EIGHT), made(drops=EIGHT)]).definitions()
    assert ranges in qcnlab.compare([made(drops=[1.0]), made(drops=EIGHT)]).definitions()
    assert ranges not in qcnlab.compare([made(drops=[1.0]), made(drops=[2.0])]).definitions()


def test_an_interval_that_touches_zero_does_not_exclude_it() -> None:
    def excludes(low: float | None, high: float | None) -> bool:
        return Interval(1.0, low, high, 8).excludes_zero

    assert excludes(0.5, 2.0) and excludes(-2.0, -0.5)
    assert not any((excludes(0.0, 2.0), excludes(-2.0, 0.0), excludes(-1.0, 1.0)))
    assert not any((excludes(None, 2.0), excludes(0.5, None)))
    told = [str(each) for each in (Interval(None, None, None, 0), Interval(1.0, 0.5, 2.0, 8))]
    assert told == ["none", "1 [0.5..2] of 8"]


def test_means_and_their_intervals() -> None:
    # Of 4 and 8: mean 6, deviation 2 sqrt 2, standard error 2; t(75 %, 1) = 1: 6 -+ 2 at 50 %.
    told = mean_interval([4.0, None, 8.0], 0.5)
    assert (told.median, told.low, told.high) == pytest.approx((6, 4, 8))
    assert told.runs == 2
    assert mean_interval([4.0]) == Interval(4.0, None, None, 1)
    assert mean_interval([4.0, 4.0]) == Interval(4.0, 4.0, 4.0, 2)
    assert mean_interval([None]) == Interval(None, None, None, 0)
    for level in (0.0, 1.0):
        with pytest.raises(AnalysisError, match="between 0 and 1"):
            mean_interval([1.0], level)


def test_replications_that_either_run_lacks_are_left_out() -> None:
    # 3 - 1 and 9 - 4; the others have no pair.
    told = difference_interval([3.0, None, 5.0, 9.0], [1.0, 1.0, None, 4.0])
    assert (told.median, told.runs) == (3.5, 2)


def test_a_value_missing_in_the_middle_takes_its_own_pair_along() -> None:
    # Of ten replications the first run lacks the fourth, the second the seventh. The pairs left
    # differ by 1, 2, 3, 5, 6, 8, 9 and 10; values pushed together would differ otherwise.
    base: list[float | None] = [100.0 * k * (-1) ** k for k in range(10)]
    more: list[float | None] = [100.0 * k * (-1) ** k + k + 1 for k in range(10)]
    base[3], more[6] = None, None
    both = [made(drops=base), made(drops=more, rtt="20 us")]
    compared = qcnlab.compare(both, metrics=["drops"], level=0.95)
    assert compared.difference(1, "drops") == Interval(5.5, 1.0, 10.0, 8)
    assert compared.difference(1, "drops", 0.9) == Interval(5.5, 2.0, 9.0, 8)
    assert compared.paired_cells()[1] == [["drops", "frames", "5.5 [1..10] of 8 *"]]
    second = compared.records()[1]
    assert (second["difference"], second["replications"], second["without"]) == (5.5, 10, 1)
    # The other way round, and three runs: each is held against the first.
    turned = qcnlab.compare(both[::-1], metrics=["drops"], level=0.95)
    assert turned.difference(1, "drops") == Interval(-5.5, -10.0, -1.0, 8)
    three = qcnlab.compare([*both, made(drops=base, rtt="30 us")], metrics=["drops"], level=0.9)
    assert three.difference(2, "drops") == Interval(0.0, 0.0, 0.0, 9)
    assert three.paired_cells()[1] == [["drops", "frames", "5.5 [2..9] of 8 *", "0 [0..0] of 9"]]


def test_a_level_of_zero_is_refused_and_no_default() -> None:
    runs = [made(drops=EIGHT), made(drops=EIGHT, rtt="20 us")]
    for level in (None, 0.9):
        with pytest.raises(AnalysisError, match=r"between 0 and 1; 0\.0 does not"):
            qcnlab.compare(runs, metrics=["drops"], level=level).difference(1, "drops", 0.0)
    with pytest.raises(AnalysisError, match=r"between 0 and 1; 0\.0 does not"):
        qcnlab.compare(runs, metrics=["drops"], level=0.0).records()
