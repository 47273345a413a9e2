//! What the time of a message went by with, cause by cause.
//!
//! From its start until it is there each picosecond counts once, on the way that decided when it was there. This way is
//! followed back from the packet that completed it. Where that packet waited at a port while another of the message was
//! transmitted, the way goes on with the other one; otherwise over the link before. So the message's own packets are
//! serialisation where they are longest on the wire, as if it were alone, and frames of others between them are queueing. At
//! the sender the way goes through all packets up to the one it came to: until window, credit and pacer let each go, until the
//! host's link took it, and its transmission. What a packet that goes again is held for, and its transmission by the host, is
//! retransmission. A packet that the host's own link lost has no transmission: that time counts with the next packet's waits.

use super::{ChainLink, CollectiveRun};
use qcnlab_sim::{Course, CrossedLink, Finished, FlowId, Followed, PassedPacket, PauseRows, PortId};
use qcnlab_units::{Id, Instant, Span};
use std::collections::{BTreeMap, HashMap};

#[cfg(test)]
mod tests;

/// The causes of the time of each followed message.
pub(crate) type CausesByFlow = BTreeMap<FlowId, Causes>;

/// The causes of the time from a message's start until it was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Causes {
    pub(super) serialisation: Span,
    pub(super) propagation: Span,
    /// Behind other frames: at ports, and for the host's link.
    pub(super) queueing: Span,
    pub(super) pauses: Span,
    /// By pacers, windows and credit.
    pub(super) rate_limits: Span,
    pub(super) retransmission: Span,
    pub(super) ports: BTreeMap<PortId, AtPort>,
}

/// What went by at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AtPort {
    pub(super) serialisation: Span,
    pub(super) queueing: Span,
    pub(super) pauses: Span,
}

impl AtPort {
    pub(super) fn waiting(&self) -> Span {
        self.queueing + self.pauses
    }

    fn add(&mut self, other: AtPort) {
        self.serialisation = self.serialisation + other.serialisation;
        self.queueing = self.queueing + other.queueing;
        self.pauses = self.pauses + other.pauses;
    }
}

/// Returns the causes of the time of each message on the chains of the slowest ranks, of operations that ended. `again`
/// repeats the run and follows these messages.
///
/// # Errors
/// Those of `again`.
pub(crate) fn causes<E>(
    runs: &[CollectiveRun<'_>],
    again: impl FnOnce(&[Followed]) -> Result<(Finished, Vec<Course>), E>,
) -> Result<CausesByFlow, E> {
    let followed: Vec<Followed> = runs.iter().flat_map(CollectiveRun::followed).collect();
    if followed.is_empty() {
        return Ok(CausesByFlow::new());
    }
    let (done, courses) = again(&followed)?;
    let pauses = Pauses::of(&done.trace.pauses);
    let each = followed.iter().zip(&courses);
    Ok(each.filter_map(|(followed, course)| Some((followed.flow, Causes::of(followed, course, &pauses)?))).collect())
}

impl CollectiveRun<'_> {
    /// The messages of the chain that ends with the slowest rank; none if the operation did not end.
    fn followed(&self) -> Vec<Followed> {
        let followed = |link: &ChainLink| {
            let until = self.fate(link.message).received;
            Followed { flow: self.flow(link.message), from: link.started, until }
        };
        self.chain().unwrap_or_default().iter().map(followed).collect()
    }
}

impl Causes {
    /// The causes of a message that took this course; `None` if that does not lead to its end.
    fn of(followed: &Followed, course: &Course, pauses: &Pauses<'_>) -> Option<Causes> {
        let mut way = Way { ports: BTreeMap::new(), links: HashMap::new(), pauses, causes: Causes::default() };
        for link in &course.crossed {
            way.ports.entry(link.port).or_default().push(*link);
            way.links.insert((link.passed, link.hop), *link);
        }
        let last = course.crossed.iter().rfind(|link| link.arrived == followed.until)?;
        let first = way.back_to_the_sender(last)?;
        way.at_the_sender(followed.from, &course.passed, first)?;
        Some(way.causes)
    }

    /// Adds those of another message.
    pub(super) fn add(&mut self, other: &Causes) {
        self.serialisation = self.serialisation + other.serialisation;
        self.propagation = self.propagation + other.propagation;
        self.queueing = self.queueing + other.queueing;
        self.pauses = self.pauses + other.pauses;
        self.rate_limits = self.rate_limits + other.rate_limits;
        self.retransmission = self.retransmission + other.retransmission;
        other.ports.iter().for_each(|(port, at)| self.ports.entry(*port).or_default().add(*at));
    }

