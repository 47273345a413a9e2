"""Schemes that are Python classes: found, tried, run, refused, stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import qcnlab
from processes import PROMPT_S, end, wait_for_work, wait_until
from qcnlab.foreign import (
    Acknowledgement,
    Arrival,
    Bcn,
    Cnm,
    Cnp,
    CongestionPoint,
    Delivered,
    Dice,
    Echo,
    Endpoint,
    Flight,
    Mark,
    NotificationPoint,
    Queue,
    QueueLen,
    ReactionPoint,
    Reflection,
    Scheme,
    Signal,
    SourcePause,
)

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ("duration=6 ms", "warmup=1 ms", "hotspot.from=2 ms", "hotspot.until=5 ms")
HERE = f"python:{__name__}"


class Port(CongestionPoint):
    def __init__(self, cp: int, *, set_point: int = 33_000, chance: float = 0.01) -> None:
        super().__init__(cp)
        self.set_point = set_point
        self.chance = chance

    def on_arrival(self, now: int, frame: Arrival, queue: Queue, dice: Dice) -> Signal | None:
        if frame.controlled and queue.length > self.set_point and dice.uniform(0, 1) < self.chance:
            return Cnm(self.cp, 1, self.set_point - queue.length)
        return None


class Halving(ReactionPoint):
    def __init__(self, line_rate: int, *, least: int = 10_000_000) -> None:
        super().__init__(line_rate)
        self.least = least
        self.rate: int | None = None

    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        self.rate = max(self.least, (self.rate or self.line_rate) // 2)

    def limit(self) -> float | None:
        return self.rate


class Plain(Scheme):
    congestion_point = Port
    reaction_point = Halving


class Raising(Halving):
    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        raise ZeroDivisionError("no rate is left")


class Raises(Plain):
    reaction_point = Raising


class Sleepless(Halving):
    def next_wake(self) -> int | None:
        return None if self.rate is None else 0


class BreaksContract(Plain):
    reaction_point = Sleepless


class Negative(Halving):
    def limit(self) -> float | None:
        return None if self.rate is None else -1


class SaysNonsense(Plain):
    reaction_point = Negative


class Marking(CongestionPoint):
    def __init__(self, cp: int) -> None:
        super().__init__(cp)
        self.departures = 0

    def on_departure(self, now: int, length: int) -> None:
        self.departures += 1

    def departure_mark(self, now: int, controlled: bool, queue: Queue, dice: Dice) -> int:
        return int(controlled and queue.length > 30_000 and self.departures % 10 == 0)


class MarkingArrivals(CongestionPoint):
    def on_arrival(self, now: int, frame: Arrival, queue: Queue, dice: Dice) -> Mark | None:
        return Mark(3) if frame.admitted and queue.length > 60_000 else None


class Receiver(NotificationPoint):
    def on_frame(self, now: int, frame: Delivered) -> Signal | None:
        return Cnp() if frame.mark else None


class Marked(Scheme):
    reaction_point = Halving
    congestion_point = Marking
    notification_point = Receiver


class Declared(Scheme):
    congestion_point = Port
    reaction_point = Halving
    hears = speaks = (Cnm,)


class Unheard(Plain):
    hears = ()
    speaks = (Cnm,)


class HalfDeclared(Plain):
    hears = (Cnm,)


class SendsAnother(Plain):
    """Its ports send a message of 802.1Qau, and it declares CNPs."""

    hears = speaks = (Cnp,)


class Mistaken(Plain):
    hears = (Cnm,)
    speaks = (Mark,)  # type: ignore[assignment]


class MarkedOnArrival(Scheme):
    reaction_point = Halving
    notification_point = Receiver
    congestion_point = MarkingArrivals


def scenario(name: str, *changes: str) -> qcnlab.Scenario:
    hotspot = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(*SHORT)
    return hotspot.with_(f"scheme.name={HERE}:{name}", *changes)


def test_a_class_runs_the_same_on_any_number_of_threads() -> None:
    one, two = (qcnlab.run(scenario("Plain"), reps=4, jobs=jobs) for jobs in (1, 2))
    assert one.summary.metrics == two.summary.metrics
    assert one.queues.to_polars().equals(two.queues.to_polars())
    assert (one.metric("messages") or 0) > 0
    assert len(set(one.summary.metrics["drops"].values)) > 1


@pytest.mark.parametrize("name", ["Marked", "MarkedOnArrival"])
def test_receivers_answer_marks(name: str) -> None:
    result = qcnlab.run(scenario(name), reps=1)
    assert (result.metric("messages") or 0) > 0


def test_parameters_arrive_in_base_units_and_survive_saving(tmp_path: Path) -> None:
    own = scenario(
        "Plain", "scheme.cp.set_point=50 KB", "scheme.cp.chance=0.5", "scheme.rp.least=1 Gb/s"
    )
    assert own.to_dict()["scheme"] == {
        "name": f"{HERE}:Plain",
        "cp": {"set_point": "50 KB", "chance": 0.5},
        "rp": {"least": "1 Gb/s"},
    }
    result = qcnlab.run(own, reps=1)
    assert result.rates.to_polars()["current_rate_bps"].min() == 10**9
    again = qcnlab.open_run(result.save(tmp_path / "run"))
    assert again.summary == result.summary
    assert qcnlab.load(tmp_path / "run" / "config.toml").hash == own.hash


def test_what_a_class_raises_comes_back_with_its_traceback() -> None:
    with pytest.raises(
        qcnlab.Error, match=r"replication 0: scheme .*Raises', Raising.on_signal: Zero"
    ) as caught:
        qcnlab.run(scenario("Raises"), reps=2)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    trace = cause.__traceback__
    assert trace is not None
    assert trace.tb_frame.f_code.co_name == "on_signal"


def test_a_broken_contract_is_a_law_violation() -> None:
    with pytest.raises(qcnlab.LawViolation, match="which has passed"):
        qcnlab.run(scenario("BreaksContract"), reps=1)


def test_kinds_of_signal_may_be_declared() -> None:
    declared, plain = (qcnlab.run(scenario(name), reps=1) for name in ("Declared", "Plain"))
    assert declared.summary.metrics == plain.summary.metrics
    with pytest.raises(qcnlab.LawViolation, match="sends a CNM, which it does not say it speaks"):
        qcnlab.run(scenario("SendsAnother"), reps=1)


def test_a_rate_that_is_none_is_named() -> None:
    with pytest.raises(qcnlab.Error, match=r"Negative.limit: .*limit\(\) gave -1"):
        qcnlab.run(scenario("SaysNonsense"), reps=1)


class Deaf(Scheme):
    """Marks what arrives, and nobody hears of it."""

    congestion_point = MarkingArrivals
    reaction_point = Halving


class DeafOnDeparture(Scheme):
    congestion_point = Marking
    reaction_point = Halving


class PortOfAnother(Port):
    def __init__(self, cp: int) -> None:
        super().__init__(cp + 7)


class Impostor(Scheme):
    congestion_point = PortOfAnother
    reaction_point = Halving


class Guessing(NotificationPoint):
    def on_frame(self, now: int, frame: Delivered) -> Signal | None:
        return Cnm(9, 1) if frame.mark else None


class Guesses(Scheme):
    congestion_point = Marking
    reaction_point = Halving
    notification_point = Guessing


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Deaf", "Deaf', on_arrival: marks a frame, and nobody hears of it"),
        ("DeafOnDeparture", "Departure', departure_mark: marks a frame, and nobody hears of it"),
        ("Impostor", "Impostor', on_arrival: answers as congestion point 7; .*the number 0"),
        ("Guesses", "Guesses', on_frame: answers for congestion point 9, which does not exist"),
    ],
)
def test_marks_are_heard_of_and_answers_are_from_points_that_exist(name: str, message: str) -> None:
    with pytest.raises(qcnlab.LawViolation, match=message):
        qcnlab.run(scenario(name), reps=1)


def failing(base: type, method: str) -> type:
    """Return a class whose `method` raises, and has parameters as the base class has."""

    def fail(self: object, *_: object) -> None:
        raise ArithmeticError(f"{method} has no answer")

    return type(f"Fails_{method}", (base,), {method: fail})


class Alarm(Halving):
    """Is woken every microsecond."""

    woken = 0

    def on_wake(self, now: int, dice: Dice) -> None:
        self.woken = now

    def next_wake(self) -> int | None:
        return self.woken + 1_000_000


OF_PORTS = ("on_arrival", "on_departure", "departure_mark")
OF_SENDERS = ("on_start", "on_sent", "on_signal", "on_wake", "next_wake", "limit", "target_rate")
OF_WINDOWS = ("window", "gap")


for _method in OF_PORTS:
    _parts = {"congestion_point": failing(Port, _method), "reaction_point": Halving}
    globals()[f"Without_{_method}"] = type(f"Without_{_method}", (Scheme,), _parts)
for _method in (*OF_SENDERS, *OF_WINDOWS):
    _parts = {"congestion_point": Port, "reaction_point": failing(Alarm, _method)}
    globals()[f"Without_{_method}"] = type(f"Without_{_method}", (Scheme,), _parts)
_parts = {"congestion_point": Marking, "reaction_point": Halving}
Without_on_frame = type(
    "Without_on_frame", (Scheme,), _parts | {"notification_point": failing(Receiver, "on_frame")}
)


@pytest.mark.parametrize("method", [*OF_PORTS, *OF_SENDERS, *OF_WINDOWS, "on_frame"])
def test_what_any_method_raises_is_told_by_its_name(method: str) -> None:
    told = rf"Without_{method}', Fails_{method}.{method}: ArithmeticError: {method} has no answer"
    with pytest.raises(qcnlab.Error, match=told) as caught:
        qcnlab.run(scenario(f"Without_{method}"), reps=1)
    assert isinstance(caught.value.__cause__, ArithmeticError)


class Counted:
    """Can be made twice: for the trial when it is loaded, and for the check of a scenario."""

    made = 0


class OnceMore(Halving):
    def __init__(self, line_rate: int) -> None:
        super().__init__(line_rate)
        Counted.made += 1
        if Counted.made > 1:
            raise OSError("no more of them")


class Exhausted(Scheme):
    congestion_point = Port
    reaction_point = OnceMore


def test_a_class_that_cannot_be_made_again_is_named() -> None:
    Counted.made = 0
    own = scenario("Exhausted")
    with pytest.raises(qcnlab.Error, match=r"Exhausted', OnceMore.__init__: OSError: no more"):
        qcnlab.run(own, reps=1)


class Answers(CongestionPoint):
    """Answers the same whatever comes."""

    answer: Any = None

    def on_arrival(self, now: int, frame: Arrival, queue: Queue, dice: Dice) -> Any:
        return self.answer


class MarksLeaving(CongestionPoint):
    def departure_mark(self, now: int, controlled: bool, queue: Queue, dice: Dice) -> Any:
        return Answers.answer


class SaysAnything(Scheme):
    congestion_point = Answers
    reaction_point = Halving
    notification_point = Receiver


class MarksAnything(Scheme):
    congestion_point = MarksLeaving
    reaction_point = Halving
    notification_point = Receiver


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("SaysAnything", 7, "Answers.on_arrival: TypeError: gave 7; .*None or a signal"),
        ("SaysAnything", Mark(900), r"gave Mark\(value=900\); it must be None or a mark from 1 to"),
        ("SaysAnything", Cnm(0, 256), r"gave Cnm\(cp=0, quantized_fb=256, .*in their ranges"),
        ("SaysAnything", QueueLen(0, -1), r"gave QueueLen\(cp=0, length=-1, .*in their ranges"),
        ("SaysAnything", Bcn(-1, 0, 0), r"gave Bcn\(cp=-1, .*in their ranges"),
        ("SaysAnything", Echo(-2), r"gave Echo\(cp=-2\).*in their ranges"),
        ("SaysAnything", Reflection(32_768), r"gave Reflection\(fb=32768\).*in their ranges"),
        ("MarksAnything", None, "MarksLeaving.departure_mark: TypeError: gave None; .*0 to 255"),
        ("MarksAnything", 256, "gave 256; it must be a whole number from 0 to 255"),
    ],
)
def test_answers_that_are_none_are_named(
    name: str, answer: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "answer", answer)
    with pytest.raises(qcnlab.Error, match=message):
        qcnlab.run(scenario(name), reps=1)


class TellsToStop(CongestionPoint):
    """Tells sources to stop for as many nanoseconds as octets are queued."""

    def __init__(self, cp: int) -> None:
        super().__init__(cp)
        self.said: list[Signal] = Stops.said

    def on_arrival(self, now: int, frame: Arrival, queue: Queue, dice: Dice) -> Signal | None:
        if not frame.controlled or queue.length < 30_000:
            return None
        self.said.append(SourcePause(self.cp, 1_000 * queue.length))
        return self.said[-1]


class Listens(ReactionPoint):
    def on_signal(self, now: int, signal: Signal, dice: Dice) -> None:
        Stops.heard.append(signal)


class Stops(Scheme):
    congestion_point = TellsToStop
    reaction_point = Listens
    hears = speaks = (SourcePause,)
    said: ClassVar[list[Signal]] = []
    heard: ClassVar[list[Signal]] = []


def test_a_pause_of_a_source_reaches_it_as_it_was_sent() -> None:
    """Those that are on their way at the end are not heard."""
    Stops.said.clear()
    Stops.heard.clear()
    qcnlab.run(scenario("Stops"), reps=1)
    assert len(Stops.heard) > 10
    assert len({signal.time for signal in Stops.heard if isinstance(signal, SourcePause)}) > 5
    assert Stops.said[: len(Stops.heard)] == Stops.heard


class Leaves(Halving):
    def __init__(self, line_rate: int) -> None:
        raise SystemExit(3)


class Swapped(Scheme):
    congestion_point: ClassVar[Any] = Halving


class Absent(Scheme):
    reaction_point: ClassVar[Any] = None


class Leaving(Scheme):
    reaction_point = Leaves


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("python:Plain", [], "written python:module:Class"),
        ("python:no_such_module:Plain", [], "there is no module 'no_such_module'"),
        (f"{HERE}:NoSuchClass", [], "has no 'NoSuchClass'"),
        (f"{HERE}:Port", [], "not a subclass of qcnlab.foreign.Scheme"),
        (f"{HERE}:Plain", ["scheme.cp.w=2"], r"\[scheme.cp\]: Port: TypeError.*'w'"),
        (f"{HERE}:Plain", ["scheme.cp.set_point=ten"], "set_point is 'ten'"),
        (f"{HERE}:Plain", ["scheme.preset=DECK001"], "unknown key 'preset'"),
        (f"{HERE}:Unheard", [], "kind CNM, which its reaction point does not hear"),
        (f"{HERE}:HalfDeclared", [], "declares one of 'hears' and 'speaks'"),
        (f"{HERE}:Swapped", [], "congestion_point is Halving, not a subclass of .*CongestionPoint"),
        (f"{HERE}:Absent", [], "reaction_point is None, not a subclass of .*ReactionPoint"),
        (f"{HERE}:Leaving", [], r"\[scheme.rp\]: Leaves: SystemExit: 3"),
        (f"{HERE}:Mistaken", [], "'speaks' is .*Mark.*must be a tuple of signals"),
        ("ruby:Plain", [], "nothing here loads 'ruby:' schemes"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, changes: list[str], message: str) -> None:
    with pytest.raises(qcnlab.ScenarioError, match=message):
        qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(f"scheme.name={name}", *changes)


def test_a_key_no_machine_takes_names_those_it_takes() -> None:
    with pytest.raises(qcnlab.ScenarioError) as caught:
        scenario("Plain", "scheme.cp.w=2")
    assert caught.value.hint == "its keys are set_point, chance"
    assert isinstance(caught.value.__cause__, TypeError)


AIMD = """
    from qcnlab.foreign import Cnm, CongestionPoint, ReactionPoint, Scheme

    class Port(CongestionPoint):
        def on_arrival(self, now, frame, queue, dice):
            return Cnm(self.cp, 1) if frame.controlled and queue.length > 33_000 else None

    class Rate(ReactionPoint):
        rate = None
        def on_signal(self, now, signal, dice):
            self.rate = {rate}
        def limit(self):
            return self.rate

    class Own(Scheme):
        congestion_point = Port
        reaction_point = Rate
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "qcnlab", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_finds_modules_in_the_current_folder_and_their_text_counts(
    tmp_path: Path,
) -> None:
    def hashed(rate: str) -> Any:
        (tmp_path / "own_module.py").write_text(textwrap.dedent(AIMD).format(rate=rate))
        (tmp_path / "own.toml").write_text(
            scenario("Plain").to_toml().replace(f"{HERE}:Plain", "python:own_module:Own")
        )
        done = command(tmp_path, "run", "own.toml", "--reps", "1", "-o", f"run-{rate}", "--json")
        assert done.returncode == 0, done.stderr
        return done.stdout.split('"hash": "')[1][:64]

    assert hashed("10**9") != hashed("10**8")


