//! Recording: totals of the run and of each flow, and rows. It is told what happened, and asks nobody.

use super::effects::{Counted, NetworkTotals, Refusal};
use crate::ids::{FlowId, Id, IdVec, PortId, SinkId};
use crate::path::Path;
use crate::plan::{FlowPlan, FlowPlans, Plan, Traffic};
use crate::recorder::Recorder;
use crate::trace::{Counters, DropKind, Tally, Trace};
use qcnlab_schemes::driver::EndedPause;
use qcnlab_schemes::{Gauge, Signal};
use qcnlab_units::{Bytes, Instant, Span};

/// What a run writes down.
pub(super) struct Recording {
    recorder: Recorder,
    counters: Counters,
    tallies: IdVec<FlowId, Tally>,
    /// Where their names are.
    flows: FlowPlans,
    /// The ports whose queues are sampled.
    sampled: Vec<PortId>,
}

impl Recording {
    /// Nothing recorded. `sinks` lists, for each last port, the flows that end there; a frame is counted at most `lag`
    /// after it left one.
    pub(super) fn new(plan: &Plan, sinks: IdVec<SinkId, Vec<FlowId>>, lag: Span) -> Recording {
        Recording {
            recorder: Recorder::new(plan.record, plan.flows.len(), sinks, lag),
            counters: Counters::default(),
            tallies: plan.flows.iter().map(tally).collect(),
            flows: plan.flows.clone(),
            sampled: (0..).zip(&plan.ports).filter(|(_, p)| p.recorded).map(|(n, _)| PortId::new(n)).collect(),
        }
    }

    /// Counts one more of its kind.
    #[inline(always)]
    pub(super) fn count(&mut self, what: Counted) {
        let counters = &mut self.counters;
        let counter = match what {
            Counted::AckSent => &mut counters.acks_sent,
            Counted::AckHeard => &mut counters.acks_heard,
            Counted::AckLost => &mut counters.acks_lost,
            Counted::MessageHeard => &mut counters.messages_heard,
            Counted::MessageIgnored => &mut counters.messages_ignored,
            Counted::MessageLost => &mut counters.messages_lost,
            Counted::ProbeSent => &mut counters.probes_sent,
            Counted::ProbeEnded => &mut counters.probes_ended,
            Counted::Alarm => &mut counters.alarms,
            Counted::FalseAlarm => &mut counters.false_alarms,
            Counted::LinkDrop => &mut counters.link_drops,
            Counted::WatchdogDrop => &mut counters.watchdog_drops,
            Counted::StormDetected => &mut counters.storms_detected,
            Counted::StormEnded => &mut counters.storms_ended,
            Counted::PacketTrimmed => &mut counters.packets_trimmed,
            Counted::HeadEnded => &mut counters.heads_ended,
        };
        *counter += 1;
    }

    /// Counts so many more events of the loop.
    pub(super) fn count_events(&mut self, events: u64) {
        self.counters.events += events;
    }

    /// How many events the loop has counted.
    pub(super) const fn events(&self) -> u64 {
        self.counters.events
    }

