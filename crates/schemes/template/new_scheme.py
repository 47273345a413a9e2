"""Start a scheme from the template: file, tests, registry line, module line and source row.

Usage: new_scheme.py NAME [--root DIR]

NAME is the scheme's name in scenario files: lower-case letters, digits and underscores. Nothing is
written unless everything can be. Exit codes: 0 done, 2 could not.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parent
WIDTH = 120
# Words of the Rust language, in use or reserved.
KEYWORDS = re.compile(
    "abstract|as|async|await|become|box|break|const|continue|crate|do|dyn|else|enum|extern|"
    "false|final|fn|for|gen|if|impl|in|let|loop|macro|match|mod|move|mut|override|priv|pub|"
    "ref|return|self|static|struct|super|trait|true|try|type|typeof|unsafe|unsized|use|"
    "virtual|where|while|yield"
)


class CannotError(Exception):
    """Why there is no new scheme, in one sentence."""


def camel(name: str) -> str:
    """`slow_start` as Rust names a type: `SlowStart`."""
    return "".join(word.capitalize() for word in name.split("_"))


def check_name(name: str) -> None:
    """Refuse what cannot be a module and a type.

    Raises
    ------
    CannotError
        When it cannot.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise CannotError(
            f"'{name}' cannot be a scheme's name: lower-case letters and digits, "
            "words joined by single underscores, such as NAME=slow_start"
        )
    if KEYWORDS.fullmatch(name):
        raise CannotError(f"'{name}' is a word of the Rust language: choose another NAME")


def order(name: str) -> str:
    """Return a key that sorts imports as rustfmt does: underscores first, numbers by their size."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name.replace("_", " "))


def use_line(modules: list[str]) -> str:
    """Return the registry's import of the families, laid out as rustfmt does."""
    inner = ", ".join(modules)
    line = f"use crate::family::{{{inner}}};"
    if len(line) <= WIDTH - 2:
        return line
    lines, current = [], "   "
    for count, module in enumerate(modules, 1):
        # All but the last have a space behind the comma, which counts.
        if len(f"{current} {module},") + (count < len(modules)) > WIDTH:
            lines.append(current)
            current = "   "
        current += f" {module},"
    return "\n".join(["use crate::family::{", *lines, current, "};"])


def with_line(text: str, pattern: str, replacement: str, path: Path) -> str:
    """`text` with the one match of `pattern` replaced.

    Raises
    ------
    CannotError
        When there is no such place.
    """
    changed, count = re.subn(
        pattern, lambda _: replacement, text, count=1, flags=re.MULTILINE | re.DOTALL
    )
    if count == 0:
        raise CannotError(f"{path} has changed its form: no place for the new line was found")
    return changed


def registry(text: str, name: str, path: Path) -> str:
    """Return the registry with the family in its list and its imports."""
    match = re.search(r"^use crate::family::\{(.*?)\};$", text, re.MULTILINE | re.DOTALL)
    modules = re.findall(r"\w+", match[1]) if match else []
    pattern = r"^use crate::family::\{.*?\};$"
    text = with_line(text, pattern, use_line(sorted([*modules, name], key=order)), path)
    families = re.search(r"^families! \{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    if families is None:
        raise CannotError(f"{path} has changed its form: no list of families was found")
    if re.search(rf"^\s*{camel(name)} =>", families[1], re.MULTILINE):
        raise CannotError(f"the registry has a family {camel(name)} already: choose another NAME")
    listed = f"families! {{\n{families[1]}    {camel(name)} => {name}::{camel(name)},\n}}"
    return with_line(text, r"^families! \{\n.*?^\}$", listed, path)


def modules(text: str, name: str) -> str:
    """`family/mod.rs` with the module, in order."""
    head, _, rest = text.partition("pub mod ")
    lines = sorted([*f"pub mod {rest}".splitlines(), f"pub mod {name};"])
    return head + "\n".join(lines) + "\n"


def sources(text: str, name: str, path: Path) -> str:
    """`docs/reference/sources.md` with a row at the end of its table."""
    rows = re.search(r"^\|---.*?\n((?:\|.*\n)+)", text, re.MULTILINE)
    if rows is None:
        raise CannotError(f"{path} has changed its form: no table was found")
    return (
        text[: rows.end()]
        + f"| source of `{name}` | its title | its authors | where and when |\n"
        + text[rows.end() :]
    )


def taken(family: Path, name: str) -> bool:
    """Whether a scheme or a module has this name."""
    declared = f'name: "{name}"'
    return (
        (family / f"{name}.rs").exists()
        or (family / name).exists()
        or any(declared in path.read_text(encoding="utf-8") for path in family.rglob("*.rs"))
    )


def changes(root: Path, name: str) -> dict[Path, str]:
    """Return the new text of each file that is made or changed.

    Raises
    ------
    CannotError
        When the name is taken or cannot be one, or a file does not look as expected.
    """
    check_name(name)
    source = root / "crates/schemes/src"
    family = source / "family"
    if taken(family, name):
        raise CannotError(f"there is a scheme or a module '{name}' already: choose another NAME")

    def filled(path: Path) -> str:
        text = path.read_text(encoding="utf-8")
        return text.replace("SchemeName", camel(name)).replace("scheme_name", name)

    table, listed, page = (
        source / "registry.rs",
        family / "mod.rs",
        root / "docs/reference/sources.md",
    )
    return {
        family / f"{name}.rs": filled(TEMPLATE / "scheme.rs"),
        family / name / "tests.rs": filled(TEMPLATE / "tests.rs"),
        table: registry(table.read_text(encoding="utf-8"), name, table),
        listed: modules(listed.read_text(encoding="utf-8"), name),
        page: sources(page.read_text(encoding="utf-8"), name, page),
    }


def main() -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Start a scheme from the template.")
    parser.add_argument(
        "name", metavar="NAME", help="its name in scenario files, such as slow_start"
    )
    parser.add_argument("--root", type=Path, default=TEMPLATE.parents[2], help="the repository")
    options = parser.parse_args()
    try:
        files = changes(options.root, options.name)
        for path, text in files.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except (CannotError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    for path in files:
        print(path.relative_to(options.root))
    print(
        "\nIt runs as it stands. Write its rules and hand-worked numbers, name its source; then\n"
        "  cargo fmt && cargo test --release -p qcnlab-schemes\n"
        "  make bless ARGS='schema hotspot'\n"
        "  make docs"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
