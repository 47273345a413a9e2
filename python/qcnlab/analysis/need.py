"""Optional packages: imported when they are needed, missed by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from qcnlab.errors import MissingPackage


def need(module: str) -> Any:
    """Import `module`; raises `MissingPackage` that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingPackage(f"this needs {name}: pip install 'qcnlab[analysis]'") from error
