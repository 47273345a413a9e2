"""`qcnlab explain` answers in the words that people type, which are not our keys."""

from __future__ import annotations

import re

import pytest

from conftest import CommandLine
from qcnlab import catalogue
from qcnlab.catalogue.entries import Parameter
from qcnlab.catalogue.words import aliases, nearest, plain_form, words
from qcnlab.errors import ScenarioError

SOURCES = {
    "RFC 3168, 2884, 7567 and 9330": (
        "ECN, CE, ECT, ECT(0), Not-ECT, ECE, CWR, AQM, RED, tail drop, bufferbloat, CoDel, PIE, "
        "L4S, goodput, throughput, queueing delay, packet loss"
    ),
    "RFC 5681, 6298, 2018 and 9438": (
        "cwnd, ssthresh, slow start, congestion window, RTO, retransmission timeout, MSS, SACK, "
        "duplicate ACK, fast retransmit, delayed ACK, AIMD, CUBIC, NewReno, BDP, RTT"
    ),
    "IEEE 802.1Q and 802.3": (
        "802.1Qau, 802.1Qbb, 802.1Qaz, 802.1Qcz, 802.3x, PCP, traffic class, CNM, CNPV, CN-TAG, "
        "CPID, PAUSE, pause quanta, ETS, strict priority, DCBX, LLDP, FCS, EtherType, VLAN tag, "
        "inter-frame gap, MTU, jumbo frame, congestion isolation, source flow control"
    ),
    "switches: SONiC, NX-OS, EOS, Junos, Onyx": (
        "shared buffer, dynamic threshold, alpha, cell, headroom, shared headroom pool, XOFF, "
        "XON, priority group, buffer pool, BUFFER_PROFILE, dynamic_th, static_th, WRED, Kmin, "
        "Kmax, Pmax, DWRR, DSCP, CoS, no-drop, lossless, lossy, PFC storm, PFC watchdog, pfcwd, "
        "PFC_WD, detection_time, restoration_time, pause-threshold, resume-threshold, "
        "drop-probability, random-detect, queue-limit, deep buffer, VOQ, SONiC, microburst, "
        "oversubscription, ECMP, trust mode, cut-through, store-and-forward, cable length"
    ),
    "adapters: ConnectX, Broadcom, Intel, Pensando, Linux": (
        "RDMA, RoCE, RoCEv2, InfiniBand, iWARP, NIC, HCA, queue pair, PSN, NACK, CNP, NP, RP, "
        "CP, rate limiter, rpg_gd, rpg_time_reset, rpg_byte_reset, rpg_ai_rate, rpg_hai_rate, "
        "rpg_threshold, rpg_min_rate, rpg_min_dec_fac, RPG_MAX_RATE, initial_alpha_value, "
        "dce_tcp_g, dce_tcp_rtt, rate_reduce_monitor_period, rate_to_set_on_first_cnp, "
        "clamp_tgt_rate, min_time_between_cnps, np_cnp_dscp, cnp_802p_prio, dcqcn_F, "
        "DcQcnAIRate, rate-increase-interval, token bucket, prio_pfc, tc_bw, ConnectX, ZTR-RTT"
    ),
    "papers on congestion in data centres": (
        "HOL blocking, head-of-line blocking, congestion spreading, congestion tree, victim "
        "flow, incast, deadlock, cyclic buffer dependency, link failure, adaptive routing, "
        "packet spraying, flowlet, REPS, load balancing, Swift, PowerTCP, BBR, Homa, BFC, INT, "
        "telemetry, all-reduce, FCT, slowdown, tail latency, p99, jitter, utilisation, "
        "utilization, fairness, Jain index, max-min fairness, Rai, Rhai, hyper-active increase, "
        "fast recovery, byte counter, target rate, leaf-spine, fat-tree, elephant flow, parking "
        "lot, steady state, confidence interval, go-back-N, selective repeat, IRN, reordering, "
        "phase margin, backpressure, flow control"
    ),
    "counters of adapters: mlx5, ethtool": (
        "out_of_sequence, packet_seq_err, rx_prio3_pause, tx_prio3_pause, rx_discards_phy, "
        "np_cnp_sent, np_ecn_marked_roce_packets, rp_cnp_handled, rp_cnp_ignored, "
        "roce_slow_restart, local_ack_timeout, RNR NAK, CQE, mlnx_qos, lldptool, cma_roce_tos"
    ),
    "AI fabrics: drafts on benchmarking, vendors' designs, collective libraries": (
        "JCT, job completion time, roofline, busbw, algbw, bus bandwidth, straggler, scale-out, "
        "scale-up, NVLink, rail-optimized, SHARP, NCCL, collective, all-gather, reduce-scatter, "
        "all-to-all, broadcast, barrier, expert parallelism, pipeline parallelism, "
        "hash polarization, incast ratio, SRD, NVMe-oF, iSCSI, QoS, TC_TO_PRIORITY_GROUP_MAP, "
        "MAP_PFC_PRIORITY_TO_QUEUE, PORT_QOS_MAP, buffer carving, ASIC, Tomahawk, Spectrum, "
        "burst size, wire speed, gray failure, NetFlow, offered load, starvation, DSCP-PFC, "
        "VLAN priority"
    ),
    "other simulators and their files": (
        "ns-3, htsim, ASTRA-sim, SimAI, GOAL, LogGOPS, Chakra, web_search, fb_hadoop, "
        "halving_doubling"
    ),
    "other transports": "AccECN, QUIC, RACK, receive window, TSO, GRO, Copa, Annulus, Falcon",
    "Ultra Ethernet": (
        "UEC, Ultra Ethernet, NSCC, RCCC, packet trimming, LLR, CBFC, entropy value"
    ),
    "RFC 2474, 2544, 2698, 7567, 8257 and 8311": (
        "TOS octet, ECN field, IP-in-IP tunnel, drop precedence, AF31, DCTCP.Alpha, "
        "DCTCP.CE, estimation gain, bytes acked, partition/aggregate, "
        "shallow-buffered switch, global synchronization, lock-out, unresponsive flow, "
        "burst tolerance, EWMA, frame loss rate, back-to-back frames, PIR, "
        "instantaneous queue, RFC 3168"
    ),
    "IEEE 802.1Q clauses 30 to 36 and annexes": (
        "congestion controlled flow, flow queue, cpQOffset, cpMinHeaderOctets, "
        "rpppRpCentiseconds, cndd, edge defense, interiorReady, congestion notification tag, "
        "transmission selection algorithm, credit-based shaper, willing bit, "
        "PFC link delay allowance, MACsec bypass, bit times, priority-enable vector, "
        "class-enable vector, MAC control, 01-80-C2-00-00-01, 0x8808, 0x22E9, 0x22E7, DEI, "
        "TPID, Annex O, P802.1Qcz"
    ),
    "SONiC's tables and commands": (
        "WRED_PROFILE, BUFFER_QUEUE, "
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER, over_subscribe_ratio, default_dynamic_th, "
        "LOSSLESS_TRAFFIC_PATTERN, small_packet_percentage, green_min_threshold, "
        "yellow_max_threshold, wred_green_enable, ecn_all, SCHEDULER, pfcwd_sw_enable, "
        "dot1p_to_tc_map, tc_to_pg_map, MAP_PFC_PRIORITY_TO_PRIORITY_GROUP, POLL_INTERVAL, "
        "big_red_switch, pfc_stat_history, xon_offset, xon_th, mmuconfig, "
        "pg_profile_lookup.ini, pg_lossless_100000_40m_profile, ingress_lossless_pool, "
        "buffer_model, config_db.json, AZURE_LOSSLESS, DEVICE_NEIGHBOR, "
        "packet_discard_action, show pfc counters, PG drop, SAI_QUEUE_ATTR_ENABLE_PFC_DLDR, "
        "dual-ToR"
    ),
    "commands of NX-OS, EOS, Junos and others": (
        "network-qos, service-policy, class-map, pause buffer-size, pfc-cos, "
        "priority-flow-control mode on, queue-limit dynamic, bandwidth remaining percent, "
        "AFD, dynamic packet prioritization, shutdown-multiplier, uc-tx-queue, "
        "max-mark-probability, priority-flow-control pause watchdog, LANZ, forwarding-class, "
        "congestion-notification-profile, code-point, mru, drop-profile, fill-level, "
        "scheduler-map, buffer-partition, buffer-dynamic-threshold, transmit-rate, "
        "roce lossless, traffic pool, AI ECN, NSLB"
    ),
    "adapters, second list": (
        "ROCE_CC_PRIO_MASK, prio2buffer, dscp2prio, ratelimit, trust state, "
        "ADAPTIVE_TIMEOUT, retry_cnt, rnr_retry, min_rnr_timer, tx_prio3_pause_transition, "
        "pfc-prevention-tout, rx_out_of_buffer, implied_nak_seq_err, cc_mode, "
        "run_avg_weight_g, inactivity_cp, nicctl, cnp_time, alp_shift, "
        "DcQcnAlphaToRateShift, alpha-update-g, dcbnl, ieee_qcn, ethtool -a, qdisc, BQL, "
        "RETH, AETH, ICRC, BECN, UC, opcode 0x81, UDP port 4791, flow label, verbs, "
        "RDMA write, ib_write_bw, GPUDirect, programmable congestion control, Spectrum-X, "
        "PMTU, SR-IOV"
    ),
    "papers and theory, second list": (
        "CONGA, Presto, ConWeave, pFabric, Tagger, DCQCN+, RTT gradient, PERC, "
        "training parallelism, tensor parallelism, parameter server, FSDP, SMaRTT, ESUN, "
        "long haul, retimer, Padé, transfer function, equilibrium, PI controller, "
        "Pollaczek-Khinchine, heavy tail, common random numbers, bootstrap, quantile, "
        "step marking, dumbbell, RTT fairness, background traffic, golden model, uplink, 400G"
    ),
    "manuals of Cumulus Linux, OS10, AOS-CX, Junos Evolved, Windows and ESXi": (
        "switch priority, egress shaper, congestion control profile, link pause, egress "
        "scheduler, remark, lossy RoCE, headroom buffer, policing, trust dscp, qos-map, "
        "service-pool, max-drop-rate, dot1p, shared-threshold-weight, color marking, "
        "taildrop, preamble, SFD, minimum guaranteed buffer, link-level flow control, queue "
        "depth, SMB Direct, Enable-NetQosFlowControl, New-NetQosTrafficClass, east-west "
        "traffic, north-south traffic, Storage Spaces Direct, pfctx, pfcrx, RNIC, global "
        "pause, 802.1p, vSAN, drop congestion notification, DCN, reactive path rebalancing, "
        "dynamic load balancing, DLB, quality band, inactivity interval, X-ON threshold, "
        "per-queue alpha, MMU, shallow buffer, burst absorption, low entropy, backend fabric, "
        "GLB, VXLAN, queue-profile, schedule-profile, threshold-profile, QoS trust, lossless "
        "pool, FCoE, NVMe/TCP"
    ),
    "RFC 8290, RFC 1242 and drafts on benchmarking AI fabrics": (
        "FQ-CoDel, sojourn time, quantum, DRR, sparse flow, active queue management, CAKE, "
        "Clos, DUT, soak test, line rate, forwarding rate, UET, XPU, ECN marking ratio, KPI, "
        "TTFT, KV cache, MoE, out-of-order delivery, retransmission rate, bisection "
        "bandwidth, convergence time, time to recovery, RDMA read, memory region, completion "
        "queue, WQE, message rate"
    ),
    "what operators and students type": (
        "mark, marking, ECN marking, cut, backoff, node, rank, in flight, startup, egress port, "
        "ingress port, error bars, water filling, dual queue, queue 3, priority 6, QoS class, "
        "full duplex, 100GbE, MQC, system qos, TCP incast, throughput collapse, overflow, "
        "latency under load, rack switch, paired test, loss recovery, QP scaling, E-ECMP, "
        "CNP priority, "
        "link flap, FEC, CRC error, BER, packets per second, speed mismatch, slow receiver, "
        "slow drain, autonegotiation, hop count, traffic matrix, permutation traffic, flow "
        "size distribution, mice flow, long-lived flow, silent drop, black hole, spine, ToR, "
        "NIC buffer, DMA, PCIe, host congestion, rate limiting, shaping, pacing, credit, "
        "credit-based flow control, in-network computing, ACK clocking, ECN threshold, "
        "marking threshold, RTT unfairness, convergence, stability, oscillation, damping, "
        "gain, set point, sampling probability, feedback delay, propagation delay, "
        "serialization delay, switch latency, link utilization, idle time, GPU utilization, "
        "step time, iteration time, ring allreduce, tree allreduce, data center bridging, "
        "802.3bd, 802.1AX, LAG, bond, MLAG, VLT, stacking, sFlow, gRPC, tcpdump, Wireshark, "
        "pcap, ERSPAN, warm-up, percentile, median, CDF"
    ),
}
"""Words gathered from manuals, standards and papers, by where they are from."""
TYPED = [word for each in SOURCES.values() for word in each.split(", ")]
QUESTIONS = {
    "drop": "drops",
    "lost packets": "drops",
    "lost frames": "drops",
    "network card": "NIC",
    "switch memory": "shared buffer",
    "fair": "fairness",
    "slow": "slowdown",
    "packet loss rate": "frame loss rate",
    "BUFFER_POOL": "shared buffer",
    "g": "scheme.rp.g",
    "B": "byte counter",
    "QntzFb": "quantized feedback",
    "data parallelism": "training parallelism",
    "gain margin": "phase margin",
    "M/D/1": "queueing model",
    "microbursts": "microburst",
    "minimum rate": "scheme.rp.min_rate",
    "step time": "training step",
    "SMB Direct": "storage traffic",
    "pfctx": "ESXi",
    "slow drain": "slow receiver",
    "time to recovery": "recovery_ms",
}
"""Words of people who look for something, and what is explained first."""
UNLIKE = {
    "hadroom": "headroom",
    "pfc stom": "PFC storm",
    "many senders one receiver": "incast",
    "weights of queues": "switch.weights",
    "link goes down": "link failure",
    "pause threshold on switch": "pause.threshold",
    "variation of delay": "jitter",
    "fairness between flows": "fairness",
    "dcqn": "dcqcn",
    "lossy queue": "lossy",
    "CNP rate": "CNP",
    "xoff limit": "xoff",
    "DSCP 26": "DSCP",
    "PFC priority": "PFC",
    "oscillating queue": "oscillation",
    "how big should the buffer be": "shared buffer",
    "how long does recovery take": "recovery_ms",
    "too many pause frames": "pause_frames",
    "cable too long": "propagation delay",
    "probability of marking": "marking probability",
    "training slow": "job completion time",
    "why is my link paused": "PAUSE",
}
"""What people may type besides, and what has to be among the first proposals."""


