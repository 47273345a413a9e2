"""Tables of flows with columns in any order, as scenarios."""

from __future__ import annotations

import json
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.formats.scenarios import FEW

if TYPE_CHECKING:
    from pathlib import Path

MAP = "src=SRC,dst=DST,bytes=SIZE,start=TIME:ms"
LINK = ("--rate", "25 Gb/s", "--delay", "1 us", "--duration", "10 ms")


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    shutil.copy(ROOT / "examples/flows.csv", tmp_path)
    return CommandLine(tmp_path)


def test_a_table_becomes_a_scenario_that_runs(here: CommandLine) -> None:
    done = here("import", "flows", "flows.csv", "--map", MAP, *LINK, "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    lost = [entry["what"] for entry in report["not_modelled"]]
    assert "columns PROTO, NOTE" in lost
    assert "1 flow from a host to itself" in lost
    assert (here.folder / "made.flows.csv").read_text().splitlines()[2:] == [
        "host1,host2,1500000 B,0 s,",
        "host3,host2,64000 B,250 us,",
        "host2,host1,400 B,1 ms,",
        "host1,host4,9000 B,500 us,",
    ]
    assert (here.folder / "made.hosts.csv").read_text().splitlines()[-1] == "host4,2001:db8::1"
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    assert result.flows.to_polars()["finished_s"].null_count() == 0


def test_units_classes_delimiters_and_the_end(here: CommandLine) -> None:
    text = "a;b;n;t;p\nx;y;3;7000;5\ny;x;0;7001;1\ny;x;9;17000;1\ny;x;2;7002;0\n"
    (here.folder / "own.csv").write_text(text)
    words = ("--map", "class=p,start=t:us,bytes=n:KiB,dst=b,src=a", "--delimiter", ";")
    done = here("import", "flows", "own.csv", *words, *LINK, "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert (here.folder / "made.flows.csv").read_text().splitlines()[2:] == [
        "host1,host2,3072 B,0 s,5",
        "host2,host1,2048 B,2 us,0",
    ]
    lost = [entry["what"] for entry in json.loads(done.stdout)["not_modelled"]]
    assert "1 flow of 0 octets" in lost
    assert "1 flow from the end of the run on" in lost
    again = (*words, "--origin", "6 ms")
    assert here("import", "flows", "own.csv", *again, *LINK, "-o", "made.toml").returncode == 0
    assert "host1,host2,3072 B,1 ms,5" in (here.folder / "made.flows.csv").read_text()


def test_many_flows_have_one_bin_each(here: CommandLine) -> None:
    rows = "".join(f"x,y,1,{at}\n" for at in range(FEW + 1))
    (here.folder / "many.csv").write_text("a,b,n,t\n" + rows)
    words = ("--map", "src=a,dst=b,bytes=n,start=t:ns")
    done = here("import", "flows", "many.csv", *words, *LINK, "-o", "made.toml")
    assert done.returncode == 0, done.stderr
    said = tomllib.loads((here.folder / "made.toml").read_text())
    assert said["record"] == {"rates_every": "10 ms", "throughput_bin": "10 ms"}


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("src=SRC,dst=DST,bytes=SIZE,start=TIME", "start=TIME has no unit of time"),
        ("src=SRC,dst=DST,bytes=SIZE,start=TIME:h", "has no unit of time"),
        ("src=SRC,dst=DST,bytes=SIZE", "no column for start"),
        ("src=SRC,src=DST,bytes=SIZE,start=TIME:s", "'src' is there twice"),
        ("from=SRC", "no role is called 'from'"),
        ("SRC", "'SRC' is not ROLE=COLUMN"),
        ("src=SCR,dst=DST,bytes=SIZE,start=TIME:s", "line 2: no column is called 'SCR'; did you"),
    ],
)
def test_a_mapping_that_cannot_be(here: CommandLine, columns: str, told: str) -> None:
    done = here("import", "flows", "flows.csv", "--map", columns, *LINK, "-o", "made.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr
    assert here.left() == ["flows.csv"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("1500000", "-5", "line 3: bytes: '-5' is no whole number"),
        ("1500000", "\u0661", "bytes: '\\xd9\\xa1' is no whole number"),
        ("1500000", "1e400", "bytes: '1e400' is no whole number"),
        ("1700000000001,", "nan,", "line 5: start: 'nan' is no number"),
        ("1700000000001,", "1700000000001", "line 5: 5 cells, where the first line has 6"),
        ("10.0.0.2", "", "line 4: a host has no name"),
        ('"a, b"', '"a, b', "line 3: unexpected end of data"),
        ("DST,SRC", "SRC,SRC", "column 'SRC' is there twice"),
        ("to itself", "x" * (1 << 21), "line 7: the line has more than 1048576 octets"),
    ],
)
def test_a_hostile_table_ends_in_one_line(
    here: CommandLine, before: str, after: str, told: str
) -> None:
    file = here.folder / "flows.csv"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    done = here("import", "flows", "flows.csv", "--map", MAP, *LINK, "-o", "made.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert told in done.stderr
    assert here.left() == ["flows.csv"]


def test_options_that_cannot_be(here: CommandLine) -> None:
    for change, told in (
        (("--rate", "25 GB/s"), "--rate: '25GB/s' is not a rate"),
        (("--delay", "-1 us"), "--delay: '-1us' is not a time"),
        (("--delimiter", "::"), "--delimiter: '::' is not one character"),
        (("--origin", "2000000000 s"), "give another --origin, or none"),
    ):
        words = ("--map", MAP, *LINK, *change, "-o", "made.toml")
        done = here("import", "flows", "flows.csv", *words)
        assert done.returncode == 2
        assert told in done.stderr
    (here.folder / "made.flows.csv").write_text("mine")
    done = here("import", "flows", "flows.csv", "--map", MAP, *LINK, "-o", "made.toml")
    assert "another file with -o" in done.stderr
    assert (here.folder / "made.flows.csv").read_text() == "mine"
