"""The steps of CONTRIBUTING.md's recipes of crates: each adds something small and real, with its test."""

from __future__ import annotations

from test_recipes import Step

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

BURSTS = """//! Frames in bursts of a mean size, at a mean load.

use super::{Arriving, Offered};
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_sim::Process;
use qcnlab_units::{BitRate, Bytes};

params! {
    /// Frames in bursts whose lengths, and the times between them, are exponential.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FrameBursts {
        /// Rate of the frames of a burst, without overhead.
        rate: BitRate, "", Range::POSITIVE;
        /// Mean octets of a burst.
        burst: Bytes, "", Range::POSITIVE;
        /// Part of the time that bursts take on average.
        busy: f64, "", Range::between(0.001, 0.999);
    }
}

impl Arriving for FrameBursts {
    fn offered(&self) -> Offered {
        let on = self.rate.time_for_rounded_up(self.burst);
        let off = on.scaled_rounded_down((1.0 - self.busy) / self.busy);
        Offered::Stream(Process::OnOff { rate: self.rate, on, off, exponential: true })
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// 100 kB at 8 Gb/s take 100 us; a quarter of the time is busy: 300 us more are not, and 2 Gb/s come on average.
    #[test]
    fn bursts_keep_their_mean_rate() {
        let text = "duration = \\"1 ms\\"\\n[topology]\\nkind = \\"switch\\"\\nhosts = 2\\nrate = \\"10 Gb/s\\"\\ndelay = \\"1 us\\"\\n\\
                    [[traffic]]\\narrivals = \\"bursts\\"\\nrate = \\"8 Gb/s\\"\\nburst = \\"100 kB\\"\\nbusy = 0.25\\nframe = \\"1000 B\\"\\n\\
                    from = \\"host1\\"\\nto = \\"host2\\"\\n[scheme]\\nname = \\"none\\"\\n";
        let scenario = Scenario::parse(text, "bursts.toml").unwrap_or_else(|error| panic!("{error}"));
        let super::Offered::Stream(process) = scenario.traffic[0].offered() else { panic!("a stream") };
        assert_eq!(process.mean_bps(), 2e9);
    }
}
"""
REPEATED = """//! Bursts repeat with a seed, and differ with another.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;

const BURSTS: &str = "duration = \\"2 ms\\"\\n[topology]\\nkind = \\"switch\\"\\nhosts = 2\\nrate = \\"10 Gb/s\\"\\ndelay = \\"1 us\\"\\n\\
    [[traffic]]\\narrivals = \\"bursts\\"\\nrate = \\"8 Gb/s\\"\\nburst = \\"100 kB\\"\\nbusy = 0.25\\nframe = \\"1000 B\\"\\n\\
    from = \\"host1\\"\\nto = \\"host2\\"\\n[scheme]\\nname = \\"none\\"\\n";

#[test]
fn bursts_repeat_with_their_seed() {
    let sent = |seed| {
        let scenario = Scenario::parse(BURSTS, "bursts.toml").unwrap_or_else(|error| panic!("{error}"));
        let options = Options { replications: Some(1), seed: Some(seed), ..Options::default() };
        let outcome = run(&[scenario], &options, &Control::default()).unwrap().remove(0);
        outcome.table("throughput").unwrap()
    };
    assert_eq!(sent(3), sent(3));
    assert_ne!(sent(3), sent(4));
}
"""
ARRIVAL = {
    "file": Step("crates/scenario/src/arrivals/bursts.rs", BURSTS),
    "module": Step(
        "crates/scenario/src/arrivals/mod.rs",
        "mod bursts;\n",
        before="mod capture;\n",
    ),
    "use": Step(
        "crates/scenario/src/arrivals/mod.rs",
        "pub use bursts::FrameBursts;\n",
        before="pub use capture::CaptureFrames;\n",
    ),
    "line": Step(
        "crates/scenario/src/arrivals/mod.rs",
        "    /// Frames in bursts of a mean size, at a mean load.\n"
        '    Bursts(FrameBursts) = "bursts" over ["none"],\n',
        before="    /// Flows of random sizes that start at random, independently",
    ),
    "row": Step(
        "docs/guide/scenario-files.md",
        "| `bursts` | frames in bursts of a mean size, at a mean load | `rate`, `burst`, `busy` | `none` |\n",
        before="| `flows` | finite flows that start",
    ),
    "scenario": Step("crates/lab/tests/bursts.rs", REPEATED),
}

