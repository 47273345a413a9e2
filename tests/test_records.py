"""Records of JSON, and the summary of a run as one."""

from __future__ import annotations

import json
import pickle
import tomllib
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import pytest

import qcnlab
from made_up_run import made_up_summary
from qcnlab.catalogue.entries import Word
from qcnlab.catalogue.words import FILE as WORDS_FILE
from qcnlab.headroom.platforms import FILE as PLATFORMS_FILE
from qcnlab.headroom.platforms import Platform
from qcnlab.metrics import metrics
from qcnlab.records import ByName, Record, read
from qcnlab.runs import collective_runs, summary
from qcnlab.runs.summary import Counters, Ending, Summary
from test_deadlock import RING as STANDING
from typed_dicts import unlike

if TYPE_CHECKING:
    from pathlib import Path

RING = "ring-all-reduce-8-ranks-star-100g"


@dataclass(frozen=True, slots=True)
class Line(Record):
    words: tuple[str, ...]
    number: float | None
    named: ByName[int]
    also: str = ""


@pytest.fixture(scope="module")
def runs() -> dict[str, qcnlab.Result]:
    """Return a run of each kind whose summary has keys of its own."""
    ring = qcnlab.load(RING)
    flows = qcnlab.load("incast-16-to-1-100g")
    return {
        "ended": qcnlab.run(ring, reps=2),
        "cut off": qcnlab.run(ring.with_("duration=500 us"), reps=1),
        "deadlock": qcnlab.run(qcnlab.Scenario.from_toml(STANDING), reps=1),
        "without packets": qcnlab.run(flows, reps=1, flow_level=True),
    }


def test_a_record_is_read_and_written_as_json_has_it() -> None:
    tree = {"words": ["a", "b"], "number": 3, "named": {"x": 1}}
    line = read(Line, tree, "the file")
    assert line == Line(("a", "b"), 3, ByName({"x": 1}))
    assert line.named == {"x": 1} and len(line.named) == 1 and "y" not in line.named
    assert line.to_dict() == tree
    # What has its default is left out, and a key that a later version may write is passed over.
    assert replace(line, also="c").to_dict() == {**tree, "also": "c"}
    assert read(Line, {**tree, "later": 1}, "the file") == line
    assert pickle.loads(pickle.dumps(line)) == line


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": "ab"}, "the file: words is 'ab', not a list"),
        ({"words": [1]}, "the file: words[0] is 1, not text"),
        ({"number": "3"}, "the file: number is '3', not a number"),
        ({"number": True}, "the file: number is True, not a number"),
        ({"named": []}, "the file: named is a list, not an object"),
        ({"named": {"x": 1.5}}, "the file: named.x is 1.5, not a whole number"),
        ({"named": {"x": None}}, "the file: named.x is None, not a whole number"),
    ],
)
def test_what_is_not_as_declared_is_refused_with_its_place(
    change: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError) as refused:
        read(Line, {"words": [], "number": None, "named": {}, **change}, "the file")
    assert str(refused.value) == said


def test_a_key_that_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match=r"^the file: named is missing$"):
        read(Line, {"words": [], "number": None}, "the file")


def test_a_name_that_is_not_there_has_the_nearest_one() -> None:
    with pytest.raises(KeyError, match="'jian' is not there; did you mean 'jain'"):
        ByName({"jain": 1, "drops": 2})["jian"]


@pytest.mark.parametrize("kind", ["ended", "cut off", "deadlock", "without packets"])
def test_a_summary_holds_what_its_file_holds(
    runs: dict[str, qcnlab.Result], kind: str, tmp_path: Path
) -> None:
    result = runs[kind]
    result.save(tmp_path / "run")
    octets = (tmp_path / "run" / "summary.json").read_bytes()
    tree = json.loads(octets)
    again = qcnlab.open_run(tmp_path / "run")
    assert again.summary == result.summary == Summary.read(tree)
    assert list(tree) == list(again.summary.to_dict())
    assert again.summary.to_dict() == tree
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "summary.json").read_bytes() == octets
    assert pickle.loads(pickle.dumps(again.summary)) == again.summary
    assert again.summary.lacks == ()
    assert again.tree == result.tree


