"""The command line: exit codes, streams, JSON, names."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT, SHORT_FLAGS, CommandLine, command, every_command
from qcnlab import catalogue
from qcnlab.catalogue.changes import differences_from_shipped


def test_run_prints_metrics_and_writes_a_folder(cli: CommandLine) -> None:
    done = cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "2", "-j", "1", "--all")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    folder = cli.folder / done.stdout.splitlines()[-1]
    result = qcnlab.open_run(folder)
    assert folder.parent.name == "runs"
    assert folder.name == f"{HOTSPOT}-{result.summary.hash[:8]}"
    assert result.summary.replications == 2
    for name, metric in result.summary.metrics.items():
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"{name} "))
        assert metric.unit in line
    assert "median [min..max]" in done.stdout


def test_run_tells_what_was_changed_of_a_shipped_scenario(cli: CommandLine) -> None:
    """Its title speaks of the file's times: those of the run stand below."""
    changes = ("-s", "scheme.name=ecm", "-s", "topology.rtt=20us")
    done = cli("run", HOTSPOT, *SHORT_FLAGS, *changes, "--reps", "1", "-o", "out")
    told = (
        "duration=40 ms, warmup=2 ms, topology.rtt=20 us, hotspot.from=10 ms, hotspot.until=25 ms"
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("changed: "))
    assert sorted(line.removeprefix("changed: ").split(", ")) == sorted(
        [*told.split(", "), "scheme.name=ecm"]
    )
    # Of a file of one's own with another name nothing is known.
    text = qcnlab.load(HOTSPOT).with_(*SHORT).to_toml()
    (cli.folder / "own.toml").write_text(text)
    assert "changed" not in cli("run", "own.toml", "--reps", "1").stdout


OF_TRANSPORT = {"acknowledgement", "negative acknowledgement", "pause of a flow"}
"""What only traffic with queue pairs has."""


def test_what_another_scheme_has_beside_its_preset_is_told() -> None:
    """Each scheme in each preset, in a scenario that has another: nothing of the preset is told."""
    told = 0
    for entry in catalogue.schemes():
        for preset in entry.presets:
            of_transport = OF_TRANSPORT & {*entry.hears}
            name = "incast-16-to-1-100g" if of_transport else "one-source-into-9g-rtt10us"
            changes = [
                "topology.buffer=3 MB",
                f"scheme.name={entry.name}",
                f"scheme.preset={preset.name}",
            ]
            tree = qcnlab.load(name).with_(*changes).to_dict()
            keys = [each.partition("=")[0] for each in differences_from_shipped(name, tree)]
            assert not [key for key in keys if key.startswith(("scheme.cp.", "scheme.rp."))]
            told += 1
    assert told > 30
    dcqcn = qcnlab.load(HOTSPOT).with_("scheme.name=dcqcn", "scheme.rp.byte_reset=none")
    assert differences_from_shipped(HOTSPOT, dcqcn.to_dict()) == [
        "scheme.name=dcqcn",
        "scheme.rp.byte_reset=none",
    ]


def test_run_json_has_the_summary_and_the_folder(cli: CommandLine) -> None:
    done = cli("run", HOTSPOT, *SHORT_FLAGS, "--seed", "9", "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["folder"] == "out"
    assert printed["seed"] == 9
    assert printed["profile"]["frame_hops"] > 0
    summary = json.loads((cli.folder / "out" / "summary.json").read_bytes())
    assert {key: printed[key] for key in summary} == summary


def test_run_profile_prints_the_speed(cli: CommandLine) -> None:
    done = cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "--profile")
    for words in ("frame-hops", "events", "engine, CPU seconds", "frame-hops per CPU second"):
        assert words in done.stdout


def test_a_second_run_gets_a_folder_of_its_own(cli: CommandLine) -> None:
    folders = [
        cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1").stdout.splitlines()[-1] for _ in range(2)
    ]
    assert folders[1] == f"{folders[0]}-2"


