"""Configurations of HPCC's simulator: a key and its value in each line.

The simulator passes over keys that it does not know, takes the last of two lines with one key, and
has defaults of its own for keys that are missing. Here each key is taken by what it becomes in a
scenario, and those that nothing takes are told.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from qcnlab.formats.lines import FormatError, Line, follow, lines, shown
from qcnlab.formats.numbers import NumberFault, decimal, rate, seconds, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal
    from pathlib import Path

KEY = re.compile(rb"[A-Z][A-Z0-9_]*")
T = TypeVar("T")
MOST_RATES = 64
"""Rates that a map of thresholds may have."""

DEFAULTS = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "SIMULATOR_STOP_TIME": "3.01",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "55",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "FAST_RECOVERY_TIMES": "5",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "L2_BACK_TO_ZERO": "0",
    "ERROR_RATE_PER_LINK": "0",
    "HAS_WIN": "1",
    "GLOBAL_T": "1",
    "VAR_WIN": "0",
    "FAST_REACT": "1",
    "MULTI_RATE": "1",
    "SAMPLE_FEEDBACK": "0",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "U_TARGET": "0.95",
    "MI_THRESH": "5",
    "INT_MULTI": "1",
    "PINT_LOG_BASE": "1.05",
    "PINT_PROB": "1.0",
    "BUFFER_SIZE": "16",
    "LB_MODE": "0",
    "ENABLE_PFC": "1",
    "ENABLE_IRN": "0",
}
"""What the simulator takes for a key that is missing; the last three are ConWeave's."""

WHY = {
    "BW_MON_FILE": "throughput is in tables: qcnlab run",
    "CNP_MON_FILE": "marks and rates are in tables: qcnlab run",
    "DATA_RATE": "each link has its own rate, there too",
    "ENABLE_TRACE": "no .tr file: qcnlab run --capture PORTS writes what ports send",
    "FCT_OUTPUT_FILE": "qcnlab export hpcc RUN writes it",
    "FLOWGEN_START_TIME": "the flow file has the starts",
    "FLOWGEN_STOP_TIME": "the flow file has the starts",
    "FLOW_FILE": "its flows are read",
    "L2_CHUNK_SIZE": "counts there with L2_BACK_TO_ZERO 1 alone",
    "LINK_DELAY": "each link has its own delay, there too",
    "PAUSE_TIME": "pauses hold until they are ended, there too",
    "PFC_OUTPUT_FILE": "qcnlab export hpcc RUN writes it",
    "QLEN_MON_END": "record.queues and record.queue_every say what is recorded",
    "QLEN_MON_FILE": "qcnlab export hpcc RUN writes what record.queues recorded",
    "QLEN_MON_START": "record.queues and record.queue_every say what is recorded",
    "RATE_MON_FILE": "rates are in tables: qcnlab run",
    "TRACE_FILE": "no .tr file: qcnlab run --capture PORTS writes what ports send",
    "TRACE_OUTPUT_FILE": "no .tr file: qcnlab run --capture PORTS writes what ports send",
}
"""Why nothing takes a key, whatever its value."""
COUNTS = {
    **dict.fromkeys(
        ("ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER", "CLAMP_TARGET_RATE"), "1"
    ),
    "FAST_RECOVERY_TIMES": "1",
    "EWMA_GAIN": "1 and 8",
    "RATE_AI": "1, 3, 7 and 10",
    "RATE_HAI": "1 and 7",
    "DCTCP_RATE_AI": "8",
    **dict.fromkeys(("FAST_REACT", "MI_THRESH", "MULTI_RATE", "SAMPLE_FEEDBACK"), "3 and 10"),
    "INT_MULTI": "3",
    "U_TARGET": "3 and 10",
    **dict.fromkeys(("PINT_LOG_BASE", "PINT_PROB"), "10"),
    **dict.fromkeys(("KMAX_MAP", "KMIN_MAP", "PMAX_MAP"), "1 and 8"),
}
"""The values of `CC_MODE` with which keys count."""
NOT_BUILT = re.compile(
    r"CONWEAVE_\w+|NIC_TOTAL_PAUSE_TIME|MON_START|MON_END|(QP|QLEN|BW)_MON_INTERVAL"
)
"""Keys of ConWeave's and SimAI's forks for what has no counterpart here."""
OTHERS = {"L2_ACK_INTERVAL", "LINK_DOWN", "TOPOLOGY_FILE"}
KNOWN = sorted(DEFAULTS.keys() | WHY.keys() | COUNTS.keys() | OTHERS)