def test_interrupt_ends_a_run_of_python_machines(tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text(textwrap.dedent(AIMD).format(rate="10**9"))
    line = [sys.executable, "-m", "qcnlab", "run", "og-hotspot-2src-10g-to-500m-rtt10us"]
    line += [
        "-s",
        "scheme.name=python:own_module:Own",
        "-s",
        "duration=1000 s",
        "-s",
        "record.tables=false",
        "-o",
        "run",
    ]
    with subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        wait_until(lambda: bool(list(tmp_path.glob(".run.partial-*"))), running)
        wait_for_work(running, 0.3)
        ended = end(running, signal.SIGINT)
    assert ended.returncode == 130
    assert ended.after_s < PROMPT_S
    assert "Traceback" not in ended.err
    assert not (tmp_path / "run").exists()


STUCK_IN = {
    "a method": "while now > 10**9: open('stuck', 'w').close()",
    "a method that catches exceptions": """while now > 10**9:
                try:
                    open('stuck', 'w').close()
                    sum(range(1000))
                except Exception:
                    pass""",
    "the import": "",
}


@pytest.mark.parametrize("stuck", STUCK_IN)
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_method_that_never_returns_is_stopped(
    tmp_path: Path, sign: signal.Signals, code: int, stuck: str
) -> None:
    module = textwrap.dedent(AIMD.replace("{rate}", "10**9"))
    if stuck == "the import":
        module += "\nopen('stuck', 'w').close()\nwhile True: pass\n"
    else:
        first = "        return Cnm(self.cp, 1)"
        assert first in module
        module = module.replace(first, f"        {STUCK_IN[stuck]}\n{first}", 1)
    (tmp_path / "own_module.py").write_text(module)
    line = [sys.executable, "-m", "qcnlab", "run", "og-hotspot-2src-10g-to-500m-rtt10us"]
    line += ["-s", "scheme.name=python:own_module:Own", "--reps", "3", "-j", "2", "-o", "run"]
    with subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        wait_until((tmp_path / "stuck").exists, running)
        wait_for_work(running, 0.1)
        ended = end(running, sign)
    assert ended.returncode == code
    assert ended.after_s < PROMPT_S
    assert "Traceback" not in ended.err
    left = {path.name for path in tmp_path.iterdir()} - {"own_module.py", "__pycache__", "stuck"}
    assert not left


class Stamping(CongestionPoint):
    stamps_departures = True


class Windowed(ReactionPoint):
    """Permits so many packets in flight, and checks what it is told."""

    def __init__(self, line_rate: int, *, packets: int = 4) -> None:
        super().__init__(line_rate)
        self.packets, self.octets, self.told = packets, 0, 0

    def on_start(self, endpoint: Endpoint) -> None:
        # 1 us a link each way and 1048 octets at 100 Gb/s, 83.84 ns, on each of two links.
        # All ways are as long, over one switch.
        assert endpoint == (100_000_000_000, 4_167_680, 1000, 4_167_680, 1)
        self.mtu = endpoint.mtu

    def on_ack(self, now: int, ack: Acknowledgement, flight: Flight, dice: Dice) -> None:
        self.told += ack.newly
        assert (ack.packets, ack.marked, flight.acknowledged) == (1, 0, self.told)
        assert now - ack.sent_at >= 4_000_000
        assert flight.in_flight <= self.packets * self.mtu
        assert [hop.rate for hop in ack.hops] == [100_000_000_000]
        assert ack.hops[0].left_at < now

    def window(self) -> int:
        return self.packets * self.mtu


class ByWindow(Scheme):
    congestion_point = Stamping
    reaction_point = Windowed


class Coding(CongestionPoint):
    """Writes the length of its queue in KB on packets, and 1 for less."""

    def departure_code(self, now: int, sent: int, queue: Queue, dice: Dice) -> int:
        return min(max(queue.length // 1000, 1), 255)


class ByCode(Scheme):
    congestion_point = Coding

    class reaction_point(ReactionPoint):  # noqa: N801
        """Sends at 1 Gb/s once it has heard of a queue of so many KB."""

        def __init__(self, line_rate: int, *, most: int = 20) -> None:
            super().__init__(line_rate)
            self.most, self.rate = most, line_rate

        def on_ack(self, now: int, ack: Acknowledgement, flight: Flight, dice: Dice) -> None:
            assert 1 <= ack.code <= 255
            if ack.code >= self.most:
                self.rate = 1_000_000_000

        def limit(self) -> float:
            return self.rate


class Losing(ReactionPoint):
    """Leaves a rate of 1 Gb/s behind at the first sign of loss that it hears of."""

    def __init__(self, line_rate: int) -> None:
        super().__init__(line_rate)
        self.rate: int | None = None

    def on_nack(self, now: int, flight: Flight, dice: Dice) -> None:
        assert flight.acknowledged < flight.sent
        self.rate = 1_000_000_000

    def on_loss(self, now: int, timeout: bool, flight: Flight, dice: Dice) -> None:
        assert timeout
        self.rate = 1_000_000_000

    def limit(self) -> float | None:
        return self.rate


class ByLoss(Scheme):
    reaction_point = Losing


def roce(scheme: str, *settings: str) -> qcnlab.Scenario:
    scenario = qcnlab.load("incast-16-to-1-100g")
    return scenario.with_(f"scheme.name={HERE}:{scheme}", "topology.sources=2", *settings)


def test_a_reaction_point_hears_of_acknowledgements_and_permits_a_window() -> None:
    """Four packets a round trip: 4.1677 us and an acknowledgement sent twice in 4.8 ns."""
    scenario = roce("ByWindow", "traffic.0.size=400 kB", "duration=1 ms")
    result = qcnlab.run(scenario)
    # 100 rounds. Both sources share the sink's link: a packet waits for up to eight others.
    took_us = result.flows.to_polars()["completion_s"] * 1e6
    assert took_us.is_between(100 * 4.177, 100 * (4.177 + 8 * 0.084)).all()


@pytest.mark.parametrize(("most", "rate"), [(20, 10**9), (250, 10**11)])
def test_codes_that_ports_write_come_back_with_acknowledgements(*, most: int, rate: int) -> None:
    """Two sources of 100 kB fill a queue of about 100 kB: 20 KB are heard of, 250 KB are not."""
    scenario = roce("ByCode", "traffic.0.size=100 kB", "duration=1 ms", f"scheme.rp.most={most}")
    result = qcnlab.run(scenario.with_("record.rates_every=1 us"))
    assert result.rates.to_polars()["current_rate_bps"].min() == rate


def test_a_reaction_point_hears_of_losses() -> None:
    scenario = roce("ByLoss", "traffic.0.size=400 kB", "topology.buffer=20 kB", "duration=5 ms")
    result = qcnlab.run(scenario.with_("record.rates_every=10 us"))
    assert result.rates.to_polars()["current_rate_bps"].min() == 1_000_000_000
    assert result.flows.to_polars()["completion_s"].null_count() == 0
