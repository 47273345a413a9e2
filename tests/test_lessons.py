"""The lessons print what runs and theory give.

Each such number stands in a `data` element that says whose it is: `LINK.RUN METRIC`. The lesson's
first link to the laboratory is 1, and so is the first run of a link; `LINK.RUN+KEY=VALUE` changes
that run. A key of the scenario, such as `topology.buffer`, stands for what the run has, and `loop
PHASE NAME WHAT` for a control loop's `critical_delay` or `phase_margin` in a congested phase,
counted from 0.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

import qcnlab
from conftest import ROOT
from qcnlab import _core, catalogue
from qcnlab.analysis.modelled import read
from qcnlab.results.comparison import flat

if TYPE_CHECKING:
    from pathlib import Path

LESSONS = sorted((ROOT / "web/src/lessons").glob("*.html"))
SCALES = {
    "": 1.0, "million": 1e6, "ms": 1.0, "%": 0.01, "Gb/s": 1.0, "KB": 1e3, "MB": 1e6, "µs": 1e-6,
    "°": 1.0,
}  # fmt: skip
"""What a lesson's unit is in that of what it measures: metrics are in ms, Gb/s and octets."""
MINUS = "\u2212"
NOTHING = ("No", "nothing")
ARITHMETIC = ("2.4 ms", "0.1 ms", "4.8 ms", "15 %")
"""Numbers that the lessons' own words work out, or that a source prints."""


@dataclass
class Lesson(HTMLParser):
    """A lesson's links to the laboratory, and what its `data` elements say and print."""

    links: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    words: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.whose = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        if tag == "a" and named.get("class") == "run":
            self.links.append(named["href"])
        if tag == "data":
            self.whose = named["value"]

    def handle_data(self, data: str) -> None:
        if self.whose:
            self.said.append((self.whose, data))
        else:
            self.words += data
        self.whose = ""


def lesson(path: Path) -> Lesson:
    parsed = Lesson()
    parsed.feed(path.read_text(encoding="utf-8"))
    return parsed


def scenarios(link: str) -> list[qcnlab.Scenario]:
    """Return what a link sets up, as the laboratory does: a scenario for each of its runs."""
    words = parse_qs(link.removeprefix("#"))
    [name] = words["scenario"]
    scenario = qcnlab.load(name)
    own = flat(tomllib.loads(scenario.to_toml()))["scheme.name"]
    runs = []
    for run in words["run"]:
        scheme, *changes = run.split("|")
        named = [f"scheme.name={scheme}"] if scheme != own else []
        runs.append(scenario.with_(*words.get("set", []), *named, *changes))
    return runs


@cache
def result(config: str) -> qcnlab.Result:
    scenario = qcnlab.Scenario.from_toml(config).with_("record.tables=false")
    return qcnlab.run(scenario, reps=1, progress=False)


def loop(scenario: qcnlab.Scenario, phase: str, name: str, what: str) -> float | None:
    known = read(scenario)
    congested = [each for each in known.phases if each.contenders is not None]
    margins = known.model(congested[int(phase)]).loops()[name.replace("-", " ")].margins()
    both = {
        "critical_delay": margins.critical_delay_s,
        "phase_margin": margins.phase_margin_deg,
    }
    return both[what]


def close(printed: str, value: float | None) -> bool:
    """Whether a number in a lesson is `value`, to its last digit."""
    if printed in (*NOTHING, "never"):
        return value == (0 if printed in NOTHING else None)
    parsed = re.fullmatch(rf"({MINUS}?[\d.,]+)\s*(.*)", printed)
    assert parsed is not None, printed
    digits, unit = parsed[1].replace(",", "").replace(MINUS, "-"), parsed[2]
    last = 10.0 ** -len(digits.partition(".")[2]) * SCALES[unit]
    # 103,300 is 103 thousand and 3 hundred: zeros at the end are rounded.
    if "." not in digits and unit == "" and len(digits) > 4:
        last *= 10 ** (len(digits) - len(digits.rstrip("0")))
    return value is not None and abs(value - float(digits) * SCALES[unit]) <= last / 2 * (1 + 1e-9)


def test_a_number_is_held_to_its_last_digit() -> None:
    # 32.3 KB is 32,250 to 32,350; 103,300 is 103,250 to 103,350; 98.5 % is 0.9845 to 0.9855.
    assert close("32.3 KB", 32_349.0) and not close("32.3 KB", 32_351.0)
    assert close("103,300", 103_251) and not close("103,300", 103_249)
    assert close("98.5 %", 0.9849) and not close("98.5 %", 0.9844)
    assert close(f"{MINUS}85°", -84.6) and not close(f"{MINUS}85°", 84.6)
    assert close("never", None) and not close("never", 78.0) and not close("78 ms", None)
    assert close("nothing", 0.0) and not close("No", 1.0)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: str(path.stem))
def test_the_numbers_are_those_of_the_runs(path: Path) -> None:
    parsed = lesson(path)
    links = [scenarios(link) for link in parsed.links]
    metrics = {entry.name for entry in catalogue.metrics()}
    wrong = []
    for whose, printed in parsed.said:
        run, what, *rest = whose.split()
        number, *changes = run.split("+")
        link, variant = map(int, number.split("."))
        scenario = links[link - 1][variant - 1].with_(*changes)
        if what in metrics:
            value = result(scenario.to_toml()).metric(what)
        elif what == "loop":
            value = loop(scenario, *rest)
        else:
            set_to = flat(tomllib.loads(scenario.to_toml()))[what]
            one, other = (_core.quantity(text.replace("µ", "u")) for text in (printed, set_to))
            if printed != set_to and (one is None or one != other):
                wrong.append(f"{whose}: printed {printed}, is {set_to}")
            continue
        if not close(printed, value):
            wrong.append(f"{whose}: printed {printed}, is {value}")
    assert not wrong, "\n".join(wrong)
    assert len(parsed.said) >= 8


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: str(path.stem))
def test_no_result_is_printed_without_saying_whose_it_is(path: Path) -> None:
    """Counts of frames and messages, shares, and sizes and times with a point are measured."""
    bare = lesson(path).words
    measured = r"\d[\d,.]*\s*(?:million\s+)?(?:frames|messages)|\d+\.\d+ (?:KB|MB|ms)|\d+ %"
    # The words of links are set up, not measured.
    bare = re.sub(r"150 KB and 1.5 MB between samples", "", bare)
    assert [word for word in re.findall(measured, bare) if word not in ARITHMETIC] == []
