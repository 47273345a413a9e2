"""Schemes of your own as Python classes; slow, for trial.

A scenario names one by its import path, and hands its tables over as keyword arguments:

    [scheme]
    name = "python:my_module:MyScheme"
    [scheme.cp]
    set_point = "33 KB"     # CongestionPoint(cp, set_point=33_000)
    [scheme.rp]
    step = "5 Mb/s"         # ReactionPoint(line_rate, step=5_000_000)

A text that is a size, a rate or a time with its unit arrives as octets, bit/s or picoseconds; any
other value as it is written. The module is imported as by `import`, from the current folder, too.
Loading or checking such a scenario runs the module. The hash of the scenario covers the text of the
module that the scheme stands in, but no module that this one imports.

Times are picoseconds since the start of the run, rates bit/s, sizes and queues octets; all are
whole numbers. Time never runs backwards. Random numbers must come from the `Dice` handed in, and a
machine may only use its own attributes: then a run gives the same result on any number of
threads.

Whatever a method raises ends the run as a `qcnlab.Error`, with the original exception as its cause.
A broken rule ends it as a `qcnlab.LawViolation`: a congestion point answers with its own number,
and a scheme that marks has somebody who hears of marks, a notification point or `on_ack`. Ctrl-C
ends a method that does not return, unless it waits outside of Python, as in a long `time.sleep`.
Probes pass Python congestion points by, and Python receivers do not return them.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import sys
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

from qcnlab._core import Dice
from qcnlab.errors import Terminated

if TYPE_CHECKING:
    from types import ModuleType

    from qcnlab.records import JsonObject

__all__ = [
    "Acknowledgement",
    "Arrival",
    "Bcn",
    "Cnm",
    "Cnp",
    "CongestionPoint",
    "Credit",
    "CreditPoint",
    "Delivered",
    "Dice",
    "Echo",
    "Endpoint",
    "Flight",
    "Grant",
    "Hop",
    "Mark",
    "NotificationPoint",
    "PushBack",
    "Queue",
    "QueueLen",
    "Reached",
    "ReactionPoint",
    "ReceivedRate",
    "Reflection",
    "Scheme",
    "Signal",
    "SourcePause",
]


class Arrival(NamedTuple):
    """A frame that arrives at a congestion point."""

    flow: int
    """Number of its flow, from 0."""
    size: int
    """Octets."""
    admitted: bool
    """Whether the queue took it; otherwise it was discarded."""
    controlled: bool
    """Whether it is under congestion control; one that is not must not be answered or marked."""
    cn_tagged: bool
    """Whether it carries a CN-TAG."""
    limited_by: int | None
    """The congestion point whose limiter paced it, where frames say so."""
    probe: bool
    """Whether its source asks with it for bandwidth."""
    mark: int
    """The largest mark written on it so far; 0 is none."""


class Queue(NamedTuple):
    """The queue of a congestion point."""

    length: int
    """Octets queued, the arriving frame included if it was admitted."""
    capacity: int
    """Octets it holds at most."""
    rate: int
    """The rate its port is served at now, bit/s."""


class Delivered(NamedTuple):
    """A frame that reaches its destination."""

    size: int
    """Octets."""
    mark: int
    """The largest mark that congestion points wrote on it; 0 is none."""
    controlled: bool
    """Whether it is under congestion control."""


class Endpoint(NamedTuple):
    """What a reaction point knows of its host and its path from the start."""

    line_rate: int
    """The rate of the host's link, bit/s."""
    base_rtt: int
    """Round-trip time of a full packet where nothing queues, ps; 0 where it is not known."""
    mtu: int
    """Octets of payload in a full packet."""
    longest_rtt: int = 0
    """The same as `base_rtt` on the longest way between two hosts, ps; at least `base_rtt`."""
    hops: int = 0
    """Switches on its path, the first of several; a host that reads slowly counts as one."""


class Reached(NamedTuple):
    """A packet of a queue pair that has reached its host, whole or cut."""

    flow: int
    """Number of its flow, from 0."""
    total: int | None
    """Octets of the flow's message in all; `None` for a stream without end."""
    payload: int
    """Octets of its payload."""
    cut: bool
    """Whether a switch cut it to its head, so that its payload has to come again."""


