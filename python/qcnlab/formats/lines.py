"""Lines of text files that others wrote, read one by one with their numbers."""

from __future__ import annotations

from contextlib import contextmanager
from csv import Error as CsvError
from csv import reader
from os import fstat
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.errors import Error
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = 1 << 22
"""Octets of a file from which on reading it shows how far it is."""
LONGEST = 1 << 20
"""The most octets that a line may have: an allowance, far above what such files hold."""
SHOWN = 40
"""Characters of a value that an error repeats."""


PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"PK\x03\x04": ("a zip archive", "unzip"),
}
"""How compressed files start, what they are, and what unpacks them."""


class FormatError(Error):
    """A file that cannot be read as its format; `str` says file, line, value and what to do."""


class Line(NamedTuple):
    """A line that is not empty."""

    path: Path
    number: int
    """Counted from 1."""
    words: list[bytes]
    """What stands between blanks."""

    def fault(self, message: str) -> FormatError:
        """Return the error that names this line."""
        return FormatError(f"{self.path}, line {self.number}: {message}")

    def miscounted(self, count: int, what: str, there: int, last: int | None = None) -> FormatError:
        """Return the error of a line that says how many lines follow, where others do.

        Parameters
        ----------
        count : int
            So many it says.
        what : str
            What one of them is.
        there : int
            So many there are.
        last : int, optional
            The first line too many.
        """
        if last is not None:
            return self.fault(
                f"{follow(count, what)}, but line {last} has another: correct the "
                "number, or take the line out"
            )
        return self.fault(
            f"{follow(count, what)}, but there are {there}: the file is cut off, or "
            "the number is wrong"
        )


def follow(count: int, what: str) -> str:
    """Return that so many are said to follow.

    >>> follow(1, "flow"), follow(2, "flow")
    ('1 flow is said to follow', '2 flows are said to follow')
    """
    return f"{counted(count, what)} {'is' if count == 1 else 'are'} said to follow"


def shown(word: bytes) -> str:
    r"""Return a word as an error repeats it: printable and short.

    >>> shown(b"100Gbps"), shown(b"\xd9\xa3"), len(shown(b"x" * 100))
    ("'100Gbps'", "'\\xd9\\xa3'", 45)
    """
    text = word[:SHOWN].decode("ascii", "backslashreplace")
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return f"'{text}'" + ("..." if len(word) > SHOWN else "")


def refuse_packed(path: Path, start: bytes) -> None:
    """Raise `FormatError` that says what unpacks a file, if it is compressed by how it starts."""
    for mark, (name, unpack) in PACKED.items():
        if start.startswith(mark):
            raise FormatError(f"{path}: this is {name}: unpack it first, with {unpack}")


class Row(NamedTuple):
    """A line of a table."""

    path: Path
    number: int
    cells: list[str]

    def fault(self, message: str) -> FormatError:
        """Return the error that names this line."""
        return FormatError(f"{self.path}, line {self.number}: {message}")


def rows(path: Path, delimiter: str) -> Iterator[Row]:
    """Read the lines of a table that are not empty, with its first.

    Parameters
    ----------
    path : Path
        The file, in UTF-8. A cell may stand in quotation marks, and ends in its line.
    delimiter : str
        What stands between cells.

    Yields
    ------
    Row
        In their order; cells without blanks around them. Lines that begin with # are passed over.

    Raises
    ------
    FormatError
        As `lines`, and for a line that is not UTF-8 or has a quotation mark without its other.
    """
    for number, octets in _texts(path):
        if octets.isspace() or octets.startswith(b"#"):
            continue
        try:
            line = octets.decode("utf-8").rstrip("\r\n")
            quoted = '"' in line
            cells = next(reader([line], delimiter=delimiter, strict=True)) if quoted else None
        except UnicodeDecodeError:
            raise FormatError(f"{path}, line {number}: it is not UTF-8: save it as UTF-8") from None
        except CsvError as error:
            raise FormatError(
                f"{path}, line {number}: {error}: a cell in quotation marks ends in its line"
            ) from None
        yield Row(path, number, [cell.strip() for cell in cells or line.split(delimiter)])


def lines(path: Path, *, comments: bool = True) -> Iterator[Line]:
    """Read the lines of a file that have words.

    Parameters
    ----------
    path : Path
        The file.
    comments : bool, default True
        Whether lines that begin with # are passed over.

    Yields
    ------
    Line
        In their order. A byte order mark at the beginning is passed over.

    Raises
    ------
    FormatError
        If the file cannot be read, or has a line of more than `LONGEST` octets.
    """
    for number, text in _texts(path):
        words = text.split()
        if words and not (comments and words[0].startswith(b"#")):
            yield Line(path, number, words)


def _texts(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, none of them longer than `LONGEST`."""
    try:
        with path.open("rb") as file, _bar(path, fstat(file.fileno()).st_size) as tell:
            number = octets = 0
            while text := file.readline(LONGEST + 1):
                number += 1
                if number == 1:
                    refuse_packed(path, text)
                octets += len(text)
                if len(text) > LONGEST:
                    raise FormatError(
                        f"{path}, line {number}: the line has more than {LONGEST} octets: it is no "
                        "text file of this format, or lacks its ends of lines"
                    )
                if tell is not None and number % 4096 == 0:
                    tell(octets)
                yield number, text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error


@contextmanager
def _bar(path: Path, size: int) -> Iterator[Callable[[int], None] | None]:
    """Show how far a long file has been read: `None`, or what is told of the octets read."""
    if size < LONG:
        yield None
        return
    from qcnlab.printing.progress import Bar

    with Bar(f"reading {path.name}") as bar:
        yield lambda octets: bar(min(octets / size, 1.0))
