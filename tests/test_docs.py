"""Links in documents lead somewhere, and the files that they name exist."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from qcnlab import catalogue

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# Pages that speak of the code as it is now, so that every file they name must be there.
CURRENT = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs/decisions").glob("*.md")),
    *sorted((ROOT / "docs/reference").glob("*.md")),
]
FOLDERS = ("benches", "book", "crates", "docs", "examples", "python", "scenarios", "tests")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Return what `#...` may name in a page: its headings as GitHub writes them, and its `id`s."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in headings}
    return slugs | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{name(page)} links to {target}"


@pytest.mark.parametrize("page", [page for page in CURRENT if page.exists()], ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    for word in re.findall(r"`([\w./*-]+)`", page.read_text(encoding="utf-8")):
        head, slash, _ = word.partition("/")
        if slash and head in FOLDERS:
            assert list(ROOT.glob(word.rstrip("/"))), f"{name(page)} names {word}"


def test_the_rooms_of_the_architecture_exist() -> None:
    """A paragraph that begins with a folder in bold names files, folders and modules in it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\*\*`([\w/]+)`\*\*: (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert len(rooms) >= 4
    for folder, words in rooms:
        roots = (ROOT / folder / "src", ROOT / folder)
        for word in re.findall(r"`([\w./]+)`", words):
            names = (word.rstrip("/"), f"{word}.rs", f"{word}.py")
            assert any((root / each).exists() for root in roots for each in names), (folder, word)


def test_renamed_keys_stand_in_the_history() -> None:
    source = (ROOT / "crates/scenario/src/renamed.rs").read_text(encoding="utf-8")
    keys, kinds = source.split("FORMER_TRAFFIC", 1)
    renamed = re.findall(r'\("[^"]*", "(\w+)", "(\w+)"\)', keys)
    former = re.findall(r'\("(\w+)", "\w+", "(\w+)"\)', kinds)
    assert renamed and former
    log = (ROOT / "docs/reference/changed-results.md").read_text(encoding="utf-8")
    for old, new in renamed:
        rows = [line for line in log.splitlines() if line.startswith("|") and f"`{old}`" in line]
        assert any(re.search(rf"\b{new}\b", row) for row in rows), f"{old} -> {new}"
    for kind, transport in former:
        rows = [line for line in log.splitlines() if line.startswith("  |") and f"`{kind}`" in line]
        said = "left out" if transport == "none" else f"`{transport}`"
        assert any(said in row for row in rows), f"kind {kind} -> {transport}"


def test_every_crate_has_a_row_with_all_that_it_uses() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = {
        cells[2].strip().strip("`").removeprefix("crates/"): cells[-2]
        for line in text.splitlines()
        if line.startswith("|") and "`crates/" in line
        for cells in [line.split("|")]
    }
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        crate = manifest.parent.name
        assert crate in rows, f"ARCHITECTURE.md has no row for {crate}"
        tables = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for used in tables.get("dependencies", {}):
            if (name := used.removeprefix("qcnlab-")) != used:
                assert name in rows[crate], f"{crate} uses {name}"


def test_every_source_of_a_scheme_is_on_the_page_of_sources() -> None:
    page = (ROOT / "docs/reference/sources.md").read_text(encoding="utf-8")
    short_name = re.compile(
        r"[Dd]ecks? \d{3}|802\.1Qau|IEEE P?[\d.]+\w+(?:-\d{4})?|[\w-]+ \(\d{4}\)|ConnectX firmware"
    )
    for entry in catalogue.schemes():
        names = short_name.findall(entry.source)
        assert names or entry.source == "-", entry.source
        for each in names:
            assert each.replace("decks", "deck") in page, f"{entry.name}: {each}"


def test_decisions_are_numbered_and_listed() -> None:
    folder = ROOT / "docs/decisions"
    files = sorted(path.name for path in folder.glob("0*.md"))
    assert [int(file[:4]) for file in files] == list(range(1, len(files) + 1))
    index = (folder / "README.md").read_text(encoding="utf-8")
    for file in files:
        title = (folder / file).read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {int(file[:4])}. ")
        assert f"| [{int(file[:4])}]({file}) | {title.partition('. ')[2]} |" in index, file


def test_the_fuzzer_tells_its_options() -> None:
    run = [str(ROOT / "crates" / "wire" / "fuzz" / "run.sh"), "--help"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("--runs N", "--corpus", " cnm "))
