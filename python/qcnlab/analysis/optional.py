"""Optional packages: imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from qcnlab.errors import MissingPackage


def require(module: str) -> Any:
    """Return the imported `module`; raises `MissingPackage`, which says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingPackage(f"this needs {name}: pip install 'qcnlab[analysis]'") from error
