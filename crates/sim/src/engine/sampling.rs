//! Samples of queues, rates and windows, at their times.

use super::Engine;
use super::schedule::Event;
use crate::source::Source;
use qcnlab_schemes::ReactionPoint;
use qcnlab_units::{Instant, Span};

impl Engine {
    /// Samples the lengths of recorded queues.
    #[inline(never)]
    pub(super) fn sample_queues(&mut self, now: Instant) {
        for number in 0..self.recording.sampled().len() {
            let port = self.recording.sampled()[number];
            self.network.update_queue(now, port);
            self.recording.on_queue(now, port, self.network.ports[port].queue_len());
        }
        self.schedule.set(Event::QueueSample, now + self.recording.queue_every());
    }

    /// Samples rates and windows.
    #[inline(never)]
    pub(super) fn sample_rates(&mut self, now: Instant) {
        self.update_senders(now + Span::from_ps(1));
        for (flow, sender) in self.senders.flows.enumerate() {
            self.recording.on_rates(now, flow, self.senders.limiters[sender.limiter].driver.rp.gauge());
            match &sender.source {
                Source::Tcp(connection) => {
                    let (window, flight) = (connection.sender.window(), connection.sender.flight());
                    self.recording.on_window(now, flow, window, flight.get());
                }
                Source::Roce(pair) => {
                    if let Some(window) = pair.sender.window() {
                        self.recording.on_window(now, flow, window, pair.sender.in_flight());
                    }
                }
                Source::Planned | Source::Ended(_) => unreachable!("where rates are sampled queue pairs stay"),
                Source::Saturated { .. } | Source::Constant { .. } | Source::Fed { .. } | Source::Replayed(_) => {}
            }
        }
        self.schedule.set(Event::RateSample, now + self.recording.rates_every());
    }
}
