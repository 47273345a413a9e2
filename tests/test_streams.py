"""Closed, full and narrow streams: one clear message at most, never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import HOTSPOT, ROOT, SHORT, CommandLine, command

TITLE = "Zwei Quellen über einen Weg, 10 µs"
RUN = ["run", "mine.toml", "--reps", "1", "-o", "out"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


@pytest.fixture
def titled(cli: CommandLine) -> CommandLine:
    """The command line in a folder with a short scenario whose title is not ASCII."""
    import qcnlab

    text = qcnlab.load(HOTSPOT).with_(*SHORT, {"title": TITLE}).to_toml()
    (cli.folder / "mine.toml").write_text(text, encoding="utf-8")
    return cli


def shell(
    cli: CommandLine, arguments: list[str], redirection: str, **environment: str
) -> tuple[int, str, str]:
    words = shlex.join(command(arguments))
    done = subprocess.run(
        ["sh", "-c", f"exec {words} {redirection}"],
        cwd=cli.folder,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@POSIX
def test_a_closed_standard_output_is_told(titled: CommandLine) -> None:
    code, out, err = shell(titled, RUN, ">&-")
    assert (code, out) == (2, "")
    assert err == "error: standard output cannot be written: Bad file descriptor\n"
    assert json.loads((titled.folder / "out/summary.json").read_bytes())["replications"] == 1


@POSIX
def test_a_closed_standard_output_does_not_matter_where_nothing_is_printed(
    titled: CommandLine,
) -> None:
    code, _, err = shell(titled, ["run", "nowhere.toml"], ">&-")
    assert code == 2
    assert err.startswith("error: there is no such file")


@POSIX
def test_a_closed_standard_error_loses_the_talk_alone(titled: CommandLine) -> None:
    code, out, err = shell(titled, RUN, "2>&-")
    assert (code, err) == (0, "")
    assert out.endswith("\nout\n")
    # The error goes nowhere; above all not to standard output.
    assert shell(titled, ["run", "nowhere.toml"], "2>&-") == (2, "", "")
    assert shell(titled, ["run"], "2>&-") == (2, "", "")


@POSIX
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_error_changes_nothing_else(titled: CommandLine) -> None:
    assert shell(titled, ["run", "nowhere.toml"], "2>/dev/full") == (2, "", "")


@POSIX
def test_a_title_that_the_terminal_cannot_show_is_escaped(titled: CommandLine) -> None:
    code, out, err = shell(titled, RUN, "", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == r"Zwei Quellen \xfcber einen Weg, 10 \xb5s"


@POSIX
def test_json_stays_json_on_an_ascii_terminal(titled: CommandLine) -> None:
    code, out, err = shell(titled, [*RUN, "--json"], "", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert json.loads(out)["title"] == TITLE
