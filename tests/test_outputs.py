"""What options of outputs may overwrite: what qcnlab itself wrote there before."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine, every_command
from qcnlab.book import runner
from qcnlab.files.outputs import CAPTURE, FIGURE, REPORT, writable

LONG = "x" * 300
OUTPUTS = {
    ("run", "--out"): "a new folder",
    ("run", "--capture-file"): "writable",
    ("sweep", "--out"): "a new folder, or one of the same sweep",
    ("tune", "--out"): "a new folder, or one of the same search",
    ("advise", "--out"): "a new folder, or one of the same search",
    ("demo", "--out"): "a new folder",
    ("analyse", "--out"): "a new folder",
    ("validate", "--out"): "folders in it that are named by digests",
    ("validate", "--pages"): "writable_pages",
    ("validate", "--book"): "evidence.json, readings.json and laws.json of a book",
    ("infer", "--out"): "files in it that are named by digests",
    ("infer", "--page"): "writable",
    ("infer", "--book"): "nothing: the book is read",
    ("report", "--out"): "writable",
    ("plot", "--out"): "writable, or a new folder",
    ("deadlock", "--out"): "writable",
    ("headroom", "--out"): "writable",
    ("explain-run", "--out"): "writable",
    ("lint", "--out"): "writable",
    ("fct", "--out"): "writable",
    ("collective", "--out"): "writable",
    ("step", "--out"): "writable",
    ("compare", "--out"): "writable",
    ("compare", "--keep"): "a new folder",
    ("dissector", "--folder"): "writable",
    ("import hpcc", "--out"): "writable, and the lists beside it, too",
    ("import flows", "--out"): "writable, and the lists beside it, too",
    ("import htsim", "--out"): "writable, and the lists beside it, too",
    ("import sonic", "--out"): "writable",
    ("import goal", "--out"): "writable, and the lists beside it, too",
    ("export goal", "--out"): "a new folder",
    ("import chakra", "--out"): "writable, and the lists beside it, too",
    ("import step", "--out"): "writable, and the lists beside it, too",
    ("import simai", "--out"): "writable, and the lists beside it, too",
    ("export hpcc", "--out"): "a new folder",
    ("export sonic", "--out"): "a new folder",
    ("export htsim", "--out"): "a new folder",
    ("live run", "--out"): "a new folder",
    ("live compare", "--out"): "a new folder",
}
"""Every option that says where something is written, and what decides whether it may be."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, result: qcnlab.Result) -> Path:
    """A run, its scenario, its capture, and another run."""
    made = tmp_path_factory.mktemp("outputs")
    result.save(made / "run")
    (made / "mine.toml").write_text(result.config, encoding="utf-8")
    (made / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (made / "page.html").write_text("<!doctype html>\n<title>qcnlab</title>\n", encoding="utf-8")
    (made / "drawing.svg").write_text("<svg><text>qcnlab</text></svg>", encoding="utf-8")
    done = CommandLine(made)(
        "run", HOTSPOT, *SHORT_FLAGS, "--capture", "switch->*", "--capture-count", "5", "-o", "two"
    )
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> CommandLine:
    shutil.copytree(folder, tmp_path / "here")
    return CommandLine(tmp_path / "here")


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_output_option_is_listed() -> None:
    outputs = {
        (name, max(option.opts, key=len))
        for name, command in every_command().items()
        for option in command.params
        if option.param_type_name == "option" and option.metavar in ("FILE", "DIR", "PATH")
    }
    assert outputs == set(OUTPUTS)


VICTIMS = (
    "mine.toml", "run/summary.json", "run/config.toml", "run/queues.parquet", "run/SHA256SUMS",
    "two/capture.pcapng", "photo.png", "page.html", "drawing.svg",
)  # fmt: skip
WRITERS = {
    "report": ("report", "run", "-o"),
    "report of two": ("report", "run", "two", "-o"),
    "plot": ("plot", "run", "-o"),
    "deadlock": ("deadlock", "mine.toml", "-o"),
    "headroom": ("headroom", "--rate", "1G", "--cable", "1m", "--mtu", "1500", "-o"),
    "lint": ("lint", "mine.toml", "-o"),
    "explain-run": ("explain-run", "run", "-o"),
    "collective": ("collective", "run", "-o"),
    "step": ("step", "run", "-o"),
    "compare": ("compare", "run", "two", "-o"),
    "capture": ("run", "mine.toml", "--capture", "switch->*", "--capture-file"),
    "page of a search": ("infer", "1.1", "--page"),
}


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_others_wrote_is_left_as_it_is(here: CommandLine, writer: str, victim: str) -> None:
    before = contents(here.folder)
    done = here(*WRITERS[writer], victim)
    assert done.returncode == 2
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert victim in done.stderr
    assert "another file with -" in done.stderr or "must end in .svg" in done.stderr
    assert contents(here.folder) == before


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("target", ["run", "/", "", ".", "/dev", f"{LONG}.svg", "nowhere/x.svg"])
def test_what_cannot_be_a_file_is_refused(here: CommandLine, writer: str, target: str) -> None:
    before = contents(here.folder)
    done = here(*WRITERS[writer], target)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert contents(here.folder) == before


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_figures_may_be_drawn_again(here: CommandLine, suffix: str) -> None:
    for _ in range(2):
        done = here("plot", "run", "-o", f"figure{suffix}")
        assert done.returncode == 0, done.stderr
    done = here("compare", "run", "two", "-o", f"figure{suffix}")
    assert done.returncode == 0, done.stderr


def test_reports_and_captures_may_be_written_again(here: CommandLine) -> None:
    for _ in range(2):
        assert here("report", "run", "-o", "own.html").returncode == 0
        assert here("report", "run").returncode == 0
        assert here("report", "run", "two").returncode == 0
        done = here(*WRITERS["capture"], "own.pcapng")
        assert done.returncode == 0, done.stderr


def test_a_report_of_several_leaves_a_page_of_others(here: CommandLine) -> None:
    (here.folder / "page.html").rename(here.folder / "report.html")
    before = contents(here.folder)
    assert here("report", "run", "two").returncode == 2
    assert contents(here.folder) == before


def test_no_kind_is_taken_for_another(tmp_path: Path) -> None:
    figure, page = tmp_path / "a", tmp_path / "b"
    figure.write_bytes(b"x" * 70_000 + b"/Creator (qcnlab)")
    page.write_text('<meta name="generator" content="qcnlab">', encoding="utf-8")
    assert writable(figure, FIGURE) == figure
    assert writable(page, REPORT) == page
    for path, kind in ((figure, REPORT), (page, FIGURE), (page, CAPTURE)):
        with pytest.raises(qcnlab.FolderError, match="is left as it is"):
            writable(path, kind)


def test_only_captures_go_into_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert writable(pipe, CAPTURE) == pipe
    with pytest.raises(qcnlab.FolderError, match="no regular file"):
        writable(pipe, FIGURE)


def test_pages_of_the_book_go_into_a_folder_of_their_own(here: CommandLine) -> None:
    (here.folder / "README.md").write_text("# The validation book\n", encoding="utf-8")
    before = contents(here.folder)
    for target in (".", "run", "mine.toml"):
        done = here("validate", "1.5", "--finished", "--pages", target)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "does not hold the validation book" in done.stderr
    assert contents(here.folder) == before


def test_the_dissector_overwrites_nothing_else(cli: CommandLine) -> None:
    for _ in range(2):
        assert cli("dissector", "--install", "--folder", "plugins").returncode == 0
    own = cli.folder / "plugins" / "qcnlab.lua"
    own.write_text("-- mine", encoding="utf-8")
    done = cli("dissector", "--install", "--folder", "plugins")
    assert done.returncode == 2
    assert own.read_text(encoding="utf-8") == "-- mine"


def test_what_compare_keeps_is_refused_before_anything_runs(here: CommandLine) -> None:
    before = contents(here.folder)
    for target in ("run", "mine.toml", "/", LONG):
        # A run of this length would take hours.
        done = here("compare", HOTSPOT, "-s", "duration=900 s,901 s", "--keep", target)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "another with --keep DIR" in done.stderr
    assert contents(here.folder) == before


def test_no_case_of_the_book_runs_where_none_can_be_kept(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    monkeypatch.setattr(runner, "_run", lambda *rest: ran.append(rest))
    (cli.folder / "file").touch()
    for out in ("file", "file/below"):
        done = cli("validate", "1.5", "-o", out)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"cannot write the folder '{out}'" in done.stderr
    assert not ran


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", LONG, LONG), ("report", LONG), ("report", LONG, LONG), ("fct", LONG),
        ("plot", LONG), ("mib", LONG), ("check", LONG), ("run", f"/{LONG}.toml"),
        ("run", HOTSPOT, "-o", LONG), ("demo", "--quick", "-o", LONG),
        ("sweep", HOTSPOT, "--vary", "seed=1,2", "-o", LONG), ("validate", "1.5", "-o", LONG),
        ("explain-run", LONG), ("collective", LONG), ("step", LONG), ("deadlock", LONG),
        ("lint", LONG),
        ("export", "hpcc", HOTSPOT, "-o", LONG), ("export", "sonic", HOTSPOT, "-o", LONG),
        ("import", "htsim", LONG, "--times", "ps", "--duration", "1 ms", "-o", "x.toml"),
        ("validate", "--book", LONG), ("dissector", "--install", "--folder", LONG),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG"),
)  # fmt: skip
def test_names_too_long_for_a_file(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert LONG in done.stderr
    assert cli.left() == []
