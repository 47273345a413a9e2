"""`qcnlab import simai`: a workload of SimAI, a training step in layers, as messages.

The first line names the parallelism, ``HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8
ep: 1 pp: 1 .. all_gpus: 32 ..``, the second the number of layers. A layer is a name, -1, and for
forward, input gradient and weight gradient a time in ns, a collective and its octets; then a time
for the update.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.fabrics import fabric
from qcnlab.formats.lines import FormatError, Line, lines, shown
from qcnlab.formats.messages import MOST_HOSTS, MOST_OCTETS, Setup, length
from qcnlab.formats.numbers import NumberFault, whole
from qcnlab.formats.report import Report
from qcnlab.formats.schedules import collectives
from qcnlab.formats.schedules.messages import schedule
from qcnlab.formats.schedules.steps import Group, Step, Task, build, line_of
from qcnlab.formats.schedules.writing import files, tell, write
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path

KIND = b"HYBRID_TRANSFORMER_FWD_IN_BCKWD"
NS = 1000
MOST_LAYERS = 100_000
LONGEST_NS = 10**15
COLLECTIVES = {
    b"ALLREDUCE": collectives.ALL_REDUCE,
    b"ALLGATHER": collectives.ALL_GATHER,
    b"REDUCESCATTER": collectives.REDUCE_SCATTER,
    b"ALLTOALL": collectives.ALL_TO_ALL,
}
GROUPS = (b"", b"_EP", b"_DP_EP")
LAYER = "<name> -1 and three times <ns> <collective> <octets>, then <ns>"


class Part(NamedTuple):
    """A phase of a layer: a computation and what follows it."""

    time: int
    """ps."""
    kind: str | None
    group: bytes
    """A suffix of `GROUPS`."""
    octets: int


class Layer(NamedTuple):
    """A layer of a workload."""

    line: int
    forward: Part
    gradient: Part
    """Of the inputs."""
    weights: Part
    """Of the weights."""
    update: int
    """ps."""


class Sizes(NamedTuple):
    """How the ranks of a workload are divided."""

    ranks: int
    tensor: int
    expert: int

    def group(self, suffix: bytes, weights: bool) -> Group:
        """Return the groups of ranks of a collective.

        Tensor parallel ranks follow each other; data parallel ones are so far apart. Expert
        parallel groups are parts of the data parallel ones, ranks of which follow each other.
        """
        data = self.ranks // self.tensor
        if suffix == b"_EP":
            return Group(self.expert, self.tensor)
        if suffix == b"_DP_EP":
            return Group(data // self.expert, self.tensor * self.expert)
        return Group(data, self.tensor) if weights else Group(self.tensor, 1)


class Workload(NamedTuple):
    """A training step."""

    sizes: Sizes
    layers: list[Layer]
    head: dict[str, int]
    """What else the first line says."""


def read(path: Path) -> Workload:
    """Read a workload.

    Raises
    ------
    FormatError
        If a line is not as it should be, or the layers are not as many as the file says.
    """
    rows = lines(path)
    head, count = next(rows, None), next(rows, None)
    if head is None or count is None:
        raise FormatError(f"{path}: the file is cut off: its first lines are the head and a number")
    try:
        sizes, rest = _head(head)
    except NumberFault as fault:
        raise head.fault(str(fault)) from None
    if len(count.words) != 1:
        raise count.fault(f"{counted(len(count.words), 'word')}: it is the number of layers")
    try:
        layers = whole(count.words[0], "layers", MOST_LAYERS, 1)
    except NumberFault as fault:
        raise count.fault(str(fault)) from None
    out: list[Layer] = []
    for line in rows:
        if len(out) == layers:
            raise count.miscounted(layers, "layer", layers, line.number)
        try:
            out.append(_layer(line))
        except NumberFault as fault:
            raise line.fault(str(fault)) from None
    if len(out) < layers:
        raise count.miscounted(layers, "layer", len(out))
    return Workload(sizes, out, rest)


def _head(line: Line) -> tuple[Sizes, dict[str, int]]:
    if line.words[0] != KIND:
        raise line.fault(
            f"{shown(line.words[0])} begins no workload that is known: {KIND.decode()} does"
        )
    keys: dict[str, int] = {}
    for key, value in zip(line.words[1::2], line.words[2::2], strict=False):
        if not key.endswith(b":"):
            raise line.fault(f"{shown(key)} is no key: a key ends in a colon")
        name = key[:-1].decode("ascii", "backslashreplace")
        if name in keys:
            raise line.fault(f"{name} is there twice")
        keys[name] = whole(value, name, 10**9)
    if len(line.words) % 2 == 0:
        raise line.fault(f"{shown(line.words[-1])} has no value")
    for name in ("model_parallel_NPU_group", "all_gpus"):
        if not 0 < keys.get(name, 0) <= MOST_HOSTS:
            raise line.fault(f"{name} is missing, or not from 1 to {MOST_HOSTS}")
    ranks, tensor = keys.pop("all_gpus"), keys.pop("model_parallel_NPU_group")
    expert, pipeline = keys.pop("ep", 1), keys.pop("pp", 1)
    if pipeline != 1:
        raise line.fault(f"pp is {pipeline}: stages of a pipeline are not known here: pp: 1")
    if ranks % tensor or expert == 0 or (ranks // tensor) % expert:
        raise line.fault(f"{ranks} ranks are no multiple of {tensor} (tensor) times {expert} (ep)")
    return Sizes(ranks, tensor, expert), keys


def _layer(line: Line) -> Layer:
    words = line.words
    if len(words) != 12 or words[1] != b"-1":
        raise line.fault(f"{counted(len(words), 'word')}: a layer is {LAYER}")
    forward, gradient, weights = (_part(line, words[at : at + 3]) for at in (2, 5, 8))
    update = whole(words[11], "time", LONGEST_NS) * NS
    return Layer(line.number, forward, gradient, weights, update)


def _part(line: Line, words: list[bytes]) -> Part:
    time, octets = whole(words[0], "time", LONGEST_NS), whole(words[2], "octets", MOST_OCTETS)
    if words[1] == b"NONE":
        return Part(time * NS, None, b"", 0)
    for suffix in sorted(GROUPS, key=len, reverse=True):
        kind = COLLECTIVES.get(words[1].removesuffix(suffix)) if words[1].endswith(suffix) else None
        if kind is not None:
            return Part(time * NS, kind if octets else None, suffix, octets)
    known = ", ".join(kind.decode() for kind in COLLECTIVES)
    raise line.fault(f"{shown(words[1])}: there are NONE, {known}, and _EP or _DP_EP behind")


def step_of(work: Workload) -> Step:
    """Return a workload as a training step: forward through the layers, then backward."""
    out = Step(work.sizes.ranks, in_turn=False)
    last = len(work.layers) - 1
    for number, layer in enumerate(work.layers):
        _add(out, work.sizes, layer.forward, f"layer {number} forward", layer.line)
    for number, layer in enumerate(reversed(work.layers)):
        name = f"layer {last - number}"
        _add(out, work.sizes, layer.weights, f"{name} weights", layer.line, weights=True)
        if layer.update:
            after = (len(out.tasks) - 1,)
            update = Task(
                f"{name} update", layer.update, overlap=True, after=after, line=layer.line
            )
            out.tasks.append(update)
        _add(out, work.sizes, layer.gradient, f"{name} gradient", layer.line)
    return out


def _add(
    out: Step, sizes: Sizes, part: Part, name: str, line: int, *, weights: bool = False
) -> None:
    """Add a computation and its collective; the next waits for it unless it is of weights."""
    out.tasks.append(Task(name, part.time, line=line))
    if part.kind is not None:
        algorithm = collectives.DIRECT if part.kind == collectives.ALL_TO_ALL else collectives.RING
        out.tasks.append(
            Task(
                f"{name}, {part.kind}",
                kind=part.kind,
                octets=part.octets,
                algorithm=algorithm,
                group=sizes.group(part.group, weights),
                overlap=weights,
                line=line,
            )
        )


def convert(path: Path, out: Path, setup: Setup, network: str | None) -> Report:
    """Make a scenario of a workload of SimAI.

    Parameters
    ----------
    path : Path
        The workload.
    out : Path
        The scenario's file, which ends in ``.toml``; the list of messages goes beside it.
    setup : Setup
        How long the run lasts, the packets, and the network if no scenario says it.
    network : str, optional
        A scenario whose network, scheme and transport are taken.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If the file cannot be read.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    files(out)
    end = length(setup)
    work = read(path)
    step = step_of(work)
    built = build(step, path)
    plan = schedule(built.ranks)
    report = Report()
    sizes = work.sizes
    report.read.append((str(path), f"{counted(len(work.layers), 'layer')}, {sizes.ranks} ranks"))
    where = fabric(sizes.ranks, setup, network, [path], "workloads of SimAI")
    write(built.ranks, plan, where, out, end, report, line_of(step, built, plan, where.hosts))
    kinds = Counter(
        (task.kind, task.group.ranks)
        for task in step.tasks
        if task.kind is not None
        for _ in range(sizes.ranks // task.group.ranks)
    )
    for (kind, ranks), count in kinds.items():
        how = "direct" if kind == collectives.ALL_TO_ALL else "ring"
        report.mapped.append((f"{count} {kind} of {ranks} ranks", f"sends and receives, {how}"))
    report.mapped += [
        ("forward, then backward", "each layer after the one before; weights' collectives beside"),
        ("octets of ALLGATHER", "of all ranks together: a part for each"),
        (
            f"model_parallel_NPU_group {sizes.tensor}",
            f"ranks that follow each other; data parallel ranks are {sizes.tensor} apart",
        ),
    ]
    if sizes.expert > 1:
        report.mapped.append((f"ep {sizes.expert}", "parts of data parallel groups"))
    report.not_modelled += [
        (f"{key} {value}", "one pass through the layers") for key, value in work.head.items()
    ]
    report.not_modelled += [
        ("NVLink inside a server", "all messages cross the network"),
        ("channels of NCCL", "each part is one message"),
        ("when a rank passes a part on", "once its own first is acknowledged, at the earliest"),
    ]
    if plan.idle:
        plan.idle = 0
        report.mapped.append(("computation after the last message", "qcnlab step RUN counts it"))
    tell(plan, report)
    return report
