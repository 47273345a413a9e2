"""The whole public surface: documented, typed, cheap to import."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import qcnlab
from conftest import ROOT
from qcnlab import _core

PUBLIC = {name: getattr(qcnlab, name) for name in qcnlab.__all__}
CLASSES = [value for value in PUBLIC.values() if inspect.isclass(value)]


def public_members(cls: type) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for base in cls.__mro__
        if base.__module__.startswith("qcnlab")
        for name, value in vars(base).items()
        if not name.startswith("_")
        and (callable(value) or isinstance(value, property | classmethod | staticmethod))
    ]


@pytest.mark.parametrize("name", [n for n in qcnlab.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(qcnlab, name)), name


def test_names_are_imported_from_where_type_checkers_see_them() -> None:
    stub = Path(qcnlab.__file__).with_suffix(".pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    seen = {
        str(node.module).removeprefix("qcnlab."): tuple(alias.name for alias in node.names)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("qcnlab.")
    }
    assert seen == qcnlab._MODULES
    assert sorted(name for names in seen.values() for name in names) == sorted(qcnlab.__all__)
    assert set(qcnlab.__all__) <= set(dir(qcnlab))
    [listed] = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    assert ast.literal_eval(listed.value) == qcnlab.__all__


def test_the_package_under_test_is_the_one_of_this_tree() -> None:
    assert Path(qcnlab.__file__).is_relative_to(ROOT / "python")
    assert Path(_core.__file__).is_relative_to(ROOT / "python")


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'laod'"):
        _ = qcnlab.laod  # type: ignore[attr-defined]


def test_every_public_member_is_documented() -> None:
    members = [
        (cls, name, value)
        for cls in CLASSES
        for name, value in public_members(cls)
        if cls.__module__ != _core.__name__
    ]
    assert len(members) > 25
    for cls, name, value in members:
        assert inspect.getdoc(value), f"{cls.__name__}.{name}"


def test_every_error_is_under_one_base() -> None:
    errors = [cls for cls in CLASSES if issubclass(cls, BaseException)]
    assert len(errors) == 6
    assert all(issubclass(cls, qcnlab.Error) for cls in errors)
    assert issubclass(qcnlab.ScenarioError, ValueError)
    assert issubclass(qcnlab.LawViolation, RuntimeError)


def test_the_package_is_typed() -> None:
    assert files("qcnlab").joinpath("py.typed").is_file()
    assert files("qcnlab").joinpath("_core.pyi").is_file()


def test_import_leaves_heavy_packages_alone() -> None:
    heavy = ("numpy", "polars", "matplotlib", "pandas", "pyarrow", "typer", "rich")
    code = f"import sys, qcnlab; print(*[m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
