"""Docstrings: numpydoc sections for what is public, examples that run, summaries that say what."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = ROOT / "python" / "qcnlab"
MODULES = [
    "qcnlab",
    *(
        module.name
        for module in pkgutil.walk_packages([str(PACKAGE)], "qcnlab.")
        if not module.name.endswith(("__main__", "_core"))
    ),
]
SECTIONS = (
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References",
    "Examples",
)  # fmt: skip
GIVE_ALLOWED: tuple[str, ...] = ("book",)


def sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section by its heading; what precedes them under ``""``."""
    parts: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(text).splitlines()
    heading = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and set(below) == {"-"} and len(below) == len(line):
            heading = line
            parts[heading] = []
        elif set(line) != {"-"}:
            parts[heading].append(line)
    return parts


def entries(lines: list[str]) -> list[str]:
    """Return the heads of a section's entries: the lines that are not indented."""
    return [line for line in lines if line and not line.startswith(" ")]


def public() -> dict[str, Any]:
    """Return the public functions and classes with their methods, by dotted name."""
    members: dict[str, Any] = {}
    for name in qcnlab.__all__:
        value = getattr(qcnlab, name)
        if inspect.isfunction(value):
            members[name] = value
        if not inspect.isclass(value) or issubclass(value, BaseException):
            continue
        inherited = [base for base in value.__mro__ if base.__module__.startswith("qcnlab.")]
        for own, raw in [pair for base in inherited for pair in vars(base).items()]:
            method = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
            if inspect.isfunction(method) and not own.startswith("_"):
                members[f"{name}.{own}"] = method
    return members


PUBLIC = public()
INTERNAL = {"Result.new_folder"}
"""Methods for the package's own use."""


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in INTERNAL])
def test_public_functions_document_what_goes_in_and_out(name: str) -> None:
    function = PUBLIC[name]
    parts = sections(function.__doc__ or "")
    assert set(parts) - {""} <= set(SECTIONS)
    assert [part for part in parts if part] == [part for part in SECTIONS if part in parts]
    assert parts[""][0].endswith("."), "the summary is a sentence"
    assert len(parts[""]) == 1 or not parts[""][1], "the summary is one line"
    signature = inspect.signature(function)
    documented = [
        word.strip().lstrip("*")
        for head in entries(parts.get("Parameters", []))
        for word in head.partition(" : ")[0].split(",")
    ]
    assert documented == [each for each in signature.parameters if each not in ("self", "cls")]
    assert ("Returns" in parts) == (signature.return_annotation != "None")


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_raised_is_an_error_that_exists(name: str) -> None:
    for head in entries(sections(PUBLIC[name].__doc__ or "").get("Raises", [])):
        error = getattr(qcnlab, head, None) or getattr(__import__("builtins"), head)
        assert issubclass(error, Exception), head


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in qcnlab.__all__
        if n != "__version__" and not n.endswith(("Error", "Violation", "Package"))
    ],
)
def test_functions_and_classes_have_examples(name: str) -> None:
    assert ">>> import qcnlab" in (getattr(qcnlab, name).__doc__ or "")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module: ModuleType = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert not failures
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py*")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_summary_says_what_is_returned(path: Path) -> None:
    if path.suffix not in (".py", ".pyi") or path.relative_to(PACKAGE).parts[0] in GIVE_ALLOWED:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            assert not re.match(r"Gives?\b", text), text.splitlines()[0]


RUST = sorted((ROOT / "crates").rglob("*.rs"))


def test_documents_in_rust_say_returns() -> None:
    """Held to here: Rust has no lint for the mood of a first line."""
    wrong = []
    for path in RUST:
        before = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            said = line.strip()
            if re.match(r"//[/!] (Return|Gives?) ", said) and not before.startswith(said[:3]):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {said}")
            before = said
    assert len(RUST) > 100 and not wrong
