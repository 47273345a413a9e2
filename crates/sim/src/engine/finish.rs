//! The end of a run: the last bins, the totals, the audit.

use super::network::Books;
use super::schedule::{Schedule, Sizes, Spacing};
use super::signalling::UnderWay;
use super::{Engine, Finished, Halt};
use crate::audit::{self, Violation};
use crate::plan::FlowPlan;
use crate::sender::Sender;
use crate::source::Source;
use crate::trace::{FlowTally, Tally, TcpTally, Trace};
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// Closes the last bins, sums the totals and checks them.
    pub(super) fn finish(mut self, observer: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        let (end, ending) = (self.run_end.at(), self.run_end.ending().clone());
        self.update_senders(end);
        self.count_all_delivered(end);
        self.network.count_departed(end, |path, left, octets| self.recording.on_departed(path, left, octets));
        self.network.end_last_pauses(end, &mut self.effects);
        self.follow_effects(end);
        self.recording.close(end, self.network.totals(), observer);
        audit(&mut self, end)?;
        let points = self.network.point_tallies();
        let counts = self.senders.limiter_counts(|flow| self.recording.plan_of(flow));
        let limiters = counts.into_iter().map(|count| count.until(end)).collect();
        // Totals of many flows take as much memory as what follows, which is not asked any more.
        self.network.forget_routes();
        self.schedule = Schedule::new(Sizes::default(), Spacing::default());
        let flows = self.senders.forget_limiters().enumerate().zip(self.recording.tallies().iter());
        let flows = flows.map(|((flow, sender), tally)| totals(sender, self.recording.plan_of(flow), tally)).collect();
        let (trace, counters) = self.recording.into_results();
        Ok(Finished { trace, counters, flows, points, limiters, end, ending })
    }
}

/// Checks what all parts have counted.
fn audit(engine: &mut Engine, end: Instant) -> Result<(), Violation> {
    let Engine { network, senders, signalling, recording, .. } = engine;
    let UnderWay { signals, probes, heads } = signalling.under_way();
    let (tallies, counters) = (recording.tallies(), recording.counters());
    let books = Books { tallies, counters, names: recording.names().collect(), heads };
    let ends: Vec<_> = senders.ends(|path| network.last_port(path)).collect();
    network.audit(end, &books, ends.into_iter())?;
    audit::signals(counters, signals, probes)?;
    audit::heads(counters, heads)?;
    network.audit_packets(&books, |flow| senders.is_pair(flow), senders.unanswered())
}

/// The totals of a flow, and of its connection or queue pair if it has one.
fn totals(sender: &Sender, plan: &FlowPlan, tally: &Tally) -> FlowTally {
    let totals = FlowTally { started: sender.start, ..tally.close() };
    let roce = match &sender.source {
        Source::Roce(pair) => Some(pair.tally()),
        Source::Ended(pair) => Some(pair.tally(plan.traffic.total().unwrap_or_default())),
        Source::Planned => match Source::new(plan, sender.start) {
            Source::Roce(pair) => Some(pair.tally()),
            _ => None,
        },
        _ => None,
    };
    if roce.is_some() {
        return FlowTally { total_bytes: plan.traffic.total().map(Bytes::get), roce, ..totals };
    }
    let Source::Tcp(connection) = &sender.source else { return totals };
    let stats = connection.sender.stats();
    let tcp = TcpTally {
        in_order_bytes: connection.in_order(),
        segments: stats.segments,
        retransmitted: stats.retransmitted,
        fast_retransmits: stats.fast_retransmits,
        timeouts: stats.timeouts,
    };
    FlowTally { total_bytes: connection.total.map(Bytes::get), tcp: Some(tcp), ..totals }
}
