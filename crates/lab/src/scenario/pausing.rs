//! When a switch stops its links: from the keys of `[pause]` to watermarks and quanta.

use super::devices::{Pause, PauseKind, PauseRule, Switches};
use super::fault::{Fault, PauseFault};
use super::network::Found;
use super::types::Scenario;
use crate::topology::{Link, Network};
use qcnlab_sim::{PausePlan, PauseScope};
use qcnlab_units::{BitRate, Bytes, Span};

/// Length of a pause frame.
const PAUSE_FRAME: Bytes = Bytes::new(64);
/// Bit times of one quantum.
const QUANTUM_BITS: u64 = 512;

/// A switch that may stop its links.
pub(super) struct Site<'a> {
    /// The scenario.
    pub(super) scenario: &'a Scenario,
    /// The network.
    pub(super) network: &'a Network,
    /// The switch.
    pub(super) node: u32,
    /// Its table of `[[switch]]`.
    pub(super) switch: Option<&'a Switches>,
    /// A key in that table, for messages.
    pub(super) key: &'a dyn Fn(&str) -> String,
    /// Classes that frames have, as bits.
    pub(super) used: u8,
}

/// When a switch stops its links, or `None` when nothing stops.
pub(super) fn pause_plan(site: &Site<'_>) -> Result<Option<PausePlan>, Found> {
    let Site { scenario, network, node, .. } = *site;
    let pause = &scenario.pause;
    let scope = match pause.kind {
        PauseKind::None => return Ok(None),
        PauseKind::Link => PauseScope::Link,
        PauseKind::Priority => PauseScope::Classes(classes(&pause.priorities)?),
    };
    let links: Vec<&Link> = network.links.iter().filter(|link| link.a == node || link.b == node).collect();
    let quanta = quanta(pause, &links)?;
    let rule = match pause.rule {
        PauseRule::Threshold => {
            let threshold = threshold(site)?;
            qcnlab_sim::PauseRule::Threshold { threshold, quanta }
        }
        PauseRule::Watermarks => {
            let (high, low) = watermarks(site, &links, scope)?;
            qcnlab_sim::PauseRule::Watermarks { high, low, quanta }
        }
    };
    Ok(Some(PausePlan { scope, rule, reaction: pause.reaction }))
}

impl Site<'_> {
    fn name(&self) -> String {
        self.network.nodes[self.node as usize].name.clone()
    }
}

fn refuse<T>(fault: PauseFault, keys: &[&str]) -> Result<T, Found> {
    Err(Found::new(Fault::Pause(fault), keys))
}

/// The classes of a list such as `0, 3..5`, as bits.
fn classes(text: &str) -> Result<u8, Found> {
    let refuse = || Found::new(Fault::Priorities { found: text.to_owned() }, &["pause.priorities", "pause.kind"]);
    let number = |text: &str| text.trim().parse::<u8>().ok().filter(|n| *n < 8).ok_or_else(refuse);
    let mut bits = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(refuse());
        }
        (first..=last).for_each(|class| bits |= 1 << class);
    }
    Ok(bits)
}

/// The time asked for in quanta of the fastest link, rounded up.
fn quanta(pause: &Pause, links: &[&Link]) -> Result<u16, Found> {
    let Some(interval) = pause.interval else { return Ok(u16::MAX) };
    let rate = links.iter().map(|link| link.rate).max().unwrap_or(BitRate::gbps(10));
    let bits = u128::from(interval.ps()) * u128::from(rate.get());
    let quanta = bits.div_ceil(1_000_000_000_000 * u128::from(QUANTUM_BITS));
    u16::try_from(quanta).or_else(|_| {
        let most = rate.time_for_rounded_up(Bytes::new(u64::from(u16::MAX) * QUANTUM_BITS / 8));
        refuse(PauseFault::Interval { interval, rate, most }, &["pause.interval"])
    })
}