    /// Each cause by its name.
    pub(super) const fn all(&self) -> [(&'static str, Span); 6] {
        [
            ("serialisation_s", self.serialisation),
            ("propagation_s", self.propagation),
            ("queueing_s", self.queueing),
            ("pauses_s", self.pauses),
            ("rate_limits_s", self.rate_limits),
            ("retransmission_s", self.retransmission),
        ]
    }

    /// Whatever is waited for.
    pub(super) fn waiting(&self) -> Span {
        self.queueing + self.pauses + self.rate_limits + self.retransmission
    }

    fn at_port(&mut self, port: PortId, at: AtPort) {
        self.serialisation = self.serialisation + at.serialisation;
        self.queueing = self.queueing + at.queueing;
        self.pauses = self.pauses + at.pauses;
        self.ports.entry(port).or_default().add(at);
    }
}

/// The links that the packets of one message crossed, and the causes so far.
struct Way<'a, 'p> {
    /// Of each port, in the order in which they left it.
    ports: BTreeMap<PortId, Vec<CrossedLink>>,
    /// By when the packet passed its limiter, and the number of links before.
    links: HashMap<(Instant, u8), CrossedLink>,
    pauses: &'a Pauses<'p>,
    causes: Causes,
}

impl Way<'_, '_> {
    /// Follows the way from the end of a link back to the host; returns the packet's first link, whose port it left.
    fn back_to_the_sender(&mut self, last: &CrossedLink) -> Option<CrossedLink> {
        self.propagate(last);
        let mut at = *last;
        while at.hop > 0 {
            let came = *self.links.get(&(at.passed, at.hop - 1))?;
            let begins = transmission_begins(&at).clamp(came.arrived.min(at.left), at.left);
            self.causes.at_port(at.port, AtPort { serialisation: at.left.since(begins), ..AtPort::default() });
            let own = &self.ports[&at.port];
            let before = own[..own.partition_point(|other| other.left <= begins)].last();
            match before.filter(|other| other.left > came.arrived).copied() {
                Some(other) => {
                    self.wait(&at, other.left, begins);
                    at = other;
                }
                None => {
                    self.wait(&at, came.arrived, begins);
                    self.propagate(&came);
                    at = came;
                }
            }
        }
        Some(at)
    }

    /// Follows the packets of a message from its start to the first link of the one that the way came to.
    fn at_the_sender(&mut self, started: Instant, passed: &[PassedPacket], until: CrossedLink) -> Option<()> {
        let mut clock = started;
        for packet in passed {
            // One that this link lost has no transmission.
            let Some(link) = self.links.get(&(packet.passed, 0)).copied() else { continue };
            let left = link.left.max(clock);
            let begins = transmission_begins(&link).clamp(clock, left);
            let permitted = packet.permitted.clamp(clock, begins);
            let (held, transmitted) = (permitted.since(clock), left.since(begins));
            if packet.again {
                self.causes.retransmission = self.causes.retransmission + held + transmitted;
            } else {
                self.causes.rate_limits = self.causes.rate_limits + held;
                self.causes.at_port(link.port, AtPort { serialisation: transmitted, ..AtPort::default() });
            }
            self.wait(&link, permitted, begins);
            clock = left;
            if packet.passed == until.passed {
                return (clock == until.left).then_some(());
            }
        }
        None
    }

    fn propagate(&mut self, link: &CrossedLink) {
        self.causes.propagation = self.causes.propagation + link.arrived.since(link.left);
    }

    /// A packet waited for this link.
    fn wait(&mut self, link: &CrossedLink, from: Instant, until: Instant) {
        let pauses = self.pauses.within(link.port, link.class, from, until);
        self.causes.at_port(link.port, AtPort { queueing: until.since(from) - pauses, pauses, ..AtPort::default() });
    }
}

/// When a port began to transmit a packet.
fn transmission_begins(link: &CrossedLink) -> Instant {
    Instant::from_ps(link.left.ps().saturating_sub(link.takes.ps()))
}

/// The times in which ports were paused.
struct Pauses<'a> {
    rows: &'a PauseRows,
    of_port: BTreeMap<u32, Vec<usize>>,
}

impl<'a> Pauses<'a> {
    fn of(rows: &'a PauseRows) -> Pauses<'a> {
        let mut of_port: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        rows.port.iter().enumerate().for_each(|(row, port)| of_port.entry(*port).or_default().push(row));
        Pauses { rows, of_port }
    }

    /// How long of a time a class of a port was paused, by itself or with all others.
    fn within(&self, port: PortId, class: u8, from: Instant, until: Instant) -> Span {
        if from >= until {
            return Span::ZERO;
        }
        let rows = self.of_port.get(&port.number()).into_iter().flatten();
        let mut times: Vec<(u64, u64)> = rows
            .filter(|row| self.rows.class[**row].is_none_or(|paused| paused == class))
            .map(|row| (self.rows.start[*row].max(from.ps()), self.rows.end[*row].min(until.ps())))
            .filter(|(start, end)| start < end)
            .collect();
        times.sort_unstable();
        let (mut paused, mut reached) = (0, 0);
        for (start, end) in times {
            paused += end.saturating_sub(start.max(reached));
            reached = reached.max(end);
        }
        Span::from_ps(paused)
    }
}
