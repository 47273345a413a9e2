"""What a fabric has and its model does not, one thing at a time."""

from __future__ import annotations

from typing import Any

import pytest

from qcnlab.analysis import left_out

OVERTAKING = "frames that overtake each other on several ways"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"switch": [{"output_buffer": "1 MB"}]}, []),
        ({"switch": {"output_buffer": "1 MB"}}, []),
        ({"switch": [{"input_memory": "1 MB"}]}, ["the memory by input"]),
        ({"switch": {"input_memory": "1 MB"}}, ["the memory by input"]),
        ({"routing": {"multipath": "flow"}}, []),
        ({"routing": {}}, []),
        *(({"routing": {"multipath": way}}, [OVERTAKING]) for way in
          ("frame", "round_robin", "flowlet", "reps")),
        ({"pause": {"kind": "none"}}, []),
        ({"pause": {"kind": "priority"}}, ["PFC"]),
        ({"pause": [{"kind": "link"}, {"kind": "priority"}]}, ["PAUSE", "PFC"]),
        ({"adapter": {}}, []),
        ({"adapter": {"max_rps": 1}}, ["flows that share a limiter, but for their number"]),
    ],
)  # fmt: skip
def test_what_a_fabric_adds_is_said(table: dict[str, Any], said: list[str]) -> None:
    assert list(left_out.fabric_left_out({"feedback": {"kind": "ideal"}} | table)) == said
