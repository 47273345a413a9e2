"""Advice: regret by hand, what is derived and searched, and searches that stop and go on."""

from __future__ import annotations

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import qcnlab
from conftest import CommandLine
from qcnlab.advising.advice import Advice
from qcnlab.advising.cases import NAMES, derive
from qcnlab.advising.knobs import KMAX, KMIN, RATIO, Space
from qcnlab.advising.regret import regrets
from qcnlab.advising.searching import _Left
from qcnlab.advising.told import AdviceSummary
from qcnlab.results.explanation import explanation
from qcnlab.tuning.trial import Trial
from typed_dicts import unlike

pytest.importorskip("optuna")

FABRIC = """
duration = "1 ms"
drain = true
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 2
rate = "10 Gb/s"
delay = "1 us"
[[shared_buffer]]
kind = "dynamic"
size = "400 KB"
pg_alpha = 0.5
headroom = "30 KB"
[[pause]]
kind = "priority"
priorities = "3"
rule = "dynamic"
reaction = "1 us"
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "host{1..3}"
to = "host4"
size = "60 KB"
frame = "1048 B"
headers = "48 B"
priority = 3
cn_tag = false
[scheme]
name = "dcqcn"
preset = "CONNECTX"
cp.k_min = "2 KB"
cp.k_max = "4 KB"
cp.p_max = 1.0
"""
INF = math.inf


@pytest.fixture(scope="module")
def fabric() -> qcnlab.Scenario:
    """Two leaves, two spines, four hosts; three send to the fourth."""
    return qcnlab.Scenario.from_toml(FABRIC, "fabric")


def test_regret_is_a_part_of_each_cases_own_best() -> None:
    # Bests: 2 and 3. Candidate 0: (4 - 2) / 2 = 1 and 0; 1: 0 and (6 - 3) / 3 = 1; 2: 0.5 and 0.2.
    told = regrets([[4.0, 3.0], [2.0, 6.0], [3.0, 3.6]], smallest=True)
    assert told.best == (2.0, 3.0) and told.scale == (2.0, 3.0)
    assert told.of[:2] == ((1.0, 0.0), (0.0, 1.0))
    assert told.of[2] == pytest.approx((0.5, 0.2))
    # The largest regrets are 1, 1 and 0.5: the third is robust though it is best in no case.
    assert told.robust([0, 1, 2]) == 2
    assert told.worst_case(2) == 0 and told.mean(2) == pytest.approx(0.35)
    # Large values are good: bests 4 and 6; (4 - 2) / 4, (6 - 3) / 6.
    assert regrets([[4.0, 3.0], [2.0, 6.0]], smallest=False).of == ((0.0, 0.5), (0.5, 0.0))


def test_where_the_best_is_zero_regret_is_a_part_of_the_present_value() -> None:
    # Best 0, as it is 8: 8 / 8 and 2 / 8.
    assert regrets([[8.0], [0.0], [2.0]], smallest=True).of == ((1.0,), (0.0,), (0.25,))
    # As it is 0, too: of the largest, 10: 10 / 10 and 5 / 10.
    assert regrets([[0.0], [10.0], [5.0]], smallest=True).of == ((0.0,), (1.0,), (0.5,))
    # All 0: nobody regrets anything.
    assert regrets([[0.0], [0.0]], smallest=True).of == ((0.0,), (0.0,))


def test_a_metric_that_is_missing() -> None:
    # In case 0 candidate 1 has none: its regret is infinite, and the others' is as before.
    told = regrets([[4.0, 1.0], [INF, 1.0], [2.0, 2.0]], smallest=True)
    assert told.of == ((1.0, 0.0), (INF, 0.0), (0.0, 1.0))
    assert told.robust([0, 1, 2]) == 0 and told.robust([1, 2]) == 2
    # In case 0 nobody has one: the case does not count, nor in the mean.
    told = regrets([[INF, 1.0], [INF, 3.0]], smallest=True)
    assert told.best == (None, 1.0) and told.of == ((0.0, 0.0), (0.0, 2.0))
    assert told.mean(1) == 2.0
    # Of a metric that is made large the missing value is minus infinity.
    assert regrets([[2.0], [-INF]], smallest=False).of == ((0.0,), (INF,))


