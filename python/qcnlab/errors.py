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


class Terminated(SystemExit):
    """A signal ends the program: nothing that runs in it may take this for its own failure."""


class FolderError(Error):
    """A folder cannot be written, exists already, or is not one of a run; `str` says what to do."""


class MissingPackage(Error, ImportError):
    """An optional package is needed and not installed; `str` says which and how to get it."""


def rendered(error: Exception) -> str:
    """Return the message of `error` for standard error, beginning with ``error:``."""
    text = str(error).rstrip("\n")
    return text if text.startswith("error: ") else f"error: {text}"


def scenario_error(
    message: str,
    *,
    file: str | None = None,
    argument: str | None = None,
    hint: str | None = None,
) -> ScenarioError:
    """Return a `ScenarioError` for what the core does not see, laid out as the core's own are.

    Parameters
    ----------
    message : str
        What is wrong.
    file : str, optional
        The file at fault.
    argument : str, optional
        The command-line argument at fault, where the fault is in no file.
    hint : str, optional
        What to do about it.

    Returns
    -------
    ScenarioError
        With `file`, `message` and `hint` as attributes, `line` and `column` of `None`.
    """
    lines = [f"error: {message}"]
    if file is not None or argument is not None:
        lines.append(f" --> {file or argument}")
    if hint is not None:
        lines.append(f"  = help: {hint}")
    error = ScenarioError("\n".join(lines))
    error.file, error.line, error.column = file, None, None
    error.message, error.hint = message, hint
    return error
