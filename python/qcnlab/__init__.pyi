# What type checkers see of the package, whose names are imported when they are first used.

from qcnlab._core import __version__
from qcnlab.advising.advice import Advice
from qcnlab.advising.searching import advise
from qcnlab.api import Scenario, load, run, run_many
from qcnlab.errors import (
    AnalysisError,
    Error,
    FolderError,
    LawViolation,
    MissingPackage,
    ScenarioError,
)
from qcnlab.results.comparison import Comparison, compare
from qcnlab.results.completion import Completions
from qcnlab.results.result import Result, open_run
from qcnlab.runs.intervals import Interval
from qcnlab.runs.tables import Table
from qcnlab.sweeps.precision import Precision
from qcnlab.sweeps.result import Sweep
from qcnlab.sweeps.running import open_sweep, sweep
from qcnlab.tuning.result import Tuning
from qcnlab.tuning.searching import tune
from qcnlab.tuning.trial import Trial

__all__ = [
    "Advice",
    "AnalysisError",
    "Comparison",
    "Completions",
    "Error",
    "FolderError",
    "Interval",
    "LawViolation",
    "MissingPackage",
    "Precision",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Table",
    "Trial",
    "Tuning",
    "__version__",
    "advise",
    "compare",
    "load",
    "open_run",
    "open_sweep",
    "run",
    "run_many",
    "sweep",
    "tune",
]

_MODULES: dict[str, tuple[str, ...]]
