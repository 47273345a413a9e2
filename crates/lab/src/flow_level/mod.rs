//! A run of a scenario without packets: flows of a size share the links max-min fairly between one arrival or end and the
//! next. Nothing queues, nothing is paused or dropped, and no scheme has a part.

mod refusal;

use crate::clock::CpuClock;
use crate::error::RunError;
use crate::fabric::Fabric;
use crate::metrics;
use crate::replication::Replication;
use qcnlab_network::fairness::Claim;
use qcnlab_scenario::Scenario;
use qcnlab_shares::{FlowLevel, FlowNetwork, FluidFlow, HeardAt, Passage, WaitingFlow};
use qcnlab_sim::{
    CompletesAt, Control, Counters, DependencyPlan, Ending, Finished, FlowId, FlowTally, PortId, RoceTally, Traffic,
};
use qcnlab_units::{Bytes, Id, IdVec, Instant, Span};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// By what part a flow's rate may stay below its max-min share, so that a change far away need not be felt.
const TOLERANCE: f64 = 0.01;

/// Run one replication without packets.
pub(crate) fn replicate(
    scenario: &Scenario,
    seed: u64,
    fabric: Arc<Fabric>,
    replication: u32,
    control: &Control,
) -> Result<Replication, RunError> {
    refusal::check(scenario, &fabric).map_err(RunError::FlowLevel)?;
    let clock = CpuClock::start();
    let done = run(scenario, seed, &fabric, replication, control)?;
    let cpu_s = clock.seconds();
    let metrics = metrics::measure_flows(scenario, &fabric, &done);
    Ok(Replication { done, metrics, cpu_s, fabric, flow_level: true, causes: None })
}

fn run(
    scenario: &Scenario,
    seed: u64,
    fabric: &Fabric,
    replication: u32,
    control: &Control,
) -> Result<Finished, RunError> {
    let end = Instant::ZERO + scenario.duration;
    let starts: IdVec<FlowId, Instant> = fabric.flows.iter().map(|flow| flow.drawn_start(seed, replication)).collect();
    let waiting = fabric.dependencies().iter().map(|plan| waiting(plan, starts[plan.flow])).collect();
    let capacities = fabric.ports.iter().map(|port| port.rate.as_f64()).collect();
    let mut level = FlowLevel::new(fabric, capacities, &starts, waiting, end, TOLERANCE);
    let (work, all, mut told) = (scenario.duration.ps() as f64, starts.len().max(1) as f64, (0, 0));
    control.flows.fetch_add(starts.len() as u64, Ordering::Relaxed);
    let ended = level.run(&mut |ended| {
        let done = ((work * ended as f64 / all) as u64, ended as u64);
        control.done_ps.fetch_add(done.0 - told.0, Ordering::Relaxed);
        control.done_flows.fetch_add(done.1 - told.1, Ordering::Relaxed);
        told = done;
        !control.cancel.load(Ordering::Relaxed)
    });
    if !ended {
        return Err(RunError::Cancelled);
    }
    let passages = level.passages();
    let finished = || passages.iter().map(|passage| passage.finished).filter(|at| *at != Instant::NEVER);
    control.done_ps.fetch_add(work as u64 - told.0, Ordering::Relaxed);
    control.done_flows.fetch_add(finished().count() as u64 - told.1, Ordering::Relaxed);
    let last = finished().max().filter(|last| scenario.drain && !level.goes_on() && *last < end);
    let (end, ending) = last.map_or((end, Ending::Time), |last| (last, Ending::Drained));
    let flows: IdVec<FlowId, FlowTally> =
        fabric.flows.ids().zip(passages).map(|(flow, each)| tally(fabric, flow, &each, end)).collect();
    let total = |of: fn(&FlowTally) -> u64| flows.iter().map(of).sum();
    let (frames_sent, frames_delivered) = (total(|flow| flow.sent), total(|flow| flow.delivered));
    let counters = Counters { events: level.events(), frames_sent, frames_delivered, ..Counters::default() };
    Ok(Finished { counters, flows, end, ending, ..Finished::default() })
}

