"""A configuration of HPCC's simulator as the tables of a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from qcnlab.formats.names import Node, pattern
from qcnlab.formats.numbers import NumberFault, decimal, rate_text, time_text, whole

if TYPE_CHECKING:
    from qcnlab.formats.hpcc.config import Config
    from qcnlab.formats.hpcc.topology import Topology
    from qcnlab.formats.report import Report

MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint"}
"""`CC_MODE`, and the schemes here."""
PINT_BASE = Decimal("1.05")
"""Of the logarithm in an octet of PINT."""
HEADERS = 48
"""Octets of headers of a packet there: 14 + 20 + 8 + 6."""
ACK = 60
NEVER = "7200 s"
"""A retransmission timeout that no run waits for: there is none there."""
MOST_PAYLOAD = 60_000
MOST_KB = 10**9
DIFFERENT = (
    ("time in whole ns, cut off", "time is in ps: packets take up to 5 % longer at 400 Gb/s"),
    ("ECMP's hash", "another hash: single flows may take other ways of the same length"),
    ("no retransmission timeout", f"rto = {NEVER}: none that a run reaches"),
)
"""What differs whatever the files say; docs/reference/roce.md has all of it."""

Scheme = dict[str, str]


@dataclass
class Setup:
    """What the tables of a scenario are made of.

    Attributes
    ----------
    config : Config
        The configuration; its keys are taken.
    topology : Topology
        The network.
    report : Report
        Where everything is told.
    preset_only : bool
        Whether there is no configuration file: the presets' values hold.
    scheme : str
        The scheme's name.
    marks, pauses : bool
        Whether switches mark packets, and pause links.
    wred : list of str
        Tables `[[wred]]`, once `control` has been called.
    """

    config: Config
    topology: Topology
    report: Report
    preset_only: bool
    scheme: str = field(init=False)
    marks: bool = field(init=False, default=True)
    pauses: bool = field(init=False, default=True)
    wred: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Take the scheme."""
        self.scheme = self._scheme()

    def buffers(self) -> list[str]:
        """Return the tables of shared buffers, and take what pauses and classes go by."""
        config = self.config
        size = config.whole("BUFFER_SIZE", 1 << 20, 1)
        first = next(iter(self.topology.hosts()), None)
        nic = next((link.rate for link in self.topology.links if first in link[:2]), None)
        out = ["[[shared_buffer]]", 'kind = "hpcc_simulator"', f'size = "{size} MiB"']
        out += [f'nic_rate = "{rate_text(nic)}"'] if nic is not None else []
        self._map("BUFFER_SIZE", f"[[shared_buffer]] size {size} MiB")
        self.pauses = config.flag("ENABLE_PFC")
        if not self.pauses:
            self._map("ENABLE_PFC", "no [pause]")
        elif config.flag("USE_DYNAMIC_PFC_THRESHOLD"):
            self._map("USE_DYNAMIC_PFC_THRESHOLD", "[pause] rule dynamic")
        else:
            self._lose("USE_DYNAMIC_PFC_THRESHOLD", "thresholds are dynamic")
        if config.flag("ACK_HIGH_PRIO"):
            self._lose("ACK_HIGH_PRIO", "hosts send acknowledgements in the class of the data")
        else:
            self._map("ACK_HIGH_PRIO", "acknowledgements are in the class of the data")
        return [*out, ""]

    def classes(self, priorities: list[int]) -> list[str]:
        """Return the tables of pauses and of classes that share links."""
        out = []
        if self.pauses:
            names = ",".join(map(str, priorities))
            out += ["[pause]", 'kind = "priority"', f'priorities = "{names}"', 'rule = "dynamic"']
            out.append("")
        switch = [] if self.marks else ["congestion_points = false"]
        if len(priorities) > 1:
            weights = ", ".join(f"{priority}: 1" for priority in priorities)
            switch.append(f'weights = "{weights}"')
        return [*out, "[[switch]]", *switch, ""] if switch else out

    def ways(self, origin: int) -> list[str]:
        """Return the tables of ways, and of a link that goes down."""
        return [*self._routing(), *self._failure(origin)]

    def _routing(self) -> list[str]:
        config = self.config
        mode = config.whole("LB_MODE", 99)
        out = ["[routing]", 'multipath = "switch"']
        if mode == 6:
            out[1:] = ['multipath = "flowlet"', 'flowlet_gap = "100 us"']
            self._map("LB_MODE", "[routing] multipath flowlet, gap 100 us")
        elif mode == 2:
            out[1:] = ['multipath = "drill"']
            self._map("LB_MODE", "[routing] multipath drill")
        elif mode:
            name = {3: "CONGA", 9: "ConWeave"}.get(mode, "this load balancing")
            self._lose("LB_MODE", f"{name} is not built: each switch hashes flows (ECMP)")
        elif "LB_MODE" in config:
            self._map("LB_MODE", "[routing] multipath switch")
        return out

    def _failure(self, origin: int) -> list[str]:
        config = self.config
        if "LINK_DOWN" not in config:
            return []
        words = config.words("LINK_DOWN")
        if len(words) != 3:
            raise config.fault("LINK_DOWN", f"{len(words)} words: it is <us after 2 s> <a> <b>")
        most = self.topology.nodes - 1
        try:
            micros = whole(words[0], "time", 10**12)
            a, b = whole(words[1], "node", most), whole(words[2], "node", most)
        except NumberFault as fault:
            raise config.fault("LINK_DOWN", str(fault)) from None
        if micros == 0:
            self._map("LINK_DOWN", "no link goes down")
            return []
        if not any({a, b} == {link.a, link.b} for link in self.topology.links):
            raise config.fault("LINK_DOWN", f"nodes {a} and {b} have no link")
        start = 2 * 10**12 + micros * 10**6 - origin
        ends = "->".join(pattern([self.topology.node(node)]) for node in (a, b))
        self._map("LINK_DOWN", f"[[failure]] {ends} from {time_text(start)}")
        return [
            'converges_after = "0 s"',
            "",
            "[[failure]]",
            f'link = "{ends}"',
            f'from = "{time_text(start)}"',
        ]

    def transport(self) -> list[str]:
        """Return the keys that each `[[traffic]]` has."""
        config = self.config
        payload = config.whole("PACKET_PAYLOAD_SIZE", MOST_PAYLOAD, 1)
        self._map("PACKET_PAYLOAD_SIZE", f"frame {payload + HEADERS} B, headers {HEADERS} B")
        out = [
            f'frame = "{payload + HEADERS} B"',
            f'headers = "{HEADERS} B"',
            f'ack_frame = "{ACK} B"',
            "cn_tag = false",
            f'rto = "{NEVER}"',
        ]
        if "L2_ACK_INTERVAL" in config:
            out += self._acknowledgements(payload)
        if config.flag("L2_BACK_TO_ZERO"):
            self._lose("L2_BACK_TO_ZERO", "the lost packet and what follows go again, not all")
        elif "L2_BACK_TO_ZERO" in config:
            self._map("L2_BACK_TO_ZERO", "recovery go_back_n")
        if config.flag("ENABLE_IRN"):
            out.append('recovery = "selective_repeat"')
            self._map("ENABLE_IRN", "recovery selective_repeat")
        if config.decimal("ERROR_RATE_PER_LINK"):
            self._lose("ERROR_RATE_PER_LINK", "links lose nothing")
        elif "ERROR_RATE_PER_LINK" in config:
            self._map("ERROR_RATE_PER_LINK", "links lose nothing")
        if not config.flag("RATE_BOUND"):
            self._lose("RATE_BOUND", "senders are paced by their rates")
        return out

    def _acknowledgements(self, payload: int) -> list[str]:
        interval = self.config.whole("L2_ACK_INTERVAL", 10_000 * payload)
        if interval == 0 or (interval > payload and interval % payload):
            self._lose("L2_ACK_INTERVAL", "each packet is acknowledged; there it counts octets")
            return []
        every = max(1, interval // payload)
        self._map("L2_ACK_INTERVAL", f"ack_every {every}; there it counts octets")
        return [f"ack_every = {every}"]

    def control(self) -> list[str]:
        """Return the lines of `[scheme]`, after what `wred` has where ports disagree."""
        keys: Scheme = {}
        if self.scheme != "none" and not self.preset_only:
            keys = getattr(self, f"_{self.scheme}")() | self._window()
        out = ["[scheme]", f'name = "{self.scheme}"']
        if self.scheme != "none":
            out.append('preset = "HPCC_SIMULATOR"')
        return [
            *self.wred[1:],
            *[""] * bool(self.wred),
            *out,
            *(f"{key} = {value}" for key, value in keys.items()),
        ]

    def _scheme(self) -> str:
        config = self.config
        if self.preset_only:
            self.report.mapped.append(("no configuration", "scheme dcqcn, preset HPCC_SIMULATOR"))
            return "dcqcn"
        mode = config.whole("CC_MODE", 10**6)
        scheme = MODES.get(mode, "none")
        if mode not in MODES:
            self._lose("CC_MODE", "no rule there has this number: scheme none, all at line rate")
            for key in ("HAS_WIN", "GLOBAL_T", "VAR_WIN", "MIN_RATE"):
                if key in config:
                    config.word(key)
                    self._lose(key, "scheme none has neither windows nor rates")
        if mode in MODES:
            self._map("CC_MODE", f"scheme {scheme}, preset HPCC_SIMULATOR")
        if scheme not in ("dcqcn", "dctcp"):
            config.flag("ENABLE_QCN")
            self._map("ENABLE_QCN", "senders heed no marks with this CC_MODE")
        elif config.flag("ENABLE_QCN"):
            self._map("ENABLE_QCN", "switches mark")
        else:
            self.marks = False
            self._map("ENABLE_QCN", "[[switch]] congestion_points false: nothing is marked")
        return scheme

    def _dcqcn(self) -> Scheme:
        config = self.config
        keys = {
            "rp.alpha_period": self._time("ALPHA_RESUME_INTERVAL"),
            "rp.reduce_period": self._time("RATE_DECREASE_INTERVAL"),
            "rp.time_reset": self._time("RP_TIMER"),
            "rp.g": self._number("EWMA_GAIN"),
            "rp.threshold": str(config.whole("FAST_RECOVERY_TIMES", 1000, 1)),
            "rp.clamp": '"always"' if config.flag("CLAMP_TARGET_RATE") else '"after_increase"',
            "rp.ai_rate": self._rate("RATE_AI"),
            "rp.hai_rate": self._rate("RATE_HAI"),
            "rp.min_rate": self._rate("MIN_RATE"),
            "rp.steps_for": '"none"',
        }
        self._map("FAST_RECOVERY_TIMES", f"rp.threshold {keys['rp.threshold']}")
        self._map("CLAMP_TARGET_RATE", f"rp.clamp {keys['rp.clamp']}")
        return keys | self._marking()

    def _hpcc(self) -> Scheme:
        unit = self.config.whole("INT_MULTI", 1000, 1)
        self._map("INT_MULTI", f"cp.sent_unit {128 * unit} B, cp.queue_unit {80 * unit} B")
        return {
            "cp.sent_unit": f'"{128 * unit} B"',
            "cp.queue_unit": f'"{80 * unit} B"',
        } | self._hpcc_sender()

    def _hpcc_pint(self) -> Scheme:
        config = self.config
        if config.decimal("PINT_LOG_BASE") != PINT_BASE:
            self._lose("PINT_LOG_BASE", f"the base is {PINT_BASE}")
        else:
            self._map("PINT_LOG_BASE", f"the base is {PINT_BASE}")
        share = config.decimal("PINT_PROB")
        if not 0 < share <= 1:
            raise config.fault("PINT_PROB", f"{share} is no probability above 0")
        self.report.not_modelled.append(
            ("m_maxRtt of the network", "cp.mean_over is 13 us: set it to the longest round trip")
        )
        return {"rp.sample": self._number("PINT_PROB")} | self._hpcc_sender()

    def _hpcc_sender(self) -> Scheme:
        config = self.config
        stages = config.whole("MI_THRESH", 1000)
        self._map("MI_THRESH", f"rp.max_stage {stages}")
        if not config.flag("FAST_REACT"):
            self._lose("FAST_REACT", "each acknowledgement counts, not one a round trip")
        elif "FAST_REACT" in config:
            self._map("FAST_REACT", "each acknowledgement counts")
        if config.flag("MULTI_RATE"):
            self._lose("MULTI_RATE", "one rate for all hops")
        elif "MULTI_RATE" in config:
            self._map("MULTI_RATE", "one rate for all hops")
        if config.flag("SAMPLE_FEEDBACK"):
            self._lose("SAMPLE_FEEDBACK", "hops without a queue count")
        elif "SAMPLE_FEEDBACK" in config:
            self._map("SAMPLE_FEEDBACK", "hops without a queue count")
        return {
            "rp.eta": self._number("U_TARGET"),
            "rp.max_stage": str(stages),
            "rp.ai_rate": self._rate("RATE_AI"),
            "rp.min_rate": self._rate("MIN_RATE"),
            "rp.steps_for": '"none"',
        }

    def _timely(self) -> Scheme:
        return {
            "rp.ai_rate": self._rate("RATE_AI"),
            "rp.hai_rate": self._rate("RATE_HAI"),
            "rp.min_rate": self._rate("MIN_RATE"),
            "rp.steps_for": '"none"',
        }

    def _dctcp(self) -> Scheme:
        return {
            "rp.g": self._number("EWMA_GAIN"),
            "rp.ai_rate": self._rate("DCTCP_RATE_AI"),
            "rp.min_rate": self._rate("MIN_RATE"),
            "rp.steps_for": '"none"',
        } | self._marking()

    def _window(self) -> Scheme:
        config = self.config
        has, scales = config.flag("HAS_WIN"), config.flag("VAR_WIN")
        window = ("scaled" if scales else "fixed") if has else "none"
        across = "network" if config.flag("GLOBAL_T") else "path"
        for key in ("HAS_WIN", "VAR_WIN"):
            self._map(key, f"rp.window {window}")
        self._map("GLOBAL_T", f"rp.base_rtt_of {across}")
        return {"rp.window": f'"{window}"', "rp.base_rtt_of": f'"{across}"'}

    def _marking(self) -> Scheme:
        """Return the keys of the marking ramp, or make tables `[[wred]]` instead."""
        config = self.config
        values = [config.map(key) for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")]
        ports: dict[int, dict[int, list[Node]]] = {}
        for switch, beyond, speed in self.topology.ports():
            ports.setdefault(speed, {}).setdefault(switch, []).append(self.topology.node(beyond))
        ramps: dict[int, tuple[int, int, Decimal]] = {}
        for speed in sorted(ports):
            for key, map_ in zip(("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"), values, strict=True):
                if speed not in map_:
                    raise config.fault(
                        key, f"no value for {speed}, the rate of links ({rate_text(speed)})"
                    )
            ramps[speed] = self._ramp(*(map_[speed] for map_ in values))
        for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
            self._map(key, "marking thresholds by the port's rate")
        if not ramps:
            return {}
        for key, map_ in zip(("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"), values, strict=True):
            unused = [rate_text(speed) for speed in sorted(map_) if speed not in ramps]
            if unused:
                self.report.not_modelled.append(
                    (f"{key} for {', '.join(unused)}", "no port of a switch has this rate")
                )
        base = max(ramps)
        k_min, k_max, p_max = ramps[base]
        step = self.scheme == "dctcp"
        scales = all(
            (low * base, high * base) == (k_min * speed, k_max * speed) and (step or p == p_max)
            for speed, (low, high, p) in ramps.items()
        )
        if scales and (not step or k_min == k_max):
            keys = {"cp.threshold": f'"{k_min} KB"'}
            if not step:
                keys = {
                    "cp.k_min": f'"{k_min} KB"',
                    "cp.k_max": f'"{k_max} KB"',
                    "cp.p_max": f"{p_max:f}",
                }
            return keys | {"cp.thresholds_for": f'"{rate_text(base)}"'}
        self.wred = _tables(ramps, ports)
        return {}

    def _ramp(self, low: bytes, high: bytes, p_max: bytes) -> tuple[int, int, Decimal]:
        for key, parse in (
            ("KMIN_MAP", lambda: whole(low, "KB", MOST_KB)),
            ("KMAX_MAP", lambda: whole(high, "KB", MOST_KB)),
            ("PMAX_MAP", lambda: decimal(p_max, "probability")),
        ):
            try:
                parse()
            except NumberFault as fault:
                raise self.config.fault(key, str(fault)) from None
        k_min, k_max, p = int(low), int(high), decimal(p_max, "probability")
        if k_min > k_max:
            raise self.config.fault("KMIN_MAP", f"{k_min} KB is more than {k_max} KB of KMAX_MAP")
        if p > 1:
            raise self.config.fault("PMAX_MAP", f"{p} is no probability: it is from 0 to 1")
        return k_min, k_max, p

    def _time(self, key: str) -> str:
        value = time_text(self.config.micros(key))
        self._map(key, f"{TO[key]} {value}")
        return f'"{value}"'

    def _rate(self, key: str) -> str:
        value = rate_text(self.config.rate(key))
        self._map(key, f"{TO[key]} {value}")
        return f'"{value}"'

    def _number(self, key: str) -> str:
        value = f"{self.config.decimal(key):f}"
        self._map(key, f"{TO[key]} {value}")
        return value

    def _map(self, key: str, now: str) -> None:
        if key in self.config:
            self.report.mapped.append((self.config.written(key), now))

    def _lose(self, key: str, why: str) -> None:
        what = self.config.written(key) if key in self.config else f"{key}, 1 where it is missing"
        self.report.not_modelled.append((what, why))


TO = {
    "ALPHA_RESUME_INTERVAL": "rp.alpha_period",
    "RATE_DECREASE_INTERVAL": "rp.reduce_period",
    "RP_TIMER": "rp.time_reset",
    "EWMA_GAIN": "rp.g",
    "PINT_PROB": "rp.sample",
    "RATE_AI": "rp.ai_rate",
    "RATE_HAI": "rp.hai_rate",
    "MIN_RATE": "rp.min_rate",
    "DCTCP_RATE_AI": "rp.ai_rate",
    "U_TARGET": "rp.eta",
}
"""Keys, and those of `[scheme]` with the same value."""


def _tables(
    ramps: dict[int, tuple[int, int, Decimal]], ports: dict[int, dict[int, list[Node]]]
) -> list[str]:
    """Return a table `[[wred]]` for each rate; that of most ports stands last, for the rest."""
    out = []
    order = sorted(ramps, key=lambda speed: sum(map(len, ports[speed].values())))
    for speed in order:
        names = "*"
        if speed != order[-1]:
            names = ", ".join(
                f"switch{switch}->{one}"
                for switch, beyond in sorted(ports[speed].items())
                for one in pattern(sorted(beyond)).split(", ")
            )
        k_min, k_max, p_max = ramps[speed]
        out += [
            "",
            "[[wred]]",
            f'ports = "{names}"',
            f'k_min = "{k_min} KB"',
            f'k_max = "{k_max} KB"',
            f"p_max = {p_max:f}",
        ]
    return out