def test_of_equal_candidates_the_present_settings_stay() -> None:
    assert regrets([[2.0, 2.0], [2.0, 2.0]], smallest=True).robust([0, 1]) == 0
    # Equal largest regrets, 1 each: the smaller mean decides, (1 + 0) / 2 before (1 + 0.5) / 2.
    told = regrets([[4.0, 3.0], [4.0, 2.0], [2.0, 2.0]], smallest=True)
    assert [told.worst(each) for each in (0, 1)] == [1.0, 1.0]
    assert told.robust([0, 1]) == 1


def test_a_candidate_that_breaks_a_bound_is_no_best() -> None:
    told = regrets([[4.0], [1.0], [5.0]], smallest=True, eligible=[True, False, True])
    assert told.best == (4.0,) and told.of == ((0.0,), (0.0,), (0.25,))
    # Where none keeps the bounds, all count.
    assert regrets([[4.0], [1.0]], smallest=True, eligible=[False, False]).best == (1.0,)


def test_the_worst_cases_are_derived(fabric: qcnlab.Scenario) -> None:
    cases, lacking = derive(fabric)
    assert [case.name for case in cases] == list(NAMES) and not lacking
    own, incast, failed, slow = (case.scenario.to_dict() for case in cases)
    assert own == fabric.to_dict()
    added = incast["traffic"][1]
    # 10 Gb/s x min(40 us, 1 ms / (4 x 3)) / 8 = 50,000 B of each of three, at 250 and 750 us.
    assert (added["arrivals"], added["transport"]) == ("incast", "roce")
    assert (added["to"], added["senders"]) == ("host4", 3)
    assert (added["size"], added["start"], added["period"]) == ("50 KB", "250 us", "500 us")
    assert added["priority"] == 3 and incast["traffic"][0] == own["traffic"][0]
    assert failed["failure"] == [{"link": "leaf2->spine1", "from": "0 s", "until": "1 ms"}]
    assert failed["routing"]["converges_after"] == "0 s"
    assert slow["adapter"][0]["only"] == "host4"
    assert slow["adapter"][0]["receive_rate"] == "5 Gb/s"
    assert [each["rule"] for each in slow["pause"]] == ["watermarks", "dynamic"]
    assert slow["pause"][0]["reaction"] == "1 us"
    assert {case.name: case.told for case in cases}["failed-link"].startswith("leaf2->spine1 is")


def test_cases_that_a_scenario_does_not_have_are_told() -> None:
    star = qcnlab.load("incast-16-to-1-100g").with_("topology.sources=2")
    cases, lacking = derive(star)
    assert [case.name for case in cases] == ["own", "incast"]
    assert dict(lacking) == {
        "failed-link": "no link joins two switches",
        "slow-receiver": "nothing is paused: frames that a host does not read are lost",
    }
    chain = qcnlab.Scenario.from_toml(FABRIC.replace("spines = 2", "spines = 1"), "one")
    assert dict(derive(chain, ["failed-link"])[1]) == {
        "failed-link": "without any of its links some hosts would be cut off"
    }
    one = derive(star.with_("topology.sources=1"), ["incast"])
    assert one[1] == [("incast", "an incast takes three hosts")]