def test_what_the_core_counts_and_measures_is_what_a_summary_has(
    runs: dict[str, qcnlab.Result],
) -> None:
    written = runs["ended"].summary.to_dict()
    assert isinstance(written["counters"], dict)
    assert list(written["counters"]) == [each.name for each in fields(Counters)]
    assert list(runs["ended"].summary.metrics) == [each.name for each in metrics()]
    assert isinstance(runs["ended"].summary.collectives[0], collective_runs.EndedRun)
    assert not isinstance(runs["cut off"].summary.collectives[0], collective_runs.EndedRun)
    assert runs["without packets"].summary.counters.pause_frames is None
    assert runs["deadlock"].summary.deadlocked == [0]


def test_records_of_runs_cannot_be_changed() -> None:
    kinds: list[Any] = [
        kind
        for module in (summary, collective_runs)
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and is_dataclass(kind)
    ]
    assert len(kinds) > 8
    for kind in kinds:
        assert issubclass(kind, Record) and kind.__dataclass_params__.frozen, kind
        assert "__dict__" not in dir(kind), kind
    made = made_up_summary()
    with pytest.raises(FrozenInstanceError):
        made.seed = 2  # type: ignore[misc]


def test_a_summary_is_no_dictionary_and_says_what_to_write() -> None:
    made: Any = made_up_summary(metrics={"jain": [1.0]})
    with pytest.raises(TypeError, match=r"write \.metrics, not \['metrics'\]; its to_dict\(\)"):
        made["metrics"]
    with pytest.raises(TypeError, match=r"a MetricValues has attributes: write \.median"):
        made.metrics["jain"]["median"]


def test_an_older_folder_says_what_it_lacks(tmp_path: Path) -> None:
    short = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=2 ms", "warmup=0 s")
    tree: dict[str, Any] = qcnlab.run(short, reps=1).summary.to_dict()
    del tree["counters"]["link_drops"]
    del tree["metrics"]["never_started"]
    older = Summary.read(json.loads(json.dumps(tree)))
    assert older.lacks == ("metrics.never_started", "counters.link_drops")
    assert older.counters.link_drops is None
    # Written again it is what it was.
    assert older.to_dict() == tree


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ends": [{"end_s": 1.0, "why": "bored"}]}, "ends[0].why is 'bored', not one of duration"),
        ({"ends": []}, "0 ends are of 1 replications"),
        ({"counters": {"events": 1}}, "counters.frame_hops is missing"),
        (
            {"metrics": {"jain": {"unit": "", "median": 1, "min": 1, "max": 1, "values": []}}},
            "metrics.jain has 0 values for 1 replications",
        ),
    ],
)
def test_a_damaged_summary_is_refused_with_its_place(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Summary.read({**made_up_summary(metrics={"jain": [1.0]}).to_dict(), **change})
    assert str(refused.value).startswith(f"summary.json: {said}")


def test_an_ending_has_a_circle_only_in_a_deadlock() -> None:
    assert Ending(1.0, "drained").to_dict() == {"end_s": 1.0, "why": "drained"}
    stood = Ending(1.0, "deadlock", ("a->b", "b->a"), 0.5)
    assert read(Ending, stood.to_dict(), "x") == stood


class Named(TypedDict):
    name: str
    also: NotRequired[list[str | None]]


class Held(TypedDict, total=False):
    one: Named
    many: dict[str, Named]
    kind: Literal["a", "b"]


def test_what_is_not_as_a_typed_dict_says_is_told() -> None:
    named = {"name": "x", "also": ["y", None]}
    assert unlike({"one": named, "many": {"z": {"name": "z"}}, "kind": "a"}, Held) == []
    assert unlike({}, Held) == []
    assert unlike({"one": {"also": []}}, Held) == ["it.one has no name"]
    assert unlike({"two": 2}, Held) == ["it has two, too"]
    assert unlike([{"name": True}], list[Named]) == ["it[0].name is True, not of <class 'str'>"]
    assert unlike({"many": {"z": 1}}, Held) == ["it.many.z is 1, not an object"]
    assert unlike({"kind": "c"}, Held) == ["it.kind is 'c', not one of ('a', 'b')"]
    assert unlike({"name": "x", "also": [1]}, Named) != []


def test_our_own_files_have_no_key_that_their_records_lack() -> None:
    """Keys that a record lacks are passed over: in a file of ours such a key is a slip."""
    words = tomllib.loads(WORDS_FILE.read_text(encoding="utf-8"))
    assert words.keys() == {"word", "alias"}
    platforms = tomllib.loads(PLATFORMS_FILE.read_text(encoding="utf-8"))["platform"]
    for kind, listed in ((Word, words["word"]), (Platform, platforms)):
        known = {field.name for field in fields(kind)}
        assert all(each.keys() <= known for each in listed)
