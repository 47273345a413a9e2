"""A command imports little: no library that it does not need, and none before it needs it.

How long a start takes depends on the machine; which modules it imports does not.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

from conftest import every_command
from qcnlab.cli.commands import COMMANDS, GROUPS, START, loaded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import CommandLine

HEAVY = {
    "dask", "distributed", "matplotlib", "numpy", "optuna", "pandas", "polars", "pyarrow",
    "pydantic", "ray", "rich", "scipy",
}  # fmt: skip
"""Libraries that take longer to import than an answer may take."""
REFUSED = HEAVY | {
    "hashlib",
    "qcnlab.catalogue",
    "qcnlab.files.folders",
    "qcnlab.results.result",
    "tomllib",
}
"""What is not needed to refuse a command."""
STAR = "one-source-into-9g-rtt10us"
SHORT = "-s duration=10ms -s warmup=1ms --reps 1"

STARTS: dict[str, tuple[int, int, set[str]]] = {
    "--version": (0, 170, REFUSED | {"qcnlab.api", "qcnlab.commands.run"}),
    "--help": (0, 170, REFUSED | {"qcnlab.api", "qcnlab.commands.run"}),
    "no-such-command": (2, 170, REFUSED | {"qcnlab.api", "qcnlab.commands.run"}),
    "run --help": (0, 180, REFUSED | {"qcnlab.api"}),
    f"run {STAR} --no-such-option": (2, 180, REFUSED | {"qcnlab.api"}),
    "run no-such-scenario": (2, 180, REFUSED),
    "run no/such/file.toml": (2, 180, REFUSED),
    f"run {STAR} -s no.such.key=1": (2, 180, REFUSED),
    f"run {STAR} --seed 0 --reps 3 -j 2 -o out -s no.such.key=1": (2, 180, REFUSED),
    "check no-such-scenario": (2, 195, HEAVY),
    f"check {STAR}": (0, 195, HEAVY),
    "list schemes": (0, 180, HEAVY | {"tomllib", "qcnlab.api"}),
    "list scenarios": (0, 180, HEAVY | {"tomllib", "qcnlab.api"}),
    "list metrics": (0, 180, HEAVY | {"tomllib", "qcnlab.api"}),
    "list parameters --json": (0, 180, HEAVY | {"tomllib", "qcnlab.api"}),
    "list parameters": (0, 180, HEAVY | {"tomllib", "qcnlab.api"}),
    "explain Q_EQ": (0, 190, HEAVY),
    "explain no-such-name": (2, 190, HEAVY),
    "schema": (0, 180, HEAVY),
    f"run {STAR} {SHORT}": (0, 250, HEAVY),
    "sweep no-such-scenario --vary seed=1,2": (2, 230, HEAVY),
    "tune no-such-scenario --vary scheme.cp.w=1..8": (2, 235, HEAVY),
    "warmup no-such-scenario": (2, 195, HEAVY),
    "advise no-such-scenario": (2, 205, HEAVY),
    "headroom --rate 100G --cable 40m --mtu 9216": (0, 190, HEAVY),
    "headroom --rate 100G --cable 40 --mtu 9216": (2, 190, HEAVY),
    "analyse no-such-scenario": (2, 190, HEAVY),
    "compare no-such-scenario": (2, 215, HEAVY),
    "fct nowhere": (2, 203, HEAVY),
    "explain-run nowhere": (2, 195, HEAVY),
    "collective nowhere": (2, 195, HEAVY),
    "step nowhere": (2, 195, HEAVY),
    "report nowhere": (2, 205, HEAVY),
    "plot nowhere": (2, 210, HEAVY),
    "deadlock no-such-scenario": (2, 195, HEAVY),
    f"deadlock {STAR}": (0, 195, HEAVY),
    "lint nowhere": (2, 205, HEAVY),
    "mib nowhere": (2, 190, HEAVY),
    "frames nowhere": (2, 195, HEAVY),
    "lab no-such-scenario": (2, 185, HEAVY),
    "import hpcc nowhere -o scenario.toml": (2, 190, HEAVY),
    "export sonic nowhere -o patch": (2, 205, HEAVY),
    "export mlxconfig nowhere": (2, 205, HEAVY),
    "export dcb nowhere": (2, 210, HEAVY),
    "export mlnx_qos nowhere": (2, 210, HEAVY),
    "export eos nowhere": (2, 210, HEAVY),
    "export nxos nowhere": (2, 210, HEAVY),
    "export junos nowhere": (2, 210, HEAVY),
    "import sonic nowhere -o scenario.toml": (2, 200, HEAVY),
    "import flows nowhere --map src=A -o s.toml --rate 1Gb/s --delay 1us --duration 1s": (
        2,
        190,
        HEAVY,
    ),
    "import htsim nowhere --times ps --duration 1ms -o scenario.toml": (2, 190, HEAVY),
    "import goal nowhere --duration 1ms -o scenario.toml": (2, 191, HEAVY),
    "export goal nowhere -o schedule": (2, 190, HEAVY),
    "import chakra nowhere --duration 1ms -o scenario.toml": (2, 192, HEAVY),
    "import step nowhere --duration 1ms -o scenario.toml": (2, 190, HEAVY),
    "import simai nowhere --duration 1ms -o scenario.toml": (2, 190, HEAVY),
    "export hpcc nowhere -o results": (2, 190, HEAVY),
    "export htsim nowhere -o matrix": (2, 190, HEAVY),
    "live run no-such-scenario": (2, 201, HEAVY),
    "live compare no-such-scenario": (2, 200, HEAVY),
    "conform cp nowhere": (2, 185, HEAVY),
    "conform rp nowhere": (2, 180, HEAVY),
    "demo --no-such-option": (2, 195, HEAVY),
    "dissector --no-such-option": (2, 180, HEAVY),
    "infer --no-such-option": (2, 180, HEAVY),
    "live doctor --no-such-option": (2, 200, HEAVY),
    "live up no-such-scenario": (2, 200, HEAVY),
    "validate --no-such-option": (2, 195, HEAVY),
}
"""For each command: its exit code, the most modules, and those that it must not import."""

CODE = """
import gc, json, os, sys
gc.disable()
del sys.modules["gc"]
from qcnlab.cli.program import main
for line in sys.stdin:
    folder, *words = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(folder)
    code = None
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    try:
        main(words)
    except SystemExit as left:
        code = left.code
    with open("imported.json", "w") as file:
        json.dump([code, sorted(sys.modules)], file)
    os._exit(0)
