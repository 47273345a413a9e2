"""What a capture holds that a scenario replays, as the core tells it."""

from __future__ import annotations

from dataclasses import dataclass

from qcnlab.records import Record


@dataclass(frozen=True, slots=True)
class ReplayedHost(Record):
    """An address of a capture, and the host that stands for it.

    Attributes
    ----------
    address, host : str
        In the capture, and in the scenario.
    """

    address: str
    host: str


@dataclass(frozen=True, slots=True)
class ReplayedCapture(Record):
    """A capture that a scenario replays.

    Attributes
    ----------
    entry : int
        The entry of the traffic that replays it, from 0.
    file, sha256 : str
        The file, and what is in it.
    file_bytes, frames_read : int
        Its size, and all frames in it.
    flows, frames, octets : int
        Of what is replayed.
    duration_s, ends_s : float
        From the first frame to the last, in time of the capture; when the last one is sent, in time
        of the run.
    beyond_run : bool
        Whether the run ends before.
    passed_over : tuple of str
        Why frames are not sent, in words.
    out_of_order : int
        Frames that stand after later ones.
    out_of_order_s : float
        By how much at most.
    hosts : tuple of ReplayedHost
        The first thousand addresses.
    """

    entry: int
    file: str
    sha256: str
    file_bytes: int
    frames_read: int
    flows: int
    frames: int
    octets: int
    duration_s: float
    ends_s: float
    beyond_run: bool
    passed_over: tuple[str, ...]
    out_of_order: int
    out_of_order_s: float
    hosts: tuple[ReplayedHost, ...]