def test_what_is_searched_sets_what_devices_can_have(fabric: qcnlab.Scenario) -> None:
    space = Space(fabric)
    assert [each.key for each in space.dimensions] == [
        KMIN, RATIO, "Pmax (%)", "alpha (2^n)", "AI rate (Mb/s)", "time reset (us)",
        "CNP interval (us)", "g (of 1024)",
    ]  # fmt: skip
    # hai_rate keeps its ratio to ai_rate, 50 to 5; g is of 1024; alpha a power of two.
    assert space.changes({"AI rate (Mb/s)": "7", "g (of 1024)": "8", "alpha (2^n)": "-2"}) == [
        "shared_buffer.0.pg_alpha=0.25", "scheme.rp.ai_rate=7 Mb/s", "scheme.rp.hai_rate=70 Mb/s",
        "scheme.rp.g=0.0078125",
    ]  # fmt: skip
    assert space.changes({KMIN: "20000", RATIO: "1.5"}) == [
        "scheme.cp.k_min=20000 B", "scheme.cp.k_max=30000 B"
    ]  # fmt: skip
    # Kmin alone: Kmax keeps its ratio to it, 4 KB to 2 KB.
    assert space.words({KMIN: "20000"})[KMAX] == "40000"
    assert space.words({})[KMIN] == "2000" and space.words({})["Pmax (%)"] == "100"
    assert all(fabric.with_(*space.changes({each.key: end})) for each in space.dimensions
               for end in each.ends())  # fmt: skip


def test_several_tables_keep_their_ratio() -> None:
    more = FABRIC + "".join(
        f'[[wred]]\nports = "{ports}"\nk_min = "{low} KB"\nk_max = "{high} KB"\np_max = 0.1\n'
        for ports, low, high in (("leaf*->*", 100, 400), ("spine*->*", 50, 100))
    )
    space = Space(qcnlab.Scenario.from_toml(more, "two"))
    assert space.changes({KMIN: "10000", RATIO: "2"}) == [
        "wred.0.k_min=10000 B", "wred.0.k_max=20000 B",
        "wred.1.k_min=5000 B", "wred.1.k_max=5000 B",
    ]  # fmt: skip
    assert ("scheme.cp", "[[wred]] has the thresholds of its queues") in space.kept
    assert space.changes({"Pmax (%)": "5"}) == ["wred.0.p_max=0.05", "wred.1.p_max=0.05"]


def test_neighbours_are_half_and_double(fabric: qcnlab.Scenario) -> None:
    around = Space(fabric).beside({KMIN: "20000", "alpha (2^n)": "1"})
    values: dict[str, list[str]] = {}
    for key, changed in around:
        values.setdefault(key, []).append(changed[key])
        assert changed.keys() >= {KMIN, "alpha (2^n)"}
    assert values[KMIN] == ["10000", "40000"] and values["alpha (2^n)"] == ["0", "2"]
    # Pmax is 100 % and has no double.
    assert values["Pmax (%)"] == ["50"]
    assert values[RATIO] == ["1", "4"] and values["g (of 1024)"] == ["2", "10"]
    ranged = Space(
        fabric, {"scheme.rp.g": "0.001..0.1:log", "scheme.rp.clamp": "always,after_increase"}
    )
    assert [changed for _, changed in ranged.beside({"scheme.rp.g": "0.08"})] == [
        {"scheme.rp.g": "0.04"}, {"scheme.rp.g": "0.08", "scheme.rp.clamp": "always"},
        {"scheme.rp.g": "0.08", "scheme.rp.clamp": "after_increase"},
    ]  # fmt: skip


def advice(fabric: qcnlab.Scenario, folder: Path, **changed: Any) -> Advice:
    from qcnlab.advising.searching import Options, search

    own = {"trials", "cases", "around", "subject_to", "minimize"} & changed.keys()
    names = {key: changed.pop(key) for key in own}
    options = Options(**{"trials": 3, "cases": ("own", "incast"), "around": False, **names})
    return search(fabric, "fabric.toml", (), options, folder, seed=5, **changed)


FILES = ("trials.jsonl", "trials.csv", "advice.svg", "robust.toml", "patch.args")


