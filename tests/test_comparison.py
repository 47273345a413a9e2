"""Runs side by side: what differs, the table in every format, the figure, marks."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

import qcnlab
from qcnlab.errors import AnalysisError
from qcnlab.results.comparison import differences
from test_completion import FLOWS, LONG, listed
from test_deadlock import RING

if TYPE_CHECKING:
    from conftest import CommandLine


@pytest.fixture(scope="module")
def two() -> list[qcnlab.Result]:
    """Four flows of which one does not finish in 1 ms, and in 2 ms all do."""
    base = listed(FLOWS, LONG)
    return qcnlab.run_many([base, base.with_("duration=2 ms")])


def test_what_differs_is_named() -> None:
    settings = [{"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}, {"a": "1", "b": "2"}]
    assert differences(settings) == {"b": ["2", "3", "2"], "c": [None, "4", None]}


def test_runs_are_named_by_what_differs(two: list[qcnlab.Result]) -> None:
    compared = qcnlab.compare(two)
    assert compared.differences == {"duration": ["1 ms", "2 ms"]}
    assert compared.labels == ["duration 1 ms", "duration 2 ms"]
    assert qcnlab.compare(two, labels=["short", "long"]).labels == ["short", "long"]
    with pytest.raises(AnalysisError, match="two runs or more"):
        qcnlab.compare(two[:1])
    with pytest.raises(AnalysisError, match="there is no metric 'speed'"):
        qcnlab.compare(two, metrics=["speed"])
    with pytest.raises(AnalysisError, match="'dropz'; did you mean drops"):
        qcnlab.compare(two, metrics=["dropz"])


def test_unfinished_flows_stand_beside_what_depends_on_them(two: list[qcnlab.Result]) -> None:
    compared = qcnlab.compare(two)
    _, rows = compared.cells()
    cells = {row[0]: row[1:] for row in rows}
    assert cells["started"] == ["flows", "4", "4"]
    assert cells["unfinished"] == ["flows", "1", "0"]
    # The longest takes 1603.2 us alone, which is a lower bound in the first run and its time in
    # the second. The mean is (4.4 + 15.2 + 123.2 + 1603.2) / 4 = 436.5 us.
    assert cells["fct_p99_ms"] == ["ms", ">= 1.603", "1.603"]
    assert cells["fct_mean_ms"] == ["ms", ">= 0.4365", "0.4365"]
    assert cells["slowdown_p99"] == ["", ">= 1", "1"]
    said = compared.definitions()
    assert said[0].startswith("duration 1 ms: 3 of 4 flows of a size finished. Those that did not")
    assert said[1] == "duration 2 ms: 4 of 4 flows of a size finished."
    assert any(line.startswith("fct_p99_ms: As fct_mean_ms, but") for line in said)


def test_the_command_runs_a_scenario_with_several_schemes(cli: CommandLine) -> None:
    (cli.folder / "four.toml").write_text(listed(FLOWS, LONG).to_toml(), encoding="utf-8")
    arguments = ("compare", "four.toml", "-s", "scheme.name=none,qcn", "-s", "duration=2 ms")
    done = cli(*arguments, "--csv", "-o", "figure.svg")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(dict.fromkeys(row["run"] for row in rows)) == ["none", "qcn"]
    row = next(row for row in rows if row["run"] == "qcn" and row["metric"] == "fct_p99_ms")
    assert float(row["median"]) == pytest.approx(1.6032)
    assert (row["unit"], row["at_least"], row["started"], row["unfinished"]) == (
        "ms", "false", "4", "0",
    )  # fmt: skip
    svg = (cli.folder / "figure.svg").read_text(encoding="utf-8")
    for words in ("queue (KB)", "throughput (Gb/s)", "slowdown (by time alone)", "none", "qcn"):
        assert words in svg
    assert cli.left() == ["figure.svg", "four.toml"]
    markdown = cli(*arguments, "--md").stdout
    assert markdown.startswith("| key | none | qcn |")
    assert "| scheme.name | none | qcn |" in markdown
    latex = cli(*arguments, "--latex").stdout
    assert r"fct\_p99\_ms & ms & 1.603 & 1.603 \\" in latex
    told = json.loads(cli(*arguments, "--json").stdout)
    assert told["differences"]["scheme.name"] == ["none", "qcn"]
    plain = cli(*arguments).stdout
    assert plain.startswith("What differs:")
    assert "fct_p99_ms: As fct_mean_ms, but" in plain


def test_the_command_takes_run_folders(cli: CommandLine, two: list[qcnlab.Result]) -> None:
    for name, result in zip(("a", "b"), two, strict=True):
        result.save(cli.folder / name)
    done = cli("compare", "a", "b", "--metric", "fct_p99_ms", "--md")
    assert done.returncode == 0, done.stderr
    assert "| fct_p99_ms | ms | >= 1.603 | 1.603 |" in done.stdout
    one = cli("compare", "a")
    assert one.returncode == 2
    assert "a comparison takes two runs or more" in one.stderr
    changed = cli("compare", "a", "b", "-s", "duration=1 ms")
    assert changed.returncode == 2
    assert "-s is for scenarios" in changed.stderr
    bad = cli("compare", "one-source-into-9g-rtt10us", "-s", "scheme.name=none,,qcn")
    assert bad.returncode == 2
    assert 'in -s "scheme.name=none,,qcn"' in bad.stderr


def test_a_deadlock_is_named_beside_the_others(cli: CommandLine) -> None:
    (cli.folder / "ring.toml").write_text(RING, encoding="utf-8")
    several = ("-s", "pause.kind=none,link", "-s", "duration=3 ms", "-o", "figure.svg")
    done = cli("compare", "ring.toml", *several)
    assert (done.returncode, done.stderr) == (1, "")
    assert "link: deadlock found at 1 ms: switch1->switch2, " in " ".join(done.stdout.split())
    assert "deadlock" in (cli.folder / "figure.svg").read_text(encoding="utf-8")
