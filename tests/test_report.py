"""Reports of runs and sweeps: whole, self-contained pages."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import qcnlab
from qcnlab.figures.tree import shown_part, tree_positions
from qcnlab.report import charts, document, page, traces
from qcnlab.report.network import network_of, sketch
from qcnlab.report.settings import settings
from qcnlab.results import explanation_text
from qcnlab.results.explanation import explanation
from qcnlab.results.result import Result

if TYPE_CHECKING:
    from conftest import CommandLine

VENDOR = Path(page.__file__).with_name("vendor")
# Of `npm pack uplot@1.6.32`.
CHECKSUMS = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


@pytest.fixture(scope="module")
def paused() -> Result:
    scenario = qcnlab.load("ig-4-culprits-1-victim-pause-1500kb-rtt5us")
    return qcnlab.run(scenario.with_("scheme.name=none", "duration=200 ms", "warmup=150 ms"))


@pytest.fixture(scope="module")
def saved(paused: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paused.save(tmp_path_factory.mktemp("report") / "paused")


class Text(HTMLParser):
    """Collects words and what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.loads: list[str] = []
        self.data = ""
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self._in = "data" if known.get("id") == "data" else tag
        for name in ("src", "href"):
            if known.get(name) and not str(known[name]).startswith("#"):
                self.loads.append(str(known[name]))

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "data":
            self.data += data
        elif self._in not in ("script", "style"):
            self.words += data + " "


def read(html: str) -> Text:
    parser = Text()
    parser.feed(html)
    parser.words = re.sub(r"\s+", " ", parser.words)
    return parser


def test_what_others_wrote_is_unchanged() -> None:
    for name, expected in CHECKSUMS.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected
    assert "MIT License" in (VENDOR / "uPlot-LICENSE.txt").read_text(encoding="utf-8")


def test_a_report_of_a_run_says_what_was_run_and_what_came_out(
    saved: Path, paused: Result, cli: CommandLine
) -> None:
    done = cli("report", str(saved))
    assert done.stdout.strip() == str(saved / "report.html")
    html = (saved / "report.html").read_text(encoding="utf-8")
    assert len(html) < 3_000_000
    text = read(html)
    assert not text.loads
    assert "url(" not in html.replace("url(#", "")
    assert "Copyright (c) 2022 Leon Sorokin" in html
    for words in (
        "Four culprits of 5 Gb/s",
        "7 hosts, 7 switches, 13 links of 10 Gb/s and 2.5 us one way",
        "the bottleneck core->edge5, 10 Gb/s",
        "high 1489186 B, low 1479186 B, headroom 10814 B",
        "switch.0.input_memory 1500 KB left out",
        "Mean rate of the slowest of the flows that do not cross the bottleneck",
        f"qcnlab report {saved}",
        str(paused.summary.hash),
    ):
        assert words in text.words, words
    # What never happens in this run is not among its numbers.
    assert "retransmitted" not in text.words
    spec = json.loads(text.data)
    assert [chart["kind"] for chart in spec["charts"]][-1] == "pauses"
    assert len(spec["trees"]) == 1


def test_a_report_tells_what_happened_and_what_headroom_there_is(paused: Result) -> None:
    read = Text()
    read.feed(document.runs_page([paused], ["paused"], "qcnlab report paused"))
    words = " ".join(read.words.split())
    told = explanation(paused)
    for sentence in explanation_text.sentences(told):
        assert sentence in words
    root = told["roots"][0]
    assert f"congestion began at first stopped, link times links longest {root['port']}" in words
    scenario = qcnlab.Scenario.from_toml(paused.config)
    assert scenario.headrooms() and all(line in words for line in scenario.headrooms())
    two = Text()
    two.feed(document.runs_page([paused, paused], ["one", "two"], "qcnlab report one two"))
    assert two.words.count("What happened: ") == 2


def test_a_run_without_pauses_has_no_headroom() -> None:
    scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=2 ms", "warmup=0 s")
    page_of = document.runs_page([qcnlab.run(scenario)], ["plain"], "qcnlab report plain")
    assert "Headroom" not in page_of and "Nothing was paused." in page_of


