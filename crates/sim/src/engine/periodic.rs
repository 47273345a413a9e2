//! What the loop looks at again and again: queues and rates that are sampled, and links that may wait for each other.

use super::Ending;
use super::effects::Circle;
use super::ending::RunEnd;
use super::hosts::Hosts;
use super::network::Network;
use super::recording::Recording;
use super::schedule::{Event, Schedule};
use qcnlab_units::{Instant, Span};

/// How often paused links are searched for a circle.
pub(super) const DEADLOCK_CHECK_EVERY: Span = Span::from_ms(1);

/// Samples the lengths of recorded queues.
#[inline(never)]
pub(super) fn sample_queues(now: Instant, network: &mut Network, recording: &mut Recording, schedule: &mut Schedule) {
    for number in 0..recording.sampled().len() {
        let port = recording.sampled()[number];
        recording.on_queue(now, port, network.queue_len(now, port));
    }
    schedule.set(Event::QueueSample, now + recording.queue_every());
}

/// Samples rates and windows.
#[inline(never)]
pub(super) fn sample_rates(now: Instant, mut hosts: Hosts<'_>) {
    hosts.update_senders(now + Span::from_ps(1));
    let Hosts { senders, recording, schedule, .. } = hosts;
    senders.sample(|flow, gauge, window| {
        recording.on_rates(now, flow, gauge);
        if let Some((window, flight)) = window {
            recording.on_window(now, flow, window, flight);
        }
    });
    schedule.set(Event::RateSample, now + recording.rates_every());
}

/// Checks the buffers that were near a watermark, and searches for a circle of paused links, which ends the run.
pub(super) fn check_deadlock(now: Instant, network: &mut Network, run_end: &mut RunEnd, schedule: &mut Schedule) {
    schedule.set(Event::DeadlockCheck, now + DEADLOCK_CHECK_EVERY);
    network.check_for_room(now);
    if let Some(Circle { ports: circle, closed }) = network.find_deadlock(now) {
        run_end.end_now(now, Ending::Deadlock { circle, closed });
    }
}
