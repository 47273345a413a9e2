"""What the command line says of itself and of wrong options: no word of a library, no jargon."""

from __future__ import annotations

import json
import re

import pytest
import typer

import qcnlab
from conftest import HOTSPOT, CommandLine, every_command
from qcnlab import catalogue
from qcnlab.cli.commands import loaded
from qcnlab.cli.usage import in_words

LIBRARY = re.compile(
    r"Value error|Input should|unable to parse|pydantic|click|StrEnum|<enum|class |type_error", re.I
)
"""What the libraries behind the options say, and people should not read."""
WRONG = ("nope", "", "-1", "0", "1e99", "nan", "inf", "1.5", "9" * 30, "x" * 300)


@pytest.mark.parametrize("name", every_command())
def test_no_option_speaks_as_a_library_does(name: str) -> None:
    command = every_command()[name]
    context = typer.Context(command)
    for parameter in command.get_params(context):
        for value in WRONG:
            several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
            try:
                parameter.process_value(context, (value,) if several else value)
            except typer.BadParameter as error:
                said = in_words(str(error.message))
                assert not LIBRARY.search(said), (parameter.name, value, said)
                assert said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "topologie"), "did you mean topologies?"),
        (
            ("list", "nope"),
            "'nope' is none of schemes, presets, scenarios, topologies, traffic, arrivals",
        ),
        (
            ("fct", "r", "--by", "sise"),
            "'sise' is none of size, entry, size,entry, all; did you mean size?",
        ),
        (("run", HOTSPOT, "--reps", "0"), "'--reps': it must be 1 or more"),
        (("run", HOTSPOT, "--reps", "x"), "'--reps': it must be a whole number"),
        (("lab", "--lesson", "9"), "'--lesson': it must be 8 or less"),
        (("conform", "rp", "c", "--clock-ppm", "x"), "'--clock-ppm': it must be a number"),
        (("live", "run", HOTSPOT, "--traffic", "iperf"), "did you mean iperf3?"),
    ],
)
def test_a_wrong_value_is_told_in_words(
    cli: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    done = cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not LIBRARY.search(done.stderr)


def test_words_of_later_releases_are_left_as_they_are() -> None:
    assert in_words("something else") == "something else"
    assert in_words("Input should be a valid date") == "a valid date"
    assert in_words("Value error, it's not one of them") == "it's not one of them"


@pytest.mark.parametrize("name", ["conform", "deadlock", "mib", "frames", "warmup", "analyse"])
def test_what_a_user_learns_is_said_in_plain_words(name: str) -> None:
    first = str(loaded(name).help).partition("\n\n")[0]
    assert not re.search(r"\b(CNM|CPID|RPID|MSER|MIB|transient|objects|law|Fb|CP|RP)\b", first), (
        name
    )
    assert first.startswith(("Tell ", "Print what "))


def test_check_takes_changes_as_run_does(cli: CommandLine, short: qcnlab.Scenario) -> None:
    (cli.folder / "good.toml").write_text(short.to_toml(), encoding="utf-8")
    done = cli("check", "good.toml", HOTSPOT, "-s", "topology.rtt=50us", "-s", "seed=0", "--json")
    assert done.returncode == 0, done.stderr
    loaded_one = qcnlab.load(cli.folder / "good.toml")
    expected = [loaded_one.with_("topology.rtt=50us", "seed=0").hash]
    assert [each["hash"] for each in json.loads(done.stdout)][:1] == expected
    done = cli("check", "good.toml", HOTSPOT, "-s", "topology.rt=50us")
    assert done.returncode == 2
    assert done.stderr.count("unknown key 'rt'") == 2
    assert "topology.rtt" in done.stderr
    done = cli("check", "good.toml", "-s", "topology.rtt=1 s")
    assert "warning: good.toml: topology.rtt (1 s) is no shorter than the run" in done.stderr


@pytest.mark.parametrize(
    ("kind", "some"),
    [
        ("topologies", ("star", "leaf_spine", "graph")),
        ("arrivals", ("saturated", "incast", "list", "capture", "collective")),
        ("transports", ("none", "tcp", "roce")),
        ("sizes", ("web_search", "solar")),
        ("presets", ("DECK001", "SIGCOMM2015", "CONNECTX")),
    ],
)
def test_kinds_and_presets_are_listed(cli: CommandLine, kind: str, some: tuple[str, ...]) -> None:
    told = cli("list", kind).stdout
    entries = json.loads(cli("list", kind, "--json").stdout)
    assert {entry["name"] for entry in entries} >= set(some)
    assert all(entry["about"] for entry in entries)
    for entry in entries:
        assert re.search(rf"^{entry['name']}  +\S", told, re.MULTILINE), entry["name"]
    if kind == "presets":
        listed = [(e.name, p.name) for e in catalogue.schemes() for p in e.presets]
        assert [(entry["scheme"], entry["name"]) for entry in entries] == listed
    elif kind == "sizes":
        assert "Written as traffic.sizes" in told
        assert {entry["name"]: round(entry["mean_bytes"]) for entry in entries} == {
            "web_search": 1_665_831, "web_search_hpcc": 1_711_250, "data_mining": 7_470_236,
            "fb_hadoop": 120_421, "alibaba_storage": 40_870, "google_rpc": 3_123, "solar": 39_424,
        }  # fmt: skip
    else:
        key = {
            "topologies": "topology.kind",
            "arrivals": "traffic.arrivals",
            "transports": "traffic.transport",
        }[kind]
        assert key in told
        [choices] = {
            tuple(choice.name for choice in entry.choices or ())
            for entry in catalogue.parameters()
            if entry.key == key
        }
        assert tuple(entry["name"] for entry in entries) == choices
