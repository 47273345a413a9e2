//! What the loop looks at again and again: queues and rates that are sampled, and links that may wait for each other.

use super::effects::Circle;
use super::schedule::Event;
use super::{Ending, Engine};
use qcnlab_units::{Instant, Span};

impl Engine {
    /// How often paused links are searched for a circle.
    pub(super) const DEADLOCK_CHECK_EVERY: Span = Span::from_ms(1);

    /// Samples the lengths of recorded queues.
    #[inline(never)]
    pub(super) fn sample_queues(&mut self, now: Instant) {
        for number in 0..self.recording.sampled().len() {
            let port = self.recording.sampled()[number];
            self.recording.on_queue(now, port, self.network.queue_len(now, port));
        }
        self.schedule.set(Event::QueueSample, now + self.recording.queue_every());
    }

    /// Samples rates and windows.
    #[inline(never)]
    pub(super) fn sample_rates(&mut self, now: Instant) {
        self.update_senders(now + Span::from_ps(1));
        self.senders.sample(|flow, gauge, window| {
            self.recording.on_rates(now, flow, gauge);
            if let Some((window, flight)) = window {
                self.recording.on_window(now, flow, window, flight);
            }
        });
        self.schedule.set(Event::RateSample, now + self.recording.rates_every());
    }

    /// Checks the buffers that were near a watermark, and searches for a circle of paused links, which ends the run.
    pub(super) fn check_deadlock(&mut self, now: Instant) {
        self.schedule.set(Event::DeadlockCheck, now + Engine::DEADLOCK_CHECK_EVERY);
        self.network.check_for_room(now);
        if let Some(Circle { ports: circle, closed }) = self.network.find_deadlock(now) {
            self.run_end.end_now(now, Ending::Deadlock { circle, closed });
        }
    }
}
