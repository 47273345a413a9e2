"""Scenarios and runs from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT


def test_a_resolved_scenario_reads_back_the_same(short: qcnlab.Scenario) -> None:
    assert qcnlab.Scenario.from_toml(short.to_toml(), short.name) == short
    assert qcnlab.Scenario.from_dict(short.to_dict(), short.name) == short
    assert hash(qcnlab.Scenario.from_toml(short.to_toml(), short.name)) == hash(short)


def test_changes_by_text_and_by_mapping_agree(short: qcnlab.Scenario) -> None:
    by_text = short.with_("scheme.cp.set_point=40 KB", "seed=9")
    by_mapping = short.with_({"scheme.cp.set_point": "40 KB", "seed": 9})
    assert by_text == by_mapping
    assert by_text != short
    assert by_text.seed == 9
    assert by_text.to_dict()["scheme"]["cp"]["set_point"] == "40 KB"


def test_the_hash_is_over_what_is_run_not_how_often(short: qcnlab.Scenario) -> None:
    assert short.with_("seed=9", "replications=4").hash == short.hash
    assert short.with_("scheme.cp.w=3").hash != short.hash
    assert len(short.hash) == 64


def test_load_takes_a_name_a_path_and_a_path_object(tmp_path: Path) -> None:
    file = tmp_path / f"{HOTSPOT}.toml"
    file.write_text(qcnlab.load(HOTSPOT).to_toml(), encoding="utf-8")
    assert qcnlab.load(HOTSPOT) == qcnlab.load(str(file)) == qcnlab.load(file)
    assert qcnlab.load(file).name == HOTSPOT


def test_a_mistyped_name_suggests_the_right_one() -> None:
    with pytest.raises(qcnlab.ScenarioError, match=HOTSPOT):
        qcnlab.load(HOTSPOT.replace("hotspot", "hotpsot"))
    with pytest.raises(qcnlab.ScenarioError, match=HOTSPOT) as caught:
        qcnlab.load(f"scenarios/{HOTSPOT}x.toml")
    assert caught.value.file == f"scenarios/{HOTSPOT}x.toml"


def test_seed_replications_and_threads(short: qcnlab.Scenario) -> None:
    first = qcnlab.run(short, reps=2, seed=3, jobs=1)
    again = qcnlab.run(short, reps=2, seed=3, jobs=2)
    other = qcnlab.run(short, reps=2, seed=4)
    assert first.summary == again.summary
    assert first.summary.seed == 3
    assert first.summary.replications == 2
    assert first.messages.to_polars().equals(again.messages.to_polars())
    assert not first.messages.to_polars().equals(other.messages.to_polars())


def test_a_replication_does_not_depend_on_how_many_there_are(short: qcnlab.Scenario) -> None:
    few = qcnlab.run(short, reps=1, seed=3).queues.to_polars()
    many = qcnlab.run(short, reps=3, seed=3).queues.to_polars()
    assert many.filter(many["replication"] == 0).equals(few)


def test_run_many_keeps_the_order(short: qcnlab.Scenario) -> None:
    alone = qcnlab.run(short, reps=2, seed=3)
    other = short.with_("scheme.name=none")
    results = qcnlab.run_many([other, short], reps=2, seed=3)
    assert [result.summary.scheme for result in results] == ["none", "qcn"]
    assert results[1].summary == alone.summary
    assert qcnlab.run_many([]) == []


@pytest.mark.parametrize(
    "wrong", [{"reps": 0}, {"reps": 2**40}, {"jobs": 0}, {"seed": -1}, {"seed": 2**64}]
)
def test_impossible_numbers_are_refused(short: qcnlab.Scenario, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        qcnlab.run(short, **wrong)  # type: ignore[arg-type]


def test_metrics_of_the_summary_and_the_table_agree(result: qcnlab.Result) -> None:
    frame = result.metrics.to_polars()
    for name, metric in result.summary.metrics.items():
        values = frame.filter(frame["metric"] == name)["value"].to_list()
        assert values == list(metric.values), name
    assert result.metric("queue_max_bytes") == result.summary.metrics["queue_max_bytes"].median


def test_an_exception_says_where(tmp_path: Path) -> None:
    text = qcnlab.load(HOTSPOT).with_(*SHORT).to_toml()
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace("duration", "durration", 1), encoding="utf-8")
    with pytest.raises(qcnlab.ScenarioError) as caught:
        qcnlab.load(bad)
    line = text.splitlines().index(next(x for x in text.splitlines() if x.startswith("duration")))
    assert (caught.value.file, caught.value.line) == (str(bad), line + 1)
    assert "durration" in caught.value.message
    assert "duration" in (caught.value.hint or "")


def test_what_is_not_a_scenario_is_refused() -> None:
    with pytest.raises(TypeError, match=r"qcnlab\.load"):
        qcnlab.run(HOTSPOT)  # type: ignore[arg-type]


def test_memory_is_told_and_what_does_not_fit_is_refused(short: qcnlab.Scenario) -> None:
    dense = short.with_("record.queue_every=1 us")
    one, ten = dense.memory(reps=1, jobs=1), dense.memory(reps=10, jobs=1)
    assert max(one, key=lambda part: one[part]) == "samples of queues"
    assert ten["samples of queues"] == 10 * one["samples of queues"]
    assert sum(short.memory(reps=1).values()) < sum(one.values())
    with pytest.raises(qcnlab.Error, match=r"^not enough memory: about .* record\.queue_every"):
        qcnlab.run(dense, reps=1_000_000)
    with pytest.raises(ValueError, match="jobs is 0"):
        short.memory(jobs=0)
