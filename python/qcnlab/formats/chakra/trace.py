"""Execution traces of Chakra: a file ``<prefix>.<rank>.et`` for each rank.

Each message is preceded by its length as a variable-length integer. The first has the version, each
other is a node: what the rank does, how long it takes, and the nodes that it waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from qcnlab.formats.lines import LONG, FormatError, refuse_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from qcnlab.formats.chakra.schema import Messages

LONGEST = 1 << 26
"""The most octets that a message may have."""
MOST_NODES = 10_000_000
METADATA, LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(1, 8)


class Node(NamedTuple):
    """A node of a trace.

    Attributes
    ----------
    id, kind : int
        Its number, and its type by the schema.
    after : tuple of int
        The numbers of the nodes that it waits for.
    micros : int
        How long it took, us.
    attributes : dict
        Attributes of communication by their names.
    values : bytes
        What a node of metadata has among its inputs.
    name : bytes
        What the trace calls it.
    """

    id: int
    kind: int
    after: tuple[int, ...]
    micros: int
    attributes: dict[bytes, Any]
    values: bytes
    name: bytes


def read(path: Path, classes: Messages, *, control: bool = True) -> Iterator[Node]:
    """Read the nodes of a trace, one by one.

    Parameters
    ----------
    path : Path
        The trace of a rank.
    classes : dict
        The messages, of `schema.messages`.
    control : bool, default True
        Whether a node waits for its control dependencies, too.

    Raises
    ------
    FormatError
        If the file is cut off or a message cannot be decoded; the message says at which octet.
    """
    from google.protobuf.message import DecodeError

    try:
        with path.open("rb") as file:
            refuse_packed(path, file.peek())
            start, data = 0, _next(path, file, 0)
            if data is None:
                raise FormatError(f"{path}: the file is empty: a trace begins with its version")
            kind = "Metadata"
            with _bar(path, file) as tell:
                while data is not None:
                    message = classes[kind]()
                    try:
                        message.ParseFromString(data)
                    except DecodeError:
                        raise FormatError(
                            f"{path}, octet {start}: no {kind.lower()} of a Chakra trace: its "
                            f"{len(data)} octets cannot be decoded"
                        ) from None
                    if kind == "Node":
                        yield _node(message, control)
                    kind, start = "Node", file.tell()
                    tell(start)
                    data = _next(path, file, start)
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error


def _bar(path: Path, file: BinaryIO) -> Any:
    from contextlib import contextmanager
    from os import fstat

    @contextmanager
    def shown() -> Iterator[Callable[[int], None]]:
        size = fstat(file.fileno()).st_size
        if size < LONG:
            yield lambda octets: None
            return
        from qcnlab.printing.progress import Bar

        with Bar(f"reading {path.name}") as bar:
            yield lambda octets: bar(octets / size)

    return shown()


def _next(path: Path, file: BinaryIO, start: int) -> bytes | None:
    """Return the next message, or `None` at the end."""
    length = shift = 0
    while True:
        octet = file.read(1)
        if not octet:
            if shift:
                raise _cut_off(path, start)
            return None
        length |= (octet[0] & 127) << shift
        shift += 7
        if octet[0] < 128:
            break
        if shift > 28:
            raise FormatError(f"{path}, octet {start}: no length of a message of a Chakra trace")
    if length > LONGEST:
        raise FormatError(
            f"{path}, octet {start}: a message of {length} octets is longer than {LONGEST}: it is "
            "no Chakra trace"
        )
    data = file.read(length)
    if len(data) < length:
        raise _cut_off(path, start)
    return data


def _cut_off(path: Path, start: int) -> FormatError:
    return FormatError(f"{path}, octet {start}: the file is cut off inside a message")


def _node(message: Any, control: bool) -> Node:
    after = dict.fromkeys(message.data_deps)
    if control:
        after.update(dict.fromkeys(message.ctrl_deps))
    attributes = {}
    if message.type in (SEND, RECEIVE, COLLECTIVE):
        for each in message.attr:
            fields = [(field.name, value) for field, value in each.ListFields()]
            value = next((value for name, value in fields if name != "name"), None)
            attributes[each.name] = value
    values = message.inputs.values if message.type == METADATA else b""
    return Node(
        message.id, message.type, tuple(after), message.duration_micros, attributes, values,
        message.name,
    )  # fmt: skip
