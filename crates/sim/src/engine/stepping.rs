//! Runs in steps: who holds an engine advances it, and looks at its ports in between.
//!
//! A run in steps has the same rows and totals as one that goes through. What is looked at between two steps is computed
//! without changing anything.

use super::finish::finish;
use super::network::Network;
use super::recording::Recording;
use super::shortcuts::counting_sinks::count_all_delivered;
use super::{Attendants, Control, Engine, Finished, Halt};
use crate::ids::{Id, IdVec, PortId};
use crate::trace::{PortState, Trace};
use qcnlab_units::{Instant, Span};
use std::ops::ControlFlow;

impl Engine {
    /// Advances the run: what is due before `until` happens, and transmissions that end then have ended; nothing else
    /// that is due then or later happens. `observer` then sees the rows so far, as in
    /// [`run_watched`](Engine::run_watched). False when the run has come to its end.
    ///
    /// # Errors
    /// As [`run`](Engine::run), but the audit waits for [`end`](Engine::end).
    pub fn advance(&mut self, until: Instant, observer: &mut dyn FnMut(&Trace)) -> Result<bool, Halt> {
        self.run_end.stop_at(until);
        let control = Control::default();
        let sink = &mut |_: &_| ControlFlow::Continue(());
        self.go_on(&mut Attendants { control: &control, observer, sink, following: None, told: (Instant::ZERO, 0) })?;
        self.senders.check_replays()?;
        if until >= self.run_end.at() {
            return Ok(false);
        }
        count_all_delivered(until, &mut self.network, &mut self.recording);
        self.recording.show_so_far(until, observer);
        Ok(true)
    }

    /// Ends a run in steps: advances it to its end, sums the totals and audits.
    ///
    /// # Errors
    /// As [`run`](Engine::run).
    pub fn end(mut self, observer: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        self.advance(Instant::NEVER, observer)?;
        finish(self, observer)
    }

    /// The run as the last step left it.
    pub const fn so_far(&self) -> SoFar<'_> {
        SoFar { network: &self.network, recording: &self.recording, stopped: self.run_end.stop() }
    }
}

/// A run between two steps.
#[derive(Clone, Copy)]
pub struct SoFar<'a> {
    network: &'a Network,
    recording: &'a Recording,
    stopped: Instant,
}

impl<'a> SoFar<'a> {
    /// What is recorded.
    pub fn recorded(&self) -> &'a Trace {
        self.recording.trace()
    }

    /// When the last step stopped; the end before the first step.
    pub const fn stopped(&self) -> Instant {
        self.stopped
    }

    /// Each port.
    pub fn port_states(&self) -> IdVec<PortId, PortState> {
        let mut states = self.network.port_states(self.stopped);
        let rows = &self.recording.trace().pauses;
        for ((start, end), port) in rows.start.iter().zip(&rows.end).zip(&rows.port) {
            let state = &mut states[PortId::new(*port)];
            state.paused = state.paused + Span::from_ps(end.min(&self.stopped.ps()).saturating_sub(*start));
        }
        states
    }
}