def test_run_takes_a_file(cli: CommandLine, short: qcnlab.Scenario) -> None:
    (cli.folder / "mine.toml").write_text(short.to_toml(), encoding="utf-8")
    done = cli("run", "mine.toml", "--reps", "1", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert (cli.folder / "out" / "config.toml").is_file()


def test_an_existing_output_folder_is_refused(cli: CommandLine) -> None:
    (cli.folder / "out").mkdir()
    done = cli("run", HOTSPOT, "-o", "out")
    assert done.returncode == 2
    assert "'out' exists already" in done.stderr
    assert "-o" in done.stderr
    assert cli.left() == ["out"]


def test_an_output_folder_that_cannot_be_written_is_refused_before_the_run(
    cli: CommandLine,
) -> None:
    (cli.folder / "file").write_bytes(b"")
    # A run of 7000 s takes hours: that there is an answer says that it did not begin.
    done = cli("run", HOTSPOT, "-s", "duration=7000 s", "-s", "record.tables=false", "-o", "file/x")
    assert done.returncode == 2
    assert "cannot write the folder 'file/x'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert cli.left() == ["file"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("run",),
        ("run", "x", "--reps", "0"),
        ("run", "x", "--seed", "18446744073709551616"),
        ("bogus",),
    ],
)
def test_usage_errors_leave_with_2(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Usage" in done.stderr + done.stdout


def test_version(cli: CommandLine) -> None:
    assert cli("--version").stdout == f"qcnlab {qcnlab.__version__}\n"


def test_help_names_every_command_and_loads_little() -> None:
    python, *rest = command(["--help"])
    done = subprocess.run(
        [python, "-X", "importtime", *rest], capture_output=True, text=True, check=True
    )
    for name in ("run", "demo", "check", "list", "explain", "plot", "schema"):
        assert f"\n  {name} " in done.stdout
    loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "qcnlab" in loaded
    # What takes long to load is loaded by those commands that draw or read tables.
    assert not loaded & {"matplotlib", "numpy", "pandas", "polars", "pyarrow", "scipy"}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom qcnlab.cli.program import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*[m for m in ('numpy', 'polars', 'matplotlib') "
        "if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([command([])[0], "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


@pytest.mark.parametrize("kind", ["schemes", "scenarios", "metrics", "parameters"])
def test_lists(cli: CommandLine, kind: str) -> None:
    entries = json.loads(cli("list", kind, "--json").stdout)
    plain = cli("list", kind)
    assert plain.returncode == 0
    if kind in ("scenarios", "metrics"):
        assert len(plain.stdout.splitlines()) == len(entries) + 2
    for entry in entries:
        assert entry["key" if kind == "parameters" else "name"] in plain.stdout


def test_schemes_are_listed_by_generation_the_oldest_first(cli: CommandLine) -> None:
    entries = json.loads(cli("list", "schemes", "--json").stdout)
    headings = list(dict.fromkeys(each["generation"] for each in entries))
    assert headings[0] == "for comparison"
    years = [re.findall(r"\d{4}", heading) for heading in headings[1:]]
    assert years == sorted(years)
    under: dict[str, list[str]] = {}
    heading = ""
    for line in cli("list", "schemes").stdout.splitlines()[:-2]:
        if line.casefold() in [each.casefold() for each in headings]:
            heading = line.casefold()
        elif line and not line.startswith(("scheme ", "---")):
            under.setdefault(heading, []).append(line.split()[0])
    assert under == {
        heading.casefold(): [each["name"] for each in entries if each["generation"] == heading]
        for heading in headings
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("recovery_ms", "recovery"),
        ("qcn", "fast recovery"),
        ("cpQSp", "scheme.cp.set_point"),
        ("q_eq", "scheme.cp.set_point"),
        ("scheme.cp.w", "scheme.cp.w"),
        ("rtt", "topology.rtt"),
        ("DECK001", "preset"),
        (HOTSPOT, "[topology]"),
    ],
)
def test_explain(cli: CommandLine, name: str, words: str) -> None:
    done = cli("explain", name)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    entries = json.loads(cli("explain", name, "--json").stdout)
    assert entries
    assert all("kind" in entry for entry in entries)


def test_every_listed_name_can_be_explained() -> None:
    from qcnlab import catalogue

    for metric in catalogue.metrics():
        assert metric.about in " ".join(entry.about for entry in catalogue.find(metric.name))
    names = [entry.name for entry in catalogue.schemes() + catalogue.scenarios()]
    names += [entry.key for entry in catalogue.parameters()]
    for name in names:
        assert catalogue.explain(catalogue.find(name), 80)


def test_what_all_kinds_of_a_table_have_is_explained_once(cli: CommandLine) -> None:
    from qcnlab import catalogue

    [overhead] = catalogue.find("frame_overhead")
    assert overhead.name == "topology.frame_overhead"
    assert overhead.about.startswith("Octets of wire time on top of each frame")
    assert cli("explain", "frame_overhead").stdout.count("frame_overhead") == 1
    known = [
        (entry.key, entry.scheme, entry.about, entry.range, entry.default)
        for entry in catalogue.parameters()
    ]
    assert [each for each in known if known.count(each) > 1] == []


def test_explain_suggests_the_nearest(cli: CommandLine) -> None:
    done = cli("explain", "recovry_ms")
    assert done.returncode == 2
    assert "recovery_ms" in done.stderr
    assert done.stdout == ""


def test_check_tells_good_from_bad(cli: CommandLine, short: qcnlab.Scenario) -> None:
    (cli.folder / "good.toml").write_text(short.to_toml(), encoding="utf-8")
    (cli.folder / "bad.toml").write_text(
        short.to_toml().replace('"150 KB"', '"150"'), encoding="utf-8"
    )
    good = cli("check", "good.toml")
    assert (good.returncode, good.stderr) == (0, "")
    assert re.match(r"good\.toml: ok, .*; takes about [\d.]+ [KM]B of memory$", good.stdout)
    both = cli("check", "good.toml", "bad.toml", "--json")
    assert both.returncode == 2
    verdicts = json.loads(both.stdout)
    assert [verdict["ok"] for verdict in verdicts] == [True, False]
    assert verdicts[0]["memory_bytes"] == sum(verdicts[0]["memory"].values())
    assert verdicts[1]["line"] is not None
    assert verdicts[1]["message"] in both.stderr


def test_check_takes_shipped_scenarios_by_their_names(cli: CommandLine) -> None:
    good = cli("check", HOTSPOT)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith(f"{HOTSPOT}: ok, ")
    wrong = cli("check", HOTSPOT + "0")
    assert wrong.returncode == 2
    assert HOTSPOT in wrong.stderr


def test_schema_is_json_schema(cli: CommandLine) -> None:
    schema = json.loads(cli("schema").stdout)
    assert "json-schema.org" in schema["$schema"]
    assert "topology" in schema["properties"]


def test_a_closed_pipe_is_no_error(cli: CommandLine) -> None:
    for words in ("list parameters --json", "--help"):
        process = subprocess.Popen(
            command(words.split()),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cli.folder,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(["list", "metrics"]),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output cannot be written")
    assert done.stderr.count("\n") == 1


def test_a_run_without_a_hotspot_says_so(cli: CommandLine) -> None:
    done = cli("run", "one-source-into-9g-rtt10us", "--reps", "1")
    assert done.returncode == 0
    assert "did not recover" not in done.stdout
    assert done.stdout.count("no hotspot") == 1
    every = cli("run", "one-source-into-9g-rtt10us", "--reps", "1", "--all")
    assert every.stdout.count("no hotspot") == 7

    def metrics(text: str) -> set[str]:
        return {line.split()[0] for line in text.split("\n\n")[1].splitlines()[2:]}

    left = metrics(every.stdout) - metrics(done.stdout)
    without = {"util_before", "throughput_outside_gbps", "jain", "rate_ratio"}
    assert without < left
    assert done.stdout.split("Not shown, but with --all:\n")[1].splitlines()[:3] == [
        f"  {len(left - without)} metrics that are none or 0",
        "  jain, rate_ratio: there is one flow",
        "  util_before, throughput_outside_gbps: there is no hotspot",
    ]


def test_parameters_stand_by_kind_and_once(cli: CommandLine) -> None:
    plain = cli("list", "parameters").stdout
    assert "\n[topology], kind star\n" in plain
    part = plain[plain.index("Reaction points") :]
    # Schemes with the same default share a line: `gd` is 1/128 in most of the QCN family.
    lines = [line for line in part.splitlines() if line.startswith("scheme.rp.gd ")]
    assert 1 <= len(lines) <= 4
    assert any("qcn, " in line and "qcn_timer" in line for line in lines)


FIELD = (
    "PFC ECN FCT incast xoff xon watermark headroom victim deadlock CNP WRED DCTCP HPCC Qau BDP "
    "AIMD head-of-line_blocking CP RP RTT PAUSE"
)


@pytest.mark.parametrize("word", FIELD.split())
def test_explain_knows_the_words_of_the_field(cli: CommandLine, word: str) -> None:
    done = cli("explain", word.replace("_", " "))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if len(line) > 60]
    assert len(set(lines)) == len(lines)


def test_traffic_is_listed_as_arrivals_and_transports(cli: CommandLine) -> None:
    listed = cli("list", "traffic").stdout
    assert listed == cli("list", "arrivals").stdout + "\n" + cli("list", "transports").stdout
    names = [each["name"] for each in json.loads(cli("list", "traffic", "--json").stdout)]
    assert {"saturated", "incast", "tcp", "roce"} <= set(names)


def test_words_say_each_thing_once_and_point_to_what_there_is() -> None:
    from qcnlab import catalogue
    from qcnlab.catalogue.words import words

    called = [name.lower() for word in words() for name in {word.name, *word.also, *word.covers}]
    assert len(set(called)) == len(called)
    for word in words():
        assert word.about.endswith(".")
        for name in word.see:
            assert catalogue.find(name), name


def test_every_command_shows_examples_that_it_takes() -> None:
    from qcnlab.cli.examples import EXAMPLES

    commands = every_command()
    assert set(commands) == set(EXAMPLES)
    for name, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line.split(" > ")[0])
            start = len(name.split())
            assert words[:start] == name.split()
            commands[name].make_context(name, words[start:])