TRAINS = """//! Trains: so many frames back to back, then none for a while. Nobody answers them.

use qcnlab_units::{Bytes, Instant, Span};

/// How long trains are, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainConfig {
    /// Frames of a train.
    pub frames: u32,
    /// From the last frame of a train to the first of the next.
    pub gap: Span,
}

/// What sends the frames of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Trains {
    config: TrainConfig,
    /// Octets that are to go; the largest number for no end.
    left: u64,
    /// Frames of the present train that have gone.
    gone: u32,
    next: Instant,
}

impl Trains {
    pub(crate) fn new(config: TrainConfig, total: Option<Bytes>, start: Instant) -> Trains {
        Trains { config, left: total.map_or(u64::MAX, Bytes::get), gone: 0, next: start }
    }

    /// When the next frame may go, if there is one.
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        (self.left > 0).then_some(self.next)
    }

    /// When the first frame of the present train may go.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Takes a frame of at most `frame` octets, and returns its octets.
    pub(crate) fn take(&mut self, now: Instant, frame: u16) -> u16 {
        let size = self.left.min(u64::from(frame)) as u16;
        if self.left != u64::MAX {
            self.left -= u64::from(size);
        }
        self.gone += 1;
        if self.gone == self.config.frames {
            self.gone = 0;
            self.next = now + self.config.gap;
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames at once and the last, of 500 octets, 10 us after the second.
    #[test]
    fn a_train_waits_for_its_gap() {
        let us = |us| Instant::ZERO + Span::from_us(us);
        let config = TrainConfig { frames: 2, gap: Span::from_us(10) };
        let mut trains = Trains::new(config, Some(Bytes::new(3500)), us(5));
        assert_eq!(trains.next_ready(), Some(us(5)));
        assert_eq!(trains.take(us(5), 1500), 1500);
        assert_eq!(trains.next_ready(), Some(us(5)));
        assert_eq!(trains.take(us(7), 1500), 1500);
        assert_eq!(trains.next_ready(), Some(us(17)));
        assert_eq!(trains.take(us(17), 1500), 500);
        assert_eq!(trains.next_ready(), None);
    }
}
"""
KEYS = """//! Transport trains: so many frames back to back, then none for a while.

use crate::fields::UP_TO_LONGEST;
use qcnlab_schemes::params;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_sim::trains::TrainConfig;
use qcnlab_units::Span;

params! {
    /// Trains of frames that nobody answers.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TrainTransport {
        /// Frames of a train.
        train: u32, "", Range::between(1.0, 10000.0);
        /// From the last frame of a train to the first of the next.
        train_gap: Span, "", UP_TO_LONGEST, Fallback::Text("100 us");
    }
}

impl TrainTransport {
    /// Returns how long trains are, and how far apart.
    pub(crate) fn config(&self) -> TrainConfig {
        TrainConfig { frames: self.train, gap: self.train_gap }
    }
}
"""
CARRIED = """//! Trains carry a flow of a size over a link.

use qcnlab_lab::{Control, Data, Options, run};
use qcnlab_scenario::Scenario;

const TRAINS: &str = "duration = \\"1 ms\\"\\n[topology]\\nkind = \\"switch\\"\\nhosts = 2\\nrate = \\"12 Gb/s\\"\\ndelay = \\"1 us\\"\\n\\
    [[traffic]]\\narrivals = \\"saturated\\"\\nsize = \\"6 kB\\"\\ntransport = \\"trains\\"\\ntrain = 2\\ntrain_gap = \\"50 us\\"\\n\\
    frame = \\"1500 B\\"\\nfrom = \\"host1\\"\\nto = \\"host2\\"\\n[scheme]\\nname = \\"none\\"\\n";

/// 1500 octets take 1 us at 12 Gb/s. The second frame leaves its host at 1 us, the third 50 us later and the fourth behind
/// it, at 52 us; 1 us of link, 1 us of transmission, 1 us of link and 1 us of its own later all octets are there.
#[test]
fn the_second_train_waits_for_its_gap() {
    let scenario = Scenario::parse(TRAINS, "trains.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = Options { replications: Some(1), ..Options::default() };
    let outcome = run(&[scenario], &options, &Control::default()).unwrap().remove(0);
    let table = outcome.table("flows").unwrap();
    let finished = table.columns.iter().find(|column| column.name == "finished_s").unwrap();
    let Data::OptionalF64(finished) = &finished.data else { panic!("times are real numbers") };
    assert!((finished[0].unwrap() - 56e-6).abs() < 1e-12, "{finished:?}");
}
"""
ENGINE = "crates/sim/src/engine"
TRANSPORT = {
    "machine": Step("crates/sim/src/trains/mod.rs", TRAINS),
    "module": Step("crates/sim/src/lib.rs", "pub mod trains;\n", before="pub mod source;\n"),
    "traffic": Step(
        "crates/sim/src/plan.rs",
        "    /// Trains of frames.\n    Trains {\n        /// How long trains are.\n"
        "        config: crate::trains::TrainConfig,\n"
        "        /// Octets in all; `None` for no end.\n        total: Option<Bytes>,\n    },\n",
        before="    /// A TCP connection; acknowledgements travel back as frames.\n",
    ),
    "class": Step(
        "crates/sim/src/plan.rs",
        "            Traffic::Trains { .. } => None,\n",
        before="            Traffic::Tcp { .. } => Some(class),\n",
    ),
    "total": Step(
        "crates/sim/src/plan.rs",
        "            Traffic::Trains { total, .. } => *total,\n",
        before="            Traffic::Saturated { total, .. } | Traffic::Tcp { total, .. }",
    ),
    "Source": Step(
        "crates/sim/src/source.rs",
        "    /// Frames in trains.\n    Trains(crate::trains::Trains),\n",
        before="    /// Segments of a connection.\n",
    ),
    "new": Step(
        "crates/sim/src/source.rs",
        "            Traffic::Trains { config, total } => Source::Trains(crate::trains::Trains::new(*config, *total, start)),\n",
        before="            Traffic::Fed => Source::Fed",
    ),
    "ready": Step(
        "crates/sim/src/source.rs",
        "            Source::Trains(trains) if now < stop => trains.next_ready(),\n",
        before="            Source::Tcp(connection) if connection.has_waiting()",
    ),
    "take": Step(
        "crates/sim/src/source.rs",
        "            Source::Trains(trains) => Payload { size: trains.take(now, frame), backlog: 0, segment: None },\n",
        before="            Source::Replayed(waiting) => waiting.take(),\n",
    ),
    "plain": Step(
        "crates/sim/src/source.rs",
        "            Source::Trains(trains) => Payload { size: trains.take(now, frame), backlog: 0, segment: None },\n",
        before="            Source::Tcp(_) | Source::Roce(_) | Source::Planned | Source::Ended(_) => {\n"
        '                unreachable!("its frames carry',
    ),
    "tally": Step(
        f"{ENGINE}/recording.rs",
        "        Traffic::Trains { total, .. } => total.map(Bytes::get),\n",
        before="        Traffic::Saturated { total, .. } => total",
    ),
    "first": Step(
        f"{ENGINE}/senders/feeding.rs",
        "                Source::Trains(trains) if sender.adapter.is_none() => {\n"
        "                    schedule.set(Event::Release(sender.limiter), trains.next());\n"
        "                }\n"
        "                Source::Trains(trains) => schedule.set(Event::SourceFrame(flow), trains.next()),\n",
        before="                Source::Fed { .. } | Source::Replayed(_) => {}\n",
    ),
    "kind": Step(
        f"{ENGINE}/senders/mod.rs",
        "            Source::Trains(_) => Kind::Plain,\n",
        before="            Source::Planned => Kind::Planned,\n",
    ),
    "window": Step(
        f"{ENGINE}/senders/mod.rs",
        "                Source::Trains(_) => None,\n",
        before='                Source::Planned | Source::Ended(_) => unreachable!("where rates',
    ),
    "keys": Step("crates/scenario/src/transport/trains.rs", KEYS),
    "keys' module": Step(
        "crates/scenario/src/transport/mod.rs", "mod trains;\n", after="mod tcp;\n"
    ),
    "keys' use": Step(
        "crates/scenario/src/transport/mod.rs",
        "pub use trains::TrainTransport;\n",
        before="\nuse super::fields::tables;\n",
    ),
    "line": Step(
        "crates/scenario/src/transport/mod.rs",
        "        /// Frames in trains, which nobody answers.\n"
        '        Trains(TrainTransport) = "trains",\n',
        before="        /// A TCP connection for each flow, whose",
    ),
    "carried": Step(
        "crates/scenario/src/arrivals/mod.rs",
        '"trains", ',
        after='Saturated(Saturated) = "saturated" over ["none", ',
    ),
    "configuration": Step(
        "crates/scenario/src/connection.rs",
        "    /// Returns the trains of its flows, if they are sent in trains.\n"
        "    pub fn trains(&self) -> Option<qcnlab_sim::trains::TrainConfig> {\n"
        "        match &self.transport {\n"
        "            Transport::Trains(trains) => Some(trains.config()),\n"
        "            _ => None,\n        }\n    }\n\n",
        before="    /// Returns the collective operation that it is",
    ),
    "plan": Step(
        "crates/lab/src/fabric/traffic.rs",
        "    if let Some(config) = entry.trains() {\n"
        "        return Traffic::Trains { config, total };\n    }\n",
        before="    match offered {\n        Offered::AllItCan { .. } | Offered::Sized",
    ),
    "octets": Step(
        "crates/lab/src/fabric/mod.rs",
        "            Traffic::Trains { .. } => size,\n",
        before="            Traffic::Saturated { .. } | Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => size",
    ),
    "claim": Step(
        "crates/lab/src/fabric/mod.rs",
        "        Traffic::Trains { .. } => None,\n",
        before="        Traffic::Tcp { .. } | Traffic::Roce { .. } => None,\n",
    ),
    "clock": Step(
        "crates/lab/src/fabric/clocks.rs",
        "            Traffic::Trains { .. } => {}\n",
        before="            Traffic::Tcp { .. } | Traffic::Roce { .. } => {}\n",
    ),
    "datagrams": Step(
        "crates/live/src/datagrams.rs",
        "                Traffic::Trains { .. } => continue,\n",
        before="                Traffic::Fed | Traffic::Replayed | Traffic::Tcp",
    ),
    "iperf": Step(
        "crates/live/src/iperf.rs",
        "            Traffic::Trains { .. } => return Ok(()),\n",
        before="            Traffic::Fed | Traffic::Replayed | Traffic::Roce",
    ),
    "row": Step(
        "docs/guide/scenario-files.md",
        "| `trains` | so many frames back to back, then none for a while; nobody answers them | `train`, `train_gap` |\n",
        before="| `tcp` | a TCP connection for each flow;",
    ),
    "scenario": Step("crates/lab/tests/trains.rs", CARRIED),
}