class Config:
    """The keys of a configuration, each until it is taken.

    Parameters
    ----------
    path : Path, optional
        The file; without one every key has its default.

    Raises
    ------
    FormatError
        If a line is no key with its value.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._rows: dict[str, Line] = {}
        self._taken: set[str] = set()
        self.twice: list[tuple[str, int, int]] = []
        """Keys of several lines: the key, the line that does not count, and the one that does."""
        self.defaults: dict[str, str] = {}
        """Keys that are missing and have been taken, with the simulator's defaults."""
        for line in lines(path) if path is not None else ():
            if KEY.fullmatch(line.words[0]) is None:
                raise line.fault(f"{shown(line.words[0])} is no key: a line is KEY and its value")
            key = line.words[0].decode()
            if len(line.words) == 1:
                raise line.fault(f"{shown(line.words[0])} has no value: write it in the same line")
            if key in self._rows:
                self.twice.append((key, self._rows[key].number, line.number))
            self._rows[key] = line

    def __contains__(self, key: str) -> bool:
        """Return whether the file has a key."""
        return key in self._rows

    def written(self, key: str) -> str:
        """Return a key and its value as the file has them, shortened."""
        line = self._rows[key]
        value = shown(b" ".join(line.words[1:]))[1:]
        return f"{key} {value[:-1] if value.endswith(chr(39)) else value.replace(chr(39), '')}"

    def fault(self, key: str, message: str) -> FormatError:
        """Return the error that names a key's line, or the file that lacks it."""
        if key in self._rows:
            return self._rows[key].fault(f"{key}: {message}")
        return FormatError(f"{self.path}: {key} is missing: {message}")

    def flag(self, key: str) -> bool:
        """Take a key of 0 or 1."""
        return self.whole(key, 1) == 1

    def whole(self, key: str, most: int, least: int = 0) -> int:
        """Take a key that is a whole number."""
        return self._take(key, lambda word: whole(word, "value", most, least))

    def decimal(self, key: str) -> Decimal:
        """Take a key that is a number of 0 or more."""
        return self._take(key, lambda word: decimal(word, "value"))

    def rate(self, key: str) -> int:
        """Take a key that is a rate, in bit/s."""
        return self._take(key, rate)

    def micros(self, key: str) -> int:
        """Take a key that is a number of microseconds, in ps."""
        return round(self.decimal(key) * 10**6)

    def seconds(self, key: str) -> int:
        """Take a key that is a number of seconds, in ps."""
        return self._take(key, lambda word: seconds(word, "value")[0])

    def word(self, key: str) -> str:
        """Take a key that is a word, such as the name of a file."""
        return self._take(key, lambda word: word.decode("utf-8", "replace"))

    def words(self, key: str) -> list[bytes]:
        """Take all words of a key."""
        self._taken.add(key)
        return self._rows[key].words[1:]

    def map(self, key: str) -> dict[int, bytes]:
        """Take a map ``<count> <rate in bit/s> <value> ...``: the values by rates."""
        if key not in self._rows:
            raise self.fault(key, "it has a value for each rate of links: 1 100000000000 400")
        words = self.words(key)
        try:
            count = whole(words[0], "count", MOST_RATES)
            rates = [whole(word, "rate", 10**15, 1) for word in words[1::2]]
        except NumberFault as fault:
            raise self.fault(key, str(fault)) from None
        if len(words) != 1 + 2 * count:
            raise self.fault(
                key,
                f"{follow(count, 'rate')}, each with its value, but there are "
                f"{len(words) - 1} words",
            )
        if len(set(rates)) < count:
            raise self.fault(key, "a rate is there twice")
        return dict(zip(rates, words[2::2], strict=True))

    def taken(self) -> list[str]:
        """Return the keys of the file that have been taken."""
        return [key for key in self._rows if key in self._taken]

    def left(self) -> list[tuple[str, str]]:
        """Return the keys that nothing has taken, with their values, and why."""
        return [(self.written(key), _why(key)) for key in self._rows if key not in self._taken]

    def _take(self, key: str, parse: Callable[[bytes], T]) -> T:
        self._taken.add(key)
        if key not in self._rows:
            if key not in DEFAULTS:
                raise self.fault(key, "the simulator has no default for it; add a line")
            self.defaults[key] = DEFAULTS[key]
            return parse(DEFAULTS[key].encode())
        words = self._rows[key].words[1:]
        if len(words) > 1:
            raise self.fault(key, f"{len(words)} values, where there is one")
        try:
            return parse(words[0])
        except NumberFault as fault:
            raise self.fault(key, str(fault)) from None


def _why(key: str) -> str:
    """Return why nothing takes a key."""
    if key in WHY:
        return WHY[key]
    if key in COUNTS:
        return f"counts with CC_MODE {COUNTS[key]} alone"
    if NOT_BUILT.fullmatch(key):
        return "no counterpart here"
    if key in KNOWN:
        return "no scheme here asks for it with this CC_MODE"
    near = get_close_matches(key, KNOWN, n=1, cutoff=0.8)
    return "not known: the simulator passes over it" + (f"; is it {near[0]}?" if near else "")
