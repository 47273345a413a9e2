"""Build the site of the documentation into target/site/html; `make site` calls this.

The pages are those of the repository, with three kinds of pages that are generated here: the
reference of commands, metrics, parameters and words; the lessons, with the laboratory as a file
beside them; and the notebooks.
A link that leads nowhere ends the build.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "target" / "site"
PAGES = SITE / "pages"
HTML = SITE / "html"
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?(?:\s+\"[^\"]*\")?\))")
SHIM = "https://unpkg.com/iframe-worker/shim"
LAB = "lab.html"
"""The laboratory, beside the lessons."""

LANDING = ROOT / "docs/site/landing.md"
"""The page that the site opens with."""

GROUPS = (
    ("Start", ("overview.md", "docs/lessons", "docs/guide/gallery.md")),
    ("Guides", ("examples/notebooks", "docs/guide")),
    ("Concepts", ("docs/concepts", "docs/schemes")),
    ("Validation book", ("docs/book",)),
    (
        "Reference",
        ("docs/reference", "docs/decisions", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    ),
)
"""The sidebar: a title, then pages and folders of pages."""
ORDER = (
    "laboratory.md", "scenario-files.md", "sweeps.md", "figures.md", "tuning.md", "headroom.md",
    "deadlock.md", "thresholds.md", "sonic-fabric.md",
)  # fmt: skip
"""The guides that come first; the others follow by name."""
ALONE = ("docs/guide/gallery.md",)
"""Pages of a folder that stand elsewhere in the sidebar."""
TITLES = {"overview.md": "Set up, and three doors"}
"""Titles in the sidebar that differ from those of the pages."""


def main() -> None:
    """Build everything; print how long each part took."""
    clock = Clock()
    if SITE.exists():
        shutil.rmtree(SITE)
    PAGES.mkdir(parents=True)
    own = ROOT / "docs/site"
    pages = [page for page in (ROOT / "docs").rglob("*.md") if not page.is_relative_to(own)]
    sources = [LANDING, *ROOT.glob("*.md"), *pages]
    for source in sources:
        stage(source)
    for picture in (ROOT / "docs").rglob("*"):
        if picture.suffix in (".png", ".svg"):
            copy(picture)
    shutil.copy(ROOT / "docs/site/site.css", PAGES)
    clock.tell(f"{len(sources)} pages")
    reference()
    notebooks()
    lessons()
    clock.tell("reference, notebooks and lessons")
    config = (ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8")
    nav = json.dumps(navigation())
    (SITE / "zensical.toml").write_text(config.replace('"@NAV@"', inline(json.loads(nav))))
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    subprocess.run(command, cwd=SITE, check=True, stdout=subprocess.DEVNULL)
    vendor()
    clock.tell("zensical")
    broken = [*dead_links(), *outside_loads()]
    if broken:
        sys.exit("\n".join(broken))
    clock.tell("links checked")
    print(HTML / "index.html")


class Clock:
    """Tells how long each part of the build took."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def tell(self, what: str) -> None:
        """Print the seconds since the last call."""
        now = time.perf_counter()
        print(f"{now - self.last:6.1f} s  {what}")
        self.last = now


def staged(path: Path) -> Path:
    """Return where a file of the repository stands among the pages."""
    inner = path.relative_to(ROOT)
    if path == LANDING:
        inner = Path("index.md")
    elif inner == Path("README.md"):
        inner = Path("overview.md")
    elif path.name == "README.md":
        inner = inner.with_name("index.md")
    elif path.suffix not in (".md", ".png", ".svg", ".ipynb"):
        inner = inner.with_name(f"{inner.name}.txt")
    return PAGES / inner


def stage(source: Path) -> None:
    """Put a page among the pages; what it links to comes with it."""
    target = staged(source)

    def moved(match: re.Match[str]) -> str:
        link = match[2]
        if re.match(r"[a-z]+:", link):
            return match[0]
        there = (source.parent / link).resolve()
        if not there.exists():
            sys.exit(f"{source.relative_to(ROOT)} links to {link}, which is not there")
        return f"{match[1]}{relative(copy(there), target)}{match[3]}"

    write(target, LINK.sub(moved, source.read_text(encoding="utf-8")))


