"""A congestion-management laboratory for Ethernet fabrics.

>>> import qcnlab
>>> scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt200us")
>>> result = qcnlab.run(scenario.with_("scheme.name=qcn"), reps=5)
>>> result.metric("recovery_ms")            # median over the replications, in ms
>>> result.queues.to_polars()               # or .to_pandas(), .to_numpy(), any Arrow reader
>>> result.plot().savefig("run.png")
"""

from qcnlab._core import __version__
from qcnlab.api import Scenario, load, run, run_many
from qcnlab.errors import (
    AnalysisError,
    Error,
    FolderError,
    LawViolation,
    MissingPackage,
    ScenarioError,
)
from qcnlab.results import Result, open_run
from qcnlab.sweeps.result import Sweep
from qcnlab.sweeps.running import open_sweep, sweep
from qcnlab.tables import Table

__all__ = [
    "AnalysisError",
    "Error",
    "FolderError",
    "LawViolation",
    "MissingPackage",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Table",
    "__version__",
    "load",
    "open_run",
    "open_sweep",
    "run",
    "run_many",
    "sweep",
]
