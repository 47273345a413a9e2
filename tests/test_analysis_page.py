"""The class on gains and round trips: its Python and its commands run."""

from __future__ import annotations

import re
import shlex

import pytest

from conftest import ROOT, CommandLine

PAGE = (ROOT / "docs/concepts/why-aimd-needs-its-gain-set-per-rtt.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("qcnlab ")]


def test_the_python_of_the_page_runs() -> None:
    assert len(PYTHON) >= 4
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(block, names)


@pytest.mark.parametrize("line", [line for line in COMMANDS if "--sweep" not in line])
def test_a_command_of_the_page_runs(line: str, cli: CommandLine) -> None:
    words = shlex.split(line, comments=True)[1:]
    done = cli(*words, "-s", "warmup=20 ms", "-s", "duration=100 ms")
    assert done.returncode == 0, done.stderr


def test_the_python_of_the_page_on_dcqcn_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/concepts/where-dcqcn-turns-unstable.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(block, {})
    assert capsys.readouterr().out == "as published 20.8 us\nexact 62.5 us\n"


def test_what_other_thresholds_say_follows_from_the_table_of_deviations() -> None:
    page = (ROOT / "docs/concepts/where-dcqcn-turns-unstable.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) us \| ([\d.]+) \|", page, re.MULTILINE)
    deviations: dict[str, dict[str, float]] = {}
    for sources, rtt, deviation in rows:
        deviations.setdefault(sources, {})[rtt] = float(deviation)

    def swings(sources: str, growth: float) -> list[str]:
        row = deviations[sources]
        noise = row["4"]
        return [
            rtt
            for rtt, deviation in row.items()
            if deviation**2 - noise**2 >= 0.25**2 and deviation >= growth * noise
        ]

    said = re.findall(r"^\| ((?:none|1\.\d\d) to 1\.\d\d) \|(.*)\|$", page, re.MULTILINE)
    assert len(said) == 5
    for growths, cells in said:
        for growth in growths.replace("none", "0").split(" to "):
            for sources, cell in zip(("2", "5", "10"), cells.split("|"), strict=True):
                assert swings(sources, float(growth)) == re.findall(r"\d+", cell), (growth, sources)
