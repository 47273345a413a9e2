"""Every error a caller can meet, all under `Error`."""

from __future__ import annotations

from qcnlab._core import AnalysisError, Error, LawViolation, ScenarioError

__all__ = [
    "AnalysisError",
    "Error",
    "FolderError",
    "LawViolation",
    "MissingPackage",
    "ScenarioError",
]


class FolderError(Error):
    """A run folder that cannot be written, already exists, or is not one; `str` says what to do."""


class MissingPackage(Error, ImportError):
    """An optional package is needed and not installed; `str` says which and how to get it."""


def scenario_error(
    message: str,
    *,
    file: str | None = None,
    place: str | None = None,
    hint: str | None = None,
) -> ScenarioError:
    """Build a `ScenarioError` for what the core does not see, laid out as the core's own are.

    `file` is the file at fault; `place` stands for it where the fault is in no file.
    """
    rendered = [f"error: {message}"]
    if file is not None or place is not None:
        rendered.append(f" --> {file or place}")
    if hint is not None:
        rendered.append(f"  = help: {hint}")
    error = ScenarioError("\n".join(rendered))
    error.file, error.line, error.column = file, None, None
    error.message, error.hint = message, hint
    return error
