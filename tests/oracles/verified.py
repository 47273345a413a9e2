"""The page that says what stands against something other than this project's own code.

What the references cover comes from the references themselves. `scripts.py --write` writes the
page, and the tests hold it: every scheme has a row, and every file that a row names has tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from laws.common import Reference

FAMILY = "crates/schemes/src/family"
NOTHING = "-"


@dataclass(frozen=True)
class Subject:
    """A scheme or a feature: where its hand-worked numbers stand, and what else it was held to."""

    name: str
    by_hand: str
    simulator: str = NOTHING
    scripts: tuple[str, ...] = ()
    second: str = ""
    """Of the second implementation, where it is not of a scheme."""


FIELD = "HPCC's simulator, a star of 16 ([RoCE](roce.md))"

FABRICS = "messages over fabrics, mean times within 3 %, pause frames within 10 %"

SCHEMES = (
    Subject("none", "crates/sim/tests/star.rs", "ns-2, ns-3 (`make bench-counts`)"),
    Subject("qcn", f"{FAMILY}/qcn/tests.rs"),
    Subject("qcn_byte_counter", f"{FAMILY}/qcn/tests.rs"),
    Subject("qcn_timer", f"{FAMILY}/qcn/tests.rs"),
    Subject("af_qcn", f"{FAMILY}/af_qcn/tests.rs"),
    Subject("qcn_sonar", f"{FAMILY}/sonar/tests.rs"),
    Subject("fb99", f"{FAMILY}/fb99/tests.rs"),
    Subject("ecm", f"{FAMILY}/ecm/tests.rs"),
    Subject("ecm_q", f"{FAMILY}/ecm/tests.rs"),
    Subject("ecm_plus", f"{FAMILY}/ecm_plus/tests.rs"),
    Subject(
        "dcqcn",
        f"{FAMILY}/dcqcn/tests.rs",
        FIELD,
        second="published form: messages through a switch (30 networks) and over several with PFC "
        "and loss (29 of 30; the other, a fat-tree whose headroom is too short, is not explained) "
        "finish at the same picosecond after as many CNPs; HPCC's simulator from its "
        f"source: {FABRICS}",
    ),
    Subject("qcn_plus", f"{FAMILY}/qcn_plus/tests.rs"),
    Subject("nic_fb", f"{FAMILY}/nic_fb/tests.rs"),
    Subject("fecn", f"{FAMILY}/fecn/tests.rs"),
    Subject("qcn_three_point", f"{FAMILY}/three_point/tests.rs"),
    Subject("qcn_fb_hat", f"{FAMILY}/fb_hat/tests.rs"),
    Subject("e2cm", f"{FAMILY}/e2cm/tests.rs"),
    Subject(
        "dctcp",
        f"{FAMILY}/dctcp/tests.rs",
        FIELD,
        second="window form: messages through a switch and over several with PFC (16 networks) "
        f"finish at the same picosecond; form of HPCC's simulator from its source: {FABRICS}",
    ),
    Subject(
        "timely",
        f"{FAMILY}/timely/tests.rs",
        FIELD,
        second=f"form of HPCC's simulator from its source: {FABRICS}",
    ),
    Subject(
        "hpcc",
        f"{FAMILY}/hpcc/tests.rs",
        FIELD,
        second="window form: messages through a switch (24 networks) and over several with PFC "
        f"(16) finish at the same picosecond; form of HPCC's simulator from its source: {FABRICS}",
    ),
    Subject(
        "hpcc_pint",
        f"{FAMILY}/hpcc_pint/tests.rs",
        second="messages through a switch take as long in the mean of ten draws, within 1 %; "
        "not independent: by who wrote our code, after it",
    ),
    Subject(
        "swift",
        f"{FAMILY}/swift/tests.rs",
        second="messages through a switch finish at the same picosecond, with windows of many "
        "packets and of less than one (9 networks); not independent: by who wrote our code, "
        "after it",
    ),
    Subject(
        "powertcp",
        f"{FAMILY}/powertcp/tests.rs",
        second="window form: messages through a switch finish at the same picosecond "
        "(18 networks); not independent: by who wrote our code, after it",
    ),
    Subject(
        "theta_powertcp",
        f"{FAMILY}/theta_powertcp/tests.rs",
        second="window form: messages through a switch finish at the same picosecond "
        "(18 networks); not independent: by who wrote our code, after it",
    ),
    Subject(
        "pcn",
        f"{FAMILY}/pcn/tests.rs",
        second="messages through a switch (12 networks) and over several that pause each other "
        "(6) finish at the same picosecond after as many CNPs; not independent: by who wrote our "
        "code, after it",
    ),
    Subject(
        "bfc",
        f"{FAMILY}/bfc/tests.rs",
        second="messages through a switch finish at the same picosecond (12 networks); with fewer "
        "queues than flows, and over several switches, numbers by hand alone; not independent: by "
        "who wrote our code, after it",
    ),
    Subject("sfc", f"{FAMILY}/sfc/tests.rs"),
    Subject(
        "qcz",
        f"{FAMILY}/qcz/tests.rs",
        second="flows over two switches that isolate them and pause each other by class finish at "
        "the same picosecond, after as many messages and pause frames (27 networks); not "
        "independent: by who wrote our code, after it",
    ),
    Subject(
        "nscc",
        f"{FAMILY}/nscc/tests.rs",
        second="messages through a switch that marks and cuts packets finish at the same "
        "picosecond (4 networks); not independent: by who wrote our code, after it",
    ),
    Subject(
        "rccc",
        f"{FAMILY}/rccc/tests.rs",
        second="messages through a switch that cuts packets finish at the same picosecond after "
        "as many credits (4 networks); not independent: by who wrote our code, after it",
    ),
)

FLOWS = "flows through a switch finish at the same picosecond"

FEATURES = (
    Subject(
        "BCN(0,0)",
        f"{FAMILY}/ecm/tests.rs",
        scripts=("ecm_port_stop", "ecm_source_stop"),
    ),
    Subject("`cut_spacing`", f"{FAMILY}/qcn/tests.rs", scripts=("qcn_cut_spacing",)),
    Subject(
        "`early_hai`",
        f"{FAMILY}/qcn/tests.rs",
        scripts=("qcn_early_hai", "qcn_early_hai_byte_counter"),
    ),
    Subject("`burst`", "crates/lab/tests/burst.rs", scripts=("qcn_burst",)),
    Subject(
        "Feedback as frames",
        "crates/sim/tests/probes.rs",
        second="CNMs through a switch, with data or before it, of frames that a full queue "
        "discards as of others, are made, heard and obeyed at the same picosecond",
    ),
    Subject(
        "TCP Reno, NewReno",
        "crates/sim/src/tcp/sender/tests.rs",
        "ns-3 (`make bench-tcp`)",
        second=FLOWS,
    ),
    Subject(
        "TCP CUBIC",
        "crates/sim/src/tcp/cubic.rs",
        second="windows after 2214 acknowledgements and losses, within two octets; "
        "not independent: written after our code had been read, then adjusted to its whole octets",
    ),
    Subject(
        "TCP BIC",
        "crates/sim/src/tcp/bic.rs",
        second=f"{FLOWS}; of the readings `each_ack` and `doubling`",
    ),
    Subject("Delayed acknowledgements", "crates/sim/src/tcp/receiver.rs", second=FLOWS),
    Subject("Finite flows and incast over TCP", "crates/lab/tests/finite_tcp.rs", second=FLOWS),
    Subject(
        "RoCE: go-back-N, windows, timeouts",
        "crates/sim/src/roce/tests.rs",
        "HPCC's simulator ([RoCE](roce.md))",
        second="messages through a switch and over fabrics finish at the same picosecond",
    ),
    Subject(
        "RoCE: selective repeat",
        "crates/sim/src/roce/tests.rs",
        second="messages through a switch finish at the same picosecond; after a timeout ours "
        "sends all again that is not acknowledged, the paper what it knows to be lost",
    ),
    Subject(
        "Packet trimming",
        "crates/sim/tests/fabric/trimming.rs",
        second="messages through a switch finish at the same picosecond",
    ),
    Subject(
        "PAUSE by watermarks; PFC by the shared buffer of HPCC's simulator",
        "crates/sim/tests/fabric/pauses.rs",
        second="flows through a switch and messages over fabrics finish at the same picosecond, "
        "after as many pauses of each port and losses; a ring stands still at the same time; "
        "HPCC's simulator from its source: pause frames within 10 %, times within 3 % "
        "([RoCE](roce.md))",
    ),
    Subject(
        "Shared buffers with dynamic thresholds, of inputs and of output queues, headroom of each "
        "or for all, cells",
        "crates/sim/src/shared_buffer/tests.rs",
        second="flows through a switch, some stopped and some lost, finish at the same picosecond, "
        "after as many pause frames and losses: 300 networks, all alike",
    ),
    Subject(
        "Thresholds of single queues (`[[wred]]`)",
        "crates/sim/tests/fabric/early_drops.rs",
        second="steps: flows finish at the same picosecond, after the same drops (130 networks) "
        "and under DCTCP with marks as packets arrive or leave (130 each); ramps: as many drops on "
        "average over 20 seeds (25 networks), within what chance leaves",
    ),
    Subject(
        "Storms of pauses and the watchdog",
        "crates/sim/tests/fabric/storms.rs",
        second="flows through a switch finish at the same picosecond, after the same drops and "
        "pause frames: 200 networks, all alike",
    ),
    Subject(
        "Classes by weight",
        "crates/sim/tests/fabric/weights.rs",
        second="flows through a switch finish at the same picosecond",
    ),
    Subject("The stepper of the fluid models", "crates/fluid/src/tests/stepper.rs", "JiTCDDE"),
)

HEAD = """# What was verified independently

