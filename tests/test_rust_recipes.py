"""The recipes of CONTRIBUTING.md for a topology, a frame and a fluid model, on copied crates.

Each adds something small and real, with its test, and runs what the recipe names. With a step left
out, that must fail. The copy stays in `target/recipes`, so that cargo builds it once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from crate_copies import copy_crates
from test_recipes import CONTRIBUTING, Step

RECIPES_FOLDER = ROOT / "target/recipes"
"""The copy, and what cargo makes of it."""
CRATES = ("units", "wire", "capture", "schemes", "fluid", "shares", "network")
"""The crates that these recipes change, and those that they need."""

GENERATOR = """/// `switch1` to `switchS` in a ring, each with `hosts` hosts, numbered along it.
///
/// # Errors
/// Fewer than three switches, or too many of something.
pub fn ring(switches: u32, hosts: u32, link: Cable, trunk: Cable) -> Result<Network, TopologyError> {
    some("ring", &[("switches beyond two", switches.saturating_sub(2)), ("hosts", hosts)])?;
    let all = u128::from(switches) * u128::from(hosts);
    let mut plan = Plan::new("ring", all + u128::from(switches), all + u128::from(switches))?;
    let all = all as u32;
    plan.hosts(all);
    let first = plan.switches(switches, |i| format!("switch{i}"));
    (0..all).for_each(|host| plan.join(host, first + host / hosts, link));
    (0..switches).for_each(|i| plan.join(first + i, first + (i + 1) % switches, trunk));
    Ok(plan.0)
}

"""
RING_TEST = """
    #[test]
    fn a_ring_closes() {
        // 3 switches of 2 hosts: 6 links of hosts and 3 between switches.
        let network = ring(3, 2, LINK, TRUNK).unwrap();
        assert_eq!(sizes(&network), (6, 3, 9));
        assert!(joins(&network, "switch3", "switch1") && joins(&network, "host6", "switch3"));
        assert!(ring(2, 1, LINK, TRUNK).is_err());
    }
"""
TOPOLOGY = {
    "generator": Step(
        "crates/network/src/topology/generators.rs",
        GENERATOR,
        before="/// A chain of `stages` trunks",
    ),
    "name": Step("crates/network/src/topology/mod.rs", "ring, ", before="single_switch, tree};"),
    "test": Step(
        "crates/network/src/topology/generators.rs",
        RING_TEST,
        before="\n    #[test]\n    fn every_leaf_meets_every_spine",
    ),
}

BEACON = """//! A beacon: says which port a frame left by, for tests of recipes.

use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use std::fmt;

/// A beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Beacon {
    /// Number of the port.
    pub port: u32,
}

impl Codec<'_> for Beacon {
    const FORMAT: Format = Format::Beacon;

    fn read(from: &mut Reader<'_>) -> Result<Beacon, WireError> {
        let [high, low] = [from.u16(Self::FORMAT)?, from.u16(Self::FORMAT)?];
        Ok(Beacon { port: u32::from(high) << 16 | u32::from(low) })
    }

    fn encoded_len(&self) -> usize {
        4
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(Self::FORMAT, &self.port.to_be_bytes())
    }
}

impl fmt::Display for Beacon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "beacon of port {}", self.port)
    }
}
"""
GOLDEN = """
#[test]
fn a_beacon_is_its_port() {
    let octets = [0x00, 0x01, 0x02, 0x03];
    assert_eq!(Beacon { port: 0x0001_0203 }.to_vec().unwrap(), octets);
    assert_eq!(Beacon::decode(&octets).unwrap().0.port, 66051);
    assert!(Beacon::decode(&octets[..3]).is_err());
    assert!(any_octets::<Beacon>(&octets).unwrap());
}
"""
TARGET = """#![no_main]
//! Beacon.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::Beacon>(octets));
"""
BIN = """[[bin]]
name = "beacon"
path = "targets/beacon.rs"
test = false
doc = false

"""
FRAME = {
    "file": Step("crates/wire/src/beacon.rs", BEACON),
    "module": Step("crates/wire/src/lib.rs", "mod beacon;\n", before="mod cn_tag;\n"),
    "name": Step(
        "crates/wire/src/lib.rs", "pub use beacon::Beacon;\n", before="pub use cn_tag::CnTag;\n"
    ),
    "format": Step(
        "crates/wire/src/error.rs",
        "    /// A beacon.\n    Beacon,\n",
        before="    /// Congestion notification tag.\n    CnTag,\n",
    ),
    "word": Step(
        "crates/wire/src/error.rs",
        '            Format::Beacon => "beacon",\n',
        before="            Format::CnTag =>",
    ),
    "golden": Step("crates/wire/tests/identities.rs", GOLDEN, before="\nfn mac() -> impl"),
    "target": Step("crates/wire/fuzz/targets/beacon.rs", TARGET),
    "entry": Step("crates/wire/fuzz/Cargo.toml", BIN, before='[[bin]]\nname = "cn_tag"'),
    "corpus": Step("crates/wire/fuzz/corpus.txt", "beacon 00010203\n", before="capture 00\n"),
    "check": Step(
        "crates/wire/tests/corpus.rs",
        '        ("beacon", |octets| identity::<Beacon>(octets)),\n',
        before='        ("cn_tag", |octets|',
    ),
}

PROPORTIONAL = """//! A queue whose sources hear of it late: the smallest loop there is, for tests of recipes.
//!
//! With x = q - Qeq and the rate of all sources together in frames per second,
//!
//! ```text
//! q' = R - C
//! R' = -k x(t-d)
//! ```

use super::error::FluidError;
use super::history::HistoryView;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, number, sources};
use super::plant::{BUFFER, LINE_RATE, Plant, capacity, frame, loop_delay, min_rate, set_point};
use super::stepper::{Lag, System};
use super::{ColumnName, Model, named};

