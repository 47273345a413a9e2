"""Words of a command line that are taken as they are.

Typer has each value checked by a validator, whose import takes longer than most commands. The words
that people write need none: a name, a file, a whole number within its limits. All others go to
Typer, which takes or refuses them in its own words.
"""

from __future__ import annotations

import inspect
import os
import types
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

LEFT = object()
"""Stands for a value that is left to Typer."""
BEYOND = ("parser", "click_type", "exists", "writable", "resolve_path", "allow_dash", "path_type")
"""What an option can ask for that is not known here."""


def taken_as_they_are(command: Any) -> None:
    """Let the options of a command take plain words without a validator.

    Parameters
    ----------
    command : Command
        Of Typer; its options keep their way for all other values.
    """
    parameters_of = command.get_params

    def get_params(context: Any) -> list[Any]:
        # Asked for when words are read: the option for help is made no earlier.
        parameters: list[Any] = parameters_of(context)
        for parameter in parameters:
            if "process_value" not in vars(parameter):
                parameter.process_value = _processing(parameter, command.callback)
        return parameters

    command.get_params = get_params


def _processing(parameter: Any, callback: Any) -> Any:
    otherwise = parameter.process_value
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            known: Any = () if several else None
        elif getattr(parameter, "is_flag", False) and isinstance(value, bool):
            known = value
        else:
            kind, about = _kind(callback, parameter.name)
            known = LEFT if about is None else plain(value, kind, about)
        if known is LEFT or (parameter.required and not known):
            return otherwise(context, value)
        if parameter.callback is None:
            return known
        return parameter.callback(context, parameter, known)

    return process_value


def _kind(callback: Any, name: str) -> tuple[Any, Any]:
    """Return the type of a parameter without `None`, and what its declaration says besides.

    Both are `None` of what is declared elsewhere.
    """
    if callback is None:
        return None, None
    function = inspect.unwrap(callback)
    # One at a time: most options of a command are not given.
    declared = {key: hint for key, hint in function.__annotations__.items() if key == name}
    alone = types.SimpleNamespace(__annotations__=declared)
    hint: Any = get_type_hints(alone, function.__globals__, include_extras=True).get(name)
    if not hasattr(hint, "__metadata__"):
        return None, None
    kind = hint.__origin__
    if get_origin(kind) in (Union, types.UnionType):
        [kind] = (each for each in get_args(kind) if each is not type(None))
    return kind, hint.__metadata__[0]


def plain(value: Any, kind: Any, about: Any) -> Any:
    """Return what `value` says where it is plain, and `LEFT` otherwise.

    Parameters
    ----------
    value : object
        A word, several words, or a default.
    kind : type
        What it stands for.
    about : object
        The option's or argument's declaration: `min`, `max`, and what files must be.
    """
    if get_origin(kind) is list:
        if not isinstance(value, list | tuple):
            return LEFT
        each = [plain(word, get_args(kind)[0], about) for word in value]
        return LEFT if any(one is LEFT for one in each) else each
    if any(getattr(about, name, None) for name in BEYOND):
        return LEFT
    if kind in (str, bool):
        return value if type(value) is kind else LEFT
    if kind in (int, float):
        return _number(value, kind, about)
    if kind is Path:
        return _path(value, about)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((each for each in kind if value is each or value == each.value), LEFT)
    return LEFT


def _number(value: Any, kind: type[int] | type[float], about: Any) -> Any:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = kind(value)
    if type(value) is not kind:
        return LEFT
    above = about.min is None or value >= about.min
    below = about.max is None or value <= about.max
    return value if above and below else LEFT


def _path(value: Any, about: Any) -> Any:
    if not isinstance(value, str | Path):
        return LEFT
    if not (about.file_okay and about.dir_okay):
        return LEFT
    # Other than `Path.exists`, this says no of a name that is too long.
    absent = not os.path.exists(value)  # noqa: PTH110
    return Path(value) if absent or os.access(value, os.R_OK) else LEFT