def test_no_colour_without_a_terminal(cli: CommandLine) -> None:
    assert "\x1b" not in cli("explain", "qcn").stdout


def test_plot_draws_a_run_again(cli: CommandLine) -> None:
    cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "-o", "out")
    done = cli("plot", "out")
    assert done.stdout.split() == ["out/run.svg", "out/run.png"]
    first = (cli.folder / "out/run.svg").read_bytes()
    cli("plot", "out")
    assert (cli.folder / "out/run.svg").read_bytes() == first
    assert cli("plot", "out", "-o", "mine.pdf").stdout == "mine.pdf\n"
    assert (cli.folder / "mine.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("arguments", [("nowhere",), (".",), ("out", "-o", "mine.doc")])
def test_plot_of_what_cannot_be_drawn(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    if arguments[0] == "out":
        cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "-o", "out")
    before = cli.left()
    done = cli("plot", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert cli.left() == before


def test_a_run_without_rates_is_drawn_without_them(cli: CommandLine) -> None:
    flags = (*SHORT_FLAGS, "-s", "record.tables=false")
    assert cli("run", HOTSPOT, *flags, "--reps", "1", "-o", "out").returncode == 0
    assert cli("plot", "out").returncode == 0
    drawn = (cli.folder / "out/run.svg").read_text(encoding="utf-8")
    assert "queue (KB)" in drawn
    assert "rate (Gb/s)" not in drawn