class Grant(NamedTuple):
    """Credit for a flow."""

    flow: int
    """Number of the flow."""
    credit: int
    """Octets that it may send in all, as `Credit` brings them to its source."""


class Flight(NamedTuple):
    """Where the stream of a queue pair stands."""

    acknowledged: int
    """Octets acknowledged from the start without a gap."""
    sent: int
    """Octets sent at least once."""
    in_flight: int
    """Octets sent, not acknowledged and not thought lost."""
    early: int = 0
    """Octets of those in flight that have arrived beyond the first that is missing."""


class Hop(NamedTuple):
    """What a port wrote on a packet that left it; see `CongestionPoint.stamps_departures`."""

    left_at: int
    """When the packet left, ps."""
    sent: int
    """Octets that the port had sent before it."""
    queue: int
    """Octets that stayed in the queue."""
    rate: int
    """The rate of the port's link, bit/s."""


class Acknowledgement(NamedTuple):
    """An acknowledgement of a queue pair, as it reaches the sender."""

    newly: int
    """Octets that it acknowledges for the first time."""
    packets: int
    """Packets that it answers."""
    marked: int
    """How many of them carried a mark."""
    sent_at: int
    """When the newest of them was sent, ps."""
    path: int
    """The number of the path that this one took."""
    hops: tuple[Hop, ...]
    """What the ports on that path wrote on it, in order."""
    code: int = 0
    """The largest `CongestionPoint.departure_code` of the ports on that path; 0 for none."""


class Mark(NamedTuple):
    """What a congestion point writes on a frame, for its destination to see.

    A notification point sees it there, or `on_ack` hears of it; a scheme without both must not
    mark.
    """

    value: int
    """From 1 to 255; a frame keeps the largest."""


class Cnm(NamedTuple):
    """The congestion notification message of 802.1Qau."""

    cp: int
    """The congestion point that sends it."""
    quantized_fb: int
    """How bad congestion is, from 1 to 255."""
    q_offset: int = 0
    """Set point less queue, octets; negative above the set point."""
    q_delta: int = 0
    """Growth of the queue since the last sample, octets."""


class Bcn(NamedTuple):
    """The backward congestion notification of BCN and ECM."""

    cp: int
    """The congestion point that sends it."""
    q_offset: int
    """Set point less queue, octets; positive when there is room."""
    q_delta: int
    """Growth of the queue since the last sample, octets."""
    stop: bool = False
    """BCN(0,0): stop sending for a while."""


class Echo(NamedTuple):
    """A switch's answer to a special frame: no bandwidth to spare."""

    cp: int
    """The congestion point that sends it."""


class PushBack(NamedTuple):
    """No congestion, but no bandwidth to spare either."""

    cp: int
    """The congestion point that sends it."""


class Cnp(NamedTuple):
    """A receiver's answer to marked frames."""


class QueueLen(NamedTuple):
    """How long a queue is."""

    cp: int
    """The congestion point that sends it."""
    length: int
    """Octets queued."""
    arrived: int = 0
    """Octets that arrived there since its last message."""


class Reflection(NamedTuple):
    """A mark that a destination sends back, as feedback."""

    fb: int
    """From -32768 to 32767; negative is congestion."""


class ReceivedRate(NamedTuple):
    """A receiver's answer to marked frames, with the rate at which the flow arrives."""

    rate: int
    """Bit/s."""


class Credit(NamedTuple):
    """Octets that a receiver permits."""

    octets: int
    """From the start of the stream; what is sent again counts anew."""


class SourcePause(NamedTuple):
    """A port tells the source of a frame to stop."""

    cp: int
    """Who sends it."""
    time: int
    """For how long from when it is heard, picoseconds."""


Signal = (
    Cnm | Bcn | Echo | PushBack | Cnp | QueueLen | Reflection | ReceivedRate | Credit | SourcePause
)
"""What one machine tells another."""


