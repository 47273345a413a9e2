"""The files of a run folder: their names, what must be in them, and how tables are kept."""

from __future__ import annotations

import datetime
import io
import json
import platform
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.errors import FolderError
from qcnlab.files.folders import is_folder, is_partial, is_there, read_summed
from qcnlab.runs.tables import NAMES, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.records import JsonObject
    from qcnlab.runs.meta import Meta
    from qcnlab.runs.summary import Summary

FORMAT = 3
"""Version of the run folder's layout, kept in `meta.json`."""
MANAGED = "managed.json"
"""What a run counted for managed objects; runs without congestion notification messages lack it."""
WHOLE = ("config.toml", "summary.json", "meta.json")
"""The files without which a folder is none of a run, beside its tables."""
FILES = frozenset((*WHOLE, MANAGED, *(f"{name}.parquet" for name in NAMES)))
"""The files of a run folder whose checksums are kept."""
MOST_OWN = 50_000
"""Values of the largest table that our own writer takes."""
OTHERS = {
    "comparison.json": "a comparison's: each folder in it is a run's",
    "sweep.json": "a sweep's: qcnlab.open_sweep reads it, and `qcnlab plot` draws it",
    "tune.json": "a search's: its trials are in trials.csv, its figure is tune.svg",
    "demo.json": "a demonstration's: each folder in it is a run's",
    "analysis.json": "an analysis's: its figures are in it",
}
"""Files that tell what another folder is."""


def check_files(path: Path) -> None:
    """Raise `FolderError` that says what `path` is if it is no complete run folder."""
    if is_there(path) and not path.is_dir():
        raise FolderError(f"'{path}' is not a run folder but a file")
    if not is_folder(path):
        raise FolderError(f"'{path}' is not a run folder: there is no such folder")
    for name, what in OTHERS.items():
        if (path / name).exists():
            raise FolderError(f"'{path}' is not a run folder but {what}")
    missing = [name for name in WHOLE if not (path / name).exists()]
    if not missing:
        return
    message = f"'{path}' is not a run folder: {' and '.join(missing)} missing"
    if len(missing) < len(WHOLE) or is_partial(path):
        message += "; a run was killed while it wrote, or files were taken away: run it again"
    raise FolderError(message)


def read_config(config: str) -> JsonObject:
    """Return the values of a resolved scenario; raise `ValueError` if it is none."""
    try:
        tree = tomllib.loads(config)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"config.toml: {error}") from error
    missing = [key for key in ("duration", "topology", "scheme", "record") if key not in tree]
    if missing:
        raise ValueError(f"config.toml has no {missing[0]}")
    return tree


def write_table(path: Path, table: Table) -> None:
    """Write a table of a run to `path` as Parquet with its units in the file's metadata.

    A small one goes out uncompressed by a writer of our own, because the import of polars takes
    longer than a short run. Which one it is depends on the table's size alone, so that equal tables
    give equal octets wherever they come from.
    """
    if len(table) * len(table.columns) > MOST_OWN:
        path.write_bytes(parquet(table))
        return
    from qcnlab.files import parquet as own

    path.write_bytes(own.octets(table.octets(), len(table), _metadata(table)))


def _metadata(table: Table) -> dict[str, str]:
    units = {column: table.units[column] for column in table.columns if column in table.units}
    return {"units": json.dumps(units)}


def parquet(table: Table) -> bytes:
    """Return the octets of `table` as zstd Parquet with its units in the file's metadata.

    Equal rows give equal octets: text goes out as text, because the numbering of categories depends
    on what the process did before.
    """
    import polars as pl

    octets = io.BytesIO()
    table.to_polars().with_columns(pl.selectors.categorical().cast(pl.String)).write_parquet(
        octets,
        compression="zstd",
        compression_level=3,
        metadata=_metadata(table),
    )
    return octets.getvalue()


def disk_reader(
    folder: Path, units: dict[str, dict[str, str]], command: list[str] | None
) -> Callable[[str], Table]:
    """Return what reads the tables of `folder` by name; `command` is the one that wrote them."""

    def read(name: str) -> Table:
        import polars as pl

        path = folder / f"{name}.parquet"
        try:
            frame = pl.read_parquet(io.BytesIO(read_summed(path)))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            again = f"; to run it again: {shlex.join(command)}" if command else ""
            raise FolderError(f"'{path}' cannot be read: {reason(error)}{again}") from error
        return Table(name, frame, frame.columns, units[name], len(frame))

    return read


def managed_reader(folder: Path) -> Callable[[], str | None]:
    """Return what reads the counts for managed objects in `folder`, if it has them."""

    def read() -> str | None:
        path = folder / MANAGED
        try:
            return read_summed(path).decode().rstrip("\n") if path.exists() else None
        except (OSError, ValueError) as error:
            raise FolderError(
                f"'{path}' cannot be read: {reason(error)}; run the scenario again"
            ) from error

    return read


def reason(error: BaseException) -> str:
    """Return in one line why a file cannot be used."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _command() -> list[str]:
    program = Path(sys.argv[0]).name
    return ["qcnlab" if program == "__main__.py" else program, *sys.argv[1:]]


def meta_of(
    summary: Summary, units: dict[str, dict[str, str]], wall_s: float, cpu_s: float
) -> Meta:
    """Return what `meta.json` holds of a run that this process made."""
    from importlib.metadata import version

    return {
        "format": FORMAT,
        "scenario": summary.scenario,
        "hash": summary.hash,
        "seed": summary.seed,
        "replications": summary.replications,
        "versions": {
            "qcnlab": _core.__version__,
            "python": platform.python_version(),
            "polars": version("polars"),
        },
        "command": _command(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "units": units,
    }