def test_several_runs_stand_side_by_side(saved: Path, tmp_path: Path, cli: CommandLine) -> None:
    scenario = qcnlab.load("ig-4-culprits-1-victim-pause-1500kb-rtt5us")
    other = qcnlab.run(scenario.with_("duration=200 ms", "warmup=150 ms")).save(tmp_path / "b")
    out = tmp_path / "both.html"
    assert cli("report", str(saved), str(other), "-o", str(out)).returncode == 0
    text = read(out.read_text(encoding="utf-8"))
    assert "none and qcn_byte_counter" in text.words
    assert "scheme.name none qcn_byte_counter" in text.words
    labels = [each["label"] for each in json.loads(text.data)["charts"][0]["series"]]
    assert labels == ["none", "qcn_byte_counter"]


def test_a_sweep_has_its_table_and_figures(tmp_path: Path, cli: CommandLine) -> None:
    vary = ("--vary", "topology.rtt=10us,40us", "-s", "duration=10ms", "-s", "warmup=1ms")
    assert cli("sweep", "one-source-into-9g-rtt10us", *vary, "-o", "s").returncode == 0
    done = cli("report", "s")
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    text = read(html)
    assert "varied: topology.rtt 10 us, 40 us" in text.words
    assert "changed duration=10 ms, warmup=1 ms" in text.words
    assert "the sweep qcnlab sweep one-source-into-9g-rtt10us -s duration=10ms" in text.words
    assert html.count("<svg") >= 2
    refused = cli("report", "s", "s")
    assert refused.returncode == 2
    assert "a sweep has a report of its own" in refused.stderr


def test_flows_that_did_not_finish_stand_beside_their_numbers() -> None:
    scenario = qcnlab.load("one-source-into-9g-rtt10us")
    # 100 MB at 10 Gb/s take 80 ms; the run lasts 3.
    result = qcnlab.run(
        scenario.with_("duration=3 ms", "warmup=0 s", "traffic.size=100 MB"), reps=1
    )
    assert document.left_out(result, "fct_mean_ms").startswith("1 of 1 flows did not finish")
    assert document.left_out(result, "queue_mean_bytes") == ""
    words = read(document.runs_page([result], ["here"], "command")).words
    assert "1 of 1 flows did not finish" in words
    assert ">= " in words


def test_a_live_run_outside_its_limits_says_so(paused: Result) -> None:
    summary = replace(paused.summary, title=f"INVALID TIMING: {paused.summary.title}")
    result = Result(paused.config, summary, paused.meta, paused.table)
    assert document.left_out(result, "queue_mean_bytes") == "INVALID TIMING"
    assert "its numbers do not count" in read(document.runs_page([result], ["x"], "c")).words


def test_markup_in_titles_stays_text(paused: Result) -> None:
    summary = replace(paused.summary, title="</script><b>bold</b> & so")
    html = document.runs_page(
        [Result(paused.config, summary, paused.meta, paused.table)], ["x"], "c"
    )
    assert "<b>bold" not in html
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; so" in html


def test_only_settings_that_are_no_defaults_are_told(paused: Result) -> None:
    rows = {row[0]: row[1:3] for row in settings(paused)}
    assert rows["warmup"] == ("150 ms", "0 s")
    assert rows["pause.kind"] == ("link", "none")
    assert "pause.hysteresis" not in rows
    assert "title" not in rows
    # What follows another key is told where it does not.
    assert "record.throughput_bin" not in rows
    short = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=2 ms", "warmup=0 s")
    result = qcnlab.run(short.with_("record.throughput_bin=10 us"), reps=1)
    own = {row[0]: row[1:3] for row in settings(result)}
    assert own["record.throughput_bin"] == ("10 us", "1 ms, finer below 100 ms")
    assert "record.rates_every" not in own


