"""SFC, from the idea of source flow control and the words of its parameters.

A port keeps a record of the messages that it has sent, and a sender one of the pauses that it has
heard: what either does is asked of these records each time. A message goes out for a frame under
control whose queue is above the threshold, unless there is no time left to wait, or the record has
a message to the same flow that is younger than `repeat_after`. A sender is stopped as long as any
pause that it has heard lasts.

Readings: the queue is what the port holds with the frame. The time to drain is a whole number of
picoseconds, rounded up, before the delay of the message is taken off. A flow that needs no message
has been sent none. A pause is over at the instant of its end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import ceil

from .common import FRAME, Reference, Script, words

PS_PER_NS = 1000
PS_PER_US = 1_000_000
GBIT = 1_000_000_000
LINE = 100 * GBIT


@dataclass
class StoppingPort:
    """A port and the record of its messages. Times are picoseconds."""

    threshold: int = 100_000
    target: int = 50_000
    delay: int = 0
    repeat_after: int = 10 * PS_PER_US
    count_discarded: bool = True
    sent: list[tuple[int, int]] = field(default_factory=list)

    def silent(self, now: int, flow: int) -> bool:
        """Whether a message to the flow is too young for another."""
        return any(to == flow and now - at < self.repeat_after for at, to in self.sent)

    def time(self, queue: int, rate: int) -> int:
        """How long the sender has to wait, less than 1 if it has not."""
        return ceil((queue - self.target) * 8 * 10**12 / rate) - self.delay

    def arrival(self, now: int, flow: int, queue: int, rate: int, counts: bool) -> int | None:
        """Return for how long the flow is told to stop, or None."""
        time = self.time(queue, rate)
        due = counts and queue > self.threshold and time > 0
        if not due or self.silent(now, flow):
            return None
        self.sent.append((now, flow))
        return time


def frames(
    about: str,
    port: StoppingPort,
    parameters: dict[str, str],
    rates: tuple[int, ...],
    flows: int,
    number: int = 600,
) -> Script:
    """Frames of some flows to a port whose queue wanders about its threshold."""
    out = Script(about, "sfc", "OURS_100G", parameters)
    dice, now, queue = random.Random(71), 0, port.threshold
    for step in range(number):
        now += dice.randint(1, 2000) * PS_PER_NS
        low, high = port.threshold - 30_000, max(port.threshold, port.target) + 60_000
        queue = min(max(queue + dice.randint(-9, 10) * FRAME + dice.randint(0, 9), low), high)
        flow, rate = dice.randint(1, flows), dice.choice(rates)
        lost, foreign = dice.random() < 0.2, dice.random() < 0.1
        if step % 50 == 7:
            # A flow that was told nothing, at the threshold or an octet above it.
            flow, queue, lost, foreign = flows + step, port.threshold + step // 50 % 2, False, False
        elif step % 50 == 32 and port.sent:
            # The flow that was told last, as it may be told again.
            told, flow = port.sent[-1]
            now, queue, lost, foreign = max(now, told + port.repeat_after), high, False, False
        counts = not foreign and (port.count_discarded or not lost)
        time = port.arrival(now, flow, queue, rate, counts)
        arguments = words(
            flow=flow, size=FRAME, queue=queue, served=rate, discarded=lost, uncontrolled=foreign
        )
        answer = "nothing" if time is None else "pause " + words(ps=time)
        out.row(now // PS_PER_NS, "arrival", arguments, answer)
    return out


def port_defaults() -> Script:
    about = "SFC's port at 100 Gb/s: who is told to stop, for how long, and how often"
    return frames(about, StoppingPort(), {}, (LINE,), 5)


def port_far() -> Script:
    """The message takes longer than short queues need, and a target above the threshold."""
    parameters = {"cp.threshold": "60 KB", "cp.target": "70001 B", "cp.signalling_delay": "8.3 us"}
    parameters |= {"cp.repeat_after": "25 us", "cp.count_discarded": "false"}
    port = StoppingPort(60_000, 70_001, 8_300 * PS_PER_NS, 25 * PS_PER_US, False)
    about = "SFC's port far from its sources, at rates that no octet divides"
    return frames(about, port, parameters, (7 * GBIT, 39 * GBIT + 1), 9)


def port_at_once() -> Script:
    parameters = {"cp.target": "0 B", "cp.repeat_after": "0 s"}
    about = "SFC's port that empties its queue and tells a flow with each frame"
    port = StoppingPort(target=0, repeat_after=0)
    return frames(about, port, parameters, (25 * GBIT,), 2, 200)


def port_many_flows() -> Script:
    """1200 flows, some heard again: young messages are remembered, and old ones are not."""
    parameters = {"cp.repeat_after": "600 us"}
    port = StoppingPort(repeat_after=600 * PS_PER_US)
    about = "SFC's port with more flows than it keeps without forgetting some"
    out = Script(about, "sfc", "OURS_100G", parameters)
    dice, queue = random.Random(72), 120_000
    for step in range(1700):
        now = step * 700 * PS_PER_NS
        flow = step if dice.random() < 0.7 else dice.randint(0, step)
        time = port.arrival(now, flow, queue, LINE, True)
        answer = "nothing" if time is None else "pause " + words(ps=time)
        arguments = words(flow=flow, size=FRAME, queue=queue, served=LINE)
        out.row(now // PS_PER_NS, "arrival", arguments, answer)
    return out


def exact(ps: int) -> str:
    """Write a time in nanoseconds to the picosecond."""
    return f"{ps // PS_PER_NS}.{ps % PS_PER_NS:03}"


@dataclass
class StoppedSource:
    """A sender and the record of its pauses, by their ends. Times are picoseconds."""

    longest: int = 1000 * PS_PER_US
    ends: list[int] = field(default_factory=lambda: [0])

    def hear(self, now: int, time: int) -> None:
        """A message comes."""
        self.ends.append(now + min(time, self.longest))

    def shows(self, now: int) -> str:
        """Return its limit and when it goes on."""
        last = max(self.ends)
        if last <= now:
            return "free wake=never"
        return words(rate=0, target=LINE, wake=last / PS_PER_NS)


def source(about: str, sender: StoppedSource, parameters: dict[str, str], longest: int) -> Script:
    """Messages that ask for up to `longest`; each fifth comes as a pause ends, if one lasts."""
    out = Script(about, "sfc", "OURS_100G", {"line_rate": "100 Gb/s"} | parameters)
    dice, now = random.Random(73), 0
    for step in range(250):
        due = max(sender.ends)
        stopped, now = due > now, now + dice.randint(1, longest)
        if step % 5 == 4 and stopped:
            # The message is heard first, and then there is no end yet.
            now, time = due, dice.randint(1, longest)
        else:
            time = dice.choice((0, 1, *(dice.randint(1, longest) for _ in range(4))))
            if stopped and due < now:
                out.row("asked", "wake", "", sender.shows(due))
                out.row(exact(due), "sent", words(size=FRAME), sender.shows(due))
        sender.hear(now, time)
        out.row(exact(now), "pause", words(port=dice.randint(1, 2), ps=time), sender.shows(now))
    return out


def source_defaults() -> Script:
    about = "SFC's sender: the pause that ends last holds"
    return source(about, StoppedSource(), {}, 60 * PS_PER_US)


def source_bounded() -> Script:
    about = "SFC's sender that stops for 17 us at most"
    sender = StoppedSource(longest=17 * PS_PER_US)
    return source(about, sender, {"rp.longest_pause": "17 us"}, 60 * PS_PER_US)


COVERS = (
    "ports near and far from their sources, with many flows; a sender with pauses that overlap; "
    "from the words of its parameters, for its draft is not public; not independent: after a look "
    "at our code"
)

REFERENCE = Reference(
    {"sfc": COVERS},
    "IEEE P802.1Qdw: the idea of a public proposal, and the parameters' descriptions",
    {
        "sfc_port": port_defaults,
        "sfc_port_far": port_far,
        "sfc_port_at_once": port_at_once,
        "sfc_port_many_flows": port_many_flows,
        "sfc_source": source_defaults,
        "sfc_source_bounded": source_bounded,
    },
)
