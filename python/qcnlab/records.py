"""Records of JSON: frozen classes whose fields are the keys of an object, read once and checked.

A record is a frozen dataclass with slots that inherits from `Record`. `read` makes one from the
objects and lists that JSON gives, and says where something is not as its field declares it;
`Record.to_dict` is the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    Read = Callable[[object, str], object]

T = TypeVar("T")
V = TypeVar("V", covariant=True)

JsonObject = dict[str, Any]
"""An object whose keys a user or another program wrote: a table of a scenario, of a foreign file.

What has keys of our own is a record, or a `TypedDict` where it goes to JSON as it is.
"""
WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
"""What values of these types are called."""


class Record:
    """An object of JSON whose keys are known: each is an attribute.

    Records are compared by what they hold, cannot be changed, and can be pickled.
    `dataclasses.replace` makes a changed copy.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, object]:
        """Return the record as JSON holds it.

        Returns
        -------
        dict of str to object
            Dictionaries, lists, text, numbers, `True`, `False` and `None`. A key that a file may
            leave out is there only where it says something.
        """
        return {
            _key(field.name): _plain(getattr(self, field.name))
            for field in fields(self)  # type: ignore[arg-type]
            if field.default is MISSING or getattr(self, field.name) != field.default
        }

    if not TYPE_CHECKING:

        def __getitem__(self, key):
            """Say that a record is no dictionary."""
            raise TypeError(
                f"a {type(self).__name__} has attributes: write .{key}, not [{key!r}]; "
                "its to_dict() has what JSON holds"
            )


@dataclass(frozen=True, slots=True, eq=False)
class ByName(Mapping[str, V], Generic[V]):
    """Values by their names, in their order; equal to a dictionary that has the same.

    Raises
    ------
    KeyError
        For a name that is not there; it says which is nearest in spelling.
    """

    _values: Mapping[str, V]

    def __getitem__(self, name: str) -> V:
        """Return the value of a name."""
        try:
            return self._values[name]
        except KeyError:
            from difflib import get_close_matches

            near = get_close_matches(str(name), list(self._values), n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"{name!r} is not there{meant}") from None

    def __contains__(self, name: object) -> bool:
        """Return whether a name is there."""
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._values)

    def __repr__(self) -> str:
        """Return it as a dictionary is written."""
        return repr(dict(self._values))


def read(kind: type[T], value: object, where: str) -> T:
    """Return a record, or another declared type, of what JSON gave.

    Parameters
    ----------
    kind : type
        A record; or `str`, `int`, `float`, `bool`, `None`, a union or literals of them,
        ``tuple[X, ...]`` for a list, `ByName` for an object whose keys are names.
    value : object
        What JSON gave. Keys that a record has not are passed over.
    where : str
        The file or answer that it stands in, for messages.

    Returns
    -------
    object
        Of type `kind`. A whole number stays one where any number may stand.

    Raises
    ------
    ValueError
        If a key is missing or a value is not of its type; it names the place.

    Examples
    --------
    >>> read(tuple[int, ...], [1, 2], "the answer")
    (1, 2)
    >>> read(tuple[int, ...], [1, "2"], "the answer")
    Traceback (most recent call last):
        ...
    ValueError: the answer[1] is '2', not a whole number
    """
    return cast("T", _reader(cast("Hashable", kind))(value, where))


def _plain(value: object) -> object:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


@cache
def _reader(kind: Hashable) -> Read:
    """Return what reads values of a type; a type is taken apart once."""
    origin, of = get_origin(kind), get_args(kind)
    if origin is tuple:
        return _reads_list(_reader(of[0]))
    if origin is ByName:
        return _reads_names(_reader(of[0]))
    if origin in (Union, UnionType):
        return _reads_either(of)
    if origin is Literal:
        return _reads_literal(of)
    if isinstance(kind, type) and is_dataclass(kind):
        return _reads_record(kind)
    if kind in (str, bool, int, float, NoneType):
        return _reads_plain(cast("type", kind))
    raise TypeError(f"{kind} is no type of JSON")


def _refused(value: object, where: str, wanted: str) -> ValueError:
    said = repr(value)
    if isinstance(value, dict | list):
        said = "an object" if isinstance(value, dict) else "a list"
    return ValueError(f"{where} is {said}, not {wanted}")


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _reads_plain(kind: type) -> Read:
    def one(value: object, where: str) -> object:
        if not _is(value, kind):
            raise _refused(value, where, WORDS.get(kind, "null"))
        return value

    return one


def _reads_list(inner: Read) -> Read:
    def one(value: object, where: str) -> object:
        if not isinstance(value, list | tuple):
            raise _refused(value, where, "a list")
        return tuple([inner(each, f"{where}[{index}]") for index, each in enumerate(value)])

    return one


def _reads_names(inner: Read) -> Read:
    def one(value: object, where: str) -> object:
        if not isinstance(value, Mapping):
            raise _refused(value, where, "an object")
        return ByName({str(name): inner(each, _at(where, name)) for name, each in value.items()})

    return one


def _reads_either(kinds: tuple[object, ...]) -> Read:
    """Read one of several types, told apart by whether JSON has null, a list, an object or else."""
    some = [_reader(kind) for kind in kinds if kind is not NoneType]
    nullable = len(some) < len(kinds)

    def one(value: object, where: str) -> object:
        if value is None and nullable:
            return None
        for reader in some[:-1]:
            try:
                return reader(value, where)
            except ValueError:
                continue
        return some[-1](value, where)

    return one


def _reads_literal(words: tuple[object, ...]) -> Read:
    def one(value: object, where: str) -> object:
        if value not in words:
            raise _refused(value, where, "one of " + ", ".join(map(str, words)))
        return value

    return one


def _reads_record(kind: type) -> Read:
    hints = get_type_hints(kind)
    known = [
        (field.name, _key(field.name), _reader(hints[field.name]), field.default is MISSING)
        for field in fields(kind)
    ]

    def one(value: object, where: str) -> object:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise _refused(value, where, "an object")
        arguments = {}
        for name, key, reader, required in known:
            if key in value:
                arguments[name] = reader(value[key], _at(where, key))
            elif required:
                raise ValueError(f"{_at(where, key)} is missing")
        return kind(**arguments)

    return one


def _key(name: str) -> str:
    """Return the key of a field: one that Python keeps for itself ends in an underscore here."""
    return name.removesuffix("_")


def _at(where: str, key: object) -> str:
    """Return the place of a key: after a file's name or an answer's with a colon, then dots."""
    return f"{where}.{key}" if ":" in where else f"{where}: {key}"
