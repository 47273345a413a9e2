"""Every block of code in the documents runs, or says why not.

Python runs, scenarios are read, and each `qcnlab` command runs, on scenarios made short. A comment
before a block says why it does not run, or which test runs it; one below a page's title speaks for
all of its blocks. `text` is what commands print, and drawings.
"""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import HOTSPOT, ROOT, SHORT, CommandLine
from qcnlab import api

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]*) -->\n+)?^ *```(?P<language>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = re.compile(r"not run: \w.{9,}")
ELSEWHERE = re.compile(r"run by (tests/test_\w+\.py)")
WHOLE_PAGE = re.compile(r"\A# [^\n]*\n\n<!-- no block of this page is run: \w.{9,} -->\n")
PROGRAMS = ("qcnlab ", "make ", "python ", "pip ", "import ", "$ ")
"""How lines begin that are no printed text."""
CAMPAIGNS = ("run", "sweep", "compare", "tune", "warmup", "analyse")
"""Commands whose scenarios are made short."""
SHORTER = {
    "og-hotspot-2src": SHORT,
    "one-source-into-9g": ("warmup=20 ms", "duration=100 ms"),
    "tcp-9-senders": ("hotspot.until=1.05 s", "duration=1.1 s"),
    "ig-4-culprits": ("warmup=120 ms", "duration=200 ms"),
    "one-bridge": ("warmup=10 ms", "duration=60 ms"),
    "incast-16": ("duration=4 ms",),
    "leaf-spine-64": (
        "stop_arrivals=300 us",
        "traffic.2.start=250 us",
        "duration=2 ms",
        "drain=false",
    ),
    "victim-of-pfc": ("warmup=500 us", "duration=1 ms"),
}
"""What makes a scenario short whose name begins so."""


@dataclass(frozen=True)
class Block:
    """A block of a page, with the words of the comment before it."""

    page: Path
    line: int
    mark: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The commands of the block, with lines that go on joined."""
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, at.start("text")),
            at["mark"] or "",
            at["language"],
            at["text"],
        )
        for at in BLOCK.finditer(text)
    ]


def to_run(page: Path) -> list[Block]:
    """Return the blocks that are run here."""
    if WHOLE_PAGE.match(page.read_text(encoding="utf-8")):
        return []
    return [each for each in blocks(page) if each.language != "text" and not each.mark]


def fault(block: Block) -> str:
    """Return what is wrong with how a block says that it does not run; empty if nothing is."""
    if block.language == "text":
        begins = [line for line in block.text.splitlines() if line.startswith(PROGRAMS)]
        return f"{block}: 'text' has a command: {begins[0]}" if begins else ""
    if elsewhere := ELSEWHERE.fullmatch(block.mark):
        test = ROOT / elsewhere[1]
        named = test.exists() and block.page.stem in test.read_text(encoding="utf-8")
        return "" if named else f"{block}: {elsewhere[1]} does not speak of the page"
    if block.mark:
        return "" if NOT_RUN.fullmatch(block.mark) else f"{block}: no reason in '{block.mark}'"
    if block.language in ("python", "toml"):
        return ""
    strange = [line for line in block.commands if not line.startswith("qcnlab ")]
    unknown = block.language not in ("", "sh", "shell", "console") or strange
    return f"{block}: neither run nor marked: {(strange or [block.language])[0]}" if unknown else ""


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_a_block_says_why_it_does_not_run() -> None:
    def told(mark: str, language: str, text: str) -> str:
        return fault(Block(ROOT / "docs/guide/replay.md", 7, mark, language, text))

    assert told("", "", "make test\n").endswith("neither run nor marked: make test")
    assert told("", "cpp", "int x;\n").endswith("neither run nor marked: int x;")
    assert told("", "text", "qcnlab run x\n").endswith("'text' has a command: qcnlab run x")
    assert told("not run:", "", "make test\n").endswith("no reason in 'not run:'")
    assert told("run by tests/test_cli.py", "", "make\n").endswith("does not speak of the page")
    assert not told("run by tests/test_replay.py", "", "make\n")
    assert not told("not run: needs a night", "", "make\n")
    assert not told("", "", "qcnlab run \\\n  x\n")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_runs_or_says_why_not(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^ *```", text, re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page)), "a block has no end"
    if not WHOLE_PAGE.match(text):
        faults = [told for each in blocks(page) if (told := fault(each))]
        assert not faults, "\n".join(faults)


def shorter(name: str) -> tuple[str, ...]:
    return next((changes for key, changes in SHORTER.items() if name.startswith(key)), ())


def short_arguments(line: str, folder: str) -> list[str]:
    """Return the words after `qcnlab`, of a command that does the same with less."""
    words = [folder if word == "runs/FOLDER" else word for word in shlex.split(line, comments=True)]
    name, arguments = words[1], words[1:]
    if name == "lab":
        return [*arguments, "--no-open"]
    if name not in CAMPAIGNS:
        return arguments
    for option, most in (("--reps", 3), ("--trials", 2)):
        if option in arguments:
            at = arguments.index(option) + 1
            arguments[at] = str(min(most, int(arguments[at])))
    if any(word.startswith("duration=") for word in arguments):
        return arguments
    return [*arguments, *(word for change in shorter(words[2]) for word in ("-s", change))]


@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page)], ids=page_name)
def test_its_blocks_run(page: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in one folder, with the names of the blocks before."""

    def load(name: str) -> qcnlab.Scenario:
        return api.load(name).with_(*shorter(name))

    monkeypatch.setattr(qcnlab, "load", load)
    names: dict[str, Any] = {}
    together = to_run(page)
    # A scenario is the file that the page's commands name.
    files = re.findall(r"\b[\w-]+\.toml\b", "\n".join(each.text for each in together))
    folder = ""
    if any("runs/FOLDER" in each.text for each in together):
        folder = str(qcnlab.run(qcnlab.load(HOTSPOT), reps=1).save(cli.folder / "one"))
    for block in sorted(together, key=lambda each: each.language != "toml"):
        if block.language == "toml":
            scenario = qcnlab.Scenario.from_toml(block.text)
            changes = SHORT if "[[hotspot]]" in block.text else ("duration=20 ms",)
            qcnlab.run(scenario.with_(*changes), reps=1)
            (cli.folder / (files or ["scenario.toml"])[0]).write_text(block.text)
        elif block.language == "python":
            with chdir(cli.folder):
                exec(compile(block.text, str(block), "exec"), names)
        else:
            for line in block.commands:
                done = cli(*short_arguments(line, folder))
                assert done.returncode == 0, f"{block}: {line}\n{done.stderr}"


BOOK = [page for page in PAGES if page.parent.name == "book"]


@pytest.mark.parametrize("page", BOOK, ids=page_name)
def test_the_commands_of_the_book_are_of_scenarios_that_can_be_run(page: Path) -> None:
    for block in blocks(page):
        for line in block.commands:
            program, command, name, *words = shlex.split(line)
            assert program == "qcnlab" and command in ("validate", "run"), f"{block}: {line}"
            if command == "run":
                changes = [word for flag, word in pairwise(words) if flag == "-s"]
                assert api.load(name).with_(*changes).name == name