def _first(word: str) -> str:
    entry = catalogue.find(word)[0]
    return entry.key if isinstance(entry, Parameter) else entry.name


def test_there_are_many_words_and_each_stands_once() -> None:
    assert len(TYPED) >= 150
    assert len(set(map(plain_form, TYPED))) == len(TYPED)


@pytest.mark.parametrize("word", TYPED)
def test_words_that_people_type_are_explained(word: str) -> None:
    entries = catalogue.find(word)
    told = catalogue.explain(entries, 80)
    assert re.search(r"^  \S.{30,}", told, re.MULTILINE), told
    assert "  (word)" in told or any(entry.kind != "word" for entry in entries)


@pytest.mark.parametrize("word", QUESTIONS)
def test_words_of_questions_lead_to_what_is_meant(word: str) -> None:
    assert _first(word) == QUESTIONS[word]


def test_a_scheme_that_there_is_is_not_called_missing() -> None:
    schemes = {plain_form(entry.name) for entry in catalogue.schemes()}
    for word in words():
        names = {plain_form(name) for name in (word.name, *word.also, *word.covers)}
        assert word.modelled or names.isdisjoint(schemes), word.name


def test_a_word_says_what_it_is_and_what_it_is_called_here() -> None:
    for word in words():
        sentences = re.split(r"(?<=[.:])\s", word.about)
        assert 1 <= len(sentences) <= 5, word.name
        assert word.about[0].isupper() or word.about[0].isdigit(), word.name
        assert word.here or word.see or not word.modelled, word.name
        for name in (*word.here, *word.see):
            assert catalogue.find(name), f"{word.name}: {name}"