A test that its author worked out from the same reading as the code finds slips, and no misreading.
This page says what was also held against something else, written from the source and not from this
code; of CUBIC, PowerTCP, PCN, BFC, SFC, 802.1Qcz, HPCC with PINT, Swift, NSCC and RCCC that is
not so, as their rows say. It is generated by `python tests/oracles/scripts.py --write` and held by
the tests.

* **Numbers by hand**: a file with tests whose comments have the arithmetic.
* **Second implementation**: the scheme once more, in some hundred lines of Python under
  `tests/oracles/laws`. It writes scripts, which are calls with the answers that it gives, and the
  machines must answer the same: rates within 8 bit/s, times within a nanosecond, the rest exactly.
  A reconstruction has no source that says everything; there the second implementation follows the
  words of [readings](../concepts/readings.md), and the code does what those say.
* The second implementations of BFC, 802.1Qcz, TCP, RoCE, DCTCP, DCQCN, HPCC, PowerTCP, PCN, HPCC
  with PINT, Swift, NSCC, RCCC, PAUSE and feedback as frames are `bfc_switch.py`, `qcz_switch.py`,
  `tcp_switch.py`, `roce_switch.py`, `dctcp_switch.py`, `dcqcn_switch.py`, `hpcc_switch.py`,
  `power_switch.py`, `pcn_switch.py`, `pint_switch.py`, `swift_switch.py`, `nscc_switch.py`,
  `rccc_switch.py`, `pause_switch.py` and `feedback_switch.py` of `tests/oracles`. They simulate a
  switch and its hosts; `fabric.py`, `schemes_fabric.py`, `pcn_switch.py` and `qcz_switch.py` have
  several switches, and `irn_switch.py`, `trim_switch.py`, `weights_switch.py`, `wred_switch.py`,
  `dynamic_switch.py` and `watchdog_switch.py` have selective repeat, trimming, classes that take
  turns, early drops, dynamic thresholds and the watchdog; `spray_fabric.py` has packets that
  overtake one another, and what bears that. That of TCP was written from the RFCs, its BIC from
  the pseudo code of the paper as others have copied it, those of DCTCP, DCQCN and HPCC from their
  papers, that of PowerTCP from its law as its authors' group has it for Linux, that of PCN from an
  account of it, that of HPCC with PINT from what HPCC's simulator does, that of Swift from
  Falcon's words and numbers, that of NSCC from quotations of its specification and the numbers of
  its simulator, that of HPCC's shared buffer from what its `switch-mmu.cc` does, `hpcc_fabric.py`
  and its senders, `hpcc_senders.py`, from that simulator's source, dynamic thresholds, early drops
  and the watchdog from the words of SAI and SONiC, the others from the parameters' descriptions.