class CongestionPoint:
    """What a switch computes for one queue of an output port.

    An attribute `set_point`, octets, if there is one, is the queue the scheme steers to: metrics
    that need a set point take it from there.
    """

    stamps_departures: ClassVar[bool] = False
    """Whether packets of queue pairs that leave carry a `Hop` to their sender."""

    def __init__(self, cp: int) -> None:
        """Take the number of this congestion point; `[scheme.cp]` comes as keyword arguments."""
        self.cp = cp

    def on_arrival(
        self, now: int, frame: Arrival, queue: Queue, dice: Dice
    ) -> Signal | Mark | None:
        """Act on a frame that arrived: return a signal to its source, a mark, or `None`."""
        return None

    def on_departure(self, now: int, length: int) -> None:
        """Note that a frame left and `length` octets stay; called only if a class has its own."""

    def departure_mark(self, now: int, controlled: bool, queue: Queue, dice: Dice) -> int:
        """Return the mark for a leaving frame, 0 for none; called only if a class has its own."""
        return 0

    def departure_code(self, now: int, sent: int, queue: Queue, dice: Dice) -> int:
        """Return a code from 1 to 255 for a packet that starts to leave, 0 for none.

        The packet is of a queue pair. The port has sent `sent` octets before it, and `queue` is
        what stays. The packet keeps the largest, and `on_ack` brings it to the sender. Called only
        if a class has its own.
        """
        return 0

    def on_pause(self, now: int, paused: bool, frames: int) -> None:
        """Note that the class of its queue is paused, or may send again.

        So many data `frames` are in the queue then. A pause that runs out has ended when the next
        frame starts. Called only if a class has its own.
        """


class ReactionPoint:
    """What a source computes for one rate limiter.

    The methods from `on_ack` to `on_pause` tell of the transport where a flow is a queue pair over
    RoCE. They, `on_sent`, `next_wake`, `target_rate`, `window`, `gap` and `credit` are called only
    if a class has its own.
    """

    def __init__(self, line_rate: int) -> None:
        """Take the rate of the sender's link; `[scheme.rp]` comes as keyword arguments."""
        self.line_rate = line_rate

    def on_start(self, endpoint: Endpoint) -> None:
        """Take what is known of host and path, before the first frame."""

    def on_ack(self, now: int, ack: Acknowledgement, flight: Flight, dice: Dice) -> None:
        """Act on an acknowledgement."""

    def on_nack(self, now: int, flight: Flight, dice: Dice) -> None:
        """Act because the receiver says that it misses a packet."""

    def on_loss(self, now: int, timeout: bool, flight: Flight, dice: Dice) -> None:
        """Act because packets are thought lost, after a `timeout` or by what was acknowledged."""

    def on_trim(self, now: int, octets: int, flight: Flight, dice: Dice) -> None:
        """Act because a switch cut `octets` of payload off a packet."""

    def on_credit(self, now: int, octets: int, flight: Flight, dice: Dice) -> None:
        """Act because the receiver permits `octets` from the start of the stream."""

    def on_pause(self, now: int, paused: bool, flight: Flight, dice: Dice) -> None:
        """Act because the link was paused in the flow's class, or may send again."""

    def window(self) -> int | None:
        """Return the octets that may be in flight, `None` for any number."""
        return None

    def gap(self) -> int | None:
        """Return the least time from one packet to the next, ps; `None` for none."""
        return None

    def credit(self) -> int | None:
        """Return the octets that the source may send in all, `None` for any number.

        They are counted from the start of the stream, and what is sent again counts anew. A packet
        may leave while fewer have.
        """
        return None

    def on_sent(self, now: int, sent: int, backlog: int, dice: Dice) -> None:
        """Note that a frame of `sent` octets leaves; `backlog` octets wait behind the limiter."""

    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        """Act on a signal that arrived."""

    def on_wake(self, now: int, dice: Dice) -> None:
        """Act because the time asked for by `next_wake` has come."""

    def next_wake(self) -> int | None:
        """Return when to be woken, `None` for never; after a wake-up this lies in the future."""
        return None

    def limit(self) -> float | None:
        """Return the rate frames may leave at, 0 to stop, `None` for no limit.

        What is behind the point is dropped. Asked after each call above, as `next_wake` is.
        """
        return None

    def target_rate(self) -> float | None:
        """Return the rate it climbs back to, for observers; `None` if that is the limit."""
        return None