LOST = """    Metric {
        name: "lost_frac",
        title: "lost",
        unit: "",
        about: "Data frames that were discarded, as a share of those that sources sent, in the whole run. None where none \\
                was sent.",
        source: "-",
        definition: Definition::Run(|view| view.lost()),
        facts: &[Share, SilentAtZero, Compared(32), Page],
    },
"""
LOSING = """    /// Frames that were discarded, as a share of those sent.
    pub(super) fn lost(&self) -> Option<f64> {
        let Counters { frames_dropped, frames_sent, .. } = self.done.counters;
        (frames_sent > 0).then(|| frames_dropped as f64 / frames_sent as f64)
    }

"""
COUNTED = """
/// 3 of 12 frames are lost; where none is sent, no share of them is.
#[test]
fn what_is_lost_is_a_share_of_what_is_sent() {
    let scenario = scenario(HOTSPOT, &[]);
    let fabric = fabric(&scenario);
    let lost = |frames_dropped, frames_sent| {
        let counters = Counters { frames_dropped, frames_sent, ..Counters::default() };
        let done = Finished { counters, ..finished(&scenario, rows(&fabric), vec![FlowTally::default(); 3]) };
        Measured::of(&scenario, &fabric, &done).get("lost_frac")
    };
    assert_eq!(lost(3, 12), Some(0.25));
    assert_eq!(lost(0, 0), None);
}
"""
METRIC = {
    "entry": Step(
        "crates/lab/src/metrics/mod.rs", LOST, before='    Metric {\n        name: "messages",\n'
    ),
    "definition": Step(
        "crates/lab/src/metrics/view.rs",
        LOSING,
        before="    /// When the run was found to stand still",
    ),
    "by hand": Step(
        "crates/lab/src/metrics/tests.rs",
        COUNTED,
        before="\n/// What a scenario has not, it does not count",
    ),
}
