//! Recording: totals of the run and of each flow, and samples.

use super::Engine;
use super::network::Path;
use super::schedule::Event;
use crate::ids::{FlowId, Id, IdVec, PortId};
use crate::plan::FlowPlans;
use crate::recorder::Recorder;
use crate::source::Source;
use crate::trace::{Counters, DropKind, Tally};
use qcnlab_schemes::ReactionPoint;
use qcnlab_units::{Instant, Span};

/// What a run writes down.
pub(super) struct Recording {
    pub(super) recorder: Recorder,
    pub(super) counters: Counters,
    pub(super) tallies: IdVec<FlowId, Tally>,
    /// Where their names are.
    pub(super) flows: FlowPlans,
    /// The ports whose queues are sampled.
    pub(super) sampled: Vec<PortId>,
}

impl Recording {
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
    pub(super) fn on_refusal(&mut self, at: Instant, port: PortId, flow: FlowId, size: u64) {
        self.tallies[flow].refused += 1;
        self.recorder.on_drop(at, port, flow, DropKind::Refused, size);
    }
}

impl Engine {
    /// Samples the lengths of recorded queues.
    pub(super) fn sample_queues(&mut self, now: Instant) {
        for port in &self.recording.sampled {
            self.network.update_queue(now, *port);
            let rows = &mut self.recording.recorder.trace.queues;
            rows.time.push(now.ps());
            rows.port.push(port.number());
            rows.bytes.push(self.network.ports[*port].queue_len().get());
        }
        self.schedule.set(Event::QueueSample, now + self.recording.recorder.record().queue_every);
    }

    /// Samples rates and windows.
    pub(super) fn sample_rates(&mut self, now: Instant) {
        self.update_senders(now + Span::from_ps(1));
        let trace = &mut self.recording.recorder.trace;
        for (flow, sender) in self.senders.flows.enumerate() {
            let gauge = self.senders.limiters[sender.limiter].driver.rp.gauge();
            let rows = &mut trace.rates;
            rows.time.push(now.ps());
            rows.flow.push(flow.number());
            rows.current.push(gauge.current_rate.get());
            rows.target.push(gauge.target_rate.get());
            if let Source::Tcp(connection) = &sender.source {
                let rows = &mut trace.windows;
                rows.time.push(now.ps());
                rows.flow.push(flow.number());
                rows.window.push(connection.sender.window().get());
                rows.flight.push(connection.sender.flight().get());
            }
            if let Source::Roce(pair) = &sender.source
                && let Some(window) = pair.sender.window()
            {
                let rows = &mut trace.windows;
                rows.time.push(now.ps());
                rows.flow.push(flow.number());
                rows.window.push(window.get());
                rows.flight.push(pair.sender.in_flight());
            }
        }
        self.schedule.set(Event::RateSample, now + self.recording.recorder.record().rates_every);
    }
}
