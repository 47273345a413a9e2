"""What a search tells: the set, how far it can be trusted, what stays open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from qcnlab.book.comparisons import HOLDS
from qcnlab.book.markdown import cells, header
from qcnlab.files.outputs import READING
from qcnlab.infer.scoring import Scores, Verdicts, share, total
from qcnlab.infer.searching import Outcome, best, departures
from qcnlab.printing.text import counted, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from qcnlab.book.entries import Claim, Row
    from qcnlab.infer.searching import Judging
    from qcnlab.infer.space import Set


@dataclass(frozen=True)
class LeftOut:
    """A row, and what the set chosen without it gives."""

    row: str
    chosen: Set
    verdicts: Verdicts


class Apart(TypedDict):
    """In what a set differs from the best one, and the claims that hold with one of them alone."""

    set: dict[str, str]
    claims: list[str]


class Report:
    """What a search gave, with what follows from it."""

    def __init__(self, names: Sequence[str], judge: Judging, outcome: Outcome, runs: int) -> None:
        self.names = list(names)
        self.space = judge.space
        self.rows = judge.rows
        self.touching = {row.id: judge.dimensions_of(row) for row in judge.rows}
        self.outcome = outcome
        self.runs = runs
        self.stated = tuple(outcome.held.get(i, 0) for i in range(len(self.space.dimensions)))
        self.best = outcome.best
        self.scores = outcome.finals[self.best]
        self.before = outcome.finals[self.stated]

    @property
    def left_out(self) -> list[LeftOut]:
        """For each row what the set gives that is best without it, of the finalists."""
        several = []
        for row in self.rows:
            chosen = best(self.outcome.finals, but=row.id)
            several.append(LeftOut(row.id, chosen, self.outcome.finals[chosen][row.id]))
        return several

    @property
    def as_good(self) -> list[Set]:
        """The other finalists that score as the best one."""
        score = total(self.scores)
        return [
            chosen
            for chosen, scores in self.outcome.finals.items()
            if chosen != self.best and total(scores) == score
        ]

    @property
    def departing(self) -> list[int]:
        """The dimensions in which the best set is not the stated one."""
        return [i for i, value in enumerate(self.best) if value != self.stated[i]]

    @property
    def decided(self) -> int:
        """How many claims hold with one of the sets that were judged, and with another do not."""
        verdicts = [
            [scores[row.id] for scores in self.outcome.searched.values()] for row in self.rows
        ]
        return sum(
            len({each[index] == HOLDS for each in several}) > 1
            for several in verdicts
            for index in range(min(map(len, several)))
        )

    def differing(self, one: Scores, other: Scores) -> list[str]:
        """Return the claims that hold with one of two sets alone."""
        return [
            claim_name(row, index)
            for row in self.rows
            for index, (x, y) in enumerate(zip(one[row.id], other[row.id], strict=True))
            if (x == HOLDS) != (y == HOLDS)
        ]

    def count(self, scores: Scores) -> tuple[int, int]:
        """Return how many claims hold, of how many."""
        every = [verdict for verdicts in scores.values() for verdict in verdicts]
        return every.count(HOLDS), len(every)

    def tree(self) -> dict[str, object]:
        """Return all of it for JSON."""
        plan = self.outcome.plan
        return {
            "of": self.names,
            "set": self.space.named(self.best),
            "stated": self.space.named(self.stated),
            "reading": self.space.named(self.outcome.reading),
            "score": _score(self.scores),
            "stated_score": _score(self.before),
            "unseen_score": _rounded(self.outcome.unseen),
            "rows": {
                row.id: {"stated": list(self.before[row.id]), "set": list(self.scores[row.id])}
                for row in self.rows
            },
            "without_the_row": {
                each.row: {"verdicts": list(each.verdicts), "set": self.space.named(each.chosen)}
                for each in self.left_out
            },
            "as_good": [self._apart(chosen) for chosen in self.as_good],
            "dimensions": len(self.space.dimensions),
            "departing": len(self.departing),
            "claims": self.count(self.scores)[1],
            "claims_decided": self.decided,
            "sets": {"judged": len(self.outcome.searched), "all": self.space.size},
            "pairs": {"tried": self.outcome.pairs_tried, "left": self.outcome.pairs_left},
            "plan": {
                "replications": plan.replications,
                "final": plan.final,
                "starts": plan.starts,
                "seed": plan.seed,
            },
            "runs": self.runs,
        }

    def _apart(self, chosen: Set) -> Apart:
        return {
            "set": {
                self.space.dimensions[index].name: self.space.dimensions[index].values[value].name
                for index, value in enumerate(chosen)
                if value != self.best[index]
            },
            "claims": self.differing(self.scores, self.outcome.finals[chosen]),
        }

    def text(self) -> str:
        """Return all of it for a terminal."""
        parts = [
            self._opening(),
            _columns(["dimension", "value", "stated"], self._set_rows()),
            _columns(["row", "stated set", "this set", "chosen without it"], self._row_rows()),
            *self._closing(),
        ]
        return "\n\n".join(parts)

    def markdown(self, command: str) -> str:
        """Return all of it as a page. `command`: what made it."""
        lines = [f"# The reading of {', '.join(self.names)}", "", self._opening(), ""]
        lines += ["Made by:", "", "```", command, "```", "", "## The set", ""]
        lines += header("dimension", "value", "stated")
        lines += [cells(*row) for row in self._set_rows()]
        lines += ["", "## The rows", "", "Claims that hold, of how many.", ""]
        lines += header("row", "stated set", "this set", "chosen without it")
        lines += [cells(*row) for row in self._row_rows()]
        lines += ["", "## How far it can be trusted"]
        for paragraph in self._closing():
            lines += ["", paragraph]
        lines += ["", READING.marks[0].decode()]
        return "\n".join(lines) + "\n"

    def _opening(self) -> str:
        (now, of), (before, _) = self.count(self.scores), self.count(self.before)
        rows = len(self.rows)
        return (
            f"{', '.join(self.names)}: {now} of {of} printed claims hold with this set, "
            f"{before} with the stated one. Each row counts once: {_score(self.scores)} of "
            f"{rows} rows, {_score(self.before)} before."
        )

    def _set_rows(self) -> list[list[str]]:
        several = []
        for index, dimension in enumerate(self.space.dimensions):
            value, stated = dimension.values[self.best[index]], dimension.values[self.stated[index]]
            if index in self.outcome.held:
                several.append([dimension.name, value.name, "held"])
            else:
                same = value is stated
                several.append([dimension.name, value.name, "the same" if same else stated.name])
        return several

    def _row_rows(self) -> list[list[str]]:
        return [
            [
                row.id,
                _of(self.before[row.id]),
                _of(self.scores[row.id]),
                _of(left.verdicts),
            ]
            for row, left in zip(self.rows, self.left_out, strict=True)
        ]

    def _closing(self) -> list[str]:
        return [self._reading(), self._trust(), self._freedom(), self._open(), self._untried()]

    def _reading(self) -> str:
        if self.best == self.stated:
            return "The reading is the stated set: no set that was judged serves more."
        unseen, before = _rounded(self.outcome.unseen), _score(self.before)
        if self.outcome.reading == self.best:
            return (
                "The reading is this set. Sets that were chosen without a row serve it, too: "
                f"they have {unseen} of {len(self.rows)} rows, the stated set {before}."
            )
        return (
            f"The reading stays the stated set. This set is {_score(self.scores) - before:.3g} "
            "ahead, but by rows that took part in the choice: sets that were chosen without a row "
            f"have {unseen} of {len(self.rows)} rows, the stated set {before}. The two differ on "
            f"{', '.join(self.differing(self.scores, self.before))}."
        )

    def _trust(self) -> str:
        fitted = sum(share(self.scores[row.id]) == 1 for row in self.rows)
        again = sum(share(each.verdicts) == 1 for each in self.left_out)
        before = sum(share(self.before[row.id]) == 1 for row in self.rows)
        return (
            f"Leaving out one row at a time: the set chosen without a row still gets {again} of "
            f"{len(self.rows)} rows whole; the fit gets {fitted}, the stated set {before}. "
            "The choice is among sets that the search judged with all rows in sight."
        )

    def _freedom(self) -> str:
        free = len(self.space.dimensions) - len(self.outcome.held)
        return (
            f"Degrees of freedom: {counted(free, 'dimension')}, of which "
            f"{len(self.departing)} leave the stated value; {self.decided} of "
            f"{self.count(self.scores)[1]} claims depend on them."
        )

    def _open(self) -> str:
        lines = []
        for chosen in self.as_good:
            apart = self._apart(chosen)
            words = ", ".join(f"{name}: {value}" for name, value in apart["set"].items())
            lines.append(f"- {words}{_on(apart['claims'])}")
        if not lines:
            return "No other set that was judged is as good."
        return "As good, and so not decided by these claims:\n\n" + "\n".join(lines)

    def _untried(self) -> str:
        plan, outcome = self.outcome.plan, self.outcome
        left = f", {outcome.pairs_left} pairs were not" if outcome.pairs_left else ""
        return (
            f"Judged: {len(outcome.searched)} of {self.space.size:,} sets, with "
            f"{counted(plan.replications, 'replication')} of each case at most, and "
            f"{len(outcome.finals)} finalists with {plan.final}: one dimension at a time from the "
            "stated set and "
            f"{counted(plan.starts, 'random start')} (seed {plan.seed}), and "
            f"{outcome.pairs_tried} pairs{left}. Interactions of three dimensions and more were "
            "met only on the way."
        )


def _on(claims: Sequence[str]) -> str:
    return f" (they differ on {', '.join(claims)})" if claims else " (no claim differs)"


def _score(scores: Scores) -> float:
    return _rounded(total(scores))


def _rounded(score: Fraction) -> float:
    return round(float(score), 3)


def _of(verdicts: Verdicts) -> str:
    return f"{verdicts.count(HOLDS)} of {len(verdicts)}"


def _columns(names: list[str], rows: Iterable[list[str]]) -> str:
    return table(names, list(rows), left=len(names))


def claim_name(row: Row, index: int) -> str:
    """Return what a verdict is about: claims in order, then groups of which one is enough."""
    alone = [claim for claim in row.said if not claim.either]
    groups = list(dict.fromkeys(claim.either for claim in row.said if claim.either))
    if index < len(alone):
        return f"{row.id} {_claim(alone[index])}"
    if index - len(alone) < len(groups):
        return f"{row.id} one of '{groups[index - len(alone)]}'"
    return f"{row.id} claim {index + 1}"


def _claim(claim: Claim) -> str:
    what = f" {claim.of}" if claim.of else ""
    return f"{claim.word.name}{what} of {claim.case}"


__all__ = ["LeftOut", "Report", "claim_name", "departures"]
