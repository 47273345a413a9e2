"""The folder of a sweep: what is to be run, and every run that has ended.

`sweep.json`, the manifest, says what the sweep is. `runs.jsonl`, the journal, has a line for each
run that has ended, written when it ends, so a sweep that is stopped, even by a kill, goes on where
it was. A line that is half written or damaged is recognised by its checksum, and its run is run
again. The tables and the figure are there once all runs are.

A sweep that can have many runs is kept in parts: `metrics` has a file of the table for each part
whose runs have ended. The journal then has the checksum of that file, and the lines of its runs are
left out when the journal is written again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from qcnlab.errors import FolderError
from qcnlab.files.folders import (
    JOURNAL,
    MANIFEST,
    SUMS,
    is_abandoned,
    is_partial,
    is_there,
    read_summed,
    whole,
    write_whole,
)
from qcnlab.runs.run_files import parquet
from qcnlab.runs.tables import Table
from qcnlab.sweeps import journal
from qcnlab.sweeps.manifest import (
    differences,
    identity,
    is_in_parts,
    is_of_a_layout,
    read_manifest,
    to_json,
)
from qcnlab.sweeps.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO
    from pathlib import Path

    from qcnlab.sweeps.known import Manifest
    from qcnlab.sweeps.runs import Run, Values

PARTS = "metrics"
TABLES = ("metrics.parquet", "metrics.csv")
RESULTS = (*TABLES, SUMS, "sweep.svg", "sweep.png")


class Store:
    """The folder of a sweep while it runs, inside `with store.opened():`.

    Attributes
    ----------
    notes : list of str
        What was damaged in the folder.
    """

    def __init__(self, folder: Path, known: Manifest, *, fresh: bool = False) -> None:
        self.folder = folder
        self.known = known
        self.notes: list[str] = []
        self._fresh = fresh
        self._id = identity(known)
        self._journal: FileIO | None = None
        self._parts: dict[int, journal.PartLine] = {}
        self._lines = 0

    @cached_property
    def runs(self) -> Runs:
        """The runs that have ended."""
        return Runs(self.known)

    @property
    def in_parts(self) -> bool:
        """Whether the table of this sweep is in parts."""
        return is_in_parts(self.known)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make or read the folder and keep others out of it.

        Raises `FolderError` for a folder of another sweep or of something else, for one that
        another process is filling, and for one that cannot be written.
        """
        new = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with held(self.folder):
                self._prepare()
                self._open()
                try:
                    yield
                finally:
                    self._close()
        except OSError as error:
            # What has no room for its first file is not left behind empty.
            with suppress(OSError):
                for path in new:
                    path.rmdir()
            raise _unwritable(self.folder, error) from error

    def add(self, ended: Sequence[tuple[Run, Values]]) -> None:
        """Write runs that have ended to the journal; after an `OSError` nothing more is written.

        A part of which no run can be missing any more becomes a file.
        """
        if self._journal is None:
            return
        self._write(b"".join(journal.run_line(run, values) for run, values in ended))
        self._lines += len(ended)
        parts = {self.runs.add(run, values) for run, values in ended}
        if self.in_parts and "precision" not in self.known:
            for part in sorted(filter(self.runs.is_full, parts)):
                self._keep(part)

    def settle(self, parts: range) -> None:
        """Make files of parts whose runs have all ended, where the table is in parts."""
        if self.in_parts:
            for part in filter(self.runs.is_open, parts):
                self._keep(part)

    def finish(self) -> None:
        """Sort the journal, and write the checksums of parts; all runs must be there."""
        self._write_journal()
        if self.in_parts:
            write_whole(self.folder / SUMS, self.sums())

    def sums(self) -> bytes:
        """Return the checksums of the parts' files, as `sha256sum` prints them."""
        known = (self._parts[part] for part in sorted(self._parts))
        return "".join(f"{part.sha256}  {part_name(part.part)}\n" for part in known).encode()

    def peek(self) -> int:
        """Count the runs that are there, and change nothing; raises `FolderError` as `opened`."""
        if not is_there(self.folder) or self._fresh:
            return 0
        try:
            self._refuse_others()
            self._take(read_manifest(self.folder))
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return len(self.runs)

    def _keep(self, part: int) -> None:
        """Write a part's file, then its line into the journal; the lines of its runs are over."""
        path = self.folder / part_name(part)
        path.parent.mkdir(exist_ok=True)
        frame = self.runs.frame([part])
        octets = parquet(Table("metrics", frame, frame.columns, self.runs.units(), len(frame)))
        line = journal.PartLine(part, hashlib.sha256(octets).hexdigest())
        write_whole(path, octets)
        self._write(journal.part_line(line))
        self._parts[part] = line
        self.runs.keep_in(part, path)
        if self._is_long():
            self._close()
            self._write_journal()
            self._open()

    def _is_long(self) -> bool:
        """Return whether most lines of the journal are of runs that are in files."""
        return self._lines > 2 * self.runs.in_memory_count

    def _prepare(self) -> None:
        self._refuse_others()
        if self._fresh:
            self._clear()
        keep = self._take(read_manifest(self.folder))
        left = filter(_is_left_over, [*self.folder.iterdir(), *self._part_files()])
        results = () if keep else (self.folder / name for name in RESULTS)
        for path in (*results, *left):
            path.unlink(missing_ok=True)
        for path in self._part_files():
            if path not in self.runs.files:
                path.unlink()
        if not keep:
            write_whole(self.folder / MANIFEST, to_json(self.known))
        if not keep or self._is_long():
            self._write_journal()

    def _part_files(self) -> list[Path]:
        parts = self.folder / PARTS
        return sorted(parts.iterdir()) if self.in_parts and parts.is_dir() else []

    def _refuse_others(self) -> None:
        has = [path for path in self.folder.iterdir() if not is_partial(path)]
        if has and not {path.name for path in has} & {MANIFEST, JOURNAL}:
            raise FolderError(
                f"'{self.folder}' is there already, is no sweep's folder and is left as it is; "
                "choose another with -o DIR"
            )

    def _take(self, there: Manifest | None) -> bool:
        """Take the runs of the journal; return whether the folder can stay as it is."""
        self.notes.clear()
        self._parts.clear()
        self.runs = Runs(self.known)
        if there is not None and identity(there) != self._id:
            raise FolderError(
                f"'{self.folder}' holds another sweep:\n"
                + "\n".join(f"  {each}" for each in differences(there, self.known))
                + "\nchoose another folder with -o DIR, or start this one over with --fresh"
            )
        path = self.folder / JOURNAL
        lines = journal.lines(path)
        owner = journal.owner(next(lines, b""))
        if owner is not None and owner != self._id:
            raise FolderError(
                f"the runs in '{self.folder}' are another sweep's and its {MANIFEST} is damaged; "
                "choose another folder with -o DIR, or start this one over with --fresh"
            )
        if there is None and owner is None and any(line.strip(b"\n") for line in lines):
            raise FolderError(
                f"the head of '{path}' is damaged, so nobody can tell which "
                "sweep its runs are of; start over with --fresh"
            )
        if there is None and (owner is not None or (self.folder / MANIFEST).exists()):
            self.notes.append(f"{MANIFEST} was damaged or missing and is written again")
        lost = self._take_parts()
        damaged, ended = self._take_runs()
        if damaged:
            many = "a line of" if damaged == 1 else f"{damaged} lines of"
            self.notes.append(f"{many} {JOURNAL} half written or damaged; what it held is rerun")
        self.notes += [f"{name} damaged or missing; what it held is rerun" for name in lost]
        return there is not None and owner is not None and not damaged and not lost and ended

    def _take_parts(self) -> list[str]:
        """Take the parts whose files are as they were written; return the names of the others."""
        lost = []
        for text in filter(journal.is_part, journal.lines(self.folder / JOURNAL)):
            with suppress(ValueError):
                line = journal.read_part(text)
                path = self.folder / part_name(line.part)
                if _sha256(path) != line.sha256:
                    lost.append(part_name(line.part))
                elif line.part in self.runs.parts and self.runs.is_open(line.part):
                    self._parts[line.part] = line
                    self.runs.keep_in(line.part, path)
        return lost

    def _take_runs(self) -> tuple[int, bool]:
        """Take the runs of lines; return how many lines are damaged, and whether the last ends."""
        known, runs = self.known, self.runs
        damaged, last = 0, b""
        self._lines = 0
        for number, line in enumerate(journal.lines(self.folder / JOURNAL)):
            last = line
            if not number or not line.strip(b"\n"):
                continue
            try:
                if journal.is_part(line):
                    journal.read_part(line)
                    continue
                run, values = journal.read_run(
                    line, runs.points, runs.replications, len(known["metrics"])
                )
            except ValueError:
                damaged += 1
            else:
                self._lines += 1
                runs.add(run, values)
        return damaged, not last or last.endswith(b"\n")

    def _clear(self) -> None:
        for name in (*RESULTS, JOURNAL, MANIFEST):
            (self.folder / name).unlink(missing_ok=True)
        parts = self.folder / PARTS
        if parts.is_dir():
            for path in parts.glob("part-*.parquet"):
                path.unlink()

    def _write(self, lines: bytes) -> None:
        if self._journal is None:
            return
        try:
            if self._journal.write(lines) != len(lines):
                raise OSError(f"the disk took only a part of {JOURNAL}")
        except OSError:
            self._close()
            raise

    def _write_journal(self) -> None:
        """Write the journal anew: its head, the parts, and the runs that are in no file, sorted."""
        with whole(self.folder / JOURNAL) as partial, partial.open("wb") as file:
            file.write(journal.head(self._id))
            for part in sorted(self._parts):
                file.write(journal.part_line(self._parts[part]))
            for run, values in self.runs.in_memory():
                file.write(journal.run_line(run, values))
            file.flush()
            os.fsync(file.fileno())
        self._lines = self.runs.in_memory_count

    def _open(self) -> None:
        self._journal = (self.folder / JOURNAL).open("ab", buffering=0)

    def _close(self) -> None:
        if self._journal is not None:
            with suppress(OSError):
                os.fsync(self._journal.fileno())
            self._journal.close()
            self._journal = None