"""
"""Import what every command does, once; run each command that is read in a copy of the process."""


@pytest.fixture(scope="module")
def started() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported what starts the program, and has not run a command."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")
    }
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin is not None
        process.stdin.close()


def imported(
    started: subprocess.Popen[str], words: list[str], folder: Path
) -> tuple[int, set[str]]:
    """Run a command in a process of its own; return its exit code and all that it imported."""
    assert started.stdin is not None and started.stdout is not None
    print(json.dumps([str(folder), *words]), file=started.stdin, flush=True)
    assert started.stdout.readline() == "0\n"
    code, modules = json.loads((folder / "imported.json").read_text())
    return code, set(modules)


@pytest.mark.parametrize("line", STARTS)
def test_a_command_imports_no_more_than_it_needs(
    started: subprocess.Popen[str], line: str, tmp_path: Path
) -> None:
    expected, most, not_needed = STARTS[line]
    code, modules = imported(started, shlex.split(line), tmp_path)
    assert code == expected
    assert modules.isdisjoint(not_needed), sorted(modules & not_needed)
    assert len(modules) <= most


def test_every_command_is_started() -> None:
    started = {" ".join(shlex.split(line)[:length]) for line in STARTS for length in (1, 2)}
    assert set(every_command()) <= started


def test_the_list_of_commands_says_what_each_of_them_does() -> None:
    for name, (_, line) in COMMANDS.items():
        first = loaded(name).help.partition("\n\n")[0]
        assert line == " ".join(first.split()), name


def test_each_command_is_listed_once_and_found(cli: CommandLine) -> None:
    told = cli("--help").stdout.partition("Start with:\n")[2]
    for title, names in GROUPS.items():
        listed = told.partition(f"\n{title}:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.split()[0] for line in listed] == list(names)
        for line in listed:
            assert line.endswith(COMMANDS[line.split()[0]][1])
    assert [name for names in GROUPS.values() for name in names] == list(COMMANDS)
    for name in COMMANDS:
        done = cli(name, "-h")
        assert done.returncode == 0
        assert done.stdout.startswith(f"Usage: qcnlab {name} ")
        assert inspect.cleandoc(loaded(name).help).split()[0] in done.stdout


def test_help_names_what_to_begin_with(cli: CommandLine) -> None:
    for line, about in START:
        assert line.split()[1] in COMMANDS
        assert f"  {line}" in cli("--help").stdout and about in cli("--help").stdout
    bare = cli()
    assert bare.returncode == 2
    assert bare.stdout + bare.stderr == cli("--help").stdout


WORDS: tuple[Any, ...] = (
    None, "", "0", "1", "2", "-1", "007", "1.5", "1e3", "nan", "x", " 1", "1 ", "+1", "1_0",
    "\u0661", "9" * 15, "9" * 16, "9" * 40, "1000000", "1000001", "18446744073709551615",
    "18446744073709551616", "true", "size", "SIZE", "headers", "own", "schemes", "nowhere", "there",
    "there/below", "~", "-", "/", "x" * 5000, "caf\udce9",
)  # fmt: skip


def outcome(process: Any, context: Any, value: Any) -> tuple[str, Any]:
    """Return the value that an option takes, or the words that it refuses it with."""
    try:
        taken = process(context, value)
    except Exception as error:
        if not hasattr(error, "show"):
            raise
        return "refused", f"{type(error).__name__}: {error}"
    return "taken", list(taken) if isinstance(taken, list | tuple) else taken


@pytest.mark.parametrize("name", every_command())
def test_plain_words_are_taken_as_typer_takes_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    command = every_command()[name]
    context = typer.Context(command)
    for parameter in command.get_params(context):
        if parameter.name == "help":
            continue
        several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
        typers = type(parameter).process_value.__get__(parameter)
        values: list[Any] = [parameter.default, True, False] if parameter.default is False else []
        values += [(word, "1") if several and word is not None else word for word in WORDS]
        values += [()] if several else []
        for value in values:
            ours = outcome(parameter.process_value, context, value)
            assert ours == outcome(typers, context, value), (name, parameter.name, value)
            assert type(ours[1]) is type(outcome(typers, context, value)[1])


def test_a_file_that_cannot_be_read_is_left_to_typer(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli.folder / "secret").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = cli("fct", "secret")
    assert done.returncode == 2
    assert "'secret' is not readable" in done.stderr
