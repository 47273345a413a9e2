"""Show that AIMD needs its gain set per round-trip time and QCN does not: theory, then packets.

Run it with `python examples/04_gain_per_rtt.py [FOLDER]`; with a folder it writes the
figures there. Needs the extra `[analysis]`.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import qcnlab
from qcnlab.analysis import Ecm, Loop, Qcn
from qcnlab.figures.plots import save, style

GAINS = (0.53333, 0.17, 0.053333, 0.017, 0.0053333)
RTTS = ("10 us", "200 us")
SOURCES = (2, 5, 10, 20, 50, 100)

# Theory: the longest RTT that each loop bears at 10 Gb/s. No gain of ECM, however small, bears more
# than w sampling intervals.
print("critical RTT of ECM, two sources")
for gain in GAINS:
    edge = Ecm(sources=2, gi=gain).loop("increase").critical_delay() or 0
    print(f"  Gi {gain:<10g}{1e6 * edge:6.1f} us")
    assert 0 < edge < Ecm().lead_s

models: dict[str, list[Ecm] | list[Qcn] | list[Loop]] = {
    "ECM": [Ecm(sources=n) for n in SOURCES],
    "ECM that samples as QCN does": [Ecm(sources=n, sample_bytes=150e3) for n in SOURCES],
    "AIMD with QCN's gain": [Qcn(sources=n).without_averaging() for n in SOURCES],
    "QCN": [Qcn(sources=n, first_cycle="kept") for n in SOURCES],
}
edges_us = {
    label: [1e6 * (each.critical_delay() or 0) for each in row] for label, row in models.items()
}
print(f"{'critical RTT, us; N =':<30}" + "".join(f"{n:>6}" for n in SOURCES))
for label, row in edges_us.items():
    print(f"{label:<30}" + "".join(f"{edge:>6.0f}" for edge in row))
assert all(a < b for a, b in zip(edges_us["AIMD with QCN's gain"], edges_us["QCN"], strict=True))

# Packets: deck 001's hotspot, ECM at five gains and QCN with one set of parameters.
labels = [*GAINS, "QCN"]
results = {}
for rtt in RTTS:
    base = qcnlab.load(f"og-hotspot-2src-10g-to-500m-rtt{rtt.replace(' ', '')}")
    ecm = {"scheme.name": "ecm", "scheme.preset": "DECK001"}
    scenarios = [base.with_({**ecm, "scheme.rp.gi": gain}) for gain in GAINS]
    scenarios.append(base.with_({"scheme.name": "qcn", "scheme.preset": "DECK001"}))
    results[rtt] = qcnlab.run_many(scenarios, reps=3, seed=7)


def column(rtt: str, metric: str) -> list[float]:
    """Return a metric's median for every label; NaN where there is none."""
    medians = (result.metric(metric) for result in results[rtt])
    return [float("nan") if each is None else each for each in medians]


print(f"\n{'':<12}" + "".join(f"{'RTT ' + rtt:>26}" for rtt in RTTS))
print(f"{'':<12}" + f"{'at 95 %, ms':>13}{'used, Gb/s':>13}" * len(RTTS))
for index, name in enumerate(labels):
    cells = "".join(
        f"{column(rtt, 'rec95_ms')[index]:>13.0f}"
        f"{column(rtt, 'throughput_outside_gbps')[index]:>13.2f}"
        for rtt in RTTS
    )
    print(f"{name:<12}{cells}")

short, long = (column(rtt, "throughput_outside_gbps") for rtt in RTTS)
assert min(short) > 9.9
assert max(long[:4]) < 9.0 < long[4]
assert min(short[-1], long[-1]) > 9.9
recovery = column("10 us", "rec95_ms")
assert recovery[0] < 5
assert recovery[4] > 2 * max(recovery[-1], column("200 us", "rec95_ms")[-1])


def packets_figure() -> Figure:
    """Draw recovery and throughput over ECM's gain, QCN as a level."""
    with style():
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        panels = figure.subplots(1, 2)
        names = ("rec95_ms", "throughput_outside_gbps")
        words = ("first at 95 % after the hotspot (ms)", "throughput outside the hotspot (Gb/s)")
        styles = {"10 us": ("#0072B2", "o", "-"), "200 us": ("#D55E00", "s", "--")}
        for panel, name, label in zip(panels, names, words, strict=True):
            for rtt, (color, marker, line) in styles.items():
                values = column(rtt, name)
                panel.plot(
                    GAINS, values[:-1], line, color=color, marker=marker, ms=4, label=f"ECM, {rtt}"
                )
                panel.axhline(values[-1], color=color, lw=1, ls=":", label=f"QCN, {rtt}")
            panel.set_xscale("log")
            panel.set_xlabel("gain Gi of ECM (deck 001: 0.53333, 0.0053333)")
            panel.set_ylabel(label)
        panels[0].set_yscale("log")
        panels[1].set_ylim(0, 10.5)
        handles, texts = panels[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=4)
    return figure


def theory_figure() -> Figure:
    """Draw the critical RTT of the four loops over the number of sources."""
    with style():
        figure = Figure(figsize=(4.6, 3.2), layout="constrained")
        axes = figure.subplots()
        styles = (("#D55E00", "s", "--"), ("#E69F00", "^", "-."), ("#222222", "v", ":"))
        for (label, row), (color, marker, line) in zip(
            edges_us.items(), (*styles, ("#0072B2", "o", "-")), strict=True
        ):
            axes.plot(SOURCES, row, line, color=color, marker=marker, ms=4, label=label)
        axes.set_xscale("log")
        axes.set_xticks(SOURCES, [str(n) for n in SOURCES])
        axes.minorticks_off()
        axes.set_ylim(0, 420)
        axes.set_xlabel("number of sources N")
        axes.set_ylabel("critical RTT (us)")
        figure.legend(loc="outside upper center", ncols=2)
    return figure


for folder in sys.argv[1:]:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for stem, figure in (("gain-packets", packets_figure()), ("gain-theory", theory_figure())):
        print(save(figure, Path(folder) / f"{stem}.png"))