/// The model with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Proportional {
    plant: Plant,
    set_point: f64,
    gain: f64,
}

impl System for Proportional {
    fn size(&self) -> usize {
        2
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(self.plant.delay)]
    }

    fn slope(&self, _time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        slope[0] = state[1] - self.plant.capacity;
        slope[1] = -self.gain * (past.ago(0, self.plant.delay).get(0) - self.set_point);
    }
}

impl Model for Proportional {
    const NAME: &'static str = "proportional";
    const TITLE: &'static str = "a queue and its rate";
    const SOURCE: &'static str = "a recipe's";
    const PARAMETERS: &'static [Parameter] = &[
        sources(1),
        capacity(1e9),
        LINE_RATE,
        loop_delay(100e-6),
        frame(1500.0),
        set_point(24e3),
        number("gain", "1/s^2", 1e6, (ABOVE_ZERO, ANY), "k: frames per second lost each second for a frame of queue"),
        min_rate(0.0),
        super::plant::RATE_CAP,
        super::plant::CLAMP_QUEUE,
        BUFFER,
    ];
    const INITIAL: &'static [&'static str] = &["queue_bytes"];

    fn new(values: &Values, _initial: &Initial) -> Result<Proportional, FluidError> {
        let plant = Plant::read(values);
        Ok(Proportional {
            plant,
            set_point: values.number("set_point_bytes") / plant.frame,
            gain: values.number("gain"),
        })
    }

    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let queue = initial.number("queue_bytes", "B")?.map_or(self.set_point, |bytes| bytes / self.plant.frame);
        Ok(vec![queue, self.plant.capacity])
    }

    fn columns(&self) -> Vec<ColumnName> {
        named(&[("queue_bytes", "B"), ("rate_bps", "bit/s")])
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        row.extend([state[0] * self.plant.frame, state[1] * self.plant.frame_bits()]);
    }

    fn longest_step(&self) -> f64 {
        0.1 / self.gain.sqrt()
    }
}
"""
BY_HAND = """//! The smallest loop by hand.

use super::{near, solved};

/// 10 frames above the set point for less than the delay: the rate falls by k 10 t, to the first order.
#[test]
fn before_the_delay_the_rate_falls_by_the_first_queue() {
    let run = solved("proportional", r#"{"delay_s": 1e-3}"#, 1e-4, Some(r#"{"queue_bytes": 39e3}"#));
    let rates = run.column("rate_bps").expect("rate");
    // 1e6 x 10 frames x 1e-4 s = 1000 frames/s of 12,000 bits each.
    near(rates[rates.len() - 1], 1e9 - 1000.0 * 12e3, 1.0, "rate");
}
"""
MODEL = {
    "file": Step("crates/fluid/src/proportional.rs", PROPORTIONAL),
    "module": Step("crates/fluid/src/lib.rs", "mod proportional;\n", before="mod qcn;\n"),
    "use": Step(
        "crates/fluid/src/lib.rs", "use proportional::Proportional;\n", before="use qcn::Qcn;\n"
    ),
    "ENTRIES": Step(
        "crates/fluid/src/lib.rs", "entry::<Proportional>(), ", before="entry::<Ecm>(), "
    ),
    "by hand": Step("crates/fluid/src/tests/proportional.rs", BY_HAND),
    "tests": Step("crates/fluid/src/tests/mod.rs", "mod proportional;\n", before="mod qcn;\n"),
}
RECIPES = {
    "topology": (TOPOLOGY, ("-p", "qcnlab-network", "--lib", "generators"), "a_ring_closes"),
    "frame": (
        FRAME,
        ("-p", "qcnlab-wire", "--test", "identities", "--test", "corpus"),
        "a_beacon_is_its_port",
    ),
    "fluid model": (
        MODEL,
        ("-p", "qcnlab-fluid", "--lib", "tests::proportional"),
        "before_the_delay_the_rate_falls_by_the_first_queue",
    ),
}
"""The steps of each, what cargo tests of it, and the test that it adds."""
LEFT_OUT = (
    ("frame", "word"),
    ("frame", "corpus"),
    ("fluid model", "ENTRIES"),
)
"""Steps whose want is not the compiler's first word: what it names must fail all the same."""


@pytest.fixture
def copy() -> Path:
    """The crates that recipes change, as they are; files that did not change keep their times."""
    tree = RECIPES_FOLDER / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    copy_crates(tree, CRATES)
    return tree


def cargo_says(tree: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Return what cargo says of the tests that a recipe names."""
    return subprocess.run(
        ["cargo", "test", "--offline", *words],
        cwd=tree,
        env={**os.environ, "CARGO_TARGET_DIR": str(RECIPES_FOLDER / "target")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_done_step_by_step_passes_what_it_names(copy: Path, kind: str) -> None:
    recipe, words, own = RECIPES[kind]
    assert f"* **A {kind}**" in CONTRIBUTING
    for step in recipe.values():
        step.do(copy)
    done = cargo_says(copy, words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{own} ... ok" in done.stdout
    files = [step.file for step in recipe.values() if step.is_new and "fuzz" not in step.file]
    check = ["rustfmt", "--check", "--edition", "2024", *files]
    assert not files or subprocess.run(check, cwd=copy, check=False).returncode == 0


@pytest.mark.parametrize(("kind", "left_out"), LEFT_OUT)
def test_a_step_left_out_is_noticed(copy: Path, kind: str, left_out: str) -> None:
    recipe, words, _ = RECIPES[kind]
    for name, step in recipe.items():
        if name != left_out:
            step.do(copy)
    assert cargo_says(copy, words).returncode != 0
