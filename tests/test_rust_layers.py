"""Hold the layers of the Rust workspace: which crate uses which, and modules without circles.

Circles are looked for among the children of each module: `scenario` uses `flows` if any file of the
one names anything of the other. What a module and its own children take from each other is left
out, and so are tests.
"""

from __future__ import annotations

import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

CRATES = Path(__file__).parent.parent / "crates"
# What tests of a crate may use beside: they run what the crate describes.
IN_TESTS = {"lab": {"theory"}, "conform": {"lab"}, "live": {"conform"}}
# What each crate may use: layers below its own.
MAY_USE = {
    "units": set(),
    "schemes": {"units"},
    "wire": {"units"},
    "capture": {"wire", "units"},
    "sim": {"schemes", "units"},
    "fluid": {"schemes", "units"},
    "shares": {"units"},
    "network": {"shares", "units"},
    "traffic": {"network", "sim", "schemes", "capture", "wire", "units"},
    "scenario": {"traffic", "network", "sim", "schemes", "units"},
    "theory": {"scenario", "network", "sim", "schemes", "units"},
    "lab": {
        *("scenario", "traffic", "network", "shares"),
        *("sim", "schemes", "capture", "wire", "units"),
    },
    "conform": {"scenario", "schemes", "capture", "wire", "units"},
    "live": {"lab", "scenario", "sim", "schemes", "capture", "wire", "units"},
    "py": {"lab", "theory", "scenario", "network", "capture", "fluid", "conform", "live"},
    "wasm": {"lab", "theory", "scenario"},
}
NAMES = sorted(manifest.parent.name for manifest in CRATES.glob("*/Cargo.toml"))

