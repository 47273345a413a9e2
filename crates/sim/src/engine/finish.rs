//! The end of a run: the last bins, the totals, the audit.

use super::network::{Books, Network};
use super::recording::Recording;
use super::senders::Senders;
use super::shortcuts::counting_sinks::count_all_delivered;
use super::signalling::{Signalling, UnderWay};
use super::{Engine, Finished, Halt};
use crate::audit::{self, Violation};
use crate::ids::{FlowId, Id, IdVec};
use crate::plan::{FlowPlan, FlowPlans};
use crate::sender::Sender;
use crate::source::Source;
use crate::trace::{FlowTally, Tally, TcpTally, Trace};
use qcnlab_units::{Bytes, Instant};

/// Closes the last bins, sums the totals and checks them.
pub(super) fn finish(mut engine: Engine, observer: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
    let (end, ending) = (engine.run_end.at(), engine.run_end.ending().clone());
    engine.hosts().update_senders(end);
    engine.network.end_last_pauses(end);
    engine.accounts().settle(end);
    let Engine { mut network, senders, signalling, mut recording, schedule, .. } = engine;
    // Nothing is pending any more.
    drop(schedule);
    count_all_delivered(end, &mut network, &mut recording);
    network.count_departed(end, |path, left, octets| recording.on_departed(path, left, octets));
    recording.close(end, network.totals(), observer);
    audit(end, &mut network, &senders, &signalling, &recording)?;
    let points = network.point_tallies();
    let counts = senders.limiter_counts(|flow| recording.plan_of(flow));
    let limiters = counts.into_iter().map(|count| count.until(end)).collect();
    // Totals of many flows take as much memory as what follows, which is not asked any more.
    network.forget_routes();
    let (trace, counters, plans, tallies) = recording.into_results();
    let flows = all_totals(senders.into_flows().into(), &plans, tallies.into());
    Ok(Finished { trace, counters, flows, points, limiters, end, ending })
}

/// Checks what all parts have counted.
fn audit(
    end: Instant,
    network: &mut Network,
    senders: &Senders,
    signalling: &Signalling,
    recording: &Recording,
) -> Result<(), Violation> {
    let UnderWay { signals, probes, heads } = signalling.under_way();
    let (tallies, counters) = (recording.tallies(), recording.counters());
    let books = Books { tallies, counters, names: recording.names().collect(), heads };
    let ends: Vec<_> = senders.ends(|path| network.last_port(path)).collect();
    network.audit(end, &books, ends.into_iter())?;
    audit::signals(counters, signals + network.isolation_messages_under_way(), probes)?;
    audit::heads(counters, heads)?;
    network.audit_packets(&books, |flow| senders.is_pair(flow), senders.unanswered())
}

/// How many flows give their memory back at a time.
const AT_A_TIME: usize = 1 << 15;

/// The totals of all flows. From the last to the first, what they are made of goes as they come.
fn all_totals(mut senders: Vec<Sender>, plans: &FlowPlans, mut tallies: Vec<Tally>) -> IdVec<FlowId, FlowTally> {
    let mut all = Vec::with_capacity(senders.len());
    while let (Some(sender), Some(tally)) = (senders.pop(), tallies.pop()) {
        all.push(totals(&sender, &plans[FlowId::at(senders.len())], &tally));
        if senders.len().is_multiple_of(AT_A_TIME) {
            senders.shrink_to_fit();
            tallies.shrink_to_fit();
        }
    }
    all.reverse();
    all.into()
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
        acknowledged: connection.acknowledged,
        last_sent: connection.last_sent,
    };
    FlowTally { total_bytes: connection.total.map(Bytes::get), tcp: Some(tcp), ..totals }
}