* Where first results differed, **our code was read**. Either it was wrong, or its source leaves a
  choice; then the second implementation took our reading over. So it was with TCP and DCTCP before
  all. Equal picoseconds therefore say that two programs compute one law from the same readings,
  and not that these readings are right. Taken over were: TCP's timer starts anew at a fast
  retransmission, its timeouts are whole multiples of the timer's granularity, and its window does
  not grow beyond the receiver's; BIC compares the window of a loss with that of the loss before;
  DCTCP begins without slow start, and counts octets up to a window before it grows; DCQCN's byte
  counter begins each cycle at zero; QCN's limiter scales what is left of a wait to a new rate, and
  is removed as it reaches the line rate; a message ends with its last acknowledgement; headroom is
  three times a link's whole octets; at one instant ends of transmissions come first, and network
  cards look for their next packet last; queue pairs of a host line up when they have something to
  send; a pause frame waits for the frame that is being sent; a timer starts anew as it runs out,
  and with selective repeat all that is not acknowledged is then lost; classes take turns in a fixed
  order; a frame that fits its group's reserve is taken whatever its queue holds; headroom is kept
  only for classes in use that pauses stop; the watchdog's clock runs with the pause, whether or not
  frames wait, and metrics `pause_frames` and `drops` count storms and the watchdog's drops, too;
  rates of DCQCN and HPCC are whole bit/s and HPCC's windows whole octets, cut off, waits are whole
  picoseconds, rounded up, and HPCC's Wc is capped with its window; of two queue pairs of a host
  that fall due at one picosecond, as where a first CNP halves their rates, either may go first;
  DCTCP's threshold is for hosts' rate and grows with a port's.
