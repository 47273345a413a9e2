"""The tables of all schemes over the same tasks are whole, and a sample of cells runs again."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT
from qcnlab import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    yield importlib.import_module("schemes_side_by_side")
    sys.modules.pop("schemes_side_by_side", None)


@pytest.fixture
def page(bench: Any) -> str:
    text: str = bench.PAGE.read_text(encoding="utf-8")
    return text.partition(bench.MARK)[2]


def test_the_page_has_each_task_and_row(bench: Any, page: str) -> None:
    cells = bench.on_page(page)
    assert list(cells) == [task.key for task in bench.TASKS]
    for task in bench.TASKS:
        assert list(cells[task.key]) == [row.label for row in bench.ROWS]
        assert all(len(own) == len(task.columns) for own in cells[task.key].values())
    assert page.strip() == bench.page_part(cells, bench.REPS).strip()


def test_every_scheme_for_a_routed_fabric_has_a_row(bench: Any) -> None:
    """Those that hear of acknowledgements, and beside them what the decks began with."""
    over_roce = {entry.name for entry in catalogue.schemes() if "acknowledgement" in entry.hears}
    others = {"none", "ecm", "qcn", "pcn", "rccc", "bfc", "sfc", "qcz"}
    assert {row.scheme for row in bench.ROWS} == over_roce | others


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("incast-255", "swift"),
        ("all-to-all", "dcqcn HPCC_SIMULATOR"),
        ("slow-receiver", "powertcp"),
        ("incast-255", "nscc"),
        ("incast-255", "pcn"),
        ("incast-255", "hpcc_pint"),
    ],
)
def test_a_cell_is_what_its_command_gives(bench: Any, page: str, key: str, label: str) -> None:
    task = next(task for task in bench.TASKS if task.key == key)
    row = next(row for row in bench.ROWS if row.label == label)
    assert f"`{bench.command(task)} --reps {bench.REPS} --seed {bench.SEED}`" in page
    result = qcnlab.run(bench.scenario_of(task, row), reps=bench.REPS, seed=bench.SEED)
    again = [bench.cell(result, column) for column in task.columns]
    assert again == bench.on_page(page)[key][label]


def test_a_cell_says_its_interval_its_bound_and_what_is_lacking(bench: Any) -> None:
    """Of six values the first and the last hold the median with 1 - 2 / 64 = 96.9 %."""
    spread = bench.spread
    assert spread([6000.0, 1000, 2000, 3000, 4000, 5000], 1e3, at_least=False) == "3.5 [1..6]"
    assert spread([2000.0] * 6, 1e3, at_least=True) == ">= 2"
    assert spread([1.0, 2.0, 3.0], 1, at_least=False) == "2 [1..3]"
    assert spread([1.0, None, 3.0], 1, at_least=False) == "2 [1..3]; none in 1 of 3"
    assert spread([None, None], 1, at_least=False) == "does not apply"
    assert bench.operation_cell([0.002, None]) == "did not end in 1 of 2"
    assert bench.operation_cell([0.002] * 6) == "2"
    assert bench.headline(">= 59.2 [58.1..60]") == ">= 59.2"


def test_a_row_that_is_refused_says_why(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROWS", (bench.Row("none", "DECK001", "no such preset"),))
    cells = bench.measured(bench.TASKS[0], 1, {})
    why, *others = cells["none"]
    assert why.startswith("refused: ")
    assert "error" not in why
    assert others == ["refused"] * (len(bench.TASKS[0].columns) - 1)
    assert bench.headline(why) == "refused"