Module = tuple[str, ...]
# A name of a path, or one of the marks of a tree of names in a `use`.
TOKEN = re.compile(r"\w+|::|[{},;*]")
NOT_CODE = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/                                    # comments
    | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])'  # text
    | \#\[cfg\(test\)\]\s*(?:pub\ )?mod\ \w+;               # files of tests
    """,
    re.DOTALL | re.VERBOSE,
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*\Z", re.DOTALL)
PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
USE = re.compile(r"\buse ([^;]+);")


def leaves(tree: str) -> list[tuple[list[str], str]]:
    """Return the paths of a `use`, each with the name that it brings in."""
    uses: list[tuple[list[str], str]] = []

    def read(tokens: list[str], before: list[str]) -> None:
        path = list(before)
        while tokens:
            token = tokens.pop(0)
            if token == "{":
                while tokens[0] != "}":
                    read(tokens, path)
                    if tokens[0] == ",":
                        tokens.pop(0)
                tokens.pop(0)
                return
            if token == "as":
                uses.append((path, tokens.pop(0)))
                return
            if token != "::":
                path.append(token)
            if not tokens or tokens[0] in ",}":
                break
        if path[-1] == "self":
            path = path[:-1]
        uses.append((path, path[-1]))

    read(TOKEN.findall(tree), [])
    return uses


class Crate:
    """The modules of a crate, and what each of them uses."""

    def __init__(self, folder: Path) -> None:
        self.code: dict[Module, str] = {}
        for file in sorted((folder / "src").rglob("*.rs")):
            parts = file.relative_to(folder / "src").with_suffix("").parts
            if "tests" in parts:
                continue
            module = parts[:-1] if parts[-1] in ("mod", "lib") else parts
            self.code[module] = NOT_CODE.sub("", TESTS.sub("", file.read_text(encoding="utf-8")))
        self.brought_in = {
            module: {
                name: path
                for tree in USE.findall(code)
                for path, name in leaves(tree)
                if name != "_"
            }
            for module, code in self.code.items()
        }

    def declared_in(self, path: list[str], module: Module, hops: int = 8) -> Module | None:
        """Return the module that declares what `path` names in `module`; none if not here."""
        at: Module
        if path[0] == "crate":
            at, names = (), path[1:]
        elif path[0] == "self":
            at, names = module, path[1:]
        elif path[0] == "super":
            at, names = module[:-1], path[1:]
            while names and names[0] == "super":
                at, names = at[:-1], names[1:]
        elif (*module, path[0]) in self.code:
            at, names = module, path
        else:
            return None
        for i, name in enumerate(names):
            if (*at, name) in self.code:
                at = (*at, name)
                continue
            source = self.brought_in[at].get(name)
            if source is not None and hops:
                return self.declared_in([*source, *names[i + 1 :]], at, hops - 1) or at
            break
        return at

    def arrows(self) -> dict[Module, dict[str, dict[str, str]]]:
        """Return for each parent which child uses which other one, with a path that shows it."""
        levels: dict[Module, dict[str, dict[str, str]]] = {}
        for module, code in self.code.items():
            paths = [path for tree in USE.findall(code) for path, _ in leaves(tree)]
            paths += [path.split("::") for path in PATH.findall(code)]
            for path in paths:
                used = self.declared_in(path, module)
                if used is None:
                    continue
                common = 0
                while common < min(len(module), len(used)) and module[common] == used[common]:
                    common += 1
                if common in (len(module), len(used)):
                    continue
                children = levels.setdefault(module[:common], {})
                evidence = f"{'::'.join(module)} names {'::'.join(path)}"
                children.setdefault(module[common], {}).setdefault(used[common], evidence)
        return levels


def circles(crate: Crate) -> list[str]:
    """Return a circle of each parent whose children have any, in words."""
    faults = []
    for parent, children in crate.arrows().items():
        try:
            TopologicalSorter({child: set(used) for child, used in children.items()}).prepare()
        except CycleError as error:
            # The sorter lists each module before the one that uses it.
            circle = error.args[1][::-1]
            steps = [children[a][b] for a, b in pairwise(circle)]
            where = "::".join(("crate", *parent))
            faults.append(f"in {where}: {' -> '.join(circle)} ({'; '.join(steps)})")
    return faults


@pytest.mark.parametrize("name", NAMES)
def test_no_modules_use_each_other_in_a_circle(name: str) -> None:
    faults = circles(Crate(CRATES / name))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", NAMES)
def test_a_crate_uses_only_those_below_it(name: str) -> None:
    manifest = tomllib.loads((CRATES / name / "Cargo.toml").read_text(encoding="utf-8"))

    def ours(kind: str) -> set[str]:
        keys = manifest.get(f"{kind}dependencies", {})
        return {key.removeprefix("qcnlab-") for key in keys if key.startswith("qcnlab-")}

    assert ours("") | ours("build-") <= MAY_USE[name]
    assert ours("dev-") <= MAY_USE[name] | IN_TESTS.get(name, set())


def test_the_layers_stand_from_the_lowest_to_the_highest() -> None:
    below: set[str] = set()
    for name, used in MAY_USE.items():
        assert used <= below, f"{name} uses what stands above it"
        below.add(name)
    assert below == set(NAMES)


def test_a_circle_is_named(tmp_path: Path) -> None:
    """Three files, of which the last closes the circle through a name that its parent hands on."""
    source = tmp_path / "src"
    (source / "a").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a; mod b; pub use a::{Deep as Name, other};")
    (source / "a" / "mod.rs").write_text("mod deep; pub use deep::Deep; // crate::b in a comment")
    (source / "a" / "deep.rs").write_text(
        'use crate::{b::{self, Item}}; const S: (char, &str) = (\'"\', "crate::b");'
    )
    (source / "b.rs").write_text("fn f() { crate::a::other() }")
    assert circles(Crate(tmp_path)) == [
        "in crate: a -> b -> a (a::deep names crate::b; b names crate::a::other)"
    ]
    (source / "b.rs").write_text("use crate::Name;")
    assert circles(Crate(tmp_path)) == [
        "in crate: a -> b -> a (a::deep names crate::b; b names crate::Name)"
    ]
    (source / "b.rs").write_text("#[cfg(test)]\nmod tests {\n    use crate::Name;\n}")
    assert circles(Crate(tmp_path)) == []
