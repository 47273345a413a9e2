"""When operations of a rank happen: after messages, and delays.

A time is the latest of others, and of a message's completion, and a delay after that. It is kept
as that, so that it takes no more memory however many messages it follows from; they are listed
when somebody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

_NUMBERS = count()


@dataclass(frozen=True, slots=True, eq=False)
class Time:
    """When something happens.

    Attributes
    ----------
    number : int
        Larger than those of the times that it follows from.
    of : tuple of Time
        It is not before any of these.
    message : int, optional
        Nor before this message is complete.
    delay : int
        And so long after that, ps.
    """

    number: int
    of: tuple[Time, ...] = ()
    message: int | None = None
    delay: int = 0


class Waits(NamedTuple):
    """What a time follows from.

    Attributes
    ----------
    earliest : int
        When it is at the earliest whatever it waits for, ps.
    after : dict
        The messages that it waits for, each with the delay after it, ps; the latest counts.
    times : int
        How many times were looked at.
    """

    earliest: int
    after: dict[int, int]
    times: int


def after_message(message: int, delay: int = 0) -> Time:
    """Return the time so long after a message is complete."""
    return Time(next(_NUMBERS), message=message, delay=delay)


def latest(times: list[Time]) -> Time:
    """Return the latest of some times, the start if there are none."""
    first = times[0] if times else None
    if first is not None and all(each is first for each in times):
        return first
    return Time(next(_NUMBERS), of=tuple(times))


def later(time: Time, delay: int) -> Time:
    """Return the time so long after another."""
    return Time(next(_NUMBERS), of=(time,), delay=delay) if delay else time


def waits(time: Time) -> Waits:
    """Return what a time follows from: messages in the order in which they are first named."""
    named = _depth_first(time)
    longest = {time.number: 0}
    earliest = 0
    # What follows from others has a larger number: all ways to a time are known before its own.
    for each in sorted(named, key=lambda each: -each.number):
        delay = longest[each.number] + each.delay
        earliest = max(earliest, delay if each.message is None else delay - each.delay)
        longest[each.number] = delay
        for other in each.of:
            longest[other.number] = max(longest.get(other.number, 0), delay)
    after: dict[int, int] = {}
    for each in named:
        if each.message is not None:
            after[each.message] = max(after.get(each.message, 0), longest[each.number])
    return Waits(earliest, after, len(named))


def _depth_first(time: Time) -> list[Time]:
    seen: set[int] = set()
    named: list[Time] = []
    left = [time]
    while left:
        each = left.pop()
        if each.number not in seen:
            seen.add(each.number)
            named.append(each)
            left.extend(reversed(each.of))
    return named
