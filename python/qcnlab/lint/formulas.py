"""When a shared buffer pauses: thresholds of groups and the longest pause, in octets and seconds.

A group may hold alpha times what is free of the shared part B of a buffer (Choudhury and Hahne).
"""

from __future__ import annotations

from math import inf


def pause_point(shared: int, alpha: float, classes: int, congested: int) -> float:
    """Return the queue in octets at which a group is paused that feeds several congested ports.

    Of each class one group feeds `congested` queues that all stand equally high. It is paused when
    its frames in them are alpha times what is free: alpha B / (n (1 + alpha P)).

    Parameters
    ----------
    shared : int
        The shared part of the buffer, octets.
    alpha : float
        The group's.
    classes : int
        Lossless classes P that do so alike.
    congested : int
        Congested ports n that the group feeds.

    Examples
    --------
    >>> round(pause_point(6_265_600, 1.0, 8, 32))
    21756
    """
    return alpha * shared / (congested * (1 + alpha * classes))


def most_congested(threshold: int, shared: int, alpha: float, classes: int) -> float:
    """Return how many congested ports a group may feed until it is paused below a threshold.

    Examples
    --------
    >>> round(most_congested(1_048_576, 20_627_456, 1.0, 2), 2)
    6.56
    """
    point = pause_point(shared, alpha, classes, 1)
    return point / threshold if threshold else inf


def longest_pause(shared: int, alpha: float, headroom: int, inputs: int, rate_bps: int) -> float:
    """Return the seconds that a switch needs to drain what it holds of several paused links.

    `inputs` links fill their groups up to alpha B / (1 + m alpha) each, and their headroom; one
    port drains them all.

    Examples
    --------
    >>> round(longest_pause(20_627_456, 1.0, 77_824, 4, 100_000_000_000), 6)
    0.001345
    """
    held = inputs * (alpha * shared / (1 + inputs * alpha) + headroom)
    return 8 * held / rate_bps
