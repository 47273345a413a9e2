"""The field's words that no catalogue of the core has, for `qcnlab explain`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab.catalogue.entries import Word
from qcnlab.records import ByName, Record, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = Path(__file__).with_name("words.toml")
TYPO = 0.84
"""So alike two names are where one is a slip of the other."""
ALIKE = 0.6
"""So alike they are where one may be meant for the other."""
MOST_PROPOSED = 4
SMALL = frozenset({
    "a", "an", "and", "are", "at", "be", "by", "do", "does", "for", "from", "get", "how", "i",
    "in", "is", "it", "my", "of", "on", "or", "should", "that", "the", "to", "too", "what", "when",
    "who", "why", "with",
})  # fmt: skip
"""Words that tell nothing of what is meant."""


@dataclass(frozen=True, slots=True)
class _File(Record):
    """What the file holds: words, and what words of vendors and standards are called here."""

    word: tuple[Word, ...]
    alias: ByName[tuple[str, ...]]


@cache
def _file() -> _File:
    return read(_File, tomllib.loads(FILE.read_text(encoding="utf-8")), FILE.name)


@cache
def words() -> tuple[Word, ...]:
    """Return the field's words."""
    return _file().word


@cache
def aliases() -> dict[str, list[str]]:
    """Return words of vendors and standards in their plain form, and what they are called here."""
    return {plain_form(name): list(names) for name, names in _file().alias.items()}


def plain_form(name: str) -> str:
    """Return a name without the differences that people do not mind: case, hyphens, blanks.

    Examples
    --------
    >>> plain_form("Head-of-line  blocking") == plain_form("HEAD_OF_LINE blocking")
    True
    """
    return re.sub(r"[-_\s]+", " ", name.strip().lower())


def nearest(wanted: str, known: Mapping[str, Iterable[str]]) -> list[str]:
    """Return what may be meant by a name that nothing has: `MOST_PROPOSED` at most.

    Slips come first, then what has a name that stands in it, the longest first, then what shares
    words with it, in its names or in what is said of it, then what is spelled like it.

    Parameters
    ----------
    wanted : str
        The name.
    known : mapping of str to iterable of str
        What there is, by the name that is proposed: its names, and what is said of it last.

    Examples
    --------
    >>> known = {"incast": ["many-to-one", "Many senders answer."], "inbox": ["A box."]}
    >>> nearest("many senders", known), nearest("incsat", known), nearest("an incast of 8", known)
    (['incast'], ['incast'], ['incast'])
    """
    form = plain_form(wanted)
    asked = _roots(form)
    ranked: list[tuple[int, float, str]] = []
    for proposal, texts in known.items():
        *names, about = texts
        alike = max(_alike(form, plain_form(name)) for name in (proposal, *names))
        in_names = max((_share(asked, _roots(plain_form(name))) for name in names), default=0.0)
        # The same words in another order are as good as the name itself.
        # The last part of a key, such as rate, stands in too many phrases.
        own = [name for name in names if name != proposal.rpartition(".")[2] or "." not in proposal]
        held = len(form) if in_names == 1 else _held(form, own)
        in_text = len(asked & _roots(about.lower())) / len(asked) if asked else 0.0
        meant = in_names + in_text / 2
        if alike >= TYPO:
            ranked.append((0, -alike, proposal))
        elif held:
            ranked.append((1, -held, proposal))
        elif in_names > 0 or in_text == 1:
            ranked.append((2, -meant, proposal))
        elif alike >= ALIKE:
            ranked.append((3, -alike, proposal))
    return [proposal for *_, proposal in sorted(ranked)[:MOST_PROPOSED]]


def _held(form: str, names: Iterable[str]) -> int:
    """Return the letters of the longest name that stands in a phrase, 0 if none does."""
    inside = (plain_form(name) for name in names if f" {plain_form(name)} " in f" {form} ")
    return max(map(len, inside), default=0)


def _alike(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, one, other)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()


def _roots(text: str) -> frozenset[str]:
    """Return the words of a text without their endings, small words left out."""
    parts = re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", text)
    return frozenset(re.sub(r"(?:ing|ed|es|s)$", "", word) or word for word in parts) - SMALL


def _share(asked: frozenset[str], named: frozenset[str]) -> float:
    """Return how many words of both are the same, as a share of all."""
    return len(asked & named) / len(asked | named) if asked else 0.0
