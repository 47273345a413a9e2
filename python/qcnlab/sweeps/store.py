"""The folder of a sweep: what is to be run, and every run that has ended.

`sweep.json`, the manifest, says what the sweep is. `runs.jsonl`, the journal, has a line for each
run that has ended, written when it ends, so a sweep that is stopped, even by a kill, goes on where
it was. A line that is half written or damaged is recognised by its checksum, and its run is run
again. The tables and the figure are
there once all runs are.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import FolderError, ScenarioError
from qcnlab.folders import (
    SUMS,
    core_digest,
    is_abandoned,
    is_partial,
    parse_json,
    read_json,
    read_summed,
    write_whole,
)
from qcnlab.sweeps.grid import word
from qcnlab.sweeps.precision import Precision, missing, of_manifest, to_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import FileIO

    from qcnlab.sweeps.grid import Grid

FORMAT = 1
"""Version of the folder's layout, kept in the manifest."""
MANIFEST, JOURNAL = "sweep.json", "runs.jsonl"
RESULTS = ("metrics.parquet", "metrics.csv", SUMS, "sweep.svg", "sweep.png")
TABLES = ("metrics.parquet", "metrics.csv")
MOST_TOLD = 6
"""So many differences between sweeps are printed."""

Run = tuple[int, int]
"""A point and a replication."""
Values = list[float | None]
"""The metrics of a run, in the order of the manifest."""
Manifest = dict[str, Any]


def manifest(
    grid: Grid,
    replications: int | Precision,
    seed: int | None,
    metrics: Sequence[str],
    command: str,
) -> Manifest:
    """Return what identifies a sweep, and the command that continues it.

    With a precision `replications` is the most that a point can get.
    """
    first = grid.scenario(0)
    stated: Manifest = {}
    if isinstance(replications, Precision):
        stated = {"precision": to_manifest(replications)}
        replications = replications.most
    return {
        "format": FORMAT,
        "qcnlab": _core.__version__,
        "core": core_digest()[:16],
        "scenario": first.name,
        "title": first.title,
        "vary": {axis.key: list(axis.values) for axis in grid.axes},
        "replications": replications,
        **stated,
        "seed": first.seed if seed is None else seed,
        "metrics": list(metrics),
        "first_point": first.to_toml(),
        "points": grid.digest,
        "command": command,
    }


def name_of(known: Manifest) -> str:
    """Return a short name of its own for a sweep; every build of qcnlab returns the same."""
    keys = ("vary", "replications", "precision", "seed", "points")
    own = {key: known[key] for key in keys if key in known}
    return f"sweep-{known['scenario']}-{_digest(own)[:8]}"


