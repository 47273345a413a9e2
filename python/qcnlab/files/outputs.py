"""What an output may overwrite: a file of its own kind that qcnlab wrote, and nothing else."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.errors import FolderError

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = (".svg", ".png", ".pdf")
"""Suffixes of figures."""
ENDS = 1 << 16
"""Octets at either end of a file in which its mark is looked for."""


class Kind(NamedTuple):
    """What a command writes into a file that its user names."""

    article: str
    """What it is, in words."""
    marks: tuple[bytes, ...]
    """What such a file holds near its beginning or its end if qcnlab wrote it; one is enough."""
    option: str
    """The option that names the file."""
    stream: bool = False
    """Whether it can be written into a pipe or a device."""


REPORT = Kind("a report", (b'<meta name="generator" content="qcnlab">',), "-o")
FIGURE = Kind(
    "a figure",
    (b"<dc:title>qcnlab</dc:title>", b"Software\x00qcnlab", b"/Creator (qcnlab)"),
    "-o",
)
CAPTURE = Kind("a capture", (b"\x04\x00\x0c\x00qcnlab ",), "--capture-file", stream=True)
DISSECTOR = Kind(
    "the dissector", (b"-- Wireshark and tshark: CN-TAG and CNM of IEEE 802.1Qau",), "--folder"
)
READING = Kind("the page of a search", (b"<!-- written by qcnlab infer -->",), "--page")
SCENARIO = Kind("a scenario", (b"# scenario by qcnlab import",), "-o")
FLOWS = Kind("a list of flows", (b"# flows by qcnlab import",), "-o")
SIZES = Kind("a table of sizes", (b"# sizes by qcnlab import",), "-o")
PAGES = Kind(
    "the validation book",
    (b"Every result of the five decks beside what this laboratory gets",),
    "--pages",
)


def writable(path: Path, kind: Kind) -> Path:
    """Return `path` if it may be written: it is not there, or an earlier output of its kind.

    Parameters
    ----------
    path : Path
        Where the output is to go.
    kind : Kind
        What is to be written.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    FolderError
        If something else is there, which is left as it is, or the folder is missing. The message
        says what is in the way and what to do.
    """
    another = f"name another file with {kind.option}"
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise FolderError(
                f"cannot write '{path}': there is no folder '{path.parent}'; make it, or {another}"
            ) from None
        return path
    except OSError as error:
        raise FolderError(f"cannot write '{path}': {error.strerror}; {another}") from error
    if stat.S_ISDIR(mode):
        raise FolderError(f"cannot write '{path}': it is a folder; {another}")
    if not stat.S_ISREG(mode):
        if kind.stream:
            return path
        raise FolderError(f"cannot write '{path}': it is no regular file; {another}")
    if not _is_marked(path, kind.marks):
        raise FolderError(
            f"'{path}' is there already, is not {kind.article} that qcnlab wrote and is left as it "
            f"is; {another}"
        )
    if kind is CAPTURE and _is_of_a_run(path):
        raise FolderError(
            f"'{path}' is the capture of the run in that folder and is left as it is; {another}"
        )
    return path


def writable_pages(folder: Path) -> Path:
    """Return `folder` if pages of the book may be written into it: it is new, empty, or has them.

    Raises
    ------
    FolderError
        If something else is in it.
    """
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return folder
    except OSError as error:
        raise FolderError(f"cannot write '{folder}': {error.strerror}") from error
    first = folder / "README.md"
    if not first.is_file() or not _is_marked(first, PAGES.marks):
        raise FolderError(
            f"'{folder}' is there already, does not hold {PAGES.article} and is left as it is; "
            f"name another folder with {PAGES.option}"
        )
    return folder


def _is_of_a_run(path: Path) -> bool:
    return (path.parent / "summary.json").exists() or (path.parent / "meta.json").exists()


def _is_marked(path: Path, marks: tuple[bytes, ...]) -> bool:
    try:
        with path.open("rb") as file:
            ends = file.read(ENDS)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - ENDS))
            ends += file.read(ENDS)
    except OSError as error:
        raise FolderError(f"cannot write '{path}': {error.strerror}") from error
    return any(mark in ends for mark in marks)


def drawable(path: Path) -> Path:
    """Return `path` if a figure may be drawn there.

    Parameters
    ----------
    path : Path
        Where the figure is to go; its suffix says the format.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    FolderError
        If its name does not end in a format of figures, and as `writable` does.
    """
    if path.suffix not in FORMATS:
        raise FolderError(f"cannot draw '{path}': its name must end in {', '.join(FORMATS)}")
    return writable(path, FIGURE)
