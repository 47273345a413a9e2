"""The pages of schemes are those of the catalogue."""

from __future__ import annotations

from conftest import ROOT
from qcnlab import catalogue
from qcnlab.commands.pages import INDEX, pages

FOLDER = ROOT / "docs" / "schemes"


def test_every_page_is_current() -> None:
    now = pages()
    assert set(now) == {path.name for path in FOLDER.glob("*.md")}
    for name, words in now.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == words, f"{name}: run `make docs`"


def test_every_page_has_its_figure_and_says_what_it_is() -> None:
    now = pages()
    for entry in catalogue.schemes():
        figure = FOLDER / f"{entry.name}.png"
        assert figure.stat().st_size < 60_000
        page = now[f"{entry.name}.md"]
        assert f"({figure.name})" in page
        if entry.status == "reconstruction":
            assert "(reconstruction)" in page.splitlines()[0]
        for preset in entry.presets:
            assert f"* `{preset.name}`: " in page
        for parameter in entry.parameters:
            assert f"| `{parameter.key.rsplit('.', 1)[-1]}` |" in page
    assert INDEX in now