class NotificationPoint:
    """What a receiver computes for one flow that ends there. It takes no parameters."""

    def on_frame(self, now: int, frame: Delivered) -> Signal | None:
        """Act on a data frame that arrived: return a signal to its source, or `None`."""
        return None


class CreditPoint:
    """What a receiving host computes for all flows that end there: how much each may send.

    Credit reaches a source as the signal `Credit`, by the way of the flow's last packet.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Take what is known of the host and the path of a flow that ends there.

        Its link is the host's own. `[scheme.rp]` comes as keyword arguments.
        """
        self.endpoint = endpoint

    def on_packet(self, now: int, packet: Reached) -> None:
        """Note that a packet reached the host."""

    def on_whole(self, flow: int) -> None:
        """Note that all of a flow's message has come."""

    def next_wake(self) -> int | None:
        """Return when to be woken, `None` for never; after a wake-up this lies in the future."""
        return None

    def on_wake(self, now: int) -> Grant | None:
        """Return credit for a flow of which a packet has come, or `None`."""
        return None


class Scheme:
    """A scheme: the classes its machines are made of; each machine of a run is a new instance."""

    congestion_point: ClassVar[type[CongestionPoint]] = CongestionPoint
    """Made with the congestion point's number and the keys of `[scheme.cp]`."""
    reaction_point: ClassVar[type[ReactionPoint]] = ReactionPoint
    """Made with the rate of the link in bit/s and the keys of `[scheme.rp]`."""
    notification_point: ClassVar[type[NotificationPoint] | None] = None
    """Made without arguments; `None` when receivers answer nothing."""
    credit_point: ClassVar[type[CreditPoint] | None] = None
    """Made with an `Endpoint` and the keys of `[scheme.rp]`; `None` when hosts give no credit."""
    hears: ClassVar[tuple[type[Signal], ...] | None] = None
    """Kinds of signal its reaction points hear, such as `(Cnm,)`; `None` leaves them open.

    Where `hears` and `speaks` are declared they must name the same kinds: else the scheme is
    refused before the run. A machine that sends another kind ends the run.
    """
    speaks: ClassVar[tuple[type[Signal], ...] | None] = None
    """Kinds of signal its ports and receivers send; `None` leaves them open."""


class _Refused(Exception):
    """A scheme that cannot be used; the core makes a `ScenarioError` of it."""

    def __init__(self, why: str, *, hint: str | None = None, table: str | None = None) -> None:
        super().__init__(why)
        self.why, self.hint, self.table = why, hint, table


_TRIAL_RATE = 10_000_000_000
_MACHINES: dict[str, tuple[str, type]] = {
    "congestion_point": ("cp", CongestionPoint),
    "reaction_point": ("rp", ReactionPoint),
    "credit_point": ("rp", CreditPoint),
}
"""For each role its table of keys, and the class that machines are subclasses of."""
_EVENTS = ("on_ack", "on_nack", "on_loss", "on_trim", "on_credit", "on_pause")


class _Loaded(NamedTuple):
    """A scheme's class, and what the core asks of it once."""

    scheme: type[Scheme]
    source: str
    """The text its results depend on."""
    set_point: int | None
    """Octets."""
    notifies: bool
    """Whether receivers answer."""
    credits: bool
    """Whether hosts give credit to flows that end there."""
    hears: list[str]
    """Names of the kinds of signal that its reaction points hear."""
    speaks: list[str]
    """Names of the kinds of signal that its other machines send."""
    events: list[str]
    """The methods by which its reaction points hear of the transport."""