    /// A source sends a frame.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, flow: FlowId, size: u64) {
        let tally = &mut self.tallies[flow];
        tally.sent += 1;
        tally.sent_bytes += size;
    }

    /// A frame that left its last port at `left` reaches its sink. True if its flow is complete with that.
    #[inline(always)]
    pub(super) fn deliver(&mut self, now: Instant, path: &Path, left: u64, size: u64) -> bool {
        self.recorder.count_departed(path.sink, path.member, left, size);
        self.tallies[path.flow].deliver(now, size)
    }

    /// A frame left its last port at `left`, and will not reach its sink in this run.
    pub(super) fn on_departed(&mut self, path: &Path, left: u64, size: u64) {
        self.recorder.count_departed(path.sink, path.member, left, size);
    }

    /// All of a flow is acknowledged. True if it was not before.
    pub(super) fn finishes(&mut self, now: Instant, flow: FlowId) -> bool {
        let finished = &mut self.tallies[flow].finished;
        let first = *finished == Instant::NEVER.ps();
        if first {
            *finished = now.ps();
        }
        first
    }

    /// A data frame is dropped at a port. True if it is the first of a flow that can never finish without it.
    pub(super) fn on_drop(&mut self, now: Instant, port: PortId, flow: FlowId, size: u64) -> bool {
        self.recorder.on_drop(now, port, flow, DropKind::Dropped, size);
        let tally = &mut self.tallies[flow];
        tally.dropped += 1;
        tally.dropped == 1 && tally.repairs_no_loss()
    }

    /// A frame finds no room in the queue of its source.
    pub(super) fn on_refusal(&mut self, Refusal { at, port, flow, octets }: Refusal) {
        self.tallies[flow].refused += 1;
        self.recorder.on_drop(at, port, flow, DropKind::Refused, octets);
    }

    /// A message about a flow leaves a congestion point or a destination at `port`.
    pub(super) fn on_message(&mut self, now: Instant, port: PortId, flow: FlowId, signal: Signal) {
        self.counters.messages_sent += 1;
        self.recorder.on_message(now, port, flow, signal);
    }

    /// A pause of a port, or of one of its classes, is over.
    pub(super) fn on_pause(&mut self, port: PortId, class: Option<u8>, (since, end, because): EndedPause<PortId>) {
        self.recorder.on_pause(since, end, port, class, because);
    }

    /// The ports whose queues are sampled.
    pub(super) fn sampled(&self) -> &[PortId] {
        &self.sampled
    }

    /// A sampled queue holds `len`.
    pub(super) fn on_queue(&mut self, now: Instant, port: PortId, len: Bytes) {
        let rows = &mut self.recorder.trace.queues;
        rows.time.push(now.ps());
        rows.port.push(port.number());
        rows.bytes.push(len.get());
    }

    /// The rates of a flow's reaction point.
    pub(super) fn on_rates(&mut self, now: Instant, flow: FlowId, gauge: Gauge) {
        let rows = &mut self.recorder.trace.rates;
        rows.time.push(now.ps());
        rows.flow.push(flow.number());
        rows.current.push(gauge.current_rate.get());
        rows.target.push(gauge.target_rate.get());
    }

    /// The window of a flow's transport, and the octets that it has in flight.
    pub(super) fn on_window(&mut self, now: Instant, flow: FlowId, window: Bytes, flight: u64) {
        let rows = &mut self.recorder.trace.windows;
        rows.time.push(now.ps());
        rows.flow.push(flow.number());
        rows.window.push(window.get());
        rows.flight.push(flight);
    }

    /// How often queues are sampled; zero for never.
    pub(super) fn queue_every(&self) -> Span {
        self.recorder.record().queue_every
    }

    /// How often rates are sampled; zero for never.
    pub(super) fn rates_every(&self) -> Span {
        self.recorder.record().rates_every
    }

    /// Shows `observer` the rows so far, before the end.
    pub(super) fn show_so_far(&mut self, now: Instant, observer: &mut dyn FnMut(&Trace)) {
        self.recorder.show_so_far(now, observer);
    }

    /// The rows so far.
    pub(super) const fn trace(&self) -> &Trace {
        &self.recorder.trace
    }

    /// Closes the last bins and the totals of the run.
    pub(super) fn close(&mut self, end: Instant, network: NetworkTotals, observer: &mut dyn FnMut(&Trace)) {
        self.recorder.finish(end);
        self.recorder.show(observer);
        let counters = &mut self.counters;
        for tally in self.tallies.iter() {
            counters.frames_sent += tally.sent;
            counters.frames_delivered += tally.delivered;
            counters.frames_dropped += tally.dropped;
            counters.frames_refused += tally.refused;
        }
        let NetworkTotals { pause_frames, storm_frames, frame_hops, .. } = network;
        (counters.pause_frames, counters.storm_frames, counters.frame_hops) = (pause_frames, storm_frames, frame_hops);
        counters.messages_sent += network.isolation_messages_sent;
        counters.messages_heard += network.isolation_messages_heard;
        counters.messages_lost += network.isolation_messages_lost;
    }

    /// Totals of the run.
    pub(super) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Totals of each flow.
    pub(super) const fn tallies(&self) -> &IdVec<FlowId, Tally> {
        &self.tallies
    }

    /// The plan of a flow.
    pub(super) fn plan_of(&self, flow: FlowId) -> &FlowPlan {
        &self.flows[flow]
    }

    /// Names of the flows, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.flows.iter().map(|flow| &*flow.name)
    }

    /// The rows that are kept, the totals of the run, and the plans and the totals of its flows.
    pub(super) fn into_results(self) -> (Trace, Counters, FlowPlans, IdVec<FlowId, Tally>) {
        (self.recorder.into_trace(), self.counters, self.flows, self.tallies)
    }
}

fn tally(flow: &FlowPlan) -> Tally {
    let total = match &flow.traffic {
        Traffic::Saturated { total, .. } => total.map(Bytes::get),
        Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => None,
        Traffic::Tcp { .. } | Traffic::Roce { .. } => None,
    };
    Tally::new(total)
}

/// What tests falsify.
#[cfg(test)]
impl Recording {
    pub(super) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    pub(super) fn tally_mut(&mut self, flow: FlowId) -> &mut Tally {
        &mut self.tallies[flow]
    }
}
