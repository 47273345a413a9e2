"""A congestion-management laboratory for Ethernet fabrics.

Names are imported when they are first used, so that ``import qcnlab`` is quick.

Examples
--------
>>> import qcnlab
>>> scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt200us")
>>> short = scenario.with_("warmup=2 ms", "hotspot.from=10 ms", "hotspot.until=25 ms")
>>> result = qcnlab.run(short.with_("scheme.name=qcn", "duration=40 ms"), reps=2)
>>> result.metric("queue_max_bytes")  # median over the replications
91500.0
>>> result.queues.to_polars().columns  # or .to_pandas(), .to_numpy(), any Arrow reader
['replication', 'time_s', 'port', 'queue_bytes']
>>> figure = result.plot()  # figure.savefig("run.png") writes it
"""

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

_MODULES = {
    "advising.advice": ("Advice",),
    "advising.searching": ("advise",),
    "_core": ("__version__",),
    "api": ("Scenario", "load", "run", "run_many"),
    "results.comparison": ("Comparison", "compare"),
    "results.completion": ("Completions",),
    "errors": (
        "AnalysisError", "Error", "FolderError", "LawViolation", "MissingPackage", "ScenarioError",
    ),
    "runs.intervals": ("Interval",),
    "results.result": ("Result", "open_run"),
    "sweeps.precision": ("Precision",),
    "sweeps.result": ("Sweep",),
    "sweeps.running": ("open_sweep", "sweep"),
    "runs.tables": ("Table",),
    "tuning.result": ("Tuning",),
    "tuning.searching": ("tune",),
    "tuning.trial": ("Trial",),
}  # fmt: skip


def __getattr__(name):
    """Import the module that defines `name`, and keep the name here."""
    from importlib import import_module

    if name == "analysis":
        return import_module("qcnlab.analysis")
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"qcnlab.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'qcnlab' has no attribute {name!r}")


def __dir__():
    """List the public names, imported already or not."""
    return sorted({*globals(), *__all__})
