"""The whole public surface: documented, typed, cheap to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.resources import files
from typing import Any

import pytest

import qcnlab
from qcnlab import _core

CLASSES = [value for value in vars(qcnlab).values() if inspect.isclass(value)]


def public_members(cls: type) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and (callable(value) or isinstance(value, property | classmethod | staticmethod))
    ]


@pytest.mark.parametrize("name", [n for n in qcnlab.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(qcnlab, name)), name


def test_all_lists_every_public_name() -> None:
    found = {
        name
        for name, value in vars(qcnlab).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert found == set(qcnlab.__all__) - {"__version__"}


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


@pytest.mark.parametrize("function", [qcnlab.run, qcnlab.load, qcnlab.run_many, qcnlab.open_run])
def test_every_keyword_is_explained(function: Any) -> None:
    text = inspect.getdoc(function) or ""
    if function is qcnlab.run_many:
        assert "as in `run`" in text
        return
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert f"`{name}`" in text, name


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
