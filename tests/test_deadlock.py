"""A run that stands still for ever ends with a message and exit code 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import CommandLine

RING = """
title = "Five switches in a ring"
duration = "1 s"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "1 us"
[[link]]
from = "switch{1..5}"
to = "switch{2..5}, switch1"
[[link]]
from = "host{1..5}"
to = "switch{1..5}"
[switch]
input_memory = "100 KB"
[pause]
kind = "link"
[[traffic]]
kind = "saturated"
from = "host{1..5}"
to = "host{3..5}, host{1..2}"
spread = "paired"
frame = "1500 B"
[scheme]
name = "none"
"""


def test_a_circle_of_pauses_is_named_and_leaves_no_folder(cli: CommandLine) -> None:
    (cli.folder / "ring.toml").write_text(RING, encoding="utf-8")
    done = cli("run", "ring.toml", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: scenario ring, replication 0: deadlock at 0.001000 s: ")
    assert "switch1->switch2, switch2->switch3, switch3->switch4" in done.stderr
    assert not (cli.folder / "out").exists()
