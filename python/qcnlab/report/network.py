"""The network of a run as a drawing: hosts, switches, links, the bottleneck and who pauses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import Error
from qcnlab.printing import text
from qcnlab.runs.network import HOST, SWITCH, Link, Network, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results.result import Result

MOST_ALONE = 5
"""So many hosts that are alike are drawn one by one."""
MOST_IN_LAYER = 9
"""So many boxes a layer has before its switches are drawn as one."""
WIDTH, HEIGHT, GAP = 116.0, 34.0, 12.0
MOST_NAMED = 40
"""So many names the tip of a box has at most."""
STRIDE = 206.0
"""From one layer to the next."""


def network_of(result: Result) -> Network | None:
    """Return the network of a run; `None` where it cannot be read again.

    A scheme from outside that is not there, or a capture that has gone, is such a case.
    """
    try:
        return Network.of(_core.Scenario.parse(result.config))
    except Error:
        return None


@dataclass
class Box:
    """One node, or several that are alike."""

    names: list[str]
    role: str
    layer: int
    pauses: bool
    y: float = 0.0

    @property
    def label(self) -> str:
        """What stands in it."""
        if len(self.names) == 1:
            return self.names[0]
        return f"{len(self.names)} {'hosts' if self.role == HOST else 'switches'}"

    @property
    def under(self) -> str:
        """What stands below that, in small type."""
        return "" if len(self.names) == 1 else f"{self.names[0]} .. {self.names[-1]}"


def sketch(known: Network, bottleneck: str) -> str:
    """Return the network as SVG, senders on the left.

    Parameters
    ----------
    known : Network
        What `network_of` returned.
    bottleneck : str
        The port that metrics are about, written from->to; it is marked.
    """
    boxes = _boxes(known)
    of = {name: box for box in boxes for name in box.names}
    layers: dict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        layers[box.layer].append(box)
    tallest = max(len(each) for each in layers.values())
    height = tallest * (HEIGHT + GAP) + 26
    for each in layers.values():
        for index, box in enumerate(each):
            box.y = 13 + (index + 0.5) * (height - 26) / len(each)
    width = max(layers) * STRIDE + WIDTH + 20

    def spot(box: Box) -> tuple[float, float]:
        return 10 + box.layer * STRIDE + WIDTH / 2, box.y

    kinds = {(link.rate_bps, link.delay_s) for link in known.links}
    joined: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in known.links:
        ends = sorted((of[link.a], of[link.b]), key=spot)
        joined[id(ends[0]), id(ends[1])].append(link)
    by_id = {id(box): box for box in boxes}
    drawn = []
    for (left, right), several in joined.items():
        drawn.append(
            _link(spot(by_id[left]), spot(by_id[right]), several, bottleneck, len(kinds) > 1)
        )
    drawn += [_box(box, spot(box)) for box in boxes]
    return (
        f'<svg class="network" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'style="max-width:{width:.0f}px" aria-label="The network: '
        f'{escape(in_words(known))}" font-size="12.5">{"".join(drawn)}</svg>'
    )


def in_words(known: Network) -> str:
    """Return a sentence about the network: hosts, switches, links with rates and delays."""
    hosts, switches = len(known.hosts), len(known.switches)
    kinds: dict[tuple[int, float], int] = defaultdict(int)
    for link in known.links:
        kinds[link.rate_bps, link.delay_s] += 1
    said = [
        f"{text.counted(count, 'link')} of {text.rate(rate)} and {text.duration(delay)} one way"
        for (rate, delay), count in sorted(kinds.items(), reverse=True)
    ]
    many = "switch" if switches == 1 else "switches"
    return f"{text.counted(hosts, 'host')}, {switches} {many}, {', '.join(said)}"


def _layers(known: Network) -> dict[str, int]:
    """Return how far from the senders each node is drawn.

    Hosts that only receive stand on the right; where hosts do both, by distance from the hosts.
    """
    names = known.names
    near: dict[str, set[str]] = defaultdict(set)
    for link in known.links:
        near[link.a].add(link.b)
        near[link.b].add(link.a)
    hosts = known.hosts
    start = {node.name for node in hosts if node.sends or not node.receives}
    at = dict.fromkeys(start or set(names[:1]), 0)
    wave = list(at)
    while wave:
        beyond = {each for name in wave for each in near[name] if each not in at}
        at.update(dict.fromkeys(beyond, at[wave[0]] + 1))
        wave = sorted(beyond)
    for name in names:
        at.setdefault(name, 0)
    receive = [n.name for n in hosts if n.receives and not n.sends and near[n.name]]
    for name in receive:
        at[name] = max(at[each] for each in near[name]) + 1
    return at


def _boxes(known: Network) -> list[Box]:
    names, roles = known.names, known.roles
    switch_of: dict[str, str] = {}
    for link in known.links:
        for host, other in ((link.a, link.b), (link.b, link.a)):
            if roles[host] == HOST:
                switch_of[host] = other
    at = _layers(known)
    alike: dict[Any, list[Node]] = defaultdict(list)
    switches: dict[int, int] = defaultdict(int)
    for node in known.nodes:
        switches[at[node.name]] += node.role == SWITCH
    for node in known.nodes:
        layer = at[node.name]
        if node.role == SWITCH:
            key: Any = layer if switches[layer] > MOST_IN_LAYER else node.name
        else:
            beside = switch_of.get(node.name, "")
            gathered = switches[at.get(beside, 0)] > MOST_IN_LAYER
            key = ("" if gathered else beside, bool(node.sends), bool(node.receives))
        alike[node.role, layer, key].append(node)
    boxes = []
    for (role, layer, _), several in alike.items():
        pauses = any(node.watermarks for node in several)
        own = [node.name for node in several]
        each = [own] if len(own) > MOST_ALONE or role == SWITCH else [[name] for name in own]
        boxes += [Box(one, role, layer, pauses) for one in each]
    boxes.sort(key=lambda box: (box.layer, names.index(box.names[0])))
    return boxes


def _link(
    start: tuple[float, float],
    end: tuple[float, float],
    several: Sequence[Link],
    bottleneck: str,
    rates: bool,
) -> str:
    (x0, y0), (x1, y1) = start, end
    hot = any(bottleneck in (f"{each.a}->{each.b}", f"{each.b}->{each.a}") for each in several)
    style = "hot" if hot else "link"
    if x0 == x1:
        edge, far = x0 + WIDTH / 2, x0 + WIDTH / 2 + 26
        curve = f"{far:.1f} {y0:.1f} {far:.1f} {y1:.1f} {edge:.1f} {y1:.1f}"
        path = f"M{edge:.1f} {y0:.1f}C{curve}"
    else:
        x0, x1 = x0 + WIDTH / 2, x1 - WIDTH / 2
        path = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
    words = [f"{len(several)} x"] if len(several) > 1 else []
    if rates or hot:
        words.append(text.rate(several[0].rate_bps))
    label = ""
    if words:
        at = f'x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2 - 5:.1f}"'
        label = f'<text class="{style}" {at}>{escape(" ".join(words))}</text>'
    title = f"<title>the bottleneck: {escape(bottleneck)}</title>" if hot else ""
    return f'<g>{title}<path class="{style}" d="{path}"/>{label}</g>'


def _box(box: Box, spot: tuple[float, float]) -> str:
    x, y = spot
    height = HEIGHT + (8 if box.under else 0)
    style = box.role + (" pausing" if box.pauses else "")
    corner = f'x="{x - WIDTH / 2:.1f}" y="{y - height / 2:.1f}"'
    size = f'width="{WIDTH:.0f}" height="{height:.0f}" rx="{4 if box.role == SWITCH else 15}"'
    baseline = y + (-1 if box.under else 4.5)
    lines = f'<text x="{x:.1f}" y="{baseline:.1f}">{escape(box.label)}</text>'
    if box.under:
        lines += f'<text class="under" x="{x:.1f}" y="{y + 13:.1f}">{escape(box.under)}</text>'
    title = escape(", ".join(box.names[:MOST_NAMED]))
    return f'<g><title>{title}</title><rect class="{style}" {corner} {size}/>{lines}</g>'
