"""What a run gave: tables, metrics, the run folder, the figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from qcnlab import _core
from qcnlab.errors import AnalysisError, FolderError
from qcnlab.files.folders import NewFolder, parse_json, read_summed, write_json, write_sums
from qcnlab.metrics import having
from qcnlab.printing.text import counted
from qcnlab.runs.facts import facts
from qcnlab.runs.flow_level import require_packets
from qcnlab.runs.recorded import Recorded
from qcnlab.runs.run_files import (
    FILES,
    FORMAT,
    MANAGED,
    check_files,
    disk_reader,
    managed_reader,
    meta_of,
    read_config,
    reason,
    write_table,
)
from qcnlab.runs.tables import NAMES, Columns, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.results.collectives import Collectives
    from qcnlab.results.completion import Completions
    from qcnlab.results.steps import Steps
    from qcnlab.runs.meta import Meta
    from qcnlab.runs.summary import Summary


class Result(Recorded):
    """All replications of one scenario.

    Comes from `qcnlab.run` or, read back from a folder, from `qcnlab.open_run`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> result = qcnlab.run(scenario, reps=2)
    >>> result
    <Result one-source-into-9g-rtt10us: scheme qcn, 2 replications, seed 1>
    >>> len(result.metrics) == 2 * len(result.summary.metrics)
    True
    """

    def metric(
        self,
        name: str,
        *,
        window: tuple[float, float] | None = None,
        flows: Sequence[str] = (),
        limit: float | None = None,
    ) -> float | None:
        """Return the median of a metric over the replications.

        Parameters
        ----------
        name : str
            A metric; ``qcnlab list metrics`` has them, with their units.
        window : tuple of float, optional
            Start and end, s: the metric is taken over this time instead of the window of its
            definition. Rows that begin in it count. Metrics of queue samples and of throughput
            have windows; so do those that exist over a window only (`queue_spread_bytes`,
            `first_fall_ms`, `regain_ms`, `ramp_ms`, `lowest_bin_gbps`, `rate_swing`,
            `bottleneck_drops`).
        flows : sequence of str
            With a window: patterns (``host1*``) of the flows that metrics of throughput count; by
            default all flows.
        limit : float, optional
            With a window: the level of `first_fall_ms` (B), `regain_ms` and `ramp_ms` (Gb/s).

        Returns
        -------
        float or None
            In the metric's unit; `None` if no replication has it.

        Raises
        ------
        KeyError
            For a metric that is not in `summary.metrics`; it names the nearest one.
        AnalysisError
            For a window that is empty, a metric that has none or needs a limit, and `flows` or a
            `limit` without a window. For a metric that is not about completion times, if the run is
            one without packets.
        """
        if window is not None or name not in having("ending"):
            require_packets(self._summary, f"metric {name}" + (" over a window" if window else ""))
        if window is None and (flows or limit is not None):
            raise AnalysisError("flows and a limit go with a window: give window=(start, end)")
        if window is not None:
            from statistics import median

            from qcnlab.runs.windows import in_window

            values = in_window(self, name, window, flows=flows, limit=limit)
            known = [value for value in values if value is not None]
            return median(known) if known else None
        metrics = self._summary.metrics
        if name not in metrics:
            from qcnlab.metrics import remedy_for

            raise KeyError(f"this run has no metric {name!r}; {remedy_for(name, metrics)}")
        return metrics[name].median

    def fct(
        self,
        by: str = "size",
        buckets: str = "5%",
        base: str = "alone",
        percentile: str = "rank",
    ) -> Completions:
        """Return completion times and slowdowns of the flows of a size, in groups.

        Parameters
        ----------
        by : str, default "size"
            ``size``, ``entry`` (of traffic) or ``all``.
        buckets : str, default "5%"
            By size: the share of the flows that each group has, as the field's figures have 5 %,
            or the sizes that part the groups: ``10 KB,100 KB,1 MB``.
        base : str, default "alone"
            What slowdowns are measured against: ``alone`` (store and forward over the flow's way),
            ``standalone`` (the HPCC simulator's: base round trip and octets with headers at the
            rate of the slowest link) or ``standalone_floored`` (the same, and slowdowns at least
            1).
        percentile : str, default "rank"
            ``rank``: the smallest value that p per cent do not exceed; ``element``: element
            floor(n p) of the sorted values, as the HPCC simulator's analysis takes it.

        Returns
        -------
        Completions
            Flows that did not finish count with their time up to the end of the run; a percentile
            that they can change is a lower bound and marked.

        Raises
        ------
        AnalysisError
            For another word, or if no flow of a size started.
        """
        from qcnlab.results.completion import Completions

        return Completions(self, by, buckets, base, percentile)

    def collectives(self) -> Collectives:
        """Return how long collective operations took, and why.

        Returns
        -------
        Collectives
            By operation, round and rank, with bandwidths, the lower bound, and the parts of the
            slowest rank's time.

        Raises
        ------
        AnalysisError
            If no traffic has arrivals ``collective``.
        """
        from qcnlab.results.collectives import Collectives

        return Collectives(self)

    def steps(self) -> Steps:
        """Return how long training steps took: computation, communication, what was exposed.

        Returns
        -------
        Steps
            Iteration times, and when each rank did which task.

        Raises
        ------
        AnalysisError
            If the scenario is none that ``qcnlab import step``, ``simai`` or ``chakra`` made.
        """
        from qcnlab.results.steps import Steps

        return Steps(self)

    def congestion_tree(self, replication: int = 0) -> pl.DataFrame:
        """Sum the pauses of one replication: which link was stopped because of which queue.

        Parameters
        ----------
        replication : int, default 0
            Counted from 0.

        Returns
        -------
        polars.DataFrame
            Columns `port`, `because`, `priority` (null for the whole link), `stops`, `paused_s`
            (s) and `paused_frac` (share of the run), longest first.

        Raises
        ------
        IndexError
            If there is no such replication.
        """
        from qcnlab.figures.tree import congestion_tree

        require_packets(self._summary, "the congestion tree")
        return congestion_tree(self, replication)

    def plot(self, replication: int = 0) -> Figure:
        """Draw queue, throughput and rates of one replication against time.

        Parameters
        ----------
        replication : int, default 0
            Counted from 0.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.

        Raises
        ------
        IndexError
            If there is no such replication.
        """
        from qcnlab.figures.plots import run_figure

        require_packets(self._summary, "the figure of queues and rates")
        return run_figure(self, replication)

    def save(self, folder: str | Path | None = None) -> Path:
        """Write the run folder: complete, or not there at all.

        Parameters
        ----------
        folder : str or Path, optional
            Where to; by default `runs/<name>-<hash8>`, or `-2`, `-3`, ... when that is taken.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        FolderError
            If `folder` exists or cannot be written.
        """
        new = self.new_folder() if folder is None else NewFolder(Path(folder))
        with new:
            self.write_into(new.path)
        return new.final

    def new_folder(self) -> NewFolder:
        """Return the default run folder of this scenario, not yet made."""
        return NewFolder.named(f"{self.name}-{self._summary.hash[:8]}")

    def write_into(self, folder: Path) -> None:
        """Write the files of a run folder into a folder that is there and empty.

        Parameters
        ----------
        folder : Path
            The folder.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        (folder / "config.toml").write_text(self._config, encoding="utf-8")
        write_json(folder / "summary.json", self._summary.to_dict())
        for name in NAMES:
            write_table(folder / f"{name}.parquet", self.table(name))
        if self.managed is not None:
            (folder / MANAGED).write_text(self.managed + "\n", encoding="utf-8")
        write_json(folder / "meta.json", self._meta)
        write_sums(folder, sorted(path.name for path in folder.iterdir() if path.name in FILES))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle everything, all tables included."""
        tables = {name: self.table(name) for name in NAMES}
        return _unpickled, (self._config, self._summary, self._meta, tables, self.managed)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the metrics that there are, and the figure."""
        from qcnlab.figures import notebook
        from qcnlab.results import metrics_text

        title, *lines = metrics_text.head(self).splitlines()
        blocks = [notebook.table(metrics_text.header(self), metrics_text.telling(self), left=3)]
        if len(self.queues):
            blocks.append(notebook.image(self.plot()))
        return notebook.part(title, "; ".join(lines), *blocks)

    def __repr__(self) -> str:
        """Return scenario, scheme, replications and seed."""
        summary = self._summary
        return (
            f"<Result {self.name}: scheme {summary.scheme}, "
            f"{counted(summary.replications, 'replication')}, seed {summary.seed}>"
        )


def _unpickled(
    config: str,
    summary: Summary,
    meta: Meta,
    tables: dict[str, Table],
    managed: str | None,
) -> Result:
    return Result(config, summary, meta, tables.__getitem__, lambda: managed)


def from_outcome(outcome: _core.Outcome, wall_s: float, title: str | None = None) -> Result:
    """Return the result of what the core ran; `wall_s` is the wall time of that call.

    A title replaces that of the scenario.
    """
    from qcnlab.runs.summary import Summary

    tree = json.loads(outcome.summary())
    cpu_s = tree.pop("cpu_s")
    summary = Summary.read(tree if title is None else tree | {"title": title}, "summary")
    return Result(
        config=outcome.scenario.to_toml(),
        summary=summary,
        meta=meta_of(summary, outcome.units(), wall_s, cpu_s),
        read=_live_reader(outcome),
        managed=outcome.managed,
        tree=lambda: json.loads(outcome.scenario.to_json()),
    )


def open_run(folder: str | Path) -> Result:
    """Read a run folder back; tables are read from disk when they are asked for.

    Parameters
    ----------
    folder : str or Path
        A folder that `Result.save` or ``qcnlab run`` wrote.

    Returns
    -------
    Result
        Equal to the one that was saved.

    Raises
    ------
    FolderError
        If `folder` is not a complete run folder, or a file in it is damaged.

    Examples
    --------
    >>> import qcnlab
    >>> qcnlab.open_run("nowhere")
    Traceback (most recent call last):
        ...
    qcnlab.errors.FolderError: 'nowhere' is not a run folder: there is no such folder
    """
    path = Path(folder)
    check_files(path)
    from qcnlab.runs.summary import Summary

    try:
        config = read_summed(path / "config.toml").decode()
        summary = Summary.read(_summed_json(path / "summary.json"))
        meta = _summed_json(path / "meta.json")
        if not isinstance(meta, dict) or not isinstance(meta.get("units"), dict):
            raise ValueError("meta.json has no units")
        units = meta["units"]
        if meta.get("format") != FORMAT or set(units) != set(NAMES):
            raise FolderError(f"'{path}' was written by another version of qcnlab")
        tree = read_config(config)
        tables = disk_reader(path, units, meta.get("command"))
        made = cast("Meta", meta)
        result = Result(config, summary, made, tables, managed_reader(path), lambda: tree)
        facts(result)
        return result
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(
            f"'{path}' is not a run folder: {reason(error)}; "
            "a file is damaged or half written: remove the folder and run again"
        ) from error


def _summed_json(path: Path) -> Any:
    """Return what a JSON file of a run folder holds; raise `ValueError` that names the file."""
    octets = read_summed(path)
    try:
        return parse_json(octets)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _live_reader(outcome: _core.Outcome) -> Callable[[str], Table]:
    def read(name: str) -> Table:
        table = outcome.table(name)
        units = {column: table.units[column] for column in table.columns if table.units[column]}
        return Table(name, Columns(table), table.columns, units, len(table))

    return read
