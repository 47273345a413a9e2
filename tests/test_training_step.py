"""Training steps: times by hand to the picosecond, what overlaps, each fault in one line."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.formats import training
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import Setup
from qcnlab.runs.training_steps import StepSummary
from typed_dicts import unlike

if TYPE_CHECKING:
    from qcnlab.results.steps import Steps

EXAMPLE = ROOT / "examples/training/step.toml"
GUIDE = ROOT / "docs/guide/collectives.md"
SETUP = Setup("10 ms", "100 Gb/s", "1 us", 4096)
NS = 1e-9

# Four ranks at one switch, 100 Gb/s (12.5 B/ns), 1 us a link. A part of 4096 B is a packet of
# 4158 B: 332.64 ns on each of two links and 2 us on the way, 2665.28 ns. An acknowledgement of 66 B
# takes 2 x 5.28 ns and 2 us, 2010.56 ns. The second of six steps of the ring waits until the first
# is acknowledged, at 4675.84 ns; the others wait for what comes, behind its acknowledgement:
# 2670.56 ns each. The end waits until the last is acknowledged.
RING = 4675.84 + 2665.28 + 4 * 2670.56 + 2010.56
SMALL = 'collective = "all-reduce"\nsize = "16384 B"\n'


def step(*tasks: str, head: str = "ranks = 4\n") -> str:
    return head + "".join(f"[[task]]\n{task}\n" for task in tasks)


def ran(folder: Path, text: str, setup: Setup = SETUP, *changes: str) -> Steps:
    (folder / "step.toml").write_text(text, encoding="utf-8")
    training.convert(folder / "step.toml", folder / "made.toml", setup, None)
    return qcnlab.run(
        qcnlab.load(folder / "made.toml").with_(*changes), reps=1, progress=False
    ).steps()


def record(steps: Steps, step: int = 0) -> Any:
    return steps.records()[step]


def test_computation_and_a_ring_by_hand(tmp_path: Path) -> None:
    told = record(ran(tmp_path, step('compute = "10 us"', SMALL, 'compute = "5 us"')))
    assert round(told["iteration_s"] * 1e12) == round(15e6 + RING * 1e3)
    assert round(told["exposed_s"] * 1e12) == round(RING * 1e3)
    assert told["computing_s"] == pytest.approx(15e-6)
    first, ring, last = told["tasks"]
    assert (first["began_s"], first["ended_s"]) == (0, pytest.approx(10e-6))
    assert round(ring["longest_s"] * 1e12) == round(RING * 1e3)
    assert round(last["ended_s"] * 1e12) == round(told["iteration_s"] * 1e12)


@pytest.mark.parametrize(
    ("beside", "exposed"), [(50_000.0, 0.0), (8_000.0, RING - 8_000.0), (0.0, RING)]
)
def test_what_overlaps_is_not_exposed(tmp_path: Path, beside: float, exposed: float) -> None:
    told = record(ran(tmp_path, step(
        'compute = "10 us"',
        f'name = "sum"\noverlap = true\n{SMALL}',
        f'compute = "{beside:.0f} ns"',
        'compute = "5 us"\nafter = "sum"',
    )))  # fmt: skip
    assert round(told["exposed_s"] * 1e12) == round(exposed * 1e3)
    assert round(told["iteration_s"] * 1e12) == round((15_000 + beside + exposed) * 1e3)
    assert told["tasks"][1]["exposed_s"] == pytest.approx(exposed * NS)


def test_steps_follow_one_another(tmp_path: Path) -> None:
    text = step('compute = "10 us"', SMALL, head="ranks = 4\nsteps = 3\n")
    steps = ran(tmp_path, text)
    whole = 10_000 + RING
    for number in range(3):
        told = record(steps, number)
        assert round(told["iteration_s"] * 1e12) == round(whole * 1e3)
        assert round(told["exposed_s"] * 1e12) == round(RING * 1e3)
        assert told["tasks"][0]["began_s"] == pytest.approx(number * whole * NS)


def test_collectives_of_a_group_take_turns(tmp_path: Path) -> None:
    """Two rings at once would share links; of one group the second waits for the first."""
    task = f"overlap = true\n{SMALL}"
    told = record(ran(tmp_path, step(task, task)))
    assert round(told["iteration_s"] * 1e12) == round(2 * RING * 1e3)
    first, second = told["tasks"]
    assert second["began_s"] == pytest.approx(first["ended_s"])


def test_groups_are_ranks_so_far_apart(tmp_path: Path) -> None:
    """Pairs, two apart: a ring of two has two steps; all pairs at once, on links of their own."""
    head = "ranks = 4\n[groups.data]\nranks = 2\nstride = 2\n"
    ring = 'collective = "all-reduce"\nsize = "8192 B"\ngroup = "data"\n'
    told = record(ran(tmp_path, step(ring, head=head)))
    # The second step begins at 4675.84 ns; its acknowledgement is the end.
    assert round(told["iteration_s"] * 1e12) == round((4675.84 + 2665.28 + 2010.56) * 1e3)
    rows = (tmp_path / "made.flows.csv").read_text().splitlines()[3:]
    assert {tuple(row.split(",")[:2]) for row in rows} == {
        ("host0", "host2"), ("host2", "host0"), ("host1", "host3"), ("host3", "host1"),
    }  # fmt: skip


def test_all_to_all_by_hand(tmp_path: Path) -> None:
    """Three packets leave each host one after the other, and three arrive at each.

    The last leaves at 3 x 332.64 ns. Behind the first of three at its switch port none waits longer
    than for what came at the same time.
    """
    text = step('collective = "all-to-all"\nsize = "16384 B"')
    told = record(ran(tmp_path, text))
    least = 3 * 332.64 + 332.64 + 2000 + 2010.56
    assert told["iteration_s"] >= least * NS * (1 - 1e-12)
    assert told["iteration_s"] < (least + 3 * 332.64) * NS
    shifted = record(ran(tmp_path, text + 'algorithm = "shift"\n'))
    assert shifted["iteration_s"] > told["iteration_s"]


def drawn(seed: int) -> str:
    dice = random.Random(seed)
    out = ["ranks = 4\n", f"steps = {dice.choice([1, 2])}\n",
           "[groups.pair]\nranks = 2\nstride = 2\n"]  # fmt: skip
    for number in range(6):
        out.append(f'[[task]]\nname = "t{number}"\n')
        if dice.random() < 0.5:
            out.append(f'compute = "{dice.randrange(30)} us"\n')
        else:
            kind = dice.choice(["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
            size = dice.choice([4, 16, 100])
            out.append(f'collective = "{kind}"\nsize = "{size} KB"\n')
            out.append(dice.choice(['group = "pair"\n', ""]))
        out.append(dice.choice(["overlap = true\n", ""]))
        if number and dice.random() < 0.3:
            out.append(f'after = ["t{dice.randrange(number)}"]\n')
    out.append('[[task]]\ncollective = "all-reduce"\nsize = "4 KB"\n')
    return "".join(out)


@pytest.mark.parametrize("seed", range(6))
def test_messages_start_when_their_task_begins(tmp_path: Path, seed: int) -> None:
    """What is worked out of a run, and what its engine did, agree to the picosecond."""
    (tmp_path / "step.toml").write_text(drawn(seed), encoding="utf-8")
    training.convert(tmp_path / "step.toml", tmp_path / "made.toml", SETUP, None)
    result = qcnlab.run(qcnlab.load(tmp_path / "made.toml"), reps=1, progress=False)
    steps = result.steps()
    starts = [round(each * 1e12) for each in result.flows.to_polars()["start_s"].to_list()]
    known = json.loads((tmp_path / "made.flows.csv").read_text().splitlines()[1][len("# step: ") :])
    at = 0
    for rank in range(4):
        for task, count in enumerate(known["sends"][rank if len(known["sends"]) > 1 else 0]):
            interval = steps.timelines[0].tasks[task][rank]
            assert interval is not None
            if count:
                assert min(starts[at : at + count]) == interval[0], (rank, task)
                at += count
            for each in known["waits"][task]:
                before = steps.timelines[0].tasks[each][rank]
                assert before is not None and before[1] <= interval[0]
    assert unlike(steps.summary(), StepSummary) == []
    for told in steps.records():
        assert told["exposed_s"] is not None and told["exposed_s"] >= 0
        shown = sum(each.get("exposed_s") or 0 for each in told["tasks"])
        assert shown <= told["exposed_s"] * (1 + 1e-9)


def test_without_packets_waits_have_their_delays_too(tmp_path: Path) -> None:
    """A step of computation and a ring: at flow level the same waits, in another time."""
    (tmp_path / "step.toml").write_text(
        step('compute = "10 us"', f"overlap = true\n{SMALL}", 'compute = "50 us"', SMALL),
        encoding="utf-8",
    )
    training.convert(tmp_path / "step.toml", tmp_path / "made.toml", SETUP, None)
    scenario = qcnlab.load(tmp_path / "made.toml")
    result = qcnlab.run(scenario, reps=1, progress=False, flow_level=True)
    first: Any = result.steps().records()[0]["tasks"]
    # The second ring begins when 60 us are computed, long after the first has ended.
    assert first[1]["ended_s"] < 59e-6
    assert first[3]["began_s"] == pytest.approx(60e-6)
    starts = [round(each * 1e12) for each in result.flows.to_polars()["start_s"].to_list()]
    assert starts.count(60_000_000) == 4 and starts.count(10_000_000) == 4


def test_a_step_that_did_not_end(cli: CommandLine) -> None:
    (cli.folder / "step.toml").write_text(step('compute = "10 us"', SMALL), encoding="utf-8")
    words = ("--rate", "100 Gb/s", "--delay", "1 us", "-o", "made.toml")
    assert cli("import", "step", "step.toml", "--duration", "20 us", *words).returncode == 0
    cli("run", "made.toml", "-o", "run")
    done = cli("step", "run")
    assert done.returncode == 1
    assert ": did not end\n" in done.stdout
    assert cli("step", "run", "--json").returncode == 1
    other = cli("run", "one-source-into-9g-rtt10us", "-s", "duration=1 ms", "-s", "warmup=0 s",
                "--reps", "1", "-o", "other")  # fmt: skip
    assert other.returncode == 0, other.stderr
    refused = cli("step", "other")
    assert refused.returncode == 2
    assert (
        "has no training step: qcnlab import step, import simai and import chakra" in refused.stderr
    )


def test_the_example_its_figure_and_its_report(cli: CommandLine) -> None:
    (cli.folder / "step.toml").write_bytes(EXAMPLE.read_bytes())
    words = ("--rate", "100 Gb/s", "--delay", "1 us", "-o", "scenario.toml", "--json")
    made = cli("import", "step", "step.toml", "--duration", "10 ms", *words)
    assert made.returncode == 0, made.stderr
    assert "8 ranks with computation after the last message" not in made.stdout
    assert cli("run", "scenario.toml", "-o", "run").returncode == 0
    shown = cli("step", "run").stdout
    assert f"```text\n{shown}```" in GUIDE.read_text(encoding="utf-8")
    done = cli("step", "run", "-o", "gantt.svg", "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["steps"]
    assert told["computing_s"] == pytest.approx(1120e-6)
    assert told["iteration_s"] == pytest.approx(told["computing_s"] + told["exposed_s"])
    figure = (cli.folder / "gantt.svg").read_text(encoding="utf-8")
    assert "all-reduce, 2 ranks, 4 apart" in figure and "computes" in figure
    assert cli("report", "run").returncode == 0
    page = (cli.folder / "run/report.html").read_text(encoding="utf-8")
    assert "<h2>Training step</h2>" in page and "exposed communication" in page


def test_the_figure_has_each_task_of_each_rank(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    steps = ran(tmp_path, step('compute = "10 us"', SMALL, 'compute = "5 us"'))
    (axes,) = steps.plot().axes
    bars = [each.get_paths()[0].get_extents() for each in axes.collections]
    assert len(bars) == 4 * 3
    # In us: the first rank computes for 10 us, above the middle of its row.
    assert (bars[0].x0, bars[0].x1, bars[0].y1) == pytest.approx((0, 10, 0))


SHIPPED = "training-step-8-ranks-two-racks-100g"


def test_the_shipped_step_is_the_example_on_two_racks(cli: CommandLine) -> None:
    (cli.folder / "step.toml").write_bytes(EXAMPLE.read_bytes())
    made = cli("import", "step", "step.toml", "--duration", "20 ms", "--network", SHIPPED,
               "-o", "again.toml")  # fmt: skip
    assert made.returncode == 0, made.stderr
    rows = (cli.folder / "again.flows.csv").read_text(encoding="utf-8").splitlines()[1:]
    shipped = tomllib.loads(qcnlab.load(SHIPPED).to_toml())["traffic"][0]["flows"]
    assert shipped.splitlines() == rows


def test_the_shipped_step_takes_as_long_as_the_guide_says(cli: CommandLine) -> None:
    assert cli("run", SHIPPED, "-o", "racks").returncode == 0
    done = cli("step", "racks", "-o", "racks.svg", "--json")
    (told,) = json.loads(done.stdout)["steps"]
    times = [told["iteration_s"], told["exposed_s"]]
    sprayed = ("routing.multipath=round_robin", "traffic.recovery=selective_repeat")
    for changes in (("scheme.name=none",), ("scheme.name=none", *sprayed)):
        scenario = qcnlab.load(SHIPPED).with_(*changes)
        times.append(record(qcnlab.run(scenario, reps=1, progress=False).steps())["iteration_s"])
    first, exposed, alone, even = (f"{each * 1e3:.1f} ms" for each in times)
    page = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert (
        f"The step takes {first} there with DCQCN, of which the last rank's {exposed} are" in page
    )
    assert f"and {alone} with PFC alone. Had each uplink its half" in page
    assert f"it would take {even}." in page


def test_workloads_of_simai_have_steps(tmp_path: Path) -> None:
    from qcnlab.formats import simai

    simai.convert(
        ROOT / "examples/chakra/simai.txt", tmp_path / "made.toml",
        Setup("10 ms", "400 Gb/s", "500 ns", 4096), None,
    )  # fmt: skip
    steps = qcnlab.run(qcnlab.load(tmp_path / "made.toml"), reps=1, progress=False).steps()
    told = record(steps)
    assert told["iteration_s"] > told["computing_s"] > 0
    assert told["exposed_s"] > 0
    assert any(each["name"] == "layer 0 forward, all-reduce" for each in told["tasks"])


FAULTS = [
    ("ranks = 4", "", "ranks is missing: write a whole number from 2"),
    ("ranks = 4", "ranks = 1", "ranks is 1: write a whole number from 2"),
    ("ranks = 4", "ranks = true", "ranks is True"),
    ("ranks = 4", "rank = 4", "unknown key 'rank': did you mean ranks?"),
    ("ranks = 4", "ranks = ", "step.toml: Invalid value"),
    ("ranks = 4", "ranks = 4\nsteps = 0", "steps is 0"),
    ("ranks = 4", "ranks = 4\nsteps = 9999999", "steps is 9999999"),
    ("ranks = 4", "ranks = 100000\nsteps = 10000", "are more than 5000000 in their product"),
    ("ranks = 4", "ranks = 4\n[groups.x]\nranks = 3", "groups.x: 3 ranks 1 apart do not divide 4"),
    ("ranks = 4", "ranks = 4\n[groups]\nx = 3", "groups are tables"),
    ('"10 us"', '"10"', "line 2: compute: "),
    ('"10 us"', "10", "line 2: compute is 10: write a time"),
    ('"10 us"', '"\u0661 us"', "line 2: compute: "),
    ('"10 us"', '"10 us"\nsize = "1 B"', "line 2: unknown key 'size'"),
    ('"10 us"', '"10 us"\ncollective = "all-reduce"', "has both compute and collective"),
    ('"10 us"', '"10 us"\nafter = "x"', "after: no task before this one is 'x'"),
    ('"10 us"', '"10 us"\noverlap = 1', "overlap is true or false"),
    ('"16384 B"', '"16384"', "line 4: size is '16384': write octets"),
    ('"16384 B"', '"0 B"', "size is '0 B'"),
    ('"16384 B"', '"16384 B"\ngroup = "none"', "no group is called 'none': there are all"),
    ('"16384 B"', '"16384 B"\nalgorithm = "tree"', "algorithm is 'tree': ring, direct, halving-"),
    ('"all-reduce"', '"all"', "collective is 'all': there are all-reduce"),
    ('collective = "all-reduce"', 'name = "a"', "'a' has neither of compute and collective"),
    ("[[task]]", 'name = "x"\n[[task]]', "unknown key 'name': there are ranks"),
    ("ranks = 4", f"ranks = 4\nx = {'[' * 2000}", "step.toml: "),
]


@pytest.mark.parametrize(("before", "after", "told"), FAULTS)
def test_faults_are_one_line(tmp_path: Path, before: str, after: str, told: str) -> None:
    text = step('compute = "10 us"', SMALL)
    assert before in text
    (tmp_path / "step.toml").write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(FormatError) as fault:
        training.convert(tmp_path / "step.toml", tmp_path / "made.toml", SETUP, None)
    said = str(fault.value).replace(str(tmp_path) + "/", "")
    assert told in said and "\n" not in said and len(said) < 400, said
    assert not (tmp_path / "made.toml").exists()


def test_names_are_single_and_files_are_text(tmp_path: Path) -> None:
    twice = step('name = "a"\ncompute = "1 us"', f'name = "a"\n{SMALL}')
    halving = step('collective = "all-reduce"\nsize = "9 KB"\nalgorithm = "halving-doubling"',
                   head="ranks = 3\n")  # fmt: skip
    for octets, told in (
        (twice.encode(), "another task has the name 'a', too"),
        (halving.encode(), "halving-doubling takes a power of two"),
        (b"ranks = 4", r"there is no \[\[task\]\]"),
        (b"\xff\xfe", "it is no UTF-8 text"),
        (b"x = 1" + b" " * training.MOST_FILE, "octets at most"),
    ):
        (tmp_path / "step.toml").write_bytes(octets)
        with pytest.raises(FormatError, match=told):
            training.read(tmp_path / "step.toml")
    with pytest.raises(FormatError, match="No such file"):
        training.read(tmp_path / "nothing.toml")


def test_the_guide_shows_the_example() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    shown = next(part.partition("```")[0] for part in text.split("```toml\n") if "[[task]]" in part)
    assert tomllib.loads(shown) == tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