def relative(path: Path, page: Path) -> str:
    """Return the link from a page to a staged file."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


def copy(there: Path) -> Path:
    """Stage what a page links to: a file as it is, a folder as a list of its files."""
    if there.is_dir():
        if (there / "README.md").exists():
            return staged(there / "README.md")
        target = PAGES / there.relative_to(ROOT) / "index.md"
        if not target.exists():
            files = sorted(path for path in there.rglob("*") if path.is_file())
            lines = [f"* [{f.relative_to(there)}]({relative(copy(f), target)})" for f in files]
            write(target, f"# {there.relative_to(ROOT)}\n\n" + "\n".join(lines) + "\n")
        return target
    target = staged(there)
    if there.suffix == ".ipynb":
        return target.with_suffix(".md")
    if there.suffix != ".md" and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(there, target)
    return target


def write(target: Path, text: str) -> None:
    """Write a page; `site.css` has the class of what commands print, which keeps its columns."""
    target.parent.mkdir(parents=True, exist_ok=True)
    marked = re.sub(r"^( *```)text$", r"\1 { .text .printed }", text, flags=re.MULTILINE)
    target.write_text(marked, encoding="utf-8")


def qcnlab(words: str, folder: Path) -> str:
    """Run a command in this process; return what it printed."""
    from qcnlab.cli.program import main as command

    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            command(shlex.split(words))
        except SystemExit as ended:
            code = ended.code
    if code:
        sys.exit(f"qcnlab {words}\n{err.getvalue()}")
    return out.getvalue()


def reference() -> None:
    """Write the pages of commands, metrics, parameters and words."""
    from qcnlab import catalogue
    from qcnlab.catalogue.words import words
    from qcnlab.cli.examples import EXAMPLES

    parts = ["# Commands\n"]
    for name in EXAMPLES:
        parts.append(f"## qcnlab {name}\n\n```text\n{qcnlab(f'{name} --help', SITE)}```\n")
    write(PAGES / "docs/reference/commands.md", "\n".join(parts))
    parts = ["# Metrics\n"]
    for entry in catalogue.metrics():
        unit = f" ({entry.unit})" if entry.unit else ""
        source = f" *{entry.source}*" if entry.source else ""
        parts.append(f"`{entry.name}`{unit}: **{entry.title}**. {entry.about}{source}\n")
    write(PAGES / "docs/reference/metrics.md", "\n".join(parts))
    parts = ["# Words of the field\n", "`qcnlab explain WORD` prints these.\n"]
    for word in sorted(words(), key=lambda each: each.name.lower()):
        also = f" ({', '.join(word.also)})" if word.also else ""
        covers = f" *Under this: {', '.join(word.covers)}.*" if word.covers else ""
        parts.append(f"**{word.name}**{also}: {word.about}{covers}\n")
    write(PAGES / "docs/reference/words.md", "\n".join(parts))
    listed = qcnlab("list parameters", SITE)
    write(PAGES / "docs/reference/parameters.md", f"# Parameters\n\n```text\n{listed}```\n")


def notebooks() -> None:
    """Write the notebooks as pages; tests execute them."""
    for path in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = []
        for cell in cells:
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        write(staged(path).with_suffix(".md"), "\n\n".join(parts) + "\n")


def lessons() -> None:
    """Write the lessons as pages; what they run opens in the laboratory."""
    parts = ["# Lessons\n", "Ten minutes each, with questions and answers for students.\n"]
    for number, path in enumerate(sorted((ROOT / "web/src/lessons").glob("*.html")), 1):
        html = path.read_text(encoding="utf-8").replace('href="#', f'target="lab" href="{LAB}#')
        title = re.sub(r"</?h1[^>]*>", "", html.splitlines()[0])
        body = re.sub(r"<h2[^>]*>(.*?)</h2>", r"\n## \1\n", html.partition("\n")[2])
        link = f'<a target="lab" href="{LAB}#lesson={number}">'
        beside = f"<p>{link}Open it with the laboratory beside it</a></p>"
        write(PAGES / f"docs/lessons/{path.stem}.md", f"# {title}\n\n{beside}\n{body}")
        parts.append(f"{number}. [{title}]({path.stem}.md)")
    write(PAGES / "docs/lessons/index.md", "\n".join(parts) + "\n")


def navigation() -> list[dict[str, object]]:
    """Return the pages in the order of the menu."""

    def within(entry: str) -> list[str]:
        if entry.endswith(".md"):
            return [entry]
        pages = {page.name: page for page in sorted((PAGES / entry).glob("*.md"))}
        first = ["index.md", *(ORDER if entry == "docs/guide" else ())]
        names = [name for name in first if name in pages]
        names += [name for name in pages if name not in first]
        names = [name for name in names if f"{entry}/{name}" not in ALONE]
        return [pages[name].relative_to(PAGES).as_posix() for name in names]

    def titled(page: str) -> object:
        return {TITLES[page]: page} if page in TITLES else page

    groups: list[dict[str, object]] = [
        {title: [titled(page) for entry in entries for page in within(entry)]}
        for title, entries in GROUPS
    ]
    return [{"qcnlab": "index.md"}, *groups]


def inline(value: object) -> str:
    """Return lists and tables of text as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


def vendor() -> None:
    """Put the script that lets search work from disk beside the pages; zensical would fetch it."""
    shutil.copy(ROOT / "docs/site/vendor/iframe-worker.js", HTML / "assets")
    for page in HTML.rglob("*.html"):
        up = relative(HTML / "assets/iframe-worker.js", page)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(SHIM, up), encoding="utf-8")
    shutil.copy(ROOT / "python/qcnlab/lab.html", HTML / "docs/lessons" / LAB)


def dead_links() -> list[str]:
    """Return the links of the site that lead to no file or no anchor."""
    ids: dict[Path, set[str]] = {}

    def anchors(page: Path) -> set[str]:
        if page not in ids:
            ids[page] = set(re.findall(r'\bid="?([^"\s>]+)', page.read_text(encoding="utf-8")))
        return ids[page]

    broken = []
    for page in HTML.rglob("*.html"):
        if page.name in ("404.html", LAB):
            continue
        text = page.read_text(encoding="utf-8")
        for link in set(re.findall(r'<[^<>]*\s(?:href|src)="?([^"\s>]+)', text)):
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = link.partition("#")
            there = (page.parent / path).resolve() if path else page
            if not there.exists():
                broken.append(f"{page.relative_to(HTML)}: {link} is not there")
            elif there.name == LAB:
                # What stands behind its # is what it sets up.
                continue
            elif anchor and there.suffix == ".html" and anchor not in anchors(there):
                broken.append(f"{page.relative_to(HTML)}: {link} has no such anchor")
    return broken


def outside_loads() -> list[str]:
    """Return what pages would load from the network."""
    loads = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?(https?:[^\"\s>]+)")
    return [
        f"{page.relative_to(HTML)} would load {address}"
        for page in HTML.rglob("*.html")
        for address in loads.findall(page.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    main()