fn threshold(site: &Site<'_>) -> Result<Bytes, Found> {
    let pause = &site.scenario.pause;
    let other = [("high", pause.high), ("low", pause.low), ("headroom", pause.headroom)];
    if let Some((key, _)) = other.iter().find(|(_, value)| value.is_some()) {
        return refuse(PauseFault::OtherRule { key, rule: "threshold" }, &[&format!("pause.{key}")]);
    }
    let Some(threshold) = pause.threshold else {
        let example = "threshold = \"120 KB\"".to_owned();
        let fault = Fault::MissingKey { key: "threshold", table: "[pause]".to_owned(), example };
        return Err(Found::new(fault, &["pause.rule", "pause"]));
    };
    match site.switch.and_then(|switch| switch.output_buffer) {
        Some(buffer) if threshold > buffer => {
            let fault = PauseFault::Threshold { threshold, buffer, switch: site.name() };
            refuse(fault, &["pause.threshold", &(site.key)("output_buffer")])
        }
        _ => Ok(threshold),
    }
}

fn watermarks(site: &Site<'_>, links: &[&Link], scope: PauseScope) -> Result<(Bytes, Bytes), Found> {
    let pause = &site.scenario.pause;
    if pause.threshold.is_some() {
        let fault = PauseFault::OtherRule { key: "threshold", rule: "watermarks" };
        return refuse(fault, &["pause.threshold"]);
    }
    let memory = site.switch.and_then(|switch| switch.input_memory).map(|memory| part(memory, scope, site.used));
    let high = match (pause.high, memory) {
        (Some(high), Some(memory)) if high >= memory => {
            let fault = PauseFault::High { high, memory, switch: site.name() };
            return refuse(fault, &["pause.high", &(site.key)("input_memory")]);
        }
        (Some(high), _) => high,
        (None, None) => return refuse(PauseFault::NoMemory { switch: site.name() }, &["pause.kind", "pause"]),
        (None, Some(memory)) => {
            let latency = site.switch.map_or(Span::ZERO, |switch| switch.latency);
            let least = || links.iter().map(|link| headroom(site.scenario, link, latency)).max().unwrap_or_default();
            let headroom = pause.headroom.unwrap_or_else(least);
            if headroom >= memory {
                let fault = PauseFault::Headroom { headroom, memory, switch: site.name() };
                return refuse(fault, &["pause.headroom", &(site.key)("input_memory"), "pause.kind"]);
            }
            memory - headroom
        }
    };
    let low = pause.low.unwrap_or_else(|| high.saturating_sub(pause.hysteresis));
    if low >= high {
        return refuse(PauseFault::Low { low, high }, &["pause.low", "pause.hysteresis", "pause.high"]);
    }
    Ok((high, low))
}

/// What one class may hold of the memory: an equal part for each class that stops by itself and is used.
fn part(memory: Bytes, scope: PauseScope, used: u8) -> Bytes {
    let PauseScope::Classes(stopping) = scope else { return memory };
    Bytes::new(memory.get() / u64::from((used & stopping).count_ones().max(1)))
}

/// What may still come over a link after its memory has risen above the high watermark, in octets.
///
/// The frame that crosses the watermark (L), one that the pause frame waits for (L), the pause frame, the round
/// trip, the reaction and the switch's latency at the link's rate, and the frame that was begun before the stop (L).
/// L is the longest frame of the scenario. Deck 004, Switch and Adapter Parameters, keeps the round trip alone.
pub(crate) fn headroom(scenario: &Scenario, link: &Link, latency: Span) -> Bytes {
    let frames = scenario.traffic.iter().map(|traffic| traffic.frame);
    let overhead = scenario.topology.frame_overhead();
    let longest = frames.max().unwrap_or_default() + overhead;
    let ps = 2 * u128::from(link.delay.ps()) + u128::from(scenario.pause.reaction.ps()) + u128::from(latency.ps());
    let in_flight = (ps * u128::from(link.rate.get())).div_ceil(8_000_000_000_000);
    let in_flight = Bytes::new(u64::try_from(in_flight).unwrap_or(u64::MAX / 2));
    in_flight + longest + longest + longest + PAUSE_FRAME + overhead
}