class Store:
    """The folder of a sweep while it runs, inside `with store.opened():`.

    Attributes
    ----------
    done : dict
        Metrics of the runs that have ended, by point and replication.
    notes : list of str
        What was damaged in the folder.
    """

    def __init__(self, folder: Path, known: Manifest, *, fresh: bool = False) -> None:
        self.folder = folder
        self.known = known
        self.done: dict[Run, Values] = {}
        self.notes: list[str] = []
        self._fresh = fresh
        self._id = _identity(known)
        self._journal: FileIO | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make or read the folder and keep others out of it.

        Raises `FolderError` for a folder of another sweep or of something else, for one that
        another process is filling, and for one that cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with held(self.folder):
                self._prepare()
                self._journal = (self.folder / JOURNAL).open("ab", buffering=0)
                try:
                    yield
                finally:
                    self._close()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def add(self, ended: Sequence[tuple[Run, Values]]) -> None:
        """Write runs that have ended to the journal; after an `OSError` nothing more is written."""
        if self._journal is None:
            return
        lines = b"".join(_line(run, values) for run, values in ended)
        try:
            if self._journal.write(lines) != len(lines):
                raise OSError(f"the disk took only a part of {JOURNAL}")
        except OSError:
            self._close()
            raise
        self.done.update(ended)

    def finish(self) -> None:
        """Sort the journal; all runs must be there."""
        self._write_journal()

    def peek(self) -> int:
        """Count the runs that are there, and change nothing; raises `FolderError` as `opened`."""
        if not self.folder.exists() or self._fresh:
            return 0
        try:
            self._take(*self._stored())
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return len(self.done)

    def _prepare(self) -> None:
        if self._fresh:
            self._clear()
        keep = self._take(*self._stored())
        results = () if keep else (self.folder / name for name in RESULTS)
        for path in (*results, *filter(_is_left_over, self.folder.iterdir())):
            path.unlink(missing_ok=True)
        if not keep:
            write_whole(self.folder / MANIFEST, _json({**self.known, "sum": _digest(self.known)}))
            self._write_journal()

    def _stored(self) -> tuple[Manifest | None, list[bytes]]:
        """Return the manifest, `None` if it cannot be read, and the lines of the journal."""
        self._refuse_others()
        lines = []
        if (self.folder / JOURNAL).exists():
            lines = (self.folder / JOURNAL).read_bytes().split(b"\n")
        return read_manifest(self.folder), lines

    def _refuse_others(self) -> None:
        has = [path for path in self.folder.iterdir() if not is_partial(path)]
        if has and not {path.name for path in has} & {MANIFEST, JOURNAL}:
            raise FolderError(
                f"'{self.folder}' is there already, is no sweep's folder and is left as it is; "
                "choose another with -o DIR"
            )

    def _take(self, whole: Manifest | None, lines: list[bytes]) -> bool:
        """Take the runs of the journal; return whether the folder can stay as it is."""
        self.notes.clear()
        if whole is not None and _identity(whole) != self._id:
            raise FolderError(
                f"'{self.folder}' holds another sweep:\n"
                + "\n".join(f"  {each}" for each in _differences(whole, self.known))
                + "\nchoose another folder with -o DIR, or start this one over with --fresh"
            )
        owner = _owner(lines)
        if owner is not None and owner != self._id:
            raise FolderError(
                f"the runs in '{self.folder}' are another sweep's and its {MANIFEST} is damaged; "
                "choose another folder with -o DIR, or start this one over with --fresh"
            )
        if whole is None and owner is None and any(lines[1:]):
            raise FolderError(
                f"the head of '{self.folder / JOURNAL}' is damaged, so nobody can tell which "
                "sweep its runs are of; start over with --fresh"
            )
        if whole is None and (owner is not None or (self.folder / MANIFEST).exists()):
            self.notes.append(f"{MANIFEST} was damaged or missing and is written again")
        size = len(self.known["metrics"])
        self.done, damaged = _runs(lines[1:], self.points(), self.known["replications"], size)
        if damaged:
            many = "a line of" if damaged == 1 else f"{damaged} lines of"
            self.notes.append(f"{many} {JOURNAL} half written or damaged; what it held is rerun")
        return whole is not None and owner is not None and not damaged and not lines[-1]

    def points(self) -> int:
        """Return the number of points."""
        count = 1
        for values in self.known["vary"].values():
            count *= len(values)
        return count

    def _clear(self) -> None:
        self._refuse_others()
        for name in (*RESULTS, JOURNAL, MANIFEST):
            (self.folder / name).unlink(missing_ok=True)

    def _write_journal(self) -> None:
        head = json.dumps({"sweep": self._id}).encode() + b"\n"
        lines = (_line(run, self.done[run]) for run in sorted(self.done))
        write_whole(self.folder / JOURNAL, head + b"".join(lines))

    def _close(self) -> None:
        if self._journal is not None:
            with suppress(OSError):
                os.fsync(self._journal.fileno())
            self._journal.close()
            self._journal = None


