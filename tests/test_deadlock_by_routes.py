"""`qcnlab deadlock`: circles of buffers from routes; the guide about it says what is so."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.text import Annotation

import qcnlab
from conftest import ROOT
from qcnlab.commands.deadlock import answer, report, warnings
from qcnlab.figures.deadlock import deadlock_figure, positions
from qcnlab.runs.circular_waits import CircularWaits
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from conftest import CommandLine

GUIDE = (ROOT / "docs/guide/deadlock.md").read_text(encoding="utf-8")
RING = "deadlock-of-pfc-ring-40g"
TREE = "fat-tree-web-search-50-percent-100g"
LEAVES = "link-failure-leaf-spine-100g"
STAR = "og-hotspot-2src-10g-to-500m-rtt10us"


def test_the_commands_of_the_guide_print_what_it_says(cli: CommandLine) -> None:
    block = re.compile(r"^```\n(qcnlab [^\n]*)\n```\n+(?:```text\n(.*?)^```)?", re.M | re.S)
    blocks = block.findall(GUIDE)
    assert len(blocks) == GUIDE.count("```\nqcnlab ") == 3
    for line, printed in blocks:
        done = cli(*shlex.split(line)[1:])
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith(printed)
        if " run " in line:
            assert "switch5->switch1 stopped by PFC, each" in done.stdout
            assert "deadlock found at 3 ms" in done.stdout


def test_the_counts_of_the_guide_are_ours() -> None:
    bounced = report(qcnlab.load(TREE), 1, all_pairs=True, bounce=True)
    assert [each.circular for each in bounced.cases] == [0, 16]
    one = "topology.spines=2", "topology.hosts=4"
    for leaves, bounce, circular in ((4, False, 12), (4, True, 16), (3, False, 0), (3, True, 3)):
        changes = "traffic.0.from=host1", "traffic.0.to=host12", f"topology.leaves={leaves}"
        told = report(qcnlab.load(LEAVES).with_(*one, *changes), 2, all_pairs=True, bounce=bounce)
        own = [each for each in told.cases if each.own]
        assert [each.circular for each in told.cases] == [0, 0, circular, 0], told.cases
        assert [each.failures for each in own] == [1]


def test_the_command_hears_of_bounced_frames_and_of_all_pairs(cli: CommandLine) -> None:
    for options, circular, words in (
        (
            ("--all-pairs", "--bounce"),
            [0, 16],
            "known to all routes, and before that frames bounce",
        ),
        (("--all-pairs",), [0, 0], "known to all routes\n"),
    ):
        done = cli("deadlock", TREE, *options)
        told = json.loads(cli("deadlock", TREE, *options, "--json").stdout)
        assert [each["circular"] for each in told["cases"]] == circular
        assert done.returncode == (1 if any(circular) else 0)
        assert words in done.stdout


def test_json_has_what_is_printed(cli: CommandLine) -> None:
    done = cli("deadlock", RING, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told == report(qcnlab.load(RING)).to_dict()
    assert (told["free"], told["buffers"], told["trunks"]) == (False, 10, 5)
    first = told["circular"][0]["circles"][0]
    assert first["class"] == 3
    assert [wait["link"] for wait in first["waits"]] == first["links"]
    assert first["waits"][0]["flows"] == ["host1->host3"]
    assert told["remedy"][0] == {"from": "switch1", "at": "switch2", "to": "switch3"}


def test_a_network_without_a_circle_is_safe(cli: CommandLine) -> None:
    done = cli("deadlock", LEAVES)
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == (
        f"{LEAVES}: no circle while all links are up, nor with any one link down, nor with the "
        "scenario's own failures: safe from PFC deadlock by these routes"
    )
    assert "own failures      1        1              0" in rest
    assert "never repair" not in done.stdout


def test_changes_apply_and_what_was_drawn_is_told(cli: CommandLine) -> None:
    words = "deadlock", TREE, "--all-pairs", "--failures", "2", "--cases", "20"
    done = cli(*words, "-s", "topology.k=8")
    assert done.stdout.startswith(
        f"{TREE}: no circle while all links are up, nor in the 20 cases drawn of 256 with one link "
        "down, nor in the 20 cases drawn of 32,640 with two links down: safe from PFC deadlock in "
        "these cases\n"
    )
    done = cli(*words, "-s", "pause.kind=none")
    assert (done.returncode, done.stdout) == (
        0, f"{TREE}: PFC deadlock cannot happen to this traffic: no switch pauses another for it\n"
    )  # fmt: skip


def test_pauses_that_end_by_themselves_close_no_circle() -> None:
    star = qcnlab.load("chain-20-stages-pause-1500kb-rtt2us")
    assert report(star).free and report(star).buffers > 0
    changed = star.with_("pause.rule=threshold", "pause.threshold=100 KB")
    told = report(changed)
    assert answer(told) == "PFC deadlock cannot happen to this traffic: pauses end by themselves"


@pytest.mark.parametrize("name", [RING, LEAVES, TREE, STAR])
def test_check_warns_of_a_circle_while_all_links_are_up(cli: CommandLine, name: str) -> None:
    done = cli("check", name)
    assert done.returncode == 0
    expected = [f"warning: {name}: {line}" for line in warnings(qcnlab.load(name))]
    told = [line for line in done.stderr.splitlines() if "PFC may stop it for ever" in line]
    assert told == expected
    assert len(told) == (1 if name == RING else 0)


def test_no_other_shipped_scenario_has_a_circle() -> None:
    names = [entry.name for entry in qcnlab.catalogue.scenarios()]
    assert [name for name in names if warnings(qcnlab.load(name))] == [RING]


def test_wrong_numbers_are_refused(cli: CommandLine) -> None:
    done = cli("deadlock", RING, "--failures", "5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'--failures': it must be 4 or less" in done.stderr


def drawn(scenario: qcnlab.Scenario, told: CircularWaits) -> Any:
    network = Network.of(scenario._core)
    return deadlock_figure(scenario.name, network, told, answer(told)).axes[0]


def test_the_circle_is_drawn_in_the_network() -> None:
    ring = qcnlab.load(RING)
    told = report(ring, 0)
    axes = drawn(ring, told)
    texts = [each.get_text() for each in axes.texts]
    waits = told.circular[0].circles[0].waits
    # An arrow and a number for each wait; each node by its name.
    assert sum(isinstance(each, Annotation) for each in axes.texts) == len(waits) == 5
    assert {"1", "2", "3", "4", "5", "switch1", "host5"} <= set(texts)
    for number, wait in enumerate(waits, 1):
        assert f"{number}  {wait.link} waits for {wait.next}" in texts[-1]
    # All switches are alike: a ring of radius 1, in their order.
    roles = {f"switch{n}": "switch" for n in range(1, 5)}
    pairs = [("switch1", "switch2"), ("switch2", "switch3"), ("switch3", "switch4"),
             ("switch4", "switch1")]  # fmt: skip
    spots = positions(roles, pairs, set())
    assert spots["switch1"] == pytest.approx((0.0, 1.0))
    assert spots["switch2"] == pytest.approx((1.0, 0.0))


def test_links_that_are_down_are_dotted_and_many_hosts_are_counted() -> None:
    one = "topology.spines=2", "topology.hosts=8", "topology.leaves=4"
    changes = "traffic.0.from=host1", "traffic.0.to=host12"
    scenario = qcnlab.load(LEAVES).with_(*one, *changes)
    told = report(scenario, 2, all_pairs=True)
    axes = drawn(scenario, told)
    case = told.circular[0]
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert len(dotted) == len(case.down) == 2
    texts = [each.get_text() for each in axes.texts]
    # 32 hosts are more than are drawn.
    assert "leaf1\n+ 8 hosts" in texts and not any(text.startswith("host") for text in texts)
    assert f"Dotted: {' and '.join(case.down)} down." in texts[-1]


def test_without_a_circle_the_network_alone_is_drawn(cli: CommandLine) -> None:
    done = cli("deadlock", LEAVES, "-o", "free.svg")
    assert done.returncode == 0, done.stderr
    assert (cli.folder / "free.svg").stat().st_size > 1000
    axes = drawn(qcnlab.load(LEAVES), report(qcnlab.load(LEAVES)))
    assert not any(isinstance(each, Annotation) for each in axes.texts)
    refused = cli("deadlock", LEAVES, "-o", "free.txt")
    assert refused.returncode == 2 and "must end in .svg, .png, .pdf" in refused.stderr
