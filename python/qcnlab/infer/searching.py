"""The search of a space: from the stated set one dimension at a time, then pairs, random starts.

The full product of a dozen dimensions is too large. From a start the search goes through the
dimensions and takes the value of each that scores best, the others as they are, until a whole round
changes nothing. Where rows do not hold then, it tries pairs of values of the dimensions that touch
such a row together. Random starts, drawn from the seed, do the same. The best of all sets that were
judged are judged again with more replications.

A set that scores as another and departs less from the stated one is preferred, so that a reading is
left only for a claim that does not hold with it. The best of many sets may be ahead by luck: it
becomes the reading only if the sets that are chosen without each row serve those rows better than
the stated set does (`Outcome.reading`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Protocol

from qcnlab.infer.scoring import Scores, share, total
from qcnlab.infer.space import Set, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from qcnlab.book.entries import Row

ROUNDS = 4
"""So many rounds through the dimensions at most from one start."""


class Judging(Protocol):
    """What the search asks of a judge."""

    space: Space

    @property
    def rows(self) -> list[Row]:
        """The rows with claims."""

    def dimensions_of(self, row: Row) -> set[int]:
        """Return the dimensions that touch a row."""

    def score(self, sets: Sequence[Set], replications: int) -> list[Scores]:
        """Return what came out for each set."""


@dataclass(frozen=True)
class Plan:
    """How far a search goes."""

    replications: int
    """Of each case while it searches, at most."""
    final: int
    """Of each case with the best sets, at most."""
    starts: int
    """Random starts."""
    pairs: int
    """Pairs of values that are tried, at most."""
    finalists: int
    """How many sets are judged with `final` replications, the stated one beside."""
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What a search gave."""

    plan: Plan
    held: dict[int, int]
    """Dimensions that were not varied, with their values."""
    searched: dict[Set, Scores]
    """All sets that were judged while searching."""
    finals: dict[Set, Scores]
    """With more replications: the best of them, those that are best without a row, the stated."""
    pairs_tried: int
    pairs_left: int
    stated: Set
    """The stated set, with what is held."""

    @property
    def best(self) -> Set:
        """The set that serves the printed claims best."""
        return best(self.finals)

    @property
    def unseen(self) -> Fraction:
        """The sum over rows of what the set that is best without the row gives in it."""
        rows = self.finals[self.stated]
        chosen = {row: best(self.finals, but=row) for row in rows}
        return sum((share(self.finals[chosen[row]][row]) for row in rows), Fraction(0))

    @property
    def reading(self) -> Set:
        """The best set if sets serve rows that they were not chosen by better, or the stated."""
        return self.best if self.unseen > total(self.finals[self.stated]) else self.stated


def departures(chosen: Set) -> int:
    """Return in how many dimensions a set is not the stated one."""
    return sum(value != 0 for value in chosen)


def _rank(chosen: Set, scores: Scores) -> tuple[Fraction, int, tuple[int, ...]]:
    return total(scores), -departures(chosen), tuple(-value for value in chosen)


def best(scored: dict[Set, Scores], but: str = "") -> Set:
    """Return the best set; `but`: a row that does not count."""

    def rank(chosen: Set) -> tuple[Fraction, int, tuple[int, ...]]:
        scores = {row: one for row, one in scored[chosen].items() if row != but}
        return _rank(chosen, scores)

    return max(scored, key=rank)


