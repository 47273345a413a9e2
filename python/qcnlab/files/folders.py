"""Folders and files that are there whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import FolderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

ROOT = Path("runs")
"""Where runs without a folder of their own go."""
SUMS = "SHA256SUMS"
"""The file of a folder that has the checksums of the others."""
MANIFEST, JOURNAL = "sweep.json", "runs.jsonl"
"""The files that a sweep writes first into its folder."""
PARTIAL = re.compile(r"\.(?P<name>.+)\.partial-(?P<process>\d+)(?:\.\w+)?")
"""The name of a file or folder while it is written, with the number of the writing process."""


@cache
def core_digest() -> str:
    """Return the SHA-256 of the compiled core in hex: other code, other results."""
    return sha256(Path(str(_core.__file__)).read_bytes())


def sha256(octets: bytes) -> str:
    """Return the SHA-256 of `octets` in hex."""
    import hashlib

    return hashlib.sha256(octets).hexdigest()


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not JSON, or is nested too deeply to be read.
    """
    return parse_json(path.read_bytes())


def parse_json(text: bytes) -> Any:
    """Return the value of JSON text; raise `ValueError` as `read_json` does."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON in the order its keys have."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def partial_path(path: Path) -> Path:
    """Return the name that `path` has in its folder while this process writes it."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}{path.suffix}")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Let the body write a file beside `path`, then rename it: `path` is whole or as it was.

    Yields
    ------
    Path
        The file to write; it has the suffix of `path`.
    """
    partial = partial_path(path)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` and to the disk; `path` is whole or as it was."""
    with whole(path) as partial, partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_sums(folder: Path, names: Iterable[str]) -> None:
    """Write the SHA-256 of files of `folder` into its `SHA256SUMS`, as `sha256sum` does."""
    lines = [f"{sha256((folder / name).read_bytes())}  {name}\n" for name in names]
    write_whole(folder / SUMS, "".join(lines).encode())


def read_summed(path: Path) -> bytes:
    """Return the octets of a file after a look at `SHA256SUMS` beside it, if there is one.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it has another checksum, or the list of checksums is damaged.
    """
    octets = path.read_bytes()
    sums = path.with_name(SUMS)
    if sums.exists():
        lines = sums.read_bytes().splitlines()
        if f"{sha256(octets)}  {path.name}".encode() not in lines:
            raise ValueError(f"{path.name} is not as it was written: {SUMS} has another checksum")
    return octets


def is_there(path: Path) -> bool:
    """Return whether `path` can be found; a name that no file can have is of none."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def is_folder(path: Path) -> bool:
    """Return whether `path` is a folder; a name that no file can have is of none."""
    return is_there(path) and path.is_dir()


def is_sweep(folder: Path) -> bool:
    """Return whether a folder has what a sweep writes first."""
    return is_there(folder / MANIFEST) or is_there(folder / JOURNAL)


def is_partial(path: Path) -> bool:
    """Return whether `path` is named as something that is being written."""
    return PARTIAL.fullmatch(path.name) is not None


def is_abandoned(path: Path) -> bool:
    """Return whether `path` was being written by a process that has ended.

    A folder must also be unlocked: its writer may be on another machine or in a container, whose
    processes are not seen here.
    """
    named = PARTIAL.fullmatch(path.name)
    if named is None or _alive(int(named["process"])):
        return False
    if not path.is_dir():
        return True
    try:
        os.close(_lock(path, exclusive=True))
    except OSError:
        return False
    return True


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _lock(folder: Path, *, exclusive: bool) -> int:
    """Lock `folder` until the descriptor that is returned is closed.

    A folder's writer shares its lock; who clears it away must have it alone. Raises `OSError` where
    it is locked already or cannot be locked.
    """
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class NewFolder:
    """A folder that comes to be only when the `with` block ends well.

    It is written under a temporary name beside its own, and renamed when the block ends. What
    can go wrong is checked on entry, before any work is done.

    Parameters
    ----------
    final : Path
        The folder's own name. A path that exists is refused.
    numbered : bool, default False
        Take ``final-2``, ``final-3``, ... instead where `final` exists.
    option : str, default "-o"
        The option that names the folder, for messages.

    Attributes
    ----------
    path : Path
        The folder to write to inside the block.
    final : Path
        The folder afterwards.
    """

    path: Path
    final: Path

    def __init__(self, final: Path, *, numbered: bool = False, option: str = "-o") -> None:
        self.final = final
        self._option = option
        self._stem = final.name
        self._numbered = numbered
        self._made: list[Path] = []
        self._lock: int | None = None

    @classmethod
    def named(cls, stem: str) -> NewFolder:
        """Return `runs/<stem>`, or the first free `runs/<stem>-<number>`."""
        return cls(ROOT / stem, numbered=True)

    def __enter__(self) -> NewFolder:
        """Check that the folder can be written and make its temporary stand-in.

        Raises
        ------
        FolderError
            If the folder exists or cannot be written.
        """
        self._choose()
        parent = self.final.parent
        self.path = parent / f".{self.final.name}.partial-{os.getpid()}"
        try:
            self._make_parents(parent)
            self._clear_abandoned(parent)
            self.path.mkdir()
            self._keep_locked()
        except OSError as error:
            self._remove()
            raise FolderError(
                f"cannot write the folder '{self.final}': {error.strerror or error}; "
                f"choose another with {self._option} DIR"
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Rename on success; remove everything on an error or Ctrl-C.

        Raises
        ------
        FolderError
            If the block or the renaming met an `OSError`.
        """
        if kind is not None:
            self._remove()
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise FolderError(
                    f"cannot write the folder '{self.final}': {error.strerror or error}"
                ) from error
            return
        try:
            self._choose()
            self.path.rename(self.final)
        except BaseException as failure:
            self._remove()
            if isinstance(failure, OSError):
                raise FolderError(f"cannot write the folder '{self.final}': {failure}") from failure
            raise
        self._release()

    def _choose(self) -> None:
        if not os.path.lexists(self.final):
            return
        if not self._numbered:
            raise FolderError(
                f"the folder '{self.final}' exists already and is left as it is; "
                f"remove it or choose another with {self._option} DIR"
            )
        free = (self.final.with_name(f"{self._stem}-{number}") for number in count(2))
        self.final = next(path for path in free if not os.path.lexists(path))

    def _make_parents(self, parent: Path) -> None:
        missing = [parent, *parent.parents]
        for path in reversed([p for p in missing if not p.exists()]):
            path.mkdir()
            self._made.append(path)

    def _clear_abandoned(self, parent: Path) -> None:
        """Remove what killed processes left of this folder, under any of its numbers."""
        same = re.compile(rf"\.{re.escape(self._stem)}(-\d+)?\.partial-\d+")
        for path in parent.iterdir():
            if same.fullmatch(path.name) and is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)

    def _keep_locked(self) -> None:
        """Lock the temporary folder for as long as this process lives, where the system can."""
        with suppress(OSError, ImportError):
            self._lock = _lock(self.path, exclusive=False)

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _remove(self) -> None:
        self._release()
        shutil.rmtree(self.path, ignore_errors=True)
        for path in reversed(self._made):
            try:
                path.rmdir()
            except OSError:
                return