def test_words_of_vendors_lead_to_what_there_is() -> None:
    names = [name for word in words() for name in (word.name, *word.also, *word.covers)]
    called = {plain_form(name) for name in names}
    assert called.isdisjoint(aliases())
    for alias, names in aliases().items():
        kinds = {entry.kind for name in names for entry in catalogue.find(name)}
        assert kinds, alias


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("MTU", ["Also called maximum transmission unit.", "Unit: B.", "Here: traffic.frame."]),
        ("Swift", ["Here: swift.", "See also timely."]),
        ("BBR", ["qcnlab does not model it."]),
        ("pfcwd", ["watchdog", "Here: watchdog.detect_after, watchdog.action."]),
        ("rpg_gd", ["scheme.rp.gd", "scheme.rp.cut_share"]),
        ("np_cnp_dscp", ["DSCP", "feedback.priority"]),
        ("dce_tcp_g", ["scheme.rp.g"]),
    ],
)
def test_what_an_explanation_says(cli: CommandLine, word: str, lines: list[str]) -> None:
    done = cli("explain", word)
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line in done.stdout


@pytest.mark.parametrize(
    ("one", "other"), [("PFC storm", "pfc-storm"), ("jain index", "JAIN_INDEX"), ("Rai", "rai")]
)
def test_case_hyphens_and_blanks_do_not_matter(one: str, other: str) -> None:
    assert catalogue.find(one) == catalogue.find(other)


