"""Bad input: one clear message with its place, exit code 2, nothing left behind."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qcnlab
from conftest import HOTSPOT, ROOT, CommandLine

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = """\
title = "Two sources, one hotspot"
duration = "40 ms"

[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "10 us"
buffer = "150 KB"

[[traffic]]
arrivals = "saturated"
frame = "1500 B"

[[hotspot]]
from = "10 ms"
until = "25 ms"
rate = "0.5 Gb/s"

[scheme]
name = "qcn"
preset = "DECK001"
cp.w = 2
"""

FILES = {
    "no unit": ('buffer = "150 KB"', 'buffer = "150"', "unit|150 B"),
    "no unit, no quotes": ('buffer = "150 KB"', "buffer = 150", "unit"),
    "bytes for a rate": ('rate = "10 Gb/s"', 'rate = "10 GB/s"', "80 Gb/s"),
    "unknown key": ("sources = 2", "sorces = 2", "sources"),
    "unknown table": ("[topology]", "[topologie]", "topology"),
    "unknown scheme": ('name = "qcn"', 'name = "qnc"', "qcn"),
    "unknown preset": ('"DECK001"', '"DECK01"', "DECK001"),
    "unknown parameter": ("cp.w = 2", "cp.ww = 2", r"\bw\b"),
    "negative rate": ('rate = "0.5 Gb/s"', 'rate = "-1 Gb/s"', "-1 Gb/s"),
    "zero rate": ('rate = "0.5 Gb/s"', 'rate = "0 Gb/s"', "0 Gb/s"),
    "zero duration": ('duration = "40 ms"', 'duration = "0 s"', "duration"),
    "set point above the buffer": ("cp.w = 2", 'cp.set_point = "200 KB"', "150 KB"),
    "truncated": (GOOD[GOOD.index('"DECK001"') + 5 :], "", ""),
    "same key twice": ("sources = 2", "sources = 2\nsources = 3", "sources"),
    "not TOML": ("[topology]", "topology:", ""),
}
PLACED = re.compile(r"^ *--> bad\.toml:(\d+):(\d+)|bad\.toml:(\d+):(\d+)", re.MULTILINE)


def changed_line(old: str, bad: str) -> int:
    for number, (was, now) in enumerate(
        zip([*old.splitlines(), ""], [*bad.splitlines(), ""], strict=False), start=1
    ):
        if was != now:
            return number
    return len(bad.splitlines())


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file(cli: CommandLine, case: str) -> None:
    old, new, words = FILES[case]
    assert GOOD.count(old) == 1
    bad = GOOD.replace(old, new)
    (cli.folder / "bad.toml").write_text(bad, encoding="utf-8")
    for verb in ("run", "check"):
        done = cli(verb, "bad.toml")
        assert done.returncode == 2, done.stdout
        assert done.stdout == ""
        assert done.stderr.count("error:") == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert re.search(words, done.stderr), done.stderr
        position = PLACED.search(done.stderr)
        assert position, done.stderr
        line = int(position[1] or position[3])
        expected = changed_line(GOOD, bad)
        allowed = {expected, expected + 1} if case == "same key twice" else {expected}
        assert line in allowed, done.stderr
        assert cli.left() == ["bad.toml"]


def test_the_good_file_is_good(cli: CommandLine) -> None:
    (cli.folder / "good.toml").write_text(GOOD, encoding="utf-8")
    done = cli("run", "good.toml", "-o", "out")
    assert done.returncode == 0, done.stderr


OVERRIDES = {
    "names nothing": ("topology.rttt=10 us", "rtt"),
    "no key": ("=3", "="),
    "no value": ("topology.rtt", "="),
    "no unit": ("topology.rtt=10", "unit|10 s|10 us"),
    "bytes for a rate": ("topology.rate=10 GB/s", "80 Gb/s"),
    "negative": ("topology.rate=-10 Gb/s", "-10 Gb/s"),
    "zero": ("duration=0 s", "duration"),
    "set point above the buffer": ("scheme.cp.set_point=200 KB", "150 KB"),
    "unknown scheme": ("scheme.name=emc", "ecm"),
    "no such hotspot": ("hotspot.7.until=1 s", "hotspot"),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_a_bad_override(cli: CommandLine, case: str) -> None:
    change, words = OVERRIDES[case]
    done = cli("run", HOTSPOT, "-s", change)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.count("error:") == 1, done.stderr
    assert re.search(words, done.stderr), done.stderr
    assert cli.left() == []


@pytest.mark.parametrize("verb", ["run", "check"])
def test_a_file_that_is_not_utf8(cli: CommandLine, verb: str) -> None:
    data = GOOD.encode() + b'about = "caf\xe9"\n'
    (cli.folder / "bad.toml").write_bytes(data)
    done = cli(verb, "bad.toml")
    assert done.returncode == 2
    line, offset = data.count(b"\n"), data.index(b"\xe9")
    assert f"not UTF-8 text: octet {offset} " in done.stderr
    assert f"--> bad.toml:{line}:" in done.stderr
    assert cli.left() == ["bad.toml"]


@pytest.mark.parametrize(
    "words",
    [
        ("check", "bl\udcff.toml"),
        ("run", HOTSPOT, "-s", "title=\udcff"),
        ("report", "no-run", "-o", "r\udcff.html"),
    ],
)
def test_an_argument_that_is_not_utf8(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = cli(*words)
    shown = words[-1].replace("\udcff", "\\xff")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"error: '{shown}' is not UTF-8 text; rename a file")
    assert cli.left() == []


def test_what_gzip_packed_is_named(cli: CommandLine) -> None:
    text = qcnlab.load(HOTSPOT).to_toml()
    (cli.folder / "packed.toml").write_bytes(gzip.compress(text.encode()))
    done = cli("check", "packed.toml")
    assert done.returncode == 2 and done.stderr.startswith("error: the file is gzip")
    assert "gunzip" in done.stderr and done.stderr.isascii()
    (cli.folder / "sizes.csv").write_bytes(gzip.compress(b"size,part\n10 KB,0.5\n1 MB,1\n"))
    (cli.folder / "plain.csv").write_bytes(b"size,part\n10 KB,0.5\n\xff MB,1\n")
    for name, told in (("sizes.csv", "this is gzip: unpack it first, with gunzip"),
                       ("plain.csv", "it is not UTF-8 text: octet 20 cannot be read")):  # fmt: skip
        drawn = f'arrivals = "flows"\nsizes = "{name}"\nload = 0.5'
        (cli.folder / "own.toml").write_text(GOOD.replace('arrivals = "saturated"', drawn))
        done = cli("check", "own.toml")
        assert done.returncode == 2 and f"'{name}' cannot be read: {told}" in done.stderr


@pytest.mark.parametrize("verb", ["run", "check"])
def test_a_file_that_is_not_there(cli: CommandLine, verb: str) -> None:
    done = cli(verb, "og-hotspot-2src.toml")
    assert done.returncode == 2
    assert "no such file" in done.stderr
    assert "og-hotspot-2src-10g-to-500m" in done.stderr
    assert cli.left() == []


def test_a_folder_is_not_a_file(cli: CommandLine) -> None:
    (cli.folder / "folder.toml").mkdir()
    done = cli("run", "folder.toml")
    assert done.returncode == 2
    assert done.stderr == "error: cannot be read: Is a directory\n --> folder.toml\n"


def test_an_unknown_name_suggests_the_nearest(cli: CommandLine) -> None:
    done = cli("run", HOTSPOT.replace("hotspot", "hotpsot"))
    assert done.returncode == 2
    assert HOTSPOT in done.stderr
    assert cli.left() == []


def test_an_empty_file(cli: CommandLine) -> None:
    (cli.folder / "bad.toml").write_bytes(b"")
    done = cli("check", "bad.toml")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "bad.toml" in done.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_file_without_end_is_read_to_a_bound(cli: CommandLine) -> None:
    done = cli("check", "/dev/zero")
    assert done.returncode == 2
    assert done.stderr == (
        "error: the file has more than 64 MiB; no scenario is that long\n --> /dev/zero\n"
    )


def test_mappings_that_are_no_scenario_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(qcnlab.ScenarioError, match="nested too deeply"):
        qcnlab.Scenario.from_dict(deep)
    with pytest.raises(
        qcnlab.ScenarioError, match="'duration' is of type object, which no scenario has"
    ):
        qcnlab.Scenario.from_dict({"duration": object()})


def test_a_mistyped_key_is_never_proposed_again() -> None:
    """Every last part of a key is tried in every table: the help names another key, or none."""
    from qcnlab import catalogue

    base = qcnlab.load(HOTSPOT)
    keys = {entry.key for entry in catalogue.parameters() if entry.scheme in (None, "qcn")}
    tables = {key.rpartition(".")[0] for key in keys} - {""}
    wrong = {f"{table}.{key.rpartition('.')[2]}" for table in tables for key in keys} - keys
    proposed = {}
    for key in wrong:
        try:
            base.with_(f"{key}=3")
        except qcnlab.ScenarioError as error:
            proposed[key] = re.findall(r'did you mean "([^"]*)"', error.hint or "")
    assert len(proposed) > 500
    assert not [key for key, names in proposed.items() if key in names]


def test_a_key_of_no_table_is_sent_to_the_top_of_the_file() -> None:
    with pytest.raises(qcnlab.ScenarioError, match=r"'seed' belongs to no table: it stands before"):
        qcnlab.load(HOTSPOT).with_("topology.seed=3")


HOSTS = ("--rate", "100 Gb/s", "--delay", "1 us", "--duration", "1 ms", "-o", "x.toml")
COLUMNS = "src=SRC,dst=DST,bytes=SIZE,start=TIME:ms"
IMPORTS = {
    "htsim": ("ring.cm", ("--times", "ps", *HOSTS)),
    "goal": ("step.goal", HOSTS),
    "simai": ("simai.txt", HOSTS),
    "chakra": ("step.0.et", HOSTS),
    "flows": ("flows.csv", ("--map", COLUMNS, *HOSTS)),
    "hpcc": ("config.txt", ("-o", "x.toml")),
    "sonic": ("config_db.json", ("-o", "x.toml")),
}


@pytest.mark.parametrize("kind", IMPORTS)
@pytest.mark.parametrize(
    ("pack", "unpack"),
    [(gzip.compress, "gunzip"), (bz2.compress, "bunzip2"), (lzma.compress, "unxz")],
    ids=["gzip", "bzip2", "xz"],
)
def test_packed_files_are_named(
    cli: CommandLine, kind: str, pack: Callable[[bytes], bytes], unpack: str
) -> None:
    name, options = IMPORTS[kind]
    (cli.folder / name).write_bytes(pack(b"Nodes 16\n" * 20))
    done = cli("import", kind, name, *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {name}: this is "), done.stderr
    assert done.stderr.endswith(f": unpack it first, with {unpack}\n")
    assert done.stderr.count("\n") == 1
    assert not (cli.folder / "x.toml").exists()


@pytest.mark.parametrize("option", ["--system", "--topology"])
def test_packed_files_beside_a_trace_are_named(cli: CommandLine, option: str) -> None:
    for rank in range(4):
        name = f"step.{rank}.et"
        shutil.copy(ROOT / "examples" / "chakra" / name, cli.folder / name)
    suffix = ".json" if option == "--system" else ".yml"
    (cli.folder / f"packed{suffix}").write_bytes(gzip.compress(b"{}"))
    traces = [f"step.{rank}.et" for rank in range(4)]
    options = HOSTS if option == "--system" else HOSTS[4:]
    done = cli("import", "chakra", *traces, option, f"packed{suffix}", *options)
    assert (done.returncode, done.stderr) == (
        2,
        f"error: packed{suffix}: this is gzip: unpack it first, with gunzip\n",
    )


@pytest.mark.parametrize("command", ["run", "compare", "analyse", "deadlock"])
def test_a_file_named_as_no_path_is(cli: CommandLine, command: str) -> None:
    (cli.folder / "mine").write_text(GOOD, encoding="utf-8")
    done = cli(command, "mine")
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown scenario 'mine'\n")
    assert done.stderr.endswith("= help: for the file of that name write ./mine\n")
    assert cli("deadlock", "./mine").returncode == 0


@pytest.mark.parametrize("command", ["report", "explain-run", "collective", "mib", "fct"])
def test_a_file_is_no_run_folder(cli: CommandLine, command: str) -> None:
    (cli.folder / "mine.toml").write_text(GOOD, encoding="utf-8")
    done = cli(command, "mine.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "'mine.toml' is not a run folder but a file" in done.stderr