def part_name(part: int) -> str:
    """Return the name of a part's file in the folder.

    >>> part_name(7)
    'metrics/part-00007.parquet'
    """
    return f"{PARTS}/part-{part:05d}.parquet"


def _sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file in hex, `None` of one that is not there."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def read(folder: Path) -> tuple[Manifest, Runs]:
    """Read a sweep's folder; raises `FolderError` if it is none or runs are missing."""
    known = read_manifest(folder)
    if known is None:
        about = "its manifest is damaged" if (folder / MANIFEST).exists() else "it has no manifest"
        raise FolderError(f"'{folder}' is not a sweep's folder: {about} ({MANIFEST})")
    if not is_of_a_layout(known):
        raise FolderError(f"'{folder}' was written by another version of qcnlab")
    store = Store(folder, known)
    have = store.peek()
    lacks, _ = store.runs.missing(store.runs.parts)
    if lacks:
        more = "or more " if "precision" in known else ""
        damaged = "".join(f"\n  {note}" for note in store.notes)
        raise FolderError(
            f"the sweep in '{folder}' is not complete: {lacks} {more}of {have + lacks} runs are "
            f"missing; to go on: {known['command']}{damaged}"
        )
    for path, about in _damaged(store):
        raise FolderError(
            f"'{path}': {about}; to write it again from the journal: {known['command']}"
        )
    return known, store.runs


def _damaged(store: Store) -> Iterator[tuple[Path, str]]:
    """Yield the tables and lists of checksums that are not as they were written, and why."""
    if store.in_parts:
        path = store.folder / SUMS
        if not path.exists() or path.read_bytes() != store.sums():
            yield path, "it is missing or damaged"
        return
    for name in TABLES:
        try:
            read_summed(store.folder / name)
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            yield store.folder / name, why


def _is_left_over(path: Path) -> bool:
    """Return whether `path` is half written and nobody writes it; a `plot` may write a figure."""
    if path.name.startswith(".sweep."):
        return is_abandoned(path)
    return is_partial(path)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes out of `folder`, where the system can."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderError(
                f"another process is filling '{folder}'; wait for it, or choose another folder "
                "with -o DIR"
            ) from None
        yield
    finally:
        os.close(handle)


def _unwritable(folder: Path, error: OSError) -> FolderError:
    return FolderError(
        f"cannot write the folder '{folder}': {error.strerror or error}; choose another with -o DIR"
    )
