"""Seeds 0 and 2^64 - 1, one replication, and more threads than runs, wherever they may be given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab.captures import Capture, frames, run_captured
from qcnlab.values import MOST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUE = "queue_mean_bytes"


def told(cli: CommandLine, *words: str) -> Any:
    done = cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def with_seed(seed: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The seed as an option, as a key, and not at all."""
    return ("--seed", str(seed)), ("-s", f"seed={seed}"), ()


# TOML has no larger number.
@pytest.mark.parametrize("seed", [0, 2**63 - 1])
@pytest.mark.parametrize(
    "command",
    [
        ("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "--jobs", "9"),
        ("warmup", HOTSPOT, *SHORT_FLAGS, "-s", "warmup=0 s", "--reps", "1", "--jobs", "9"),
        ("compare", HOTSPOT, *SHORT_FLAGS, "-s", "scheme.cp.w=2,4", "--reps", "1", "--jobs", "9"),
        (
            *("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "scheme.cp.w=2,4"),
            *("--reps", "1", "--jobs", "9", "--fresh", "-o", "out"),
        ),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else str(words),
)
def test_a_seed_as_an_option_is_the_key(
    cli: CommandLine, command: tuple[str, ...], seed: int
) -> None:
    option, key, none = (told(cli, *command, *words) for words in with_seed(seed))
    numbers = [
        json.dumps(each.get("metrics", each.get("points", each.get("replications"))))
        for each in (option, key, none)
    ]
    assert numbers[0] == numbers[1]
    assert numbers[0] != numbers[2]


def test_the_seed_of_a_run_stands_in_its_folder(cli: CommandLine) -> None:
    for seed in (0, MOST_SEED):
        done = cli("run", HOTSPOT, *SHORT_FLAGS, "--seed", str(seed), "--reps", "1", "-o", "out")
        assert done.returncode == 0, done.stderr
        kept = qcnlab.open_run(cli.folder / "out")
        assert (kept.summary.seed, kept.summary.replications) == (seed, 1)
        (cli.folder / "out").rename(cli.folder / f"kept{seed}")
    for wrong in ("-1", str(MOST_SEED + 1)):
        done = cli("run", HOTSPOT, *SHORT_FLAGS, "--seed", wrong)
        assert done.returncode == 2
        assert "--seed" in done.stderr


def test_replications_are_the_same_of_few_and_of_many(short: qcnlab.Scenario) -> None:
    many = qcnlab.run(short, reps=5, seed=0, jobs=2).summary.metrics
    few = qcnlab.run(short, reps=2, seed=0, jobs=64).summary.metrics
    one = qcnlab.run_many([short, short.with_("scheme.cp.w=4")], reps=1, seed=0, jobs=64)
    for metric in (QUEUE, "messages", "drops"):
        assert few[metric].values == many[metric].values[:2]
        assert one[0].summary.metrics[metric].values == many[metric].values[:1]
    assert one[1].summary.scheme == one[0].summary.scheme
    assert one[1].summary.metrics[QUEUE] != one[0].summary.metrics[QUEUE]


def test_a_captured_run_has_its_seed(short: qcnlab.Scenario, tmp_path: Path) -> None:
    scenario = short.with_("duration=12 ms", "hotspot.0.until=11 ms")
    for seed in (0, MOST_SEED):
        file = tmp_path / f"{seed}.pcapng"
        result, _ = run_captured(
            scenario, Capture("switch->sink"), file, seed=seed, reps=3, progress=False
        )
        plain = qcnlab.run(scenario, seed=seed, reps=3)
        assert result.summary.seed == seed
        values = result.summary.metrics[QUEUE].values
        assert values == plain.summary.metrics[QUEUE].values
        assert len(set(values)) == 3
        # The first replication is the one that is captured.
        alone = tmp_path / "alone.pcapng"
        run_captured(scenario, Capture("switch->sink"), alone, seed=seed, reps=1, progress=False)
        assert list(frames(alone)) == list(frames(file))


def test_a_search_draws_from_its_seed(short: qcnlab.Scenario) -> None:
    pytest.importorskip("optuna")

    def tuned(seed: int | None, **more: Any) -> list[tuple[Any, ...]]:
        search = qcnlab.tune(
            short, vary={"scheme.cp.w": "0.5..8.0"}, minimize=QUEUE, trials=2, reps=1,
            seed=seed, **more,
        )  # fmt: skip
        return [(trial.values, trial.scores) for trial in (search.baseline, *search.trials)]

    zero = tuned(0, jobs=1)
    assert zero == tuned(0, jobs=9)
    assert zero != tuned(None)
    assert tuned(None) == tuned(short.seed)
    first = qcnlab.run(short, reps=1, seed=0).metric(QUEUE)
    assert zero[0] == ({}, (first,))
    assert tuned(MOST_SEED)[0] == ({}, (qcnlab.run(short, reps=1, seed=MOST_SEED).metric(QUEUE),))


@pytest.mark.parametrize("seed", [2**63, MOST_SEED, MOST_SEED + 1])
def test_a_key_beyond_the_numbers_of_toml_is_refused(short: qcnlab.Scenario, seed: int) -> None:
    ways: tuple[Callable[[], qcnlab.Scenario], ...] = (
        lambda: short.with_(f"seed={seed}"),
        lambda: short.with_({"seed": seed}),
        lambda: qcnlab.Scenario.from_toml(
            short.to_toml().replace("\nseed = 1\n", f"\nseed = {seed}\n")
        ),
        lambda: qcnlab.Scenario.from_dict({**short.to_dict(), "seed": seed}),
    )
    for made in ways:
        with pytest.raises(qcnlab.ScenarioError, match="a whole number is expected"):
            made()
    # The same number as an argument of the run is exact.
    if seed <= MOST_SEED:
        assert qcnlab.run(short, reps=1, seed=seed).summary.seed == seed
