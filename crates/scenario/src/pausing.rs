//! When a node pauses the links into it: from the keys of `[[pause]]` to watermarks and quanta.

use super::companions::stray;
use super::devices::{Pause, PauseKind, PauseRule, PauseTarget};
use super::fault::Fault;
use super::located::LocatedFault;
use super::pause_fault::PauseFault;
use super::types::Scenario;
use qcnlab_network::topology::Link;
use qcnlab_network::{PausedLink, SHORTEST};
use qcnlab_sim::{PausePlan, PauseScope};
use qcnlab_units::{BitRate, Bytes, Span};

/// Bit times of one quantum.
const QUANTUM_BITS: u64 = 512;

/// A switch or a host that may pause the links into it, with all that its pause plan follows from.
pub(super) struct Site<'a> {
    /// The scenario.
    pub(super) scenario: &'a Scenario,
    /// The table of `[[pause]]` that applies to it, and the number of that table.
    pub(super) pause: &'a Pause,
    pub(super) table: usize,
    /// The node's name.
    pub(super) name: &'a str,
    /// Its links.
    pub(super) links: Vec<&'a Link>,
    /// The memory whose filling its watermarks watch, and the key that sets it.
    pub(super) memory: Option<Bytes>,
    pub(super) memory_key: &'static str,
    /// Whether it has a shared buffer instead, and whether that is one in which pauses have no end of their own.
    pub(super) shared: bool,
    pub(super) endless: bool,
    /// Limit of each of its output queues.
    pub(super) output_buffer: Option<Bytes>,
    /// Time from the end of a frame's reception to its output queue.
    pub(super) latency: Span,
    /// The beginning of the keys of its `[[switch]]` or `[[adapter]]`, for messages.
    pub(super) of_node: String,
    /// Classes that frames have, as bits.
    pub(super) used: u8,
}

/// Returns when a node pauses its links, or `None` when it never does.
pub(super) fn pause_plan(site: &Site<'_>) -> Result<Option<PausePlan>, LocatedFault> {
    let pause = site.pause;
    let scope = match pause.kind {
        PauseKind::None => return Ok(None),
        PauseKind::Link => PauseScope::Link,
        PauseKind::Priority => PauseScope::Classes(classes(site)?),
    };
    let quanta = quanta(site)?;
    let rule = match pause.rule {
        PauseRule::Dynamic => {
            own_keys(site, "dynamic")?;
            if !site.shared {
                let fault = PauseFault::NoSharedBuffer { node: site.name.to_owned() };
                return refuse(fault, &[site.key("rule"), site.key("only")]);
            }
            let endless = site.endless && pause.interval.is_none();
            qcnlab_sim::PauseRule::Dynamic { quanta: (!endless).then_some(quanta) }
        }
        PauseRule::Watermarks | PauseRule::Threshold if site.shared => {
            let fault = PauseFault::RuleOfSharedBuffer { switch: site.name.to_owned() };
            return refuse(fault, &[site.key("rule"), format!("pause.{}", site.table)]);
        }
        PauseRule::Watermarks => {
            let (high, low) = watermarks(site, scope)?;
            qcnlab_sim::PauseRule::Watermarks { high, low, quanta }
        }
        PauseRule::Threshold => {
            let threshold = threshold(site)?;
            qcnlab_sim::PauseRule::Threshold { threshold, quanta, stops: pause.stops.into() }
        }
    };
    Ok(Some(PausePlan { scope, rule, reaction: pause.reaction }))
}

impl Site<'_> {
    /// A key of its table of `[[pause]]`.
    fn key(&self, name: &str) -> String {
        format!("pause.{}.{name}", self.table)
    }

    /// A key of its table of `[[switch]]` or `[[adapter]]`.
    fn node_key(&self, name: &str) -> String {
        format!("{}{name}", self.of_node)
    }

    /// The memory as messages name it.
    fn memory_words(&self) -> &'static str {
        if self.memory_key == "input_memory" { "input memory" } else { "receive buffer" }
    }
}

