"""Whether values are what a `TypedDict` says of them: its keys, no others, each of its type."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


def unlike(value: object, kind: Any, where: str = "it", **names: type) -> list[str]:
    """Return in what a value is not as its type says, in words.

    Parameters
    ----------
    value : object
        As JSON has it.
    kind : type
        A `TypedDict`, or lists, dictionaries, unions and literals of what JSON has.
    where : str, default "it"
        What the value is called.
    **names : type
        Types that annotations name and their modules import for type checkers alone.
    """
    origin, of = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return _keys(value, kind, where, names)
    if origin is list and isinstance(value, list):
        each = (unlike(one, of[0], f"{where}[{at}]", **names) for at, one in enumerate(value))
        return [fault for faults in each for fault in faults]
    if origin is dict and isinstance(value, dict):
        pairs = (unlike(one, of[1], f"{where}.{key}", **names) for key, one in value.items())
        return [fault for faults in pairs for fault in faults]
    if origin in (Union, UnionType):
        several = [unlike(value, each, where, **names) for each in of]
        return [] if [] in several else max(several, key=len)
    if origin is Literal:
        return [] if value in of else [f"{where} is {value!r}, not one of {of}"]
    return [] if _is(value, origin or kind) else [f"{where} is {value!r}, not of {kind}"]


def _is(value: object, kind: Any) -> bool:
    if kind in (object, Any):
        return True
    if kind in (None, NoneType):
        return value is None
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _keys(value: object, kind: Any, where: str, names: dict[str, type]) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{where} is {value!r}, not an object"]
    hints = get_type_hints(kind, localns=names, include_extras=True)
    needed = {
        key
        for key, hint in hints.items()
        if key in kind.__required_keys__ and get_origin(hint) is not NotRequired
    }
    faults = [f"{where} has no {key}" for key in sorted(needed - value.keys())]
    faults += [f"{where} has {key}, too" for key in sorted(value.keys() - hints.keys())]
    for key, hint in hints.items():
        if key in value:
            own = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
            faults += unlike(value[key], own, f"{where}.{key}", **names)
    return faults
