"""What a figure must know of a resolved scenario: hotspots, set point, rates, in base units."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qcnlab.results import Result

PREFIX = {"": 1.0, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3}
PREFIX |= {"M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
QUANTITY = re.compile(r"(?P<number>[-+0-9._eE]+)\s*(?P<prefix>[KMG]i|[pnumkKMGT]?)(s|b/s|B)")


@dataclass(frozen=True)
class Hotspot:
    """A time during which a port serves at another rate."""

    start_s: float
    end_s: float
    rate_bps: float


@dataclass(frozen=True)
class Facts:
    """Times in s, sizes in B, rates in b/s; rate and buffer are the bottleneck's."""

    duration_s: float
    sources: int
    rate_bps: float
    buffer_bytes: float | None
    hotspots: tuple[Hotspot, ...]
    set_point_bytes: float | None


def facts(result: Result) -> Facts:
    """Read them from a result's resolved scenario and summary."""
    tree = tomllib.loads(result.config)
    bottleneck = result.summary["bottleneck"]
    set_point = tree["scheme"].get("cp", {}).get("set_point")
    return Facts(
        duration_s=base(tree["duration"]),
        sources=int(result.summary["flows"]),
        rate_bps=float(bottleneck["rate_bps"]),
        buffer_bytes=bottleneck["buffer_bytes"],
        hotspots=tuple(_hotspot(entry) for entry in tree.get("hotspot", [])),
        set_point_bytes=None if set_point is None else base(set_point),
    )


def base(text: str) -> float:
    """Turn resolved text such as "33 KB" or "500 Mb/s" into bytes, bits per second or seconds.

    >>> base("33 KB"), base("500 Mb/s"), base("200 us")
    (33000.0, 500000000.0, 0.00019999999999999998)
    """
    found = QUANTITY.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is not a quantity in resolved form")
    return float(found["number"].replace("_", "")) * PREFIX[found["prefix"]]


def _hotspot(entry: dict[str, Any]) -> Hotspot:
    return Hotspot(base(entry["from"]), base(entry["until"]), base(entry["rate"]))
