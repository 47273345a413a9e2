"""The gallery: each picture is of a file that the commands above it draw."""

from __future__ import annotations

import re
import shlex

from PIL import Image

from conftest import ROOT

PAGE = ROOT / "docs/guide/gallery.md"
PICTURE = re.compile(r"!\[([^\]]+)\]\(\.\./img/(gallery-)?([^)]+)\)")


def sections() -> list[str]:
    return PAGE.read_text(encoding="utf-8").split("\n## ")[1:]


def test_each_section_has_a_picture_of_what_its_commands_draw() -> None:
    assert len(sections()) >= 8
    for section in sections():
        title, _, text = section.partition("\n")
        pictures = PICTURE.findall(text)
        assert pictures, title
        commands = [line for line in text.splitlines() if line.startswith("qcnlab ")]
        for words, drawn_here, name in pictures:
            path = ROOT / "docs/img" / f"{drawn_here}{name}"
            assert len(words) > 20, f"{title}: what a picture shows stands in its words"
            with Image.open(path) as picture:
                assert picture.width <= 1300
            assert path.stat().st_size < 100_000
            if drawn_here:
                assert any(draws(shlex.split(line), name) for line in commands), f"{title}: {name}"


def draws(words: list[str], name: str) -> bool:
    """Return whether a command leaves the picture: as a file, or in the folder that it names."""
    out = words[words.index("-o") + 1] if "-o" in words else words[2]
    folder = out.replace("/", "-")
    return out == name or (words[1] in ("plot", "sweep") and name.startswith(f"{folder}-"))


def test_what_a_command_draws_is_told_from_its_words() -> None:
    assert draws(shlex.split("qcnlab plot a/1-b"), "a-1-b-tree.png")
    assert draws(shlex.split("qcnlab compare a b -o c.png"), "c.png")
    assert draws(shlex.split("qcnlab sweep a -o b"), "b-sweep.png")
    assert not draws(shlex.split("qcnlab run a -o b"), "b-run.png")
    assert not draws(shlex.split("qcnlab compare a b -o c.png"), "d.png")


def test_every_command_that_draws_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("plot", "compare", "fct", "sweep"):
        assert f"\nqcnlab {name} " in page
    for style in ("paper", "paper-wide"):
        assert f"--style {style} " in page
