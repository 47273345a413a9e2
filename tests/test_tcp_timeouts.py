"""TCP's timeouts while a link is down, by hand: how long they grow, and in which steps."""

from __future__ import annotations

import pytest

import qcnlab

DOWN = """
title = "A message over a link that is down for a while"
duration = "400 ms"

[topology]
kind = "switch"
hosts = 2
rate = "10 Gb/s"
delay = "1 us"

[[failure]]
link = "host1->switch"
from = "{down}"
until = "{up}"

[[traffic]]
arrivals = "list"
transport = "tcp"
flows = \"\"\"
from,to,size,start
host1,host2,{size},0 us
\"\"\"
frame = "1500 B"
initial_rto = "10 ms"
min_rto = "10 ms"
{keys}

[scheme]
name = "none"
"""


def timeouts(keys: str, size: str, down: str, up: str) -> float | None:
    """Return how often a timer of the message ran out."""
    text = DOWN.format(keys=keys, size=size, down=down, up=up)
    return qcnlab.run(qcnlab.Scenario.from_toml(text), reps=1, progress=False).metric("timeouts")


@pytest.mark.parametrize(
    ("keys", "times"),
    [
        ("", 3),  # 60 s: at 10, 30 and 70 ms.
        ('max_rto = "20 ms"', 4),  # At 10, 30, 50 and 70 ms.
        ('max_rto = "10 ms"', 7),  # Every 10 ms.
    ],
)
def test_a_timeout_doubles_up_to_the_longest(keys: str, times: int) -> None:
    assert timeouts(keys, "1 KB", "0 s", "75 ms") == times


@pytest.mark.parametrize(
    ("keys", "times"),
    [
        ("", 1),  # 1 ms: 10 ms after the last acknowledgement.
        ('granularity = "7 ms"', 0),  # 14 ms is the next multiple.
        ('granularity = "5 ms"', 1),  # 10 ms is a multiple.
    ],
)
def test_a_timeout_is_a_multiple_of_the_timer(keys: str, times: int) -> None:
    """The link goes down after the first round trips, of some us, and is up again at 12 ms."""
    assert timeouts(keys, "200 KB", "30 us", "12 ms") == times
