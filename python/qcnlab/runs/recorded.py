"""What a run left, before anybody asks something of it: its scenario, its summary, its tables."""

from __future__ import annotations

import tomllib
from functools import cached_property
from typing import TYPE_CHECKING

from qcnlab.runs.tables import NAMES, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.records import JsonObject
    from qcnlab.runs.meta import Meta
    from qcnlab.runs.summary import Summary


class Recorded:
    """What all replications of one scenario left.

    `qcnlab.Result` is one, with all that can be asked of it.
    """

    def __init__(
        self,
        config: str,
        summary: Summary,
        meta: Meta,
        read: Callable[[str], Table],
        managed: Callable[[], str | None] = lambda: None,
        tree: Callable[[], JsonObject] | None = None,
    ) -> None:
        self._config = config
        self._summary = summary
        self._meta = meta
        self._read = read
        self._managed = managed
        self._tree = tree
        self._tables: dict[str, Table] = {}

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._summary.scenario

    @property
    def config(self) -> str:
        """The resolved scenario as TOML: every key, every unit."""
        return self._config

    @cached_property
    def tree(self) -> JsonObject:
        """The resolved scenario as values: the core's own, or `config` of a folder, parsed once."""
        return self._tree() if self._tree else tomllib.loads(self._config)

    @property
    def summary(self) -> Summary:
        """What was run, how each replication ended, metrics and counters.

        An object whose attributes are the keys of `summary.json`: ``summary.seed``,
        ``summary.ends[0].why``, ``summary.metrics["jain"].median``,
        ``summary.counters.frames_sent``. `summary.to_dict()` returns what JSON holds, and
        `summary.lacks` names what the version that ran an older folder did not have. Equal for
        equal scenario, seed and replications.
        """
        return self._summary

    @property
    def meta(self) -> Meta:
        """Versions, seed, hash, units of every column, wall and CPU seconds, as in `meta.json`."""
        return self._meta

    def table(self, name: str) -> Table:
        """Return a table by its name.

        Parameters
        ----------
        name : str
            One of ``queues``, ``rates``, ``throughput``, ``messages``, ``drops``, ``pauses``,
            ``windows``, ``flows`` and ``metrics``.

        Returns
        -------
        Table
            Its columns are described at the property of the same name.

        Raises
        ------
        KeyError
            For any other name; it lists those there are.
        FolderError
            If the result comes from a folder and the table's file is damaged.
        """
        if name not in NAMES:
            raise KeyError(f"no table is named {name!r}; there are {', '.join(NAMES)}")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def forget_tables(self) -> None:
        """Forget the tables that were read; one that is asked for again is read again."""
        self._tables.clear()

    @property
    def queues(self) -> Table:
        """Length of every recorded queue: `replication`, `time_s`, `port`, `queue_bytes`."""
        return self.table("queues")

    @property
    def rates(self) -> Table:
        """Current and target rate of every source.

        `replication`, `time_s`, `source`, `current_rate_bps`, `target_rate_bps`.
        """
        return self.table("rates")

    @property
    def throughput(self) -> Table:
        """What left the last link, in bins: `replication`, `time_s`, `source`, `rate_bps`.

        `time_s` is the start of the bin.
        """
        return self.table("throughput")

    @property
    def messages(self) -> Table:
        """Every message a congestion point sent, with the feedback it carried.

        `replication`, `time_s`, `port`, `source`, `kind`, `fb`, `q_off_bytes`, `q_delta_bytes`.
        """
        return self.table("messages")

    @property
    def drops(self) -> Table:
        """Frames that were dropped or refused, in bins.

        `replication`, `time_s`, `last_s`, `port`, `source`, `kind`, `frames`, `bytes`. `kind` is
        ``dropped`` of frames lost in the network and ``refused`` of those that found the queue of
        their source full and were never sent; `port` is then the one that they would have left
        through. `time_s` is the start of the bin and `last_s` the time of its last such frame; bins
        without any are left out.
        """
        return self.table("drops")

    @property
    def pauses(self) -> Table:
        """Every time a port was stopped by pause frames, and the port it had to wait for.

        `replication`, `time_s`, `until_s`, `port`, `priority` (missing: the whole link), `because`:
        the port whose queue held most of what filled the memory at the far end.
        """
        return self.table("pauses")

    @property
    def windows(self) -> Table:
        """Congestion windows of TCP connections and the data in flight, as often as rates.

        `replication`, `time_s`, `source`, `window_bytes`, `flight_bytes`.
        """
        return self.table("windows")

    @property
    def flows(self) -> Table:
        """Times, size, shares and frame counts of each flow, finished or not, in the whole run.

        `replication`, `source`, `traffic` (its entry, counted from 0 as in keys), `priority` (its
        class), `size_bytes` (missing: it has no end), `start_s`, `received_s` (of RoCE messages,
        when the last octet was there), `finished_s` and `completion_s`
        (missing: it did not finish; `completion_s` is the one less the other), `alone_s` and
        `standalone_s` (what it would have taken alone: store and forward over its way without any
        window, over RoCE with the way back of the last acknowledgement; and as the HPCC simulator
        reckons it, the base round trip and its octets with headers at the rate of the slowest
        link), `slowdown` (`completion_s` by `alone_s`),
        `delivered_bytes` (so far, of one that did not finish), its fair shares of the links' rates
        (`max_min_bps`, `proportional_bps`; missing where flows end or are more than 2000), and
        frames: `sent_frames`, `delivered_frames`, `dropped_frames` in the network,
        `refused_frames` at the source. Of TCP connections also `goodput_bytes` (payload delivered
        in order), `retransmitted_frames`, `fast_retransmits` and `timeouts`; of RoCE queue pairs
        the same but `fast_retransmits`, and `spurious_frames` (packets that came although they
        were there) and `reorder_peak_frames` (most packets kept out of order at once); missing for
        others.
        """
        return self.table("flows")

    @property
    def metrics(self) -> Table:
        """The metrics of every replication: `replication`, `metric`, `value`, `unit`."""
        return self.table("metrics")

    @property
    def managed(self) -> str | None:
        """What was counted for managed objects, as JSON: what `managed.json` holds.

        `None` for schemes without congestion notification messages, and for folders of versions
        that did not count. ``qcnlab mib`` makes objects of it.
        """
        return self._managed()