* **Other simulator**: whole runs beside a simulator from elsewhere, by the command.

A simulator that was written independently of this project agreed with the engine in 146 scenarios:
the medians of the ratios were 1.000, throughput was within 1 % and mean queues within 6 %. It is no
part of this project and cannot be run from here, so no row rests on it.

A dash says nothing but our own tests.
"""


def cells(subject: Subject, scripts: Sequence[str], covers: str) -> str:
    """Return one row."""
    hand = f"[yes](../../{subject.by_hand})"
    name = f"{len(scripts)} script{'s' * (len(scripts) != 1)}"
    second = f"{name}: {covers}" if covers and scripts else name if scripts else NOTHING
    second = subject.second or second
    return f"| {subject.name} | {hand} | {second} | {subject.simulator} |"


def page(references: Sequence[Reference]) -> str:
    """Return the page."""
    of_scheme: dict[str, list[str]] = {}
    for reference in references:
        for name, script in reference.scripts.items():
            of_scheme.setdefault(script().scheme, []).append(name)
    known = {name for names in of_scheme.values() for name in names}
    unknown = [name for feature in FEATURES for name in feature.scripts if name not in known]
    if unknown:
        raise ValueError(f"no reference writes {unknown}")
    schemes = []
    for subject in SCHEMES:
        covers = [r.covers[subject.name] for r in references if subject.name in r.covers]
        scripts = of_scheme.get(subject.name, [])
        schemes.append(cells(subject, scripts, "; ".join(covers)))
    features = [cells(subject, subject.scripts, "") for subject in FEATURES]
    rule = "| --- | --- | --- | --- |"
    columns = "numbers by hand | second implementation | other simulator |"
    tables = [
        "## Schemes\n",
        f"| scheme | {columns}",
        rule,
        *schemes,
        "\n## Parts\n",
        f"| part | {columns}",
        rule,
        *features,
    ]
    return HEAD + "\n" + "\n".join(tables) + "\n"