def load_scheme(name: str, cp: JsonObject, rp: JsonObject) -> _Loaded:
    """Load the class called `python:module:Class` and try its machines; for the core."""
    _, _, path = name.partition(":")
    module_name, _, class_name = path.partition(":")
    if not module_name or not class_name:
        raise _Refused("a Python scheme is written python:module:Class")
    module = _module(module_name)
    try:
        scheme = reduce(getattr, class_name.split("."), module)
    except AttributeError as error:
        raise _Refused(
            f"module '{module_name}' has no '{class_name}'", hint=_has(module)
        ) from error
    if not (isinstance(scheme, type) and issubclass(scheme, Scheme)):
        raise _Refused(
            f"'{class_name}' is not a subclass of qcnlab.foreign.Scheme", hint=_has(module)
        )
    port = _trial("congestion_point", scheme.congestion_point, 0, cp)
    limiter = _trial("reaction_point", scheme.reaction_point, _TRIAL_RATE, rp)
    if scheme.credit_point is not None:
        _trial("credit_point", scheme.credit_point, Endpoint(_TRIAL_RATE, 0, 1000), rp)
    events = [method for method in _EVENTS if overrides(limiter, method)]
    set_point = getattr(port, "set_point", None)
    if set_point is not None and not (isinstance(set_point, int) and set_point >= 0):
        raise _Refused(
            f"its set_point is {set_point!r}; it must be a whole number of octets", table="cp"
        )
    hears, speaks = _kinds(scheme, "hears"), _kinds(scheme, "speaks")
    if (scheme.hears is None) != (scheme.speaks is None):
        raise _Refused("it declares one of 'hears' and 'speaks'", hint="declare both, or neither")
    answers = scheme.notification_point is not None
    gives = scheme.credit_point is not None
    return _Loaded(scheme, _source(module), set_point, answers, gives, hears, speaks, events)


def _kinds(scheme: type[Scheme], side: str) -> list[str]:
    """Return the names of the kinds of signal that a scheme declares; all if it has no list."""
    known = get_args(Signal)
    declared = known if getattr(scheme, side) is None else getattr(scheme, side)
    if not isinstance(declared, tuple) or any(kind not in known for kind in declared):
        names = ", ".join(kind.__name__ for kind in known)
        raise _Refused(f"its '{side}' is {declared!r}; it must be a tuple of signals", hint=names)
    return [kind.__name__ for kind in declared]


def interrupt(threads: list[int]) -> None:
    """Raise `KeyboardInterrupt` in these threads at their next step in Python; for the core."""
    exception = ctypes.py_object(KeyboardInterrupt)
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


def overrides(machine: object, method: str) -> bool:
    """Return whether a machine's class has its own method, not the base class's; for the core."""
    own = getattr(type(machine), method, None)
    bases = (CongestionPoint, ReactionPoint)
    return own is not None and all(own is not getattr(base, method, None) for base in bases)


def _module(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    here = "" not in sys.path
    if here:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.split(".")[
            : len(error.name.split("."))
        ] == error.name.split("."):
            hint = "modules are looked for in the current folder and on Python's path"
            raise _Refused(f"there is no module '{name}'", hint=hint) from error
        raise _Refused(f"module '{name}' cannot be imported: {error}") from error
    except Terminated:
        raise
    except (Exception, SystemExit) as error:
        raise _Refused(f"module '{name}' cannot be imported: {_said(error)}") from error
    finally:
        if here and "" in sys.path:
            sys.path.remove("")


def _trial(role: str, machine: Any, first: int | Endpoint, keys: JsonObject) -> object:
    table, base = _MACHINES[role]
    fits = isinstance(machine, type) and issubclass(machine, base)
    if not fits:
        told = machine.__name__ if isinstance(machine, type) else repr(machine)
        raise _Refused(f"its {role} is {told}, not a subclass of qcnlab.foreign.{base.__name__}")
    try:
        return machine(first, **keys)
    except Terminated:
        raise
    except (Exception, SystemExit) as error:
        known = list(inspect.signature(machine).parameters)[1:]
        hint = f"its keys are {', '.join(known)}" if known else "it takes no keys"
        why = f"[scheme.{table}]: {machine.__name__}: {_said(error)}"
        raise _Refused(why, hint=hint, table=table) from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _has(module: ModuleType) -> str | None:
    schemes = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Scheme) and value is not Scheme
    ]
    return f"its schemes are {', '.join(schemes)}" if schemes else None


@cache
def _source(module: ModuleType) -> str:
    """Return the text of a module; of one without a file (a notebook), that of its classes."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        pass
    machines = (CongestionPoint, ReactionPoint, NotificationPoint, CreditPoint, Scheme)
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, machines)
        and value.__module__ == module.__name__
    ]
    try:
        return "\n".join(inspect.getsource(value) for value in own)
    except (OSError, TypeError) as error:
        raise _Refused("its source text cannot be found, and results depend on it") from error
