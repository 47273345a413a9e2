"""Small tables as Parquet, without a library: the import of one takes longer than a short run.

A file has one row group with one page a column. Columns of few different values, and all of text,
have a dictionary; nothing is compressed. What is written is what the Parquet format calls data
pages of version 1, so that every reader takes it.
"""

from __future__ import annotations

from array import array
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Column = tuple[str, bytes, bytes | None, list[str] | None]
"""The type of a column by polars's name, its values, which of them are there, and their words.

Values are octets, the least first, with anything where one is missing. Which are there is an octet
a value, 0 or 1; `None`: all. Words are what the values are indices of; `None`: none.
"""

INT32, INT64, DOUBLE, BYTE_ARRAY = 1, 2, 5, 6
UTF8, UINT_32, UINT_64 = 0, 13, 14
KINDS: dict[str, tuple[int, int | None]] = {
    "Int32": (INT32, None),
    "UInt32": (INT32, UINT_32),
    "Int64": (INT64, None),
    "UInt64": (INT64, UINT_64),
    "Float64": (DOUBLE, None),
}
"""For each type of numbers: Parquet's type, and what it stands for there."""
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2
OPTIONAL = 1
MAGIC = b"PAR1"
BY = "qcnlab"


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def _integer(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_Field = tuple[int, int, bytes]
"""A field of a structure: its number, its type, its octets."""


def _structure(*fields: _Field | None) -> bytes:
    """Return a structure as Thrift's compact protocol has it."""
    octets, last = bytearray(), 0
    for field in fields:
        if field is not None:
            number, kind, value = field
            octets += bytes([(number - last) << 4 | kind]) + value
            last = number
    return bytes(octets) + b"\0"


def _i32(number: int, value: int) -> _Field:
    return number, _I32, _integer(value)


def _i64(number: int, value: int) -> _Field:
    return number, _I64, _integer(value)


def _text(number: int, value: str) -> _Field:
    return number, _BINARY, _binary(value)


def _binary(value: str) -> bytes:
    octets = value.encode()
    return _varint(len(octets)) + octets


def _of(number: int, kind: int, values: Sequence[bytes]) -> _Field:
    head = bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xF0 | kind])
    return (
        number,
        _LIST,
        head + (b"" if len(values) < 15 else _varint(len(values))) + b"".join(values),
    )


def _runs(values: Sequence[int], width: int) -> bytes:
    """Return values of `width` bits as runs of equal ones, or packed where that is shorter.

    The width is 1, 8 or 16 bits; of 1 bit there are runs alone.
    """
    octets = max(1, width // 8)
    runs = [(value, sum(1 for _ in equal)) for value, equal in groupby(values)]
    if width == 1 or len(runs) * (octets + 2) < len(values) * octets:
        return b"".join(
            _varint(count << 1) + value.to_bytes(octets, "little") for value, count in runs
        )
    groups = (len(values) + 7) // 8
    packed = b"".join(value.to_bytes(octets, "little") for value in values)
    return _varint(groups << 1 | 1) + packed.ljust(groups * 8 * octets, b"\0")


def _encoded(column: Column) -> tuple[bytes | None, int, bytes]:
    """Return a column's dictionary, how many values that has, and the octets of its page."""
    kind, octets, there, words = column
    size = 8 if KINDS[kind][0] != INT32 else 4
    values = array("Q" if size == 8 else "I", octets).tolist()
    defined = there if there is not None else bytes([1]) * len(values)
    levels = _runs(defined, 1)
    head = len(levels).to_bytes(4, "little") + levels
    values = [value for value, is_there in zip(values, defined, strict=True) if is_there]
    if words is not None:
        # Two numbers may have one word.
        first = {word: number for number, word in reversed(list(enumerate(words)))}
        values = [first[words[value]] for value in values]
    known = {value: index for index, value in enumerate(dict.fromkeys(values))}
    width = 8 if len(known) <= 1 << 8 else 16
    if words is None and len(known) * size + len(values) * (width // 8) >= len(values) * size:
        return None, 0, head + b"".join(value.to_bytes(size, "little") for value in values)
    if words is None:
        meanings = [value.to_bytes(size, "little") for value in known]
    else:
        texts = [words[value].encode() for value in known]
        meanings = [len(text).to_bytes(4, "little") + text for text in texts]
    indices = bytes([width]) + _runs([known[value] for value in values], width)
    return b"".join(meanings), len(known), head + indices


def _page(kind: int, page: bytes, header: _Field) -> bytes:
    size = len(page)
    return _structure(_i32(1, kind), _i32(2, size), _i32(3, size), header) + page


def octets(columns: Mapping[str, Column], rows: int, metadata: Mapping[str, str]) -> bytes:
    """Return the octets of a Parquet file.

    Parameters
    ----------
    columns : mapping of str to Column
        The columns by name, in order; fewer than 2^16 different values each.
    rows : int
        How many values each has.
    metadata : mapping of str to str
        What the file says of itself beside them.

    Returns
    -------
    bytes
        Equal arguments give equal octets.
    """
    file = bytearray(MAGIC)
    elements = [_structure(_text(4, "schema"), _i32(5, len(columns)))]
    chunks: list[bytes] = []
    for name, column in columns.items():
        words = column[3] is not None
        physical, meaning = (BYTE_ARRAY, UTF8) if words else KINDS[column[0]]
        said = None if meaning is None else _i32(6, meaning)
        elements.append(_structure(_i32(1, physical), _i32(3, OPTIONAL), _text(4, name), said))
        if rows == 0:
            continue
        start = len(file)
        dictionary, known, page = _encoded(column)
        if dictionary is not None:
            header = (7, _STRUCT, _structure(_i32(1, known), _i32(2, PLAIN)))
            file += _page(DICTIONARY_PAGE, dictionary, header)
        encoding = PLAIN if dictionary is None else RLE_DICTIONARY
        data = len(file)
        of_page = _structure(_i32(1, rows), _i32(2, encoding), _i32(3, RLE), _i32(4, RLE))
        file += _page(DATA_PAGE, page, (5, _STRUCT, of_page))
        encodings = [PLAIN, RLE] if dictionary is None else [PLAIN, RLE, RLE_DICTIONARY]
        told = _structure(
            _i32(1, physical),
            _of(2, _I32, [_integer(each) for each in encodings]),
            _of(3, _BINARY, [_binary(name)]),
            _i32(4, 0),
            _i64(5, rows),
            _i64(6, len(file) - start),
            _i64(7, len(file) - start),
            _i64(9, data),
            None if dictionary is None else _i64(11, start),
        )
        chunks.append(_structure(_i64(2, start), (3, _STRUCT, told)))
    groups = []
    if rows > 0:
        size = len(file) - len(MAGIC)
        groups = [_structure(_of(1, _STRUCT, chunks), _i64(2, size), _i64(3, rows))]
    pairs = [_structure(_text(1, key), _text(2, value)) for key, value in metadata.items()]
    footer = _structure(
        _i32(1, 1),
        _of(2, _STRUCT, elements),
        _i64(3, rows),
        _of(4, _STRUCT, groups),
        _of(5, _STRUCT, pairs),
        _text(6, BY),
    )
    return bytes(file) + footer + len(footer).to_bytes(4, "little") + MAGIC
