//! The reaction point: sends at line rate, or not at all until a time.

use super::SfcRpParams;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::roles::{Gauge, ReactionPoint, Signal, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point of a flow.
#[derive(Clone, Debug)]
pub struct SfcRp {
    longest: Span,
    line_rate: BitRate,
    /// Until when it is stopped; `None` while it sends.
    stopped: Option<Instant>,
}

impl SfcRp {
    pub(super) const fn new(params: SfcRpParams, line_rate: BitRate) -> SfcRp {
        SfcRp { longest: params.longest_pause, line_rate, stopped: None }
    }
}

impl ReactionPoint for SfcRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        let Signal::SourcePause(pause) = signal else { return };
        let until = now + pause.time.min(self.longest);
        if until > now && self.stopped.is_none_or(|before| until > before) {
            self.stopped = Some(until);
        }
    }

    #[inline]
    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        self.stopped = self.stopped.filter(|until| *until > now);
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        self.stopped.unwrap_or(Instant::NEVER)
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        self.stopped.map(|_| BitRate::ZERO)
    }

    fn gauge(&self) -> Gauge {
        let current_rate = self.limit().unwrap_or(self.line_rate);
        Gauge { current_rate, target_rate: self.line_rate }
    }
}

impl RpFastPath for SfcRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
