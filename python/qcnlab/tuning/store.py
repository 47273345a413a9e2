"""The folder of a search: a manifest that names it, and a journal of the trials that have ended."""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qcnlab.errors import FolderError
from qcnlab.files.folders import parse_json, read_json, write_whole
from qcnlab.sweeps.store import held
from qcnlab.tuning.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from qcnlab.tuning.trial import Search

TOLD = {
    "scenario": "scenario",
    "changes": "set",
    "space": "searched",
    "objectives": "objectives",
    "constraints": "bounds",
    "over": "conditions",
    "mean": "the mean of the conditions",
    "replications": "replications",
    "seed": "seed",
}
"""What identifies a search, in words."""
MANIFEST, JOURNAL = "tune.json", "trials.jsonl"


class Kept:
    """The folder of a search: its manifest, and a line for each trial that has ended."""

    def __init__(self, folder: Path, trials: list[Trial]) -> None:
        self.folder = folder
        self._journal = folder / JOURNAL
        self.trials = trials

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, known: Search) -> Iterator[Kept]:
        """Hold the folder, and yield what is kept in it.

        Raises `FolderError` if it holds another search or cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with held(folder):
                yield cls(folder, _read(folder, known))
        except OSError as error:
            raise FolderError(
                f"cannot write the folder '{folder}': {error.strerror or error}"
            ) from error

    def add(self, trial: Trial) -> None:
        """Keep a trial."""
        record = json.dumps(
            {
                "trial": trial.number,
                "values": trial.values,
                "metrics": trial.metrics,
                "scores": [_written(score) for score in trial.scores],
                "violation": _written(trial.violation),
                "refused": trial.refused,
            },
            separators=(",", ":"),
        )
        line = json.dumps({"sha256": _sum(record), "record": record}, separators=(",", ":"))
        with self._journal.open("ab") as journal:
            journal.write(line.encode() + b"\n")


def _read(folder: Path, known: Search) -> list[Trial]:
    manifest, journal = folder / MANIFEST, folder / JOURNAL
    if not manifest.exists():
        if any(folder.iterdir()):
            raise FolderError(
                f"'{folder}' is there already, is no search's folder and is left as it is; "
                "choose another with -o DIR"
            )
        write_whole(manifest, (json.dumps(known, indent=2) + "\n").encode())
    try:
        there = read_json(manifest)
    except ValueError as error:
        raise FolderError(f"'{manifest}' is damaged: {error}") from error
    if there != known:
        raise FolderError(
            f"'{folder}' holds another search:\n"
            + "\n".join(f"  {each}" for each in _differences(there, known))
            + "\nchoose another folder with -o DIR"
        )
    trials: list[Trial] = []
    whole = b""
    for line in journal.read_bytes().splitlines(keepends=True) if journal.exists() else []:
        try:
            trials.append(_trial(line))
        except (ValueError, KeyError, TypeError):
            break
        whole += line
    # What follows a line that is half written or damaged is run again.
    if journal.exists() and journal.read_bytes() != whole:
        write_whole(journal, whole)
    return trials


def _differences(there: Any, here: Mapping[str, object]) -> list[str]:
    """Return the differences of two searches in words."""
    if not isinstance(there, dict):
        return ["there is no search"]
    told = [
        f"{words}: there {_told(there.get(key))}, here {_told(here[key])}"
        for key, words in TOLD.items()
        if there.get(key) != here[key]
    ]
    if there.get("build") != here["build"]:
        told.append("the build of qcnlab: results of two builds are not put together")
    return told or ["what the conditions resolve to"]


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return _told([f"{key}={each}" for key, each in value.items()])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " and ".join(map(_told_one, value)) or "none"
    return str(value)


def _told_one(value: Any) -> str:
    """Return an entry of a list; an objective is a metric, and whether it is made small."""
    if isinstance(value, list) and len(value) == 2:
        return f"{'minimize' if value[1] else 'maximize'} {value[0]}"
    return str(value)


def _sum(record: str) -> str:
    return hashlib.sha256(record.encode()).hexdigest()[:16]


def _written(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)


def _trial(line: bytes) -> Trial:
    """Return the trial of a line of the journal; raises `ValueError` if it is damaged."""
    outer = parse_json(line)
    if not line.endswith(b"\n") or outer["sha256"] != _sum(outer["record"]):
        raise ValueError("a line is half written or damaged")
    record = parse_json(outer["record"].encode())
    return Trial(
        record["trial"],
        record["values"],
        record["metrics"],
        tuple(float(score) for score in record["scores"]),
        float(record["violation"]),
        record["refused"],
    )
