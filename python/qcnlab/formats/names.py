"""Names of nodes that have numbers, as patterns of scenario files write many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Node = tuple[str, int]
"""`host` or `switch`, and a number."""


def name(node: Node) -> str:
    """Return a node's name: `host3`."""
    return f"{node[0]}{node[1]}"


def pattern(nodes: Sequence[Node]) -> str:
    """Return names in their order, with ranges for numbers that follow each other.

    >>> pattern([("host", 0), ("host", 1), ("host", 2), ("switch", 9), ("host", 7)])
    'host{0..2}, switch9, host7'
    """
    runs: list[list[Node]] = []
    for node in nodes:
        if runs and runs[-1][-1] == (node[0], node[1] - 1):
            runs[-1].append(node)
        else:
            runs.append([node])
    return ", ".join(
        name(run[0]) if len(run) == 1 else f"{run[0][0]}{{{run[0][1]}..{run[-1][1]}}}"
        for run in runs
    )
