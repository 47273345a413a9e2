"""The demonstration, small: table, figures, page, and drawing again."""

from __future__ import annotations

import errno
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import qcnlab
from conftest import CommandLine, Done
from qcnlab.demo.cells import ROWS, RTTS, Demo
from qcnlab.demo.running import open_demo

VOID = {"meta", "br", "link", "img", "input", "hr"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("demo")
    return folder, CommandLine(folder)("demo", "--quick", "--reps", "1")


@pytest.fixture(scope="module")
def demo(ran: tuple[Path, Done]) -> Demo:
    return open_demo(ran[0] / "runs" / "demo")


def test_it_prints_a_table_for_each_rtt(ran: tuple[Path, Done]) -> None:
    done = ran[1]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for rtt in RTTS:
        assert f"RTT {rtt}" in done.stdout
    for row in ROWS:
        assert done.stdout.count(row.label) == len(RTTS), row
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert "runs/demo/report.html" in done.stdout


def test_it_fits_narrow_terminals(demo: Demo) -> None:
    assert max(map(len, demo.text(80).splitlines())) <= 80


def test_every_cell_is_a_run_folder(demo: Demo, ran: tuple[Path, Done]) -> None:
    assert len(demo.cells) == len(ROWS) * len(RTTS)
    for cell in demo.cells:
        again = qcnlab.open_run(ran[0] / "runs" / "demo" / cell.folder)
        assert again.summary.scheme == cell.row.scheme
        assert again.summary == cell.result.summary


def test_the_command_of_a_cell_makes_its_numbers(demo: Demo, tmp_path: Path) -> None:
    import shlex

    cell = demo.cell(ROWS[-1], "10 us")
    words = shlex.split(cell.command)
    done = CommandLine(tmp_path)(*words[1:], "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    told = cell.result.summary.to_dict()
    assert {key: printed[key] for key in told} == told


class Page(HTMLParser):
    """Checks nesting, and collects ids and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing(ran: tuple[Path, Done]) -> None:
    html = (ran[0] / "runs" / "demo" / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(html)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"@import|<script|<link|url\((?!#)", html)
    assert len(html) < 4e6
    for row in ROWS:
        assert row.label in html
    for published in ("94", "108", "214"):
        assert re.search(rf"<td>{published}</td>", html)


def test_figures_are_small_and_redrawn_the_same(ran: tuple[Path, Done], demo: Demo) -> None:
    del demo
    folder = ran[0] / "runs" / "demo"
    drawn = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    assert len(drawn) == 5
    assert all(len(data) < 1_000_000 for data in drawn.values())
    assert all(name.endswith(".svg") for name in drawn)
    done = CommandLine(ran[0])("plot", "runs/demo", "-o", "again")
    assert done.returncode == 0, done.stderr
    for name, data in drawn.items():
        assert (ran[0] / "again" / "figures" / name).read_bytes() == data, name
    again = {path.name for path in (ran[0] / "again" / "figures").iterdir()}
    assert again == {f"{Path(name).stem}{suffix}" for name in drawn for suffix in (".svg", ".png")}


def test_an_existing_folder_is_refused(ran: tuple[Path, Done]) -> None:
    done = CommandLine(ran[0])("demo", "--quick", "-o", "runs")
    assert done.returncode == 2
    assert "exists already" in done.stderr


def test_a_demo_whose_folder_cannot_be_written_prints_its_table(
    demo: Demo, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qcnlab.demo import running

    def full(demo: Demo, folder: Path, suffixes: list[str]) -> list[Path]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(running, "run_cells", lambda **_: demo)
    monkeypatch.setattr(running, "draw", full)
    done = cli("demo")
    assert done.returncode == 2
    assert done.stdout.rstrip("\n") == demo.text(120)
    assert done.stderr == "error: cannot write the folder 'runs/demo': No space left on device\n"
    assert cli.left() == []
