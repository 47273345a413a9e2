"""What formats share that list messages: the network if files say none, how packets are made up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.lines import FormatError
from qcnlab.formats.names import pattern
from qcnlab.formats.numbers import NumberFault, rate, rate_text, time, time_text
from qcnlab.formats.scenarios import MARK, quoted, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HEADERS, ACK = 62, 66
"""Octets of a packet's headers, and of an acknowledgement."""
LEAST_MTU, MOST_MTU = 64, 9216
MOST_MESSAGES = 1_000_000
"""Messages that a run can have."""
MOST_HOSTS = 100_000
MOST_OCTETS = 1 << 50
COLUMNS = "from,to,size,start,class,id,after"


class Setup(NamedTuple):
    """What files that list messages do not say.

    Attributes
    ----------
    duration : str
        How long the run lasts at most.
    rate, delay : str, optional
        Of each host's link, where the files say no network.
    mtu : int
        Octets of data in a full packet.
    """

    duration: str
    rate: str | None = None
    delay: str | None = None
    mtu: int = 4096


def span(option: str, text: str) -> int:
    """Return the time that an option has, in ps; raise `FormatError` for other text."""
    return _option(option, text, time)


def speed(option: str, text: str) -> int:
    """Return the rate that an option has, in bit/s; raise `FormatError` for other text."""
    return _option(option, text, rate)


def _option(option: str, text: str, read: Callable[[bytes, str], int]) -> int:
    try:
        return read(text.replace(" ", "").encode(), option)
    except NumberFault as fault:
        raise FormatError(str(fault)) from None


def length(setup: Setup) -> int:
    """Return how long the run lasts, ps; raise `FormatError` where an option is wrong."""
    end = span("--duration", setup.duration)
    if end == 0:
        raise FormatError("--duration: a run lasts longer than 0 s")
    if not LEAST_MTU <= setup.mtu <= MOST_MTU:
        raise FormatError(f"--mtu: {setup.mtu} is not from {LEAST_MTU} to {MOST_MTU} octets")
    return end


def star(hosts: int, setup: Setup, what: str) -> list[str]:
    """Return the tables of hosts around one switch, host0 and on.

    Parameters
    ----------
    hosts : int
        How many.
    setup : Setup
        Rate and delay of their links.
    what : str
        The files that say no network, for the error.
    """
    if setup.rate is None or setup.delay is None:
        raise FormatError(
            f"{what} no network: give the links of hosts around one switch, as in --rate "
            "'100 Gb/s' --delay '1 us'"
        )
    bits, delay = speed("--rate", setup.rate), span("--delay", setup.delay)
    return [
        "[topology]",
        'kind = "graph"',
        "",
        *link(pattern([("host", number) for number in range(hosts)]), "switch0", bits, delay),
    ]


def link(a: str, b: str, bits: int, delay: int) -> list[str]:
    """Return a table of links between nodes, rates in bit/s, delays in ps."""
    return [
        "[[link]]",
        f'from = "{a}"',
        f'to = "{b}"',
        f'rate = "{rate_text(bits)}"',
        f'delay = "{time_text(delay)}"',
    ]


def scenario(
    files: Sequence[Path],
    source: str,
    network: Sequence[str],
    lists: str,
    messages: int,
    setup: Setup,
) -> str:
    """Return a scenario of messages over RoCE without control.

    Parameters
    ----------
    files : sequence of Path
        What was read, for the title.
    source : str
        What kind of files they are.
    network : sequence of str
        The tables of the network.
    lists : str
        The line that names the list of messages, or holds it.
    messages : int
        How many.
    setup : Setup
        How long the run lasts, and how packets are made up.
    """
    end = length(setup)
    names = ", ".join(path.name for path in files[:4]) + (", .." if len(files) > 4 else "")
    return "\n".join(
        (
            MARK,
            f"title = {quoted(f'From {names}')}",
            f"source = {quoted(source)}",
            f'duration = "{time_text(end)}"',
            "drain = true",
            "",
            *network,
            "",
            "[[traffic]]",
            'arrivals = "list"',
            'transport = "roce"',
            lists,
            f'frame = "{setup.mtu + HEADERS} B"',
            f'headers = "{HEADERS} B"',
            f'ack_frame = "{ACK} B"',
            "cn_tag = false",
            "",
            *record(messages, end),
            "[scheme]",
            'name = "none"',
            "",
        )
    )


SENT = ("how messages are sent", "over RoCE without control: -s scheme.name=dcqcn for another")
"""What every report of such files says."""
