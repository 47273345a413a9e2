"""What happened in a run in words: sentences for a ticket, and tables behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.runs.explained import Explanation, SlowFlow

CROSSES = {
    "yes": "through it",
    "no": "not through it",
    "maybe": "perhaps through it",
}
MOST_ROOTS, MOST_LINKS = 5, 3
"""So many ports where congestion began are listed, and so many links of each."""


@dataclass(frozen=True)
class Table:
    """A table of an explanation.

    Attributes
    ----------
    header : tuple of str
        A word or several lines for each column.
    rows : list of list of str
        Its cells.
    notes : list of str
        What is to be known beside it: what is left out, what columns mean.
    """

    header: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str]


def lines(told: Explanation) -> list[str]:
    """Return an explanation as lines of text.

    Parameters
    ----------
    told : dict
        What `explanation` returned.
    """
    out = [f"{told['run']}, replication {told['replication']}, {_time(told['end_s'])}", ""]
    out += sentences(told)
    for table in tables(told):
        out += ["", text.table(table.header, table.rows), *table.notes]
    out += [f"Left out: {', '.join(told['left_out'])}"] if told["left_out"] else []
    return out


def tables(told: Explanation) -> list[Table]:
    """Return the tables of an explanation, those without rows left out.

    Parameters
    ----------
    told : dict
        What `explanation` returned.
    """
    out = []
    if told["roots"]:
        rows = [
            [
                root["port"],
                _time(root["first_s"]),
                _time(root["stopped_s"]),
                f"{len(root['links'])}",
                ", ".join(root["links"][:MOST_LINKS])
                + (" ..." if len(root["links"]) > MOST_LINKS else ""),
            ]
            for root in told["roots"][:MOST_ROOTS]
        ]
        more = len(told["roots"]) - len(rows)
        left = [f"and {more} more ports, which stopped links for shorter"] if more > 0 else []
        out.append(Table(ROOTS, rows, left))
    if told["stopped"]:
        rows = [
            [
                each["flow"],
                "link" if each["priority"] is None else f"{each['priority']}",
                _time(each["paused_s"]),
                _percent(each["share"]),
                each["root"],
                CROSSES[each["crosses"]],
            ]
            for each in told["stopped"]
        ]
        more = told["stopped_flows"] - len(rows)
        left = [f"and {text.counted(more, 'flow')} stopped for shorter"] if more > 0 else []
        out.append(Table(STOPPED, rows, left))
    if told["cut"]:
        rows = [
            [
                each["source"],
                _time(each["first_s"]),
                f"{each['falls']:,}",
                text.rate(float(f"{each['mean_rate_bps']:.4g}")),
                text.rate(each["least_rate_bps"]),
                "-" if each["signals"] is None else f"{each['signals']:,}",
            ]
            for each in told["cut"]
        ]
        more = told["cut_flows"] - len(rows)
        left = [f"and {text.counted(more, 'sender')} kept back less"] if more > 0 else []
        out.append(Table(CUT, rows, left))
    if told["slow"]:
        over = max(each["over_s"] for each in told["slow"])
        twice = [f"Samples of rates count up to {_time(over)} twice."] if over > 0 else []
        out.append(Table(SLOW, [_slow_row(each) for each in told["slow"]], [*NOTES, *twice]))
    return out


ROOTS = ("congestion began at", "first", "stopped,\nlink times", "links", "longest")
STOPPED = ("flow whose link was stopped", "class", "for", "of its time", "because of", "it goes")
CUT = ("sender that slowed down", "first", "falls,\nsampled", "mean rate", "least rate", "messages")
SLOW = (
    "slowest flow", "size", "lasted", "slowdown", "sending", "link\nstopped", "rate\nbelow link",
    "the rest",
)  # fmt: skip
NOTES = (
    "sending: as long as alone, or of flows without an end what was delivered at the link's rate;",
    "link stopped: by a pause at its own host; the rest: queues, pauses inside the network, other",
    "flows of its host, retransmissions.",
)


def sentences(told: Explanation) -> list[str]:
    """Return what happened in sentences, one for each thing.

    Parameters
    ----------
    told : dict
        What `explanation` returned.
    """
    out = []
    first = told["first"]
    pause, drop, cut = first["pause"], first["drop"], first["cut"]
    if pause is not None:
        kind = "PAUSE" if pause["priority"] is None else f"PFC in class {pause['priority']}"
        out.append(
            f"The queue at {pause['port']} congested first: at {_time(pause['time_s'])} it stopped "
            f"{pause['stopped']} ({kind})."
        )
    elif first["signal"] is not None:
        port, time = first["signal"]["port"], _time(first["signal"]["time_s"])
        out.append(f"The queue at {port} congested first: it sent a message at {time}.")
    if pause is None:
        out.append("Nothing was paused.")
    if told["roots"]:
        root = told["roots"][0]
        circle = ", in a circle of pauses" if root["by_itself"] else ""
        out.append(
            f"Most stops began at {root['port']}{circle}: "
            f"{text.counted(len(root['links']), 'link')} stood still for "
            f"{_time(root['stopped_s'])} in sum."
        )
    innocent = [each for each in told["stopped"] if each["crosses"] == "no"]
    if innocent:
        worst = innocent[0]
        out.append(
            f"{worst['flow']} is a victim: its link was stopped for {_time(worst['paused_s'])} "
            f"because of {worst['root']}, which it does not cross."
        )
    if drop is not None:
        out.append(
            f"{told['drops']:,} frames were lost, the first at {drop['port']} at "
            f"{_time(drop['time_s'])}."
        )
    if cut is not None:
        out.append(
            f"{text.counted(told['cut_flows'], 'sender')} slowed down, {cut['source']} first, by "
            f"{_time(cut['time_s'])}."
        )
        if pause is not None and pause["time_s"] < cut["time_s"]:
            out.append("The first pause came before that.")
    else:
        out.append("No sender slowed down.")
    if told["slow"]:
        slow = told["slow"][0]
        parts = {
            "sending": slow["sending_s"],
            "with its link stopped": slow["paused_s"],
            "at a rate below its link's": slow["limited_s"] or 0.0,
            "in queues, inside the network and behind others": slow["rest_s"],
        }
        most = max(parts, key=lambda name: parts[name])
        share = _percent(parts[most] / slow["lasted_s"]) if slow["lasted_s"] else "-"
        end = " and did not finish" if slow["finished"] is False else ""
        out.append(
            f"The slowest flow, {slow['flow']}, lasted {_time(slow['lasted_s'])}{end}: {share} of "
            f"it {most}."
        )
    return out


def _slow_row(each: SlowFlow) -> list[str]:
    finished = "" if each["finished"] in (True, None) else ">= "
    return [
        each["flow"],
        "-" if each["size_bytes"] is None else text.size(each["size_bytes"]),
        finished + _time(each["lasted_s"]),
        "-" if each["slowdown"] is None else text.number(each["slowdown"], 3),
        _time(each["sending_s"]),
        _time(each["paused_s"]),
        "-" if each["limited_s"] is None else _time(each["limited_s"]),
        _time(each["rest_s"]),
    ]


def _time(seconds: float) -> str:
    return text.duration(seconds, 4)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"
