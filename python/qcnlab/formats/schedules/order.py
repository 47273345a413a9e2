"""An order of things that wait for each other, and those that wait for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def in_order(count: int, befores: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the numbers below `count`, each after those that it waits for.

    Parameters
    ----------
    count : int
        How many there are.
    befores : callable
        Returns those that one waits for; one may be there several times.

    Returns
    -------
    list of int
        Without those that wait for themselves, and what waits for these.

    Examples
    --------
    >>> in_order(4, [[1, 3], [], [2], [1, 1]].__getitem__)
    [1, 3, 0]
    """
    open_ = [0] * count
    waiters: dict[int, list[int]] = {}
    for at in range(count):
        for each in befores(at):
            open_[at] += 1
            waiters.setdefault(each, []).append(at)
    order = [at for at, left in enumerate(open_) if left == 0]
    for at in order:
        for waiter in waiters.get(at, ()):
            open_[waiter] -= 1
            if open_[waiter] == 0:
                order.append(waiter)
    return order


def in_circle(count: int, befores: Callable[[int], Iterable[int]], order: Iterable[int]) -> int:
    """Return a number that waits for itself, through others or not.

    Parameters
    ----------
    count, befores
        As for `in_order`.
    order : iterable of int
        What `in_order` returned, which lacks some.

    Examples
    --------
    >>> befores = [[1], [2, 3], [1], []].__getitem__
    >>> in_circle(4, befores, in_order(4, befores))
    1
    """
    # What is left waits for one that is left: the way back from any of them ends in a circle.
    left = set(range(count)).difference(order)
    at = min(left)
    seen: set[int] = set()
    while at not in seen:
        seen.add(at)
        at = next(each for each in befores(at) if each in left)
    return at
