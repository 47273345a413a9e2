"""What a figure or a text must know of a run: hotspots, set point, rates, why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.runs import endings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.records import JsonObject
    from qcnlab.runs.recorded import Recorded


@dataclass(frozen=True)
class Hotspot:
    """A time during which a port serves at another rate."""

    start_s: float
    end_s: float
    rate_bps: float


@dataclass(frozen=True)
class Facts:
    """Times in s, sizes in B, rates in bit/s; rate and buffer are the bottleneck's."""

    duration_s: float
    """How long the replication lasted that lasted longest."""
    sources: int
    rate_bps: float
    buffer_bytes: float | None
    hotspots: tuple[Hotspot, ...]
    set_point_bytes: float | None
    queue_every_s: float
    """Time between two samples of a queue."""
    throughput_bin_s: float
    """Length of a bin of throughput."""
    recovery_hold_s: float
    """How long a level of throughput must last to count."""
    drains: bool
    """Whether the run ends with its last flow."""
    stopped_by: str
    """What stops links: `PFC` (classes), `PAUSE` (all of a link), or either."""


def facts(result: Recorded) -> Facts:
    """Read the facts from a result's resolved scenario and summary."""
    tree = result.tree
    bottleneck = result.summary.bottleneck
    set_point = tree["scheme"].get("cp", {}).get("set_point")
    return Facts(
        duration_s=max(end.end_s for end in result.summary.ends),
        sources=result.summary.flows,
        rate_bps=float(bottleneck.rate_bps),
        buffer_bytes=bottleneck.buffer_bytes,
        hotspots=tuple(_hotspot(entry) for entry in tree.get("hotspot", [])),
        set_point_bytes=None if set_point is None else base(set_point),
        queue_every_s=base(tree["record"]["queue_every"]),
        throughput_bin_s=base(tree["record"]["throughput_bin"]),
        recovery_hold_s=base(tree["record"].get("recovery_hold", "10 ms")),
        drains=bool(tree.get("drain", False)),
        stopped_by=_stopped_by(tables_of(tree, "pause")),
    )


def ended(result: Recorded) -> list[str]:
    """Say in words when replications ended, where that is not simply their duration."""
    known = facts(result)
    return endings.lines(result.summary, drains=known.drains, stopped_by=known.stopped_by)


def tables_of(tree: JsonObject, name: str) -> list[JsonObject]:
    """Return the tables of a name, of which a scenario has none, one or several.

    Parameters
    ----------
    tree : dict
        A scenario as values.
    name : str
        Such as ``pause``.

    Examples
    --------
    >>> tables_of({"pause": {"kind": "link"}}, "pause"), tables_of({}, "pause")
    ([{'kind': 'link'}], [])
    """
    known = tree.get(name) or []
    return list(known) if isinstance(known, list) else [known]


def base(text: str) -> float:
    """Return a quantity of a resolved scenario in octets, bit/s or s, as the core reads it.

    Parameters
    ----------
    text : str
        A number with a unit.

    Returns
    -------
    float
        The number in the base unit, rounded once.

    Raises
    ------
    ValueError
        The text is not a quantity.

    Examples
    --------
    >>> base("33 KB"), base("500 Mb/s"), base("200 us")
    (33000.0, 500000000.0, 0.0002)
    """
    quantity = _core.quantity(text)
    if quantity is None:
        raise ValueError(f"'{text}' is not a quantity in resolved form")
    return quantity[0]


def _stopped_by(pauses: Sequence[Mapping[str, str]]) -> str:
    names = {"priority": "PFC", "link": "PAUSE"}
    kinds = {names[each["kind"]] for each in pauses if each["kind"] in names}
    return kinds.pop() if len(kinds) == 1 else "PFC or PAUSE"


def _hotspot(entry: JsonObject) -> Hotspot:
    return Hotspot(base(entry["from"]), base(entry["until"]), base(entry["rate"]))
