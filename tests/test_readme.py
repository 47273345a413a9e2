"""What the documents tell a reader to type works as typed."""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest

import qcnlab
from conftest import HOTSPOT, ROOT, SHORT, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text()

# How to make the runs that the README shows short.
SHORTER = {
    HOTSPOT: ["-s", "duration=1.1 s", "-s", "hotspot.until=1.05 s"],
    "tcp-9-senders-qcn-and-pause-rtt25us": ["-s", "duration=1.1 s", "-s", "hotspot.until=1.05 s"],
}


VERDICTS = (
    "number reproduced",
    "order reproduced",
    "drawn for comparison",
    "not reproduced",
    "not run yet",
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line for block in blocks("") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("qcnlab ")]


def test_the_scenario_is_one() -> None:
    [text] = blocks("toml")
    assert qcnlab.Scenario.from_toml(text).name


def test_the_python_runs(tmp_path: Path) -> None:
    [text] = blocks("python")
    with chdir(tmp_path):
        exec(text, {})
    assert (tmp_path / "hotspot.svg").exists()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_run(words: list[str], cli: CommandLine) -> None:
    arguments = ["3" if word == "50" else word for word in words[1:]]
    if "runs/FOLDER" in arguments:
        result = qcnlab.run(qcnlab.load(HOTSPOT).with_(*SHORT), reps=1)
        folder = str(result.save(cli.folder / "one"))
        arguments = [folder if word == "runs/FOLDER" else word for word in arguments]
    if "my.toml" in arguments:
        (cli.folder / "my.toml").write_text(blocks("toml")[0])
    if arguments[0] in ("run", "sweep"):
        arguments += SHORTER.get(arguments[1], ["-s", "duration=0.4 s"])
    done = cli(*arguments)
    assert done.returncode == 0, done.stderr


def test_the_counts_of_the_book_are_the_books() -> None:
    book = (ROOT / "docs/book/README.md").read_text()
    counts = {
        word: count[1]
        for word in VERDICTS
        if (count := re.search(rf"^\| {word} \| (\d+) \|", book, re.MULTILINE))
    }
    rows = re.search(r"^(\d+) rows:", book, re.MULTILINE)
    assert rows is not None
    # A verdict that no row has is left out of the page: here "not run".
    number, order, drawn, missed = counts.values()
    assert list(counts) == list(VERDICTS)[:4]
    flat = " ".join(README.split())
    assert (
        f"Of {rows[1]} rows {number} reproduce a printed number, {order} reproduce an order or a "
        f"verdict in words, {drawn} are drawn for comparison, and {missed} do not reproduce."
        in flat
    )


@pytest.mark.parametrize(
    "term", ["QCN", "CNM", "hotspot", "RTT", "ECM", "PAUSE", "PFC", "fluid model", "reconstruction"]
)
def test_a_term_is_explained_where_it_first_stands(term: str) -> None:
    """Explained terms are emphasised, or are the short form in brackets of words that are."""
    before = README[: README.index(term)]
    assert before.endswith(("*", "(")), f"{term} first stands after: {before[-60:]}"


def test_the_decks_are_introduced_before_the_first_is_named() -> None:
    assert README.index("slide decks** are") < README.index("deck 00")
