"""Numbers and quantities as other programs write them, in ASCII digits, exact."""

from __future__ import annotations

import re
from decimal import Decimal

from qcnlab.formats.lines import shown

MOST_DIGITS = 18
DECIMAL = re.compile(rb"([0-9]{1,18})(?:\.([0-9]{0,30}))?(?:[eE]([+-]?[0-9]{1,2}))?")
QUANTITY = re.compile(rb"([0-9]{1,18}(?:\.[0-9]{0,30})?)([A-Za-z/]+)")
RATES = {
    **dict.fromkeys((b"bps", b"b/s"), 1),
    **dict.fromkeys((b"kbps", b"kb/s", b"Kbps", b"Kb/s"), 10**3),
    **dict.fromkeys((b"Mbps", b"Mb/s"), 10**6),
    **dict.fromkeys((b"Gbps", b"Gb/s"), 10**9),
    **dict.fromkeys((b"Tbps", b"Tb/s"), 10**12),
}
"""Units of rates in bit/s, as ns-3 and our scenarios write them."""
TIMES = {b"s": 10**12, b"ms": 10**9, b"us": 10**6, b"ns": 10**3, b"ps": 1}
"""Units of times in ps."""


class NumberFault(ValueError):
    """Text that is not the number that is wanted; `str` says why, and what to write."""


def whole(word: bytes, what: str, most: int, least: int = 0) -> int:
    """Return a whole number.

    Parameters
    ----------
    word : bytes
        ASCII digits.
    what : str
        What it counts, for the error.
    most, least : int
        Bounds, both allowed.

    Raises
    ------
    NumberFault
        For any other text, and a number beyond the bounds.

    Examples
    --------
    >>> whole(b"320", "nodes", 65536)
    320
    """
    if not word.isdigit() or len(word) > MOST_DIGITS:
        raise NumberFault(f"{what}: {shown(word)} is no whole number from {least} to {most}")
    value = int(word)
    if not least <= value <= most:
        raise NumberFault(f"{what}: {value} is not from {least} to {most}")
    return value


def decimal(word: bytes, what: str) -> Decimal:
    """Return a decimal number of 0 or more, exactly; raise `NumberFault` for other text.

    >>> decimal(b"2.000001", "start"), decimal(b"1e-6", "error rate")
    (Decimal('2.000001'), Decimal('0.000001'))
    """
    if DECIMAL.fullmatch(word) is None:
        raise NumberFault(f"{what}: {shown(word)} is no number of 0 or more, such as 2.5")
    return Decimal(word.decode())


def rate(word: bytes, what: str = "rate") -> int:
    """Return a rate in bit/s; raise `NumberFault` for other text, 0, and parts of a bit/s.

    >>> rate(b"100Gbps"), rate(b"50Mb/s")
    (100000000000, 50000000)
    """
    value = _quantity(word, RATES, what, "a rate such as 100Gbps")
    if value == 0:
        raise NumberFault(f"{what}: {shown(word)} would send nothing: give a rate above 0")
    return value


def time(word: bytes, what: str = "time") -> int:
    """Return a time in ps; raise `NumberFault` for other text, and parts of a ps.

    >>> time(b"0.001ms"), time(b"1us")
    (1000000, 1000000)
    """
    return _quantity(word, TIMES, what, "a time such as 1us")


def seconds(word: bytes, what: str) -> tuple[int, bool]:
    """Return a number of seconds in ps, and whether it had to be rounded to whole ps.

    >>> seconds(b"2.0000001", "start"), seconds(b"0.0000000000016", "start")
    ((2000000100000, False), (2, True))
    """
    head, point, tail = word.partition(b".")
    if head.isdigit() and len(head) <= MOST_DIGITS and len(tail) <= 12:
        if not point:
            return int(head) * 10**12, False
        if tail.isdigit():
            return int(head) * 10**12 + int(tail.ljust(12, b"0")), False
    exact = decimal(word, what) * 10**12
    value = int(exact.to_integral_value())
    return value, value != exact


def _quantity(word: bytes, units: dict[bytes, int], what: str, such: str) -> int:
    parts = QUANTITY.fullmatch(word)
    if parts is None or parts[2] not in units:
        raise NumberFault(f"{what}: {shown(word)} is not {such}")
    value = Decimal(parts[1].decode()) * units[parts[2]]
    if value != int(value):
        raise NumberFault(f"{what}: {shown(word)} is finer than is known here: round it")
    return int(value)


def rate_text(bps: int) -> str:
    """Return a rate for a scenario file.

    >>> rate_text(100_000_000_000), rate_text(2_500_000_000), rate_text(1)
    ('100 Gb/s', '2500 Mb/s', '1 b/s')
    """
    for unit, scale in (("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3)):
        if bps % scale == 0:
            return f"{bps // scale} {unit}"
    return f"{bps} b/s"


def time_text(ps: int) -> str:
    """Return a time for a scenario file.

    >>> time_text(1_000_000), time_text(0), time_text(1)
    ('1 us', '0 s', '1 ps')
    """
    for unit, scale in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps % scale == 0:
            return f"{ps // scale} {unit}"
    return f"{ps} ps"
