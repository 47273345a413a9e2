"""The page on DCQCN's stability: what its Python prints, and what follows from its tables."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT


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