class Search:
    """A search under way."""

    def __init__(
        self,
        judge: Judging,
        plan: Plan,
        held: dict[int, int],
        told: Callable[[str], None],
        done: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.judge = judge
        self.plan = plan
        self.held = held
        self.told = told
        self.done = done
        self.scored: dict[Set, Scores] = {}
        self.pairs_tried = self.pairs_left = 0
        self._random = random.Random(plan.seed)
        self._steps = 0
        """Steps made: a dimension's values, a few pairs, a finalist."""

    def run(self) -> Outcome:
        """Search, and judge the best again."""
        space = self.judge.space
        start = self._holding(space.stated)
        self._score([start])
        self.told("one dimension at a time, from the stated set")
        for index in self._free:
            self._score([self._with(start, index, v) for v in self._others(start, index)])
            self._step()
        reached = self._ascend(start, self._free)
        self._pairs(reached)
        for number in range(self.plan.starts):
            self.told(f"random start {number + 1} of {self.plan.starts}")
            drawn = tuple(self._random.randrange(len(d.values)) for d in space.dimensions)
            order = list(self._free)
            self._random.shuffle(order)
            self._ascend(self._holding(drawn), order)
        finalists = sorted(self.scored, key=lambda s: _rank(s, self.scored[s]), reverse=True)
        without = [best(self.scored, but=row.id) for row in self.judge.rows]
        chosen = list(dict.fromkeys([*finalists[: self.plan.finalists], *without, start]))
        self.told(f"{len(chosen)} finalists, {self.plan.final} replications")
        finals = dict(zip(chosen, self.judge.score(chosen, self.plan.final), strict=True))
        near = [each for each in self._as_good(best(finals)) if each not in finals]
        self.told(f"{len(near)} sets beside the best that score as it does")
        finals.update(zip(near, self.judge.score(near, self.plan.final), strict=True))
        return Outcome(
            self.plan,
            self.held,
            dict(self.scored),
            finals,
            self.pairs_tried,
            self.pairs_left,
            start,
        )

    def _as_good(self, chosen: Set) -> list[Set]:
        """Return the sets with one other value that score as a set does, while searching."""
        score = total(self.scored[chosen])
        others = [self._with(chosen, i, v) for i in self._free for v in self._others(chosen, i)]
        self._score(others)
        return [other for other in others if total(self.scored[other]) >= score]

    @property
    def _free(self) -> list[int]:
        return [i for i in range(len(self.judge.space.dimensions)) if i not in self.held]

    def _holding(self, chosen: Set) -> Set:
        return tuple(self.held.get(index, value) for index, value in enumerate(chosen))

    def _others(self, chosen: Set, index: int) -> list[int]:
        count = len(self.judge.space.dimensions[index].values)
        return [value for value in range(count) if value != chosen[index]]

    @staticmethod
    def _with(chosen: Set, index: int, value: int) -> Set:
        return (*chosen[:index], value, *chosen[index + 1 :])

    def _score(self, sets: Iterable[Set]) -> None:
        fresh = [chosen for chosen in dict.fromkeys(sets) if chosen not in self.scored]
        if fresh:
            scores = self.judge.score(fresh, self.plan.replications)
            self.scored.update(zip(fresh, scores, strict=True))

    def _step(self) -> None:
        """Tell the share that is done, if each climb takes two rounds."""
        self._steps += 1
        dimensions = len(self._free)
        climbs = dimensions * (1 + 2 * (1 + self.plan.starts))
        whole = climbs + self.plan.pairs + (self.plan.finalists + 1) * dimensions / 2
        self.done(min(0.99, self._steps / whole))

    def _better(self, sets: Collection[Set]) -> Set:
        self._score(sets)
        return max(sets, key=lambda chosen: _rank(chosen, self.scored[chosen]))

    def _ascend(self, start: Set, order: Sequence[int]) -> Set:
        self._score([start])
        current = start
        for _ in range(ROUNDS):
            before = current
            for index in order:
                values = self._others(current, index)
                current = self._better([current, *(self._with(current, index, v) for v in values)])
                self._step()
            if current == before:
                break
        return current

    def _pairs(self, start: Set) -> Set:
        """Try pairs of values that touch together a row which does not hold; go on from there."""
        scores = self.scored[start]
        free = set(self._free)
        pairs: dict[Set, None] = {}
        for row in self.judge.rows:
            if share(scores[row.id]) == 1:
                continue
            touching = sorted(self.judge.dimensions_of(row) & free)
            for one, other in combinations(touching, 2):
                for x, y in product(self._others(start, one), self._others(start, other)):
                    pairs.setdefault(self._with(self._with(start, one, x), other, y))
        several = list(pairs)
        self._random.shuffle(several)
        tried = several[: self.plan.pairs]
        self.pairs_tried, self.pairs_left = len(tried), len(several) - len(tried)
        if not tried:
            return start
        self.told(f"{len(tried)} of {len(several)} pairs that touch a row which does not hold")
        for pair in tried:
            self._score([pair])
            self._step()
        ahead = self._better([start, *tried])
        return start if ahead == start else self._ascend(ahead, self._free)
