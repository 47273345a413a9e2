"""Run folders: written under a temporary name, renamed when complete."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.errors import FolderError

if TYPE_CHECKING:
    from types import TracebackType

ROOT = Path("runs")
"""Where runs without a folder of their own go."""


@cache
def core_digest() -> str:
    """Give the digest of the compiled core, in hex: other code, other results."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` under another name and rename: it is there whole or as it was."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


class NewFolder:
    """A folder that comes to be only when the `with` block ends well.

    `NewFolder(path)` is exact and refuses a path that exists; `NewFolder.named(stem)` gives
    `runs/<stem>`, or `-2`, `-3`, ... when that is taken. Both are checked on entry, before any
    work is done. `path` is the place to write to inside the block; `final` is where it stands
    afterwards.
    """

    path: Path
    final: Path

    def __init__(self, final: Path, *, numbered: bool = False) -> None:
        self.final = final
        self._stem = final.name
        self._numbered = numbered
        self._made: list[Path] = []

    @classmethod
    def named(cls, stem: str) -> NewFolder:
        """Give `runs/<stem>` or the first free `runs/<stem>-<number>`."""
        return cls(ROOT / stem, numbered=True)

    def __enter__(self) -> NewFolder:
        """Check that the folder can be written and make its temporary stand-in."""
        self._choose()
        parent = self.final.parent
        self.path = parent / f".{self.final.name}.partial-{os.getpid()}"
        try:
            self._make_parents(parent)
            self.path.mkdir()
        except OSError as error:
            self._remove()
            raise FolderError(
                f"cannot write the folder '{self.final}': {error.strerror or error}; "
                "choose another with -o DIR"
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Rename on success; remove everything on an error or Ctrl-C."""
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

    def _choose(self) -> None:
        if not os.path.lexists(self.final):
            return
        if not self._numbered:
            raise FolderError(
                f"the folder '{self.final}' exists already and is left as it is; "
                "remove it or choose another with -o DIR"
            )
        free = (self.final.with_name(f"{self._stem}-{number}") for number in count(2))
        self.final = next(path for path in free if not os.path.lexists(path))

    def _make_parents(self, parent: Path) -> None:
        missing = [parent, *parent.parents]
        for path in reversed([p for p in missing if not p.exists()]):
            path.mkdir()
            self._made.append(path)

    def _remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        for path in reversed(self._made):
            try:
                path.rmdir()
            except OSError:
                return