@pytest.fixture(scope="module")
def whole(fabric: qcnlab.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search of three trials with their neighbours."""
    folder = tmp_path_factory.mktemp("advice") / "out"
    advice(fabric, folder, around=True)
    return folder


def test_the_answer_follows_from_the_trials(fabric: qcnlab.Scenario, whole: Path) -> None:
    told = json.loads((whole / "advice.json").read_bytes())
    rows = qcnlab_rows(whole)
    metric = told["goal"]["metric"]
    assert metric == "slowdown_p99" and told["bounds"] == ["drops=0"]
    for index, case in enumerate(("own", "incast")):
        column = [row[f"{case} {metric}"] for row in rows if row["kept"]]
        assert told["cases"][index]["best"] == min(column)
        for row in rows:
            regret = (row[f"{case} {metric}"] - min(column)) / min(column)
            assert row[f"{case} regret"] == pytest.approx(max(regret, 0.0))
    least = min(row["worst_regret"] for row in rows if row["kept"])
    robust = rows[told["robust"]["trial"]]
    assert robust["trial"], "marks from 2 KB on are no good settings"
    assert robust["worst_regret"] == least == told["robust"]["worst_regret"]
    keys = [each["key"] for each in told["neighbours"]]
    assert set(keys) == set(told["searched"]) and len(keys) > len(set(keys))
    assert {each["trial"] for each in told["dominates"]} == {0, told["robust"]["trial"]}
    by_run = {(each["trial"], each["case"]): each for each in told["dominates"]}
    assert len(by_run) == 4
    # What is printed can be run again: the robust scenario is the patch, in each case.
    own = qcnlab.load(whole / "robust" / "own.toml")
    assert own.to_dict() == fabric.with_(*told["robust"]["patch"]).to_dict()
    again = qcnlab.run(own, reps=1, seed=5)
    assert again.metric(metric) == told["robust"]["by_case"]["own"][metric]
    # So can the sums over its slowest flows.
    recorded = qcnlab.run(own.with_("record.tables=true"), reps=1, seed=5)
    slow = explanation(recorded, 0, 5)["slow"]
    said = by_run[told["robust"]["trial"], "own"]
    assert said["flows"] == len(slow) > 1
    for key in ("lasted_s", "sending_s", "paused_s", "rest_s"):
        assert said[key] == sum(each[key] for each in slow), key


def qcnlab_rows(folder: Path) -> list[dict[str, Any]]:
    import polars as pl

    return pl.read_csv(folder / "trials.csv", infer_schema_length=None).to_dicts()


def test_seed_0_is_a_seed_and_the_second_look_takes_the_next(
    fabric: qcnlab.Scenario, tmp_path: Path
) -> None:
    told = qcnlab.advise(
        fabric, cases=["own"], trials=1, flatness=False, seed=0, out=tmp_path / "out"
    )
    first, second, other = (
        qcnlab.run(fabric, reps=1, seed=seed).metric("slowdown_p99")
        for seed in (0, 1, fabric.seed + 7)
    )
    assert len({first, second, other}) == 3, "seeds give the same here"
    assert told.to_polars()["own slowdown_p99"][0] == first
    assert [list(runs) for runs in told.again[0].metrics["slowdown_p99"]] == [[second]]


def test_it_stops_and_goes_on_to_the_same_bytes(
    fabric: qcnlab.Scenario, whole: Path, tmp_path: Path
) -> None:
    for trials in (1, 3):
        advice(fabric, tmp_path / "out", around=True, trials=trials, jobs=1)
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (whole / name).read_bytes(), name
    first, second = ((each / "advice.json").read_text() for each in (tmp_path / "out", whole))
    assert first.replace(str(tmp_path / "out"), "") == second.replace(str(whole), "")
    with pytest.raises(
        qcnlab.FolderError, match="conditions: there case=own,incast, here case=own"
    ):
        advice(fabric, tmp_path / "out", cases=("own",))


def test_an_executor_gives_the_same_bytes(
    fabric: qcnlab.Scenario, whole: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        advice(fabric, tmp_path / "out", around=True, on=pool)
    assert (tmp_path / "out/trials.jsonl").read_bytes() == (whole / "trials.jsonl").read_bytes()


def test_bounds_that_nobody_keeps_are_told(fabric: qcnlab.Scenario, tmp_path: Path) -> None:
    lines: list[str] = []
    told = advice(fabric, tmp_path / "out", trials=1, cases=("own",), say=lines.append,
                  subject_to=("queue_max_bytes<=1 KB",))  # fmt: skip
    assert not told.kept and "No trial keeps all bounds" in told.text()
    # 1 trial, the present, two again: 4 sets of one case, and two runs that say what dominates.
    assert ": 6 runs" in lines[0]
    assert re.fullmatch(r"trial 1: .* a trial in the mean, about \d+ s to go", lines[1])


def test_what_is_left_is_told_by_the_trials_so_far() -> None:
    lines: list[str] = []
    left = _Left(trials=40, after=20, say=lines.append)
    # The scenario as it is takes long, since processes start, and trials 1 and 2 were kept.
    for number, seconds in enumerate((100.0, None, None, 1.0, 3.0, 3.0, 5.0, 9.0)):
        left.told(Trial(number, {}, {}, (0.0,), 0.0), seconds)
    assert lines == [
        # 37 trials and 20 around them, of 1 s; then 34 and 20, of (1 + 3 + 3 + 5) / 4 s.
        "trial 3: 1 s a trial in the mean, about 57 s to go",
        "trial 6: 3 s a trial in the mean, about 3 min to go",
    ]


def test_values_of_flows_that_did_not_finish_are_bounds(
    fabric: qcnlab.Scenario, tmp_path: Path
) -> None:
    short = fabric.with_("duration=60 us", "drain=false")
    told = advice(short, tmp_path / "out", trials=1, cases=("own",))
    words = " ".join(told.text().split())
    assert "Flows did not finish in own (3 flows): values there are lower bounds" in words
    assert ">= " in words
    assert told.summary["unfinished"]["present"] == {"own": 3}


BAD = {
    "no case": (("--cases", "owl"), "none of own, incast, failed-link, slow-receiver"),
    "two goals": (("--minimize", "drops", "--maximize", "jain"), "not both"),
    "no metric": (("--minimize", "queue"), "no metric"),
    "a bound": (("--subject-to", "drops"), "a bound is a metric"),
    "no range": (("--vary", "scheme.cp.k_min"), "KEY=LOW..HIGH"),
    "no key": (("--vary", f"{KMIN}=1 KB..9 KB"), "'Kmin (B)' is no key of a scenario"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_asked(cli: CommandLine, name: str) -> None:
    words, message = BAD[name]
    (cli.folder / "fabric.toml").write_text(FABRIC)
    done = cli("advise", "fabric.toml", *words, "-o", "out")
    assert done.returncode == 2 and message in " ".join(done.stderr.split()), done.stderr
    assert not (cli.folder / "out").exists()


def test_traffic_without_sizes_asks_for_a_goal(cli: CommandLine) -> None:
    (cli.folder / "fabric.toml").write_text(
        FABRIC.replace('size = "60 KB"\n', "").replace("drain = true\n", "")
    )
    done = cli("advise", "fabric.toml", "-o", "out")
    assert done.returncode == 2
    assert "traffic with arrivals saturated has no size, so no completion time" in done.stderr


def test_the_command_prints_advice(cli: CommandLine) -> None:
    (cli.folder / "fabric.toml").write_text(FABRIC)
    words = ("--cases", "own", "--trials", "1", "--no-flatness", "-o", "out", "--seed", "5")
    done = cli("advise", "fabric.toml", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "fabric: minimize slowdown_p99, subject to drops=0"
    assert "runs" in done.stderr and done.stdout.splitlines()[-1] == "out"
    told = json.loads(cli("advise", "fabric.toml", *words, "--json").stdout)
    assert told["trials"] == 1 and told["folder"] == "out"
    bare = cli("advise", "fabric.toml", *words[:-4], "-o", "other", "--seed", "5", "--subject-to",
               "none", "--maximize", "bottleneck_gbps", "--json")  # fmt: skip
    assert bare.returncode == 0, bare.stderr
    assert json.loads(bare.stdout)["bounds"] == []


def test_python_has_the_same_search(fabric: qcnlab.Scenario, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    told = qcnlab.advise(
        fabric, cases=["own"], trials=2, flatness=False, seed=5, out=folder, subject_to="drops=0"
    )
    again = qcnlab.advise(
        fabric, cases=["own"], trials=2, flatness=False, seed=5, out=folder, subject_to=["drops=0"]
    )
    written = json.loads((folder / "advice.json").read_bytes())
    assert again.summary == told.summary == written
    assert unlike(written, AdviceSummary) == []
    assert repr(told) == f"<Advice {fabric.name}: 2 trials>"
    assert told.text().startswith(f"{fabric.name}: minimize slowdown_p99")
    assert len(told.plot().axes) == 2 and told.to_polars().height == 3
    with pytest.raises(qcnlab.FolderError):
        qcnlab.advise(fabric, cases=["incast"], trials=2, flatness=False, seed=5, out=folder)
    for asked, message in (({"cases": ["owl"]}, "'owl' is none of own"), ({"cases": []}, "none of"),
                           ({"trials": 0}, "trials")):  # fmt: skip
        with pytest.raises((qcnlab.Error, ValueError), match=message):
            qcnlab.advise(fabric, out=tmp_path / "bad", **asked)
    assert not (tmp_path / "bad").exists()


def test_goal_keys_replications_and_threads_are_those_that_are_asked(
    cli: CommandLine, fabric: qcnlab.Scenario
) -> None:
    key = "scheme.cp.k_min"
    told = qcnlab.advise(
        fabric, maximize="slowdown_p99", vary={key: "20 KB..80 KB"}, cases=["own"], trials=2,
        flatness=False, reps=2, seed=5, jobs=1, out=cli.folder / "python",
    )  # fmt: skip
    rows = told.to_polars().to_dicts()
    assert [name for name in rows[0] if name.startswith("scheme.")] == [key]
    for row in rows:
        again = qcnlab.run(fabric.with_(f"{key}={row[key]}"), reps=2, seed=5)
        assert row["own slowdown_p99"] == again.metric("slowdown_p99")
    # The largest is the best, and the others regret what they lack of it.
    best = max(row["own slowdown_p99"] for row in rows)
    for row in rows:
        assert row["own regret"] == pytest.approx(1.0 - row["own slowdown_p99"] / best)
    assert told.summary["goal"] == {"metric": "slowdown_p99", "smallest": False}
    assert told.summary["replications"] == 2
    # The command has the same options; what is made small by name is what is by default.
    (cli.folder / "fabric.toml").write_text(FABRIC)
    words = ("--vary", f"{key}=20 KB..80 KB", "--cases", "own", "--trials", "2", "--no-flatness",
             "--reps", "2", "--seed", "5", "-j", "1", "--json")  # fmt: skip
    done = cli("advise", "fabric.toml", "--maximize", "slowdown_p99", *words, "-o", "largest")
    assert done.returncode == 0, done.stderr
    trials = "trials.csv"
    assert (cli.folder / "largest" / trials).read_bytes() == (
        cli.folder / "python" / trials
    ).read_bytes()
    small = [
        json.loads(cli("advise", "fabric.toml", *goal, *words, "-o", folder).stdout)
        for goal, folder in (((), "default"), (("--minimize", "slowdown_p99"), "named"))
    ]
    assert [each["robust"]["trial"] for each in small] == [2, 2]