def read(folder: Path) -> tuple[Manifest, dict[Run, Values]]:
    """Read a sweep's folder; raises `FolderError` if it is none or runs are missing."""
    known = read_manifest(folder)
    if known is None:
        about = "its manifest is damaged" if (folder / MANIFEST).exists() else "it has no manifest"
        raise FolderError(f"'{folder}' is not a sweep's folder: {about} ({MANIFEST})")
    if known["format"] != FORMAT:
        raise FolderError(f"'{folder}' was written by another version of qcnlab")
    store = Store(folder, known)
    have = store.peek()
    lacks = len(missing(known, store.points(), store.done))
    if lacks:
        more = "or more " if "precision" in known else ""
        raise FolderError(
            f"the sweep in '{folder}' is not complete: {lacks} {more}of {have + lacks} runs are "
            f"missing; to go on: {known['command']}"
        )
    for name in TABLES:
        try:
            read_summed(folder / name)
        except (OSError, ValueError) as error:
            about = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise FolderError(
                f"'{folder / name}': {about}; to write it again from the journal: "
                f"{known['command']}"
            ) from error
    return known, store.done


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, `None` if there is none that is whole."""
    try:
        value = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return None
    if not _is_manifest(value) or value.pop("sum", None) != _digest(value):
        return None
    return dict(value)


def _is_manifest(value: Any) -> bool:
    """Return whether `value` has the keys of a manifest that are read, with the right types."""
    if not isinstance(value, dict):
        return False
    texts = ("scenario", "title", "points", "command")
    counts = ("replications", "seed", "format")
    vary, metrics = value.get("vary"), value.get("metrics")
    return (
        all(isinstance(value.get(key), str) for key in texts)
        and all(type(value.get(key)) is int for key in counts)
        and value["replications"] > 0
        and isinstance(metrics, list)
        and all(isinstance(name, str) for name in metrics)
        and isinstance(vary, dict)
        and all(isinstance(values, list) and values for values in vary.values())
        and _is_precision(value)
    )


def _is_precision(value: Manifest) -> bool:
    """Return whether a manifest states no precision, or one that can be."""
    if "precision" not in value:
        return True
    try:
        stated = of_manifest(value)
    except (TypeError, ScenarioError):
        return False
    return stated is not None and stated.metric in value["metrics"]


def _is_left_over(path: Path) -> bool:
    """Return whether `path` is half written and nobody writes it; a `plot` may write a figure."""
    if path.name.startswith(".sweep."):
        return is_abandoned(path)
    return is_partial(path)


def _identity(known: Manifest) -> str:
    return _digest({key: value for key, value in known.items() if key != "command"})[:16]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _line(run: Run, values: Values) -> bytes:
    record = {"point": run[0], "replication": run[1], "metrics": values}
    text = json.dumps(record, separators=(",", ":")).encode()
    return text[:-1] + b',"sum":"%08x"}\n' % zlib.crc32(text)


def _unsealed(line: bytes) -> bytes:
    """Return the record of a line of the journal; raise `ValueError` if its checksum is wrong."""
    record, mark, check = line.rpartition(b',"sum":"')
    record += b"}"
    if not mark or check != b'%08x"}' % zlib.crc32(record):
        raise ValueError
    return record


def _owner(lines: list[bytes]) -> str | None:
    try:
        head = parse_json(lines[0])
        return str(head["sweep"])
    except (ValueError, IndexError, KeyError, TypeError):
        return None


def _runs(
    lines: list[bytes], points: int, replications: int, size: int
) -> tuple[dict[Run, Values], int]:
    """Return the runs that are whole, and the number of lines that are not."""
    runs: dict[Run, Values] = {}
    damaged = 0
    for line in filter(None, lines):
        try:
            record = parse_json(_unsealed(line))
            run = (_whole_number(record["point"]), _whole_number(record["replication"]))
            values = [None if each is None else _number(each) for each in record["metrics"]]
            if not (0 <= run[0] < points and 0 <= run[1] < replications and len(values) == size):
                raise ValueError
            runs.setdefault(run, values)
        except (ValueError, KeyError, TypeError, OverflowError):
            damaged += 1
    return runs, damaged


def _whole_number(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError
    return float(value)  # type: ignore[arg-type]


def _differences(there: Manifest, here: Manifest) -> list[str]:
    """Return the differences of two sweeps in words."""
    told = []
    if there.get("scenario") != here["scenario"]:
        told.append(f"scenario: there {there.get('scenario')}, here {here['scenario']}")
    keys = dict.fromkeys([*there["vary"], *here["vary"]])
    for key in keys:
        old, new = (_varied(known["vary"], key) for known in (there, here))
        if old != new:
            told.append(f"{key}: there {old}, here {new}")
    if list(there["vary"]) != list(here["vary"]) and not told:
        told.append("the order of what varies")
    for key in ("replications", "precision", "seed", "qcnlab"):
        old, new = (known.get(key, "none") for known in (there, here))
        if old != new:
            told.append(f"{key}: there {old}, here {new}")
    old_keys, new_keys = (_flat(known) for known in (there, here))
    for key in dict.fromkeys([*old_keys, *new_keys]):
        old, new = old_keys.get(key, "nothing"), new_keys.get(key, "nothing")
        if old != new and key not in keys:
            told.append(f"{key}: there {old}, here {new}")
    if there.get("core") != here["core"]:
        told.append("the build of qcnlab: results of two builds are not put together")
    if not told:
        told.append("what the points resolve to")
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], f"and {more} more"]


def _varied(vary: Mapping[str, list[Any]], key: str) -> str:
    return ", ".join(word(value) for value in vary[key]) if key in vary else "not varied"


def _flat(known: Manifest) -> dict[str, str]:
    """Return the values of the first point as text, by their dotted keys."""
    values: dict[str, str] = {}

    def walk(at: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                walk(f"{at}.{key}" if at else key, below)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, below in enumerate(value):
                walk(f"{at}.{number}", below)
        else:
            values[at] = word(value)

    with suppress(ValueError):
        walk("", tomllib.loads(str(known.get("first_point", ""))))
    values.pop("seed", None)
    values.pop("replications", None)
    return values


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


def is_sweep(folder: Path) -> bool:
    """Return whether a folder has what a sweep writes first."""
    return (folder / MANIFEST).exists() or (folder / JOURNAL).exists()
