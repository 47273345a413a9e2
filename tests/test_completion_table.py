"""Completion times of several runs: numbers by hand, and a student's three commands."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from contextlib import chdir
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import qcnlab
from conftest import ROOT, CommandLine
from made_up_run import META, made_up_summary
from qcnlab.results import comparison
from qcnlab.results.completion_table import (
    CompletionRecord,
    CompletionTable,
    CompletionTableSummary,
)
from qcnlab.runs.percentiles import Bound
from qcnlab.runs.tables import Table
from typed_dicts import unlike

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.results.result import Result

CONFIG = '[[traffic]]\narrivals = "list"\n[[traffic]]\narrivals = "poisson"\n'
GUIDE = ROOT / "docs/guide/figures.md"
SIZES = {"buckets": "1 KB,10 KB"}


def made(*flows: tuple[Any, ...], ends: tuple[float, ...], seed: int = 0) -> Result:
    """Return a run of flows (replication, entry, octets, start, time); each takes 1 s alone."""
    columns = ("replication", "traffic", "size_bytes", "start_s", "completion_s")
    types = {"replication": pl.UInt32, "size_bytes": pl.UInt64} | dict.fromkeys(
        columns[3:], pl.Float64
    )
    frame = pl.DataFrame(list(flows), schema=columns, schema_overrides=types, orient="row")
    frame = frame.with_columns(
        pl.lit("host1").alias("source"), alone_s=pl.lit(1.0), standalone_s=pl.lit(1.0)
    )
    table = Table("flows", frame, frame.columns, {}, len(frame))
    summary = made_up_summary(seed=seed, ends=ends)
    return qcnlab.Result(CONFIG, summary, META, {"flows": table}.get)  # type: ignore[arg-type]


def one_each(*took: float | None, seed: int = 0, end: float = 100.0) -> Result:
    """Return a run with a flow of 1 KB in each replication; `None` is one without."""
    flows = [(k, 0, 1000, 0.0, each) for k, each in enumerate(took) if each is not None]
    return made(*flows, ends=(end,) * len(took), seed=seed)


def test_a_replication_without_flows_in_the_middle() -> None:
    # Of 1, 2, -, 4, 5, 6, 9 six are left: their median is 4.5, their interval all of them.
    (row,) = CompletionTable([one_each(1, 2, None, 4, 5, 6, 9)], by="all").rows
    told = row.percentiles["slowdown"][50]
    assert told.values[2] is None and told.values[3] == Bound(4.0, at_least=False)
    assert (told.median.value, told.low, told.high) == (4.5, 1.0, 9.0)
    assert told.words() == "4.5 [1..9]"
    assert (row.flows, row.replications) == (6, 6)
    # Five of six have none, and the table says why, once.
    table = CompletionTable([one_each(1, 2, None, 4, 5, 6)], by="all")
    assert table.rows[0].percentiles["slowdown"][50].words() == "4"
    assert sum("A row leaves out replications" in line for line in table.definitions()) == 1


def test_differences_are_those_of_pairs() -> None:
    # 3-1, -, 9-2, 5-4, 7-5, 8-6, 10-7: 2, 7, 1, 2, 2, 3, with a median of 2; all above 0.
    runs = [one_each(1, 3, 2, 4, 5, 6, 7), one_each(3, None, 9, 5, 7, 8, 10)]
    table = CompletionTable(runs, ["one", "two"], by="all")
    apart = table.difference(table.rows[1], "slowdown", 50)
    assert apart is not None
    assert (apart.median, apart.low, apart.high, apart.runs) == (2.0, 1.0, 7.0, 6)
    assert table.paired_cells()[1][0][:3] == ["all flows", "two - one", "2 [1..7] *"]


@pytest.mark.parametrize(("took", "seed"), [((1, 2), 1), ((1, 2, 3), 0)])
def test_runs_of_other_seeds_or_numbers_have_no_pairs(took: tuple[float, ...], seed: int) -> None:
    other = one_each(*took, seed=seed)
    table = CompletionTable([one_each(1, 2), other], ["one", "two"], by="all")
    assert table.difference(table.rows[1], "slowdown", 50) is None
    assert table.paired_cells()[1] == []
    assert any(line.startswith("No differences") for line in table.definitions())


def test_runs_with_and_without_intervals_stand_together() -> None:
    six, five = one_each(1, 2, 3, 4, 5, 6), one_each(1, 2, 3, 4, 5)
    for runs in ([six, five], [five, six]):
        table = CompletionTable(runs, ["one", "two"], by="all")
        words = {row.percentiles["slowdown"][50].words() for row in table.rows}
        assert words == {"3.5 [1..6]", "3"}
        said = table.definitions()
        assert "Values: the median over the replications [its 95 % interval]." in said
        lacking = "No intervals of 95 % where a run has fewer: they take 6 replications or more."
        assert lacking in said
        # Neither lacks a flow in a replication of its own.
        assert not any("A row leaves out replications" in line for line in said)
    said = CompletionTable([six], by="all").definitions()
    assert not any(line.startswith("No intervals") for line in said)
    said = CompletionTable([five], by="all").definitions()
    assert "No intervals of 95 %: they take 6 replications or more." in said


def test_a_group_of_which_the_first_run_has_nothing() -> None:
    one = made((0, 0, 500, 0.0, 2.0), (0, 0, 50_000, None, None), ends=(9.0,))
    two = made((0, 0, 500, 0.0, 4.0), (0, 0, 50_000, 0.0, 3.0), ends=(9.0,))
    table = CompletionTable([one, two], ["one", "two"], **SIZES)
    assert [(row.run, row.flows) for row in table.rows] == [(0, 1), (1, 1), (0, 0), (1, 1)]
    apart = table.difference(table.rows[1], "slowdown", 50)
    assert apart is not None and apart.median == 2.0
    assert table.difference(table.rows[3], "slowdown", 50) is None
    assert [each["difference"] for each in table.records() if each["flows"] == 0] == [None] * 8


def test_a_second_replication_that_ends_early() -> None:
    # It ends at 3 s with its flow on the way: at least 3 times as long as alone. 8, >= 3: >= 5.5.
    run = made((0, 0, 1000, 0.0, 8.0), (1, 0, 1000, 0.0, None), ends=(10.0, 3.0))
    (row,) = CompletionTable([run], by="all").rows
    assert row.percentiles["fct"][99].median == Bound(5.5, at_least=True)
    assert (row.flows, row.finished) == (2, 1)


def test_one_unfinished_flow_opens_an_interval_and_leaves_the_median() -> None:
    flows = [(k, 0, 1000, 0.0, None if k == 6 else k + 1.0) for k in range(7)]
    runs = [made(*flows, ends=(50.0,) * 7), one_each(1, 2, 3, 4, 5, 6, 7)]
    table = CompletionTable(runs, ["late", "all"], by="all")
    told = table.rows[0].percentiles["slowdown"][50]
    # 1 to 6 and one of 50 or more: the fourth is 4 whatever that one is; the upper end is not.
    assert told.median == Bound(4.0, at_least=False)
    assert told.high == math.inf and told.words() == "4 [1..]"
    # A difference from a lower bound bounds nothing.
    assert table.difference(table.rows[1], "slowdown", 50) is None
    (record, *_) = table.records()
    assert unlike(table.records(), list[CompletionRecord]) == []
    assert record["high"] is None and record["low"] == 1.0


def test_all_unfinished_and_never_started() -> None:
    flows = [(k, 0, 1000, 0.0, None) for k in range(6)] + [(2, 0, 1000, None, None)]
    table = CompletionTable([made(*flows, ends=(5.0,) * 6)], by="all")
    told = table.cells()[1][0]
    assert told[2:6] == ["6", "6", "1", ">= 5 [5..]"]


def test_groups_are_the_same_for_all_runs() -> None:
    one = made((0, 0, 500, 0.0, 2.0), (0, 1, 50_000, 0.0, 3.0), ends=(9.0,))
    two = made((0, 0, 500, 0.0, 4.0), (0, 1, 60_000, None, None), ends=(9.0,))
    table = CompletionTable([one, two], ["one", "two"], **SIZES)
    # No flow has 1 to 10 KB; the largest group of the second run has none that started.
    assert [(row.group, row.run, row.flows, row.never_started) for row in table.rows] == [
        ("up to 1 KB", 0, 1, 0),
        ("up to 1 KB", 1, 1, 0),
        ("above 10 KB, to 60 KB", 0, 1, 0),
        ("above 10 KB, to 60 KB", 1, 0, 1),
    ]
    assert table.cells()[1][-1][-1] == "-"
    assert "none" not in table.csv() and len(table.csv().splitlines()) == 1 + 4 * 2 * 4
    both = CompletionTable([one], by="size,entry", **SIZES)
    assert [row.group for row in both.rows] == [
        "traffic.0 (list), up to 1 KB",
        "traffic.1 (poisson), above 10 KB, to 50 KB",
    ]


def test_a_percentile_of_few_flows_is_told() -> None:
    few = CompletionTable([one_each(1, 2)], by="all")
    assert any("is the largest value" in line for line in few.definitions())
    flows = [(0, 0, 1000, 0.0, float(k + 1)) for k in range(1000)]
    many = CompletionTable([made(*flows, ends=(2000.0,))], by="all")
    assert not any("is the largest value" in line for line in many.definitions())
    told = many.rows[0].percentiles["slowdown"]
    assert [told[p].median.value for p in (50, 95, 99, 99.9)] == [500, 950, 990, 999]


def test_another_rule_for_percentiles() -> None:
    # Of 1 to 4 the median is 2 by rank; the third is element floor(4 * 0.5), as in HPCC's script.
    run = made(*((0, 0, 1000, 0.0, float(k)) for k in (1, 2, 3, 4)), ends=(9.0,))
    for rule, value in (("rank", 2.0), ("element", 3.0)):
        table = CompletionTable([run, run], ["one", "two"], by="all", percentile=rule)
        told = [row.percentiles["slowdown"][50].median.value for row in table.rows]
        assert told == [value, value]
        assert table.summary()["percentile"] == rule
        assert unlike(table.summary(), CompletionTableSummary) == []


def test_what_it_refuses() -> None:
    with pytest.raises(qcnlab.AnalysisError, match="takes one run or more"):
        CompletionTable([])
    with pytest.raises(qcnlab.AnalysisError, match="1 runs have 2 names"):
        CompletionTable([one_each(1)], ["a", "b"])
    with pytest.raises(qcnlab.AnalysisError, match="not 'sise'"):
        CompletionTable([one_each(1)], by="sise")


def test_a_students_path(cli: CommandLine) -> None:
    shell = GUIDE.read_text(encoding="utf-8").split("```\n")[1]
    outputs = []
    for line in shell.splitlines():
        done = cli(*shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    latex = outputs[1]
    percentiles, differences = latex.split("\n\n")
    rows = [line for line in percentiles.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + 4 * 2 and r"\toprule" in latex
    assert rows[1].startswith("up to 10 KB & dcqcn & ") and rows[2].split(" & ")[1] == "none"
    apart = [line for line in differences.splitlines() if line.endswith(r"\\")]
    assert len(apart) == 1 + 4
    assert apart[1].startswith("up to 10 KB & none $-$ dcqcn & ")
    assert "Differences: " in differences and "Differences: " not in percentiles
    for part, lines in ((percentiles, rows), (differences, apart)):
        columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", part)
        assert columns and {line.count(" & ") + 1 for line in lines} == {len(columns[1])}
        assert re.findall(r"\\(begin|end)\{([\w*]+)\}", part) == [
            ("begin", "table*"), ("begin", "tabular"), ("end", "tabular"), ("end", "table*"),
        ]  # fmt: skip
        # What LaTeX reads otherwise is escaped.
        body = re.sub(r"\\[%_#&$]", "", part.split("\n", 1)[1])
        assert not re.search(r"[%_#~^]", body), body
    octets = (cli.folder / "cdf.pdf").read_bytes()
    assert b"/CIDFontType2" in octets or b"/FontFile2" in octets or b"/TrueType" in octets
    assert b"/Type3" not in octets
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", octets)
    assert box and float(box[1]) == pytest.approx(3.3 * 72)
    # The page's other figure, of the same folder.
    more = GUIDE.read_text(encoding="utf-8").split("```\n")[3].splitlines()
    assert [cli(*shlex.split(line)[1:]).returncode for line in more] == [0]
    assert (cli.folder / "slowdown.pdf").exists()


def test_a_comparison_keeps_run_folders(cli: CommandLine) -> None:
    base = qcnlab.load("one-source-into-9g-rtt10us")
    short = base.with_("duration=3 ms", "warmup=0 s", "traffic.size=1 MB")
    runs = qcnlab.run_many([short.with_(f"scheme.name={name}") for name in ("none", "qcn")], reps=2)
    (cli.folder / "two").mkdir()
    comparison.keep(qcnlab.compare(runs), cli.folder / "two")
    kept = sorted(path.name for path in (cli.folder / "two").iterdir() if path.is_dir())
    assert kept == ["1-none", "2-qcn"]
    assert comparison.kept(cli.folder / "two") == [("1-none", "none"), ("2-qcn", "qcn")]
    apart = cli("fct", *(f"two/{name}" for name in kept), "--csv")
    whole = cli("fct", "two", "--csv")
    assert apart.stdout == whole.stdout
    records = list(csv.DictReader(io.StringIO(whole.stdout)))
    assert {each["replications"] for each in records} == {"2"}
    assert {each["low"] for each in records} == {""}
    again = cli("compare", "two/1-none", "two/2-qcn", "--keep", "two")
    assert again.returncode == 2 and "two" in again.stderr
    with pytest.raises(qcnlab.FolderError, match="a comparison's: each folder in it is a run's"):
        qcnlab.open_run(cli.folder / "two" / "1-none" / "..")
    (cli.folder / "two" / "comparison.json").write_text("{}")
    with pytest.raises(qcnlab.FolderError, match="has no list of runs"):
        comparison.kept(cli.folder / "two")


def test_the_figures_are_matplotlibs(tmp_path: Path) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with chdir(tmp_path):
        for part in page.split("```python\n")[1:]:
            exec(compile(part.split("```")[0], "figures.md", "exec"), names)
    assert (tmp_path / "cdf.png").exists()
    octets = (tmp_path / "runs.pdf").read_bytes()
    assert b"/CIDFontType2" in octets and b"/Type3" not in octets
    assert "queue at left->right" in str(names["caption"])


def test_what_intervals_take_is_said_before_runs(cli: CommandLine) -> None:
    few = ("one-source-into-9g-rtt10us", "-s", "scheme.name=none,qcn", "-s", "duration=12 ms",
           "-s", "warmup=1 ms", "--intervals")  # fmt: skip
    said = "intervals of 95 % take 6 replications or more, and there are 5; ranges are shown"
    done = cli("compare", *few, "--reps", "5", "--keep", "five")
    assert said in done.stderr
    # Ranges, and once why: not in each cell.
    assert "too few" not in done.stdout
    assert "Values: median [least..largest] over the replications of a run." in done.stdout
    lacking = "No intervals of 95 %, and no differences: they take 6 replications or more."
    assert done.stdout.count(lacking) == 1
    done = cli("compare", *few, "--reps", "6", "--keep", "six")
    assert said not in done.stderr
    assert lacking not in done.stdout
    # The scenario's own number of replications counts, and so do those of runs that are kept.
    own = cli("compare", *few, "-s", "replications=1")
    assert "and there is 1; ranges" in own.stderr
    mixed = cli("compare", "five/1-none", "six/1-none", "--intervals", "--metric", "drops")
    assert said in mixed.stderr
    assert "Of fewer than 6 replications: median [least..largest]" in mixed.stdout
    assert mixed.stdout.count(" of 6") == 1


def test_a_style_is_for_a_figure(cli: CommandLine) -> None:
    done = cli("fct", "x", "--style", "paper")
    assert done.returncode == 2 and "give -o FILE" in done.stderr