fn waiting(plan: &DependencyPlan, start: Instant) -> WaitingFlow {
    let heard = |at: &CompletesAt| match at {
        CompletesAt::Receiver => HeardAt::Receiver,
        CompletesAt::Sender => HeardAt::Sender,
    };
    WaitingFlow {
        flow: plan.flow.number(),
        after: plan.after.iter().map(|(before, at)| (before.number(), heard(at))).collect(),
        delays: plan.delays.as_ref().map_or_else(Vec::new, |delays| delays.each.clone()),
        not_before: plan.delays.as_ref().map_or(Instant::ZERO, |delays| delays.not_before),
        delay: start.since(Instant::ZERO),
        until: plan.until,
    }
}

impl FlowNetwork for Fabric {
    /// A flow's bits are those of its frames; a link carries these and what each frame takes on the wire beyond.
    fn flow(&self, number: u32) -> FluidFlow {
        let flow = FlowId::new(number);
        let plan = &self.flows[flow];
        let octets = self.octets(flow).unwrap_or_default();
        let ceiling = match plan.traffic {
            Traffic::Saturated { ceiling, .. } => ceiling,
            _ => None,
        };
        let mut claim = Claim::split(plan.paths.iter(), ceiling);
        let frames = octets.get().div_ceil(plan.frame.get());
        for (port, share) in &mut claim.links {
            let overhead = frames * self.ports[PortId::new(*port)].overhead.get();
            *share *= (octets.get() + overhead) as f64 / octets.as_f64();
        }
        FluidFlow {
            claim,
            bits: octets.as_f64() * 8.0,
            alone: self.alone(flow).map_or(Span::ZERO, |alone| alone.ideal),
            back: self.way_back(flow),
        }
    }
}

/// What a run of packets would count of a flow that loses nothing. Of a flow that did not end, octets and frames are those
/// that its links let through, whole frames alone.
fn tally(fabric: &Fabric, number: FlowId, passage: &Passage, end: Instant) -> FlowTally {
    let plan = &fabric.flows[number];
    let octets = fabric.octets(number).unwrap_or_default();
    let size = plan.traffic.total().unwrap_or_default();
    let until = |at: Instant| if at <= end { at } else { Instant::NEVER };
    let (received, finished) = (until(passage.received), until(passage.finished));
    let frame = plan.frame.get();
    let passed = match passage.finished == Instant::NEVER {
        true => (passage.served_bits / 8.0) as u64 / frame * frame,
        false => octets.get(),
    };
    let last = Bytes::new(octets.get() - (octets.get().div_ceil(frame) - 1) * frame);
    let roce = matches!(plan.traffic, Traffic::Roce { .. }).then(|| RoceTally {
        acknowledged_bytes: if finished == Instant::NEVER { 0 } else { size.get() },
        packets: passed.div_ceil(frame),
        retransmitted: 0,
        nacks: 0,
        timeouts: 0,
        trimmed: 0,
        spurious: 0,
        most_kept: 0,
        received,
        last_sent: last_sent(fabric, number, received, last),
        last_octets: last.get(),
    });
    FlowTally {
        sent: passed.div_ceil(frame),
        sent_bytes: passed,
        delivered: passed.div_ceil(frame),
        delivered_bytes: passed,
        dropped: 0,
        refused: 0,
        total_bytes: Some(size.get()),
        started: passage.started,
        finished,
        tcp: None,
        roce,
    }
}

/// When the last packet of a message left, if nothing held it up on its way.
fn last_sent(fabric: &Fabric, flow: FlowId, received: Instant, last: Bytes) -> Instant {
    if received == Instant::NEVER {
        return Instant::NEVER;
    }
    let hops = fabric.flows[flow].paths[0].iter().map(|port| fabric.hop(*port));
    let time = |hop: qcnlab_traffic::Hop| hop.delay + hop.latency + hop.rate.time_for_rounded_up(last + hop.overhead);
    let way = hops.fold(Span::ZERO, |sum, hop| sum + time(hop));
    Instant::ZERO + Span::from_ps(received.ps().saturating_sub(way.ps()))
}