def test_the_network_marks_the_bottleneck(paused: Result) -> None:
    known = network_of(paused)
    assert known is not None
    svg = sketch(known, "core->edge5")
    assert svg.count('class="hot"') == 2  # the link and its rate
    assert "<title>the bottleneck: core-&gt;edge5</title>" in svg
    large = network_of(qcnlab.run(qcnlab.load("one-source-into-9g-rtt10us").with_(
        "duration=2 ms", "warmup=0 s")))  # fmt: skip
    assert large is not None


def test_thinning_keeps_every_extreme() -> None:
    rng = np.random.default_rng(1)
    time = np.linspace(0.0, 1.0, 10_001)
    value = rng.integers(0, 1_000_000, len(time))
    frame = pl.DataFrame({"time_s": time, "port": ["p"] * len(time), "v": value})
    series = traces.thinned(frame, "v", "port", 100)
    got = series.values["p"].reshape(50, 2)
    assert len(series.time) == 100
    bins = np.minimum((time * 50).astype(int), 49)
    for index in range(50):
        inside = value[bins == index]
        assert set(got[index]) == {float(inside.min()), float(inside.max())}


def test_stops_are_shared_out_over_bins() -> None:
    start, end = np.array([0.1, 0.35]), np.array([0.3, 0.55])
    # Bins of 0.25: 0.15 of the first; 0.05 and 0.15 of the second; 0.05 of the third.
    shares = traces.covered(start, end, np.array([0.0, 0.25, 0.5, 0.75]))
    assert shares == pytest.approx([0.6, 0.8, 0.2])
    assert traces.covered(np.array([]), np.array([]), np.array([0.0, 1.0])).tolist() == [0.0]


def test_a_tree_without_all_its_rows_has_no_false_roots() -> None:
    # a waits for b, b for c, c for the root; b and c were stopped for the shortest.
    rows = [("a", "b", 9.0), ("x1", "root", 8.0), ("x2", "root", 7.0), ("x3", "root", 6.0),
            ("b", "c", 2.0), ("c", "root", 1.0)]  # fmt: skip
    whole = pl.DataFrame(rows, schema=["port", "because", "paused_s"], orient="row")
    shown = shown_part(whole, 4)
    assert shown["port"].to_list() == ["a", "x1", "b", "c"]
    assert [port for port, (column, _) in tree_positions(shown).items() if column == 0] == ["root"]


def test_a_large_report_is_thinned(paused: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = document.runs_page([paused], ["x"], "c")
    monkeypatch.setattr(document, "LARGEST", len(whole) - 5_000)
    assert len(document.runs_page([paused], ["x"], "c")) <= len(whole) - 5_000


def test_packed_numbers_are_what_the_script_reads() -> None:
    # 1.0 as a little-endian float of 4 octets is 00 00 80 3f.
    assert traces.packed(np.array([1.0])) == "AACAPw=="
    sheet = charts.Sheet(1.0, 10)
    html = sheet.add("A < B", "n", {"kind": "lines"})
    assert "A &lt; B" in html
    assert 'id="chart0"' in html


def test_frames_lost_and_refused_are_two_charts() -> None:
    """A hundred sources overflow a switch, and adapters whose limiters are slow refuse frames."""
    scenario = qcnlab.load("ig-100-sources-150kb-rtt50us")
    run = qcnlab.run(scenario.with_("duration=250 ms", "warmup=140 ms"))
    dropped, refused = run.metric("drops"), run.metric("refused")
    assert dropped and refused
    rows = run.drops.to_polars().with_columns(pl.col("kind").cast(pl.String))
    counted = dict(rows.group_by("kind").agg(pl.col("frames").sum()).iter_rows())
    assert counted == {"dropped": dropped, "refused": refused}
    assert (rows["time_s"] <= rows["last_s"]).all()
    assert (rows["last_s"] - rows["time_s"] <= 10e-3).all()
    html = document.runs_page([run], [""], "")
    for title, frames in (
        ("Frames lost in the network", dropped),
        ("Frames refused at sources", refused),
    ):
        assert f"{title}" in html
        assert re.search(rf"\b{frames:,.0f} frames that", html), title
