"""GOAL schedules as text: what each rank sends, receives and computes.

``num_ranks 2``, then for each rank ``rank 0 {``, a statement in each line and ``}``: ``l1: send
4096b to 1 tag 7``, ``l2: recv 4096b from 1 tag 7``, ``l3: calc 1500`` in ns, ``l3 requires l2`` and
``l3 irequires l2``. Comments are ``//`` and ``/* */``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError, Line, lines, shown
from qcnlab.formats.messages import MOST_HOSTS, MOST_OCTETS
from qcnlab.formats.numbers import NumberFault, whole
from qcnlab.formats.schedules.operations import ANY, CALC, RECV, SEND, Rank

if TYPE_CHECKING:
    from pathlib import Path

NS = 1000
MOST_TAG = (1 << 32) - 1
LONGEST_CALC = 10**15
"""The longest computation, ns."""
LABEL = rb"([A-Za-z][A-Za-z0-9_]*)"
RESOURCES = rb"(?: cpu ([0-9]{1,18}))?(?: nic ([0-9]{1,18}))?"
MESSAGE = re.compile(
    rb"(?:"
    + LABEL
    + rb" ?: ?)?(?:(send) (\S+)b to|(recv) (\S+)b from) (\S+)(?: tag (\S+))?"
    + RESOURCES
)
COMPUTATION = re.compile(rb"(?:" + LABEL + rb" ?: ?)?calc (\S+)(?: cpu ([0-9]{1,18}))?")
WAIT = re.compile(LABEL + rb" (i?requires) " + LABEL)
OPEN = re.compile(rb"rank ([0-9]+) ?\{")
STATEMENTS = (
    "[label:] send 4096b to 1 tag 7, recv 4096b from 1 tag 7, calc 1500, or label requires label"
)


class Schedule:
    """The ranks of a schedule.

    Attributes
    ----------
    ranks : list of Rank
        Rank 0 and on.
    resources : int
        Operations on another CPU or network interface than the first.
    """

    def __init__(self, ranks: list[Rank], resources: int) -> None:
        self.ranks = ranks
        self.resources = resources


def read(path: Path) -> Schedule:
    """Read a schedule from text.

    Raises
    ------
    FormatError
        If a line is no statement, a label is unknown or there twice, a number is out of range, or
        not all ranks are there once.
    """
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.ranks: list[Rank] = []
        self.opened: dict[int, int] = {}
        self.rank: Rank | None = None
        self.labels: dict[bytes, int] = {}
        self.resources = 0
        self.comment = 0

    def read(self) -> Schedule:
        count: int | None = None
        last = 0
        for line in lines(self.path, comments=False):
            last = line.number
            text = self.bare(line)
            if not text:
                continue
            try:
                if text.startswith(b"num_ranks"):
                    if count is not None:
                        raise line.fault("num_ranks is there twice")
                    count = whole(
                        text.removeprefix(b"num_ranks").strip(), "num_ranks", MOST_HOSTS, 1
                    )
                    self.ranks = [Rank(self.path) for _ in range(count)]
                elif count is None:
                    raise line.fault(f"{shown(text)} before num_ranks: it is the first line")
                elif self.rank is None:
                    self.open(line, text)
                elif text == b"}":
                    self.rank = None
                else:
                    self.statement(line, text, self.rank)
            except NumberFault as fault:
                raise line.fault(str(fault)) from None
        if self.comment:
            raise FormatError(f"{self.path}, line {self.comment}: the comment does not end: add */")
        if count is None:
            raise FormatError(f"{self.path}: the file is empty: its first line is num_ranks N")
        if self.rank is not None:
            raise FormatError(f"{self.path}, line {last}: the file ends inside a rank: add '}}'")
        missing = next((rank for rank in range(count) if rank not in self.opened), None)
        if missing is not None:
            raise FormatError(
                f"{self.path}: rank {missing} is missing: num_ranks is {count}; the file is cut "
                "off, or the number is wrong"
            )
        return Schedule(self.ranks, self.resources)

    def bare(self, line: Line) -> bytes:
        """Return a line without comments, words one blank apart."""
        text = b" ".join(line.words)
        if self.comment:
            _, end, text = text.partition(b"*/")
            if not end:
                return b""
            self.comment = 0
        while b"/*" in text or b"//" in text:
            block, rest = text.find(b"/*"), text.find(b"//")
            if rest >= 0 and (block < 0 or rest < block):
                text = text[:rest]
                break
            before, _, after = text.partition(b"/*")
            _, end, after = after.partition(b"*/")
            text = before + b" " + after
            if not end:
                self.comment = line.number
                text = before
                break
        return b" ".join(text.split())

    def open(self, line: Line, text: bytes) -> None:
        start = OPEN.fullmatch(text)
        if start is None:
            raise line.fault(f"{shown(text)} outside a rank: write rank 0 {{")
        number = whole(start[1], "rank", len(self.ranks) - 1)
        if number in self.opened:
            raise line.fault(f"rank {number} is there already, in line {self.opened[number]}")
        self.opened[number] = line.number
        self.rank = self.ranks[number]
        self.labels = {}

    def statement(self, line: Line, text: bytes, rank: Rank) -> None:
        if message := MESSAGE.fullmatch(text):
            label, send, sent, _, received, peer, tag, cpu, nic = message.groups()
            octets = whole(sent or received, "octets", MOST_OCTETS)
            if send is None and peer == b"-1":
                other = ANY
            else:
                other = whole(peer, "rank", len(self.ranks) - 1)
            mark = ANY if tag == b"-1" else whole(tag or b"0", "tag", MOST_TAG)
            if send and mark == ANY:
                raise line.fault("a send has one tag: -1, any tag, is for receives")
            at = rank.add(SEND if send else RECV, octets, other, mark, line.number)
            self.resources += any(each and int(each) for each in (cpu, nic))
        elif calc := COMPUTATION.fullmatch(text):
            label, length, cpu = calc.groups()
            at = rank.add(CALC, whole(length, "calc", LONGEST_CALC) * NS, line=line.number)
            self.resources += bool(cpu and int(cpu))
        elif wait := WAIT.fullmatch(text):
            after = rank.after if wait[2] == b"requires" else rank.begun
            after.setdefault(self.known(line, wait[1]), []).append(self.known(line, wait[3]))
            return
        else:
            raise line.fault(f"{shown(text)} is no statement: it is {STATEMENTS}")
        if label is not None:
            if label in self.labels:
                before = rank.lines[self.labels[label]]
                raise line.fault(f"label {shown(label)} is there already, in line {before}")
            self.labels[label] = at

    def known(self, line: Line, label: bytes) -> int:
        if label not in self.labels:
            raise line.fault(f"no line above has the label {shown(label)} in this rank")
        return self.labels[label]
