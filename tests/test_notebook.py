"""Notebooks and process pools: results show themselves, and can be pickled."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from multiprocessing import get_context
from types import SimpleNamespace

import pytest

import qcnlab
from qcnlab import catalogue
from qcnlab.printing import progress
from qcnlab.runs.tables import NAMES

PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """Text and images of a piece of HTML, all of whose elements are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.images = 0
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link")
        if tag == "img":
            self.images += 1
            assert str(dict(attrs)["src"]).startswith("data:image/png;base64,")
        elif tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def result(short: qcnlab.Scenario) -> qcnlab.Result:
    return qcnlab.run(short, reps=2)


@pytest.fixture(scope="module")
def swept(short: qcnlab.Scenario) -> qcnlab.Sweep:
    return qcnlab.sweep(short, vary={"topology.rtt": ["10 us", "200 us"]}, reps=2)


def test_a_scenario_shows_its_main_keys(short: qcnlab.Scenario) -> None:
    words = Page(short.with_("title=a <b> & c")._repr_html_()).words
    assert words[0] == "a <b> & c"
    assert words[words.index("scheme") + 1] == "qcn"
    assert words[words.index("duration") + 1] == "40 ms"
    assert words[words.index("every key") + 1] == short.with_("title=a <b> & c").to_toml()


def test_a_result_shows_metrics_and_figure(short: qcnlab.Scenario, result: qcnlab.Result) -> None:
    page = Page(result._repr_html_())
    assert page.images == 1
    assert "median [min..max]" in page.words
    assert page.words[page.words.index("recovery_ms") + 1] == "recovery"
    # Metrics that this run does not have are left out.
    assert result.metric("fct_p99_ms") is None
    assert "fct_p99_ms" not in page.words
    bare = qcnlab.run(short.with_("record.tables=false"), reps=1)
    assert Page(bare._repr_html_()).images == 0


def test_a_sweep_shows_medians_and_figure(short: qcnlab.Scenario, swept: qcnlab.Sweep) -> None:
    page = Page(swept._repr_html_())
    assert page.images == 1
    for words in ("10 us", "200 us", "queue_mean_bytes", swept.title):
        assert words in page.words
    many: dict[str, list[object]] = {"topology.rtt": ["10 us"], "seed": [1], "scheme.cp.w": [2]}
    three = qcnlab.sweep(short, vary=many, reps=1)
    assert Page(three._repr_html_()).images == 0


def test_figures_show_themselves(result: qcnlab.Result, swept: qcnlab.Sweep) -> None:
    for figure in (result.plot(), swept.plot()):
        assert figure._repr_png_().startswith(PNG)  # type: ignore[attr-defined]


def test_a_scenario_is_pickled_with_what_it_was_made_from(short: qcnlab.Scenario) -> None:
    again = pickle.loads(pickle.dumps(short))
    assert (again, again.name, again.hash) == (short, short.name, short.hash)
    # Changes start from the file, not from the resolved scenario: defaults of ECM hold here.
    assert again.with_("scheme.name=ecm") == short.with_("scheme.name=ecm")
    for entry in catalogue.scenarios():
        scenario = qcnlab.load(entry.name)
        assert pickle.loads(pickle.dumps(scenario)) == scenario, entry.name


def test_results_and_sweeps_are_pickled_whole(
    result: qcnlab.Result, swept: qcnlab.Sweep, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stored = qcnlab.open_run(result.save(tmp_path_factory.mktemp("run") / "out"))
    for one in (result, stored):
        again = pickle.loads(pickle.dumps(one))
        assert (again.summary, again.meta, again.config) == (one.summary, one.meta, one.config)
        assert again.managed == one.managed
        for name in NAMES:
            table, copy = one.table(name), again.table(name)
            assert copy.to_polars().equals(table.to_polars()), name
            assert (copy.units, len(copy)) == (table.units, len(table))
    copied = pickle.loads(pickle.dumps(swept))
    assert copied.to_polars().equals(swept.to_polars())
    assert copied.summary() == swept.summary()


def test_the_bar_of_a_notebook_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(html: str, *, display_id: bool) -> SimpleNamespace:
        assert display_id
        shown.append(html)
        return SimpleNamespace(update=shown.append)

    module = SimpleNamespace(HTML=lambda html: html, display=display)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    with progress.Bar("4 < 5 runs") as bar:
        bar(0.25)
        bar(0.5)
    assert ["4 &lt; 5 runs" in html for html in shown] == [True, True, False]
    assert "25%" in shown[0]
    assert shown[-1] == ""


def run_once(scenario: qcnlab.Scenario) -> qcnlab.Result:
    return qcnlab.run(scenario, reps=1, jobs=1)


def test_process_pools_take_scenarios_and_give_results(short: qcnlab.Scenario) -> None:
    schemes = [short.with_(f"scheme.name={name}") for name in ("qcn", "ecm")]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(run_once, schemes))
    for scenario, result in zip(schemes, results, strict=True):
        assert result.summary == qcnlab.run(scenario, reps=1).summary


def test_errors_are_pickled_with_their_place(short: qcnlab.Scenario) -> None:
    with pytest.raises(qcnlab.ScenarioError) as raised:
        short.with_("duration=1 parsec")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.message) == (str(raised.value), raised.value.message)