fn refuse<T>(fault: PauseFault, keys: &[String]) -> Result<T, LocatedFault> {
    Err(LocatedFault::new(Fault::Pause(fault), keys))
}

/// The classes that a table of `[[pause]]` stops, as bits; with the class of flows that of congesting ones among them.
fn classes(site: &Site<'_>) -> Result<u8, LocatedFault> {
    let listed = class_list(&site.pause.priorities, &["priorities", "kind"].map(|name| site.key(name)))?;
    Ok(site.scenario.with_congesting(listed))
}

/// The classes of a list such as `0, 3..5` that one of `keys` sets, as bits.
pub(super) fn class_list(text: &str, keys: &[impl ToString]) -> Result<u8, LocatedFault> {
    let refuse = || LocatedFault::new(Fault::Priorities { text: text.to_owned() }, keys);
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

/// Returns the pause time in quanta of the fastest link, rounded up.
fn quanta(site: &Site<'_>) -> Result<u16, LocatedFault> {
    let Some(interval) = site.pause.interval else { return Ok(u16::MAX) };
    let rate = site.links.iter().map(|link| link.rate).max().unwrap_or(BitRate::gbps(10));
    let bits = u128::from(interval.ps()) * u128::from(rate.get());
    let quanta = bits.div_ceil(1_000_000_000_000 * u128::from(QUANTUM_BITS));
    u16::try_from(quanta).or_else(|_| {
        let most = rate.time_for_rounded_up(Bytes::new(u64::from(u16::MAX) * QUANTUM_BITS / 8));
        refuse(PauseFault::Interval { interval, rate, most }, &[site.key("interval")])
    })
}

/// Refuses the keys of other rules.
fn own_keys(site: &Site<'_>, rule: &'static str) -> Result<(), LocatedFault> {
    let pause = site.pause;
    let set = [
        ("high", pause.high.is_some()),
        ("low", pause.low.is_some()),
        ("headroom", pause.headroom.is_some()),
        ("threshold", pause.threshold.is_some()),
        ("stops", pause.stops != PauseTarget::Arriving),
    ];
    match stray("pause", rule, &set) {
        Some(key) => refuse(PauseFault::OtherRule { key, rule }, &[site.key(key)]),
        None => Ok(()),
    }
}

fn threshold(site: &Site<'_>) -> Result<Bytes, LocatedFault> {
    let pause = site.pause;
    own_keys(site, "threshold")?;
    let Some(threshold) = pause.threshold else {
        let example = "threshold = \"120 KB\"".to_owned();
        let fault = Fault::MissingKey { key: "threshold", table: "[pause]".to_owned(), example };
        return Err(LocatedFault::new(fault, &[site.key("rule"), format!("pause.{}", site.table)]));
    };
    let rooms =
        [(site.output_buffer, "output buffer", "output_buffer"), (site.memory, site.memory_words(), site.memory_key)];
    match rooms.into_iter().find_map(|(room, words, key)| Some((room.filter(|room| threshold > *room)?, words, key))) {
        Some((buffer, what, key)) => {
            let fault = PauseFault::Threshold { threshold, what, buffer, node: site.name.to_owned() };
            refuse(fault, &[site.key("threshold"), site.node_key(key)])
        }
        None => Ok(threshold),
    }
}

fn watermarks(site: &Site<'_>, scope: PauseScope) -> Result<(Bytes, Bytes), LocatedFault> {
    let (pause, what, node) = (site.pause, site.memory_words(), || site.name.to_owned());
    own_keys(site, "watermarks")?;
    let memory = site.memory.map(|memory| part(memory, scope, site.used));
    let high = match (pause.high, memory) {
        (Some(high), Some(memory)) if high >= memory => {
            let fault = PauseFault::High { high, what, memory, node: node() };
            return refuse(fault, &[site.key("high"), site.node_key(site.memory_key)]);
        }
        (Some(high), _) => high,
        (None, None) => {
            let fault = PauseFault::NoMemory { node: node(), host: site.memory_key == "receive_buffer" };
            return refuse(fault, &[site.key("kind"), format!("pause.{}", site.table)]);
        }
        (None, Some(memory)) => {
            let least = || site.links.iter().map(|link| headroom(site, link)).max().unwrap_or_default();
            let headroom = pause.headroom.unwrap_or_else(least);
            if headroom >= memory {
                let fault = PauseFault::Headroom { headroom, what, memory, node: node(), raise: site.memory_key };
                return refuse(fault, &[site.key("headroom"), site.node_key(site.memory_key), site.key("kind")]);
            }
            memory - headroom
        }
    };
    let low = pause.low.unwrap_or_else(|| high.saturating_sub(pause.hysteresis));
    if low >= high {
        return refuse(PauseFault::Low { low, high }, &["low", "hysteresis", "high"].map(|name| site.key(name)));
    }
    Ok((high, low))
}

/// Returns what one class may hold of the memory: an equal part for each class that is paused by itself and is used.
pub(super) fn part(memory: Bytes, scope: PauseScope, used: u8) -> Bytes {
    let PauseScope::Classes(stopping) = scope else { return memory };
    Bytes::new(memory.get() / u64::from((used & stopping).count_ones().max(1)))
}

/// Returns a link with all that decides what it may still bring after its memory has risen above the high watermark.
/// Every frame is taken for the longest of the scenario; deck 004, Switch and Adapter Parameters, keeps the round trip
/// alone. In a buffer of cells of `cell` octets frames are of any length from the shortest on.
pub(super) fn paused_link(site: &Site<'_>, link: &Link, cell: Bytes) -> PausedLink {
    let scenario = site.scenario;
    let frames = || scenario.traffic.iter().map(|traffic| traffic.frame);
    let longest = frames().max().unwrap_or_default();
    PausedLink {
        rate: link.rate,
        delay: link.delay,
        latency: site.latency,
        reaction: site.pause.reaction,
        longest,
        blocking: longest,
        shortest: frames().fold(SHORTEST, Bytes::min),
        overhead: scenario.topology.frame_overhead(),
        cell,
    }
}

/// Returns the headroom of a link in octets.
fn headroom(site: &Site<'_>, link: &Link) -> Bytes {
    paused_link(site, link, Bytes::new(1)).headroom()
}

impl From<PauseTarget> for qcnlab_sim::PauseTarget {
    fn from(target: PauseTarget) -> qcnlab_sim::PauseTarget {
        match target {
            PauseTarget::Arriving => qcnlab_sim::PauseTarget::Arriving,
            PauseTarget::Queued => qcnlab_sim::PauseTarget::Queued,
            PauseTarget::All => qcnlab_sim::PauseTarget::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 900 KB: three classes that are stopped and used have 300 KB each. A class without traffic has no part of it, nor
    /// has one that is never stopped; a link that is stopped as a whole has all.
    #[test]
    fn memory_is_shared_by_classes_that_are_used_and_stopped() {
        let of = |scope, used| part(Bytes::new(900_000), scope, used).get();
        assert_eq!(of(PauseScope::Classes(0b0000_0111), 0b0000_0111), 300_000);
        assert_eq!(of(PauseScope::Classes(0b1111_1111), 0b0000_0110), 450_000);
        assert_eq!(of(PauseScope::Classes(0b0000_1000), 0b1111_1111), 900_000);
        assert_eq!(of(PauseScope::Classes(0b0000_1100), 0b0000_0011), 900_000);
        assert_eq!(of(PauseScope::Link, 0b1111_1111), 900_000);
        assert_eq!(part(Bytes::new(100), PauseScope::Classes(7), 7).get(), 33);
    }
}