def test_names_in_formulas_are_known() -> None:
    for entry in catalogue.parameters():
        for name in re.findall(r"[a-zA-Z]\w*_\w+", entry.aliases or ""):
            assert entry.key in {each.name for each in catalogue.find(name)}, name


@pytest.mark.parametrize("typed", UNLIKE)
def test_what_is_proposed_is_near_in_meaning(typed: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        catalogue.find(typed)
    assert str(refused.value).splitlines()[0] == f"error: nothing is called '{typed}'"
    proposed = str(refused.value).partition("did you mean ")[2].rstrip("?\n").split(", ")
    assert UNLIKE[typed] in proposed


def test_four_are_proposed_at_most_the_most_alike_first() -> None:
    known = {name: [name, "Nothing."] for name in ("incast5", "incast33", "incast", "incast44")}
    assert nearest("incasts", known) == ["incast", "incast5", "incast33", "incast44"]
    assert nearest("incasts", {"incast222": ["x", ""], **known}) == nearest("incasts", known)


def test_meaning_goes_before_spelling() -> None:
    known = {
        "pause": ["pause", "Stops a link."],
        "queue": ["queue", "Where frames wait."],
        "cause": ["cause", "Why."],
    }
    assert nearest("stops links", known) == ["pause"]
    assert nearest("waiting frames", known) == ["queue"]
    assert nearest("clause", known) == ["cause", "pause"]
    assert nearest("", known) == nearest("of the", known) == nearest("q" * 300, known) == []
