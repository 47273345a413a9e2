"""What a release needs beside tests: stale files, versions, workflows, and `make bless`."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import bless
import release_check
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_a_page_of_other_sources_is_stale(tmp_path: Path) -> None:
    page = tmp_path / "python/qcnlab/lab.html"
    page.parent.mkdir(parents=True)
    (tmp_path / "web").mkdir()
    (tmp_path / "web/sources.py").write_text('def digest():\n    return "0123456789abcdef"\n')
    page.write_text("<!--\nsources 0123456789abcdef\n-->\n")
    assert release_check.stale_page(tmp_path) == []
    for text in ("<!--\nsources 0123456789abcdee\n-->\n", "<!-- -->\n"):
        page.write_text(text)
        [line] = release_check.stale_page(tmp_path)
        assert "run `make lab`" in line


def test_the_real_page_names_its_sources() -> None:
    """What is stale is said for a release alone; that it can be said holds always."""
    page = (ROOT / "python/qcnlab/lab.html").read_text(encoding="utf-8")
    assert re.search(r"^sources [0-9a-f]{16}$", page, re.MULTILINE)
    assert all("make lab" in line for line in release_check.stale_page(ROOT))


def test_files_with_another_version_are_named(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n')
    citation, changelog = tmp_path / "CITATION.cff", tmp_path / "CHANGELOG.md"
    citation.write_text("cff-version: 1.2.0\nversion: 1.2.3\n")
    changelog.write_text("# Changelog\n\n## 1.2.3, 2026-12-01\n")
    assert release_check.versions(tmp_path) == []
    citation.write_text("cff-version: 1.2.0\nversion: 1.2.4\n")
    changelog.write_text("# Changelog\n\n## 1.2.3, unreleased\n\n## 1.2.30, 2026-12-01\n")
    cited, dated = release_check.versions(tmp_path)
    assert "1.2.4" in cited and "1.2.3" in cited
    assert "its date" in dated
    citation.write_text("cff-version: 1.2.0\n")
    assert "is none" in release_check.versions(tmp_path)[0]


def test_workflows_name_what_is_there() -> None:
    """Commands of `make` and files that they call exist; each action has a version."""
    assert [file.stem for file in WORKFLOWS] == ["ci", "pages", "release"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    texts = [file.read_text(encoding="utf-8") for file in WORKFLOWS]
    for text in texts:
        for target in re.findall(r"run: make ([a-z-]+)", text):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for name in re.findall(r"(?:tests/\w+\.py|\.ci/\w+)", text):
            assert (ROOT / name).is_file(), name
        for action in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|stable)", action), action
        assert "timeout-minutes" in text and "permissions:" in text
    ci, pages, release = texts
    assert ".ci/run" in ci and "target/site/html" in pages
    # PyPI trusts the workflow: there is no secret anywhere.
    assert "id-token: write" in release and "secrets." not in "".join(texts)
    # The line of sed that reads the version needs this form.
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert re.search(r'^\[workspace\.package\]\nversion = "[\d.]+"$', cargo, re.MULTILINE)


def test_what_git_takes_for_generated_exists() -> None:
    lines = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    patterns = [line.split()[0] for line in lines if not line.startswith("#")]
    assert len(patterns) > 10
    assert [pattern for pattern in patterns if not any(ROOT.glob(pattern))] == []


def test_what_is_blessed_as_a_whole_is_marked_as_generated() -> None:
    """The page of managed objects is written by hand but for its table."""
    names = sorted(
        name for part in bless.PARTS.values() for name in bless.contents(ROOT, part.files)
    )
    command = ["git", "check-attr", "linguist-generated", "--", *names]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    unmarked = [line.split(":")[0] for line in told.splitlines() if not line.endswith(": set")]
    assert unmarked == ["docs/reference/mib.md"]


def test_blessing_says_which_files_have_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("same", "other", "old"):
        (folder / name).write_text(name)
    (tmp_path / "alone").write_text("1")
    writes = (
        "import os, pathlib; p = pathlib.Path('pages'); (p / 'other').write_text('!');"
        "(p / 'old').unlink(); (p / 'new').write_text(os.environ['QCNLAB_BLESS'])"
    )
    fails = "import pathlib; pathlib.Path('alone').write_text('2'); raise SystemExit(3)"
    parts = {
        "pages": bless.Part((sys.executable, "-c", writes), ("pages",), "say why"),
        "alone": bless.Part((sys.executable, "-c", fails), ("alone",)),
        "none": bless.Part((sys.executable, "-c", ""), ("pages", "alone")),
    }
    assert bless.bless(tmp_path, parts) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("  ")] == [
        "  new      pages/new",
        "  gone     pages/old",
        "  changed  pages/other",
        "  changed  alone",
    ]
    assert said[-2:] == ["say why", "alone failed, with exit code 3"]
    assert (folder / "new").read_text() == "1"
    # Once more: nothing changes, and nothing is asked for.
    assert bless.bless(tmp_path, {"none": parts["none"]}) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing has changed"


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bless.main(["schema", "pages"]) == 2
    assert capsys.readouterr().err == (
        "bless: no part 'pages'; there are: schema, digests, hotspot, refusals, mib, schemes, lab\n"
    )


def test_what_is_blessed_is_where_its_parts_say() -> None:
    """A file that a part writes exists, and each test that can be blessed has a part."""
    for name, part in bless.PARTS.items():
        assert bless.contents(ROOT, part.files), name
    rust = (path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts)
    blessed = {path for path in rust if "QCNLAB_BLESS" in path.read_text(encoding="utf-8")}
    named = {"crates/lab/src/mib/tests.rs": "mib"}
    for path in blessed:
        name = named.get(path.relative_to(ROOT).as_posix(), path.stem)
        if "template" not in path.parts:
            assert name in bless.PARTS, path
